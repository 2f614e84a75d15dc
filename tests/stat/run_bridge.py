#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bridge_evidence against evidences in closed form and against log_evidence: the errors that it states must be its
errors, plain and warped. Argument: the tool."""
import json, math, os, subprocess, sys, tempfile
import numpy as np

TOOL = os.path.abspath(sys.argv[1])
RUNS = "infer nuts(default, all, 300, 300);\n" + "".join(
    "run(bridge_evidence(1000, nuts(default, all, 300, 2)%s));\n" % warp for warp in ("", ", warp=true") * 4)
YS = [4.8, 5.3, 5.1, 3.0, 7.1, 4.4, 6.2, 5.9]
COUNTS = [3, 1, 4, 1, 5]


def normal_evidence(cov, y):
    sign, logdet = np.linalg.slogdet(cov)
    return -0.5 * (y @ np.linalg.solve(cov, y) + logdet + len(y) * math.log(2 * math.pi))


def poisson_evidence(shape, rate):
    total = shape + sum(COUNTS)
    return (shape * math.log(rate) - math.lgamma(shape) + math.lgamma(total) - total * math.log(rate + len(COUNTS))
            - sum(math.lgamma(c + 1) for c in COUNTS))


X = np.random.RandomState(1).normal(size=(30, 70))
Y = X[:, 0] - X[:, 1] + np.random.RandomState(2).normal(size=30)
MODELS = {
    "a mean": ("define ys = %s;\nassume mu = normal(0, 10);\n"
               "for (i = 0; i < size(ys); i++) { observe normal(mu, 1.2) = ys[i]; };\n" % YS,
               normal_evidence(1.44 * np.eye(8) + 100, np.array(YS))),
    "a rate": ("define ys = %s;\nassume rate = gamma(1.5, 0.5);\n"
               "for (i = 0; i < size(ys); i++) { observe poisson(rate) = ys[i]; };\n" % COUNTS,
               poisson_evidence(1.5, 0.5)),
    "a regression of six": ("".join("assume b%d = normal(0, 2);\n" % k for k in range(6)) + "".join(
        "observe normal(%s, 1) = %r;\n" % (" + ".join("%r * b%d" % (float(X[i, k]), k) for k in range(6)), float(Y[i]))
        for i in range(12)), normal_evidence(np.eye(12) + 4 * X[:12, :6] @ X[:12, :6].T, Y[:12])),
}


def run(text, status=0):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([TOOL, "run", "--format", "json", f.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=300)
    assert r.returncode == status, r.stderr.decode()
    return [json.loads(line) for line in r.stdout.decode().splitlines()] if status == 0 else r.stderr.decode()


scores = []
for name, (model, exact) in MODELS.items():
    answers = run(model + RUNS + "run(log_evidence(default));\n")
    importance = answers.pop()[0]
    for a in answers:
        z = (a["log_evidence"] - exact) / a["error"]
        assert abs(z) < 5 and a["error"] < 0.05, (name, a, exact)
        scores.append(z)
    assert abs(importance["log_evidence"] - exact) < 5 * importance["error"] + 1e-6, (name, importance, exact)
spread = float(np.sqrt(np.mean(np.square(scores))))
assert 0.4 < spread < 1.8, spread

flip = "assume b = flip(0.5);\nassume m = normal(0, 1);\nobserve normal(if (b) { m } else { -m }, 1) = 1;\n"
assert "not continuous" in run(flip + RUNS, status=1)
assert "no choices" in run("observe normal(0, 1) = 1;\nrun(bridge_evidence(100, pass));", status=1)
still = "assume m = normal(0, 1);\nobserve normal(m, 1) = 1;\nrun(bridge_evidence(100, pass));"
assert "do not move" in run(still, status=1)
print("bridge_evidence: %d evidences, errors over stated errors %.2f" % (len(scores), spread))
