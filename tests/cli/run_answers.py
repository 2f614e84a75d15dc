#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What programs print in forms of their own, and how a search reads or refuses it (argument: the tool)."""
import os, subprocess, sys, tempfile
from each import run_tests, script

TOOL = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp(prefix="answers-"))
os.environ["XDG_STATE_HOME"] = os.getcwd()


def run(*args, status=0):
    r = subprocess.run([TOOL, "optimize", "-q", "--var", "x=0:1", *args], capture_output=True, text=True, timeout=120)
    assert r.returncode == status, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout + r.stderr


def printing(shell, *options, status=0, budget=4):
    return run("--budget", str(budget), *options, "--", "sh", "-c", shell, status=status)


# that all of them are read is that the best is the least of the four values of x
BEST = printing("echo {x}").split("best: ")[1]


def reads(shell, *options):
    out = printing(shell, *options)
    assert "4 (0 failed)" in out and out.split("best: ")[1].split("=", 1 if options else 0)[-1] == BEST, (shell, out)


LOSS = ("--objective", "loss")


def test_objects():
    reads('echo \'{"metrics": {"loss": {x}}, "loss_of": {"day": 3}}\'', *LOSS)
    reads('echo \'{"loss": {x}, "other": NaN, "third": -Infinity, "a \\"NaN": [Infinity, 2]}\'', *LOSS)
    reads('echo loading; echo "{3 of 4}"; printf \'{\\n  "loss": {x},\\n  "more": {"a": 2}\\n}\\n\'', *LOSS)
    out = printing('echo \'{"loss": {x}}\'', status=1)
    assert "a member of an object is named with --objective" in out, out
    out = printing('echo \'{"a": {"loss": {x}}, "b": {"loss": 2}}\'', *LOSS, status=1)
    assert "'loss' is not among what it printed" in out, out
    out = printing('echo \'{"loss": "{x}"}\'', *LOSS, status=1)
    assert "'loss' is no number in what it printed" in out, out
    for value in ("NaN", "null", "-Infinity"):
        out = printing('echo \'{"loss": %s}\' # {x}' % value, *LOSS, status=1)
        assert "4 (4 failed)" in out and "a value of 'loss' that is not finite" in out, out


def test_marks_and_returns():
    reads("printf '\\357\\273\\277{x}\\n'")
    reads("printf '10%%\\r50%%\\r100%%\\r{x}\\r\\n'")
    reads("printf '{x}\\r\\n'")


def test_long_logs():
    reads("seq -f 'line %.0f of the log' 20000; echo {x}")
    reads("seq -f 'line %.0f of the log' 20000; echo 'loss: {x}'; echo bye", "--read", "loss: {}")
    reads("head -c 200000 /dev/zero | tr '\\0' 7; echo; echo {x}")
    assert "did not print exactly one number" in printing("head -c 200000 /dev/zero | tr '\\0' 7; echo {x}", status=1)


def test_commas_are_no_numbers():
    for shell, options in (("echo 1,234.5 # {x}", ()), ("echo {x} | tr . ,", LOSS), ("echo loss: 0,5 # {x}", ("--read", "loss: {}"))):
        out = printing(shell, *options, status=1)
        assert "numbers have a point and no comma" in out, out
    reads("echo loss: {x},5", "--read", "loss: {loss},{gain}", "--objective", "loss", "--collect", "gain")


def test_patterns_are_words():
    reads("echo 'loss: {x} - val_loss: 7'", "--read", "loss: {}")
    assert "name each" in printing("echo 'loss: {x} 3'", "--read", "loss: {} {n}", status=2)
    out = printing("echo loss: inf '#' {x}", "--read", "loss: {}", status=1)
    assert "not finite" in out and "4 failed" in out, out


def test_brackets_at_the_end():
    reads("awk 'BEGIN { if (1) { printf \"%.17g\", {x}}}'")
    reads("printf '%s\\n' {{7} {x} {{y}} | sed -n 2p")


def test_what_a_failure_said():
    out = printing("echo first >&2; echo '  NameError: später' >&2; exit 3 # {x}", status=1)
    assert "the last failure: ended with status 3; it said: NameError: später\n" in out, out


def test_steps_that_are_no_numbers():
    reads("echo gpmem: 1 nan; echo gpmem: 2 inf; echo {x}")


def test_nothing_in_time():
    assert "0 (0 failed)" in run("--max-time", "0.2", "--", "sh", "-c", "sleep 60; echo {x}", status=1)


def test_a_program_that_is_not_there():
    out = run("--budget", "4", "--store", "n.db", "--", "./later.sh", "{x}", status=1)
    assert "'./later.sh' could not be started: No such file" in out, out
    script("later.sh", "#!/bin/sh\necho $1\n")
    os.chmod("later.sh", 0o644)
    assert "Permission denied" in run("--budget", "4", "--store", "n.db", "--", "./later.sh", "{x}", status=1)
    os.chmod("later.sh", 0o755)
    assert "4 (0 failed)" in run("--budget", "4", "--store", "n.db", "--", "./later.sh", "{x}")
    # a name that depends on the point is the point's own failure
    out = run("--var", "p=./later.sh,./never.sh", "--budget", "6", "--store", "p.db", "--", "{p}", "{x}")
    assert "best: " in out and "(0 failed)" not in out, out


sys.exit(run_tests(globals(), sys.argv[2:]))
