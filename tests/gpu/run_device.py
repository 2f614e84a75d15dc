#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--device and `gpmem devices` on a CUDA that is this machine (fake_cuda.c): what each way to fail says, that gpu never falls back
and auto does, that programs, chains and Python give the CPU's numbers.

    run_device.py GPMEM"""
import glob, os, re, subprocess, sys, tempfile

TOOL = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(TOOL)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAKE = os.path.join(BUILD, "tests", "fake_cuda")
bad = checks = 0

# irregular inputs: nothing but a factor serves
PROGRAM = """define xs = mapv(proc(i) { 0.07 * i + 0.02 * sin(i * i) }, arange(40));
define ys = mapv(proc(x) { sin(3 * x) + 0.1 * cos(50 * x) }, xs);
assume sf = tag(scope="hyper", gamma(2, 1));
assume l = tag(scope="hyper", gamma(2, 1));
assume f = make_gp(KERNEL, noise=0.2);
observe f(xs) = ys;
infer mh(scope="hyper", steps=3);
infer hmc(scope="hyper", step_size=0.01, leapfrog_steps=2, transitions=1);
sample array(sf, l);
"""


CACHE = tempfile.TemporaryDirectory()  # of compiled programs; those that fail have one of their own


def run(*args, fake=None, path=FAKE, text=None, cache=None, **env):
    with tempfile.NamedTemporaryFile("w", suffix=".vnts") as f:
        f.write((text or PROGRAM).replace("KERNEL", "make_squaredexp(sf, l)"))
        f.flush()
        full = dict(os.environ, LD_LIBRARY_PATH=path, GPMEM_DEVICE_FROM="1", OPENBLAS_NUM_THREADS="1", **env)
        full.pop("FAKE_CUDA", None)
        full["XDG_CACHE_HOME"] = cache or os.path.join(CACHE.name, fake or "fine")
        if fake:
            full["FAKE_CUDA"] = fake
        args = [f.name if a == "FILE" else a for a in args]
        return subprocess.run([TOOL, *args], env=full, capture_output=True, text=True, timeout=300)


def check(what, good, seen=""):
    global bad, checks
    checks += 1
    if not good:
        bad += 1
        print("FAILED: %s\n%s" % (what, seen))


def says(r, words, status=1):
    text = r.stdout + r.stderr
    check("'%s', exit %d" % (words, status), r.returncode == status and words in text, "exit %d: %s" % (r.returncode, text))


def numbers(r):
    return [float(v) for v in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", r.stdout)]


def near(what, a, b):
    x, y = numbers(a), numbers(b)
    check(what, a.returncode == b.returncode == 0 and len(x) == len(y) > 0
          and all(abs(u - v) <= 1e-7 * max(1, abs(u)) for u, v in zip(x, y)), "%s%s\n%s%s" % (a.stdout, a.stderr, b.stdout, b.stderr))


cpu = run("run", "FILE")
gpu = run("run", "--device", "gpu", "FILE")
near("a program", cpu, gpu)
near("chains", run("run", "--chains", "3", "FILE"), run("run", "--chains", "3", "--device", "gpu", "FILE"))
near("GPMEM_DEVICE", cpu, run("run", "FILE", GPMEM_DEVICE="gpu"))

# Every way to fail: before anything is computed, or when it comes to it. `auto` goes on.
START = {"nodevice": "no GPU: no CUDA-capable device is detected", "count": "no GPU: the driver reports none",
         "old": "no GPU: the driver is for CUDA 11.4, 12.0 or newer is needed", "context": "no GPU: invalid device context"}
LATER = {"compile": "NVRTC cannot compile for this machine (sm_90): gpmem.cu(1): error: as told",
         "oom": "GB are needed on the GPU, which has", "lost": "the GPU failed in", "small": "a Gaussian process of 40 inputs needs "}
for fake, words in START.items():
    says(run("run", "--device", "gpu", "FILE", fake=fake), words)
    check("devices says it", words in run("devices", fake=fake).stdout)
for fake, words in LATER.items():
    says(run("run", "--device", "gpu", "FILE", fake=fake), words)
near("auto falls back", cpu, run("run", "--device", "auto", "FILE", fake="nodevice"))
near("auto falls back when it comes to it", cpu, run("run", "--device", "auto", "FILE", fake="compile"))
says(run("run", "--device", "auto", "FILE", fake="nodevice"), "the CPU is used", 0)
says(run("run", "--device", "tpu", "FILE"), "--device wants cpu, gpu or auto, not 'tpu'", 2)
says(run("run", "FILE", GPMEM_DEVICE="tpu"), "GPMEM_DEVICE wants cpu, gpu or auto, not 'tpu'", 2)

with tempfile.TemporaryDirectory() as empty:
    says(run("run", "--device", "gpu", "FILE", path=empty), "no GPU: NVIDIA's driver (libcuda.so.1) cannot be opened")
    os.symlink(os.path.join(FAKE, "libcuda.so.1"), os.path.join(empty, "libcuda.so.1"))
    if not glob.glob("/usr/local/*/lib*/**/libnvrtc.so*", recursive=True): # a machine that has it elsewhere
        says(run("run", "--device", "gpu", "FILE", path=empty), "no GPU: NVRTC (libnvrtc.so.13) cannot be opened")
    for name in ("libnvrtc.so.13", "libcublas.so.13"):
        os.symlink(os.path.join(FAKE, name), os.path.join(empty, name))
    says(run("run", "--device", "gpu", "FILE", path=empty), "no GPU: cuSOLVER (libcusolver.so.12) cannot be opened")
    part = os.path.join(empty, "libcusolver.so.12")
    subprocess.run([os.environ.get("CC", "cc"), "-w", "-fPIC", "-shared", "-D_GNU_SOURCE", "-DWITHOUT_PARAMS", "-o", part,
                    os.path.join(ROOT, "tests", "gpu", "fake_cuda.c"), "-ldl", "-lm"], check=True)
    says(run("run", "--device", "gpu", "FILE", path=empty),
         "no GPU: cuSOLVER has no cusolverDnCreateParams, CUDA 12 or newer is needed")

# Programs that were compiled before are read from the disk: a compiler that fails is not asked. A damaged file is made anew.
with tempfile.TemporaryDirectory() as cache:
    kept = lambda: sorted(glob.glob(os.path.join(cache, "gpmem", "cubins", "*")))
    near("a program that is kept", cpu, run("run", "--device", "gpu", "FILE", cache=cache))
    check("it is on the disk, in a folder of its owner", kept() and os.stat(os.path.dirname(kept()[0])).st_mode & 0o77 == 0, kept())
    near("read from the disk", cpu, run("run", "--device", "gpu", "FILE", cache=cache, fake="compile"))
    whole = [open(f, "rb").read() for f in kept()]
    for damage in (lambda b: b[:-1], lambda b: b[:200] + bytes([b[200] ^ 1]) + b[201:], lambda b: b"", lambda b: b[:16] + b"other" + b[21:]):
        for f, b in zip(kept(), whole):
            open(f, "wb").write(damage(b))
        says(run("run", "--device", "gpu", "FILE", cache=cache, fake="compile"), LATER["compile"])
        near("beside a damaged file", cpu, run("run", "--device", "gpu", "FILE", cache=cache))
        check("it is made anew", len(kept()) == len(whole) and all(len(open(f, "rb").read()) > 1000 for f in kept()))
    near("nowhere to write", cpu, run("run", "--device", "gpu", "FILE", cache="/proc/nothing"))

# An index: the searches of series meet on the card. One that is lost ends it, and no series is to blame.
with tempfile.TemporaryDirectory() as folder:
    for name, y in (("line", lambda i: 0.5 * i + 0.3 * (i * 7 % 5)),):
        with open(os.path.join(folder, name + ".csv"), "w") as f:
            f.write("x,y\n" + "".join("%d,%g\n" % (2000 + i, y(i)) for i in range(10)))
    lists = []
    for device in ("cpu", "gpu"):
        r = run("index", "add", "--device", device, os.path.join(folder, device), folder)
        says(r, "1 added", 0)
        lists.append(run("index", "list", os.path.join(folder, device)).stdout)
    check("the index of the CPU", lists[0] == lists[1] and "line" in lists[0], lists)
    r = run("index", "add", "--device", "gpu", os.path.join(folder, "lost"), folder, fake="lost")
    says(r, "the GPU failed in")
    check("nothing is in it", run("index", "list", os.path.join(folder, "lost")).stdout == "")

mine = PROGRAM.replace("KERNEL", "make_kernel(proc(x, y, p) { exp(-(x - y) ** 2 / (2 * p[0] ** 2)) }, [l])")
says(run("run", "--device", "gpu", "FILE", text=mine), "is a procedure, which cannot run on a GPU")
check("devices", "gpu   this machine, compute capability 9.0, 4 GB" in run("devices").stdout)
check("--version -v", "linear algebra: OpenBLAS for " in run("--version", "-v").stdout)

# Python: the same numbers, and the reason as an exception
CODE = """
import numpy as np, gpmem
r = np.random.default_rng(1)
x = r.uniform(0, 4, (60, 1)); y = np.sin(3 * x[:, 0]) + 0.1 * r.normal(size=60)
out = [gpmem.GPRegressor(optimize=False, device=d).fit(x, y) for d in ("cpu", "gpu")]
assert abs(out[0].log_marginal_likelihood_ - out[1].log_marginal_likelihood_) < 1e-9 * 60
assert (out[0].method_, out[1].method_) == ("Cholesky", "Cholesky (GPU)"), out[1].method_
assert np.allclose(out[0].predict(x[:5]), out[1].predict(x[:5]), rtol=0, atol=1e-10)
try:
    gpmem.GPRegressor(optimize=False, device="tpu").fit(x, y)
except Exception as e:
    print(e)
"""
env = dict(os.environ, LD_LIBRARY_PATH=FAKE, GPMEM_DEVICE_FROM="1", XDG_CACHE_HOME=CACHE.name, PYTHONPATH=os.path.join(ROOT, "python"),
           GPMEM_LIBRARY=os.path.join(BUILD, "libgpmem.so"))
r = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, timeout=300)
says(r, "a device is cpu, gpu or auto", 0)
print("%d checks, %d failed" % (checks, bad))
sys.exit(bad != 0)
