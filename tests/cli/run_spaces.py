#!/usr/bin/python3
"""Spaces of a search beyond a box (argument: the tool): known constraints, levels in order, orders, numbers that sum to one."""
import json, os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp(prefix="spaces-"))
os.environ["XDG_STATE_HOME"] = os.getcwd()
BOX = ["--var", "x=0:10", "--var", "y=0:10"]


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=120)
    assert r.returncode == status, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout + r.stderr


def search(expression, *args, budget=30):
    """What is found for an expression of awk, and every point that was evaluated."""
    run("optimize", "-q", *args, "--budget", str(budget), "--json", "out.json", "--", "awk",
        'BEGIN { printf "%.17g\\n", ' + expression + " }")
    j = json.load(open("out.json"))
    assert j["failed"] == 0 and j["evaluations"] == budget, j
    return j["best"], [t["x"] for t in j["trace"]]


def test_known_constraints():
    best, points = search("{x}^2 + {y}^2", *BOX, "--constraint", "x + 2*y >= 5", "--constraint", "x*y <= 6")
    assert abs(best["y"] - 5) < 1e-6, best
    assert all(p["x"] + 2 * p["y"] >= 5 - 1e-8 and p["x"] * p["y"] <= 6 + 1e-8 for p in points), points
    best, points = search("{x}^2 + 2 * {y}^2", *BOX, "--constraint", "x + y = 4 +- 0.001")
    assert abs(best["y"] - 2 * 3.999 ** 2 / 3) < 1e-4, best
    assert all(abs(p["x"] + p["y"] - 4) <= 0.001 + 1e-8 for p in points), points
    best, points = search("({x} - 3.4)^2 + {y}", "--var", "x=0:10:int", "--var", "y=0.1:10:log",
                          "--constraint", "exp(y) >= x + 1", "--constraint", "max(x, y) <= 8")
    assert all(2.718281828 ** p["y"] >= p["x"] + 1 - 1e-6 and p["x"] == int(p["x"]) <= 8 for p in points), points
    assert best["x"]["x"] == 3 and abs(best["y"] - 0.16 - 1.3862943611) < 1e-4, best


def test_they_belong_to_the_store():
    args = [*BOX, "--constraint", "x <= y", "--store", "r.db", "--budget", "9", "--", "awk", "BEGIN { print {x} - {y} / 2 }"]
    assert run("optimize", "-q", *args) == run("optimize", "-q", *args)
    said = run("optimize", "-q", *BOX, "--store", "r.db", "--budget", "9", "--", "awk", "BEGIN { print {x} - {y} / 2 }", status=2)
    assert "other variables or ranges" in said, said
    for line in run("ask", "r.db", "-n", "20").splitlines():
        x, y = (float(w.split("=")[1]) for w in line.split()[1:])
        assert x <= y + 1e-8, line


def test_levels_in_order():
    text = "(length(\"{size}\") - 5)^2 + ({x} - 0.25)^2"
    best, points = search(text, "--var", "size=xs<small<medium<enormous", "--var", "x=0:1", budget=25)
    assert best["x"]["size"] == "small" and best["y"] < 1e-8, best
    assert {p["size"] for p in points} <= {"xs", "small", "medium", "enormous"}
    run("ask", "o.db", "--var", "size=s<m<l")
    assert "is not one of its levels" in run("tell", "o.db", "size=xl", "3", status=2)
    run("tell", "o.db", "size=m", "3")


def test_orders():
    best, points = search("({a}-3)^2 + ({b}-1)^2 + ({c}-5)^2 + ({d}-2)^2 + ({e}-4)^2", "--var", "a,b,c,d,e=order", budget=25)
    assert best["y"] == 0 and best["x"] == dict(a=3, b=1, c=5, d=2, e=4), best
    assert all(sorted(p.values()) == [1, 2, 3, 4, 5] for p in points), points
    assert len({tuple(p.values()) for p in points}) == 25  # none twice
    run("optimize", "-q", "--var", "a,b,c=order", "--budget", "50", "--json", "all.json", "--", "awk", "BEGIN { print {a} - {b} }")
    assert json.load(open("all.json"))["evaluations"] == 6  # then there are no others


def test_shares():
    best, points = search("({a}-.2)^2 + ({b}-.3)^2 + 2*({c}-.5)^2", "--var", "a,b,c=shares", budget=40)
    assert best["y"] < 1e-10, best
    assert all(abs(sum(p.values()) - 1) < 1e-9 and min(p.values()) >= 0 for p in points), points


