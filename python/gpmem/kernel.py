# SPDX-License-Identifier: Apache-2.0
"""Programs in Jupyter notebooks, over ipykernel. `gpmem kernel --install` makes the kernel known to Jupyter.

Each cell runs on a thread of its own and says what it has to say through a queue. The main thread owns the sockets and the signals:
it sends what the queue holds, asks the questions, and hands an interrupt on to the library."""
from __future__ import annotations

import argparse
import ctypes as c
import fnmatch
import html
import itertools
import json
import os
import queue
import re
import signal
import sys
import threading
import time
from typing import Any

from . import _abi, _library
from ._library import GpmemError, assign, lib

try:
    from ipykernel.kernelapp import IPKernelApp
    from ipykernel.kernelbase import Kernel
    from traitlets import Bool, Float, Int, Unicode
except ImportError as e:
    raise ImportError("notebooks need ipykernel (apt install python3-ipykernel, or pip install ipykernel): %s" % e) from None

_WORD = r"[A-Za-z0-9_\u0080-\U0010ffff]*"
_HELP = """?name          help on a name
:reset         first line of a cell: start again with an empty session
:clear         first line of a cell: take the cell's output away
Tab completes names; the stop button ends the running cell and keeps the session."""
_FLUSH = 0.05  # seconds that text of a stream waits for more
_progress = itertools.count(1)  # numbers of displays


def _text(x: bytes | None) -> str:
    return (x or b"").decode(errors="replace")


def _bundle(text: str, kind: str = "", rich: str = "") -> dict[str, str]:
    """One display in all its forms."""
    return {**({kind: rich} if kind else {}), "text/plain": text.rstrip("\n")}


def _asked_for(code: str) -> str | None:
    """`?name` and `name?` ask for help; None: a program."""
    stripped = code.strip(" \t\r\n\v\f")
    if not (stripped.startswith("?") or stripped.endswith("?")):
        return None
    name = stripped.strip("? \t\r\n\v\f")
    return name if re.fullmatch(_WORD, name) else None


def _commands(code: str) -> tuple[list[str], str]:
    """The lines at the top that begin with a colon, which are for the kernel, and the program: blanks take their place, so that
    lines keep their numbers."""
    lines, names = code.split("\n"), []
    for i, line in enumerate(lines):
        if not line.lstrip(" \t\r").startswith(":"):
            break
        names.append(line.strip())
        lines[i] = " " * len(line)
    return names, "\n".join(lines)


def _error(status: int, rendered: str) -> dict[str, Any]:
    """"In [3]:2:12: error[E0201]: text" gives E0201 and text; without a code, the name is Error."""
    line = re.sub("\033[^m]*m", "", rendered).split("\n")[0]
    found = re.search(r"error\[(\w+)\]: (.*)", line)
    name, value = found.groups() if found else ("Error", line)
    return {"ename": "Interrupted" if status == _abi.E_INTERRUPT else name, "evalue": value,
            "traceback": rendered.rstrip("\n").split("\n")}


