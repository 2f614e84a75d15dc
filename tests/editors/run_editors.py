#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The editor files of tools/editors in the editors themselves, without windows (argument: the tool): names coloured as
what they are, examples indented as `gpmem fmt` lays them out, mistakes shown by the language server, commands run."""
import glob, json, os, re, shutil, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = sorted(glob.glob(os.path.join(ROOT, "examples", "*.vnts")))
MISTAKE = "assume mass = normal(0, 1);\nsample 2 * mas;\n"


def command(folder, *words, **more):
    """What a program printed; it must end well."""
    env = dict(os.environ, PATH=os.path.dirname(TOOL) + ":" + os.environ["PATH"], HOME=folder, XDG_CONFIG_HOME=folder,
               XDG_STATE_HOME=folder, XDG_CACHE_HOME=folder, LC_ALL="C.UTF-8", TERM="dumb", **more)
    p = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=300)
    said = p.stdout.decode()
    assert p.returncode == 0, "%s: %d\n%s" % (words[0], p.returncode, said)
    return said


def reference():
    return json.loads(subprocess.run([TOOL, "reference"], check=True, stdout=subprocess.PIPE).stdout)


def check_names(folder):
    """Every name of the reference stands in every file, once, and as the same kind."""
    names = {r["name"] for r in reference() if re.fullmatch(r"[A-Za-z_]\w*", r["name"])}
    assert len(names) > 500 and {"normal", "mh", "assume", "sample", "one"} <= names
    grammar = json.load(open(os.path.join(folder, "vscode/syntaxes/gpmem.tmLanguage.json")))
    lists = [re.search(r"\(\?:([\w|]+)\)\(\?!\[A-Za-z0-9_\]\)$", p.get("match", "")) for p in grammar["patterns"]]
    lists = [set(m[1].split("|")) for m in lists if m]
    vim = [set(line.replace("[", "").replace("]", "").split()[3:])
           for line in open(os.path.join(folder, "vim/syntax/gpmem.vim")) if line.startswith("syn keyword")]
    emacs = [set(re.findall(r'"(\w+)"', m)) for m in
             re.findall(r"\(defconst gpmem-\w+ '\((.*?)\)\)", open(os.path.join(folder, "emacs/gpmem-mode.el")).read())]
    assert lists == vim == emacs, "the three files differ"
    assert set().union(*lists) == names, set().union(*lists) ^ names
    assert sum(map(len, lists)) == len(names), "a name has two kinds"
    for name in ("assume", "sample", "observe"):
        assert name in next(l for l in lists if "define" in l), name
    left = [os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs if "{{" in open(os.path.join(d, f)).read()]
    assert not left, "names are missing in %s" % left


def check_vim(folder, editors):
    """Vim: kinds of tokens, and all examples indented anew."""
    script = os.path.join(folder, "check.vim")
    with open(script, "w") as f:
        f.write("set rtp^=%s/vim\nfiletype plugin indent on\nsyntax on\nlet out = []\n" % editors)
        for path in EXAMPLES:
            f.write("edit %s\nnormal! gg=G\ncall add(out, 'changed %s ' . (getline(1, '$') ==# readfile('%s') ? 'no' : 'yes'))\nbwipe!\n"
                    % (path, path, path))
        f.write("edit %s/examples/coin.vnts\n" % ROOT)
        for line, word in ((1, "coin"), (2, "assume"), (2, "beta"), (4, "false"), (5, "accumulate_dataset"), (5, "2000")):
            f.write("call cursor(%d, 1)\ncall search('%s', 'c')\ncall add(out, '%s ' . synIDattr(synID(line('.'), col('.'), 1), 'name'))\n"
                    % (line, word, word))
        f.write("call add(out, &makeprg)\ncall writefile(out + filter(split(execute('messages'), \"\\n\"), 'v:val =~ \"^E\\\\d\"'), '%s/said')\nqa!\n" % folder)
    command(folder, "vim", "-N", "-u", "NONE", "-i", "NONE", "-es", "-S", script)
    said = open(os.path.join(folder, "said")).read().split("\n")
    assert said[:len(EXAMPLES)] == ["changed %s no" % p for p in EXAMPLES], said
    assert said[len(EXAMPLES):] == ["coin gpmemComment", "assume gpmemDirective", "beta gpmemDistribution", "false gpmemConstant",
                                    "accumulate_dataset gpmemOperator", "2000 gpmemNumber", "gpmem check %", ""], said


EMACS = r"""
(setq byte-compile-error-on-warn t)
(unless (byte-compile-file "%(mode)s") (kill-emacs 1))
(load "%(mode)s" nil t)
(dolist (f '(%(files)s))
  (with-temp-buffer
    (insert-file-contents f)
    (gpmem-mode)
    (let ((before (buffer-string)) (inhibit-message t))
      (goto-char (point-min))
      (while (not (eobp)) (unless (looking-at "[ \t]*$") (indent-line-to 1)) (forward-line))  ; which is wrong for all
      (indent-region (point-min) (point-max))
      (princ (format "changed %%s %%s\n" f (if (string= before (buffer-string)) "no" "yes"))))))
(with-current-buffer (find-file-noselect "%(root)s/examples/coin.vnts")
  (font-lock-ensure)
  (dolist (word '("assume" "beta" "false" "accumulate_dataset" "unknown bias"))
    (goto-char (point-min))
    (re-search-forward (concat "^[^/]*\\b" (regexp-quote word)) nil t)
    (when (equal word "unknown bias") (goto-char (point-min)) (search-forward word))
    (princ (format "%%s %%s %%s\n" major-mode word (get-text-property (1- (point)) 'face)))))
(with-current-buffer (find-file-noselect "%(bad)s")
  (gpmem-format)
  (princ (format "formatted: %%s" (buffer-string)))
  (set-buffer-modified-p nil))
"""


def check_emacs(folder, editors):
    """Emacs: the file compiles without warnings, faces, all examples indented anew from nothing, gpmem fmt."""
    bad = os.path.join(folder, "bad.vnts")
    with open(bad, "w") as f:
        f.write("assume  x=normal( 0,1 ) ;\n")
    files = [p for p in EXAMPLES if "/**" not in open(p).read()]
    with open(os.path.join(folder, "check.el"), "w") as f:
        f.write(EMACS % {"mode": os.path.join(editors, "emacs", "gpmem-mode.el"), "root": ROOT, "bad": bad,
                         "files": " ".join('"%s"' % p for p in files)})
    said = command(folder, "emacs", "--batch", "-Q", "-l", os.path.join(folder, "check.el"))
    assert "changed" in said and " yes\n" not in said, said
    for line in ("gpmem-mode assume font-lock-keyword-face", "gpmem-mode beta font-lock-type-face",
                 "gpmem-mode false font-lock-constant-face", "gpmem-mode accumulate_dataset font-lock-builtin-face",
                 "gpmem-mode unknown bias font-lock-comment-face", "formatted: assume x = normal(0, 1);"):
        assert line in said, (line, said)


NEOVIM = """
vim.opt.runtimepath:prepend("%(editors)s/vim")
package.path = "%(editors)s/neovim/?.lua;" .. package.path
vim.cmd("filetype plugin indent on")
require("gpmem").setup()
vim.cmd("edit %(bad)s")
local function errors()
  return vim.tbl_filter(function(d) return d.severity == vim.diagnostic.severity.ERROR end, vim.diagnostic.get(0))
end
vim.wait(60000, function() return #errors() > 0 end, 20)
local found = errors()[1]
local out = { vim.bo.filetype, vim.bo.omnifunc, found and (found.lnum .. " " .. found.col .. " " .. found.message) or "nothing" }
local hover = vim.lsp.buf_request_sync(0, "textDocument/hover",
  { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 0, character = 16 } }, 60000)
for _, answer in pairs(hover or {}) do table.insert(out, vim.inspect(answer.result)) end
vim.fn.writefile(vim.split(table.concat(out, "\\n"), "\\n"), "%(said)s")
vim.cmd("qa!")
"""


def check_neovim(folder, editors):
    """Neovim: the language server's mistakes and help arrive."""
    bad, said = os.path.join(folder, "mistake.vnts"), os.path.join(folder, "said")
    with open(bad, "w") as f:
        f.write(MISTAKE)
    with open(os.path.join(folder, "check.lua"), "w") as f:
        f.write(NEOVIM % {"editors": editors, "bad": bad, "said": said})
    command(folder, "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile " + os.path.join(folder, "check.lua"))
    got = open(said).read()
    assert got.startswith("gpmem\nv:lua.vim.lsp.omnifunc\n1 11 the name `mas` is not bound"), got
    assert "normal(mean" in got, got


def check_helix(folder, editors):
    """Helix (not in Debian): its configuration parses and names a server and a formatter that are there."""
    import tomllib
    with open(os.path.join(editors, "helix", "languages.toml"), "rb") as f:
        t = tomllib.load(f)
    language, = t["language"]
    server = t["language-server"][language["language-servers"][0]]
    assert [server["command"], *server["args"]] == ["gpmem", "lsp"] and language["formatter"]["args"] == ["fmt"], t


def check_manifest(folder, editors):
    """VS Code: what the manifest promises is there."""
    place = os.path.join(editors, "vscode")
    m = json.load(open(os.path.join(place, "package.json")))
    for key in ("name", "publisher", "version", "engines", "license", "main", "contributes"):
        assert m[key], key
    assert re.fullmatch(r"\d+\.\d+\.\d+", m["version"]) and m["version"] in command(folder, TOOL, "--version")
    c = m["contributes"]
    paths = [m["main"], *(l["configuration"] for l in c["languages"]), *(g["path"] for g in c["grammars"]), *(s["path"] for s in c["snippets"])]
    for path in paths:
        assert os.path.exists(os.path.join(place, path)), path
    for path in paths[1:]:
        json.load(open(os.path.join(place, path)))
    commands = {x["command"] for x in c["commands"]}
    used = {x["command"] for x in c["keybindings"] + [y for menu in c["menus"].values() for y in menu]}
    assert used <= commands, used - commands
    assert {l["id"] for l in c["languages"]} == {g["language"] for g in c["grammars"]} == {s["language"] for s in c["snippets"]}
    for name, snippet in json.load(open(os.path.join(place, "snippets.json"))).items():
        check_snippet(folder, name, snippet)
    return commands


def check_snippet(folder, name, snippet):
    """A snippet with its defaults parses, and is laid out as gpmem fmt does it."""
    body = snippet["body"]
    text = body if isinstance(body, str) else "\n".join(body)
    known = {}
    def default(m):
        known[m[1]] = m[2]
        return m[2]
    while re.search(r"\$\{\d+:", text):
        text = re.sub(r"\$\{(\d+):((?:[^{}$]|\$\d|\{[^{}]*\})*)\}", default, text)
    text = re.sub(r"\$(\d+)", lambda m: known.get(m[1], ""), text)
    path = os.path.join(folder, "snippet.vnts")
    with open(path, "w") as f:
        f.write(text + "\n" if text.endswith(";") else "define y = " + text + ";\n")
    laid = subprocess.run([TOOL, "fmt"], input=open(path).read(), capture_output=True, text=True)
    assert laid.returncode == 0 and laid.stdout == open(path).read(), (name, laid)


def check_extension(folder, editors, commands):
    """VS Code: the extension on a stand-in of the editor (node): server, run, plot, discover."""
    program = os.path.join(folder, "program.vnts")
    with open(program, "w") as f:
        f.write("assume x = normal(0, 1);\ninfer accumulate_dataset(50, do(mh(default, one, 3), collect(x)));\n")
    said = json.loads(command(folder, "node", os.path.join(HERE, "vscode.js"), os.path.join(editors, "vscode"), program,
                              os.path.join(ROOT, "data", "airline.csv"), TOOL))
    assert set(said["commands"]) == commands, said["commands"]
    assert said["server"] == {"command": TOOL, "args": ["lsp"]} and said["language"] == "gpmem" and said["stopped"], said
    assert said["task"] == [TOOL, "run", "--seed", "7", program], said["task"]
    plot, report = said["panels"]
    assert "data:image/svg+xml;base64," in plot["html"] and not plot["scripts"], plot["title"]
    assert "<html" in report["html"] and "LIN" in report["html"], report["title"]
    assert said["errors"] == ["gpmem: open a program first."], said["errors"]


def main():
    done, missing = [], []
    with tempfile.TemporaryDirectory(prefix="gpmem-editors-") as folder:
        editors = os.path.join(folder, "editors")
        subprocess.run([os.path.join(ROOT, "tools", "editors"), TOOL, editors], check=True)
        check_names(editors)
        check_helix(folder, editors)
        commands = check_manifest(folder, editors)
        for program, check in (("vim", check_vim), ("emacs", check_emacs), ("nvim", check_neovim),
                               ("node", lambda f, e: check_extension(f, e, commands))):
            if not shutil.which(program):
                missing.append(program)
                continue
            check(folder, editors)
            done.append(program)
    print("editors: %s%s" % (", ".join(done), "; skipped, not there: " + ", ".join(missing) if missing else ""))


main()
