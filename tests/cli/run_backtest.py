#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does the structure pay: hold-outs and backtests beside simple forecasts, kept with the run; pictures of kept runs."""
import json, math, os, random, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:], r.stdout[-500:])
    return r


def write(name, f, n=72, sd=0.5, seed=1):
    rng = random.Random(seed)
    with open(name, "w") as out:
        out.write("month,sales\n")
        for i in range(n):
            out.write("%d-%02d,%.4f\n" % (2001 + i // 12, i % 12 + 1, f(i) + rng.gauss(0, sd)))
    return name


def methods(d, key): return {m["method"]: m for m in d[key]["methods"]}


def check_backtest():
    """Own forecasts from every origin, never from values after it; the table and the sentence agree; a kept run says the same."""
    wave = write("wave.csv", lambda i: 50 + 0.3 * i + 8 * math.sin(i * math.pi / 6))
    out = run("discover", wave, "--kernels", "LIN PER", "--backtest", "3", "-n", "6", "--holdout", "6", "--json", "w.json", "-o", "kept").stdout
    d = json.load(open("w.json"))
    for key in ("holdout_comparison", "backtest"):
        m = methods(d, key)
        assert list(m) == ["structure", "naive", "seasonal naive", "exponential smoothing", "Theta"], m
        best = min(v["mase"] for k, v in m.items() if k != "structure")
        ratio = m["structure"]["mase"] / best
        said = "pays" if ratio < 0.97 else "a tie" if ratio <= 1.03 else "does not pay"
        assert said in d[key]["text"] and d[key]["text"] in out, (ratio, d[key]["text"])
        assert m["naive"]["mase"] > 1.5 * m["seasonal naive"]["mase"], m  # twelve months are known to be a season
        assert m["structure"]["mase"] < m["seasonal naive"]["mase"] and m["structure"]["coverage"] >= 0.8, m
    better = "the structure has the smaller error at "
    assert better in d["backtest"]["text"] and better not in d["holdout_comparison"]["text"], d["backtest"]["text"]
    assert d["backtest"]["origins"] == 3 and d["backtest"]["steps"] == 6 and d["holdout"]["n"] == 6, d["backtest"]
    assert abs(d["holdout"]["mase"] - methods(d, "holdout_comparison")["structure"]["mase"]) < 1e-9
    again = json.loads(run("report", "kept", "--format", "json").stdout)
    assert again["backtest"] == d["backtest"], again["backtest"]
    for form in ("text", "markdown", "html"):
        assert "exponential smoothing" in run("report", "kept", "--format", form).stdout, form
    # one origin by hand: the first 54 values alone give the same forecast of the next six
    lines = open(wave).read().splitlines()[:1 + 66]
    open("cut.csv", "w").write("\n".join(lines) + "\n")
    one = json.loads(run("discover", "cut.csv", "--kernels", "LIN PER", "--holdout", "6", "--json", "-").stdout)
    two = json.loads(run("discover", "cut.csv", "--kernels", "LIN PER", "--backtest", "1", "-n", "6", "--json", "-").stdout)
    a, b = methods(one, "holdout_comparison"), methods(two, "backtest")
    assert all(abs(a[k]["mase"] - b[k]["mase"]) < 1e-9 for k in a), (a, b)


def check_noise():
    """Where there is nothing to know, the output does not claim that the structure pays much."""
    noise = write("noise.csv", lambda i: 5, sd=1, seed=3)
    d = json.loads(run("discover", noise, "--kernels", "LIN PER", "--backtest", "4", "-n", "6", "--json", "-").stdout)
    m = methods(d, "backtest")
    assert m["structure"]["mase"] > 0.8 * m["exponential smoothing"]["mase"], m


def check_ends():
    """Forecasts of roots end at 0: a 0 has a probability and no density. Its log score is a number; that of logarithms says that it cannot be."""
    g = random.Random("ends at nothing")
    v = [max(0.3, 12 - 11 * i / 120 + 2 * math.sin(math.pi * i / 6) * (1 - i / 130) + g.gauss(0, 0.5)) ** 2 for i in range(120)]
    with open("ends.csv", "w") as out:
        out.write("t,y\n" + "".join("%d,%.2f\n" % (i, y) for i, y in enumerate(v + [0, 0])))
    kernels = ("--kernels", "LIN PER", "--holdout", "2", "--json", "-")
    d = json.loads(run("discover", "ends.csv", *kernels).stdout)
    assert d["probability_of_root"] > 0.9 and -8 < d["holdout"]["log_score"] < 0, d["holdout"]
    d = json.loads(run("discover", "ends.csv", "--log", "always", *kernels).stdout)
    assert d["holdout"]["log_score"] is None, d["holdout"]


def check_refusals():
    wave = "wave.csv"
    for args, why in ((("--holdout", "70"), "8 are needed"), (("--holdout", "2.5"), "a number of values"), (("--backtest", "30", "-n", "6"), "needs 180 values"),
                      (("--holdout", "-1"), "hold-out")):
        err = run("discover", wave, *args, status=2).stderr
        assert why in err, (args, err)


def check_pictures():
    text = run("plot", "kept").stdout
    assert "Data and forecast: sales" in text and "LIN: a linear increase" in text and "2004" in text and "\u28e4" in text, text[:300]
    assert run("plot", "kept", "--column", "forecast").stdout.count("└") == 1
    run("plot", "kept", "--svg", "kept.svg", "--column", "PER")
    assert "<svg" in open("kept.svg").read()
    assert "but: forecast, LIN, PER" in run("plot", "kept", "--column", "SE", status=2).stderr


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    check_backtest()
    check_noise()
    check_ends()
    check_refusals()
    check_pictures()
print("backtest: fine")
