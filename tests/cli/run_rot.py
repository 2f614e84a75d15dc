#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes that change on the disk (argument: the tool): of an index, a store and the files of chains, one changed byte at a time.
No command gives another answer with status 0, and `verify` finds every change. Older files are read and say that they have no checksums; what
SQLite alone brought into a file, or wrote anew, is read. GPMEM_ROT: changes of each kind (default 200)."""
import json, math, os, random, shutil, signal, sqlite3, subprocess, sys, tempfile, time
from each import run_tests, stopped_on_the_way, unsealed

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-rot-")
CHANGES = int(os.environ.get("GPMEM_ROT", "200"))
os.chdir(WORK.name)


def run(*args):
    r = subprocess.run([TOOL, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return r.returncode, r.stdout, r.stderr.decode()


def fine(*args):
    r = run(*args)
    assert r[0] == 0, (args, r)
    return r[1].decode()


def summed(*verify):
    code, out, said = run(*verify)
    assert code == 0 and b"all readable" in out, (verify, code, out, said)
    return "not every page has a checksum" not in said


def store(name, budget="40", tool=TOOL):
    subprocess.run([tool, "optimize", "-q", "--var", "x=0:1", "--var", "k=a,b,c", "--budget", budget, "--store", name, "--", "echo", "{x}"],
                   stdout=subprocess.DEVNULL, check=True)


def index(name):
    os.makedirs("corpus", exist_ok=True)
    for k in range(4):
        rng = random.Random(k)
        with open("corpus/s%d.csv" % k, "w") as f:
            f.write("x,y\n" + "".join("%d,%.4f\n" % (i, rng.gauss(0, 1) + k % 2 * math.sin(i / 2) + k * i / 30) for i in range(60)))
    fine("index", "add", name, "corpus")


def check(good, name, reads, verify):
    """`reads`: commands with a copy of the file, and the files that they write."""
    def answers():
        out = []
        for command, written in reads:
            out.append(run(*command)[:2] + tuple(open(w, "rb").read() if os.path.exists(w) else None for w in written))
            for w in written:
                if os.path.exists(w): os.remove(w)
        return out
    shutil.copy(good, name)
    want, rng = answers(), random.Random(5)
    assert all(a[0] == 0 for a in want) and run(*verify)[0] == 0, (want, run(*verify))
    data = open(good, "rb").read()
    places = list(range(16, 100, 7)) + [rng.randrange(len(data)) for _ in range(CHANGES)]
    for place in places[:CHANGES]:
        bad = bytearray(data)
        bad[place] ^= rng.randrange(1, 256)
        open(name, "wb").write(bad)
        got = answers()
        other = [reads[i][0] for i in range(len(reads)) if got[i][0] == 0 and got[i] != want[i]]
        assert not other, "byte %d of %s: another answer from %s" % (place, good, other)
        code, _, said = run(*verify)
        assert code != 0 and ("damaged" in said or "not a memo table" in said), "byte %d of %s: %s" % (place, good, (code, said))


def test_index():
    index("good.idx")
    assert summed("index", "verify", "good.idx")
    check("good.idx", "t.idx", [(["search", "t.idx", "rises() | periodic()", "--json"], []), (["index", "list", "t.idx"], []),
                                (["index", "export", "t.idx", "out.json"], ["out.json"])], ["index", "verify", "t.idx"])


def test_store():
    store("good.db")
    assert summed("memo", "verify", "good.db")
    check("good.db", "t.db", [(["memo", "list", "t.db"], []), (["memo", "show", "t.db"], [])], ["memo", "verify", "t.db"])


PROGRAM = "assume x ~ normal(0, 1); assume y ~ gamma(2, 2); infer repeat(%d, do(mh(default, one, 10), collect(x, y)));"


def chains(folder, draws=60, *more):
    with open("p.vnts", "w") as f: f.write(PROGRAM % draws)
    return run("run", "p.vnts", "--chains", "2", "--seed", "4", "--out", folder, *more)


def change(path, rng, most=None):
    data = bytearray(open(path, "rb").read())
    data[rng.randrange(most or len(data))] ^= rng.randrange(1, 256)
    with open(path, "wb") as f: f.write(data)


def test_chains():
    """Of a run that has ended: everything that reads draws says that they are damaged."""
    assert chains("run")[0] == 0
    rng = random.Random(2)
    readers = [["summary", "bad"], ["diagnose", "bad"], ["plot", "bad"], ["export", "bad", "--format", "stan", "--out", "stan"],
               ["merge", "merged", "bad"]]
    for i in range(CHANGES):
        shutil.rmtree("bad", ignore_errors=True)
        shutil.copytree("run", "bad")
        name = "chain-%d.csv" % (1 + i % 2)
        change(os.path.join("bad", name), rng)
        shutil.rmtree("merged", ignore_errors=True)
        code, _, said = run(*readers[i % len(readers)])
        assert code == 1 and name in said and "damaged" in said, (i, readers[i % len(readers)], code, said)
    fine("merge", "whole", "run")
    change("whole/chain-2.csv", rng)
    assert run("summary", "whole")[0] == 1
    # of an earlier version
    with open("run/manifest.json") as f: manifest = json.load(f)
    assert len(manifest.pop("checksums")) == 2
    with open("run/manifest.json", "w") as f: json.dump(manifest, f)
    code, _, said = run("summary", "run")
    assert code == 0 and "no checksums" in said, said


def test_chains_that_go_on():
    """A chain that was stopped goes on from a checkpoint where all of its file is as it was; else it is made again, and compared."""
    def attempt(limit):
        shutil.rmtree("cut", ignore_errors=True)
        code = chains("cut", 30000, "--max-time", limit)[0]
        assert code in (0, 4), code
        return code == 0, os.path.exists("cut/chain-1.ckpt") and os.path.getsize("cut/chain-1.csv") > 20000
    stopped_on_the_way(attempt)
    rng = random.Random(3)
    for i in range(4):
        shutil.rmtree("bad", ignore_errors=True)
        shutil.copytree("cut", "bad")
        change("bad/chain-1.csv", rng, 10000)  # far from its end
        assert run("summary", "bad")[0] == 1
        code, _, said = run("resume", "bad")
        assert code == 1 and "chain 1 begins anew" in said and "did not repeat the draws" in said, (code, said)
    assert run("resume", "cut")[0] == 0 and run("summary", "cut")[0] == 0


def test_older_files():
    """A file without checksums is read, written and says so; a copy, or compacting, gives it some."""
    store("new.db", "5")
    db = sqlite3.connect("new.db")
    dump = "\n".join(db.iterdump())
    application, = db.execute("PRAGMA application_id").fetchone()
    version = 4  # the first that has checksums
    db.close()
    with sqlite3.connect("old.db") as db: db.executescript(dump + "PRAGMA user_version=%d; PRAGMA application_id=%d" % (version - 1, application))
    db.close()
    assert fine("memo", "list", "old.db") == fine("memo", "list", "new.db")
    store("old.db", "7")
    assert not summed("memo", "verify", "old.db")
    fine("memo", "copy", "old.db", "copy.db")
    assert summed("memo", "verify", "copy.db")
    assert fine("memo", "export", "copy.db") == fine("memo", "export", "old.db")
    # a file that says that it has checksums and has none
    with sqlite3.connect("old.db") as db: db.execute("PRAGMA user_version=%d" % version)
    db.close()
    code, _, said = run("memo", "list", "old.db")
    assert code == 1 and "PRAGMA user_version=%d" % (version - 1) in said, said


def test_other_programs():
    """What SQLite brings from our log into the file, after a kill, and what it writes anew; what it changes is told."""
    p = subprocess.Popen([TOOL, "optimize", "-q", "--var", "x=0:1", "--budget", "1000", "--store", "cut.db", "--", "echo", "{x}"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists("cut.db-wal") or os.path.getsize("cut.db-wal") < 200000: time.sleep(0.05)  # the first point is done
    p.send_signal(signal.SIGKILL)
    p.wait()
    db = sqlite3.connect("cut.db")
    n, = db.execute("SELECT count(*) FROM point").fetchone()
    db.close()
    assert not os.path.exists("cut.db-wal") and fine("memo", "verify", "cut.db") == "%d rows, all readable\n" % n
    assert not summed("memo", "verify", "cut.db")
    fine("memo", "copy", "cut.db", "whole.db")
    db = sqlite3.connect("whole.db")
    db.execute("UPDATE point SET y = -9 WHERE id = 1")
    db.commit()
    db.close()
    code, _, said = run("memo", "list", "whole.db")
    assert code == 1 and "damaged" in said and "VACUUM" in said, said
    db = sqlite3.connect("whole.db")
    db.execute("VACUUM")
    db.close()
    assert "-9" in fine("memo", "list", "whole.db") and not summed("memo", "verify", "whole.db")


sys.exit(run_tests(globals(), sys.argv[2:]))
