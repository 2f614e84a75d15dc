"""Joint-distribution tests: every operator must leave the posterior alone.

Draw parameters from the prior and data from the model given them; then run the operator, given the
data. Whatever the operator did, parameters and data must still have the joint distribution of the
model. Every replicate is a model of its own, so replicates are independent and the comparison with
plain draws is an exact two-sample test (Geweke 2004; Gandy and Scott 2020). Statistics: each
quantity, and its product with the first datum.
"""
import concurrent.futures, hashlib, json, os, subprocess, tempfile, threading, time

import numpy as np
from scipy import stats as st

P_VALUE_MIN = 1e-6  # as in support/check.h

# name: (assumes, data expressions, statistics, {operator: program text}); a datum that is drawn by one
# expression and observed through another is a pair of them
DRIFT = 'mh_correct(on_subproblem(%s, symmetric_local_proposal(proc(v) { normal(v, 0.7) })))'
BY_HAND = ('repeat(3, mh_correct(on_subproblem(default, all, proc(s) { do(w0 <- detach(s), w1 <- regen(s), '
           'return(list(w1 - first(w0), restore(s, rest(w0))))) })))')
CONTINUOUS = {"hmc": "hmc(default, all, 0.2, 4, 2)", "nuts": "nuts(default, all, 0, 2)", "mh one": "mh(default, one, 3)",
              "mh all": "mh(default, all, 3)", "drift one": "drift(default, one, 0.7, 5)",
              "drift all": "drift(default, all, 0.2, 5)", "slice": "slice(default, one, 1, 20, 5)",
              "meanfield": "meanfield(default, all, 4, 2)"}
