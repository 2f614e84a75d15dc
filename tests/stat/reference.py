"""Reference posteriors: models of posteriordb in our language (tests/stat/posteriors) beside the means and
mean squares that posteriordb publishes (stan-dev/posteriordb, posterior_database/reference_posteriors/
summary_statistics; 10,000 draws of Stan each), with the Monte Carlo error of both sides."""
import csv, math, os, subprocess, sys, tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
Z_MAX = 4.5   # about 160 comparisons: a false alarm in a thousand runs
MIN_ESS = 100 # below that the comparison would say little

SCHOOLS = {"theta(%d)" % j: m for j, m in enumerate(zip(
    [6.15050229, 4.93958114, 3.90590609, 4.79601675, 3.61443632, 4.05114758, 6.31716976, 4.88399694],
    [69.36345, 45.9787, 43.13923, 45.76135, 34.35767, 39.4135, 64.93269, 52.12845]))}
SCHOOLS.update({"mu": (4.41051834, 30.40302), "tau": (3.60205952, 23.20407)})

# name: (what one draw costs in steps, warm-up, draws per chain, {expression: (mean, mean square)})
MODELS = {
    "rate_2": ("slice(default, one, 0.3, 20, 4)", "slice(default, one, 0.3, 20, 50)", 1500,
               {"theta1": (0.50204180, 0.27134707), "theta2": (0.66451210, 0.45850957)}),
    "eight_schools_noncentered": ("slice(default, one, 3, 20, 30)", "slice(default, one, 3, 20, 2000)", 2000, SCHOOLS),
    "eight_schools_centered": ("slice(default, one, 5, 20, 150)", "slice(default, one, 5, 20, 5000)", 2000, SCHOOLS),
    "gp_regr": ("slice(default, one, 2, 20, 4)", "slice(default, one, 2, 20, 200)", 2000,
                {"rho": (6.87434818, 48.85864), "alpha": (2.44239984, 6.576518), "sigma": (1.82873107, 3.599273)}),
    # where alpha is large z is narrow, and steps of the usual size stay there for long: a draw in twenty would be worth one
    "gp_pois_regr": ("nuts(default, all, 300, 5, 0.95)", "nuts(default, all, 300, 300, 0.95)", 1200,
                     {"rho": (5.66652941, 32.570579), "alpha": (2.92134418, 9.162755), "f(0)": (3.63574060, 13.241741),
                      "f(5)": (1.29526162, 1.748558), "f(9)": (4.41509940, 19.501496)}),
    "kilpisjarvi": ("slice(default, one, 1, 40, 6)", "slice(default, one, 1, 40, 300)", 2000,
                    {"alpha": (-60.7122808, 4583.772546515), "beta": (0.0175836260, 0.000365792), "sigma": (1.13166693, 1.292293839)}),
    "logmesquite_logvolume": ("slice(default, one, 0.3, 400, 6)", "slice(default, one, 5, 400, 300)", 2000,
                              {"b1": (5.17084758, 26.7451327), "b2": (0.722008519, 0.5244543), "sigma": (0.426670306, 0.184331)}),
    "logmesquite_logva": ("slice(default, one, 0.5, 400, 120)", "slice(default, one, 5, 400, 3000)", 1500,
                          {"b1": (5.22413626, 27.3001953), "b2": (0.612229192, 0.4148957), "b3": (0.292417333, 0.1470833),
                           "b4": (-0.527324727, 0.2922018), "sigma": (0.347907424, 0.1225985)}),
    "dogs": ("slice(default, one, 0.3, 40, 12)", "slice(default, one, 0.5, 40, 60)", 400,
             {"b1": (1.803125199, 3.3045545471), "b2": (-0.3582652679, 0.1297553367), "b3": (-0.21062098018, 0.0462471316)}),
    "m0": ("slice(default, one, 0.1, 20, 4)", "slice(default, one, 0.1, 20, 50)", 500,
           {"omega": (0.423840582, 0.181113376), "p": (0.496429012, 0.247891379)}),
    "arK": ("slice(default, one, 0.2, 100, 60)", "slice(default, one, 1, 100, 2000)", 1500,
            {"alpha": (-0.00071865025, 0.0001151709), "b1": (0.69216328, 0.4840669409), "b2": (0.43904308, 0.2003810587),
             "b3": (0.105816025, 0.0198605275), "b4": (-0.0354350382, 0.0086580952), "b5": (-0.301512066, 0.0957926901),
             "sigma": (0.150566659, 0.022730759)}),
    "arma11": ("slice(default, one, 0.1, 100, 6)", "slice(default, one, 0.5, 100, 200)", 500,
               {"mu": (0.00691486351, 0.0001786521), "phi": (0.957012889, 0.9163964037), "theta": (-0.0336960218, 0.0047260888),
                "sigma": (0.166481622, 0.0277879814)}),
    "garch11": ("slice(default, one, 0.4, 100, 12)", "slice(default, one, 1, 200, 200)", 500,
                {"mu": (5.05001795, 25.5180634), "alpha0": (1.47075974, 2.490076), "alpha1": (0.567284283, 0.3379668),
                 "beta1": (0.293024546, 0.1014308)}),
}


