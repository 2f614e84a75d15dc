#!/usr/bin/python3
"""Single-site Metropolis-Hastings beside WebPPL and JAGS, and how a step scales with the program.

    bench/lang.py GPMEM_BINARY

Prints Markdown tables of ratios measured in this run. WebPPL comes from npm (bench/node_modules,
installed when missing), JAGS from Debian; a peer that cannot be had is named as missing."""
import json, os, re, shutil, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
GPMEM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../build/gpmem"))
N = 1000
DATA = [(i / N, 1 + 2 * i / N + 0.1 * ((i * 7919) % 101 / 50 - 1)) for i in range(N)]


def cpu(cmd, **kw):
    """User CPU seconds of a command (children of this process, difference of the sums)."""
    t0 = os.times()
    subprocess.run(cmd, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    t1 = os.times()
    return (t1.children_user - t0.children_user) + (t1.children_system - t0.children_system)


def per_step(make, few, many, repeats=3):
    """Seconds per step from the difference of a long and a short run: start-up drops out."""
    best = []
    for _ in range(repeats):
        a, b = cpu(make(few)), cpu(make(many))
        best.append((b - a) / (many - few))
    return sorted(best)[len(best) // 2], min(best), max(best)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def ours_regression(tmp):
    head = "assume a = normal(0, 10);\nassume b = normal(0, 10);\nassume s = gamma(1, 1);\ndefine data = [%s];\n" % ", ".join(
        "[%r, %r]" % d for d in DATA)
    loop = "for (i = 0; i < %d; i++) { observe normal(a + b * unquote(lookup(lookup(data, i), 0)), s) = lookup(lookup(data, i), 1) };\n" % N
    return lambda k: [GPMEM, "run", "-q", write(os.path.join(tmp, "r%d.vnts" % k), head + loop + "infer mh(default, one, %d);\n" % k)]


def ours_nuts(tmp):
    """The same regression; transitions after warm-up are counted (the difference of two runs)."""
    make = ours_regression(tmp)

    def run(k):
        path = make(1)[-1]
        with open(path) as f:
            text = f.read().replace("infer mh(default, one, 1);", "infer nuts(default, all, 300, %d);" % k)
        return [GPMEM, "run", "-q", write(os.path.join(tmp, "n%d.vnts" % k), text)]
    return run


def webppl():
    """The program, or None."""
    exe = os.path.join(HERE, "node_modules/.bin/webppl")
    if not os.path.exists(exe) and shutil.which("npm"):
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-save", "--prefix", HERE, "webppl@0.9.15"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return exe if os.path.exists(exe) else None


def ours_expressions(tmp):
    text = """assume grow = proc(d) { if (flip(0.4) || d > 6) { list("c", normal(0, 2)) } else {
  if (flip(0.3)) { list("x") } else { list("p", grow(d + 1), grow(d + 1)) } } };
assume ev = proc(e, x) { if (first(e) == "c") { second(e) } else {
  if (first(e) == "x") { x } else { ev(second(e), x) + ev(e[2], x) } } };
assume e = grow(0);
infer for_each(arange(10), proc(i) { observe normal(ev(e, $i), 1) = 2 * i + 1 });
infer mh(default, one, %d);
"""
    return lambda k: [GPMEM, "run", "-q", write(os.path.join(tmp, "e%d.vnts" % k), text % k)]


def webppl_expressions(tmp, exe):
    text = """var grow = function(d) {
  if (flip(0.4) || d > 6) { return ["c", gaussian(0, 2)] }
  else if (flip(0.3)) { return ["x"] } else { return ["p", grow(d + 1), grow(d + 1)] }
};
var ev = function(e, x) { return e[0] == "c" ? e[1] : (e[0] == "x" ? x : ev(e[1], x) + ev(e[2], x)) };
var model = function() {
  var e = grow(0);
  map(function(i) { observe(Gaussian({mu: ev(e, i), sigma: 1}), 2 * i + 1) }, _.range(10));
  return e;
};
Infer({method: 'MCMC', kernel: 'MH', samples: %d, onlyMAP: true, model: model}); 0
"""
    return lambda k: [exe, write(os.path.join(tmp, "e%d.wppl" % k), text % k)]


def filters(tmp, exe):
    """CPU seconds of a bootstrap filter, 200 particles over 300 steps, start-up included."""
    ys = [(i * 7919) % 101 / 25 for i in range(300)]  # WebPPL's compiler dies of negative numbers in a long array
    text = """infer resample(200);
assume x = mem(proc(t) { if (t == 0) { normal(0, 1) } else { normal(0.9 * x(t - 1), 1) } });
infer for_each_indexed(%s, proc(t, y) { do(observe normal(x($t), 1) = y - 2, resample(200)) });
"""
    ours = cpu([GPMEM, "run", "-q", write(os.path.join(tmp, "f.vnts"), text % json.dumps(ys))])
    text = """var ys = %s;
var step = function(t, x) {
  if (t == ys.length) { return x } else {
    var z = gaussian(0.9 * x, 1);
    observe(Gaussian({mu: z, sigma: 1}), ys[t] - 2);
    return step(t + 1, z);
  }
};
Infer({method: 'SMC', particles: 200, model: function() { return step(0, 0) }}); 0
"""
    return ours, cpu([exe, write(os.path.join(tmp, "f.wppl"), text % json.dumps(ys))]) if exe else float("nan")


def structures(tmp):
    exe = webppl()
    print("\nExpressions of random shape under ten observations, single-site steps; a bootstrap filter of 200 particles over 300 steps.\n")
    print("| program | gpmem | WebPPL |\n|---|---|---|")
    ours, lo, hi = per_step(ours_expressions(tmp), 2000, 42000)
    theirs = per_step(webppl_expressions(tmp, exe), 5000, 105000) if exe else (float("nan"),) * 3
    print("| expressions, microseconds per step | %.1f (%.1f to %.1f) | %.1f (%.1f to %.1f) |" % tuple(1e6 * v for v in (ours, lo, hi) + theirs))
    print("| filter, seconds of CPU with the start | %.2f | %.2f |" % filters(tmp, exe))


def webppl_regression(tmp):
    exe = webppl()
    if not exe:
        return None
    text = """var xs = %s; var ys = %s;
var model = function() {
  var a = gaussian(0, 10), b = gaussian(0, 10), s = gamma(1, 1);
  map2(function(x, y) { observe(Gaussian({mu: a + b * x, sigma: s}), y) }, xs, ys);
  return a;
};
Infer({method: 'MCMC', kernel: 'MH', samples: %d, onlyMAP: true, model: model}); 0
"""
    xs, ys = json.dumps([d[0] for d in DATA]), json.dumps([d[1] for d in DATA])
    return lambda k: [exe, write(os.path.join(tmp, "r%d.wppl" % k), text % (xs, ys, k))]


def jags_regression(tmp):
    if not shutil.which("jags"):
        return None
    write(os.path.join(tmp, "r.bug"), "model { a ~ dnorm(0, 0.01)\n b ~ dnorm(0, 0.01)\n s ~ dgamma(1, 1)\n"
          "for (i in 1:%d) { y[i] ~ dnorm(a + b * x[i], 1 / (s * s)) } }\n" % N)
    write(os.path.join(tmp, "r.data"), "x <- c(%s)\ny <- c(%s)\n" % (", ".join("%r" % d[0] for d in DATA), ", ".join("%r" % d[1] for d in DATA)))

    def make(k):
        return ["jags", write(os.path.join(tmp, "r%d.cmd" % k), 'model in "%s/r.bug"\ndata in "%s/r.data"\ncompile\ninitialize\nupdate %d\nexit\n' % (tmp, tmp, k))]
    return make


def hmm(tmp, states):
    text = ("assume x = mem(proc(i) { if (i == 0) { normal(0, 1) } else { normal(x(i - 1), 1) } });\n"
            "for (i = 0; i < %d; i++) { observe normal(x(unquote(i)), 1) = sin(i / 10) };\ninfer mh(default, one, %%d);\n" % states)
    return lambda k: [GPMEM, "run", "-q", write(os.path.join(tmp, "h%d_%d.vnts" % (states, k)), text % k)]


def jags_hmm(tmp, states):
    if not shutil.which("jags"):
        return None
    write(os.path.join(tmp, "h%d.bug" % states), "model { x[1] ~ dnorm(0, 1)\nfor (i in 2:%d) { x[i] ~ dnorm(x[i-1], 1) }\nfor (i in 1:%d) { y[i] ~ dnorm(x[i], 1) } }\n" % (states, states))
    import math
    write(os.path.join(tmp, "h%d.data" % states), "y <- c(%s)\n" % ", ".join("%r" % math.sin(i / 10) for i in range(states)))
    return lambda k: ["jags", write(os.path.join(tmp, "h%d_%d.cmd" % (states, k)),
                                   'model in "%s/h%d.bug"\ndata in "%s/h%d.data"\ncompile\ninitialize\nupdate %d\nexit\n' % (tmp, states, tmp, states, k))]


def main():
    with tempfile.TemporaryDirectory() as tmp:
        print("## The language beside its peers\n")
        print("Linear regression, %d observations, 3 parameters; one step proposes to one parameter.\n" % N)
        ours, lo, hi = per_step(ours_regression(tmp), 2000, 42000)
        print("| system | microseconds per step | steps per second beside ours |\n|---|---|---|")
        print("| gpmem `mh(default, one, n)` | %.1f (%.1f to %.1f) | 1 |" % (ours * 1e6, lo * 1e6, hi * 1e6))
        make = webppl_regression(tmp)
        if make:
            w, lo, hi = per_step(make, 100, 1100)
            print("| WebPPL 0.9.15 single-site MH | %.0f (%.0f to %.0f) | 1/%.0f |" % (w * 1e6, lo * 1e6, hi * 1e6, w / ours))
        else:
            print("| WebPPL | not to be had here | |")
        make = jags_regression(tmp)
        if make:
            j, lo, hi = per_step(make, 100, 2100)
            print("| JAGS (its own samplers; an update of 3 parameters counted as 3 steps) | %.1f (%.1f to %.1f) | 1/%.1f |" % (j / 3 * 1e6, lo / 3 * 1e6, hi / 3 * 1e6, j / 3 / ours))
        else:
            print("| JAGS | not to be had here | |")
        ms, lo, hi = (1e3 * v for v in per_step(ours_nuts(tmp), 300, 2300))
        print("\n`nuts` on the same regression, a transition after warm-up: %.2f ms (%.2f to %.2f)." % (ms, lo, hi))
        print("\nHidden Markov chain with Gaussian states, single-site steps. The first visit of a choice makes its plan, so the time of a\n"
              "step is that of steps 1,000,001 to 6,000,001; the plans are a column of their own.\n")
        print("| states | gpmem microseconds per step | ratio to 100 states | making the plans, ms | JAGS microseconds per state update |\n|---|---|---|---|---|")
        first, first_many = None, 1000001
        for states in (100, 1000, 10000):
            make = hmm(tmp, states)
            s, lo, hi = per_step(make, first_many, 6 * first_many, 5)
            plans = min(cpu(make(first_many)) for _ in range(3)) - min(cpu(make(1)) for _ in range(3)) - first_many * s
            make = jags_hmm(tmp, states)
            j = per_step(make, 10, 10 + 5000000 // states)[0] / states * 1e6 if make else float("nan")
            first = first or s
            print("| %d | %.3f (%.3f to %.3f) | %.2f | %.0f | %.2f |" % (states, s * 1e6, lo * 1e6, hi * 1e6, s / first, max(0, plans * 1e3), j))
        structures(tmp)
        out = subprocess.run([GPMEM, "run", write(os.path.join(tmp, "m.vnts"), "assume mu = normal(0, 1);\nfor (i = 0; i < 10000; i++) { observe normal(mu, 1) = 0.5 };\ntrace_memory();\n")],
                             stdout=subprocess.PIPE, universal_newlines=True).stdout
        print("\nMemory: %s" % out.strip())


if __name__ == "__main__":
    main()
