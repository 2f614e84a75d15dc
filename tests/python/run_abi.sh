#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python/gpmem/_abi.py is what tools/ctypes makes of the headers.
exec "$(dirname "$0")/../../tools/ctypes" --check
