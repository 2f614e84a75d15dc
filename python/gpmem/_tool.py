# SPDX-License-Identifier: Apache-2.0
"""The command `gpmem` of a wheel that holds the tool."""
import os
import sys


def main():
    """Becomes the tool."""
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "gpmem")
    os.environ.setdefault("GPMEM_PYTHON", sys.executable)  # where the kernel of notebooks runs
    os.execv(tool, [sys.argv[0]] + sys.argv[1:])
