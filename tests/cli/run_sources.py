#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Source functions of programs (argument: the tool): commands, shared objects, CSV files, memo
stores; failures, permissions, parallel runs, interrupts, several processes on one store."""
import os, signal, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-sources-")


def write(name, text, mode=0o644):
    path = os.path.join(WORK.name, name)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def run(program, *options, cwd=None):
    write("p.vnts", program)
    return subprocess.run([TOOL, "run", *options, os.path.join(WORK.name, "p.vnts")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, cwd=cwd or WORK.name, text=True)


def good(program, out, *options, **more):
    r = run(program, *options, **more)
    assert r.returncode == 0 and r.stdout == out, (program, r.returncode, r.stdout, r.stderr)


def bad(program, *parts, options=("--allow-run",)):
    r = run(program, *options)
    assert r.returncode == 1, (program, r.returncode, r.stdout, r.stderr)
    for p in parts:
        assert p in r.stderr, "no %r in %s" % (p, r.stderr)
    return r


def noted(name, remove=True):
    path = os.path.join(WORK.name, name)
    text = open(path).read().split() if os.path.exists(path) else []
    if text and remove:
        os.remove(path)
    return text


def calls():
    return noted("calls")


def overlap():
    """How many slow calls ran at once: they note when they begin (+) and end (-)."""
    most = now = 0
    for sign in noted("spans"):
        now += 1 if sign == "+" else -1
        most = max(most, now)
    return most


write("sim", """#!/bin/sh
echo "$1" >> calls
[ -n "$2" ] && { echo + >> spans; sleep "$2"; echo - >> spans; }
case "$1" in
7) echo "boom at 7" >&2; exit 3;;
8) echo nan;;
9) kill -9 $$;;
10) echo "not a number";;
11) sleep 20;;
*) awk "BEGIN { print $1 * $1 }";;
esac
""", 0o755)
write("json", "#!/usr/bin/python3\nimport json, sys\nd = json.load(sys.stdin)\nprint(d['a'] * 10 + d['b'])\n", 0o755)
write("flaky", "#!/bin/sh\n[ -e tried ] && { echo 5; exit; }\ntouch tried\nexit 1\n", 0o755)
write("t.csv", "a,b,y\n1,2,3\n2,0,5\n-0,1,7\n")
write("lib.c", "#include <unistd.h>\n#include <fcntl.h>\n#include <math.h>\ndouble sq(double x) { return x * x; }\n"
               "static void note(const char *s) { int f = open(\"spans\", O_WRONLY | O_APPEND | O_CREAT, 0644);"
               " if (write(f, s, 2) == 2) close(f); }\n"
               "double slow(double x) { note(\"+\\n\"); usleep(500000); note(\"-\\n\"); return x == 13 || x == 14 ? NAN : x * x; }\n"
               "double sum(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n")
subprocess.run(["cc", "-shared", "-fPIC", "-o", "lib.so", "lib.c"], cwd=WORK.name, check=True)


def test_commands():
    good('command("./sim {x}")(3);', "9\n", "--allow-run")
    good('command("./json", json=true, inputs=["a", "b"])(4, 2);', "42\n", "--allow-run")
    good('command("./flaky {x}", retries=1)(1);', "5\n", "--allow-run")
    good('assume f = command("./sim {x}"); assume y = f(2) + 1; sample y;', "5\n", "--allow-run")
    calls()


def test_failures():
    for x, text in ((7, "boom at 7"), (8, "not finite"), (9, "signal"), (10, "not print exactly one number")):
        bad('command("./sim {x}")(%d);' % x, "E0606", "failed at %d" % x)
    r = bad('command("./sim {x}")(7);', "status 3", "boom at 7")
    bad('command("./sim {x}", timeout=0.3)(11);', "E0606", "time-out")
    bad('command("./absent {x}")(1);', "E0606")
    bad('command("./sim");', "placeholder")
    bad('command("./sim {x}", inputs=["y"]);', "placeholder")
    bad('command("./sim {x}")(1, 2);', "takes 1 number, got 2")
    calls()


def test_permission():
    for program in ('command("./sim {x}");', 'foreign("lib.so", "sq");'):
        bad(program, "E0702", "--allow-run", options=())
    bad('assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), store="none.db");', "E0702", "--allow-write", options=())
    assert not os.path.exists(os.path.join(WORK.name, "none.db"))
    assert not calls()


def test_foreign():
    good('foreign("lib.so", "sq")(3); foreign("./lib.so", "sum", dim=3)(1, 2, 3);', "9\n6\n", "--allow-run")
    bad('foreign("lib.so", "nope");', "nope")
    bad('foreign("nolib.so", "f");', "nolib.so")


def test_csv():
    good('define f = csv_lookup("t.csv"); f(1, 2); f([2, 0]); f(0, 1);', "3\n5\n7\n")
    good('csv_lookup("t.csv", inputs="a", output="b")(2);', "0\n")
    good('read_csv("t.csv", "y"); read_csv("t.csv")[0]; read_csv("t.csv", ["y", "a"])[1];', "[3, 5, 7]\n[1, 2, 3]\n[5, 2]\n")
    good('read_csv("t.csv", "y");', "[3, 5, 7]\n", cwd="/")  # relative to the program
    bad('csv_lookup("t.csv")(9, 9);', "E0606", "no row")
    bad('read_csv("t.csv", "z");', "z")
    bad('read_csv("none.csv");', "E0701")
    write("twice.csv", "x,y\n1,2\n1,3\n")
    bad('csv_lookup("twice.csv");', "line 3", "line 2")


STORED = 'assume (c, e) = gpmem(command("./sim {x} %s"), make_squaredexp(1, 1)%s); predict c([%s]);'


def test_store():
    program = STORED % ("0", ', store="runs.db"', "1, 2, 3, 2")
    good(program, "[1, 4, 9, 4]\n", "--allow-run")
    assert sorted(calls()) == ["1", "2", "3"]
    good(program, "[1, 4, 9, 4]\n", "--allow-run")
    assert not calls()
    bad(STORED % ("0", ', store="runs.db"', "4, 7, 5"), "E0606", "boom at 7")
    assert sorted(calls()) == ["4", "5", "7"]
    bad(STORED % ("0", ', store="runs.db"', "5, 7, 4"), "boom at 7", "failed before")
    assert not calls()
    bad(STORED % ("1", ', store="runs.db"', "1"), "E0608", "belongs to the function")
    bad('assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), store="p.vnts"); predict c(1);', "E0608", options=("--allow-write",))
    good('assume (c, e) = gpmem(x -> x * x, make_squaredexp(1, 1), store="own.db"); predict c([2, 3]); sample abs(e(3) - 9) < 1e-6;',
         "[4, 9]\ntrue\n", "--allow-write")
    os.chmod(WORK.name, 0o500)
    if os.getuid():
        bad(STORED % ("0", ', store="new.db"', "1"), "E0608")
    os.chmod(WORK.name, 0o700)


def test_parallel():
    points = ", ".join(str(i) for i in range(20, 28))
    overlap()
    good(STORED % ("0.5", "", points), "[%s]\n" % ", ".join(str(i * i) for i in range(20, 28)), "--allow-run", "--jobs", "8")
    assert overlap() >= 2, "with --jobs 8 no two runs were under way at once"
    assert len(calls()) == 8


SLOW = 'assume (c, e) = gpmem(foreign("./lib.so", "slow"%s), make_squaredexp(1, 1)%s); predict c([%s]);'


def test_parallel_foreign():
    """A C function declared parallel runs in threads, in input order, failures kept apart; another one after
    the other."""
    points = ", ".join(str(i) for i in range(20, 28))
    squares = "[%s]\n" % ", ".join(str(i * i) for i in range(20, 28))
    good(SLOW % (", parallel=true", ', store="slow.db"', points), squares, "--allow-run", "--jobs", "8")
    assert overlap() >= 2, "with --jobs 8 no two calls were under way at once"
    good(SLOW % (", parallel=true", ', store="slow.db"', points), squares, "--allow-run", "--jobs", "8")  # known
    assert not noted("spans")
    good(SLOW % ("", "", "20, 21"), "[400, 441]\n", "--allow-run", "--jobs", "8")
    assert overlap() == 1, "a function that was not declared parallel ran in two threads"
    bad(SLOW % (", parallel=true", ', store="slow2.db"', "30, 13, 31, 14, 32"), "failed at 13", "it gave nan",
        options=("--allow-run", "--jobs", "4"))
    good(SLOW % (", parallel=true", ', store="slow2.db"', "30, 31, 32"), "[900, 961, 1024]\n", "--allow-run")
    bad(SLOW % (', parallel="yes"', "", "1"), "parallel must be a boolean")


def interrupt_after(done):
    """Ctrl-C when that many slow calls have ended."""
    noted("spans")
    p = subprocess.Popen([TOOL, "run", "--allow-run", "--jobs", "2", "p.vnts"], cwd=WORK.name, stderr=subprocess.PIPE, text=True)
    end = time.time() + 60
    while noted("spans", remove=False).count("-") < done and time.time() < end:
        time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    err = p.communicate(timeout=20)[1]
    assert p.returncode != 0 and "interrupted" in err, err


def test_interrupt_threads():
    write("p.vnts", SLOW % (", parallel=true", ', store="ints.db"', ", ".join(str(i) for i in range(20, 60))))
    interrupt_after(4)
    listed = subprocess.run([TOOL, "memo", "export", "ints.db"], cwd=WORK.name, stdout=subprocess.PIPE, text=True).stdout
    rows = listed.split("\n")[1:-1]
    assert 2 <= len(rows) < 40 and all(",done" in r for r in rows), listed


def test_interrupt():
    write("p.vnts", STORED % ("0.4", ', store="int.db"', ", ".join(str(i) for i in range(20, 60))))
    interrupt_after(4)
    done = len(calls())
    assert 4 <= done < 40, done
    good(STORED % ("0.4", ', store="int.db"', "20, 21"), "[400, 441]\n", "--allow-run")
    assert not calls()  # what was done before the interrupt was kept


def test_processes():
    write("p.vnts", STORED % ("0.05", ', store="many.db"', ", ".join(str(i) for i in range(20, 50))))
    ps = [subprocess.Popen([TOOL, "run", "--allow-run", "p.vnts"], cwd=WORK.name, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True) for _ in range(8)]
    outs = [p.communicate(timeout=60) for p in ps]
    assert all(p.returncode == 0 for p in ps), outs
    assert len({o for o, _ in outs}) == 1
    assert sorted(calls()) == [str(i) for i in range(20, 50)]


tests = [v for k, v in sorted(globals().items()) if k.startswith("test_")]
for t in tests:
    t()
print("%d groups of source functions passed" % len(tests))
