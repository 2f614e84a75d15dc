#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""The run buttons of the documentation in headless Chromium (argument: the tool): every program that has one runs in the page
without an error and prints the native tool's numbers (to 1e-6; those that part are counted and named); a click opens the
playground below the text; nothing overflows at 400 px. Needs the playground (make wasm)."""
import base64, http.server, json, os, re, shutil, subprocess, sys, tempfile, threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "browser"))
import visit

PROGRAMS = """
(async () => {
  const out = [];
  await visit.wait(() => document.body.dataset.loaded);
  for (const program of await (await fetch('/programs.json')).json()) {
    $('seed').value = 1;
    $('program').value = program;
    const before = job, t = performance.now();
    $('run').click();
    await visit.wait(() => document.body.dataset.done == before + 1);
    out.push({...visit.shown(), state: $('state').textContent, ms: performance.now() - t});
  }
  visit.tell(out);
})();
"""
CLICK = """
(async () => {
  document.querySelector('.run a').click();
  await visit.wait(() => document.querySelector('.run iframe'));
  const frame = document.querySelector('.run iframe');
  await visit.wait(() => frame.contentDocument && frame.contentDocument.body && frame.contentDocument.body.dataset.done);
  const inside = frame.contentDocument;
  const out = {text: inside.querySelector('#output').textContent, header: getComputedStyle(inside.querySelector('header')).display,
               opened: document.querySelector('.run a').textContent};
  document.querySelector('.run a').click();
  out.closed = !document.querySelector('.run iframe');
  out.versions = [...document.querySelectorAll('#version option')].map(o => o.value);
  visit.tell(out);
})();
"""
NARROW = """
(async () => {
  const out = {};
  for (const page of ['index', 'gallery', 'tutorial', 'howto-editors', 'reference']) {
    const frame = document.createElement('iframe');
    frame.style.cssText = 'width:400px;height:800px;border:0';
    frame.src = page + '.html';
    document.body.append(frame);
    await new Promise(r => { frame.onload = r; });
    out[page] = [frame.contentDocument.documentElement.scrollWidth, frame.contentDocument.querySelector('h1').getBoundingClientRect().top];
    frame.remove();
  }
  visit.tell(out);
})();
"""


def programs(site):
    """{program: pages} of the buttons."""
    found = {}
    for name in sorted(os.listdir(site)):
        if name.endswith(".html"):
            for code in re.findall(r'href="playground/index.html#([\w-]+)"', open(os.path.join(site, name), encoding="utf-8").read()):
                held = json.loads(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)))
                assert held["seed"] == 1 and held["run"] is True, held
                found.setdefault(held["program"], []).append(name)
    return found


def native(program):
    p = subprocess.run([TOOL, "run", "-q", "-"], input=program, capture_output=True, text=True)
    return p.stdout


def main():
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser or not shutil.which("emcc"):
        print("skipped: chromium and emscripten are needed (tools/install-packages test bench)")
        return 0
    if not os.path.exists(os.path.join(ROOT, "build-web", "site", "gpmem-web.wasm")):
        subprocess.run([os.path.join(ROOT, "tools", "wasm")], check=True)
    bad, parted, same = [], [], 0
    with tempfile.TemporaryDirectory(prefix="gpmem-buttons-") as folder:
        top = os.path.join(folder, "site")
        for _ in range(2):  # twice: an older version beside it
            subprocess.run([os.path.join(ROOT, "tools", "site"), "--versions", top], check=True, stdout=subprocess.DEVNULL)
            version = [v for v in os.listdir(top) if v[0].isdigit() and v != "0.0.1"][0]
            shutil.copytree(os.path.join(top, version), os.path.join(top, "0.0.1"), dirs_exist_ok=True)
        site = os.path.join(top, version)
        all_programs = programs(site)
        assert len(all_programs) > 50, len(all_programs)
        with visit.Server(top, {"/programs.json": json.dumps(list(all_programs))}) as server:
            answers = server.visit(browser, "/%s/playground/index.html" % version, PROGRAMS, folder)
            for (program, pages), got in zip(all_programs.items(), answers):
                if got["errors"] or "done" not in got["state"]:
                    bad.append("%s: %s\n%s" % (pages[0], got["errors"] or got["state"], program))
                elif visit.alike_shown(got, native(program)):
                    same += 1
                else:
                    parted.append(pages[0])
                    if "--show" in sys.argv: print(pages[0], program[-300:], got, native(program), sep="\n")
            clicked = server.visit(browser, "/%s/gallery.html" % version, CLICK, folder)
            if "p" not in clicked["text"] or clicked["header"] != "none" or clicked["opened"] != "Close" or not clicked["closed"]:
                bad.append("the button: %s" % clicked)
            if clicked["versions"] != [version, "0.0.1"]:
                bad.append("versions: %s" % clicked["versions"])
            for page, (width, top_of_text) in server.visit(browser, "/%s/howto-c.html" % version, NARROW, folder).items():
                if width > 400 or top_of_text > 400:
                    bad.append("%s at 400 px: %s wide, its text begins at %s" % (page, width, top_of_text))
    print("%d programs ran in the page, %d with the native tool's numbers; others: %s" % (
        len(all_programs), same, ", ".join("%d of %s" % (parted.count(p), p) for p in sorted(set(parted))) or "none"))
    if len(parted) > len(all_programs) / 5:
        bad.append("too many part")
    print("\n".join(bad))
    return bool(bad)


sys.exit(main())
