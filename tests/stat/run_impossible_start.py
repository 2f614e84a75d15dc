#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Operators leave a state that its data make impossible, by states that they make impossible as well, and
do not come back (argument: the tool). The datum is possible where both of two choices are large; a
transition moves one of them."""
import json, math, subprocess, sys

TOOL = sys.argv[1]
MODEL = """
assume a = tag("a", 0, uniform_continuous(0, 1)); assume b = tag("a", 1, uniform_continuous(0, 1));
observe flip(if (a > 0.7 && b > 0.7) { 0.5 } else { 0 }) = true;
force a = 0.1; force b = 0.2;
"""
OPERATORS = ('mh("a", one, 1)', "mh(default, one, 1)", 'drift("a", one, 2, 1)', 'meanfield("a", one, 5, 1)', 'structure_mh("a", one)',
             'apply_mh_correction(subproblem=choose_by_scope("a"), proposal=symmetric_local_proposal_from_chain(proc(x) { uniform_continuous(0, 1) }))')


def run(program):
    r = subprocess.run([TOOL, "run", "--seed", "5", "--format", "json", "-"], input=program.encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert r.returncode == 0, (program, r.stderr.decode())
    return [float(json.loads(line)[0]) for line in r.stdout.decode().splitlines() if line != "null"]


for op in OPERATORS:
    joints = run(MODEL + "run(global_log_joint());\n" + ("infer %s; run(global_log_joint());\n" % op) * 300)
    assert joints[0] == -math.inf, (op, joints[:3])
    possible = [j > -math.inf for j in joints]
    assert any(possible), (op, "stayed where it was")
    assert all(possible[possible.index(True):]), (op, "came back")
print("%d operators leave a state of weight zero" % len(OPERATORS))
