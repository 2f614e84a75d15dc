#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The container file without a builder of containers: its second stage installs the packages of all libraries that the tool needs or
loads, and what it copies is there. Argument: the tool."""
import os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
OF_EVERY_SYSTEM = {"libc6", "libgcc-s1", "libtinfo6"}


def out(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def owner(path):
    """The package of a library; the loader's names go through /lib and Debian's alternatives."""
    path = os.path.realpath(path)
    for p in (path, path.removeprefix("/usr")):
        r = subprocess.run(["dpkg", "-S", p], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if r.returncode == 0:
            return r.stdout.split(":")[0]
    sys.exit("no package owns " + path)


with open(os.path.join(ROOT, "Containerfile")) as f:
    text = f.read()
installed = set(re.search(r"--no-install-recommends (.*?)\\?$", text[text.rindex("FROM "):], re.M).group(1).split())
direct = set(re.findall(r"\(NEEDED\).*\[(.*)\]", out("readelf", "-d", TOOL)))
needed = {owner(path) for name, path in re.findall(r"^\s*(\S+) => (/\S+)", out("ldd", TOOL), re.M) if name in direct} - OF_EVERY_SYSTEM
loaded = {"libsundials-cvodes6"}  # when it is wanted: stiff differential equations
assert len(needed) >= 3 and installed == needed | loaded, "Containerfile installs %s, the tool needs %s" % (sorted(installed), sorted(needed | loaded))
for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M):
    for name in line.split()[:-1]:
        assert os.path.exists(os.path.join(ROOT, name)), "%s is copied and not there" % name
assert "USER gpmem" in text[text.rindex("FROM "):] and 'ENTRYPOINT ["gpmem"]' in text
print("the container has %s" % ", ".join(sorted(installed)))
