#!/usr/bin/python3
"""Drives the prompt through a pseudo-terminal, as a person would (argument: the tool)."""
import os, pty, re, select, shutil, signal, sys, tempfile, termios, time
from each import run_tests

TOOL = os.path.abspath(sys.argv[1])
HOME = tempfile.mkdtemp(prefix="gpmem-prompt-")


class Terminal:
    def __init__(self, *args, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.pop("XDG_STATE_HOME", None)
            os.environ.update(dict(dict(HOME=HOME, TERM="xterm", NO_COLOR="1"), **(env or {})))
            os.execv(TOOL, [TOOL, *args])
        self.seen = ""

    def wait_for(self, text, seconds=60):
        """Reads until `text` appears; returns what came before it."""
        end = time.time() + seconds
        while text not in self.seen:
            left = end - time.time()
            assert left > 0, "waited for %r, saw %r" % (text, self.seen)
            if select.select([self.fd], [], [], left)[0]:
                try:
                    data = os.read(self.fd, 4096)
                except OSError:
                    data = b""
                assert data, "the tool ended; waited for %r, saw %r" % (text, self.seen)
                self.seen += data.decode(errors="replace")
        before, self.seen = self.seen.split(text, 1)
        return before

    def wait_editing(self, editing):
        """Waits until the editor reads keys (the terminal is no longer in canonical mode), or until it no longer does."""
        end = time.time() + 60
        while bool(termios.tcgetattr(self.fd)[3] & termios.ICANON) == editing:
            assert time.time() < end, "the editor never began to read" if editing else "the editor goes on reading"
            time.sleep(0.005)

    def type(self, text, ready=True):
        if ready:
            self.wait_editing(True)
        os.write(self.fd, text.encode())

    def line(self, text, prompt="gpmem> "):
        """Types a line and returns what was printed before the next prompt."""
        self.type(text + "\n")
        out = self.wait_for("\n") + "\n"
        out += self.wait_for(prompt)
        out = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", out).replace("\r\n", "\n").replace("\r", "")
        return out.partition("\n")[2]

    def settle(self):
        """Until what was typed and sent before has been answered: a number that no other line gives, asked for again where a signal
        took it away, and then nothing but the prompt behind it."""
        for k in range(70000, 70060):
            self.type("\x15%d + 7\n" % k)
            try:
                self.wait_for("\n%d\r\n" % (k + 7), 5)
                self.wait_for("gpmem> ")
                return
            except AssertionError as e:
                assert "waited for" in str(e) and "ended" not in str(e), e
        raise AssertionError("the prompt does not answer")

    def end(self):
        self.type("\x04")
        deadline = time.time() + 60
        while time.time() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    os.read(self.fd, 4096)
                except OSError:
                    time.sleep(0.02)
        raise AssertionError("the prompt did not end on Ctrl-D")


def test_values_and_state():
    t = Terminal()
    assert ":help" in t.wait_for("gpmem> ")
    assert t.line("1+1") == "2\n"
    assert t.line("") == ""
    assert t.line("define a = 20;") == ""
    assert t.line("a * 2 + 2") == "42\n"
    assert t.end() == 0


def test_several_lines():
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    t.line("define f = proc(x) {", prompt="  ... ")
    t.line("  x + 1", prompt="  ... ")
    assert t.line("};") == ""
    assert t.line("f(2)") == "3\n"
    t.line("f(", prompt="  ... ")
    t.type("\x03")  # gives the open entry up
    t.wait_for("gpmem> ")
    assert t.line("f(4)") == "5\n"
    assert t.end() == 0


def test_errors_leave_the_state():
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    t.line("assume x = exactly(3);")
    for wrong, what in (("assume y = nope(1);", "nope"), ("1 + ;", "E01"), ("assume x = 4;", "E0401"),
                        ("observe x + 1 = 2;", "E0404")):
        assert what in t.line(wrong), wrong
        assert t.line("sample x") == "3\n"
    assert "E0201" in t.line("sample y")
    assert t.line("assume y = 5;") == ""
    assert t.line("sample x + y") == "8\n"
    assert t.end() == 0


def test_inference_that_fails_half_way():
    t = Terminal("-q", "--seed", "1")
    t.wait_for("gpmem> ")
    t.line("assume x = normal(0, 1);")
    t.line("assume y = normal(x, 1);")
    t.line("define moves = proc(n) { repeat(n, mh(default, one, 1)) };")
    t.line('define wrong = do(mh(default, one, 50), mh("nope", one, 1));')
    t.line("define hidden = proc() { run(wrong) };")
    before = t.line("sample [x, y]")
    for wrong, stays in (("wrong", True), ("define z = hidden();", True), ("1 + hidden()", True),
                         ('infer do(mh(default, one, 50), mh("nope", one, 1));', True),
                         ('define z = run(do(force x = 7, moves(50), mh("nope", one, 1)));', False),
                         ('do(assume w = 1, moves(50), mh("nope", one, 1))', False)):
        assert "E0501" in t.line(wrong), wrong
        after = t.line("sample [x, y]")
        assert (after != before) == stays, wrong
        before = after
    assert "E0201" in t.line("sample w")
    t.line("infer mh(default, one, 50);")  # the copies kept for the way back are not in use
    assert t.line("sample [x, y]") != before
    assert t.end() == 0


def test_interrupt():
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    t.line("assume x = normal(0, 1);")
    t.line("observe normal(x, 1) = 2;")
    before = t.line("sample x")
    t.type("repeat(1000000000, mh(default, one, 1))\n")
    t.wait_editing(False)
    t.type("\x03", ready=False)  # the key is a signal now; the command may not have begun
    out = t.wait_for("gpmem> ")
    assert "E0704" in out, out
    t.line("sample x")  # the model is still there
    t.type("abc\x03")  # Ctrl-C while typing clears the line
    t.wait_for("gpmem> ")
    assert t.line("2 + 3") == "5\n"
    assert before.strip()
    assert t.end() == 0


def test_interrupt_at_any_moment():
    """A SIGINT before, between and after commands never ends the prompt."""
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    t.line("define kept = 41;")
    for i in range(80):
        t.type("kept\n")
        time.sleep(0.0002 * (i % 20))
        os.kill(t.pid, signal.SIGINT)
        while select.select([t.fd], [], [], 0)[0]:
            assert os.read(t.fd, 4096), "the tool ended"
    t.settle()
    assert t.line("kept + 1") == "42\n"
    status = t.end()
    assert status == 0, status


def test_commands():
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    assert ":load" in t.line(":help")
    t.line("assume listed = exactly(3); d: observe normal(listed, 1) = 2;")
    assert t.line(":list") == "assume listed = exactly(3)    // 3\nd: observe normal(listed, 1) = 2\n"
    assert "normal" in t.line(":help normal")
    assert "no help on" in t.line(":help zzzz")
    assert "did you mean :help" in t.line(":hepl")
    path = os.path.join(HOME, "file.vnts")
    with open(path, "w") as f:
        f.write("define loaded = 11;\nloaded + 1;\n")
    assert t.line(":load " + path) == "12\n"
    assert t.line("loaded") == "11\n"
    assert "missing.vnts" in t.line(":load missing.vnts")
    t.line(":reset")
    assert "E0201" in t.line("loaded")
    t.type(":quit\n")
    assert os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]) == 0


