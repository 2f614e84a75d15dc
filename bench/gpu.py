#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpu.py GPMEM [BENCH_GPU] [chains]: Gaussian processes on a GPU beside PyTorch, GPyTorch with Cholesky and this machine's cores, as Markdown.
Kernel LIN + SE*PER + noise. Peers that are not there are left out by name. chains: their table alone."""
import glob, json, math, multiprocessing, os, re, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build/gpmem"
BENCH = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(TOOL), "bench", "bench_gpu")
SIZES = [2000, 5000, 10000, 20000, 40000, 100000]
MODEL = """define xs = mapv(proc(i) { 0.066 * i + 0.02 * sin(i * i) }, arange(150));
define ys = mapv(proc(x) { sin(x) + 0.3 * sin(7 * x) + 0.1 * cos(50 * x) }, xs);
assume a = tag(scope="hyper", gamma(2, 2));
assume sf = tag(scope="hyper", gamma(2, 1));
assume l = tag(scope="hyper", gamma(2, 1));
assume p = tag(scope="hyper", gamma(4, 4));
assume lp = tag(scope="hyper", gamma(2, 1));
assume s = tag(scope="hyper", gamma(2, 5));
assume f = make_gp(make_linear(a) + make_squaredexp(sf, l) * make_periodic(1, p, lp), noise=s);
observe f(xs) = ys;
infer %s;
"""


def bench(*args, timeout=300):
    return subprocess.run([BENCH, *map(str, args)], stdout=subprocess.PIPE, text=True, timeout=timeout).stdout


def best(f, sync, reps=3):
    t = []
    for _ in range(reps):
        sync()
        start = time.perf_counter()
        f()
        sync()
        t.append(time.perf_counter() - start)
    return 1e3 * min(t[1:])


def peers(sizes):
    """{(peer, n): (likelihood, with gradient)} in milliseconds."""
    import torch
    found = {}
    where = "cuda"

    def data(n):
        g = torch.Generator().manual_seed(n)
        x = 10 * torch.rand(n, generator=g, dtype=torch.float64)
        return x.to(where), torch.sin(x).to(where)

    def value(x, y, t):
        d = x[:, None] - x[None, :]
        k = t[0] ** 2 * x[:, None] * x[None, :] + t[1] ** 2 * torch.exp(
            -d ** 2 / (2 * t[2] ** 2) + (torch.cos(2 * math.pi * d / t[3]) - 1) / t[4] ** 2)
        low = torch.linalg.cholesky(k + t[5] ** 2 * torch.eye(len(x), dtype=x.dtype, device=where))
        w = torch.linalg.solve_triangular(low, y[:, None], upper=False)
        return -0.5 * (w * w).sum() - torch.log(torch.diagonal(low)).sum()

    for n in sizes:
        for grad in (False, True):
            try:
                x, y = data(n)
                t = [torch.tensor(v, dtype=torch.float64, device=where, requires_grad=grad) for v in (0.4, 1.1, 0.7, 1.3, 0.9, 0.32)]
                with torch.set_grad_enabled(grad):
                    ms = best(lambda: value(x, y, t).backward() if grad else value(x, y, t), torch.cuda.synchronize)
            except torch.cuda.OutOfMemoryError:
                ms = None
            found.setdefault(("torch", n), []).append(ms)
            torch.cuda.empty_cache()
    torch.set_num_threads(os.cpu_count())
    for n in [v for v in sizes if v <= 20000]:
        a = torch.randn(n, 64, dtype=torch.float64)
        k = a @ a.T + n * torch.eye(n, dtype=torch.float64)
        found["cores", n] = [best(lambda: torch.linalg.cholesky(k), lambda: None, 2)]
    try:
        found.update(gpytorch_peer(torch, data, [v for v in sizes if v <= 20000]))
    except ImportError:
        print("GPyTorch is not there.\n")
    return found


def gpytorch_peer(torch, data, sizes):
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            k = gpytorch.kernels
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = k.LinearKernel() + k.ScaleKernel(k.RBFKernel() * k.PeriodicKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    found = {}
    for n in sizes:
        x, y = data(n)
        lik = gpytorch.likelihoods.GaussianLikelihood().double().cuda()
        m = Model(x[:, None], y, lik).double().cuda()
        obj = gpytorch.mlls.ExactMarginalLogLikelihood(lik, m)
        m.train(), lik.train()
        with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.max_cholesky_size(10 ** 9):
            found["gpytorch", n] = [best(lambda: obj(m(x[:, None]), y).backward(), torch.cuda.synchronize)]
        del m, lik, obj
        torch.cuda.empty_cache()
    return found


def chains(prefix, infer, draws, count, device):
    """Seconds, and the effective samples of the parameter that has the fewest, as `gpmem summary` counts them."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path, out = os.path.join(folder, "a.vnts"), os.path.join(folder, "run")
        with open(path, "w") as f:
            f.write(MODEL % ("accumulate_dataset(%d, do(%s, collect(a, sf, l, p, lp, s)))" % (draws, infer)))
        start = time.perf_counter()
        subprocess.run([*prefix, TOOL, "run", "-q", "--device", device, "--chains", str(count), "--out", out, path], check=True,
                       stdout=subprocess.DEVNULL, timeout=300)
        took = time.perf_counter() - start
        told = json.loads(subprocess.run([TOOL, "summary", "--format", "json", out], check=True, capture_output=True, text=True).stdout)
        return took, min(v["ess_bulk"] or 0 for v in told.values())


