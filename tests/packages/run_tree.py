#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""README's first command in a bare root: the release's tarball, `apt install make`, `make demo`; BARE_TEST=1: then `make test`,
which installs all that the tests want and takes its time. Argument: the tool, which only says where the tree is."""
import os, tempfile
import bare

version = bare.do(os.path.join(bare.ROOT, "tools/version")).strip()
with bare.root() as inside, tempfile.TemporaryDirectory() as folder:
    bare.do(os.path.join(bare.ROOT, "tools/dist"), folder)
    name = "gpmem-" + version
    inside.put(os.path.join(folder, name + ".tar.gz"), "packages")
    inside.install("make")
    inside.run("cd /tmp && tar xf /packages/%s.tar.gz && %s/tools/install-packages build" % (name, name))
    inside.native_compiler()
    out = inside.run("cd /tmp/%s && make demo" % name)
    assert "LIN + SE*PER" in out, out[-2000:]
    inside.run("test \"$(/tmp/%s/build/gpmem --version)\" = 'gpmem %s'" % (name, version))
    if os.environ.get("BARE_TEST"):
        # all that it says stays in the root's /tmp/test.log
        print(inside.run("cd /tmp/%s && make test > /tmp/test.log 2>&1 || { grep -A40 'tests failed' /tmp/test.log; exit 1; }; "
                         "grep 'tests passed' /tmp/test.log" % name, GPMEM_PATIENCE=os.environ.get("GPMEM_PATIENCE", "1")))
print("README's commands in a bare root of %s" % bare.ARCH)