def test_what_does_not_read():
    for args, why in ((["--constraint", "x + y"], "comparison of expressions"), (["--constraint", "x <= y + nonsense(x)"], "no function of numbers"),
                      (["--constraint", "x <= log("], "comparison of expressions"), (["--var", "k=a,b", "--constraint", "k + x <= 3"], "category"),
                      (["--var", "a,x=order"], "already"), (["--var", "a=shares"], "at least two"), (["--var", "s=a<b<a"], "twice"),
                      (["--var", "s=a<"], "empty"), (["--var", "s=a< <b"], "empty"), (["--var", "s=(0,1)"], "lo:hi"), (["--var", "s=[0, 2.5]"], "lo:hi"),
                      (["--var", "s=3:3"], "one value only"), (["--constraint", "x^2 <= y"], "x ** 2"), (["--constraint", "x + y = 1"], "tolerance"),
                      (["--constraint", "x + y == 1 +- 1"], "tolerance"), (["--objective", "a,b", "--target", "3"], "one objective"),
                      (["--constraint", "x <= y", "--start", "x=2 y=1"], "guess x=2 y=1: it breaks the constraint 'x <= y'"),
                      (["--var", "a,b=shares", "--start", "x=2 y=1 a=0.5 b=0.6"], "sum to one"),
                      (["--var", "a,b=order", "--start", "x=2 y=1 a=1 b=1"], "an order")):
        said = run("optimize", *BOX, *args, "--budget", "3", "--", "echo", "{x}{y}", status=2)
        assert why in said, (args, said)


def test_points_that_break_what_is_known():
    """Whichever way they come: they are neither evaluated nor the best."""
    rule = ["--constraint", "x + y >= 5"]
    out = run("optimize", "-q", *BOX, "--constraint", "x + y >= 50", "--budget", "5", "--", "echo", "{x}{y}", status=1)
    assert "no point of the ranges was found that keeps the constraints" in out, out
    assert "keeps the constraints" in run("ask", *BOX, "--constraint", "x + y >= 50", "never.db", status=1)
    run("ask", *BOX, *rule, "told.db")
    assert "breaks the constraint 'x + y >= 5'" in run("tell", "told.db", "x=1", "y=1", "0", status=2)
    out = run("tell", "told.db", "x=3", "y=3", "0")
    assert "may be told again" in run("tell", "told.db", "x=3", "y=3", "1", status=2)
    command = ["--budget", "8", "--json", "out.json", "--", "awk", "BEGIN { printf \"%.17g\", {x} + {y} }"]
    run("optimize", "-q", *BOX, "--store", "free.db", *command)
    run("optimize", "-q", *BOX, *rule, "--from", "free.db", *command)
    j = json.load(open("out.json"))
    assert j["best"]["y"] >= 5 - 1e-8 and j["evaluations"] > 8 and all(t["x"]["x"] + t["x"]["y"] >= 5 - 1e-8 for t in j["trace"]), j
    run("optimize", "-q", "--var", "x,y=shares", "--from", "free.db", *command)
    assert all(abs(t["x"]["x"] + t["x"]["y"] - 1) < 1e-8 for t in json.load(open("out.json"))["trace"])
    with open("known.csv", "w") as f: f.write("x,y,value\n4,4,8\n1,1,2\n")
    assert "known.csv:3: it breaks the constraint" in run("optimize", "-q", *BOX, *rule, "--warm-start", "known.csv", *command, status=2)


def test_names_of_levels():
    run("optimize", "-q", "--var", "k=aa , b,  c", "--var", "s=x < y", "--budget", "6", "--json", "out.json", "--", "sh", "-c", "echo 1 # {k}{s}")
    assert {t["x"]["k"] + t["x"]["s"] for t in json.load(open("out.json"))["trace"]} <= {k + s for k in ("aa", "b", "c") for s in "xy"}
    best, points = search('{y} + ("{k}" == "c")', "--var", 'k="a when b=1","c"', "--var", 'y=0:1 when k="a when b=1"', budget=15)
    assert best["x"]["k"] == "a when b=1" and best["y"] < 0.1 and all(p["y"] == 0.5 for p in points if p["k"] == "c"), best


def test_guesses_of_levels_in_quotes():
    start = 'k="a \\"b\\", c" y=0.25'
    _, points = search("{y}", "--var", r'k="a \"b\", c","d"', "--var", "y=0:1", "--start", start, "--start", 'y=0.5   k="d"', budget=3)
    assert points[:2] == [{"k": 'a "b", c', "y": 0.25}, {"k": "d", "y": 0.5}], points


def test_wide_whole_numbers():
    run("optimize", "-q", "--var", "n=0:9007199254740992:int", "--budget", "6", "--log", "wide.txt", "--", "sh", "-c", "echo $(({n} % 1000))")
    with open("wide.txt") as f: assert all(int(n) % 1000 == int(y) for n, y in map(str.split, f))


def test_logs_of_two_searches_and_a_pipe():
    for seed in ("1", "2", "1"):
        run("optimize", "-q", "--seed", seed, "--var", "n=1:99:int", "--budget", "6" if seed == "2" else "3", "--log", "both.txt", "--store", seed + ".db",
            "--", "echo", "{n}")
        with open("both.txt", "a") as f: f.write("mine\n")
    run("optimize", "-q", "--var", "n=1:99:int", "--budget", "5", "--log", "both.txt", "--store", "1.db", "--", "echo", "{n}")
    with open("both.txt") as f: lines = f.read().split("\n")
    assert [l == "mine" for l in lines[:-1]] == [False] * 3 + [True] + [False] * 6 + [True, True] + [False] * 2, lines
    out = run("optimize", "-q", "--var", "n=1:99:int", "--budget", "4", "--log", "/dev/stdout", "--", "echo", "{n}")
    assert len(out.splitlines()) == 6, out


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print("ok", name)
