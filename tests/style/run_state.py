#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a function remembers from one call to the next: nothing, but for those named here with their reason.

A variable that is `static` inside a function makes a result depend on what was asked before, in whatever thread. It is easily
written by accident: in `static const struct row rows[] = {...}, *row = rows;` the table is constant and the pointer is not. So
every static of a function under src is constant in all of its declarators, says by its type that it is meant (_Thread_local,
atomic, pthread_once_t), or is in this list; an entry that has gone fails, too.

Functions of C's library that remember something for all threads are not called at all: lgamma writes signgam (numeric/special/special.h has
log_gamma), gmtime and strtok answer in memory of their own.

    run_state.py GPMEM"""
import os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
KEPT = {
    ("language/rows/emu/kernel_rows.c", "made"): "procedures of kernels, made once for the index",
    ("io/store/postgres.c", "all"): "a library is loaded once",
    ("io/host/proc_watch.c", "groups"): "memory of a process of its own, which has no other",
    ("io/gpu/cuda.c", "queue"): "a queue of the card, made once, under the lock",
    ("io/gpu/cuda.c", "host"): "working memory, grows only, under the lock",
    ("io/gpu/cuda.c", "host_bytes"): "its size",
    # The tool has one thread and runs one command.
    ("front/cli/cmd_completions.c", "text"): "an answer, until the next call",
    ("front/cli/cmd_fmt.c", "standard"): "argv has no const",
    ("front/cli/cmd_fmt.c", "input"): "the same",
    ("front/cli/cmd_watch.c", "state"): "what is shown, until the next look",
    ("front/cli/main.c", "list"): "commands in their order, made once",
    ("front/cli/options.c", "text"): "an answer, until the next call",
    ("front/cli/repl.c", "text"): "the same",
    ("front/cli/run_read.c", "m"): "the facts borrow from it, until the next call",
    ("front/cli/run_read.c", "lost"): "an answer, until the next call",
}
MEANT = re.compile(r"\b(_Thread_local|_Atomic|atomic_\w+|pthread_once_t)\b")
SHARING = re.compile(r"\b(lgammaf?|strtok|localtime|gmtime|ctime|asctime|rand|srand|drand48|ttyname|ptsname)\s*\(")
STRINGS = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//[^\n]*', re.S)


def without_words(text):
    """Strings, comments and directives left out, line by line as before."""
    for skipped in STRINGS, re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M):
        text = skipped.sub(lambda m: "\n" * m.group().count("\n"), text)
    return text


def statements(text):
    """What is declared static inside functions, without what is in braces."""
    for m in re.finditer(r"(?<=\n)[ \t]+static\b(?! inline)", text):
        depth, out = 0, []
        for c in text[m.end():]:
            depth -= c == "}"
            if depth == 0 and c == ";":
                break
            if depth == 0 and c != "}":
                out.append(c)
            depth += c == "{"
        yield text.count("\n", 0, m.start()) + 1, "".join(out)


def changing(statement):
    """The names in a declaration that may change."""
    if MEANT.search(statement):
        return
    first = True
    statement = re.sub(r"\(\*([^()]*)\)\s*\([^()]*\)", r"*\1", statement)  # a pointer to a function
    for part in re.sub(r"\([^()]*\)|\[[^\]]*\]", "", statement).split(","):
        left = part.split("=")[0]
        words = re.findall(r"\w+|\*", left)
        if not words:
            continue
        name, before = words[-1], words[:-1]
        if first:
            base = "const" in (before[:before.index("*")] if "*" in before else before)
            first = False
        own = before[len(before) - 1 - before[::-1].index("*"):] if "*" in before else None
        if not (("const" in own) if own else base):
            yield name


def main():
    failed, seen = 0, set()
    for where, _, names in os.walk(SRC):
        for f in sorted(n for n in names if n.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(where, f), SRC)
            text = without_words(open(os.path.join(where, f), encoding="utf-8").read())
            for m in SHARING.finditer(text):
                print("src/%s:%d: %s() shares memory between threads" % (path, text.count("\n", 0, m.start()) + 1, m.group(1)))
                failed = 1
            for line, s in statements(text):
                for name in changing(s):
                    seen.add((path, name))
                    if (path, name) not in KEPT:
                        print("src/%s:%d: `%s` keeps its value from one call to the next" % (path, line, name))
                        failed = 1
    for path, name in sorted(set(KEPT) - seen):
        print("src/%s: `%s` is gone: take it from the list in tests/style/run_state.py" % (path, name))
        failed = 1
    return failed


if __name__ == "__main__":
    assert list(changing(" const struct { } sizes[] = { }, *size = sizes")) == ["size"]
    assert list(changing(" const char *const names[] = { }")) == []
    assert list(changing(" const char *text, *const other = x")) == ["text"]
    assert list(changing(" struct row one")) == ["one"]
    assert list(changing(" void (*const writers[])(const struct d *d, struct buf *out) = { }")) == []
    assert list(changing(" _Atomic(size_t) known")) == []
    sys.exit(main())
