#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Neal's function with outliers over twenty seeds: error of the posterior mean against the true
function and coverage of the 95% band, for the program of examples/neal.vnts (hierarchical priors, 100
nested sweeps, then draws of the emulator along the chain) beside scikit-learn's maximum-likelihood
Gaussian process on the same data. Arguments: the gpmem binary, and optionally sweeps=N before the first draw,
draws=N, thin=N sweeps between draws, outliers=P. Prints Markdown."""
import json, math, random, subprocess, sys, warnings
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

TOOL, SEEDS = sys.argv[1], 20
OPTIONS = dict(sweeps=100, draws=200, thin=3, outliers=0.05)
OPTIONS.update((k, type(OPTIONS[k])(v)) for k, v in (a.split("=") for a in sys.argv[2:]))
GRID = np.linspace(-2, 2, 41)
warnings.filterwarnings("ignore")

MODEL = """
assume alpha_sf = tag(scope="hyperhyper", gamma(7, 1));
assume beta_sf = tag(scope="hyperhyper", gamma(7, 1));
assume alpha_l = tag(scope="hyperhyper", gamma(7, 1));
assume beta_l = tag(scope="hyperhyper", gamma(7, 1));
assume sf = tag(scope="hyper", gamma(alpha_sf, beta_sf));
assume l = tag(scope="hyper", gamma(alpha_l, beta_l));
assume sigma = tag(scope="hyper", uniform_continuous(0, 2));
assume f_look_up = proc(x) { value_error("only data") };
assume (f_compute, f_emu) = gpmem(f_look_up, make_squaredexp(sf, l), noise=sigma);
observe f_emu(%s) = %s;
infer repeat(%d, do(mh(scope="hyperhyper", steps=2), mh(scope="hyper", steps=1)));
"""
STEP = """infer repeat(%d, do(mh(scope="hyperhyper", steps=2), mh(scope="hyper", steps=1)));
sample f_emu(%s);
"""


def truth(x):
    return 0.3 + 0.4 * x + 0.5 * np.sin(2.7 * x) + 1.1 / (1 + x * x)


def data(seed, n=100):
    r = random.Random(seed)
    x = np.array([r.gauss(0, 1) for _ in range(n)])
    return x, np.array([truth(v) + r.gauss(0, 1 if r.random() < OPTIONS["outliers"] else 0.1) for v in x])


def numbers(v):
    return "array(%s)" % ", ".join("%.17g" % x for x in v)


def gpmem(x, y, seed):
    program = MODEL % (numbers(x), numbers(y), OPTIONS["sweeps"])
    program += (STEP % (OPTIONS["thin"], numbers(GRID))) * OPTIONS["draws"]
    r = subprocess.run([TOOL, "run", "--seed", str(seed), "--format", "json", "-"], input=program.encode(),
                       stdout=subprocess.PIPE, check=True)
    draws = np.array([json.loads(line) for line in r.stdout.decode().splitlines()])
    return draws.mean(0), np.quantile(draws, 0.025, 0), np.quantile(draws, 0.975, 0)


def sklearn(x, y, seed):
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    g = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, random_state=seed).fit(x[:, None], y)
    noise = g.kernel_.k2.noise_level
    mean, sd = g.predict(GRID[:, None], return_std=True)
    sd = np.sqrt(np.maximum(sd ** 2 - noise, 0))  # of the function, without the noise
    return mean, mean - 1.96 * sd, mean + 1.96 * sd


def score(mean, low, high):
    f = truth(GRID)
    return math.sqrt(((mean - f) ** 2).mean()), ((low <= f) & (f <= high)).mean()


ours, theirs = [], []
for seed in range(1, SEEDS + 1):
    x, y = data(seed)
    ours.append(score(*gpmem(x, y, seed)))
    theirs.append(score(*sklearn(x, y, seed)))
ours, theirs = np.array(ours), np.array(theirs)
print("# Neal's function, 100 points with %g%% outliers, %d data sets\n" % (100 * OPTIONS["outliers"], SEEDS))
print("Error of the posterior mean on [-2, 2] and coverage of the true function by the 95% band.\n")
print("| | mean RMSE | worst RMSE | mean coverage |\n|---|---|---|---|")
for name, s in (("gpmem, %d nested sweeps" % OPTIONS["sweeps"], ours), ("scikit-learn, maximum likelihood", theirs)):
    print("| %s | %.4f | %.4f | %.3f |" % (name, s[:, 0].mean(), s[:, 0].max(), s[:, 1].mean()))
print("\nThe coverages have a standard error of %.3f and %.3f over the data sets." % tuple(
    s[:, 1].std(ddof=1) / math.sqrt(SEEDS) for s in (ours, theirs)))
print("\ngpmem has the smaller error on %d of %d data sets; mean difference %.4f (standard error %.4f)." % (
    (ours[:, 0] < theirs[:, 0]).sum(), SEEDS, (ours[:, 0] - theirs[:, 0]).mean(),
    (ours[:, 0] - theirs[:, 0]).std(ddof=1) / math.sqrt(SEEDS)))
