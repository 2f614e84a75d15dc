# SPDX-License-Identifier: Apache-2.0
"""What scripts of tests share: running their test_* functions, programs for them to call."""
import os, time, traceback


def run_tests(where, names):
    """Each function test_* of `where` (globals()), or those that are named; all run, whichever fail. The exit status."""
    tests = [(n, f) for n, f in where.items() if n.startswith("test_") and (not names or n in names)]
    failed = 0
    for name, test in tests:
        begun = time.time()
        try:
            test()
            print("ok %s (%.1f s)" % (name, time.time() - begun), flush=True)
        except Exception:
            failed += 1
            print("FAILED %s\n%s" % (name, traceback.format_exc()), flush=True)
    print("%d passed, %d failed" % (len(tests) - failed, failed))
    return 1 if failed or not tests else 0


def script(path, text):
    """An executable file; how a command of this folder is called."""
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return "./" + path
