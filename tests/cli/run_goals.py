#!/usr/bin/python3
"""Evaluations that give several numbers (argument: the tool, [kills, default 12]): how they are read, bounds, the front,
ask and tell, old stores, an optimiser killed at random and sixteen workers on one store with bounds and two objectives."""
import json, os, random, signal, sqlite3, subprocess, sys, tempfile
from each import script, unsealed

TOOL, KILLS = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 12
os.chdir(tempfile.mkdtemp(prefix="goals-"))
os.environ["XDG_STATE_HOME"] = os.getcwd()


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=120)
    assert r.returncode == status, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout + r.stderr


def rows(db):
    with sqlite3.connect(db) as d: return d.execute("SELECT id, x, status, y, outputs FROM point ORDER BY id").fetchall()


# minimum of x + y outside of a disc around the origin, two objectives in the same numbers
NUMBERS = script("numbers.sh", '#!/bin/sh\necho "$1 $2" >> seen.txt\n'
                 "awk -v x=$1 -v y=$2 'BEGIN { printf \"%.17g, %.17g %.17g\\n\", x + 2 * y, x * x + y * y, x - y }'\n")
OBJECT = script("object.sh", "#!/bin/sh\nawk -v x=$1 -v y=$2 'BEGIN { printf \"{\\\"far\\\": %.17g,\\n \\\"near\\\": %.17g, "
                "\\\"who\\\": \\\"me\\\"}\", (x - 1) ^ 2 + y * y, x * x + y * y }'\n")
LOG = script("log.sh", "#!/bin/sh\necho 'loss: 7 (first)'\nawk -v x=$1 'BEGIN { printf \"step 9\\nloss:   %.17g (last), acc=%g%%\\n\", (x - 1) ^ 2, x }'\n")
BOX = ["--var", "x=0:2", "--var", "y=0:2"]
BOUND = ["--objective", "f", "--constraint", "r>=1"]


def test_bounds():
    out = run("optimize", "-q", *BOX, "--budget", "30", *BOUND, "--collect", "gap", "--store", "b.db", "--json", "b.json", "--", NUMBERS, "{x}", "{y}")
    j = json.load(open("b.json"))
    assert abs(j["best"]["y"] - 1) < 1e-6 and j["best"]["feasible"] and j["best"]["outputs"]["r"] >= 1, out
    assert "within the bounds" in out and set(j["best"]["outputs"]) == {"f", "r", "gap"}
    told = [t for t in j["trace"] if t["status"] == "done"]
    assert all(abs(t["outputs"]["gap"] - (t["x"]["x"] - t["x"]["y"])) < 1e-12 for t in told)
    assert all(t["feasible"] == (t["outputs"]["r"] >= 1) for t in told)
    again = run("optimize", "-q", *BOX, "--budget", "30", "--store", "b.db", "--", NUMBERS, "{x}", "{y}")
    assert again == out  # the store knows what is asked
    assert "other objectives" in run("optimize", "-q", *BOX, "--budget", "30", "--objective", "f", "--store", "b.db", "--", NUMBERS, "{x}", "{y}", status=2)


def test_front_under_noise():
    noisy = script("noisy.sh", "#!/bin/sh\nawk -v x=$1 -v y=$2 -v s=$(echo >> noises; cksum < noises | cut -c1-8) 'BEGIN { srand(s); "
                   "print x * x + y * y + 0.02 * (rand() - 0.5), (x - 1) ^ 2 + y * y + 0.02 * (rand() - 0.5) }'\n")
    out = run("optimize", "-q", "--noisy", *BOX, "--objective", "f,g", "--budget", "24", "--json", "n.json", "--report", "n.html", "--", noisy, "{x}", "{y}")
    front = json.load(open("n.json"))["front"]
    assert len({json.dumps(p["x"]) for p in front}) == len(front) > 3 and "+-" in out, out
    for p in front:
        for name, truth in (("f", p["x"]["x"] ** 2 + p["x"]["y"] ** 2), ("g", (p["x"]["x"] - 1) ** 2 + p["x"]["y"] ** 2)):
            b = p["believed"][name]
            assert 0 < b["sd"] < 0.1 and abs(b["mean"] - truth) < 6 * b["sd"] + 0.01, (p, name, truth)
    page = open("n.html").read()
    assert page.count("data-y=") == len(front) and 'data-weights="f\ng"' in page and "±" in page


def test_nothing_within_the_bounds_is_said():
    out = run("optimize", "-q", *BOX, "--budget", "12", "--objective", "f", "--constraint", "r<=-1", "--collect", "g", "--", NUMBERS, "{x}", "{y}")
    assert "none within the bounds yet" in out and "r is 1" in out and "0 within" in out, out


