#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Same name, same thing: no two files of src have one name, and a struct that a header shows has its name alone.
(Structs inside two .c files may share one: nobody sees both.)

    run_names.py GPMEM"""
import collections, os, re, sys

SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")
files, structs = collections.defaultdict(list), collections.defaultdict(list)
for folder, _, names in os.walk(SRC):
    for name in sorted(names):
        path = os.path.relpath(os.path.join(folder, name), SRC)
        files[name].append(path)
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            for struct in re.findall(r"^struct (\w+) \{", f.read(), re.M):
                structs[struct].append(path)
twice = ["file %s: %s" % (n, ", ".join(p)) for n, p in sorted(files.items()) if len(p) > 1]
twice += ["struct %s: %s" % (n, ", ".join(p)) for n, p in sorted(structs.items())
          if len(p) > 1 and any(x.endswith(".h") for x in p)]
for line in twice:
    print("two of one name:", line)
print("%d files, %d structs, %d names twice" % (len(files), len(structs), len(twice)))
sys.exit(bool(twice) or len(structs) < 100)
