# SPDX-License-Identifier: Apache-2.0
"""Bare Debian roots for the tests of packages: the smallest Debian (mmdebstrap's minbase) with nothing of this machine in it.
Making one wants root and Debian's archive; other architectures run under qemu's user emulation. What is fetched is kept in
build/bare."""
import contextlib, os, shutil, subprocess, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = os.path.join(ROOT, "build", "bare")
ARCH = os.environ.get("BARE_ARCH") or subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True).stdout.strip()


def do(*command, **options):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert r.returncode == 0, "%s:\n%s" % (command[0], r.stdout[-3000:])
    return r.stdout


def base():
    """The tarball of an untouched root."""
    path = os.path.join(KEPT, "debian-%s.tar" % ARCH)
    if not os.path.exists(path):
        os.makedirs(KEPT, exist_ok=True)
        do("mmdebstrap", "--variant=minbase", "--architectures=" + ARCH, "bookworm", path + ".new.tar")
        os.rename(path + ".new.tar", path)
    return path


class Root:
    def __init__(self, folder):
        self.folder = folder
        do("tar", "xf", base(), "-C", folder)
        shutil.copy("/etc/resolv.conf", os.path.join(folder, "etc/resolv.conf"))
        self.cache = os.path.join(KEPT, "archives-" + ARCH)
        os.makedirs(self.cache, exist_ok=True)

    def run(self, script, **environment):
        """A script inside, by a shell that stops at the first failure; its output."""
        around = ("mount -t proc proc %(r)s/proc && mount --rbind /dev %(r)s/dev && mount --bind %(c)s %(r)s/var/cache/apt/archives && "
                  "exec chroot %(r)s /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "
                  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \"$@\"" % {"r": self.folder, "c": self.cache})
        settings = ["%s=%s" % kv for kv in environment.items()]
        return do("unshare", "--mount", "--pid", "--fork", "sh", "-c", around, "sh", *settings, "sh", "-euxc", script)

    def install(self, *names):
        self.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends " + " ".join(names))

    def put(self, path, inside):
        """A copy of a file of ours in a folder inside."""
        target = os.path.join(self.folder, inside.lstrip("/"))
        os.makedirs(target, exist_ok=True)
        shutil.copy(path, target)


@contextlib.contextmanager
def root():
    with tempfile.TemporaryDirectory(prefix="gpmem-bare-") as folder:
        yield Root(folder)
