#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Series and frames of pandas in and out, and a forecaster with sktime's conventions; the package works without pandas."""
import math, os, subprocess, sys

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np
import pandas as pd
import gpmem
from raising import raises

rng = np.random.RandomState(1)
N, K = 48, "LIN PER"
Y = 20 + 0.2 * np.arange(N) + 3 * np.sin(np.arange(N) * np.pi / 6) + 0.3 * rng.normal(size=N)


def check_update():
    """update_params=False: the structure stays, and what is to come is foreseen from all values, those that were added too."""
    rng = np.random.default_rng(3)
    walk = pd.Series(np.cumsum(rng.normal(0, 1, 60)), index=pd.date_range("2015-01-01", periods=60, freq="MS"), name="w")
    f = gpmem.Forecaster(threads=1).fit(walk[:50])
    texts, before = [s for s, _ in f.discovery_.structures], f.predict([1])
    assert f.update(walk[50:], update_params=False) is f and f.cutoff == walk.index[-1]
    after = f.predict([1, 2])
    assert list(after.index) == list(pd.date_range("2020-01-01", periods=2, freq="MS")) and [s for s, _ in f.discovery_.structures] == texts
    anew = gpmem.Forecaster(threads=1).fit(walk).predict([1])
    assert abs(after.iloc[0] - walk.iloc[-1]) < 1.5 and abs(after.iloc[0] - anew.iloc[0]) < 0.7, (after, anew, before)
    assert "60 values" in f.discovery_.report() and "the last 10 were added" in f.discovery_.report()
    raises(gpmem.GpmemError, "added", lambda: f.discovery_.save("kept"))
    raises(gpmem.GpmemError, "is there already", lambda: f.update(walk[55:], update_params=False))
    raises(gpmem.GpmemError, "does not follow", lambda: f.discovery_.add(["2019-05-01"], [1.0]))
    raises(gpmem.GpmemError, "y has no values", lambda: f.discovery_.add(["2020-05-01"], [math.nan]))
    # beside a column: its effect is known at the new times, too
    x = pd.DataFrame({"p": rng.normal(0, 1, 60)}, index=walk.index)
    y = 3 * x["p"] + rng.normal(0, 0.1, 60)
    f = gpmem.Forecaster(threads=1).fit(y[:50], X=x[:50]).update(y[50:], X=x[50:], update_params=False)
    assert abs(f.predict([1], X=pd.DataFrame({"p": [2.0]})).iloc[0] - 6) < 0.5
    assert abs(f.discovery_.forecast(times=["2019-12-01"])["median"][0] - y.iloc[-1]) < 0.3


def check_indices():
    """The same series under every index gives the same forecast, at the times that follow in that index."""
    indices = {"month start": pd.date_range("2001-01", periods=N, freq="MS"), "month end": pd.date_range("2001-01", periods=N, freq="M"),
               "period": pd.period_range("2001-01", periods=N, freq="M"), "inferred": pd.DatetimeIndex(pd.date_range("2001-01", periods=N, freq="MS").to_numpy())}
    want = None
    for name, index in indices.items():
        f = gpmem.discover(pd.Series(Y, index=index, name="sales"), kernels=K).forecast_frame(3)
        assert type(f.index) is type(index) and f.index[0] > index[-1] and len(f) == 3, (name, f)
        assert f.index.equals(pd.date_range("2005-01", periods=3, freq="MS") if name in ("month start", "inferred") else
                              pd.date_range("2005-01", periods=3, freq="M") if name == "month end" else pd.period_range("2005-01", periods=3, freq="M")), (name, f.index)
        want = f if want is None else want
        assert np.allclose(f.to_numpy(), want.to_numpy(), rtol=1e-6), (name, f, want)
    for index in (pd.RangeIndex(N), pd.RangeIndex(10, 10 + 2 * N, 2), pd.period_range("2001Q1", periods=N, freq="Q"), pd.date_range("2001-01-01", periods=N, freq="B"),
                  pd.date_range("2001-01-01 12:00", periods=N, freq="30min", tz="Europe/Berlin")):
        f = gpmem.discover(pd.Series(Y, index=index), kernels="LIN").forecast_frame(4)
        after = index.union(f.index)
        assert len(after) == N + 4 and f.index[0] > index[-1] and (f.lo < f["median"]).all() and (f["median"] < f.hi).all(), f
        if isinstance(index, pd.DatetimeIndex):
            assert f.index.equals(pd.date_range(index[0], periods=N + 4, freq=index.freq)[N:]), f.index


