#!/usr/bin/python3
"""discover --max-time is kept for long series with every value: hourly values with a daily cycle on a line. The limit is
one of the wall clock, and reports and predictions come after it, so what is bounded is the processor time, generously."""
import csv, datetime, io, json, math, os, random, resource, subprocess, sys, tempfile

TOOL = sys.argv[1]


def series(path, n):
    rng, start = random.Random(n), datetime.datetime(2015, 1, 1)
    with open(path, "w") as f:
        f.write("time,y\n")
        for i in range(n):
            y = 10 + 3 * math.sin(2 * math.pi * i / 24) + 5 * i / n + rng.gauss(0, 1)
            f.write("%s,%.4f\n" % ((start + datetime.timedelta(hours=i)).strftime("%Y-%m-%d %H:%M"), y))


def run(*args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert r.returncode == 0, (args, r.returncode, r.stderr)
    return r.stdout, after.ru_utime - before.ru_utime


def main():
    with tempfile.TemporaryDirectory() as tmp:
        path, kept = os.path.join(tmp, "s.csv"), os.path.join(tmp, "run")
        for n, seconds in ((3000, 4), (9000, 6)):
            series(path, n)
            text, cpu = run("discover", path, "-q", "-j", "1", "--every", "none", "--max-time", str(seconds),
                            "--out", kept + str(n), "--json", "-")
            d = json.loads(text)
            print("%d values, --max-time %d: %.1f s of the processor, %s" % (n, seconds, cpu, d["structures"][0]["struct"]))
            assert cpu < 4 * seconds + 12, (n, cpu)
            assert all(math.isfinite(s["log_evidence"]) for s in d["structures"]), d["structures"]
            rows = list(csv.DictReader(io.StringIO(run("forecast", kept + str(n), "--horizon", "24")[0])))
            assert len(rows) == 24 and all(float(r["lo"]) < float(r["median"]) < float(r["hi"]) for r in rows), rows
            # whatever has been found by then, values lie in its intervals
            inside = sum(float(r["lo"]) < 15 + 3 * math.sin(2 * math.pi * (n + k) / 24) < float(r["hi"]) for k, r in enumerate(rows))
            assert inside >= 22, (n, inside, rows)


main()
