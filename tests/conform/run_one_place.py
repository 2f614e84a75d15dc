#!/usr/bin/python3
"""One place for each thing: calls that src may make in one file alone (arguments: the tool, which is not used).
A row of RULES names the calls, the files that are the place, and exceptions with their reasons; an exception that
no longer occurs fails too. Comments and texts in quotes do not count."""
import functools, os, re, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")


class Quoted(str):
    """A pattern that is looked for in texts in quotes, too."""


def calls(*names):
    return r"(?<![\w.>])(?:%s)\s*\(" % "|".join(names)


PRINT = ("printf", "vprintf", "puts", "putchar", "perror")
BELOW_CLI = [f + "/*" for f in sorted(os.listdir(ROOT)) if f != "front"] + ["front/session/*", "front/api/*", "front/rows.c"]  # the rule before is theirs
# what, the calls that have one place, the files that are it, {file: why it may nevertheless}
RULES = [
    ("what is wrong with names, calls, scopes and blocks is said in one place, to the run and to the check before it",
     r"\bDIAG_(?:UNBOUND|UNKNOWN_KEYWORD|NOT_PROCEDURE|CONDITION|UNKNOWN_SCOPE|UNKNOWN_BLOCK|DEFAULT_BLOCK|UNKNOWN_LABEL|DUPLICATE_NAME)\b",
     ["runtime/core/core.c", "runtime/core/lookup.c", "runtime/core/call_form.c", "inference/run/target.c", "runtime/trace/record.c", "language/lang/diag_codes.h"],
     {"front/session/session.c": "adds help to what was said; data given from outside",
      "inference/run/action.c": "moves the place from the expression to the name",
      "inference/op/observed.c": "labels of observations alone, with patterns",
      "inference/op/op_control.c": "assert has words of its own",
      "language/lang/parse_special.c": "keywords of forms with a syntax of their own"}),
    ("where a name leads is found by runtime/core/lookup.c, for every evaluator", r"\bframe_meaning\s*\(|\bglobal_first\b|[.>]u\.name\.inference\b",
     ["runtime/core/lookup.c", "runtime/core/lookup.h", "runtime/core/bindings.h", "language/lang/*"],
     {"runtime/trace/made_with.c": "names that a directive keeps when it is made",
      "runtime/trace/apply.c": "what a procedure may read, whatever its conditions",
      "runtime/core/machine_text.c": "such a name is not one of a pure procedure",
      "runtime/core/core_pack.c": "written and read"}),
    ("operands are placed by runtime/core/call_form.c, for every evaluator", r"[.>]u\.call\.kw\w*",
     ["runtime/core/call_form.c", "language/lang/*"],
     {"runtime/core/machine_text.c": "a call with keywords is not one of a pure procedure",
      "runtime/core/machine_link.c": "a call with keywords is placed when it is made",
      "runtime/core/core_pack.c": "written and read",
      "front/api/outline.c": "lists keywords for editors",
      "front/session/session.c": "x = run(action) has none",
      "apps/optimize/bo_rules.c": "rules of another language"}),
    ("what is not traced is evaluated by one machine: the code of a text is run by runtime/core/machine_run.c", r"\bCODE_(?:TAIL|UNLESS|RETURN|LEAF)\b",
     ["runtime/core/machine.h", "runtime/core/machine_text.c", "runtime/core/machine_link.c", "runtime/core/machine_run.c"],
     {"runtime/core/pure.c": "reads the code, and runs none"}),
    ("proposals are accepted by mh_accept: elsewhere no log of a uniform number is compared, but in draws of laws", r"log\(rng_uniform\([^()]*\)\)\s*[<>]",
     ["runtime/trace/transition.c", "numeric/dist/*", "numeric/special/*", "language/rows/dist/*"],
     {"apps/discover/structure_chains.c": "chains of the structure learner, without a trace: each step takes one number, whatever the ratio",
      "inference/hmc/nuts.c": "picks one of two trees by their weights",
      "inference/particles/op_particles.c": "picks one of a class of particles by its weight",
      "inference/particles/op_pgibbs.c": "picks one of several runs by its evidence",
      "inference/op/op_rejection.c": "a draw under a bound, with no state before it"}),
    ("a trace is copied to go back to it by the guard; proposals are undone (docs/design.md, ways back)", calls("trace_clone", "trace_share", "trace_copy"),
     ["runtime/trace/*", "inference/run/guard.c"],
     {"inference/run/model.c": "models that programs copy",
      "inference/run/redraw.c": "goes back after a directive failed at every draw",
      "inference/sums/exact.c": "walks the states of a copy",
      "inference/op/op_structure.c": "fits on a copy, which takes the state's place when it is accepted",
      "inference/op/structure_choices.h": "declares that copy",
      "apps/discover/program_space.c": "copies that stand in one structure each"}),
    ("columns of a store are read by io/store/memo_sql.c, which checks type, NULL and range", calls(r"sqlite3_column_\w+", "driver->(?:kind|integer|number|bytes)"),
     ["io/store/memo_sql.c", "io/store/sqlite.c"], {}),
    ("a store's database is spoken to by its driver", r"sqlite3_\w+|\bPQ\w+", ["io/store/sqlite.c", "io/store/sqlite_files.c", "io/store/sqlite_files.h", "io/store/postgres.c"], {}),
    ("programs run, and their outcomes are stored, by language/rows/source/runner.c", calls("proc_pool_new", "proc_pool_start", "proc_pool_wait"),
     ["language/rows/source/runner.c", "io/host/*"], {}),
    ("files are opened, made, renamed and locked by base/file.c",
     calls("fopen", "freopen", "open", "openat", "creat", "rename", "renameat", "mkstemp", "mkdtemp", "tmpfile", "mkdir", "link", "symlink",
           "unlink", "remove", "flock", "lockf", "json_load_file", "json_dump_file", "dlopen", r"sqlite3_open\w*") + r"|\bH_(?:LOAD|SAVE)\b",
     ["base/file.c"],
     {"base/mem.c": "reads /proc/self/statm where nothing may be allocated",
      "io/host/proc_spawn.c": "/dev/null as the input of a child",
      "io/host/foreign.c": "dlopen opens shared objects itself; file_regular comes before",
      "io/gpu/cuda.c": "dlopen finds libraries of the system by their names",
      "front/cli/repl.c": "libedit reads and writes the history itself",
      "base/library.h": "dlopen finds a library of the system by its name",
      "io/store/sqlite_files.c": "SQLite opens its files itself; what is no regular file is refused before"}),
    ("the library prints nothing: only cli does", r"\b(?:stdout|stderr)\b|" + calls(*PRINT), ["front/cli/*"],
     {"base/mem.c": "the last words of a process that has no memory left"}),
    ("numbers are read by base/number, whatever the locale", calls("(?:str|wcs)to(?:d|f|ld)(?:_l)?", "atof", "vf?scanf", "vsscanf"),
     ["base/number.c"], {}),
    ("formats handed on go through base/number, whatever the locale", calls("v[sfd]?n?printf", "vasprintf"), ["base/number.c"], {}),
    ("how many processors there are to use is said by base/cores.c", r"_SC_NPROCESSORS\w*|" + calls("get_nprocs\\w*", "sched_getaffinity"),
     ["base/cores.c"], {}),
    ("sizes of structs that are packed are checked by PACK_SIZE, which knows of web pages", r"_Static_assert\s*\(\s*sizeof",
     ["base/pack.h"], {}),
    ("the version stands in one file, by version_text", r"\bGPMEM_VERSION\b", ["base/version.c"], {}),
    ("doubles are compared for qsort by number_compare", r"\*\(const double \*\)", ["base/number.c"], {}),
    ("the locale is base/number's", calls("(?:set|use|new|dup|free)locale", "localeconv"), ["base/number.c"],
     {"front/cli/repl.c": "the line editor needs to know characters; numbers stay as in C"}),
    ("characters have the classes and case of ASCII (base/ascii.h), whatever the locale",
     calls("is(?:alpha|alnum|digit|space|upper|lower|xdigit|print|punct|graph|cntrl|blank)", "to(?:lower|upper)", "strn?casecmp", "strcasestr"),
     ["front/cli/*"], {}),
    ("jansson follows the locale: in the library only within number_locale_enter", calls("json_load\\w*", "json_dump\\w*"), ["front/cli/*"],
     {"apps/discover/saved_read.c": "does", "io/host/proc_outputs.c": "does", "io/plot/scene_json.c": "does", "language/rows/source/data_file.c": "does", "apps/optimize/bo_space.c": "strings alone"}),
    ("the tool prints by front/cli/out.c, which makes foreign text visible", r"\b(?:stdout|stderr)\b|" + calls(*PRINT), ["front/cli/out.c", *BELOW_CLI],
     {"front/cli/cmd_completions.c": "scripts made of the option tables",
      "front/cli/cmd_man.c": "pages made of the option tables",
      "front/cli/cmd_lsp.c": "messages of a protocol, JSON by jansson",
      "front/cli/repl.c": "hands the streams to libedit"}),
    ("text is escaped for JSON, HTML, Markdown and terminals by base/escape.c",
     Quoted(r"&(?:lt|gt|amp|quot);|\\\\u%04|\\\\x%02"), ["base/escape.c"], {}),
    ("supports have their transforms to unconstrained space in inference/hmc/constrain.c; rows say which they have",
     r"\bSUPPORT_(?:POSITIVE|INTERVAL|ORDERED|SIMPLEX|ZERO_SUM|UNIT_VECTOR|CORR\w*|COV\w*)\b",
     ["inference/hmc/constrain.c", "inference/hmc/constrain_matrix.c", "language/rows/dist/*", "language/rows/protocol/sp.h"], {"language/rows/source/plugin.c": "rows of plug-ins say it, too"}),
    ("times are read and written by table/times*.c",
     calls("calendar_(?:days|date|month_length)", "strptime", "strftime", "mktime", "timegm", "(?:gm|local)time(?:_r)?") + r"|\btime_parts\b",
     ["table/times.c", "table/times_print.c", "table/times_text.c", "table/time_zones.c", "table/times_int.h", "base/calendar.c", "base/calendar.h"],
     {"io/plot/ticks.c": "marks of an axis", "apps/optimize/memo_csv.c": "the clock of the machine",
      "apps/discover/series.c": "days that are all the first or the last of a month count as months",
      "apps/discover/series_print.c": "and are written as days again"}),
    ("months have their names in table/month_names.c", Quoted(r'"(?i:jan|january|dec|december)\b'), ["table/month_names.c"],
     {"table/times_print.c": "the form of a name where there is no example"}),
    ("commas, currencies and other signs of people's numbers are read by table/amounts.c", Quoted(r"\\xe2\\x82\\xac|\bEUR\b"),
     ["table/amounts.c", "table/amounts.h"], {}),
    ("cells of a table are numbers and times by the columns of table/table.c", calls("number_style_find", "times_read"), ["table/*"],
     {"apps/discover/layout.c": "times that are the names of columns", "apps/discover/saved_read.c": "one example of a folder"}),
    ("a median is taken by numeric/special/robust.c", r"\b1\.4826\b|\bstatic double median\(", ["numeric/special/robust.c"],
     {"apps/regress/raside.c": "the upper one of two middle distances"}),
    ("a distribution of weighted parts is numeric/posterior/mixture.c's: applications add up no distribution functions",
     calls("norm_cdf", "beta_inc", r"\w*_tails") + r"|\b(?:double|bool) \w*(?:crps|mixture_(?:cdf|quantile|mean|sd))\w*\(", ["numeric/*", "language/*", "inference/*", "gp/*"],
     {"apps/discover/smodel.c": "the mass of a prior",
      "apps/optimize/bo_worth.c": "expected improvement",
      "apps/regress/rfamily.c": "logarithms of both tails, for rows that are far out"}),
    ("output scales have their formulas in numeric/special/link.c", r"\bcase LINK_\w+", ["numeric/special/link.c"], {}),
    ("a year's days stand in base/units.h", r"\b365\.2\d*|\b30\.43\d*", ["base/units.h"], {}),
    ("what is not finite is null in JSON, by base/json.c", Quoted(r'"null"'), ["base/json.c"],
     {"table/csv.c": "a word for a missing cell"}),
    ("a page is begun by io/plot/doc_html.c", Quoted(r'<!(?i:doctype)'), ["io/plot/doc_html.c"],
     {"table/csv.c": "says that a file is a page"}),
]


