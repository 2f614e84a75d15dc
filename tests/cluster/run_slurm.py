#!/usr/bin/python3
"""On a Slurm cluster of one node: the script that `gpmem jobs slurm` prints runs an array whose chains, merged, are the
bytes of --chains 4; a job that is preempted is stopped in good order, put back into the queue and goes on; one that is
cancelled stays away. With `limit`: one that is warned of its limit goes on, too; and a run that is longer than a job may take
is finished by several, each of which begins where the last one stopped (arguments: the tool, [limit])."""
import filecmp, json, os, re, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engines import Slurm

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-jobs-")
PROGRAM = """assume mu = normal(0, 2);
for (i = 0; i < 10; i++) { observe normal(mu, 1) = 1 + 0.1 * i; };
infer accumulate_dataset(%d, do(mh(default, one, %d), collect(mu)));
"""


def at(*names): return os.path.join(WORK.name, *names)


def run(*args):
    r = subprocess.run([TOOL, *args], cwd=WORK.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout


def same(a, b, chains):
    names = ["chain-%d.csv" % (i + 1) for i in range(chains)] + ["diagnostics.json"]
    return all(filecmp.cmp(at(a, n), at(b, n), False) for n in names)


def state(folder):
    try:
        return json.load(open(at(folder, "manifest.json")))["state"]
    except (OSError, ValueError):
        return None


def check_array(slurm):
    run("run", "short.vnts", "--chains", "4", "--seed", "3", "--out", "whole")
    script = run("jobs", "slurm", "short.vnts", "--chains", "4", "--seed", "3", "--time", "5m", "--memory", "100M")
    os.mkdir(at("runs"))
    slurm.submit(script, cwd=WORK.name)
    slurm.wait(lambda: not slurm.queue().strip(), 90)
    last = script.rstrip().split("\n")[-1].lstrip("# ")
    assert last.startswith("gpmem merge"), last
    subprocess.run(["bash", "-c", last], cwd=WORK.name, env=slurm.env, check=True, stderr=subprocess.DEVNULL)
    assert same("whole", "runs/all", 4)
    assert json.load(open(at("runs/2/manifest.json")))["chain_from"] == "SLURM_ARRAY_TASK_ID=2"


def submit_printed(slurm, program, out, *options):
    """A job of one chain by the script that is printed, with other options than its own."""
    script = run("jobs", "slurm", program, "--chains", "1", "--time", "5m", "--memory", "100M", "--out", out)
    os.mkdir(at(out))
    return slurm.submit(script, *options, cwd=WORK.name)


def release(slurm, job):
    """A job that is put back into the queue would wait two minutes; a new start in the second of its end is refused."""
    time.sleep(3)
    slurm.call("scontrol", "update", "jobid=" + job, "starttime=now", check=False)


def check_preempted(slurm):
    """A run that nothing but the preemption stops: in good order, before it is killed."""
    run("run", "long.vnts", "--chain", "0", "--out", "straight")
    job = submit_printed(slurm, "long.vnts", "moved", "--cpus-per-task=2")
    drawn = lambda: os.path.exists(at("moved/0/chain-1.csv")) and os.path.getsize(at("moved/0/chain-1.csv")) > 3000
    slurm.wait(drawn, 60)
    urgent = slurm.submit("#!/bin/bash\nsleep 1\n", "--partition=high", "--cpus-per-task=2", "--output=/dev/null", cwd=WORK.name)
    log = lambda: (state("moved/0"), open(at("moved/0.log")).read())
    slurm.wait(lambda: state("moved/0") == "stopped", 40, log)
    rows = open(at("moved/0/chain-1.csv")).read()
    assert rows.endswith("\n") and rows.count("\n") > 50
    slurm.wait(lambda: not re.search(r"^%s " % urgent, slurm.queue(), re.M), 60)
    release(slurm, job)
    slurm.wait(lambda: not slurm.queue().strip(), 120, log)
    assert state("moved/0") == "finished" and same("straight", "moved/0", 1), log()


def check_cancelled(slurm):
    """A job that somebody cancels stops in good order and does not come back."""
    job = submit_printed(slurm, "hours.vnts", "cancelled")
    drawn = lambda: os.path.exists(at("cancelled/0/chain-1.csv")) and os.path.getsize(at("cancelled/0/chain-1.csv")) > 3000
    slurm.wait(drawn, 60)
    slurm.call("scancel", job)
    slurm.wait(lambda: "RUNNING" not in slurm.queue() and "COMPLETING" not in slurm.queue(), 60, slurm.queue)
    assert state("cancelled/0") == "stopped" and not slurm.queue().strip(), (state("cancelled/0"), slurm.queue())


def check_warned(slurm):
    """Warned before its limit, the script stops the run, puts itself back into the queue and is finished by its second start."""
    run("run", "minute.vnts", "--chain", "0", "--out", "unwarned")
    job = submit_printed(slurm, "minute.vnts", "warned", "--time=2", "--signal=B:USR1@100")
    log = lambda: (state("warned/0"), open(at("warned/0.log")).read())
    slurm.wait(lambda: state("warned/0") == "stopped", 120, log)
    slurm.wait(lambda: "PENDING" in slurm.queue(), 60, log)
    release(slurm, job)
    slurm.wait(lambda: not slurm.queue().strip(), 200, log)
    assert state("warned/0") == "finished" and same("unwarned", "warned/0", 1), log()


def check_limit(slurm):
    """The limit is a minute, the least that Slurm has; it looks every half. Every job goes on with the run; how many it takes is a
    matter of what else the machine does."""
    run("run", "hours.vnts", "--out", "unlimited")
    jobs = rows = 0
    while state("limited") != "finished":
        slurm.submit("#!/bin/bash\nexec gpmem run hours.vnts --out limited --continue\n", "--time=1", "--output=/dev/null", cwd=WORK.name)
        slurm.wait(lambda: not slurm.queue().strip(), 150)
        jobs, before, rows = jobs + 1, rows, open(at("limited/chain-1.csv")).read().count("\n")
        assert state("limited") in ("stopped", "finished") and rows > before, (jobs, rows, state("limited"))
    assert jobs > 1 and same("unlimited", "limited", 1), jobs
    print("%d jobs of a minute finished a run that is longer" % jobs)


with WORK:
    for name, sizes in (("short.vnts", (300, 5)), ("timed.vnts", (1000, 400))):
        with open(at(name), "w") as f:
            f.write(PROGRAM % sizes)
    run("run", "timed.vnts")
    seconds = os.times().children_user  # not what a busy machine takes: a run that is then alone would be over too soon
    for name, length in (("long.vnts", 10), ("minute.vnts", 90), ("hours.vnts", 130)):  # seconds on this machine: the scheduler looks every two
        with open(at(name), "w") as f:
            f.write(PROGRAM % (int(1000 * length / seconds), 400))
    os.mkdir(at("bin"))
    os.symlink(TOOL, at("bin/gpmem"))
    os.environ["PATH"] = at("bin") + ":" + os.environ["PATH"]
    with Slurm() as slurm:
        for check in (check_warned, check_limit) if sys.argv[2:] == ["limit"] else (check_array, check_preempted, check_cancelled):
            check(slurm)
print("Slurm: the bytes of runs without it")
