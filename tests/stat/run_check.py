#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""posterior_predictive_check beside exact posterior predictive distributions (argument: the tool)."""
import math, os, re, subprocess, sys, tempfile
import xml.etree.ElementTree as ET
import numpy as np
from scipy import integrate, stats

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp(prefix="gpmem-check-")
compared = 0


def run(text, *options, fails=False):
    path = os.path.join(WORK, "p.vnts")
    with open(path, "w") as f:
        f.write(text)
    r = subprocess.run([TOOL, "run", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (r.returncode != 0) == fails, r.stderr.decode()
    return r.stderr.decode() if fails else r.stdout.decode()


def table(text):
    """{quantity: (observed, mean, sd, p)} of every check in the output, in order."""
    out, current = [], None
    for line in text.split("\n"):
        if line.startswith(("posterior predictive check:", "prior predictive check:")):
            current = {}
            out.append(current)
        m = re.fullmatch(r"(\S.*?) +" + " +".join([r"(\S+)"] * 7), line)
        if m and current is not None and re.fullmatch(r"[01]\.\d{3}", m.group(8)):
            current[m.group(1)] = tuple(float(m.group(i)) for i in (2, 3, 4, 8))
    return out


def close(what, got, want, error, sigmas=4.5):
    global compared
    compared += 1
    assert abs(got - want) <= sigmas * error + 6e-4 * (1 + abs(want)), (what, got, want, error)


def share(what, row, want, n):
    close(what + " p", row[3], want, math.sqrt(max(want * (1 - want), 0.25 / n) / n))


def moments(what, row, mean, sd, n):
    close(what + " mean", row[1], mean, sd / math.sqrt(n))
    close(what + " sd", row[2], sd, sd / math.sqrt(2 * n), 6)


# Newcomb's first twenty measurements of the speed of light; the spread is known, the mean is not.
Y = np.array([28, -44, 29, 30, 26, 27, 22, 23, 33, 16, 24, 29, 24, 40, 21, 31, 34, -2, 25, 19.])
NORMAL = """assume mu = normal(0, 10);
define ys = [%s];
for (i = 0; i < 20; i++) { observe normal(mu, 10) = ys[i]; };
""" % ", ".join("%g" % y for y in Y)


def check_normal():
    n, N = len(Y), 4000
    v = 1 / (1 / 100 + n / 100)
    m = v * Y.sum() / 100

    def average(g):
        return integrate.quad(lambda mu: g(mu) * stats.norm.pdf(mu, m, math.sqrt(v)), m - 40, m + 40, limit=200)[0]

    for what, program in {
        "nuts": NORMAL + "infer nuts(default, all, 100);\ninfer posterior_predictive_check(%d, nuts(default, all, 2));" % N,
        "a sequence at once": "assume mu = normal(0, 10);\nobserve normal(mu, 10) = [%s];\ninfer nuts(default, all, 100);\n"
                              "infer posterior_predictive_check(%d, nuts(default, all, 2));" % (", ".join("%g" % y for y in Y), N),
        "particles": "resample(4000);\n" + NORMAL + "infer posterior_predictive_check(%d, pass);" % N,
    }.items():
        if what == "particles":  # a prior near the posterior, so that the weights do not degenerate
            program = program.replace("assume mu = normal(0, 10);", "assume mu = normal(15, 10);")
            m = v * (Y.sum() / 100 + 15 / 100)
        rows = table(run(program + "\ninfer checkInvariants();"))[0]
        assert rows["mean"][0] == 21.75 and rows["min"][0] == -44 and rows["max"][0] == 40
        sd = math.sqrt(v + 100 / n)
        N_eff = N / 3 if what == "particles" else N  # few distinct particles
        moments(what + " mean", rows["mean"], m, sd, N_eff)
        share(what + " mean", rows["mean"], stats.norm.sf((Y.mean() - m) / sd), N_eff)
        share(what + " sd", rows["sd"], stats.chi2.sf((n - 1) * Y.var(ddof=1) / 100, n - 1), N_eff)
        share(what + " min", rows["min"], average(lambda mu: stats.norm.sf((-44 - mu) / 10) ** n), N_eff)
        share(what + " max", rows["max"], average(lambda mu: 1 - stats.norm.cdf((40 - mu) / 10) ** n), N_eff)


def check_prior():
    """Choices from their prior, whatever the data say and however impossible they are; the model stays as it was."""
    N, n = 4000, len(Y)
    out = run(NORMAL + "infer nuts(default, all, 50);\nsample mu;\ninfer prior_predictive_check(%d, quantities=\"mean\");\n"
              "sample mu;\ninfer checkInvariants();" % N)
    row, sd = table(out)[0]["mean"], math.sqrt(100 + 100 / n)
    moments("prior mean", row, 0, sd, N)
    share("prior mean", row, stats.norm.sf(Y.mean() / sd), N)
    values = [line for line in out.split("\n") if re.fullmatch(r"-?\d+\.\d+", line)]
    assert len(values) == 2 and values[0] == values[1], values
    row = table(run("assume t = gamma(2, 4);\nobserve uniform_continuous(0, t) = 30;\nforce t = 31;\n"
                    "infer prior_predictive_check(%d, quantities=\"mean\");" % N))[0]["mean"]
    moments("prior width", row, 0.25, math.sqrt(3 / 8 / 3 - 1 / 16), N)


def check_coin():
    N = 4000
    exact = stats.betabinom(12, 10, 4)
    data = "\n".join("observe %s = %s;" % ("COIN", "true" if i < 9 else "false") for i in range(12))
    for what, program in {
        "beta": "assume p = beta(1, 1);\n" + data.replace("COIN", "flip(p)") +
                "\ninfer posterior_predictive_check(%d, mh(default, one, 10), quantities=\"mean\");" % N,
        "collapsed": "assume c = make_beta_bernoulli(1, 1);\n" + data.replace("COIN", "c()") +
                     "\ninfer posterior_predictive_check(%d, pass, quantities=\"mean\");\ninfer checkInvariants();" % N,
    }.items():
        row = table(run(program))[0]["mean"]
        moments(what, row, exact.mean() / 12, exact.std() / 12, N)
        share(what, row, exact.sf(8), N)


def check_process():
    N, x, noise = 4000, np.array([0, 1, 2, 3.5]), 0.3
    y = np.array([0.1, 0.5, 0.7, 0.2])
    k = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 / 1.0)
    a = np.linalg.solve(k + noise ** 2 * np.eye(4), np.c_[y, k])
    mean, cov = k @ a[:, 0], k - k @ a[:, 1:] + noise ** 2 * np.eye(4)
    d = np.array([-1, 0, 0, 1])
    maker = "assume f = make_gp(make_const_func(0), make_squaredexp(1, 1), noise=0.3);\n"
    check = """infer posterior_predictive_check(%d, pass, quantities=["mean", ["rise", y -> y[3] - y[0]]]);
infer checkInvariants();""" % N
    for what, data in {"jointly": "observe f([0, 1, 2, 3.5]) = [0.1, 0.5, 0.7, 0.2];\n",
                       "one by one": "".join("observe f(%g) = %g;\n" % p for p in zip(x, y))}.items():
        rows = table(run(maker + data + check))[0]
        sd = math.sqrt(cov.sum()) / 4
        moments(what, rows["mean"], mean.mean(), sd, N)
        share(what, rows["mean"], stats.norm.sf((y.mean() - mean.mean()) / sd), N)
        moments(what + " rise", rows["rise"], d @ mean, math.sqrt(d @ cov @ d), N)
        share(what + " rise", rows["rise"], stats.norm.sf((0.1 - d @ mean) / math.sqrt(d @ cov @ d)), N)
    exact = run(maker.replace(", noise=0.3", "") + "observe f([0, 1]) = [1, 2];\n" +
                "infer posterior_predictive_check(20, pass);")
    assert "every replicate repeats the data" in exact


def check_series():
    """Data that depend on data are replicated as a whole; with labels=, given the others."""
    N = 4000
    text = """assume x = mem(proc(t) { if (t < 1) { normal(0, 1) } else { normal(0.9 * x(t - 1), 0.5) } });
for (i = 0; i < 8; i++) { $(i): observe x(i) = 0.2 * i; };
infer posterior_predictive_check(%d, pass, quantities=["mean", ["last", y -> y[7]]]);
infer posterior_predictive_check(%d, pass, labels=["_3", "_4"], quantities=["max", ["first", y -> y[0]], ["second", y -> y[1]]]);
infer checkInvariants();
report(quote(_3));
""" % (N, N)
    out = run(text)
    whole, part = table(out)
    assert out.rstrip().endswith("0.6000000000000001"), out[-100:]  # the data themselves stay
    var = 1.0
    for _ in range(7):
        var = 0.81 * var + 0.25
    moments("series last", whole["last"], 0, math.sqrt(var), N)
    share("series last", whole["last"], stats.norm.sf(1.4 / math.sqrt(var)), N)
    assert part["first"][0] == 0.6 and part["second"][0] == 0.8 and part["max"][0] == 0.8
    moments("x3 given x2", part["first"], 0.9 * 0.4, 0.5, N)
    moments("x4", part["second"], 0.81 * 0.4, math.sqrt(0.25 + 0.81 * 0.25), N)
    share("x3 given x2", part["first"], stats.norm.sf((0.6 - 0.36) / 0.5), N)


def check_arguments():
    out = run(NORMAL + "define d = run(posterior_predictive_check(30, mh(default, one, 1), quantities=[\"median\", mean]));\n"
              "size(column(d, \"median\"));\nsize(column(d, \"mean\"));")
    assert table(out)[0]["median"][0] == np.median(Y) and out.rstrip().endswith("30\n30"), out[-80:]
    svg = os.path.join(WORK, "c.svg")
    call = "infer posterior_predictive_check(50, mh(default, one, 1), file=\"%s\");" % svg
    assert "--allow-write" in run(NORMAL + call, fails=True)
    out = run(NORMAL + call, "--allow-write")
    assert ET.parse(svg).getroot().tag.endswith("svg") and "replicated" in open(svg).read()
    assert out.count("\n") < 12 and "⣿" not in out  # the picture is in the file
    for call, words in {
        "posterior_predictive_check(10, pass, quantities=\"skew\")": "no test quantity",
        "posterior_predictive_check(10, pass, quantities=[y -> \"a\"])": "must give a number",
        "posterior_predictive_check(10, pass, labels=\"zz\")": "no observe has the label",
        "posterior_predictive_check(0, pass)": "at least one draw",
    }.items():
        assert words in run(NORMAL + "infer %s;" % call, fails=True), call
    assert "no observe" in run("assume mu = normal(0, 1);\ninfer posterior_predictive_check(5, pass);", fails=True)
    symbols = run("assume c = categorical(simplex(0.5, 0.5), list(quote(a), quote(b)));\nobserve categorical(simplex(0.5, 0.5), list(quote(a), quote(b))) = quote(a);\n"
                  "infer posterior_predictive_check(5, pass);", fails=True)
    assert "compares numbers" in symbols, symbols


check_normal()
check_prior()
check_coin()
check_process()
check_series()
check_arguments()
print("posterior predictive checks: %d figures agree with exact ones" % compared)
