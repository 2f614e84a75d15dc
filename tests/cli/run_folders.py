#!/usr/bin/python3
"""Runs kept on disk: run --out, summary, diagnose, plot, export, and resume after SIGKILL at random
moments (arguments: the tool, [number of kills, default 8])."""
import filecmp, hashlib, json, os, random, re, shutil, signal, subprocess, sys, tempfile, time
import numpy as np
import xarray
import xml.etree.ElementTree as ET
from each import Moments

TOOL = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
WORK = tempfile.mkdtemp(prefix="gpmem-folders-")
PROGRAM = """assume mu = normal(0, 2);
assume s = gamma(2, 2);
for (i = 0; i < 10; i++) { observe normal(mu, s) = 1 + 0.1 * i; };
infer repeat(50, mh(default, one, 2));
infer accumulate_dataset(%d, do(mh(default, one, %d), collect(mu, s, labelled(array(mu, 2 * mu), both))));
sample mu;
"""


def at(*names):
    return os.path.join(WORK, *names)


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert r.returncode == status, (args, r.returncode, r.stderr.decode()[-500:])
    return r.stdout.decode() if status == 0 else r.stderr.decode()


def write(name, text):
    with open(at(name), "w") as f:
        f.write(text)
    return at(name)


def table(path):
    lines = [l for l in open(path).read().split("\n") if l and not l.startswith("#")]
    return lines[0].split(","), np.array([[float(v) for v in l.split(",")] for l in lines[1:]])


def same_draws(a, b, chains):
    return all(filecmp.cmp(os.path.join(a, "chain-%d.csv" % (i + 1)), os.path.join(b, "chain-%d.csv" % (i + 1)), False)
               for i in range(chains))


def check_end():
    """What says that it is finished has its diagnostics, whenever it was killed: the manifest comes last. Runs of before, which had it
    the other way round, get them by --continue."""
    program = write("end.vnts", PROGRAM % (20, 1))
    usual = ["run", program, "--out", at("end"), "--chains", "2"]
    os.makedirs(at("end", "diagnostics.json"))  # in the way
    run(*usual, status=1)
    assert json.load(open(at("end", "manifest.json")))["state"] != "finished"
    os.rmdir(at("end", "diagnostics.json"))
    run(*usual, "--continue")
    whole = json.load(open(at("end", "diagnostics.json")))
    assert whole["draws"] == 20 and len(whole["transitions"]) == 2 and all(whole["transitions"]), whole
    assert json.load(open(at("end", "manifest.json")))["state"] == "finished"
    os.remove(at("end", "diagnostics.json"))
    run(*usual, "--continue")
    assert json.load(open(at("end", "diagnostics.json"))) == whole
    run("run", program, "--out", at("end2"), "--chain", "2")
    os.makedirs(at("merged", "diagnostics.json"))
    run("merge", at("merged"), at("end"), at("end2"), status=1)
    os.rmdir(at("merged", "diagnostics.json"))
    run("merge", at("merged"), at("end"), at("end2"))
    assert json.load(open(at("merged", "diagnostics.json")))["draws"] == 20
    silent = write("silent.vnts", "print(1);")
    run("run", silent, "--out", at("silent"))
    before = os.stat(at("silent", "manifest.json")).st_mtime_ns
    run("run", silent, "--out", at("silent"), "--continue")
    assert os.stat(at("silent", "manifest.json")).st_mtime_ns == before  # nothing was run again


