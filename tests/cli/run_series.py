#!/usr/bin/python3
"""Series as people have them, through discover and its followers: each gives a sane result or says clearly why not."""
import os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])


def run(*args, status=0):
    r = subprocess.run([TOOL] + list(args), capture_output=True, text=True, timeout=300)
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:], r.stdout[-500:])
    return r


def write(name, text):
    with open(name, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return name


def check_repeated_times():
    """Several values at a time make the grid of times shorter than the series."""
    twice = "year,value\n" + "".join("%d,%d\n%d,%d\n" % (2000 + y, y, 2000 + y, y + 1) for y in range(1, 9))
    out = run("discover", write("twice.csv", twice)).stdout
    assert "16 values" in out and "8 repeated times" in out and "LIN" in out.split("Structures")[1].split("\n")[1], out
    once = "year,value\n" + "".join("%d,%d\n" % (2000 + y, y * y % 7) for y in range(1, 12)) + "2011,3\n"
    assert "1 repeated times" in run("discover", write("once.csv", once)).stdout


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    check_repeated_times()
print("series: fine")
