#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every code in the right columns of the tables of docs/from-stan.md runs (argument: the tool): statements and expressions with the
names that they use defined, bare names as calls, options and arguments in a run, commands on a folder. A code that no rule knows fails."""
import os, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# a name that a code uses: how it comes to be, in order
NAMES = [("J", "define J = 3;"), ("N", "define N = 3;"), ("n", "define n = 3;"), ("d", "define d = 2;"), ("eta", "define eta = 2;"),
         ("a", "define a = 0;"), ("b", "define b = 2;"), ("m", "define m = 1;"), ("s", "define s = 0.5;"), ("rate", "define rate = 2;"),
         ("mu", "assume mu = normal(0, 1);"), ("sigma", "assume sigma = gamma(2, 2);"), ("y", "define y = 0.7;"),
         ("e", "assume e = 0 - mu ** 2;"), ("x", "define x = vector(1, 2, 4);"), ("X", "define X = matrix([[1, 2], [3, 4]]);"),
         ("alphas", "define alphas = [1, 2, 3];"), ("theta", "define theta = [0.2, 0.3, 0.5];"), ("alpha", "define alpha = [5, 6, 7];"),
         ("county", "define county = [0, 2, 2];"), ("sf", "define sf = 1;"), ("l", "define l = 2;"), ("y0", "define y0 = [1];"),
         ("t0", "define t0 = 0;"), ("ts", "define ts = [1, 2];"), ("p", "define p = 0.5;"), ("f", "define f = proc(t, y, p) { [0 - p * y[0]] };"),
         ("z", "define z = normal(zeros(3), 1);"), ("r", "define r = 3;")]
# codes that run only with other names or in another place: the program; {} is the code
PLACES = {
    "data J, y;": None,  # with --data, below
    "normal(mu, sigma)": "assume mu = 0; assume sigma = 1; sample {};",
    "x -> x + 1": None,
    "dot(X, b)": "define X = matrix([[1, 2], [3, 4]]); define b = [1, 1]; sample {};",
    "transpose(x)": "define x = matrix([[1, 2], [3, 4]]); sample {};",
    "x * y": "define x = [1, 2]; define y = [3, 4]; sample {};",
    "log_ccdf(...)": "sample log_ccdf(1, normal, 0, 1);",
    "proc(x, y) { ... }": "define f = proc(x, y) { x + y }; sample f(1, 2);",
    "for (i = 0; i < N; i++) { ... };": "define N = 3; for (i = 0; i < N; i++) { predict normal(i, 1); };",
    "z = normal(zeros(n), 1)": "define n = 3; assume {}; sample z;",
    "x = m + s * z": "assume z = normal(zeros(3), 1); assume m = 1; assume s = 2; assume {}; sample x;",
    "make_gp(make_squaredexp(sf, l), noise=s)": "define sf = 1; define l = 2; define s = 0.1; assume g = {}; observe g(1) = 2; sample g(2);",
    "flat(n=3)": "assume x = {}; observe normal(x, 1) = [1, 2, 3]; infer sample(warmup=20, draws=20);",
    "flat(lower=0)": "assume x = {}; observe normal(x, 1) = 2; infer sample(warmup=20, draws=20);",
    "assume x = flat();": "{} observe normal(x, 1) = 2; infer sample(warmup=20, draws=20);",
    "sample e;": "define e = 3; {}",
    "collect(...)": "assume x = normal(0, 1); d = run(accumulate_dataset(3, collect(x, normal(x, 1)))); print(d);",
    "method=\"stiff\"": "define f = proc(t, y, p) { [0 - p * y[0]] }; sample ode_solve(f, [1], 0, [1, 2], 0.5, {});",
    "sample(target_accept=0.95, max_depth=12)": "assume x = normal(0, 1); infer sample(warmup=20, draws=20, target_accept=0.95, max_depth=12);",
    "infer gradient_ascent(default, all, 0.01, 100);": "assume x = normal(0, 1); observe normal(x, 1) = 2; {}",
}
CALLS = {  # a bare name: a call of it
    "assume": "assume x = 1; sample x;", "define": "define x = 1; sample x;", "predict": "predict normal(0, 1);",
    "read_json": 'sample lookup(read_json("d.json"), "J");', "read_table": 'sample read_table("t.csv");',
    "uniform_continuous": "sample uniform_continuous(0, 1);", "uniform_discrete": "sample uniform_discrete(0, 4);",
    "laplace": "sample laplace(0, 1);", "vonmises": "sample vonmises(0, 1);", "log_odds_flip": "sample log_odds_flip(1);",
    "bernoulli_logit": "sample bernoulli_logit(1);", "wishart": "sample wishart([[1, 0], [0, 1]], 5);",
    "inv_wishart": "sample inv_wishart([[1, 0], [0, 1]], 5);", "zero_sum_normal": "sample zero_sum_normal(3, 1);",
    "flat_zero_sum": "assume x = flat_zero_sum(3); observe normal(x, 1) = [1, 2, 3]; infer sample(warmup=20, draws=20);",
    "multivariate_normal": "sample multivariate_normal([0, 0], [[1, 0], [0, 1]]);",
    "multivariate_normal_cholesky": "sample multivariate_normal_cholesky([0, 0], [[1, 0], [0, 1]]);",
    "multivariate_normal_precision": "sample multivariate_normal_precision([0, 0], [[1, 0], [0, 1]]);",
    "multivariate_student_t": "sample multivariate_student_t(5, [0, 0], [[1, 0], [0, 1]]);",
    "cumsum": "sample cumsum([1, 2]);", "cholesky": "sample cholesky([[4, 0], [0, 9]]);",
    "solve_lower": "sample solve_lower([[2, 0], [1, 3]], [1, 2]);", "log_det": "sample log_det([[4, 0], [0, 9]]);",
    "laplace_mh": "assume x = normal(0, 1); observe normal(x, 1) = 2; infer laplace_mh(default, all, 3);",
    "log_evidence": "assume x = normal(0, 1); observe normal(x, 1) = 2; infer do(e <- log_evidence(default), action(print(e)));",
    "meanfield": "assume x = normal(0, 1); observe normal(x, 1) = 2; infer meanfield(default, all, 20);",
    "bridge_evidence": "assume x = normal(0, 1); observe normal(x, 1) = 2; infer nuts(default, all, 50); print(run(bridge_evidence(200, nuts(default, all, 2))));",
    "marginalize": None,
}
FLAT = re.compile(r"flat_(\w+)\((\w+)\)$")
MODEL = "data J, y;\nassume mu = normal(0, 10);\nobserve normal(fill(J, mu), 1) = y;\ninfer sample(warmup=500, draws=2000, collect=collect(mu, log_lik()));\n"


def codes():
    inside = False
    for number, line in enumerate(open(os.path.join(ROOT, "docs", "from-stan.md"), encoding="utf-8"), 1):
        if re.match(r"\| (?:Stan|CmdStan) \| here \|", line):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            right = line.replace("\\|", "\0").rstrip("\n |").split("|")[-1]
            for code in re.findall(r"`([^`]+)`", right):
                yield number, code.replace("\0", "|")


def with_names(code, program):
    """Definitions of the names that the code uses and does not make, before the program."""
    makes = set(re.findall(r"(?:assume|define)\s+(\w+)\s*=", code)) | set(re.findall(r"proc\((\w+)|(\w+) ->", code) and re.findall(r"(\w+) ->", code))
    used, lines = set(re.findall(r"(?<![\w\".])([A-Za-z_]\w*)\b(?!\s*=[^=])", re.sub(r'"[^"]*"', "", code))), []
    for name, line in reversed(NAMES):
        if name in used and name not in makes:
            lines.append(line)
            used |= set(re.findall(r"\b[A-Za-z_]\w*\b", line.split("=", 1)[1]))
    return "\n".join(lines[::-1]) + "\n" + program


def program_of(code):
    if code in PLACES and PLACES[code]:
        return PLACES[code].replace("{}", code)
    if code in CALLS and CALLS[code]:
        return CALLS[code]
    m = FLAT.match(code)
    if m:  # a choice without a prior needs data
        y = {"simplex": "[0.2, 0.3, 0.5]", "ordered": "[1, 2, 3]", "positive_ordered": "[1, 2, 3]", "unit_vector": "[1, 0, 0]"}.get(m.group(1))
        if y:
            return "define n = 3;\nassume v = %s;\nobserve normal(v, 1) = %s;\ninfer sample(warmup=20, draws=20);" % (code, y)
        scale = "x" if m.group(1) == "cov" else "dot(x, transpose(x))"
        return "define d = 2;\nassume x = %s;\nobserve wishart(%s, 5) = [[4, 1], [1, 5]];\ninfer sample(warmup=20, draws=20);" % (code, scale)
    if re.fullmatch(r'(?:init|metric)="\w+"', code):
        return "assume x = normal(0, 1); infer sample(warmup=20, draws=20, %s);" % code
    if code in ('"prior"', '"optimum"', '"laplace"', 'read_json("file.json")'):
        return "assume x = normal(0, 1); infer sample(warmup=20, draws=20, init=%s);" % code
    if code == '"dense"':
        return 'assume x = normal(0, 1); infer sample(warmup=20, draws=20, metric="dense");'
    if code.endswith(";"):
        if "infer" in code:
            return "assume x = normal(0, 1);\n" + code
        return with_names(code, code)
    if re.search(r"[(\[]", code):
        return with_names(code, "sample %s;" % code)
    return None


def command_of(code):
    """The words of a command of a shell; None: no command."""
    if code.startswith("gpmem "):
        return code.split()
    if code.startswith("--") and code != "--out NAME":
        return ["gpmem", "run", "model.vnts", "--data", "d.json", *(code.split() if code != "--data FILE.json" else [])]
    if code in ("arviz", "json", "zarr"):
        return ["gpmem", "export", "DIR", "--format", code, *(["--out", "DIR.zarr"] if code == "zarr" else [])]
    return None


def main():
    bad, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"model.vnts": MODEL, "d.json": '{"J": 3, "y": [1, 2, 3]}', "file.json": '{"x": 0.5}', "t.csv": "a,b\n1,2\n3,4\n"}.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        for number, code in codes():
            count += 1
            words, program = command_of(code), program_of(code)
            if code == "data J, y;":
                words = ["gpmem", "run", "model.vnts", "--data", "d.json"]
            if code == "DIR/chain-1.csv":
                if not os.path.exists(os.path.join(folder, code)):
                    bad.append("%d: there is no %s" % (number, code))
                continue
            if words:
                p = subprocess.run([TOOL if w == "gpmem" else w for w in words], cwd=folder, capture_output=True, text=True)
            elif program:
                p = subprocess.run([TOOL, "run", "-q", "-"], input=program, cwd=folder, capture_output=True, text=True)
            else:
                bad.append("docs/from-stan.md:%d: no rule runs `%s`" % (number, code))
                continue
            if p.returncode:
                bad.append("docs/from-stan.md:%d: `%s`\n%s\n%s" % (number, code, program or words, p.stderr[:500]))
    for line in bad:
        print(line)
    print("%d codes of the tables, %d failed" % (count, len(bad)))
    return 1 if bad else 0


sys.exit(main())
