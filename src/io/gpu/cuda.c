/* SPDX-License-Identifier: Apache-2.0
 *
 * The loader and the calls of gpu.h. Prototypes are those of NVIDIA's public documentation; handles
 * are pointers, enumerations ints. CUDA 12 or newer. */
#include "io/gpu/cubins.h"
#include "io/gpu/gpu.h"

#include "base/library.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <glob.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- what is opened at run time ---- */

/* name, suffix of the symbol, arguments */
#define DRIVER(F)                                                                                  \
    F(cuInit, , (unsigned))                                                                        \
    F(cuDriverGetVersion, , (int *))                                                               \
    F(cuDeviceGetCount, , (int *))                                                                 \
    F(cuDeviceGet, , (int *, int))                                                                 \
    F(cuDeviceGetName, , (char *, int, int))                                                       \
    F(cuDeviceGetAttribute, , (int *, int, int))                                                   \
    F(cuDevicePrimaryCtxRetain, , (void **, int))                                                  \
    F(cuCtxSetCurrent, , (void *))                                                                 \
    F(cuMemGetInfo, _v2, (size_t *, size_t *))                                                     \
    F(cuMemAlloc, _v2, (gpu_ptr *, size_t))                                                        \
    F(cuMemFree, _v2, (gpu_ptr))                                                                   \
    F(cuMemcpyHtoD, _v2, (gpu_ptr, const void *, size_t))                                          \
    F(cuMemcpyDtoH, _v2, (void *, gpu_ptr, size_t))                                                \
    F(cuMemsetD8, _v2, (gpu_ptr, unsigned char, size_t))                                           \
    F(cuModuleLoadData, , (void **, const void *))                                                 \
    F(cuModuleGetFunction, , (void **, void *, const char *))                                      \
    F(cuFuncSetAttribute, , (void *, int, int))                                                    \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, , (int *, void *, int, size_t))                 \
    F(cuLaunchKernel, ,                                                                            \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,       \
       void **, void **))                                                                          \
    F(cuStreamCreate, , (void **, unsigned))                                                       \
    F(cuStreamSynchronize, , (void *))                                                             \
    F(cuStreamQuery, , (void *))                                                                   \
    F(cuMemHostAlloc, , (void **, size_t, unsigned))                                               \
    F(cuMemFreeHost, , (void *))                                                                   \
    F(cuMemcpyHtoDAsync, _v2, (gpu_ptr, const void *, size_t, void *))                             \
    F(cuGetErrorString, , (int, const char **))
