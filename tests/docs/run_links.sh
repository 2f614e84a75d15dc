#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages become a site, and no link between them is broken.
set -e
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$(dirname "$0")/../../tools/site" "$out"
# every page is well-formed enough to be read back, and refers only to what is there
python3 - "$out" <<'END'
import html.parser, os, sys
VOID = {"meta", "img", "br", "link", "input"}
class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links = [], []
    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src")]
    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.getpos())
root = sys.argv[1]
for name in sorted(os.listdir(root)):
    if name.endswith(".html"):
        r = Reader()
        r.feed(open(os.path.join(root, name), encoding="utf-8").read())
        assert not r.open, (name, r.open)
        for link in r.links:
            place = link.split("#")[0]
            if place.endswith((".html", ".svg", ".css", ".js")) and ":" not in place:
                assert os.path.exists(os.path.join(root, place)), (name, link)
print("site read back")
END
