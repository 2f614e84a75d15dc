#!/usr/bin/python3
# label: slow
"""A run that is longer than Slurm lets a job be (argument: the tool)."""
import os, subprocess, sys

subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_slurm.py"), sys.argv[1], "limit"], check=True)
