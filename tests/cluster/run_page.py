#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/howto-cluster.md that need an engine are run as they stand there, in their order: those on a server
with the address of one that is started here, those of MPI on at most four processes of this machine, with budgets that end.
(Those in console blocks are run by tests/docs/run_docs.py, the script that `gpmem jobs slurm` prints by run_slurm.py.)
Argument: the tool."""
import os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from engines import Postgres

TOOL = os.path.abspath(sys.argv[1])
PAGE = open(os.path.join(HERE, "..", "..", "docs", "howto-cluster.md")).read()
MODEL = re.search(r"```venture file=model.vnts\n(.*?)```", PAGE, re.S).group(1)
SIM = "#!/bin/sh\nawk -v x=$1 -v y=$2 'BEGIN { print (x - 1)^2 + (y - 2)^2 }'\n"
MPI = "mpirun --oversubscribe --bind-to none --mca btl self,vader --mca mpi_yield_when_idle 1 -n"


def here(command, url):
    """The same command on this machine."""
    command = command.replace("postgresql://me@db/lab", url).replace("--budget 200", "--budget 8")
    return re.sub(r"mpirun -n (\d+)", lambda m: "%s %d" % (MPI, min(4, int(m.group(1)))), command)


def main():
    outside = re.sub(r"^```.*?^```", "", PAGE, flags=re.S | re.M)
    commands = re.findall(r"^    (\S.*?)(?:  +#.*)?$", outside, re.M)
    assert len(commands) == 10, commands
    with Postgres() as pg, tempfile.TemporaryDirectory() as work:
        os.mkdir(os.path.join(work, "series"))
        rows = {k: "t,y\n" + "".join("%d,%.3f\n" % (i, k * i + (i * i * 7919) % 97 / 30) for i in range(24)) for k in (0, 1, 2)}
        for name, text in (("model.vnts", MODEL), ("sim", SIM), *(("series/%s.csv" % "abc"[k], rows[k]) for k in rows)):
            with open(os.path.join(work, name), "w") as f:
                f.write(text)
        os.chmod(os.path.join(work, "sim"), 0o755)
        os.mkdir(os.path.join(work, "bin"))
        for name in ("gpmem", "gpmem-mpi"):
            os.symlink(TOOL + name[5:], os.path.join(work, "bin", name))
        env = dict(os.environ, PATH=os.path.join(work, "bin") + ":" + os.environ["PATH"], OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
        said = {}
        for command in commands:
            r = subprocess.run(here(command, pg.url), shell=True, cwd=work, env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, timeout=300)
            assert r.returncode == 0, (command, r.returncode, r.stdout[-800:], r.stderr[-800:])
            said[command] = r.stdout
            print("ok   " + command)
        copied = subprocess.run([TOOL, "memo", "list", "branin.db"], cwd=work, stdout=subprocess.PIPE, text=True, check=True)
        assert copied.stdout.count("\n") >= 8, copied.stdout
        assert os.path.exists(os.path.join(work, "big", "chain-1.csv"))
        alone = {kept: subprocess.run([TOOL, "run", "model.vnts", *["--out", "one"][:2 * kept]], cwd=work, stdout=subprocess.PIPE,
                                      text=True, check=True).stdout for kept in (False, True)}
        ranks = {c: out for c, out in said.items() if "gpmem-mpi run model.vnts" in c}
        assert ranks and all(out == alone["--out" in c] for c, out in ranks.items()), (alone, ranks)
        lists = [subprocess.run([TOOL, "index", "list", x], cwd=work, stdout=subprocess.PIPE, text=True, check=True).stdout
                 for x in ("all.db", pg.url + "#series")]
        assert all(re.search(r"\b%s\b" % k, l) for l in lists for k in "abc"), lists
        report = subprocess.run([TOOL, "report", "found", "--format", "text"], cwd=work, stdout=subprocess.PIPE, text=True,
                                check=True)
        assert "Structures" in report.stdout


main()
