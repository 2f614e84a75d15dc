#!/usr/bin/python3
"""Intervals of `gpmem discover` where changes go on after the data: structure_further.py GPMEM [KIND...] [--series N] [--every K]

Kinds: shift40, shift100 (the level shifts with that probability, by N(0, 5^2) and N(0, 6^2)), slope60 (the slope changes by
N(0, .3^2)), one (one shift of 5 and no other), each 120 values with noise of 1 and 24 ahead; m3: inside the training parts of the
M3 competition, five origins (choices must not see the test parts). Only forecasts in which a change has a probability of .1 or
more count. Prints forecasts, share inside the 95% interval with its standard error, interval score and mean width; in units of
the noise, for M3 of the seasonal naive forecast's error."""
import argparse, json, math, os, random, runpy, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CHANGES = {"shift40": (1 / 40, 5, 0), "shift100": (1 / 100, 6, 0), "slope60": (1 / 60, 0, 0.3), "one": (0, 0, 0)}


def generated(kind, seed, n=120, ahead=24):
    r, (p, shift, bend) = random.Random("%s%d" % (kind, seed)), CHANGES[kind]
    first, up, level, slope, rows = r.randrange(30, 90), r.choice((-1, 1)), 0, 0, []
    for i in range(n + ahead):
        if p and r.random() < p:
            if shift:
                level += r.gauss(0, shift)
            else:
                slope += r.gauss(0, bend)
        if kind == "one" and i == first:
            level += 5 * up
        level += slope
        rows.append((i + 1, round(20 + level + r.gauss(0, 1), 3)))
    return rows[:n], rows[n:], 1.0


def inside_m3():
    m = runpy.run_path(os.path.join(HERE, "structure_m3.py"), run_name="m3")
    train = m["read"]("train.csv")
    for name in sorted(train):
        for back in (None, 9, 18, 27, 36):
            case = m["inner"](train[name], back, False)
            if case and len(case[0]) >= 48:  # changes are looked for from there on
                scale = m["scale_of"]([y for _, _, y in case[0]], m["LAG"][case[0][0][0]])
                yield [r[1:] for r in case[0]], [r[1:] for r in case[1]], scale


def score(tool, tmp, train, test, scale):
    """Share inside, interval score, width; None: no change."""
    path, js = os.path.join(tmp, "d.csv"), os.path.join(tmp, "d.json")
    with open(path, "w") as f:
        f.write("date,y\n" + "".join("%s,%r\n" % row for row in train))
    subprocess.run([tool, "discover", path, "--horizon", str(len(test)), "--json", js, "-q", "-j", "1", "--max-time", "30"], check=True)
    d = json.load(open(js))
    if max([m["probability"] for m in d["motifs"] if m["motif"] == "change"], default=0) < 0.1:
        return None
    lo, hi, ys, n = d["forecast"]["lo"], d["forecast"]["hi"], [y for _, y in test], len(test)
    beyond = sum(max(l - y, 0) + max(y - h, 0) for y, l, h in zip(ys, lo, hi))
    width = sum(h - l for l, h in zip(lo, hi))
    return sum(l <= y <= h for y, l, h in zip(ys, lo, hi)) / n, (width + 40 * beyond) / n / scale, width / n / scale


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("tool")
    a.add_argument("kind", nargs="*", default=list(CHANGES))
    a.add_argument("--series", type=int, default=60)
    a.add_argument("--every", type=int, default=1)
    o = a.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        for kind in o.kind:
            cases = inside_m3() if kind == "m3" else (generated(kind, s) for s in range(o.series))
            rows = [r for r in (score(o.tool, tmp, *c) for c in list(cases)[::o.every]) if r]
            m = [sum(r[k] for r in rows) / len(rows) for k in range(3)]
            se = math.sqrt(sum((r[0] - m[0]) ** 2 for r in rows) / len(rows) / max(len(rows) - 1, 1))
            print("%-9s %3d forecasts: inside %.3f +- %.3f, interval score %.2f, width %.2f" % (kind, len(rows), m[0], se, m[1], m[2]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
