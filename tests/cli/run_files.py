#!/usr/bin/python3
"""Files and text that leave (argument: the tool): folders that somebody prepared with links and names, pipes and devices
instead of files, disks that are full, two processes on one folder, and control characters wherever text comes from."""
import json, os, re, resource, shutil, signal, sqlite3, subprocess, sys, tempfile, threading, time
from each import run_tests, unsealed, unsealed_run

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.TemporaryDirectory(prefix="gpmem-files-")
SANITIZED = b"__asan" in open(TOOL, "rb").read()
PROGRAM = "assume x = normal(0, 1); infer repeat(%d, do(mh(default, one, 1), collect(x)));"
EVIL = "\x1b[31m\x9b2J\u202eup\x07"


def at(*names): return os.path.join(WORK.name, *names)


def write(name, text):
    with open(at(name), "w") as f: f.write(text)
    return at(name)


def run(*args, status=0, timeout=60, files=None, **more):
    """`files`: the most bytes that a file may get."""
    def before():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if files: resource.setrlimit(resource.RLIMIT_FSIZE, (files, files))
    more.setdefault("stdin", subprocess.DEVNULL)
    more.setdefault("stdout", subprocess.PIPE)
    r = subprocess.run([TOOL, *args], stderr=subprocess.PIPE, cwd=WORK.name, timeout=timeout, preexec_fn=before, **more)
    assert r.returncode == status, (args, r.returncode, r.stderr[-600:])
    return r


def steers(text): return re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)


def quiet(r, *where):
    """No control character in what a command said, which must be UTF-8."""
    for text in (r.stdout or b"", r.stderr): assert not steers(text.decode("utf-8")), (where, text[-400:])
    return r


def a_run(name, draws=5, chains=1):
    run("run", write("p.vnts", PROGRAM % draws), "--out", name, "--chains", str(chains))
    return name


def a_discovery(name):
    write("plain.csv", "t,y\n" + "".join("%d,%d\n" % (i, i * 2 + (i * 7) % 5) for i in range(16)))
    run("discover", "-k", "LIN", "plain.csv", "-o", name, "-q")
    return name


# ---- names and links in prepared folders ----

def test_names_of_columns_stay_in_the_zarr_folder():
    a_run("columns")
    unsealed_run(at("columns"))
    for name in ("../out", at("absolute"), "..", ".", ".zattrs", "chain", "a/b"):
        lines = open(at("columns", "chain-1.csv")).read().split("\n")
        write("columns/chain-1.csv", "\n".join([name] + lines[1:]))
        before = sorted(os.listdir(WORK.name))
        r = run("export", "columns", "--format", "zarr", "--out", "zarr/inner", status=1)
        assert name.encode() in r.stderr and sorted(os.listdir(WORK.name)) == before, (name, r.stderr)
        os.makedirs(at("zarr"), exist_ok=True)
        before = sorted(os.listdir(WORK.name))
        r = run("export", "columns", "--format", "zarr", "--out", "zarr/inner", status=1)
        assert name.encode() in r.stderr and sorted(os.listdir(WORK.name)) == before and not os.listdir(at("zarr")), (name, r.stderr)
        shutil.rmtree(at("zarr"))


