#!/usr/bin/python3
"""Every console block of README.md runs and prints what it says (argument: the tool). In an expected
line `...` stands for any text; a line that is only `...` for any number of lines."""
import os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
FILES = sys.argv[2:] or ["README.md"]


def commands(block):
    """[(command, expected output)] of a console block."""
    found = []
    for line in block.split("\n"):
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
    return [(c, "\n".join(out).rstrip("\n")) for c, out in found]


def pattern(expected):
    lines = [".*" if line == "..." else r"[^\n]*".join(map(re.escape, line.split("..."))) for line in expected.split("\n")]
    return re.compile("\n".join(lines).replace("\n.*", "(?:\n.*)?"), re.S)


failed = total = 0
for name in FILES:
    text = open(os.path.join(ROOT, name)).read()
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        for command, expected in commands(block):
            total += 1
            real = command.replace("build/gpmem", TOOL)
            r = subprocess.run(["bash", "-c", real], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
            got = r.stdout.decode().rstrip("\n")
            if not pattern(expected).fullmatch(got):
                failed += 1
                print("FAILED %s: $ %s\n--- expected\n%s\n--- got\n%s" % (name, command, expected, got[:1500]))
# paths that the two pages name exist
for name in ("README.md", "ARCHITECTURE.md"):
    text = open(os.path.join(ROOT, name)).read()
    for path in sorted(set(re.findall(r"`((?:src|include|examples|tools|docs|tests|data)/[\w./-]*)", text)) | set(re.findall(r"\]\(([\w./-]+)\)", text))):
        if not os.path.exists(os.path.join(ROOT, path)):
            failed += 1
            print("FAILED %s names %s, which does not exist" % (name, path))
print("readme: %d commands, %d failed" % (total, failed))
sys.exit(1 if failed or not total else 0)
