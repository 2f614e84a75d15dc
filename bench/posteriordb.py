#!/usr/bin/python3
"""Reference posteriors (tests/stat/posteriordb) from default starts, beside Stan.

    posteriordb.py GPMEM [--seeds N] [--stan CACHE] [--keep FILE.json] [POSTERIOR or MODEL ...]

bench/posteriordb holds one program for each model; data come from the files of the reference. Four chains of 1,000 draws
after 1,000 of warm-up. Means and standard deviations stand against the reference in units of their Monte Carlo error; R-hat
is that of Vehtari et al. (2021), effective sample sizes the smallest bulk value of all quantities, CPU seconds those of the
whole process. A chain is lost when a quantity hardly moves in it, or when its mean is far from the reference. --stan runs
the same models in Stan (r-cran-rstan; compiled models are kept in CACHE, compiling is not counted): the ratio is of
effective samples per CPU second. Prints Markdown; --keep adds the figures of every run to a JSON file."""
import argparse, csv, glob, json, math, os, subprocess, sys, tempfile

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "posteriordb")
REFERENCE = os.path.join(HERE, "..", "tests", "stat", "posteriordb")
CHAINS, WARMUP, DRAWS = 4, 1000, 1000
Z_MAX = 4.5      # some 400 comparisons a seed: one false alarm in 400 runs
RHAT_MAX = 1.01


def names():
    return sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(REFERENCE, "*.json")))


def read(name):
    with open(os.path.join(REFERENCE, name + ".json")) as f: return json.load(f)


# Effective sample sizes and R-hat of draws x (chain, draw), by the formulas of the R package posterior

def split(x):
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def normal_scores(x): return ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))


def rhat_of(x):
    n = x.shape[1]
    within, between = x.var(axis=1, ddof=1).mean(), x.mean(axis=1).var(ddof=1)
    return math.sqrt((n - 1) / n + between / within) if within > 0 else math.inf


def rhat(x):
    x = split(x)
    return max(rhat_of(normal_scores(x)), rhat_of(normal_scores(abs(x - np.median(x)))))


def ess_of(x):
    """Geyer's initial monotone sequence of the pooled autocorrelation."""
    m, n = x.shape
    d = x - x.mean(axis=1, keepdims=True)
    f = np.fft.rfft(d, 2 * n, axis=1)
    acov = np.fft.irfft(f * np.conj(f), 2 * n, axis=1)[:, :n].mean(axis=0) / n
    within = acov[0] * n / (n - 1)
    total = within * (n - 1) / n + x.mean(axis=1).var(ddof=1)
    if not total > 0: return math.nan
    rho = 1 - (within - acov) / total
    rho[0] = 1
    pairs = rho[0:n - n % 2:2] + rho[1::2]
    stop = next((i for i, p in enumerate(pairs) if p < 0), len(pairs))
    pairs = np.minimum.accumulate(pairs[:stop])
    tau = max(-1 + 2 * pairs.sum() + (max(rho[2 * stop], 0) if 2 * stop < n else 0), 1 / math.log10(m * n))
    return m * n / tau


def ess(x): return ess_of(split(x))


def ess_bulk(x): return ess_of(normal_scores(split(x)))


def judge(draws, reference):
    """draws: {quantity: array (chain, draw)}; what can be said against the reference."""
    out = {"z_mean": {}, "z_sd": {}, "rhat": 0.0, "ess": math.inf, "lost": set(), "missing": sorted(set(reference) - set(draws))}
    for name, (mean, sd, se) in reference.items():
        if name not in draws: continue
        x = draws[name]
        for i, chain in enumerate(x):
            if not np.isfinite(chain).all() or len(np.unique(chain)) < len(chain) / 20 or abs(chain.mean() - mean) > 3 * sd:
                out["lost"].add(i + 1)
        if not np.isfinite(x).all() or not x.std() > 0: continue
        square = (x - x.mean()) ** 2
        shape = square.std() / (2 * x.std() ** 2) # the error of an sd is this times sd / sqrt(ess)
        reference_ess = min((sd / se) ** 2, 10000)
        out["z_mean"][name] = (x.mean() - mean) / math.sqrt(x.var() / ess(x) + se * se)
        out["z_sd"][name] = (x.std() / sd - 1) / (shape * math.sqrt(1 / ess(square) + 1 / reference_ess))
        out["rhat"] = max(out["rhat"], rhat(x))
        out["ess"] = min(out["ess"], ess_bulk(x))
    out["lost"] = sorted(out["lost"])
    return out