def test_maximise_equality_and_both_sides():
    out = run("optimize", "-q", *BOX, "--budget", "30", "--objective", "f:max", "--constraint", "r=1+-0.001", "--constraint", "-1<=g<=1",
              "--json", "m.json", "--", NUMBERS, "{x}", "{y}")
    report = json.load(open("m.json"))
    best = report["best"]
    assert report["goal"] == "maximize" and set(best["outputs"]) == {"f", "r", "g"}
    assert best["feasible"] and abs(best["y"] - 5 ** 0.5) < 0.01, out


def test_front():
    out = run("optimize", "-q", *BOX, "--budget", "25", "--objective", "near,far@1.1", "--json", "f.json", "--", OBJECT, "{x}", "{y}")
    front = [(p["outputs"]["near"], p["outputs"]["far"]) for p in json.load(open("f.json"))["front"]]
    assert "front: %d points" % len(front) in out and len(front) > 5
    for a in front: assert not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in front)
    assert sum(abs(a ** .5 + b ** .5 - 1) < .05 for a, b in front) > 5, front


def test_patterns():
    out = run("optimize", "-q", "--var", "x=0:3", "--budget", "12", "--read", "loss: {}", "--", LOG, "{x}")
    assert "best: value=" in out and float(out.split("value=")[1].split()[0]) < 1e-6, out
    out = run("optimize", "-q", "--var", "x=0:3", "--budget", "12", "--read", "loss: {loss} (last), acc={acc}%", "--objective", "acc:max",
              "--constraint", "loss<=1", "--", LOG, "{x}")
    assert abs(float(out.split("acc=")[1].split()[0]) - 2) < 1e-3, out


def test_wrong_outputs_and_usage():
    text = run("optimize", *BOX, "--budget", "2", "--objective", "f,g,h,i", "--", NUMBERS, "{x}", "{y}", status=1)
    assert "must print 4 numbers (f, g, h, i)" in text, text
    text = run("optimize", *BOX, "--budget", "2", "--objective", "far,missing", "--", OBJECT, "{x}", "{y}", status=1)
    assert "'missing' is not among what it printed" in text, text
    for bad in (["--constraint", "r<1"], ["--objective", "f:most"], ["--objective", "f", "--constraint", "r=1"], ["--objective", "f", "--constraint", "2<=r<=1"],
                ["--objective", "f", "--constraint", "r"], ["--objective", "f,f"], ["--read", "loss"], ["--collect", "a b", "--objective", "f"]):
        text = run("optimize", *BOX, "--budget", "2", *bad, "--", NUMBERS, "{x}", "{y}", status=2)
        assert "Traceback" not in text and len(text) > 20, (bad, text)


def test_ask_and_tell():
    run("ask", "t.db", *BOX, "--objective", "f", "--constraint", "c<=0")
    assert "expected 2 numbers" in run("tell", "t.db", "1", "3", status=2)
    run("tell", "t.db", "1", "3", "-1")
    run("ask", "t.db")
    run("tell", "t.db", "2", "c=2", "f=0.5")
    run("ask", "t.db")
    run("tell", "t.db", "3", "fail")
    out = run("tell", "t.db", "x=1", "y=1", "f=2", "c=-3")
    assert "best: f=2 c=-3 at x=1 y=1" in out and "(1 failed, 2 within the bounds)" in out, out
    assert len(rows("t.db")) == 4


def test_a_store_of_the_version_before():
    one = script("one.sh", "#!/bin/sh\nawk -v x=$1 'BEGIN { print (x - 1) ^ 2 }'\n")
    run("optimize", "-q", "--var", "x=0:2", "--budget", "6", "--store", "old.db", "--", one, "{x}")
    before = rows("old.db")
    with sqlite3.connect("old.db") as d: d.executescript("ALTER TABLE point DROP COLUMN outputs; PRAGMA user_version=2;")
    unsealed("old.db")
    assert run("memo", "list", "old.db").count("\n") == 7  # read as it is
    run("optimize", "-q", "--var", "x=0:2", "--budget", "9", "--store", "old.db", "--", one, "{x}")
    assert rows("old.db")[:6] == before and len(rows("old.db")) == 9