def rate(prefix, infer, draws, count, device):
    """Draws a second, the time of the start (and of a warm-up) taken off; effective samples of a draw."""
    start, _ = chains(prefix, infer, 1, count, device)
    took, ess = chains(prefix, infer, draws, count, device)
    return count * (draws - 1) / (took - start), ess / (count * draws)


def spread(values):
    return "%.1f (%.1f to %.1f)" % (sorted(values)[len(values) // 2], min(values), max(values))


def series(folder, count, seed=1):
    """Series with lengths and periods as those of the M3 competition: trends, seasons, walks, changes, noise."""
    import numpy as np
    r = np.random.default_rng(seed)
    for i in range(count):
        period, low, high = ((12, 50, 126), (4, 16, 64), (1, 14, 41))[r.choice(3, p=(0.55, 0.25, 0.2))]
        n = int(r.integers(low, high + 1))
        t = np.arange(n)
        y = 100 + r.normal(0, 1) * 0.3 * t * (r.random() < 0.6) + r.uniform(0.5, 3) * r.normal(size=n)
        if period > 1 and r.random() < 0.6:
            y += r.uniform(2, 10) * np.sin(2 * np.pi * t / period + r.uniform(0, 6)) * (1 + 0.02 * t * (r.random() < 0.3))
        if r.random() < 0.4:
            y += np.cumsum(r.normal(0, r.uniform(0.5, 3), n))
        if r.random() < 0.2:
            y += r.normal(0, 10) * (t > r.uniform(0.2, 0.8) * n)
        with open(os.path.join(folder, "s%05d.csv" % i), "w") as f:
            f.write("x,y\n" + "".join("%.4f,%.4f\n" % (1980 + k / period, v) for k, v in zip(t, y)))


def listed(index):
    """{name: (structure, probability)}"""
    rows = json.loads(subprocess.run([TOOL, "index", "list", "--format", "json", index], check=True, capture_output=True, text=True).stdout)
    return {r["name"]: (r["structure"], r["probability"]) for r in rows}


def add(index, files, *options):
    start = time.perf_counter()
    subprocess.run([TOOL, "index", "add", "-q", *options, index, *files], check=True, stdout=subprocess.DEVNULL, timeout=900)
    return time.perf_counter() - start


def indexes(count, few):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "s"))
        series(os.path.join(folder, "s"), count)
        files = sorted(glob.glob(os.path.join(folder, "s", "*.csv")))
        path = lambda name: os.path.join(folder, name)
        first = add(path("first"), files[:8], "--device", "gpu")
        gpu = add(path("gpu"), [path("s")], "--device", "gpu")
        cpu = add(path("cpu"), files[:few], "--device", "cpu", "-j", str(os.cpu_count()))
        print("\nSeries indexed with the brief search, of the lengths and periods of the M3 competition.\n")
        print("| | series | seconds | series a second |\n|---|--:|--:|--:|")
        print("| GPU | %d | %.1f | %.1f |" % (count, gpu, count / gpu))
        print("| %d cores | %d | %.1f | %.1f |" % (os.cpu_count(), few, cpu, few / cpu))
        a, b = listed(path("gpu")), listed(path("cpu"))
        off = sorted(abs(a[n][1] - b[n][1]) for n in b if a[n][0] == b[n][0])
        print("\nThe first 8 series, with the compiler: %.1f s. Of %d series indexed by both, %d have the same most probable structure; its probability "
              "differs by %.1e in the median, %.1e at most." % (first, len(b), len(off), off[len(off) // 2], off[-1]))


def effective_samples():
    print("\nEffective samples a second (`gpmem summary`, of the parameter that has the fewest; of a draw as 1000 chains tell, which are the same")
    print("on both) of chains of a program with a process of 150 inputs and six parameters, the start taken off; the median of three runs,")
    print("and their range. A draw is kept every 1000 steps of mh, every 10 transitions of nuts.\n")
    print("| | 1000 chains, GPU | two cores, 16 chains | GPU / two cores | worst of one, best of the other |\n|---|--:|--:|--:|--:|")
    for name, infer, draws in (("mh", 'mh(scope="hyper", steps=1000)', 24), ("nuts", 'nuts(scope="hyper", warmup=150, transitions=10, max_depth=4)', 49)):
        gpu, two = [], []
        for _ in range(3):
            gpu.append(rate([], infer, draws, 1000, "gpu"))
            two.append(rate(["taskset", "-c", "0,1"], infer, draws, 16, "cpu"))
        ess = gpu[0][1]
        one, other = [v * ess for v, _ in gpu], [v * ess for v, _ in two]
        print("| %s | %s | %s | %.0f | %.0f |" % (name, spread(one), spread(other), sorted(one)[1] / sorted(other)[1], min(one) / max(other)), flush=True)


def show(v):
    return "" if v is None else "%.1f" % v if v < 1000 else "%.0f" % v


def main():
    about = bench("card")
    print("## Gaussian processes on a GPU\n\n%s\n%s.\n" % (time.strftime("%Y-%m-%d"), ".\n".join(about.strip().split("\n"))))
    try:
        with multiprocessing.get_context("spawn").Pool(1) as apart:  # its threads and its hold on the card end with it
            other = apart.apply(peers, (SIZES[:-1],))
    except ImportError:
        print("PyTorch is not there.\n")
        other = {}
    print("One process, milliseconds: likelihood, with gradient, 1000 predictions with variances.\n")
    print("| n | likelihood | with gradient | predictions | TFLOP/s | torch | torch, gradient | GPyTorch with Cholesky, gradient | all cores, factor alone |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for n in SIZES:
        line = bench("large", n, timeout=600)
        v = dict(re.findall(r"(\w+)=([-\d.]+)", line))
        torch = other.get(("torch", n), [None, None])
        print("| %d | %s | %s | %s | %s | %s | %s | %s | %s |" % (
            n, v.get("likelihood_ms", line.strip()), v.get("gradient_ms", ""), v.get("predict1000_ms", ""), v.get("tflops", ""),
            show(torch[0]), show(torch[1]), show(other.get(("gpytorch", n), [None])[0]), show(other.get(("cores", n), [None])[0])), flush=True)
    print("\nAgreement with this machine's cores, relative: `%s`.\n" % bench("check", 700, 2000).strip().replace("\n", "`; `"))
    print("Low rank and conjugate gradients, seconds.\n\n| n | likelihood | with gradient | bound, nats | off from the exact likelihood | gradient |")
    print("|--:|--:|--:|--:|--:|--:|")
    for n in (20000, 40000, 200000, 500000):
        line = bench("low", n, timeout=200)
        v = dict(re.findall(r"(\w+)=([-+\d.e]+)", line))
        print("| %d | %s | %s | %s | %s | %s |" % (n, v.get("likelihood_s", line.strip()), v.get("gradient_s", ""), v.get("bound", ""),
                                             v.get("likelihood_off", ""), v.get("gradient_off", "")), flush=True)
    print("\nMany processes in one call, microseconds each: the card, and the whole call.\n\n| n | processes | likelihood | whole call | with gradient | whole call |")
    print("|--:|--:|--:|--:|--:|--:|")
    for n, b in ((50, 10000), (100, 10000), (150, 10000), (200, 10000), (500, 2000)):
        v = re.findall(r"whole call ([\d.]+) us.*?kernel ([\d.]+) us", bench("batch", n, b))
        print("| %d | %d | %s | %s | %s | %s |" % (n, b, v[0][1], v[0][0], v[1][1], v[1][0]), flush=True)
    effective_samples()
    indexes(10000, 1000)


if __name__ == "__main__":
    effective_samples() if sys.argv[3:] == ["chains"] else main()
