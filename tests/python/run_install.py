#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The package as users get it: by the steps of `make install` into an empty prefix, by pip without network or compiler, and
without a library of its own; each is imported from elsewhere and used. Argument: the tool."""
import os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
TRY = """import gpmem, importlib.metadata, os
print(os.path.dirname(gpmem.__file__))
r = gpmem.run("sample x[0] + 1;", data={"x": [41]})
assert r.values == [42], r.values
assert gpmem.run("posterior_predictive_check", data={}).values
assert importlib.metadata.version("gpmem") == gpmem.__version__
assert all(getattr(gpmem, n).__doc__ for n in gpmem.__all__), "a public name has no description"
"""


def do(*command, **options):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert r.returncode == 0, "%s: %s" % (" ".join(command), r.stdout[-2000:])
    return r.stdout


def use(folder, elsewhere, **more):
    """The package in `folder`, with nothing that leads to the source tree."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": folder, "HOME": elsewhere, **more}
    out = do("/usr/bin/python3", "-c", TRY, cwd=elsewhere, env=env)
    assert out.strip() == os.path.join(folder, "gpmem"), out


def check_make_install(top):
    prefix = os.path.join(top, "usr")
    do("cmake", "--install", BUILD, "--prefix", prefix)
    do(os.path.join(ROOT, "tools/install-python"), prefix)
    use(os.path.join(prefix, "lib", "python%d.%d" % sys.version_info[:2], "dist-packages"), top)
    assert do(os.path.join(prefix, "bin/gpmem"), "-e", "1 + 1", cwd=top, env={"PATH": ""}) == "2\n"


def pip(top, target, *options):
    """--no-index: nothing may be fetched; no compiler and no setuptools are asked for."""
    do("/usr/bin/python3", "-m", "pip", "install", "--no-index", "--no-deps", "--no-cache-dir", "--quiet", "--target",
       target, *options, ROOT, env={"PATH": "/nonexistent", "HOME": top}, cwd=top)
    return target


def check_pip(top):
    use(pip(top, os.path.join(top, "site")), top)


def check_installed_library(top):
    """A package that holds no library takes the one that the loader finds."""
    folder, libraries = os.path.join(top, "plain"), os.path.join(top, "libraries")
    pip(top, folder, "--config-settings", "library=installed")
    assert not [n for n in os.listdir(os.path.join(folder, "gpmem")) if ".so" in n]
    os.mkdir(libraries)
    os.symlink(os.path.join(BUILD, "libgpmem.so"), os.path.join(libraries, "libgpmem.so.0"))
    use(folder, top, LD_LIBRARY_PATH=libraries)


with tempfile.TemporaryDirectory(prefix="gpmem-install-") as folder:
    check_make_install(folder)
    check_pip(folder)
    check_installed_library(folder)
print("installed by make and by pip, with a library and without, imported and used")
