#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes that people make, and what `gpmem check` and the language server say of them before anything runs.

    run_mistakes.py GPMEM [--update]

mistakes.txt holds `== NAME`, the program, `--`, and what check prints. The server must say the same: severity, code,
message with notes and help, first line and column. Then the other way round: of no program of the tree (examples,
tests, documentation) check says anything, and of random and mutated programs it calls nothing an error that runs."""
import glob, json, os, random, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "stat")]
from lsp_client import Client
from random_programs import Gen

TOOL = os.path.abspath(sys.argv[1])
GOLDEN = os.path.join(HERE, "mistakes.txt")
ENV = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8")
failures = []


def say(ok, *what):
    if not ok:
        failures.append(what)
        print("FAILED", *what)


def call(args, text=None, cwd=None, timeout=60):
    p = subprocess.run([TOOL, *args], input=text, capture_output=True, text=True, env=ENV, cwd=cwd, timeout=timeout)
    return p.returncode, p.stdout, p.stderr


def mistakes():
    for part in re.split(r"^== ", open(GOLDEN, encoding="utf-8").read(), flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        program, _, expected = rest.partition("\n--\n")
        yield name, program + "\n", expected


def from_server(client, program):
    """(severity, code, message, line, column) of every diagnostic, sorted."""
    found = []
    for d in client.open("file:///nowhere/mistake.vnts", program):
        at = d["range"]["start"]
        found.append(({1: "error", 2: "warning"}[d["severity"]], d["code"], d["message"], at["line"] + 1, at["character"] + 1))
    return sorted(found)


def from_check(program):
    found = []
    for line in call(["check", "--diagnostics", "json", "-"], program)[2].splitlines():
        d = json.loads(line)
        text = "".join([d["message"], *("\nnote: " + n for n in d.get("notes", [])), "\nhelp: " + d["help"] if "help" in d else ""])
        found.append((d["severity"], d["code"], text, d["line"], d["column"]))
    return sorted(found)


def golden():
    client, out, n = Client(TOOL), [], 0
    for name, program, expected in mistakes():
        text = call(["check", "-"], program)[2]
        out.append("== %s\n%s--\n%s" % (name, program, text))
        n += 1
        say(text, name, "is not noticed")
        if "--update" not in sys.argv:
            say(text == expected, name, "\n" + text)
        a, b = from_check(program), from_server(client, program)
        say(a == b, name, "the server says", b, "and check", a)
    client.close()
    if "--update" in sys.argv:
        open(GOLDEN, "w", encoding="utf-8").write("".join(out))
    return n


def programs_of_tree():
    for path in glob.glob(os.path.join(ROOT, "**", "*.vnts"), recursive=True):
        where = os.path.relpath(path, ROOT)
        if where.startswith(("tests/golden/errors", "tests/conform/suite/14_errors", "build", "src", "bench/posteriordb")) or "is_an_error" in where:
            continue  # wrong on purpose; internal; given their data by name
        yield where, open(path, encoding="utf-8").read(), os.path.dirname(path)


def documents():
    """Programs of the pages, those that go on joined to what they go on from."""
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")) + [os.path.join(ROOT, "README.md")]):
        so_far = ""
        if path.endswith("howto-editors.md"):
            continue  # shows mistakes
        for info, body in re.findall(r"^```(\w+[^\n]*)\n(.*?)^```", open(path, encoding="utf-8").read(), flags=re.M | re.S):
            if info == "output" and "error[" in body:
                so_far = ""  # shows a mistake
            elif info.startswith("venture"):
                if so_far:
                    yield "%s: %s" % (os.path.relpath(path, ROOT), so_far[-40:]), so_far, ROOT
                so_far = so_far + body if "more" in info.split() else body
        if so_far:
            yield "%s: %s" % (os.path.relpath(path, ROOT), so_far[-40:]), so_far, ROOT


# Said of programs that are fine otherwise: that no state is possible, that an operator does nothing, and of a page
# that goes on later, that a name is not used yet.
ODD = {"E0504", "E0508", "E0224"}


def nothing_is_said():
    n = 0
    for where, program, folder in [*programs_of_tree(), *documents()]:
        status, _, text = call(["check", "-"], program, cwd=folder)
        codes = set(re.findall(r"\[(E\d+)\]", text))
        allowed = ODD if ".md" in where or "conformance" in where else {"E0117"} if "golden" in where else set()
        say(codes <= allowed, where, "\n" + text)
        n += 1
    return n


def mutate(r, text):
    words = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(r.choice([1, 1, 2])):
        i = r.randrange(len(words))
        kind = r.random()
        if kind < 0.3:
            del words[i]
        elif kind < 0.6:
            words[i] = r.choice(words)
        elif words[i].isdigit():
            words[i] = r.choice(["-1", "0", "2.5", '"a"', "true", "[1, 2]", "normal(0, 1)"])
        if not words:
            break
    return "".join(words)


def errors_are_true(n):
    """What check calls an error fails when it is run."""
    r, found = random.Random(7), 0
    good = [p for w, p, f in programs_of_tree() if "conformance" in w or "golden" in w]
    with tempfile.TemporaryDirectory() as folder:
        for i in range(n):
            program = Gen(i).text() if i % 3 == 0 else mutate(r, r.choice(good)) if good else ""
            path = os.path.join(folder, "p.vnts")
            open(path, "w", encoding="utf-8").write(program)
            status, _, text = call(["check", path])
            if status not in (0, 2):
                say(False, "check ends with", status, program)
            if status == 0:
                continue
            found += 1
            try:
                _, out, why = call([], program + "\n;\n", timeout=20)
            except subprocess.TimeoutExpired:
                continue
            if status == 2 and "error[" not in out + why:
                say(False, "an error that does not happen\n", program, text)
    return found


def main():
    a, b = golden(), nothing_is_said()
    c = errors_are_true(240)
    print("%d mistakes, %d programs of which nothing is said, %d found wrong are wrong; %d failed" % (a, b, c, len(failures)))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
