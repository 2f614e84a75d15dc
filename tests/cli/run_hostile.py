#!/usr/bin/python3
"""Hostile input (argument: the tool): programs without permissions, names and cells made to break out of reports,
paths and terminals, folders and stores that somebody else prepared, limits of memory, time and depth, a machine
that has no more memory. Nothing may be written where it should not be, and nothing may crash."""
import glob, json, os, resource, shutil, sqlite3, subprocess, sys, tempfile
from each import run_tests, stopped_on_the_way, unsealed

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-hostile-")
EVIL = '<script>alert(1)</script>"\'&`|\x1b[31m\x9b</svg>../../up\nnext'
SANITIZED = b"__asan" in open(TOOL, "rb").read()


def at(*names): return os.path.join(WORK.name, *names)


def run(*args, status=None, stdin=b"", limit=None, timeout=120):
    def before():
        if limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    r = subprocess.run([TOOL, *args], input=stdin, capture_output=True, cwd=WORK.name, timeout=timeout, preexec_fn=before)
    assert r.returncode >= 0, "signal %d: %r\n%r" % (-r.returncode, args, r.stderr[-500:])
    assert status is None or r.returncode == status, (args, r.returncode, r.stderr[-500:])
    for text in (r.stdout, r.stderr):
        assert b"\x1b" not in text, "an escape sequence of the input reached the terminal: %r %r" % (args, text[-300:])
    return r


def write(name, text):
    with open(at(name), "w") as f: f.write(text)
    return at(name)


def files(): return sorted(os.path.relpath(p, WORK.name) for p in glob.glob(at("**"), recursive=True) if not os.path.isdir(p))


def another_user():
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(dir=WORK.name)


# ---- permissions ----

def test_nothing_without_permission():
    write("lib.c", "int x;")
    before = files()
    for program in ('command("touch made-by-program")(1);', 'command("touch made {x}")(1);', 'foreign("./lib.so", "f")(1);',
                    'assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), store="made.db"); predict c(1);',
                    'assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), store="../made.db"); predict c(1);',
                    'assume (c, e) = gpmem(command("touch made {x}"), make_squaredexp(1, 1)); predict c(1);'):
        r = run("-e", program, status=1)
        assert b"E0702" in r.stderr and b"--allow-" in r.stderr, (program, r.stderr)
        # loading the same text from a file, and in a model block, changes nothing
        inner = write("inner.vnts", program)
        assert b"E0702" in run("-e", 'load "%s";' % inner, status=1).stderr
        os.remove(inner)
    assert files() == before, files()
    assert not os.path.exists(at("..", "made.db"))


def test_store_paths():
    before = files()
    for path in ("a\\0b.db", "no/such/folder/x.db", "/proc/self/mem", "."):
        run("--allow-write", "-e", 'assume (c, e) = gpmem(x -> x, make_squaredexp(1, 1), store="%s"); predict c(1);' % path, status=None)
    assert files() == before, files()


# ---- names from data ----

