#!/usr/bin/python3
# label: slow
"""The tests of memo tables and of the optimiser on a PostgreSQL server, and 16 workers (argument: the tool)."""
import os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from engines import Postgres

TOOL = os.path.abspath(sys.argv[1])
# Those that are of files: text in the place of a store, names in messages, claims of processes that are known to be gone.
FILES = {"test_usage_errors", "test_time", "test_killed_at_any_moment_it_goes_on_the_same"}
optimiser = os.path.join(HERE, "..", "cli", "run_optimize.py")
names = [l[4:l.index("(")] for l in open(optimiser) if l.startswith("def test_")]
with Postgres() as pg:
    env = dict(os.environ, GPMEM_TEST_SERVER=pg.url, GPMEM_TEST_TOOL=TOOL)
    for command in (["test_memo"], ["test_memo_kill"]):
        subprocess.run([os.path.join(os.path.dirname(TOOL), "tests", command[0])], env=env, check=True)
    subprocess.run([optimiser, os.path.join(HERE, "on_server.py")] + [n for n in names if n not in FILES], env=env, check=True)
subprocess.run([os.path.join(HERE, "run_postgres.py"), TOOL, "16"], check=True)
