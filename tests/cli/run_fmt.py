#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpmem fmt: files, standard input, --check; the examples are in its style; random programs and those of the pages keep
every character but blanks, are laid out once for all, and check says the same of them (trees: unit/test_format.c)."""
import glob, os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "stat"))
from random_programs import Gen

TOOL = os.path.abspath(sys.argv[1])


def call(*args, text=None):
    p = subprocess.run([TOOL, *args], input=text, capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout, p.stderr


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.vnts")
        open(path, "w").write("assume  x=normal( 0,1 ) ;\n")
        status, out, err = call("fmt", "--check", path)
        assert (status, out) == (1, "") and "a.vnts is not formatted" in err, (status, out, err)
        assert open(path).read().startswith("assume  x=")
        assert call("fmt", path) == (0, "", "")
        assert open(path).read() == "assume x = normal(0, 1);\n"
        assert call("fmt", "--check", path) == (0, "", "")
        open(path, "w").write("assume x = ;")
        status, _, err = call("fmt", path)
        assert status == 2 and "E0107" in err and open(path).read() == "assume x = ;"
        assert call("fmt", os.path.join(folder, "none"))[0] == 2
    assert call("fmt", text="a+1")[1] == call("fmt", "-", text="a+1")[1] == "a + 1\n"
    assert call("fmt", text="") == (0, "", "")
    status, _, err = call("fmt", "--check", *glob.glob(os.path.join(ROOT, "examples", "*.vnts")))
    assert status == 0, err


def programs():
    for page in glob.glob(os.path.join(ROOT, "docs", "*.md")):
        yield from re.findall(r"^```venture[^\n]*\n(.*?)^```", open(page, encoding="utf-8").read(), flags=re.M | re.S)
    for seed in range(30):
        yield Gen(seed).text()
        yield Gen(1000 + seed).text().replace(", ", ",").replace(" = ", "=").replace("{ ", "{\n").replace(" }", "\n}")


def main():
    files()
    n = 0
    for program in programs():
        status, once, err = call("fmt", text=program)
        assert status == 0, (program, err)
        assert re.sub(r"\s", "", once) == re.sub(r"\s", "", program), (program, once)
        assert call("fmt", text=once)[1] == once, (program, once)
        assert call("check", "-", text=program)[0] == call("check", "-", text=once)[0], program
        n += 1
    print("fmt: %d programs laid out, every character kept" % n)


main()
