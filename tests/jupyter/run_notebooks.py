#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of docs as notebooks (tools/notebook), executed by nbconvert with the kernel: what their cells print is what the pages say
(argument: the tool; --keep DIR: the executed notebooks as HTML)."""
import concurrent.futures as cf, json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.path.abspath(sys.argv[1])
os.environ.update(GPMEM_PYTHON=sys.executable, GPMEM_LIBRARY=os.path.join(os.path.dirname(TOOL), "libgpmem.so"),
                  PYTHONPATH=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"), PYTHONDONTWRITEBYTECODE="1")
PAGES = ["tutorial", "howto-grammar", "howto-models", "howto-sample", "howto-counts"]
sys.path.insert(0, os.path.join(ROOT, "tests", "docs"))
KEEP = sys.argv[sys.argv.index("--keep") + 1] if "--keep" in sys.argv else None
sys.argv = sys.argv[:2]
import run_docs


def printed(cell):
    """The lines of a cell's output, as the tool would have printed them; progress leaves only the time."""
    out = ""
    for o in cell["outputs"]:
        if o["output_type"] == "stream" and o["name"] == "stdout":
            out += "".join(o["text"])
        elif o["output_type"] in ("display_data", "execute_result"):
            plain = "".join(o["data"]["text/plain"])
            out += "" if re.fullmatch(r"[\d.]+ s", plain) else plain + "\n"
    return out.rstrip("\n").split("\n") if out.strip() else []


def programs(page):
    """Each program of the page and what it prints; files that it reads are written."""
    blocks = list(run_docs.blocks(page))
    for block, after in zip(blocks, blocks[1:] + [None]):
        if block.kind == "venture" and not any(w.startswith("file=") for w in block.words):
            yield block, after.lines if after is not None and after.kind == "output" else []


def try_page(name, folder):
    page = os.path.join(ROOT, "docs", name + ".md")
    made = os.path.join(folder, name + ".ipynb")
    with open(made, "w") as f:
        subprocess.run([os.path.join(ROOT, "tools", "notebook"), page], stdout=f, check=True)
    for block in run_docs.blocks(page):
        for word in block.words[1:]:
            if word.startswith("file=") and "/" not in word:
                with open(os.path.join(folder, word[5:]), "w") as f:
                    f.write("\n".join(block.lines) + "\n")
    done = subprocess.run(["jupyter-nbconvert", "--to", "notebook", "--execute", "--inplace", "--allow-errors",
                           "--ExecutePreprocessor.timeout=300", made], capture_output=True, text=True, cwd=folder)
    if done.returncode:
        return ["%s: %s" % (name, done.stderr[-1500:])]
    if KEEP:
        subprocess.run(["jupyter-nbconvert", "--to", "html", "--output-dir", KEEP, made], capture_output=True)
    every = json.load(open(made))["cells"]
    cells = [c for c in every if c["cell_type"] == "code"]
    wants, bad = list(programs(page)), []
    for line in (l for c in every if c["cell_type"] == "markdown" for l in c["source"]):
        if line.startswith("```") and " " in line: # readers of notebooks show such a fence as it stands
            bad.append("%s: a fence says more than its language: %s" % (name, line))
    if len(wants) != len(cells) or not cells:
        bad.append("%s: %d programs, %d cells" % (name, len(wants), len(cells)))
    for cell, (block, want) in zip(cells, wants):
        fails = any(o["output_type"] == "error" for o in cell["outputs"])
        if fails != ("fails" in block.words):
            bad.append("%s: %s" % (block.where, cell["outputs"]))
        elif not fails and not run_docs.same(printed(cell), want):
            bad.append("%s prints\n    %s\ninstead of\n    %s" % (block.where, "\n    ".join(printed(cell)), "\n    ".join(want)))
    return bad


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUPYTER_DATA_DIR"] = os.environ["JUPYTER_RUNTIME_DIR"] = os.path.join(folder, "jupyter")
        os.environ["JUPYTER_PATH"] = "/usr/share/jupyter"
        subprocess.run([TOOL, "kernel", "--install"], check=True, capture_output=True)
        for name in ("data", "examples"):
            if os.path.exists(os.path.join(ROOT, name)):
                os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        with cf.ThreadPoolExecutor(2) as pool:
            bad = [b for page in pool.map(lambda p: try_page(p, folder), PAGES) for b in page]
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
