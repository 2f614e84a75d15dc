#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/extending.md says in a copy of the tree: writes its files, applies its changes, compiles what they
touch, links it with the objects of the tool's build, tries the new distribution, kernel, operator, emulator and command, and
runs the tests that look at every row: who follows the page leaves `make test` as it was.
Argument: the tool, built by ninja; [--keep DIR] [--all: every test of the fast set, minutes]."""
import json, math, os, re, shlex, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
KEEP = sys.argv[sys.argv.index("--keep") + 1] if "--keep" in sys.argv else None
TOP = os.path.abspath(KEEP) if KEEP else tempfile.mkdtemp(prefix="gpmem-extending-")  # the copy and what lies beside it
WORK = os.path.join(TOP, "tree")
# What sees every row, besides all of tests/conform/test_*.c.
UNITS = ["tests/test_gp_api"]
SCRIPTS = ["golden/run_golden.py", "conform/run_one_place.py", "conform/run_examples.py", "conform/run_conformance.py", "docs/run_reference.sh", "editors/run_editors.py", "style/run_format.sh"]


def do(*command, text=None, cwd=None):
    r = subprocess.run(command, cwd=cwd or WORK, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        sys.exit("%s failed:\n%s" % (" ".join(command), r.stdout[-3000:]))
    return r.stdout


def copy_tree():
    """Everything but builds and history, and a git repository for the tests that ask git for files."""
    def ignore(folder, names):
        return [n for n in names if n == ".git" or (folder == ROOT and n.startswith("build"))]
    shutil.copytree(ROOT, WORK, symlinks=True, dirs_exist_ok=True, ignore=ignore)


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


def compile_unit(unit, like):
    """With the flags of a file of the build, in the copy."""
    keep = ("-I", "-D", "-O", "-f", "-W", "-std", "-isystem", "/usr/include")
    flags = [w.replace(ROOT + "/", WORK + "/") for w in like[1:] if w.startswith(keep)]
    flags = [w.replace(WORK + "/build", ROOT + "/build") for w in flags]  # generated headers
    made = os.path.join(WORK, unit.replace("/", "_") + ".o")
    compiler = like[:2] if os.path.basename(like[0]) == "ccache" else like[:1]
    do(*compiler, *flags, "-Werror", "-c", os.path.join(WORK, unit), "-o", made)
    return made


def build(changed, targets):
    """Compiles the changed units and links every target with them first; a changed test stands for the old one."""
    database = json.loads(do("ninja", "-t", "compdb", cwd=BUILD))
    flags = {e["file"]: shlex.split(e["command"]) for e in database if e["file"].endswith(".c")}
    any_source = flags[os.path.join(ROOT, "src/front/rows.c")]
    made, tests = {}, {}
    for unit in units(changed):
        if unit.startswith("tests/"):
            tests[os.path.basename(unit)[:-2]] = compile_unit(unit, flags[os.path.join(ROOT, unit)])
        else:
            made[unit] = compile_unit(unit, any_source)
    os.makedirs(os.path.join(WORK, "build/tests"))
    for target in targets:
        link = do("ninja", "-t", "commands", target, cwd=BUILD).strip().split("\n")[-1]
        name = os.path.basename(target)
        if name in tests:
            link, n = re.subn(r" \S*/%s\.c\.o" % name, " " + tests[name], link, count=1)
            assert n == 1, link
        first = []  # an object in the place of the old one; before the archive; a new command for the tool alone
        for unit, compiled in made.items():
            link, n = re.subn(r" \S*\.dir/%s\.o" % re.escape(unit), " " + compiled, link)
            if not n and (name == "gpmem" or not unit.startswith("src/front/cli/")):
                first.append(compiled)
        link = re.sub(r" -o \S+", " %s -o %s" % (" ".join(first), os.path.join(WORK, "build", target)), link, count=1)
        do("sh", "-c", link, cwd=BUILD)


def run(program):
    out = do("build/gpmem", "run", "--format", "json", "-", text=program)
    return [json.loads(line) for line in out.splitlines()]


def check_distribution():
    (density, draws, far) = run("assess(3, maxwell, 2); mapv(proc(i) { maxwell(2) }, arange(4000)); maxwell(2, lower=9);")
    assert abs(density - (math.log(2 / math.pi) / 2 + math.log(9 / 8) - 9 / 8)) < 1e-12
    assert abs(sum(draws) / 4000 - 4 * math.sqrt(2 / math.pi)) < 0.1 and far > 9
    assert "scale" in do("build/gpmem", "help", "maxwell")


def check_kernel():
    """IMQ(l) is RQ(l, alpha = 1/2); run_kernel_words.py tries the rest."""
    program = "assume f = make_gp(%s, noise=0.3); observe f(array(0, 1, 2.5)) = array(1, -1, 0.5); run(global_log_likelihood());"
    (a,), (b,) = (run(program % k) for k in ("make_imq(1.3, 2)", "make_rq(1.3, 2, 0.5)"))
    flat = [v[0] if isinstance(v, list) else v for v in (a, b)]
    assert abs(flat[0] - flat[1]) < 1e-9 and abs(flat[0]) > 1, (a, b)
    print(do("tests/conform/run_kernel_words.py", "build/gpmem", "IMQ").strip())
    text = do("build/gpmem", "discover", "-q", "-k", "IMQ", "--log", "never", "data/airline.csv")
    assert "IMQ + WN" in text and "a function with long memory" in text.lower(), text


def check_operator():
    (draws,) = run("""assume p = beta(1, 1);
