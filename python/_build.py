# SPDX-License-Identifier: Apache-2.0
"""The build backend of this package (PEP 517): writes the wheel itself, so that `pip install ./python` needs neither
network nor compiler nor setuptools. The library of the source tree's build, when there is one, goes into the wheel;
without it the package looks for an installed libgpmem."""
import base64
import hashlib
import os
import sysconfig
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "build", "libgpmem.so")


def _project():
    with open(os.path.join(HERE, "pyproject.toml"), "rb") as f:
        return tomllib.load(f)["project"]


def _metadata(project):
    lines = ["Metadata-Version: 2.1", "Name: %(name)s" % project, "Version: %(version)s" % project,
             "Summary: %(description)s" % project, "License: %s" % project["license"]["text"],
             "Requires-Python: %s" % project["requires-python"], "Description-Content-Type: text/markdown"]
    lines += ["Requires-Dist: %s" % d for d in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines += ["Provides-Extra: %s" % extra] + ["Requires-Dist: %s; extra == '%s'" % (d, extra) for d in needs]
    with open(os.path.join(HERE, project["readme"]), encoding="utf-8") as f:
        return "\n".join(lines) + "\n\n" + f.read()


def _files():
    """{path in the wheel: bytes}"""
    out = {}
    for name in sorted(os.listdir(os.path.join(HERE, "gpmem"))):
        if name.endswith((".py", "py.typed")):
            with open(os.path.join(HERE, "gpmem", name), "rb") as f:
                out["gpmem/" + name] = f.read()
    if os.path.exists(LIBRARY):
        with open(LIBRARY, "rb") as f:
            out["gpmem/libgpmem.so.0"] = f.read()
    return out


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project, files = _project(), _files()
    holds_library = "gpmem/libgpmem.so.0" in files
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_") if holds_library else "any"
    info = "%(name)s-%(version)s.dist-info/" % project
    tag = "py3-none-" + platform
    files[info + "METADATA"] = _metadata(project).encode()
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: gpmem\nRoot-Is-Purelib: %s\nTag: %s\n"
                             % ("false" if holds_library else "true", tag)).encode()
    record = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="),
                                   len(data)) for path, data in files.items()]
    files[info + "RECORD"] = "\n".join(record + [info + "RECORD,,", ""]).encode()
    name = "%s-%s-%s.whl" % (project["name"], project["version"], tag)
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in files.items():
            z.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("gpmem is installed from its source tree: pip install ./python")
