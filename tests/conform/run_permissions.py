#!/usr/bin/python3
"""What procedures and operators touch beside values (argument: the tool): files, stores, servers, programs. The rows of the
tables are read from src, with the functions that each can reach: a row that reaches one of DOORS and does not say so
(.touches) fails, as does one that says so and reaches none. Every row that writes or runs has a program in PROGRAMS,
which is refused without permission, and neither makes a file nor opens a connection."""
import glob, os, re, socket, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")
# the functions behind which the world begins, by what they do to it
DOORS = {name: kind for kind, names in {
    "SP_READS": ("file_read", "file_before", "csv_table"),
    "SP_WRITES": ("file_write", "file_new", "file_begin", "file_append", "file_go_on", "file_folder", "file_lock", "file_remove",
                  "memo_open", "catalog_open"),
    "SP_RUNS": ("foreign_open", "proc_pool_new")}.items() for name in names}
# functions whose doors no program chooses: {name: why}
OURS = {"own_code": "the user's key, which seals what is written", "cubin_find": "the cache of what a GPU runs",
        "cubin_keep": "the cache of what a GPU runs", "gpu_open": "the libraries of a GPU, by their names",
        "journal_step": "of `gpmem discover --out` alone", "cores_available": "what the machine lets a process use",
        "memo_pid_start": "does the process that holds a claim live?", "runner_new": "what command() made, which asked"}
# rows that reach a door and need not say so: {row: (what, why)}
EXCEPTIONS = {"plot": ("SP_WRITES", "shares its code with plot_to_file"), "plotf": ("SP_WRITES", "shares its code with plot_to_file"),
              **{m: ("SP_RUNS", "its source function asked when it was made") for m in ("gpmem", "tpmem", "quadmem", "emumem")},
              **{m: ("SP_WRITES SP_RUNS", "shares its code with gpmem, and takes neither function nor store")
                 for m in ("make_gp", "make_tp", "make_quad", "make_emulator", "make_plugin")}}
WORD = r"[A-Za-z_]\w*"


def bare(text):
    """Without comments, and with nothing in its quotes."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
                  lambda m: re.sub(r"[^\n]", " ", m.group(0)) if m.group(0)[0] == "/" else '""', text, flags=re.S)


def definitions(code):
    """(name, body, is it a table or a macro) of what begins at the margin."""
    for m in re.finditer(r"^#define (%s)((?:[^\n]*\\\n)*[^\n]*)" % WORD, code, re.M): yield m.group(1), m.group(2), True
    for m in re.finditer(r"^(?!#|\}|typedef|struct \w+ \{|enum \{)([A-Za-z][^;{}]*?)(=\s*)?\{(.*?)^\}", code, re.S | re.M):
        head = re.sub(r"\[[^\]]*\]", "", m.group(1))
        called = None if m.group(2) else re.search(r"(%s)\s*\(" % WORD, head)
        yield called.group(1) if called else re.findall(WORD, head)[-1], m.group(3), bool(m.group(2))


class Graph:
    """What each definition mentions. Names that several files define belong, within one of them, to that one."""
    def __init__(self, files):
        self.body, self.files, self.next = {}, {}, {}
        for path, text in files.items():
            for name, body, table in definitions(bare(text)):
                before, was = self.body.get((path, name), ("", False))
                self.body[path, name] = before + "\n" + body, was or table
                self.files.setdefault(name, set()).add(path)

    def mentioned(self, path, body, table):
        """What a text calls, in any file, or hands on, of its own file; a table, what it holds."""
        for before, word, after in set(re.findall(r"(->|\.|&|=\s*)?\b(%s)\b(\s*\()?" % WORD, body)):
            if before in ("->", ".") or word in OURS: continue
            if word in DOORS: yield word
            elif (path, word) in self.body: yield path, word
            elif (after or before == "&" or (before and table)) and len(self.files.get(word, ())) == 1: yield (*self.files[word], word)

    def doors(self, path, row):
        """The doors that a row reaches; macros of rows paste names together."""
        pasted = " ".join("(simulate_%s)" % w for w in re.findall(WORD, bare(row)))
        todo, seen = list(self.mentioned(path, bare(row) + pasted, True)), set()
        while todo:
            at = todo.pop()
            if at in seen: continue
            seen.add(at)
            if at in DOORS: continue
            if at not in self.next: self.next[at] = set(self.mentioned(at[0], *self.body[at]))
            todo += self.next[at]
        return {s for s in seen if s in DOORS}


def braces(body):
    """The outermost {...} of a table's body."""
    depth, begin = 0, 0
    for m in re.finditer(r"\"(?:\\.|[^\"\\])*\"|[{}]", body):
        if m.group(0) == "{":
            if depth == 0: begin = m.start()
            depth += 1
        elif m.group(0) == "}":
            depth -= 1
            if depth == 0: yield body[begin:m.end()]


def rows(text):
    """(name, text) of every row of the tables of procedures and operators."""
    for m in re.finditer(r"^(?:static )?const struct (?:sp_class|infer_op) \w+(\[\])?\s*=\s*\{(.*?)^\};", text, re.S | re.M):
        for row in braces(m.group(2)) if m.group(1) else [m.group(2)]:
            name = re.search(r"\bSP_(?:ROW|GROW)\((\w+)|\.name = \"([^\"]+)\"|^\{\"([^\"]+)\"", row)
            if name: yield next(filter(None, name.groups())), row


