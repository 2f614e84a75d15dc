# SPDX-License-Identifier: Apache-2.0
"""Pages in headless Chromium: a server of a folder, a script that is run in one of its pages and tells what it saw, and the
comparison of what the playground shows with what the native tool prints."""
import http.server, json, math, os, re, subprocess, tempfile, threading, time

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
# What scripts have: visit.wait(test), visit.shown() of the playground, visit.tell(result).
HELPERS = """
const visit = {
  wait: test => new Promise(done => { const t = setInterval(() => { if (test()) { clearInterval(t); done(); } }, 20); }),
  texts: kind => [...document.querySelectorAll('#output pre' + kind)].map(e => e.textContent).join('\\n'),
  shown: () => ({text: visit.texts(':not(.err)'), errors: visit.texts('.error'),
                 cells: [...document.querySelectorAll('#output td')].map(e => e.textContent).join(' '),
                 pictures: document.querySelectorAll('#output img').length}),
  tell: result => fetch('/result', {method: 'POST', body: JSON.stringify(result)}),
};
"""
# Headless Chromium has no window below 500 pixels; a frame in one can be narrower.
NARROW = "/narrow.html"
FRAME = '<!doctype html><body style="margin:0"><iframe src="%s" style="width:%spx;height:960px;border:0"></iframe></body>'


class Server:
    """Hands out a folder, and the texts of `extra` by their paths; .asked are the paths that were asked for."""

    def __init__(self, folder, extra=None):
        self.folder, self.extra, self.asked, self.results, self.probed = folder, dict(extra or {}), [], [], None
        outer = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args): super().__init__(*args, directory=outer.folder)
            def log_message(self, *args): pass

            def do_GET(self):
                outer.asked.append(self.path)
                path = self.path.split("?")[0]
                if path == outer.probed:
                    with open(os.path.join(outer.folder, path[1:]), encoding="utf-8") as f:
                        self.answer(f.read().replace("</body>", '<script src="/probe.js"></script></body>'), "text/html; charset=utf-8")
                elif path == NARROW:
                    self.answer(FRAME % tuple(self.path.split("?")[1].split(",")), "text/html; charset=utf-8")
                elif path in outer.extra:
                    self.answer(outer.extra[path], "text/javascript")
                else:
                    super().do_GET()

            def answer(self, body, kind):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body.encode())

            def do_POST(self):
                outer.results.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer("", "text/plain")

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()

    def address(self, path, width=1200):
        shown = path if width >= 500 else "%s?%s,%d" % (NARROW, path, width)
        return "http://127.0.0.1:%d%s" % (self.http.server_port, shown)

    def visit(self, browser, path, script, folder, width=1200, seconds=420):
        """What the script tells that runs in the page; None: it told nothing in time."""
        del self.results[:]
        self.probed, self.extra["/probe.js"] = path, HELPERS + script
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as profile:
            p = subprocess.Popen([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile,
                                  "--window-size=%d,1000" % max(width, 500), "--remote-debugging-port=0", self.address(path, width)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.time() + seconds
            while not self.results and time.time() < until and p.poll() is None:
                time.sleep(0.1)
            p.terminate()
            p.wait()
        self.probed = None
        return self.results[0] if self.results else None


def alike(got, want):
    """Texts whose numbers agree to 1e-6."""
    a, b = NUMBER.findall(got), NUMBER.findall(want)
    return NUMBER.sub("#", got).split() == NUMBER.sub("#", want).split() and len(a) == len(b) and \
        all(math.isclose(float(x), float(y), rel_tol=1e-6, abs_tol=1e-8) for x, y in zip(a, b))


def among(got, want):
    """Every line of got stands in want, in this order: what else the tool prints are its drawings, which are pictures in the page."""
    rest = iter(want.split("\n"))
    return all(any(alike(line, other) for other in rest) for line in got.split("\n") if line.strip())


def alike_shown(got, want):
    """What the playground shows (visit.shown) against what the tool prints: summaries are tables there, whose cells are those of the
    rows without their names."""
    lines, rows, heads = want.split("\n"), [], []
    for i, line in enumerate(lines):
        if line.split()[:3] == ["mean", "mcse", "sd"]:
            heads.append(i)
        elif heads and i == (rows or [0])[-1] + 1 or heads and i == heads[-1] + 1:
            if len(line.split()) >= 10:
                rows.append(i)
    cells = " ".join(lines[i].split(None, 1)[1] for i in rows)
    rest = "\n".join(l for i, l in enumerate(lines) if i not in rows and i not in heads)
    return alike(got["cells"], cells) and (alike(got["text"], rest) or got["pictures"] > 0 and among(got["text"], rest))
