#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/reference.md is what tools/reference writes.
exec "$(dirname "$0")/../../tools/reference" "$1" --check
