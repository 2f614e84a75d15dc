#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""Does what docs/extending.md says in a copy of the tree: writes its files, applies its changes, builds, and tries the
new distribution, kernel and operator. Argument: the tool (unused but for its place); [--keep DIR]."""
import json, math, os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = sys.argv[3] if "--keep" in sys.argv else tempfile.mkdtemp(prefix="gpmem-extending-")


def do(*command, text=None):
    r = subprocess.run(command, cwd=WORK, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        sys.exit("%s failed:\n%s" % (" ".join(command), r.stdout[-3000:]))
    return r.stdout


def follow(page):
    for info, body in re.findall(r"^```([^\n]+)\n(.*?)^```", page, re.S | re.M):
        words = info.split()
        if words[0] == "diff":
            do("patch", "-p1", "--fuzz=3", text=body)
        elif words[-1].startswith("file="):
            with open(os.path.join(WORK, words[-1][5:]), "w") as f:
                f.write(body)


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


for name in ("CMakeLists.txt", "CMakePresets.json", "src", "include", "tools", "tests"):
    source = os.path.join(ROOT, name)
    (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, os.path.join(WORK, name))
follow(open(os.path.join(ROOT, "docs", "extending.md"), encoding="utf-8").read())
do("cmake", "--preset", "release")
do("cmake", "--build", "build", "-j", "2", "--target", "gpmem", "test_kernels")
check_distribution()
check_kernel()
check_operator()
do("build/tests/test_kernels")
do("tools/layers", ".")
print("the page's distribution, kernel and operator work")
if "--keep" not in sys.argv:
    shutil.rmtree(WORK)
