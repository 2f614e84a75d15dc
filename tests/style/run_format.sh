#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C file is as `make format` leaves it.
cd "$(dirname "$0")/../.."
command -v clang-format > /dev/null || { echo "no clang-format"; exit 1; }
find src include tests bench -name '*.[ch]' -not -path '*/node_modules/*' -print0 |
    xargs -0 -n 40 -P 2 clang-format --dry-run -Werror 2>&1 | grep -E 'error:|warning:' | head -20 | { ! grep .; } ||
    { echo "make format puts these right"; exit 1; }
echo "formatted"