MODELS = {
    "continuous": (
        ['m = tag("m", 0, normal(0, 1))', 's = tag("s", 0, gamma(3, 2))'],
        ["normal(m, s)", "normal(m, s)", "normal(2 * m, 1)"],
        ["m", "s", "m * s"],
        {"mh one": "mh(default, one, 5)", "mh all": "mh(default, all, 5)", "unconstrained drift": "drift(default, all, 0.5, 5)",
         "slice": "slice(default, one, 1, 20, 3)", "slice_doubling": "slice_doubling(default, one, 1, 6, 3)",
         "hmc": "hmc(default, all, 0.25, 6, 3)", "nuts": "nuts(default, all, 0, 2)",
         "laplace_mh all": "laplace_mh(default, all, 2)", "laplace_mh one": "laplace_mh(default, one, 2)",
         "log_evidence": "do(log_evidence(default, all, 50), laplace_mh(default, all, 1))",
         "meanfield all": "meanfield(default, all, 5, 2)", "meanfield one": "meanfield(default, one, 5, 2)",
         "drift": "repeat(4, %s)" % (DRIFT % "default, one"),
         "drift all": 'repeat(4, apply_mh_correction(subproblem=select(default, all), '
                      'proposal=symmetric_local_proposal_from_chain(proc(v) { normal(v, 0.5) })))',
         "by hand": BY_HAND, "pgibbs": "pgibbs(default, ordered, 4, 2)", "ess": 'do(ess("m", all, 2), slice("s", one, 1, 20, 1))',
         "func_pgibbs": "func_pgibbs(default, all, 3, 2)", "rejection": 'rejection("m", 0, 1)',
         "each": 'do(mh("m", each, 2), slice("s", each_reverse, 1, 10, 2))'}),
    "normal a priori": (
        ['h = gamma(3, 2)', 'u = tag("u", 0, normal(1, 2))', 'v = tag("u", 1, multivariate_normal([0, 1], [[2, 0.5], [0.5, 1]]))',
         'z = tag("u", 2, normal(0, 1))', 'f = gp_latent([0, 1, 3], [u, z, v[0]], make_squaredexp(h, 1), 0.5)'],
        ["poisson(exp(f[1] / 2))", "normal(u * v[1], h)", "normal(f[2], 1)"],
        ["u", "v[0]", "v[1]", "z", "h"],
        {"ess all": 'ess("u", all, 3)', "ess one": 'ess("u", one, 6)', "nuts": "nuts(default, all, 0, 2)"}),
    "discrete": (
        ['k = tag("k", 0, uniform_discrete(0, 4))', 'b = tag("b", 0, flip(0.3))',
         'c = tag("c", 0, categorical([0.2, 0.5, 0.3]))'],
        ["normal(k + c, 1)", "flip(if (b) { 0.9 } else { 0.2 })"],
        ["k", "b", "c", "k + c"],
        {"gibbs one": "gibbs(default, one, 4)", "gibbs all": "gibbs(default, all, 1)",
         "mh one": "mh(default, one, 5)", "rejection": "rejection(default, all, 1)", "conditional": "conditional",
         "pgibbs": "pgibbs(default, ordered, 4, 1)", "by hand": BY_HAND, "marginalize": "marginalize(default)",
         "particles": 'do(resample(3), mh(default, one, 3), resample(1))'}),
    "mixture": (  # discrete choices summed out while the others move; drawn given them at the end of each move
        ['p = tag("p", 0, beta(2, 2))', 'a = tag("m", 0, normal(-1, 1))', 'b = tag("m", 1, normal(1, 1))',
         'z = mem(proc(i) { tag("z", i, categorical([1 - p, p], [0, 1])) })', "kept = array(z(0), z(1))"],
        ["if (z(0)) { normal(b, 1) } else { normal(2 * a, 0.5) }", "normal([a, b][z(1)] * p, 0.7)"],
        ["p", "a * b", "z(0)", "z(0) * b", "z(0) * z(1)"],
        {"draw": 'marginalize("z")', "nuts": 'marginalize("z", nuts(default, all, 0, 2))',
         "hmc": 'marginalize("z", hmc("m", all, 0.3, 4, 2))', "slice": 'marginalize("z", slice("m", one, 1, 20, 3))',
         "laplace_mh": 'marginalize(default, laplace_mh(default, all, 2))',
         "between": 'marginalize("z", do(nuts("m", all, 0, 1), mh(default, one, 2), nuts("p", all, 0, 1)))'}),
    "hidden chain": (
        ['q = tag("q", 0, beta(4, 2))', 'm = tag("m", 0, normal(0, 1))',
         'z = mem(proc(t) { tag("z", t, if (t == 0) { uniform_discrete(0, 2) } else { '
         'categorical([[q, 1 - q], [0.3, 0.7]][z(t - 1)], [0, 1]) }) })', "kept = array(z(0), z(1), z(2))"],
        ["normal(m * z(0), 0.7)", "normal(m + z(1), 0.7)", "poisson(exp(m) + 2 * z(2))"],
        ["q", "m", "z(0)", "z(1) * m", "z(1) * z(2)"],
        {"draw": 'marginalize("z")', "nuts": 'marginalize("z", nuts(default, all, 0, 1))',
         "slice": 'marginalize("z", slice("m", one, 1, 10, 2))', "mh": "do(mh(default, one, 4), marginalize(default))"}),
    "nested support": (
        ["n = 1 + uniform_discrete(0, 3)", "j = uniform_discrete(0, n)"],
        ["normal(j, 1)"],
        ["n", "j"],
        {"gibbs all": "gibbs(default, all, 1)", "gibbs one": "gibbs(default, one, 2)",
         "pgibbs": "pgibbs(default, ordered, 3, 1)", "mh one": "mh(default, one, 3)"}),
    "moving bounds": (  # the ends of a support are other choices of the block
        ['y = tag("y", 0, gamma(3, 1))', 'x = tag("x", 0, uniform_continuous(0, y))', 'w = tag("w", 0, normal(x, 1, lower=x))',
         'v = uniform_continuous([x, 0], y + 1)'],
        ["normal(x + w, 1)", "normal(y * v[0] - v[1], 2)"],
        ["y", "x", "w", "v[0]", "x / y", "v[0] * v[1]"],
        CONTINUOUS),
    "structure": (
        ['b = tag("b", 0, flip(0.4))',
         'x = if (b) { tag("x", 0, normal(0, 1)) } else { tag("x", 1, normal(1, 1)) + tag("x", 2, gamma(2, 2)) }',
         "geo = proc() { if (flip(0.5)) { 0 } else { 1 + geo() } }", "g = geo()"],
        ["normal(x + g, 1)"],
        ["b", "x", "min(g, 4)"],
        {"mh one": "mh(default, one, 6)", "mh all": "mh(default, all, 2)", "gibbs": 'gibbs("b", 0, 2)',
         "rejection": "rejection(default, all, 1)", "rejection one": "rejection(default, one, 2)",
         "slice": 'slice("x", one, 1, 20, 2)', "hmc": 'hmc("x", all, 0.3, 4, 2)', "by hand": BY_HAND,
         "structure_mh": 'structure_mh("b", one, "x", 2)', "laplace_mh": 'laplace_mh("x", all, 2)',
         "structure_mh default": 'structure_mh(scope="b", block=all, steps=1)',
         "drift": "repeat(3, %s)" % (DRIFT % '"x", one'), "pgibbs": 'pgibbs(default, all, 3, 1)',
         "gibbs pick": 'do(mh("x", one, 1), gibbs("b", one, 1))'}),
    "random trees": (  # deterministic recursion over them is held as one call, and read by `w`
        ['w = tag("w", 0, normal(0, 1))',
         'grow = proc(d) { if (tag(scope="t", flip(0.5)) || d > 2) { list("c", tag(scope="c", normal(0, 1))) } else { '
         'if (tag(scope="t", flip(0.3))) { list("x") } else { list("p", grow(d + 1), grow(d + 1)) } } }',
         'value = proc(e, x) { if (first(e) == "c") { second(e) } else { if (first(e) == "x") { x * w } else { '
         'value(second(e), x) + value(e[2], x) } } }',
         'leaves = proc(e) { if (first(e) == "p") { leaves(second(e)) + leaves(e[2]) } else { 1 } }', "e = grow(0)"],
        ["normal(value(e, 1), 0.5)", "normal(value(e, w), 1)", "poisson(leaves(e))"],
        ["leaves(e)", "w", "value(e, 2)", "value(e, w) * w"],
        {"mh one": "mh(default, one, 6)", "mh all": "mh(default, all, 2)", "gibbs": 'gibbs("t", one, 2)', "by hand": BY_HAND,
         "slice": 'do(slice("c", one, 1, 20, 2), slice("w", 0, 1, 20, 1), checkInvariants())',
         "hmc": 'do(hmc("c", all, 0.3, 4, 1), hmc("w", all, 0.3, 4, 1))', "nuts": 'nuts("w", 0, 0, 2)',
         "particles": 'do(resample(3), mh(default, one, 3), add_particle(1), mh("t", one, 1), resample(1))',
         "pgibbs": 'pgibbs(default, all, 3, 1)'}),
    "cut-off": (
        ['u = tag("u", 0, uniform_continuous(0, 1))',
         'x = if (u < 0.5) { tag("x", 0, normal(0, 1)) } else { 2 + tag("x", 1, gamma(2, 1)) }'],
        ["normal(x + u, 1)"],
        ["u", "x"],
        {"slice": 'slice("u", 0, 0.3, 10, 3)', "slice_doubling": 'slice_doubling("u", 0, 0.3, 5, 3)',
         "hmc": 'hmc("u", 0, 0.5, 3, 3)', "hmc all": "hmc(default, all, 0.3, 4, 2)", "nuts": 'nuts("u", 0, 0, 2)',
         "meanfield": "meanfield(default, one, 4, 2)", "drift": "repeat(3, %s)" % (DRIFT % "default, one"),
         "laplace_mh": 'laplace_mh("u", 0, 1)', "mh": "mh(default, one, 4)"}),
    "grammar": (  # a recursive grammar of kernels, parameters inside it; the emulator absorbs
        ['leaf = proc() { if (flip(0.5)) { make_linear(tag(scope="h", gamma(4, 4))) } else { '
         'make_squaredexp(tag(scope="h", gamma(4, 4)), 1) } }',
         'kernel = proc(n) { if (n < 1) { leaf() } else { if (flip(0.5)) { leaf() } else { '
         'add_funcs(leaf(), kernel(n - 1)) } } }',
         'k = tag(scope="grammar", kernel(2))', "g = make_gp(0, add_funcs(k, make_whitenoise(0.5)))"],
        ["g(1)", "g(1.7)"],
        ["covariance(k, 1, 1.5)", 'contains(k, "SE")', 'contains(k, "LIN")'],
        {"structure_mh": 'structure_mh("grammar", all, "h", 1)',
         "both": 'do(structure_mh("grammar", one, "h", 1), laplace_mh("h", all, 1))', "mh": 'mh("grammar", one, 3)'}),
    "pieces": (  # blocks come and go with the structure: the pick is corrected; parameters depend on parameters
        ['n = tag("s", 0, uniform_discrete(0, 3))', 'a = tag("h", 0, normal(0, 1))',
         'f = mem(proc(i) { if (tag("s", i + 1, flip(0.4))) { tag("h", 2 * i + 1, normal(a, 0.5)) } else { '
         'tag("h", 2 * i + 2, gamma(3, 2)) } })',
         "x = if (n == 0) { a } else { if (n == 1) { f(0) } else { f(0) + f(1) } }"],
        ["normal(x, 0.7)", "normal(x + a, 1)"],
        ["n", "a", "x", "x * a"],
        {"structure_mh one": 'structure_mh("s", one, "h", 2)', "structure_mh all": 'structure_mh("s", all, "h", 1)',
         "mh one": "mh(default, one, 6)"}),
    "mem": (
        ['f = mem(proc(i) { tag("f", i, normal(i, 1)) })', 'k = tag("k", 0, uniform_discrete(0, 3))',
         "kept = array(f(0), f(k), f(1))"],  # what nothing records is drawn anew each time
        ["normal(f(k) + f(0), 0.5)", "normal(f(1), 1)"],
        ["f(0)", "f(k)", "k", "f(1)"],
        {"mh one": "mh(default, one, 5)", "gibbs": 'gibbs("k", 0, 2)', "slice": 'slice("f", one, 1, 20, 3)',
         "hmc": 'hmc("f", all, 0.3, 4, 2)', "nuts": 'nuts("f", all, 0, 2)', "meanfield": 'meanfield("f", one, 4, 2)',
         "structure_mh": 'structure_mh("k", 0, "f", 1)',
         "pgibbs": 'pgibbs("f", ordered, 4, 1)', "drift": "repeat(3, %s)" % (DRIFT % '"f", one')}),
    "crp": (
        ["crp = make_crp(1)", 'z = mem(proc(i) { tag("z", i, crp()) })',
         'mu = mem(proc(t) { tag("mu", t, normal(0, 2)) })', "kept = array(mu(z(0)), mu(z(1)), mu(z(2)))"],
        ["normal(mu(z(0)), 0.7)", "normal(mu(z(1)), 0.7)", "normal(mu(z(2)), 0.7)"],
        ["z(0) == z(1)", "z(1) == z(2)", "mu(z(0))", "mu(z(0)) * mu(z(2))"],
        {"mh one": "mh(default, one, 6)", "gibbs one": 'gibbs("z", one, 3)', "gibbs all": 'gibbs("z", all, 1)',
         "pgibbs": 'pgibbs("z", ordered, 3, 1)', "slice": 'slice("mu", one, 1, 20, 2)'}),
    "maker": (
        ['w = tag("w", 0, beta(2, 2))', "coin = make_suff_stat_bernoulli(w)", 'a = tag("a", 0, gamma(3, 2))',
         "die = make_beta_bernoulli(a, 1)"],
        ["coin()", "coin()", "die()", "die()"],
        ["w", "a", "w * a"],
        {"mh one": "mh(default, one, 4)", "slice": "slice(default, one, 0.3, 20, 2)",
         "hmc": "hmc(default, all, 0.3, 4, 2)", "nuts": "nuts(default, all, 0, 2)",
         "rejection": "rejection(default, all, 1)", "drift": "repeat(4, %s)" % (DRIFT % "default, one"),
         "meanfield": "meanfield(default, all, 4, 2)"}),
    "chain": (
        ['x = mem(proc(t) { tag("x", t, if (t == 0) { normal(0, 1) } else { normal(0.9 * x(t - 1), 0.5) }) })',
         "kept = x(3)"],
        ["normal(x(0), 1)", "normal(x(1), 0.5)", "normal(x(2), 0.5)", "normal(x(3), 0.5)"],
        ["x(0)", "x(3)", "x(1) * x(2)"],
        {"pgibbs": 'pgibbs("x", ordered, 4, 2)', "pgibbs range": 'pgibbs("x", ordered_range(1, 2), 3, 2)',
         "mh one": 'mh("x", one, 6)', "hmc": 'hmc("x", all, 0.2, 4, 2)', "slice": 'slice("x", one, 0.5, 20, 4)',
         "particles": 'do(resample(3, method="systematic"), mh("x", one, 4), resample(2, ess=0.9), add_particle(1), '
                      'pgibbs("x", ordered, 3, 1), resample(1, method="systematic"))'}),
    "second order chain": (  # blocks read two blocks back, data two blocks, and a choice of no block; ancestors look ahead
        ['s = gamma(4, 4)', 'x = mem(proc(t) { tag("x", t, if (t < 2) { normal(0, s) } else { normal(x(t - 1) - 0.5 * x(t - 2), s) }) })',
         "kept = x(5)"],
        ["normal(x(0), 1)", "normal(x(1) + x(0), 0.5)", "normal(x(3) * x(2), 0.7)", "poisson(exp(x(4)))", "normal(x(5), s)"],
        ["x(0)", "x(1)", "x(5)", "x(0) * x(2)", "s * x(3)"],
        {"pgibbs": 'pgibbs("x", ordered, 3, 2)', "two particles": 'pgibbs("x", ordered, 1, 3)',
         "pgibbs range": 'pgibbs("x", ordered_range(1, 3), 2, 2)', "pgibbs all": "pgibbs(default, ordered, 3, 2)",
         "both": 'do(pgibbs("x", ordered, 2, 1), mh(default, one, 2), checkInvariants())'}),
    "switching chain": (  # longer, with data behind `if` and conditions of conditions
        ['z = mem(proc(t) { tag("z", t, if (t == 0) { flip(0.5) } else { if (z(t - 1)) { flip(0.8) } else { flip(0.3) } }) })',
         'x = mem(proc(t) { if (z(t)) { tag("x", t, normal(1, 1)) } else { 0 } })',
         'y = mem(proc(t) { if (z(t)) { normal(2, 1) } else { normal(-1, 2) } })', "kept = array(x(7), y(3))"],
        ["y(3)", "if (z(6)) { y(2) } else { normal(0, 1) }", "normal(x(7), 1)", "flip(if (z(5)) { 0.9 } else { 0.2 })",
         "if (z(0)) { normal(x(1), 1) } else { normal(x(4), 1) }"],
        ["z(0)", "z(3)", "z(6)", "x(7)", "y(3) * x(7)"],
        {"pgibbs": 'pgibbs("z", ordered, 4, 2)', "pgibbs all": "pgibbs(default, ordered, 3, 2)",
         "func_pgibbs": 'do(func_pgibbs("z", ordered, 2, 1), func_pgibbs("x", ordered, 3, 1))',
         "mh one": "mh(default, one, 10)", "gibbs": 'gibbs("z", one, 4)'}),
    "gaussian process": (
        ['sf = tag("h", 0, gamma(4, 3))', 'l = tag("h", 1, gamma(4, 4))', 'smooth = tag("k", 0, flip(0.5))',
         "k = if (smooth) { make_squaredexp(sf, l) } else { make_linear(sf) }",
         "g = make_gp(make_const_func(0), add_funcs(k, make_whitenoise(0.4)))"],
        ["g(1)", "g(1.7)", "g(-0.5)"],
        ["sf", "l", "smooth"],
        {"mh one": "mh(default, one, 4)", "gibbs": 'gibbs("k", 0, 1)', "slice": 'slice("h", one, 0.5, 20, 2)',
         "structure_mh": 'structure_mh("k", one, "h", 1)', "laplace_mh": 'laplace_mh("h", all, 1)',
         "hmc": 'hmc("h", all, 0.3, 4, 2)', "nuts": 'nuts("h", all, 0, 2)', "meanfield": 'meanfield("h", all, 4, 2)',
         "drift": "repeat(3, %s)" % (DRIFT % '"h", one'), "pgibbs": 'pgibbs(default, ordered, 3, 1)'}),
    "gpmem": (
        ['sf = tag("h", 0, gamma(4, 3))', 'l = tag("h", 1, gamma(4, 4))',
         "(f_compute, f_emu) = gpmem(proc(x) { sin(x) }, add_funcs(make_squaredexp(sf, l), make_whitenoise(0.3)))"],
        ["f_emu(0.5)", "f_emu(1)", "f_emu(3)"],
        ["sf", "l"],
        {"mh one": 'mh("h", one, 4)', "slice": 'slice("h", one, 0.5, 20, 2)', "hmc": 'hmc("h", all, 0.3, 4, 2)'}),
    "gpmem with noise": (  # a, c: values of the function; b: a measurement that nobody saw; replicates among the data
        ['sf = tag("h", 0, gamma(4, 3))', 'l = tag("h", 1, gamma(4, 4))', 'sigma = tag("h", 2, gamma(4, 4))',
         "(f_compute, f_emu) = gpmem(proc(x) { sin(x) }, make_squaredexp(sf, l), noise=sigma)",
         'a = tag("a", 0, f_emu(0.8))', 'b = tag("b", 0, f_emu(0.8, true))', 'c = tag("c", 0, f_emu(array(2, 4, 6)))'],
        [("f_emu(1, true)", "f_emu(1)"), ("f_emu(1, true)", "f_emu(1)"), "f_emu(2, true)",
         ("f_emu(array(0.8, 3), measured=true)", "f_emu(array(0.8, 3))")],
        ["sf", "l", "sigma", "a", "b", "a / sf", "c[1] / sf", "(b - a) / sigma"],
        {"mh one": "mh(default, one, 20)", "mh all": "mh(default, all, 3)", "mh hyper": 'mh("h", one, 20)',
         "slice": 'slice("a", one, 0.5, 20, 3)', "slice hyper": 'slice("h", one, 0.5, 20, 3)',
         "hmc": 'hmc("h", all, 0.2, 4, 2)', "nuts": 'nuts("h", all, 0, 2)', "pgibbs": "pgibbs(default, ordered, 3, 1)",
         "rejection": 'rejection("b", 0, 1)', "drift": 'repeat(4, %s)' % (DRIFT % '"h", one')}),
    "student-t memoizer": (
        ['sf = tag("h", 0, gamma(4, 3))', 'df = tag("h", 1, 2.5 + gamma(2, 1))', 'sigma = tag("h", 2, gamma(4, 8))',
         "e = make_tp(make_squaredexp(sf, 1), noise=sigma, df=df)", 'a = tag("a", 0, e(0.8))'],
        ["e(1, true)", ("e(1, true)", "e(1)"), "e(2.5, true)"],
        ["sf", "df", "sigma", "atan(a)", "sf * sigma"],
        {"mh one": "mh(default, one, 6)", "slice": "slice(default, one, 0.5, 20, 3)",
         "hmc": 'hmc("h", all, 0.2, 4, 2)', "drift": "repeat(4, %s)" % (DRIFT % "default, one")}),
    "regression memoizer": (
        ['s = tag("h", 0, gamma(4, 3))', 'r = tag("h", 1, gamma(4, 4))', "e = make_quad(1, s, 3, r)",
         'a = tag("a", 0, e(0.8))'],
        ["e(1, true)", ("e(-1, true)", "e(-1)"), "e(2.5, true)"],
        ["s", "r", "atan(a)", "s * r"],
        {"mh one": "mh(default, one, 6)", "slice": "slice(default, one, 0.5, 20, 3)",
         "hmc": 'hmc("h", all, 0.2, 4, 2)', "drift": "repeat(4, %s)" % (DRIFT % "default, one")}),
    "location": (  # the distributions by location and scale; arctangents where tails are heavy
        ["a = cauchy(0, 1)", "b = logistic_distribution(0.5, 1)", "c = gumbel(0, 1)", "d = half_normal(2)", "e = half_cauchy(1)",
         "f = half_student_t(3, 1)", "g = skew_normal(0, 1, 3)", "h = skew_double_exponential(0, 1, 0.3)",
         "i = exp_mod_normal(0, 0.5, 1)"],
        ["normal(b + c + g, 1)", "wiener(0.5 + d, 0.05, 0.4, b)", "normal(h + i, 0.1 + d)", "cauchy(a, 0.1 + e)", "student_t(3, b, 0.1 + f)"],
        ["atan(a)", "b", "c", "d", "atan(e)", "atan(f)", "g", "h", "i", "b * h"],
        {"nuts": "nuts(default, all, 0, 2)", "slice": "slice(default, one, 1, 20, 15)", "mh one": "mh(default, one, 15)"}),
    "narrow places": (  # a funnel that nothing centres: its steps are shortened half of the time
        ["v = normal(0, 2)", "x = multivariate_normal(zeros(2), exp(v) * id_matrix(2))"], ["normal(v + x[0], 2)"],
        ["v", "v ** 2", "atan(x[0])", "atan(x[1]) ** 2", "v * atan(x[0])", "v * atan(x[1]) ** 2"],
        {"nuts": "nuts(default, all, 0, 3)"}),
    "positive": (
        ["a = weibull(1.5, 1)", "b = frechet(3, 1)", "c = rayleigh(1)", "d = loglogistic(1, 3)", "e = pareto(1, 4)",
         "f = pareto_type_2(-1, 1, 4)", "g = chi_square(4)", "h = inv_chi_square(5)", "i = scaled_inv_chi_square(5, 1)",
         "j = beta_proportion(0.3, 5)"],
        ["normal(a + b, 1)", "normal(c, d)", "weibull(e, g)", "normal(f, h + i)", "flip(j)"],
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "a * c"],
        {"nuts": "nuts(default, all, 0, 2)", "slice": "slice(default, one, 1, 20, 15)", "mh one": "mh(default, one, 15)"}),
    "between bounds": (  # ends that move with other choices, sequences, data that are truncated
        ["low = normal(-1, 0.5)", "a = normal(0, 1, lower=low, upper=low + 3)", "b = gamma(2, 1, lower=0.5, upper=3)",
         "c = student_t(3, lower=1)", "d = normal([0, 1, 2], b, lower=-1)", "e = beta(2, 3, upper=0.4)", "f = laplace(0, 1, upper=-0.5)"],
        ["normal(a + f, 1)", "normal(d[1], 1, lower=0)", "expon(b, lower=1)", "normal(atan(c), e)", "poisson(b, lower=2)"],
        ["low", "a", "b", "atan(c)", "d[0]", "d[2]", "e", "f", "a * b"],
        {"nuts": "nuts(default, all, 0, 2)", "slice": "slice(default, one, 1, 20, 10)", "mh one": "mh(default, one, 10)",
         "hmc": "hmc(default, all, 0.1, 5, 2)"}),
    "counts": (
        ['p = tag("x", 0, normal(0, 1))', 'm = tag("x", 1, gamma(4, 2))', 'j = tag("k", 0, hypergeometric(4, 5, 6))',
         'k = tag("k", 1, beta_binomial(3, m, 2))', 'l = tag("k", 2, ordered_logistic(p, [-1, 0, 1]))',
         'n = tag("k", 3, binomial_logit(3, p))'],
        ["normal(j + k + l + n, 1)", "neg_binomial_2(m, 2)", "neg_binomial(m, 1)", "poisson_log(p)", "bernoulli_logit(p)",
         "neg_binomial_2_log(p, m)", "beta_neg_binomial(2, m + 3, 2)", "ordered_probit(p, [-0.5, m])", "beta_binomial(8, m, 2)"],
        ["p", "m", "j", "k", "l", "n", "p * m"],
        {"gibbs": 'do(gibbs("k", one, 4), nuts("x", all, 0, 1))', "mh one": "mh(default, one, 10)",
         "slice": 'slice("x", one, 1, 20, 4)'}),
    "simplex": (
        ["p = dirichlet([2, 1, 1])", "v = multivariate_normal([0, 1], matrix([[1, 0.5], [0.5, 2]]))"],
        ["categorical(p)", "normal(lookup(v, 0) + lookup(p, 1), 0.7)"],
        ["lookup(p, 0)", "lookup(p, 2)", "lookup(v, 0)", "lookup(v, 1)"],
        {**CONTINUOUS, "laplace_mh": "laplace_mh(default, all, 2)", "pgibbs": "pgibbs(default, ordered, 3, 1)"}),
    "correlations": (
        ["eta = gamma(4, 2)", "r = lkj_corr(3, eta)", "l = lkj_corr_cholesky(2, 1.5)", "f = flat_corr_cholesky(3)",
         "v = multivariate_normal_cholesky([0, 1], l)"],
        ["normal(lookup(r, list(1, 0)) + v[1], 0.5)", "multivariate_normal([0, 0, 0], r)",
         "multivariate_student_t_cholesky(4, [0, 1, 2], f)"],
        ["eta", "lookup(r, list(1, 0))", "lookup(r, list(2, 1))", "lookup(l, list(1, 0))", "lookup(f, list(2, 0))",
         "lookup(f, list(2, 2))", "v[1]"],
        CONTINUOUS),
    "covariances": (
        ["s = wishart([[1, 0.3], [0.3, 0.5]], 4)", "t = inv_wishart([[1, 0.3], [0.3, 0.5]], 5)",
         "w = wishart_cholesky([[1, 0], [0.3, 0.5]], 3.5)", "x = multivariate_student_t(5, matrix([[0, 0], [1, 1]]), t)"],
        ["normal(lookup(x, list(1, 0)), 0.5)", "multivariate_normal_precision([0, 0], s)",
         "multivariate_normal_cholesky([0, 0], w)"],
        ["lookup(s, list(0, 0))", "lookup(s, list(1, 0))", "lookup(t, list(1, 1))", "lookup(t, list(1, 0))",
         "lookup(w, list(1, 0))", "lookup(w, list(1, 1))", "lookup(x, list(0, 1))"],
        CONTINUOUS),
    "factors": (
        ["i = inv_wishart_cholesky([[1, 0], [0.3, 0.5]], 5)", "v = multivariate_normal_precision([0, 1], matrix([[2, 0.5], [0.5, 1]]))",
         "t = multivariate_student_t_cholesky(5, v, i)", "q = flat_simplex(3)", "c = flat_corr(2)", "w = zero_sum_normal(3, 1.5)"],
        ["normal(t[0] + q[0], 0.5)", "normal(t[1] + w[0], 0.3)", "categorical(q)", "multivariate_normal(v, c)"],
        ["lookup(i, list(0, 0))", "lookup(i, list(1, 0))", "lookup(i, list(1, 1))", "v[0]", "t[1]", "q[0]", "q[2]", "w[0]", "w[2]",
         "lookup(c, list(1, 0))"],
        CONTINUOUS),
    "ordered": (  # k: bounds that move with another choice
        ["c = normal(0, 1)", "o = ordered_draws(3, normal, c, 2)", "g = ordered_draws(2, gamma, 2, 1)",
         "h = ordered_draws(2, uniform_continuous, -1, 2)", "k = ordered_draws(2, uniform_continuous, c, c + 1)",
         "u = flat_unit_vector(3)"],
        ["normal(o[1] + g[0], 0.5)", "normal(g[1] * u[0] + h[0], 0.5)", "normal(k[1] + u[2], 0.5)"],
        ["c", "o[0]", "o[2] - o[1]", "g[0]", "g[1]", "h[1]", "k[0]", "u[0]", "u[2]"],
        CONTINUOUS),
    "nested exact": (  # an exact posterior inside the model is a function of what it reads
        ['k = tag("k", 0, uniform_discrete(1, 5))', 'b = tag("b", 0, flip(0.3))',
         'seen = mem(proc(i) { tag("seen", i, flip(if (b) { 0.8 } else { 0.3 })) })',
         'believed = mem(proc(i) { exp(assess(true, run(do(assume(x, flip(k / 5)), assume(y, flip(if (x) { 0.6 } else { '
         '0.2 })), observe(exactly(y), seen(i)), exact_posterior(x))))) })', "kept = array(believed(0), believed(1))"],
        ["flip(believed(0))", "normal(believed(1), 0.3)"],
        ["k", "b", "seen(0)", "if (seen(1)) { k } else { 0 }", "believed(1)"],
        {"gibbs one": "gibbs(default, one, 4)", "gibbs all": "gibbs(default, all, 1)", "mh one": "mh(default, one, 5)",
         "mh all": "mh(default, all, 3)", "rejection": "rejection(default, all, 1)", "pgibbs": "pgibbs(default, ordered, 3, 1)",
         "by hand": BY_HAND, "particles": "do(resample(3), mh(default, one, 3), resample(1))"}),
    "nested draws": (  # inference that draws is a choice of the model, drawn anew with what it reads
        ['m = tag("m", 0, normal(0, 1))', 'b = tag("b", 0, flip(0.4))',
         'near = mem(proc(i) { tag("near", i, run(do(resample(3), assume(z, if (b) { normal(m, 0.5) } else { normal(2, 1) }), '
         'observe(normal(z, 1), m), resample(1), mh(default, one, 2), sample(z)))) })', "kept = array(near(0), near(1))"],
        ["normal(near(0), 0.5)", "normal(near(1) * m, 0.7)"],
        ["m", "b", "near(0)", "if (b) { near(1) } else { 0 }", "near(0) * near(1)"],
        {"mh one": "mh(default, one, 5)", "mh all": "mh(default, all, 3)", "its own": 'mh("near", one, 4)',
         "slice": 'do(slice("m", one, 1, 20, 2), mh("near", one, 2))', "drift": 'drift("m", all, 0.7, 4)',
         "gibbs": 'do(gibbs("b", one, 2), mh(default, one, 2))', "pgibbs": "pgibbs(default, ordered, 3, 1)",
         "by hand": BY_HAND, "particles": "do(resample(3), mh(default, one, 3), resample(1))"}),
    "maps": (  # over sequences that change: choices inside absorb, and nothing is evaluated anew
        ['s = tag("s", 0, gamma(4, 4))', 'z = tag("z", 0, normal(zeros(2), 1))', 'x = mapv(v -> tag("x", 0, normal(v, s)), z)',
         'w = mapv2((a, b) -> sum(mapv(c -> c * a, [a, b, s])), x, [1, 2])', 'k = imapv((i, v) -> tag("k", i, flip(logistic(v + i))), z)'],
        ["normal(w[0] - w[1], 2)", "normal(x[1] + mapv(exp, z)[0], 0.7)", "normal(if (k[0]) { 1 } else { if (k[1]) { 2 } else { 0 } }, 1)"],
        ["s", "z[0]", "x[0]", "x[1] * z[1]", "k[0]", "if (k[1]) { z[1] } else { 0 }"],
        {"mh one": "mh(default, one, 8)", "mh all": "mh(default, all, 3)", "nuts": 'do(nuts(default, all, 0, 2), checkInvariants())',
         "nuts z": 'nuts("z", 0, 0, 2)', "hmc": 'hmc("x", all, 0.3, 4, 2)', "slice": 'slice("s", 0, 1, 20, 4)',
         "ess": 'ess("z", 0, 3)', "drift": 'drift("z", all, 0.7, 5)', "gibbs": 'gibbs("k", one, 3)',
         "summed": 'marginalize("k", nuts("z", 0, 0, 2))', "pgibbs": "pgibbs(default, ordered, 3, 1)", "by hand": BY_HAND,
         "particles": 'do(resample(3), mh(default, one, 3), add_particle(1), nuts("z", 0, 0, 1), resample(1))'}),
    "maps anew": (  # where a length changes, and where elements decide what is evaluated
        ['s = tag("s", 0, gamma(4, 4))', 'z = tag("z", 0, normal(zeros(2), 1))', 'n = tag("n", 0, uniform_discrete(1, 4))',
         'y = imapv((i, v) -> if (v > 0.5) { tag("y", i, normal(v, 1)) } else { v * i }, z)',
         'u = mapv(v -> tag("u", 0, normal(v, 1)), fill(n, s))'],
        ["normal(sum(y), 1)", "normal(sum(u), 1)"],
        ["s", "n", "z[0]", "y[1]", "u[0] * s", "sum(u)"],
        {"mh one": "mh(default, one, 8)", "mh all": "mh(default, all, 3)", "by hand": BY_HAND, "nuts": 'nuts("z", 0, 0, 2)',
         "gibbs": 'do(gibbs("n", 0, 2), mh(default, one, 2))', "slice": 'slice("s", 0, 1, 20, 4)', "drift": 'drift("z", all, 0.7, 5)',
         "pgibbs": "pgibbs(default, ordered, 3, 1)",
         "particles": 'do(resample(3), mh(default, one, 3), add_particle(1), nuts("z", 0, 0, 1), resample(1))'}),
}


