#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the gallery are those of its programs: drawn again by tools/gallery they have the same words and as many
lines and points (argument: the tool). What the programs print is compared by run_docs.py."""
import glob, os, re, subprocess, sys, tempfile
import xml.etree.ElementTree as ET

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NUMBER = re.compile(r"[-\u2212+]?\d[\d.,eE\u2212+-]*")


def facts(path):
    """Words of a picture (no marks of axes, which are numbers or times), and how many lines it has. Points and bars may
    be more or fewer: a chain that parts from another in its last digit draws other values."""
    root = ET.parse(path).getroot()
    texts = ["".join(e.itertext()) for e in root.iter() if e.tag.endswith("text")]
    words = sorted(t for t in texts if not NUMBER.fullmatch(t))
    return words, sum(e.get("fill") == "none" and e.get("stroke") is not None for e in root.iter())


def main():
    page = open(os.path.join(ROOT, "docs", "gallery.md"), encoding="utf-8").read()
    shown = re.findall(r"\(img/(gallery-\w+\.svg)\)", page)
    there = {os.path.basename(p) for p in glob.glob(os.path.join(ROOT, "docs", "img", "gallery-*.svg"))}
    assert len(shown) == len(set(shown)) == page.count("\n## ") >= 20 and set(shown) == there, set(shown) ^ there
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(ROOT, "tools", "gallery"), os.path.abspath(sys.argv[1]), folder], check=True, stdout=subprocess.DEVNULL)
        for name in shown:
            kept, drawn = (facts(os.path.join(f, name)) for f in (os.path.join(ROOT, "docs", "img"), folder))
            if re.search(r"%s\)\n\n```console" % re.escape(name), page):  # the search may find another structure one day
                kept, drawn = kept[0][:1], drawn[0][:1]
            if kept != drawn:
                bad.append("%s: %s is drawn now, %s is in docs/img (tools/gallery build/gpmem)" % (name, drawn, kept))
    print("\n".join(bad + ["gallery: %d pictures, %d differ" % (len(shown), len(bad))]))
    return bool(bad)


sys.exit(main())
