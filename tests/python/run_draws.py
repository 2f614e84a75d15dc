#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws in Python: summaries, leave-one-out, predictive checks, ArviZ's groups, chains that fail; and the same groups
from gpmem export --format arviz. Argument: the tool."""
import json, math, os, subprocess, sys, tempfile
import xml.etree.ElementTree as ET

TOOL = os.path.abspath(sys.argv[1])
os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(TOOL), "libgpmem.so")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np
import gpmem
from raising import raises

MODEL = """assume mu = normal(0, 5);
assume b = multivariate_normal([0, 0], [[1, 0], [0, 1]]);
define ys = [1.1, 2.3, 0.4, 1.9];
for (i = 0; i < size(ys); i++) { observe normal(mu + %s, 1) = ys[i]; };
"""
COLLECT = "collect(mu, b, labelled(matrix([[mu, 1], [2, 3]]), m), log_lik(), y_rep(), y_obs())"
DRAW = "infer nuts(default, all, 200, 200);\ninfer accumulate_dataset(300, do(nuts(default, all, 200, 1), %s));\n" % COLLECT
PRIOR = "infer accumulate_dataset(200, do(reset_to_prior(), collect(mu, b, y_rep())));\n"


one = gpmem.run(MODEL % "b[0]" + DRAW, chains=4)
two = gpmem.run(MODEL % "9 * b[1]" + DRAW, chains=4, seed=2)
prior = gpmem.run(MODEL % "b[0]" + PRIOR, chains=2)

s = one.summary()
assert set(s) == {"mu", "b[1]", "b[2]", "m[1,1]", "m[2,1]", "m[1,2]", "m[2,2]"}, s
assert abs(s["mu"]["mean"] - one.draws["mu"].mean()) < 1e-12 and 0.99 < s["mu"]["rhat"] < 1.2
assert "m[2,2]" not in one.diagnose(), one.diagnose()  # m[1,1] moves: the others are known

best = one.loo()
assert best["observations"] == 4 and best["draws"] == 1200 and len(best["pareto_k"]) == 4, best
lpd = sum(math.log(np.exp(one.draws["log_lik[%d]" % i]).mean()) for i in range(1, 5))
assert abs(lpd - best["elpd_loo"] - best["p_loo"]) < 1e-9, (lpd, best)
both = gpmem.loo(a=two, b=one)
assert {m["name"] for m in both} == {"a", "b"} and both[0]["elpd_diff"] == 0 and both[1]["elpd_diff"] <= 0, both
raises(gpmem.GpmemError, "log_lik()", prior.loo)

check = one.predictive_check()
replicated = np.stack([one.draws["y_rep[%d]" % i] for i in range(1, 5)])
share = (replicated.max(axis=0) >= 2.3).mean()
assert check["observed_values"] == 4 and abs(check["quantities"]["max"]["p"] - share) < 1e-12, (check, share)
assert ET.fromstring(one.predictive_picture()).tag.endswith("svg")
raises(gpmem.GpmemError, "y_rep()", gpmem.run("assume x = normal(0, 1); infer accumulate_dataset(20, collect(x));").predictive_check)

groups = one.to_inference_data(prior=prior)
shapes = {g: {n: x.shape for n, x in v.items()} for g, v in groups.items()}
assert shapes["posterior"] == {"mu": (4, 300), "b": (4, 300, 2), "m": (4, 300, 2, 2)}, shapes
assert np.array_equal(groups["posterior"]["m"][1, 7], [[groups["posterior"]["mu"][1, 7], 1], [2, 3]])
stats = {"acceptance_rate", "step_size", "tree_depth", "n_steps", "diverging", "energy"}
assert set(shapes["sample_stats"]) == stats and groups["sample_stats"]["diverging"].dtype == bool, shapes
assert "energy__" in one.sample_stats and "energy__" not in one.draws
assert 0.5 < groups["sample_stats"]["acceptance_rate"].mean() < 1, groups["sample_stats"]
assert shapes["log_likelihood"] == shapes["posterior_predictive"] == {"y": (4, 300, 4)}, shapes
assert np.array_equal(groups["observed_data"]["y"], [1.1, 2.3, 0.4, 1.9]), groups["observed_data"]
assert shapes["prior"] == {"mu": (2, 200), "b": (2, 200, 2)} and shapes["prior_predictive"] == {"y": (2, 200, 4)}, shapes
assert abs(groups["prior"]["mu"].std() - 5) < 1 and groups["posterior"]["mu"].std() < 3

# the tool writes the same groups
with tempfile.TemporaryDirectory() as folder:
    for name, text, chains in (("one", MODEL % "b[0]" + DRAW, 4), ("prior", MODEL % "b[0]" + PRIOR, 2)):
        with open(os.path.join(folder, name + ".vnts"), "w") as f:
            f.write(text)
        subprocess.run([TOOL, "run", name + ".vnts", "--chains", str(chains), "--out", name], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = subprocess.run([TOOL, "export", "one", "--format", "arviz", "--prior", "prior"], cwd=folder, check=True,
                         stdout=subprocess.PIPE).stdout
    written = json.loads(out)
    assert written.pop("attrs")["inference_library"] == "gpmem"
    assert set(written) == set(groups), set(written) ^ set(groups)
    for group, variables in groups.items():
        assert set(written[group]) == set(variables), (group, set(written[group]))
        for name, x in variables.items():
            assert np.array_equal(np.array(written[group][name]), x), (group, name)

failing = """assume mu = normal(0, 1);
define bad = run(sample(uniform_discrete(0, 3))) == 0;
infer accumulate_dataset(20, do(mh(default, one, 1), collect(mu)));
define x = if (bad) { lookup([1], 3) } else { 0 };
"""
for seed in range(1, 20):
    try:
        gpmem.run(failing, chains=4, seed=seed)
    except gpmem.GpmemError as e:
        error = e
        if len(e.result.failed) < 4:
            break
lost = error.result.failed
assert str(error).startswith("chain %d: " % min(lost)) and "out of bounds" in str(error), error
assert error.result.draws["mu"].shape == (4 - len(lost), 20), error.result
print("draws in Python: summary, loo, checks, groups, chains that fail")
