#!/usr/bin/python3
"""Datasets and plots from the language (argument: the tool)."""
import os, subprocess, sys, tempfile
import xml.etree.ElementTree as ET

TOOL = os.path.abspath(sys.argv[1])
SVG = "{http://www.w3.org/2000/svg}"
MODEL = "assume x = normal(0, 1); observe normal(x, 1) = 2;"
GATHER = "define d = run(accumulate_dataset(40, do(mh(default, one, 2), collect(x, labelled(2 * x, twice)))));"


def run(program, *options, status=0):
    r = subprocess.run([TOOL, "--seed", "4", *options, "-e", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert r.returncode == status, (program, r.returncode, r.stderr.decode())
    return r.stdout.decode() if status == 0 else r.stderr.decode()


def main():
    out = run(MODEL + GATHER + "column(d, \"twice\"); column(d, \"x\"); column(d, \"iter\")").splitlines()
    twice, x, number = (eval(line) for line in out)
    assert len(x) == 40 and all(abs(t - 2 * v) < 1e-12 for t, v in zip(twice, x)) and number == list(range(1, 41))

    table = run(MODEL + GATHER + "printf(d);").splitlines()
    assert table[0].split()[-2:] == ["x", "twice"] and len(table) >= 41 and "time" not in table[0]
    assert abs(float(table[1].split()[-1]) - twice[0]) < 1e-4

    text = run(MODEL + GATHER + "summarize(d);")
    mean = float([l for l in text.splitlines() if l.startswith("x ")][0].split()[1])
    assert abs(mean - sum(x) / 40) < 2e-3, text

    picture = run(MODEL + GATHER + "plot(array(\"l0\", \"h1\", \"p0d1d\"), d);")
    assert picture.count("\u2514") == 3 and "twice" in picture and "iteration" in picture
    assert "\u2514" in run("plot(\"l\", array(1, 4, 2, 8));")
    assert "\u2514" in run("plot(\"p\", array(array(1, 2, 3), array(2, 4, 9)));")

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.svg")
        save = MODEL + GATHER + "plot_to_file(\"%s\", \"pl0\", d);" % path
        assert "--allow-write" in run(save, status=1) and not os.path.exists(path)
        run(save, "--allow-write")
        root = ET.parse(path).getroot()
        assert root.get("viewBox") and len(list(root.iter(SVG + "circle"))) == 40
        assert "E0701" in run(save.replace(path, folder + "/no/such/a.svg"), "--allow-write", status=1)

    assert "2 columns" in run(MODEL + GATHER + "plot(\"l7\", d);", status=1)
    assert "dataset" in run("printf(3);", status=1)
    assert "no column" in run(MODEL + GATHER + "column(d, \"y\")", status=1)
    joined = MODEL + "define d = join_datasets(run(collect(x)), run(collect(labelled(2 * x, y))));"
    out = run(joined + "column(d, \"x\"); column(d, \"y\");").split()  # a row has nothing in the columns of the others
    assert "()" in out[1] and "()" in out[2], out
    assert run(MODEL + "size(column(join_datasets(run(collect(x)), run(collect(x))), \"x\"))") == "2\n"
    print("plot: all checks passed")


main()
