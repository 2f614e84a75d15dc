#!/usr/bin/python3
"""Intervals of `gpmem discover` where changes go on after the data: structure_further.py GPMEM [KIND...] [--series N] [--every K]
[--first N] [--beside GPMEM]

Kinds: shift40, shift100 (the level shifts with that probability, by N(0, 5^2) and N(0, 6^2)), slope60 (the slope changes by
N(0, .3^2)), one (one shift of 5 and no other), each 120 values with noise of 1 and 24 ahead; m3: inside the training parts of the
M3 competition, five origins (choices must not see the test parts). Regimes that switch with probability 1/60 at each of 180
values: moves (a rough function of size 4 and memory 10 beside a slow walk, in one of the two regimes alone), walks (steps of .2 in
one regime, of 1.5 in the other), waves (a pattern of twelve steps in one of them), louder (noise of 1 and of 4); steady has none. --beside: the
forecasts of another version from the same runs. Only forecasts in which a change has a probability of .1 or
more count. Prints forecasts, share inside the 95% interval with its standard error, interval score and mean width; in units of
the noise, for M3 of the seasonal naive forecast's error."""
import argparse, json, math, os, random, runpy, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CHANGES = {"shift40": (1 / 40, 5, 0), "shift100": (1 / 100, 6, 0), "slope60": (1 / 60, 0, 0.3), "one": (0, 0, 0)}
REGIMES = ("moves", "walks", "waves", "louder", "steady")


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


def regimes(kind, seed, n=180, ahead=24):
    r, rows, level, rough = random.Random("%s%d" % (kind, seed)), [], 0, 0
    pattern, on = [r.gauss(0, 3) for _ in range(12)], r.random() < 0.5
    for i in range(n + ahead):
        on ^= r.random() < 1 / 60
        rough = math.exp(-0.1) * rough + math.sqrt(1 - math.exp(-0.2)) * r.gauss(0, 4)
        level += r.gauss(0, 1.5 if kind == "walks" and on else 0.2)
        y = {"moves": rough, "waves": pattern[i % 12]}.get(kind, 0) if on else 0
        rows.append((i + 1, round(20 + level + y + r.gauss(0, 4 if kind == "louder" and on else 1), 3)))
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


def measures(test, lo, hi, scale):
    """Share inside, interval score, width."""
    ys, n = [y for _, y in test], len(test)
    beyond = sum(max(l - y, 0) + max(y - h, 0) for y, l, h in zip(ys, lo, hi))
    width = sum(h - l for l, h in zip(lo, hi))
    return sum(l <= y <= h for y, l, h in zip(ys, lo, hi)) / n, (width + 40 * beyond) / n / scale, width / n / scale


def score(tools, tmp, train, test, scale):
    """What is measured of each version's forecast; None: no change."""
    path, js, run, out = os.path.join(tmp, "d.csv"), os.path.join(tmp, "d.json"), os.path.join(tempfile.mkdtemp(dir=tmp), "run"), []
    with open(path, "w") as f:
        f.write("date,y\n" + "".join("%s,%r\n" % row for row in train))
    subprocess.run([tools[0], "discover", path, "--horizon", str(len(test)), "--json", js, "--out", run, "-q", "-j", "1", "--max-time", "30"], check=True)
    if max([m["probability"] for m in json.load(open(js))["motifs"] if m["motif"] == "change"], default=0) < 0.1:
        return None
    for tool in tools:
        r = subprocess.run([tool, "forecast", run, "--horizon", str(len(test)), "-q"], check=True, capture_output=True, text=True)
        rows = [[float(v) for v in row.split(",")[-2:]] for row in r.stdout.splitlines()[1:]]
        out.append(measures(test, *zip(*rows), scale))
    return out


def told(kind, name, rows):
    m = [sum(r[k] for r in rows) / len(rows) for k in range(3)]
    se = math.sqrt(sum((r[0] - m[0]) ** 2 for r in rows) / len(rows) / max(len(rows) - 1, 1))
    print("%-9s %3d forecasts: inside %.3f +- %.3f, interval score %.2f, width %.2f%s" % (kind, len(rows), m[0], se, m[1], m[2], name), flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("tool")
    a.add_argument("kind", nargs="*", default=list(CHANGES))
    a.add_argument("--series", type=int, default=60)
    a.add_argument("--every", type=int, default=1)
    a.add_argument("--first", type=int, default=0)
    a.add_argument("--beside")
    o = a.parse_args()
    tools = [o.tool] + ([o.beside] if o.beside else [])
    with tempfile.TemporaryDirectory() as tmp:
        for kind in o.kind:
            made = regimes if kind in REGIMES else generated
            cases = inside_m3() if kind == "m3" else (made(kind, s) for s in range(o.first, o.first + o.series))
            rows = [r for r in (score(tools, tmp, *c) for c in list(cases)[::o.every]) if r]
            for k in range(len(tools) if rows else 0):
                told(kind, ", by " + o.beside if k else "", [r[k] for r in rows])


if __name__ == "__main__":
    sys.exit(main())
