#!/usr/bin/python3
"""What each part of a search gives: series of the M3 competition, with one part after the other switched off.

structure_ablation.py GPMEM [--data DIR] [--every K] [--from I] [--seed S] [--json FILE] [--off FIELD=VALUE[,FIELD=VALUE...]]...

GPMEM is a build with -DGPMEM_ABLATION=ON: it takes fields of a precision (src/apps/discover/precision.h) from
GPMEM_PRECISION. One process at a time, one thread: likelihoods are exact, CPU seconds are those of a quiet machine.
Columns: likelihoods, CPU seconds, mean MASE and interval score; their differences to the whole search, with the standard
error over series; the mean over series of the largest change of a motif's probability; series that have settled.
--json keeps what is done; a run goes on there. A part is removed, or switched off, where nothing that it changes is larger
than two standard errors; a share of the series may mislead, so the last word has --every 1."""
import argparse, json, math, os, sys, tempfile

import structure_m3 as m3

PARTS = ["lend=0", "widen=0", "looks=0", "more=0", "mends=0", "suggested=0", "window=2", "prune=6"]


def one(tool, name, train, test, seed, off, tmp):
    os.environ["GPMEM_PRECISION"] = off
    row = m3.run(tool, name, train, test, seed, [], tmp)
    if "error" not in row:
        d = json.load(open(os.path.join(tmp, name + ".json")))
        row["motifs"] = {m["motif"]: m["probability"] for m in d["motifs"]}
    return row


def difference(rows, base, key):
    d = [r[key] - b[key] for r, b in zip(rows, base)]
    mean = m3.mean(d)
    return "%+.3f ± %.3f" % (mean, math.sqrt(sum((x - mean) ** 2 for x in d) / max(len(d) - 1, 1) / len(d)))


def moved(row, base):
    a, b = row["motifs"], base["motifs"]
    return max([abs(a.get(k, 0) - b.get(k, 0)) for k in a.keys() | b.keys()], default=0)


def line(name, rows, base):
    both = [(r, b) for r, b in zip(rows, base) if "error" not in r and "error" not in b]
    rows, base = [r for r, _ in both], [b for _, b in both]
    cells = [name, "%d" % sum(r["likelihoods"] for r in rows), "%.1f" % sum(r["cpu"] for r in rows),
             "%.3f" % m3.mean([r["mase"] for r in rows]), difference(rows, base, "mase"),
             "%.2f" % m3.mean([r["interval"] for r in rows]), difference(rows, base, "interval"),
             "%.3f" % m3.mean([moved(r, b) for r, b in both]),
             "%d of %d" % (sum(r["settled"] for r in rows), len(rows))]
    print("| %s |" % " | ".join(cells), flush=True)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("tool")
    a.add_argument("--data", default=m3.ROOT)
    a.add_argument("--every", type=int, default=5)
    a.add_argument("--from", type=int, default=0, dest="first")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--json")
    a.add_argument("--off", action="append")
    o = a.parse_args()
    m3.set_data(o.data)
    train, test = m3.read("train.csv"), m3.read("test.csv")
    names = sorted(train)[o.first::o.every]
    done = json.load(open(o.json)) if o.json and os.path.exists(o.json) else {}
    print("| off | likelihoods | CPU s | MASE | difference | interval score | difference | motif | settled |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    base = None
    with tempfile.TemporaryDirectory() as tmp:
        for off in [""] + (o.off or PARTS):
            rows = done.setdefault(off, {})
            for name in names:
                if name not in rows:
                    rows[name] = one(os.path.abspath(o.tool), name, train[name], test[name], o.seed, off, tmp)
                    if o.json:
                        m3.keep(o.json, done)
            base = base or [rows[name] for name in names]
            line(off or "nothing", [rows[name] for name in names], base)


if __name__ == "__main__":
    sys.exit(main())
