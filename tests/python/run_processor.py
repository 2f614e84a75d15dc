#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One BLAS, with one core, in every host: a C program on the shared library and on the static one, and Python with numpy loaded before and
after, draw what the tool draws, to the last bit: on a processor that OpenBLAS does not know (unknown_processor.c), and for each
OPENBLAS_CORETYPE that this machine can run. Nothing is said, the environment stays as it was, and so does numpy's own BLAS. (R:
tests/r/run_package.py.) Argument: the tool."""
import json, os, re, subprocess, sys, tempfile

import unknown

TOOL = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(TOOL)
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
SHARED = os.path.join(BUILD, "libgpmem.so")
THERE = dict(unknown.environment(TOOL), GPMEM_LIBRARY=SHARED, PYTHONPATH=os.path.join(ROOT, "python"))
C = r"""
#include "gpmem/gpmem.h"
#include <stdio.h>
static void out(void *user, int stream, const char *text, size_t n) {
    fwrite(text, 1, n, stream == 1 ? stdout : stderr);
}
int main(int argc, char **argv) {
    struct gpm_options o;
    gpm_options_init(&o);
    o.write = out;
    gpm_session *s = gpm_session_new(&o);
    enum gpm_status st = gpm_run_file(s, argv[argc - 1]);
    gpm_session_free(s);
    return st;
}
"""
PYTHON = r"""
import ctypes, os, sys
NUMPY = "import numpy"
def text(path):
    with open(path) as f: return f.read()
def threads():
    "Of numpy's BLAS, where it is OpenBLAS as a library of the system"
    path = [l.split()[-1] for l in text("/proc/self/maps").splitlines() if "libopenblas" in l]
    return path and ctypes.CDLL(path[0]).openblas_get_num_threads()
if sys.argv[1] == "before": exec(NUMPY)
else: ctypes.CDLL(os.environ["GPMEM_LIBRARY"])
exec(NUMPY)
before = dict(os.environ), threads()
import gpmem
print(gpmem.run(text(sys.argv[2])).values[0].tolist())
assert before == (dict(os.environ), threads()), (before[1], threads())
find = ctypes.CDLL(None).getenv
find.restype = ctypes.c_char_p
assert find(b"OPENBLAS_CORETYPE") == (os.environ.get("OPENBLAS_CORETYPE", "").encode() or None)
"""


def said(*command, **variables):
    r = subprocess.run(command, env=dict(THERE, **variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0 and not r.stderr, (command, variables, r.stdout[-500:], r.stderr[-2000:])
    return r.stdout.strip()


def core(**variables):
    return re.search("OpenBLAS for (.*)", said(TOOL, "--version", "-v", **variables)).group(1)


with tempfile.TemporaryDirectory() as folder:
    program, source = os.path.join(folder, "p.vnts"), os.path.join(folder, "host.c")
    for path, text in ((program, unknown.PROGRAM), (source, C)):
        with open(path, "w") as f:
            f.write(text)
    private = re.search(r"(?m)^Libs.private: (.*)", open(os.path.join(BUILD, "gpmem.pc")).read()).group(1).split()
    compile_host = ["cc", "-I" + os.path.join(ROOT, "include"), source, "-o"]
    subprocess.run(compile_host + [os.path.join(folder, "shared"), SHARED, "-Wl,-rpath," + BUILD], check=True)
    subprocess.run(compile_host + [os.path.join(folder, "static"), os.path.join(BUILD, "libgpmem.a")] + private, check=True)
    hosts = [[os.path.join(folder, "shared"), program], [os.path.join(folder, "static"), program],
             [sys.executable, "-W", "error", "-c", PYTHON, "before", program], [sys.executable, "-W", "error", "-c", PYTHON, "after", program]]
    found = {}
    for name in [None] + unknown.cores():
        chosen = {"OPENBLAS_CORETYPE": name} if name else {}
        assert name is None or core(**chosen) == name, (name, core(**chosen))
        found[name] = json.loads(said(TOOL, "run", program, **chosen))
        for host in hosts:
            assert json.loads(said(*host, **chosen)) == found[name], (name, host)
    best = [name for name in unknown.cores() if name not in ("Zen", unknown.OLD)][-1:]
    assert not best or core() == best[0] and found[None] == found[best[0]], (best, core())
    assert not best or best[0] == unknown.OLD or found[None] != found[unknown.OLD]  # or the program shows nothing
print("tool, C and Python draw the same: by this machine's core (%s) and by %s" % (core(), ", ".join(unknown.cores()) or "no other"))
