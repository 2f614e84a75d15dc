#!/usr/bin/python3
"""Black-box tests of the command-line tool (argument: the tool): exit status, streams, usage
errors, bad input, chains, completions, manual pages. The prompt has run_prompt.py."""
import json, os, re, subprocess, sys, tempfile
from each import run_tests

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = tempfile.TemporaryDirectory(prefix="gpmem-cli-")


def run(*args, stdin=b"", timeout=60, env=None, tool=TOOL):
    return subprocess.run([tool, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, cwd=WORK.name, env=dict(os.environ, **(env or {})))


def write(name, data):
    path = os.path.join(WORK.name, name)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


def expect(r, status, out=None, err=None):
    shown = "status %d\nstdout: %r\nstderr: %r" % (r.returncode, r.stdout[-600:], r.stderr[-600:])
    assert r.returncode == status, "expected status %d, got %s" % (status, shown)
    if out is not None:
        assert r.stdout == out.encode(), "expected stdout %r, got %s" % (out, shown)
    for text in [err] if isinstance(err, str) else err or []:
        assert text.encode() in r.stderr, "expected %r in stderr, got %s" % (text, shown)
    return r


# ---- conventions ----

def test_values_on_stdout():
    expect(run("-e", "1 + 1"), 0, "2\n", [])
    expect(run("-e", "1 + 1;  2 * 3"), 0, "2\n6\n")
    expect(run("-e", "define a = 4;", "-e", "a + 1"), 0, "5\n")
    expect(run("--eval=1 + 2"), 0, "3\n")
    expect(run("run", write("a.vnts", "define x = 2;\nx ** 3;\n")), 0, "8\n")
    expect(run("run", "-", stdin=b"1 + 2;"), 0, "3\n")
    expect(run(stdin=b"1 + 2;\n3 + 4;"), 0, "3\n7\n")
    assert run("-e", "1 + 1").stderr == b""


def test_old_processors():
    """Who asks for the code of an old processor, Intel's or AMD's, where this machine is a better one gets it, and is told; nobody else is."""
    old = ("Prescott", "Nehalem", "Sandybridge", "Barcelona", "Opteron", "Opteron_SSE3", "Bobcat", "Core2")
    said = {core: run("--version", "-v", env={"OPENBLAS_CORETYPE": core}).stdout.decode().split("\n") for core in old}
    better = {lines[2] for lines in said.values()}
    assert len(better) == 1, said
    os.environ.pop("OPENBLAS_CORETYPE", None)
    alone = expect(run("--version", "-v"), 0).stdout.decode()
    assert "OPENBLAS_CORETYPE" not in alone, alone
    if better != {""}:
        assert not any("for %s\n" % core in alone for core in old), alone


def test_version_and_help():
    r = expect(run("--version"), 0)
    assert r.stdout.startswith(b"gpmem ") and r.stderr == b""
    for args in (["--help"], ["-h"], ["help"]):
        r = expect(run(*args), 0)
        assert b"Commands:" in r.stdout and b"  run " in r.stdout
    assert b"--seed N" in expect(run("help", "run"), 0).stdout
    assert b"--seed N" in expect(run("run", "whatever", "--help"), 0).stdout
    assert b"normal" in expect(run("help", "normal"), 0).stdout
    expect(run("help", "norml"), 2, "", "did you mean 'normal'")
    expect(run("help", "zzzzqqqq"), 2, "", "there is no help on 'zzzzqqqq'")


def test_every_command_has_help():
    names = subprocess.run([TOOL, "man", "--list"], stdout=subprocess.PIPE).stdout.decode().split()
    assert "run" in names and "check" in names
    for name in names[1:]:
        r = expect(run(name, "--help"), 0)
        assert b"Usage: gpmem " + name.encode() in r.stdout, name
        assert r.stdout == run("help", name).stdout[: len(r.stdout)], name
        options = re.findall(r"^  (?:-(\w), |    )--([\w-]+)", r.stdout.decode(), re.M)
        for spelled in ([a for a, _ in options if a], [b for _, b in options]):
            assert len(spelled) == len(set(spelled)), "gpmem %s has an option twice: %s" % (name, spelled)
        assert max(map(len, r.stdout.decode().split("\n"))) < 130, "gpmem %s --help has a very long line" % name


def test_usage_errors():
    expect(run("rnu"), 2, "", "did you mean 'run'")
    expect(run("run"), 2, "", "usage: gpmem run")
    expect(run("run", "a", "b"), 2, "", "too many arguments")
    expect(run("run", "--sede", "3", "x"), 2, "", "did you mean --seed")
    expect(run("run", "--seed"), 2, "", "--seed needs a value")
    expect(run("run", "--seed", "-3", "x"), 2, "", "whole number")
    expect(run("run", "--seed", "99999999999999999999", "x"), 2, "", "whole number")
    expect(run("run", "--format", "xml", "x"), 2, "", "text|json")
    expect(run("run", "--quiet=yes", "x"), 2, "", "takes no value")
    expect(run("run", "--max-memory", "12Q", "x"), 2, "", "a size such as")
    expect(run("run", "--max-time", "nan", "x"), 2, "", "a time such as")
    expect(run("run", "--chains", "0", "x"), 2, "", "--chains wants")
    expect(run("-Z"), 2, "", "no option -Z")
    expect(run("completions", "tcsh"), 2, "", "bash, zsh and fish")
    path = write("b.vnts", "1;")
    expect(run(path), 2, "", "gpmem run " + path)


def test_program_errors():
    expect(run("-e", "1 + ;"), 2, "", ["error[E01", "<expression>:1"])
    r = expect(run("-e", "1 + 1; 2 + undefined_name"), 1, None, "undefined_name")
    assert r.stdout in (b"2\n", b"")
    expect(run("run", write("bad.vnts", "1 + 1;\n(2 + 3;\n")), 2, "", ["bad.vnts:2", "error[E01"])
    expect(run("check", write("good.vnts", "assume x = normal(0, 1);")), 0, "", [])
    expect(run("check", write("bad2.vnts", "assume x = ;")), 2, "", ["bad2.vnts:1:12", "error["])
    r = run("check", "--diagnostics", "json", os.path.join(WORK.name, "bad2.vnts"))
    d = json.loads(r.stderr.decode().splitlines()[0])
    assert r.returncode == 2 and d["line"] == 1 and d["code"].startswith("E0"), d


def test_formats():
    r = expect(run("--format", "json", "-e", "[1, true]; \"a\\\"b\"; list(1, 2.5)"), 0)
    assert [json.loads(l) for l in r.stdout.decode().splitlines()] == [[1, True], "a\"b", [1, 2.5]], r.stdout
    r = expect(run("--diagnostics", "json", "-e", "nope"), 1)
    d = json.loads(r.stderr.decode().splitlines()[0])
    assert d["code"] == "E0201" and "nope" in d["message"], d
    for env in ({"NO_COLOR": "1"}, {}):
        assert b"\033" not in run("-e", "nope", env=env).stderr  # stderr is no terminal


def test_seed():
    draw = "[normal(0, 1), uniform_continuous(0, 1)]"
    a = expect(run("--seed", "7", "-e", draw), 0).stdout
    assert a == run("-s7", "-e", draw).stdout
    assert a != run("--seed", "8", "-e", draw).stdout
    assert run("-e", draw).stdout == run("--seed", "1", "-e", draw).stdout


# ---- bad input: a clear error, never a crash ----

def bad(r, words, status=(1, 2)):
    assert r.returncode in status, (r.returncode, r.stderr[-500:])
    for w in words:
        assert w.encode() in r.stderr.lower(), (w, r.stderr[-500:])
    assert len(r.stderr) < 20000


def test_bad_files():
    bad(run("run", "no-such-file.vnts"), ["no-such-file.vnts"], (2,))
    bad(run("check", "no-such-file.vnts"), ["no-such-file.vnts"], (2,))
    bad(run("run", WORK.name), ["directory"], (2,))
    path = write("secret.vnts", "1;")
    os.chmod(path, 0)
    if os.geteuid() != 0:
        bad(run("run", path), ["permission"], (2,))
    else:  # root reads everything; a file below a file cannot be opened by anyone
        bad(run("run", path + "/x.vnts"), ["not a directory"], (2,))
    os.chmod(path, 0o600)


def test_bad_bytes():
    bad(run("run", write("utf8.vnts", b"1 + 1;\n\"caf\xe9\";\n")), ["utf-8"], (2,))
    bad(run("run", write("nul.vnts", b"1 +\0 1;\n")), ["nul"], (2,))
    bad(run("-e", "\udcff + 1"), ["utf-8"], (2,))


def test_nested_brackets():
    for opening in ("(", "[", "{", "f(", "-(", "proc() {", "if (", "[|"):
        bad(run("run", write("deep.vnts", opening * 100000)), ["e01"], (2,))
    bad(run("run", write("deep2.vnts", "(" * 100000 + "1" + ")" * 100000)), ["e0111"], (2,))


def test_long_line():
    names = b"1 + 1; \"" + b"a" * (50 << 20) + b"\"; nope\n"  # 50 MB in one line, wrong at its end
    r = run("run", write("long.vnts", names), timeout=120)
    bad(r, ["e0201", "nope"], (1,))
    assert len(r.stderr) < 2000
    bad(run("check", write("long.vnts", b"\"" + b"a" * (50 << 20)), timeout=120), ["e0103"], (2,))
    expect(run("run", write("long.vnts", b"1" + b" + 1" * 500000), timeout=120), 0, "500001\n")
    os.remove(os.path.join(WORK.name, "long.vnts"))


def test_unbounded_recursion():
    bad(run("-e", "define f = proc(n) { 1 + f(n + 1) }; f(0)"), ["e0220"], (1,))
    bad(run("-e", "assume f = proc(n) { 1 + f(n + 1) }; predict f(0)"), ["e0220"], (1,))


def test_limits():
    bad(run("--max-time", "0.5", "-e", "define f = proc(n) { if (n == 0) { 0 } else { f(n - 1) } };"
            " repeat(1000000000, action(f(100)))"), ["e0703"], (1,))
    deep = "define f = proc(n) { if (n == 0) { 0 } else { 1 + f(n - 1) } }; f(20000)"
    expect(run("-e", deep), 0, "20000\n")
    bad(run("--max-depth", "100", "-e", deep), ["e0220"], (1,))
    for greedy in ("size(arange(10000000))", "assume xs = mapv(proc(i) { normal(0, 1) }, arange(1000000))",
                   "define f = proc(n, a) { if (n == 0) { size(a) } else { f(n - 1, append(a, a)) } }; f(25, array(1, 2))"):
        bad(run("--max-memory", "20M", "--max-time", "60", "-e", greedy), ["e0703", "--max-memory"], (1,))
    # memory that is given back does not count
    expect(run("--max-memory", "20M", "-e", "infer repeat(300, do(x <- return(fill(100000, 1)), pass)); 1"), 0, "1\n")


def test_closed_stdout():
    r = subprocess.run("%s -e '1 + 1' > /dev/full" % TOOL, shell=True, stderr=subprocess.PIPE)
    assert r.returncode == 1 and b"cannot write" in r.stderr, r


# ---- chains ----

def test_chains_equal_one_after_another():
    path = write("chains.vnts", "assume x = normal(0, 1);\nobserve normal(x, 1) = 1;\n"
                 "infer mh(default, one, 50);\nsample x;\nsample normal(x, 1);\n")
    together = expect(run("run", "--chains", "5", "--seed", "3", path), 0).stdout
    single = b"".join(expect(run("run", "--chain", str(i), "--seed", "3", path), 0).stdout for i in range(5))
    assert together == single and len(set(together.split(b"\n"))) > 5
    for _ in range(3):
        assert run("run", "--chains", "5", "--seed", "3", path).stdout == together
    fail = write("chains_bad.vnts", "1 + 1;\nnope;\n")
    r = expect(run("run", "--chains", "2", fail), 1, None, "nope")
    assert r.stderr.count(b"error[") == 2


# ---- what is made from the table ----

def test_completions():
    script = run("completions", "bash").stdout.decode()
    path = write("gpmem.bash", script)
    def complete(*words):
        code = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpmem; printf "%s\n" "${COMPREPLY[@]}"'
        r = subprocess.run(["bash", "-c", code, "bash", path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert r.stderr == b"", r.stderr
        return r.stdout.decode().split()
    assert complete("gpmem", "ch") == ["check", "check-data"]
    assert "--seed" in complete("gpmem", "run", "--s")
    assert complete("gpmem", "run", "--format", "j") == ["json"]
    assert complete("gpmem", "completions", "z") == ["zsh"]
    help_run = run("run", "--help").stdout.decode()
    options = [w.rstrip(",") for w in help_run.split() if w.startswith("--") and w[2:3].isalpha()]
    for shell in ("bash", "zsh", "fish"):
        text = run("completions", shell).stdout.decode()
        for o in options:
            word = "-l " + o[2:] if shell == "fish" else o
            assert word in text or o == "--help", (shell, o)


def test_manual_pages():
    for page in run("man", "--list").stdout.decode().split():
        source = expect(run("man", page), 0).stdout
        r = subprocess.run(["scdoc"], input=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert r.returncode == 0 and b".SH OPTIONS" in r.stdout, (page, r.stderr)


def test_installed_tree():
    prefix = os.path.join(WORK.name, "usr")
    build = os.path.dirname(TOOL)
    if not os.path.exists(os.path.join(build, "cmake_install.cmake")):
        build = os.path.join(ROOT, "build")
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([os.path.join(ROOT, "tools/install-docs"), TOOL, prefix], check=True, stderr=subprocess.DEVNULL)
    for f in ("share/man/man1/gpmem.1", "share/man/man1/gpmem-run.1", "share/bash-completion/completions/gpmem",
              "share/zsh/site-functions/_gpmem", "share/fish/vendor_completions.d/gpmem.fish"):
        assert os.path.getsize(os.path.join(prefix, f)) > 100, f
    pc = [os.path.join(d, "pkgconfig") for d, _, _ in os.walk(prefix) if os.path.isdir(os.path.join(d, "pkgconfig"))][0]
    env = dict(os.environ, PKG_CONFIG_PATH=pc)
    flags = subprocess.run(["pkg-config", "--define-prefix", "--cflags", "--libs", "gpmem"], env=env, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split()
    source = write("embed.c", r"""
#include <gpmem/gpmem.h>
#include <gpmem/outline.h>
#include <stdio.h>
static void show(void *user, int stream, const char *text, size_t len) {
    (void)user;
    fwrite(text, 1, len, stream == 1 ? stdout : stderr);
}
int main(void) {
    struct gpm_options o;
    gpm_options_init(&o);
    o.write = show;
    gpm_session *s = gpm_session_new(&o);
    enum gpm_status st = gpm_run_text(s, "embed", "define a = 20; a * 2 + 2", 24);
    if (st != GPM_OK) fputs(gpm_last_error(s), stderr);
    gpm_session_free(s);
    return st != GPM_OK;
}
""")
    exe = os.path.join(WORK.name, "embed")
    libdir = os.path.dirname(pc)
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", source, "-o", exe, *flags, "-Wl,-rpath," + libdir], check=True)
    expect(run(tool=exe), 0, "42\n")
    static = subprocess.run(["pkg-config", "--define-prefix", "--static", "--libs", "gpmem"], env=env, check=True,
                            stdout=subprocess.PIPE).stdout.decode().split()
    static = [w.replace("-lgpmem", "-l:libgpmem.a") for w in static]
    subprocess.run(["cc", "-I" + prefix + "/include", source, "-o", exe + "-static", *static], check=True)
    expect(run(tool=exe + "-static"), 0, "42\n")
    subprocess.run(["c++", "-x", "c++", "-fsyntax-only", "-I" + prefix + "/include", source], check=True)
    expect(run("-e", "1 + 1", tool=os.path.join(prefix, "bin/gpmem")), 0, "2\n")


sys.exit(run_tests(globals(), sys.argv[2:]))