def program(model, op, replicates):
    assumes, data, quantities, _ = model
    body = ["assume %s;" % a for a in assumes]
    for i, d in enumerate(data):
        drawn, observed = d if isinstance(d, tuple) else (d, d)
        body += ["y%d <- sample %s;" % (i, drawn), "observe %s = y%d;" % (observed, i)]
    if op: body.append(op + ";")
    body.append("v <- sample array(%s);" % ", ".join(quantities))
    body.append("return(array(v, array(%s)))" % ", ".join("y%d" % i for i in range(len(data))))
    return ("define once = proc() { first(run(in_model(run(new_model()), {\n  %s\n}))) };\n"
            "mapv(proc(i) { once() }, arange(%d));\n" % ("\n  ".join(body), replicates))


PIECE = 2000  # replicates of one process: it ends in minutes, and there is something to do for every core


def one_run(tool, text, seed):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts", delete=False) as f: f.write(text)
    try:
        r = subprocess.run([tool, "run", "--seed", str(seed), f.name], capture_output=True, text=True, timeout=1200)
    finally:
        os.unlink(f.name)
    if r.returncode: raise RuntimeError("exit status %d\n%s\n%s" % (r.returncode, r.stderr, text))
    rows = json.loads(r.stdout.strip().splitlines()[-1])
    v = np.array([a for a, _ in rows], float)
    y = np.array([b[0] for _, b in rows], float)
    return np.column_stack([v, v * y[:, None]])


