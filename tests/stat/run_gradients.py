#!/usr/bin/python3
"""Gradients through whole programs against central differences of the log joint density.

One step of gradient_ascent moves every choice by rate times its derivative; the derivative is
compared with the change of global_log_joint when the choice is set a little to either side."""
import json, os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
RATE, STEP, TOLERANCE = 1e-6, 1e-5, 2e-5

FOUR = ["p = normal(0, 1)", "q = normal(0, 1)", "r = normal(0, 1)", "t = normal(0, 1)", "v = [p, q, r, t]", "a = normal(0, 1)"]

# name: (assumes, observations, {choice: value})
CASES = {
    "compound": (["a = normal(0, 1)", "f = proc(x) { x * a + exp(x / 3) }", "b = normal(f(a), 2)"],
                 ["normal(f(b), 1) = 0.7"], {"a": 0.4, "b": -0.3}),
    "recursion": (["a = normal(0, 1)", "pw = proc(x, n) { if (n == 0) { 1 } else { x * pw(x, n - 1) } }"],
                  ["normal(pw(a, 4), 0.5) = 0.2"], {"a": 0.8}),
    "if": (["a = normal(0, 1)", "b = normal(0, 2)", "c = if (a > 0) { a * b } else { b - a }"],
           ["normal(c, 1) = 1", "normal(if (a < 5) { b ** 2 } else { 0 }, 1) = 2"], {"a": 0.6, "b": 1.1}),
    "if other": (["a = normal(0, 1)", "b = normal(0, 2)", "c = if (a > 0) { a * b } else { b - a * a }"],
                 ["normal(c, 1) = 1"], {"a": -0.6, "b": 1.1}),
    "observed branch in a tag": (["a = normal(0, 1)"], ['tag("u", 1, if (a < 5) { normal(a * a, 1) } else { normal(a, 2) }) = 2'],
                                 {"a": 0.6}),
    "tag": (['a = tag("s", 0, normal(0, 1)) #t'], ['normal(tag("u", 1, sin(a)), 0.3) = 0.1'], {"a": 0.9}),
    "mem": (["a = normal(0, 1)", "f = mem(proc(i) { a * (i + 1) })", "b = normal(f(2), 1)"],
            ["normal(f(1) * b, 1) = 0.5", "normal(f(1), 2) = 1"], {"a": 0.5, "b": 1.2}),
    "mem argument": (["a = normal(0, 1)", "f = mem(proc(x) { x * x })"], ["normal(f(a), 1) = 2"], {"a": 1.3}),
    "mapv": (["a = normal(0, 1)", "xs = mapv(proc(i) { a * i }, [1, 2, 3])"],
             ["normal(sum(xs), 1) = 4", "normal(lookup(xs, 2), 1) = 1"], {"a": 0.7}),
    "mapv argument": (["a = normal(0, 1)", "b = normal(1, 1)", "xs = mapv(proc(x) { x * x * b }, [a, 2 * a, b])"],
                      ["normal(sum(xs), 2) = 4"], {"a": 0.7, "b": 0.9}),
    "imapv, mapv2": (["a = normal(0, 1)", "xs = imapv(proc(i, x) { i + x * a }, [a, 1, a])",
                      "ys = mapv2(proc(x, y) { x * y }, xs, [1, a, 2])"], ["normal(sum(ys), 2) = 3"], {"a": 0.6}),
    "apply": (["a = normal(0, 1)", "b = normal(0, 1)", "c = apply(proc(x, y) { x * exp(y) }, [a, b])",
               "d = apply_function(proc(x, y) { x / y }, b, a)"], ["normal(c + d, 1) = 0.3"], {"a": 0.6, "b": 0.2}),
    "matrices": (["a = normal(0, 1)", "b = normal(0, 1)", "m = matrix([[2 + a * a, b], [b, 3]])",
                  "v = matrix_times_vector(m, [a, b])"], ["normal(vector_dot(v, v), 3) = 1"], {"a": 0.4, "b": 0.3}),
    "multivariate": (["a = normal(0, 1)", "s = gamma(3, 1)",
                      "v = multivariate_normal([a, 1], matrix([[1 + s, 0.2], [0.2, 2]]))"],
                     ["normal(lookup(v, 0) * lookup(v, 1), 1) = 0.4"], {"a": 0.2, "s": 1.5}),
    "densities": (["g = gamma(2, 3)", "b = beta(2, g)", "l = laplace(b, g)", "t = student_t(4, l, g)"],
                  ["inv_gamma(g, 1) = 0.8", "expon(g) = 0.6", "flip(b) = true", "poisson(g) = 2",
                   "uniform_continuous(0, 10 * g) = 1"], {"g": 0.9, "b": 0.3, "l": 0.2, "t": -0.4}),
    "assess": (["a = normal(0, 1)", "s = gamma(2, 1)", "p = beta(2, 2)",
                "lp = log_mix(p, assess(a * a, normal, 1, s), assess(s, gamma, 2, exp(a)))"],
               ["_factor(lp) = true", "_factor(assess(3, poisson, s)) = true",
                "_factor([assess([0.1, 0.2], normal, [a, s], p), assess(true, flip, p)]) = true"], {"a": 0.3, "s": 1.2, "p": 0.4}),
    "gather and slices": ([*FOUR, "w = v[[2, 0, 2, 3]]", "m = matrix([[a, 1], [2, a * a]])"],
                          ["normal(w, exp(a)) = [1, 2, 0.5, 1]", "normal(sum(v[1:3]) * v[3], 1) = 2",
                           "normal(m[1, 1] + [[a, 2], [a * 3, 1]][1, 0], 1) = 2"], {"a": 0.3, "p": 0.3, "q": 1.2, "r": 0.4, "t": -1}),
    "vectors": (FOUR,
                ["normal(sd(v) + mean(cumsum(v)) * variance(diff(v)), 1) = 1", "normal(sort(v * a), 1) = [1, 2, 3, 4]",
                 "_factor(softmax(v)[1] * log_softmax(v)[2] + log_sum_exp(v) + log_sum_exp(a, v[0])) = true"],
                {"a": 0.3, "p": 0.3, "q": 1.2, "r": 0.4, "t": -1}),
    "linear algebra": (["a = normal(0, 1)", "b = gamma(3, 1)", "m = matrix([[3 + a * a, a, 0.2], [a, b + 1, 0.3], [0.2, 0.3, 2]])",
                        "l = cholesky(m)", "z = solve_lower(l, [1, a, b])"],
                       ["_factor(-0.5 * dot(z, z) - sum(log(diagonal(l)))) = true",
                        "normal(quad_form(m, [a, b, 1]) + log_det(m) + sum(eigenvalues_sym(m)), 3) = 1",
                        "normal(dot(m, solve_upper(transpose(l), [a, 1, b])), 2) = [1, 2, 3]",
                        "normal(ravel(diag_pre_multiply([a, b, 1], tcrossprod(l))), 2) = [1, 2, 3, 4, 5, 6, 7, 8, 9]"],
                       {"a": 0.3, "b": 1.2}),
    "columns": (["a = normal(0, 1)", "g = gamma(2, 3)", "v = gamma([2, 3], g)", "w = normal(v, [g, 2 * g])"],
                ["poisson_log(a + a * [1, 2, 3]) = [1, 0, 2]", "bernoulli_logit([a, g, a * g]) = [1, 0, 1]", "expon(g) = [0.3, 1.1]",
                 "neg_binomial_2(exp(a), g) = [1, 4]", "ordered_logistic([a, g], [-1, g]) = [0, 2]", "weibull(g, exp(a)) = [0.4, 1.3]"],
                {"a": 0.4, "g": 0.9}),
    "bounds": (["a = normal(0, 1)", "g = gamma(2, 3, lower=0.2, upper=4)", "b = normal(a, g, lower=a - g, upper=a + 2)",
                "c = student_t(3 + g, a, g, lower=b)", "d = beta(g, 2, upper=0.7)"],
               ["gamma(2 + a * a, g, lower=g) = 1.7", "poisson(g, lower=1) = [1, 3]", "normal(c, 1, upper=[3, 4]) = [0.5, 1]",
                "binomial_logit(10, a, lower=1, upper=8) = 4", "lognormal(a, g, upper=5) = 2"],
               {"a": 0.4, "g": 0.9, "b": 0.7, "c": 1.4, "d": 0.3}),
    "censored": (["a = normal(0, 1)", "g = gamma(2, 3)"],
                 ["exactly(0, log_ccdf([1, 2], weibull, g, exp(a))) = 1", "exactly(0, log_cdf(a, gamma, 1 + g, 2 * g) + log_ccdf(g, normal, a, g)) = 1",
                  "exactly(0, log_cdf(3, poisson, g) + log_ccdf(2, neg_binomial_2, exp(a), g)) = 1"], {"a": 0.4, "g": 0.9}),
    "flat": (["a = flat()", "g = flat_positive()", "u = flat(0, 2)"], ["normal(a, g) = [1, 2, 4]", "normal(u * a, 1) = 0.3"],
             {"a": 0.4, "g": 0.9, "u": 1.2}),
    "makers": (["p = beta(2, 2)", "coin = make_suff_stat_bernoulli(p)", "a = gamma(2, 1)",
                "die = make_beta_bernoulli(a, 2 * a)", "m = normal(0, 1)", "n = make_suff_stat_normal(m, exp(m))"],
               ["coin() = true", "coin() = false", "coin() = true", "die() = true", "die() = false", "n() = 0.3",
                "n() = -1"], {"p": 0.4, "a": 1.7, "m": 0.2}),
    # a right-hand side that is compiled: numbers of any shape, conditions, lets, maps, other procedures
    "ode": (["a = gamma(3, 2)", "b = gamma(3, 2)", "u = normal(1, 1)", "s = normal(0, 0.1)",
             "g = (x, k) -> x * x / (k + x * x)",
             "f = (t, y, p) -> { c = p[0]; d = p[1]; h = if (y[0] > -5) { y[0] * g(y[0], d[0]) } else { log(-y[0]) };"
             " [sin(t) * c - h, vector_dot(y, d) - min(y[1], 400) * sum(mapv(x -> x * c, d)) + logsumexp(append(y, d, y))] }",
             "y = ode_solve(f, [u, 0.3], s, [0.5, 1.5 + a, 4], list(a, [b, a * b]), rtol=1e-10, atol=1e-10)"],
            ["normal(y[0][1], 1) = 1", "normal(y[2][0] * y[1][1], 2) = 0.5", "normal(y[1][0], 1) = 0"],
            {"a": 0.8, "b": 0.6, "u": 0.9, "s": 0.05}),
    "ode stiff": (["a = gamma(3, 2)", "b = gamma(3, 2)", "u = normal(1, 1)",
                   "f = (t, y, p) -> [-50 * p[0] * (y[0] - cos(p[1] * t)), p[1] * y[0] - y[1]]",
                   'y = ode_solve(f, [u, 0.3], 0, [0, 0.02, 1.5, 4], [a, b], rtol=1e-10, atol=1e-10, method="stiff")'],
                  ["normal(y[0][0], 1) = 1", "normal(y[1][0] * y[2][0], 2) = 0.5", "normal(y[3][1], 1) = 0"],
                  {"a": 0.8, "b": 0.6, "u": 0.9}),
    "ode without parameters, procedure that closes over data": (
        ["u = normal(1, 1)", "rate = 0.7", "f = (t, y) -> [-rate * y[0], y[0] - t]",
         "y = ode_solve(f, [u, u * u], 0, [1, 2], rtol=1e-10, atol=1e-10)"], ["normal(sum(y[1]), 1) = 1"], {"u": 0.6}),
    "components": (["a = normal(0, 1)", "(x, y) = (a * 2, exp(a))"], ["normal(x * y, 1) = 1"], {"a": 0.5}),
    "references": (["a = normal(0, 1)", "r = ref(a * a)"], ["normal(deref(r), 1) = 1"], {"a": 0.5}),
    "higher order": (["a = normal(0, 1)", "twice = proc(f) { proc(x) { f(f(x)) } }", "g = twice(proc(x) { x * a + 1 })"],
                     ["normal(g(2), 1) = 3"], {"a": 0.7}),
    "random procedure": (["a = normal(0, 1)", "b = flip(0.5)", "f = if (b) { proc(x) { x * a } } else { proc(x) { a - x } }"],
                         ["normal(f(2), 1) = 3"], {"a": 0.7}),
    "kernels": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "k = apply_function(make_squaredexp, sf, l)",
                 "g = make_gp(make_const_func(0), add_funcs(k, make_whitenoise(0.3)))"],
                ["g([0, 1, 2.5]) = [0.3, 0.9, -0.2]"], {"sf": 1.4, "l": 0.9}),
    "latent": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "m = normal(0, 1)", "z = [normal(0, 1), m, normal(0, 2), 0.7]",
                "f = gp_latent([0, 1, 2.5, 4], z, make_squaredexp(sf, l) * make_linear(exp(m)) + make_matern_32(l, sf), m)",
                "h = gp_latent([[0, 1], [1, 3]], [m, 2], make_squaredexp(sf, l), make_const_func(sf))"],
               ["poisson(exp(f[3] / 4)) = 3", "poisson(exp(f[0] + f[1])) = 1", "normal(f[2], h[1]**2) = 2"],
               {"sf": 1.4, "l": 0.9, "m": 0.3}),
    "values of a process": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "g = make_gp(make_squaredexp(sf, l), noise=0.3)",
                             "a = g(0.5)", "b = g(1.5)", "c = g(2, true)"],
                            ["g([0, 1]) = [0.3, 1.2]", "poisson(exp(a + b)) = 2", "normal(c, 1) = 2"],
                            {"sf": 1.4, "l": 0.9, "a": 0.3, "b": 0.8, "c": 1.1}),
    "values of a t process": (["sf = gamma(3, 1)", "g = make_tp(make_squaredexp(sf, 1), noise=0.3, df=4)", "a = g(0.5)"],
                              ["g([0, 1]) = [0.3, 1.2]", "poisson(exp(a)) = 2"], {"sf": 1.4, "a": 0.3}),
    "laplace, poisson": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "m = normal(0, 1)",
                          'g = make_gp(m, make_squaredexp(sf, l), likelihood="poisson")'],
                         ["g([0, 1, 2.5, 2.5]) = [3, 9, 1, 2]", "g(4) = 0"], {"sf": 1.4, "l": 0.9, "m": 0.3}),
    "laplace, truths and a value of the function": (
        ["sf = gamma(3, 1)", "l = gamma(3, 2)", "m = normal(0, 1)",
         'g = make_gp(make_linear_func(m, sf), make_squaredexp(sf, l) + make_linear(l), likelihood="bernoulli")',
         "h = g(0.5)"], ["g([0, 1, 2.5]) = [1, 0, 1]", "normal(h, 1) = 0.4"], {"sf": 1.4, "l": 0.9, "m": 0.3, "h": 0.5},
        3e-4),  # a value of the function is one of variance 1e-8, which costs as many digits
    "laplace, binomial": (["sf = gamma(3, 1)", "l = gamma(3, 2)",
                           'g = make_gp(make_squaredexp(sf, l), likelihood=["binomial", 9])'],
                          ["g([0, 1, 2.5]) = [1, 0, 7]"], {"sf": 1.4, "l": 0.9}),
    "laplace, negative binomial": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "r = gamma(3, 1)",
                                    'g = make_gp(r, make_squaredexp(sf, l), likelihood=["negative_binomial", r])'],
                                   ["g([0, 1, 2.5]) = [1, 0, 17]"], {"sf": 1.4, "l": 0.9, "r": 1.7}),
    "laplace, Student-t": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "s = gamma(3, 3)", "nu = gamma(9, 2)",
                            'g = make_gp(make_squaredexp(sf, l), likelihood=["student_t", nu, s])'],
                           ["g([0, 1, 2.5, 2.7, 3]) = [1, 0.8, -0.3, 7, -0.2]"], {"sf": 1.4, "l": 0.9, "s": 0.4, "nu": 3.5}),
    "permuted kernels": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "s = gamma(3, 2)",
                          "ks = permute(list(make_squaredexp(sf, l), make_linear(s), make_squaredexp(s, 2)))",
                          "g = make_gp(0, first(ks) + second(ks) * lookup(ks, 2) + make_whitenoise(0.3))"],
                         ["g([0, 1, 2.5]) = [0.3, 0.9, -0.2]"], {"sf": 1.4, "l": 0.9, "s": 0.7}),
    "gpmem": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "(f_compute, f_emu) = gpmem(proc(x) { sin(x) }, make_squaredexp(sf, l))"],
              ["f_emu(0.5) = 0.4", "f_emu(1.5) = 1.1", "f_emu(4) = -0.5"], {"sf": 1.2, "l": 1.3}),
    "gpmem, noise": (["sf = gamma(3, 1)", "s = gamma(3, 2)", "m = normal(0, 1)", "z = normal(0, 1)",
                      "(f_compute, f_emu) = gpmem(proc(x) { sin(x) }, make_const_func(m + z * z), make_squaredexp(sf, 1), noise=s)"],
                     ["f_emu(0.5) = 0.4", "f_emu(0.5) = 0.6", "f_emu([1.5, 2]) = [1.1, 0.7]", "f_emu(4) = -0.5"],
                     {"sf": 1.2, "s": 0.7, "m": 0.4, "z": 0.6}),
    "mean, a number": (["m = normal(0, 1)", "g = make_gp(m, make_squaredexp(1, 1), noise=0.5)"],
                       ["g(1) = 2", "g(1) = 1.5", "g(3) = 0.4"], {"m": 0.3}),
    "mean, a line": (["a = normal(0, 1)", "b = normal(0, 1)", "s = gamma(2, 2)",
                      "g = make_gp(make_linear_func(a, b * a), make_squaredexp(1, 1) + make_whitenoise(s))"],
                     ["g([1, 2, 4]) = [2, 2.5, 5]"], {"a": 0.3, "b": 0.8, "s": 0.5}),
    "tpmem": (["sf = gamma(3, 1)", "l = gamma(3, 2)", "d = gamma(3, 1)", "s = gamma(3, 2)", "m = normal(0, 1)",
               "(c, e) = tpmem(proc(x) { sin(x) }, make_const_func(m), make_squaredexp(sf, l), df=2 + d, noise=s)"],
              ["e(0.5) = 0.4", "e(1.5) = 1.1", "e(1.5) = 0.7", "e([4, 5]) = [-0.5, 2]"],
              {"sf": 1.2, "l": 1.3, "d": 1.1, "s": 0.6, "m": 0.2}),
    "tp, no noise": (["sf = gamma(3, 1)", "d = gamma(3, 1)", "e = make_tp(make_squaredexp(sf, 1), df=2 + d)"],
                     ["e(0.5) = 0.4", "e(1.5) = 1.1", "e([4, 5]) = [-0.5, 2]"], {"sf": 1.2, "d": 1.1}),
    "quadmem": (["a = gamma(3, 1)", "b = gamma(3, 2)", "s = gamma(4, 1)",
                 "(c, e) = quadmem(proc(x) { x }, degree=2, scale=s, shape=a, rate=a * b)"],
                ["e(0.5) = 0.4", "e(1.5) = 1.1", "e(1.5) = 0.7", "e([4, -1]) = [-0.5, 2]"], {"a": 1.2, "b": 1.3, "s": 3.1}),
}


