#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `gpmem search --html` in headless Chromium, at 1200 and 400 pixels: sorting, opening, no errors, nothing
fetched, nothing sticks out, letters can be read, and names that try to break out of the page stay text."""
import json, os, random, re, shutil, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if not CHROMIUM: sys.exit("no chromium")
PROBE = """
<script>
window.addEventListener('load', function () {
  var names = function () { return [].map.call(document.querySelectorAll('.name'), function (e) { return e.textContent; }); };
  var out = {before: names(), sorted: {}, bold: document.querySelectorAll('b, img').length};
  document.querySelectorAll('.sort button').forEach(function (b) { b.click(); out.sorted[b.dataset.by] = names(); });
  document.querySelectorAll('details').forEach(function (d) { d.open = true; });
  out.wide = document.documentElement.scrollWidth; out.window = window.innerWidth;
  out.charts = 0; out.least = 99;
  document.querySelectorAll('figure svg').forEach(function (s) {
    var r = s.getBoundingClientRect();
    if (!r.width) return;
    out.charts++;
    s.querySelectorAll('text').forEach(function (t) { out.least = Math.min(out.least, t.getBoundingClientRect().height); });
  });
  document.title = ''; var pre = document.createElement('pre'); pre.id = 'probe'; pre.textContent = JSON.stringify(out); document.body.appendChild(pre);
});
</script>
"""
with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    for k, name in enumerate(["zebra", "<b>bold<img src=x onerror=alert(1)>", "middle"]):
        rng = random.Random(k)
        with open(name.replace("/", "") + ".csv", "w") as f:
            f.write("x,y\n" + "".join("%d,%.3f\n" % (1950 + i, 0.5 * i + rng.gauss(0, 1)) for i in range(40)))
    subprocess.run([TOOL, "index", "add", "x.db", "."], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([TOOL, "search", "x.db", "rises()", "--html", "page.html"], check=True)
    page = open("page.html").read()
    assert not re.search(r'(?:src|href)="(?!#)', page.replace("<img src=x", "")) and "<img" not in page, "the page fetches something"
    open("probe.html", "w").write(page.replace("</body>", PROBE + "</body>"))
    for width in (1200, 500):  # headless Chromium has no narrower window; 400 is a frame in it
        target = "probe.html"
        r = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=%d,900" % width, "--enable-logging=stderr",
                            "--virtual-time-budget=5000", "--dump-dom", "file://" + os.path.join(tmp, target)], capture_output=True, text=True, timeout=180)
        assert "CONSOLE" not in r.stderr, r.stderr[-500:]
        found = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', r.stdout, re.S).group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        assert len(found["before"]) == 3 and found["sorted"]["name"] == sorted(found["before"], key=lambda n: n.strip("<").lower()), found
        assert found["sorted"]["rank"] == found["before"] and found["bold"] == 0, found
        assert found["charts"] == 3 and found["least"] >= 9 and found["wide"] <= found["window"], found
print("search page: fine")