def worst(zs): return max(zs.values(), key=abs, default=math.nan)


def right(r):
    """Whether a run of judge() is as it should be."""
    return not (r["missing"] or r["lost"]) and r["rhat"] < RHAT_MAX and max(map(abs, (worst(r["z_mean"]), worst(r["z_sd"])))) < Z_MAX


# Our side

def literal(v):
    if isinstance(v, list): return "%s(%s)" % (("matrix", "[%s]" % ", ".join(map(bare, v))) if isinstance(v[0], list) else
                                               ("vector", ", ".join(map(bare, v))))
    return repr(v)


def bare(v): return "[%s]" % ", ".join(map(bare, v)) if isinstance(v, list) else repr(v)


def sampling(model, warmup, draws):
    """What follows the model; a program that defines `keep`, an action that collects, has quantities that need not be kept."""
    return "infer sample(warmup=%d, draws=%d%s);\n" % (warmup, draws, ", collect=keep" if "\ndefine keep = " in model else "")


def program(posterior, warmup, draws):
    """The text of a run: the data, the model, sampling."""
    with open(os.path.join(PROGRAMS, posterior["model"] + ".vnts")) as f: model = f.read()
    data = "".join("define %s = %s;\n" % (k, literal(v)) for k, v in posterior["data"].items())
    return data + model + sampling(model, warmup, draws)


