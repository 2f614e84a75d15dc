#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A header declares what the .c file of its name defines. A function that stands elsewhere is found, too: the header
names that file. Held in the rooms of ROOMS.

    run_headers.py GPMEM"""
import os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
ROOMS = ["runtime/trace", "runtime/flat", "inference/run"]
DECLARED = re.compile(r"^(?!static|typedef|#|struct \w+ \{|enum \w* ?\{)[a-z][\w \*]*?\b(\w+)\((?!\*)[^;{}]*\)(?: GPM_MUST_USE)?;", re.M)
DEFINED = re.compile(r"^(?!static)[a-z][\w \*]*?\b(\w+)\([^;{}]*\) \{", re.M)


def plain(text): return re.sub(r"/\*.*?\*/|//[^\n]*|^#[^\n]*", "", text, flags=re.S | re.M)


texts = {}
for folder, _, names in os.walk(SRC):
    for name in names:
        if name.endswith((".c", ".h")):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                texts[os.path.relpath(os.path.join(folder, name), SRC)] = f.read()
defined = {}
for path, text in texts.items():
    if path.endswith(".c"):
        for function in DEFINED.findall(text):
            defined.setdefault(function, []).append(os.path.basename(path))
lost, n = [], 0
for path, text in sorted(texts.items()):
    if not path.endswith(".h") or os.path.dirname(path) not in ROOMS:
        continue
    for function in DECLARED.findall(plain(text)):
        n += 1
        homes = defined.get(function, [])
        if homes and not any(h[:-2] == os.path.basename(path)[:-2] or re.search(r"\b%s\b" % re.escape(h), text) for h in homes):
            lost.append("src/%s: %s stands in %s, which the header does not name" % (path, function, ", ".join(homes)))
for line in lost:
    print(line)
print("%d functions, %d whose file their header does not name" % (n, len(lost)))
sys.exit(bool(lost) or n < 100)
