#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A run that is killed before any one of its steps on the disk (sync, rename, cut, removal) goes on from its checkpoints to the bytes
of a whole run. A preloaded library counts the steps and ends the process at one of them. Columns join late, so the files of draws
are replaced by whole tables at the end. Argument: the tool."""
import os, shutil, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static int left = -1;
static void step(void) {
    const char *at = getenv("CUT_AT");
    if (left < 0) left = at ? atoi(at) : 0;
    if (left > 0 && --left == 0) kill(getpid(), SIGKILL);
}
#define STEP(name, list, args) \
    int name list { \
        static int (*real) list; \
        if (!real) real = (int(*) list)dlsym(RTLD_NEXT, #name); \
        step(); \
        return real args; \
    }
STEP(fsync, (int fd), (fd))
STEP(renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
STEP(ftruncate, (int fd, off_t n), (fd, n))
STEP(unlinkat, (int a, const char *b, int c), (a, b, c))
"""
PROGRAM = """assume x = normal(0, 1);
assume y = normal(x, 1);
observe normal(y, 1) = 2;
infer repeat(400, do(mh(default, one, 20), collect(x)));
infer repeat(400, do(mh(default, one, 20), collect(x, y)));
"""
MOST = 400  # steps of a run: it has some tens


def run(where, at):
    command = [TOOL, "run", "program.vnts", "--seed", "3", "--chains", "2", "-j", "1", "--out", "cut", "--continue", "--checkpoint", "0.01"]
    env = dict(os.environ, LD_PRELOAD=os.path.join(where, "counter.so"), CUT_AT=str(at))
    return subprocess.run(command, cwd=where, capture_output=True, text=True, env=env, timeout=120)


def draws(where):
    return [open(os.path.join(where, "cut", "chain-%d.csv" % k)).read() for k in (1, 2)]


def main():
    where = tempfile.mkdtemp(prefix="gpmem-cut-points-")
    for name, text in (("counter.c", COUNTER), ("program.vnts", PROGRAM)):
        with open(os.path.join(where, name), "w") as f: f.write(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "counter.c", "-o", "counter.so", "-ldl"], cwd=where, check=True)
    r = run(where, 0)
    assert r.returncode == 0, r.stderr
    whole = draws(where)
    assert whole[0].startswith("x,y\n") and "\n#+" not in whole[0], whole[0][:40]
    cuts = went_on = 0
    for at in range(1, MOST):
        shutil.rmtree(os.path.join(where, "cut"), ignore_errors=True)
        if run(where, at).returncode == 0: break
        cuts += 1
        went_on += os.path.exists(os.path.join(where, "cut", "chain-1.ckpt"))
        r = run(where, 0)
        assert r.returncode == 0 and "begins anew" not in r.stderr, (at, r.stderr)
        assert draws(where) == whole, "killed at step %d: other draws" % at
    assert cuts > 10 and went_on > 3 and at < MOST - 1, (cuts, went_on)
    print("killed at each of %d steps, gone on from a checkpoint after %d of them" % (cuts, went_on))
    shutil.rmtree(where)


main()
