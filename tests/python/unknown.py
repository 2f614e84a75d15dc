# SPDX-License-Identifier: Apache-2.0
"""Processors for programs that load OpenBLAS: one that it does not know (unknown_processor.c), the ones whose code this machine can run, and
a program whose values differ in their last digits between those."""
import os, re

OLD = "Prescott"  # what OpenBLAS falls back to
NEEDS = {"Prescott": "pni", "Nehalem": "sse4_2", "Sandybridge": "avx", "Haswell": "avx2", "Zen": "avx2",
         "SkylakeX": "avx512f avx512dq avx512bw avx512vl"}
PROGRAM = """assume sf = gamma(5, 1);
assume l = gamma(5, 1);
assume (f_compute, f_emu) = gpmem(proc(x) { x * x }, make_squaredexp(sf, l));
for (i = 0; i < 40; i++) { observe f_emu(i / 4) = sin(i); };
infer mh(default, one, 20);
sample f_emu(linspace(-20, 20, 90));
"""


def environment(tool):
    """For a process that runs on such a processor, and nobody has chosen a core."""
    preload = os.path.join(os.path.dirname(os.path.abspath(tool)), "tests", "libunknown_processor.so")
    env = dict(os.environ, LD_PRELOAD=preload)
    env.pop("OPENBLAS_CORETYPE", None)
    return env


def cores():
    """The cores that can be asked for here; OpenBLAS for ARM has others, which are not tried."""
    with open("/proc/cpuinfo") as f:
        flags = set(re.search(r"(?m)^flags\s*:(.*)|\Z", f.read()).group(1).split()) if os.uname().machine == "x86_64" else set()
    return [core for core, needs in NEEDS.items() if flags.issuperset(needs.split())]
