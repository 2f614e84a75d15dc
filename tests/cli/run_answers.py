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


def test_a_command_in_quotes():
    out = run("--budget", "4", "--store", "q.db", "--", "./later.sh {x}", status=1)
    assert "as words of their own, not in quotes" in out and "evaluations" not in out, out


def test_results_that_cannot_be_written():
    """A folder that is not there is told before anything runs; what fails later takes nothing else along."""
    mark = "touch ran; echo {x}"
    for option in ("--json", "--report", "--log"):
        out = run("--budget", "2", option, "nowhere/out", "--", "sh", "-c", mark, status=1)
        assert "cannot write 'nowhere/out': No such file" in out and not os.path.exists("ran"), out
    out = run("--budget", "4", "--json", "/dev/full", "--report", "r.html", "--", "sh", "-c", mark, status=1)
    assert "best: " + BEST.split(" at")[0] in out and os.path.getsize("r.html") > 1000, out
    # a log that goes after two evaluations, as on a disk that is full: the best of them is told
    os.mkdir("disk")
    out = run("--budget", "4", "--log", "disk/log", "--", "sh", "-c", "test $(cat disk/log | wc -l) = 2 && rm disk/log && mkdir disk/log; echo {x}", status=1)
    assert "log 'disk/log': " in out and "best: " in out, out


def test_a_variable_that_the_command_has_not():
    for more, said in (([], True), (["--stdin-json"], False), (["-q"], False)):
        r = subprocess.run([TOOL, "optimize", "--var", "x=0:1", "--var", "y=0:1", "--budget", "1", *more, "--", "echo", "{x}"], capture_output=True, text=True)
        assert r.returncode == 0 and ("the command does not use {y}\n" in r.stderr) == said, r.stderr


def test_joining_for_something_else():
    script("later.sh", "#!/bin/sh\necho $1\n")
    run("--budget", "4", "--store", "j.db", "--", "./later.sh", "{x}")
    for more, why in ((["--maximize"], "the goal to minimise"), (["--noisy"], "an exact objective"), (["--store", "k.db"], "leave --store out")):
        r = subprocess.run([TOOL, "optimize", "-q", "--join", "j.db", "--budget", "5", *more], capture_output=True, text=True, timeout=120)
        assert r.returncode == 2 and why in r.stderr, (more, r.stdout, r.stderr)


sys.exit(run_tests(globals(), sys.argv[2:]))
