#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a program goes: `gpmem run --profile` and profile(a). Calls, scopes and accepted shares are counted
exactly, those of custom proposals too; times are only there."""
import re, subprocess, sys, tempfile

TOOL = sys.argv[1]
PROGRAM = """assume mu = tag("m", 0, normal(0, 1));
observe normal(mu, 1) = 2;
infer repeat(30, do(mh("m", one, 2), mh_correct(on_subproblem("m", 0, symmetric_local_proposal(x -> x)))));
infer profile(repeat(5, mh_correct(on_subproblem("m", 0,
  proc(s) { do(w <- detach(s), v <- regen(s), return(list(v - first(w), restore(s, rest(w))))) }))));
"""


def rows(text):
    lines = text.splitlines()
    assert lines[0].split() == ["seconds", "share", "calls", "accepted", "where"], text
    out = {}
    for line in lines[1:]:
        m = re.match(r" *([\d.]+) +(\d+)% +(\d+) +(?:(\d+)%)? +\S*?p\.vnts:(\d+)  (.*)$", line)
        assert m, line
        out[m.group(5), re.match(r"\w+", m.group(6)).group(0)] = (int(m.group(3)), m.group(4) and int(m.group(4)), m.group(6))
    return out


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/p.vnts"
        open(path, "w").write(PROGRAM)
        done = subprocess.run([TOOL, "run", "--profile", path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout == "", done
        table = rows(done.stderr)
        assert table["1", "assume"][0] == table["2", "observe"][0] == 1, table
        calls, accepted, text = table["3", "mh"]
        assert calls == 30 and accepted is not None and text.endswith("(scope m)"), table
        assert table["3", "mh_correct"][:2] == (30, 100), table  # a symmetric proposal that stays where it is
        assert table["3", "repeat"][:2] == (1, None), table
        assert table["4", "mh_correct"][0] == 5 and table["5", "detach"][0] == table["5", "regen"][0] == 5, table
        # by itself: what it prints stands among the results
        done = subprocess.run([TOOL, "run", path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done
        table = rows(done.stdout)
        assert table["4", "mh_correct"][0] == 5 and ("3", "mh") not in table, table
    print("profile: calls, scopes and shares are right")


main()