class _Cell:
    """A cell while it runs: the events of its program come out of `next`."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.waiting: list[tuple[Any, ...]] = []

    def _get(self, timeout: float | None = None) -> tuple[Any, ...]:
        return self.waiting.pop() if self.waiting else self.events.get(timeout=timeout)

    def next(self) -> tuple[Any, ...]:
        """The oldest event. Texts of one stream that come soon after each other are one."""
        event = self._get()
        if event[0] != "write":
            return event
        parts, end = [event[2]], time.monotonic() + _FLUSH
        while time.monotonic() < end:
            try:
                other = self._get(_FLUSH)
            except queue.Empty:
                break
            if other[:2] != event[:2]:
                self.waiting.append(other)
                break
            parts.append(other[2])
        return "write", event[1], b"".join(parts)


class GpmemKernel(Kernel):
    """One notebook: a session of the library, whose names and model stay from cell to cell."""
    implementation = "gpmem"
    implementation_version = _library.version()
    language_info = {"name": "venturescript", "version": _library.version(), "mimetype": "text/x-venturescript",
                     "file_extension": ".vnts", "pygments_lexer": "javascript", "codemirror_mode": "javascript"}
    banner = "gpmem %s: programs with Gaussian-process memoization. ?name gives help." % _library.version()

    seed = Int(1, help="seed of the random numbers").tag(config=True)
    allow_run = Bool(False, help="programs may run commands and load shared objects").tag(config=True)
    allow_write = Bool(False, help="programs may write files").tag(config=True)
    jobs = Int(1, help="source functions evaluated at once").tag(config=True)
    max_seconds = Float(0, help="stop a cell after this time; 0: no limit").tag(config=True)
    max_memory = Int(0, help="bytes a program may hold; 0: no limit").tag(config=True)
    max_depth = Int(0, help="deepest recursion; 0: the language's").tag(config=True)
    device = Unicode("", help="where Gaussian processes are computed: cpu, gpu or auto").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        lib.gpm_voice(_abi.VOICE_TOOL)
        if self.device and lib.gpm_device_use(self.device):
            raise GpmemError(_text(lib.gpm_device_error()) or "there is no device %r" % self.device)
        self.options = _library.options(_abi.Options)
        assign(self.options, **{name: getattr(self, name) for name in
                                ("seed", "allow_run", "allow_write", "jobs", "max_seconds", "max_memory", "max_depth")}, colour=True)
        kinds: dict[str, Any] = dict(f[:2] for f in _abi.Options._fields_)
        for name in ("write", "show", "confirm", "progress"):
            setattr(self.options, name, kinds[name](getattr(self, "_on_" + name)))
        self.session_handle = lib.gpm_session_new(c.byref(self.options))
        self.cell: _Cell | None = None
        self.asking = False
        self.past: list[tuple[int, str]] = []

    # ---- what the program says; on its thread ----

    def _say(self, *event: Any) -> None:
        if self.cell:
            self.cell.events.put(event)

    def _on_write(self, _user: Any, stream: int, text: int, n: int) -> None:
        self._say("write", "stdout" if stream == 1 else "stderr", c.string_at(text, n))

    def _on_show(self, _user: Any, text: bytes, kind: bytes | None, rich: bytes | None) -> None:
        self._say("show", _text(text), _text(kind), _text(rich))

    def _on_progress(self, _user: Any, share: float, elapsed: float, acceptance: bytes) -> None:
        if elapsed >= 1:
            self._say("progress", share, elapsed, _text(acceptance))

    def _on_confirm(self, _user: Any, question: bytes) -> bool:
        if not self._allow_stdin:
            return False
        answer: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._say("ask", _text(question), answer)
        return answer.get()

    def _work(self, title: bytes, code: bytes) -> None:
        status = lib.gpm_run_text(self.session_handle, title, code, len(code))
        self._say("end", status, _text(lib.gpm_last_error(self.session_handle)))

    # ---- signals; on the main thread ----

    def pre_handler_hook(self) -> None:
        self.saved_sigint_handler = signal.signal(signal.SIGINT, self._on_interrupt)

    def _on_interrupt(self, *_: Any) -> None:
        """Ends the running cell, never the kernel; whoever waits for an answer gets none."""
        if self.cell:
            lib.gpm_interrupt(self.session_handle)
        if self.asking:
            self.asking = False
            raise KeyboardInterrupt

    def _ask(self, question: str) -> bool:
        try:
            self.asking = True
            answer = self.raw_input("%s [y/N] " % question)
            self.asking = False
        except (KeyboardInterrupt, EOFError):
            return False
        return answer[:1] in ("y", "Y")

    # ---- cells ----

    def _run(self, code: bytes, silent: bool) -> dict[str, Any] | None:
        """Runs a program and sends what it says; the content of an error message, or None."""
        def send(kind: str, content: dict[str, Any]) -> None:
            if not silent:
                self.send_response(self.iopub_socket, kind, content)

        def show_progress(markup: str, text: str, again: bool) -> None:
            send("update_display_data" if again else "display_data",
                 {"data": _bundle(text, "text/html", markup), "metadata": {}, "transient": {"display_id": display}})

        self.cell, value, display, started = _Cell(), "", "", time.monotonic()
        title = "In [%d]" % self.execution_count
        threading.Thread(target=self._work, args=(title.encode(), code), daemon=True).start()
        while True:
            kind, *event = self.cell.next()
            if value and kind not in ("progress", "end"):  # a value that something follows is a line of text like any other
                send("stream", {"name": "stdout", "text": value})
                value = ""
            if kind == "write":
                send("stream", {"name": event[0], "text": _text(event[1])})
            elif kind == "show" and event[1]:
                send("display_data", {"data": _bundle(*event), "metadata": {}})
            elif kind == "show":
                value = event[0]
            elif kind == "progress":
                text = "%3.0f%%  %.0f s%s" % (100 * event[0], event[1], "  accepted: " + event[2] if event[2] else "")
                again, display = bool(display), display or "progress-%d" % next(_progress)
                show_progress('<progress max="1" value="%.3f"></progress> %s' % (event[0], html.escape(text)), text, again)
            elif kind == "ask":
                event[1].put(self._ask(event[0]))
            else:
                break
        self.cell = None
        if display:
            taken = "%.1f s" % (time.monotonic() - started)
            show_progress(taken, taken, True)
        if value:
            send("execute_result", {"execution_count": self.execution_count, "data": _bundle(value), "metadata": {}})
        status, said = event
        if status:
            return _error(status, said)
        if said:  # warnings
            send("stream", {"name": "stderr", "text": said})
        return None

    def do_execute(self, code: str, silent: bool, store_history: bool = True, user_expressions: Any = None,
                   allow_stdin: bool = False, **_: Any) -> dict[str, Any]:
        reply: dict[str, Any] = {"execution_count": self.execution_count, "payload": [], "user_expressions": {}}
        if store_history and not silent and code:
            self.past.append((self.execution_count, code))
        name = _asked_for(code)
        if name is not None:
            page = {"source": "page", "start": 0, "data": {"text/plain": self._page(name)}}
            return {"status": "ok", **reply, "payload": [page]}
        names, program = _commands(code)
        unknown, error = next((n for n in names if n not in (":reset", ":clear")), None), None
        for command in names if unknown is None else names[:names.index(unknown)]:
            if command == ":reset":
                lib.gpm_session_free(self.session_handle)
                self.session_handle = lib.gpm_session_new(c.byref(self.options))
            else:
                self.send_response(self.iopub_socket, "clear_output", {"wait": False})
        if unknown is not None:
            text = "there is no command %s; ? lists them" % (unknown.split()[0])
            error = {"ename": "Error", "evalue": text, "traceback": [text]}
        else:
            self._allow_stdin = allow_stdin
            try:
                error = self._run(_library.text(program, "a cell"), silent)
            except GpmemError as e:  # no text
                error = _error(_abi.E_ARG, str(e))
        if error is None:
            return {"status": "ok", **reply}
        if not silent:
            request: Any = self.get_parent()
            if request["content"].get("stop_on_error", True):
                self._abort_waiting()
            self.send_response(self.iopub_socket, "error", error)
        return {"status": "error", **reply, **error}

    def _abort_waiting(self) -> None:
        """Cells that wait behind one that failed are answered without being run. This is done before the failure is told: whoever has
        read of it and sends the next cell means that one to run."""
        async def end() -> None:
            self._aborting = False
        self._aborting = True
        self.shell_stream.flush()
        self.schedule_dispatch(end)

    def _abort_queues(self, *_: Any, **__: Any) -> None:
        """ipykernel's own way to do so, after the failure was told."""

    # ---- requests that need no cell ----

    def _help(self, name: str) -> str:
        return _text(lib.gpm_help(self.session_handle, name)) if name else ""

    def _page(self, name: str) -> str:
        return self._help(name) or ("there is no help on '%s'; Tab completes names" % name if name else _HELP)

    def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        word = re.search(_WORD + r"\Z", code[:cursor_pos])
        start = word.start() if word else cursor_pos
        names: list[str] = []
        arguments: Any = _abi.PROTOTYPES["gpm_complete"][1]
        if start < cursor_pos:
            lib.gpm_complete(self.session_handle, code[start:cursor_pos], arguments[2](lambda _user, name: names.append(_text(name))), None)
        return {"status": "ok", "matches": sorted(names), "cursor_start": start, "cursor_end": cursor_pos, "metadata": {}}

    def do_inspect(self, code: str, cursor_pos: int, *_: Any, **__: Any) -> dict[str, Any]:
        before, behind = re.search(_WORD + r"\Z", code[:cursor_pos]), re.match(_WORD, code[cursor_pos:])
        text = self._help((before[0] if before else "") + (behind[0] if behind else ""))
        return {"status": "ok", "found": bool(text), "data": {"text/plain": text} if text else {}, "metadata": {}}

    def do_is_complete(self, code: str) -> dict[str, Any]:
        """Whether a cell can be run as it stands: read by the same rules as by do_execute."""
        if _asked_for(code) is not None:
            return {"status": "complete"}
        names, program = _commands(code)
        try:
            text = _library.text(program, "a cell")
        except GpmemError:
            return {"status": "invalid"}
        status = lib.gpm_check_text(self.session_handle, "<cell>", text, len(text), True)
        if status == _abi.E_INCOMPLETE:
            return {"status": "incomplete", "indent": "    "}
        return {"status": "invalid" if status or any(n not in (":reset", ":clear") for n in names) else "complete"}

    def do_history(self, hist_access_type: str, output: bool, raw: bool, session: Any = None, start: int | None = None,
                   stop: int | None = None, n: int | None = None, pattern: str | None = None, unique: bool = False,
                   **_: Any) -> dict[str, Any]:
        """tail: the last n; range: start to stop of this session; search: the last n that a pattern with * and ? matches."""
        if hist_access_type == "range":
            found = [p for p in self.past if (start or 0) <= p[0] and (stop is None or p[0] < stop)]
        else:
            found = [p for p in self.past if hist_access_type != "search" or fnmatch.fnmatchcase(p[1], pattern or "*")]
            if unique:
                found = [p for i, p in enumerate(found) if all(p[1] != later[1] for later in found[i + 1:])]
            found = found[-n:] if n else found
        return {"status": "ok", "history": [(0, number, (text, None) if output else text) for number, text in found]}

    def do_shutdown(self, restart: bool) -> dict[str, Any]:
        if self.cell:  # the main thread is at work for it
            os.kill(os.getpid(), signal.SIGINT)
        return {"status": "ok", "restart": restart}


def main() -> None:
    """Jupyter starts it: -f FILE --GpmemKernel.seed=2 ..."""
    reader = argparse.ArgumentParser(prog="python3 -m gpmem.kernel", add_help=False, allow_abbrev=False)
    reader.add_argument("-f", dest="file", required=True, help="the connection file that Jupyter gives")
    args, rest = reader.parse_known_args()
    try:
        with open(args.file, encoding="utf-8") as f:
            json.load(f)  # ipykernel would make one that nobody reads
        IPKernelApp.launch_instance(argv=["-f", args.file, *rest], kernel_class=GpmemKernel)
    except (OSError, ValueError, GpmemError) as e:
        sys.exit("gpmem: cannot start a kernel from '%s': %s" % (args.file, e))


if __name__ == "__main__":
    from gpmem.kernel import main as _main  # the module of that name, not a second one
    _main()