def check_reading():
    program = write("small.vnts", PROGRAM % (300, 6))
    out = run("run", program, "--chains", "2", "--seed", "5", "--out", at("run"))
    assert out == run("run", program, "--chains", "2", "--seed", "5")  # keeping draws changes nothing
    manifest = json.load(open(at("run", "manifest.json")))
    assert manifest["state"] == "finished" and manifest["seed"] == 5 and manifest["chains"] == 2
    digest = hashlib.sha256(open(program, "rb").read()).hexdigest()
    assert manifest["files"] == [{"path": os.path.realpath(program), "sha256": digest}], manifest
    names, x = table(at("run", "chain-1.csv"))
    _, y = table(at("run", "chain-2.csv"))
    assert names == ["mu", "s", "both.1", "both.2"] and x.shape == y.shape == (300, 4)
    assert np.array_equal(x[:, 3], 2 * x[:, 0]) and not np.array_equal(x, y)

    summary = json.loads(run("summary", "--format", "json", at("run")))
    both = np.concatenate([x[:, 0], y[:, 0]])
    assert abs(summary["mu"]["mean"] - both.mean()) < 1e-9 and abs(summary["mu"]["sd"] - both.std(ddof=1)) < 1e-9
    kept = json.load(open(at("run", "diagnostics.json")))
    assert kept["quantities"] == summary and kept["draws"] == 300, kept
    assert "rhat" in run("summary", at("run"))
    check_moves(program, kept)
    r = subprocess.run([TOOL, "diagnose", at("run")], stdout=subprocess.PIPE)
    assert r.returncode in (0, 1) and (b"nothing to complain" in r.stdout) == (r.returncode == 0)
    assert "iteration" in run("plot", at("run"), "--column", "mu")
    run("plot", at("run"), "--svg", at("plot.svg"))
    assert ET.parse(at("plot.svg")).getroot().tag.endswith("svg")

    for kind, words in {"trace": "iteration", "density": "density", "ranks": "rank among all chains", "autocorrelation": "lag"}.items():
        run("plot", at("run"), "--kind", kind, "--column", "s", "--svg", at("kind.svg"))
        assert words in open(at("kind.svg")).read() and words in run("plot", at("run"), "-k", kind, "-c", "s"), kind
    lag = [float(v) for v in re.findall(r"-?[\d.]+", "".join(re.findall(r'<path d="(M[^"]+)"', open(at("kind.svg")).read())[:1]))]
    assert len(lag) >= 2 * 41, len(lag)  # a point for each lag from 0 to 40

    run("export", at("run"), "--format", "stan", "--out", at("stan"))
    assert np.array_equal(table(at("stan-2.csv"))[1], y)
    draws = json.loads(run("export", at("run"), "--format", "json"))["draws"]
    assert np.array_equal(np.array(draws["s"]), np.array([x[:, 1], y[:, 1]]))
    run("export", at("run"), "--format", "zarr", "--out", at("z"))
    meta = json.load(open(at("z", "mu", ".zarray")))
    raw = np.fromfile(at("z", "mu", "0.0"), dtype=meta["dtype"]).reshape(meta["shape"])
    assert np.array_equal(raw, np.array([x[:, 0], y[:, 0]]))
    assert json.load(open(at("z", "mu", ".zattrs")))["_ARRAY_DIMENSIONS"] == ["chain", "draw"]
    assert np.array_equal(xarray.open_zarr(at("z"), consolidated=False)["mu"].values, raw)


def check_moves(program, kept):
    """Acceptance by scope and divergences are kept, the same after resume, and said."""
    moves = kept["transitions"]
    assert len(moves) == 2 and all(m["divergences"] == 0 for m in moves), moves
    for m in moves:
        assert list(m["scopes"]) == ["default"] and m["scopes"]["default"]["proposed"] == 50 * 2 + 300 * 6, m
        assert 0 < m["scopes"]["default"]["accepted"] < 1900, m
    line = [l for l in run("summary", at("run")).split("\n") if l.startswith("proposals accepted: ")][0]
    for name in moves[0]["scopes"]:
        a, p = (sum(m["scopes"][name][k] for m in moves) for k in ("accepted", "proposed"))
        assert "%s %.0f%%" % (name, 100 * a / p) in line, line
    os.unlink(at("run", "diagnostics.json"))
    assert "accepted" not in run("summary", at("run"))  # as in a run that was killed
    run("resume", at("run"))
    assert json.load(open(at("run", "diagnostics.json"))) == kept
    funnel = write("funnel.vnts", "assume v = normal(0, 9); assume x = normal(0, exp(v)); observe normal(x, 0.001) = 1;\n"
                   "infer accumulate_dataset(20, do(hmc(default, all, 2, 10, 1), collect(v)));")
    run("run", funnel, "--out", at("funnel"))
    n = json.load(open(at("funnel", "diagnostics.json")))["transitions"][0]["divergences"]
    r = subprocess.run([TOOL, "diagnose", at("funnel")], stdout=subprocess.PIPE, text=True)
    assert n > 0 and r.returncode == 1 and "%d trajectories diverged" % n in r.stdout, r.stdout
    assert "%d trajectories diverged" % n in run("summary", at("funnel"))


def check_errors():
    assert "holds a run already" in run("run", at("small.vnts"), "--out", at("run"), status=2)
    for name in ("chain-1.csv", "program.vnts"):  # of the user's, not of a run
        os.makedirs(at("own"))
        with open(at("own", name), "w") as f: f.write("mine\n")
        assert "%s' would be written over; choose another folder" % name in run("run", at("small.vnts"), "--out", at("own"), status=2)
        assert os.listdir(at("own")) == [name] and open(at("own", name)).read() == "mine\n"
        shutil.rmtree(at("own"))
    broken = write("broken.vnts", "assume x = normal(0, 1); infer accumulate_dataset(2, collect(x)); sample 1 / \"a\";")
    run("run", broken, "--out", at("broken"), status=1)
    write("broken.vnts", "assume x = normal(0, 1); infer accumulate_dataset(2, collect(x));")
    assert "holds a run that failed; delete the folder" in run("run", broken, "--out", at("broken"), status=2)
    assert "gpmem run --out" in run("summary", at("nowhere"), status=2)
    os.makedirs(at("found"), exist_ok=True)
    write("found/manifest.json", '{"format": 1, "kind": "gpmem discovery"}')
    assert "gpmem discover" in run("summary", at("found"), status=2)
    assert "gpmem discover" in run("query", at("run"), "LIN", status=2)
    assert "no such column" in run("plot", at("run"), "-c", "nope", status=2)
    run("run", write("none.vnts", "1 + 1;"), "--out", at("none"))
    assert "no draws" in run("summary", at("none"), status=1)
    copy = write("changed.vnts", PROGRAM % (20, 2))
    run("run", copy, "--out", at("changed"))
    write("changed.vnts", PROGRAM % (20, 3))
    assert "has changed" in run("resume", at("changed"), status=2)
    write("changed.vnts", PROGRAM % (20, 2))
    path = at("changed", "chain-1.csv")
    text = open(path).read()
    open(path, "w").write(text.replace(text.split("\n")[3], "1,2,3,4"))
    assert "did not repeat" in run("resume", at("changed"), status=1)
    deep = write("deep.vnts", "define f = proc(n) { if (n <= 0) { 0 } else { 1 + f(n - 1) } };\n"
                 "assume x = normal(f(2000), 1);\ninfer accumulate_dataset(3, do(mh(default, one, 1), collect(x)));")
    assert "--max-depth" in run("run", "--max-depth", "10", deep, "--out", at("deep"), status=1)
    run("resume", "--max-depth", "10000", at("deep"))  # goes on with what the error asked for


