#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad programs and their exact diagnostics: runs `gpmem run NAME.vnts` in errors/ and compares what
it prints on stderr with NAME.expected. A first line `// args: ...` adds options; `// interrupt`
sends SIGINT to the running program. Also checks that every code of diag_codes.h
stands in some expected file, and that each run fails with status 1 or 2 (4: stopped); those called warning_*
are only odd, and succeed.

    run_golden.py GPMEM [--update] [NAME...]"""
import difflib
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ERRORS = os.path.join(HERE, "errors")
# How deep a recursion gets, and at which of its expressions it stops, depends on how large the
# compiler makes a frame.
UNSTABLE = [
    (re.compile(r"\d+ more calls"), "N more calls"),
    (re.compile(r"(no kernel '\w+'; there are) .*"), r"\1 ..."),  # the rows of a table
    (re.compile(r":\d+: error\[E0220\](.*\n.*\n.*\n).*\^.*\n"), r":N: error[E0220]\1"),
]
STOPPED = ("interrupted.vnts", "limit_time.vnts")  # in good order: status 4
CODES = os.path.join(HERE, "..", "..", "src", "language", "lang", "diag_codes.h")


def first_line(path):
    with open(path, "rb") as f:
        return f.readline().decode("utf-8", "replace").strip()


def processor_time(pid):
    """Seconds that the process has computed, however long it was kept from it."""
    with open("/proc/%d/stat" % pid) as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def run(tool, name):
    first = first_line(os.path.join(ERRORS, name))
    options = shlex.split(first[len("// args:"):]) if first.startswith("// args:") else []
    env = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8")
    child = subprocess.Popen([tool, "run", "--seed", "1"] + options + [name], cwd=ERRORS, env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if first == "// interrupt":
        while processor_time(child.pid) < 0.5:  # its start takes a small part of that: now the program runs
            time.sleep(0.02)
            assert child.poll() is None, (name, child.communicate())
        child.send_signal(signal.SIGINT)
    _, text = child.communicate(timeout=60)
    text = text.decode("utf-8", "replace")
    for pattern, stable in UNSTABLE:
        text = pattern.sub(stable, text)
    return child.returncode, text


def check(tool, path, update):
    name = os.path.basename(path)
    expected = path[:-len(".vnts")] + ".expected"
    status, text = run(tool, name)
    if status not in ((0,) if name.startswith("warning_") else (4,) if name in STOPPED else (1, 2)):
        return "%s: exit status %d\n%s" % (name, status, text)
    if update:
        with open(expected, "w", encoding="utf-8") as f:
            f.write(text)
        return None
    if not os.path.exists(expected):
        return "%s: no expected file; it says\n%s" % (name, text)
    with open(expected, encoding="utf-8") as f:
        want = f.read()
    if text == want:
        return None
    return name + ":\n" + "".join(difflib.unified_diff(want.splitlines(True), text.splitlines(True), "expected", "got"))


def missing_codes():
    with open(CODES) as f:
        codes = set(re.findall(r'"(E\d{4})"', f.read()))
    codes -= {"E0706"}  # an error of the program itself: tests/unit/test_restore.c makes one
    for path in glob.glob(os.path.join(ERRORS, "*.expected")) + [os.path.join(HERE, "..", "cli", "mistakes.txt")]:
        with open(path, encoding="utf-8") as f:
            codes -= set(re.findall(r"\[(E\d{4})\]", f.read()))
    return sorted(codes)


def main():
    tool = os.path.abspath(sys.argv[1])
    update = "--update" in sys.argv
    names = [a for a in sys.argv[2:] if not a.startswith("--")]
    paths = sorted(glob.glob(os.path.join(ERRORS, "*.vnts")))
    if names:
        paths = [p for p in paths if any(n in os.path.basename(p) for n in names)]
    failures = [f for f in (check(tool, p, update) for p in paths) if f]
    for f in failures:
        print(f)
    missing = [] if names else missing_codes()
    if missing:
        print("codes without a bad program: " + " ".join(missing))
    print("%d bad programs, %d differ, %d codes without one" % (len(paths), len(failures), len(missing)))
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())
