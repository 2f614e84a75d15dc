#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""regress and TableRegressor: the numbers of the command, tables of pandas in and out, errors before the work, scikit-learn's tools."""
import json, os, pickle, subprocess, sys, tempfile, warnings

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
import gpmem
from raising import raises

rng = np.random.RandomState(3)
N = 48
DATA = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=N, freq="17D"), "dose": rng.uniform(0, 10, N),
                     "site": rng.choice(["field", "house"], N)}, index=["r%d" % i for i in range(N)])
DATA["yield, t"] = 8 * DATA.dose / (2 + DATA.dose) + 2 * (DATA.site == "house") + rng.normal(0, .3, N)
NEW = pd.DataFrame({"site": ["house", "field", "house"], "dose": [3.0, np.nan, 20.0], "day": pd.to_datetime(["2020-06-01"] * 3)}, index=[7, 8, 9])


def check_frame():
    r = gpmem.regress(DATA, threads=2)
    p = r.predict(NEW)
    assert list(p.index) == [7, 8, 9] and abs(p["mean"][7] - (4.8 + 2)) < 0.5, p
    assert np.isnan(p["mean"][8]) and p.outside[9] == "dose" and p.outside[7] == "", p
    assert p.lower[7] < p["median"][7] < p.upper[7] and p.new_lower[7] < p.lower[7], p
    f = r.inputs_frame()
    assert f.index[0] == "dose" and f.how["day"] == "no visible effect" and (f.share_lower <= f.share).all(), f
    assert r.result["outcome"] == "yield, t" and r.summary() in r.result["summary"] and "dose" in repr(r) + r._repr_html_(), r
    assert "What matters" in r.report() and "<svg" in r.report("html") and "make_gp" in r.report("program")
    again = pickle.loads(pickle.dumps(r))
    assert np.array_equal(again.predict(NEW)["mean"].to_numpy(), p["mean"].to_numpy(), equal_nan=True)
    apart = gpmem.regress(DATA[["dose", "site", "day"]], y=DATA["yield, t"], threads=1).predict(NEW)
    assert np.allclose(apart["mean"], p["mean"], atol=0.2, equal_nan=True)  # columns in another order: other draws
    chosen = gpmem.regress(DATA, y="yield, t", x=["dose"], threads=1)
    assert [i["name"] for i in chosen.result["inputs"]] == ["dose"]
    return r


def check_command(r):
    """The same table in a file: the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.csv")
        DATA.to_csv(path, index=False)
        said = json.loads(subprocess.run([sys.argv[1], "regress", path, "--json", "-"], capture_output=True, text=True, check=True).stdout)
        assert said["check"] == r.result["check"] and said["inputs"] == r.result["inputs"]
        mine = gpmem.regress(path, threads=1)
        assert mine.result["check"] == said["check"]
        p = mine.predict({"dose": [3.0], "site": ["house"], "day": ["2020-06-01"]})
        assert isinstance(p, dict) and p["mean"].shape == (1,) and p["outside"][0] == ""


def check_noise():
    wild = DATA.copy()
    wild.loc["r5", "yield, t"] += 30
    a, b = (gpmem.regress(wild, noise=n, threads=1).result for n in ("auto", "normal"))
    assert a["rows_set_aside"] == 1 and b["rows_set_aside"] == 0 and a["check"]["rmse"] < 0.5 * b["check"]["rmse"], (a, b)


def check_open():
    """Where chains do not agree there is no answer."""
    a = 10 * ((0.618034 * np.arange(14)) % 1)
    y = np.sin(11 * a) + np.cos(5 * a)
    how = dict(kernel="PER(sf=1, p=1, l=1) + PER(sf=1, p=1, l=1)", noise="normal", threads=1)
    for seed in range(1, 7):  # some of them may agree by chance
        try: gpmem.regress({"a": a, "y": y}, seed=seed, **how)
        except gpmem.GpmemError as error:
            e = error
            break
    else: raise AssertionError("no error")
    assert "not settled" in str(e) and all(words in str(e) for words in ("log evidence", "R-hat", "rough=True")), e
    r = gpmem.TableRegressor(rough=True, random_state=seed, **how).fit(a[:, None], y).regression_
    assert not r.result["settled"] and r.summary().startswith("Not settled")


def check_estimator():
    X, y = DATA[["dose", "site", "day"]], DATA["yield, t"]
    m = clone(gpmem.TableRegressor(threads=1, random_state=4)).fit(X, y)
    mean, sd = m.predict(NEW, return_std=True)
    assert mean.shape == sd.shape == (3,) and m.n_features_in_ == 3 and list(m.feature_names_in_) == list(X.columns)
    assert (m.predict(NEW[:1], return_std=True, measured=True)[1] > sd[:1]).all() and "dose" in m.summary()
    assert m.score(X, y) > 0.9 and cross_val_score(gpmem.TableRegressor(threads=1), X, y, cv=3).mean() > 0.8
    A = rng.uniform(-1, 1, (40, 2))
    t = gpmem.TableRegressor(threads=1).fit(A, A[:, 0] - A[:, 1] ** 2)
    assert np.abs(t.predict(A) - A[:, 0] + A[:, 1] ** 2).max() < 0.05
    assert np.array_equal(pickle.loads(pickle.dumps(t)).predict(A), t.predict(A))


def check_families():
    A = rng.normal(size=(120, 2))
    chance = 1 / (1 + np.exp(-3 * A[:, 0]))
    y = np.where(rng.uniform(size=120) < chance, "stays", "leaves")
    m = clone(gpmem.TableClassifier(threads=1)).fit(A, y)
    p = m.predict_proba(A)
    assert list(m.classes_) == ["leaves", "stays"] and np.allclose(p.sum(axis=1), 1) and np.corrcoef(p[:, 1], chance)[0, 1] > 0.9
    assert m.score(A, y) > 0.75 and m.predict([[3, 0], [-3, 0]]).tolist() == ["stays", "leaves"] and "stays" not in m.summary()
    assert np.array_equal(pickle.loads(pickle.dumps(m)).predict_proba(A), p)
    assert cross_val_score(gpmem.TableClassifier(threads=1), A, y, cv=3, scoring="roc_auc").mean() > 0.8
    assert np.isnan(m.predict_proba([[np.nan, 0]])[0, 1])
    raises(ValueError, "row 0 lacks a value", lambda: m.predict([[np.nan, 0]]))
    raises(ValueError, "3 classes", lambda: gpmem.TableClassifier().fit(A, np.arange(120) % 3))
    frame = pd.DataFrame({"a": A[:, 0], "kept": y})
    r = gpmem.regress(frame, y="kept", threads=1)
    assert r.result["family"] == "bernoulli" and "kept = stays" in r.summary().replace("\n", " ") and r.predict(frame)["mean"].between(0, 1).all()
    counts = gpmem.regress({"a": A[:, 0], "n": rng.poisson(np.exp(1 + A[:, 0]))}, threads=1)
    assert counts.result["family"] in ("poisson", "negative_binomial") and (counts.predict({"a": [1.0]})["new_upper"] % 1 == 0).all()
    raises(ValueError, "family is one of", lambda: gpmem.regress(DATA, family="gamma"))


def check_missing():
    """Missing values of pandas' own types, of words and of masked arrays are missing."""
    rng = np.random.RandomState(3)
    a, y = rng.normal(size=40), rng.normal(size=40)
    frame = pd.DataFrame({"a": a, "i": pd.array([None if k == 4 else k % 5 for k in range(40)], dtype="Int64"),
                          "g": pd.Categorical([None if k == 6 else "uvw"[k % 3] for k in range(40)]), "y": y + 2 * a})
    assert gpmem.regress(frame, y="y", threads=1).result["rows"] == 38
    assert gpmem.regress({"a": np.ma.masked_greater(a, 1), "y": y + 2 * a}, threads=1).result["rows"] == (a <= 1).sum()
    raises(ValueError, "complex", lambda: gpmem.regress({"a": a, "y": y + 1j}))