@functools.cache
def code_of(text, quoted=False):
    """The text without comments and, unless quoted, without what stands in quotes; line breaks stay."""
    def blank(m): return re.sub(r"[^\n]", " ", m.group(0)) if m.group(0)[0] == "/" else m.group(0) if quoted else m.group(0)[0] * 2
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def inside(path, places): return any(path == p or (p.endswith("/*") and path.startswith(p[:-1])) for p in places)


def violations(rules, files):
    bad = []
    for what, pattern, places, exceptions in rules:
        used = set()
        for path, text in files.items():
            if inside(path, places): continue
            text = code_of(text, isinstance(pattern, Quoted))
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
            found[os.path.relpath(p, ROOT)] = open(p, encoding="utf-8").read()
    return found


FORMATTED = calls("(?:f|d|s|sn|as)?printf", "f?scanf", "sscanf", "strfrom[dfl]")
A_NUMBER = re.compile(r"%[-+ #0']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[lL]?[aefgAEFG]")


def direct_numbers(path, raw):
    """Calls of stdio whose texts in quotes hold the format of a floating-point number: those are base/number's."""
    def same_length(m): return re.sub(r"[^\n]", " ", m.group(0))
    code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", same_length, raw, flags=re.S)
    for m in re.finditer(FORMATTED, code):
        depth, end = 1, m.end()
        while depth and end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        if path != "base/number.c" and any(A_NUMBER.search(t.replace("%%", "")) for t in re.findall(r'"(?:\\.|[^"\\\n])*"', raw[m.start():end])):
            yield "src/%s:%d: %s of a floating-point number: base/number.h has one that no locale moves" % (
                path, raw.count("\n", 0, m.start()) + 1, m.group(0).strip(" ("))


