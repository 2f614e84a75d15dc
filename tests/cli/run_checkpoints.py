#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed go on from their checkpoints and end with the bytes of a run that nobody touched: every family
of operators, makers, processes, stores, particles, recursion; damaged checkpoints are refused with a reason; several
chains. Argument: the tool. GPMEM_CHECKPOINT_KILLS: how many kills in all (default: two of each kind)."""
import glob, os, random, re, shutil, signal, subprocess, sys, tempfile, time
from each import Moments, stopped_on_the_way

TOOL = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KILLS = int(os.environ.get("GPMEM_CHECKPOINT_KILLS", "0"))
WORK = tempfile.mkdtemp(prefix="gpmem-checkpoints-")
SEED = int(os.environ.get("GPMEM_CHECKPOINT_SEED", "1"))

KINDS = {
    "mh and gibbs": """assume x = normal(0, 1);
assume f = mem(proc(i) { normal(x, 1) #s:i });
assume k = mem(proc(i) { categorical([0.3, 0.3, 0.4], [0, 1, 2]) #c:i });
for (i = 0; i < 6; i = i + 1) { observe normal(f($i) + k($i), 1) = i; }
infer repeat(3000, do(mh(default, one, 10), gibbs(quote(c), one, 3), mh(quote(s), each, 1), collect(x, f(3), k(2))));
sample x;
""",
    "nuts, hmc and sample": """assume mu = normal(0, 5);
assume sigma = gamma(2, 2);
assume z = mem(proc(i) { normal(mu, sigma) });
for (i = 0; i < 5; i = i + 1) { observe normal(z($i), 1) = 0.7 * i; }
infer nuts(default, all, 100, 200);
infer sample(warmup=150, draws=1500);
for (k = 0; k < 100; k = k + 1) { infer hmc(default, all, 0.02, 5, 3); infer nuts(default, all, 100, 2); }
d = run(sample(warmup=100, draws=200, metric="dense"));
d;
""",
    "slice": """assume x = gamma(2, 1) #q:0;
assume y = beta(2, 3) #q:1;
observe poisson(x * 3) = 7;
observe flip(y) = true;
d = run(accumulate_dataset(4000, do(slice(default, one, 1, 10, 5), collect(x, y))));
d;
""",
    "particles": """assume x = mem(proc(t) { if (t < 1) { normal(0, 1) #t:t } else { normal(0.9 * x(t - 1), 0.5) #t:t } });
infer resample(10);
for (t = 0; t < 40; t = t + 1) { observe normal(x($t), 1) = sin(t / 5); infer resample(10); infer collect(x($t) - 0); }
infer repeat(40, do(mh(default, one, 10), collect(x(3))));
infer resample(1);
infer repeat(60, do(pgibbs(quote(t), ordered, 4, 1), collect(x(5))));
""",
    "makers": """assume crp = make_crp(1);
assume z = mem(proc(i) { crp() #z:i });
assume coin = mem(proc(c) { make_beta_bernoulli(1, 1) });
assume nn = make_nig_normal(0, 1, 1, 1);
for (i = 0; i < 10; i = i + 1) { observe coin(z($i))() = (int_mod(i, 3) == 0); observe nn() = i / 4; }
infer repeat(2500, do(gibbs(quote(z), one, 2), mh(default, one, 2), collect(z(1), z(5), coin(z(2))())));
""",
    "Gaussian processes": """assume sf = gamma(2, 1) #h:0;
assume l = gamma(2, 1) #h:1;
assume g = make_gp(make_const_func(0), make_squaredexp(sf, l) + make_whitenoise(0.3));
for (i = 0; i < 30; i = i + 1) { observe g($i * 0.37 + 0.01 * $i * $i) = sin(i * 0.37); }
infer repeat(2000, do(mh(quote(h), one, 1), collect(sf, l, g(100))));
for (i = 0; i < 30; i = i + 1) { observe g($i * 0.37 + 0.005) = sin(i * 0.37); infer do(mh(quote(h), one, 3), collect(sf, l, g(9))); }
""",
    "gpmem with a store": """define f = proc(x) { sin(3 * x) + 0.2 * x };
assume sf = gamma(2, 1) #h:0;
assume l = gamma(2, 1) #h:1;
assume (f_compute, f_emu) = gpmem($f, make_squaredexp(sf, l), noise=0.1, store="memo.sqlite");
for (i = 0; i < 150; i = i + 1) {
  predict f_compute($i * 0.05);
  infer do(mh(quote(h), one, 2), collect(sf, l, f_emu(0.42)));
}
""",
    "counts, several outputs, emulators from outside, plug-ins, fits": """assume l = gamma(3, 2) #h:0;
assume s = gamma(2, 2) #h:1;
assume a = normal(0, 2) #q:0;
assume b = gamma(2, 1) #q:1;
assume g = make_gp(make_squaredexp(1, l), likelihood="poisson");
assume both = make_gp([make_squaredexp(1, l), make_squaredexp(s, 1)], noise=0.3);
assume coupled = make_gp(make_squaredexp(s, 1.5), outputs=[[1, 0.4], [0.4, 2]]);
define nearest = proc(pairs, x) { sum(mapv(proc(p) { p[1] * exp(-abs(p[0] - x)) }, pairs)) / (1 + size(pairs)) };
assume e = make_emulator(proc(pairs, xs) { mapv(proc(x) { nearest(pairs, x) + 0.1 }, xs) },
  proc(pairs, xs, ys) { sum(mapv(proc(i) { -((ys[i] - nearest(pairs, xs[i])) ** 2) / s }, range(0, size(xs)))) });
assume skewed = plugin("libmine.so", "asymmetric_laplace");
assume m = make_plugin("libmine.so", "constant", [s]);
define cosine = foreign("libcos.so", "cosine");
assume (c_compute, c_emu) = gpmem($cosine, make_squaredexp(1, l), noise=0.2);
for (i = 0; i < 6; i = i + 1) {
  observe g($i) = int_mod(3 * i, 5);
  observe both($i) = [i / 3, 1 - i / 4];
  observe coupled($i * 0.9) = [sin(i), cos(i)];
  observe e($i) = i / 2;
  observe skewed(s, 1, 0.3) = i / 5;
  observe normal(a * i, b) = i - 0.3;
  observe m($i) = i / 7;
  predict c_compute($i * 0.4);
}
infer repeat(4000, do(mh(quote(h), one, 2), collect(l, s, g(2.5))));
infer repeat(60, do(laplace_mh(quote(q), all, 1), mh(quote(h), one, 1), collect(a, b, l)));
for (i = 6; i < 20; i = i + 1) {
  observe g($i) = int_mod(3 * i, 5);
  observe both($i) = [i / 3, 1 - i / 4];
  observe normal(a * i, b) = i - 0.4;
  predict c_compute($i * 0.4);
  infer do(laplace_mh(quote(q), all, 1), mh(quote(h), one, 1), collect(a, b, g(0.5), c_emu(1)));
}
sample [both(3.3), coupled(2.2), e(2.5), m(2.5)];
""",
    "models in models, particles one by one, bind": """assume x = normal(0, 1) #a:0;
assume f = mem(proc(i) { normal(x, 1) #a:i });
for (i = 0; i < 5; i = i + 1) { observe normal(f($i), 1) = i / 3; }
define other = run(fork_model());
define fresh = run(new_model());
infer in_model(fresh, do(assume(y, normal(0, 3)), observe(normal(y, 1), 2)));
for (k = 0; k < 20; k = k + 1) {
  infer in_model(other, repeat(600, do(mh(default, one, 5), collect(x, f(2)))));
  infer in_model(fork_model(), do(repeat(240, mh(default, one, 5)), in_model(fresh, repeat(400, do(mh(default, one, 3), collect(y)))),
    repeat(40, do(mh(default, one, 5), collect(x)))));
  infer bind(repeat(80, do(mh(default, one, 5), collect(x))), proc(r) { repeat(80, do(mh(default, one, 5), collect(f(1)))) });
  infer bind_(mh(default, one, 400), proc() { bind(collect(x), proc(d) { mh(default, one, 400) }) });
  infer resample(4);
  infer for_each_particle(repeat(240, do(mh(default, one, 5), collect(x, f(3)))));
  infer on_particle(2, repeat(240, do(mh(default, one, 5), in_model(other, mh(default, one, 5)))));
  infer do(r <- for_each_particle(do(mh(default, one, 100), collect(x))), mh(default, one, 50));
  infer resample(1);
}
sample x;
first(run(in_model(fresh, sample(y))));
""",
    "recursion and procedures": """assume w = mem(proc(n) { if (n < 1) { 0 } else { w(n - 1) + normal(0, 1) } });
for (t = 1; t < 15; t = t + 1) { observe normal(w($t), 0.5) = sqrt(t); }
define go = proc(n, seen) {
  if (n < 1) { return(seen) } else { do(mh(default, one, 10), d <- collect(w(7), w(12)), go(n - 1, n)) } };
infer go(2000, 0);
infer for_each([1, 2, 3], proc(k) { repeat(40, do(mh(default, one, k), collect(w(2), w($k)))) });
infer mapM(proc(k) { sequence([mh(default, one, 5), collect(w(1), w($k))]) }, [1, 2, 3, 4, 5]);
sample w(3);
""",
}


def command(kind, folder):
    return [TOOL, "run", "--allow-write", "--allow-run", "program.vnts", "--seed", "5", "--out", folder]


def place(kind):
    folder = os.path.join(WORK, re.sub(r"\W+", "-", kind))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "program.vnts"), "w") as f:
        f.write(KINDS[kind])
    if "libmine.so" in KINDS[kind]:
        with open(os.path.join(folder, "cosine.c"), "w") as f:
            f.write("#include <math.h>\ndouble cosine(double x) { return cos(x); }\n")
        for source, library in ((os.path.join(ROOT, "examples", "c", "plugin.c"), "libmine.so"), ("cosine.c", "libcos.so")):
            subprocess.run(["cc", "-shared", "-fPIC", "-I" + os.path.join(ROOT, "include"), source, "-o", library, "-lm"], check=True,
                           cwd=folder)
    return folder


def text(*path):
    path = os.path.join(*path)
    return open(path).read() if os.path.exists(path) else ""


def undisturbed(kind):
    where = place(kind)
    shutil.rmtree(os.path.join(where, "whole"), ignore_errors=True)
    began = time.time()
    r = subprocess.run(command(kind, "whole"), cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, (kind, r.stderr[-800:])
    assert not os.path.exists(os.path.join(where, "whole", "chain-1.ckpt"))  # it is over
    return where, r.stdout, time.time() - began


def kill_once(args, where, wait, sig):
    p = subprocess.Popen(args, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = p.communicate(timeout=wait)
    except subprocess.TimeoutExpired:
        p.send_signal(sig)
        out, err = p.communicate(timeout=60)
    assert p.returncode in (0, 4, -signal.SIGKILL, -signal.SIGTERM), (p.returncode, err[-800:])
    return p.returncode, out, err


def check_kind(kind, kills, chance):
    """Killed at random moments until it is over; *went_on: how often it went on from a checkpoint."""
    where, out, seconds = undisturbed(kind)
    went_on = 0
    done = 0
    moments = Moments(chance, seconds, 0.2, 0.9)
    for tries in range(10 + 2 * kills):
        if done >= kills:
            break
        shutil.rmtree(os.path.join(where, "cut"), ignore_errors=True)
        for store in glob.glob(os.path.join(where, "memo.sqlite*")):
            os.remove(store)
        status = None
        while status != 0:
            went_on += os.path.exists(os.path.join(where, "cut", "chain-1.ckpt"))
            over = '"finished"' in text(where, "cut", "manifest.json")  # killed after its end: nothing is printed again
            wait = moments.next() if done < kills else 600
            sig = chance.choice([signal.SIGKILL, signal.SIGTERM])
            status, got, err = kill_once(command(kind, "cut") + ["--continue", "--checkpoint", "0.01"], where, wait, sig)
            assert "begins anew" not in err and "no checkpoint" not in err, (kind, err)
            done += status != 0
            if status == 0: moments.was_over()
        assert text(where, "cut", "chain-1.csv") == text(where, "whole", "chain-1.csv"), "%s: other draws" % kind
        assert over or got == out, "%s: other output" % kind
    return went_on


def check_damage():
    """A checkpoint that was cut or changed is refused with a reason; the program is replayed, to the same bytes."""
    kind = "mh and gibbs"
    where, out, seconds = undisturbed(kind)
    chance = random.Random(SEED)
    moments = Moments(chance, seconds, 0.3, 0.95)
    for tries in range(40):  # one that lies well inside the draws
        shutil.rmtree(os.path.join(where, "cut"), ignore_errors=True)
        status, _, _ = kill_once(command(kind, "cut") + ["--checkpoint", "0.02"], where, moments.next(), signal.SIGTERM)
        drawn = text(where, "cut", "chain-1.csv").count("\n") > 20
        if status == 4 and drawn and os.path.exists(os.path.join(where, "cut", "chain-1.ckpt")):
            break
        if status == 0 or drawn: moments.was_over()  # or at its end, where it no longer listens
        else: moments.was_early()
    else:
        raise AssertionError("no checkpoint")
    path = os.path.join(where, "cut", "chain-1.ckpt")
    good = open(path, "rb").read()
    kept = os.path.join(where, "kept")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(os.path.join(where, "cut"), kept)
    for i in range(6):
        shutil.rmtree(os.path.join(where, "cut"))
        shutil.copytree(kept, os.path.join(where, "cut"))
        at = chance.randrange(len(good))
        bad = good[:at] if i % 2 else good[:at] + bytes([good[at] ^ (1 << chance.randrange(8))]) + good[at + 1:]
        with open(path, "wb") as f:
            f.write(bad)
        r = subprocess.run([TOOL, "resume", "--allow-write", "cut"], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert r.returncode == 0, (i, at, r.returncode, r.stderr[-500:])
        assert "begins anew, its checkpoint is not used: " in r.stderr, r.stderr
        assert text(where, "cut", "chain-1.csv") == text(where, "whole", "chain-1.csv")
    # draws that are not those of the checkpoint
    shutil.rmtree(os.path.join(where, "cut"))
    shutil.copytree(kept, os.path.join(where, "cut"))
    draws = os.path.join(where, "cut", "chain-1.csv")
    lines = open(draws).read().split("\n")
    with open(draws, "w") as f:
        f.write("\n".join(lines[:3]) + "\n")
    r = subprocess.run([TOOL, "resume", "--allow-write", "cut"], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0 and "the draws are not those it was written with" in r.stderr, r.stderr
    assert text(where, "cut", "chain-1.csv") == text(where, "whole", "chain-1.csv")


def check_chains():
    """Chains that have ended are not run again; the others go on."""
    where = place("mh and gibbs")
    args = [TOOL, "run", "program.vnts", "--seed", "5", "--chains", "3", "--out"]
    r = subprocess.run(args + ["three"], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, r.stderr
    status, wait = 4, 0.3
    while status != 0:
        over = '"finished"' in text(where, "pieces", "manifest.json")
        status, out, err = kill_once(args + ["pieces", "--continue", "--checkpoint", "0.05"], where, wait, signal.SIGTERM)
        assert "begins anew" not in err, err
        wait += 0.2
    assert over or out == r.stdout
    for i in (1, 2, 3):
        assert text(where, "pieces", "chain-%d.csv" % i) == text(where, "three", "chain-%d.csv" % i)
    assert not any(n.endswith(".ckpt") for n in os.listdir(os.path.join(where, "pieces")))


def check_limit():
    """--max-time: status 4, and the next run goes on; a file that was read before must be the same."""
    where = os.path.join(WORK, "limit")
    os.makedirs(where)
    with open(os.path.join(where, "data.json"), "w") as f:
        f.write('{"y": [1, 2, 3]}')
    with open(os.path.join(where, "program.vnts"), "w") as f:
        f.write("""assume m = normal(0, 3);
for (i = 0; i < 3; i = i + 1) { observe normal(m, 1) = y[i]; }
infer repeat(2000000, do(mh(default, one, 50), collect(m)));
""")
    args = [TOOL, "run", "program.vnts", "--data", "data.json", "--continue", "--out", "run", "--max-time", "0.5"]
    r = subprocess.run(args, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 4, (r.returncode, r.stderr)
    rows = text(where, "run", "chain-1.csv").count("\n")
    assert os.path.exists(os.path.join(where, "run", "chain-1.ckpt"))
    for limit in ("0.5", "5", "50"):  # the next draws may take a busy machine longer than the first
        r = subprocess.run(args[:-1] + [limit], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if r.returncode != 4 or text(where, "run", "chain-1.csv").count("\n") > rows: break
    assert r.returncode in (0, 4) and text(where, "run", "chain-1.csv").count("\n") > rows, (r.stderr, rows)
    if r.returncode == 0:
        return
    with open(os.path.join(where, "data.json"), "w") as f:
        f.write('{"y": [1, 2, 4]}')
    r = subprocess.run(args, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 1 and "data.json' has changed since the run began" in r.stderr, (r.returncode, r.stderr)


def check_other_program():
    """A checkpoint beside another program is not used, and what that program says is its own."""
    where = os.path.join(WORK, "other")
    os.makedirs(where)
    for name, mean in (("a", 0), ("b", 5)):
        with open(os.path.join(where, name + ".vnts"), "w") as f:
            f.write("assume x = normal(%d, 1);\ninfer accumulate_dataset(100000, do(mh(default, one, 1), collect(x)));\nprint(\"program %s\");\n" % (mean, name))

        def attempt(limit):
            shutil.rmtree(os.path.join(where, name), ignore_errors=True)
            r = subprocess.run([TOOL, "run", name + ".vnts", "--out", name, "--max-time", limit], cwd=where, capture_output=True)
            assert r.returncode in (0, 4), r.stderr
            return r.returncode == 0, os.path.exists(os.path.join(where, name, "chain-1.ckpt"))
        stopped_on_the_way(attempt)
    shutil.copy(os.path.join(where, "a", "chain-1.ckpt"), os.path.join(where, "b"))
    for with_draws in (False, True):
        shutil.rmtree(os.path.join(where, "c"), ignore_errors=True)
        shutil.copytree(os.path.join(where, "b"), os.path.join(where, "c"))
        if with_draws: shutil.copy(os.path.join(where, "a", "chain-1.csv"), os.path.join(where, "c"))
        r = subprocess.run([TOOL, "resume", "c"], cwd=where, capture_output=True, text=True)
        assert "it is of another run" in r.stderr and "program a" not in r.stdout, (r.stdout, r.stderr)
        assert r.returncode == (1 if with_draws else 0) and (with_draws or "program b" in r.stdout), (r.returncode, r.stdout, r.stderr)


def main():
    chance = random.Random(SEED)
    share = max(1, KILLS // len(KINDS)) if KILLS else 2
    went_on = 0
    for kind in KINDS:
        n = check_kind(kind, share, chance)
        print("%s: gone on from a checkpoint %d times" % (kind, n), flush=True)
        went_on += n
    assert went_on >= (KILLS or len(KINDS)) // 3, went_on
    check_damage()
    check_chains()
    check_limit()
    check_other_program()
    shutil.rmtree(WORK)


main()
