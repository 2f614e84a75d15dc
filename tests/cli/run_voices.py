#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How loud each command is (argument: the tool). For every command of the table: -q leaves standard error empty and
the results as they are, -v explains on standard error and leaves the results as they are, colours appear on a terminal
only, and never under NO_COLOR or TERM=dumb."""
import os, pty, re, select, shutil, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = tempfile.mkdtemp(prefix="gpmem-voices-")
ENVIRON = dict(os.environ, GPMEM_PYTHON=sys.executable, GPMEM_LIBRARY=os.path.join(os.path.dirname(TOOL), "libgpmem.so"),
               PYTHONPATH=os.path.join(ROOT, "python"), PYTHONDONTWRITEBYTECODE="1")
COLOUR = re.compile(rb"\033\[[0-9;]*m")
PROGRAM = """assume p = beta(1, 1);
observe flip(p) = true;
infer accumulate_dataset(200, do(mh(default, one, 2), collect(p, log_lik(), y_rep(), y_obs())));
"""
SCENE = '{"panels": [{"items": [{"type": "line", "x": [1, 2, 3], "y": [1, 3, 2], "colour": "green"}]}]}'
OBJECTIVE = ["--", "awk", "BEGIN { print ({x} - 1)^2 }"]
# A working call of each command; what a call leaves behind is taken away by FRESH before the next one.
CALLS = {
    "run": ["p.vnts"],
    "devices": [],
    "check": ["p.vnts"],
    "fmt": ["p.vnts"],
    "resume": ["run"],
    "merge": ["--partial", "fresh-merged", "run"],
    "jobs": ["slurm", "p.vnts"],
    "watch": ["run", "--once"],
    "summary": ["run"],
    "diagnose": ["run"],
    "loo": ["run"],
    "ppc": ["run"],
    "plot": ["run"],
    "export": ["run", "--format", "json"],
    "discover": ["series.csv", "--max-time", "20"],
    "regress": ["table.csv"],
    "query": ["found", "LIN"],
    "index": ["list", "series.db"],
    "search": ["series.db", "rises()"],
    "forecast": ["found", "--horizon", "3"],
    "report": ["found"],
    "optimize": ["--var", "x=-5:5", "--budget", "4", *OBJECTIVE],
    "ask": ["fresh.db", "--var", "x=0:1"],
    "tell": ["told.db", "x=0.5", "2"],
    "memo": ["list", "told.db"],
    "time": ["--store", "fresh-times.db", "n=1,2", "--", "true", "{n}"],
    "help": ["normal"],
    "draw": ["scene.json", "--format", "text"],
    "lsp": [],
    "kernel": ["--install", "--prefix", "jupyter"],
    "reference": [],
    "completions": ["bash"],
}
def message(body):
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


INPUT = message(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}') + message(b'{"jsonrpc":"2.0","method":"exit"}')  # of lsp
COLOURED = {"plot", "draw"}  # commands whose results have colours on a terminal
TIMED = {"time"}  # all that they print depends on the clock


def at(name):
    return os.path.join(WORK, name)


def fresh():
    for name in ("fresh.db", "fresh-times.db", "told.db"):
        if os.path.exists(at(name)):
            os.remove(at(name))
    shutil.rmtree(at("fresh-merged"), ignore_errors=True)
    subprocess.run([TOOL, "ask", "told.db", "--var", "x=0:1"], cwd=WORK, check=True, stdout=subprocess.DEVNULL)


def run(*args, **env):
    fresh()
    return subprocess.run([TOOL, *args], cwd=WORK, input=INPUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(ENVIRON, **env))


def on_terminal(*args, TERM="xterm", **env):
    """What appears on a terminal that is both outputs of the tool."""
    fresh()
    ours, theirs = pty.openpty()
    base = {k: v for k, v in ENVIRON.items() if k != "NO_COLOR"}
    p = subprocess.Popen([TOOL, *args], cwd=WORK, stdin=open(at("input"), "rb"), stdout=theirs, stderr=theirs,
                         env=dict(base, TERM=TERM, **env))
    os.close(theirs)
    out = b""
    while True:
        try:
            if select.select([ours], [], [], 60)[0]:
                part = os.read(ours, 65536)
                if not part:
                    break
                out += part
        except OSError:
            break
    os.close(ours)
    p.wait(60)
    return out


def results(command, r):
    return None if command in TIMED else re.sub(rb"[0-9.]+ s\b", b"# s", r.stdout)


def check(command, arguments):
    plain = run(command, *arguments)
    assert plain.returncode == 0, (command, plain.stderr)
    quiet = run(command, "-q", *arguments)
    assert quiet.returncode == 0 and quiet.stderr == b"", "%s -q says %r" % (command, quiet.stderr)
    assert results(command, quiet) == results(command, plain), "%s -q changes the results" % command
    loud = run(command, "-v", *arguments)
    assert loud.returncode == 0 and len(loud.stderr) > len(plain.stderr), "%s -v explains nothing" % command
    assert results(command, loud) == results(command, plain), "%s -v changes the results" % command
    for r in (plain, quiet, loud):
        assert not COLOUR.search(r.stdout + r.stderr), "%s writes colours into a pipe" % command
    assert bool(COLOUR.search(on_terminal(command, *arguments))) == (command in COLOURED), command
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert not COLOUR.search(on_terminal(command, *arguments, **env)), (command, env)


def check_errors():
    """Diagnostics have colours on a terminal, and say the same without."""
    coloured = on_terminal("-e", "nope")
    assert COLOUR.search(coloured), coloured
    bare = on_terminal("-e", "nope", NO_COLOR="1")
    assert not COLOUR.search(bare) and COLOUR.sub(b"", coloured) == bare, (coloured, bare)
    r = run("-q", "-e", "nope")
    assert r.returncode == 1 and b"nope" in r.stderr  # quiet is not silent about errors


def main():
    with open(at("p.vnts"), "w") as f:
        f.write(PROGRAM)
    with open(at("input"), "wb") as f:
        f.write(INPUT)
    with open(at("scene.json"), "w") as f:
        f.write(SCENE)
    with open(at("table.csv"), "w") as f:
        f.write("a,y\n" + "".join("%d,%g\n" % (i, i + 0.3 * (i * 7 % 5)) for i in range(12)))
    with open(at("series.csv"), "w") as f:
        f.write("x,y\n" + "".join("%d,%d\n" % (i, 2 * i + i % 3) for i in range(20)))
    subprocess.run([TOOL, "index", "add", "series.db", "series.csv"], cwd=WORK, check=True, stdout=subprocess.PIPE)
    for args in (["run", "p.vnts", "--out", "run", "--chains", "2"], ["discover", "series.csv", "-q", "--out", "found"]):
        r = subprocess.run([TOOL, *args], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert r.returncode == 0 and r.stdout == b"", (args, r.stdout, r.stderr)
    listed = re.findall(r"^  (\w+)  +\S", run("--help").stdout.decode(), re.M)
    assert sorted(listed) == sorted(CALLS), "a command has no call here: %s" % (set(listed) ^ set(CALLS))
    for command, arguments in CALLS.items():
        check(command, arguments)
    check_errors()
    print("%d commands: quiet, loud, without colours where they do not belong" % len(CALLS))


try:
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
