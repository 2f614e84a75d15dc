#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stores from anybody, and machines at their limits (argument: the tool): schemas and values that gpmem never
writes, commands of copied stores, shortages when a program starts, what is left when the tool is killed."""
import os, resource, shutil, signal, sqlite3, subprocess, sys, tempfile, time
from each import unsealed

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-stores-")
os.chdir(WORK.name)
os.environ["XDG_STATE_HOME"] = os.path.join(WORK.name, "state")


def script(name, text):
    with open(name, "w") as f: f.write("#!/bin/sh\n" + text)
    os.chmod(name, 0o755)
    return "./" + name


SIM = script("sim.sh", 'echo "$1" >> evaluated.txt\necho "$1"\n')


def run(*args, status=0, timeout=60, **more):
    r = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, text=True, **more)
    wanted = status if isinstance(status, tuple) else (status,)
    assert r.returncode in wanted, "%s: status %d\n%s\n%s" % (args, r.returncode, r.stdout[-800:], r.stderr[-800:])
    return r.stdout, r.stderr


def evaluated():
    return open("evaluated.txt").read().split() if os.path.exists("evaluated.txt") else []


def sound():
    run("optimize", "-q", "--var", "x=0:1", "--budget", "3", "--store", "sound.db", "--", SIM, "{x}")
    assert len(evaluated()) == 3


def spoilt(sql):
    for end in ("", "-wal", "-shm"):
        if os.path.exists("s.db" + end): os.remove("s.db" + end)
    shutil.copy("sound.db", "s.db")
    db = sqlite3.connect("s.db")
    db.executescript(sql)
    db.commit()
    db.close()
    unsealed("s.db")


# every command that reads a store
READERS = [["memo", "list", "s.db"], ["memo", "show", "s.db"], ["memo", "show", "s.db", "1"], ["memo", "export", "s.db"],
           ["memo", "rm", "s.db", "1"], ["ask", "s.db"], ["tell", "s.db", "x=0.5", "1"],
           ["optimize", "-q", "--join", "s.db", "--allow-run", "--budget", "4"], ["time", "--store", "s.db", "--predict", "x=1"],
           ["-e", '(gpmem(x -> x, make_se(1, 1), store="s.db")[0])(1)', "--allow-write"]]

LOOSE = "ALTER TABLE %s RENAME TO old; CREATE TABLE %s AS SELECT * FROM old; DROP TABLE old; "
META = LOOSE % ("meta", "meta")
POINT = LOOSE % ("point", "point")
STATE = LOOSE % ("state", "state")
REFUSED = {  # what is done to the file: words of the refusal
    META + "UPDATE meta SET value = NULL": "is no text",
    META + "UPDATE meta SET value = NULL WHERE key = 'inputs'": "is no text",
    META + "UPDATE meta SET value = x'00' WHERE key = 'names'": "is no text",
    "UPDATE meta SET value = '4294967297' WHERE key = 'inputs'": "header is incomplete",
    "UPDATE meta SET value = '1' || char(0) || '2' WHERE key = 'function'": "is no text",
    "DROP TABLE state": "a table is missing",
    "ALTER TABLE meta RENAME TO m2; CREATE VIEW meta AS SELECT * FROM m2": "views",
    "CREATE TRIGGER t AFTER UPDATE ON point BEGIN DELETE FROM meta; END": "triggers",
    "CREATE VIRTUAL TABLE v USING fts5(a)": "virtual tables",
    "ALTER TABLE point RENAME TO p2; CREATE VIEW point AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
    "FROM r) SELECT r.n AS id, p2.key, rep, x, status, y, error, seconds, started, finished, host, pid, pid_start, "
    "expires, attempts, seq, tag FROM r, p2": "views",
    "ALTER TABLE point RENAME COLUMN tag TO t2; ALTER TABLE point ADD COLUMN tag TEXT AS (host) VIRTUAL": "computed",
}
ROWS = {  # refused by what reads rows
    POINT + "UPDATE point SET status = NULL": "no such state",
    POINT + "UPDATE point SET status = x'02'": "no such state",
    POINT + "UPDATE point SET y = 'three'": "no finite value",
    POINT + "UPDATE point SET y = NULL": "no finite value",
    POINT + "UPDATE point SET y = 9e999": "no finite value",
    POINT + "UPDATE point SET key = NULL": "wrong number of inputs",
    POINT + "UPDATE point SET key = '12345678'": "wrong number of inputs",
    POINT + "UPDATE point SET host = NULL, error = 3": "text that is none",
    POINT + "UPDATE point SET rep = -1": "count that is none",
    POINT + "UPDATE point SET seq = 1.5": "count that is none",
    POINT + "UPDATE point SET started = 'noon'": "no number",
}


def test_no_command_trusts_a_store():
    for table, readers in ((REFUSED, READERS), (ROWS, READERS[:1])):
        for sql, words in table.items():
            for r in readers:
                spoilt(sql)
                _, err = run(*r, status=(1, 2))
                assert words in err, (sql, r, err)
    for sql in (POINT + "UPDATE point SET host = NULL, pid = 'p', expires = 'soon'", POINT + "UPDATE point SET key = NULL",
                STATE + "UPDATE state SET value = NULL", STATE + "UPDATE state SET value = 7"):
        for r in READERS:
            spoilt(sql)
            run(*r, status=(0, 1, 2))  # those that do not look at the spoilt cell may go on


def test_reading_ends():
    """A page that names itself as a child is a table without an end."""
    db = sqlite3.connect("sound.db")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size, root = db.execute("PRAGMA page_size").fetchone()[0], db.execute("SELECT rootpage FROM sqlite_schema WHERE name='point'").fetchone()[0]
    db.close()
    data = bytearray(open("sound.db", "rb").read())
    pages = len(data) // size
    # a pyramid of inner pages, each with 100 times the page below it: 100^8 rows in a few pages
    leaf = bytes(data[(root - 1) * size:root * size])
    new, below = [leaf], pages + 1
    for level in range(8):
        page = bytearray(size)
        cells, at = 100, size - data[20]
        page[0] = 5
        for i in range(cells):
            at -= 5
            page[at:at + 5] = below.to_bytes(4, "big") + bytes([i + 1])
            page[12 + 2 * i:14 + 2 * i] = at.to_bytes(2, "big")
        page[3:5], page[5:7], page[8:12] = cells.to_bytes(2, "big"), at.to_bytes(2, "big"), below.to_bytes(4, "big")
        below = pages + 1 + len(new)
        new.append(bytes(page))
    data[(root - 1) * size:root * size] = new[-1]
    for p in new[:-1]: data += p
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    for end in ("-wal", "-shm"):
        if os.path.exists("s.db" + end): os.remove("s.db" + end)
    open("s.db", "wb").write(data)
    unsealed("s.db")
    for r in READERS[:2]:
        _, err = run(*r, status=1, timeout=50)
        assert "damaged" in err, err


def test_join_runs_what_the_user_gave():
    before = len(evaluated())
    run("optimize", "-q", "--join", "sound.db", "--budget", "5")
    assert len(evaluated()) == before + 2
    shutil.copy("sound.db", "copy.db")
    _, err = run("optimize", "-q", "--join", "copy.db", "--budget", "7", status=2)
    assert SIM in err and "--allow-run" in err and len(evaluated()) == before + 2
    out, _ = run("ask", "copy.db")  # runs nothing
    run("tell", "copy.db", out.split()[0], "-3.5")
    run("optimize", "-q", "--join", "copy.db", "--budget", "7", "--allow-run")
    assert len(evaluated()) > before + 2
    # the same file with another command in it; another file in its place
    other = script("other.sh", "echo other >> evaluated.txt\necho 1\n")
    shutil.copy("sound.db", "mine.db")
    run("optimize", "-q", "--var", "x=0:1", "--budget", "6", "--store", "mine.db", "--", SIM, "{x}")
    run("optimize", "-q", "--join", "mine.db", "--budget", "7")
    db = sqlite3.connect("mine.db")
    db.execute("UPDATE state SET value = ? WHERE key = 'command'", (other + " {x}",))
    db.commit()
    db.close()
    unsealed("mine.db")
    _, err = run("optimize", "-q", "--join", "mine.db", "--budget", "9", status=2)
    assert other in err and "other" not in evaluated()
    # the same command with other values for its variables: a word of a shell, say
    run("optimize", "-q", "--var", "k=a,b", "--budget", "2", "--store", "words.db", "--", "sh", "-c", "echo {k} >> words.txt; echo 1")
    run("optimize", "-q", "--join", "words.db", "--budget", "3")
    db = sqlite3.connect("words.db")
    db.execute("UPDATE state SET value = replace(value, 'k=', 'k=$(touch owned),') WHERE key = 'space'")
    db.commit()
    db.close()
    unsealed("words.db")
    _, err = run("optimize", "-q", "--join", "words.db", "--budget", "9", status=2)
    assert "touch owned" in err and "--allow-run" in err and not os.path.exists("owned"), err
    os.rename("sound.db", "moved.db")
    shutil.copy("moved.db", "sound.db")
    run("optimize", "-q", "--join", "sound.db", "--budget", "9", status=2)
    run("optimize", "-q", "--join", "moved.db", "--budget", "6")  # the file itself, under another name
    os.replace("moved.db", "sound.db")
    # without a state folder nothing is known
    env = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_STATE_HOME")}
    run("optimize", "-q", "--join", "sound.db", "--budget", "9", status=2, env=env)


def test_a_value_that_cannot_be_stored_is_kept():
    """While a program runs its table goes away, and comes back later: the value is named, kept beside the store and brought in by
    the next start, for its own row; the point is not evaluated again."""
    slow = script("slow.sh", "echo $1 >> slow.txt\nwhile [ -e hold ]; do sleep 0.02; done\necho $1 | awk '{ printf \"%.17g\", $1 * $1 }'\n")
    def change(sql):
        db = sqlite3.connect("paid.db", timeout=30)
        db.executescript(sql)
        db.close()
    for command, again in ((["optimize", "-q", "--var", "x=0:1", "--budget", "1", "--store", "paid.db", "--", slow, "{x}"],
                            ["optimize", "-q", "--join", "paid.db", "--budget", "2"]),
                           (["run", "--allow-run", "paid.vnts"], ["run", "--allow-run", "paid.vnts"])):
        for name in ("paid.db", "slow.txt"):
            if os.path.exists(name): os.remove(name)
        with open("paid.vnts", "w") as f:
            f.write('assume f = command("%s {x}");\nassume (c, e) = gpmem(f, make_squaredexp(1, 1), store="paid.db");\nsample c(3);\n' % slow)
        open("hold", "w").close()
        p = subprocess.Popen([TOOL] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not os.path.exists("slow.txt"):
            time.sleep(0.02)
            assert p.poll() is None, p.communicate()
        change("ALTER TABLE point RENAME TO away")
        os.remove("hold")
        out, err = p.communicate(timeout=60)
        x = open("slow.txt").read().split()
        assert p.returncode == 1 and "is kept in 'paid.db.kept'" in err and "the value %.6g" % float(x[0])**2 in err, (p.returncode, out, err)
        change("ALTER TABLE away RENAME TO point")
        unsealed("paid.db")
        run(*again)
        after = open("slow.txt").read().split()
        assert after.count(x[0]) == 1 and not os.path.exists("paid.db.kept"), (x, after)
        rows = [l.split("\t") for l in run("memo", "list", "paid.db")[0].splitlines()[1:]]
        assert [float(r[2]) for r in rows if float(r[1]) == float(x[0])] == [float(x[0])**2] and len(rows) == len(after), rows


CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *t) {
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(which, t);
    if (which == CLOCK_REALTIME) t->tv_sec += atol(getenv("AHEAD"));
    return rc;
}
int gethostname(char *name, size_t n) { strncpy(name, getenv("HOST"), n); return 0; }
"""


