#!/usr/bin/env bash
# label: slow
# SIGKILL at 50 random moments of a run, then `gpmem resume`: the draws are those of a whole run.
exec "$(dirname "$0")/run_folders.py" "$1" 50