def series(name, column):
    import csv
    with open(at(name), "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["t" + column, column])
        for i in range(16): w.writerow([i, i * 2 + (i * 7) % 5])
    return name


def test_files_of_reports():
    name = series("evil<b>&.csv", EVIL)
    before = set(files())
    run("discover", "-k", "LIN", name, "-c", "2", "--time", "1", "--html", "r.html", "--markdown", "r.md", "--json", "r.json", "-o", "evil-run", status=0)
    made = set(files()) - before
    assert made == {"r.html", "r.md", "r.json"} | {"evil-run/" + f for f in
                    ("manifest.json", "data.csv", "structures.json", "chains.csv", "draws.csv")}, made
    run("report", "evil-run", status=0)
    run("query", "evil-run", "LIN", status=0)
    run("forecast", "evil-run", status=0)


# ---- folders and stores that somebody else prepared ----

def test_links_are_not_followed():
    victim = write("victim.txt", "precious")
    series("plain.csv", "y")
    os.mkdir(at("trap"))
    for name in ("manifest.json.tmp", "data.csv.tmp", "manifest.json"): os.symlink(victim, at("trap", name))
    run("discover", "-k", "LIN", "plain.csv", "-o", "trap", "-q")
    os.mkdir(at("trap2"))
    for name in ("chain-1.csv", "program.vnts"): os.symlink(victim, at("trap2", name))
    program = write("p.vnts", "assume x = normal(0, 1); infer repeat(3, do(mh(default, one, 1), collect(x)));")
    run("run", program, "--out", "trap2")
    assert open(victim).read() == "precious"


def test_hostile_folder():
    series("plain.csv", "y")
    run("discover", "-k", "LIN", "plain.csv", "-o", "run1", "-q", status=0)
    good = json.load(open(at("run1", "manifest.json")))
    for key, value in (("horizon", 1e300), ("horizon", -5), ("steps", 1e18), ("chains", -1), ("level", 7), ("time_kind", 99), ("factors", -1),
                       ("file", EVIL), ("value_name", EVIL), ("time_name", 7), ("verdict", EVIL), ("seed", -1e300), ("draws", 1e300),
                       ("unit", EVIL), ("format", "x"), ("data_hash", None)):
        with open(at("run1", "manifest.json"), "w") as f: json.dump(dict(good, **{key: value}), f)
        for command in (["report", "run1"], ["forecast", "run1", "-n", "2"], ["query", "run1", "LIN"]): run(*command)
    for text in ("", "[", "[]", "{}", '{"format": 1}', "null", "[" * 5000):
        with open(at("run1", "manifest.json"), "w") as f: f.write(text)
        assert run("report", "run1").returncode != 0
    with open(at("run1", "manifest.json"), "w") as f: json.dump(good, f)
    for text in ("[]", "[{}]", '[{"terms": [[65535, 0]], "mode": [1]}]', "[" * 5000):
        with open(at("run1", "structures.json"), "w") as f: f.write(text)
        assert run("report", "run1").returncode != 0


def test_hostile_store():
    run("optimize", "-q", "--var", "x=0:1", "--budget", "3", "--store", "s.db", "--", "printf", "{x}", status=0)
    for sql in ("UPDATE point SET status = 77", "UPDATE point SET y = 'abc'", "UPDATE point SET y = 9e999", "UPDATE point SET key = x'00' WHERE id = 1",
                "UPDATE meta SET value = '-1' WHERE key LIKE '%dim%'", "DELETE FROM meta", "DROP TABLE point",
                "UPDATE state SET value = '[[[['", "UPDATE point SET error = char(27) || '[31m', status = 3, host = char(27)"):
        shutil.copy(at("s.db"), at("t.db"))
        db = sqlite3.connect(at("t.db"))
        db.execute(sql)
        db.commit()
        db.close()
        unsealed(at("t.db"))
        for command in (["memo", "list", "t.db"], ["memo", "show", "t.db"], ["memo", "export", "t.db"], ["ask", "--store", "t.db"]): run(*command)
    for content in (b"", b"SQLite format 3\0" + b"\xff" * 4000, os.urandom(5000)):
        with open(at("t.db"), "wb") as f: f.write(content)
        run("memo", "list", "t.db")


def test_stored_words():
    """A command comes back from a store as it was given, whatever blanks, quotes and bytes its words hold."""
    words = ["a\rb", "\v", "c\fd\tg\nf", "'\"\\", "\\", "", " ", "$HOME $(x)", "\x1b[m\u2028é", "{{x}}", "#"]
    write("words.sh", "#!/bin/sh\nfor w in \"$@\"; do printf '%s\\0' \"$w\"; done > words\necho 1\n")
    os.chmod(at("words.sh"), 0o755)
    command = ["--", "./words.sh", "{x}", *words]
    got = []
    for args in (["--var", "x=0:1", "--budget", "1", "--store", "w.db", *command], ["--join", "w.db", "--budget", "2"]):
        run("optimize", "-q", *args, status=0)
        with open(at("words"), newline="") as f: got.append(f.read().split("\0")[1:-1])
        os.remove(at("words"))
    assert got[0] == got[1] == [w.replace("{{x}}", "{x}") for w in words], got


# ---- limits ----

def test_limits_hold():
    cases = {
        "--max-depth": ("100", ["define f = proc(n) { 1 + f(n + 1) }; f(0)", "assume f = proc(n) { 1 + f(n + 1) }; predict f(0)",
                                "assume f = mem(proc(n) { f(n + 1) }); predict f(0)"]),
        "--max-time": ("0.3", ["infer repeat(1000000000, mh(default, one, 1))", "define f = proc(n) { f(n + 1) }; f(0)",
                               "for (i = 0; i < 1; i = i) { i }",
                               "assume x = normal(0, 1); infer mh(default, one, 1000000000)",
                               "assume x = normal(0, 1); infer slice(default, one, 1, 10, 1000000000)",
                               "assume b = flip(1e-300); observe exactly(b) = true; infer rejection(default, all, 1)"]
                              + ["define f = i -> if (i == 0) { make_squaredexp(1, 1) } else { k = f(i - 1); %s }; define k = f(40); %s(k)" % (grow, what)
                                 for grow in ("k + k", "k * k + make_periodic(1, 1, i)", "k * (make_periodic(1, 1, i) + make_linear(1, i))",
                                              "make_change_point(k, k, i, 1)", "make_change_point(k, make_linear(1, i) + k, i, 1) * k")
                                 for what in ("simplify", "struct")] +
                              ["assume x = normal(0, 1); infer repeat(1000, resample(1000000))"]),
        "--max-memory": ("30M", ["fill(90000000, 1)", "assume f = mem(proc(i) { normal(0, 1) }); for (i = 0; i < 100000000; i++) { predict f(unquote(i)) }",
                                 "define f = proc(n, a) { if (n == 0) { size(a) } else { f(n - 1, append(a, a)) } }; f(30, array(1, 2))",
                                 "define f = proc(n, a) { if (n == 0) { size(a) } else { f(n - 1, string_concat(a, a)) } }; f(40, \"ab\")",
                                 "assume x = normal(0, 1); infer resample(1000000)", "assume x = normal(0, 1); infer repeat(1000000, add_particle())",
                                 "assume x = mem(i -> flip(0.5)); assume y = mapv(x, arange(12)); infer enumerative_diversify(default, all)"]),
    }
    for flag, (value, programs) in cases.items():
        for program in programs:
            guard = [] if flag == "--max-time" else ["--max-time", "60"]
            r = run(flag, value, *guard, "-e", program)
            assert r.returncode == 1 and b"error[E" in r.stderr, (flag, program, r.returncode, r.stderr[-300:])
            # what came before the failing instruction stands, and the session goes on
            r = run(flag, value, *guard, stdin=("define before = 7;\n%s;\n" % program).encode())
            assert r.returncode == 1, (program, r.stderr[-300:])


def test_time_is_of_all_chains():
    """--max-time holds for a run, however many chains wait for a processor."""
    program = write("endless.vnts", "assume x ~ normal(0, 1); infer repeat(1000000000, mh(default, one, 1));")
    r = run("run", "--chains", "500", "--max-time", "0.3", program, status=4)
    begun = r.stderr.count(b"failed:")
    assert 0 < begun <= os.cpu_count() and b"before %d of 500 chains had begun" % (500 - begun) in r.stderr, r.stderr[-300:]


def test_depth_beyond_memory():
    """A limit for recursion above the machine's memory costs nothing where nothing recurses; one above its address space says so."""
    assert run("--max-depth", "5000000", "-e", "print(1)", status=0).stdout == b"1\n"
    assert b"--max-depth" in run("--max-depth", "99999999999999", "-e", "print(1)", status=1).stderr


def stopped_with_checkpoint(folder, program):
    """A run that --max-time stops between its first step and its end, wherever those are on this machine."""
    def attempt(limit):
        shutil.rmtree(at(folder), ignore_errors=True)
        r = run("run", "--out", at(folder), "--max-time", limit, program)
        assert r.returncode in (0, 4), (program, r.returncode, r.stderr)
        return r.returncode == 0, os.path.exists(at(folder, "chain-1.ckpt")) and r
    return stopped_on_the_way(attempt)


def test_states_of_others():
    """Checkpoints and models lead anywhere in memory when somebody made them up: those of others are taken with --allow-run alone."""
    another_user()
    program = write("long.vnts", "assume x ~ normal(0, 1); infer repeat(2000000, mh(default, one, 1)); print(run(sample(x)));")
    whole = run("run", program, status=0).stdout
    stopped_with_checkpoint("long", program)
    for name in ("mine", "theirs", "allowed"): shutil.copytree(at("long"), at(name))
    r = run("resume", at("mine"), status=0)
    assert b"begins anew" not in r.stderr and r.stdout == whole, r
    run("--allow-write", "-e", 'assume x = 3; infer save_model("model.gpm");', status=0)
    key = os.path.join(os.environ["XDG_STATE_HOME"], "gpmem", "key")
    assert os.path.getsize(key) == 32 and os.stat(key).st_mode & 0o777 == 0o600
    load = ("-e", 'infer load_model("model.gpm"); sample x;')
    assert run(*load, status=0).stdout == b"3\n"
    os.chmod(key, 0o644)
    assert b"others can read" in run(*load, status=1).stderr
    os.chmod(key, 0o600)
    another_user()
    r = run("resume", at("theirs"), status=0)
    assert b"another user" in r.stderr and b"begins anew" in r.stderr and r.stdout == whole, r
    r = run("resume", "--allow-run", at("allowed"), status=0)
    assert b"begins anew" not in r.stderr and r.stdout == whole, r
    assert b"--allow-run" in run(*load, status=1).stderr
    assert run("--allow-run", *load, status=0).stdout == b"3\n"
    os.environ["XDG_STATE_HOME"] = "/proc/no"
    r = stopped_with_checkpoint("keyless", program)
    assert b"no key can be kept" in r.stderr, r


def forge(path, was, now):
    """Changes what a checkpoint holds, with the checksum that its format asks for; the code (base/own.h) cannot be made."""
    data, mask = bytearray(open(path, "rb").read()), 2 ** 64 - 1
    begin = 14 + data[13]  # after kind, format, version
    size, at, shift = 0, begin + 8, 0
    while at == begin + 8 or data[at - 1] > 127:
        size |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    body = bytes(data[len(data) - size:])
    assert was in body and len(was) == len(now), path
    body = body.replace(was, now)
    if data[12] == 1:
        def mix(x):
            x = (x ^ x >> 33) * 0xff51afd7ed558ccd & mask
            x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53 & mask
            return x ^ x >> 33
        h = 0xcbf29ce484222325 ^ mix(size + 1)
        for b in body: h = (h ^ b) * 0x100000001b3 & mask
        code = mix(h ^ size)
    else:
        def step(h, word):
            x = (h ^ word) * 0x9e3779b97f4a7c15 & mask
            return x ^ x >> 32
        code, whole = 0, size // 8 * 8
        for i in range(0, whole, 8): code = step(code, int.from_bytes(body[i:i + 8], "little"))
        code = step(step(code, int.from_bytes(body[whole:], "little")), size)
    data[len(data) - size:], data[begin:begin + 8] = body, code.to_bytes(8, "little")
    open(path, "wb").write(data)


def stopped_between_chains(folder, program, chains):
    """A run that --max-time stops when some chains are done and others are not; returns those that are."""
    def attempt(limit):
        shutil.rmtree(at(folder), ignore_errors=True)
        r = run("run", "--out", at(folder), "--seed", "3", "--chains", str(chains), "--max-time", limit, program)
        assert r.returncode in (0, 4), (program, r.returncode, r.stderr)
        size = lambda i: os.path.getsize(at(folder, "chain-%d.ckpt" % i)) if os.path.exists(at(folder, "chain-%d.ckpt" % i)) else 0
        return r.returncode == 0, [i for i in range(1, chains + 1) if 0 < size(i) < 900]  # the others hold a session
    return stopped_on_the_way(attempt)


def test_forged_checkpoints():
    """The seal of a checkpoint is of all that it holds: whether its chain is done, what it printed, whose it is."""
    another_user()
    text = "print(\"HELLO WORLD\"); assume x ~ normal(0, 1); infer repeat(%d, do(mh(default, one, 20), collect(x)));"
    program = write("forged.vnts", text % 500)
    whole = run("run", program, "--seed", "3", "--chains", "24", "--out", at("honest")).stdout
    done = stopped_between_chains("sealed", program, 24)
    for name in ("words", "foreign", "allowing"): shutil.copytree(at("sealed"), at(name))
    first = done[0]
    ckpt = lambda folder: at(folder, "chain-%d.ckpt" % first)
    forge(ckpt("words"), b"HELLO WORLD", b"HELLO THERE")
    r = run("resume", at("words"), status=0)
    assert b"begins anew" in r.stderr and b"another user" in r.stderr and r.stdout == whole, (r.stderr, r.stdout[:200])
    forge(ckpt("allowing"), b"HELLO WORLD", b"\x1b[2J\x1b]0;ABC")
    position = open(ckpt("allowing"), "rb").read().index(b"\x1b[2J")
    head = open(ckpt("allowing"), "rb").read()[position - 16:position]
    forge(ckpt("allowing"), head, (3).to_bytes(4, "little") + head[4:])
    r = run("resume", "--allow-run", at("allowing"), status=0)  # what it holds was allowed; the terminal is not its own
    assert b"\\u{1b}[2J" in r.stderr, r.stderr
    # another user's chains that say that they are done
    another_user()
    r = run("resume", at("foreign"), status=0)
    assert r.stderr.count(b"another user") >= len(done) and r.stdout == whole, r.stderr
    # one's own, beside another program or seed
    another_user()
    other = write("other.vnts", text % 400)
    mine = stopped_between_chains("other", other, 24)
    again = stopped_between_chains("sealed", program, 24)
    both = [i for i in mine if i in again]
    assert both, (mine, again)
    for name in ("chain-%d.ckpt", "chain-%d.csv"): shutil.copy(at("sealed", name % both[0]), at("other", name % both[0]))
    r = run("resume", at("other"))
    assert b"it is of another run" in r.stderr and r.returncode == 1 and b"did not repeat the draws" in r.stderr, r.stderr


def test_pipes_and_links_on_the_way():
    """What a run folder or store holds is opened at once, whatever it is; a link that others can change leads nowhere."""
    program = write("long2.vnts", "assume x ~ normal(0, 1); infer repeat(2000000, do(mh(default, one, 1), collect(x)));")
    stopped_with_checkpoint("pipes", program)
    for name in ("chain-1.csv", "chain-1.ckpt", "manifest.json", "program.vnts", "lock"):
        shutil.rmtree(at("trap3"), ignore_errors=True)
        shutil.copytree(at("pipes"), at("trap3"))
        if os.path.exists(at("trap3", name)): os.remove(at("trap3", name))
        os.mkfifo(at("trap3", name))
        r = run("resume", at("trap3"), "--max-time", "1", timeout=20)
        assert b"no regular file" in r.stderr and (r.returncode in (1, 2) or name == "chain-1.ckpt"), (name, r.returncode, r.stderr)
    shutil.copytree(at("pipes"), at("victim"))
    draws = open(at("victim", "chain-1.csv"), "rb").read()
    for mode, works in ((0o777, False), (0o775, None), (0o1777, True), (0o755, True)):
        os.makedirs(at("shared", "inner"), exist_ok=True)
        os.chmod(at("shared"), mode)
        if not os.path.islink(at("shared", "run")): os.symlink("../victim", at("shared", "run"))
        r = run("resume", at("shared", "run"), "--max-time", "0.2", timeout=20)
        assert works is None or (b"symbolic link on the way" in r.stderr) != works, (oct(mode), r.stderr)
        if not works: assert r.returncode == 4 or open(at("victim", "chain-1.csv"), "rb").read() == draws
    # pipes beside a store
    run("optimize", "-q", "--var", "x=0:1", "--budget", "3", "--store", "fifo.db", "--", "printf", "{x}", status=0)
    for suffix in ("-journal", "-wal", "-shm"):
        for name in glob.glob(at("fifo.db-*")): os.remove(name)
        os.mkfifo(at("fifo.db" + suffix))
        for command in (["memo", "list", "fifo.db"], ["ask", "--store", "fifo.db"], ["memo", "export", "fifo.db"]):
            r = run(*command, timeout=20)
            assert r.returncode == 0 or b"no regular file" in r.stderr, (suffix, command, r.stderr)
        os.remove(at("fifo.db" + suffix))


def test_nested_values():
    """Values nested far more deeply than procedures may call each other are freed; a checkpoint says that it cannot hold them."""
    for name, step in (("arrays", "array(g, i)"), ("procedures", "(() -> g)"), ("actions", "do(g, pass)")):
        program = write(name + ".vnts", "define deep = foldl((g, i) -> %s, pass, range(0, 60000));\n"
                        "assume x ~ normal(0, 1); infer repeat(20000, mh(default, one, 1));" % step)
        run("run", "--max-depth", "200", program, status=0)
        r = run("run", "--max-depth", "200", "--out", at(name), "--checkpoint", "0.01", program, status=0)
        assert b"nested too deeply" in r.stderr, r.stderr


def test_parser_depth():
    for text in ("(" * 100000, "[" * 100000 + "]" * 100000, "proc() {" * 50000, "-" * 200000 + "1", "if (1) {" * 50000,
                 "x" + "(1)" * 100000, "1" + " + 1" * 100000, "\"" + "\\n" * 100000, "/*" * 100000, "unquote(" * 50000):
        run("check", write("deep.vnts", text))


def test_enormous_output():
    r = run("-e", "fill(3000000, 7)", status=0)
    assert len(r.stdout) > 6000000


def without_memory(args, megabytes, done):
    """The end is an exit status and a word, never a signal or a wait; `done`: the run may also succeed."""
    r = run(*args, limit=megabytes << 20, timeout=60)
    assert r.returncode in ((0, 1) if done else (1, 127)), (args, megabytes, r.returncode, r.stderr)
    assert r.stderr or r.returncode == 0, (args, megabytes)
    return r.returncode == 0


def test_machine_without_memory():
    """Address space as the limit: whatever it is, programs that need more of it say so."""
    if SANITIZED: return
    programs = {
        "traces": "assume x = mem(proc(i) { if (i == 0) { normal(0, 1) } else { normal(x(i - 1), 1) } });"
                  "for (i = 0; i < 10000000; i++) { observe normal(x(unquote(i)), 1) = 0.5 };",
        "lists": "define f = proc(n, a) { if (n == 0) { size(a) } else { f(n - 1, append(a, a)) } }; f(40, array(1, \"a\"));",
        "strings": "define f = proc(n, a) { if (n == 0) { size(a) } else { f(n - 1, string_concat(a, a)) } }; f(40, \"ab\");",
        "matrices": "assume g = make_gp(gp_cov_se(1)); assume y = g(linspace(0, 1, 8000)); predict y;"}
    for megabytes in (40, 50, 100, 200, 340, 380, 500):
        for name, program in programs.items():
            without_memory(["run", write(name + ".vnts", program)], megabytes, False)


def test_little_memory_for_matrices():
    """OpenBLAS waits for ever for a work buffer it cannot have: a model that needs one must not get there."""
    if SANITIZED: return
    small = write("small.vnts", "assume g = make_gp(gp_cov_se(1)); assume y = g(linspace(0, 1, 200)); sample(size(y));")
    ends = [without_memory(["run", small], megabytes, megabytes > 45) for megabytes in range(40, 1000, 24)]
    assert ends == sorted(ends) and ends[-1], ends
    series = write("series.csv", "t,y\n" + "".join("%d,%d\n" % (i, i * i % 17) for i in range(60)))
    for megabytes in range(100, 900, 100):
        without_memory(["discover", series, "-q"], megabytes, True)


sys.exit(run_tests(globals(), sys.argv[2:]))