def run(tool, model, op, replicates, seed):
    pieces = [min(PIECE, replicates - i) for i in range(0, replicates, PIECE)]
    return np.concatenate([one_run(tool, program(model, op, n), seed + 100000 * k) for k, n in enumerate(pieces)])


def p_value(a, b):
    if len(np.unique(np.concatenate([a, b]))) > 12: return st.ks_2samp(a, b, method="asymp").pvalue
    values = np.unique(np.concatenate([a, b]))
    table = np.array([[np.sum(x == v) for v in values] for x in (a, b)])
    table = table[:, table.sum(0) > 0]
    return st.chi2_contingency(table).pvalue if table.shape[1] > 1 else 1.0


def compare(tool, model, op, replicates, seed, reference):
    """{"p", "tests", "seed", "wall"} and what is wrong, in words, or None."""
    begin = time.monotonic()
    try:
        got = run(tool, model, op, replicates, seed)
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        return {"p": 0, "tests": 0, "seed": seed, "wall": time.monotonic() - begin, "wrong": str(e)}
    p, j = min((p_value(got[:, j], reference[:, j]), j) for j in range(got.shape[1]))
    wrong = None if p >= P_VALUE_MIN else "statistic %d, seed %d, mean %g against %g" % (
        j, seed, got[:, j].mean(), reference[:, j].mean())
    return {"p": p, "tests": got.shape[1], "seed": seed, "wall": time.monotonic() - begin, "wrong": wrong}


