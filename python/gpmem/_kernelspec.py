# SPDX-License-Identifier: Apache-2.0
"""gpmem kernel --install: makes the kernel of notebooks (gpmem.kernel) known to Jupyter."""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys

_LOGO = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="10" fill="#0072b2"/>'
         '<path d="M6 44C16 44 16 14 28 20S38 54 58 22V38C40 62 38 40 28 34S16 56 6 54Z" fill="#fff" opacity=".35"/>'
         '<path d="M6 49C16 50 16 20 28 27S38 58 58 30" fill="none" stroke="#fff" stroke-width="3.5"/><g fill="#e69f00">'
         '<circle cx="13" cy="43" r="4"/><circle cx="28" cy="27" r="4"/><circle cx="51" cy="38" r="4"/></g></svg>\n')


def install(prefix: str | None = None) -> str:
    """For this user, or in prefix/share/jupyter/kernels; the folder."""
    from jupyter_core.paths import jupyter_data_dir
    data = os.path.join(prefix, "share", "jupyter") if prefix else jupyter_data_dir()
    folder = os.path.join(data, "kernels", "gpmem")
    spec = {"argv": [sys.executable, "-Xfrozen_modules=off", "-m", "gpmem.kernel", "-f", "{connection_file}"],
            "display_name": "gpmem", "language": "venturescript", "metadata": {"debugger": False}}
    os.makedirs(folder, exist_ok=True)
    for name, text in ("kernel.json", json.dumps(spec, indent=1) + "\n"), ("logo-svg.svg", _LOGO):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    return folder


def main() -> None:
    """The folder on standard output."""
    reader = argparse.ArgumentParser(prog="gpmem kernel --install")
    reader.add_argument("--prefix", metavar="DIR")
    args = reader.parse_args()
    if not importlib.util.find_spec("ipykernel"):
        raise ImportError("notebooks need ipykernel (apt install python3-ipykernel, or pip install ipykernel)")
    try:
        print("installed in", install(args.prefix))
    except OSError as e:
        sys.exit("gpmem: cannot install the kernel: %s" % e)
