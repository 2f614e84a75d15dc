#!/usr/bin/python3
# label: slow
"""A PostgreSQL server that is away for longer than workers wait for it (a minute): what they had in hand is kept in a file of the
user's, named, and brought in by the next start; a program that runs meanwhile goes on (argument: the tool)."""
import os, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from engines import Postgres

TOOL = os.path.abspath(sys.argv[1])
PROGRAM = """#!/bin/sh
echo $1 >> begun
while [ -e hold ]; do sleep 0.05; done
echo $1 | awk '{ printf "%.17g\\n", ($1 - 0.3)^2 }'
"""


def begun(): return open("begun").read().split() if os.path.exists("begun") else []


def values(store):
    out = subprocess.run([TOOL, "memo", "list", store], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {float(r[1]): r[2] for r in (line.split("\t") for line in out.splitlines()[1:])}


def outage(pg, store, held):
    """Two programs have begun when the server goes. `held`: they end when it is back."""
    os.environ["HOME"] = os.getcwd()
    os.environ.pop("XDG_STATE_HOME", None)
    if begun(): os.remove("begun")
    subprocess.run([TOOL, "optimize", "-q", "--var", "x=0:1", "--budget", "1", "--store", store, "--", "./program.sh", "{x}"],
                   check=True, stdout=subprocess.DEVNULL)
    open("hold", "w").close()
    p = subprocess.Popen([TOOL, "optimize", "--join", store, "--budget", "3", "--jobs", "2", "--claim", "5"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    while len(begun()) < 3: time.sleep(0.05)
    pg.stop("immediate")
    if held:
        for line in p.stderr:
            if "it is waited for, 60 s at most" in line: break
        time.sleep(70)  # it has given up waiting, but not its programs
        assert p.poll() is None, p.communicate()
        pg.start()
    os.remove("hold")
    out, err = p.communicate(timeout=300)
    if not held:
        assert p.returncode == 1 and err.count("is kept in '") == 2, (p.returncode, out, err)
        assert all("(x = %s)" % x in err for x in begun()[1:]), (err, begun())
        pg.start()
        out = subprocess.run([TOOL, "optimize", "--join", store, "--budget", "3"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, text=True).stdout
        assert "2 values that an outage had kept out came in" in out, out
        left = [f for folder in os.walk(".local") for f in folder[2] if folder[0].endswith("kept")]
        assert not left, left
    else:
        assert p.returncode == 0, (p.returncode, out, err)
    assert len(begun()) == 3, begun()  # nothing was paid for twice
    got = values(store)
    assert len(got) == 3 and all(abs(float(y) - (x - 0.3)**2) < 1e-12 for x, y in got.items()), got


with tempfile.TemporaryDirectory(prefix="gpmem-outage-") as work, Postgres() as pg:
    os.chdir(work)
    with open("program.sh", "w") as f: f.write(PROGRAM)
    os.chmod("program.sh", 0o755)
    outage(pg, pg.url + "#away", False)
    outage(pg, pg.url + "#held", True)
    os.chdir("/")
print("outages: nothing that was paid for is lost")
