#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time of a question to a large index: search.py GPMEM INDEX [ENTRIES ...]

INDEX holds real series; its rows are copied under other names until there are ENTRIES of them (default 10000 100000 1000000), in
a temporary file (where INDEX has so many itself, it is asked as it is; with KEEP=FOLDER the files stay there, for the next time). A copy begins at another time, up to a quarter of its span earlier or later, and lasts a little longer or
shorter, so that no two answers to a question with a date are the same. Printed: CPU seconds of the whole process (start, reading,
answer), the least of three runs; how many sketches were read; and whether the twenty best are those that a search for all of
them finds first (up to 10000 entries)."""
import json, os, random, resource, shutil, sqlite3, struct, subprocess, sys, tempfile

QUESTIONS = ["PER & !LIN", "periodic(throughout)", "rises(from=1968)", "rises(1965..1975)", "periodic(1970..1980) & !periodic(before 1970)",
             "periodic(until=1970)", "jumps(1963..1967)", "linear(throughout) & periodic(throughout)", "noise_grows(1960..1980)",
             "value(1970) > 20", "share(periodic) > 0.5", "swing_grows() & rises() & PER"]


def varied(sketch, rng):
    """Begins and lasts otherwise: x0 and span are the two doubles behind four bytes (src/apps/discover/sketch_code.c)."""
    x0, span = struct.unpack_from("<dd", sketch, 4)
    other = span * (1 + 0.2 * (rng.random() - 0.5))
    return sketch[:4] + struct.pack("<dd", x0 + span * (rng.random() - 0.5) / 2, other) + sketch[20:]


def enlarge(source, target, entries):
    shutil.copy(source, target)
    c, rng = sqlite3.connect(target), random.Random(1)
    c.execute("pragma synchronous=off")
    c.execute("pragma journal_mode=off")
    c.execute("delete from block")
    rows = c.execute("select n, hash, source, made, words, posting, sketch, name from series order by id").fetchall()
    first = c.execute("select max(id) + 1 from series").fetchone()[0]
    c.executemany("insert into series(n, hash, source, made, words, posting, sketch, name, id) values(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  (r[:6] + (varied(r[6], rng), "%s.%d" % (r[7], k), k) for k in range(first, entries + 1) for r in [rows[k % len(rows)]]))
    c.commit()
    c.execute("vacuum")  # its pages have no checksums then; those that gpmem wrote would be wrong
    c.close()


def seconds(*args, fails=False):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run(args, capture_output=True, text=True, check=not fails)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(r.stdout or "{}")


def names(r): return [x["name"] for x in r["results"]]


def size_of(path):
    if not os.path.exists(path):
        return 0
    c = sqlite3.connect(path)
    n = c.execute("select count(*) from series").fetchone()[0]
    c.close()
    return n


def ask(tool, db, entries):
    for q in QUESTIONS:
        s, r = min((seconds(tool, "search", db, q, "--json") for _ in range(3)), key=lambda x: x[0])
        same = ""
        if entries <= 10000:
            same = "the same as of all" if names(r) == names(seconds(tool, "search", db, q, "--json", "--top", str(entries))[1])[:20] else "NOT THE SAME"
        print("%8d entries  %7.3f s CPU  %6d sketches read  %s  %s" % (entries, s, r["sketches_read"], q, same), flush=True)


tool, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
for entries in [int(x) for x in sys.argv[3:]] or [10000, 100000, 1000000]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as tmp:
        db = source if size_of(source) >= entries else os.path.join(os.environ.get("KEEP", tmp), "large%d.db" % entries)
        if size_of(db) < entries:
            enlarge(source, db, entries)
        cpu = seconds(tool, "index", "remove", db, "nobody", fails=True)[0]  # makes the blocks
        print("%8d entries  %7.1f s of CPU to make the blocks, %.0f bytes a series" % (entries, cpu, os.path.getsize(db) / entries))
        ask(tool, db, entries)
