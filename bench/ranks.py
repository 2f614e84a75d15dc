#!/usr/bin/python3
"""One likelihood on 1, 2 and 4 processes of this machine under MPI: CPU seconds of each process, in one run. Vecchia's
approximation at 10^5 and 10^6 points; the exact factor by LAPACK's dpotrf (one process) beside ScaLAPACK's pdpotrf; and what
16 and 512 cores would take by the formulas of docs/howto-cluster.md. bench/ranks.py GPMEM [POINTS...]"""
import os, re, subprocess, sys

GP = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "tests", "mpi_gp")
MANY = [int(a) for a in sys.argv[2:]] or [100000, 1000000]
EXACT = [2000, 4000, 8000]
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


def measure(points, method, ranks):
    """Largest CPU time of a rank: likelihood, likelihood with gradient and 600 predictions."""
    r = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader", "--mca", "mpi_yield_when_idle", "1",
                        "-n", str(ranks), GP, str(points), method], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    found = re.findall(r"likelihood ([0-9.]+) s, all ([0-9.]+) s", r.stderr)
    assert len(found) == ranks, r.stderr
    return [max(float(f[i]) for f in found) for i in (0, 1)]


def table(method, sizes):
    print("| points | processes | likelihood, CPU s each | with gradient and predictions | of one process' |\n|--:|--:|--:|--:|--:|")
    one = {}
    for n in sizes:
        for ranks in (1, 2, 4):
            a, b = measure(n, method, ranks)
            one.setdefault(n, (a, b))
            print("| %d | %d | %.3f | %.3f | %.2f / %.2f |" % (n, ranks, a, b, a / one[n][0], b / one[n][1]), flush=True)
    return one


print("# One likelihood on many processes\n\n## Vecchia, blocks of 128 on their 128 nearest\n")
blocks = table("vecchia", MANY)
print("\n## Exact: dpotrf on one process, pdpotrf on several\n")
exact = table("exact", EXACT)
n, m = max(blocks), max(exact)
print("\n## By the formulas, CPU seconds a process (docs/howto-cluster.md)\n\n| likelihood | 16 cores | 512 cores |\n|---|--:|--:|")
for size in (10 ** 6, 10 ** 7):
    row = [blocks[n][0] * (size / n) / p + 2e-9 * 8 * size / 128 * 2 for p in (16, 512)]
    print("| Vecchia, %.0e points | %.3f | %.3f |" % (size, *row))
for size in (20000, 60000, 100000):
    row = [exact[m][0] * (size / m) ** 3 / p / 0.8 + 8 * size ** 2 / p ** 0.5 * 1e-9 for p in (16, 512)]
    print("| exact, %d points | %.1f | %.1f |" % (size, *row))
