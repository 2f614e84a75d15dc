#!/usr/bin/python3
"""Does `gpmem discover` say the same for every seed? structure_seeds.py GPMEM [SEEDS [FILE...]]

For each series: the most probable structure for every seed, its probability and stated error, how many seeds
agree on the structure and lie within their own error of the mean over seeds, and the CPU and wall seconds."""
import json, os, resource, subprocess, sys, tempfile, time

tool = sys.argv[1]
seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
files = sys.argv[3:] or [os.path.join(root, "airline.csv"), os.path.join(root, "co2.csv")]
bad = False
for path in files:
    runs = []
    with tempfile.TemporaryDirectory() as tmp:
        for s in range(1, seeds + 1):
            js = os.path.join(tmp, "r.json")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            t = time.time()
            subprocess.run([tool, "discover", path, "--seed", str(s), "--json", js, "-q"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            d = json.load(open(js))
            top = d["structures"][0]
            runs.append((top["struct"], top["probability"], top["error"], d["settled"], time.time() - t,
                         after.ru_utime - before.ru_utime))
            print("%s seed %2d: %.4f +- %.4f %s settled %s, %.1f s wall, %.1f s CPU" % (
                os.path.basename(path), s, top["probability"], top["error"], top["struct"], d["settled"],
                runs[-1][4], runs[-1][5]), flush=True)
    names = [r[0] for r in runs]
    best = max(set(names), key=names.count)
    mean = sum(r[1] for r in runs if r[0] == best) / names.count(best)
    good = sum(r[0] == best and abs(r[1] - mean) <= r[2] for r in runs)
    print("%s: %d of %d seeds say %s with probability %.4f within their error; mean CPU %.1f s" % (
        os.path.basename(path), good, seeds, best, mean, sum(r[5] for r in runs) / seeds), flush=True)
    bad |= good < 0.9 * seeds
sys.exit(1 if bad else 0)