def cpu(cmd, **kw):
    """CPU seconds of a finished command, its exit status and what it wrote on standard output and error."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen(cmd, stdout=out, stderr=err, **kw)
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        return used.ru_utime + used.ru_stime, p.returncode, out.read(), err.read()


def columns(path):
    with open(path) as f: rows = list(csv.reader(x for x in f if not x.startswith("#")))
    first = next(i for i, name in enumerate(rows[0]) if not name.endswith("__"))  # after what the sampler says of itself
    return rows[0][first:], np.array([[float(v) for v in r[first:]] for r in rows[1:]])


def stan_name(column):
    """beta.2 is beta[2], X.2.3 is X[2,3]."""
    base, *at = column.split(".")
    return base + ("[%s]" % ",".join(at) if at else "")


def ours(tool, posterior, seed, chains=CHAINS, warmup=WARMUP, draws=DRAWS):
    if not os.path.exists(os.path.join(PROGRAMS, posterior["model"] + ".vnts")): return {"error": "no program", "cpu": 0}
    with tempfile.TemporaryDirectory() as tmp:
        path, folder = os.path.join(tmp, posterior["model"] + ".vnts"), os.path.join(tmp, "run")
        with open(path, "w") as f: f.write(program(posterior, warmup, draws))
        seconds, status, _, err = cpu([tool, "run", "-q", path, "--seed", str(seed), "--chains", str(chains), "--out", folder])
        if status: return {"error": err.strip()[:600] or "exit status %d" % status, "cpu": seconds}
        kept = [columns(p) for p in sorted(glob.glob(os.path.join(folder, "chain-*.csv")))]
        x = np.array([k[1] for k in kept])
        r = judge({stan_name(c): x[:, :, j] for j, c in enumerate(kept[0][0])}, posterior["reference"])
        with open(os.path.join(folder, "diagnostics.json")) as f:
            r["divergences"] = sum(t.get("divergences", 0) for t in json.load(f)["transitions"])
        return dict(r, cpu=seconds)


# Stan's side. The linear regressions with flat priors are one Stan model, so that it compiles once; here are their inputs.

def is_(x, *values): return [(x == v).astype(float) for v in values]


def product(*xs): return [*xs, xs[0] * xs[1]]


def centred(x, sds=0): return (x - x.mean()) / (sds * x.std(ddof=1) if sds else 1)


def mesquite_logs(d):
    log = {k: np.log(v) for k, v in d.items() if k not in ("N", "group")}
    area = log["diam1"] + log["diam2"]
    return dict(log, area=area, volume=area + log["canopy_height"], shape=log["diam1"] - log["diam2"], group=d["group"])


def pick(d, *keys): return [d[k] for k in keys]


# model: (outcome, its inputs after the constant, scale of the half Cauchy prior of sigma or 0)
LINEAR = {
    "logearn_height": lambda d: (np.log(d["earn"]), pick(d, "height"), 0),
    "logearn_height_male": lambda d: (np.log(d["earn"]), pick(d, "height", "male"), 0),
    "logearn_logheight_male": lambda d: (np.log(d["earn"]), [np.log(d["height"]), d["male"]], 0),
    "logearn_interaction_z": lambda d: (np.log(d["earn"]), product(centred(d["height"], 1), d["male"]), 0),
    "kidscore_momhs": lambda d: (d["kid_score"], pick(d, "mom_hs"), 2.5),
    "kidscore_momiq": lambda d: (d["kid_score"], pick(d, "mom_iq"), 2.5),
    "kidscore_momhsiq": lambda d: (d["kid_score"], pick(d, "mom_hs", "mom_iq"), 2.5),
    "kidscore_interaction": lambda d: (d["kid_score"], product(d["mom_hs"], d["mom_iq"]), 2.5),
    "kidscore_interaction_c": lambda d: (d["kid_score"], product(centred(d["mom_hs"]), centred(d["mom_iq"])), 0),
    "kidscore_interaction_z": lambda d: (d["kid_score"], product(centred(d["mom_hs"], 2), centred(d["mom_iq"], 2)), 0),
    "kidscore_mom_work": lambda d: (d["kid_score"], is_(d["mom_work"], 2, 3, 4), 0),
    "mesquite": lambda d: (d["weight"], pick(d, "diam1", "diam2", "canopy_height", "total_height", "density", "group"), 0),
    "logmesquite": lambda d: (np.log(d["weight"]), pick(
        mesquite_logs(d), "diam1", "diam2", "canopy_height", "total_height", "density", "group"), 0),
    "logmesquite_logvolume": lambda d: (np.log(d["weight"]), pick(mesquite_logs(d), "volume"), 0),
    "logmesquite_logva": lambda d: (np.log(d["weight"]), pick(mesquite_logs(d), "volume", "area", "group"), 0),
    "logmesquite_logvas": lambda d: (np.log(d["weight"]), pick(
        mesquite_logs(d), "volume", "area", "shape", "total_height", "density", "group"), 0),
    "nes": lambda d: (d["partyid7"], [*pick(d, "real_ideo", "race_adj"), *is_(d["age_discrete"], 2, 3, 4),
                                      *pick(d, "educ1", "gender", "income")], 0),
}


def stan_model(posterior):
    """Name and data of the Stan model of a posterior."""
    model, data = posterior["model"], posterior["data"]
    if model not in LINEAR: return model, data
    y, inputs, scale = LINEAR[model]({k: np.array(v, float) for k, v in data.items()})
    X = np.column_stack([np.ones(len(y)), *inputs])
    return "linear", {"N": len(y), "D": X.shape[1], "X": X.tolist(), "y": y.tolist(), "scale": scale}


def rdump(data):
    def text(v):
        if not isinstance(v, list): return repr(v)
        a = np.array(v)
        flat = "c(%s)" % ", ".join(repr(x) for x in a.ravel(order="F").tolist())
        return flat if a.ndim == 1 else "structure(%s, .Dim = c(%s))" % (flat, ", ".join(map(str, a.shape)))
    return "".join("%s <- %s\n" % (k, text(v)) for k, v in data.items())


def stan(cache, posterior, seed, chains=CHAINS, warmup=WARMUP, draws=DRAWS):
    model, data = stan_model(posterior)
    script, model = os.path.join(PROGRAMS, "stan.R"), os.path.join(PROGRAMS, model + ".stan")
    quantities = sorted({k.split("[")[0] for k in posterior["reference"]})
    with tempfile.TemporaryDirectory() as tmp:
        dumped, out = os.path.join(tmp, "data.R"), os.path.join(tmp, "draws.csv")
        with open(dumped, "w") as f: f.write(rdump(data))
        _, status, text, err = cpu(["Rscript", script, model, cache, dumped, *map(str, (seed, chains, warmup, draws)), out, *quantities])
        if status: return {"error": err.strip()[-300:]}
        head, x = columns(out)
        x = x.reshape(chains, draws, len(head))
        seconds = [float(v) for v in text.split()[-3:]]
        return dict(judge({c: x[:, :, j] for j, c in enumerate(head)}, posterior["reference"]), cpu=seconds[0] + seconds[1],
                    divergences=int(seconds[2]))


def row(name, seed, a, b=None):
    """One line of the table."""
    if "error" in a: cells = ["**%s**" % " ".join(a["error"].split())[:120]] + [""] * 6
    else:
        cells = ["%.1f" % worst(a["z_mean"]), "%.1f" % worst(a["z_sd"]), "%.3f" % a["rhat"], ", ".join(map(str, a["lost"])) or "none",
                 str(a["divergences"]), "%.2f" % a["cpu"], "%.0f" % (a["ess"] / a["cpu"])]
        if not right(a): cells[0] = "**wrong** " + cells[0]
    if b is not None:
        cells += ["%.0f" % (b["ess"] / b["cpu"]), "%.2f" % ratio(a, b) if ratio(a, b) else ""] if "error" not in b else [b["error"].split("\n")[-1][:60], ""]
    return "| %s | %d | %s |" % (name, seed, " | ".join(cells))


def ratio(a, b): return None if "error" in a or "error" in b else a["ess"] / a["cpu"] / (b["ess"] / b["cpu"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tool")
    p.add_argument("--seeds", default="1", help="1 or 1,2,3")
    p.add_argument("--stan", metavar="CACHE")
    p.add_argument("--keep", metavar="FILE.json")
    p.add_argument("which", nargs="*")
    o = p.parse_intermixed_args()
    all_names = names()
    which = [n for n in all_names if not o.which or n in o.which or n.split("-")[1] in o.which]
    print("## Reference posteriors from default starts\n\nFour chains, %d + %d draws; the largest z of means and sds; ess/s: effective samples per CPU second.\n" % (WARMUP, DRAWS))
    print("| posterior | seed | z mean | z sd | R-hat | lost chains | divergences | CPU s | ess/s |" + (" Stan's ess/s | ratio |" if o.stan else ""))
    print("|---|---|---|---|---|---|---|---|---|" + ("---|---|" if o.stan else ""), flush=True)
    bad, ratios, kept = 0, [], []
    for name in which:
        posterior = read(name)
        for seed in map(int, o.seeds.split(",")):
            a = ours(os.path.abspath(o.tool), posterior, seed)
            b = stan(o.stan, posterior, seed) if o.stan else None
            bad += "error" in a or not right(a)
            if b is not None and ratio(a, b): ratios.append(ratio(a, b))
            print(row(name, seed, a, b), flush=True)
            kept.append({"posterior": name, "seed": seed, "ours": a, "stan": b})
    print("\n%d runs, %d not as they should be." % (len(kept), bad))
    if ratios: print("Ratio to Stan: median %.2f, smallest %.2f, largest %.2f, of %d." % (np.median(ratios), min(ratios), max(ratios), len(ratios)))
    if o.keep:
        with open(o.keep, "w") as f: json.dump(kept, f, indent=1)
    return 1 if bad else 0


if __name__ == "__main__": sys.exit(main())
