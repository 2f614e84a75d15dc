#!/usr/bin/python3
"""Every console block of README.md runs and prints what it says, as run_docs.py compares it (argument: the tool); and the
paths that the front pages name exist."""
import os, re, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "docs"))
import run_docs

page = run_docs.Page(os.path.join(ROOT, "README.md")).run()
failed = len(page.bad)
print("\n".join(page.bad))
# the front page stays short
words = open(os.path.join(ROOT, "README.md")).read()
for text, most in ((words, 900), (words.split("\n## Documentation")[0], 500)):
    if len(text.split()) > most:
        failed += 1
        print("FAILED README.md has %d words where at most %d are read" % (len(text.split()), most))
# paths that the two pages name exist
for name in ("README.md", "ARCHITECTURE.md"):
    text = open(os.path.join(ROOT, name)).read()
    for path in sorted(set(re.findall(r"`((?:src|include|examples|tools|docs|tests|data)/[\w./-]*)", text)) | set(re.findall(r"\]\(([\w./-]+)\)", text))):
        if not os.path.exists(os.path.join(ROOT, path)):
            failed += 1
            print("FAILED %s names %s, which does not exist" % (name, path))
print("readme: %d commands, %d failed" % (page.count, failed))
sys.exit(1 if failed or not page.count else 0)
