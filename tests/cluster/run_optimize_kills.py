#!/usr/bin/python3
"""Searches of 16 workers, in a file and on a PostgreSQL server, for one number, within bounds, for a front, and for a front
within bounds. Workers are killed at random moments and others take their places. At the end every evaluation of the budget
is there once with the numbers of its point, none that was ever there is gone or has changed, and nothing was run twice but
what the dead were at. Arguments: the tool, [kills of each search (default 15), [workers (default 16)]]."""
import json, os, random, signal, sqlite3, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from engines import Postgres

TOOL = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
WORKERS = int(sys.argv[3]) if len(sys.argv) > 3 else 16
WORK = tempfile.TemporaryDirectory(prefix="gpmem-optimize-kills-")
# Its value is a polynomial: nothing looks like noise, so there is no point to repeat.
OBJECTIVE = """#!/bin/sh
echo $2 $3 >> begun
sleep 0.$((1 + (${#2} + ${#3}) % 4))
awk -v what=$1 -v x=$2 -v y=$3 'BEGIN {
    f = (x - 0.3) * (x - 0.3) + (y - 0.6) * (y - 0.6)
    if (what == "one") printf "%.17g\\n", f
    else printf "{\\"f\\": %.17g, \\"g\\": %.17g, \\"c\\": %.17g}\\n", f, x + y, (x - 1) * (x - 1) + x * y }'
"""
SEARCHES = {
    "one": [],
    "bounds": ["--objective", "f", "--constraint", "c<=0.5", "--collect", "g"],
    "front": ["--objective", "f,g", "--collect", "c"],
    "front-bounds": ["--objective", "f,g", "--constraint", "c<=0.5"],
}


def run(*args):
    r = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=WORK.name, timeout=300)
    assert r.returncode == 0, (args, r.returncode, r.stdout[-500:], r.stderr[-1500:])


def rows(store):
    """All rows as the file has them; of a server, as a copy has them."""
    file = os.path.join(WORK.name, store if store.endswith(".db") else "copy.db")
    if file.endswith("copy.db"):
        if os.path.exists(file): os.remove(file)
        run("memo", "copy", store, file)
    db = sqlite3.connect(file, timeout=60)
    db.row_factory = sqlite3.Row
    found = [dict(r) for r in db.execute("SELECT id, rep, x, status, y, outputs, attempts, seq FROM point ORDER BY id")]
    db.close()
    return found


def numbers(x):
    a, b = (float(v) for v in x.split())
    return {"f": (a - 0.3) * (a - 0.3) + (b - 0.6) * (b - 0.6), "g": a + b, "c": (a - 1) * (a - 1) + a * b}


def finished(found): return {r["id"]: (r["x"], r["y"], r["outputs"], r["seq"]) for r in found if r["status"] == 2}


def check_rows(name, found, seen, budget, killed):
    """What was there at some time is there at the end, and everything is there once."""
    done, begun = finished(found), open(os.path.join(WORK.name, "begun")).read().splitlines()
    assert all(done.get(i) == row for i, row in seen.items()), [(row, done.get(i)) for i, row in seen.items() if done.get(i) != row]
    assert len(found) == len(done) == budget, (len(found), len(done), budget)
    assert not any(r["rep"] for r in found) and len({r["x"] for r in found}) == budget, [r for r in found if r["rep"]]
    assert sorted(r["seq"] for r in found) == list(range(1, budget + 1)), [r["seq"] for r in found]
    for r in found:
        want = numbers(r["x"])
        assert r["y"] == want["f"] and (name == "one" or json.loads(r["outputs"]) == want), (r, want)
    claims = {r["x"]: r["attempts"] for r in found}
    assert set(begun) == set(claims) and all(begun.count(x) <= n for x, n in claims.items()), (len(begun), sum(claims.values()))
    again = sum(claims.values()) - budget
    assert again <= killed, (again, killed)
    return len(begun) - budget


def search(name, store):
    """One search. It gets more to do when it is over before the last kill, which it then has to go on after."""
    rng, killed, seen, budget = random.Random(name + store[:4]), 0, {}, 3 * WORKERS + KILLS
    run("optimize", "--var", "x=0:1", "--var", "y=0:1", *SEARCHES[name], "--budget", "1", "-q", "--store", store, "--",
        "./objective.sh", name, "{x}", "{y}")
    start = lambda: subprocess.Popen([TOOL, "optimize", "--join", store, "--budget", str(budget), "--claim", "2", "-q"],
                                     cwd=WORK.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    workers = [start() for _ in range(WORKERS)]
    while killed < KILLS:
        time.sleep(rng.uniform(0.0, 0.15))
        k = rng.randrange(WORKERS)
        if workers[k].poll() is None:
            workers[k].send_signal(signal.SIGKILL)
            killed += 1
        else:
            budget += WORKERS
        workers[k].communicate()
        workers[k] = start()
        if killed % 10 == 0: seen.update(finished(rows(store)))
    for p in workers:
        out, err = p.communicate(timeout=240)
        assert p.returncode == 0, (p.returncode, out, err)
    again = check_rows(name, rows(store), seen, budget, killed)
    os.remove(os.path.join(WORK.name, "begun"))
    print("%s, %s: %d workers, %d kills, %d evaluations, %d of them begun again" %
          (name, "file" if store.endswith(".db") else "server", WORKERS, killed, budget, again), flush=True)


with Postgres() as pg, WORK:
    program = os.path.join(WORK.name, "objective.sh")
    with open(program, "w") as f: f.write(OBJECTIVE)
    os.chmod(program, 0o755)
    for name in SEARCHES:
        search(name, name + ".db")
        search(name, pg.url + "#" + name)
