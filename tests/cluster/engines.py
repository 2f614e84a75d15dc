"""Engines that other people's clusters have, started for a test in a folder of its own on a free port, and stopped by
pid: PostgreSQL. As root they run as the engine's own user, since PostgreSQL refuses to run as root."""
import contextlib, glob, os, shutil, socket, subprocess, tempfile, time


def free_ports(n):
    """So many ports that nobody has, each another one."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


class Postgres:
    def __init__(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        assert found, "PostgreSQL is not installed (tools/packages.txt names it)"
        self.bin = os.path.dirname(found[-1])
        self.folder = tempfile.mkdtemp(prefix="gpmem-pg-")
        self.data = os.path.join(self.folder, "data")
        self.user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.folder, "postgres", "postgres")
        self.call("initdb", "-D", self.data, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-U", "gpmem", "--no-sync")
        self.port, = free_ports(1)
        self.start()
        self.url = "postgresql://gpmem@127.0.0.1:%d/postgres" % self.port

    def call(self, program, *args):
        r = subprocess.run(self.user + [os.path.join(self.bin, program), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, cwd=self.folder, stdin=subprocess.DEVNULL)
        assert r.returncode == 0, r.stdout[-2000:]
        return r.stdout

    def start(self):
        """Without fsync: what is killed here is the server, not the machine; and where the disk is slow, to bring all files of a
        new server to it after a crash takes longer than workers wait for it."""
        self.call("pg_ctl", "-D", self.data, "-w", "-t", "300", "-l", os.path.join(self.folder, "log"), "-o",
                  "-p %d -k %s -h 127.0.0.1 -c max_connections=60 -c fsync=off" % (self.port, self.folder), "start")

    def stop(self, how="fast"):
        self.call("pg_ctl", "-D", self.data, "-w", "-m", how, "stop")

    def restart(self, how="immediate", pause=0.5):
        """`immediate` drops every connection, as a crash does."""
        self.stop(how)
        time.sleep(pause)
        self.start()

    def sql(self, text):
        return subprocess.run(["psql", "-X", "-q", "-t", "-A", self.url, "-c", text], stdout=subprocess.PIPE, check=True, text=True).stdout

    def __enter__(self): return self

    def __exit__(self, *failure):
        if failure[0]:
            print(open(os.path.join(self.folder, "log"), errors="replace").read()[-3000:])
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


class Slurm:
    """A cluster of one node, this one, with two partitions: `low`, whose jobs are put back into the queue when one of
    `high` wants their place. munged, slurmctld and slurmd have folders, ports and a key of their own."""

    def __init__(self, cpus=2):
        for name in ("munged", "slurmctld", "slurmd"):
            assert shutil.which(name), "%s is not installed (tools/packages.txt names slurm-wlm and munge)" % name
        self.folder, self.daemons = tempfile.mkdtemp(prefix="gpmem-slurm-", dir="/tmp"), []
        at = lambda name: os.path.join(self.folder, name)
        os.chmod(self.folder, 0o755)
        with open(at("munge.key"), "wb") as f:
            f.write(os.urandom(128))
        os.chmod(at("munge.key"), 0o600)
        host = socket.gethostname().split(".")[0]
        ports = free_ports(2)
        for name in ("state", "spool"):
            os.mkdir(at(name))
        with open(at("slurm.conf"), "w") as f:
            f.write("""ClusterName=test
SlurmctldHost=%(host)s(127.0.0.1)
SlurmUser=%(user)s
SlurmdUser=%(user)s
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=%(folder)s/munge.socket
SlurmctldPort=%(a)d
SlurmdPort=%(b)d
StateSaveLocation=%(folder)s/state
SlurmdSpoolDir=%(folder)s/spool
SlurmctldPidFile=%(folder)s/ctld.pid
SlurmdPidFile=%(folder)s/slurmd.pid
SlurmctldLogFile=%(folder)s/ctld.log
SlurmdLogFile=%(folder)s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=20
MessageTimeout=60
InactiveLimit=0
NodeName=%(host)s NodeAddr=127.0.0.1 CPUs=%(cpus)d RealMemory=64000 State=UNKNOWN
PartitionName=low Nodes=%(host)s Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=%(host)s MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
""" % {"host": host, "user": "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody"), "folder": self.folder,
                 "a": ports[0], "b": ports[1], "cpus": cpus})
        with open(at("cgroup.conf"), "w") as f:  # nothing here uses cgroups, and to find out which there are fails where there are none
            f.write("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self.env = dict(os.environ, SLURM_CONF=at("slurm.conf"))
        try:
            self.start(at, host)
        except BaseException:
            self.__exit__(True)
            raise

    def start(self, at, host):
        self.begin("munged", "--foreground", "--force", "--key-file", at("munge.key"), "--socket", at("munge.socket"), "--pid-file", at("munge.pid"),
                   "--log-file", at("munge.log"), "--seed-file", at("munge.seed"))
        self.wait(lambda: os.path.exists(at("munge.socket")), 20)
        self.begin("slurmctld", "-D", "-c", "-f", at("slurm.conf"))
        self.begin("slurmd", "-D", "-c", "-N", host, "-f", at("slurm.conf"))
        self.wait(lambda: "idle" in self.call("sinfo", "-h", "-o", "%t", check=False), 60)

    def begin(self, *command):
        log = open(os.path.join(self.folder, command[0] + ".out"), "wb")
        self.daemons.append(subprocess.Popen(command, env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def call(self, *command, check=True, **options):
        r = subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        assert r.returncode == 0 or not check, (command, r.stdout)
        return r.stdout

    def wait(self, ready, seconds, what=lambda: ""):
        end = time.time() + seconds
        while not ready():
            assert time.time() < end and all(d.poll() is None for d in self.daemons), (what(), self.logs())
            time.sleep(0.2)

    def submit(self, script, *options, cwd):
        return self.call("sbatch", "--parsable", *options, cwd=cwd, input=script).strip()

    def queue(self): return self.call("squeue", "-h", "-o", "%i %T")

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                text += "--- %s\n%s" % (name, open(os.path.join(self.folder, name), errors="replace").read()[-1500:])
        return text

    def __enter__(self): return self

    def __exit__(self, *failure):
        if failure[0]:
            print(self.logs())
        for d in reversed(self.daemons):
            d.terminate()
        for d in self.daemons:
            try:
                d.wait(10)
            except subprocess.TimeoutExpired:
                d.kill()
                d.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
