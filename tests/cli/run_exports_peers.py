#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The exports of a run as R's posterior and Python's xarray read them: same draws, same summaries."""
import json, os, subprocess, sys, tempfile
import numpy as np
import xarray

TOOL = os.path.abspath(sys.argv[1])
PROGRAM = """assume mu = normal(0, 2);
assume s = gamma(2, 2);
for (i = 0; i < 10; i++) { observe normal(mu, s) = 1 + 0.1 * i; };
infer repeat(20, mh(default, one, 5));
infer accumulate_dataset(400, do(mh(default, one, 4), collect(mu, s)));
"""
R = """library(posterior)
chains <- lapply(1:4, function(i) read.csv(sprintf("stan-%d.csv", i), comment.char = "#"))
for (i in 1:4) { chains[[i]]$.chain <- i; chains[[i]]$.iteration <- seq_len(nrow(chains[[i]])) }
s <- summarise_draws(as_draws_df(do.call(rbind, chains)), "mean", "sd", "rhat", "ess_bulk", "ess_tail")
s <- as.data.frame(lapply(s, function(z) if (is.character(z)) z else format(as.numeric(z), digits = 15)))
write.table(s, "r.txt", row.names = FALSE, quote = FALSE)
"""


def run(folder, *args):
    r = subprocess.run([TOOL, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert r.returncode == 0, r.stderr.decode()
    return r.stdout.decode()


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "p.vnts"), "w") as f:
        f.write(PROGRAM)
    run(folder, "run", "p.vnts", "--chains", "4", "--out", "run")
    run(folder, "export", "run", "--format", "stan", "--out", "stan")
    run(folder, "export", "run", "--format", "zarr", "--out", "z")
    summary = json.loads(run(folder, "summary", "--format", "json", "run"))
    draws = json.loads(run(folder, "export", "run", "--format", "json"))["draws"]
    with open(os.path.join(folder, "read.R"), "w") as f:
        f.write(R)
    r = subprocess.run(["Rscript", "read.R"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert r.returncode == 0, r.stdout.decode()[-1500:]
    lines = [line.split() for line in open(os.path.join(folder, "r.txt"))]
    compared = 0
    for line in lines[1:]:
        for what, value in zip(lines[0][1:], line[1:]):
            ours = summary[line[0]][what]
            assert abs(ours - float(value)) <= 1e-6 * abs(ours) + 1e-9, (line[0], what, ours, value)
            compared += 1
    assert compared == 10, compared
    data = xarray.open_zarr(os.path.join(folder, "z"), consolidated=False)
    for name in ("mu", "s"):
        assert data[name].dims == ("chain", "draw") and data[name].shape == (4, 400)
        assert np.array_equal(data[name].values, np.array(draws[name]))
print("R's posterior: %d figures agree; xarray: the draws are equal" % compared)
