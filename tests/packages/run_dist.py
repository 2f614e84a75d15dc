#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The release's tarball and the version: the same tree gives the same bytes, also from the unpacked tarball and without git; nothing is missing
or too much; every file that names the version names the same; `tools/version X.Y.Z` sets them all. Argument: the tool."""
import os, re, shutil, subprocess, sys, tarfile, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])


def do(*command, **options):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert r.returncode == 0, "%s: %s" % (" ".join(command), r.stdout[-2000:])
    return r.stdout


def content(path):
    with open(path, "rb") as f:
        return f.read()


def check_tarball(top, version):
    name = "gpmem-%s.tar.gz" % version
    first, again, other = (os.path.join(top, d) for d in ("first", "again", "other"))
    do(os.path.join(ROOT, "tools/dist"), first)
    tree = os.path.join(top, "tree")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=lambda folder, names:
                    [n for n in names if folder == ROOT and (n.startswith("build") or n == "figures")])
    for folder, _, names in os.walk(tree):  # a checkout of another day, by somebody with another umask
        for n in names:
            path = os.path.join(folder, n)
            if not os.path.islink(path) and ".git" not in path:
                os.utime(path, (1e9, 1e9))
                os.chmod(path, os.stat(path).st_mode & 0o700)
    if os.path.exists(os.path.join(ROOT, "PKG-INFO")):
        shutil.copystat(os.path.join(ROOT, "PKG-INFO"), os.path.join(tree, "PKG-INFO"))
    do(os.path.join(tree, "tools/dist"), again)
    assert content(os.path.join(first, name)) == content(os.path.join(again, name)), "two tarballs of one tree differ"
    do("sha256sum", "--check", "SHA256SUMS", cwd=first)
    with tarfile.open(os.path.join(first, name)) as tar:
        members = tar.getmembers()
        tar.extractall(top)
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "", "")}
    assert len({m.mtime for m in members}) == 1 and len({m.name for m in members}) == len(members)
    assert all(m.name.startswith("gpmem-%s/" % version) for m in members)
    unpacked = os.path.join(top, "gpmem-" + version)
    do(os.path.join(unpacked, "tools/dist"), other)
    assert content(os.path.join(first, name)) == content(os.path.join(other, name)), "a tarball of the unpacked tarball differs"
    check_without_git(top, tree, unpacked, {m.name for m in members}, members[0].mtime, name)
    about = content(os.path.join(unpacked, "PKG-INFO")).decode()
    assert about.startswith("Metadata-Version: 2.1\nName: gpmem\nVersion: %s\n" % version), about
    return len(members), unpacked


def check_without_git(top, tree, unpacked, members, moment, name):
    """A checkout where git is not installed, and a copy that has neither .git nor PKG-INFO: everything goes along, and that is said."""
    out, bare = os.path.join(top, "without"), os.path.join(top, "bare")
    shutil.copytree(unpacked, bare, symlinks=True)
    os.remove(os.path.join(bare, "PKG-INFO"))
    for place in tree, bare:
        said = do(os.path.join(place, "tools/dist"), out, env={"PATH": "/nonexistent", "SOURCE_DATE_EPOCH": str(int(moment))})
        assert os.path.exists(os.path.join(place, "PKG-INFO")) or "git cannot say" in said, said
        with tarfile.open(os.path.join(out, name)) as tar:
            names = set(tar.getnames())
        assert names >= members and not any("/.git/" in n or n.endswith("/.git") for n in names), sorted(names ^ members)
    assert content(os.path.join(out, name)) == content(os.path.join(top, "first", name)), "a tarball of the files alone differs"
    do(os.path.join(bare, "tools/dist"), out, env={"PATH": "/nonexistent"})


def check_set(unpacked):
    """The version of a copy is set: everything follows, and a file that was forgotten is found."""
    tool = os.path.join(unpacked, "tools/version")
    do(tool, "--check")
    path = os.path.join(unpacked, "CHANGELOG.md")
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("## Unreleased", "## 7.8.7"))
    r = subprocess.run([tool, "7.8.9"], stderr=subprocess.PIPE, text=True)
    assert r.returncode == 1 and "Unreleased" in r.stderr and do(tool) != "7.8.9\n", "a release without changes"
    with open(path, "w") as f:
        f.write(text if "## Unreleased" in text else text.replace("\n## ", "\n## Unreleased\n\n## ", 1))
    do(tool, "7.8.9")
    assert do(tool) == "7.8.9\n"
    do(tool, "--check")
    for path, line in (("r/DESCRIPTION", "Version: 7.8.9"), ("CITATION.cff", "version: 7.8.9"), ("debian/changelog", "gpmem (7.8.9)"),
                       ("CHANGELOG.md", "## 7.8.9")):
        with open(os.path.join(unpacked, path)) as f:
            text = f.read()
        assert line in text, path
        with open(os.path.join(unpacked, path), "w") as f:
            f.write(text.replace("7.8.9", "7.8.8"))
        r = subprocess.run([tool, "--check"], stdout=subprocess.PIPE, text=True)
        assert r.returncode == 1 and path in r.stdout, (path, r.stdout)
        with open(os.path.join(unpacked, path), "w") as f:
            f.write(text)
    out = do("/usr/bin/python3", "-c", "import sys; sys.path.insert(0, 'python'); import _build; print(_build.version())", cwd=unpacked)
    assert out == "7.8.9\n"


with tempfile.TemporaryDirectory(prefix="gpmem-dist-") as folder:
    version = do(os.path.join(ROOT, "tools/version")).strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    do(os.path.join(ROOT, "tools/version"), "--check")
    assert do(TOOL, "--version") == "gpmem %s\n" % version
    count, unpacked = check_tarball(folder, version)
    check_set(unpacked)
print("gpmem-%s.tar.gz: %d files, the same bytes three times; the version stands in one place" % (version, count))
