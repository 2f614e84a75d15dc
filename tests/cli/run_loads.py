#!/usr/bin/python3
"""Programs that load files (argument: the tool): files that load themselves, each other or many others; in run, check and
the language server."""
import os, subprocess, sys, tempfile
from each import run_tests
import lsp_client

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-loads-")


def write(name, text):
    with open(os.path.join(WORK.name, name), "w") as f: f.write(text)
    return name


def tool(*args, status, timeout=120):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, cwd=WORK.name, timeout=timeout)
    assert r.returncode == status, (args, r.returncode, r.stderr[-800:])
    return r


def server_says(name):
    """The diagnostics of a file of the folder, by the language server."""
    client = lsp_client.Client(TOOL)
    path = os.path.join(WORK.name, name)
    path = os.path.join(WORK.name, name)
    said = [d["message"] for d in client.open("file://" + path, open(path).read())]
    client.close()
    return said


def test_files_that_load_themselves_are_refused():
    write("self.vnts", 'load "self.vnts";\n')
    write("a.vnts", 'define one = 1;\nload "b.vnts";\n')
    write("b.vnts", 'load "sub/../a.vnts";\n')
    os.mkdir(os.path.join(WORK.name, "sub"))
    os.symlink("linked.vnts", os.path.join(WORK.name, "again.vnts"))
    write("linked.vnts", 'load "again.vnts";\n')
    for name in ("self.vnts", "a.vnts", "linked.vnts"):
        for command, status in (("run", 1), ("check", 2)):
            said = tool(command, name, status=status).stderr
            assert "files load each other without end" in said, said
            assert said.count("loaded here") <= 2, said
        assert any("without end" in m for m in server_says(name)), name


def test_a_loaded_file_that_loads_many_others():
    for n in (13, 14, 40):
        for i in range(n): write("f%d.vnts" % i, "define part%d = proc(x) { x + %d };\nassume a%d = flip(0.5);\n" % (i, i, i))
        write("middle.vnts", "".join('load "f%d.vnts";\n' % i for i in range(n)) + "define whole = proc(x) { part0(part1(x)) };\n")
        write("right.vnts", 'load "middle.vnts";\nsample whole(1);\n')
        assert tool("run", "right.vnts", status=0).stdout == "2\n"
        write("top.vnts", 'load "middle.vnts";\nsample whole(1, 2);\n')
        said = tool("check", "top.vnts", status=2).stderr
        assert "E02" in said and "middle.vnts" not in said.split("\n")[0], said
        assert server_says("top.vnts"), n


def test_a_number_of_loads_that_doubles():
    for i in range(40): write("e%d.vnts" % i, 'load "e%d.vnts";\n' % (i + 1) * 2)
    write("e40.vnts", "define x = 1;\n")
    tool("check", "e0.vnts", status=0)
    said = tool("run", "--max-time", "1", "e0.vnts", status=4).stderr
    assert "time limit" in said, said


sys.exit(run_tests(globals(), sys.argv[2:]))
