#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The R package: it installs on the library of the build, its own tests pass, docs/howto-r.md prints what it says; it says what is
missing without the library, and what is slow on a processor that OpenBLAS does not know (argument: the tool)."""
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
        if rc or not run_docs.same(got, after.lines):
            bad.append("%s prints\n%s" % (block.where, "\n".join(got)))
    return "\n".join(bad) if count else "the page has no programs"


def try_processor(place):
    """Attached on a processor that OpenBLAS does not know, the package says what Python's does."""
    advice, better = unknown.advice(sys.argv[1])
    there = {k: unknown.environment(sys.argv[1]).get(k) for k in ("LD_PRELOAD", "OPENBLAS_CORETYPE")}
    for core, want in ((None, advice and "gpmem: " + advice), (better, ""), (unknown.OLD if better else None, "")):
        rc, said = place.run("Rscript", "-e", "library(gpmem)", **dict(there, OPENBLAS_CORETYPE=core))
        if rc or said.strip() != want:
            return "attached with OPENBLAS_CORETYPE=%s:\n%s" % (core, said)


def follow_advice(place):
    """Where this machine's processor is such a one."""
    _, better = unknown.advice(sys.argv[1])
    if better and "OPENBLAS_CORETYPE=" in place.run("Rscript", "-e", "library(gpmem)")[1]:
        place.env["OPENBLAS_CORETYPE"] = better


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
        follow_advice(place)
        bad = try_page(place)
        if bad:
            return bad
        place.env["PKG_CONFIG_PATH"] = place.env["PKG_CONFIG_LIBDIR"] = folder
        rc, said = place.run("sh", "-c", "cd source && ./configure")
        return None if rc == 1 and "PKG_CONFIG_PATH" in said else "configure without the library: %d\n%s" % (rc, said)


sys.exit(main())
