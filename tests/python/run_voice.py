#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Messages and reports name arguments of Python where the tool's name its options (argument: the tool): errors, words of
reports, series of a panel. Every option that a message of the library names is in the one table, or belongs to the tool."""
import glob, json, os, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(TOOL), "libgpmem.so")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.environ.get("GPMEM_PYTHON", os.path.join(ROOT, "python")))
import gpmem

WRONG = []
# Options that calls of the packages have no argument for: limits and stores of the tool, and forms of its files.
TOOLS_OWN = {"max-memory", "max-depth", "join", "read", "jobs", "out", "continue", "wide", "std", "gpu-architecture", "objective-version",
             "query"}


def check(what, ok, text=""):
    if not ok:
        WRONG.append("%s: %s" % (what, text))


def said(call):
    try:
        call()
    except gpmem.GpmemError as e:
        return str(e)
    return "no error"


def file(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    return path


def errors(folder):
    two = file(folder, "two.csv", ["date,a,b"] + ["2001-%02d-01,%d,%d" % (m, m, m * m % 7) for m in range(1, 13)])
    bad = file(folder, "bad.csv", ["t,y"] + ["%d,%s" % (i, "rubbish" if i == 7 else i % 5) for i in range(20)])
    commas = file(folder, "commas.csv", ["t;y"] + ["%d;1,%03d" % (i, 100 + i) for i in range(20)])
    for path, call, words in ((two, gpmem.discover, "choose the values with column:"),
                              (bad, gpmem.discover, "skip such rows with skip_bad=True"),
                              (commas, gpmem.discover, "say decimal='comma' or decimal='point'")):
        e = said(lambda: call(path))
        check(path, words in e and "--" not in e, e)
    e = said(lambda: gpmem.run("infer plot_to_file(\"x.svg\", \"p0\", [1]);"))
    check("plot", "--" not in e, e)
    tool = subprocess.run([TOOL, "discover", two, "-q"], capture_output=True, text=True).stderr
    check("the tool", "choose the values with --column:" in tool, tool)


def reports():
    """Remarks on shares near 1, whose words tell how to say the ends, and on a code among the values; reports that name the check."""
    y = [0.75 + 0.24 * ((7 * i) % 11) / 10 for i in range(40)]
    for format in ("text", "json"):
        text = gpmem.check_data(y, format=format)
        check(format, "least=0, most=1" in text and "--min" not in text and "--max" not in text, text)
    json.loads(gpmem.check_data(y, format="json"))
    values = [-999 if i in (5, 6, 30) else 20 + (7 * i) % 11 for i in range(60)]
    check("code", "missing='-999'" in gpmem.check_data(values), gpmem.check_data(values))
    coded = gpmem.discover(values, threads=1, kernels="LIN")
    for format in ("text", "json", "markdown", "html"):
        text = coded.report(format)
        check(format, "--m" not in text and ("check-data" in text or format == "json"), re.findall(r"[^.]*check.data[^.]*\.", text)[:1])
    d = coded
    check("program", "gpmem run --seed" in d.report("program"), d.report("program")[:300])


def table():
    """The table has every option that the library's texts name."""
    with open(os.path.join(ROOT, "src", "front", "api", "voice.c")) as f:
        known = set(re.findall(r'^    \{"([a-z-]+)",', f.read(), re.M))
    for path in glob.glob(os.path.join(ROOT, "src", "**", "*.c"), recursive=True):
        if "/cli/" in path or "/gpu/" in path:
            continue
        with open(path) as f:
            texts = re.findall(r'"(?:[^"\\\n]|\\.)*"', re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S))
        for t in texts:
            for o in re.findall(r"(?<![\w-])--([a-z][a-z-]*[a-z]|[xy])\b", t):
                check(os.path.relpath(path, ROOT), o in known | TOOLS_OWN, "--%s in %s is not in voice.c's table" % (o, t))


with tempfile.TemporaryDirectory() as folder:
    errors(folder)
reports()
table()
if WRONG:
    raise SystemExit("\n".join(WRONG))
