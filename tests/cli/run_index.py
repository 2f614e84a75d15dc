#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An index of series and search over it: what is found first, what is refused and why, the same index for any number of
threads and after kills at any moment, damaged files. INDEX_KILLS sets the number of kills (default 6),
`run_index.py TOOL kills` does nothing else."""
import json, math, os, random, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time
from each import Moments, unsealed

TOOL = os.path.abspath(sys.argv[1])
KILLS = int(os.environ.get("INDEX_KILLS", "6"))


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == status, (args, r.returncode, r.stderr[-800:], r.stdout[-500:])
    return r


def write(path, values, first=1960):
    with open(path, "w") as f:
        f.write("x,y\n" + "".join("%.5f,%.5f\n" % (first + (i + 0.5) / 12, v) for i, v in enumerate(values)))


def noise(seed, n=60):
    rng = random.Random(seed)
    return [rng.gauss(0, 1) for _ in range(n)]


KINDS = {
    "flat": lambda t: 0,
    "ramp": lambda t: 0.5 * max(0, t - 1970),
    "fall": lambda t: -0.4 * (t - 1960),
    "wave": lambda t: 3 * math.sin(2 * math.pi * t),
    "late": lambda t: 3 * math.sin(2 * math.pi * t) if t >= 1970 else 0,
    "early": lambda t: 3 * math.sin(2 * math.pi * t) if t < 1969 else 0,
    "step": lambda t: 4 if t > 1966 else 0,
    "both": lambda t: 0.4 * (t - 1960) + 3 * math.sin(2 * math.pi * t),
}
QUESTIONS = [("has a rising trend starting around 1970", ["ramp"]), ("is pure noise", ["flat"]),
             ("is periodic until about 1969 and then stops", ["early"]), ("periodic(1971..1979) & !periodic(before 1970)", ["late"]),
             ("jumps(1965..1967, up)", ["step"]), ("falls()", ["fall"]), ("linear(throughout) & periodic(throughout)", ["both"]),
             ("periodic(throughout, period=12 months) & !linear()", ["wave"]), ("value(1979) > 16", ["both"]), ("STEP", ["step"]),
             ("rises() | is_nothing", None)]


def make_corpus():
    os.mkdir("corpus")
    for k, (name, f) in enumerate(sorted(KINDS.items())):
        rng = random.Random(k)
        write("corpus/%s.csv" % name, [10 + f(1960 + (i + 0.5) / 12) + rng.gauss(0, 1) for i in range(240)])


def names(question, *more, db="x.db"):
    return [(r["name"], r["probability"]) for r in json.loads(run("search", db, question, "--json", *more).stdout)["results"]]


def names_words(question): return json.loads(run("search", "x.db", question, "--json").stdout)["results"][0]["words"]


def check_answers():
    for question, wanted in QUESTIONS:
        if wanted is None:
            assert "is_nothing" in run("search", "x.db", question, status=2).stderr
            continue
        found = names(question)
        assert [n for n, p in found[:len(wanted)]] == wanted and found[0][1] > 0.5, (question, found[:4])
        assert all(p < 0.5 for n, p in found[len(wanted):]), (question, found[:4])
    text = run("search", "x.db", "has a rising trend starting around 1970", "-n", "2").stdout
    assert "read as: rises(from=1970)" in text and re.search(r"1  0\.\d+ ±0\.\d+  [▁-█]{32}  ramp", text), text
    # the letters are the level, and nothing of their own: what rises rises, what repeats within a letter is level
    lines = run("search", "x.db", "rises() | periodic()", "-n", "8").stdout
    drawn = {m[2]: ["▁▂▃▄▅▆▇█".index(c) for c in m[1]] for m in re.finditer(r"([▁-█]{32})  (\w+)", lines)}
    told = {r["name"]: r["level"] for r in json.loads(run("search", "x.db", "rises() | periodic()", "-n", "8", "--json").stdout)["results"]}
    assert set(drawn) == set(told) >= {"both", "wave", "ramp"} and drawn["both"] == sorted(drawn["both"]) and drawn["both"][::31] == [0, 7], drawn
    assert max(drawn["wave"]) - min(drawn["wave"]) < 4, drawn["wave"]
    for name, level in told.items():
        turns = lambda v, least: sum((b - a) * (c - b) < 0 and abs(b - a) > least < abs(c - b) for a, b, c in zip(v, v[1:], v[2:]))
        assert turns(drawn[name], 1) <= turns(level, 0), (name, drawn[name])
    like = json.loads(run("search", "x.db", "--like", "wave", "--json").stdout)
    assert like["results"][0]["name"] == "wave" and like["results"][0]["probability"] > 0.999, like["results"][:2]
    assert json.loads(run("search", "x.db", "--like", "corpus/wave.csv", "--json").stdout)["results"][0]["name"] == "wave"
    late = json.loads(run("search", "x.db", "falls()", "--top", "1", "--json").stdout)["results"][0]
    ahead = late["forecast"][-1]  # 24 months after 1979
    assert len(late["forecast"]) == 6 and abs(ahead["at"] - 1981.96) < 0.01, late["forecast"]
    assert ahead["lo"] < 10 + KINDS["fall"](1981.96) < ahead["hi"] and ahead["hi"] - ahead["lo"] < 6, ahead
    exported = [json.loads(l) for l in run("index", "export", "x.db").stdout.splitlines()]
    assert late["forecast"] in [e["forecast"] for e in exported]
    assert re.search(r"\(19(59|6[0-9])[.\d]*\)", names_words("STEP")) and "until 196" in names_words("periodic(until=1969)"), names_words("STEP")
    run("search", "x.db", "is pure noise", "--html", "page.html")
    page = open("page.html").read()
    assert "pure_noise()" in page and page.count("<li ") == json.loads(run("search", "x.db", "is pure noise", "--json").stdout)["results"].__len__()
    assert not re.search(r'(?:src|href)\s*=\s*"(?:https?:)?//', page)  # no network
    run("search", "x.db", status=2)
    run("search", "x.db", "is pure noise", "--like", "wave", status=2)
    assert "index 'nothere.db'" in run("search", "nothere.db", "is pure noise", status=1).stderr


def check_refusals():
    os.mkdir("bad")
    write("bad/constant.csv", [3] * 60)
    write("bad/short.csv", [1, 2])
    open("bad/empty.csv", "w").close()
    open("bad/words.csv", "w").write("a,b\nthis,is\nno,series\n")
    open("bad/binary.csv", "wb").write(bytes(range(256)))
    os.mkdir("other")
    write("other/wave.csv", noise(1))
    write("bad/good.csv", noise(2))
    r = run("index", "add", "x.db", "bad", "other/wave.csv", "missing.csv", status=3)
    assert r.stdout.startswith("1 added, 0 replaced, 0 unchanged, 7 refused"), (r.stdout, r.stderr)
    for name, why in (("constant", "constant"), ("short", "few"), ("empty", ""), ("words", ""), ("binary", ""),
                      ("wave", "another series of this name"), ("missing", "No such file")):
        assert re.search(r"%s\t.*%s" % (name, why), r.stderr), (name, r.stderr)
    listed = json.loads(run("index", "list", "x.db", "--format", "json").stdout)
    assert {e["name"] for e in listed if "refused" in e} >= {"constant", "short", "empty", "words", "binary", "missing"}
    assert max(e["bytes"] for e in listed if "bytes" in e) < 4096, max(e["bytes"] for e in listed if "bytes" in e)
    run("index", "add", "x.db", "missing.csv", status=2)
    write("corpus/flat.csv", noise(3))  # another content: replaced
    assert run("index", "add", "x.db", "corpus").stdout.startswith("0 added, 1 replaced, 7 unchanged, 0 refused")
    run("index", "remove", "x.db", "good")
    run("index", "remove", "x.db", "good", status=2)
    assert run("index", "verify", "x.db").stdout == "8 series, all readable\n"
    run("index", "nonsense", "x.db", status=2)


def check_forms():
    with open("wide.csv", "w") as f:
        rng = random.Random(4)
        f.write("month,a,b,flat\n" + "".join("%d-%02d,%.3f,%.3f,7\n" % (1990 + i // 12, i % 12 + 1, rng.gauss(0, 1), 5 * math.sin(i * math.pi / 6) + rng.gauss(0, 1)) for i in range(96)))
    with open("long.csv", "w") as f:
        f.write("place,month,y\n" + "".join("%s,%d-%02d,%.3f\n" % (p, 1990 + i // 12, i % 12 + 1, k * i / 12 + rng.gauss(0, 1)) for i in range(96) for k, p in ((1, "up"), (-1, "down"))))
    run("index", "add", "f.db", "wide.csv", "--wide", status=3)
    run("index", "add", "f.db", "long.csv", "--by", "place")
    found = json.loads(run("search", "f.db", "rises()", "--json").stdout)["results"]
    assert found[0]["name"] == "long/up" and found[0]["probability"] > 0.8, found[:2]
    found = json.loads(run("search", "f.db", "is periodic during 1992", "--json").stdout)["results"]
    assert found[0]["name"] == "wide/b", found[:2]
    assert b"flat" in subprocess.run([TOOL, "index", "list", "f.db"], capture_output=True).stdout


def copy_of(db):
    name = db + ".copy"
    if os.path.exists(name): os.unlink(name)
    run("index", "compact", db, name)
    return open(name, "rb").read()


def check_kills():
    """Killed at random moments and started again: the same bytes as one undisturbed run."""
    os.mkdir("small")
    for k in range(24):
        rng = random.Random(100 + k)
        write("small/s%02d.csv" % k, [rng.gauss(0, 1) + (i / 20 if k % 2 else 0) for i in range(40)])
    start = time.monotonic()
    run("index", "add", "one.db", "small", "-j", "1")
    took = time.monotonic() - start
    whole, rng, killed = copy_of("one.db"), random.Random(7), 0
    run("index", "add", "two.db", "small", "-j", "2")
    assert copy_of("two.db") == whole
    moments = Moments(rng, took, 0, 0.6)
    for k in range(10 * KILLS):  # until that many have come, a good part of them in time
        if k % 4 == 0:
            for f in ("k.db", "k.db-wal", "k.db-shm"):
                if os.path.exists(f): os.unlink(f)
        p = subprocess.Popen([TOOL, "index", "add", "k.db", "small", "-j", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.next())
        p.send_signal(signal.SIGKILL)
        hit = p.wait() == -signal.SIGKILL
        killed += hit
        if not hit: moments.was_over()
        if os.path.exists("k.db") and os.path.getsize("k.db") and k % 2:
            subprocess.run([TOOL, "search", "k.db", "rises()"], capture_output=True, timeout=60)  # may be used between
        enough = k + 1 >= KILLS and killed > KILLS // 3
        if k % 4 == 3 or enough:
            out = run("index", "add", "k.db", "small").stdout
            assert "0 refused" in out and sum(int(x) for x in re.findall(r"(\d+) (?:added|unchanged)", out)) == 24, out
            assert copy_of("k.db") == whole
            assert run("index", "export", "k.db").stdout == run("index", "export", "one.db").stdout
        if enough: break
    assert killed > KILLS // 3, killed


def check_together():
    """Several processes add to one index at the same time, each with structures that the others have not met."""
    files = ["corpus/%s.csv" % n for n in sorted(KINDS)]
    ps = [subprocess.Popen([TOOL, "index", "add", "t.db", *files[k::3], "-j", "1"], stdout=subprocess.DEVNULL) for k in range(3)]
    assert [p.wait() for p in ps] == [0, 0, 0]
    assert run("index", "verify", "t.db").stdout == "8 series, all readable\n"
    assert sorted(n for n, _ in names("rises() | !rises()", db="t.db")) == sorted(KINDS)


def check_stop():
    """A signal ends it in good order with a status of its own, and the same command goes on."""
    os.mkdir("some")
    for k in range(12): write("some/s%02d.csv" % k, noise(200 + k, 120))
    p = subprocess.Popen([TOOL, "index", "add", "stop.db", "some", "-j", "1", "--verbose"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "of 12 series" not in p.stderr.readline(): pass
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 4 and "stopped" in out, (p.returncode, out, err)
    n = int(out.split()[0])
    assert 1 <= n < 12, out
    assert run("index", "verify", "stop.db").stdout == "%d series, all readable\n" % n
    assert run("index", "add", "stop.db", "some").stdout == "%d added, 0 replaced, %d unchanged, 0 refused\n" % (12 - n, n)
    run("index", "add", "whole.db", "some")
    assert copy_of("stop.db") == copy_of("whole.db")
    subprocess.run([TOOL, "index", "add", "other.db", "some"], env=dict(os.environ, MALLOC_PERTURB_="165"), check=True, capture_output=True)
    assert copy_of("other.db") == copy_of("whole.db")  # nothing hangs on what memory held before


def check_learnt():
    """Priors learnt from a sample: the same for any number of threads, kept with the index, used for what comes later."""
    run("index", "add", "l1.db", "some", "-j", "1", "--learn")
    run("index", "add", "l2.db", "some", "-j", "2", "--learn")
    assert copy_of("l1.db") == copy_of("l2.db")
    assert run("index", "add", "l1.db", "some").stdout == "0 added, 0 replaced, 12 unchanged, 0 refused\n"
    run("index", "add", "l1.db", "corpus/wave.csv")
    made = {e["name"]: e["made"] for e in json.loads(run("index", "list", "l1.db", "--format", "json").stdout)}
    assert len(made) == 13 and all("learnt priors" in m for m in made.values()), made
    assert not any("learnt" in e["made"] for e in json.loads(run("index", "list", "whole.db", "--format", "json").stdout))
    c = sqlite3.connect("l2.db")
    c.execute("update meta set value = 'no numbers'"), c.commit(), c.close()
    unsealed("l2.db")
    assert "priors of the index are damaged" in run("index", "add", "l2.db", "some", status=2).stderr


def check_shards():
    """Parts of the work on several machines, then one index of them."""
    env = dict(os.environ, SLURM_ARRAY_TASK_ID="4")
    assert "no scheduler" in run("index", "add", "p.db", "some", "--shard", "auto/3", status=2).stderr
    for bad in ("3/3", "x/2", "1", "0/0"):
        assert "--shard" in run("index", "add", "p.db", "some", "--shard", bad, status=2).stderr
    run("index", "add", "p0.db", "some", "--shard", "0/3")
    subprocess.run([TOOL, "index", "add", "p1.db", "some", "--shard", "auto/3"], env=env, check=True, capture_output=True)  # 4 modulo 3
    run("index", "add", "p2.db", "some", "bad/empty.csv", "--shard", "2/3")
    assert run("index", "verify", "p1.db").stdout == "4 series, all readable\n"
    assert run("index", "merge", "p.db", "p0.db", "p1.db", "p2.db").stdout.startswith("12 added, 0 replaced, 0 unchanged")
    assert run("index", "merge", "p.db", "p1.db").stdout == "0 added, 0 replaced, 4 unchanged, 0 refused\n"
    best = lambda db: sorted((r["name"], r["probability"]) for r in json.loads(run("search", db, "rises() | pure_noise()", "--top", "99", "--json").stdout)["results"])
    assert best("p.db") == best("whole.db")
    write("other/s00.csv", noise(7, 60))
    run("index", "add", "q.db", "other/s00.csv")
    assert "another series of this name" in run("index", "merge", "p.db", "q.db", status=2).stderr
    run("index", "merge", "p.db", "nothere.db", status=1)


def check_damage():
    for name, content in (("text.db", b"this is no index"), ("cut.db", open("x.db", "rb").read()[:5000]), ("empty.db", b"")):
        open(name, "wb").write(content)
        for args in (("search", name, "is pure noise"), ("index", "list", name), ("index", "verify", name)):
            r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=60)
            assert r.returncode in (1, 2) and "index '%s'" % name in r.stderr, (args, r)
    c = sqlite3.connect("foreign.db")
    c.execute("create table t(a)"), c.commit(), c.close()
    assert "another program or kind" in run("search", "foreign.db", "is pure noise", status=2).stderr
    shutil.copy("x.db", "harm.db")
    c = sqlite3.connect("harm.db")
    c.execute("update series set sketch = zeroblob(300) where name = 'wave'"), c.commit(), c.close()
    unsealed("harm.db")
    assert "'wave' is damaged" in run("index", "verify", "harm.db", status=2).stderr
    assert "'wave' is damaged" in run("search", "harm.db", "periodic()", status=2).stderr
    run("index", "remove", "harm.db", "wave")
    c = sqlite3.connect("harm.db")
    c.execute("update block set data = x'ffff'"), c.commit(), c.close()
    unsealed("harm.db")
    assert "block is damaged" in run("search", "harm.db", "is pure noise", status=2).stderr
    run("index", "compact", "harm.db")
    assert names("is pure noise", db="harm.db")[0][0] == "flat"


def check_older():
    """A file of the first version, whose blocks held structures alone: it is read, and migrated when it is written to."""
    shutil.copy("x.db", "old.db")
    c = sqlite3.connect("old.db")
    c.executescript("drop table block; drop table meta; drop table claim; create table block(first integer primary key, data blob not null); insert into block values(0, x'00'); pragma user_version=1")
    c.close()
    unsealed("old.db")
    ask = lambda: [names(q, db="old.db") for q, wanted in QUESTIONS if wanted]
    before, want = ask(), [names(q) for q, wanted in QUESTIONS if wanted]
    assert before == want
    run("index", "compact", "old.db")
    assert sqlite3.connect("old.db").execute("pragma user_version").fetchone()[0] == 3
    assert ask() == want and copy_of("old.db") != b""


def check_bounds():
    """The best few are the first of all: what is not read could not have been among them."""
    for q in ["rises(from=1966)", "periodic(1962..1968)", "rises() | jumps(after 1964)", "!periodic(before 1968) & rises(1965..1975)", "PER | STEP"]:
        whole = names(q, "--top", "1000")
        for top in 1, 2, 3:
            assert names(q, "--top", str(top)) == whole[:top], (q, top)


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    if sys.argv[2:] == ["kills"]:  # those alone
        check_kills()
        sys.exit(print("%d kills: nothing lost, nothing twice, the same bytes" % KILLS))
    make_corpus()
    assert run("index", "add", "x.db", "corpus").stdout == "8 added, 0 replaced, 0 unchanged, 0 refused\n"
    assert run("index", "add", "x.db", "corpus").stdout == "0 added, 0 replaced, 8 unchanged, 0 refused\n"
    check_answers()
    check_bounds()
    check_older()
    check_refusals()
    check_forms()
    check_damage()
    check_stop()
    check_learnt()
    check_shards()
    check_together()
    check_kills()
print("index: fine, %d kills" % KILLS)
