#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""The wheel in a bare root without a compiler, and the source distribution in one with Debian's libraries: each installed by pip in a
virtual environment and used. numpy is Debian's, so nothing is fetched from elsewhere. Argument: the tool, which only says
where the tree is; WHEELS names a folder where both are made already."""
import glob, os, tempfile
import bare

USE = r"""
cd /tmp
python3 -m venv --system-site-packages env
env/bin/pip install --no-index --no-cache-dir --quiet --disable-pip-version-check /packages/%(file)s
env/bin/python -c 'import gpmem, os, importlib.metadata as m
assert gpmem.run("sample 6 * 7;").values == [42]
assert gpmem.__version__ == m.version("gpmem") == "%(version)s"
loaded = {l.split()[-1] for l in open("/proc/self/maps") if "/lib" in l and "gpmem" in l}
assert loaded and all(p.startswith("/tmp/env/") for p in loaded), loaded
d = gpmem.discover([float(i) for i in range(40)], seed=1)
assert d.structures'
"""
USE_TOOL = r"""
cd /tmp
test "$(env/bin/gpmem --version)" = "gpmem %(version)s"
test "$(env/bin/gpmem -e 'sample 6 * 7;')" = 42
env/bin/gpmem kernel --install --prefix /tmp/kernel
"""
BARE = "! command -v cc gcc clang && ! ls /usr/lib/*/libopenblas* /usr/lib/*/libjansson* 2> /dev/null"

facts = {"version": bare.do(os.path.join(bare.ROOT, "tools/version")).strip()}
folder = os.environ.get("WHEELS")
if not folder:
    folder = tempfile.mkdtemp(prefix="gpmem-wheel-")
    bare.do(os.path.join(bare.ROOT, "tools/wheel"), folder)
    bare.do(os.path.join(bare.ROOT, "tools/dist"), folder)
machine = {"arm64": "aarch64", "amd64": "x86_64"}[bare.ARCH]
wheel, = glob.glob(os.path.join(folder, "gpmem-%s-py3-none-manylinux*_%s.whl" % (facts["version"], machine)))
with bare.root() as inside:
    inside.put(wheel, "packages")
    inside.install("python3-venv", "python3-numpy", "python3-ipykernel")
    inside.run(BARE)
    inside.run(USE % dict(facts, file=os.path.basename(wheel)))
    inside.run(USE_TOOL % facts)
with bare.root() as inside:
    sdist = "gpmem-%(version)s.tar.gz" % facts
    inside.put(os.path.join(folder, sdist), "packages")
    inside.install("python3-venv", "python3-numpy")
    inside.run("cd /tmp && tar xf /packages/%s && gpmem-%s/tools/install-packages build" % (sdist, facts["version"]))
    inside.run(USE % dict(facts, file=sdist))
print("%s and %s installed by pip in bare roots and used" % (os.path.basename(wheel), sdist))
