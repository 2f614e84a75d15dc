#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time of a question to a large index: search.py GPMEM INDEX [ENTRIES ...]

INDEX holds real series; its rows are copied under other names until there are ENTRIES of them (default 10000 100000), in a
temporary file. Printed: CPU seconds of the whole process (start, reading, answer) of a question about structures, of one that is
answered with certainty by many, and of one that no series answers with certainty; and how many sketches were read."""
import json, os, resource, shutil, sqlite3, subprocess, sys, tempfile

QUESTIONS = ["PER & !LIN", "periodic(throughout)", "rises(from=1968)"]


def enlarge(source, target, entries):
    shutil.copy(source, target)
    c = sqlite3.connect(target)
    c.execute("pragma synchronous=off")
    c.execute("delete from block")
    n = c.execute("select max(id) from series").fetchone()[0]
    k = n
    while k < entries:  # copies keep their neighbours: ids go on
        more = min(k, entries - k)
        c.execute("insert into series select id + ?, name || '.' || ?, n, hash, source, made, words, posting, sketch from series where id <= ?", (k, k, more))
        c.commit()
        k += more
    c.close()


def seconds(*args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run(args, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(r.stdout)


tool, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
for entries in [int(x) for x in sys.argv[3:]] or [10000, 100000]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as tmp:
        db = os.path.join(tmp, "large.db")
        enlarge(source, db, entries)
        subprocess.run([tool, "index", "remove", db, "nobody"], capture_output=True)  # makes the blocks
        for q in QUESTIONS[:1] if entries > 200000 else QUESTIONS:  # the others grow as the entries do
            seconds(tool, "search", db, q, "--json")
            s, r = seconds(tool, "search", db, q, "--json")
            print("%8d entries  %7.3f s CPU  %6d sketches read  %s" % (entries, s, r["sketches_read"], q), flush=True)
