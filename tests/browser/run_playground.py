#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""The playground in headless Chromium (arguments: the tool; --keep DIR: pictures of the page at 1200 and 400 px). Examples print the
numbers of the native tool (last digits apart: another libm, no fused multiply-add), errors show their line, a deep recursion is an
error, Stop stops, links carry a program, a CSV file gives a report, nothing is fetched from elsewhere. Builds build-web if need be."""
import json, os, re, shutil, subprocess, sys, tempfile, time

import visit

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
SITE = os.path.join(ROOT, "build-web", "site")
KEEP = os.path.abspath(sys.argv[sys.argv.index("--keep") + 1]) if "--keep" in sys.argv else None
EXAMPLES = ["coin", "tutorial", "neal", "structure"]
LIMITS = {"wasm": 2.6e6, "js": 120e3}  # bytes of the download, not compressed
PROBE = """
(async () => {
  const wait = visit.wait, text = () => visit.texts('');
  const out = {width: innerWidth, scroll: 0, first: 0, examples: {}};
  async function run(program) {
    $('program').value = program;
    const before = job;
    $('run').click();
    await wait(() => document.body.dataset.done == before + 1);
  }
  try {
    await wait(() => document.body.dataset.loaded);
    await run('sample 6 * 7;');
    out.first = performance.now();
    out.answer = text();
    for (const name of EXAMPLES) {
      const t = performance.now();
      await run(examples[name + '.vnts']);
      out.examples[name] = {...visit.shown(), ms: performance.now() - t};
    }
    await run('sample 1;\\nassume y = nrmal(0, 1);');
    out.error = text();
    document.querySelector('#output pre.error').click();
    out.selected = $('program').value.slice($('program').selectionStart, $('program').selectionEnd);
    await run('assume f = proc(n) { if (n == 0) { 0 } else { 1 + f(n - 1) } }; sample f(100000);');
    out.deep = text();
    await run('print("<b>bold</b>"); d = run(accumulate_dataset(9, do(collect(labelled(normal(0, 1), "<i>x</i>"))))); plot("l0", d); summarize(d);');
    out.foreign = text();
    out.markup = document.querySelectorAll('#output b, #output i').length;
    out.pictures = document.querySelectorAll('#output img').length;
    $('program').value = 'assume x = normal(0, 1); infer repeat(2000000000, mh(default, one, 1));';
    $('run').click();
    await new Promise(r => setTimeout(r, 1500));
    out.progress = !$('progress').hidden;
    const t = performance.now();
    $('stop').click();
    await run('sample 7;');
    out.stopped = performance.now() - t;
    out.after = text();
    $('seed').value = 5; $('program').value = 'sample "link";'; $('share').click();
    out.link = decode(location.hash.slice(1));
    if (innerWidth > 600) {
      const t = performance.now();
      const before = job;
      discover(new File([examples['airline.csv']], 'airline.csv'));
      await wait(() => document.body.dataset.done == before + 1);
      out.discover = {ms: performance.now() - t, text: text(), frames: document.querySelectorAll('#output iframe[sandbox]').length};
    }
    out.scroll = document.documentElement.scrollWidth;
  } catch (e) { out.failed = String(e) + e.stack; }
  visit.tell(out);
})();
"""
# A page that was opened by a link: the program is no example, and runs where the link says so.
LINKED = """
(async () => {
  location.hash = encode({program: 'sample 6 * 8;', seed: 3, run: true});
  if (!sessionStorage.again) { sessionStorage.again = 1; return location.reload(); }
  await visit.wait(() => document.body.dataset.done);
  visit.tell({example: $('examples').value, program: $('program').value, seed: $('seed').value, text: visit.texts('')});
})();
"""


def native(*command):
    t = time.time()
    p = subprocess.run([TOOL, *command], capture_output=True, text=True, cwd=os.path.join(ROOT, "examples"))
    return p.stdout, time.time() - t


def check_page(r):
    bad = [r["failed"]] if "failed" in r else []
    if bad:
        return bad
    def check(what, ok, seen): return None if ok else bad.append("%d px: %s: %s" % (r["width"], what, str(seen)[:900]))
    check("width", r["width"] in (1200, 400), r["width"])
    check("answer", r["answer"].strip() == "42", r["answer"])
    for name in EXAMPLES:
        want, _ = native("run", "-q", name + ".vnts")
        got = r["examples"][name]
        check(name, visit.alike_shown(got, want), (got, want))
    check("error", "did you mean `normal`" in r["error"] and "E0201" in r["error"], r["error"])
    check("the error's line", r["selected"].startswith("assume y = nrmal"), r["selected"])
    check("deep recursion", "too deep" in r["deep"] or "deeper" in r["deep"], r["deep"])
    check("foreign text", "<b>bold</b>" in r["foreign"] and r["markup"] == 0 and r["pictures"] == 1, r)
    check("progress", r["progress"], r)
    check("stop", r["after"].strip() == "7", r)
    check("link", r["link"] == {"program": 'sample "link";', "seed": 5}, r["link"])
    check("no sideways scrolling", r["scroll"] <= r["width"], (r["scroll"], r["width"]))
    if "discover" in r:
        first = re.compile(r"This structure, ([^,]+), has probability")
        want, _ = native("discover", "-q", "-j", "1", "../data/airline.csv")
        found = first.search(r["discover"]["text"])
        check("report", r["discover"]["frames"] == 1 and found and found.group(1) == first.search(want).group(1), r["discover"])
    return bad


def pictures(browser, server, folder):
    os.makedirs(KEEP, exist_ok=True)
    for width in (1200, 400):
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=%s/shot%d" % (folder, width),
                        "--hide-scrollbars", "--window-size=%d,1000" % max(width, 500), "--virtual-time-budget=15000",
                        "--screenshot=%s/playground-%d.png" % (KEEP, width), server.address("/index.html", width)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)


def main():
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser or not shutil.which("emcc"):
        print("skipped: chromium and emscripten are needed (tools/install-packages test bench)")
        return 0
    if not os.path.exists(os.path.join(SITE, "gpmem-web.wasm")):
        subprocess.run([os.path.join(ROOT, "tools", "wasm")], check=True)
    bad = []
    with tempfile.TemporaryDirectory(prefix="gpmem-web-") as folder, visit.Server(SITE) as server:
        r = server.visit(browser, "/index.html", LINKED, folder)
        if not r or (r["example"], r["program"], r["seed"], r["text"].strip()) != ("", "sample 6 * 8;", "3", "48"):
            bad.append("a page opened by a link: %s" % r)
        for width in (1200, 400):
            r = server.visit(browser, "/index.html", PROBE.replace("EXAMPLES", json.dumps(EXAMPLES)), folder, width)
            r = r or {"failed": "no answer at %d px" % width}
            bad += check_page(r)
            if "failed" not in r:
                print("%d px: first answer after %.0f ms; stop and next answer %.0f ms; %s" % (
                    r["width"], r["first"], r["stopped"], ", ".join("%s %.0f ms" % (n, e["ms"]) for n, e in r["examples"].items())))
            if "discover" in r:
                _, seconds = native("discover", "-q", "-j", "1", "../data/airline.csv")
                print("discover airline: %.1f s in the page, %.1f s native" % (r["discover"]["ms"] / 1000, seconds))
        if KEEP:
            pictures(browser, server, folder)
        elsewhere = [p for p in server.asked if not p.startswith("/")]
    for kind, limit in LIMITS.items():
        size = os.path.getsize(os.path.join(SITE, "gpmem-web." + kind))
        print("gpmem-web.%s: %d bytes" % (kind, size))
        if size > limit:
            bad.append("gpmem-web.%s has %d bytes" % (kind, size))
    for line in bad + elsewhere:
        print(line)
    return 1 if bad or elsewhere else 0


sys.exit(main())
