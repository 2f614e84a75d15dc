#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The paper's grammar on the library (examples/structure_short.vnts) draws structures as its listing does: frequencies of
some against their exact probabilities, given that the selection is not empty, and the program is short."""
import json, math, os, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
EXAMPLE = open(os.path.join(ROOT, "examples", "structure_short.vnts")).read()
N = 6000
# one kernel: 1/15; both of two, and a coin: 1/15 * 1/2, of which SE*WN and PER*WN are WN; all four added: 1/15 * 1/8
EXACT = {"LIN": 1 / 15, "LIN + SE": 1 / 30, "SE*PER": 1 / 30, "LIN + PER + SE + WN": 1 / 120}


def main():
    lines = [l for l in EXAMPLE.splitlines() if l.strip() and not l.startswith("//")]
    assert len(lines) <= 20, len(lines)
    model = EXAMPLE[EXAMPLE.index("assume theta"):EXAMPLE.index("define table")]
    text = model + "mapv(i -> run(sample struct(random_kernel(permute(random_subset(BK))))), arange(%d));\n" % N
    p = subprocess.run([TOOL, "run", "--seed", "4", "--format", "json", "-"], input=text, capture_output=True, text=True, timeout=300)
    assert p.returncode == 0, p.stderr
    found = json.loads(p.stdout)
    for struct, exact in EXACT.items():
        got, sd = found.count(struct) / N, math.sqrt(exact * (1 - exact) / N)
        assert abs(got - exact) < 4.5 * sd, (struct, got, exact)
    print("structure prior: %d lines, %d draws, %d structures as often as they should be" % (len(lines), N, len(EXACT)))


main()