def test_plain_words():
    """help, quit and exit work without the colon; the example of the help text runs."""
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    text = t.line("help")
    assert ":load" in text
    example = [l for l in text.split("\n") if "assume x" in l][0].strip()
    assert re.fullmatch(r"\(\)\n-?\d+\.\d+\n", t.line(example)), example
    assert "sample x gives its value" in t.line("x + 1")
    t.type("exit\r")
    end = time.time() + 20
    while os.waitpid(t.pid, os.WNOHANG)[0] == 0:
        assert time.time() < end, "exit does not leave"
        time.sleep(0.02)


def test_completion_and_history():
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    t.line("define completable_name = 9;")
    t.type("completable_n\t\n")
    assert "9" in t.wait_for("gpmem> ")
    t.type("uniform_\t")
    assert "uniform_continuous" in t.wait_for("uniform_discrete")
    t.wait_for("gpmem> ")
    t.type("\x15")  # clear the line
    assert t.line("17 + 4").endswith("21\n")
    t.type("\x1b[A\n")  # up: the last entry again
    t.wait_for("17 + 4")
    t.wait_for("21")
    assert t.end() == 0
    path = os.path.join(HOME, ".local/state/gpmem/history")
    assert os.stat(path).st_mode & 0o077 == 0
    t = Terminal("-q")  # and in the next session
    t.wait_for("gpmem> ")
    t.type("\x1b[A\n")
    t.wait_for("21")
    assert t.end() == 0