def check_names():
    """Headings as spreadsheets have them (line ends, tabs, control characters, blanks around) are names like others."""
    rng = np.random.RandomState(5)
    a, b = rng.uniform(size=40), rng.uniform(size=40)
    for name in ("Temp\n(C)", "Temp\t(C)", "T\r\n", "\x02", " a ", ""):
        frame = pd.DataFrame({"b": b, name: a})
        m = gpmem.TableRegressor(threads=1).fit(frame, 3 * a + 0.1 * b)
        assert np.abs(m.predict(frame) - 3 * a - 0.1 * b).max() < 1e-3, name
        assert np.abs(m.predict(frame[[name, "b"]]) - 3 * a - 0.1 * b).max() < 1e-3, name
        r = gpmem.regress(frame.assign(**{"y" + name: 3 * a}), y="y" + name, threads=1)
        assert r.result["check"]["r2"] > 0.999, name


def check_errors(r):
    raises(ValueError, "no column 'q'", lambda: gpmem.regress(DATA, y="q"))
    raises(ValueError, "noise is one of", lambda: gpmem.regress(DATA, noise="loud"))
    raises(ValueError, "data must be a DataFrame", lambda: gpmem.regress([1, 2, 3]))
    raises(ValueError, "y has 3 values", lambda: gpmem.regress({"a": [1, 2]}, y=[1, 2, 3]))
    raises(ValueError, "differ in length", lambda: gpmem.regress({"a": [1, 2], "y": [1]}))
    raises(ValueError, "finite", lambda: gpmem.regress({"a": [1.0, float("inf")], "y": [1, 2]}))
    raises(ValueError, "complete row", lambda: gpmem.regress({"a": [1, 2], "y": [1, 2]}))
    raises(ValueError, "No such file", lambda: gpmem.regress("/nowhere.csv"))
    raises(ValueError, "no level of 'site'", lambda: r.predict(NEW.assign(site="roof")))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        one = r.predict(NEW.assign(site=["roof"] + list(NEW["site"])[1:]))
    assert "1 of the rows have no prediction" in str(said[0].message) and "'roof' is no level" in str(said[0].message), said
    assert np.isnan(one["mean"].iloc[0]) and "site" in one["outside"].iloc[0] and one["mean"].iloc[2] == r.predict(NEW)["mean"].iloc[2]
    raises(ValueError, "no column 'dose'", lambda: r.predict(NEW[["site", "day"]]))
    raises(ValueError, "between 0 and 1", lambda: gpmem.regress(DATA, level=2))
    assert len(r.predict(NEW)) == 3  # a call that failed leaves nothing behind


regression = check_frame()
check_command(regression)
check_noise()
check_open()
check_estimator()
check_families()
check_missing()
check_names()
check_errors(regression)
print("fine")
