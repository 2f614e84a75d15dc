#!/usr/bin/python3
"""Drives `gpmem lsp` with a scripted client that speaks the real protocol (argument: the tool)."""
import os, sys, tempfile

import lsp_client

URI = "file:///tmp/example.vnts"
TEXT = """assume mu = normal(0, 1);
assume twice = proc(x) { let y = x; y + x };
// caf\u00e9 \U0001d11e
predict twice(mu);
"""


class Client(lsp_client.Client):
    def at(self, method, line, character, **more):
        return self.ask(method, textDocument={"uri": URI}, position={"line": line, "character": character}, **more)["result"]

    def change(self, version, text):
        self.send(method="textDocument/didChange", params={"textDocument": {"uri": URI, "version": version},
                                                           "contentChanges": [{"text": text}]})
        note = self.read()
        assert note["method"] == "textDocument/publishDiagnostics", note
        return note["params"]["diagnostics"]


def span(r):
    return (r["start"]["line"], r["start"]["character"], r["end"]["line"], r["end"]["character"])


def apply(text, edits):
    """The text after edits of the protocol, whose characters are UTF-16 units."""
    lines = text.split("\n")
    starts = [sum(len(l) + 1 for l in lines[:i]) for i in range(len(lines))]

    def offset(p):
        line = lines[p["line"]].encode("utf-16-le")
        return starts[p["line"]] + len(line[:2 * p["character"]].decode("utf-16-le"))

    spans = sorted(((offset(e["range"]["start"]), offset(e["range"]["end"]), e["newText"]) for e in edits), reverse=True)
    for start, end, new in spans:
        text = text[:start] + new + text[end:]
    return text


GOOD = """define scale = proc(alpha, beta) { alpha * beta };
/** \U0001d11e **/ define size_of = scale(2, beta=3); // \U0001d11e
assume mu = normal( 0,1 );
"a\U0001d11eb"; sample mu + size_of + 1;
infer forget(quote(mu));
"""


def edits(c):
    assert c.change(10, GOOD) == []
    # references: definition and uses, also as the keyword of an argument; columns in UTF-16 units
    spans = lambda r: sorted(span(x["range"]) for x in r)
    found = c.at("textDocument/references", 1, 18, context={"includeDeclaration": True})
    assert spans(found) == [(1, 18, 1, 25), (3, 20, 3, 27)], found
    found = c.at("textDocument/references", 0, 28, context={"includeDeclaration": False})
    assert spans(found) == [(0, 43, 0, 47), (1, 37, 1, 41)], found
    assert spans(c.at("textDocument/references", 2, 8, context={"includeDeclaration": True})) == [(2, 7, 2, 9), (3, 15, 3, 17), (4, 19, 4, 21)]
    assert c.at("textDocument/references", 2, 14, context={"includeDeclaration": True}) == []
    # rename: the same places; not to what is no name or is taken, and no builtins
    assert span(c.at("textDocument/prepareRename", 0, 28)) == (0, 27, 0, 31)
    assert c.at("textDocument/prepareRename", 2, 14) is None
    new = apply(GOOD, c.at("textDocument/rename", 0, 28, newName="rate")["changes"][URI])
    assert new == GOOD.replace("beta", "rate"), new
    assert c.at("textDocument/rename", 0, 28, newName="alpha") is None
    assert c.at("textDocument/rename", 0, 28, newName="2b") is None
    # signatures: of a builtin, of a procedure of the text, by position and by keyword
    sig = c.at("textDocument/signatureHelp", 2, 22)
    assert sig["signatures"][0]["label"].startswith("normal(mean: real, sd: positive") and sig["activeParameter"] == 1, sig
    label, parts = sig["signatures"][0]["label"], [p["label"] for p in sig["signatures"][0]["parameters"]]
    assert [label[a:b] for a, b in parts][:2] == ["mean: real", "sd: positive"], parts
    sig = c.at("textDocument/signatureHelp", 1, 36)
    assert sig["signatures"][0]["label"] == "scale(alpha, beta)" and sig["activeParameter"] == 1, sig
    assert c.at("textDocument/signatureHelp", 3, 2) is None
    # formatting
    done = c.ask("textDocument/formatting", textDocument={"uri": URI}, options={})["result"]
    assert apply(GOOD, done) == GOOD.replace("normal( 0,1 )", "normal(0, 1)"), done
    # colours: every token by its place and type
    legend = c.capabilities["semanticTokensProvider"]["legend"]
    data = c.ask("textDocument/semanticTokens/full", textDocument={"uri": URI})["result"]["data"]
    line = character = 0
    seen = {}
    for i in range(0, len(data), 5):
        line, character = line + data[i], data[i + 1] + (0 if data[i] else character)
        text = GOOD.split("\n")[line].encode("utf-16-le")[2 * character:2 * (character + data[i + 2])].decode("utf-16-le")
        seen[line, text] = (legend["tokenTypes"][data[i + 3]], data[i + 4])
    assert seen[0, "define"] == ("keyword", 0) and seen[0, "scale"] == ("variable", 1), seen
    assert seen[0, "alpha"][0] == "parameter" and seen[2, "normal"] == ("function", 2), seen
    assert seen[1, "// \U0001d11e"] == ("comment", 0) and seen[3, '"a\U0001d11eb"'] == ("string", 0) and seen[3, "1"] == ("number", 0), seen