def test_links_in_folders():
    for link in (os.symlink, os.link):
        for name in ("manifest.json.new", "manifest.json.tmp", "program.vnts", "chain-1.csv", "diagnostics.json", "lock"):
            victim, folder = write("victim", "precious\n"), at("trap-run")
            os.mkdir(folder)
            link(victim, os.path.join(folder, name))
            r = subprocess.run([TOOL, "run", write("p.vnts", PROGRAM % 5), "--out", folder], capture_output=True, cwd=WORK.name)
            assert open(victim).read() == "precious\n", (link, name, r.stderr)
            shutil.rmtree(folder)
            a_run("trap-run")
            if os.path.lexists(os.path.join(folder, name)): os.remove(os.path.join(folder, name))
            link(victim, os.path.join(folder, name))
            r = subprocess.run([TOOL, "resume", folder], capture_output=True, cwd=WORK.name)
            assert open(victim).read() == "precious\n", (link, name, r.stderr)
            shutil.rmtree(folder)
        for name in ("manifest.json", "manifest.json.tmp", "data.csv", "data.csv.tmp", "structures.json", "lock"):
            victim, folder = write("victim", "precious\n"), at("trap")
            os.mkdir(folder)
            link(victim, os.path.join(folder, name))
            write("plain.csv", "t,y\n" + "".join("%d,%d\n" % (i, i * 2 + (i * 7) % 5) for i in range(16)))
            subprocess.run([TOOL, "discover", "-k", "LIN", "plain.csv", "-o", "trap", "-q"], capture_output=True, cwd=WORK.name)
            assert open(victim).read() == "precious\n", (link, name)
            shutil.rmtree(folder)
    # an array's folder that is a link is no folder of ours
    os.makedirs(at("elsewhere")); os.makedirs(at("zarr2"))
    os.symlink(at("elsewhere"), at("zarr2", "x"))
    a_run("columns2")
    r = run("export", "columns2", "--format", "zarr", "--out", "zarr2", status=1)
    assert b"symbolic link" in r.stderr and not os.listdir(at("elsewhere")), r.stderr


def test_places_are_looked_at_before_the_work():
    """Where a result cannot be written that is told at once, and nothing is computed."""
    write("plain.csv", "t,y\n" + "".join("%d,%d\n" % (i, i * 2 + (i * 7) % 5) for i in range(16)))
    for option in ("--json", "--html", "--markdown"):
        r = run("discover", "plain.csv", option, "nodir/result", status=1)
        assert b"cannot write 'nodir/result'" in r.stderr and not r.stdout, (option, r.stdout)


def test_what_the_user_names_is_followed():
    """Links, devices and pipes that the user names work; a file keeps its mode, and the old one until the new one is whole."""
    a_discovery("found")
    os.symlink(at("real.html"), at("link.html"))
    run("report", "found", "-o", "link.html")
    assert os.path.islink(at("link.html")) and "<html" in open(at("real.html")).read()
    run("report", "found", "-o", "/dev/null")
    assert run("report", "found", "-o", "/dev/stdout").stdout.startswith(b"<!")
    write("private.html", "old"); os.chmod(at("private.html"), 0o600)
    run("report", "found", "-o", "private.html")
    assert os.stat(at("private.html")).st_mode & 0o777 == 0o600 and "<html" in open(at("private.html")).read()
    write("kept.html", "old")
    r = run("report", "found", "-o", "kept.html", status=1, files=1000)
    assert b"File too large" in r.stderr and open(at("kept.html")).read() == "old", r.stderr
    assert not [n for n in os.listdir(WORK.name) if n.endswith(".tmp")]


# ---- pipes and devices instead of files ----

def memory_of(args, timeout=60):
    """Exit status and the largest resident size in bytes."""
    p = subprocess.Popen([TOOL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=WORK.name,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)) if not SANITIZED else None)
    timer = threading.Timer(timeout, p.kill)
    timer.start()
    err = p.stderr.read()
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    return p.returncode, used.ru_maxrss * 1024, err


def test_devices_without_end():
    for program in ('load "/dev/zero"', 'read_csv("/dev/zero")', 'load "/dev/urandom"'):
        status, used, err = memory_of(["--max-memory", "100M", "--max-time", "20", "-e", program])
        assert status == 1 and (SANITIZED or used < 400 << 20), (program, status, used, err[-300:])
    status, used, err = memory_of(["run", "/dev/zero"])
    assert status in (1, 2) and (SANITIZED or used < 1 << 30), (status, used, err[-300:])


