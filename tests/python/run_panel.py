#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Panels in Python: a file, a frame in wide and in long form and a dictionary give the same runs; series without a run say
why; forecasts of all series in one frame; a run outlives the name of its panel."""
import gc, os, sys, tempfile

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import numpy as np
import pandas as pd
import gpmem
from raising import raises

N, K = 40, "LIN PER"
rng = np.random.RandomState(1)
INDEX = pd.date_range("2001-01", periods=N, freq="MS")
WIDE = pd.DataFrame({n: 20 + s * np.arange(N) + 3 * np.sin(np.arange(N) * np.pi / 6) + 0.3 * rng.normal(size=N)
                     for n, s in (("north", 0.2), ("south", -0.1), ("west", 0))}, index=INDEX)


def check_forms():
    months = [d.strftime("%Y-%m-%d") for d in INDEX]
    long = pd.DataFrame({"date": months * 3, "where": np.repeat(list(WIDE.columns), N), "sales": np.concatenate([WIDE[n] for n in WIDE])})
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "long.csv")
        long.to_csv(path, index=False)
        panels = [gpmem.discover_panel(WIDE, kernels=K, threads=1), gpmem.discover_panel(path, by="where", kernels=K, threads=1),
                  gpmem.discover_panel(long, by="where", time="date", kernels=K, threads=1),
                  gpmem.discover_panel({"date": months, **{n: WIDE[n].to_numpy() for n in WIDE}}, kernels=K, threads=1)]
    for p in panels:
        assert list(p) == ["north", "south", "west"] and len(p) == 3 and not p.errors, list(p)
        assert np.allclose(p["north"].forecast(horizon=4)["median"], panels[0]["north"].forecast(horizon=4)["median"], rtol=1e-6)
        assert p.result["shared_hyperparameters"] and "3 series" in p.report()
    f = panels[0].forecast_frame(5)
    assert f.shape == (15, 3) and f.index.names == ["series", "time"] and (f["lo"] < f["hi"]).all(), f
    assert f.loc["north"].index[0] == pd.Timestamp("2004-05-01"), f.loc["north"].index
    alone = gpmem.discover_panel(WIDE, independent=True, kernels=K, threads=1)
    one = gpmem.discover(WIDE["south"], kernels=K, threads=1)
    assert not alone.result["shared_hyperparameters"]
    assert np.allclose(alone["south"].forecast(horizon=4)["median"], one.forecast(horizon=4)["median"], rtol=1e-6)
    kept = alone["west"]
    del alone
    gc.collect()
    assert kept.structures and kept.query("recurring_pattern")[0] > 0.9


def check_errors():
    p = gpmem.discover_panel(WIDE.assign(flat=3.0), kernels=K, threads=1)
    assert list(p.errors) == ["flat"] and "constant" in p.errors["flat"] and "flat" not in p and "1 without" in repr(p), p.errors
    raises(KeyError, "flat", lambda: p["flat"])
    raises(gpmem.GpmemError, "region", lambda: gpmem.discover_panel(WIDE, by="region", kernels=K))
    raises(gpmem.GpmemValueError, "log is one of", lambda: gpmem.discover_panel(WIDE, log="maybe"))
    raises(gpmem.GpmemValueError, "format is one of", lambda: p.report("markdown"))
    assert p.report("html").startswith("<!DOCTYPE html>") and "<table class=\"rows\">" in p.report("html")


check_forms()
check_errors()
print("panels: fine")
