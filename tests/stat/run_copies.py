#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A copy of a state holds nothing of the state that it was copied from (argument: the tool). Models
hold procedures of a random t where copies may forget them: in a process's kernel or mean, in
statistics, environments, mapped procedures. Particles are copied and moved, then the model goes on:
the log joint density of every particle is that of a fresh run in which t is its number."""
import json, math, subprocess, sys

TOOL = sys.argv[1]
KERNEL = "proc(x, y) { t * exp(-(x - y) ** 2) }"
ENVIRONMENT = "proc() { s = t; get_current_environment() }()"
# what stands before the copies are made, and what comes after
MODELS = {
    "kernel": ("assume g = make_gp(%s, noise=0.3); observe g(0.1) = 0.8;" % KERNEL, "observe g(1) = -0.5;"),
    "no data yet": ("assume g = make_gp(%s, noise=0.3);" % KERNEL, "observe g(1) = -0.5;"),
    "mean": ("assume g = make_gp(proc(x) { t * x }, make_squaredexp(1, 1), noise=0.3); observe g(0.1) = 0.8;", "observe g(1) = 2;"),
    "kernel value": ("assume K = add_funcs(%s, make_constant(1e-7)); assume g = make_gp(K, noise=0.3); observe g(0.1) = 0.8;" % KERNEL,
                     "observe g(1) = 2;"),
    "chosen kernel": ("assume K = uniform_categorical([%s, %s]); assume g = make_gp(K, noise=0.3);" % (KERNEL, KERNEL), "observe g(1) = 2;"),
    "source": ("assume (c, g) = gpmem(x -> t * x, make_squaredexp(1, 1), noise=0.3); assume y = c(0.2);", "observe g(1) = 2; predict c(0.5);"),
    "two outputs": ("assume g = make_gp([%s, make_squaredexp(1, 1)], noise=0.3); observe g(0.1) = [0.8, 0.2];" % KERNEL, "observe g(1) = [2, 1];"),
    "likelihood": ('assume g = make_gp(%s, likelihood="poisson"); observe g(0.1) = 2;' % KERNEL, "observe g(1) = 5;"),
    "Student-t": ("assume g = make_tp(%s, noise=0.3); observe g(0.1) = 0.8;" % KERNEL, "observe g(1) = 2;"),
    "emulator": ("assume g = make_emulator(proc(known, x) { mapv(a -> t, x) }, proc(known, x, y) { sum(mapv(a -> assess(a, normal, t, 1), y)) });"
                 "observe g(0.1) = 0.8;", "observe g(1) = 2;"),
    "objects": ("assume k = make_sym_dir_cat(1, 1, [proc(x) { t * x }]); assume f = k();", "predict f(1); observe normal(k()(1), 1) = 7;"),
    "environment": ("assume en = %s;" % ENVIRONMENT, "observe normal(eval(quote(s), en), 1) = 7;"),
    "environments": ("assume es = [%s];" % ENVIRONMENT, "observe normal(eval(quote(s), es[0]), 1) = 7;"),
    "mapped": ("assume fs = mapv(f -> (x -> f(x)), [proc(x) { t * x }]);", "observe normal(fs[0](2), 1) = 20;"),
    "mapped kernel": ("assume fs = mapv(f -> ((x, y) -> f(x, y)), [%s]); assume g = make_gp(fs[0], noise=0.3); observe g(0.1) = 0.8;" % KERNEL,
                      "observe g(1) = 2;"),
    "reference": ("assume r = ref(t);", "observe normal(deref(r), 1) = 7;"),
    "kernel of a reference": ("assume r = ref(t); assume g = make_gp(proc(x, y) { deref(r) * exp(-(x - y) ** 2) }, noise=0.3);", "observe g(1) = 2;"),
    "dictionary": ('assume d = dict(["a", proc() { t }]);', 'observe normal(d["a"](), 1) = 7;'),
    "memo": ("assume m = mem(proc(i) { t * i }); assume y = m(1);", "observe normal(m(2), 1) = 20;"),
}
COPIES = ('resample(6), mh("t", 0, 3)', 'resample(6), mh("t", 0, 1), resample(7), mh("t", 0, 1)',
          'repeat(20, do(resample(2), mh("t", 0, 1), resample(1)))')
LOOK = "run(sample_all(t)); run(global_log_joint());"


def run(program, seed=3):
    r = subprocess.run([TOOL, "run", "--seed", str(seed), "--format", "json", "-"], input=program.encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert r.returncode == 0, (r.returncode, program, r.stderr.decode())
    return [json.loads(line) for line in r.stdout.decode().splitlines()]


for name, (before, after) in MODELS.items():
    fresh = {t: run("assume t = %d; %s %s run(global_log_joint());" % (t, before, after))[-1][0] for t in range(1, 6)}
    assert len(set(fresh.values())) == 5, (name, fresh)
    for copies in COPIES:
        out = run('assume t = tag("t", 0, uniform_discrete(1, 6)); %s infer do(%s); %s %s infer mh("t", 0, 5); %s'
                  % (before, copies, after, LOOK, LOOK))
        for ts, joints in (out[-4:-2], out[-2:]):
            for t, joint in zip(ts, joints):
                assert abs(float(joint) - fresh[t] + math.log(5)) < 1e-6, (name, copies, t, joint, fresh[t] - math.log(5))

# An instruction works on a copy, which is freed after what it was copied from has moved.
make = "mem(proc(t) { s = t * t; proc(x, y) { exp(-abs(x - y) / s) } })"
run("assume t = uniform_discrete(1, 4); assume make_k = %s; assume (c, e) = gpmem(x -> sin(x), make_k(t), noise=0.3);"
    "observe e(0.1) = 0.8; observe e(1) = -0.5; predict c(2.5); " % make + "infer mh(default, one, 4); sample t; " * 60)
print("%d models: every copy goes its own way" % len(MODELS))
