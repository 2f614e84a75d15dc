#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends what would take minutes: discover, a search inside a session, chains; and what is there goes on
(argument: the tool)."""
import os, signal, sys, tempfile, threading, time

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np
import gpmem
from gpmem import _library

rng = np.random.default_rng(1)
t = np.sort(rng.uniform(0, 100, 3000))
y = np.sin(t) + 0.02 * t + 0.1 * rng.normal(size=len(t))


def interrupted(call):
    """Does the call end by KeyboardInterrupt, of a signal a little after its start?"""
    threading.Timer(0.7, lambda: (os.kill(os.getpid(), signal.SIGINT), sent.set())).start()
    try:
        call()
    except KeyboardInterrupt:
        return True
    return False


sent, over = threading.Event(), []
work = lambda: (sent.wait(), time.sleep(0.5), over.append(True))
assert interrupted(lambda: _library.beside([work, work], lambda: None)) and over == [True, True]  # it waits for their end
assert interrupted(lambda: gpmem.discover(y, t, every="none"))
with gpmem.Session() as s, tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
    f.writelines(["x,y\n", *("%r,%r\n" % pair for pair in zip(t.tolist(), y.tolist()))])
    f.flush()
    s.run('define m = structure_model("%s", every="none");' % f.name)
    assert interrupted(lambda: s.run("infer structure_search(m);"))
    assert "not searched yet" in s.run("m;")[0]
    assert s.run("6 * 7;") == [42]
    s.assume("x", "normal(0, 1)")
    s.observe("normal(x, 1)", 2)
    before = s.report("x")
    assert interrupted(lambda: s.infer("mh(default, one, 2000000000)"))
    assert s.report("x") != before  # the chain keeps what it has done; no other run would stop there
    try: s.save(f.name)
    except gpmem.GpmemError as e: assert "save_model" in str(e), e
    else: raise AssertionError("it was saved")
assert interrupted(lambda: gpmem.run("assume x = normal(0, 1); infer repeat(2000000000, mh(default, one, 1));", chains=2))
short = gpmem.discover(np.arange(30) + 0.1 * np.cos(np.arange(30) * 7.0))
assert short.query("LIN")[0] > 0.5, short.structures
print("three long calls were interrupted; a short one after them was not")
