"""Engines that other people's clusters have, started for a test in a folder of its own on a free port, and stopped by
pid: PostgreSQL. As root they run as the engine's own user, since PostgreSQL refuses to run as root."""
import glob, os, shutil, socket, subprocess, tempfile, time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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
        self.port = free_port()
        self.start()
        self.url = "postgresql://gpmem@127.0.0.1:%d/postgres" % self.port

    def call(self, program, *args):
        r = subprocess.run(self.user + [os.path.join(self.bin, program), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, cwd=self.folder, stdin=subprocess.DEVNULL)
        assert r.returncode == 0, r.stdout[-2000:]
        return r.stdout

    def start(self):
        self.call("pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", os.path.join(self.folder, "log"), "-o",
                  "-p %d -k %s -h 127.0.0.1 -c max_connections=60" % (self.port, self.folder), "start")

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
