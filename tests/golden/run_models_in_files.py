#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Models of all golden programs go into a file and come back: after save_model the chain goes on, after load_model it
goes on again from the same state, to the same place. Argument: the tool."""
import glob, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.abspath(sys.argv[1])
MORE = """;
infer save_model("%s");
infer mh(default, one, 40);
run(global_log_joint);
infer load_model("%s");
infer mh(default, one, 40);
run(global_log_joint);
infer checkInvariants();
"""


def main():
    same = 0
    with tempfile.TemporaryDirectory() as work:
        for program in sorted(glob.glob(os.path.join(HERE, "programs", "*.vnts"))):
            text = open(program).read().rstrip().rstrip(";")
            path, model = os.path.join(work, "p.vnts"), os.path.join(work, "m.gpm")
            with open(path, "w") as f:
                f.write(text + MORE % (model, model))
            r = subprocess.run([TOOL, "run", "--allow-write", "--allow-run", path], cwd=os.path.join(HERE, "programs"),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert r.returncode == 0, (program, r.stderr[-600:])
            before, after = r.stdout.strip().split("\n")[-2:]
            assert before == after, (program, before, after)
            same += 1
    assert same > 15
    print("%d models" % same)


main()
