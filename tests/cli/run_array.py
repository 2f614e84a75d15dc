#!/usr/bin/python3
"""Chains as tasks of a job array: their numbers from the environment, folders that go on, merge, signals,
folders that were moved, scripts for schedulers (argument: the tool)."""
import filecmp, json, math, os, random, resource, shutil, signal, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp(prefix="gpmem-array-")
PROGRAM = """define y = read_csv("numbers.csv");
assume mu = normal(0, 2);
for (i = 0; i < 10; i++) { observe normal(mu, 1) = 1 + 0.1 * i; };
infer accumulate_dataset(%d, do(mh(default, one, %d), collect(mu)));
"""
NAMES = {"SLURM_ARRAY_TASK_ID": 0, "PBS_ARRAY_INDEX": 0, "PBS_ARRAYID": 0, "SGE_TASK_ID": 1, "LSB_JOBINDEX": 1,
         "JOB_COMPLETION_INDEX": 0, "OMPI_COMM_WORLD_RANK": 0, "PMIX_RANK": 0, "PMI_RANK": 0, "SLURM_PROCID": 0}
CLEAN = {k: v for k, v in os.environ.items() if k not in NAMES}


def run(*args, status=0, env=None, cwd=WORK):
    r = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env={**CLEAN, **(env or {})})
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:])
    return r.stdout + r.stderr


