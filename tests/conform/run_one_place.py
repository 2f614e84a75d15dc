#!/usr/bin/python3
"""One place for each thing: calls that src may make in one file alone (arguments: the tool, which is not used).
A row of RULES names the calls, the files that are the place, and exceptions with their reasons; an exception that
no longer occurs fails too. Comments and texts in quotes do not count."""
import os, re, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")


def calls(*names):
    return r"(?<![\w.>])(?:%s)\s*\(" % "|".join(names)


# what, the calls that have one place, the files that are it, {file: why it may nevertheless}
RULES = [
    ("the library prints nothing: only cli does", r"\b(?:stdout|stderr)\b|" + calls("printf", "vprintf", "puts", "putchar", "perror"), ["cli/*"],
     {"base/mem.c": "the last words of a process that has no memory left"}),
]


def code_of(text):
    """The text without comments and without what stands in quotes, line breaks kept."""
    def blank(m): return re.sub(r"[^\n]", " ", m.group(0)) if m.group(0)[0] == "/" else m.group(0)[0] * 2
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def inside(path, places): return any(path == p or (p.endswith("/*") and path.startswith(p[:-1])) for p in places)


def violations(rules, files):
    bad = []
    for what, pattern, places, exceptions in rules:
        used = set()
        for path, text in files.items():
            if inside(path, places): continue
            for m in re.finditer(pattern, text):
                if path in exceptions: used.add(path)
                else: bad.append("src/%s:%d: %s: %s" % (path, text.count("\n", 0, m.start()) + 1, m.group(0).strip(" ("), what))
        bad += ["%s: the exception of src/%s is not needed any more" % (what, p) for p in sorted(set(exceptions) - used)]
    return bad


def sources():
    found = {}
    for folder, _, names in os.walk(ROOT):
        for n in sorted(names):
            if not n.endswith((".c", ".h")): continue
            p = os.path.join(folder, n)
            found[os.path.relpath(p, ROOT)] = code_of(open(p, encoding="utf-8").read())
    return found


def test_the_scan_itself():
    planted = {"gp/x.c": code_of('int f(void) { /* fopen("a") */ g("fopen(b)", \'"\'); return h->fopen(1) + my_fopen(2); }\n'),
               "gp/y.c": code_of('// none\nFILE *f = fopen (path, "r");\n'), "base/file.c": "fopen(x)", "gp/z.c": "fopen(x)"}
    rule = [("files", calls("fopen"), ["base/file.c"], {"gp/z.c": "a reason"})]
    assert violations(rule, planted) == ["src/gp/y.c:2: fopen: files"], violations(rule, planted)
    del planted["gp/z.c"]
    assert len(violations(rule, planted)) == 2


test_the_scan_itself()
bad = violations(RULES, sources())
print("\n".join(bad) if bad else "one place: %d rules hold" % len(RULES))
sys.exit(1 if bad else 0)