def run(lines):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write("\n".join(lines) + "\n")
    try:
        r = subprocess.run([TOOL, "run", "--seed", "3", f.name], capture_output=True, text=True, timeout=120)
    finally:
        os.unlink(f.name)
    if r.returncode: raise RuntimeError("exit status %d: %s" % (r.returncode, r.stderr))
    return [json.loads(x) for x in r.stdout.strip().splitlines()]


bad = 0
for name, (assumes, observations, at, *step) in CASES.items():
    step = step[0] if step else STEP
    head = ["assume %s;" % a for a in assumes] + ["force %s = %r;" % kv for kv in at.items()]
    head += ["observe %s;" % o for o in observations]
    try:
        names = list(at)
        text = head + ["infer gradient_ascent(default, all, %r, 1, 1);" % RATE, "sample array(%s);" % ", ".join(names)]
        after = run(text)[-1]
        text = list(head)
        for n in names:
            for sign in (1, -1):
                text += ["force %s = %r;" % (n, at[n] + sign * step), "run(global_log_joint());"]
            text.append("force %s = %r;" % (n, at[n]))
        joint = [x[0] for x in run(text)]
        worst = 0
        for i, n in enumerate(names):
            got = (after[i] - at[n]) / RATE
            want = (joint[2 * i] - joint[2 * i + 1]) / (2 * step)
            error = abs(got - want) / max(1, abs(want))
            worst = max(worst, error)
            if error > TOLERANCE: print("  %s: d/d%s is %.9g, differences give %.9g" % (name, n, got, want))
        ok = worst <= TOLERANCE
        print("%s %-18s error %.1e" % ("ok  " if ok else "FAIL", name, worst))
    except RuntimeError as e:
        ok = False
        print("FAIL %s: %s" % (name, e))
    bad += not ok
print("%d programs, %d failed" % (len(CASES), bad))
sys.exit(bad > 0)
