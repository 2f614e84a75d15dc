#!/usr/bin/python3
"""Claims with their durable results per second, by 1, 4 and 16 clients of one store: SQLite and PostgreSQL on this machine,
in one run. Fairness: what the slowest client did beside the fastest. bench/stores.py GPMEM [SECONDS]"""
import os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))
from engines import Postgres

CLIENT = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "bench", "bench_claims")
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 4


def measure(store, clients):
    ps = [subprocess.Popen([CLIENT, store, str(i + 1), str(SECONDS)], stdout=subprocess.PIPE, text=True) for i in range(clients)]
    done = [int(p.communicate()[0]) for p in ps]
    assert all(p.returncode == 0 for p in ps)
    return sum(done) / SECONDS, min(done) / max(1, max(done))


with Postgres() as pg, tempfile.TemporaryDirectory() as work:
    print("# Claims and durable results a second\n\n| store | clients | a second | slowest / fastest |\n|---|--:|--:|--:|")
    for kind in ("SQLite", "PostgreSQL"):
        for n in (1, 4, 16):
            rate, fair = measure(os.path.join(work, "%d.db" % n) if kind == "SQLite" else "%s#bench%d" % (pg.url, n), n)
            print("| %s | %d | %.0f | %.2f |" % (kind, n, rate, fair), flush=True)
