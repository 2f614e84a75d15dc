#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tools/figures draws the paper's nine figures; those that take seconds are drawn here, are SVG, and hold what programs
printed. The structure figures and the query tree need a search of minutes: `make figures`."""
import os, re, subprocess, sys
import xml.etree.ElementTree as ET

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALL = ["composition", "tutorial", "neal", "grammar", "structure_co2", "structure_airline", "query", "thompson", "bayesopt"]
HOLDS = {"composition": "LIN", "tutorial": "(a) the memoizer", "neal": "after 100 nested sweeps", "grammar": "LIN + SE*PER",
         "thompson": "two possible actions"}


def main():
    tool = os.path.abspath(sys.argv[1])
    if tool != os.path.join(ROOT, "build", "gpmem"):
        print("skipped: the figures are drawn with build/gpmem")
        return
    text = open(os.path.join(ROOT, "tools", "figures")).read()
    names = re.findall(r'"(\w+)": ', re.search(r"^FIGURES = \{.*?\}$", text, re.M | re.S).group(0))
    assert names == ALL, names
    subprocess.run([os.path.join(ROOT, "tools", "figures"), *HOLDS], check=True, stdout=subprocess.DEVNULL, timeout=300)
    for name, words in HOLDS.items():
        root = ET.parse(os.path.join(ROOT, "figures", name + ".svg")).getroot()
        all_text = " ".join("".join(e.itertext()) for e in root.iter() if e.tag.endswith("text"))
        assert words in all_text, (name, words)
        assert sum(e.tag.endswith(("path", "polyline")) for e in root.iter()) > 8, name
    print("figures: %d of %d drawn" % (len(HOLDS), len(ALL)))


main()
