#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every code block of docs/*.md and python/README.md and compares what it prints (README.md: run_readme.py).
Usage: run_docs.py TOOL [--update] [FILE ...]

A fenced block says what it is:
  ```console        lines "$ command" with their output below, errors included
  ```venture        a program, run with seed 1; what it prints is in the next ```output block
  ```venture more   goes on with the page's program so far; ```output holds only what is new
  ```python, ```c   a program; likewise with ```output; ```python more goes on with the one before
  ```r              a program of R, run by tests/r/run_package.py; likewise
  ```text, ```json  shown, not run (JSON is parsed)
  ```KIND file=NAME  any kind: written to the file, for the commands that follow
  ```diff and file=src/...: changes of the tree itself, tried by run_extending.py
Numbers may differ by 1e-6 relative; "..." stands for any text, a line of its own for any lines. ```output near=0.2 and
```console near=0.2: numbers may differ by that share; in tables of draws, means and quantiles by half a standard deviation,
standard deviations by a half, and what describes the chains (mcse, ess, rhat) is not compared. --update writes what was printed into the
pages. All blocks of a page run in one folder that holds links to the tree's build, data, examples, include and python."""
import concurrent.futures as cf, glob, json, math, os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(TOOL)
UPDATE = "--update" in sys.argv
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
RUN = ("console", "venture", "python", "c")
SHOWN = ("text", "json", "diff", "output", "r")  # R is run by tests/r/run_package.py


class Block:
    def __init__(self, path, line, info):
        self.where = "%s:%d" % (os.path.relpath(path, ROOT), line)
        self.words, self.lines, self.at = info.split(), [], line
        self.kind = self.words[0] if self.words else ""
        self.share = next((float(w[5:]) for w in self.words if w.startswith("near=")), 1e-6)


def blocks(path):
    block = None
    for number, line in enumerate(open(path, encoding="utf-8").read().split("\n"), 1):
        fence = line.strip()
        if block is None and fence.startswith("```"):
            block = Block(path, number, fence[3:])
        elif block is not None and fence == "```":
            yield block
            block = None
        elif block is not None:
            block.lines.append(line)
    if block is not None:
        raise ValueError("%s: the block does not end" % block.where)


def near(a, b, share=1e-6):
    return a == b or math.isclose(float(a), float(b), rel_tol=share, abs_tol=share * 1e-3)


def same_row(got, want):
    """Rows of a table of draws: name, mean, mcse, sd, three quantiles, three figures of the chains."""
    try:
        a, b = [float(x) for x in got[1:7]], [float(x) for x in want[1:7]]
    except ValueError:  # a quantity that is the same in every draw
        return got[:2] == want[:2]
    sd = abs(b[2])
    return got[0] == want[0] and abs(a[2] - b[2]) <= 0.5 * sd and all(abs(a[i] - b[i]) <= 0.5 * sd for i in (0, 3, 4, 5))


def same_beginnings(got, want, share):
    """Pieces of a line with "..." between them, which stands for any text; numbers in the pieces are compared."""
    pieces = want.split("...")
    if re.fullmatch(".*".join(map(re.escape, pieces)), got): return True  # also 3.000... for 3.0001
    pattern = ".*".join(("(%s)" % NUMBER.pattern).join(map(re.escape, NUMBER.split(piece))) for piece in pieces)
    m = re.fullmatch(pattern, got)
    wanted = [n for piece in pieces for n in NUMBER.findall(piece)]
    return m is not None and all(near(a, b, share) for a, b in zip(m.groups(), wanted))


def same_line(got, want, share=1e-6):
    if got == want:
        return True
    if "..." in want:
        return same_beginnings(got, want, share)
    if share > 1e-6 and len(got.split()) == len(want.split()) == 10 and want[0] != " ":
        return same_row(got.split(), want.split())
    a, b = NUMBER.findall(got), NUMBER.findall(want)
    texts = [re.sub(r" +", " ", NUMBER.sub("#", x)) if share > 1e-6 else NUMBER.sub("#", x) for x in (got, want)]
    return texts[0] == texts[1] and len(a) == len(b) and all(near(x, y, share) for x, y in zip(a, b))


def same(got, want, share=1e-6):
    """Lines of output against the page's lines, in which "..." stands for any lines."""
    if not want:
        return not got
    if want[0] == "...":
        return any(same(got[i:], want[1:], share) for i in range(len(got) + 1))
    return bool(got) and same_line(got[0], want[0], share) and same(got[1:], want[1:], share)


