#!/usr/bin/python3
"""An index of series on a PostgreSQL server: workers that are given the same files share them, one of them killed, the server
stopped and started in mid-run; answers, lists and copies are those of an index in a file (arguments: the tool)."""
import json, math, os, random, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from engines import Postgres

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-index-")
SERIES, WORKERS = 24, 3
QUESTIONS = ["rises()", "periodic(1961..1963)", "PER & !LIN", "rises(from=1962) | jumps(1960..1963)", "is pure noise"]


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, cwd=WORK.name, timeout=300)
    assert r.returncode == status, (args, r.returncode, r.stdout[-500:], r.stderr[-1500:])
    return r.stdout


def make_files():
    os.mkdir(os.path.join(WORK.name, "series"))
    for k in range(SERIES):
        rng = random.Random(k)
        value = lambda t: (k % 3 == 0) * t + (k % 3 == 1) * 3 * math.sin(2 * math.pi * t) + rng.gauss(0, 1)
        with open(os.path.join(WORK.name, "series", "s%02d.csv" % k), "w") as f:
            f.write("x,y\n" + "".join("%.4f,%.4f\n" % (1960 + i / 12, value(i / 12)) for i in range(60)))
    open(os.path.join(WORK.name, "series", "empty.csv"), "w").close()


def answers(index):
    """Numbers of rows, and so the order of ties, are those of the commits."""
    found = [json.loads(run("search", index, q, "--top", "1000", "--json"))["results"] for q in QUESTIONS]
    return [sorted((r["name"], r["probability"], r["error"], r["structure"]) for r in f) for f in found]


def exported(index):
    """Numbers of structures differ with the order in which they came."""
    rows = [json.loads(l) for l in run("index", "export", index).splitlines()]
    return sorted((r["name"], r["hash"], r["words"], str(r["structures"])) for r in rows)


def check_heartbeat(pg):
    """A claim outlasts its time while the process is at the series, and ends with the process."""
    rng = random.Random(1)
    with open(os.path.join(WORK.name, "long.csv"), "w") as f:
        f.write("x,y\n" + "".join("%.4f,%.4f\n" % (1960 + i / 12, math.sin(i / 2) + rng.gauss(0, 1)) for i in range(600)))
    p = subprocess.Popen([TOOL, "index", "add", pg.url + "#long", "long.csv", "--thorough", "--claim", "1"], cwd=WORK.name,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen, end = set(), time.monotonic() + 60
    while len(seen) < 3 and time.monotonic() < end and p.poll() is None:
        try:
            seen.update(pg.sql("SELECT expires FROM long.claim").split())
        except subprocess.CalledProcessError:
            pass
        time.sleep(0.1)
    p.kill(), p.wait()
    assert len(seen) >= 3, seen


def check_lost_claim(pg):
    """A worker that stands still for longer than its claim lasts: another one stores its series, and it counts none as its own."""
    add = lambda: subprocess.Popen([TOOL, "index", "add", pg.url + "#lost", "series", "-j", "1", "--claim", "1"], cwd=WORK.name,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    at_rest = ("SELECT (SELECT count(*) FROM lost.claim) > 0 AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE "
               "backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle')")
    slow, end = add(), time.monotonic() + 60
    while time.monotonic() < end:  # until it stands still with a claim, and not inside a transaction, for which others would wait
        slow.send_signal(signal.SIGSTOP)
        try:
            if pg.sql(at_rest).strip() == "t":
                time.sleep(0.5)  # the server may be about to take up what it was asked before
                if pg.sql(at_rest).strip() == "t":
                    break
        except subprocess.CalledProcessError:  # there is no such table yet
            pass
        slow.send_signal(signal.SIGCONT)
        time.sleep(0.02)
    else:
        raise AssertionError("it never stood still with a claim")
    other = add().communicate(timeout=240)[0]
    slow.send_signal(signal.SIGCONT)
    counts = [[int(w) for w in out.split() if w.isdigit()] for out in (other, slow.communicate(timeout=240)[0])]
    assert [sum(c[:3]) for c in counts] == 2 * [SERIES] and counts[0][0] + counts[1][0] == SERIES, counts


with WORK, Postgres() as pg:
    make_files()
    check_heartbeat(pg)
    check_lost_claim(pg)
    store = pg.url + "#series"
    run("index", "add", "file.db", "series", "-j", "2", status=3)
    start = lambda: subprocess.Popen([TOOL, "index", "add", store, "series", "-j", "1", "--claim", "2"], cwd=WORK.name, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
    workers = [start() for _ in range(WORKERS)]
    rows = lambda: int(pg.sql("SELECT count(*) FROM series.series").strip() or 0)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            if rows() >= 3:
                break
        except subprocess.CalledProcessError:  # there is no such table yet
            pass
        time.sleep(0.05)
    workers[0].send_signal(signal.SIGKILL)
    workers[0].communicate()
    pg.restart()  # as a crash: every connection is lost
    counts = []
    for p in workers[1:]:
        out, err = p.communicate(timeout=240)
        assert p.returncode == 3 and "empty" in err, (p.returncode, out, err)
        counts.append([int(w) for w in out.split() if w.isdigit()])
    assert all(a + r + u == SERIES and x == 1 for a, r, u, x in counts), counts
    assert rows() == SERIES and pg.sql("SELECT count(*) FROM series.claim WHERE name LIKE 's%'").strip() in ("0", "1")
    assert sum(a for a, _, _, _ in counts) <= SERIES
    assert answers(store) == answers("file.db") and exported(store) == exported("file.db")
    assert run("index", "verify", store) == "%d series, all readable\n" % SERIES
    run("index", "merge", "back.db", store)
    assert answers("back.db") == answers("file.db")
    run("index", "merge", pg.url + "#copy", "back.db")
    assert exported(pg.url + "#copy") == exported(store)
    run("index", "remove", store, "s00")
    run("index", "compact", store)
    assert len(exported(store)) == SERIES - 1
    assert "another kind of store" in subprocess.run([TOOL, "memo", "list", store], capture_output=True, text=True).stderr
    assert "No such store" in subprocess.run([TOOL, "search", pg.url + "#none", "rises()"], capture_output=True, text=True).stderr
print("index on a server: %d series, workers added %s, one killed, the server restarted: the same answers as from a file" % (SERIES, [c[0] for c in counts]))
