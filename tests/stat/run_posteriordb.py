#!/usr/bin/python3
"""A few reference posteriors (tests/stat/posteriordb) from default starts; run_posteriordb_long.py runs all of them.

    run_posteriordb.py GPMEM [POSTERIOR or MODEL ...]

Four chains of 1,000 draws after 1,000 of warm-up: means and standard deviations within Monte Carlo error of the reference,
R-hat below 1.01, no chain lost."""
import os, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import posteriordb

QUICK = ("eight_schools_noncentered", "kidscore_momiq", "logmesquite", "kilpisjarvi", "gp_regr", "arma11")
# The neck of this funnel cannot be sampled by one step size: the run must say so where R-hat is not below 1.01.
FUNNELS = ("eight_schools-eight_schools_centered",)


def as_it_should(name, r):
    if "error" in r: return False
    return posteriordb.right(r) or (name in FUNNELS and r["divergences"] > 0 and not r["lost"])


def check(tool, models, seeds=(1,)):
    """Prints a line for each run; the number of those that are not as they should be."""
    names = [n for n in posteriordb.names() if not models or n in models or n.split("-")[1] in models]
    bad = 0
    for name in names:
        posterior = posteriordb.read(name)
        for seed in seeds:
            r = posteriordb.ours(os.path.abspath(tool), posterior, seed)
            ok = as_it_should(name, r)
            bad += not ok
            print("%-5s %s" % ("ok" if ok else "WRONG", posteriordb.row(name, seed, r)), flush=True)
    print("%d posteriors, %s" % (len(names), "%d runs not as they should be" % bad if bad else "all as the reference has them"))
    return 0 if names and not bad else 1


if __name__ == "__main__":
    sys.exit(check(sys.argv[1], sys.argv[2:] or QUICK))
