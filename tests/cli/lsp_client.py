# SPDX-License-Identifier: Apache-2.0
"""A client of `gpmem lsp` that speaks the real protocol."""
import json, subprocess


class Client:
    def __init__(self, tool):
        self.p = subprocess.Popen([tool, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = self.version = 0
        self.capabilities = self.ask("initialize", processId=None, rootUri=None, capabilities={})["result"]["capabilities"]
        self.send(method="initialized", params={})

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

    def open(self, uri, text):
        """Opens or replaces a document; its diagnostics."""
        self.version += 1
        self.send(method="textDocument/didOpen", params={"textDocument": {"uri": uri, "languageId": "gpmem", "version": self.version, "text": text}})
        note = self.read()
        assert note["method"] == "textDocument/publishDiagnostics", note
        return note["params"]["diagnostics"]

    def close(self):
        assert self.ask("shutdown")["result"] is None
        self.send(method="exit")
        assert self.p.wait(10) == 0
