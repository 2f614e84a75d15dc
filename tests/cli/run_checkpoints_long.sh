#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# label: slow
# A hundred kills (run_checkpoints.py). Argument: the tool.
GPMEM_CHECKPOINT_KILLS=104 GPMEM_CHECKPOINT_SEED=7 exec "$(dirname "$0")/run_checkpoints.py" "$1"
