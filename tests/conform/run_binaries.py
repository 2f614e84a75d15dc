#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is built, installed and packed: no binary takes libraries from the current folder (an empty or relative entry
of RUNPATH), the shared library exports what the public headers declare and nothing else, and a build folder that
came along with a copy of the tree is configured anew. Argument: the tool."""
import os, re, shutil, subprocess, sys, tempfile, zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(TOOL)


def do(*command, **options):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert r.returncode == 0, "%s: %s" % (" ".join(command), r.stdout[-2000:])
    return r.stdout


def elf_files(top):
    """Programs and shared libraries; object files have no dynamic section."""
    for folder, below, files in os.walk(top):
        below[:] = [b for b in below if b != "CMakeFiles"]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as f:
                if f.read(4) == b"\x7fELF":
                    yield path


def bad_entries(path):
    """Entries of the binary's search path that depend on where it is started."""
    for entries in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", do("readelf", "-d", "-W", path)):
        for e in entries.split(":"):
            if not (e.startswith("/") or e == "$ORIGIN" or e.startswith("$ORIGIN/")):
                yield e


def check_search_paths(top):
    n = 0
    for path in elf_files(top):
        bad = list(bad_entries(path))
        assert not bad, "%s looks for libraries in %r" % (path, bad)
        n += 1
    return n


def check_planted_library(top):
    """A library in the current folder is not loaded, whatever it is called."""
    with open(os.path.join(top, "evil.c"), "w") as f:
        f.write('#include <stdio.h>\n#include <stdlib.h>\n'
                '__attribute__((constructor)) static void go(void) { puts("planted"); exit(66); }\n')
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", do("readelf", "-d", TOOL))
    assert "libedit.so.2" in needed, needed
    for name in needed:
        if not name.startswith(("libc.", "ld-linux")):
            do("cc", "-shared", "-fPIC", "-Wl,-soname," + name, "-o", os.path.join(top, name), os.path.join(top, "evil.c"))
    assert do(TOOL, "--version", cwd=top).startswith("gpmem ")


def check_exports():
    declared = set()
    for name in set(os.listdir(os.path.join(ROOT, "include/gpmem"))) - {"plugin.h"}:  # what plug-ins define
        with open(os.path.join(ROOT, "include/gpmem", name)) as f:
            text = re.sub(r"/\*.*?\*/|//[^\n]*|^#(?:[^\n]*\\\n)*[^\n]*", "", f.read(), flags=re.S | re.M)
        # declarations; neither types of callbacks nor functions whose body is in the header
        for line in re.split(r"[;{}]", text):
            m = re.search(r"\b(gpm_\w+)\s*\(", line)
            if m and not re.search(r"\b(?:typedef|static)\b", line):
                declared.add(m.group(1))
    exported = {line.split()[-1] for line in
                do("nm", "-D", "--defined-only", os.path.join(BUILD, "libgpmem.so")).splitlines()}
    assert len(declared) > 50
    assert not declared - exported, "declared, not exported: %s" % sorted(declared - exported)
    assert not exported - declared, "exported, not declared: %s" % sorted(exported - declared)
    with open(os.path.join(ROOT, "debian/libgpmem0.symbols")) as f:
        packaged = set(re.findall(r"^ (gpm_\w+)@Base \d", f.read(), re.M))
    assert packaged <= exported, "gone, though programs were linked with them: %s; the soname must change" % sorted(packaged - exported)
    assert packaged == exported, "not in debian/libgpmem0.symbols: %s; run tools/symbols build/libgpmem.so" % sorted(exported - packaged)
    return len(exported)


def check_copied_tree(top):
    """`make build` in a copy whose build folder was made for another tree; the compiler is left out."""
    copy = os.path.join(top, "copy")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=lambda folder, names:
                    [n for n in names if n == ".git" or (folder == ROOT and n.startswith("build"))])
    os.mkdir(os.path.join(copy, "build"))
    shutil.copy(os.path.join(BUILD, "CMakeCache.txt"), os.path.join(copy, "build"))
    tools = os.path.join(top, "bin")
    os.mkdir(tools)
    with open(os.path.join(tools, "cmake"), "w") as f:
        f.write('#!/bin/sh\ncase "$1" in --build) exit 0;; esac\nexec %s "$@"\n' % shutil.which("cmake"))
    os.chmod(f.name, 0o755)
    out = do("make", "-C", copy, "build", env=dict(os.environ, PATH=tools + ":" + os.environ["PATH"]))
    assert "was made for" in out, out
    with open(os.path.join(copy, "build/CMakeCache.txt")) as f:
        assert "CMAKE_HOME_DIRECTORY:INTERNAL=%s\n" % copy in f.read()


with tempfile.TemporaryDirectory(prefix="gpmem-binaries-") as folder:
    folder = os.path.realpath(folder)
    counts = [check_search_paths(BUILD)]
    do("cmake", "--install", BUILD, "--prefix", "/usr", env=dict(os.environ, DESTDIR=os.path.join(folder, "installed")))
    counts.append(check_search_paths(os.path.join(folder, "installed")))
    wheel = os.path.join(folder, "wheel")
    os.mkdir(wheel)
    sys.path.insert(0, os.path.join(ROOT, "python"))
    sys.dont_write_bytecode = True
    import _build
    _build.BUILD = BUILD
    with zipfile.ZipFile(os.path.join(wheel, _build.build_wheel(wheel))) as z:
        z.extractall(wheel)
    counts.append(check_search_paths(wheel))
    assert all(counts), counts
    check_planted_library(folder)
    exports = check_exports()
    check_copied_tree(folder)
print("search paths of %d built, %d installed, %d packed binaries; %d exports; a copied tree configures anew"
      % (*counts, exports))
