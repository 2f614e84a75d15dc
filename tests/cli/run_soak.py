#!/usr/bin/python3
# label: slow
"""Soak: the three applications side by side for a long time with flat memory. Gaussian process memoization (one session:
models made and dropped, inference, collecting), structure discovery (one process, run after run through the library) and
optimisation (ask and tell without end, data kept small). Resident memory is read once a second; between the first third and
the last it may not grow by more than 3% and 2 MB.

Before that, what once only grew, by number of rounds and not by time: local procedures, eval (untraced and in a model), models
in variables, texts through the library (as the prompt gives them), good and refused. Four times the rounds may not take more than 3 MB
more.

    run_soak.py GPMEM [SECONDS]   (default 120; the figure in the docs is of 1800)"""
import os, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 120
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIB = os.path.join(os.path.dirname(TOOL), "libgpmem.so")

MEMO = """define once = proc() { first(run(in_model(run(new_model()), {
  assume sf = gamma(2, 1); assume l = gamma(2, 1);
  assume (f_compute, f_emu) = gpmem(x -> sin(3 * x) + x, make_squaredexp(sf, l), noise=0.1);
  predict f_compute(0.1); predict f_compute(0.7); predict f_compute(1.9);
  mh(default, one, 60); slice(default, one, 1, 10, 6);
  d <- accumulate_dataset(5, do(mh(default, one, 5), collect(sf, l)));
  sample f_emu(1.2) }))) };
assume m = normal(0, 1); assume z = mem(i -> flip(0.3));
for (i = 0; i < 200; i++) { observe normal(m + (if (z(unquote(i))) { 1 } else { 0 }), 1) = sin(i) };
infer repeat(1000000000, do(mh(default, one, 200), r <- return(once()), pass));
"""

ROUNDS = {  # programs of N rounds, each of which once left something behind
    "local procedures": (75000, "define g = i -> { h = x -> x + i; h(1) }; infer repeat(%d, do(x <- return(g(1)), pass));"),
    "recursive local procedures": (20000, "define g = i -> { letrec h = n -> if (n == 0) { i } else { h(n - 1) }; h(2) };"
                                          "infer repeat(%d, do(x <- return(g(1)), pass));"),
    "eval": (25000, "define code = quote((proc(x) { x + 1 })(2)); infer repeat(%d, do(x <- return(eval(code, get_empty_environment())), pass));"),
    "eval in a model": (10000, "assume c = uniform_continuous(0, 1); assume y = eval(array(quote(add), c, 1), get_empty_environment());"
                               "infer mh(default, one, %d);"),
    "a model in a variable": (1500, "define once = proc() { run(do(m <- new_model(), r <- in_model(m, {"
                                    "assume f = mem(i -> normal(0, 1)); observe normal(f(1), 1) = 2; mh(default, one, 5); sample f(2) }),"
                                    "return(first(r)))) }; infer repeat(%d, do(y <- return(once()), pass));"),
    "emulators in models in variables": (400, "define once = proc() { run(do(m <- new_model(), r <- in_model(m, { assume sf = gamma(2, 1);"
                                              "assume (f_compute, f_emu) = gpmem(x -> sin(3 * x) + x, make_squaredexp(sf, 1), noise=0.1);"
                                              "predict f_compute(0.1); predict f_compute(0.7); mh(default, one, 6); sample f_emu(1.2) }),"
                                              "return(first(r)))) }; infer repeat(%d, do(y <- return(once()), pass));"),
}
TEXTS = """import ctypes as c
lib = c.CDLL(%r)
lib.gpm_session_new.restype = c.c_void_p
lib.gpm_run_text.argtypes = [c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t]
options = c.create_string_buffer(4096)
lib.gpm_options_init_sized.argtypes = [c.c_void_p, c.c_size_t]
lib.gpm_options_init_sized(options, len(options))
lib.gpm_session_new.argtypes = [c.c_void_p]
s = lib.gpm_session_new(options)
for i in range(%d):
    for want, text in ((0, "define f = x -> x + %%d; define y = f(1); define a = mh(default, one, 1);" %% i), (1, "define g = (x -> ;" + " " * 2000), (1, "nonsense(%%d);" %% i)):
        t = text.encode()
        assert (lib.gpm_run_text(s, b"t", t, len(t)) != 0) == want, text
"""

WORKER = """import sys, time
sys.path.insert(0, %r)
import gpmem
%s
"""
DISCOVER = """
y = [float(l.split(",")[1]) for l in open(%r).read().split()[1:61]]
while True: gpmem.discover(y, seed=int(time.time()), threads=1, kernels="LIN SE PER")
"""
OPTIMIZE = """
import math
while True: gpmem.optimize(lambda x, y: (x - 1) ** 2 + math.sin(3 * y), {"x": (-5, 5), "y": (-2, 2)}, budget=25, seed=int(time.time()))
"""


def resident(pid):
    with open("/proc/%d/statm" % pid) as f: return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2 ** 20


def peak(command, env):
    """Megabytes that a command needs at most."""
    with tempfile.TemporaryFile("w+") as errors:
        p = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(p.pid, 0)
        errors.seek(0)
        if status: raise SystemExit("%s: %s" % (command[-1][:200], errors.read()[-600:]))
    return used.ru_maxrss / 1024


def rounds_are_flat(env):
    bad = 0
    cases = {what: lambda k, n=n, text=text: peak([TOOL, "-q", "-e", text % (k * n)], env) for what, (n, text) in ROUNDS.items()}
    cases["texts, good and refused"] = lambda k: peak(["/usr/bin/python3", "-c", TEXTS % (LIB, 1500 * k)], env)
    for what, run in cases.items():
        few, many = run(1), run(4)
        bad += many - few > 3
        print("%-34s %.1f MB, four times the rounds %.1f MB%s" % (what, few, many, "  GROWS" if many - few > 3 else ""))
    return bad


def main():
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1", GPMEM_LIBRARY=LIB)
    growing = rounds_are_flat(env)
    with tempfile.TemporaryDirectory() as tmp:
        program = os.path.join(tmp, "memo.vnts")
        with open(program, "w") as f: f.write(MEMO)
        package, airline = os.path.join(ROOT, "python"), os.path.join(ROOT, "data", "airline.csv")
        commands = {"gpmem": [TOOL, "run", "-q", program], "discover": ["/usr/bin/python3", "-c", WORKER % (package, DISCOVER % airline)],
                    "optimize": ["/usr/bin/python3", "-c", WORKER % (package, OPTIMIZE)]}
        running = {k: subprocess.Popen(c, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for k, c in commands.items()}
        seen, bad = {k: [] for k in running}, 0
        try:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                time.sleep(1)
                for k, p in running.items():
                    if p.poll() is not None: raise SystemExit("%s ended: %s" % (k, p.stderr.read().decode()[-600:]))
                    seen[k].append(resident(p.pid))
        finally:
            for p in running.values(): p.kill()
    for k, mb in seen.items():
        third = len(mb) // 3
        first, last = max(mb[third // 2:third]), max(mb[-third:])
        grown = last - first > max(2, 0.03 * first)
        bad += grown
        print("%-9s %d s: at most %.1f MB in the first third, %.1f MB in the last%s" % (k, len(mb), first, last, "  GROWS" if grown else ""))
    return 1 if bad or growing else 0


sys.exit(main())