def check_frames():
    d = gpmem.discover(pd.Series(Y, index=pd.date_range("2001-01", periods=N, freq="MS")), kernels=K)
    c = d.components_frame()
    assert isinstance(c.index, pd.DatetimeIndex) and c.index[0] == pd.Timestamp("2001-01-01") and {"LIN", "PER", "C"} <= set(c.columns.get_level_values(0)), c
    fit = c.xs("mean", axis=1, level=1).sum(axis=1)[:N]
    assert np.std(Y - fit) < 0.5, np.std(Y - fit)
    for of in ("structures", "components", "motifs"):
        p = d.probabilities_frame(of)
        assert p.probability.between(0, 1).all() and p.index.name == of[:-1] and len(p), p
    assert d.probabilities_frame().probability.sum() < 1 + 1e-9 and d.probabilities_frame().index[0] == d.structures[0][0]
    raises((ValueError, gpmem.GpmemError), "of is one of", lambda: d.probabilities_frame("x"))
    raises((ValueError, gpmem.GpmemError), "one level", lambda: gpmem.discover(pd.Series(Y, index=pd.MultiIndex.from_product([["a"], range(N)]))))


def check_forecaster():
    y = pd.Series(Y, index=pd.period_range("2001-01", periods=N, freq="M"), name="sales")
    f = gpmem.Forecaster(kernels=K)
    assert f.get_params()["kernels"] == K and f.clone().get_params() == f.get_params() and not f.is_fitted and repr(f) == "Forecaster(kernels='LIN PER')"
    raises((ValueError, gpmem.GpmemError), "not been fitted", lambda: f.predict([1]))
    raises((ValueError, gpmem.GpmemError), "no parameter", lambda: f.set_params(size=3))
    assert f.fit(y[:42]) is f and f.is_fitted and f.cutoff == y.index[41]
    p = f.predict([1, 2, 6])
    assert p.name == "sales" and list(p.index) == [y.index[42], y.index[43], y.index[47]], p
    assert np.abs(p - y[p.index]).max() < 1.5, p
    assert f.predict(3).equals(f.predict([3])) and f.predict(y.index[42:45]).equals(f.predict([1, 2, 3]))
    i = f.predict_interval([1, 2], coverage=[0.5, 0.9])
    assert list(i.columns) == [("sales", 0.5, "lower"), ("sales", 0.5, "upper"), ("sales", 0.9, "lower"), ("sales", 0.9, "upper")], i
    assert (i["sales", 0.9, "lower"] < i["sales", 0.5, "lower"]).all() and (i["sales", 0.5, "upper"] < i["sales", 0.9, "upper"]).all()
    q = f.predict_quantiles([1, 2], alpha=[0.05, 0.5, 0.95])
    assert np.allclose(q["sales", 0.05], i["sales", 0.9, "lower"]) and np.allclose(q["sales", 0.5], f.predict([1, 2]))
    assert f.fit_predict(y[:42], fh=[1, 2]).equals(f.predict([1, 2]))
    f.update(y[42:45])
    assert f.cutoff == y.index[44] and f.predict([1]).index[0] == y.index[45]
    raises((ValueError, gpmem.GpmemError), "from 1 on", lambda: f.predict([0]))
    raises((ValueError, gpmem.GpmemError), "2 columns", lambda: f.fit(pd.DataFrame({"a": Y, "b": Y})))
    a = gpmem.Forecaster(kernels=K).fit(Y).predict([1, 2])
    assert isinstance(a, np.ndarray) and a.shape == (2,)
    try:
        from sklearn.base import clone
        assert clone(gpmem.Forecaster(kernels="SE")).kernels == "SE"
    except ImportError:
        pass


def check_regressors():
    """Columns beside y: effects, forecasts with their values to come, by position and by time."""
    index = pd.period_range("2001-01", periods=N, freq="M")
    X = pd.DataFrame({"price": 10 + rng.normal(size=N), "temp": rng.normal(size=N)}, index=index)
    y = pd.Series(Y - 4 * X.price + 3 * np.sin(2 * X.temp), index=index, name="sales")
    f = gpmem.Forecaster(kernels=K, smooth="temp").fit(y[:40], X=X[:40])
    e = {e["column"]: e for e in f.discovery_.result["effects"]}
    assert abs(e["price"]["change"] + 4) < 3 * e["price"]["sd"] and e["temp"]["smooth"] and not e["price"]["smooth"], e
    p = f.predict([1, 2, 3], X=X[40:43])
    assert np.abs(p - y[40:43]).max() < 2.5 and p.equals(f.predict([1, 2, 3], X=X)), (p, y[40:43])
    f.update(y[40:42], X=X[40:42])
    assert f.cutoff == index[41] and np.abs(f.predict([1], X=X) - y[42:43]).max() < 2.5
    raises((ValueError, gpmem.GpmemError), "values to come", lambda: f.predict([1]))
    raises((ValueError, gpmem.GpmemError), "a row for each", lambda: f.predict([1, 2], X=X[40:41]))
    raises((ValueError, gpmem.GpmemError), "not called x or y", lambda: gpmem.discover(Y, X={"x": Y}))
    raises((ValueError, gpmem.GpmemError), "smooth names", lambda: gpmem.discover(Y, X={"a": Y}, smooth="b"))
    raises((ValueError, gpmem.GpmemError), "differ in length", lambda: gpmem.discover(Y, X={"a": Y[:3]}))
    d = gpmem.discover(y.to_numpy(), X={"price": X.price.to_numpy()}, kernels="LIN PER")
    assert len(d.forecast_with([N], {"price": [9.0]})["median"]) == 1