def test_pipes_end_with_the_limit():
    os.mkfifo(at("fifo"))
    for args in (["--max-time", "0.3", "-e", 'load "fifo"'], ["run", "--max-time", "0.3", "fifo"], ["--max-time", "0.3", "-e", 'read_csv("fifo")'],
                 ["--max-time", "0.3", "--allow-write", "-e", 'plot_to_file("fifo.svg", "l0", array(1, 2))']):
        if not os.path.exists(at("fifo.svg")): os.mkfifo(at("fifo.svg"))
        r = run(*args, status=1, timeout=20)
        assert b"--max-time" in r.stderr or b"time limit" in r.stderr, (args, r.stderr)
    r = run("discover", "--max-time", "0.3", "fifo", status=1, timeout=20)
    assert b"time limit" in r.stderr, r.stderr
    # standard input that nobody closes
    for args in (["--max-time", "0.3"], ["run", "--max-time", "0.3", "-"]):
        read, hold = os.pipe()
        r = run(*args, status=1, timeout=20, stdin=read)
        os.close(read); os.close(hold)
        assert b"time limit" in r.stderr, r.stderr
    # folders and stores are files, never pipes
    os.mkdir(at("pipes"))
    for name in ("manifest.json", "lock"): os.mkfifo(at("pipes", name))
    for args in (["summary", "pipes"], ["report", "pipes"], ["resume", "pipes"], ["memo", "list", "fifo"], ["ask", "--store", "fifo", "--var", "x=0:1"]):
        r = subprocess.run([TOOL, *args], capture_output=True, cwd=WORK.name, timeout=20)
        assert r.returncode in (1, 2) and b"regular file" in r.stderr, (args, r)