def test_the_scan_itself():
    planted = {"gp/x.c": ('int f(void) { /* fopen("a") */ g("fopen(b)", \'"\'); return h->fopen(1) + my_fopen(2); }\n'),
               "gp/y.c": ('// none\nFILE *f = fopen (path, "r");\n'), "base/file.c": "fopen(x)", "gp/z.c": "fopen(x)"}
    rule = [("files", calls("fopen"), ["base/file.c"], {"gp/z.c": "a reason"})]
    assert violations(rule, planted) == ["src/gp/y.c:2: fopen: files"], violations(rule, planted)
    markup = [("markup", Quoted("&lt;"), ["base/escape.c"], {})]
    assert violations(markup, {"gp/x.c": '/* &lt; */\nputs("&lt;");'}) == ["src/gp/x.c:2: &lt;: markup"]
    del planted["gp/z.c"]
    assert len(violations(rule, planted)) == 2
    for text, found in (('snprintf(t, n, "%d" "%-8.3g", i, x)', 1), ('fprintf(f, a ? "%s%%" : "%.*f", (g)(x))', 1), ('sscanf(t, "%la", &x)', 1),
                        ('snprintf(t, n, "%d%%gone", i); buf_printf(b, "%g", x)', 0), ('number_fprintf(stdout, "%g", x)', 0)):
        assert len(list(direct_numbers("gp/x.c", text))) == found, text


test_the_scan_itself()
bad = violations(RULES, sources())
bad += [b for path, text in sources().items() for b in direct_numbers(path, text)]
print("\n".join(bad) if bad else "one place: %d rules hold" % len(RULES))
sys.exit(1 if bad else 0)
