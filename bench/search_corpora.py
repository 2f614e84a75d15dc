#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Quality of search on corpora with known truth: search_corpora.py GPMEM CORPORA FOLDER [easy hard ...]

CORPORA has a folder per corpus (corpus/*.csv, queries.json, truth.json) and score_search.py. Each is indexed into
FOLDER/NAME.db by two threads (what is there already stays: remove the file to begin anew), asked every question in English, and
scored. Printed: CPU seconds a series and series per core-hour of what was added now, bytes a series, average precision of each
question and its mean, and over all answers of all corpora how often what was stated with a probability is true."""
import json, os, resource, subprocess, sys

BINS = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.001]
tool, corpora, folder = (os.path.abspath(x) for x in sys.argv[1:4])
answers = []


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=True).stdout


def index(name):
    db, before = os.path.join(folder, name + ".db"), resource.getrusage(resource.RUSAGE_CHILDREN)
    said = run(tool, "index", "add", db, os.path.join(corpora, name, "corpus"), "-j", "2")
    after, added = resource.getrusage(resource.RUSAGE_CHILDREN), int(said.split()[0])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    listed = json.loads(run(tool, "index", "list", db, "--format", "json"))
    made = sorted({e["made"] for e in listed})
    print("%s: %s" % (name, said.strip()))
    if added:
        print("%s: %.2f s of CPU a series, %.0f series a core-hour" % (name, cpu / added, 3600 * added / cpu))
    print("%s: %.0f bytes a series in the file, %d at most in an entry; made by %s" % (name, os.path.getsize(db) / len(listed), max(e["bytes"] for e in listed), "; ".join(made)))
    return db


def ask(name, db):
    ranking = {}
    truth = json.load(open(os.path.join(corpora, name, "truth.json")))
    for q in json.load(open(os.path.join(corpora, name, "queries.json"))):
        found = json.loads(run(tool, "search", db, q["text"], "--top", "1000", "--json"))["results"]
        ranking[q["id"]] = [r["name"] for r in found]
        stated = {r["name"]: r["probability"] for r in found}
        answers.extend((stated.get(k, 0.0), q["relevance"].get(k, 0) == 2) for k in truth)
    path = os.path.join(folder, name + ".json")
    json.dump(ranking, open(path, "w"))
    print(run(sys.executable, os.path.join(corpora, "score_search.py"), name, path))


os.makedirs(folder, exist_ok=True)
for name in sys.argv[4:] or ["easy", "hard"]:
    ask(name, index(name))
print("| stated | answers | mean of what was stated | true |\n|---|--:|--:|--:|")
for lo, hi in zip(BINS, BINS[1:]):
    within = [(p, t) for p, t in answers if lo <= p < hi]
    if within:
        print("| %g to %g | %d | %.3f | %.3f |" % (lo, min(hi, 1), len(within), sum(p for p, _ in within) / len(within), sum(t for _, t in within) / len(within)))
