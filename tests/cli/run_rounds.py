#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What once only grew stays flat, by number of rounds and not by time: local procedures, eval (untraced and in a model), models
in variables, texts through the library (as the prompt gives them), good and refused. Four times the rounds may not take
more than 3 MB more. The long soak of the applications is run_soak.py."""
import os, re, subprocess, sys, tempfile, time

TOOL = os.path.abspath(sys.argv[1])
LIB = os.path.join(os.path.dirname(TOOL), "libgpmem.so")

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
open("PIPE").read()
"""


def opened(path, p):
    """The writing end of a pipe, when the process reads it; None: it ended before."""
    while p.poll() is None:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.003)
    return None


def peak(command, env):
    """Megabytes that a command has held at most when it reads PIPE, its last step. (The kernel's own sum for a child begins with
    what this process held when it made it.)"""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        pipe = os.path.join(folder, "end")
        os.mkfifo(pipe)
        p = subprocess.Popen([word.replace("PIPE", pipe) for word in command], env=env, stdout=subprocess.DEVNULL, stderr=errors)
        end = opened(pipe, p)
        if end is not None:
            with open("/proc/%d/status" % p.pid) as f:
                most = int(re.search(r"VmHWM:\s*(\d+)", f.read()).group(1)) / 1024
            os.close(end)
        p.wait()
        errors.seek(0)
        if p.returncode or end is None: raise SystemExit("%s: %s" % (command[-1][:200], errors.read()[-600:]))
    return most


def rounds_are_flat(env):
    bad = 0
    cases = {what: lambda k, n=n, text=text: peak([TOOL, "-q", "-e", text % (k * n) + ' load "PIPE";'], env) for what, (n, text) in ROUNDS.items()}
    cases["texts, good and refused"] = lambda k: peak(["/usr/bin/python3", "-c", TEXTS % (LIB, 1500 * k)], env)
    for what, run in cases.items():
        few, many = run(1), run(4)
        bad += many - few > 3
        print("%-34s %.1f MB, four times the rounds %.1f MB%s" % (what, few, many, "  GROWS" if many - few > 3 else ""))
    return bad


sys.exit(1 if rounds_are_flat(dict(os.environ, OPENBLAS_NUM_THREADS="1", GPMEM_LIBRARY=LIB)) else 0)
