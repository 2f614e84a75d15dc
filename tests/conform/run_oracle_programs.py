#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Differential test on written programs: those of oracle_programs.txt (separated by --- lines), run
by the tool and by the slow reference interpreter (tests/conform/reference). Both must print the same lines
(1e-9), agree on success or failure, and name the same line of the program in an error.

Where gpmem is kinder on purpose, golden tests hold it instead: observed values take the form of the procedure's draws,
a missing `;` before a statement on a new line is forgiven.

    run_oracle_programs.py TOOL [FILE]"""
import concurrent.futures as cf, contextlib, importlib.util, io, os, re, subprocess, sys, tempfile, threading

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(here, "reference"))
import vsparse, vsref, vsvalues
spec = importlib.util.spec_from_file_location("conformance", os.path.join(here, "suite", "run.py"))
conformance = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conformance)
tool = os.path.abspath(sys.argv[1])


def ours(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.vnts")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        p = subprocess.run([tool, "run", "--seed", "1", "p.vnts"], cwd=folder, capture_output=True, timeout=120)
    return p.returncode, conformance.lines_of(p.stdout.decode("utf-8", "replace")), p.stderr.decode("utf-8", "replace")


def reference(text):
    out, line = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        try:
            vsref.Engine(1).run_program(vsparse.parse(text), "p.vnts")
        except (vsparse.VSyntaxError, vsvalues.VError) as e:
            line = e.line or 0
    return line, conformance.lines_of(out.getvalue())


def judge(text, got):
    rc, lines, err = got
    line, want = reference(text)
    if rc not in (0, 1, 2):
        return "exit status %d" % rc
    if (rc == 0) != (line is None):
        return "exit status %d, the reference %s: %s" % (rc, "fails" if line is not None else "succeeds", err)
    if len(lines) != len(want) or not all(conformance.line_ok(a, b, 1e-9) for a, b in zip(lines, want)):
        return "prints %s, the reference %s" % (lines, want)
    if line and not re.search(r"(?:\bline\s*|[:@(]\s*)%d\b" % line, err, re.I):
        return "the reference says line %d: %s" % (line, err)
    return None


def main():
    with open(sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "oracle_programs.txt"), encoding="utf-8") as f:
        programs = [p.strip("\n") + "\n" for p in re.split(r"^---\n", f.read(), flags=re.M) if p.strip()]
    bad = 0
    with cf.ThreadPoolExecutor(2) as pool:
        for text, got in zip(programs, pool.map(ours, programs)):
            why = judge(text, got)
            bad += why is not None
            if why:
                print("%s\n%s---" % (why, text))
    print("%d programs, %d disagree" % (len(programs), bad))
    status.append(1 if bad else 0)


status = []
threading.stack_size(512 * 1024 * 1024)  # the reference recurses deeply
worker = threading.Thread(target=main)
worker.start()
worker.join()
sys.exit(status[0] if status else 2)
