#!/usr/bin/python3
"""Drives `gpmem lsp` with a scripted client that speaks the real protocol (argument: the tool)."""
import json, subprocess, sys

URI = "file:///tmp/example.vnts"
TEXT = """assume mu = normal(0, 1);
assume twice = proc(x) { let y = x; y + x };
// caf\u00e9 \U0001d11e
predict twice(mu);
"""


class Client:
    def __init__(self, tool):
        self.p = subprocess.Popen([tool, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def send(self, **message):
        body = json.dumps(dict(jsonrpc="2.0", **message)).encode()
        self.p.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.p.stdin.flush()

    def read(self):
        length = None
        while True:
            line = self.p.stdout.readline()
            assert line, "the server closed its output"
            if line == b"\r\n":
                break
            name, value = line.decode().split(":")
            if name == "Content-Length":
                length = int(value)
        return json.loads(self.p.stdout.read(length))

    def ask(self, method, **params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        answer = self.read()
        assert answer["id"] == self.number, answer
        return answer

    def at(self, method, line, character):
        return self.ask(method, textDocument={"uri": URI}, position={"line": line, "character": character})["result"]

    def change(self, version, text):
        self.send(method="textDocument/didChange", params={"textDocument": {"uri": URI, "version": version},
                                                           "contentChanges": [{"text": text}]})
        note = self.read()
        assert note["method"] == "textDocument/publishDiagnostics", note
        return note["params"]["diagnostics"]


def span(r):
    return (r["start"]["line"], r["start"]["character"], r["end"]["line"], r["end"]["character"])


def main():
    c = Client(sys.argv[1])
    caps = c.ask("initialize", processId=None, rootUri=None, capabilities={})["result"]["capabilities"]
    assert caps["hoverProvider"] and caps["definitionProvider"] and caps["textDocumentSync"] == 1, caps
    c.send(method="initialized", params={})
    c.send(method="textDocument/didOpen", params={"textDocument": {"uri": URI, "languageId": "gpmem", "version": 1, "text": TEXT}})
    note = c.read()
    assert note["params"] == {"uri": URI, "diagnostics": []}, note

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
