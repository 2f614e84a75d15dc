#!/usr/bin/python3
"""Models that people write (tests/stat/models), from default starts: four chains agree, none stands still, and what is known of
the posterior is found. run_models.py GPMEM [--seeds 1,2,...] [MODEL ...]

What is known: published summaries (BUGS), exact results, or the values that the data were simulated with. The centred funnel
must be complained of."""
import json, glob, math, os, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import numpy as np
import posteriordb

MODELS = os.path.join(ROOT, "tests", "stat", "models")
RHAT_MAX = 1.05 # of 4 x 1,000 draws; priors of BUGS mix slowly in any sampler
# quantity: (posterior mean, posterior sd), the mean to a fifth of the sd, the sd to a quarter; or (true value, None), within four sds
KNOWN = {
    "funnel_centred": {"v": (0, 3)},
    "funnel_noncentred": {"v": (0, 3)},
    "line": {"alpha": (0.504, 0.39), "beta": (0.975, 0.077)}, # least squares 0.5036, 0.9738
    "seeds": {"alpha.1": (-0.55, 0.19), "alpha.2": (0.08, 0.30), "alpha.3": (1.35, 0.27), "alpha.4": (-0.82, 0.43)},
    "rats": {"alpha0": (106.6, 3.66), "beta_c": (6.186, 0.109), "sigma": (6.09, 0.46)},
    "negative_binomial": {"alpha": (1, None), "slope": (0.6, None), "between": (0.5, None), "shape": (2, None)},
    "stochastic_volatility": {"mu": (-1, None), "phi": (0.95, None), "s": (0.25, None)},
    "irt_2pl": {},
    "mixture": {"mu.1": (-1.5, None), "mu.2": (1.5, None), "sigma.1": (0.6, None), "sigma.2": (1, None), "share": (0.4, None)},
    "varying_slopes": {"centre.1": (1, None), "centre.2": (-0.5, None), "scale.1": (1, None), "scale.2": (0.6, None), "sigma": (0.5, None),
                       "correlation": (0.5, None)},
    "ordered_logistic": {"slope": (1.2, None), "cuts.1": (-1.5, None), "cuts.2": (0, None), "cuts.3": (1.2, None)},
}
QUICK = ("funnel_centred", "funnel_noncentred", "line", "seeds", "mixture", "ordered_logistic", "varying_slopes")


def sample(tool, name, seed, chains=4, warmup=1000, draws=1000):
    """{quantity: draws (chain, draw)}, or None with the message; what the run says of itself."""
    with open(os.path.join(MODELS, name + ".vnts")) as f: text = f.read()
    with tempfile.TemporaryDirectory() as tmp:
        path, folder = os.path.join(tmp, name + ".vnts"), os.path.join(tmp, "run")
        with open(path, "w") as f: f.write(text + posteriordb.sampling(text, warmup, draws))
        seconds, status, _, err = posteriordb.cpu([tool, "run", "-q", path, "--seed", str(seed), "--chains", str(chains), "--out", folder])
        if status: return None, err[-400:], seconds
        kept = [posteriordb.columns(p) for p in sorted(glob.glob(os.path.join(folder, "chain-*.csv")))]
        x = np.array([k[1] for k in kept])
        with open(os.path.join(folder, "diagnostics.json")) as f: complaints = json.load(f)["complaints"]
        return {c: x[:, :, j] for j, c in enumerate(kept[0][0])}, complaints, seconds


def faults(name, draws, complaints):
    if name == "funnel_factor": return [] if "diverged" in complaints or "E-BFMI" in complaints else ["the funnel was not reported"]
    out = []
    for q, x in draws.items():
        if q not in KNOWN[name] and KNOWN[name]: continue
        still = [i + 1 for i, chain in enumerate(x) if len(np.unique(chain)) < len(chain) / 20]
        if still: out.append("%s stands still in chain %s" % (q, still))
        elif not posteriordb.rhat(x) < RHAT_MAX: out.append("%s: R-hat %.3f" % (q, posteriordb.rhat(x)))
        if q not in KNOWN[name]: continue
        mean, sd = KNOWN[name][q]
        if sd is None and abs(x.mean() - mean) > 4 * x.std(): out.append("%s is %.3g (sd %.2g), made with %g" % (q, x.mean(), x.std(), mean))
        if sd and (abs(x.mean() - mean) > 0.2 * sd or abs(math.log(x.std() / sd)) > 0.25):
            out.append("%s is %.3g (%.2g) instead of %g (%g)" % (q, x.mean(), x.std(), mean, sd))
    return out + ["%s is not collected" % q for q in KNOWN[name] if q not in draws]


def main():
    args = sys.argv[2:]
    seeds = [int(s) for s in args[args.index("--seeds") + 1].split(",")] if "--seeds" in args else [1]
    names = [a for a in args if a in KNOWN or a == "funnel_factor"] or ["funnel_factor", *QUICK]
    bad = 0
    for name in names:
        for seed in seeds:
            draws, complaints, seconds = sample(os.path.abspath(sys.argv[1]), name, seed)
            wrong = ["failed: " + complaints] if draws is None else faults(name, draws, complaints)
            bad += bool(wrong)
            smallest = min(posteriordb.ess_bulk(x) for x in draws.values()) if draws else math.nan
            print("%-5s %-22s seed %d, %6.1f CPU s, ess %5.0f  %s" % ("WRONG" if wrong else "ok", name, seed, seconds, smallest, "; ".join(wrong)), flush=True)
    print("%d models, %s" % (len(names), "%d runs wrong" % bad if bad else "all right"))
    return 1 if bad else 0


if __name__ == "__main__": sys.exit(main())