def test_clocks_that_differ():
    """Workers whose clocks are two days apart, on one machine and on several, pay for each point once."""
    with open("clock.c", "w") as f: f.write(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "clock.so", "clock.c", "-ldl"], check=True)
    slow = script("slow.sh", 'echo "$1" >> evaluated.txt\nsleep 0.3\necho "$1"\n')
    for hosts in (("one", "one", "one"), ("one", "two", "three")):
        for name in ["clocks.db" + end for end in ("", "-wal", "-shm")] + ["evaluated.txt"]:
            if os.path.exists(name): os.remove(name)
        run("optimize", "-q", "--var", "x=0:1", "--budget", "1", "--store", "clocks.db", "--", slow, "{x}")
        workers = [subprocess.Popen([TOOL, "optimize", "-q", "--join", "clocks.db", "--allow-run", "--budget", "12"], stdout=subprocess.PIPE,
                                    env={**os.environ, "LD_PRELOAD": os.path.abspath("clock.so"), "AHEAD": str(ahead), "HOST": host})
                   for ahead, host in zip((0, 2 * 86400 + 5, -2 * 86400), hosts)]
        for w in workers: assert w.communicate(timeout=60) and w.returncode == 0
        got = evaluated()
        assert len(got) == len(set(got)) == 12, (hosts, len(got), len(set(got)))


