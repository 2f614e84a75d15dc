#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every word that the lexer, the parser or the session knows has help, and an entry in the reference; docs/reference.md
names whatever a new session knows, and says of every operator what its optional arguments do (argument: the tool)."""
import ctypes, json, os, re, subprocess, sys

tool = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def between(text, start, end):
    return text[text.index(start):].split(end, 1)[0]


words = set(re.findall(r'X\(WORD_\w+, "(\w+)"\)', read("src/language/lang/lex.h")))
special = read("src/language/lang/parse_special.c")
words |= set(re.findall(r'\{"(\w+)", [A-Z]+(?: \| BARE)?, \w+, special_', special))
words |= set(re.findall(r'strcmp\(tok_sym\(p, tok\(p\)\)->text, "(\w+)"\)', special))
words |= set(re.findall(r'"(\w+)"', between(read("src/inference/run/model.c"), "names[] = {", "}")))
assert {"observe", "collect", "labelled", "one", "all", "pow"} <= words, sorted(words)

rows = json.loads(subprocess.run([tool, "reference"], check=True, stdout=subprocess.PIPE).stdout)
reference = {r["name"] for r in rows}
for w in sorted(words):
    done = subprocess.run([tool, "help", w], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0 and w.encode() in done.stdout, "no help on %s: %s" % (w, done.stderr.decode())
missing = sorted(words - reference)
assert not missing, "the reference does not know %s" % missing
print("words: %d have help and stand in the reference" % len(words))

# The names that the prompt completes are those that a session knows; those of the library come with its text.
lib = ctypes.CDLL(os.path.join(os.path.dirname(tool), "libgpmem.so"))
lib.gpm_session_new.restype = ctypes.c_void_p
EACH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
lib.gpm_complete.argtypes = ctypes.c_void_p, ctypes.c_char_p, EACH, ctypes.c_void_p
lib.gpm_session_free.argtypes = ctypes.c_void_p,
session, known = lib.gpm_session_new(None), []
lib.gpm_complete(session, b"", EACH(lambda _, name: known.append(name.decode())), None)
lib.gpm_session_free(session)
assert len(known) == len(set(known)), sorted(n for n in set(known) if known.count(n) > 1)
library = set(re.findall(r"^define ([a-z]\w*) =", read("src/front/session/embed/prelude.vnts"), re.M))
assert library <= set(known), sorted(library - set(known))
page = set(re.findall(r"^\* `([^\s(`]+)", read("docs/reference.md"), re.M))
assert set(known) == page, "a session knows %s, docs/reference.md names %s" % (sorted(set(known) - page), sorted(page - set(known)))
print("names: the %d of a new session stand in docs/reference.md" % len(known))

# What an optional argument of an operator does: its text names it, that of the operator it is the same as, or the page's head.
text = {r["name"]: r["doc"] or "" for r in rows}
silent = []
for r in rows:
    if r["kind"] != "operator": continue
    doc = re.sub(r"(?:the same )?as (\w+)", lambda m: m.group(0) + " " + text.get(m.group(1), ""), text[r["name"]])
    for p in re.findall(r"(\w+)\?:", r["signature"]):
        if p not in ("scope", "block", "steps", "transitions", "parallel") and not re.search(r"\b%s\b" % p, doc): silent.append((r["name"], p))
assert not silent, "no word about %s" % ", ".join("%s of %s" % (p, n) for n, p in silent)
print("operators: every optional argument is explained")

# The page for users of Stan: whatever the right column of a table calls or sets exists.
own = set(known) | {"collect", "noise", "lower", "upper", "n", "method", "init", "target_accept", "max_depth", "metric", "warmup", "draws", "thin"}
strange = []
for line in read("docs/from-stan.md").split("\n"):
    cells = re.split(r"(?<!\\)\|", line)
    if len(cells) != 4 or "---" in line: continue
    for code in re.findall(r"`([^`]*)`", cells[2]):
        strange += [w for w in re.findall(r"\b([A-Za-z_]\w*)(?=\(|=[^=>])", re.sub(r'"[^"]*"', "", code)) if w not in own]
        if re.fullmatch(r"[a-z]\w*_\w*", code) and code not in own: strange.append(code)
assert not strange, "docs/from-stan.md names what there is not: %s" % strange
print("docs/from-stan.md: every name of its tables is known")