def quick_fixes(c):
    def fixed(version, text):
        bad = c.change(version, text)
        actions = c.ask("textDocument/codeAction", textDocument={"uri": URI}, range=bad[0]["range"], context={"diagnostics": bad})["result"]
        return apply(text, [e for a in actions for e in a["edit"]["changes"][URI]])

    wrong = '"\U0001d11e"; assume slope = normla(0, 1); sample slpe;\n'
    assert fixed(20, wrong) == wrong.replace("normla", "normal").replace("slpe", "slope"), fixed(21, wrong)
    wrong = "assume x = gaussian(0, 1);\n"
    assert fixed(22, wrong) == "assume x = normal(0, 1);\n"
    wrong = 'assume x = tag("hyper", 0, flip());\ninfer mh("hypr", one, stesp=1);\n'
    assert fixed(23, wrong) == wrong.replace("stesp", "steps"), fixed(23, wrong)
    wrong = wrong.replace("stesp", "steps")
    assert fixed(24, wrong) == wrong.replace('"hypr"', '"hyper"'), fixed(24, wrong)
    wrong = "assume x = 1\nassume y = 2;\n"
    assert fixed(25, wrong) == "assume x = 1;\nassume y = 2;\n", fixed(25, wrong)


def loaded_files(c):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "a b.vnts"), "w") as f:
            f.write("define inner = 1;\nnowhere;\n")
        uri = "file://" + folder + "/main.vnts"
        bad = c.open(uri, 'define x = 2;\nload "a b.vnts";\nx + inner;\n')
        assert len(bad) == 1 and span(bad[0]["range"]) == (1, 0, 1, 15) and "a b.vnts: the name `nowhere`" in bad[0]["message"], bad


def main():
    c = Client(sys.argv[1])
    caps = c.capabilities
    assert caps["hoverProvider"] and caps["definitionProvider"] and caps["textDocumentSync"] == 1, caps
    assert c.open(URI, TEXT) == []

    # go to definition: a global, a parameter, a local; nothing on a builtin
    assert span(c.at("textDocument/definition", 3, 15)["range"]) == (0, 7, 0, 9)
    assert span(c.at("textDocument/definition", 3, 9)["range"]) == (1, 7, 1, 12)
    assert span(c.at("textDocument/definition", 1, 40)["range"]) == (1, 20, 1, 21)
    assert span(c.at("textDocument/definition", 1, 36)["range"]) == (1, 29, 1, 30)
    assert c.at("textDocument/definition", 0, 13) is None

    # hover: the reference for a builtin, the defining text for a name of the program
    assert "normal" in c.at("textDocument/hover", 0, 13)["contents"]["value"]
    value = c.at("textDocument/hover", 3, 15)["contents"]["value"]
    assert "assume mu = normal(0, 1)" in value, value
    assert c.at("textDocument/hover", 2, 0) is None

    # completion: names of the language and of the program
    labels = [i["label"] for i in c.at("textDocument/completion", 0, 14)["items"]]
    assert "normal" in labels and all(l.startswith("no") for l in labels), labels
    labels = [i["label"] for i in c.at("textDocument/completion", 3, 10)["items"]]
    assert "twice" in labels, labels
    names = [s["name"] for s in c.ask("textDocument/documentSymbol", textDocument={"uri": URI})["result"]]
    assert names == ["mu", "twice"], names

    # an error: place in UTF-16 units (the sign before it takes two), code, message
    bad = c.change(2, TEXT + '"\U0001d11e" + ) ;\n')
    assert len(bad) == 1 and bad[0]["severity"] == 1 and bad[0]["code"].startswith("E01"), bad
    assert span(bad[0]["range"])[:2] == (4, 7), bad
    # while the text is wrong, definitions of the last good text still work
    assert span(c.at("textDocument/definition", 3, 15)["range"]) == (0, 7, 0, 9)
    assert c.change(3, TEXT) == []
    assert c.change(4, "") == []
    edits(c)
    quick_fixes(c)
    loaded_files(c)

    # wrong requests get errors, and the server lives on
    assert c.ask("textDocument/nonsense")["error"]["code"] == -32601
    c.p.stdin.write(b"Content-Length: 3\r\n\r\n{]}")
    c.p.stdin.flush()
    assert c.read()["error"]["code"] == -32700
    assert c.at("textDocument/hover", 99, 99) is None
    assert c.ask("textDocument/hover", textDocument={"uri": "file:///other"}, position={})["result"] is None
    c.send(method="textDocument/didClose", params={"textDocument": {"uri": URI}})
    assert c.read()["params"]["diagnostics"] == []

    assert c.ask("shutdown")["result"] is None
    c.send(method="exit")
    assert c.p.wait(10) == 0
    print("lsp: all checks passed")


main()
