#!/usr/bin/python3
"""label: slow. Tables that the tool writes as Parquet are read by DuckDB and by hyparquet, both from npm's registry (argument: the tool)."""
import json, math, os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(TOOL)
READERS = os.path.join(BUILD, "readers")
DUCKDB = """
import { DuckDBInstance } from '@duckdb/node-api'
const c = await (await DuckDBInstance.create(':memory:')).connect()
const r = await c.runAndReadAll("select * from '" + process.argv[2] + "'")
console.log(JSON.stringify(r.getRowObjectsJson()))
"""
HYPARQUET = """
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
const rows = await parquetReadObjects({ file: await asyncBufferFromFile(process.argv[2]) })
console.log(JSON.stringify(rows, (k, v) => typeof v === 'bigint' ? String(v) : v))
"""


def prepare():
    os.makedirs(READERS, exist_ok=True)
    if not os.path.exists(os.path.join(READERS, "node_modules/hyparquet")):
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", READERS, "hyparquet@1.31.5", "@duckdb/node-api@1.5.5-r.5"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    for name, text in (("duckdb.mjs", DUCKDB), ("hyparquet.mjs", HYPARQUET)):
        with open(os.path.join(READERS, name), "w") as f:
            f.write(text)


def read(reader, path):
    r = subprocess.run(["node", os.path.join(READERS, reader), os.path.abspath(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, r.stderr[-800:]
    return json.loads(r.stdout)


def check_table(reader):
    rows = read(reader, os.path.join(BUILD, "tests", "table.parquet"))
    assert len(rows) == 70000
    for i, r in enumerate(rows):
        assert (r["name"], int(r["i"]), r["half"]) == ("r%d" % i, i - 5, i / 2), (i, r)
        assert [int(v) for v in r["below"]] == list(range(i % 3)), (i, r)


def check_index(reader, work):
    db, table = os.path.join(work, "x.db"), os.path.join(work, "x.parquet")
    want = [json.loads(l) for l in subprocess.run([TOOL, "index", "export", db], stdout=subprocess.PIPE, text=True, errors="replace", check=True).stdout.splitlines()]
    subprocess.run([TOOL, "index", "export", db, table], check=True)
    got = read(reader, table)
    assert len(got) == len(want) == 3
    for g, w in zip(got, want):
        assert all(g[k] == w[k] for k in ("name", "source", "hash", "made", "words")) and int(g["values"]) == w["values"]
        assert g["structures"] == [s["structure"] for s in w["structures"]] and g["structure"] == g["structures"][0]
        assert all(abs(a - s["probability"]) < 1e-6 for a, s in zip(g["probabilities"], w["structures"]))
        for part in ("at", "lo", "median", "hi"):
            a, b = g["forecast_" + part], [f[part] for f in w["forecast"]]
            assert len(a) == len(b) > 3 and all(abs(x - y) <= 1e-6 * (1 + abs(y)) for x, y in zip(a, b)), (a, b)
    assert got[2]["source"].endswith("caf\ufffd.csv"), got[2]["source"]


prepare()
subprocess.run([os.path.join(BUILD, "tests", "test_parquet")], check=True, stderr=subprocess.DEVNULL)
with tempfile.TemporaryDirectory() as work:
    files = []
    for k in range(3):
        files.append(os.path.join(os.fsencode(work), b"caf\xe9.csv" if k == 2 else b"s%d.csv" % k))  # a name that is not UTF-8
        with open(files[-1], "w") as f:
            f.write("t,y\n" + "".join("%d,%g\n" % (1950 + i, (k > 0) * math.sin(i) + i * (k == 2) + 0.1 * math.cos(7.1 * i * i)) for i in range(40)))
    subprocess.run([TOOL, "index", "add", os.path.join(work, "x.db"), *files], check=True, stdout=subprocess.DEVNULL)
    for reader in ("duckdb.mjs", "hyparquet.mjs"):
        check_table(reader)
        check_index(reader, work)
print("DuckDB and hyparquet read 70,000 rows with lists, and an index")
