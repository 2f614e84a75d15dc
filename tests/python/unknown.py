# SPDX-License-Identifier: Apache-2.0
"""A processor that OpenBLAS does not know, for programs that load it (unknown_processor.c), and what should then be said."""
import os, re, subprocess

OLD = "Prescott"  # what OpenBLAS falls back to


def environment(tool):
    """For a process that runs on such a processor, and nobody has chosen a core."""
    preload = os.path.join(os.path.dirname(os.path.abspath(tool)), "tests", "libunknown_processor.so")
    env = dict(os.environ, LD_PRELOAD=preload)
    env.pop("OPENBLAS_CORETYPE", None)
    return env


def advice(tool):
    """What a program is told there, and the core that it names; "" and None on machines for which no core is better."""
    said = subprocess.run([tool, "--version", "-v"], env=dict(os.environ, OPENBLAS_CORETYPE=OLD), check=True, stdout=subprocess.PIPE,
                          text=True).stdout.split("\n")[2]
    named = re.search(r"set OPENBLAS_CORETYPE=(\w+)", said)
    return said, named and named.group(1)