def key_of(tool, replicates, seed):
    """Results are those of one program, these models and these seeds."""
    h = hashlib.sha256(repr((replicates, seed, MODELS)).encode())
    with open(tool, "rb") as f: h.update(f.read())
    return h.hexdigest()


def load(path, key):
    if not path or not os.path.exists(path): return {}
    with open(path) as f: rows = [json.loads(line) for line in f if line.endswith("\n")]
    return {r["label"]: r for r in rows if r["key"] == key}


def main(tool, replicates, seed, only=None, state=None, jobs=1):
    """`only`: pairs whose label holds this text. `state`: a file of results; those that are there are not
    computed again, so that a pass can be done in pieces. Seeds do not depend on either."""
    key = key_of(tool, replicates, seed)
    done, lock, references = load(state, key), threading.Lock(), {}

    def reference_of(name, at):  # one per model, made by whoever needs it first
        with lock: mine = references.setdefault(name, [threading.Lock(), None])
        with mine[0]:
            if mine[1] is None: mine[1] = run(tool, MODELS[name], None, 4 * replicates, at)
        return mine[1]

    def pair(label, name, op, at, first):
        if label not in done:
            r = compare(tool, MODELS[name], op, replicates, at, reference_of(name, first))
            r.update(label=label, key=key)
            with lock:
                done[label] = r
                if state:
                    with open(state, "a") as f: f.write(json.dumps(r) + "\n")
        r = done[label]
        with lock:
            print("%s %-32s smallest p = %-8.2g %6.1f s%s" % ("FAIL" if r["wrong"] else "ok  ", label, r["p"], r["wall"],
                  " (%s)" % r["wrong"] if r["wrong"] else ""), flush=True)
        return r

    tasks = []
    for name, model in MODELS.items():
        first = seed
        for op_name, op in model[3].items():
            seed += 1
            label = "%s / %s" % (name, op_name)
            if not only or only in label: tasks.append((label, name, op, seed, first))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(lambda t: pair(*t), tasks))
    bad = [r for r in rows if r["wrong"]]
    print("%d pairs, %d replicates each: %d tests at %g each, smallest p %.2g; %d operators failed; %.0f s of work" % (
        len(rows), replicates, sum(r["tests"] for r in rows), P_VALUE_MIN, min((r["p"] for r in rows), default=1), len(bad),
        sum(r["wall"] for r in rows)))
    return 1 if bad or not rows else 0
