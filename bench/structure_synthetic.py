#!/usr/bin/python3
"""Recovery of known structures: structure_synthetic.py GPMEM [REPLICATES [N [CASE...]]]
                             structure_synthetic.py GPMEM wide [REPLICATES [NAME...]]

Series are drawn from Gaussian processes with known kernels on a monthly grid (t in [0,1], y in units of the
term's standard deviation), `gpmem discover` runs on each, and the table shows the mean probability of every
true component and the largest mean probability of a component that is not there. `wide` takes series made by
formula instead, under many conditions: sizes, spacings, noise, shapes, no structure at all."""
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


# ---- series made by formula, under many conditions ----
def times(kind, n, rng):
    """Labels for the file and standardised times."""
    if kind == "months":
        return ["%d-%02d-01" % (1990 + i // 12, i % 12 + 1) for i in range(n)], np.arange(n) / (n - 1)
    if kind == "years":
        return ["%d" % (1850 + i) for i in range(n)], np.arange(n) / (n - 1)
    if kind == "irregular":
        x = np.sort(rng.uniform(0, 10, n))
        return ["%.5f" % v for v in x], (x - x[0]) / (x[-1] - x[0])
    if kind == "days":  # some days of many
        x = np.sort(rng.choice(4 * n, n, replace=False))
        return ["%d" % v for v in x], (x - x[0]) / (x[-1] - x[0])
    return ["%g" % (0.25 * i) for i in range(n)], np.arange(n) / (n - 1)


def smooth(t, l, rng):
    K = np.exp(-(t[:, None] - t[None, :]) ** 2 / (2 * l * l)) + 1e-8 * np.eye(len(t))
    return np.linalg.cholesky(K) @ rng.standard_normal(len(t))


def walk(t, rng):
    d = np.diff(t, prepend=0)
    return np.cumsum(np.sqrt(np.maximum(d, 0)) * rng.standard_normal(len(t)))


def wave(t, p, phase=0.3):
    a = 2 * np.pi * t / p + phase
    return np.sin(a) + 0.4 * np.sin(2 * a + 1)


def saw(t, p):
    f = (t / p) % 1
    return 2 * f - 1


LINE = ("LIN",)
RECUR = ("PER", "SE*PER")
GROWING = ("LIN*PER", "LIN*SE*PER")
BEND = ("SE", "IWIENER", "WIENER", "LIN*SE", "IOU")
ROUGH = ("WIENER", "SE", "LIN*SE", "MAT12")
# name: (n, times, series of (t, rng), components that must be there (any of each tuple), those that must not)
WIDE = {
    "white noise, n=60": (60, "plain", lambda t, g: g.standard_normal(len(t)), [], ["LIN", "PER", "SE", "SE*PER", "WIENER", "IWIENER", "LIN*WN"]),
    "white noise, n=300": (300, "plain", lambda t, g: 5 + 2 * g.standard_normal(len(t)), [], ["LIN", "PER", "SE", "SE*PER", "WIENER", "IWIENER", "LIN*WN"]),
    "white noise, irregular": (100, "irregular", lambda t, g: g.standard_normal(len(t)), [], ["LIN", "PER", "SE", "SE*PER", "WIENER", "IWIENER", "LIN*WN"]),
    "line": (100, "months", lambda t, g: 20 + 8 * t + g.standard_normal(len(t)), [LINE], ["PER", "SE*PER", "SE", "WIENER"]),
    "weak line": (150, "plain", lambda t, g: -1.5 * t + g.standard_normal(len(t)), [LINE], ["PER", "SE*PER", "SE"]),
    "line, irregular": (80, "irregular", lambda t, g: 3 * t + 0.3 * g.standard_normal(len(t)), [LINE], ["PER", "SE*PER", "SE"]),
    "sine of 12 months": (120, "months", lambda t, g: 10 + np.sin(2 * np.pi * t * 119 / 12) + 0.4 * g.standard_normal(len(t)), [RECUR], ["LIN", "SE", "WIENER"]),
    "wave of 7.3 steps": (150, "plain", lambda t, g: wave(t, 7.3 / 149) + 0.5 * g.standard_normal(len(t)), [RECUR], ["LIN", "SE", "WIENER"]),
    "sawtooth, a third of the span": (120, "plain", lambda t, g: saw(t, 0.29) + 0.2 * g.standard_normal(len(t)), [RECUR], ["LIN", "WIENER"]),
    "two sines": (200, "plain", lambda t, g: np.sin(2 * np.pi * t / 0.06) + np.sin(2 * np.pi * t / 0.23) + 0.3 * g.standard_normal(len(t)), [RECUR], ["LIN", "WIENER"]),
    "sine in noise of its size": (200, "months", lambda t, g: np.sin(2 * np.pi * t * 199 / 12) + g.standard_normal(len(t)), [RECUR], ["LIN", "SE", "WIENER"]),
    "line + sine": (120, "months", lambda t, g: 100 + 6 * t + np.sin(2 * np.pi * t * 119 / 12) + 0.3 * g.standard_normal(len(t)), [LINE, RECUR], ["SE", "WIENER"]),
    "line + wave, irregular": (120, "irregular", lambda t, g: 4 * t + wave(t, 0.11) + 0.3 * g.standard_normal(len(t)), [LINE, RECUR], ["SE", "WIENER"]),
    "line + wave, some days": (150, "days", lambda t, g: 4 * t + wave(t, 0.07) + 0.3 * g.standard_normal(len(t)), [LINE, RECUR], ["SE", "WIENER"]),
    "line + wave in strong noise": (240, "months", lambda t, g: 3 * t + wave(t, 12 / 239) + g.standard_normal(len(t)), [LINE, RECUR], ["SE", "WIENER"]),
    "falling line + wave, n=48": (48, "months", lambda t, g: -6 * t + wave(t, 12 / 47) + 0.3 * g.standard_normal(len(t)), [LINE, RECUR], ["SE", "WIENER"]),
    "line + wave + smooth": (200, "plain", lambda t, g: 8 * t + wave(t, 0.05) + 0.8 * smooth(t, 0.06, g) + 0.2 * g.standard_normal(len(t)), [LINE, RECUR, BEND], []),
    "smooth": (120, "plain", lambda t, g: smooth(t, 0.08, g) + 0.2 * g.standard_normal(len(t)), [("SE", "LIN*SE")], ["PER", "SE*PER"]),
    "very smooth": (120, "years", lambda t, g: 2 * smooth(t, 0.3, g) + 0.2 * g.standard_normal(len(t)), [BEND], ["PER", "SE*PER"]),
    "smooth, irregular": (100, "irregular", lambda t, g: smooth(t, 0.1, g) + 0.2 * g.standard_normal(len(t)), [("SE", "LIN*SE")], ["PER", "SE*PER"]),
    "random walk": (200, "plain", lambda t, g: walk(t, g), [ROUGH], ["PER", "SE*PER"]),
    "random walk + noise": (150, "years", lambda t, g: 1.5 * walk(t, g) + 0.1 * g.standard_normal(len(t)), [ROUGH], ["PER", "SE*PER"]),
    "random walk with drift": (150, "plain", lambda t, g: 6 * t + walk(t, g), [LINE, ROUGH], ["PER", "SE*PER"]),
    "bent trend": (120, "years", lambda t, g: 4 * t * t + 0.15 * g.standard_normal(len(t)), [("SE", "IWIENER", "LIN*SE", "IOU")], ["PER", "SE*PER"]),
    "changing wave": (200, "plain", lambda t, g: smooth(t, 0.2, g) * np.sin(2 * np.pi * t / 0.07) + smooth(t, 0.2, g) * np.cos(2 * np.pi * t / 0.07) + 0.15 * g.standard_normal(len(t)), [("SE*PER",)], ["LIN", "WIENER"]),
    "growing wave": (150, "months", lambda t, g: 3 * t * wave(t, 12 / 149) + 0.2 * g.standard_normal(len(t)), [GROWING + ("SE*PER",)], ["SE", "WIENER"]),
    "line + growing wave": (150, "months", lambda t, g: 50 + 20 * t + 4 * (0.2 + t) * wave(t, 12 / 149) + 0.5 * g.standard_normal(len(t)), [LINE, GROWING + ("SE*PER",)], ["WIENER"]),
    "growth, all in proportion": (144, "months", lambda t, g: 100 * np.exp(1.5 * t + 0.15 * wave(t, 12 / 143) + 0.03 * g.standard_normal(len(t))), [LINE, RECUR], ["SE", "WIENER", "LIN*PER"]),
    "noise that grows": (200, "plain", lambda t, g: (0.1 + 2 * t) * g.standard_normal(len(t)), [("LIN*WN",)], ["LIN", "PER", "SE*PER", "SE", "WIENER"]),
    "line, noise that shrinks": (200, "months", lambda t, g: 5 * t + 1.5 * (1.1 - t) * g.standard_normal(len(t)), [LINE, ("LIN*WN",)], ["PER", "SE*PER", "SE", "WIENER"]),
}
for _, _, _, _, absent in WIDE.values():  # where no walk is, nothing rough and no shift is either
    if "WIENER" in absent:
        absent.extend(["MAT12", "STEP"])


def discover(tool, labels, y):
    with tempfile.TemporaryDirectory() as tmp:
        path, js = os.path.join(tmp, "s.csv"), os.path.join(tmp, "r.json")
        with open(path, "w") as f:
            f.write("ds,y\n" + "".join("%s,%.6g\n" % p for p in zip(labels, y)))
        subprocess.run([tool, "discover", path, "--json", js, "-q"], check=True)
        return json.load(open(js))


def probability(d, names):
    """Of structures with one of these components; noise is always there."""
    return sum(s["probability"] for s in d["structures"] if set(names) & set(s["struct"].split(" + ")))


def wide(tool, reps, only):
    print("| series | n | must be there | must not (the most probable) | right | most probable structures |")
    print("|---|--:|---|---|--:|---|")
    right = total = 0
    for name, (n, kind, make, must, never) in WIDE.items():
        if only and not any(o in name for o in only):
            continue
        p, q, tops, hits = [], [], [], 0
        for rep in range(reps):
            rng = np.random.default_rng([rep, n, sum(map(ord, name))])
            labels, t = times(kind, n, rng)
            d = discover(tool, labels, make(t, rng))
            p.append([probability(d, m) for m in must])
            q.append([probability(d, [m]) for m in never])
            top = d["structures"][0]["struct"]
            tops.append("`%s` %.2f" % (top, d["structures"][0]["probability"]))
            hits += min(p[-1] + [1]) > 0.5 and max(q[-1] + [0]) < 0.5
        pm, qm = np.mean(p, axis=0), np.mean(q, axis=0)
        worst = "%s %.2f" % (never[int(np.argmax(qm))], max(qm)) if never else ""
        right, total = right + hits, total + reps
        print("| %s | %d | %s | %s | %d of %d | %s |" % (
            name, n, ", ".join("%s %.2f" % (" or ".join(m), v) for m, v in zip(must, pm)), worst, hits, reps,
            "; ".join(dict.fromkeys(tops))), flush=True)
    print("\n%d of %d right: everything that must be there above 0.5, nothing that must not" % (right, total))


def main():
    tool = sys.argv[1]
    if sys.argv[2:3] == ["wide"]:
        wide(tool, int(sys.argv[3]) if len(sys.argv) > 3 else 2, sys.argv[4:])
        return
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
