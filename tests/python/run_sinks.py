#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One list of hostile texts through every place where text leaves: pages, JSON, Markdown, CSV, pictures, terminals, scripts of
schedulers, folders. Where a text means nothing, what comes out has the parts that it has for a plain one. Usage: run_sinks.py TOOL"""
import ast, csv, glob, html.parser, io, json, os, re, shutil, sqlite3, subprocess, sys, tempfile

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "python"), os.path.join(HERE, "..", "cli")]
from each import run_tests, script
import numpy as np
import gpmem

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-sinks-")
HOSTILE = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "<!--<script>", "\"'><svg onload=alert(1)>", "]]></style><b>",
           "&lt;b&gt;&amp;", "\x1b[31mred\x9b\x07", "[click](javascript:alert(1))", "![x](http://x.example)", "| a | b |", "```", "# big", "- - -",
           "\n# big\n\n```\n<b>\n", "a'b\"c\\d", "{x} {{y}} {wildcards.chain}", "${HOME} $(touch made) `touch made`; touch made", "../../up",
           "/tmp/made", ".", "..", ".zattrs", "\u202eabc\u2066", "a\rb\vc\td", "a,b;c", "%s%n%1$s", "\"\"\"", "é\u00a0\u200b", "--out=made", "chain", ""]
PLAIN = "plain"


def at(*names): return os.path.join(WORK.name, *names)


def run(*args, status=0, **more):
    r = subprocess.run([TOOL, *args], capture_output=True, cwd=WORK.name, timeout=120, **more)
    assert status is None or r.returncode == status, (args, r.returncode, r.stderr[-800:])
    return r


def write(name, text):
    with open(at(name), "w", newline="") as f: f.write(text)
    return name


def table(name, heads, rows=16):
    """Numbers under these headings; the first is a time, each next one another mixture."""
    with open(at(name), "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(heads)
        for i in range(rows): w.writerow([i] + [k * i + (i * 7 * k) % 5 for k in range(1, len(heads))])
    return name


# ---- what each language must look like ----

def quiet(text, *what):
    bad = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text)
    assert not bad, (what, text[max(bad.start() - 80, 0):bad.end() + 20])


class Parts(html.parser.HTMLParser):
    """Tags with their attributes, scripts by kind, what is no text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.kind = set(), [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags |= {tag} | {(tag, k) for k, _ in attrs}
        if tag == "script": self.kind = dict(attrs).get("type", "text/javascript")
        for k, v in attrs: assert not k.startswith("on") and (k not in ("href", "src") or v.startswith(("#", "data:image/"))), (tag, k, v)

    def handle_endtag(self, tag):
        if tag == "script": self.kind = None

    def handle_data(self, data):
        if self.kind: self.scripts.append((self.kind, data))

    def handle_comment(self, data): self.tags.add("comment")
    def unknown_decl(self, data): self.tags.add("declaration")
    def handle_pi(self, data): self.tags.add("instruction")


def page(text, plain, what):
    quiet(text, what)
    here, there = Parts(text), Parts(plain)
    assert here.tags <= there.tags, (what, here.tags - there.tags)
    assert len(here.scripts) == len(there.scripts), (what, len(here.scripts))
    for (kind, data), (_, other) in zip(here.scripts, there.scripts):
        json.loads(data) if kind == "application/json" else None
        assert kind == "application/json" or data == other, (what, data[:200])


def markdown(text, plain, what):
    quiet(text, what)
    count = lambda t, mark: len(re.findall(mark, t, re.M))
    for mark in (r"^ {0,3}#", r"^ {0,3}```", r"^\|"): assert count(text, mark) == count(plain, mark), (what, mark, text)
    free = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`|^    .*?$", "", re.sub(r"\\[!-/:-@\[-`{-~]", "", text))
    bad = re.search(r"<[a-zA-Z/!?]|\]\(|!\[|://|javascript:", free)
    assert not bad, (what, bad[0], text)


FORMS = {"html": page, "markdown": markdown, "text": lambda t, p, what: quiet(t, what), "program": lambda t, p, what: quiet(t, what),
         "json": lambda t, p, what: json.loads(t, parse_constant=what)}


def reports(folder):
    d = gpmem.Discovery.load(at(folder))
    return {form: d.report(form) for form in FORMS}


# ---- discover ----

def test_names_of_series():
    """Headings, cells and names of files in the reports of one series and of several, in forecasts and in an index."""
    table("plain.csv", ["t", PLAIN, "z"])
    usual = ["-k", "LIN", "-c", PLAIN, "--with", "z", "-q"]
    run("discover", "plain.csv", *usual, "-o", "plain-run")
    plain = reports("plain-run")
    for i, text in enumerate(HOSTILE):
        name = table("evil%d<b>&.csv" % i, ["t" + text, "y" + text, "z" + text])
        r = run("discover", name, "-k", "LIN", "--time", "1", "-c", "2", "--with", "3", "-q", "-o", "evil-run%d" % i, status=None)
        quiet(r.stdout.decode() + r.stderr.decode(), text)
        if r.returncode: continue  # a comma separates columns of --with
        for form, said in reports("evil-run%d" % i).items(): FORMS[form](said, plain[form], (text, form))
    assert len(glob.glob(at("evil-run*"))) > len(HOSTILE) / 2
    for by, name in (("g", PLAIN), ("g" + HOSTILE[0], " ".join(HOSTILE))):
        with open(at("panel.csv"), "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["t", by, "y"])
            for k in range(2):
                for i in range(12): w.writerow([i, name + str(k), i * (k + 1) + i % 3])
        r = run("discover", "panel.csv", "-k", "LIN", "--by", by, "-q", "--html", "panel.html", "--json", "panel.json")
        quiet(r.stdout.decode(), by)
        text = open(at("panel.html")).read()
        usual = usual if name != PLAIN else text
        page(text, usual, by)
        json.load(open(at("panel.json")))


def change(m, key, text):
    """A part of a manifest, changed as text; a form of times as the beginning of all times."""
    if key == "time_form": m[key], m["time_pattern"] = text + m[key], text.replace("%", "") + "%Y-%m-%d"
    elif key == "regressors": m[key][0]["name"] = text
    elif key == "read": m[key].update({k: text for k in ("time", "column", "date_format", "missing", "every", "with", "holidays")})
    elif key in ("value_unit", "mark", "every"): m[key] = text[:7]
    else: m[key] = text


def hostile_run(keys, text, of="dates-run"):
    shutil.rmtree(at("changed"), ignore_errors=True)
    shutil.copytree(at(of), at("changed"))
    with open(at("changed", "manifest.json")) as f: m = json.load(f)
    for key in keys: change(m, key, text)
    with open(at("changed", "manifest.json"), "w") as f: json.dump(m, f)


def test_folder_of_a_run():
    """A stranger's run: forms of times, units, marks, names, the verdict."""
    with open(at("dates.csv"), "w") as f:
        f.write("date,y,z\n" + "".join("1949-%02d-%02d,%d,%d\n" % (1 + i // 28, 1 + i % 28, 2 * i + i * 7 % 5, i * i % 11) for i in range(60)))
    run("discover", "dates.csv", "-k", "LIN", "-c", "y", "--with", "z", "-q", "-n", "4", "-o", "dates-run")
    plain = reports("dates-run")
    taken, usual = 0, gpmem.Discovery.load(at("dates-run"))._repr_html_()
    for text in HOSTILE:
        for keys in (["time_form"], ["value_unit", "verdict", "time_name", "regressors"], ["mark", "file", "value_name", "read", "every"]):
            hostile_run(keys, text)
            try: d = gpmem.Discovery.load(at("changed"))
            except gpmem.GpmemError as e:
                quiet(str(e), keys, text)
                continue
            taken += 1
            for form in FORMS: FORMS[form](d.report(form), plain[form], (keys, text, form))
            page(d._repr_html_(), usual, (keys, text))
    assert taken > 2.5 * len(HOSTILE), taken
    hostile_run(["time_form", "value_name"], HOSTILE[0])  # this one is taken: its letters are the file's
    assert "alert(1)" in json.loads(run("report", "changed", "--format", "json").stdout)["decomposition"]["x"][0]
    run("discover", "dates.csv", "-k", "LIN", "-c", "y", "-q", "-o", "alone-run")
    hostile_run(["time_form"], 'a,"b;c', "alone-run")
    for row in csv.reader(io.StringIO(run("forecast", "changed", "-n", "2").stdout.decode())): assert len(row) == 4, row


# ---- regress, optimize, search, pictures ----

def test_regression():
    table("plain-r.csv", [PLAIN, "x", "y"], 30)
    usual = ["--y", "y", "--report", "plain-r.html", "-q"]
    run("regress", "plain-r.csv", *usual)
    plain = open(at("plain-r.html")).read()
    joined = [HOSTILE[:12], HOSTILE[12:]]
    for texts in joined:
        text = " ".join(texts)
        table("evil-r.csv", [text, "x" + text, "y" + text], 30)
        r = run("regress", "evil-r.csv", "--report", "r.html", "--json", "r.json", "--predict", "evil-r.csv", "-o", "r.csv")
        quiet(r.stdout.decode() + r.stderr.decode(), "regress")
        page(open(at("r.html")).read(), plain, "regress")
        json.load(open(at("r.json")))
        assert len(set(map(len, csv.reader(open(at("r.csv"), newline=""))))) == 1


def test_optimizer():
    script(at("bad.sh"), "#!/bin/sh\nprintf '%s' \"$GPMEM_SAYS\" >&2; case $1 in 0.[0-4]*) exit 3;; esac; echo $1\n")
    reports = []
    for says in (PLAIN, "\n".join(t for t in HOSTILE if "\0" not in t)):
        for f in ("o.db", "o.html"): os.path.exists(at(f)) and os.remove(at(f))
        level = "c=%s,d" % (PLAIN if says == PLAIN else "<script>alert(1)</script>'\"&</svg>")
        run("optimize", "-q", "--var", "x=0:1", "--var", level, "--budget", "8", "--store", "o.db", "--report", "o.html", "--", "./bad.sh", "{x}",
            "{c}", env={**os.environ, "GPMEM_SAYS": says}, status=None)
        reports.append(open(at("o.html")).read())
    page(reports[1], reports[0], "optimize")
    r = run("memo", "export", "o.db")
    quiet(r.stdout.decode(), "memo export")
    assert len(set(map(len, csv.reader(io.StringIO(r.stdout.decode()))))) == 1
    for text in HOSTILE:
        shutil.copy(at("o.db"), at("t.db"))
        db = sqlite3.connect(at("t.db"))
        db.execute("UPDATE point SET error = ?, host = ?, tag = ?", (text, text, text))
        db.commit()
        db.close()
        for args in (["memo", "export", "t.db"], ["memo", "list", "t.db"], ["memo", "show", "t.db", "1"], ["memo", "list", "--format", "json", "t.db"]):
            r = run(*args, status=None)
            quiet(r.stdout.decode() + r.stderr.decode(), args, text)
            if "json" in args: [json.loads(line) for line in r.stdout.splitlines()]


def test_search():
    pages = []
    for name in (PLAIN, HOSTILE[0] + HOSTILE[3] + HOSTILE[6] + HOSTILE[8]):
        table("wide.csv", ["t", name, "y"])
        os.path.exists(at("i.idx")) and os.remove(at("i.idx"))
        run("index", "add", "i.idx", "wide.csv", "--wide", "-q")
        quiet(run("index", "list", "i.idx").stdout.decode(), name)
        run("search", "i.idx", "LIN + WN", "--html", "s.html")
        json.loads(run("search", "i.idx", "LIN + WN", "--json").stdout)
        pages.append(open(at("s.html")).read())
    page(pages[1], pages[0], "search")


def test_pictures():
    def scene(text):
        return {"title": text, "panels": [{"title": text, "x": {"label": text}, "items": [{"type": "line", "label": text, "x": [1, 2], "y": [1, 2]}]}]}
    write("scene.json", json.dumps(scene(PLAIN)))
    plain = run("draw", "scene.json", "--format", "svg").stdout.decode()
    for text in HOSTILE:
        write("scene.json", json.dumps(scene(text or " ")))
        r = run("draw", "scene.json", "--format", "svg").stdout.decode()
        page(r, plain, text)
        quiet(run("draw", "scene.json", "--format", "text").stdout.decode(), text)


# ---- scripts of schedulers ----

def called(command):
    """The arguments that gpmem gets when a shell reads the command."""
    script(at("bin", "gpmem"), '#!/bin/sh\nfor a in "$@"; do printf "%s\\0" "$a"; done > called\n')
    env = {**os.environ, "PATH": at("bin") + ":" + os.environ["PATH"], "HOME": "home", "SLURM_ARRAY_TASK_ID": "0", "PBS_O_WORKDIR": WORK.name}
    subprocess.run(command if isinstance(command, list) else ["/bin/sh", "-c", command], cwd=WORK.name, env=env, capture_output=True, timeout=20)
    assert not os.path.exists(at("made")), command
    with open(at("called")) as f: return f.read().split("\0")[:-1]


def test_jobs():
    os.makedirs(at("bin"), exist_ok=True)
    taken = 0
    for text in HOSTILE:
        for kind in ("slurm", "pbs", "k8s", "snakemake"):
            r = run("jobs", kind, "--", text + ".vnts", status=None)
            quiet(r.stdout.decode() + r.stderr.decode(), text)
            if r.returncode:
                assert r.returncode == 2 and b"goes into a script" in r.stderr and re.search("[\x00-\x1f\x7f-\x9f\u202e]", text), (text, r.stderr)
                continue
            said, taken = r.stdout.decode(), taken + 1
            lines = said.split("\n")
            if kind in ("slurm", "pbs"):
                args = called(["/bin/bash", "-c", said])
            elif kind == "k8s":
                command = json.loads([l for l in lines if "args:" in l][0].split("args: ")[1])[0]
                args = called(re.sub(r"\$(\$)|\$\((\w+)\)", lambda m: m[1] or "EXPANDED", command))  # as Kubernetes does
                try:
                    import yaml
                    assert command == yaml.safe_load(said)["spec"]["template"]["spec"]["containers"][0]["args"][0]
                except ImportError: pass
            else:
                class Wild: chain = "3"
                commands = [ast.literal_eval(l.split("shell: ")[1]) for l in lines if "shell:" in l]
                assert len(commands) == 2 and len(lines) == 11, said
                args = called(commands[1].format(wildcards=Wild))
            assert args[0] == "run" and args[-1] == text + ".vnts", (kind, text, args)
    assert taken > 80, taken
    for text in HOSTILE[:-4] + ["a b", "-x"]:
        for kind in ("slurm", "k8s", "snakemake"):
            r = run("jobs", kind, "a.vnts", "--out=" + text, status=None)
            if r.returncode == 0: assert re.fullmatch(r"[\w./|&<>()!\[\]=;,:#-]*", text), (kind, text)


# ---- Python ----

def test_zarr():
    """Every name gives an array inside the folder, and different names different ones."""
    names = list(dict.fromkeys([t for t in HOSTILE if t not in ("chain",)] + ["a/b", "a%2Fb", "x" + HOSTILE[0]]))
    r = gpmem.Result([], {n: np.arange(6.0).reshape(2, 3) + i for i, n in enumerate(names)}, "")
    before = set(glob.glob(at("**"), recursive=True))
    groups = {"posterior": r.draws}
    from gpmem import _stored
    _stored.to_zarr(groups, at("inside", "deep"))
    made = set(glob.glob(at("**"), recursive=True, include_hidden=True) if sys.version_info >= (3, 11) else glob.glob(at("**"), recursive=True)) - before
    assert all(p == at("inside") or p.startswith(at("inside", "deep")) for p in made if not os.path.basename(p).startswith(".") or "inside" in p), made
    folder = at("inside", "deep", "posterior")
    arrays = [d for d in os.listdir(folder) if os.path.exists(os.path.join(folder, d, ".zarray"))]
    assert len(arrays) == len(names) + 2, (len(arrays), len(names))
    firsts = sorted(np.frombuffer(open(os.path.join(folder, d, "0.0"), "rb").read())[0] for d in arrays if d not in ("chain", "draw"))
    assert firsts == list(range(len(names))), firsts
    try:
        _stored.to_zarr({"posterior": {"chain": np.zeros((2, 3))}}, at("inside", "other"))
        raise AssertionError("a quantity took the place of a dimension")
    except gpmem.GpmemValueError as e: assert "dimension" in str(e)


def test_notebooks():
    plain = gpmem.Result([], {PLAIN: np.zeros((1, 20))}, "")._repr_html_()
    for text in HOSTILE:
        r = gpmem.Result([], {text: np.zeros((1, 20))}, "")
        try: said = r._repr_html_() + r.picture(text)._repr_svg_()
        except gpmem.GpmemValueError: continue
        here = Parts(said)
        assert not here.scripts and here.tags <= Parts(plain + gpmem.Result([], {PLAIN: np.zeros((1, 20))}, "").picture(PLAIN)._repr_svg_()).tags | {"br"}, text


sys.exit(run_tests(globals(), sys.argv[2:]))
