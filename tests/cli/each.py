# SPDX-License-Identifier: Apache-2.0
"""What scripts of tests share: running their test_* functions, programs for them to call, moments at which to disturb those."""
import json, os, time, traceback


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


class Moments:
    """Random moments inside a run that took so many seconds once: the shares `low` to `high` of it. Beside other work it takes
    longer than alone, and the other way round; who sees that it was over, or had not begun, says so."""

    def __init__(self, rng, seconds, low, high):
        self.rng, self.seconds, self.low, self.high = rng, seconds, low, high

    def next(self): return self.seconds * self.rng.uniform(self.low, self.high)
    def was_over(self): self.seconds *= 0.7
    def was_early(self): self.seconds *= 1.3


def stopped_on_the_way(attempt, limit=0.2):
    """attempt(text) runs something with --max-time `text`; it returns whether the run came to its end, and what is wanted of a
    run that was stopped between its first steps and its end, if it was. Returns that; the time is found by halving."""
    least, most = 0, None
    for _ in range(40):
        ended, found = attempt("%.5f" % limit)
        if found and not ended: return found
        if ended: most = limit
        else: least = limit
        limit = (least + most) / 2 if most else 1.4 * limit
    raise AssertionError("no limit of time stops it on the way: from %g to %s seconds" % (least, most))


def script(path, text):
    """An executable file; how a command of this folder is called."""
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return "./" + path


def unsealed(path):
    """After SQLite alone wrote to a store or index: its pages have no checksums (io/store/sqlite_files.h)."""
    data = bytearray(open(path, "rb").read())
    size = int.from_bytes(data[16:18], "big")
    for at in range(0, len(data) if data[20] == 8 else 0, size): data[at + size - 8:at + size] = bytes(8)
    with open(path, "wb") as f: f.write(data)


def unsealed_run(folder):
    """As a run of an earlier version, whose draws have no checksums: somebody may change them."""
    path = os.path.join(folder, "manifest.json")
    with open(path) as f: manifest = json.load(f)
    manifest.pop("checksums", None)
    with open(path, "w") as f: json.dump(manifest, f)
