#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Comments of src name their subject. A comment that says "who", "nobody", "anew" or "there is none" makes its reader search for
the noun. None may hold such a word.

    run_comments.py GPMEM"""
import os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
RIDDLES = re.compile(r"\b(?:who(?:ever|m)?|(?:no|some|any|every)body(?:'s)?|anew|as ever|(?:is|are) told|"
                     r"(?:is|are|was|were|be) none(?! (?:the|so)\b)|"
                     r"of which there|in (?:its|their) stead|so be it|as it were)\b", re.I)
PARTS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def comments(text):
    """Line and words of every comment, without the stars in its margin and without names in backquotes."""
    for m in PARTS.finditer(text):
        if m.group().startswith("/"):
            yield text.count("\n", 0, m.start()) + 1, re.sub(r"`[^`]*`", "``", re.sub(r"\n\s*\*?\s*", " ", m.group()))


def measure():
    found = []
    for folder, _, names in os.walk(SRC):
        for name in sorted(n for n in names if n.endswith((".c", ".h", ".cu"))):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                for line, words in comments(f.read()):
                    found += ["src/%s:%d: %s" % (os.path.relpath(path, SRC), line, m.group()) for m in RIDDLES.finditer(words)]
    return found


def main():
    found = measure()
    print("\n".join(found or ["every comment names its subject"]))
    return bool(found)


if __name__ == "__main__":
    assert [m.group() for m in RIDDLES.finditer("whose parents nobody reads; NULL: there is none")] == ["nobody", "is none"]
    assert [w for _, w in comments('x = "/* no */"; /* one\n * two */\n// three')] == ["/* one two */", "// three"]
    sys.exit(main())