def complaints(files):
    graph, found, bad = Graph(files), {}, []
    for path, text in files.items():
        for name, row in rows(text):
            reached = {DOORS[d] for d in graph.doors(path, row)}
            says = set(re.findall(r"\bSP_(?:READS|WRITES|RUNS)\b", "".join(re.findall(r"\.touches = ([^,}]*)", row))))
            found.setdefault(name, set()).update(says)
            # what is written or run is often read as well
            excused = set(EXCEPTIONS.get(name, ("",))[0].split()) | ({"SP_READS"} if says else set())
            missing, idle = reached - says - excused, says - reached - ({"SP_READS"} if reached else set())
            bad += ["src/%s: %s reaches %s and does not say so" % (path, name, m) for m in sorted(missing)]
            bad += ["src/%s: %s says %s and reaches nothing of the kind" % (path, name, i) for i in sorted(idle)]
    return bad, found


def sources():
    return {os.path.relpath(p, ROOT): open(p, encoding="utf-8").read()
            for p in sorted(glob.glob(os.path.join(ROOT, "**", "*.[ch]"), recursive=True)) if not re.search(r"/src/front/(?:cli|api)/|/src/\.\./", p)}


def test_the_scan_itself():
    planted = {"x/a.c": 'static int low(void) {\n    return file_write("a");\n}\nint f(void) {\n    each(low);\n}\n'
                        'const struct infer_op a_rows[] = {\n    {"honest", "(a: b)", "d", .run = f, .touches = SP_WRITES},\n'
                        '    {"silent", "()", "file_read(x)", .run = f},\n    {"idle", "()", "d", .run = g, .touches = SP_RUNS},\n};\n',
               "x/b.c": "static void g(void) {\n    x->file_write(1);\n}\nstatic int low(void) {\n    return 1;\n}\n"}
    bad, found = complaints(planted)
    assert sorted(found) == ["honest", "idle", "silent"], found
    assert bad == ["src/x/a.c: silent reaches SP_WRITES and does not say so", "src/x/a.c: idle says SP_RUNS and reaches nothing of the kind"], bad


# ---- and they ask ----

SERVER = "postgresql://127.0.0.1:%d/db"
MEMO = 'assume (c, e) = %s; predict c(1);'
PROGRAMS = {  # row: programs that must be refused; of those with a server, no connection may be made
    "command": ['command("touch made")(1);'], "foreign": ['foreign("./lib.so", "f")(1);'],
    "plugin": ['assume d = plugin("./lib.so", "d"); predict d(1);'],
    "make_plugin": ['assume e = make_plugin("./lib.so", "e"); predict e(1);'],
    "pluginmem": [MEMO % 'pluginmem(x -> x, "./lib.so", "e", store="%s")' % s for s in ("made.db", SERVER)],
    "emumem": [MEMO % 'emumem(x -> x, (p, x) -> 0, (p, x, y) -> 0, store="%s")' % s for s in ("made.db", SERVER)],
    **{m: [MEMO % '%s(x -> x, %sstore="%s")' % (m, "" if m == "quadmem" else "make_squaredexp(1, 1), ", s) for s in ("made.db", SERVER)]
       for m in ("gpmem", "tpmem", "quadmem")},
    "save_model": ['assume x = 3; infer save_model("made");'],
    "plot_to_file": ['infer plot_to_file("made", "p0d1d", [[1, 2], [1, 2]]);'], "plotf_to_file": ['infer plotf_to_file("made", "p0d1d", [[1, 2], [1, 2]]);'],
    "prior_predictive_check": ['assume x = normal(0, 1); observe normal(x, 1) = 1; infer prior_predictive_check(3, file="made");'],
    "posterior_predictive_check": ['assume x = normal(0, 1); observe normal(x, 1) = 1; infer posterior_predictive_check(3, pass, file="made");'],
    "structure_index": ['structure_index("%s", "series.csv");' % s for s in ("made.db", "old.db", SERVER)],
    "search": ['search("%s", "is periodic");' % SERVER],
}


def contents():
    return {p: open(p, "rb").read() for p in sorted(glob.glob("**", recursive=True)) if os.path.isfile(p)}


def refused():
    os.chdir(tempfile.mkdtemp())
    with open("series.csv", "w") as f: f.write("t,y\n" + "".join("%d,%d\n" % (i, i % 5) for i in range(20)))
    subprocess.run([TOOL, "index", "add", "old.db", "series.csv", "-q"], check=True, capture_output=True)
    open("lib.so", "w").close()
    before = contents()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        for name, programs in PROGRAMS.items():
            for program in programs:
                text = program % listener.getsockname()[1] if SERVER in program else program
                r = subprocess.run([TOOL, "--max-time", "20", "-e", text], capture_output=True, text=True, timeout=60)
                assert r.returncode == 1 and "E0702" in r.stderr and "--allow-" in r.stderr, (name, text, r)
                assert contents() == before, (name, text)
                try: listener.accept()
                except BlockingIOError: continue
                raise AssertionError("%s connected: %s" % (name, text))
    # a file of one's own is searched without permission
    r = subprocess.run([TOOL, "-e", 'search("old.db", "is periodic");'], capture_output=True, text=True, timeout=60)
    assert r.returncode == 0, r


test_the_scan_itself()
bad, found = complaints(sources())
bad += ["%s has no program in PROGRAMS" % n for n, says in found.items() if says - {"SP_READS"} and n not in PROGRAMS]
if bad: sys.exit("\n".join(bad))
refused()
print("permissions: %d rows, %d of them touch more than values" % (len(found), sum(map(bool, found.values()))))
