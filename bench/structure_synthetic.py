#!/usr/bin/python3
"""Recovery of known structures: structure_synthetic.py GPMEM [REPLICATES [N]]

Series are drawn from Gaussian processes with known kernels on a monthly grid (t in [0,1], y in units of the
term's standard deviation), `gpmem discover` runs on each, and the table shows the mean probability of every
true component and the largest mean probability of a component that is not there."""
import json, os, subprocess, sys, tempfile
import numpy as np

CASES = {  # name: (terms with parameters, noise sd); LIN sd, SE (sd, l), PER (sd, p, l), ...
    "WN": ([], 1.0),
    "LIN + WN": ([("LIN", 1.0)], 0.3),
    "SE + WN": ([("SE", 1.0, 0.1)], 0.2),
    "PER + WN": ([("PER", 1.0, 0.1, 0.8)], 0.3),
    "LIN + PER + WN": ([("LIN", 1.0), ("PER", 0.7, 0.1, 0.8)], 0.2),
    "LIN + SE + WN": ([("LIN", 1.0), ("SE", 0.5, 0.06)], 0.15),
    "LIN + PER + SE + WN": ([("LIN", 1.0), ("SE", 0.4, 0.06), ("PER", 0.6, 0.1, 0.8)], 0.1),
    "SE*PER + WN": ([("SE*PER", 1.0, 0.25, 0.1, 0.8)], 0.15),
    "LIN + SE*PER + WN": ([("LIN", 1.0), ("SE*PER", 0.7, 0.25, 0.1, 0.8)], 0.1),
    "LIN*PER + WN": ([("LIN*PER", 0.8, 0.1, 0.8)], 0.1),
    "LIN + LIN*WN + WN": ([("LIN", 1.0), ("LIN*WN", 0.4)], 0.05),
    "WIENER + WN": ([("WIENER", 1.5)], 0.1),
    "IWIENER + WN": ([("IWIENER", 15.0)], 0.1),
}


def sample(case, n, rng):
    terms, noise = CASES[case]
    t = np.linspace(0, 1, n)
    d = np.abs(t[:, None] - t[None, :])

    def se(l):
        return np.exp(-d ** 2 / (2 * l ** 2))

    def per(p, l):  # zero mean
        q = 1 / l ** 2
        i0 = np.i0(q) * np.exp(-q)
        return (np.exp(q * (np.cos(2 * np.pi * d / p) - 1)) - i0) / (1 - i0)
    lin = 12 * np.outer(t - 0.5, t - 0.5)
    lin0 = 12 * np.outer(t, t) / 4
    mn = np.minimum(t[:, None], t[None, :])
    K = noise ** 2 * np.eye(n)
    trend = np.zeros(n)
    for term in terms:
        kind, s, rest = term[0], term[1], term[2:]
        k = {"LIN": lambda: lin, "SE": lambda: se(*rest), "PER": lambda: per(*rest),
             "SE*PER": lambda: se(rest[0]) * per(*rest[1:]), "LIN*PER": lambda: lin0 * per(*rest),
             "LIN*WN": lambda: lin0 * np.eye(n), "WIENER": lambda: mn,
             "IWIENER": lambda: mn ** 3 / 3 + d * mn ** 2 / 2}[kind]()
        if kind == "LIN":  # a trend of full size, up or down
            trend = trend + s * rng.choice([-1, 1]) * np.sqrt(12) * (t - 0.5)
        else:
            K = K + s ** 2 * k
    return trend + np.linalg.cholesky(K + 1e-10 * np.eye(n)) @ rng.standard_normal(n)


def main():
    tool = sys.argv[1]
    reps = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 120
    only = sys.argv[4:] or list(CASES)
    print("| true structure | true components (mean probability) | largest absent component | most probable structure is the true one |")
    print("|---|---|---|---|")
    for case in only:
        true = case.split(" + ")
        probs, hits = [], 0
        for rep in range(reps):
            rng = np.random.default_rng([rep, len(case), sum(map(ord, case))])
            y = sample(case, n, rng)
            with tempfile.TemporaryDirectory() as tmp:
                path, js = os.path.join(tmp, "s.csv"), os.path.join(tmp, "r.json")
                with open(path, "w") as f:
                    f.write("t,y\n" + "".join("%d,%.6f\n" % (i, v) for i, v in enumerate(y)))
                subprocess.run([tool, "discover", path, "--json", js, "-q"], check=True)
                d = json.load(open(js))
            probs.append({c["struct"]: c["probability"] for c in d["components"]})
            hits += d["structures"][0]["struct"] == case
        mean = {k: np.mean([p.get(k, 0) for p in probs]) for k in set().union(*probs)}
        absent = sorted(((v, k) for k, v in mean.items() if k not in true), reverse=True)[:1]
        print("| %s | %s | %s | %d of %d |" % (
            case, ", ".join("%s %.2f" % (t, mean.get(t, 0)) for t in true),
            ", ".join("%s %.2f" % (k, v) for v, k in absent), hits, reps), flush=True)


main()