#define COMPILER(F)                                                                                \
    F(nvrtcVersion, , (int *, int *))                                                              \
    F(nvrtcCreateProgram, ,                                                                        \
      (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    F(nvrtcCompileProgram, , (void *, int, const char *const *))                                   \
    F(nvrtcGetProgramLogSize, , (void *, size_t *))                                                \
    F(nvrtcGetProgramLog, , (void *, char *))                                                      \
    F(nvrtcGetCUBINSize, , (void *, size_t *))                                                     \
    F(nvrtcGetCUBIN, , (void *, char *))                                                           \
    F(nvrtcDestroyProgram, , (void **))
#define PRODUCTS(F)                                                                                \
    F(cublasCreate, _v2, (void **))                                                                \
    F(cublasGetVersion, _v2, (void *, int *))                                                      \
    F(cublasDgemm, _v2_64,                                                                         \
      (void *, int, int, int64_t, int64_t, int64_t, const double *, gpu_ptr, int64_t, gpu_ptr,     \
       int64_t, const double *, gpu_ptr, int64_t))                                                 \
    F(cublasDtrsm, _v2_64,                                                                         \
      (void *, int, int, int, int, int64_t, int64_t, const double *, gpu_ptr, int64_t, gpu_ptr,    \
       int64_t))
#define FACTORS(F)                                                                                 \
    F(cusolverDnCreate, , (void **))                                                               \
    F(cusolverDnCreateParams, , (void **))                                                         \
    F(cusolverDnXpotrf_bufferSize, ,                                                               \
      (void *, void *, int, int64_t, int, gpu_ptr, int64_t, int, size_t *, size_t *))              \
    F(cusolverDnXpotrf, ,                                                                          \
      (void *, void *, int, int64_t, int, gpu_ptr, int64_t, int, gpu_ptr, size_t, void *, size_t,  \
       gpu_ptr))
#define DECLARE(name, suffix, args) static int(*name) args;
DRIVER(DECLARE)
COMPILER(DECLARE)
PRODUCTS(DECLARE)
FACTORS(DECLARE)

#define SYMBOL(name, suffix, args) {#name #suffix, &name},
static const struct library_symbol driver_symbols[] = {DRIVER(SYMBOL){0}},
                                   compiler_symbols[] = {COMPILER(SYMBOL){0}},
                                   product_symbols[] = {PRODUCTS(SYMBOL){0}},
                                   factor_symbols[] = {FACTORS(SYMBOL){0}};

/* In the order in which they need each other; those without symbols are looked for because the next
 * ones want them and would not find them beside themselves. */
static const struct library {
    const char *what;
    const char *names[4]; /* newest first */
    const struct library_symbol *symbols;
} libraries[] = {
    {"NVIDIA's driver", {"libcuda.so.1"}, driver_symbols},
    {"NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"}, compiler_symbols},
    {"cuBLAS's kernels", {"libcublasLt.so.13", "libcublasLt.so.12"}, NULL},
    {"NVIDIA's linker", {"libnvJitLink.so.13", "libnvJitLink.so.12"}, NULL},
    {"cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, product_symbols},
    {"cuSPARSE", {"libcusparse.so.12"}, NULL},
    {"cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11"}, factor_symbols},
};

/* Where CUDA and Python's packages put libraries that the loader does not know. */
static const char *const places[] = {
    "/usr/local/cuda/lib64/%s",
    "/usr/local/cuda-*/lib64/%s",
    "/usr/local/nvidia/lib64/%s",
    "/usr/lib/python3*/site-packages/nvidia/*/lib/%s",
    "/usr/local/lib/python3*/*-packages/nvidia/*/lib/%s",
};

static pthread_mutex_t card = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; /* a launch is short */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gpu_info info;
static atomic_bool usable;
static struct buf broken = BUF_INIT; /* why it is not usable; written while the lock is held */
static void *context, *blas, *solver, *solver_params;
static struct {
    gpu_ptr at;
    size_t bytes;
} scratch[GPU_SCRATCHES];
static _Thread_local struct buf reason = BUF_INIT;

enum { OUT_OF_MEMORY = 2 };                                    /* CUDA_ERROR_OUT_OF_MEMORY */
enum { PROCESSORS = 16, MAJOR = 75, MINOR = 76, SHARED = 97 }; /* CU_DEVICE_ATTRIBUTE_... */
enum { OLDEST_DRIVER = 12000 };

enum gpm_status gpu_fail(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_reset(&reason);
    buf_vprintf(&reason, fmt, ap);
    va_end(ap);
    return GPM_E_DEVICE;
}

const char *gpu_error(void) {
    return reason.len ? reason.data : "the GPU was not asked for";
}

static const char *words(int rc) {
    const char *text = NULL;
    if (cuGetErrorString) cuGetErrorString(rc, &text);
    return text ? text : "unknown error";
}

static void *open_library(const struct library *l) {
    void *h = NULL;
    for (size_t i = 0; i < COUNT_OF(l->names) && l->names[i] && !h; i++) {
        h = dlopen(l->names[i], RTLD_NOW | RTLD_GLOBAL);
        for (size_t p = 0; p < COUNT_OF(places) && !h; p++) {
            char pattern[300];
            glob_t found;
            snprintf(pattern, sizeof pattern, places[p], l->names[i]);
            if (glob(pattern, 0, NULL, &found)) continue;
            for (size_t k = 0; k < found.gl_pathc && !h; k++)
                h = dlopen(found.gl_pathv[k], RTLD_NOW | RTLD_GLOBAL);
            globfree(&found);
        }
    }
    return h;
}

static enum gpm_status bind(const struct library *l) {
    void *h = open_library(l);
    if (!l->symbols) return GPM_OK;
    if (!h) return gpu_fail("no GPU: %s (%s) cannot be opened", l->what, l->names[0]);
    const char *lacks = library_bind(h, l->symbols);
    return lacks ? gpu_fail("no GPU: %s has no %s, CUDA 12 or newer is needed", l->what, lacks)
                 : GPM_OK;
}

static enum gpm_status open_card(void) {
    int rc, count = 0, device = 0, shared = 0;
    enum gpm_status st = bind(&libraries[0]);
    if (st) return st;
    if ((rc = cuInit(0)) || (rc = cuDeviceGetCount(&count)))
        return gpu_fail("no GPU: %s", words(rc));
    if (count == 0) return gpu_fail("no GPU: the driver reports none");
    if (cuDriverGetVersion(&info.driver) || info.driver < OLDEST_DRIVER)
        return gpu_fail("no GPU: the driver is for CUDA %d.%d, 12.0 or newer is needed",
                        info.driver / 1000, info.driver % 1000 / 10);
    for (size_t i = 1; i < COUNT_OF(libraries) && !st; i++) st = bind(&libraries[i]);
    if (st) return st;
    if ((rc = cuDeviceGet(&device, 0)) ||
        (rc = cuDeviceGetName(info.name, sizeof info.name, device)) ||
        (rc = cuDeviceGetAttribute(&info.processors, PROCESSORS, device)) ||
        (rc = cuDeviceGetAttribute(&info.major, MAJOR, device)) ||
        (rc = cuDeviceGetAttribute(&info.minor, MINOR, device)) ||
        (rc = cuDeviceGetAttribute(&shared, SHARED, device)) ||
        (rc = cuDevicePrimaryCtxRetain(&context, device)) || (rc = cuCtxSetCurrent(context)) ||
        (rc = cuMemGetInfo(&info.free, &info.memory)))
        return gpu_fail("no GPU: %s", words(rc));
    info.shared = (size_t)shared;
    int a = 0, b = 0;
    if (nvrtcVersion(&a, &b) == 0) info.nvrtc = 1000 * a + 10 * b;
    if ((rc = cublasCreate(&blas)) || (rc = cublasGetVersion(blas, &info.cublas)))
        return gpu_fail("no GPU: cuBLAS does not start (%d)", rc);
    if ((rc = cusolverDnCreate(&solver)) || (rc = cusolverDnCreateParams(&solver_params)))
        return gpu_fail("no GPU: cuSOLVER does not start (%d)", rc);
    return GPM_OK;
}

static void open_once(void) {
    pthread_mutex_lock(&card);
    usable = open_card() == GPM_OK;
    if (!usable) buf_puts(&broken, reason.data);
    pthread_mutex_unlock(&card);
}

static enum gpm_status state(void) {
    return usable ? GPM_OK : gpu_fail("%s", broken.data);
}

/* Chains call this at every step, also while the card works, so it does not wait for the card's
 * lock. */
enum gpm_status gpu_open(void) {
    pthread_once(&once, open_once);
    if (usable) return GPM_OK;
    pthread_mutex_lock(&card);
    enum gpm_status st = state();
    pthread_mutex_unlock(&card);
    return st;
}

const struct gpu_info *gpu_info(void) {
    return &info;
}

/* The context belongs to a thread. */
enum gpm_status gpu_lock(void) {
    pthread_once(&once, open_once);
    pthread_mutex_lock(&card);
    enum gpm_status st = state();
    if (!st && cuCtxSetCurrent(context)) st = gpu_fail("the GPU is gone");
    if (st) pthread_mutex_unlock(&card);
    return st;
}

void gpu_unlock(void) {
    pthread_mutex_unlock(&card);
}

/* A failure of the card is for good: its context is lost. */
static enum gpm_status done(int rc, const char *what) {
    if (!rc) return GPM_OK;
    usable = false;
    buf_reset(&broken);
    buf_printf(&broken, "the GPU failed in %s (%d: %s) and cannot be used any more in this process",
               what, rc, words(rc));
    return state();
}

/* ---- memory ---- */

enum gpm_status gpu_free_bytes(size_t *out) {
    size_t all;
    return done(cuMemGetInfo(out, &all), "cuMemGetInfo");
}

enum gpm_status gpu_reserve(gpu_ptr *p, size_t *have, size_t bytes) {
    if (*p && *have >= bytes) return GPM_OK;
    if (*p) cuMemFree(*p);
    *p = 0, *have = 0;
    int rc = cuMemAlloc(p, bytes ? bytes : 8);
    if (rc == OUT_OF_MEMORY) {
        size_t left = 0;
        *p = 0;
        enum gpm_status st = gpu_free_bytes(&left);
        if (st) return st;
        gpu_fail("%.1f GB are needed on the GPU, which has %.1f of %.1f GB free",
                 1e-9 * (double)bytes, 1e-9 * (double)left, 1e-9 * (double)info.memory);
        return GPM_E_NOMEM;
    }
    if (!rc) *have = bytes;
    return done(rc, "cuMemAlloc");
}

void gpu_free(gpu_ptr p) {
    if (!p || gpu_lock()) return;
    cuMemFree(p);
    gpu_unlock();
}

enum gpm_status gpu_put(gpu_ptr to, const void *from, size_t bytes) {
    return bytes ? done(cuMemcpyHtoD(to, from, bytes), "cuMemcpyHtoD") : GPM_OK;
}
enum gpm_status gpu_put_aside(gpu_ptr to, const void *from, size_t bytes) {
    static void *queue;
    enum gpm_status st = queue ? GPM_OK : done(cuStreamCreate(&queue, 0), "cuStreamCreate");
    if (!st && bytes) st = done(cuMemcpyHtoDAsync(to, from, bytes, queue), "cuMemcpyHtoDAsync");
    return st ? st : done(cuStreamSynchronize(queue), "cuStreamSynchronize");
}
enum gpm_status gpu_get(void *to, gpu_ptr from, size_t bytes) {
    return bytes ? done(cuMemcpyDtoH(to, from, bytes), "cuMemcpyDtoH") : GPM_OK;
}
enum gpm_status gpu_zero(gpu_ptr to, size_t bytes) {
    return bytes ? done(cuMemsetD8(to, 0, bytes), "cuMemsetD8") : GPM_OK;
}

enum gpm_status gpu_scratch(enum gpu_scratch which, size_t bytes, gpu_ptr *out) {
    enum gpm_status st = gpu_reserve(&scratch[which].at, &scratch[which].bytes, bytes);
    *out = scratch[which].at;
    return st;
}

void gpu_scratch_drop(void) {
    for (int i = 0; i < GPU_SCRATCHES; i++) {
        if (scratch[i].at) cuMemFree(scratch[i].at);
        scratch[i].at = 0, scratch[i].bytes = 0;
    }
}

/* ---- programs ---- */

struct gpu_program {
    char *text;
    void *module;
    struct {
        const char *name;
        void *function;
        size_t shared; /* that it was told to have */
    } at[24];
    size_t n;
};
static struct {
    struct gpu_program **at;
    size_t n, cap;
} programs;

static enum gpm_status compile(const char *text, int n, const char *const *all, struct buf *bin) {
    void *prog;
    size_t size = 0;
    if (nvrtcCreateProgram(&prog, text, "gpmem.cu", 0, NULL, NULL))
        return gpu_fail("NVRTC does not start");
    int rc = nvrtcCompileProgram(prog, n, all);
    if (rc) {
        nvrtcGetProgramLogSize(prog, &size);
        char *log = mem_zalloc(size + 1);
        nvrtcGetProgramLog(prog, log);
        enum gpm_status st = gpu_fail("NVRTC cannot compile for %s (sm_%d%d): %.400s", info.name,
                                      info.major, info.minor, log);
        mem_free(log);
        nvrtcDestroyProgram(&prog);
        return st;
    }
    nvrtcGetCUBINSize(prog, &size);
    char *made = mem_zalloc(size + 1);
    nvrtcGetCUBIN(prog, made);
    nvrtcDestroyProgram(&prog);
    buf_add(bin, made, size);
    mem_free(made);
    return GPM_OK;
}

/* One that was compiled before, by whatever process, or now. */
static enum gpm_status load(const char *text, const char *const *options, void **module) {
    char arch[40];
    const char *all[16] = {arch, "--std=c++17"};
    int n = 2;
    struct buf key = BUF_INIT, bin = BUF_INIT;
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%d", info.major, info.minor);
    for (; options && *options && n < (int)COUNT_OF(all); options++) all[n++] = *options;
    buf_printf(&key, "%s, NVRTC %d\n", info.name, info.nvrtc);
    for (int i = 0; i < n; i++) buf_printf(&key, "%s\n", all[i]);
    buf_puts(&key, text);
    enum gpm_status st = GPM_OK;
    if (!cubin_find(&key, &bin) || cuModuleLoadData(module, bin.data)) {
        buf_reset(&bin);
        st = compile(text, n, all, &bin);
        if (!st) st = done(cuModuleLoadData(module, bin.data), "cuModuleLoadData");
        if (!st) cubin_keep(&key, bin.data, bin.len);
    }
    buf_release(&key);
    buf_release(&bin);
    return st;
}

enum gpm_status gpu_program(const char *text, const char *const *options,
                            struct gpu_program **out) {
    struct buf key = BUF_INIT;
    for (size_t i = 0; options && options[i]; i++) buf_printf(&key, "// %s\n", options[i]);
    buf_puts(&key, text);
    for (size_t i = 0; i < programs.n; i++)
        if (strcmp(programs.at[i]->text, key.data) == 0) {
            *out = programs.at[i];
            buf_release(&key);
            return GPM_OK;
        }
    void *module;
    enum gpm_status st = load(text, options, &module);
    if (!st) {
        struct gpu_program *p = NEW(struct gpu_program);
        p->text = buf_take(&key);
        p->module = module;
        vec_push(&programs, p);
        *out = p;
    }
    buf_release(&key);
    return st;
}

static enum gpm_status find(struct gpu_program *p, const char *name, size_t shared, size_t *at) {
    size_t i = 0;
    while (i < p->n && strcmp(p->at[i].name, name) != 0) i++;
    *at = i;
    if (i == p->n) {
        if (i == COUNT_OF(p->at)) return gpu_fail("too many functions in a program");
        enum gpm_status st =
            done(cuModuleGetFunction(&p->at[i].function, p->module, name), "cuModuleGetFunction");
        if (st) return st;
        p->at[p->n++].name = name;
    }
    if (shared <= p->at[i].shared || shared <= 48 << 10) return GPM_OK;
    p->at[i].shared = shared;
    return done(cuFuncSetAttribute(p->at[i].function, 8, (int)shared), "cuFuncSetAttribute");
}

static enum gpm_status launch_on(void *queue, struct gpu_program *p, const char *name,
                                 struct gpu_grid g, void **args) {
    size_t i;
    if (g.x <= 0 || g.y <= 0) return GPM_OK;
    enum gpm_status st = find(p, name, g.shared, &i);
    return st ? st
              : done(cuLaunchKernel(p->at[i].function, (unsigned)g.x, (unsigned)g.y, 1,
                                    (unsigned)g.threads, 1, 1, (unsigned)g.shared, queue, args,
                                    NULL),
                     name);
}

enum gpm_status gpu_launch(struct gpu_program *p, const char *name, struct gpu_grid g,
                           void **args) {
    return launch_on(NULL, p, name, g, args);
}

enum gpm_status gpu_occupancy(struct gpu_program *p, const char *name, int threads, size_t shared,
                              int *out) {
    size_t i;
    enum gpm_status st = find(p, name, shared, &i);
    return st ? st
              : done(cuOccupancyMaxActiveBlocksPerMultiprocessor(out, p->at[i].function, threads,
                                                                 shared),
                     "cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

/* ---- lanes ---- */

/* Memory here that the card reads and writes by itself, under the address that it has here. */
static enum gpm_status reserve_here(double **p, size_t *have, size_t bytes) {
    enum { DEVICEMAP = 2 };
    if (*p && *have >= bytes) return GPM_OK;
    if (*p) cuMemFreeHost(*p);
    void *at = NULL;
    int rc = cuMemHostAlloc(&at, bytes, DEVICEMAP);
    *p = rc ? NULL : at;
    *have = rc ? 0 : bytes;
    return done(rc, "cuMemHostAlloc");
}

enum gpm_status gpu_lane_room(struct gpu_lane *l, size_t in, size_t out, size_t more) {
    enum gpm_status st = l->queue ? GPM_OK : done(cuStreamCreate(&l->queue, 0), "cuStreamCreate");
    if (!st) st = gpu_reserve(&l->in, &l->in_bytes, in);
    if (!st && more) st = gpu_reserve(&l->scratch, &l->scratch_bytes, more);
    if (!st) st = reserve_here(&l->to, &l->to_bytes, in);
    return st ? st : reserve_here(&l->from, &l->from_bytes, out);
}

enum gpm_status gpu_lane_start(struct gpu_lane *l, size_t in, struct gpu_program *p,
                               const char *name, struct gpu_grid g, void **args) {
    enum gpm_status st = done(cuMemcpyHtoDAsync(l->in, l->to, in, l->queue), "cuMemcpyHtoDAsync");
    return st ? st : launch_on(l->queue, p, name, g, args);
}

bool gpu_lane_ended(const struct gpu_lane *l) {
    enum { NOT_READY = 600 };
    return cuStreamQuery(l->queue) != NOT_READY;
}

enum gpm_status gpu_lane_wait(struct gpu_lane *l) {
    int rc = cuStreamSynchronize(l->queue);
    if (!rc) return GPM_OK;
    pthread_mutex_lock(&card);
    enum gpm_status st = done(rc, "cuStreamSynchronize");
    pthread_mutex_unlock(&card);
    return st;
}

/* ---- dense matrices ---- */

enum gpm_status gpu_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, double alpha, gpu_ptr a,
                         size_t lda, gpu_ptr b, size_t ldb, double beta, gpu_ptr c, size_t ldc) {
    if (m == 0 || n == 0) return GPM_OK;
    return done(cublasDgemm(blas, ta, tb, (int64_t)m, (int64_t)n, (int64_t)k, &alpha, a,
                            (int64_t)lda, b, (int64_t)ldb, &beta, c, (int64_t)ldc),
                "cublasDgemm");
}

enum gpm_status gpu_trsm(bool right, bool trans, size_t m, size_t n, gpu_ptr l, size_t ldl,
                         gpu_ptr b, size_t ldb) {
    static const double one = 1;
    if (m == 0 || n == 0) return GPM_OK; /* CUBLAS_FILL_MODE_LOWER and _DIAG_NON_UNIT are 0 */
    return done(cublasDtrsm(blas, right, 0, trans, 0, (int64_t)m, (int64_t)n, &one, l, (int64_t)ldl,
                            b, (int64_t)ldb),
                "cublasDtrsm");
}

enum gpm_status gpu_potrf(size_t n, gpu_ptr a, size_t lda, gpu_ptr at) {
    enum { REAL64 = 1, LOWER = 0 };
    static void *host; /* grows only; under the lock */
    static size_t host_bytes;
    size_t device = 0, here = 0;
    gpu_ptr work;
    enum gpm_status st =
        done(cusolverDnXpotrf_bufferSize(solver, solver_params, LOWER, (int64_t)n, REAL64, a,
                                         (int64_t)lda, REAL64, &device, &here),
             "cusolverDnXpotrf_bufferSize");
    if (!st) st = gpu_scratch(GPU_WORK, device, &work);
    if (st) return st;
    if (here > host_bytes) host = mem_realloc(host, host_bytes = here);
    return done(cusolverDnXpotrf(solver, solver_params, LOWER, (int64_t)n, REAL64, a, (int64_t)lda,
                                 REAL64, work, device, host, here, at),
                "cusolverDnXpotrf");
}
