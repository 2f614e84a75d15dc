#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/extending.md says in a copy of the tree: writes its files, applies its changes, compiles what they
touch, links it with the objects of the tool's build, and tries the new distribution, kernel and operator.
Argument: the tool, built by ninja; [--keep DIR]."""
import json, math, os, re, shlex, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
WORK = sys.argv[3] if "--keep" in sys.argv else tempfile.mkdtemp(prefix="gpmem-extending-")


def do(*command, text=None, cwd=None):
    r = subprocess.run(command, cwd=cwd or WORK, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        sys.exit("%s failed:\n%s" % (" ".join(command), r.stdout[-3000:]))
    return r.stdout


def follow(page):
    """Writes and patches as the page says; the files that changed, in the copy."""
    changed = []
    for info, body in re.findall(r"^```([^\n]+)\n(.*?)^```", page, re.S | re.M):
        words = info.split()
        if words[0] == "diff":
            do("patch", "-p1", "--fuzz=3", text=body)
            changed += re.findall(r"^\+\+\+ b/(\S+)", body, re.M)
        elif words[-1].startswith("file="):
            with open(os.path.join(WORK, words[-1][5:]), "w") as f:
                f.write(body)
            changed.append(words[-1][5:])
    return changed


def units(changed):
    """The C files to compile: those that changed, and those that include another kind of file that did."""
    found = {c for c in changed if c.endswith(".c")}
    for name in (os.path.basename(c) for c in changed if not c.endswith(".c")):
        for folder, _, files in os.walk(os.path.join(WORK, "src")):
            for f in files:
                path = os.path.join(folder, f)
                if f.endswith(".c") and re.search(r'#include "([^"]*/)?%s"' % re.escape(name), open(path).read()):
                    found.add(os.path.relpath(path, WORK))
    return sorted(found)


def build(changed):
    """Compiles the changed units with the flags of the build and links tool and kernel tests with them first."""
    database = json.loads(do("ninja", "-t", "compdb", cwd=BUILD))
    like = shlex.split([e["command"] for e in database if e["file"].endswith("infer/infer_index.c")][0])
    flags = [w.replace(ROOT + "/src", WORK + "/src").replace(ROOT + "/include", WORK + "/include")
             for w in like[1:] if w.startswith(("-I", "-D", "-O", "-f", "-W", "-std", "-isystem", "/usr/include"))]
    objects = []
    for unit in units(changed):
        objects.append(os.path.join(WORK, unit.replace("/", "_") + ".o"))
        do(like[0], *flags, "-Werror", "-c", os.path.join(WORK, unit), "-o", objects[-1])
    os.makedirs(os.path.join(WORK, "build"))
    for target in ("gpmem", "tests/test_kernels"):
        link = do("ninja", "-t", "commands", target, cwd=BUILD).strip().split("\n")[-1]
        out = os.path.join(WORK, "build", os.path.basename(target))
        link = re.sub(r" -o \S+", " %s -o %s" % (" ".join(objects), out), link, count=1)
        do("sh", "-c", link, cwd=BUILD)


def run(program):
    out = do("build/gpmem", "run", "--format", "json", "-", text=program)
    return [json.loads(line) for line in out.splitlines()]


def check_distribution():
    (density, draws) = run("assess(3, rayleigh, 2); mapv(proc(i) { rayleigh(2) }, arange(4000));")
    assert abs(density - (math.log(3 / 4) - 9 / 8)) < 1e-12
    assert abs(sum(draws) / 4000 - 2 * math.sqrt(math.pi / 2)) < 0.1
    assert "scale" in do("build/gpmem", "help", "rayleigh")


def check_kernel():
    """CAUCHY(l) is RQ(l / sqrt 2, alpha = 1)."""
    program = "assume f = make_gp(%s, noise=0.3); observe f(array(0, 1, 2.5)) = array(1, -1, 0.5); run(global_log_likelihood());"
    (a,), (b,) = (run(program % k) for k in ("make_cauchy(1.3, 2)", "make_rq(1.3, %r, 1)" % (2 / math.sqrt(2))))
    flat = [v[0] if isinstance(v, list) else v for v in (a, b)]
    assert abs(flat[0] - flat[1]) < 1e-9 and abs(flat[0]) > 1, (a, b)


def check_operator():
    (draws,) = run("""assume p = beta(1, 1);
for (i = 0; i < 9; i++) { observe flip(p) = true; };
for (i = 0; i < 3; i++) { observe flip(p) = false; };
define d = run(accumulate_dataset(4000, do(lazy_mh(default, one, 0.3, 8), collect(p))));
column(d, "p");""")
    mean = sum(draws) / len(draws)
    assert abs(mean - 10 / 14) < 0.012, mean


for name in ("src", "include", "tools"):
    shutil.copytree(os.path.join(ROOT, name), os.path.join(WORK, name))
build(follow(open(os.path.join(ROOT, "docs", "extending.md"), encoding="utf-8").read()))
check_distribution()
check_kernel()
check_operator()
do("build/test_kernels")
do("tools/layers", ".")
print("the page's distribution, kernel and operator work")
if "--keep" not in sys.argv:
    shutil.rmtree(WORK)
