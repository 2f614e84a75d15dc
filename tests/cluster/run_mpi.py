#!/usr/bin/python3
"""One computation on 1, 2 and 4 processes by MPI, over shared memory and over TCP: the same bytes. Likelihood, gradient and
predictions by Vecchia's approximation and by inducing points (mpi_gp.c), and those of an exact factor that is spread over
them to 1e-9; the tool as gpmem-mpi: it speaks once, a rank that is
killed ends the job, and what was written before is good (arguments: the tool, [points])."""
import os, signal, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
POINTS = sys.argv[2] if len(sys.argv) > 2 else "4096"
MPI, GP = TOOL + "-mpi", os.path.join(os.path.dirname(TOOL), "tests", "mpi_gp")
WORK = tempfile.TemporaryDirectory(prefix="gpmem-mpi-")
PROGRAM = """assume mu = normal(0, 2);
for (i = 0; i < 10; i++) { observe normal(mu, 1) = 1 + 0.1 * i; };
infer accumulate_dataset(%d, do(mh(default, one, %d), collect(mu)));
sample mu;
"""
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
NETS = {"memory": ["self,vader"], "tcp": ["self,tcp", "--mca", "btl_tcp_if_include", "lo"]}


def at(*names): return os.path.join(WORK.name, *names)


def launch(ranks, net, *command):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", *NETS[net], "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks), *command]


def run(command, status=0):
    r = subprocess.run(command, cwd=WORK.name, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert r.returncode == status, (command, r.returncode, r.stdout[-300:], r.stderr[-1500:])
    return r.stdout, r.stderr


def write(name, text):
    with open(at(name), "w") as f:
        f.write(text)


def numbers(ranks, net):
    """Likelihood, gradient and predictions of the exact factor, which lies on all ranks where there are several."""
    method, rest = run(launch(ranks, net, GP, "2500", "exact"))[0].split(":", 1)
    assert method == ("Cholesky (ScaLAPACK)" if ranks > 1 else "Cholesky"), method
    return [float.fromhex(v) for v in rest.replace(",", " ").split()]


def compare_all():
    """Everything else that is asked of an exact factor, under a mean function, with constant and scale integrated out or not."""
    def lines(ranks, net):
        return [l.split(":") for l in run(launch(ranks, net, GP, "2100", "joint"))[0].strip().split("\n")]
    alone, names = lines(1, "memory"), set()
    for ranks, net in ((2, "memory"), (4, "tcp")):
        spread = lines(ranks, net)
        assert len(spread) == len(alone) == 2 * 14, (len(spread), len(alone))
        for (what, a), (who, b) in zip(alone, spread):
            assert who == what or (what, who) == ("Cholesky", "Cholesky (ScaLAPACK)"), (what, who)
            names.add(who)
            a, b = ([float.fromhex(v) for v in text.split()] for text in (a, b))
            scale = max(map(abs, a))
            worst = max(abs(p - q) for p, q in zip(a, b)) / scale
            assert len(a) == len(b) and worst < 1e-10, (what, worst)
    assert "Cholesky (ScaLAPACK)" in names and len(names) == 14, names


def check_bytes():
    one, said = run(launch(1, "memory", GP, POINTS))
    assert "Vecchia" in one and "inducing" in one and one.count("\n") > 1000
    print(said, end="")
    for ranks, net in ((2, "memory"), (4, "tcp")):
        got, said = run(launch(ranks, net, GP, POINTS))
        print(said, end="")
        assert got == one, (ranks, net)
    exact = numbers(1, "memory")
    assert max(abs(a - b) / (1 + abs(a)) for a, b in zip(numbers(2, "memory"), exact)) < 1e-9
    assert max(abs(a - b) / (1 + abs(a)) for a, b in zip(numbers(4, "tcp"), exact)) < 1e-9
    compare_all()
    write("short.vnts", PROGRAM % (50, 2))
    alone, _ = run([TOOL, "run", "short.vnts", "--out", "alone"])
    assert run(launch(2, "memory", MPI, "run", "short.vnts", "--out", "two"))[0] == alone
    assert open(at("two/chain-1.csv")).read() == open(at("alone/chain-1.csv")).read()
    bad = run(launch(2, "memory", MPI, "-e", "nobody"), status=1)[1]
    assert bad.count("E0201") == 1, bad  # every rank fails, one of them says so


def ranks_of(p):
    """{rank: pid} of the processes that the launcher has started."""
    out = {}
    for pid in subprocess.run(["pgrep", "-P", str(p.pid)], stdout=subprocess.PIPE, text=True).stdout.split():
        for word in open("/proc/%s/environ" % pid, errors="replace").read().split("\0"):
            if word.startswith("OMPI_COMM_WORLD_RANK="):
                out[int(word.split("=")[1])] = int(pid)
    return out


def check_ends():
    write("long.vnts", PROGRAM % (1000000, 100))
    run([TOOL, "run", "long.vnts", "--max-time", "0.5", "--out", "begun"], status=4)
    begun = open(at("begun/chain-1.csv")).read()
    for which, sig in ((1, signal.SIGKILL), (0, signal.SIGTERM)):
        p = subprocess.Popen(launch(2, "memory", MPI, "run", "long.vnts", "--out", "long-%d" % which), cwd=WORK.name, env=ENV,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = at("long-%d" % which, "chain-1.csv")
        while not (os.path.exists(path) and os.path.getsize(path) > 2000):
            time.sleep(0.1)
            assert p.poll() is None
        os.kill(ranks_of(p)[which], sig)
        assert p.wait(timeout=60) != 0  # the whole job
        rows = open(path).read()
        assert rows.endswith("\n") and (rows.startswith(begun) or begun.startswith(rows))
        if which == 0:
            assert '"stopped"' in open(at("long-0", "manifest.json")).read()
            run([TOOL, "resume", "long-0", "--max-time", "0.2"], status=4)  # it goes on, without MPI as well


assert os.path.exists(MPI), "%s was not built: there is no mpicc (tools/packages.txt names libopenmpi-dev)" % MPI
with WORK:
    check_bytes()
    check_ends()
print("1, 2 and 4 processes: the bytes of one")
