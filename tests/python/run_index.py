#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpmem.Index, and structure_index and search in the language, over a few series."""
import os, random, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("GPMEM_LIBRARY", os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libgpmem.so"))
sys.path.insert(0, os.path.join(ROOT, "python"))
import gpmem
from raising import raises


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    os.mkdir("folder")
    for name, slope in (("up", 0.5), ("down", -0.5), ("flat", 0)):
        rng = random.Random(name)
        with open("folder/%s.csv" % name, "w") as f:
            f.write("x,y\n" + "".join("%d,%.3f\n" % (1950 + i, slope * i + rng.gauss(0, 1)) for i in range(40)))
    index = gpmem.Index("x.db")
    counts = index.add("folder", "missing.csv")
    assert counts["added"] == 3 and counts["refused"][0][0] == "missing" and "No such file" in counts["refused"][0][2], counts
    assert index.add("folder")["unchanged"] == 3
    found = index.search("is rising")
    assert found[0]["name"] == "up" and found[0]["probability"] > 0.9 and found[0]["rank"] == 1, found
    assert index.search("falls()", top=1)[0]["name"] == "down" and len(index.search("falls()", top=1)) == 1
    assert index.read("is periodic during the 1990s") == "periodic(1990..2000)"
    assert "up" in [h["name"] for h in index.like("up", top=2)] and index.like("up")[0]["probability"] > 0.9
    assert "<li " in index.page("rises()")
    index.to_parquet("table.parquet")
    with open("table.parquet", "rb") as f:
        table = f.read()
    assert table[:4] == table[-4:] == b"PAR1" and all(name.encode() in table for name in ("structures", "up", "down", "flat")), table[:200]
    os.remove("table.parquet")
    assert sorted(e["name"] for e in index.list()) == ["down", "flat", "missing", "up"]
    raises(gpmem.GpmemError, "not known", lambda: index.search("has elephants"))
    raises(gpmem.GpmemError, "no series", lambda: index.remove("nobody"))
    other = gpmem.Index("merged.db")
    assert other.merge("x.db") == {"added": 3, "replaced": 0, "unchanged": 0, "refused": []}, "merge"
    assert [h["probability"] for h in other.search("is rising")] == [h["probability"] for h in found] and len(found[0]["forecast"]) == 6
    index.remove("flat")
    assert "flat" not in [e["name"] for e in index.list()]
    r = gpmem.run('structure_index("y.db", array("folder/up.csv", "folder/down.csv")); search("y.db", "rises()", 1);', allow_write=True)
    assert r.values[0] == 2 and r.values[1][0][0] == "up" and r.values[1][0][1] > 0.9, r.values
    raises(gpmem.GpmemError, "not known", lambda: gpmem.run('search("y.db", "has elephants");'))
    raises(gpmem.GpmemError, "nothing could be used", lambda: gpmem.run('structure_index("y.db", "nothere.csv");', allow_write=True))
    raises(gpmem.GpmemError, "index 'nothere.db'", lambda: gpmem.run('search("nothere.db", "rises()");'))
    raises(gpmem.GpmemError, "a text or an array of texts", lambda: gpmem.run('structure_index("y.db", 3);'))
print("index from Python and the language: fine")