def program(model):
    step, warm, draws, wanted = MODELS[model]
    names = list(wanted)
    columns = ", ".join(names)
    return ('load "%s";\ninfer %s;\ninfer repeat(%d, do(%s, collect(%s)));\n'
            % (os.path.join(HERE, "posteriors", model + ".vnts"), warm, draws, step, columns))


def chains(tool, model, n, seed):
    with tempfile.TemporaryDirectory() as tmp:
        path, out = os.path.join(tmp, "p.vnts"), os.path.join(tmp, "run")
        with open(path, "w") as f: f.write(program(model))
        r = subprocess.run([tool, "run", "-q", path, "--seed", str(seed), "--chains", str(n), "--out", out],
                           capture_output=True, text=True, timeout=3000)
        if r.returncode: raise SystemExit("%s: exit status %d\n%s" % (model, r.returncode, r.stderr))
        all_chains = []
        for i in range(1, n + 1):
            with open(os.path.join(out, "chain-%d.csv" % i)) as f:
                rows = list(csv.reader(x for x in f if not x.startswith("#")))
            head, k = rows[0], len(MODELS[model][3])
            all_chains.append(np.array([[float(v) for v in row] for row in rows[1:]])[:, len(head) - k:])
        return np.array(all_chains) # chain, draw, column


def ess(x):
    """Effective sample size of chains x (chain, draw): Geyer's initial positive pairs of the pooled autocorrelation."""
    m, n = x.shape
    d = x - x.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    f = np.fft.rfft(d, size, axis=1)
    acov = np.fft.irfft(f * np.conj(f), size, axis=1)[:, :n].mean(axis=0) / n
    w = acov[0] * n / (n - 1)
    var = w * (n - 1) / n + x.mean(axis=1).var(ddof=1) if m > 1 else w
    if var == 0: return float(m * n)
    rho = 1 - (w - acov) / var
    t, total = 1, 0.0
    while t + 1 < n and rho[t] + rho[t + 1] > 0:
        total += rho[t] + rho[t + 1]
        t += 2
    return min(m * n / (1 + 2 * total), m * n)


def compare(tool, model, n_chains=2, seed=1, scale=1.0):
    """Prints one line per quantity; the number of those out of line."""
    MODELS[model] = MODELS[model][:2] + (int(MODELS[model][2] * scale),) + MODELS[model][3:]
    x = chains(tool, model, n_chains, seed)
    bad = 0
    for c, (name, (mean, square)) in enumerate(MODELS[model][3].items()):
        draws, sd = x[:, :, c], math.sqrt(square - mean * mean)
        k, k2 = ess(draws), ess((draws - draws.mean()) ** 2)
        z = (draws.mean() - mean) / (sd * math.sqrt(1 / k + 1e-4))
        # the error of a variance is sqrt(kurtosis - 1) / sqrt(ess) of it; half that for the sd
        d = draws.ravel() - draws.mean()
        spread = math.sqrt(max((d ** 4).mean() / (d ** 2).mean() ** 2 - 1, 2)) / 2
        z2 = (draws.std() / sd - 1) / (spread * math.sqrt(1 / k2 + 1e-4))
        said = "" if abs(z) < Z_MAX and abs(z2) < Z_MAX else "  WRONG"
        if min(k, k2) < MIN_ESS: said += "  TOO FEW DRAWS"
        bad += said != ""
        print("%-26s %-12s mean %10.5g (%10.5g, z %5.2f)  sd %9.4g (%9.4g, z %5.2f)  ess %5.0f%s"
              % (model, name, draws.mean(), mean, z, draws.std(), sd, z2, min(k, k2), said))
    sys.stdout.flush()
    return bad