def write(name, text):
    path = os.path.join(WORK, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def manifest(folder): return json.load(open(os.path.join(WORK, folder, "manifest.json")))
def same(a, b, name): return filecmp.cmp(os.path.join(WORK, a, name), os.path.join(WORK, b, name), False)


def same_run(a, b, chains):
    names = ["chain-%d.csv" % (i + 1) for i in range(chains)] + ["diagnostics.json", "program.vnts"]
    return all(same(a, b, n) for n in names)


def arrays():
    run("run", "short.vnts", "--chains", "4", "--out", "whole", "--seed", "3")
    for k, (name, first) in enumerate(NAMES.items()):
        chain = k % 4
        run("run", "short.vnts", "--chain", "auto", "--out", "runs/{chain}", "--continue", "--seed", "3", env={name: str(chain + first)})
        assert manifest("runs/%d" % chain)["first_chain"] == chain
        if k < 4:
            assert manifest("runs/%d" % chain)["chain_from"] == "%s=%d" % (name, chain + first)
    # an array before a rank; what is no number, or means that there is no array, is passed over
    both = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_PROCID": "0", "SGE_TASK_ID": "undefined"}
    assert "chain 2 (SLURM_ARRAY_TASK_ID=2)" in run("run", "-v", "short.vnts", "--chain", "auto", env=both)
    assert "chain 5 (PMI_RANK=5)" in run("run", "-v", "short.vnts", "--chain", "auto", env={"SGE_TASK_ID": "undefined", "LSB_JOBINDEX": "0", "PMI_RANK": "5"})
    assert "SLURM_ARRAY_TASK_ID" in run("run", "short.vnts", "--chain", "auto", status=2)
    for wrong in ("-1", "1.5", "x", "4294967295"):
        assert "--chain" in run("run", "short.vnts", "--chain=" + wrong, status=2)
    folders = ["runs/%d" % i for i in (3, 1, 0, 2)]
    run("merge", "merged", *folders)
    assert same_run("whole", "merged", 4) and manifest("merged")["state"] == "finished" and manifest("merged")["chains"] == 4
    assert run("summary", "merged") == run("summary", "whole")
    run("resume", "merged")  # it is a run like any other
    assert same_run("whole", "merged", 4)
    two = {"SLURM_ARRAY_TASK_ID": "1"}
    run("run", "short.vnts", "--chain", "auto", "--chains", "2", "--out", "pair{chain}", "--seed", "3", env=two)
    assert manifest("pair2")["first_chain"] == 2 and same("pair2", "whole", "program.vnts")
    assert filecmp.cmp(os.path.join(WORK, "pair2/chain-2.csv"), os.path.join(WORK, "whole/chain-4.csv"), False)


def refusals():
    def refuse(words, *folders, status=1):
        said = run("merge", "no", *folders, status=status)
        assert words in said, said
        assert not os.path.exists(os.path.join(WORK, "no", "manifest.json"))
    refuse("chain 2 is missing", "runs/0", "runs/1", "runs/3")
    refuse("chain 0 is missing", "runs/1")
    refuse("chain 1 is in", "runs/0", "runs/1", "runs/1")
    run("run", "short.vnts", "--chain", "1", "--out", "other", "--seed", "4")
    refuse("has seed", "runs/0", "other")
    run("run", "long.vnts", "--max-time", "0.2", "--chain", "1", "--out", "program", "--seed", "3", status=4)
    refuse("different programs", "runs/0", "program")
    refuse("has not finished (state: stopped)", "program")
    refuse("holds no run", "runs/0", "nowhere", status=2)
    assert "holds a run already" in run("merge", "merged", "runs/0", status=2)
    for name in ("program.vnts", "chain-2.csv"):  # the user's, not of a run
        own = os.path.join(WORK, "own-" + name)
        os.makedirs(own)
        with open(os.path.join(own, name), "w") as f: f.write("mine\n")
        assert "%s' would be written over" % name in run("merge", own, "runs/0", "runs/1", status=1)
        assert os.listdir(own) == [name] and open(os.path.join(own, name)).read() == "mine\n", os.listdir(own)
    run("merge", "--partial", "some", "runs/1", "runs/3")
    assert manifest("some")["chains"] == 2 and filecmp.cmp(os.path.join(WORK, "some/chain-2.csv"), os.path.join(WORK, "whole/chain-4.csv"), False)
    assert "another run" in run("run", "short.vnts", "--seed", "5", "--out", "whole", "--continue", status=2)
    assert "a run of" in run("run", "long.vnts", "--seed", "3", "--chains", "4", "--out", "whole", "--continue", status=2)
    assert "--out" in run("run", "long.vnts", "--continue", status=2)


def started(folder, command, **options):
    p = subprocess.Popen(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN, **options)
    path = os.path.join(WORK, folder, "chain-1.csv")
    while not (os.path.exists(path) and os.path.getsize(path) > 2000):
        time.sleep(0.01)
        assert p.poll() in (None, 0)
    return p


def signals():
    """The draw is finished, the state is `stopped`, the status 4, and the same command goes on to the bytes of a whole run."""
    run("run", "long.vnts", "--out", "straight")
    command = [TOOL, "run", "long.vnts", "--out", "stops", "--continue"]
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGXCPU, signal.SIGHUP):
        for _ in range(20):  # until one is there before the end, however others keep this script from its turn
            shutil.rmtree(os.path.join(WORK, "stops"), ignore_errors=True)
            p = started("stops", command)
            p.send_signal(sig)
            _, err = p.communicate(timeout=60)
            if p.returncode: break
        assert p.returncode == 4, (sig, p.returncode, err)
        m = manifest("stops")
        assert m["state"] == "stopped" and m["failed"] == [], m
        assert "has not finished (state: stopped)" in run("summary", "stops")
        run(*command[1:])
        assert same_run("straight", "stops", 1), sig
        assert manifest("stops")["state"] == "finished"
    shutil.rmtree(os.path.join(WORK, "stops"))
    p = started("stops", ["nohup", TOOL, "run", "endless.vnts", "--out", "stops"])  # what is ignored stays so
    p.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert p.poll() is None
    p.send_signal(signal.SIGUSR1)
    p.send_signal(signal.SIGTERM)  # as Slurm does: no wish to end at once
    p.send_signal(signal.SIGTERM)
    assert p.wait(timeout=60) == 4
    p.communicate()


