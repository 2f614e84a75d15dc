#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The completion scripts in the shells themselves (argument: the tool): bash, zsh and fish offer every command, every
option of every command, the values of options, and the names that `gpmem help` explains."""
import json, os, pty, re, select, shutil, subprocess, sys, tempfile, termios, time

TOOL = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp(prefix="gpmem-shells-")
# What completion offers goes to a file; the real compadd still runs. After fish's and zsh's own sources: -O, -A and -D
# are requests of the completion system, not offers.
ZSH = """PS1='> '
unsetopt zle_bracketed_paste 2>/dev/null
autoload -U compinit && compinit -u -D
fpath=(%s $fpath); autoload -U _gpmem; compdef _gpmem gpmem
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
  local -a hits; builtin compadd -A hits "$@"
  print -l -- $hits >> %s
  builtin compadd "$@"
}
print ready
"""


def tool(*args):
    return subprocess.run([TOOL, *args], stdout=subprocess.PIPE, check=True, text=True).stdout


def table():
    """{command: {options}} from the help pages."""
    out = {}
    for line in tool("--help").split("\n"):
        m = re.match(r"  (\w+)  +\S", line)
        if m:
            page = tool("help", m.group(1)).split("In the language:")[0]
            out[m.group(1)] = set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", page, re.M))
    assert len(out) > 15 and "--chains" in out["run"], out
    return out


class Fish:
    def __init__(self):
        self.script = os.path.join(WORK, "gpmem.fish")
        with open(self.script, "w") as f:
            f.write(tool("completions", "fish"))

    def offers(self, lines):
        code = 'source %s; for l in $argv; echo "@ $l"; complete -C $l; end' % self.script
        r = subprocess.run(["fish", "--no-config", "-c", code, *lines], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, cwd=WORK, env=dict(os.environ, HOME=WORK, XDG_CONFIG_HOME=WORK))
        assert r.returncode == 0 and not r.stderr, r.stderr
        out = {}
        for line in r.stdout.split("\n"):
            if line.startswith("@ "):
                out[line[2:]] = current = set()
            elif line:
                current.add(line.split("\t")[0])
        return out


class Bash:
    def __init__(self):
        self.script = os.path.join(WORK, "gpmem.bash")
        with open(self.script, "w") as f:
            f.write(tool("completions", "bash"))

    def offers(self, lines):
        code = """source %s
for l; do
  IFS=' ' read -ra COMP_WORDS <<< "$l"; [[ $l == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gpmem; echo "@ $l"; printf '%%s\\n' "${COMPREPLY[@]}"
done""" % self.script
        r = subprocess.run(["bash", "-c", code, "bash", *lines], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert r.returncode == 0 and not r.stderr, r.stderr
        parts = re.split(r"^@ (.*)\n", r.stdout, flags=re.M)[1:]
        return {parts[i]: set(parts[i + 1].split()) for i in range(0, len(parts), 2)}


class Zsh:
    """Completion needs the line editor, so the shell runs on a terminal and keys are typed."""

    def __init__(self):
        self.hits = os.path.join(WORK, "hits")
        with open(os.path.join(WORK, "_gpmem"), "w") as f:
            f.write(tool("completions", "zsh"))
        setup = os.path.join(WORK, "setup.zsh")
        with open(setup, "w") as f:
            f.write(ZSH % (WORK, self.hits))
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(WORK)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": WORK})
        self.type("source %s\n" % setup, "ready")

    def type(self, keys, until):
        """Types when the editor reads keys: before, the terminal itself would take ^D and ^U."""
        begin = time.time()
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            assert time.time() < begin + 60, "zsh never began to read"
            time.sleep(0.005)
        os.write(self.fd, keys.encode())
        seen, end = "", time.time() + 60
        while until not in seen.replace(keys, "", 1):
            assert time.time() < end, "zsh does not answer: %r" % seen[-500:]
            if select.select([self.fd], [], [], 0.2)[0]:
                seen += os.read(self.fd, 65536).decode(errors="replace")
        return seen

    def offers(self, lines):
        out = {}
        for i, line in enumerate(lines):
            open(self.hits, "w").close()
            # ^D lists what is offered; ^U clears the line
            self.type(line + "\x04\x15print 'done'%d\n" % i, "done%d" % i)
            out[line] = {w.split(":")[0] for w in open(self.hits).read().split("\n") if w}
        return out

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def check(name, shell, commands):
    names = {n["name"] for n in json.loads(tool("reference")) if re.fullmatch(r"[a-z]\w+", n["name"])}
    assert len(names) > 200, len(names)
    lines = ["gpmem ", "gpmem run --format ", "gpmem completions ", "gpmem help "] + ["gpmem %s --" % c for c in commands]
    got = shell.offers(lines)
    missing = set(commands) - got["gpmem "]
    assert not missing, "%s does not offer the commands %s" % (name, missing)
    assert {"text", "json"} <= got["gpmem run --format "], got["gpmem run --format "]
    assert {"bash", "zsh", "fish"} <= got["gpmem completions "], got["gpmem completions "]
    assert names <= got["gpmem help "], "%s: help lacks %s" % (name, sorted(names - got["gpmem help "])[:5])
    n = 0
    for c, options in commands.items():
        missing = options - got["gpmem %s --" % c]
        assert not missing, "%s does not offer %s of %s" % (name, missing, c)
        n += len(options)
    print("%s: %d commands, %d options, %d names" % (name, len(commands), n, len(names)))


try:
    commands = table()
    for name, kind in (("bash", Bash), ("fish", Fish), ("zsh", Zsh)):
        if not shutil.which(name):
            print("skipped: there is no %s (tools/install-packages test)" % name)
            continue
        shell = kind()
        check(name, shell, commands)
        if name == "zsh":
            shell.close()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
