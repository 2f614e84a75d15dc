#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Missing elements of a vectorised observe are left unobserved: the density, its gradient, log likelihoods and replicates are those
of the elements that are there; what cannot be left out is refused. Argument: the tool."""
import os, re, subprocess, sys, tempfile

tool = os.path.abspath(sys.argv[1])
DATA = "define nan = log(-1);\ndefine x = vector(0, 1, 2, 3, 4);\ndefine y = vector(%s);\n"
MODEL = "assume a = normal(0, 1);\nassume s = gamma(2, 2);\n"
START = "force a = 0.3;\nforce s = 0.8;\n"
# the observed expression with `x`, its data with holes
ROWS = (("normal(a * x, s)", "1.2, nan, 0.7, nan, 2.1"), ("normal(a * x, s + x)", "nan, 1, 0.7, 3, 2.1"),
        ("student_t(4, a * x, s)", "1.2, nan, 0.7, nan, 2.1"), ("normal(a * x, s, lower=0)", "1.2, nan, 0.7, nan, 2.1"),
        ("lognormal(a * x, s)", "1.2, 0.1, 0.7, 5, nan"), ("poisson(exp(a * x / 5))", "nan, 2, 0, nan, 3"),
        ("poisson_log(a * x / 5)", "nan, 2, 0, nan, 3"), ("binomial(9, logistic(a * x))", "2, nan, 5, 0, 9"))


def run(text, *options, files=()):
    with tempfile.TemporaryDirectory() as dir:
        for name, content in (("p.vnts", text), *files):
            with open(os.path.join(dir, name), "w") as f: f.write(content)
        done = subprocess.run([tool, "run", *options, "p.vnts"], capture_output=True, text=True, timeout=120, cwd=dir)
    return done.returncode, done.stdout, done.stderr


def lines(text, *options, **more):
    status, out, err = run(text, "-q", *options, **more)
    assert status == 0, (text, err)
    return out.strip().splitlines()


def numbers(line): return [float(v) for v in re.findall(r"-?[\d.]+(?:e[-+]?\d+)?", line)]


def close(a, b): return len(a) == len(b) and all(abs(p - q) <= 1e-9 * (1 + abs(q)) for p, q in zip(a, b))


END = ("run(global_log_joint());\ninfer do(l <- collect(log_lik(), y_obs()), action(print(column(l, \"log_lik\"), column(l, \"y_obs\"))));\n"
       "infer do(l <- collect(y_rep()), action(print(size(lookup(column(l, \"y_rep\"), 0)))));\n"
       "infer map(default, all, 0.01, 50);\nsample list(a, s);\nrun(global_log_joint());\n")
for row, y in ROWS:
    there = row.replace("x", "x[present(y)]").replace("ex[present(y)]p", "exp")
    holes, full = (lines(DATA % y + MODEL + START + "observe %s = %s;\n" % (e, v) + END) for e, v in ((row, "y"), (there, "y[present(y)]")))
    assert len(holes) == len(full) and all(close(numbers(a), numbers(b)) for a, b in zip(holes, full)), (row, holes, full)

# Said, and once for each observe.
status, _, err = run(DATA % "1, nan, nan, 2, 3" + MODEL + "observe normal(a * x, s) = y;\n")
assert status == 0 and err.count("2 of the 5 elements observed here are missing (nan), and left unobserved") == 1, err

# Empty cells and NA of a CSV file are such elements.
table = "x,y\n0,1.2\n1,\n2,0.7\n3,NA\n4,2.1\n"
read = lines("data x, y;\n" + MODEL + START + "observe normal(a * x, s) = y;\nrun(global_log_joint());\n", "--data", "t.csv", files=(("t.csv", table),))
want = lines(DATA % ROWS[0][1] + MODEL + START + "observe normal(a * x, s) = y;\nrun(global_log_joint());\n")
assert close(numbers(read[-1]), numbers(want[-1])), (read, want)

# Neither a number that is missing, nor all of a sequence, nor what has a name or one density for all.
for text in ("observe normal(a, s) = nan;", "observe normal(a * x, s) = vector(nan, nan, nan, nan, nan);",
             "assume z = normal(a * x, s);\nobserve z = y;", "assume z = normal(a * x, s);\nforce z = y;",
             "observe multivariate_normal(a * x, id_matrix(5)) = y;"):
    status, _, err = run(DATA % "1, nan, nan, 2, 3" + MODEL + text + "\n", "-q")
    assert status == 1 and "holds NaN" in err and "present(y)" in err, (text, status, err)

print("missing elements are left unobserved, %d kinds of data" % len(ROWS))