def check_frames_in():
    """A DataFrame is a column of numbers over its column of times, or over its index; in doubt it is asked about."""
    days = pd.date_range("2015-01-01", periods=48, freq="MS")
    v = [100 + i + 5 * math.sin(i * math.pi / 6) for i in range(48)]
    want = gpmem.discover(pd.Series(v, index=days), kernels="LIN PER").structures[0]
    one = pd.DataFrame({"when": days, "shop": ["a"] * 48, "sales": v})
    for frame, more in ((one, {}), (one.set_index("when"), {}), (pd.DataFrame({"ds": days.strftime("%d.%m.%Y"), "y": v, "z": v[::-1]}), {}),
                        (pd.DataFrame({"a": v[::-1], "b": v}, index=days), {"column": "b"}), (pd.DataFrame({"n": v, "at": days}), {"time": "at", "column": 1})):
        d = gpmem.discover(frame, kernels="LIN PER", **more)
        assert d.structures[0] == want, (list(frame.columns), d.structures[0], want)
        assert list(d.forecast_frame(2).index) == [pd.Timestamp("2019-01-01"), pd.Timestamp("2019-02-01")] or "ds" in frame, d.forecast_frame(2)
    for frame, more, why in ((pd.DataFrame({"a": v, "b": v}, index=days), {}, "choose the values with column"), (one[["shop"]], {}, "no column of numbers"),
                             (one, {"column": "nope"}, "no column 'nope'"), (one, {"X": {"p": v}}, "as X")):
        try: gpmem.discover(frame, **more)
        except ValueError as e: assert why in str(e), e
        else: raise SystemExit("no error: " + why)


def check_take():
    """Totals of transactions and counts of events: from a Series, a frame, times of pandas and of numpy, a panel."""
    r = np.random.RandomState(3)
    days = pd.DatetimeIndex(np.repeat(pd.date_range("2022-01-03", periods=70).to_numpy(), [3, 1, 2, 1, 4, 7, 1] * 10))
    sales = pd.Series(r.randint(1, 9, size=len(days)).astype(float), index=days, name="amount")
    d = gpmem.discover(sales, take="total", kernels=K)
    data = d.result["data"]
    assert (data["taken"], data["every"], data["n"], data["rows_taken"]) == ("total", "1d", 70, len(days)), data
    f = d.forecast_frame(2)
    assert list(f.index) == [pd.Timestamp("2022-03-14"), pd.Timestamp("2022-03-15")], f
    frame = sales.rename_axis("date").reset_index()
    weeks = gpmem.discover(frame, take="total", every="week", kernels=K)
    assert weeks.result["data"]["n"] == 10 and list(weeks.forecast_frame(1).index) == [pd.Timestamp("2022-03-14")]
    for y in (days, days.to_numpy(), pd.Series(days), pd.DataFrame({"when": days}), frame):
        data = gpmem.discover(y, take="count", kernels=K).result["data"]
        assert (data["taken"], data["value"], data["n"]) == ("count", "count", 70), (type(y), data)
    assert gpmem.discover(days, kernels=K).result["data"]["taken"] == "count"
    raises(ValueError, "times alone", lambda: gpmem.discover(days, t=days))
    raises(ValueError, "take", lambda: gpmem.discover(sales, take="sum"))
    p = gpmem.discover_panel(pd.concat([frame.assign(shop="a"), frame[::2].assign(shop="b")]), by="shop", time="date", take="total", kernels=K)
    assert {m.result["data"]["every"] for m in p.values()} == {"1d"} and len(p) == 2, p


def check_kinds_of_numbers():
    """Missing values of pandas' own types and of masked arrays are missing; what is no number is named."""
    holes = Y.copy()
    holes[[5, 20]] = np.nan
    want = gpmem.discover(holes, kernels=K).forecast(2)["median"]
    whole = [None if np.isnan(v) else v for v in holes]
    for given in (pd.Series(whole, dtype="Float64"), pd.Series(whole, dtype=object), pd.Series(holes).convert_dtypes(), whole, np.ma.masked_invalid(holes),
                  np.ma.array(np.where(np.isnan(holes), 1e6, holes), mask=np.isnan(holes)), pd.Series([pd.NA if v is None else v for v in whole])):
        assert np.array_equal(gpmem.discover(given, kernels=K).forecast(2)["median"], want), given
    counts = pd.Series([None if i == 7 else int(10 * v) for i, v in enumerate(Y)], dtype="Int64")
    assert np.isfinite(gpmem.discover(counts, kernels=K).forecast(1)["median"]).all()
    for bad, part in ((pd.Series(pd.Categorical(["a", "b"] * 24)), "y[0] is 'a'"), (Y + 1j, "real numbers"), ({"a": 1}, "y must hold numbers"), (["1"] * 20 + ["x"], "y[20] is 'x'"),
                      (pd.Series([*Y, np.arange(2)]), "y[%d] is array" % len(Y))):
        raises(gpmem.GpmemValueError, part, lambda bad=bad: gpmem.discover(bad, kernels=K))


