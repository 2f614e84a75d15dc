#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""Debian's packages: built from the tarball, nothing for lintian to say, installed in a bare root and used there: the tool with its
manual pages and completions, C programs by pkg-config, Python; then removed again. Argument: the tool, which only says
where the tree is; DEBS names a folder with packages that are built already."""
import glob, os, shutil, tempfile
import bare

USE_TOOL = r"""
cd /tmp
test "$(gpmem --version)" = "gpmem %(version)s"
gpmem run /usr/share/doc/gpmem/examples/coin.vnts | grep -q '^p  *0\.7'
gpmem discover /usr/share/doc/gpmem/examples/airline.csv | grep -q '^settled'
for page in $(gpmem man --list); do
    name=gpmem-$page; test $page != gpmem || name=gpmem
    test -s /usr/share/man/man1/$name.1.gz
done
bash -euc '. /usr/share/bash-completion/completions/gpmem; complete -p gpmem'
test -s /usr/share/zsh/vendor-completions/_gpmem -a -s /usr/share/fish/vendor_completions.d/gpmem.fish
"""
USE_LIBRARY = r"""
cd /tmp
for f in /usr/share/doc/libgpmem-dev/examples/gp_example.c*; do
    case $f in *.gz) zcat $f > example.c ;; *) cp $f example.c ;; esac
done
cc -Wall -Werror example.c $(pkg-config --cflags --libs gpmem) -lm -o shared
cc example.c $(pkg-config --cflags gpmem) -Wl,-Bstatic -lgpmem -Wl,-Bdynamic $(pkg-config --libs-only-l --static gpmem | sed 's/-lgpmem//') -o static
./shared > one; ./static > two; cmp one two; test -s one
test "$(readelf -d shared | grep -c 'NEEDED.*libgpmem.so.0')" = 1
"""
USE_PYTHON = r"""
cd /tmp
python3 -c 'import gpmem, importlib.metadata as m
assert gpmem.run("sample 6 * 7;").values == [42]
assert gpmem.__version__ == m.version("gpmem") == "%(version)s"
assert gpmem.discover([float(i) for i in range(40)], seed=1).structures'
"""
REMOVE = """
apt-get purge -y -qq gpmem libgpmem0 libgpmem-dev python3-gpmem > /dev/null
test -z "$(find / -xdev -path /proc -prune -o -path /var/cache -prune -o -iname '*gpmem*' -print | grep -v '^/tmp\\|^/packages\\|^/var/lib/apt')"
"""


def packages():
    if os.environ.get("DEBS"):
        return os.environ["DEBS"]
    out = tempfile.mkdtemp(prefix="gpmem-deb-")
    if bare.ARCH != bare.HERE:
        return cross_packages(out)
    said = bare.do(os.path.join(bare.ROOT, "tools/deb"), out, env=dict(os.environ, DEB_BUILD_OPTIONS="nocheck"))
    assert "neither errors nor warnings" in said, said
    return out


def cross_packages(out):
    """Of another architecture, by Debian's cross compiler in a bare root of this machine's own."""
    bare.do(os.path.join(bare.ROOT, "tools/dist"), out)
    name = "gpmem-%(version)s" % facts
    with bare.root(bare.HERE) as inside:
        inside.put(os.path.join(out, name + ".tar.gz"), "packages")
        inside.run("dpkg --add-architecture " + bare.ARCH)
        inside.install("lintian", "crossbuild-essential-" + bare.ARCH)
        said = inside.run("cd /tmp && tar xf /packages/%(name)s.tar.gz && cd %(name)s && apt-get build-dep -y -qq --no-install-recommends -a%(arch)s . && "
                          "tools/deb /packages/out -a%(arch)s" % {"name": name, "arch": bare.ARCH}, DEB_BUILD_OPTIONS="nocheck")
        assert "neither errors nor warnings" in said, said
        for path in glob.glob(os.path.join(inside.folder, "packages/out/*.deb")):
            shutil.copy(path, out)
    return out


facts = {"version": bare.do(os.path.join(bare.ROOT, "tools/version")).strip()}
folder = packages()
debs = [p for p in glob.glob(os.path.join(folder, "*_%(version)s_*.deb" % facts)) if "-dbgsym" not in p]
assert len(debs) == 4, debs
with bare.root() as inside:
    for path in debs:
        inside.put(path, "packages")
    inside.install("/packages/*.deb")
    inside.run(USE_TOOL % facts)
    inside.run(USE_PYTHON % facts)
    inside.install("gcc", "libc6-dev", "pkg-config")
    inside.run(USE_LIBRARY)
    inside.run(REMOVE)
print("%d packages of %s installed in a bare root, used, removed" % (len(debs), bare.ARCH))
