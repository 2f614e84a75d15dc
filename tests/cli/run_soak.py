#!/usr/bin/python3
# label: slow
"""Soak: the three applications side by side for a long time with flat memory. Gaussian process memoization (one session:
models made and dropped, inference, collecting), structure discovery (one process, run after run through the library) and
optimisation (ask and tell without end, data kept small). Resident memory is read once a second; between the first third and
the last it may not grow by more than 3% and 2 MB.

What grows by rounds, not by time, is seen by run_rounds.py in every `make test`.

    run_soak.py GPMEM [SECONDS]   (default 120; the figure in the docs is of 1800)"""
import os, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 120
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIB = os.path.join(os.path.dirname(TOOL), "libgpmem.so")

MEMO = """define once = proc() { first(run(in_model(run(new_model()), {
  assume sf = gamma(2, 1); assume l = gamma(2, 1);
  assume (f_compute, f_emu) = gpmem(x -> sin(3 * x) + x, make_squaredexp(sf, l), noise=0.1);
  predict f_compute(0.1); predict f_compute(0.7); predict f_compute(1.9);
  mh(default, one, 60); slice(default, one, 1, 10, 6);
  d <- accumulate_dataset(5, do(mh(default, one, 5), collect(sf, l)));
  sample f_emu(1.2) }))) };
assume m = normal(0, 1); assume z = mem(i -> flip(0.3));
for (i = 0; i < 200; i++) { observe normal(m + (if (z(unquote(i))) { 1 } else { 0 }), 1) = sin(i) };
infer repeat(1000000000, do(mh(default, one, 200), r <- return(once()), pass));
"""

WORKER = """import sys, time
sys.path.insert(0, %r)
import gpmem
%s
"""
DISCOVER = """
y = [float(l.split(",")[1]) for l in open(%r).read().split()[1:61]]
while True: gpmem.discover(y, seed=int(time.time()), threads=1, kernels="LIN SE PER")
"""
OPTIMIZE = """
import math
while True: gpmem.optimize(lambda x, y: (x - 1) ** 2 + math.sin(3 * y), {"x": (-5, 5), "y": (-2, 2)}, budget=25, seed=int(time.time()))
"""


def resident(pid):
    with open("/proc/%d/statm" % pid) as f: return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2 ** 20


def main():
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1", GPMEM_LIBRARY=LIB)
    with tempfile.TemporaryDirectory() as tmp:
        program = os.path.join(tmp, "memo.vnts")
        with open(program, "w") as f: f.write(MEMO)
        package, airline = os.path.join(ROOT, "python"), os.path.join(ROOT, "data", "airline.csv")
        commands = {"gpmem": [TOOL, "run", "-q", program], "discover": ["/usr/bin/python3", "-c", WORKER % (package, DISCOVER % airline)],
                    "optimize": ["/usr/bin/python3", "-c", WORKER % (package, OPTIMIZE)]}
        running = {k: subprocess.Popen(c, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for k, c in commands.items()}
        seen, bad = {k: [] for k in running}, 0
        try:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                time.sleep(1)
                for k, p in running.items():
                    if p.poll() is not None: raise SystemExit("%s ended: %s" % (k, p.stderr.read().decode()[-600:]))
                    seen[k].append(resident(p.pid))
        finally:
            for p in running.values(): p.kill()
    for k, mb in seen.items():
        third = len(mb) // 3
        first, last = max(mb[third // 2:third]), max(mb[-third:])
        grown = last - first > max(2, 0.03 * first)
        bad += grown
        print("%-9s %d s: at most %.1f MB in the first third, %.1f MB in the last%s" % (k, len(mb), first, last, "  GROWS" if grown else ""))
    return 1 if bad else 0


sys.exit(main())
