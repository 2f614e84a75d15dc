#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Good programs and their exact output: runs `gpmem run NAME.vnts` in programs/ and compares stdout
with NAME.out; stderr must stay empty. Outputs hold no random numbers.

    run_programs.py GPMEM [--update]"""
import difflib
import glob
import os
import subprocess
import sys

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def check(tool, path, update):
    name = os.path.basename(path)
    done = subprocess.run([tool, "run", "--seed", "1", name], cwd=PROGRAMS, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if done.returncode != 0 or err:
        return "%s: exit status %d\n%s" % (name, done.returncode, err)
    expected = path[:-len(".vnts")] + ".out"
    if update:
        with open(expected, "w", encoding="utf-8") as f:
            f.write(out)
        return None
    with open(expected, encoding="utf-8") as f:
        want = f.read()
    if out == want:
        return None
    return name + ":\n" + "".join(difflib.unified_diff(want.splitlines(True), out.splitlines(True), "expected", "got"))


def main():
    tool = os.path.abspath(sys.argv[1])
    paths = sorted(glob.glob(os.path.join(PROGRAMS, "*.vnts")))
    failures = [f for f in (check(tool, p, "--update" in sys.argv) for p in paths) if f]
    for f in failures:
        print(f)
    print("%d programs, %d differ" % (len(paths), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
