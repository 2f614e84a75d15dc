#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Jupyter kernel by Jupyter's own client (argument: the tool): every feature of its kernel tests (stdout, stderr, results, errors,
pages, displays, clear_output, completion, inspection, completeness, history, stdin, interrupt, restart), positions beyond ASCII,
messages that nobody may send, silent cells, cells that wait behind an error."""
import json, os, signal, subprocess, sys, tempfile

from jupyter_client.manager import KernelManager

TOOL = os.path.abspath(sys.argv[1])
os.environ.update(GPMEM_PYTHON=sys.executable, GPMEM_LIBRARY=os.path.join(os.path.dirname(TOOL), "libgpmem.so"),
                  PYTHONPATH=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"), PYTHONDONTWRITEBYTECODE="1")
LIMIT = 60
bad = []


def check(what, ok, *seen):
    if not ok:
        bad.append("%s: %s" % (what, " ".join(map(str, seen))[:600]))


class Kernel:
    def __init__(self):
        self.manager = KernelManager(kernel_name="gpmem")
        self.manager.start_kernel(stderr=subprocess.DEVNULL)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def run(self, code, answers=(), **options):
        """The messages that the cell published, as (type, content), and its reply."""
        got, answers = [], list(answers)

        def asked(m):
            got.append(("asked", m["content"]))
            self.client.input(answers.pop(0))
        reply = self.client.execute_interactive(code, timeout=LIMIT, output_hook=lambda m: got.append((m["msg_type"], m["content"])),
                                                stdin_hook=asked, allow_stdin=bool(answers), **options)
        return got, reply["content"]

    def ask(self, send, *args, **options):
        ident = send(*args, **options)
        while True:
            m = self.client.get_shell_msg(timeout=LIMIT)
            if m["parent_header"]["msg_id"] == ident:
                return m["content"]

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel()


def of(got, kind): return [c for t, c in got if t == kind]
def text(got, name="stdout"): return "".join(c["text"] for c in of(got, "stream") if c["name"] == name)


def cells(k):
    got, reply = k.run('print("hello, world")')
    check("stdout", text(got) == "hello, world\n" and reply["status"] == "ok", got, reply)
    check("states", [c["execution_state"] for c in of(got, "status")] == ["busy", "idle"], got)
    check("input", of(got, "execute_input")[0]["code"] == 'print("hello, world")', got)
    n = reply["execution_count"]
    got, reply = k.run("assume x = normal(0, 1); sample 6 * 7;")
    check("result", of(got, "execute_result") == [{"execution_count": n + 1, "data": {"text/plain": "42"}, "metadata": {}}], got)
    got, reply = k.run("sample 1; sample 2;")
    check("values before the last are lines", text(got) == "1\n" and of(got, "execute_result")[0]["data"]["text/plain"] == "2", got)
    got, reply = k.run("assume y = 1 +\n  nrmal(0, 1);")
    error = of(got, "error")
    check("error", reply["status"] == "error" and len(error) == 1 and error[0]["ename"] == "E0201" and reply["ename"] == "E0201" and
          error[0]["evalue"] == "the name `nrmal` is not bound" and any("^" in l for l in error[0]["traceback"]) and
          "In [%d]:2:3" % reply["execution_count"] in error[0]["traceback"][0], got)
    got, reply = k.run("observe normal(0, 1) = 1000; infer nuts(default, all, 5); infer mh(default, one, 2);")
    check("a cell after an error runs", reply["status"] == "ok", got)
    got, reply = k.run("?normal")
    check("page", reply["payload"] and "normal(mean" in reply["payload"][0]["data"]["text/plain"], reply)
    check("page of a name that follows", k.run("gamma ?")[1]["payload"] != [], reply)
    check("page of nothing", "no help" in k.run("?qqq")[1]["payload"][0]["data"]["text/plain"])
    got, reply = k.run(":clear\nsample 7;")
    check("clear_output", of(got, "clear_output") == [{"wait": False}] and of(got, "execute_result"), got)
    got, reply = k.run(":nothing")
    check("unknown command", reply["status"] == "error" and "no command :nothing" in of(got, "error")[0]["evalue"], got)
    got, reply = k.run("sample x; // ä\n", silent=True)
    check("silent", [t for t, c in got if t != "status"] == [] and reply["status"] == "ok", got)
    got, reply = k.run("sample 1;\0sample 2;")
    check("NUL", reply["status"] == "error" and "NUL" in reply["evalue"], reply)
    got, reply = k.run("")
    check("empty cell", reply["status"] == "ok" and not of(got, "error"), got)


def displays(k):
    got, reply = k.run("assume z = normal(0, 1); d = run(accumulate_dataset(30, do(mh(default, one, 5), collect(z))));")
    got, reply = k.run('plot("h0", d); plot("l0", d); printf(d); summarize(d);')
    shown = of(got, "display_data")
    check("displays", reply["status"] == "ok" and len(shown) == 4, got)
    pictures = [c["data"]["image/svg+xml"] for c in shown if "image/svg+xml" in c["data"]]
    check("pictures", len(pictures) == 2 and all(p.startswith("<svg xmlns") for p in pictures) and
          pictures[0].split(' id="')[1][:20] != pictures[1].split(' id="')[1][:20], [p[:300] for p in pictures])
    tables = [c["data"]["text/html"] for c in shown if "text/html" in c["data"]]
    check("tables", len(tables) == 2 and tables[0].count("<tr>") == 31 and "<th>rhat</th>" in tables[1] and
          "proposals accepted" in tables[1], tables)
    check("text beside", all("text/plain" in c["data"] for c in shown), shown)
    ident, got = k.client.execute("infer repeat(2000000000, mh(default, one, 1));"), []
    while not of(got, "update_display_data"):  # it shows how far it is, until it is stopped
        m = k.client.get_iopub_msg(timeout=LIMIT)
        got.append((m["msg_type"], m["content"]))
    k.manager.interrupt_kernel()
    while k.client.get_shell_msg(timeout=LIMIT)["parent_header"].get("msg_id") != ident:
        pass
    bars, later = of(got, "display_data"), of(got, "update_display_data")
    check("progress is one display", len(bars) == 1 and "<progress" in bars[0]["data"]["text/html"] and
          later[0]["transient"] == bars[0]["transient"], got)
    got, reply = k.run('print(strange)'.replace("strange", '"<b>&"'))
    check("foreign text", text(got) == "<b>&\n", got)


def questions(k):
    check("kernel_info", k.ask(k.client.kernel_info)["language_info"]["file_extension"] == ".vnts")
    r = k.ask(k.client.complete, "assume z = nor", 14)
    check("complete", "normal" in r["matches"] and (r["cursor_start"], r["cursor_end"]) == (11, 14), r)
    r = k.ask(k.client.complete, 'print("äöü😀"); sample log_c + 1', 27)
    check("complete counts code points", "log_cdf" in r["matches"] and (r["cursor_start"], r["cursor_end"]) == (22, 27), r)
    r = k.ask(k.client.inspect, 'print("ä😀"); normal(0, 1)', 15)
    check("inspect", r["found"] and "normal(mean" in r["data"]["text/plain"], r)
    check("inspect nothing", k.ask(k.client.inspect, "qqq", 2)["found"] is False)
    for code, want in (("sample 1;", "complete"), ("sample (1 +", "incomplete"), ("proc(x) {", "incomplete"), ("sample 1));", "invalid")):
        check("is_complete " + code, k.ask(k.client.is_complete, code)["status"] == want)
    k.run("sample 1234;")
    r = k.ask(k.client.history, hist_access_type="tail", n=2)
    check("history tail", len(r["history"]) == 2 and r["history"][-1][2] == "sample 1234;", r)
    r = k.ask(k.client.history, hist_access_type="search", pattern="*hello*", n=5, output=True)
    check("history search", len(r["history"]) == 1 and r["history"][0][2] == ['print("hello, world")', None], r)
    r = k.ask(k.client.history, hist_access_type="range", start=1, stop=3)
    check("history range", [h[1] for h in r["history"]] == [1, 2], r)
    check("comms", k.ask(k.client.comm_info)["comms"] == {})


def stdin(k, folder):
    path = os.path.join(folder, "plot")
    program = 'plot_to_file("%s", "h0", d);' % path
    got, reply = k.run(program)
    check("nobody to ask", reply["status"] == "error" and "not allowed" in reply["evalue"], reply)
    got, reply = k.run(program, answers=["n"])
    check("no", of(got, "asked") and "write '%s'" % path in of(got, "asked")[0]["prompt"] and reply["status"] == "error", got)
    got, reply = k.run(program, answers=["y"])
    check("yes", reply["status"] == "ok" and os.path.exists(path + ".svg"), got, reply)


def interrupts(k):
    first = k.client.execute("infer repeat(2000000000, mh(default, one, 1));")
    second = k.client.execute("sample 1;")
    while True:  # until it tells how far the first one is
        m = k.client.get_iopub_msg(timeout=LIMIT)
        if m["msg_type"] == "display_data" and m["parent_header"].get("msg_id") == first: break
    control = k.client.session.msg("kernel_info_request")
    k.client.control_channel.send(control)  # the control channel is heard while a cell runs
    k.manager.interrupt_kernel()
    replies = {}
    while len(replies) < 2:
        m = k.client.get_shell_msg(timeout=LIMIT)
        replies[m["parent_header"]["msg_id"]] = m["content"]
    check("interrupt", replies[first]["status"] == "error" and replies[first]["ename"] == "E0704", replies)
    check("what waits behind an error", replies[second]["status"] == "aborted", replies)
    for _ in range(150):  # a cell that is sent when the error has been read did not wait behind it
        k.ask(k.client.execute, "sample nobody;")
        reply = k.ask(k.client.execute, "sample 1;")
        check("the cell after an error", reply["status"] == "ok", reply)
    os.kill(k.manager.provisioner.process.pid, signal.SIGINT)  # a terminal's Ctrl-C, when no cell runs
    reply = k.ask(k.client.execute, "sample 1;")
    check("the cell after a signal", reply["status"] == "ok", reply)
    got, reply = k.run("sample 6 * 7;")
    check("the session survives", of(got, "execute_result")[0]["data"]["text/plain"] == "42", got)
    check("heartbeat", k.client.hb_channel.is_beating())
    got, reply = k.run(":reset\nassume x = 5; sample x;")
    check("reset", of(got, "execute_result")[0]["data"]["text/plain"] == "5", got)


def forged(k):
    m = k.client.session.msg("execute_request", {"code": "assume forged = 1;", "silent": False})
    key, k.client.session.key = k.client.session.key, b"wrong"
    k.client.shell_channel.send(m)
    k.client.session.key = key
    k.client.shell_channel.socket.send_multipart([b"<IDS|MSG>", b"short"])
    k.client.shell_channel.socket.send(b"")
    got, reply = k.run("sample forged;")
    check("forged messages are dropped", reply["status"] == "error" and reply["ename"] == "E0201", reply)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JUPYTER_DATA_DIR"] = os.environ["JUPYTER_RUNTIME_DIR"] = os.path.join(folder, "jupyter")
        out = subprocess.run([TOOL, "kernel", "--install", "--user"], capture_output=True, text=True)
        check("install", out.returncode == 0 and json.load(open(folder + "/jupyter/kernels/gpmem/kernel.json"))["argv"][0] == sys.executable, out)
        out = subprocess.run([TOOL, "kernel", "--install", "--prefix", folder + "/p"], capture_output=True, text=True)
        check("prefix", os.path.exists(folder + "/p/share/jupyter/kernels/gpmem/logo-svg.svg"), out)
        for wrong in ([], ["--prefix", "x", "file"], [folder + "/none"], ["/dev/null"]):
            out = subprocess.run([TOOL, "kernel", *wrong], capture_output=True, text=True)
            check("wrong use %s" % wrong, out.returncode in (1, 2) and out.stderr.startswith("gpmem: "), out)
        os.makedirs(folder + "/without")
        with open(folder + "/without/sitecustomize.py", "w") as f:
            f.write("import sys; sys.modules['ipykernel'] = None")
        os.makedirs(folder + "/empty/gpmem")
        open(folder + "/empty/gpmem/__init__.py", "w").close()
        path = os.environ["PYTHONPATH"]
        for what, env in (("ipykernel", {"PYTHONPATH": folder + "/without:" + path}), ("Python package gpmem", {"PYTHONPATH": folder + "/empty"}),
                          ("cannot run none,", {"GPMEM_PYTHON": "none"})):
            out = subprocess.run([TOOL, "kernel", "--install", "--prefix", folder + "/none"], capture_output=True, text=True, env=dict(os.environ, **env))
            check("missing: " + what, out.returncode == 1 and out.stderr.startswith("gpmem: ") and what in out.stderr and out.stderr.count("\n") == 1 and
                  not os.path.exists(folder + "/none"), out)
        k = Kernel()
        for part in (cells, displays, questions, interrupts, forged):
            part(k)
        k.run("assume z = normal(0, 1); d = run(accumulate_dataset(5, do(mh(default, one, 5), collect(z))));")
        stdin(k, folder)
        k.manager.restart_kernel()
        k.client.wait_for_ready(timeout=LIMIT)
        check("restart", k.run("sample d;")[1]["status"] == "error")
        k.end()
    for line in bad:
        print(line)
    return 1 if bad else 0


sys.exit(main())
