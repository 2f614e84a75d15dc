#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How README.md and the pages of docs read. Code, tables, headings, pictures and targets of links are taken out first. Over all pages:
at most 17 words a sentence in the mean, 1% of sentences over 40 words, 3 semicolons in 1,000 words, 4% of the words in parentheses, and
none of the words that are private to this project. No page has more than 2,500 words. Pages that are still to be rewritten are named
below. Each may be as it is, and no worse.

    run_prose.py [--all]    --all: a line for every page"""
import glob, os, re, statistics, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATED = {"reference.md", "distributions.md"}
OLD = {"design.md": 24.4, "extending.md": 21.1, "from-stan.md": 17.8, "gallery.md": 14.3, "language.md": 18.9, "theory.md": 18.4}  # words a sentence
SENTENCE, LONG, SEMICOLONS, PARENTHESES, PAGE = 17, 0.01, 0.003, 0.04, 2500
PRIVATE = re.compile(r"out of line|what passes|what repeats|(?:is|are) told|to come\b|feasts?\b|go(?:es)? on with|by itself|in words|"
                     r"somebody|nobody|whoever|\banew\b|there is none|is none of|the greatest\b|out of it\b|stands? (?:below|above)|be had\b|"
                     r"reckons? with|count with|settled\b|likewise|no more than that|one after the other", re.I)


def paragraphs(text):
    text = re.sub(r"```.*?```|<!--.*?-->|</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?>", "", text, flags=re.S)
    lines = [l for l in text.split("\n") if not l.startswith("    ") and not re.match(r"\s*\||#|\s*!\[", l)]
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(lines))
    text = re.sub(r"(?m)^\s*[*\-\d]+[.)]?\s+", "\n\n", re.sub(r"`[^`]*`", "CODE", text))
    return [p for p in (" ".join(p.split()) for p in re.split(r"\n\s*\n", text)) if len(p.split()) > 3]


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f: text = f.read()
        parts = paragraphs(text)
        self.name, self.size = os.path.basename(path), len(text.split())
        self.sentences = [n for p in parts for n in (len(s.split()) for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`C(])", p)) if n > 2]
        self.semicolons = sum(p.count(";") for p in parts)
        self.inside = sum(len(m.split()) for p in parts for m in re.findall(r"\(([^()]*)\)", p))
        self.private = [m.group() for p in parts for m in PRIVATE.finditer(p)]

    def mean(self): return statistics.mean(self.sentences or [0])


def main():
    pages = [Page(p) for p in [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]
             if os.path.basename(p) not in GENERATED]
    new, bad = [p for p in pages if p.name not in OLD], []
    words = sum(sum(p.sentences) for p in new)
    every = [n for p in new for n in p.sentences]
    for found, most, what in ((statistics.mean(every), SENTENCE, "words a sentence"), (sum(n > 40 for n in every) / len(every), LONG, "of the sentences over 40 words"),
                              (sum(p.semicolons for p in new) / words, SEMICOLONS, "semicolons a word"),
                              (sum(p.inside for p in new) / words, PARENTHESES, "of the words in parentheses")):
        print("%.4g of %g %s" % (found, most, what))
        if found > most: bad.append("%.4g %s, at most %g" % (found, what, most))
    for p in new:
        if p.mean() > SENTENCE: bad.append("%s has %.1f words a sentence" % (p.name, p.mean()))
        if p.private: bad.append("%s: %s" % (p.name, ", ".join(p.private)))
    for p in pages:
        if p.name in OLD and p.mean() > OLD[p.name]: bad.append("%s has %.1f words a sentence, %.1f before" % (p.name, p.mean(), OLD[p.name]))
        if p.size > PAGE and p.name not in OLD: bad.append("%s has %d words, at most %d" % (p.name, p.size, PAGE))
        if "--all" in sys.argv: print("%-28s %5d words, %4.1f a sentence%s" % (p.name, p.size, p.mean(), "  still to be rewritten" if p.name in OLD else ""))
    print("\n".join(bad) or "%d pages, %d of them still to be rewritten" % (len(pages), len(OLD)))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
