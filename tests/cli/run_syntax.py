#!/usr/bin/python3
"""The editor files of tools/syntax know every name of the language (argument: the tool)."""
import json, os, re, subprocess, sys, tempfile

tool = os.path.abspath(sys.argv[1])
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with tempfile.TemporaryDirectory() as out:
    subprocess.run([os.path.join(root, "tools/syntax"), tool, out], check=True)
    grammar = json.load(open(os.path.join(out, "gpmem.tmLanguage.json")))
    vim = open(os.path.join(out, "vim/syntax/gpmem.vim")).read()

names = set()
def walk(x):
    if isinstance(x, dict):
        if isinstance(x.get("name"), str): names.add(x["name"])
        for y in x.values(): walk(y)
    elif isinstance(x, list):
        for y in x: walk(y)
walk(json.loads(subprocess.run([tool, "reference"], check=True, stdout=subprocess.PIPE).stdout))
names = {n for n in names if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", n)}
assert len(names) > 100 and "normal" in names and "mh" in names, "the reference is too short: %d names" % len(names)

# The grammar's patterns are regular expressions that Python reads too: each name must match one of
# the named patterns as a whole, as an editor would colour it.
patterns = [(p["name"], re.compile(p["match"])) for p in grammar["patterns"] if "match" in p and p["name"].startswith(("support", "keyword.other", "keyword.control", "constant.language"))]
missing = [n for n in names if not any((m := r.match(n)) and m.end() == len(n) for _, r in patterns)]
assert not missing, "the TextMate grammar does not know %s" % missing
known = {w for line in vim.splitlines() if line.startswith("syn keyword") for w in line.split()[3:]}
assert names <= known, "the vim file does not know %s" % sorted(names - known)
print("syntax: %d names known to both files" % len(names))
