# SPDX-License-Identifier: Apache-2.0
"""The build backend of the Python package (PEP 517): writes wheels and the source tarball itself, so that pip needs neither
network nor setuptools. A wheel takes libgpmem of the tree's build folder along and builds it first where it is not there;
`--config-settings library=installed` leaves it out, and the package then loads the one that is installed."""
import base64
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, "build")
LIBRARY = "gpmem/libgpmem.so.0"  # its place in the wheel


def _read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def version():
    """The version of the tree; it stands in CMakeLists.txt alone."""
    return re.search(r"^project\(gpmem VERSION (\S+)", _read(ROOT, "CMakeLists.txt").decode(), re.M).group(1)


def _project():
    return dict(tomllib.loads(_read(ROOT, "pyproject.toml").decode())["project"], version=version())


def _metadata(project):
    lines = ["Metadata-Version: 2.1", "Name: %(name)s" % project, "Version: %(version)s" % project,
             "Summary: %(description)s" % project, "License: %s" % project["license"]["text"],
             "Requires-Python: %s" % project["requires-python"], "Description-Content-Type: text/markdown"]
    lines += ["Requires-Dist: %s" % d for d in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines += ["Provides-Extra: %s" % extra] + ["Requires-Dist: %s; extra == '%s'" % (d, extra) for d in needs]
    return ("\n".join(lines) + "\n\n").encode() + _read(ROOT, project["readme"])


def package_files():
    """{path: bytes} of what every installation has: the modules and what tells pip and importlib of them."""
    project, folder = _project(), os.path.join(HERE, "gpmem")
    out = {"gpmem/" + name: _read(folder, name) for name in sorted(os.listdir(folder))
           if name.endswith((".py", ".pyi")) or name == "py.typed"}
    out["%(name)s-%(version)s.dist-info/METADATA" % project] = _metadata(project)
    return out


def _build_library():
    """The path of the shared library, built where it is not there."""
    path = os.path.join(BUILD, "libgpmem.so")
    if not os.path.exists(path):
        try:
            subprocess.run([os.path.join(ROOT, "tools/configure"), "release"], check=True)
            subprocess.run(["cmake", "--build", BUILD, "--target", "gpmem_shared"], check=True)
        except (OSError, subprocess.CalledProcessError) as e:
            sys.exit("gpmem: libgpmem could not be built (%s). Debian's packages for it are the lines `build` of "
                     "tools/packages.txt; a wheel for your machine needs none of them." % e)
    return path


def write_wheel(folder, files, platform, programs=()):
    """A wheel of these files beside those of the package, its name; `programs` are paths to be executable. The same
    files give the same bytes."""
    project = _project()
    files = dict(package_files(), **files)
    info = "%(name)s-%(version)s.dist-info/" % project
    tag = "py3-none-" + platform
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: gpmem\nRoot-Is-Purelib: %s\nTag: %s\n"
                             % ("true" if platform == "any" else "false", tag)).encode()
    files[info + "licenses/LICENSE"] = _read(ROOT, "LICENSE")
    record = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="),
                                   len(data)) for path, data in files.items()]
    files[info + "RECORD"] = "\n".join(record + [info + "RECORD,,", ""]).encode()
    name = "%s-%s-%s.whl" % (project["name"], project["version"], tag)
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980
            entry.external_attr = (0o100755 if path in programs else 0o100644) << 16
            z.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if (config_settings or {}).get("library") == "installed":
        return write_wheel(wheel_directory, {}, "any")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return write_wheel(wheel_directory, {LIBRARY: _read(_build_library())}, platform)


def git(*words):
    """What git prints about the tree; None where the tree is no repository of its own or git cannot read it."""
    if not os.path.exists(os.path.join(ROOT, ".git")):
        return None
    try:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def _sources():
    """Paths of the tree's files: what git keeps, or, without git, everything but what is built."""
    listed = git("ls-files", "-z")
    if listed is not None:
        return [p for p in os.fsdecode(listed).split("\0") if p and os.path.lexists(os.path.join(ROOT, p))]
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [b for b in below if b not in ("__pycache__", ".git") and not (folder == ROOT and re.match(r"build(-|$)|figures$", b))]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return [p for p in found if p not in ("PKG-INFO", ".git")]  # .git: a file in a worktree


def _moment():
    """Seconds that all files of the tarball are dated with: SOURCE_DATE_EPOCH, the commit, the tarball this came from, or the newest file."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    commit, unpacked = git("log", "-1", "--format=%ct"), os.path.join(ROOT, "PKG-INFO")
    if commit:
        return int(commit)
    return int(max(os.lstat(p).st_mtime for p in ([unpacked] if os.path.exists(unpacked) else [os.path.join(ROOT, s) for s in _sources()])))


def build_sdist(sdist_directory, config_settings=None):
    """The tarball of a release: every file of the tree, in one order, with one date and owner: the same tree gives the
    same bytes, and so does the tree unpacked from it."""
    project, moment = _project(), _moment()
    top = "%(name)s-%(version)s" % project
    with open(os.path.join(sdist_directory, top + ".tar.gz"), "wb") as raw, \
            gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed, tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as tar:
        def add(entry, data=None):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = moment, 0, 0, "", ""
            if entry.isfile():
                entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            tar.addfile(entry, data)
        about = tarfile.TarInfo(top + "/PKG-INFO")
        text = _metadata(project)
        about.size = len(text)
        add(about, io.BytesIO(text))
        for path in sorted(_sources()):
            entry = tar.gettarinfo(os.path.join(ROOT, path), top + "/" + path)
            if entry.isfile():
                with open(os.path.join(ROOT, path), "rb") as f:
                    add(entry, f)
            else:
                add(entry)
    return top + ".tar.gz"