class Page:
    def __init__(self, path):
        self.path, self.bad, self.new, self.count = path, [], {}, 0
        self.program, self.printed = "", 0
        self.dir = tempfile.mkdtemp(prefix="gpmem-docs-")
        for name in ("data", "examples", "include", "python"):
            os.symlink(os.path.join(ROOT, name), os.path.join(self.dir, name))
        os.symlink(BUILD, os.path.join(self.dir, "build"))
        self.env = dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"], PYTHONPATH=os.path.join(ROOT, "python"),
                        GPMEM_LIBRARY=os.path.join(BUILD, "libgpmem.so"), GPMEM_PYTHON=sys.executable, PYTHONDONTWRITEBYTECODE="1", LC_ALL="C.UTF-8",
                        NO_COLOR="1", COLUMNS="80")

    def shell(self, command, **more):
        p = subprocess.run(command, cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=300, **more)
        return p.stdout.decode().rstrip("\n").split("\n") if p.stdout.strip() else [], p

    def complain(self, block, text):
        self.bad.append("%s: %s" % (block.where, text))

    def compare(self, block, got, want, share):
        self.count += 1
        if not same(got, want, share):
            self.complain(block, "prints\n    %s\ninstead of\n    %s" % ("\n    ".join(got), "\n    ".join(want)))

    def console(self, block):
        steps = []  # [command, expected lines]
        for line in block.lines:
            if line.startswith("$ "):
                steps.append([line[2:], []])
            elif steps and not steps[-1][1] and steps[-1][0].endswith("\\"):
                steps[-1][0] += "\n" + line
            elif steps:
                steps[-1][1].append(line)
            else:
                return self.complain(block, "a console block begins with '$ '")
        lines = []
        for command, want in steps:
            got, _ = self.shell(["bash", "-c", "exec 2>&1\n" + command])
            self.compare(block, got, want, block.share)
            lines += ("$ " + command).split("\n") + (want if same(got, want, block.share) else got)
        self.new[block.at] = (len(block.lines), lines)

    def write(self, block, name):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write("\n".join(block.lines) + "\n")
        os.chmod(path, 0o755)

    def so_far(self, block):
        """The program of the block, after those that it goes on with."""
        text = "\n".join(block.lines) + "\n"
        if "more" in block.words:
            self.program += text
        else:
            self.program, self.printed = text, 0

    def venture(self, block, after):
        self.so_far(block)
        got, p = self.shell([TOOL, "run", "-q", "-"], input=self.program.encode())
        if p.returncode and "fails" not in block.words:
            return self.complain(block, p.stderr.decode()[-800:])
        if "fails" in block.words:
            got = p.stderr.decode().rstrip("\n").split("\n")
        self.result(block, after, got[self.printed:])
        self.printed = len(got)

    def python(self, block, after):
        self.so_far(block)
        got, p = self.shell(["/usr/bin/python3", "-c", self.program])
        if p.returncode:
            return self.complain(block, p.stderr.decode()[-800:])
        self.result(block, after, got[self.printed:])
        self.printed = len(got)

    def c(self, block, after):
        name = os.path.join(self.dir, "page.c")
        with open(name, "w") as f:
            f.write("\n".join(block.lines) + "\n")
        got, p = self.shell(["bash", "-c", "cc -Wall -Wextra -Werror -Iinclude page.c -o page -Lbuild -lgpmem -lm && "
                             "LD_LIBRARY_PATH=build ./page"])
        if p.returncode:
            return self.complain(block, p.stderr.decode()[-800:])
        self.result(block, after, got)

    def result(self, block, after, got):
        """The output against the output block that follows; without one there must be none."""
        want = after.lines if after is not None and after.kind == "output" else []
        share = after.share if want else 1e-6
        self.compare(block, got, want, share)
        if want or (after is not None and after.kind == "output"):
            self.new[after.at] = (len(after.lines), want if same(got, want, share) else got)

    def run(self):
        try:
            all_blocks = list(blocks(self.path))
            for i, block in enumerate(all_blocks):
                after = all_blocks[i + 1] if i + 1 < len(all_blocks) else None
                if block.words[-1:] and block.words[-1].startswith("file="):
                    if "/" not in block.words[-1]:
                        self.write(block, block.words[-1][5:])
                elif block.kind == "console":
                    self.console(block)
                elif block.kind in RUN:
                    getattr(self, block.kind)(block, after)
                elif block.kind == "json":
                    json.loads("\n".join(block.lines))
                elif block.kind not in SHOWN:
                    self.complain(block, "the block does not say what it is (%s)" % ", ".join(RUN + SHOWN))
        except (ValueError, subprocess.TimeoutExpired) as e:
            self.bad.append("%s: %s" % (self.path, e))
        finally:
            shutil.rmtree(self.dir)
        if UPDATE:
            self.update()
        return self

    def update(self):
        lines = open(self.path, encoding="utf-8").read().split("\n")
        for at in sorted(self.new, reverse=True):
            count, new = self.new[at]
            lines[at:at + count] = new
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines))


def main():
    files = [os.path.abspath(a) for a in sys.argv[2:] if a != "--update"]
    files = files or [os.path.join(ROOT, "python", "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]
    with cf.ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(lambda path: Page(path).run(), files))
    for page in pages:
        for text in page.bad:
            print(text)
    print("%d pages, %d blocks and commands compared, %d wrong" % (
        len(pages), sum(p.count for p in pages), sum(len(p.bad) for p in pages)))
    sys.exit(1 if any(p.bad for p in pages) else 0)


if __name__ == "__main__":
    main()
