#!/usr/bin/python3
"""A map over a sequence that changes keeps its place while the length stays (runtime/trace/shape.c): it is followed by nuts
like the same formula without a map, choices inside it stay where they are, and it is saved with the model."""
import subprocess, sys, tempfile

STEP = 'infer do(s <- sampler_stats(), action(print(lookup(s, "stepsize"))));'


def run(text, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write(text)
        f.flush()
        r = subprocess.run([sys.argv[1], "run", *options, f.name], capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, (text, r.stdout, r.stderr)
    return [line for line in r.stdout.split("\n") if line], r.stderr


def followed(al, prior="normal(zeros(3), 1)"):
    """Step size and last draw of nuts, which must not fall back on hmc."""
    out, err = run("assume z = %s; assume al = %s; observe normal(al, 1) = [1, 2, 3]; infer nuts(default, all, 100, 200);\n"
                   "%s infer checkInvariants(); sample z;" % (prior, al, STEP))
    assert "E0513" not in err, (al, err)
    assert float(out[0]) != 0.1, (al, out)
    return out


def main():
    # every draw is that of the formula without a map
    want = followed("exp(z)")
    for al in ("mapv(v -> exp(v), z)", "mapv(exp, z)", "map(v -> exp(v), z)", "imapv((i, v) -> exp(v), z)",
               "mapv2((a, b) -> exp(b), [1, 2, 3], z)", "mapv2((a, b) -> exp(a), z, z)", "mapv(v -> exp(v), mapv(v -> v, z))",
               "mapv(i -> exp(z[i]), range(0, 3))"):
        assert followed(al) == want, (al, followed(al), want)
    # sequences made of choices, of sequences, of distributions that give vectors
    for al, prior in (("mapv(v -> exp(v), z)", "[normal(0, 1), normal(0, 2), gamma(2, 1)]"),
                      ("mapv(v -> exp(v[0]) + sum(v), z)", "mapv(i -> multivariate_normal([0, 1], id_matrix(2)), range(0, 3))"),
                      ("mapv(v -> sum(mapv(w -> w * v, z)), z)", "dirichlet([1, 2, 3])")):
        followed(al, prior)

    # a choice inside absorbs: what is computed from it stays, and is not drawn anew
    out, _ = run('assume z = tag("z", 0, normal(zeros(2), 1)); assume x = mapv(v -> tag("x", 0, normal(v, 1)), z);\n'
                 'sample x; infer mh("z", 0, 5); sample x;')
    assert out[0] == out[1], out

    # a length that changes makes the map anew, in both directions
    out, _ = run("assume n = uniform_discrete(0, 5); assume s = normal(0, 1); assume u = mapv(v -> v + normal(0, 1), fill(n, s));\n"
                 "assume d = mapv(v -> 2 * v, u); observe normal(sum(d), 3) = 4;\n"
                 "infer repeat(50, do(mh(default, one, 4), nuts(default, all, 0, 1), checkInvariants(), "
                 "a <- sample size(u) - n, b <- sample sum(d) - 2 * sum(u), action(print([a, b]))));")
    assert all(abs(float(x)) < 1e-9 for line in out for x in line.strip("[]").split(", ")), out

    # particles share it, and go different ways
    out, _ = run('assume z = tag("z", 0, normal(zeros(2), 1)); infer resample(4); assume x = mapv(v -> 2 * v, z);\n'
                 'observe normal(x, 1) = [1, 2]; infer do(resample(4), mh(default, one, 5), nuts(default, all, 0, 2), checkInvariants());\n'
                 "sample sum(x) - 2 * sum(z);")
    assert abs(float(out[-1])) < 1e-12, out
    print("maps over sequences that change: as without a map, absorbing, of changing length, in particles")


main()
