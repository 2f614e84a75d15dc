#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The package as users get it: by the steps of `make install` into an empty prefix, and by pip without network or
compiler; each is imported from elsewhere and used. Argument: the tool."""
import os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
TRY = """import gpmem, os
print(os.path.dirname(gpmem.__file__))
r = gpmem.run("sample x[0] + 1;", data={"x": [41]})
assert r.values == [42], r.values
assert gpmem.run("posterior_predictive_check", data={}).values
assert all(getattr(gpmem, n).__doc__ for n in gpmem.__all__), "a public name has no description"
"""


def do(*command, **options):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert r.returncode == 0, "%s: %s" % (" ".join(command), r.stdout[-2000:])
    return r.stdout


def use(folder, elsewhere):
    """The package in `folder`, with nothing that leads to the source tree."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": folder, "HOME": elsewhere}
    out = do("/usr/bin/python3", "-c", TRY, cwd=elsewhere, env=env)
    assert out.strip() == os.path.join(folder, "gpmem"), out


def check_make_install(top):
    prefix = os.path.join(top, "usr")
    do("cmake", "--install", BUILD, "--prefix", prefix)
    do(os.path.join(ROOT, "tools/install-python"), prefix)
    use(os.path.join(prefix, "lib", "python%d.%d" % sys.version_info[:2], "dist-packages"), top)
    assert do(os.path.join(prefix, "bin/gpmem"), "-e", "1 + 1", cwd=top, env={"PATH": ""}) == "2\n"


def check_pip(top):
    """--no-index: nothing may be fetched; no compiler and no setuptools are asked for."""
    target = os.path.join(top, "site")
    do("/usr/bin/python3", "-m", "pip", "install", "--no-index", "--no-deps", "--no-cache-dir", "--quiet", "--target",
       target, os.path.join(ROOT, "python"), env={"PATH": "/nonexistent", "HOME": top}, cwd=top)
    use(target, top)


with tempfile.TemporaryDirectory(prefix="gpmem-install-") as folder:
    check_make_install(folder)
    check_pip(folder)
print("installed by make and by pip, imported and used")