def test_confirmation():
    path = os.path.join(HOME, "drawn.svg")
    save = 'plot_to_file("%s", "l", array(1, 2, 3))' % path
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    t.type(save + "\n")
    assert "wants to write '%s'" % path in t.wait_for("[y/N] ")
    t.type("n\n", ready=False)
    assert "E0702" in t.wait_for("gpmem> ") and not os.path.exists(path)
    t.type(save + "\n")
    t.wait_for("[y/N] ")
    t.type("\x03", ready=False)
    assert re.search("E070[24]", t.wait_for("gpmem> ")) and not os.path.exists(path)
    t.type(save + "\n")
    t.wait_for("[y/N] ")
    t.type("y\n", ready=False)
    t.wait_for("gpmem> ")
    assert os.path.exists(path)
    os.remove(path)
    assert "[y/N]" not in t.line(save)  # a yes holds for the session
    assert os.path.exists(path)
    assert t.end() == 0


def test_a_yes_is_for_what_was_shown():
    """A program that was allowed one command or one file has not been allowed the next."""
    made = [os.path.join(HOME, name) for name in ("first", "second")]
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    for i, answer in enumerate("yn"):
        t.type('define f%d = command("touch %s")\n' % (i, made[i]))
        assert "wants to run touch %s. Allow it in this session?" % made[i] in t.wait_for("[y/N] ")
        t.type(answer + "\n", ready=False)
        assert ("E0702" in t.wait_for("gpmem> ")) == (answer == "n")
    assert "[y/N]" not in t.line('define again = command("touch %s")' % made[0])
    t.type('plot_to_file("%s", "l", array(1, 2, 3))\n' % made[1])
    t.wait_for("[y/N] ")
    t.type("n\n", ready=False)
    t.wait_for("gpmem> ")
    assert t.end() == 0
    assert not any(os.path.exists(p) for p in made)


def test_a_question_cannot_be_forged():
    """All of the text is asked about, page by page, and none of it speaks to the terminal or hides."""
    evil = "./sim \\x1b[2J\\x1b[1A {x} \u202e\u200b\x9b31m " + "harmless " * 400 + "; rm -rf everything"
    with open(os.path.join(HOME, "evil.vnts"), "w") as f: f.write('define f = command("%s");' % evil.replace("\\x1b", "\x1b"))
    t = Terminal("-q")
    t.wait_for("gpmem> ")
    t.type('load "%s"\n' % os.path.join(HOME, "evil.vnts"))
    t.wait_for("The program wants to run")
    shown = ""
    for _ in range(2):  # 24 lines of 80
        shown += t.wait_for("\r\n(")
        t.wait_for("q refuses) ")
        os.write(t.fd, b"\n")
        t.wait_for("\n")
    shown += t.wait_for("[y/N] ")
    assert "; rm -rf everything. Allow it in this session?" in shown, shown[-300:]
    assert shown.count("harmless") == 400 and "\\u{1b}[2J\\u{1b}[1A {x} \\u{202e}\\u{200b}\\u{9b}31m" in shown, shown[:300]
    assert "\x1b" not in shown and "\u202e" not in shown and "\x9b" not in shown
    os.write(t.fd, b"n\n")
    assert "E0702" in t.wait_for("gpmem> ")
    assert t.end() == 0


def read_all(t):
    out = t.seen
    while True:
        try:
            data = os.read(t.fd, 4096)
        except OSError:
            break
        if not data:
            break
        out += data.decode(errors="replace")
    os.waitpid(t.pid, 0)
    return out


def test_progress():
    path = os.path.join(HOME, "long.vnts")
    with open(path, "w") as f:
        f.write("assume x = normal(0, 1);\nobserve normal(x, 1) = 1;\ninfer repeat(800000, do(mh(default, one, 5)));\nsample 1 + 1;\n")
    out = read_all(Terminal("run", "--chains", "2", path))
    assert re.search(r"chain [12]: +\d+%, .* left, accepted: default \d+%", out), out[-500:]
    screen = out.rsplit("\x1b[2K", 1)[1]  # the lines are taken away at the end
    assert screen.split() == ["2", "2"] or screen.split() == ["2"], screen
    out = read_all(Terminal("run", "-q", path))
    assert "left" not in out and out.strip() == "2", out


def test_colours():
    t = Terminal("-q", "-e", "nope")
    assert "\x1b[" not in t.wait_for("not bound"), "NO_COLOR was set"
    os.waitpid(t.pid, 0)
    t = Terminal("-q", "-e", "nope", env={"NO_COLOR": ""})
    assert "\x1b[" in t.wait_for("not bound"), "a terminal gets colours"
    os.waitpid(t.pid, 0)


status = run_tests(globals(), sys.argv[2:])
shutil.rmtree(HOME, ignore_errors=True)
sys.exit(status)
