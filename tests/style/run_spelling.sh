#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words that are often misspelt, in every text of the tree; names that only look like one stand in spelling.txt. Bad
# programs and fuzz inputs are misspelt on purpose.
cd "$(dirname "$0")/../.."
command -v codespell > /dev/null || { echo "no codespell"; exit 1; }
codespell --ignore-words tests/style/spelling.txt \
    --skip '*/node_modules/*,*/corpus/*,*/golden/errors/*,*/__pycache__/*,*.svg,bench/results/*' \
    *.md src include tests bench docs examples python tools data && echo "no misspelt word"
