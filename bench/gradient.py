#!/usr/bin/python3
"""Time of one gradient of the log density, for models written on vectors and the same models written one observation at a
time: gradient.py GPMEM. CPU time of `hmc` over two numbers of transitions; start, compilation and the first transitions drop
out. The ratio of the two ways is that of one run on one machine. Prints Markdown."""
import math, os, random, resource, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
STEPS, FEW, MANY = 20, 20, 420 # leapfrog steps: 1 to STEPS, as likely, and one gradient at the start


def vector(xs): return "vector(%s)" % ", ".join("%.6g" % x for x in xs)


def regression(r, n, k):
    x = [[r.gauss(0, 1) for _ in range(n)] for _ in range(k)]
    y = [0.3 * sum(c[i] for c in x) + r.gauss(0, 1) for i in range(n)]
    head = "".join("assume x%d = %s;\n" % (j, vector(c)) for j, c in enumerate(x)) + "assume y = %s;\n" % vector(y)
    head += "assume b = normal(fill(%d, 0), 10);\nassume s = gamma(2, 1);\n" % k
    mean = lambda at: " + ".join("b[%d] * x%d%s" % (j, j, at) for j in range(k))
    return (head + "observe normal(%s, s) = %s;\n" % (mean(""), vector(y)),
            head + "for (i = 0; i < %d; i++) { observe normal(%s, s) = lookup(%s, i); };\n" % (n, mean("[i]"), vector(y)))


def groups(r, n, k):
    g, x = [i if i < k else r.randrange(k) for i in range(n)], [r.randrange(2) for _ in range(n)]
    y = [1 + 0.1 * a - 0.6 * b + r.gauss(0, 0.7) for a, b in zip(g, x)]
    head = "assume m = normal(0, 10);\nassume t = gamma(2, 1);\nassume s = gamma(2, 1);\nassume b = normal(0, 10);\n"
    return (head + "assume a = normal(fill(%d, m), t);\nobserve normal(a[%s] + b * %s, s) = %s;\n" % (k, vector(g), vector(x), vector(y)),
            head + "assume a = mem(proc(j) { normal(m, t) });\n"
            + "".join("observe normal(a(%d) + b * %d, s) = %.6g;\n" % v for v in zip(g, x, y)))


def logistic(r, n):
    x = [r.gauss(0, 1) for _ in range(n)]
    y = [float(r.random() < 1 / (1 + math.exp(-0.3 - 0.5 * v))) for v in x]
    head = "assume a = normal(0, 10);\nassume b = normal(0, 10);\nassume x = %s;\n" % vector(x)
    return (head + "observe bernoulli_logit(a + b * x) = %s;\n" % vector(y),
            head + "for (i = 0; i < %d; i++) { observe bernoulli_logit(a + b * x[i]) = lookup(%s, i); };\n" % (n, vector(y)))


def chain(r, n):
    """Forward algorithm of a hidden Markov model of two states, on arrays."""
    y = vector([r.gauss(3 if (i // 10) % 2 else 10, 1) for i in range(n)])
    return ("assume p = beta(2, 2);\nassume q = beta(2, 2);\nassume m = normal([3, 10], 1);\nassume y = %s;\n"
            "assume d = t -> [assess(y[t], normal, m[0], 1), assess(y[t], normal, m[1], 1)];\n"
            "assume f = mem(proc(t) { if (t == 0) { d(0) } else { let a = f(t - 1);\n"
            "  vector(logsumexp([a[0] + log(p), a[1] + log(1 - q)]), logsumexp([a[0] + log(1 - p), a[1] + log(q)])) + d(t) } });\n"
            "factor(logsumexp(f(%d)));\n" % (y, n - 1), None)


def seconds(program, transitions):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(program + "infer hmc(default, all, 0.001, %d, %d);\n" % (STEPS, transitions))
        f.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        r = subprocess.run([TOOL, "run", "-q", f.name, "--seed", "1"], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if r.returncode: raise RuntimeError(r.stderr[-400:])
    return after - before


def microseconds(program):
    gradients = (MANY - FEW) * ((STEPS + 1) / 2 + 1)
    return 1e6 * (seconds(program, MANY) - seconds(program, FEW)) / gradients


def main():
    r = random.Random(1)
    print("## Time of a gradient\n\n| model | on vectors, us | one by one, us | ratio |\n|---|--:|--:|--:|")
    for name, (whole, single) in (("regression, n = 1,500, 9 coefficients", regression(r, 1500, 9)),
                                  ("regression, n = 46, 7 coefficients", regression(r, 46, 7)),
                                  ("85 groups, n = 919", groups(r, 919, 85)), ("logistic, n = 3,000", logistic(r, 3000)),
                                  ("hidden Markov model, 100 steps", chain(r, 100))):
        a, b = microseconds(whole), microseconds(single) if single else float("nan")
        print("| %s | %.1f | %s | %s |" % (name, a, "%.1f" % b if single else "-", "%.2f" % (b / max(a, 0.01)) if single else "-"))
    print("\nA transition's share of opening the block and keeping its end is in these figures.")


main()
