#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""nesterov and gradient_ascent reach summits of covariances, correlations, shares and scales, from draws of the prior: the mode is
known, or both agree. Argument: the tool."""
import os, re, subprocess, sys, tempfile

tool = os.path.abspath(sys.argv[1])
DATA = "observe multivariate_normal(vector(0, 0), S) = vector(1, 2);\n"
# model, the mode where it is known: of inv_wishart (V + x x') / (nu + d + 1 + 1), of shares (a - 1 + counts) / sum
MODELS = (("assume S = inv_wishart(id_matrix(2), 5);\n" + DATA, [2 / 9, 2 / 9, 2 / 9, 5 / 9]),
          ("assume S = wishart(id_matrix(2), 5);\n" + DATA, None),
          ("assume S = lkj_corr(2, 2);\n" + DATA, None),
          ("assume S = dirichlet(vector(2, 2, 2));\nobserve multinomial(10, S) = [1, 2, 7];\n", [2 / 13, 3 / 13, 8 / 13]),
          ("assume S = gamma(3, 1);\nobserve normal(0, S) = 2;\n", None))


def run(text, seed):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        done = subprocess.run([tool, "run", "-q", "--seed", str(seed), f.name], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (text, done.stderr)
    return [[float(v) for v in re.findall(r"-?[\d.]+(?:e[-+]?\d+)?", line)] for line in done.stdout.strip().splitlines()]


for model, mode in MODELS:
    for seed in (1, 2, 3, 4):
        ends = [run(model + "infer %s(default, all, 0.05, 400);\nsample S;\nrun(global_log_joint());\n" % how, seed) for how in ("nesterov", "gradient_ascent")]
        (at, logp), (_, other) = ends
        assert abs(logp[0] - other[0]) < 1e-4, (model, seed, ends)
        assert mode is None or max(abs(a - b) for a, b in zip(at, mode)) < 0.01, (model, seed, at)

print("nesterov and gradient_ascent agree on %d models, 4 seeds" % len(MODELS))
