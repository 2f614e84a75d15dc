#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Data given to a program: JSON as Stan writes it, CSV, values on the command line; what is wrong has its place."""
import json, os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp())
FILES = {
    "d.json": '{"N": 4, "y": [1.25, "NaN", -3, null], "X": [[1, 2], [3, 4]], "s": "a", "b": true, "lo": "-inf", "e": [],\n'
              ' "T": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "big": 12345678901234567890, "z": [[], []], "d": {"k": [1, "x"]}}',
    "d.csv": "a,log.b,c\n1,2,x\n3,NA,y\n",
    "german.csv": "\ufeffa;b;c;d\r\n1,5;1.234,5;12 %;ABC 12\r\n-2;7;3%;ABC 13\r\n",
    "ragged.json": '{"n": 1, "y": [[1, 2], [3]]}',
    "deep.json": '{"y": {"q": [[[1, 2]], [[3]]]}}',
    "twice.json": '{"y": 1,\n "y": 2}',
    "comma.json": '{"y": [1, 2,]}',
    "list.json": "[1, 2]",
    "nan.json": '{"y": NaN}',
}
for name, text in FILES.items(): open(name, "w").write(text)
bad = []


def run(program, *args):
    r = subprocess.run([TOOL, "run", *args, "-"], input=program, capture_output=True, text=True, timeout=60)
    return r.returncode, r.stdout + r.stderr


def expect(what, got, want, status=0):
    code, out = got
    if want not in out or code != status: bad.append("%s: status %d\n%s" % (what, code, out))


ALL = "print(N, y, X, T, s, b, lo, e, is_vector(y), is_matrix(X), cols(X), big, rows(z), cols(z), d);"
expect("types", run(ALL, "--data", "d.json"),
       "4 [1.25, nan, -3, nan] [[1, 2], [3, 4]] [[[1, 2], [3, 4]], [[5, 6], [7, 8]]] a true -inf [] true true 2 "
       '1.2345678901234567e+19 2 0 {"k": [1, "x"]}\n')
expect("read_json is the same", run('define q = read_json("d.json"); print(q["X"] == X, q["T"] == T, q["d"]["k"][1]);',
                                    "--data", "d.json"), "true true x\n")
expect("CSV of people", run('print(a, b, c, d);', "-d", "german.csv"), '[1.5, -2] [1234.5, 7] [12, 3] ["ABC 12", "ABC 13"]\n')
open("office.csv", "wb").write("Lieferung 2024;;;\nort;plz;menge;preis\n;;kg;EUR\nKöln;01067;1,5;1.200,50\nBonn;53111;2,5;900,00\n".encode("latin-1"))
expect("a table as an office saves it", run('print(ort, plz, menge, preis, csv_lookup("office.csv", ["menge"], "preis")(2.5), read_csv("office.csv", "preis"));', "-d", "office.csv"),
       '["Köln", "Bonn"] ["01067", "53111"] [1.5, 2.5] [1200.5, 900] 900 [1200.5, 900]\n')
expect("CSV", run('print(a, c, data["log.b"], read_table("d.csv") == data);', "-d", "d.csv"), '[1, 3] ["x", "y"] [2, nan] false\n')
open("odd.csv", "w").write("a,b\n1,1e999\n2,0x10\n")
expect("no numbers of programs", run("print(b);", "-d", "odd.csv"), '["1e999", "0x10"]\n')
expect("a value, and the last one of a name", run("print(n, v[1], m);", "--data", "n=1", "-d", "n=2.5", "-d", "v=[1, 2]", "-d", "m=[[1],[2]]"),
       "2.5 2 [[1], [2]]\n")
expect("in a model", run("data y, N; assume m = normal(0, 1); observe normal(m, 1) = y[0]; sample N + y[2];", "-d", "d.json"), "1\n")
expect("declared and missing", run("data N, w;", "-d", "N=3"), "the data that were given have the names N", 1)
expect("declared, nothing given", run("data N;"), "give the data", 1)
expect("`data` is a name", run("define data = 3; data;"), "3\n")
expect("defined again", run("define N = 3;", "-d", "N=4"), "error[E0401]: `N` is data", 1)
expect("ragged", run("1", "-d", "ragged.json"), "ragged.json: y: the rows have different lengths: row 0 has 2 elements, row 1 has 1", 1)
expect("ragged further in", run("1", "-d", "deep.json"), "deep.json: y.q[1]: its shape differs", 1)
expect("a key twice", run("1", "-d", "twice.json"), "twice.json: line 2", 1)
expect("syntax", run("1", "-d", "comma.json"), "comma.json: line 1, column 13", 1)
expect("no names", run("1", "-d", "list.json"), "data must have names", 1)
expect("bare NaN is no JSON", run("1", "-d", "nan.json"), "nan.json: line 1", 1)
expect("no file", run("1", "-d", "none.json"), "cannot read none.json", 1)
expect("no value", run("1", "-d", "n=[1,"), "data: line 1", 1)
expect("read_json of nothing", run('read_json("none.json");'), "error[E0701]: read_json: cannot read", 1)

open("p.vnts", "w").write("assume x = normal(0, 1); observe normal(x, 1) = N + a[1];\n"
                          "infer accumulate_dataset(5, do(mh(default, one, 3), collect(x)));\n")
subprocess.run([TOOL, "run", "-q", "-d", "N=2", "-d", "d.csv", "--out", "run", "p.vnts"], check=True, stdout=subprocess.DEVNULL)
kept = open("run/chain-1.csv").read()
manifest = json.load(open("run/manifest.json"))
if manifest.get("data") != ["N=2", os.path.realpath("d.csv")]: bad.append("manifest: %r" % manifest.get("data"))
if not any(f["path"].endswith("d.csv") for f in manifest["files"]): bad.append("the data file is not among those read")
open("run/chain-1.csv", "w").write(kept[:len(kept) // 2])
r = subprocess.run([TOOL, "resume", os.path.abspath("run")], cwd="/", capture_output=True, text=True)
if r.returncode or open("run/chain-1.csv").read() != kept: bad.append("resume with data: %s" % r.stderr)
print("\n".join(bad) if bad else "data: all fine")
sys.exit(bool(bad))
