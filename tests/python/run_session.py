#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpmem.Session: directives, inference, forks, failures, save and load. Usage: run_session.py TOOL"""
import json, os, sys, tempfile, threading

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import numpy as np
import gpmem
from raising import raises


def check_owner():
    """A Session serves one call at a time: other threads, and its own callback, get an error, and it goes on."""
    said, s = [], gpmem.Session(callbacks={"again": lambda *a: said.append(str(raises(gpmem.GpmemError, "one call at a time", lambda: s.sample("1"))))})
    s.assume("x", "normal(0, 1)")
    s.infer('call_back("again", x)')
    assert said, "the callback was not called"
    refused = []

    def work():
        for _ in range(20):
            try: s.infer("mh(default, one, 200)")
            except gpmem.GpmemError as e: refused.append(str(e))

    def keep(times):
        """Draws that are under way stay whole, whoever asks meanwhile."""
        while len(kept) < 12:
            try: kept.append((times, s.draws(times, "mh(default, one, 1)", **{"x%d" % times: "x"})))
            except gpmem.GpmemError as e: refused.append(str(e))

    kept: list = []
    for works in [(work, ())] * 8, [(keep, (n,)) for n in (200, 3000, 7)]:
        threads = [threading.Thread(target=f, args=a) for f, a in works]
        for t in threads: t.start()
        for t in threads: t.join()
    assert all(list(d) == ["x%d" % n] and d["x%d" % n].shape == (n,) for n, d in kept), [(n, list(d)) for n, d in kept]
    assert all("one call at a time" in r for r in refused) and isinstance(s.sample("x"), float), refused[:3]


def check_failure_on_one_particle():
    """A directive that fails on a later particle is taken back on those before, and nothing else is."""
    for seed, target in ((seed, e) for seed in (1, 2, 3) for e in ("x", "normal(x, 1)")):
        with gpmem.Session(seed=seed) as s:
            s.infer("resample(8)")
            s.assume("b", "bernoulli(0.5)")
            s.assume("x", "normal(0, 1)")
            s.observe("normal(x, 1)", 0.5)
            s.infer("resample(8)")
            s.observe("normal(x, 2)", 3)
            s.observe("normal(x, 2)", 4)
            raises(gpmem.GpmemError, "cannot be observed",
                   lambda: s.observe("if (b) { %s } else { x + 1 }" % target, 1))
            assert len(s.infer("list_directives()")) == 5
            assert s.infer("y_obs()").tolist() == 8 * [[0.5, 3, 4]]
            s.infer("checkInvariants()")


def check_values_after_a_failure():
    """A choice that was to be observed or forced has its old value in every particle when that fails in one."""
    for seed, give in ((seed, g) for seed in (1, 2, 3) for g in ("observe", "force")):
        with gpmem.Session(seed=seed) as s:
            s.infer("resample(8)")
            s.assume("b", "bernoulli(0.5)")
            s.assume("x", "normal(0, 1)")
            s.assume("y", "normal(x, 1)")
            look = "for_each_particle(sample(list(b, x, y)))"
            before = s.infer(look)
            raises(gpmem.GpmemError, "cannot be observed",
                   lambda: getattr(s, give)("if (b) { x } else { x + 1 }", 1))
            assert str(s.infer(look)) == str(before), (give, before, s.infer(look))
            assert len(set(s.infer("particle_log_weights()"))) == 1
            s.freeze("x")
            raises(gpmem.GpmemError, "must be a number", lambda: s.assume("x", "normal(if (b) { x } else { \"a\" }, 1)"))
            assert str(s.infer(look)) == str(before), (before, s.infer(look))
            s.infer("checkInvariants()")


def check_directives():
    with gpmem.Session(seed=2, data={"shift": 3}) as s:
        x = s.assume("x", "normal(shift, 1)")
        assert x == s.sample("x") == s.report("x") and s.predict("2 * x", label="twice") == 2 * x
        assert s.assume("f", "proc(a) { a + x }", label="adder") is not None
        assert s.observe("normal(x, 0.001)", 5, label="seen") is None
        assert s.infer("slice(default, one, 1, 20, 20)") is None
        assert abs(s.report("x") - 5) < 0.01 and abs(s.report("twice") - 10) < 0.02
        s.forget("seen")
        d = s.draws(2000, "mh(default, one, 3)", "x", y="f(1) - 1")
        assert set(d) == {"x", "y"} and d["x"].shape == (2000,) and np.allclose(d["x"], d["y"])
        assert abs(d["x"].mean() - 3) < 0.15 and abs(d["x"].std() - 1) < 0.15, d["x"].mean()
        s.define("table", [[1, 2], [3, 4]])
        assert s.sample("table[1][0]") == 3 and s.run("1 + 1; sample 4;") == [2, 4]
        s.force("x", 1.5)
        assert s.sample("x") == 1.5
        s.freeze("x")
        s.infer("mh(default, one, 5)") if s.infer("num_blocks(default)")[0] else None
        assert s.sample("x") == 1.5


