#!/usr/bin/python3
"""What a user waits for and what memory is taken: start of the tool and of the prompt, peak memory of Gaussian process
regression at n = 1,000, 4,000 and 10,000 beside scikit-learn, the structure learner's time to a settled posterior.
resources.py GPMEM. Prints Markdown."""
import json, os, pty, shutil, signal, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def spread(values, unit=1e3, digits=1):
    v = sorted(x * unit for x in values)
    return "%.*f (%.*f to %.*f)" % (digits, v[len(v) // 2], digits, v[0], digits, v[-1])


def measured(cmd, timeout=300):
    """Wall seconds, CPU seconds, peak resident MB of one command."""
    t0 = time.monotonic()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, r = os.wait4(p.pid, 0)
    if status: raise RuntimeError("exit status %d of %s" % (status, cmd[0]))
    return time.monotonic() - t0, r.ru_utime + r.ru_stime, r.ru_maxrss / 1024


def prompt():
    """Seconds until the prompt is there."""
    t0 = time.monotonic()
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(TOOL, [TOOL])
    seen = b""
    while b"gpmem>" not in seen: seen += os.read(fd, 4096)
    t1 = time.monotonic()
    os.kill(pid, signal.SIGKILL)  # an end of file typed while the editor sets the terminal up may be lost
    os.waitpid(pid, 0)
    os.close(fd)
    return t1 - t0


def starts():
    print("## Start\n\n| what | wall ms: middle of 15 (spread) | CPU ms |\n|---|---|---|")
    rows = [("`gpmem -e 1+1`", [TOOL, "-e", "1+1"]), ("python3 -c 1", ["python3", "-c", "1"])]
    if shutil.which("node"): rows.append(("node -e 1", ["node", "-e", "1"]))
    if shutil.which("Rscript"): rows.append(("Rscript -e 1", ["Rscript", "-e", "1"]))
    for name, cmd in rows:
        m = [measured(cmd) for _ in range(15)]
        print("| %s | %s | %s |" % (name, spread([x[0] for x in m]), spread([x[1] for x in m])))
    print("| the prompt of gpmem | %s | |" % spread([prompt() for _ in range(15)]))


SK = """import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor as G
from sklearn.gaussian_process.kernels import RBF
n = %d
x = (np.arange(n) * 0.618033988749895 %% 1)[:, None]
G(kernel=RBF(0.1), alpha=0.01, optimizer=None).fit(x, np.sin(6 * x[:, 0]))
"""


def memory():
    print("\n## Memory of exact Gaussian process regression\n\nOne fit at given hyper-parameters; n^2 doubles are the least that a dense factor needs.\n")
    print("| n | gpmem MB | above its start | n^2 doubles, MB | scikit-learn MB | above its start | gpmem CPU s | scikit-learn CPU s |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "p.vnts")
        base = measured([TOOL, "-e", "1"])[2]
        sk_base = measured(["/usr/bin/python3", "-c", SK % 2])[2]
        for n in (1000, 4000, 10000):
            with open(path, "w") as f:
                f.write("define xs = mapv(i -> i * 0.618033988749895 - floor(i * 0.618033988749895), arange(%d));\n"
                        "assume g = make_gp(make_squaredexp(1, 0.1), noise=0.1);\nobserve g(xs) = mapv(x -> sin(6 * x), xs);\n" % n)
            _, t, mb = measured([TOOL, "run", path])
            try:
                _, sk_t, sk = measured(["/usr/bin/python3", "-c", SK % n])
                peer = "%.0f | %.0f" % (sk, sk - sk_base)
            except RuntimeError as problem: peer, sk_t = "skipped: %s | " % problem, float("nan")
            print("| %d | %.0f | %.0f | %.0f | %s | %.2f | %.2f |" % (n, mb, mb - base, n * n * 8 / 2 ** 20, peer, t, sk_t))
            sys.stdout.flush()
    print("\nThe language keeps to the exact factor at every size (the C library's `GPM_APPROX_AUTO` would not above 8,000 distinct inputs).")


def structure():
    print("\n## Structure learner: time to a settled posterior\n\n| series | values | wall s (spread over 3 seeds) | CPU s | settled | first structure |\n|---|---|---|---|---|---|")
    for name, runs in (("airline", 3), ("co2", 1)):
        walls, cpus, settled, top = [], [], [], []
        for seed in range(1, runs + 1):
            with tempfile.TemporaryDirectory() as tmp:
                out = os.path.join(tmp, "r.json")
                w, c, _ = measured([TOOL, "discover", "-q", os.path.join(ROOT, "data", name + ".csv"), "--seed", str(seed), "--json", out])
                r = json.load(open(out))
                walls.append(w), cpus.append(c), settled.append(bool(find(r, "settled"))), top.append(find(r, "structures")[0]["struct"])
                n = find(r, "n") or "?"
        print("| %s | %s | %s | %s | %d of %d | %s |" % (name, n, spread(walls, 1), spread(cpus, 1), sum(settled), runs, ", ".join(sorted(set(top)))))
        sys.stdout.flush()


def find(tree, key):
    """The first value of that key, outermost first."""
    level = [tree]
    while level:
        below = []
        for t in level:
            if isinstance(t, dict):
                if key in t: return t[key]
                below += t.values()
            elif isinstance(t, list): below += t
        level = below
    return None


starts()
memory()
structure()
