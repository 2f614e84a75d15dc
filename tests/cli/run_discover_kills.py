#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Searches for structures that are killed at random moments go on from their folder and end with the bytes of one that
nobody touched: a series, with a backtest, a panel, a run made longer, a folder that was moved; signals end all of
them with status 4 and what was found; damaged and foreign journals. Arguments: the tool, and optionally how many
kills of each kind (default 3)."""
import json, os, random, re, shutil, signal, subprocess, sys, tempfile, time
from each import Moments

TOOL = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = tempfile.mkdtemp(prefix="gpmem-discover-kills-")
os.chdir(WORK)
shutil.copy(os.path.join(ROOT, "data", "airline.csv"), "airline.csv")
JOURNAL = "search.journal"


def wave(i, k):
    return round(5 + 0.02 * k * i + (1 + k) * ((i % 12) - 5.5) / 6 + random.Random(100 * k + i).gauss(0, 0.4), 4)


with open("panel.csv", "w") as f:
    f.write("t,a,b,c\n" + "".join("%d,%g,%g,%g\n" % (i, wave(i, 0), wave(i, 1), wave(i, 2)) for i in range(36)))


def run(*words, status=0):
    r = subprocess.run([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == status, (words, r.returncode, r.stdout[-500:], r.stderr)
    return r.stdout + r.stderr


def untimed(text):
    """What does not depend on how long it took."""
    return re.sub(r'"(max_)?seconds": [0-9.e-]+', "", re.sub(r"[0-9.]+ s, seed", "s, seed", text))


def contents(folder):
    """The files of a run, and of runs in it."""
    out = {}
    for name, _, files in sorted(os.walk(folder)):
        for f in files:
            assert f != "lock", name
            out[os.path.join(os.path.relpath(name, folder), f)] = untimed(open(os.path.join(name, f)).read())
    return out


def begun(words):
    return subprocess.Popen([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed(words, moment, sign=signal.SIGKILL):
    """The status after a signal at that moment, None: it was over before."""
    p = begun(words)
    try:
        p.communicate(timeout=moment)
        return None
    except subprocess.TimeoutExpired:
        p.send_signal(sign)
        out = p.communicate()
        assert p.returncode in (0, -sign, 4), (words, p.returncode, out)
        return p.returncode if p.returncode else None


def reused(folder):
    return os.path.getsize(os.path.join(folder, JOURNAL)) if os.path.exists(os.path.join(folder, JOURNAL)) else 0


SMALL = ["airline.csv", "--max-points", "60"]
KINDS = {
    "a series": SMALL,
    "a backtest": ["airline.csv", "--max-points", "48", "--backtest", "2", "--horizon", "6", "--log", "never"],
    "a panel": ["panel.csv", "--wide"],
}


def check_kind(name, rng):
    given = KINDS[name]
    whole, ours = name.replace(" ", "-") + "-whole", name.replace(" ", "-")
    start = time.time()
    text = untimed(run("discover", *given, "--out", whole))
    length = time.time() - start
    assert JOURNAL not in os.listdir(whole)
    first, hits, sizes = ["discover", *given, "--out", ours], 0, []
    for k in range(KILLS):
        sign = signal.SIGTERM if k % 3 == 2 else signal.SIGKILL
        if killed(first if hits == 0 or k % 2 else ["discover", "--continue", ours], rng.uniform(0.05, 0.3) * length,
                  sign) is None:
            break
        if not reused(ours) and hits:
            run(*first)  # it was at its end, and had put the journal away
            break
        if not reused(ours):
            continue  # it had not begun
        hits += 1
        sizes.append(reused(ours))
        assert sizes == sorted(sizes), sizes  # nothing that was computed is lost
    if hits and os.path.exists(os.path.join(ours, JOURNAL)):
        os.rename(ours, ours + "-moved")  # the folder holds all it needs
        os.rename("airline.csv", "elsewhere.csv")
        last = untimed(run("discover", "--continue", ours + "-moved"))
        os.rename("elsewhere.csv", "airline.csv")
        os.rename(ours + "-moved", ours)
        assert last == text, name
    elif not hits:
        run(*first)
    assert contents(ours) == contents(whole), name
    print("%s: %d kills in %.1f s, journal %s bytes" % (name, hits, length, sizes))
    return hits


def check_longer(rng):
    """A finished run is made longer: killed, it is as it was, and the same command goes on."""
    shutil.copytree("a-series-whole", "longer")
    shutil.copytree("a-series-whole", "longer-whole")
    start = time.time()
    text = untimed(run("discover", "--continue", "longer-whole"))
    moments = Moments(rng, time.time() - start, 0.1, 0.5)
    before, after = contents("longer"), contents("longer-whole")
    # a limit that is over before it has gone on: at once, and nothing is changed
    assert "stopped before the search went on" in run("discover", "--continue", "longer", "--max-time", "0.000001", status=4)
    assert contents_but_journal("longer") == before
    for _ in range(KILLS):
        if killed(["discover", "--continue", "longer"], moments.next()) is None:
            break
        if not reused("longer"):
            moments.was_early()
            continue
        now = contents_but_journal("longer")
        if now == before: continue
        # it had come to where it writes: file by file, and then it is the longer run, which would be made longer still
        assert all(now.get(f) in (before.get(f), after.get(f)) for f in {**now, **before}), now.keys()
        moments.was_over()
        shutil.rmtree("longer")
        shutil.copytree("a-series-whole", "longer")
    else:
        assert untimed(run("discover", "--continue", "longer")) == text
    assert contents("longer") == contents("longer-whole")


def contents_but_journal(folder):
    if os.path.exists(os.path.join(folder, "lock")):
        os.remove(os.path.join(folder, "lock"))
    os.rename(os.path.join(folder, JOURNAL), "aside")
    out = {name: text for name, text in contents(folder).items() if not name.endswith(".tmp")}  # what a killed writer leaves
    os.rename("aside", os.path.join(folder, JOURNAL))
    return out


def partial(seconds):
    """A journal, of more than its head, of a search that was killed; the bytes."""
    shutil.rmtree("damaged", ignore_errors=True)
    while reused("damaged") < 20000:
        assert killed(["discover", *SMALL, "--out", "damaged"], seconds) is not None
        seconds *= 1.3
    return open(os.path.join("damaged", JOURNAL), "rb").read()


def check_damage():
    whole = contents("a-series-whole")
    data = partial(0.2)
    cases = {"cut": data[:-7], "changed": data[:len(data) * 2 // 3] + b"?" + data[len(data) * 2 // 3 + 1:],
             "no head": b"x" + data[1:], "empty": b""}
    for name, bytes_ in cases.items():
        with open(os.path.join("damaged", JOURNAL), "wb") as f:
            f.write(bytes_)
        if name in ("no head", "empty"):  # nobody knows what was asked for
            assert "cannot go on: search.journal is damaged" in run("discover", "--continue", "damaged", status=2)
        else:
            assert "discover --continue damaged" in run("report", "damaged", status=2)
        run("discover", *SMALL, "--out", "damaged")
        assert contents("damaged") == whole, name
        shutil.rmtree("damaged")
        os.mkdir("damaged")
    check_foreign(whole)
    # another search in the same folder begins anew
    partial(0.2)
    run("discover", "airline.csv", "--seed", "2", "--max-points", "30", "--out", "damaged")
    run("discover", "airline.csv", "--seed", "2", "--max-points", "30", "--out", "other")
    assert contents("damaged") == contents("other")
    # a file that is none leaves no folder behind
    with open("none.csv", "w") as f:
        f.write("t,y\n1,a\n")
    run("discover", "none.csv", "--out", "nothing", status=2)
    assert not os.path.exists("nothing")
    # two at once
    p = begun(["discover", *SMALL, "--out", "busy"])
    while not os.path.exists(os.path.join("busy", JOURNAL)):
        time.sleep(0.01)
    run("discover", *SMALL, "--out", "busy", status=1)
    assert p.wait() == 0
    assert contents("busy") == whole


def check_foreign(whole):
    """Results that somebody else wrote are not taken: a made-up one leads anywhere in memory. Nor are they a hindrance, nor is it one
    that no key can be kept."""
    mine = os.environ.get("XDG_STATE_HOME")
    for state, kept in ((os.path.join(WORK, "another"), True), ("/proc/no", False)):
        partial(0.2)
        os.environ["XDG_STATE_HOME"] = state
        assert "another user or machine wrote it" in run("discover", "--continue", "damaged", status=2)
        assert "another user or machine wrote it" in run("report", "damaged", status=2)
        run("discover", *SMALL, "--out", "damaged")
        assert contents("damaged") == whole
        assert kept or killed(["discover", *SMALL, "--out", "keyless"], 0.4) is None or not reused("keyless")
        if mine is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = mine


def check_limit(rng):
    """What was done in a hurry, at the end of --max-time, is done again by who has the time."""
    whole, seen = contents("a-series-whole"), 0
    moments = Moments(rng, 1, 0.1, 0.5)
    for _ in range(12):
        shutil.rmtree("limit", ignore_errors=True)
        limit = moments.next()
        killed(["discover", *SMALL, "--max-time", "%.2f" % limit, "--out", "limit"], limit * rng.uniform(0.7, 1.4))
        if not reused("limit"):
            moments.was_early()
            continue
        run("discover", "--continue", "limit")
        now = contents("limit")
        assert now == whole, [name for name in {**now, **whole} if now.get(name) != whole.get(name)]
        seen += 1
        if seen == 2:
            break
    assert seen, "no search was killed in time"


def check_early_signals(rng):
    """A signal while the journal is gone through again leaves all of it for the next run."""
    whole = contents("a-series-whole")
    moments, stopped = Moments(rng, 1, 0.3, 1), 0
    while reused("kept") < 100000:  # a good part of the search
        shutil.rmtree("kept", ignore_errors=True)
        if killed(["discover", *SMALL, "--out", "kept"], moments.next()) is None: moments.was_over()
        elif reused("kept") < 100000: moments.was_early()
    size, moments = reused("kept"), Moments(rng, 0.3, 0, 1)
    for _ in range(20):
        shutil.rmtree("early", ignore_errors=True)
        shutil.copytree("kept", "early")
        status = killed(["discover", "--continue", "early"], moments.next(), signal.SIGTERM)
        if status is None: moments.was_over()
        elif status != 4: moments.was_early()  # it did not listen yet
        else:
            stopped += 1
            assert reused("early") >= size, (reused("early"), size)
            shutil.rmtree("stopped", ignore_errors=True)
            os.rename("early", "stopped")  # the last of the tries may be over before its signal
    assert stopped, "no signal came in time"
    run("discover", "--continue", "stopped")
    assert contents("stopped") == whole


def check_short_limit():
    """A limit that is over before the journal was gone through: what could be looked at is less than is known, and does not take its place."""
    size = reused("kept")
    shutil.copytree("kept", "short")
    for limit in (0.000001, 0.003, 0.006, 0.012, 0.024):  # the last ones may be long enough for all of it
        r = subprocess.run([TOOL, "discover", "--continue", "short", "--max-time", "%g" % limit], capture_output=True, text=True)
        if r.returncode == 0 and limit > 0.000001:
            shutil.rmtree("short")
            shutil.copytree("kept", "short")
            continue
        assert r.returncode == 4 and "what it had found stays" in r.stderr, (limit, r)
        now, before = (set(os.listdir(d)) - {"lock"} for d in ("short", "kept"))
        assert now == before and reused("short") == size, (limit, now, before, reused("short"), size)
    run("discover", "--continue", "short")
    assert contents("short") == contents("a-series-whole")


def check_signals():
    """Each kind ends in good order; what was found by then is told, and nothing is left running."""
    for words, said in ((["panel.csv", "--wide"], "3 series"),
                        (["panel.csv", "--wide", "--out", "p"], "3 series")):
        start = time.time()
        whole = run("discover", *words)
        wait = (time.time() - start) * 0.6
        for _ in range(8):
            shutil.rmtree("p", ignore_errors=True)
            p = begun(["discover", *words])
            time.sleep(wait)
            p.send_signal(signal.SIGTERM)
            out, err = p.communicate(timeout=60)
            if p.returncode == 4:
                assert said in out or "stopped before" in err or "interrupted" in err, (words, out, err)
                break
            wait *= 1.5 if p.returncode < 0 else 0.7  # it had not begun to listen, or was over
        else:
            raise AssertionError("no signal came in time: %s" % words)
        if "--out" in words:
            assert untimed(run("discover", "--continue", "p")) == untimed(whole)


def main():
    rng = random.Random(5)
    hits = sum(check_kind(name, rng) for name in KINDS)
    assert hits, "no search was killed in time"
    check_longer(rng)
    check_damage()
    check_limit(rng)
    check_early_signals(rng)
    check_short_limit()
    check_signals()
    print("%d kills" % hits)


try:
    main()
finally:
    os.chdir("/")
    shutil.rmtree(WORK)
