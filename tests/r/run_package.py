#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The R package: it installs on the library of the build, its own tests pass, docs/howto-r.md prints what it says, and without the
library it says what is missing (argument: the tool)."""
import os, sys, tempfile

import package

sys.path.insert(0, os.path.join(package.ROOT, "tests", "docs"))
import run_docs


def try_page(place):
    blocks = list(run_docs.blocks(os.path.join(package.ROOT, "docs", "howto-r.md")))
    bad, count = [], 0
    for block, after in zip(blocks, blocks[1:] + [None]):
        if block.kind != "r":
            continue
        rc, said = place.run("Rscript", "-e", "\n".join(block.lines))
        got = [line.rstrip() for line in said.rstrip("\n").split("\n")]
        count += 1
        if rc or not run_docs.same(got, after.lines):
            bad.append("%s prints\n%s" % (block.where, "\n".join(got)))
    return "\n".join(bad) if count else "the page has no programs"


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = package.Place(sys.argv[1], folder)
        rc, said = place.install()
        if rc:
            return "R CMD INSTALL:\n" + said
        rc, said = place.run("Rscript", os.path.join(package.ROOT, "r", "tests", "gpmem.R"))
        if rc or "all is well" not in said:
            return said
        bad = try_page(place)
        if bad:
            return bad
        place.env["PKG_CONFIG_PATH"] = place.env["PKG_CONFIG_LIBDIR"] = folder
        rc, said = place.run("sh", "-c", "cd source && ./configure")
        return None if rc == 1 and "PKG_CONFIG_PATH" in said else "configure without the library: %d\n%s" % (rc, said)


sys.exit(main())
