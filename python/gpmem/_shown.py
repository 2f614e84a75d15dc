# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of results: tables as HTML, pictures as SVG."""
from __future__ import annotations

import base64
import ctypes as c
import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import _abi, _library
from ._library import GpmemError, lib


class Picture(str):
    """The text of an SVG picture, which a notebook shows as a picture."""

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: Any) -> None:
        """Writes it to a file."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self)

    def image(self) -> str:
        """As an image of HTML: what stands in the picture is never markup of the page."""
        return '<img style="max-width:100%%" alt="" src="data:image/svg+xml;base64,%s">' % base64.b64encode(self.encode()).decode()


def numbers(x: Any) -> list[float | None]:
    """Numbers of a scene; what is not finite is a gap."""
    return [float(v) if np.isfinite(v) else None for v in np.ravel(np.asarray(x, dtype=float))]


def draw(panels: Sequence[dict[str, Any]], columns: int = 1) -> Picture:
    """A scene (src/io/plot/scene_json.h) of panels."""
    scene = json.dumps({"columns": columns, "panels": panels}).encode()
    out: list[bytes] = []
    write = _abi.WriteFn(lambda _user, _stream, text, n: out.append(c.string_at(text, n)))
    error, o = c.create_string_buffer(400), _library.options(_abi.PlotOptions)
    if lib.gpm_plot_json(scene, len(scene), c.byref(o), write, None, error, len(error)):
        raise GpmemError(error.value.decode(errors="replace"))
    return Picture(b"".join(out).decode())


def _cell(x: Any) -> str:
    if isinstance(x, (float, np.floating)):
        return "" if np.isnan(x) else "%.4g" % x
    return html.escape(str(x))


def table(head: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of HTML; numbers with four digits, everything else escaped."""
    row = lambda tag, cells: "<tr>%s</tr>" % "".join("<%s>%s</%s>" % (tag, _cell(x), tag) for x in cells)
    return "<table><thead>%s</thead><tbody>%s</tbody></table>" % (row("th", head), "".join(row("td", r) for r in rows))


def paragraph(text: str) -> str:
    """Text as a paragraph; "" for none."""
    return "<p>%s</p>" % html.escape(text.strip()).replace("\n", "<br>") if text.strip() else ""