def test_conditional_variables_and_guesses():
    kinds = script("kinds.sh", "#!/bin/sh\nawk -v k=$1 -v a=$2 -v b=$3 'BEGIN { if (k == \"p\") print 1 + (a - 0.3) ^ 2; else print 0.5 + (b - 0.7) ^ 2 }'\n")
    space = ["--var", "k=p,q", "--var", "a=0:1 when k=p", "--var", "b=0:1 when k=q"]
    out = run("optimize", "-q", *space, "--start", "k=p a=0.1 b=0.2", "--start", "k=q a=0 b=1", "--budget", "20", "--log", "k.log", "--store", "k.db",
              "--", kinds, "{k}", "{a}", "{b}")
    points = [l.split() for l in open("k.log")]
    assert points[0][:3] == ["p", "0.1", "0.2"] and points[1][:3] == ["q", "0", "1"], points[:2]
    assert all((p[2] if p[0] == "p" else p[1]) == "0.5" for p in points[2:])  # means nothing there: its middle
    assert abs(float(out.split("best: ")[1].split()[0]) - .5) < 1e-6, out
    assert run("optimize", "-q", "--join", "k.db", "--budget", "20") == out  # the space survives as text
    for bad in ("a=0:1 when z=p", "a=0:1 when k=z", "a=0:1 when k"):
        assert "when" in run("optimize", "--var", "k=p,q", "--var", bad, "--budget", "2", "--", kinds, "{k}", "{a}", "1", status=2)
    assert "missing" in run("optimize", *space, "--start", "k=p a=0.1", "--budget", "2", "--", kinds, "{k}", "{a}", "{b}", status=2)


def test_values_of_an_earlier_search():
    three = script("three.sh", "#!/bin/sh\nawk -v x=$1 -v y=$2 'BEGIN { printf \"%.17g\\n\", (x - 1) ^ 2 + (y - 1) ^ 2 }'\n")
    run("optimize", "-q", "--var", "x=0:4", "--var", "y=0:4", "--budget", "20", "--store", "wide.db", "--", three, "{x}", "{y}")
    inside = [r for r in rows("wide.db") if all(float(v) <= 2 for v in r[1].split())]
    args = ["optimize", "-q", "--var", "y=0:2", "--var", "x=0:2", "--budget", "3", "--from", "wide.db", "--store", "narrow.db", "--", three, "{x}", "{y}"]
    out = run(*args)
    got = rows("narrow.db")
    assert len(got) == len(inside) + 3 and got[0][3] == inside[0][3], (len(got), len(inside))
    assert got[0][1].split() == inside[0][1].split()[::-1]  # by name, not by place
    assert run(*args) == out and len(rows("narrow.db")) == len(got)
    out = run("optimize", "-q", "--var", "x=50:60", "--var", "y=0:2", "--budget", "3", "--from", "wide.db", "--", three, "{x}", "{y}")
    assert "from wide.db: nothing; of its " in out, out
    assert "knows nothing of the variable 'z'" in run("optimize", "--var", "z=0:2", "--budget", "3", "--from", "wide.db", "--", three, "{z}", "1", status=2)


def killed(args, db, budget):
    """Runs until the budget is there, killing at random moments; how many kills there were."""
    rng, kills = random.Random(3), 0
    while True:
        p = subprocess.Popen([TOOL, "optimize", "-q", *BOX, "--budget", str(budget), *args, "--store", db, "--", NUMBERS, "{x}", "{y}"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, err = p.communicate(timeout=rng.uniform(0.02, 0.3) if kills < KILLS else 100)
            assert p.returncode == 0, err
            return kills
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            p.communicate()
            kills += 1


def test_killed_it_goes_on_the_same():
    for name, args in (("bounds", BOUND + ["--collect", "gap"]), ("front", ["--objective", "f,gap", "--constraint", "r>=1"])):
        budget = 12 + KILLS
        run("optimize", "-q", *BOX, "--budget", str(budget), *args, "--store", name + "-ref.db", "--", NUMBERS, "{x}", "{y}")
        if os.path.exists("seen.txt"): os.remove("seen.txt")
        kills = killed(args, name + ".db", budget)
        assert [r[1:] for r in rows(name + ".db")] == [r[1:] for r in rows(name + "-ref.db")], name
        seen = open("seen.txt").read().splitlines()
        assert len(seen) - len(set(seen)) <= kills and len(set(seen)) == budget
        print("%s: %d kills, the same %d points" % (name, kills, budget))


def test_sixteen_workers():
    for name, args in (("wb", BOUND + ["--collect", "gap"]), ("wf", ["--objective", "f,gap", "--constraint", "r>=1"])):
        os.remove("seen.txt")
        run("optimize", "-q", *BOX, "--budget", "1", *args, "--store", name + ".db", "--", NUMBERS, "{x}", "{y}")
        ps = [subprocess.Popen([TOOL, "optimize", "-q", "--join", name + ".db", "--budget", "48"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE) for _ in range(16)]
        for p in ps:
            _, err = p.communicate(timeout=200)
            assert p.returncode == 0, err
        got, seen = rows(name + ".db"), open("seen.txt").read().splitlines()
        assert len(got) == 48 and len(set(r[1] for r in got)) == 48 and all(r[2] == 2 and r[4] for r in got)
        assert len(seen) == 48 and len(set(seen)) == 48


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print("ok", name, flush=True)
