#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpmem regress: the posterior beside quadrature, predictions beside the formulas, the printed program, inputs that
matter and that do not, files as people have them. Usage: run_regress.py GPMEM"""
import csv, io, json, math, os, random, subprocess, sys, tempfile

GPMEM = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def near(a, b, tolerance, what):
    check(abs(a - b) <= tolerance, "%s: %.6g, expected %.6g +- %.2g" % (what, a, b, tolerance))


def regress(*args, status=0):
    r = subprocess.run([GPMEM, "regress", *args], capture_output=True, text=True, timeout=300)
    check(r.returncode == status, "%s: exit %d\n%s" % (args, r.returncode, r.stderr))
    return r.stdout if status == 0 else r.stderr


def write(name, header, rows):
    with open(name, "w") as f:
        print(header, file=f)
        for r in rows:
            print(",".join(v if isinstance(v, str) else "%.6f" % v for v in r), file=f)


# ---- exact answers -------------------------------------------------------------------------------
def cholesky(a):
    n, l = len(a), [[0.0] * len(a) for _ in a]
    for i in range(n):
        for j in range(i + 1):
            s = a[i][j] - sum(l[i][k] * l[j][k] for k in range(j))
            l[i][j] = math.sqrt(s) if i == j else s / l[j][j]
    return l


def forward(l, b):
    x = []
    for i, row in enumerate(l):
        x.append((b[i] - sum(row[k] * x[k] for k in range(i))) / row[i])
    return x


def se(a, b, sf, l):
    return sf * sf * math.exp(-0.5 * (a - b) ** 2 / (l * l))


def quadrature(x, y, at, steps=16):
    """Posterior of (sf, l, noise) under log-normal priors with medians 1, 1, 0.3 on a grid of their logarithms over +-3
    (noise: -2.5 .. 3) standard deviations: means of the logarithms, and mean and sd of the function at a point."""
    def axis(lo, hi):
        return [lo + (hi - lo) * (i + 0.5) / steps for i in range(steps)]
    total, first, moments = 0.0, [0.0] * 3, [0.0, 0.0]
    for a in axis(-2.4, 2.8):
        for b in axis(-2.2, 2.8):
            base = [[se(p, q, math.exp(a), math.exp(b)) for q in x] for p in x]
            k = [se(p, at, math.exp(a), math.exp(b)) for p in x]
            for c in axis(-2.6, 1.8):
                noise = 0.3 * math.exp(c)
                l = cholesky([[v + (noise ** 2 if i == j else 0) for j, v in enumerate(row)]
                              for i, row in enumerate(base)])
                u, v = forward(l, y), forward(l, k)
                logp = (-0.5 * sum(t * t for t in u) - sum(math.log(l[i][i]) for i in range(len(x)))
                        - 0.5 * (a * a + b * b + c * c))
                w = math.exp(logp + 10)
                mean = sum(s * t for s, t in zip(u, v))
                var = math.exp(2 * a) - sum(t * t for t in v)
                total += w
                for i, z in enumerate((a, b, c)):
                    first[i] += w * z
                moments[0] += w * mean
                moments[1] += w * (var + mean * mean)
    first = [f / total for f in first]
    mean = moments[0] / total
    return first, mean, math.sqrt(moments[1] / total - mean * mean)


def standard(v):
    m = sum(v) / len(v)
    s = math.sqrt(sum((t - m) ** 2 for t in v) / (len(v) - 1))
    return [(t - m) / s for t in v], m, s


xs = [0.3, 1.1, 2.0, 2.4, 3.7, 4.1, 5.2, 6.0, 6.6]
ys = [10 + 3 * math.sin(x) + e for x, e in zip(xs, [.4, -.7, .2, .5, -.3, .6, -.5, .1, .3])]
write("small.csv", "x,y", zip(xs, ys))
(zx, mx, sx), (zy, my, sy) = standard(xs), standard(ys)
exact, mean, sd = quadrature(zx, zy, (3.0 - mx) / sx)
out = json.loads(regress("small.csv", "--kernel", "SE(sf=1, l=1)", "--at", "x=3", "--json", "-"))
par = out["model"]["parameters"]
# medians of 200 draws; the posterior's sd of the logarithms is about 0.5
near(math.log(par["SE.sf"][0]), exact[0], 0.15, "posterior of log sf")
near(math.log(par["SE.l"][0]), exact[1], 0.15, "posterior of log l")
near(math.log(par["noise"][0] / 0.3), exact[2], 0.15, "posterior of log noise")
p = out["predictions"][0]
near(p["mean"], my + sy * mean, 0.03 * sy, "mean of the function")
near(p["sd"], sy * sd, 0.03 * sy, "sd of the function")
check(p["lower"] < p["median"] < p["upper"] and p["new_lower"] < p["lower"] and p["upper"] < p["new_upper"],
      "intervals of predictions")

# ---- the program says the same --------------------------------------------------------------------
random.seed(4)
rows = []
for i in range(40):
    a, b = random.uniform(0, 10), random.uniform(-5, 5)
    rows.append((a, b, 3 * math.sin(a) + 0.5 * b + random.gauss(0, 0.4)))
write("two.csv", "a,b,y", rows)


def beside_program(name, inputs, part):
    """Medians of the posterior beside those of nuts on the printed program, in posterior standard deviations."""
    out = json.loads(regress(name, "--json", "-"))
    with open("model.vnts", "w") as f:
        f.write(regress(name, "--program"))
    r = subprocess.run([GPMEM, "run", "model.vnts"], capture_output=True, text=True, timeout=300)
    check(r.returncode == 0, "the program runs: " + r.stderr)
    table = {line.split()[0]: line.split()[1:7] for line in r.stdout.splitlines() if line.split()}
    pairs = [("LIN.sf", "linear"), ("SE.sf", "sf"), ("noise", "noise")]
    pairs += [("SE.l[%d]" % i if inputs > 1 else "SE.l", "l[%d]" % (i + 1)) for i in range(inputs)]
    for ours, row in pairs:
        low, mid, high = [math.log(float(v)) for v in table[row][3:]]  # of mean, mcse, sd, 5%, 50%, 95%
        if row == "noise":
            mid = math.log(math.hypot(math.exp(mid), 1e-4))
        near(math.log(out["model"]["parameters"][ours][0]), mid, part * (high - low) / 3.29, "%s: median of %s beside the program's" % (name, ours))
    return out["model"]["method"]


check("importance sampling" in beside_program("two.csv", 2, 0.3), "few parameters, by importance sampling")
write("exact.csv", "a,b,y", [(a, b, 3 * math.sin(a) + 0.5 * b) for a, b, _ in rows])  # no noise at all
method = beside_program("exact.csv", 2, 0.4)
check("importance sampling" in method and int(method.split("(")[1].split()[0]) > 500, "without noise: " + method)
random.seed(101)
rows = [[random.gauss(0, 1) for _ in range(20)] for _ in range(25)]
write("wide.csv", ",".join("x%d" % k for k in range(20)) + ",y", [(*u, u[0] + u[1] ** 2 / 2 + math.sin(u[2]) + random.gauss(0, .5)) for u in rows])
method = beside_program("wide.csv", 20, 0.5)
check("chains" in method and float(method.split("R-hat ")[1].rstrip(")")) <= 1.05, "many inputs, few rows: " + method)
rows = [(k % 10, (7 * k + k // 10) % 10, random.gauss(0, 1)) for k in range(410)]  # too many for importance sampling, few enough for chains
write("levels.csv", "a,b,x,y", [("a%d" % a, "b%d" % b, x, math.sin(a) + 0.2 * b + math.sin(2 * x) + random.gauss(0, .5)) for a, b, x in rows])
method = json.loads(regress("levels.csv", "--json", "-"))["model"]["method"]
check("chains" in method and float(method.split("R-hat ")[1].rstrip(")")) <= 1.05, "19 columns, 410 rows: " + method)

# An outcome with two values: the program is one of the chance of the larger, beside importance sampling from the prior, function
# values and all (the program's own posterior is Laplace's).
def chance(x, y, draws):
    random.seed(6)
    centre, n = sum(x) / len(x), len(x)
    sd = math.sqrt(sum((v - centre) ** 2 for v in x) / (n - 1))
    x = [(v - centre) / sd for v in x] + [0.0]
    total = mean = 0.0
    for _ in range(draws):
        linear, sf, l = math.exp(random.gauss(0, 1)), 2 * math.exp(random.gauss(0, 1)), 1.5 * math.exp(random.gauss(0, 1))
        k = [[4 + linear ** 2 * a * b + se(a, b, sf, l) + (1e-6 * (4 + sf * sf) if i == j else 0) for j, b in enumerate(x)]
             for i, a in enumerate(x)]
        z = [random.gauss(0, 1) for _ in x]
        f = [sum(c * v for c, v in zip(row, z)) for row in cholesky(k)]
        w = 1.0
        for v, t in zip(f, y):
            w /= 1 + math.exp(min(-v if t else v, 500))
        total += w
        mean += w / (1 + math.exp(min(-f[n], 500)))
    return mean / total


x = [0.3, 1.1, 1.9, 2.4, 3.3, 4.1, 5.2, 5.9, 7.0, 9.5]
y = [0, 0, 1, 1, 0, 1, 1, 1, 1, 1]
exact = chance(x, y, 10000)
for low, high, extra in ((0, 1, []), (2, 5, ["--missing", "none"])):  # the second: with the data in the program
    write("chance.csv", "x,y", [(a, "%d" % (high if b else low)) for a, b in zip(x, y)])
    text = regress("chance.csv", "--program", *extra)
    check('likelihood="bernoulli"' in text and "chance that y is %d, and not %d" % (high, low) in text, text[:200])
    check(("read_csv" in text) == (not extra), "data from the file, or in the program")
    with open("chance.vnts", "w") as f:
        f.write(text)
    r = subprocess.run([GPMEM, "run", "chance.vnts"], capture_output=True, text=True, timeout=300)
    check(r.returncode == 0, "the program of a chance runs: " + r.stderr)
    row = [line.split() for line in r.stdout.splitlines() if line.startswith("chance_at_means")]
    near(float(row[0][1]), exact, 0.08, "chance at the mean")  # Laplace's error, and both samplers'
    p = json.loads(regress("chance.csv", "--json", "-", "--at", "x=%r" % (sum(x) / len(x)), *extra))
    near(p["predictions"][0]["mean"], exact, 0.08, "the report's chance at the mean")
    check(p["family"] == "bernoulli" and p["chance_of"] == high, "two values are a chance")

# ---- chances and counts ---------------------------------------------------------------------------
def outcomes(n, seed, draw):
    random.seed(seed)
    for _ in range(n):
        a, b = random.gauss(0, 1), random.gauss(0, 1)
        yield (a, b, draw(a, b))


def poisson(mean):
    k, p, u = 0, math.exp(-mean), random.random()
    while u > p:
        u, k = u - p, k + 1
        p *= mean / k
    return k


def logistic(v):
    return 1 / (1 + math.exp(-v))


write("bought.csv", "a,b,bought", outcomes(200, 5, lambda a, b: "yes" if random.random() < logistic(2 * a + 2 * math.cos(2 * b)) else "no"))
text = regress("bought.csv", "--y", "bought", "--json", "b.json", "--report", "b.html", "--at", "a=0,b=0", "--at", "a=-1,b=1.5")
out = json.load(open("b.json"))
near(out["predictions"][0]["mean"], logistic(2), 0.12, "a chance")
near(out["predictions"][1]["mean"], logistic(-2 + 2 * math.cos(3)), 0.12, "a small chance")
check(out["family"] == "bernoulli" and "of the outcome 'yes' is 1, 'no' 0" in text, text[:300])
scores = [out["check"][k] for k in ("scores", "scores_linear", "scores_none")]
check(scores[0]["log_score"] > scores[1]["log_score"] + 0.05 > scores[2]["log_score"] + 0.1, "curves pay: %r" % scores)
check(0.8 < scores[0]["auc"] < 1 and scores[2]["auc"] == 0.5 and scores[0]["right"] > 0.7, "AUC: %r" % scores)
check("gives the first the larger chance in" in out["summary"].replace("\n", " ") and "curves or interactions matter" in out["summary"], out["summary"])
check("Are the chances right?" in open("b.html").read() and "chance of bought = yes" in open("b.html").read(), "the page of a chance")
curve = {i["name"]: i for i in out["inputs"]}["a"]
check(curve["shape"].startswith("rises") and all(0 <= v <= 1 for v in curve["lower"] + curve["upper"]), "chances along an input")
near(json.loads(regress("bought.csv", "--y", "bought", "--json", "-", "--family", "normal"))["check"]["rmse_mean"], out["check"]["rmse_mean"], 0.01, "two values as numbers")

write("visits.csv", "a,b,visits", outcomes(150, 6, lambda a, b: poisson(math.exp(1 + 0.7 * a))))
write("crowds.csv", "a,b,visits", outcomes(150, 7, lambda a, b: poisson(random.gammavariate(1.5, math.exp(1 + 0.7 * a) / 1.5))))
for name, families in (("visits.csv", ("poisson", "negative_binomial")), ("crowds.csv", ("negative_binomial",))):  # the first with a size beyond noticing
    text = regress(name, "--json", "v.json", "--predict", name, "--out", "v.csv", "--at", "a=1,b=0")
    out = json.load(open("v.json"))
    check(out["family"] in families and "described better as a count than with normal noise" in out["notes"], "%s: %s" % (name, out["family"]))
    at = out["predictions"][-1]
    check(at["lower"] < math.exp(1.7) < at["upper"], "the mean of counts: %r" % at)
    check(at["new_lower"] >= 0 and at["new_upper"] == int(at["new_upper"]), "counts to come: %r" % at)
    check(0.93 <= out["check"]["coverage"] <= 1, "coverage of counts")
    check({i["name"]: i for i in out["inputs"]}["b"]["shape"] != "rises in a straight line", "an input without an effect")
near(math.log(out["model"]["parameters"]["size"][0]), math.log(1.5), 0.5, "how much more than by chance counts scatter")
write("visits40.csv", "a,b,visits", outcomes(40, 8, lambda a, b: poisson(math.exp(1 + 0.7 * a))))
text = regress("visits40.csv", "--family", "negative_binomial", "--program")
with open("visits.vnts", "w") as f:
    f.write(text)
r = subprocess.run([GPMEM, "run", "visits.vnts"], capture_output=True, text=True, timeout=300)
check(r.returncode == 0, "the program of counts runs: " + r.stderr)
row = [line.split() for line in r.stdout.splitlines() if line.startswith("mean_at_means")][0]
data = [[float(v) for v in line.split(",")] for line in open("visits40.csv").read().split()[1:]]
at = "a=%r,b=%r" % tuple(sum(column) / len(data) for column in list(zip(*data))[:2])
p = json.loads(regress("visits40.csv", "--family", "negative_binomial", "--json", "-", "--at", at))["predictions"][0]
near(p["mean"], float(row[1]), 0.5 * p["sd"], "the report's mean beside the program's")

# ---- what matters: Friedman's function ------------------------------------------------------------
def friedman(n, d, seed):
    random.seed(seed)
    for i in range(n):
        u = [random.random() for _ in range(d)]
        site = random.choice(["north", "south", "south"])
        y = 10 * math.sin(math.pi * u[0] * u[1]) + 20 * (u[2] - 0.5) ** 2 + 10 * u[3] + 5 * u[4] + random.gauss(0, 1)
        yield (*u, site, y + (3 if site == "north" else 0) + (20 if i == 17 else 0))


names = ",".join("x%d" % (i + 1) for i in range(7))
write("friedman.csv", names + ",site,y", friedman(150, 7, 1))
text = regress("friedman.csv", "--json", "f.json", "--report", "f.html", "--predict", "friedman.csv", "--out", "p.csv")
out = json.load(open("f.json"))
shape = {i["name"]: i for i in out["inputs"]}
check({n for n in shape if shape[n]["shape"] == "no visible effect"} == {"x6", "x7"}, "inputs without an effect")
check(shape["x4"]["shape"] == "rises in a straight line" and shape["x3"]["shape"] == "falls, then rises", "shapes")
for name, slope in (("x4", 10), ("x5", 5), ("x7", 0)):
    mid, lo, hi = shape[name]["change"]
    near(mid, slope * (shape[name]["to"] - shape[name]["from"]), hi - lo, "the change along " + name)
near(shape["site"]["change"][0], 3, 1, "the difference between sites")
check(out["check"]["rmse"] < 0.8 * out["check"]["rmse_linear"] < out["check"]["rmse_mean"], "it predicts better")
check([o["line"] for o in out["outliers"]] == [19], "the row far out is line 19")
check("line 19:" in text and "No visible effect: x" in text, "the words")
page = open("f.html").read()
check("south \u2192 north: " in page, "the page tells between what the outcome changes")
check(page.count("<svg") == 9 and "rises in a straight line" in page and page.endswith("</html>\n"), "the page")
predicted = list(csv.DictReader(open("p.csv")))
check(len(predicted) == 150 and predicted[0]["site"] in ("north", "south"), "predictions of a file")
check(regress("friedman.csv", "--json", "-", "-j", "1") == regress("friedman.csv", "--json", "-", "-j", "3"),
      "threads make no difference")

# ---- what cannot be told is not told -----------------------------------------------------------------
random.seed(8)
rows = []
for i in range(40):  # three inputs that are nearly one
    a = random.gauss(0, 1)
    rows.append((a + random.gauss(0, .1), a + random.gauss(0, .1), a + random.gauss(0, .1), a + random.gauss(0, .7)))
write("together.csv", "a,b,c,y", rows)
out = json.loads(regress("together.csv", "--json", "together.json") and open("together.json").read())
for i in out["inputs"]:
    if i["change"][1] < 0 < i["change"][2]:
        check(i["shape"] in ("direction open", "no visible effect"), "%s of %s" % (i["shape"], i["change"]))
    check(i["name"] + " (" not in out["summary"] or not i["change"][1] < 0 < i["change"][2], out["summary"])
check("direction open" in {i["shape"] for i in out["inputs"]}, "directions that are open")
text = regress("together.csv")
check("The shares add up to" in text and "go together" in text, "why shares do not add up")

# ---- rows out of line ------------------------------------------------------------------------------
random.seed(12)
clean = [(a, b, 3 * math.sin(a) + b / 2 + random.gauss(0, .4)) for a, b in ((random.uniform(0, 6), random.uniform(-2, 2)) for _ in range(50))]
at = ["--at", "a=1.5,b=0", "--at", "a=4,b=1", "--json", "-"]
write("clean.csv", "a,b,y", clean)
want = json.loads(regress("clean.csv", *at))
check(want["rows_set_aside"] == 0 and want["outliers"] == [], "nothing is out of line")
for size in (8, 2000):  # errors of some size, and of any
    write("wild.csv", "a,b,y", [(a, b, y + size * (i % 17 == 5) * (1 if i < 20 else -1)) for i, (a, b, y) in enumerate(clean)])
    out = json.loads(regress("wild.csv", *at))
    check(out["rows_set_aside"] == 3 and sorted(o["line"] for o in out["outliers"] if o["set_aside"]) == [7, 24, 41], "rows out of line, by %d: %s" % (size, out["outliers"]))
    near(out["noise"][0], want["noise"][0], 0.1, "noise without rows out of line")
    for p, q in zip(out["predictions"], want["predictions"]):
        near(p["median"], q["median"], 0.3, "predictions without rows out of line")
        check(1.2 < (p["new_upper"] - p["new_lower"]) / (q["new_upper"] - q["new_lower"]) < 2.5 and p["new_sd"] > 2 * q["new_sd"], "intervals take in what is out of line")
        near(p["upper"] - p["lower"], q["upper"] - q["lower"], 0.3, "intervals of the function")
    keeps = json.loads(regress("wild.csv", "--noise", "normal", *at))
    check(keeps["rows_set_aside"] == 0 and keeps["noise"][0] > 2 * want["noise"][0], "--noise normal keeps all")
text = regress("wild.csv", "--report", "w.html")
check("rows lie far from what the others say, of which 3 are set aside." in " ".join(text.split()) and "47 rows, each left out once; without the 3 set aside" in text
      and "3 rows are out of line" in text and "3 rows are out of line" in open("w.html").read(), "said in the words: " + text)
with open("model.vnts", "w") as f:
    f.write(regress("wild.csv", "--program"))
check(open("model.vnts").read().count("array(") == 1 + 47 + 2, "the program has the rows of the model")
check(regress("wild.csv", "--json", "-", "-j", "1") == regress("wild.csv", "--json", "-", "-j", "3"), "threads make no difference to rows set aside")
# One row in ten has errors ten times as large: intervals of new rows hold what they say, as those of the table itself.
held, scores = [], []
for seed in range(3):
    random.seed(seed)
    dirty = [(x, math.sin(x) + random.gauss(0, 1 if random.random() < 0.1 else 0.1)) for x in (random.uniform(0, 6) for _ in range(500))]
    write("dirty.csv", "x,y", dirty[:100])
    write("new.csv", "x", [(x,) for x, _ in dirty[100:]])
    out = json.loads(regress("dirty.csv", "--predict", "new.csv", "--json", "-"))
    held += [p["new_lower"] <= y <= p["new_upper"] for p, (_, y) in zip(out["predictions"], dirty[100:])]
    check(out["check"]["coverage"] > 0.9, "coverage of all rows: %r" % out["check"])
    scores.append(out["check"].get("log_score", -9))
near(sum(held) / len(held), 0.955, 0.03, "coverage of new rows")
near(sum(scores) / 3, 0.42, 0.25, "log score of rows, those set aside among them")  # the mixture itself: .42
write("log.csv", "a,b,y", [(a, b, math.exp(y)) for a, b, y in clean])
out = json.loads(regress("log.csv", "--json", "-"))
check(out["rows_set_aside"] == 0 and "the logarithm of 'y' would be described better" in out["notes"], "a skewed outcome is not out of line: " + out["notes"])
check(json.loads(regress("log.csv", "--noise", "robust", "--json", "-"))["rows_set_aside"] > 0, "--noise robust goes by the odds alone")
check("auto|normal|robust" in regress("log.csv", "--noise", "loud", status=2), "noise of another kind")
write("dry.csv", "a,b,y", [(a, b, max(0, y - 2)) for a, b, y in clean])
check(json.loads(regress("dry.csv", "--json", "-"))["rows_set_aside"] == 0, "an outcome that is mostly 0 has no exceptions")

# ---- large tables, other levels -------------------------------------------------------------------
write("large.csv", names + ",site,y", friedman(500, 7, 2))
out = json.loads(regress("large.csv", "--max-rows", "80", "--level", "0.8", "--json", "-"))
check(out["check"]["how"] == "rows left aside" and out["check"]["rows"] == 420 and out["rows_of_the_model"] + out["rows_set_aside"] == 80,
      "rows beyond --max-rows test the model")
check(0.7 < out["check"]["coverage"] < 0.9, "80%% intervals hold %.3f" % out["check"]["coverage"])

# ---- files as people have them --------------------------------------------------------------------
def given(text, *args, status=2, name="t.csv"):
    with open(name, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return regress(name, *args, status=status)


def write_text(name, text):
    with open(name, "w", newline="") as f:
        f.write(text)


def says(part, text, *args):
    said = given(text, *args)
    check(part in said, "%r, expected %r" % (said, part))


seven = "a,y\n1,2\n2,3.5\n3,4\n4,5.2\n5,6\n6,7.1\n7,8\n"
says("no rows", "")
says("has no rows of data", "a,y\n")
says("1 complete row;", "a,y\n1,2\n")
says("t.csv, line 6: 'x6' in column 'y'", seven.replace("5,6\n", "5,x6\n"))
says("the outcome 'y' varies too little for double precision", "a,y\n" + "".join("%d,%.4f\n" % (i, 1e12 + i * i % 7 / 8) for i in range(9)))
says("the outcome 'y' is the same", "a,y\n1,.1\n2,.1\n3,.1\n4,.1\n5,.1\n6,.1\n7,.1\n")
says("the outcome 'y' is the same", "a,y\n1,2\n2,2\n3,2\n4,2\n5,2\n")
says("the input 'b' is the same", "a,b,y\n1,1,2\n2,1,3\n3,1,4\n4,1,5\n5,1,6\n", "--x", "a,b")
says("two columns are called 'a'", "a,a,y\n1,2,3\n2,2,4\n3,4,5\n4,6,6\n5,5,8\n")
says("there is no column 'q'; columns are a, y", seven, "--y", "q")
says("is the outcome and cannot be an input", seven, "--x", "y", "--y", "y")
says("there is no input 'b'", seven, "--at", "b=1")
says("gives no value for 'a'", seven, "--at", "")
says("is no number for 'a'", seven, "--at", "a=one")
says("SE has 2 length scales", seven, "--kernel", "SE(l=[1,2])")
says("expected ')'", seven, "--kernel", "SE(l=1")
says("between 0 and 1", seven, "--level", "95")
says("--out writes predictions", seven, "--out", "o.csv")
says("words, and too many different ones", "w,y\na,1\nb,2\nc,3\nd,4\ne,6\n")
says("can be read in two ways", "a;y\n1,234;5\n2,345;6\n3,456;7\n4,567;9\n5,678;8\n")
check("No such file" in regress("nowhere.csv", status=2), "a file that is not there")

out = given(seven.replace("3,4\n", "NA,4\n") + "8,\n9,-99\n", "--missing", "-99", status=0)
check("3 of 9 rows have missing values and are skipped (a 1, y 2); the first is line 4" in out, "missing values: " + out)
comma = "a;y\n" + "".join("%d,5;%d,25\n" % (i, 2 * i + i % 2) for i in range(8))
point = comma.replace(",", ".").replace(";", ",")
a, b = (json.loads(given(t, "--json", "-", status=0)) for t in (comma, point))
check(a["inputs"] == b["inputs"] and a["check"] == b["check"], "decimal commas are decimals")
for text, reads in ((comma, False), (point, True)):  # the language reads decimal points
    with open("model.vnts", "w") as f:
        f.write(given(text, "--program", status=0))
    check(("read_csv" in open("model.vnts").read()) == reads, "the program reads the file where it can")
    r = subprocess.run([GPMEM, "run", "model.vnts"], capture_output=True, text=True)
    check(r.returncode == 0 and "noise" in r.stdout, "the program runs: " + r.stderr)
a = json.loads(given(b"\xff\xfe" + point.encode("utf-16-le"), "--json", "-", status=0))
check(a["inputs"] == b["inputs"], "UTF-16")
out = given(",b,a,y\n0,k,1,2\n1,k,2,3.1\n2,k,3,4.2\n3,k,4,4.8\n4,k,5,6\n", status=0)
check("it counts the rows" in out and "'b' is left out: it is the same" in out and "1 input: a" in out, "left out: " + out)
out = given("1,2\n2,3.5\n3,4\n4,5.2\n5,6\n6,7.1\n", "--at", "c1=9", status=0)
check("outcome c2; 1 input: c1" in out and "outside of the data: c1" in out, "without a header")
out = given("a,y\n1,2\n1,2.5\n1,3\n2,4\n2,4.5\n2,5.5\n", status=0)
check("6 rows" in out, "repeated inputs")
out = json.loads(given("a,y\n" + "".join("%de200,%de-200\n" % (i, i * i) for i in range(1, 8)), "--json", "-", status=0))
check(out["check"]["r2"] > 0.9, "numbers of any size")

out = given("L\u00e4nge,other,y\n" + "".join("%d,%d,%.1f\n" % (i % 7, i * 5 % 11, (i % 7) ** 2 + i * 37 % 10 / 5) for i in range(40)), status=0)
head, *lines = [line for line in out.splitlines() if line.startswith("  input ") or "->" in line]
check(len(lines) == 2 and all(line[head.index(h) - 1] == " " != line[head.index(h)] for line in lines for h in ("share", "change", "how")),
      "columns are aligned: " + out)
check("rises in a curve" in out, "a square is no straight line: " + out)
given(seven, "--kernel", "MAT52(sf=1, l=1)", "--report", "k.html", status=0)
check("make_squaredexp" not in open("k.html").read(), "the page has no program of another model")
check("cannot write 'nodir/r.html'" in given(seven, "--report", "nodir/r.html", status=1) and
      "predicts" not in given(seven, "--json", "nodir/r.json", status=1), "what cannot be written is told before the work")

with open("new.csv", "w") as f:
    f.write("z,a\n1,2\n1,\n1,99\n")
given(seven, "--predict", "new.csv", "--out", "o.csv", status=0)
rows = list(csv.DictReader(open("o.csv")))
check([r["outside"] for r in rows] == ["", "", "a"] and rows[1]["mean"] == "" and float(rows[0]["sd"]) < float(rows[2]["sd"]),
      "rows outside of the data, rows with missing values")
with open("new.csv", "w") as f:
    f.write("b\n1\n")
says("has no column 'a'", seven, "--predict", "new.csv")
with open("new.csv", "w") as f:
    f.write("a\n1\nq\n")
says("new.csv, line 3: 'q' is no number for 'a'", seven, "--predict", "new.csv")

with open("new.csv", "w") as f:
    f.write("a\n1\n2\n")
never = "SE(sf=1e149,l=1)*SE(sf=1e149,l=1)"  # no fit succeeds: what comes first is seen
check("cannot be factored" in given(seven, "--kernel", never, "--at", "a=1", "--predict", "new.csv", status=1), "a fit that fails")
for wrong, said in ((["--at", "a=x"], "is no number"), (["--at", "b=1"], "no input 'b'"), (["--at", "a"], "write NAME=VALUE"),
                    (["--predict", "nowhere.csv"], "No such file"), (["--predict", "t.csv", "--at", "a=1,a=2"], "'a' twice")):
    check(said in given(seven, "--kernel", never, *wrong, status=2), "told before the work: %s" % wrong)

# ---- dates, levels --------------------------------------------------------------------------------
when = ["%d-%02d-%02d" % (2019 + i // 12, i % 12 + 1, 1 + i * 7 % 28) for i in range(36)]
rows = ["%s,%s,%.3f" % (d, "uvw"[i % 3], 3 * i / 12 + 4 * (i % 3 == 1) + (i * 0.618 % 1 - 0.5) / 2) for i, d in enumerate(when)]
dated = "day,kind,y\n" + "\n".join(rows) + "\n"
out = json.loads(given(dated, "--at", "day=2020-07-01,kind=v", "--at", "day=2031-01-01,kind=u", "--json", "-", status=0))
day = {i["name"]: i for i in out["inputs"]}["day"]
near(day["change"][0] / (day["to"] - day["from"]), 3, 0.3, "a slope by year")
check(day["dates"][0] == when[0] and day["dates"][-1] == when[-1] and day["at"][0] == 0, "dates of the curve: %s" % day["dates"])
a, b = out["predictions"]
check(a["at"] == {"day": "2020-07-01", "kind": "v"} and b["outside"] == "day", "dates of predictions")
near(a["median"], 4.5 + 4, 0.5, "a prediction at a date")
text = given(dated, "--report", "d.html", status=0)
check("2019-" in text.split("What matters")[1] and "2 inputs: day, kind (3 levels)" in text, "dates in words: " + text)
check("2020" in open("d.html").read().split("<svg")[2], "dates on the page's axis")
german = "\n".join(
    ["day;kind;y"] + ["%s.%s.%s;%s;%s" % (r[8:10], r[5:7], r[:4], r[11], r[13:].replace(".", ",")) for r in rows])
again = json.loads(given(german, "--at", "day=01.07.2020,kind=v", "--at", "day=01.01.2031,kind=u", "--json", "-", status=0))
check(again["predictions"][0] == dict(a, at={"day": "01.07.2020", "kind": "v"}), "dates as others write them: %s" % again["predictions"])
both = "day,y\n" + "".join("%d/%d/2020,%d\n" % (i % 12 + 1, i % 11 + 1, i) for i in range(30))
says("the times are ambiguous", both, "--x", "day")
check("1 input: day" in given(both, "--date-format", "%d/%m/%Y", status=0), "--date-format")
says("'later' is no date for 'day'", dated, "--at", "day=later,kind=u")
with open("new.csv", "w") as f:
    f.write("kind,day\nv,2020-07-01\nq,2020-07-01\n")
write_text("one.csv", dated)
p = subprocess.run([GPMEM, "regress", "one.csv", "--predict", "new.csv", "--out", "-", "--json", "p.json"], capture_output=True, text=True)
check(p.returncode == 0 and "1 of the rows to predict has a level that the data do not have" in p.stderr and
      "(new.csv, line 3: 'q' is no level of 'kind'; there are u, v, w)" in p.stderr, "one unseen level: " + p.stderr)
first, unseen = list(csv.DictReader(p.stdout.splitlines()))
check(first["mean"] and not first["outside"] and not unseen["mean"] and unseen["outside"] == "kind", "one unseen level: " + p.stdout)
told = json.load(open("p.json"))["predictions"]
check(told[1]["mean"] is None and "'q' is no level" in told[1]["why"] and "why" not in told[0], "one unseen level: %s" % told)
check("no prediction: new.csv, line 3: 'q' is no level" in given(dated, "--predict", "new.csv", status=0), "one unseen level, as text")
with open("new.csv", "w") as f:
    f.write("kind,day\nq,2020-07-01\nr,2020-07-01\n")
says("new.csv, line 2: 'q' is no level of 'kind'; there are u, v, w", dated, "--predict", "new.csv")

# ---- None among words is a level, among numbers a missing value --------------------------------------
random.seed(22)
bags = "bags,size,price\n" + "".join("%s,%s,%.2f\n" % (b, "None" if i == 5 else i % 7, {"None": 1, "One": 5, "Two": 9}[b] + random.gauss(0, 0.3))
                                   for i, b in enumerate(["None", "One", "Two"] * 14))
text = given(bags, "--at", "bags=None,size=3", "--json", "n.json", status=0)
check("None in 'bags' is a level, of 14 rows (--missing None: a missing value)" in text and "bags (3 levels)" in text and "size 1" in text, "None: " + text)
near(json.load(open("n.json"))["predictions"][0]["mean"], 1, 0.5, "the mean of None")
with open("new.csv", "w") as f:
    f.write("bags,size\nNone,2\nOne,None\n")
given(bags, "--predict", "new.csv", "--out", "n.csv", "-q", status=0)
some, none = csv.DictReader(open("n.csv"))
check(some["mean"] and some["bags"] == "None" and not none["mean"] and not none["outside"], "None to predict: %s %s" % (some, none))
text = given(bags, "--missing", "None", status=0)
check("15 of 42 rows have missing values" in text and "bags (2 levels)" in text, "--missing None: " + text)

# ---- what new users bring -------------------------------------------------------------------------
random.seed(21)
rows = [(random.gauss(0, 1), random.gauss(0, 1)) for _ in range(30)]
lines = ["%.3f,%.3f,%.3f\n" % (a, b, a + b * b + random.gauss(0, .2)) for a, b in rows]
once = json.loads(given("a,b,y\n" + "".join(lines), "--json", "-", status=0))
copies = json.loads(given("a,b,y\n" + "".join(line * 3 for line in lines), "--json", "-", status=0))
check("60 rows repeat others in every column and count once" in copies["notes"] and copies["check"] == once["check"] and copies["noise"] == once["noise"],
      "copies of rows: " + copies["notes"])
marks = "a,b,y\n" + "".join("%d,%d,%d\n" % (i % 3, i % 2, i % 3 + (i % 7 == 0)) for i in range(40))
check("repeat" not in json.loads(given(marks, "--json", "-", status=0))["notes"], "equal marks are no copies")
sparse = "a,c,y\n" + "".join("%d,%s,%d.5\n" % (i, i if i < 4 else "", 2 * i + i % 2) for i in range(12))
check("'c' is left out: most of its values are missing" in given(sparse, status=0), "a column that is nearly empty")
check("12 rows; outcome y; 1 input: a" in given(sparse, status=0), "... costs no rows")
check("the outcome is 'b', the last column of numbers" in
      given("a,b,y\n" + "".join("%d,%d,%s\n" % (i, i * i, "yes" if i % 3 else "no") for i in range(12)), status=0), "an outcome of words is not passed over in silence")
out = given("ID,a,y\n" + "".join("%d,%s" % (i + 1, line.split(",", 1)[1]) for i, line in enumerate(lines)), status=0)
check("'ID' is left out: it counts the rows" in out and "1 input: a" in out, "numbers of rows: " + out)
check("'y' has two values" in given("a,y\n" + "".join("%d,%d\n" % (i, i > 6 + i % 3) for i in range(15)), status=0), "an outcome of 0 and 1")
says("which is no count", "a,y\n" + "".join("%d,%g\n" % (i, i / 2) for i in range(9)), "--family", "poisson")
says("more than two values", "a,y\n" + "".join("%d,%d\n" % (i, i % 3) for i in range(9)), "--family", "bernoulli")
years = json.loads(given("a,y\n" + "".join("%d,%d\n" % (i, 1990 + i + i % 3) for i in range(20)), "--json", "-", status=0))
check(years["family"] == "normal", "years are no counts")
comma = "a;y\n" + "".join("%d,%d;%s\n" % (i % 9, i % 7, "ja" if i % 9 > 4 else "nein") for i in range(40))
p = json.loads(given(comma, "--y", "y", "--at", "a=7.5", "--json", "-", status=0))["predictions"][0]
check(p["at"]["a"] == 7.5 and p["mean"] < 0.5, "a point of a table with decimal commas: %r" % p)  # 'nein' is the later word
says("two words, each in two rows or more", "a,y\n" + "".join("%d,%s\n" % (i, "xz"[i == 4]) for i in range(9)), "--y", "y")
tie = json.loads(given("a,y\n" + "".join("%d,%d\n" % (i * 5 % 7, i % 2) for i in range(6)), "--json", "-", status=0))["check"]["scores_none"]
check(abs(tie["right"] - 0.5) < 1e-9 and tie["auc"] == 0.5, "three of six without inputs: %r" % tie)
random.seed(8)
few = [(random.gauss(0, 1), random.gauss(0, 1), 0) for _ in range(150)]
few[3], few[90] = few[3][:2] + (1,), few[90][:2] + (1,)
out = json.loads(given("a,b,y\n" + "".join("%.3f,%.3f,%d\n" % row for row in few), "--json", "-", status=0))
check(out["check"]["scores"]["auc"] > 0.2, "rows left out are not the less probable for it: %r" % out["check"])
few = [row[:2] + ((2, 5, 1)[i % 3] if i % 30 == 7 else 0,) for i, row in enumerate(few)]
out = json.loads(given("a,b,y\n" + "".join("%.3f,%.3f,%d\n" % row for row in few), "--json", "-", status=0))
check(out["family"] != "normal" and out["check"]["r2"] > -1, "zeros, and few counts: %r" % out["check"])
many = "a,y\n" + "".join("%.4f,%d\n" % (a, round(math.exp(14 + a) + random.gauss(0, math.exp(7 + a / 2)))) for a, _, _ in few)
out = json.loads(given(many, "--family", "negative_binomial", "--json", "-", status=0))
check(out["check"]["r2"] > 0.999 and out["model"]["parameters"]["size"][2] < 1e9, "millions that scatter by chance: %r" % out["model"])
feet = "a,y\n" + "".join("%d,%d\n" % (i, random.gauss(1, 0.3) * (10 + 2 * i)) for i in range(40))
out = json.loads(given(feet, "--json", "-", status=0))
check(out["family"] == "normal" and "if 'y' counts something, --family negative_binomial describes it better" in out["notes"], "feet that scatter: " + out["notes"])
ages = json.loads(given("a,y\n" + "".join("%d,%d\n" % (i, random.gauss(40 + i, 3)) for i in range(40)), "--json", "-", status=0))
check(ages["family"] == "normal", "whole years of age scatter less than counts")
out = json.loads(given("a,b,y\n" + "".join("%.3f,%.3f,%.3f\n" % (a, b, random.gauss(0, 1)) for a, b in rows), "--json", "-", status=0))
check("hardly help to predict" in out["summary"] and "What matters most" not in out["summary"], "noise is not explained: " + out["summary"])
levels = [[random.choice("abcdefghi") for _ in range(8)] for _ in range(90)]
out = json.loads(given("a," + ",".join("w%d" % k for k in range(8)) + ",y\n" + "".join(
    "%.3f,%s,%.3f\n" % (i % 7, ",".join(w), 3 * (i % 7) + random.gauss(0, 1)) for i, w in enumerate(levels)), "--kernel", "SE(sf=1, l=8)", "--json", "-", status=0))
check("1 of 9 inputs, those that go together with 'y' the least, are left out" in out["notes"] and "rows that this choice has seen, and too well" in out["notes"] and "a" in [i["name"] for i in out["inputs"]], "too many columns: " + out["notes"])

# ---- headings as spreadsheets write them -------------------------------------------------------------
# A name made for display is never a key: the column is the same, whatever control characters stand in its heading.
random.seed(31)
table = [(random.random(), random.random()) for _ in range(40)]
table = [(b, a, 3 * a + 0.1 * b) for b, a in table]
for heading, shown in (("Temp\n(C)", "Temp (C)"), ("Temp\t(C)", "Temp (C)"), ("Temp\x01", "Temp\\u{1}"), ("T\r\nx", "T\\u{d} x")):
    buf = io.StringIO()
    csv.writer(buf, lineterminator="\n").writerows([["b", heading, "y\n(kg)"], *table])
    out = json.loads(given(buf.getvalue(), "--predict", "t.csv", "--y", "y (kg)", "--json", "-", status=0))
    check(out["check"]["r2"] > 0.9999 and out["inputs"][0]["name"] == shown and out["outcome"] == "y (kg)", "%r: R2 %g" % (heading, out["check"]["r2"]))
    check(all(abs(p["mean"] - r[2]) < 1e-3 for p, r in zip(out["predictions"], table)), "%r: predictions of the same file" % heading)
    again = io.StringIO()  # another file: its columns in another order, the name copied from a report
    csv.writer(again, lineterminator="\n").writerows([[shown, "b"], *[(a, b) for b, a, _ in table]])
    write_text("again.csv", again.getvalue())
    out = json.loads(given(buf.getvalue(), "--predict", "again.csv", "--at", shown + "=0.5,b=0.5", "--json", "-", status=0))
    check(all(abs(p["mean"] - r[2]) < 1e-3 for p, r in zip(out["predictions"], table)), "%r: predictions by the name that is shown" % heading)
    near(out["predictions"][-1]["mean"], 1.55, 1e-3, "a point by the name that is shown")
    write_text("model.vnts", given(buf.getvalue(), "--program", status=0))
    r = subprocess.run([GPMEM, "run", "model.vnts"], capture_output=True, text=True)
    check(r.returncode == 0 and "noise" in r.stdout, "%r: the program runs: %s" % (heading, r.stderr))
says("two columns are called 'a b'", 'y,"a\nb","a\tb"\n' + "".join("%d,%d,%d\n" % (i, i % 3, i % 5) for i in range(9)))
# Columns without a name are told apart by their place.
out = given(",,y\n" + "".join("%d,%.3f,%.3f\n" % (i * i % 7, a, 3 * a) for i, (_, a, _) in enumerate(table)), "--json", "-", status=0)
check(json.loads(out)["check"]["r2"] > 0.9999, "the second of two columns without a name")

# ---- sums and means of a spreadsheet ------------------------------------------------------------------
random.seed(41)
shops = [("%s%d" % ("nesw"[i % 4], i), random.randrange(100), random.randrange(50)) for i in range(32)]
shops = [(g, a, p, 2 * a - p + random.randrange(5)) for g, a, p in shops]
total = lambda name, rows, of=sum: (name, *("%g" % of([r[k] for r in rows]) for k in (1, 2, 3)))
mean = lambda v: round(sum(v) / len(v), 1)
plain = json.loads(given("shop,ads,price,sales\n" + "".join("%s,%s,%s,%s\n" % r for r in shops), "--json", "-", status=0))
blocks = [shops[8 * k:8 * k + 8] for k in range(4)]
for name, table in (("a total", shops + [total("Grand total", shops)]), ("a total and a mean", shops + [total("Total", shops), total("Average", shops, mean)]),
                    ("subtotals", [r for b in blocks for r in b + [total("Subtotal", b)]] + [total("Total", shops)]), ("in another unit", shops + [("Total (k)", 2, 1, 4)])):
    out = json.loads(given("shop,ads,price,sales\n" + "".join("%s,%s,%s,%s\n" % r for r in table), "--json", "-", status=0))
    check(out["rows"] == 32 and out["check"]["rmse"] == plain["check"]["rmse"], "%s: %d rows, R2 %g" % (name, out["rows"], out["check"]["r2"]))
    check("called " in out["notes"] and "left out" in out["notes"], "%s is said: %s" % (name, out["notes"]))
levels = [(("total", "part", "mean")[i % 3], a, s) for i, (_, a, _, s) in enumerate(shops)]
out = json.loads(given("what,ads,sales\n" + "".join("%s,%s,%s\n" % r for r in levels), "--json", "-", status=0))
check(out["rows"] == 32 and "called" not in out["notes"] and len(out["inputs"]) == 2, "levels are no totals: " + out["notes"])

# ---- as a statistician reads it ----------------------------------------------------------------------
# Of an input of words that says nothing the two levels furthest apart differ as they do by chance: their interval holds zero.
random.seed(21)
idle = [(random.choice("ab"), random.choice("pqrstu"), random.random()) for _ in range(80)]
out = json.loads(given("g,h,x,y\n" + "".join("%s,%s,%.4f,%.4f\n" % (g, h, x, 3 * x + random.gauss(0, 1)) for g, h, x in idle), "--json", "-", status=0))
for i in out["inputs"][1:]:
    check(i["change"][1] <= 0 <= i["change"][2] and i["shape"] != "differs by level" and {i["from"], i["to"]} <= set(i["levels"]), "levels that are alike: %r" % i)
# A rare 1 among zeros: the change is that from 0 to 1, though more than nine tenths of the rows are 0.
rare = [(i % 17 == 3, random.random()) for i in range(120)]
out = json.loads(given("flag,x,y\n" + "".join("%d,%.4f,%.4f\n" % (f, x, 5 * f + x + random.gauss(0, 0.3)) for f, x in rare), "--json", "-", status=0))
flag = [i for i in out["inputs"] if i["name"] == "flag"][0]
check((flag["from"], flag["to"]) == (0, 1) and flag["change"][1] < 5 < flag["change"][2] and flag["shape"].startswith("rises"), "a rare flag: %r" % flag)
# What is small and certain is not called invisible.
small = [(random.random(), random.random()) for _ in range(200)]
text = given("a,b,y\n" + "".join("%.4f,%.4f,%.4f\n" % (a, b, 1e5 * (a + 0.1 * b + random.gauss(0, 0.003)) + 2e5) for a, b in small), status=0)
check("little effect" in text and "no visible effect" not in text and "Little effect: b." in text, "a small effect: " + text)
check("e+0" not in text and "explains 99.9%" in text, "numbers as people write them, and not all is explained: " + text)
# A table behind itself is one table, however few values the outcome has; the last column of numbers may be the wrong one.
table = ["%d,%d" % (random.randrange(12), random.randrange(4) + 2 * (i % 12)) for i in range(30)]
out = json.loads(given("a,y\n" + "\n".join(table * 3) + "\n", "--json", "-", "--family", "normal", status=0))
check(out["rows"] == 30 and "every row stands 3 times" in out["notes"], "a table three times: %r %s" % (out["rows"], out["notes"]))
check("--y NAME takes another column" in given("a,y,unit\n" + "".join("%d,%d,1\n" % (i, i * i) for i in range(9)), status=2), "a constant in the last column")
check("a limit of detection" in given("a,y\n" + "".join("%d,%s\n" % (i, "<1" if i == 4 else i) for i in range(30)), status=2), "a value below a limit")
# Fifteen levels are not guessed to be an input, and taken where they are asked for.
letters = [(chr(97 + i % 15), random.random()) for i in range(90)]
text = "g,x,y\n" + "".join("%s,%.4f,%.4f\n" % (g, x, ord(g) / 5 + x + random.gauss(0, 0.2)) for g, x in letters)
out = json.loads(given(text, "--json", "-", status=0))
check("--x takes it" in out["notes"] and len(out["inputs"]) == 1, "many levels: " + out["notes"])
out = json.loads(given(text, "--x", "g,x", "--json", "-", status=0))
check(len(out["inputs"][0]["levels"]) == 15 and out["check"]["r2"] > 0.8, "many levels that were asked for")

print("%d failures" % failures if failures else "fine")
sys.exit(1 if failures else 0)
