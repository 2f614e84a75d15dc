#!/usr/bin/python3
"""The HTML report of `gpmem discover` in headless Chromium: charts are drawn, no console errors, nothing is
fetched, hovering shows values, dragging zooms, text from the data stays text, and the page reads without
scripts. Works on a series whose names try to break out of the page."""
import json, math, os, re, shutil, subprocess, sys, tempfile

PROBE = """
<script>
window.addEventListener('load', function () {
  var out = {figures: document.querySelectorAll('figure[data-chart] svg').length, hover: [], zoom: [], bold: document.querySelectorAll('main b, main img').length};
  document.querySelectorAll('figure[data-chart]').forEach(function (fig) {
    var svg = fig.querySelector('svg'), r = svg.querySelector('clipPath rect'), b = svg.getBoundingClientRect();
    var full = svg.getAttribute('viewBox').split(' ').map(Number);
    var x = b.left + (+r.getAttribute('x') + 0.5 * +r.getAttribute('width')) / full[2] * b.width;
    var y = b.top + (+r.getAttribute('y') + 0.5 * +r.getAttribute('height')) / full[3] * b.height;
    function fire(type, cx, cy, target) { (target || svg).dispatchEvent(new PointerEvent(type, {clientX: cx, clientY: cy, bubbles: true, button: 0})); }
    fire('pointermove', x, y);
    var tip = fig.querySelector('.tip');
    out.hover.push(tip.style.display === 'block' ? tip.innerText : '');
    fire('pointerleave', x, y);
    fire('pointerdown', x - 60, y); fire('pointermove', x + 60, y); fire('pointerup', x + 60, y, window);
    out.zoom.push(svg.getAttribute('viewBox') !== full.join(' '));
    svg.dispatchEvent(new MouseEvent('dblclick', {bubbles: true}));
    out.zoom.push(svg.getAttribute('viewBox') === full.join(' '));
  });
  var pre = document.createElement('pre'); pre.id = 'probe'; pre.textContent = JSON.stringify(out); document.body.appendChild(pre);
});
</script>
"""


# the sizes of letters of the charts that are seen, in pixels of the screen, and what sticks out
SMALL = """
<script>
window.addEventListener('load', function () {
  var out = {charts: 0, least: 99, wide: document.documentElement.scrollWidth};
  document.querySelectorAll('figure[data-chart] svg').forEach(function (svg) {
    var b = svg.getBoundingClientRect();
    if (!b.width) return;
    out.charts++;
    svg.querySelectorAll('text').forEach(function (t) {
      out.least = Math.min(out.least, parseFloat(getComputedStyle(t).fontSize) * b.width / svg.getAttribute('viewBox').split(' ')[2]);
    });
  });
  var pre = document.createElement('pre'); pre.id = 'probe'; pre.textContent = JSON.stringify(out); document.body.appendChild(pre);
});
</script>
"""


def browse(browser, page, profile, width=1000, *more):
    r = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                        "--user-data-dir=" + profile, "--enable-logging=stderr", "--v=0", "--window-size=%d,1200" % width,
                        "--virtual-time-budget=3000", *more, "--dump-dom", "file://" + page],
                       capture_output=True, text=True, timeout=300)
    return r.stdout, [l for l in r.stderr.splitlines() if "CONSOLE" in l]


def main():
    tool = sys.argv[1]
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        print("chromium is not installed (tools/install-packages test)")
        return 1
    with tempfile.TemporaryDirectory() as tmp:
        data, html = os.path.join(tmp, "d.csv"), os.path.join(tmp, "r.html")
        with open(data, "w") as f:
            f.write('"<img src=x onerror=alert(1)>","</script><b>y"\n')
            for i in range(48):
                f.write("%d-%02d,%.4f\n" % (2000 + i // 12, i % 12 + 1, 5 + 0.05 * i + math.sin(i * math.pi / 6) + 0.1 * math.sin(i * i)))
        subprocess.run([tool, "discover", data, "--column", "2", "--html", html, "-q"], check=True)
        page = open(html, encoding="utf-8").read()
        assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', page), "the page fetches something"
        assert "<b>y" not in page and "<img" not in page, "text from the data is not escaped"
        plain = re.sub(r"<script.*?</script>", "", page, flags=re.S)
        for need in ("Probable structures", "Components", "Forecast as a table", "<svg"):
            assert need in plain, need
        probe = os.path.join(tmp, "p.html")
        open(probe, "w", encoding="utf-8").write(page.replace("</body>", PROBE + "</body>"))
        dom, console = browse(browser, probe, os.path.join(tmp, "profile"))
        assert not console, console
        m = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
        assert m, "the probe did not run"
        out = json.loads(m.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        print(out)
        assert out["figures"] >= 2 and out["bold"] == 0, out
        assert all(("median" in h or "mean" in h) and "20" in h for h in out["hover"]), out["hover"]
        assert all(out["zoom"]), out["zoom"]
        for width in (1200, 500):  # a window cannot be narrower; a frame can
            frame = os.path.join(tmp, "s%d.html" % width)
            open(frame, "w", encoding="utf-8").write(page.replace("</body>", SMALL + "</body>"))
            shown = frame
            if width == 500:
                shown = os.path.join(tmp, "frame.html")
                open(shown, "w").write('<iframe id="f" src="s500.html" style="width:400px;height:900px;border:0"></iframe><script>'
                                       'window.addEventListener("load",function(){setTimeout(function(){var p=document.createElement("pre");p.id="probe";'
                                       'p.textContent=document.getElementById("f").contentDocument.getElementById("probe").textContent;document.body.appendChild(p)},500)})</script>')
            seen, _ = browse(browser, shown, os.path.join(tmp, "profile"), width, "--allow-file-access-from-files")
            small = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', seen, re.S).group(1))
            print(width, small)
            assert small["charts"] == out["figures"] // 2 and small["least"] >= 9.9, small
            assert small["wide"] <= (400 if width == 500 else width), small
        marks = len(re.findall(r"<(path|circle)", dom))
        assert marks > 60, marks
    print("report: charts, hover, zoom and escaping are fine")
    return 0


sys.exit(main())
