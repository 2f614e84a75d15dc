#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts and sizes from outside (argument: the tool): every option of every command that takes a number is given hostile ones. It is
refused with a message and status 2, or the command runs as usual: no signal, no hang, no memory beyond a limit. Likewise counts in
programs, and numbers of series in an index."""
import concurrent.futures, os, resource, shutil, sqlite3, subprocess, sys, tempfile
from each import run_tests, unsealed

TOOL = os.path.abspath(sys.argv[1])
SANITIZED = b"__asan" in open(TOOL, "rb").read()
PATIENCE = 60 * float(os.environ.get("GPMEM_PATIENCE", 1))
WORK = tempfile.TemporaryDirectory(prefix="gpmem-counts-")
HOSTILE = ["-1", "0", "2147483648", "4611686018427387904", "18446744073709551615", "1e300", "nan"]
TEXTS = {"FILE", "DIR", "NAME", "NAME,...", "LIST", "QUERY", "COLUMN", "COLUMN,...", "TEXT", "RUN", "STORE", "TAG", "PATTERN", "FORMAT",
         "POINT", "SPACE", "BOUND", "FILE|NAME=VALUE", "CODE,...", "NAME=X", "COMMAND", "X=A:B"}

# What is run with each option: quick, and complete without it. SCRATCH is a copy of the run or store that the option may change.
USUAL = {
    "run": ["p.vnts"], "check": ["p.vnts"], "fmt": ["--check", "p.vnts"], "resume": ["kept"], "merge": ["SCRATCH/new", "kept"],
    "jobs": ["slurm", "p.vnts"], "watch": ["kept", "--once"], "summary": ["kept"], "diagnose": ["kept"], "loo": ["kept"], "ppc": ["kept"],
    "plot": ["kept"], "export": ["kept"], "regress": ["table.csv"], "discover": ["series.csv", "-k", "WN LIN"], "check-data": ["series.csv"], "query": ["found", "LIN"],
    "forecast": ["found"], "report": ["found"], "index": ["add", "SCRATCH/new.idx", "series.csv"], "search": ["some.idx", "LIN"],
    "optimize": ["--var", "x=0:1", "--budget", "2", "--", "./one"], "ask": ["SCRATCH/store.db"], "tell": ["SCRATCH/store.db", "x=.5", "1"],
    "memo": ["list", "SCRATCH/store.db"], "time": ["--store", "SCRATCH/times.db", "n=1", "--", "./one"], "devices": [], "help": ["run"],
    "draw": ["scene.json"], "lsp": [], "kernel": ["no-such-connection"], "reference": [], "completions": ["bash"]}
# An option with others that it needs.
BESIDE = {("time", "level"): ["--predict", "n=2"],
          ("run", "checkpoint"): ["--out", "SCRATCH/out"]}


def at(*names): return os.path.join(WORK.name, *names)


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED: resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))


def run(*args, stdin=b""):
    return subprocess.run([TOOL, *args], input=stdin, capture_output=True, cwd=WORK.name, timeout=PATIENCE, preexec_fn=limits)


def write(name, text):
    with open(at(name), "w") as f: f.write(text)


def prepare():
    write("p.vnts", "assume x = normal(0, 1); observe normal(x, 1) = 1; infer accumulate_dataset(5, do(mh(default, one, 2), collect(x)));\n")
    write("series.csv", "t,y\n" + "".join("%d,%g\n" % (i, (i * 7 % 5) / 3 + i) for i in range(16)))
    write("table.csv", "a,b,y\n" + "".join("%g,%g,%g\n" % (i, i * 7 % 5, i + i * 7 % 3) for i in range(14)))
    write("scene.json", '{"panels": [{"items": [{"type": "line", "x": [1, 2], "y": [1, 2]}]}]}')
    write("one", "#!/bin/sh\necho 1\n")
    os.chmod(at("one"), 0o755)
    for args in (["run", "--out", "kept", "p.vnts"], ["discover", "series.csv", "-k", "WN LIN", "--out", "found", "-q"],
                 ["index", "add", "some.idx", "series.csv"], ["ask", "store.db", "--var", "x=0:1"]):
        r = run(*args)
        assert r.returncode == 0, (args, r.stderr)


def options(command):
    """Names of the options that take a number."""
    out = []
    for line in run(command, "--help").stdout.decode().split("Options:\n", 1)[1].split("\n"):
        words = line.replace(",", " ", 1).split() if line.lstrip().startswith("-") and not line.startswith("      --") else line.split()
        words = [w for w in words if not (len(w) == 2 and w[0] == "-")]
        if len(words) > 1 and words[0].startswith("--"):
            arg = words[1]
            shown = line.index(words[0]) + len(words[0]) + 1
            if line[shown] == " " or arg in TEXTS or ("|" in arg and arg not in ("I|auto", "K/N|auto/N")): continue
            out.append(words[0][2:])
    return out


def attempt(case):
    command, option, value = case
    scratch = tempfile.mkdtemp(dir=WORK.name)
    shutil.copy(at("store.db"), scratch)
    given = [option.join(["--", "="]) + (value + "/2" if option == "shard" else value)] + BESIDE.get((command, option), [])
    # what stands behind -- is the command that is run
    args = [command] + [a.replace("SCRATCH", scratch) for a in given + USUAL[command]]
    if option == "budget": args[args.index("--budget"):args.index("--")] = ["--max-time", "0.5"]
    try:
        r = run(*args)
    except subprocess.TimeoutExpired:
        return "%s: does not end" % " ".join(args)
    said = r.stderr.decode(errors="replace")
    if r.returncode < 0 or r.returncode > 4 or "out of memory" in said: return "%s: %d %s" % (" ".join(args), r.returncode, said[-200:])
    if r.returncode and not said.strip(): return "%s: status %d without a word" % (" ".join(args), r.returncode)
    if value in ("-1", "1e300", "nan") and r.returncode == 0 and option not in REALS:
        return "%s: taken for a count" % " ".join(args)
    return None


# Options that such a value fits.
REALS = {"max-cost", "target", "min", "max", "missing", "every", "holdout", "max-time", "timeout",
         "claim", "level", "at", "quantiles", "time", "memory", "max-memory", "checkpoint"}


def test_options():
    commands = [line.split()[0] for line in run("--help").stdout.decode().split("Commands:\n")[1].split("\n\n")[0].split("\n")]
    assert set(commands) == set(USUAL), set(commands) ^ set(USUAL)
    cases = [(c, o, v) for c in commands for o in options(c) for v in HOSTILE]
    assert len(cases) > 300, len(cases)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bad = [b for b in pool.map(attempt, cases) if b]
    print("%d commands were run" % len(cases))
    assert not bad, "\n".join(bad)


def test_counts_of_programs():
    for text in ('infer search("some.idx", "LIN", %s);', "infer hmc(default, all, .1, %s);", "infer resample(%s);",
                 "infer particle_filter(default, ordered, %s);", 'infer structure_chains(structure_model("series.csv"), %s);',
                 'infer structure_search(structure_model("series.csv"), 0, %s);', 'infer read_series("series.csv", "t", "y", false, %s);'):
        for value in HOSTILE[:-1]:
            r = run("run", "--max-time", "1", "-q", "-", stdin=(
                "assume x = normal(0, 1); observe normal(x, 1) = 1;\n" + text % value).encode())
            assert r.returncode in (0, 1, 2, 4), (text, value, r.returncode, r.stderr[-300:])


def test_numbers_of_an_index():
    for number in (2**62, 2 * 10**9, -5, 0):
        shutil.copy(at("some.idx"), at("forged.idx"))
        with sqlite3.connect(at("forged.idx")) as db: db.execute("UPDATE series SET id = ?", (number,))
        db.close()
        unsealed(at("forged.idx"))
        for args in (["search", "forged.idx", "LIN"], ["search", "forged.idx", "rises(1..5)"], ["index", "add", "forged.idx", "table.csv"],
                     ["index", "verify", "forged.idx"], ["index", "list", "forged.idx"]):
            r = run(*args)
            assert r.returncode in ((0, 1, 2) if args[1] in ("verify", "list") else (1, 2)), (number, args, r)


prepare()
sys.exit(run_tests(globals(), sys.argv[2:]))
