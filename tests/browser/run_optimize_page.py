#!/usr/bin/python3
"""The optimiser's page in headless Chromium, wide and narrow: weights pick another point of the front, a click picks a row,
evaluations stopped early are called so and are not the best, a fidelity is a variable like others, nothing sticks out or is too small,
whatever the names; of many variables those that matter are shown, and of failures alone no picture."""
import os, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from visit import Server

TOOL = os.path.abspath(sys.argv[1])
BROWSER = shutil.which("chromium")
PICK = """
window.addEventListener('load', () => {
  const rows = [...document.querySelectorAll('#pick tbody tr')], picked = () => rows.findIndex(r => r.className == 'picked');
  const weights = [...document.querySelectorAll('input.weight')], out = [picked()];
  for (const w of [[1, 0.02], [0.02, 1]]) {
    weights.forEach((e, i) => { e.value = w[i]; e.dispatchEvent(new Event('input')); });
    out.push(picked());
  }
  rows[1].click();
  out.push(picked());
  visit.tell({picked: out, rows: rows.length, values: rows.map(r => parseFloat(r.cells[0].textContent)),
              wide: document.documentElement.scrollWidth, charts: document.querySelectorAll('svg').length, title: document.querySelector('h1').innerText,
              said: document.querySelector('main').innerText, small: Math.min(...[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width))});
});
"""
LOOK = """
window.addEventListener('load', () => visit.tell({text: document.body.innerText, wide: document.documentElement.scrollWidth,
  charts: document.querySelectorAll('svg').length, titles: [...document.querySelectorAll('.grid svg text.title')].map(t => t.textContent),
  words: [...document.querySelectorAll('svg text')].map(t => t.textContent),
  small: Math.min(...[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)),
  least: Math.min(...[...document.querySelectorAll('svg')].map(s => s.viewBox.baseVal.width - Math.max(...[...s.querySelectorAll('text.label, text.mark')].filter(
    t => t.getAttribute('text-anchor') == 'end').map(t => t.getBBox().x + t.getBBox().width)))), stopped: document.querySelectorAll('tr.out').length}));
"""
TRAIN = "#!/bin/sh\nawk -v x=$1 -v n=$2 'BEGIN { for (i = 1; i <= n; i++) print \"gpmem: \" i \" \" (v = (x - 0.3)^2 + 0.5 / i); print v }'\n"


def main():
    if not BROWSER:
        print("no chromium: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="gpmem-page-", ignore_cleanup_errors=True) as folder:
        def optimise(page, *args):
            return subprocess.run([TOOL, "optimize", "-q", "--seed", "2", "--report", page, "--var", "x=0:1", *args], cwd=folder, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout

        with open(os.path.join(folder, "train.sh"), "w") as f: f.write(TRAIN)
        os.chmod(os.path.join(folder, "train.sh"), 0o755)
        optimise("front.html", "--objective", "f,g", "--budget", "16", "--", "awk", "BEGIN { print {x}^2, ({x} - 1)^2 }")
        optimise("cost.html", "--fidelity", "epochs=1:30:int", "--max-cost", "5", "--no-early-stop", "--", "./train.sh", "{x}", "{epochs}")
        assert "stopped early" in optimise("stopped.html", "--budget", "20", "--", "./train.sh", "{x}", "20")
        name = "a_long_name_of_a_variable_that_goes_on_and_on_and_on_and"
        optimise("long.html", "--var", name + "_on=0:1", "--var", name + "_off=0:1", "--var", "size=tiny<small<large", "--objective", "objective_" + name[:46],
                 "--var", 'k="%s","<script>visit.tell(1)</script>","c"' % (9 * "a level of many words "), "--budget", "15",
                 "--", "sh", "-c", "echo {%s_on} # {k}" % name)
        many = [w for i in range(1, 41) for w in ("--var", "v%d=0:1" % i)]
        optimise("many.html", *many, "--budget", "40", "--", "awk", "BEGIN { print 1 + ({v30} - 0.3)^2 }")
        optimise("three.html", "--objective", "f,g,h", "--budget", "8", "--", "awk", "BEGIN { print {x}^2, ({x} - 1)^2, ({x} - 0.5)^2 }")
        subprocess.run([TOOL, "optimize", "-q", "--report", "failed.html", "--var", "x=0:1", "--budget", "3", "--", "false", "{x}"], cwd=folder,
                       stdout=subprocess.DEVNULL)
        with Server(folder) as server:
            for width in (1200, 400):
                seen = server.visit(BROWSER, "/front.html", PICK, folder, width)
                middle, first, last, clicked = seen["picked"]
                assert clicked == 1 and seen["values"][first] < seen["values"][last] and middle not in (first, last), seen
                assert seen["charts"] >= 4 and seen["wide"] <= width, seen
                # the points stand in the table alone, and words of 11 pixels are not made much smaller
                assert seen["title"] == "Minimum of f, minimum of g" and "front: " in seen["said"] and " at x=" not in seen["said"], seen
                assert seen["small"] >= (0.98 if width > 1000 else 0.7), seen["small"]
                seen = server.visit(BROWSER, "/cost.html", LOOK, folder, width)
                assert "epochs=30" in seen["text"] and "cost 5" in seen["text"] and seen["wide"] <= width and seen["charts"] >= 4, seen
                seen = server.visit(BROWSER, "/stopped.html", LOOK, folder, width)
                assert seen["text"].count(", stopped early") == seen["stopped"] and seen["stopped"] > 0, seen
                assert seen["wide"] <= width, seen
                for page, charts in (("long", 7), ("many", 14), ("three", 8), ("failed", 0)):
                    seen = server.visit(BROWSER, "/%s.html" % page, LOOK, folder, width)
                    assert seen["wide"] <= width and seen["charts"] == charts, (page, width, seen)
                    assert not charts or seen["small"] >= (0.98 if width > 1000 else 0.7) and seen["least"] > 100, (page, width, seen)
                    if page == "many": assert "v30" in seen["titles"] and "variables that matter most" in seen["text"], seen
                    if page == "long": assert "small" in seen["words"] and len(set(seen["titles"])) == len(seen["titles"]), seen
    print("the optimiser's page: all checks passed")
    return 0


sys.exit(main())