def check_failures():
    s = gpmem.Session()
    s.assume("x", "normal(0, 1)")
    before = s.sample("x")
    raises(gpmem.GpmemError, "nowhere", lambda: s.sample("nowhere"))
    raises(gpmem.GpmemError, "is assumed already", lambda: s.assume("x", "1"))
    raises(gpmem.GpmemError, "fifth", lambda: s.infer('do(mh(default, one, 0), assert(false, "fifth"))'))
    assert s.sample("x") == before
    raises(gpmem.GpmemError, "tenth", lambda: s.infer('repeat(3, do(mh(default, one, 5), assert(false, "tenth")))'))
    with gpmem.Session() as twin, tempfile.TemporaryDirectory() as folder:  # complete transitions stay
        twin.assume("x", "normal(0, 1)")
        twin.infer("mh(default, one, 5)")
        assert s.report("x") == twin.report("x") != before
        path = os.path.join(folder, "failed.session")
        s.save(path)
        with gpmem.Session.load(path) as again:
            assert again.report("x") == s.report("x")
        with open(path) as f: text = f.read()
        with open(path, "w") as f: f.write(text.replace("tenth", "ninth", 1))
        raises(gpmem.GpmemError, "ninth", lambda: gpmem.Session.load(path))
    raises(ValueError, "must be a name", lambda: s.assume("x y", "1"))
    raises(ValueError, "must be a text", lambda: s.sample(3))
    raises(ValueError, "an expression to keep", lambda: s.draws(3, "pass"))
    s.close()
    raises(ValueError, "closed", lambda: s.sample("x"))


def check_functions():
    calls = []
    s = gpmem.Session(functions={"slow": lambda x: calls.append(x) or x * x})
    s.assume("pair", "gpmem(slow, make_squaredexp(10, 2))")
    assert s.predict("first(pair)(3)") == 9 and s.predict("first(pair)(3)") == 9 and calls == [3.0]


def check_forks():
    s = gpmem.Session(seed=4)
    s.assume("x", "normal(0, 1)")
    f = s.fork()
    g = f.fork()
    assert s.report("x") == f.report("x") == g.report("x")
    f.observe("normal(x, 0.001)", 7)
    f.infer("slice(default, one, 1, 20, 20)")
    assert abs(f.report("x") - 7) < 0.1 and g.report("x") == s.report("x")
    f.assume("only", "3")
    raises(gpmem.GpmemError, "only", lambda: s.sample("only"))
    a, b = (m.draws(20, "mh(default, one, 1)", "x")["x"] for m in (s, g))
    assert not np.array_equal(a, b)
    raises(ValueError, "first model", lambda: f.run("1"))
    return s, f


def check_saved():
    s, f = check_forks()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.session")
        for m in (s, f):
            m.save(path)
            again = gpmem.Session.load(path)
            assert again.report("x") == m.report("x")
            assert again.infer("mh(default, one, 3)") is None and again.sample("x") is not None
            again.close()
        for wrong in ("{}", "[]", "[" * 100000, '{"format": "gpmem session 1", "options": {}, "model": null, "models": 0, "log": []}'):
            with open(path, "w") as out: out.write(wrong)
            raises(ValueError, "no file of a session", lambda: gpmem.Session.load(path))


def check_a_strangers_file():
    """What a file says of permissions is not heard; who loads it gives them."""
    with tempfile.TemporaryDirectory() as folder:
        path, made = os.path.join(folder, "a.session"), os.path.join(folder, "made")
        program = 'sample command("touch %s", inputs=array())();' % made
        writing = 'infer save_model("%s");' % made
        for need, source in (("allow_run", program), ("allow_write", writing)):
            options = {"seed": 1, "allow_run": True, "allow_write": True, "max_seconds": 0, "jobs": 1}
            saved = {"format": "gpmem session 1", "options": options, "model": None, "models": 0, "log": [{"run": source}]}
            with open(path, "w") as out: json.dump(saved, out)
            raises(gpmem.GpmemError, need, lambda: gpmem.Session.load(path))
            assert not os.path.exists(made), source
        gpmem.Session.load(path, allow_write=True).close()
        assert os.path.exists(made)
        for wrong in ({"model": "_fork1, f(1)"}, {"models": "1"}, {"log": [{"run": 3}]}, {"log": [{"walk": ""}]}, {"log": None},
                      {"options": {"seed": True, "x": 1}, "log": [[]]}, {"options": {"seed": -1}}):
            with open(path, "w") as out: json.dump({**saved, "log": [], **wrong}, out)
            raises(ValueError, "no file of a session", lambda: gpmem.Session.load(path))
        with gpmem.Session(allow_run=True, allow_write=True, max_seconds=9) as s:
            s.save(path)
        with open(path) as f: assert json.load(f)["options"] == {"seed": 1}


for check in (check_owner, check_directives, check_failures, check_failure_on_one_particle, check_values_after_a_failure,
              check_functions, check_forks, check_saved, check_a_strangers_file):
    check()
    print("ok", check.__name__)
