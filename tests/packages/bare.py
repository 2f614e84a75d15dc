# SPDX-License-Identifier: Apache-2.0
"""Bare Debian roots for the tests of packages: the smallest Debian (mmdebstrap's minbase) with nothing of this machine in it.
Making one wants root and Debian's archive. In the environment:
BARE_ARCH  another architecture, under qemu's user emulation (what chooses, unpacks and compiles is then this machine's: see install
           and put_native)
BARE_KEPT  where what is fetched is kept (build/bare)
BARE_ROOT  a folder for the root that stays there: a test that was ended goes on with what was installed and built in it"""
import contextlib, os, re, shutil, subprocess, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = os.environ.get("BARE_KEPT") or os.path.join(ROOT, "build", "bare")
HERE = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True).stdout.strip()
ARCH = os.environ.get("BARE_ARCH") or HERE


def do(*command, **options):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert r.returncode == 0, "%s:\n%s" % (command[0], r.stdout[-3000:])
    return r.stdout


def base(arch):
    """The tarball of an untouched root."""
    path = os.path.join(KEPT, "debian-%s.tar" % arch)
    if not os.path.exists(path):
        os.makedirs(KEPT, exist_ok=True)
        do("mmdebstrap", "--variant=minbase", "--dpkgopt=force-unsafe-io", "--architectures=" + arch, "bookworm", path + ".new.tar")
        os.rename(path + ".new.tar", path)
    return path


class Root:
    def __init__(self, folder, arch):
        self.folder, self.arch = folder, arch
        if not os.path.exists(os.path.join(folder, "etc/debian_version")):
            do("tar", "xf", base(arch), "-C", folder)
            if arch != HERE:  # installing is unpacking and shells
                for program in ("/usr/bin/dpkg-deb", "/bin/tar", "/bin/dash"):
                    self.put_native(program, program)
        shutil.copy("/etc/resolv.conf", os.path.join(folder, "etc/resolv.conf"))
        self.cache = os.path.join(KEPT, "archives-" + arch)
        os.makedirs(self.cache, exist_ok=True)

    def run(self, script, **environment):
        """A script inside, by a shell that stops at the first failure; its output."""
        return self.around("chroot " + self.folder, script, environment)

    def around(self, where, script, environment):
        """A script inside, or, nowhere, beside the root; what programs expect is mounted there."""
        around = ("mount -t proc proc %(r)s/proc && mount --rbind /dev %(r)s/dev && mount --rbind /sys %(r)s/sys && "
                  "mount --bind %(c)s %(r)s/var/cache/apt/archives && "
                  "touch %(r)s/var/cache/lock %(c)s/lock && mount --bind %(r)s/var/cache/lock %(r)s/var/cache/apt/archives/lock && "
                  "exec %(w)s /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "
                  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \"$@\"" % {"r": self.folder, "c": self.cache, "w": where})
        settings = ["%s=%s" % kv for kv in environment.items()]
        return do("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", around, "sh", *settings, "sh", "-euxc", script)

    def install(self, *names):
        """Packages, or files of packages inside. In a root of another architecture apt is this machine's, and only dpkg and what the
        packages say runs inside: choosing and fetching would take minutes under emulation."""
        script = "apt-get update -qq && apt-get install -y -qq --no-install-recommends "
        if self.arch == HERE:
            self.run(script + " ".join(names))
            return
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
            f.write('Dir "%(r)s"; Dir::State::Status "%(r)s/var/lib/dpkg/status"; DPkg::Chroot-Directory "%(r)s"; '
                    'APT::Architecture "%(a)s"; APT::Architectures "%(a)s";\n' % {"r": self.folder, "a": self.arch})
            f.flush()
            self.around("", script + " ".join(self.folder + n if n.startswith("/") else n for n in names), {"APT_CONFIG": f.name})

    def put(self, path, inside):
        """A copy of a file of ours in a folder inside."""
        target = os.path.join(self.folder, inside.lstrip("/"))
        os.makedirs(target, exist_ok=True)
        shutil.copy(path, target)

    def put_native(self, path, inside, unpacked="/"):
        """A program of this machine's architecture in place of one of the root's, with the libraries that it wants, of this machine
        or of packages that were unpacked in a folder."""
        libraries = os.path.join(unpacked, "usr/lib", do("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip())
        for library in re.findall(r"(/\S+) \(0x", do("ldd", path, env=dict(os.environ, LD_LIBRARY_PATH=libraries))):
            self.put(library, os.path.join("/", os.path.relpath(os.path.dirname(library), unpacked)) if library.startswith(unpacked)
                     else os.path.dirname(library))
        target = os.path.join(self.folder, inside.lstrip("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.lexists(target):
            os.remove(target)  # it may be running
        shutil.copy(path, target)

    def native_compiler(self):
        """In a root of another architecture, the parts of gcc and of binutils are replaced by those of Debian's cross compiler of the
        same version for this machine: they give the same code, and under emulation they alone would take hours. All else stays
        emulated."""
        if self.arch == HERE:
            return
        triple = do("dpkg-architecture", "-a" + self.arch, "-qDEB_HOST_MULTIARCH").strip()
        gcc, = os.listdir(os.path.join(self.folder, "usr/lib/gcc", triple))
        cross, own = "usr/lib/gcc-cross/%s/%s" % (triple, gcc), "usr/lib/gcc/%s/%s" % (triple, gcc)
        with tempfile.TemporaryDirectory() as folder:
            name = triple.replace("_", "-")
            do("apt-get", "download", "cpp-%s-%s" % (gcc, name), "gcc-%s-%s" % (gcc, name), "binutils-" + name, cwd=folder)
            do("sh", "-c", "for p in *.deb; do dpkg -x $p .; done", cwd=folder)
            for program in ("cc1", "collect2", "liblto_plugin.so"):
                self.put_native(os.path.join(folder, cross, program), os.path.join(own, program), folder)
            for program in ("gcc-" + gcc, "as", "ld.bfd", "ar"):
                path = os.path.join("usr/bin", triple + "-" + program)
                self.put_native(os.path.join(folder, path), path, folder)
        for there, same in ((cross, "/" + own), ("usr/%s/include" % triple, "/usr/include"), ("usr/%s/lib" % triple, "/usr/lib/" + triple)):
            at = os.path.join(self.folder, there)
            os.makedirs(os.path.dirname(at), exist_ok=True)
            if not os.path.islink(at):
                os.symlink(same, at)


@contextlib.contextmanager
def root(arch=ARCH):
    if os.environ.get("BARE_ROOT"):
        folder = os.environ["BARE_ROOT"] + ("" if arch == ARCH else "-" + arch)
        os.makedirs(folder, exist_ok=True)
        yield Root(folder, arch)
        return
    with tempfile.TemporaryDirectory(prefix="gpmem-bare-") as folder:
        yield Root(folder, arch)
