#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Observations without a label: what a million of them takes, and that each of them is still there
for whoever asks (list_directives, explain, log_lik, y_obs, y_rep). Usage: run_observations.py TOOL"""
import json, math, os, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])


def run(text):
    """The lines printed, and the largest resident memory in bytes."""
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        out = subprocess.run(["/usr/bin/env", "python3", "-c", WATCH, TOOL, f.name], text=True, capture_output=True)
    assert out.returncode == 0, out.stderr
    lines = out.stdout.splitlines()
    return lines[:-1], int(lines[-1]) * 1024


# a process that has had one child alone, so that the largest of its children is that one
WATCH = """
import resource, subprocess, sys
st = subprocess.run([sys.argv[1], "run", "--seed", "1", sys.argv[2]])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, flush=True)
sys.exit(st.returncode)
"""

LOOP = """
define ys = vector(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
assume mu = normal(0, 1);
infer repeat(%d, for_each(ys, proc(y) { %s }));
print(run(trace_memory()));
"""


def test_memory():
    """300 bytes an observation, all told, and trace_memory says as much as there is; expressions that
    take turns share as well."""
    turns = "do(observe normal(mu, 1) = y, observe normal(mu, 2) = y)"
    for body, times, count in ("observe normal(mu, 1) = y", 1, 10), (turns, 2, 5):
        few, many = (run(LOOP % (count * k, body)) for k in (1000, 4000))
        n = 10 * count * times
        each = (many[1] - few[1]) / (3000 * n)
        told = json.loads(many[0][-1])["bytes"] / (4000 * n)
        print("%d observations: %.0f bytes resident each, %.0f told" % (4000 * n, each, told))
        assert each < 300 and 0.7 < told / each < 1.3, (each, told)


MIXED = """
assume mu = 0.5;
observe normal(mu, 1) = 1;
observe normal(mu, 2) = 2;
assume f = mem(proc(i) { normal(0, 1) });
observe normal(mu, 3) = 3;
observe f(1) = 4;
observe normal(f(2) * 0 + mu, 5) = 5;
last: observe normal(mu, 6) = 6;
observe normal(mu, 7) = 7;
observe normal(mu, 8) = 8;
observe normal(mu, 9) = 9;
"""
SPREADS = [1, 2, 3, None, 5, 6, 7, 8, 9]


def log_normal(y, m, s):
    return -0.5 * ((y - m) / s) ** 2 - math.log(s) - 0.5 * math.log(2 * math.pi)


def test_each_is_there():
    text = MIXED + """
print(run(y_obs()));
print(run(log_lik()));
define told = run(list_directives());
print(map(proc(d) { d["kind"] }, told));
define seen = filter(proc(d) { d["kind"] == "observe" }, told);
print(map(proc(d) { d["value"] }, seen));
print(map(proc(d) { d["text"] }, seen));
print(map(proc(d) { d["label"] }, seen));
print(size(run(y_rep())[0]));
infer checkInvariants();
infer mh(default, one, 20);
infer checkInvariants();
print(run(y_obs())[0]);
print(run(y_obs(quote(last)))[0]);
infer explain();
"""
    out, _ = run(text)
    y = json.loads(out[0])[0]
    assert y == list(range(1, 10)), y
    for i, l in enumerate(json.loads(out[1])[0]):
        want = log_normal(4, 0, 1) if i == 3 else log_normal(i + 1, 0.5, SPREADS[i])
        assert abs(l - want) < 1e-12, (i, l, want)
    assert json.loads(out[2]) == ["assume"] + 2 * ["observe"] + ["assume"] + 7 * ["observe"], out[2]
    assert json.loads(out[3]) == y, out[3]
    assert json.loads(out[4])[:5] == [
        "normal(mu, 1)", "normal(mu, 2)", "normal(mu, 3)", "f(1)", "normal(f(2) * 0 + mu, 5)"], out[4]
    assert out[5].replace("()", "null") == json.dumps([None] * 5 + ["last"] + [None] * 3), out[5]
    assert out[6] == "9" and json.loads(out[7]) == y and json.loads(out[8]) == [6]
    told = "\n".join(out[9:])
    assert told.count("is observed as") == 9, told
    third = told[told.index("observe normal(mu, 3) = 3"):told.index("observe f(1)")]
    assert third.count("is observed as") == 1, third  # its own choice alone


def test_forget_between():
    """A labelled one goes from between; those around it stay."""
    text = MIXED + """
infer forget(quote(last));
print(run(y_obs())[0]);
infer checkInvariants();
infer resample(3);
observe normal(mu, 10) = 10;
observe normal(mu, 11) = 11;
observe normal(mu, 12) = 12;
infer resample(5);
observe normal(mu, 13) = 13;
print(run(y_obs())[4]);
infer checkInvariants();
"""
    out, _ = run(text)
    rest = [1, 2, 3, 4, 5, 7, 8, 9]
    assert json.loads(out[0]) == rest and json.loads(out[1]) == rest + [10, 11, 12, 13], out


def test_moves_with_branches():
    """An observation that a branch leads elsewhere takes its value along, and back: b | y is exact."""
    text = """
assume b = bernoulli(0.5);
observe (if (b) { normal(0, 1) } else { normal(2, 1) }) = 1.4;
observe (if (b) { normal(0, 1) } else { normal(2, 1) }) = 0.9;
observe (if (b) { normal(0, 1) } else { normal(2, 1) }) = 1.2;
infer checkInvariants();
define d = run(accumulate_dataset(4000, do(mh(default, one, 1), collect(b))));
print(mean(map(proc(b) { if (b) { 1 } else { 0 } }, column(d, "b"))));
infer checkInvariants();
print(run(y_obs())[0]);
"""
    out, _ = run(text)
    up, down = (math.exp(sum(log_normal(y, m, 1) for y in (1.4, 0.9, 1.2))) for m in (0, 2))
    assert abs(float(out[0]) - up / (up + down)) < 0.04, (out[0], up / (up + down))
    assert json.loads(out[1]) == [1.4, 0.9, 1.2]


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        test()
        print("ok", name)
