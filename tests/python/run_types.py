#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package reads well: mypy finds nothing, every public function and method has types and a docstring, and the
examples in docstrings run (argument: the tool)."""
import doctest, importlib, inspect, os, pkgutil, shutil, subprocess, sys

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
import gpmem


def complaints(name, f):
    """What a function lacks."""
    f = f.fget if isinstance(f, property) else inspect.unwrap(getattr(f, "__func__", f))
    signature, bad = inspect.signature(f), []
    for p in signature.parameters.values():
        if p.name not in ("self", "cls") and p.annotation is inspect.Parameter.empty:
            bad.append("%s: the argument %s has no type" % (name, p.name))
    if signature.return_annotation is inspect.Signature.empty:
        bad.append("%s: the result has no type" % name)
    if not name.split(".")[-1].startswith("_") and not f.__doc__:
        bad.append("%s has no docstring" % name)
    return bad


bad, count = [], 0
for name in gpmem.__all__:
    thing = getattr(gpmem, name)
    members = {name: thing} if not inspect.isclass(thing) else {
        "%s.%s" % (name, k): v for k, v in vars(thing).items()
        if (not k.startswith("_") or k in ("__init__", "_repr_html_", "_repr_svg_"))
        and (inspect.isfunction(v) or isinstance(v, (property, classmethod, staticmethod)))}
    for path, f in members.items():
        count += 1
        bad += complaints(path, f)
    if inspect.isclass(thing) and not thing.__doc__:
        bad.append("%s has no docstring" % name)
assert count > 70, count

examples = 0
for info in pkgutil.iter_modules(gpmem.__path__):
    failed, tried = doctest.testmod(importlib.import_module("gpmem." + info.name), optionflags=doctest.ELLIPSIS)
    examples += tried
    if failed:
        bad.append("%d examples of %s fail" % (failed, info.name))
assert examples > 20, examples

assert os.path.exists(os.path.join(ROOT, "python", "gpmem", "py.typed"))
if shutil.which("mypy"):
    p = subprocess.run(["mypy", "--ignore-missing-imports", "--check-untyped-defs", "--no-incremental", "--cache-dir=/dev/null", "gpmem"],
                       cwd=os.path.join(ROOT, "python"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        bad.append(p.stdout)
else:
    print("mypy is not there (tools/install-packages test)")
print("\n".join(bad))
print("%d functions and methods have types, %d lines of examples ran" % (count, examples))
sys.exit(bool(bad))
