#!/usr/bin/python3
"""The paper's Bayesian optimisation (section 4.3) over 50 seeds: examples/bayesopt_uniform.vnts and
examples/bayesopt_drift.vnts, 15 probes each. Prints how often each reaches the global maximum (1.0396 at
0.505), and what drift does when it starts in the basin of a local one. Argument: the gpmem binary."""
import ast, os, statistics, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOL = os.path.abspath(sys.argv[1])
SEEDS = range(1, 51)


def probes(example, seed):
    out = subprocess.run([TOOL, "run", "--seed", str(seed), os.path.join(ROOT, "examples", example)],
                         stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    return ast.literal_eval(out[-1])


def basin(x):
    """Which hill x stands on: the function's minima are near +-(7.85 + 15.7 k) +- a little."""
    return round(x / 15.7)


runs = {name: [probes("bayesopt_%s.vnts" % name, s) for s in SEEDS] for name in ("uniform", "drift")}
print("50 seeds, 15 probes, global maximum 1.0396 at 0.505.\n")
print("| proposals | median of the best value | best value above 1.0 | last probe on the global hill |")
print("|---|---|---|---|")
for name, all_ in runs.items():
    best = [max(y for _, y in p) for p in all_]
    print("| %s | %.3f | %d of 50 | %d of 50 |" % (name, statistics.median(best), sum(b > 1 for b in best),
                                                 sum(basin(p[-1][0]) == 0 for p in all_)))
away = [p for p in runs["drift"] if basin(p[0][0]) != 0]
stuck = [p for p in away if max(y for _, y in p) < 1]
near = [p for p in runs["drift"] if basin(p[0][0]) == 0]
print("\nDrift that starts on a local hill: %d of %d seeds never get off it (best %.3f at most); started on the "
      "global hill, %d of %d find the maximum. Uniform proposals whose first probe is on a local hill: %d of %d get "
      "past it." % (len(stuck), len(away), max(max(y for _, y in p) for p in stuck) if stuck else 0,
                    sum(max(y for _, y in p) > 1 for p in near), len(near),
                    sum(max(y for _, y in p) > 1 for p in runs["uniform"] if basin(p[0][0]) != 0),
                    sum(basin(p[0][0]) != 0 for p in runs["uniform"])))
