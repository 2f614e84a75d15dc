#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A processor that OpenBLAS does not know (unknown_processor.c): the tool starts itself again with a better core; Python, where numpy has
loaded OpenBLAS before, warns once when gpmem is imported; who has set the variable is left alone; and with what the warning names,
Python's draws are the tool's, to the last bit. Argument: the tool."""
import os, subprocess, sys

import unknown

TOOL = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
ADVICE, BETTER = unknown.advice(TOOL)
THERE = dict(unknown.environment(TOOL), GPMEM_LIBRARY=os.path.join(os.path.dirname(TOOL), "libgpmem.so"),
             PYTHONPATH=os.path.join(HERE, "..", "..", "python"))
PRINT = "import numpy, gpmem; from gpmem._library import lib; print(lib.gpm_blas_core().decode())"


def said(*command, **variables):
    r = subprocess.run(command, env=dict(THERE, **variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, (command, variables, r.stdout[-500:], r.stderr[-2000:])
    return r.stdout.strip(), r.stderr.strip()


def python(**variables):
    return said(sys.executable, "-c", PRINT, **variables)


if BETTER:
    assert said(TOOL, "--version", "-v")[0].split("\n")[1:] == ["linear algebra: OpenBLAS for " + BETTER]
    core, warned = python()
    assert core == unknown.OLD and warned.count("RuntimeWarning: " + ADVICE) == 1, (core, warned)
    assert python(OPENBLAS_CORETYPE=BETTER) == (BETTER, "")
    assert python(OPENBLAS_CORETYPE=unknown.OLD) == (unknown.OLD, "")
    said(sys.executable, os.path.join(HERE, "run_draws.py"), TOOL, OPENBLAS_CORETYPE=BETTER)
    said(sys.executable, os.path.join(HERE, "run_draws.py"), TOOL)
    print("a processor that OpenBLAS does not know: the tool runs %s, Python says to" % BETTER)
else:
    assert python()[1] == ""
    print("no core is better than OpenBLAS's own choice: nothing is said")
