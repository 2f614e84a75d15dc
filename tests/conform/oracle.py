# SPDX-License-Identifier: Apache-2.0
"""Programs run by the tool and by the slow reference interpreter (tests/conform/reference), line by line."""
import concurrent.futures as cf, importlib.util, os, subprocess, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, "reference", "vsref.py")
spec = importlib.util.spec_from_file_location("conformance", os.path.join(HERE, "suite", "run.py"))
conformance = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conformance)


def run(command):
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return p.returncode, p.stdout.splitlines(), p.stderr


def compare(tool, text, tolerance):
    """Lines that agree, and what is wrong with the next one (None: nothing)."""
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        rc, got, err = run([tool, "run", "--seed", "1", f.name])
        orc, want, oerr = run(["/usr/bin/python3", ORACLE, "run", "--seed", "1", f.name])
    if orc != 0:
        return 0, "the reference failed on its own program: %s" % oerr.strip().split("\n")[-1]
    for i, w in enumerate(want):
        if i >= len(got):
            return i, "line %d is missing (exit %d): %s" % (i + 1, rc, err.strip())
        if not conformance.line_ok(got[i], w, tolerance):
            return i, "line %d: got %s, the reference says %s" % (i + 1, got[i], w)
    if rc != 0 or len(got) != len(want):
        return len(want), "exit %d, %d lines where the reference has %d: %s" % (rc, len(got), len(want), err.strip()[-2000:])
    return len(want), None


def compare_all(tool, make, seeds, what):
    """make(seed) gives a program and its tolerance. Prints those that disagree; the exit status."""
    def one(seed):
        text, tolerance = make(seed)
        return (seed, text) + compare(tool, text, tolerance)

    lines, bad = 0, 0
    with cf.ThreadPoolExecutor(2) as pool:
        for seed, text, n, why in pool.map(one, seeds):
            lines += n
            if why:
                bad += 1
                print("seed %d: %s\n---\n%s---" % (seed, why, text))
    print("%d %s, %d lines compared, %d disagree" % (len(seeds), what, lines, bad))
    return 1 if bad else 0