def readers_gone():
    """Slurm ends what reads a job's output with the job, ssh with the connection: the stop, or the end, is in good order all the same. A
    pipeline that keeps nothing ends with its reader, as ever."""
    command = [TOOL, "run", "long.vnts", "--out", "unread", "--continue"]
    for _ in range(20):
        shutil.rmtree(os.path.join(WORK, "unread"), ignore_errors=True)
        p = started("unread", command)
        p.stdout.close(), p.stderr.close()
        p.send_signal(signal.SIGTERM)
        p.wait(timeout=60)
        if manifest("unread")["state"] != "finished": break
    assert p.returncode == 4 and manifest("unread")["state"] == "stopped", (p.returncode, manifest("unread"))
    p = subprocess.Popen(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN)
    p.stdout.close(), p.stderr.close()
    p.wait(timeout=120)
    assert manifest("unread")["state"] == "finished" and same_run("straight", "unread", 1), p.returncode
    p = subprocess.Popen([TOOL, "run", "endless.vnts"], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN)
    p.send_signal(signal.SIGPIPE)  # a stop is what SIGTERM asks for, not this
    _, err = p.communicate(timeout=60)
    assert p.returncode == -signal.SIGPIPE and not err, (p.returncode, err)


def stopped_search():
    """A signal ends `discover` as --max-time does: status 4, what was found by then is written, and --continue goes on with it."""
    rng = random.Random(3)
    write("series.csv", "t,y\n" + "".join("%d,%.4f\n" % (i, 0.02 * i + math.sin(i / 5) * (1 + i / 300) + rng.gauss(0, 0.3)) for i in range(900)))
    journal = os.path.join(WORK, "found", "search.journal")
    p = subprocess.Popen([TOOL, "discover", "series.csv", "--out", "found"], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sizes = set()
    while len(sizes) < 5:  # until it has found something
        time.sleep(0.02)
        if os.path.exists(journal): sizes.add(os.path.getsize(journal))
        assert p.poll() is None, p.communicate()
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 4 and "stopped by a limit before it was done" in out, (p.returncode, out[-400:], err)
    assert "stopped by a limit" in run("report", "found")
    assert "900 values" in run("discover", "--continue", "found", "--max-time", "2")


def moves():
    """A folder that was moved with its neighbours, one that was moved alone, and one whose program is gone."""
    for name in ("short.vnts", "numbers.csv"):
        shutil.copy(os.path.join(WORK, name), write("here/" + name, ""))
    command = ["--max-time", "0.2", "--out", "here/run", "--data", "here/extra.csv"]
    write("here/extra.csv", "extra\n1\n2\n")
    write("here/long.vnts", LONG)
    run("run", "here/long.vnts", *command, status=4)
    os.rename(os.path.join(WORK, "here"), os.path.join(WORK, "there"))
    run("resume", "there/run")
    assert same("there/run", "straight", "chain-1.csv")
    os.makedirs(os.path.join(WORK, "far"))
    os.rename(os.path.join(WORK, "there/run"), os.path.join(WORK, "far/run"))
    os.unlink(os.path.join(WORK, "far/run/diagnostics.json"))
    run("resume", "far/run")
    os.unlink(os.path.join(WORK, "there/long.vnts"))
    write("far/run/numbers.csv", open(os.path.join(WORK, "numbers.csv")).read())  # beside the copy of the program
    run("resume", "far/run")
    assert same("far/run", "straight", "chain-1.csv")


def scripts():
    for kind in ("slurm", "pbs", "k8s", "snakemake"):
        text = run("jobs", kind, "its.vnts", "--chains", "3", "--time", "2h", "--memory", "512M", "--out", "o")
        assert "'its.vnts'" in text and "--continue" in text and "gpmem merge 'o/all' 'o/0' 'o/1' 'o/2'" in text, text
        assert "512" in text and ("--chain auto" in text) == (kind != "snakemake"), text
        if kind in ("slurm", "pbs"):
            assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
    assert "slurm" in run("jobs", "cron", "x.vnts", status=2)
    assert "--out" in run("jobs", "slurm", "x.vnts", "--out", "a\"b", status=2)


try:
    write("numbers.csv", "a,b\n1,2\n3,4\n")
    write("short.vnts", PROGRAM % (200, 2))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run("run", write("timed.vnts", PROGRAM % (1000, 300)))
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    LONG = PROGRAM % (int(1000 * 1.5 / took), 300)  # a second and a half on this machine, with nothing beside it
    write("long.vnts", LONG)
    write("endless.vnts", PROGRAM % (10000000, 300))
    for check in (arrays, refusals, signals, readers_gone, stopped_search, moves, scripts):
        check()
        print(check.__name__)
finally:
    shutil.rmtree(WORK, ignore_errors=True)
