#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of results, and results on disk: tables and pictures are well-formed and hold what they should;
netCDF and Zarr read back by xarray are the draws (argument: the tool)."""
import os, re, sys, tempfile
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

os.environ["GPMEM_LIBRARY"] = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import numpy as np
import gpmem

MODEL = """assume mu = normal(0, 5); assume b = multivariate_normal([0, 0], [[1, 0], [0, 1]]);
observe normal(mu + b[0], 1) = 1.5; observe normal(mu, 1) = 2;
infer accumulate_dataset(40, do(nuts(default, all, 20, 1), collect(mu, b, log_lik(), y_rep(), y_obs())));"""


class Page(HTMLParser):
    """Cells, images and elements that are open at the end."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.images = [], [], 0
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.images += 1
        elif tag != "br":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def svg(text):
    assert ET.fromstring(text).tag.endswith("svg")
    return text


r = gpmem.run(MODEL, chains=2)
page = Page(r._repr_html_())
assert page.cells[:3] == ["", "mean", "mcse_mean"] and "mu" in page.cells, page.cells
assert "%.4g" % r.draws["mu"].mean() == page.cells[page.cells.index("mu") + 1], page.cells
assert svg(r.picture("mu", "b[1]")).count("b[1]") >= 2 and hasattr(r.picture("mu"), "_repr_svg_")
svg(r.predictive_picture())
assert Page(gpmem.run("sample 6 * 7; sample \"<b>\";")._repr_html_()).cells == ["value", "42", "<b>"]

x = np.arange(48)
d = gpmem.discover(5 + np.sin(2 * np.pi * x / 12), threads=2)
page = Page(d._repr_html_())
assert page.images == 1 and page.cells[2] == d.structures[0][0], page.cells
svg(d.picture())

g = gpmem.GPRegressor()
assert "text/html" in g._repr_mimebundle_()  # scikit-learn's own
g.fit(x[:, None] / 10, np.sin(x / 10))
bundle = g._repr_mimebundle_()
assert svg(bundle["image/svg+xml"]) and g.kernel_ in Page(bundle["text/html"]).cells, bundle["text/html"][:300]
g.fit(np.column_stack([x, x % 7]), np.sin(x / 10))
assert "image/svg+xml" not in g._repr_mimebundle_()

o = gpmem.optimize(lambda x, kind: (x - 1) ** 2 + (kind == "bad"), {"x": (-5, 5), "kind": ["good", "bad"]}, budget=12)
page = Page(o._repr_html_())
assert page.images == 1 and page.cells[:1] == ["best of 12"] and "good" in page.cells, page.cells
a = gpmem.Optimizer({"x": (0, 1)})
assert "without" in a._repr_html_()
p = a.ask()
a.tell(p, 3.0)
assert "best of 1" in a._repr_html_()

with gpmem.Session() as s:
    s.assume("x", "normal(0, 1)")
    s.observe("normal(x, 1)", 2)
    before = len(s._shared.log)
    assert Page(s._repr_html_()).cells[4:7] == ["assume", "x", "normal(0, 1)"], s._repr_html_()
    assert len(s._shared.log) == before  # looking is no step of the session
    s.predict("x + 1")
    assert s.directives()[2]["text"] == "x + 1", s.directives()  # not "(x + 1"
    f = s.fork()
    f.assume("y", "2")
    assert len(f.directives()) == 4 and len(s.directives()) == 3
assert "closed" in s._repr_html_()

groups = r.to_inference_data()
with tempfile.TemporaryDirectory() as folder:
    import xarray
    nc, z = os.path.join(folder, "draws.nc"), os.path.join(folder, "draws.zarr")
    r.to_zarr(z)
    readers = [lambda g: xarray.open_zarr(z, group=g, consolidated=False)]
    try:
        import h5netcdf
        r.to_netcdf(nc)
        readers.append(lambda g: xarray.open_dataset(nc, group=g, engine="h5netcdf"))
    except ImportError:
        print("h5netcdf is not there (tools/install-packages test)")
    for read in readers:
        for group, variables in groups.items():
            data = read(group)
            assert set(data.data_vars) == set(variables), (group, list(data.data_vars))
            for name, v in variables.items():
                assert np.array_equal(data[name].values, v) and data[name].values.dtype.kind == v.dtype.kind, (group, name)
            assert data.attrs["inference_library"] == "gpmem"
        assert read("posterior")["b"].dims == ("chain", "draw", "b_dim_0") and read("observed_data")["y"].dims == ("y_dim_0",)
        assert list(read("posterior")["chain"].values) == [0, 1]
    try:
        r.to_zarr(z)
        raise AssertionError("a folder was written over")
    except gpmem.GpmemValueError as e:
        assert "not empty" in str(e)
print("tables, pictures, %d ways to disk" % len(readers))
