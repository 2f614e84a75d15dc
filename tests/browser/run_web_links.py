#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The library for web pages would link, seen without emscripten: the objects of this build that web/CMakeLists.txt takes, with
web/*.c beside them, need nothing but each other, jansson and the functions of web/libc.txt, which emscripten's C library has
(some are instructions on one processor and functions on another). A name that is missing is either to be given by web/none.c, or,
when `make wasm` links with it, a line of that file. Names of glibc alone that do not show in objects (..._NP) are in missing.h.
Argument: the tool."""
import glob, os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OBJECTS = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "CMakeFiles/gpmem_objects.dir")
# What other machines add: helpers of compilers, OpenMP, sanitizers, the choice of an instruction set, what is asked of glibc alone.
COMPILERS = re.compile(r"(mallinfo2$|malloc_trim$|__|_GLOBAL_OFFSET_TABLE_|_DYNAMIC|GOMP_|omp_|vec_ops_avx)")


def read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def symbols(paths):
    """Names that the objects define, and those they need."""
    out = subprocess.run(["nm", "-P", "-A", "--no-sort", *paths], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split(": ", 1)[1].split() for line in out.splitlines() if ": " in line]
    needed = {r[0] for r in rows if r[1] == "U"}  # weak ones may be absent
    # The BLAS of this build has names of its own (tools/blas); a page's has the usual ones.
    return {r[0] for r in rows if r[1] not in "Uwv"}, {re.sub(r"^own_(?=cblas_|openblas_|d\w+_$)", "", n) for n in needed}


def compiled(folder):
    """Objects of web/*.c; page.c is not among them: it calls the library's interface and the page."""
    made = []
    for name in ("blas", "none", "stack"):
        made.append(os.path.join(folder, name + ".o"))
        subprocess.run(["cc", "-std=gnu11", "-w", "-D_GNU_SOURCE", "-c", "-fno-builtin", "-Iweb/include", "-Isrc", "-Iinclude",
                        "web/%s.c" % name, "-o", made[-1]], cwd=ROOT, check=True)
    return made


left_out = re.search(r'list\(FILTER SOURCES EXCLUDE REGEX "([^"]*)"\)', read("web/CMakeLists.txt")).group(1).replace("\\\\", "\\")
here = lambda p: os.path.exists(os.path.join(ROOT, os.path.relpath(p, OBJECTS)[:-2]))  # not of a file that is gone
taken = [p for p in glob.glob(OBJECTS + "/src/**/*.o", recursive=True) if here(p) and not re.search(left_out, p[:-2])] + glob.glob(OBJECTS + "/gen/*.o")
assert len(taken) > 200, (OBJECTS, len(taken))
with tempfile.TemporaryDirectory() as folder:
    defined, needed = symbols(taken + compiled(folder))
libc = set(read("web/libc.txt").split())
missing = sorted(n for n in needed - defined - libc if not COMPILERS.match(n) and not n.startswith("json_"))
own = re.compile(r"\b\w+_(?:NP|np)\b")
here_alone = {n for p in taken if p.startswith(OBJECTS + "/src/") for n in own.findall(read(os.path.relpath(p, OBJECTS)[:-2]))}
missing += sorted(here_alone - set(own.findall(read("web/include/missing.h"))))
for name in missing:
    print("%s: nothing in a web page has it (web/none.c, or web/libc.txt when make wasm links)" % name)
if not missing:
    print("%d objects of the library for web pages need nothing that is not there" % len(taken))
sys.exit(bool(missing))
