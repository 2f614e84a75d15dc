#!/usr/bin/python3
"""What a run tells while it goes on: --events, --metrics, and `gpmem watch` (argument: the tool)."""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp(prefix="gpmem-watch-")
PROGRAM = """assume mu = normal(0, 2);
observe normal(mu, 1) = 1;
infer accumulate_dataset(%d, do(mh(default, one, %d), collect(mu)));
%s
"""


def at(name): return os.path.join(WORK, name)


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return r.stdout


def events(name): return [json.loads(l) for l in open(at(name))]


def metrics(name):
    """{name{labels}: value}; every metric has its help and type before it."""
    out, known = {}, set()
    for line in open(at(name)):
        if line.startswith("# TYPE "):
            known.add(line.split()[2])
        elif not line.startswith("#"):
            m = re.fullmatch(r'(\w+)\{chain="(\d+)"\} (\S+)\n', line)
            assert m and m.group(1) in known, line
            out[m.group(1), int(m.group(2))] = float(m.group(3))
    return out


def check_events():
    run("run", "good.vnts", "--chains", "2", "--out", "plain")
    run("run", "good.vnts", "--chains", "2", "--chain", "4", "--out", "good", "--events", "ev", "--metrics", "prom")
    got = events("ev")
    for chain in (4, 5):
        mine = [e for e in got if e["chain"] == chain]
        assert mine[0]["event"] == "start" and mine[-1]["event"] == "end" and mine[-1]["status"] == "finished" and mine[-1]["draws"] == 300, mine
        assert all(e["time"] <= f["time"] for e, f in zip(mine, mine[1:]))
    m = metrics("prom")
    assert m["gpmem_draws_total", 4] == m["gpmem_draws_total", 5] == 300 and m["gpmem_running", 4] == 0 and m["gpmem_share", 5] == 1, m
    run("run", "bad.vnts", "--events", "ev", "--metrics", "prom", status=1)  # another run's events come behind
    assert len(events("ev")) == len(got) + 2 and events("ev")[-1]["status"] == "failed" and "nobody" in events("ev")[-1]["why"]
    assert metrics("prom")["gpmem_failed", 0] == 1
    assert "cannot write" in subprocess.run([TOOL, "run", "good.vnts", "--events", "no/such/ev"], cwd=WORK, stderr=subprocess.PIPE, text=True).stderr


def check_watch():
    text = run("watch", "plain", "good", "--html", "page.html")
    lines = [l.split() for l in text.splitlines()]
    assert [l[:4] for l in lines[1:]] == [["plain", "finished", "2", "600"], ["good", "finished", "2", "600"]], text
    assert 0.9 < float(lines[1][5]) < 1.1 and float(lines[1][6]) > 50, text
    page = open(at("page.html")).read()
    assert "<td>plain</td>" in page and "finished" in page
    assert "not there" in run("watch", "--once", "nowhere")
    p = subprocess.Popen([TOOL, "run", "long.vnts", "--out", "long"], cwd=WORK, stderr=subprocess.DEVNULL)
    while not (os.path.exists(at("long/chain-1.csv")) and os.path.getsize(at("long/chain-1.csv")) > 1000):
        time.sleep(0.05)
    assert " running " in run("watch", "--once", "long")
    with open(at("watched"), "w") as seen:
        w = subprocess.Popen([TOOL, "watch", "long", "--every", "0.2s"], cwd=WORK, stdout=seen)
    counts = lambda: [int(l.split()[3]) for l in open(at("watched")).read().split("\n")[:-1] if l.startswith("  long ")]
    while len(set(counts())) < 2:  # until it has seen the run go on
        time.sleep(0.05)
        assert p.poll() is None and w.poll() is None
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 4
    assert w.wait(timeout=60) == 0  # it ends when no run goes on
    out = open(at("watched")).read()
    assert " stopped " in out.splitlines()[-1] and " running " in out, out
    assert counts() == sorted(counts()), counts()
    os.makedirs(at("<b>"))
    shutil.copytree(at("plain"), at("<b>/run"))
    run("watch", "--once", "<b>/run", "--html", "odd.html")
    assert "&lt;b&gt;/run" in open(at("odd.html")).read()


try:
    for name, text in (("good.vnts", PROGRAM % (300, 2, "")), ("long.vnts", PROGRAM % (1000000, 20, "")), ("bad.vnts", "assume x = normal(nobody, 1);\n")):
        with open(at(name), "w") as f:
            f.write(text)
    check_events()
    check_watch()
    print("watching: all checks passed")
finally:
    shutil.rmtree(WORK, ignore_errors=True)
