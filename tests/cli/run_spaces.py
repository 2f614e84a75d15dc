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
                      (["--var", "s=a<"], "empty")):
        said = run("optimize", *BOX, *args, "--budget", "3", "--", "echo", "{x}{y}", status=2)
        assert why in said, (args, said)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print("ok", name)