for (i = 0; i < 9; i++) { observe flip(p) = true; };
for (i = 0; i < 3; i++) { observe flip(p) = false; };
define d = run(accumulate_dataset(4000, do(lazy_mh(default, one, 0.3, 8), collect(p))));
column(d, "p");""")
    mean = sum(draws) / len(draws)
    assert abs(mean - 10 / 14) < 0.012, mean


def check_emulator():
    """What was computed is known, the rest is independent; inference on the parameter; what the parameter cannot be."""
    (known, spread, sds) = run("""assume s = gamma(4, 2);
assume (f_compute, f_emu) = whitemem(proc(x) { x * x }, s);
assume nine = f_compute(3);
sample f_emu(array(3, 3));
mapv(proc(i) { run(sample(f_emu(1))) }, arange(200));
for (i = 0; i < 40; i++) { observe f_emu(10 + i) = 2; };
column(run(accumulate_dataset(1000, do(mh(default, one, 5), collect(s)))), "s");""")
    assert list(known) == [9, 9] and len(set(spread)) == 200, known
    assert abs(sum(sds) / 1000 - 2.4) < 0.5, sum(sds) / 1000
    r = subprocess.run(["build/gpmem", "-e", "whitemem(proc(x) { x }, -1)"], cwd=WORK, capture_output=True, text=True)
    assert r.returncode == 1 and "sd must be a positive number" in r.stderr, r


def check_command():
    assert set(do("build/gpmem", "names", "make_wh").split()) == {"make_white", "make_whitenoise"}
    assert do("build/gpmem", "names", "-n", "1", "make_").count("\n") == 1
    assert "--limit" in do("build/gpmem", "names", "--help") and "names " in do("build/gpmem", "--help")
    assert "names" in do("build/gpmem", "completions", "bash") and "limit" in do("build/gpmem", "man", "names")


def check_tests(targets, scripts):
    """Tests of the copy with its tool; those that the page itself does not follow must be green."""
    failed = []
    for command in [["build/" + t] for t in targets[2:]] + [["tests/" + s, "build/gpmem"] for s in scripts]:
        r = subprocess.run(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
        if r.returncode:
            failed.append("%s:\n%s" % (" ".join(command), r.stdout[-1500:]))
    if failed:
        sys.exit("who follows the page breaks %d tests:\n%s" % (len(failed), "\n".join(failed)))
    return len(targets) - 2 + len(scripts)


def slow(path):
    with open(path) as f:
        return any("label: slow" in f.readline() for _ in range(5))


def chosen():
    """The programs to link and the scripts to run."""
    groups = ("unit", "conform", "stat") if "--all" in sys.argv else ("conform",)
    found = [os.path.join(ROOT, "tests", g, n) for g in groups for n in sorted(os.listdir(os.path.join(ROOT, "tests", g)))]
    tests = ["tests/" + os.path.basename(p)[:-2] for p in found if re.match(r"test_.*\.c$", os.path.basename(p)) and not slow(p)]
    scripts, tests = SCRIPTS, sorted(set(tests) | set(UNITS))
    if "--all" in sys.argv:
        top = os.path.join(ROOT, "tests")
        scripts = sorted(os.path.join(g, n) for g in os.listdir(top) if os.path.isdir(os.path.join(top, g))
                         for n in os.listdir(os.path.join(top, g)) if re.match(r"run_.*\.(py|sh)$", n)
                         and n not in ("run_extending.py", "run_install.py", "run_binaries.py") and not slow(os.path.join(top, g, n)))
    return ["gpmem", os.path.basename(os.path.realpath(os.path.join(BUILD, "libgpmem.so")))] + tests, scripts


copy_tree()
targets, scripts = chosen()
with open(os.path.join(ROOT, "docs", "extending.md"), encoding="utf-8") as f:
    page = f.read()
build(follow(page), targets)
os.symlink(targets[1], os.path.join(WORK, "build/libgpmem.so"))
check_distribution()
check_kernel()
check_operator()
check_emulator()
check_command()
assert "tools/reference build/gpmem" in page
do("tools/reference", "build/gpmem")
do("tools/layers", ".")
done = check_tests(targets, scripts)
print("the page's distribution, kernel, operator, emulator and command work, and %d tests of the copy pass" % done)
if not KEEP:
    shutil.rmtree(TOP)
