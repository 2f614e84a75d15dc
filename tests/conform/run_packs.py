#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints hold everything: each class of boxes and of states of made procedures either packs itself and stands in
the tables of inference/run/infer_pack.c, or is named here with the reason why it cannot be saved. Argument: the tool."""
import os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
NOT_SAVED = {
    "unknown_class": "the check before a run alone has such values",
    "mark_class": "a number that is not known yet, while a procedure is compiled",
    "part_class": "holds nothing; a part is detached while one is in use",
    "structures_class": "the posterior of structures: discover keeps it in its folder",
}


def classes(kind):
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in files:
            text = open(os.path.join(folder, name)).read()
            for found, body in re.findall(r"struct %s (\w+) = (\{.*?\}|CLASS\(.*?\));" % kind, text, re.S):
                yield found, ".pack =" in body


def main():
    tables = open(os.path.join(ROOT, "src", "inference", "run", "infer_pack.c")).read()
    listed = set(re.findall(r"&(\w+)[,}]", tables))
    seen = set()
    for kind in ("box_class", "sp_state_class"):
        for name, packs in classes(kind):
            seen.add(name)
            if name in NOT_SAVED:
                assert not packs and name not in listed, "%s packs itself: it is not to be named here" % name
            else:
                assert packs and name in listed, "%s: say how it is saved (.pack, inference/run/infer_pack.c), or why not" % name
    assert set(NOT_SAVED) <= seen, set(NOT_SAVED) - seen
    assert len(seen) > 15, seen

    # a model that cannot be saved says so, and stays
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "program.vnts")
        with open(path, "w") as f:
            f.write("""define m = structure_model(%s);
assume q = $m;
infer save_model("%s/m.gpm");
""" % ([[i, i * i % 7] for i in range(20)], work))
        r = subprocess.run([TOOL, "run", "--allow-write", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert r.returncode == 1 and "the model cannot be saved: a posterior over structures" in r.stderr, (r.returncode, r.stderr)
        assert not os.path.exists(os.path.join(work, "m.gpm"))
        # nor does a program write without leave, or load what is no model
        with open(path, "w") as f:
            f.write('infer save_model("%s/m.gpm");' % work)
        r = subprocess.run([TOOL, "run", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert r.returncode == 1 and "not allowed to write" in r.stderr, r.stderr
        with open(path, "w") as f:
            f.write('infer load_model("%s");' % path)
        r = subprocess.run([TOOL, "run", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert r.returncode == 1 and "holds no model that can be loaded" in r.stderr, r.stderr
    print("%d classes, %d of them not saved" % (len(seen), len(NOT_SAVED)))


main()
