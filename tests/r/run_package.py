#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The R package: it installs on the library of the build, its own tests pass, docs/howto-r.md prints what it says; it draws what the
tool draws, on any processor; it says what is missing without the library (argument: the tool)."""
import os, sys, tempfile

import package

sys.path.insert(0, os.path.join(package.ROOT, "tests", "python"))
import unknown

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
        if rc or not run_docs.same(got, after.lines, after.share):
            bad.append("%s prints\n%s" % (block.where, "\n".join(got)))
    return "\n".join(bad) if count else "the page has no programs"


def try_processor(place):
    """R draws what the tool draws, by each core that this machine can run and on a processor that OpenBLAS does not know."""
    program = os.path.join(place.folder, "p.vnts")
    with open(program, "w") as f:
        f.write(unknown.PROGRAM)
    draw = 'library(gpmem); gpm_run("%s")' % program
    there = {k: unknown.environment(sys.argv[1]).get(k) for k in ("LD_PRELOAD", "OPENBLAS_CORETYPE")}
    for core in [None] + unknown.cores():
        where = dict(there, OPENBLAS_CORETYPE=core)
        (rc, said), (bad, want) = place.run("Rscript", "-e", draw, **where), place.run(os.path.abspath(sys.argv[1]), "run", program, **where)
        if rc or bad or said != want:
            return "with OPENBLAS_CORETYPE=%s:\n%s\n%s" % (core, said, want)


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = package.Place(sys.argv[1], folder)
        rc, said = place.install()
        if rc:
            return "R CMD INSTALL:\n" + said
        rc, said = place.run("Rscript", os.path.join(package.ROOT, "r", "tests", "gpmem.R"))
        if rc or "all is well" not in said:
            return said
        bad = try_processor(place)
        if bad:
            return bad
        bad = try_page(place)
        if bad:
            return bad
        place.env["PKG_CONFIG_PATH"] = place.env["PKG_CONFIG_LIBDIR"] = folder
        rc, said = place.run("sh", "-c", "cd source && ./configure")
        return None if rc == 1 and "PKG_CONFIG_PATH" in said else "configure without the library: %d\n%s" % (rc, said)


sys.exit(main())
