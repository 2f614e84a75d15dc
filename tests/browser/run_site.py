#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation in a browser: the search finds names and headings, and its links lead to them."""
import os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUERIES = {  # what is typed: where the first answer leads
    "posterior_predictive_check": "reference.html#posterior_predictive_check",
    "gpmem": "index.html#gpmem",
    "stan csv": "from-stan.html",
    "make_squaredexp": "reference.html#make_squaredexp",
    "errata": "theory.html",
}
browser = shutil.which("chromium") or shutil.which("google-chrome")
if not browser:
    print("skipped: there is no chromium (tools/install-packages test)")
    sys.exit(0)
with tempfile.TemporaryDirectory(prefix="gpmem-site-") as out:
    subprocess.run([os.path.join(ROOT, "tools/site"), out], check=True, stdout=subprocess.DEVNULL)
    page = open(os.path.join(out, "howto-c.html"), encoding="utf-8").read()
    for query, wanted in QUERIES.items():
        with open(os.path.join(out, "try.html"), "w", encoding="utf-8") as f:
            f.write(page.replace('<input id="search"', '<input id="search" value="%s"' % query))
        dom = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=%s/profile" % out,
                              "--dump-dom", "file://%s/try.html" % out], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             timeout=120).stdout.decode()
        links = re.findall(r'href="([^"]+)"', dom[dom.index('<div id="found">'):dom.index("<b>Start</b>")])
        assert links and links[0].startswith(wanted), (query, links[:5])
        place, _, mark = links[0].partition("#")
        assert 'id="%s"' % mark in open(os.path.join(out, place), encoding="utf-8").read(), links[0]
    # versions stand beside each other, and the newest is led to
    for version in ("0.0.9", None):
        subprocess.run([os.path.join(ROOT, "tools/site"), "--versions", os.path.join(out, "v")], check=True, stdout=subprocess.DEVNULL)
        here, = [v for v in os.listdir(os.path.join(out, "v")) if re.fullmatch(r"[0-9.]+", v) and v != "0.0.9"]
        if version:
            shutil.copytree(os.path.join(out, "v", here), os.path.join(out, "v", version))
    assert open(os.path.join(out, "v", "versions.js")).read() == 'const VERSIONS = ["%s", "0.0.9"];\n' % here
    assert "url=%s/index.html" % here in open(os.path.join(out, "v", "index.html")).read()
    assert "../versions.js" in open(os.path.join(out, "v", here, "tutorial.html")).read()
print("the search answers %d questions" % len(QUERIES))