def few_descriptors(): resource.setrlimit(resource.RLIMIT_NOFILE, (11, 4096))


def test_a_shortage_is_no_failure():
    p = subprocess.Popen([TOOL, "optimize", "-q", "--var", "x=0:1", "--budget", "3", "--store", "short.db", "--", SIM, "{x}"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=few_descriptors)
    time.sleep(0.5)
    assert p.poll() is None, p.communicate()
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (4096, 4096))
    out, err = p.communicate(timeout=30)
    assert p.returncode == 0 and "3 (0 failed)" in out, (out, err)


def gone(pid):
    for _ in range(3000):  # a minute
        try: state = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0]
        except OSError: return True
        if state == "Z": return True
        time.sleep(0.02)
    return False


def test_nothing_outlives_the_tool():
    tree = script("tree.sh", 'sh -c \'echo $$ > grandchild; exec sleep 1000\' &\nsleep 1000\n')
    with open("p.vnts", "w") as f: f.write('define f = command("%s {x}");\nf(1);\n' % tree)
    optimize = ["optimize", "-q", "--var", "x=0:1", "--budget", "3", "--store", "%s.db", "--", tree, "{x}"]
    program = ["run", "--allow-run", "p.vnts"]
    for args in (optimize, program):
        for sig in (signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
            if os.path.exists("grandchild"): os.remove("grandchild")
            p = subprocess.Popen([TOOL] + [a % sig.name if "%" in a else a for a in args], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
            for _ in range(3000):
                if os.path.exists("grandchild") and os.path.getsize("grandchild"): break
                time.sleep(0.02)
            pid = int(open("grandchild").read())
            p.send_signal(sig)
            p.wait(timeout=20)
            left = not gone(pid)
            if left: os.kill(pid, signal.SIGKILL)
            assert not left, "the grandchild lives on after %s of gpmem %s" % (sig.name, args[0])


def test_every_index_belongs_to_the_function():
    """Functions that differ in a second index or in the end of a slice are not one function."""
    for i, (one, other) in enumerate((("m[0, 0]", "m[0, 1]"), ("m[0, 1]", "m[0, 0:1][0]"), ("v[0:2][0]", "v[1:2][0]"))):
        text = "define m = matrix([[1, 20], [3, 4]]);\ndefine v = [5, 6, 7];\n" \
               "assume (c, e) = gpmem(x -> %%s + x, make_squaredexp(1, 1), store=\"index%d.db\");\nsample c(1);\n" % i
        run("-e", text % one, "--allow-write")
        _, err = run("-e", text % other, "--allow-write", status=1)
        assert "E0608" in err, err


def test_negative_numbers_are_arguments():
    run("ask", "n.db", "--var", "x=-5:5")
    out, _ = run("tell", "n.db", "1", "-3.5")
    assert "best: -3.5" in out
    out, _ = run("tell", "n.db", "x=-1", "-.5e1")
    assert "best: -5 at x=-1" in out
    _, err = run("tell", "n.db", "1", "-z", status=2)
    assert "no option -z" in err


sound()
for name, test in list(globals().items()):
    if name.startswith("test_"): test()
print("stores: all good")
