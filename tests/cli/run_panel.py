#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Several series of one file, long and wide: the same answers as one by one, one bad series stops no other, shared priors."""
import json, math, os, random, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
KEYS = ["Berlin", "São Paulo", "a/b", "a b", "../up", ""]


def run(*args, status=0):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    assert r.returncode == status, (args, r.returncode, r.stderr[-500:], r.stdout[-500:])
    return r


def value(s, i, rng): return 20 + 5 * s + (0.1 if s % 2 else -0.1) * i + 3 * math.sin(i * math.pi / 6) + rng.gauss(0, 0.8)


def write_all():
    rng = random.Random(5)
    table = [[round(value(s, i, rng), 2) for i in range(36)] for s in range(6)]
    with open("long.csv", "w") as f:
        f.write("place;month;sales\r\n")
        for i in range(36):  # mixed, as such files are
            for s in range(6): f.write("%s;%d/%d;%s\r\n" % (KEYS[s], i % 12 + 1, 2001 + i // 12, str(table[s][i]).replace(".", ",")))
        f.write("short;1/2001;3,5\r\n")
    with open("wide.csv", "w") as f:
        f.write("month," + ",".join("c%d" % s for s in range(6)) + ",flat\n")
        for i in range(36): f.write("%d-%02d,%s,7\n" % (2001 + i // 12, i % 12 + 1, ",".join(str(table[s][i]) for s in range(6))))
    for s in range(6):
        with open("one%d.csv" % s, "w") as f:
            f.write("month,sales\n" + "".join("%d-%02d,%s\n" % (2001 + i // 12, i % 12 + 1, table[s][i]) for i in range(36)))


def evidence(result): return result["structures"][0]["log_evidence"]


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    write_all()
    K = ("--kernels", "LIN PER")
    apart = json.loads(run("discover", "long.csv", "--by", "place", "--independent", *K, "--json", "-").stdout)
    wide = json.loads(run("discover", "wide.csv", "--wide", "--independent", *K, "--json", "-").stdout)
    assert [m["key"] for m in apart["panel"]] == KEYS + ["short"] and "too few" in apart["panel"][6]["error"], apart["panel"][6]
    assert wide["panel"][6]["key"] == "flat" and "constant" in wide["panel"][6]["error"], wide["panel"][6]
    for s in range(6):
        one = json.loads(run("discover", "one%d.csv" % s, *K, "--json", "-").stdout)
        for other in (apart, wide):
            got = other["panel"][s]["result"]
            assert got["structures"] == one["structures"], (s, got["structures"][:2], one["structures"][:2])
            assert got["forecast"]["median"] == one["forecast"]["median"], s
        assert apart["panel"][s]["result"]["forecast"]["x"][0] == "1/2004", apart["panel"][s]["result"]["forecast"]["x"][0]
    out = run("discover", "long.csv", "--by", "place", *K, "--json", "p.json", "-o", "kept").stdout
    shared = json.load(open("p.json"))
    assert "7 series by 'place', 1 of them without a result; hyper-parameters have priors learnt from all" in out and shared["shared"], out[:300]
    # what is learnt from all of them suits them better than what is assumed of any series
    gain = sum(evidence(a["result"]) - evidence(b["result"]) for a, b in zip(shared["panel"][:6], apart["panel"][:6]))
    assert gain > 2, gain
    # every run is kept under a name of its own, inside the folder
    kept = sorted(os.listdir("kept"))
    assert len(kept) == 6 and all("manifest.json" in os.listdir(os.path.join("kept", k)) for k in kept), kept
    assert sorted(os.listdir(".")) == sorted(["kept", "long.csv", "wide.csv", "p.json"] + ["one%d.csv" % s for s in range(6)]), os.listdir(".")
    again = json.loads(run("report", "kept/Berlin", "--format", "json").stdout)
    assert again["structures"] == shared["panel"][0]["result"]["structures"] and again["forecast"] == shared["panel"][0]["result"]["forecast"]
    assert run("forecast", "kept/Berlin", "-n", "1").stdout.split("\n")[1].startswith("1/2004,")
    # the page of all: every series once, with a chart of its own, and why one has none; what is foreign is escaped
    run("discover", "long.csv", "--by", "place", *K, "--html", "p.html", "-q")
    page = open("p.html").read()
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)
    for i, key in enumerate(KEYS):
        assert '<a href="#series%d">%s</a>' % (i + 1, key or "(no name)") in page and "<h2>%s</h2>" % (key or "(no name)") in page, key
    assert page.count("data-chart") >= 6 and page.count("Forecast as a table") == 6 and "no result: long.csv: 1 value is too few" in page
    assert "per month (95%" in page and "by &#39;place&#39;" in page
    with open("evil.csv", "w") as f:
        f.write("k,t,y\n" + "".join('"<script>alert(%d)</script>",%d,%d\n' % (s, i, (i * 7 + s) % 11 + i) for s in range(3) for i in range(20)))
    run("discover", "evil.csv", "--by", "k", *K, "--html", "evil.html", "-q")
    assert "<script>alert" not in open("evil.html").read()
    for name in ("p.html", "evil.html", "evil.csv"): os.remove(name)
    for args, why in ((("--by", "place", "--markdown", "x.md"), "folders"), (("--by", "nowhere"), "no column 'nowhere'"), (("--wide", "--by", "place"), "folders"),
                      (("--wide", "--column", "2"), "choose none"), (("--by", "sales"), "no series of the panel")):
        err = run("discover", "long.csv", *args, status=2).stderr
        assert why in err, (args, err)
print("panel: fine")
