#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Long series keep their past: 20,000 minutes with a daily cycle, a rough function and noise of known size. The structure learner
averages them over steps and says so, finds the cycle, its period and the rough function; a GP on every minute, by filters, finds their
parameters. Argument: the tool."""
import json, math, os, random, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
N, DAY, MEMORY = 20000, 1440.0, 180.0


def run(*args):
    r = subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=400)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout


def series(seed):
    """3 sin + sin of twice the frequency, an Ornstein-Uhlenbeck process of sd 1 and memory 3 hours, noise of sd 0.5."""
    r = random.Random(seed)
    phi, ou, out = math.exp(-1 / MEMORY), r.gauss(0, 1), []
    for i in range(N):
        a = 2 * math.pi * i / DAY
        out.append(20 + 3 * math.sin(a) + math.sin(2 * a + 1) + ou + r.gauss(0, 0.5))
        ou = phi * ou + math.sqrt(1 - phi * phi) * r.gauss(0, 1)
    return out


def stamp(i):
    return "2024-01-%02dT%02d:%02d" % (1 + i // 1440, i // 60 % 24, i % 60)


def check_learner(y, tmp):
    path = os.path.join(tmp, "minutes.csv")
    with open(path, "w") as f:
        f.write("time,y\n" + "".join("%s,%.3f\n" % (stamp(i), v) for i, v in enumerate(y)))
    text = run("discover", "-q", path)
    first = text.splitlines()[0]
    assert "means over 30min of 20000 rows" in first and "from 2024-01-01T00:00" in first, first
    top = re.search(r"This structure, (\S.*?), has", text).group(1)
    assert "PER" in top and re.search("MAT12|WIENER|SE|IOU", top), text
    assert "It repeats every day." in text, text


def check_filters(y, tmp):
    """The likelihood of all minutes in the language: best near the parameters that made them, by filters and in a moment."""
    path = os.path.join(tmp, "pairs.csv")
    with open(path, "w") as f:
        f.write("x,y\n" + "".join("%d,%.6f\n" % (i, v - 20) for i, v in enumerate(y)))
    program = """
define rows = read_series("%s", every="none");
assume f = make_gp(parse("PER(sf=2.3, p=1440, l=1) + MAT12(sf=%g, l=%g)"), noise=%g);
observe f(map(proc(r) { r[0] }, rows)) = map(proc(r) { r[1] }, rows);
run(global_log_likelihood());
"""
    def ll(sf, l, noise):
        name = os.path.join(tmp, "long.vnts")
        with open(name, "w") as f:
            f.write(program % (path, sf, l, noise))
        return float(run("run", name).split()[-1].strip("[]"))
    best = ll(1, MEMORY, 0.5)
    for other in (0.7, MEMORY, 0.5), (1.5, MEMORY, 0.5), (1, MEMORY / 2.5, 0.5), (1, MEMORY * 2.5, 0.5), (1, MEMORY, 0.47), (1, MEMORY, 0.53):
        assert ll(*other) < best - 3, (other, ll(*other), best)


with tempfile.TemporaryDirectory() as tmp:
    y = series(1)
    check_filters(y, tmp)
    check_learner(y, tmp)
print("20000 minutes: daily cycle, rough function and noise found, as means over 30 minutes and one by one")
