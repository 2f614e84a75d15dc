#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every word that the lexer, the parser or the session knows has help, and an entry in the
reference or in the tables (argument: the tool)."""
import json, os, re, subprocess, sys

tool = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def between(text, start, end):
    return text[text.index(start):].split(end, 1)[0]


words = set(re.findall(r'X\(WORD_\w+, "(\w+)"\)', read("src/lang/lex.h")))
special = read("src/lang/parse_special.c")
words |= set(re.findall(r'\{"(\w+)", [A-Z]+(?: \| BARE)?, \w+, special_', special))
words |= set(re.findall(r'strcmp\(tok_sym\(p, tok\(p\)\)->text, "(\w+)"\)', special))
words |= set(re.findall(r'"(\w+)"', between(read("src/infer/model.c"), "names[] = {", "}")))
assert {"observe", "collect", "labelled", "one", "all", "pow"} <= words, sorted(words)

reference = {r["name"] for r in json.loads(subprocess.run([tool, "reference"], check=True, stdout=subprocess.PIPE).stdout)}
for w in sorted(words):
    done = subprocess.run([tool, "help", w], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0 and w.encode() in done.stdout, "no help on %s: %s" % (w, done.stderr.decode())
missing = sorted(words - reference)
assert not missing, "the reference does not know %s" % missing
print("words: %d have help and stand in the reference" % len(words))