def check_zones():
    """Midnights of a zone are days and months, whatever its clocks do in between; hours are even in UTC."""
    for freq in ("MS", "D"):
        plain = pd.date_range("2019-01-01", periods=N, freq=freq) if freq == "MS" else pd.date_range("2020-03-01", periods=N, freq=freq)
        want = gpmem.discover(pd.Series(Y, index=plain), kernels=K).forecast_frame(3)
        f = gpmem.discover(pd.Series(Y, index=plain.tz_localize("Europe/Berlin")), kernels=K).forecast_frame(3)
        assert f.index.equals(want.index.tz_localize("Europe/Berlin")) and np.allclose(f.to_numpy(), want.to_numpy()), (f, want)
    hours = pd.date_range("2020-10-24 06:00", periods=N, freq="h", tz="Europe/Berlin")
    f = gpmem.discover(pd.Series(Y, index=hours), kernels=K).forecast_frame(3)
    assert f.index.equals(pd.date_range(hours[-1], periods=4, freq="h")[1:]) and np.isfinite(f.to_numpy()).all(), f
    hours = pd.date_range(end="2020-10-25 00:00", periods=N, freq="h", tz="Europe/Berlin")  # clocks are changed after the data
    f = gpmem.discover(pd.Series(Y, index=hours), kernels=K).forecast_frame(5)
    want = gpmem.discover(pd.Series(Y, index=hours.tz_convert("UTC")), kernels=K).forecast_frame(5)
    assert np.array_equal(f.to_numpy(), want.to_numpy()), (f, want)


def check_pickles():
    """A run travels to other processes, can be copied, and is found again in its folder; what cannot says so."""
    import copy, pickle, tempfile
    d = gpmem.discover(pd.Series(Y, index=pd.date_range("2001-01", periods=N, freq="MS")), kernels=K)
    want = d.forecast_frame(3)
    data = pickle.dumps(d)
    for again in (copy.deepcopy(d), copy.copy(d), pickle.loads(data)):
        assert again.forecast_frame(3).equals(want) and again.structures == d.structures
        del again  # each frees its own
    script = "import sys, pickle; d = pickle.load(sys.stdin.buffer); print(d.forecast_frame(3).to_csv())"
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"))
    other = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, env=env, timeout=120)
    assert other.returncode == 0 and other.stdout.decode().strip() == want.to_csv().strip(), other
    with tempfile.TemporaryDirectory() as folder:
        d.save(os.path.join(folder, "run"))
        assert gpmem.Discovery.load(os.path.join(folder, "run")).forecast(2)["median"].tolist() == d.forecast(2)["median"].tolist()
        raises(gpmem.GpmemError, "none", lambda: gpmem.Discovery.load(os.path.join(folder, "none")))
        assert repr(copy.copy(gpmem.Index(os.path.join(folder, "i.db")))) == repr(gpmem.Index(os.path.join(folder, "i.db")))
    p = gpmem.discover_panel(pd.DataFrame({"a": Y, "b": Y[::-1]}, index=pd.date_range("2001-01", periods=N, freq="MS")), kernels=K)
    assert pickle.loads(pickle.dumps(p["a"])).forecast(1)["median"] == p["a"].forecast(1)["median"]
    for thing, part in ((p, "its series can"), (gpmem.Session(), "save(path)")):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            raises(TypeError, part, lambda way=way, thing=thing: way(thing))


def check_without_pandas():
    """Nothing of pandas is imported by those who do not use it, and what needs it says so."""
    code = ("import sys; sys.modules['pandas'] = None; import gpmem; d = gpmem.discover([1, 2, 3, 2] * 5, kernels='LIN')\n"
            "assert len(d.forecast(3)['median']) == 3\n"
            "try: d.forecast_frame(3)\nexcept ValueError as e: assert 'python3-pandas' in str(e), e\nelse: raise SystemExit('no error')")
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python")))


check_indices()
check_frames()
check_forecaster()
check_update()
check_regressors()
check_frames_in()
check_take()
check_kinds_of_numbers()
check_zones()
check_pickles()
check_without_pandas()
print("pandas: series, frames and forecasters are fine")
