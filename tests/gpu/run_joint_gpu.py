#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Joint-distribution tests (stat/joint.py) of chains that meet on a GPU: every chain is a replicate, which draws its parameters and
data, runs the operator given the data and prints both; beside plain draws by the CPU. On a CUDA that is this machine (fake_cuda.c), a
few of mh and hmc; with GPMEM_REAL_GPU set on the card that is there, 4000.

    run_joint_gpu.py GPMEM"""
import json, os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "stat"))
import joint
import numpy as np

TOOL = os.path.abspath(sys.argv[1])
REAL = "GPMEM_REAL_GPU" in os.environ
CHAINS, RUNS = (1000, 4) if REAL else (40, 1)
ALONE = ("mh", "hmc")  # operators that a card of fibres gets through in seconds
FAKE = os.path.join(os.path.dirname(TOOL), "tests", "fake_cuda")
CACHE = tempfile.TemporaryDirectory()
MODEL = (['sf = tag("h", 0, gamma(4, 3))', 'l = tag("h", 1, gamma(4, 4))', 'p = tag("h", 2, gamma(6, 4))', 'sigma = tag("h", 3, gamma(4, 8))',
          "g = make_gp(make_squaredexp(sf, l) * make_periodic(1, p, 1), noise=sigma)"],
         [("g(1, true)", "g(1)"), ("g(1.7, true)", "g(1.7)"), ("g(array(-0.5, 0.2, 2.6, 3.1, 4.4), true)", "g(array(-0.5, 0.2, 2.6, 3.1, 4.4))")],
         ["sf", "l", "p", "sigma", "sf * l"],
         {"mh": 'mh("h", one, %d)' % (12 if REAL else 4), "mh all": 'mh("h", all, 4)', "nuts": 'nuts("h", all, 0, 2)', "hmc": 'hmc("h", all, 0.2, %d)' % (4 if REAL else 2)})


def draws(op, device, seed):
    """Rows of statistics, one for each chain."""
    rows = []
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    if device == "gpu" and not REAL:
        env["LD_LIBRARY_PATH"] = FAKE
        env["XDG_CACHE_HOME"] = CACHE.name
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(joint.program(MODEL, op, 1))
        f.flush()
        for k in range(RUNS):
            r = subprocess.run([TOOL, "run", "-q", "--device", device, "--seed", str(seed + k), "--chains", str(CHAINS), f.name],
                               env=env, capture_output=True, text=True, timeout=600)
            if r.returncode:
                sys.exit("exit status %d\n%s" % (r.returncode, r.stderr[:2000]))
            for line in r.stdout.splitlines():
                (v, y), = json.loads(line)
                rows.append(v + [a * y[0] for a in v])
    return np.array(rows, float)


plain = np.concatenate([draws(None, "cpu", 1000 + 10 * k) for k in range(4)])
bad = 0
for number, (name, op) in enumerate(MODEL[3].items()):
    if not REAL and name not in ALONE:
        continue
    got = draws(op, "gpu", 2000 + 10 * number)
    p = min(joint.p_value(got[:, j], plain[:, j]) for j in range(got.shape[1]))
    moved = len(np.unique(got[:, 0])) == len(got)
    wrong = p < joint.P_VALUE_MIN or len(got) != CHAINS * RUNS or not moved
    bad += wrong
    print("%s %-8s %d chains, %d tests, smallest p = %.2g" % ("FAIL" if wrong else "ok  ", name, len(got), got.shape[1], p), flush=True)
sys.exit(bad != 0)