def test_interrupt_ends_a_wait():
    if not os.path.exists(at("fifo")): os.mkfifo(at("fifo"))
    for args in (["-e", 'load "fifo"'], ["run", "fifo"], ["-e", 'read_csv("fifo")']):
        p = subprocess.Popen([TOOL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=WORK.name)
        try:
            wait_for(lambda: waits(p.pid))
            p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=20)
        finally: p.kill()
        assert p.returncode == -signal.SIGINT if args[0] == "run" else p.returncode == 1 and b"interrupted" in err, (args, p.returncode, err)
    with open(at("wait.vnts"), "w") as f: f.write("assume x = normal(0, 1); infer sample(warmup=5, draws=10);")
    for args in (["discover", "fifo"], ["discover", "fifo", "--out", "wait"], ["regress", "fifo"], ["run", "--data", "fifo", "wait.vnts"],
                 ["index", "add", "wait.db", "fifo"], ["index", "add", "--by", "k", "wait.db", "fifo"]):
        for sign in (signal.SIGINT, signal.SIGTERM):
            p = subprocess.Popen([TOOL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=WORK.name)
            try:
                wait_for(lambda: waits(p.pid))
                p.send_signal(sign)
                out, err = p.communicate(timeout=20)
            finally: p.kill()
            assert p.returncode != 0 and (p.returncode == -sign or b"interrupted" in err or b"stopped" in out + err), (args, p.returncode, err)


def waits(pid):
    """It has the pipe open (one SIGINT before that, while nobody listens, would end the process by itself)."""
    try: return any(os.readlink("/proc/%d/fd/%s" % (pid, n)).endswith("/fifo") for n in os.listdir("/proc/%d/fd" % pid))
    except OSError: return False


def wait_for(what):
    for _ in range(12000):  # two minutes
        if what(): return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


def test_pipes_work():
    assert run(stdin=subprocess.Popen(["echo", "1 + 1"], stdout=subprocess.PIPE).stdout).stdout == b"2\n"
    assert run("run", "-", stdin=subprocess.Popen(["sh", "-c", "sleep 0.3; echo 1 + 1"], stdout=subprocess.PIPE).stdout).stdout == b"2\n"
    for script in ("%s run <(echo '1 + 1')", "%s run <(sleep 0.3; echo '1 + 1')", "%s -e 'load \"/dev/fd/3\"' 3< <(echo '1 + 1')",
                   "echo '1 + 1' | %s run /dev/stdin"):
        r = subprocess.run(["bash", "-c", script % TOOL], capture_output=True, cwd=WORK.name, timeout=20)
        assert r.stdout == b"2\n", (script, r)
    # a pipe gives its text once: every chain has it
    r = subprocess.run(["bash", "-c", "%s run --chains 2 <(echo '1 + 1')" % TOOL], capture_output=True, cwd=WORK.name, timeout=20)
    assert r.stdout == b"2\n2\n", r
    if not os.path.exists(at("fifo")): os.mkfifo(at("fifo"))
    p = subprocess.Popen([TOOL, "run", "fifo"], stdout=subprocess.PIPE, cwd=WORK.name)
    with open(at("fifo"), "w") as f: f.write("1 + "); f.flush(); time.sleep(0.2); f.write("1")
    assert p.communicate(timeout=20)[0] == b"2\n"
    p = subprocess.Popen([TOOL, "discover", "fifo", "-k", "LIN"], stdout=subprocess.PIPE, cwd=WORK.name)
    with open(at("fifo"), "w") as f: f.write("t,y\n" + "".join("%d,%d\n" % (i, i * 2 + (i * 7) % 5) for i in range(16)))
    assert b"16 values" in p.communicate(timeout=60)[0]


# ---- disks ----

def test_full_disks():
    a_discovery("full"); a_run("draws")
    sinks = (["report", "full"], ["report", "full", "--format", "text"], ["forecast", "full"], ["query", "full", "LIN"], ["summary", "draws"], ["--version"],
             ["--help"], ["run", "--help"], ["help", "normal"], ["-e", "1"], ["-e", "fill(100000, 1)"], ["plot", "draws"], ["export", "draws", "--format", "json"])
    for args in sinks:
        with open("/dev/full", "w") as full: r = run(*args, status=1, stdout=full)
        assert b"No space left on device" in r.stderr and b"null" not in r.stderr, (args, r.stderr)
    for args in (["plot", "draws", "--svg", "/dev/full"], ["report", "full", "-o", "/dev/full"], ["export", "draws", "--format", "json", "--out", "/dev/full"],
                 ["discover", "-k", "LIN", "plain.csv", "--json", "/dev/full"]):
        r = run(*args, status=1)
        assert b"/dev/full" in r.stderr and b"No space left on device" in r.stderr, (args, r.stderr)
    r = run("--allow-write", "-e", 'plot_to_file("/proc/x", "l0", array(1, 2))', status=1)
    assert b"cannot write '/proc/x.svg'" in r.stderr


def test_files_that_may_not_grow():
    r = run("run", write("long.vnts", PROGRAM % 400), "--out", "short", status=1, files=2000)
    assert b"File too large" in r.stderr, r.stderr
    r = run("discover", "-k", "LIN", write("plain.csv", "t,y\n" + "".join("%d,%d\n" % (i, i * i % 7) for i in range(16))), "-o", "short2", status=1, files=500)
    assert b"File too large" in r.stderr and not os.path.exists(at("short2", "manifest.json")), r.stderr


# ---- two processes on one folder ----

def test_a_small_stack():
    """A limit of 64 KB for stacks is not the limit of what the tool and its threads have."""
    write("stack.csv", "t,y\n" + "".join("%d,%d\n" % (i, i * i % 7) for i in range(24)))
    write("stack.vnts", "assume x = normal(0, 1); infer sample(warmup=10, draws=20);")
    for args in ("discover -k LIN stack.csv -q --json s.json", "regress stack.csv -q --json s.json", "run -c 2 -q --out stack-run stack.vnts"):
        r = subprocess.run(["sh", "-c", "ulimit -s 64; exec %s %s" % (TOOL, args)], cwd=WORK.name, capture_output=True, text=True, timeout=120)
        assert r.returncode == 0, (args, r)


def test_one_process_writes():
    program = write("endless.vnts", PROGRAM % 100000000)
    p = subprocess.Popen([TOOL, "run", program, "--out", "shared"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=WORK.name)
    try:
        wait_for(lambda: os.path.exists(at("shared", "chain-1.csv")) and os.path.getsize(at("shared", "chain-1.csv")) > 1000)
        r = run("resume", "shared", status=2)
        assert b"'shared'" in r.stderr and b"another process" in r.stderr, r.stderr
        rows = open(at("shared", "chain-1.csv")).read().split("\n")[:50]
        run("summary", "shared")  # reading is fine
    finally:
        p.kill()
        p.wait()
    # the lock of a process that was killed holds nobody up; the same draws are there
    q = subprocess.Popen([TOOL, "resume", "shared"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=WORK.name)
    size = os.path.getsize(at("shared", "chain-1.csv"))
    try: wait_for(lambda: os.path.getsize(at("shared", "chain-1.csv")) > size or q.poll() is not None)
    finally:
        alive = q.poll() is None
        q.kill()
        q.wait()
    assert alive, q.stderr.read()
    assert open(at("shared", "chain-1.csv")).read().split("\n")[:50] == rows
    assert "lock" not in os.listdir(at(a_run("alone")))


# ---- control characters ----

def test_controls_in_programs_and_names():
    for text in ("undefined_%s" % EVIL, '"%s" + 1' % EVIL, "// %s\n1 +" % EVIL, 'load "%s"' % EVIL, 'read_csv("%s")' % EVIL, "1 %s 2" % EVIL,
                 'error("%s")' % EVIL, 'dict(array(1), array(2))["%s"]' % EVIL):
        for args in (["-e", text], ["run", write("evil%s.vnts" % EVIL, text)], ["check", at("evil%s.vnts" % EVIL)], ["run", "--chains", "2", at("evil%s.vnts" % EVIL)]):
            r = subprocess.run([TOOL, *args], capture_output=True, cwd=WORK.name, timeout=30)
            assert r.returncode >= 0
            assert not steers(r.stderr.decode("utf-8")), (text, args, r.stderr)
    for args in ([EVIL], ["run", EVIL], ["help", EVIL], ["summary", EVIL], ["report", EVIL], ["discover", EVIL], ["--seed", EVIL], ["--" + EVIL], ["memo", EVIL, "x"],
                 ["memo", "list", EVIL], ["draw", EVIL], ["resume", EVIL], ["tell", EVIL, "1", "2"], ["-v", "run", EVIL], ["run", "p.vnts", "--out", EVIL + "/x"]):
        quiet(subprocess.run([TOOL, *args], capture_output=True, cwd=WORK.name, timeout=30), args)
    # bytes that are no text at all
    quiet(subprocess.run([TOOL.encode(), b"run", b"\xff\x9b31m"], capture_output=True, cwd=WORK.name), "bytes")


def test_controls_in_data():
    for text in ("t,y\n1,2\n2,%s\n" % EVIL, "t%s,y\n1,2\n2,3\n" % EVIL, "t,%s,%s\n1,2,3\n" % (EVIL, EVIL), '"%s' % EVIL, "%s\n%s\n" % (EVIL, EVIL)):
        write("evil.csv", text)
        quiet(subprocess.run([TOOL, "discover", "evil.csv"], capture_output=True, cwd=WORK.name), text)
        r = subprocess.run([TOOL, "-e", 'read_csv("evil.csv", "no")'], capture_output=True, cwd=WORK.name)
        assert not steers(r.stderr.decode())


def test_controls_in_folders():
    a_run("evil-run"); a_discovery("evil-found")
    for key in ("state", "program", "gpmem", "files"):
        m = json.load(open(at("evil-run", "manifest.json")))
        m[key] = EVIL if key != "files" else [{"path": EVIL, "sha256": EVIL}]
        write("evil-run/manifest.json", json.dumps(m))
        for args in (["summary", "evil-run"], ["-v", "summary", "evil-run"], ["diagnose", "evil-run"], ["resume", "evil-run"], ["plot", "evil-run"]):
            quiet(subprocess.run([TOOL, *args], capture_output=True, cwd=WORK.name), key, args)
    shutil.rmtree(at("evil-run")); a_run("evil-run")
    unsealed_run(at("evil-run"))
    lines = open(at("evil-run", "chain-1.csv")).read().split("\n")
    write("evil-run/chain-1.csv", "\n".join([EVIL] + lines[1:]))
    diagnostics = json.load(open(at("evil-run", "diagnostics.json")))
    for chain in diagnostics["transitions"]: chain["scopes"] = {EVIL: {"proposed": 2, "accepted": 1}}
    write("evil-run/diagnostics.json", json.dumps(diagnostics))
    for args in (["summary", "evil-run"], ["summary", "--format", "json", "evil-run"], ["diagnose", "evil-run"], ["plot", "evil-run"], ["export", "evil-run", "--format", "json"]):
        quiet(subprocess.run([TOOL, *args], capture_output=True, cwd=WORK.name), args)
    json.loads(run("export", "evil-run", "--format", "json").stdout)
    m = json.load(open(at("evil-found", "manifest.json")))
    m["verdict"] = "[click](javascript:alert(1)) <b>bold</b> | `x` " + EVIL + "\n# big"
    write("evil-found/manifest.json", json.dumps(m))
    for form in ("text", "markdown", "html", "json", "program"): quiet(run("report", "evil-found", "--format", form), form)
    md = run("report", "evil-found", "--format", "markdown").stdout.decode()
    assert "[click](" not in md and "<b>" not in md.replace("\\<", "") and "\n# big" not in md, md


def test_controls_in_stores():
    run("optimize", "-q", "--var", "x=0:1", "--budget", "3", "--store", "s.db", "--", "printf", "{x}")
    tables = {"meta": ["value"], "point": ["error", "host", "tag", "x"]}
    for table, columns in tables.items():
        for column in columns:
            shutil.copy(at("s.db"), at("t.db"))
            db = sqlite3.connect(at("t.db"))
            for key in [k for (k,) in db.execute("SELECT key FROM meta")] if table == "meta" else [None]:
                if key is None: db.execute("UPDATE point SET %s = %s || ?, status = 2" % (column, column), (EVIL,))
                elif key in ("function", "names", "search", "space"): db.execute("UPDATE meta SET value = value || ? WHERE key = ?", (EVIL, key))
            db.commit(); db.close()
            unsealed(at("t.db"))
            for args in (["memo", "list", "t.db"], ["memo", "show", "t.db"], ["memo", "show", "t.db", "1"], ["memo", "list", "--format", "json", "t.db"],
                         ["ask", "--store", "t.db"], ["tell", "t.db", "1", "2"], ["optimize", "--join", "t.db", "--budget", "4", "--max-time", "1"]):
                quiet(subprocess.run([TOOL, *args], capture_output=True, cwd=WORK.name, timeout=60), table, column, args)


def test_values_go_out_as_they_are():
    """What a program prints on purpose is its own, unless it goes to a terminal."""
    import pty
    text = 'print("a\\033[31mb")'
    plain = run("-e", text).stdout
    main, side = pty.openpty()
    p = subprocess.Popen([TOOL, "-e", text], stdin=subprocess.DEVNULL, stdout=side, stderr=subprocess.PIPE)
    err = p.communicate(timeout=20)[1]
    os.close(side)
    shown = os.read(main, 1000)
    os.close(main)
    assert p.returncode == 0, err
    assert b"\x1b" not in shown and b"1b" in shown, shown
    assert b"31m" in plain


sys.exit(run_tests(globals(), sys.argv[2:]))