def check_data():
    """The files that a program reads are in the manifest, and a run whose data have changed does not go on."""
    sizes = [0, 1, 55, 56, 63, 64, 65, 119, 120, 4000]  # around the blocks of the hash
    for n in sizes:
        write("data-%d.csv" % n, "y\n" + "1\n" * n)
    loads = write("part.vnts", "define zs = read_csv(\"data-4000.csv\");")
    program = write("reads.vnts", "load \"part.vnts\";\n" +
                    "".join("define y%d = read_csv(\"data-%d.csv\");\n" % (n, n) for n in sizes[1:]) +
                    "assume m = normal(0, 1);\ninfer accumulate_dataset(30, do(mh(default, one, 1), collect(m)));\n")
    run("run", program, "--out", at("reads"), "--chains", "2")
    files = {os.path.basename(f["path"]): f["sha256"] for f in json.load(open(at("reads", "manifest.json")))["files"]}
    want = ["reads.vnts", os.path.basename(loads)] + ["data-%d.csv" % n for n in sizes[1:]]
    assert sorted(files) == sorted(want), files
    for name in want:
        assert files[name] == hashlib.sha256(open(at(name), "rb").read()).hexdigest(), name
    run("resume", at("reads"))
    write("data-64.csv", "y\n" + "2\n" * 64)
    assert "data-64.csv' has changed since the run began" in run("resume", at("reads"), status=1)


def check_kills():
    program = write("long.vnts", PROGRAM % (1500, 60))
    began = time.time()
    run("run", program, "--chains", "2", "--seed", "9", "--out", at("whole"))
    whole = time.time() - began
    done = midway = 0
    moments = Moments(random.Random(9), whole, 0, 1)
    for k in range(20 * KILLS):  # until enough have hit a run, and enough of those between its draws
        folder = at("killed")
        shutil.rmtree(folder, ignore_errors=True)
        p = subprocess.Popen([TOOL, "run", program, "--chains", "2", "--seed", "9", "--out", folder],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.next())
        alive = p.poll() is None
        p.send_signal(signal.SIGKILL)
        p.wait()
        if not alive:
            moments.was_over()
            continue
        if not os.path.exists(os.path.join(folder, "manifest.json")):
            moments.was_early()
            continue
        sizes = [os.path.getsize(f) if os.path.exists(f) else 0 for f in
                 (os.path.join(folder, "chain-%d.csv" % i) for i in (1, 2))]
        if all(sizes):  # what is there can be read
            run("summary", folder)
            midway += 1
        else:
            moments.was_early()
        run("resume", folder)
        assert same_draws(folder, at("whole"), 2), "draws differ after kill %d" % k
        assert json.load(open(os.path.join(folder, "manifest.json")))["state"] == "finished"
        done += 1
        if done >= KILLS and midway > KILLS / 4:
            break
    assert done >= KILLS and midway > KILLS / 4, "%d kills hit a run, %d of them between draws" % (done, midway)
    print("%d kills hit a run, %d of them between draws" % (done, midway))
    # a limit well inside the run; one that was too long for a machine that is faster now is made shorter
    for share in (5, 20, 100, 1000):
        shutil.rmtree(at("short"), ignore_errors=True)
        r = subprocess.run([TOOL, "run", program, "--max-time", "%.6f" % (whole / share), "--seed", "9", "--chains", "2",
                            "--out", at("short")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if r.returncode:
            break
    assert r.returncode == 4 and b"E0703" in r.stderr, (r.returncode, r.stderr)
    run("resume", at("short"))
    assert same_draws(at("short"), at("whole"), 2)


try:
    check_end()
    check_reading()
    check_errors()
    check_data()
    check_kills()
    print("folders: all checks passed, %d kills" % KILLS)
finally:
    shutil.rmtree(WORK, ignore_errors=True)
