#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Same name, same thing: no two files of src have one name, and a struct that a header shows has its name alone.
(Structs inside two .c files may share one: nobody sees both.) A static function has a name that few other files
give to one of theirs, so that a debugger, a profile or a tag names the place: usually FILE_verb.

    run_names.py GPMEM"""
import collections, os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
FILES_MOST = 9  # that give one name to static functions; lowered when fewer do
STATIC = re.compile(r"^static [\w *]*?\b(\w+)\([^;{]*\) \{", re.M)
files, structs, static = (collections.defaultdict(list) for _ in range(3))
for folder, _, names in os.walk(SRC):
    for name in sorted(names):
        path = os.path.relpath(os.path.join(folder, name), SRC)
        files[name].append(path)
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = f.read()
            for struct in re.findall(r"^struct (\w+) \{", text, re.M):
                structs[struct].append(path)
            if name.endswith(".c"):
                for function in set(STATIC.findall(text)):
                    static[function].append(path)
twice = ["file %s: %s" % (n, ", ".join(p)) for n, p in sorted(files.items()) if len(p) > 1]
twice += ["struct %s: %s" % (n, ", ".join(p)) for n, p in sorted(structs.items())
          if len(p) > 1 and any(x.endswith(".h") for x in p)]
common = sorted(((len(p), n) for n, p in static.items() if len(p) > FILES_MOST), reverse=True)
for k, n in common:
    print("a static function of %d files, at most %d may have one name: %s (%s)" % (k, FILES_MOST, n, ", ".join(static[n])))
for line in twice:
    print("two of one name:", line)
most = max(len(p) for p in static.values())
if most < FILES_MOST:
    print("FILES_MOST can be lowered to %d" % most)
print("%d files, %d structs, %d names twice, a static name in %d files at most" % (len(files), len(structs), len(twice), most))
sys.exit(bool(twice) or bool(common) or len(structs) < 100)
