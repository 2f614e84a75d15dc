/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA that is this machine: libcuda, NVRTC, cuBLAS and cuSOLVER as far as gpmem asks for them,
 * so that everything but the card is tested without one. Memory is memory, NVRTC runs the C
 * compiler over the device text, a launch runs block after block, one fibre for each thread where
 * threads wait for each other; products and factors are plain loops. The environment makes it fail:
 *
 *   FAKE_CUDA=nodevice|count|old|context|oom|small|compile|lost
 *
 * small: a card of 64 MB. lost: the third launch fails. Built without -DWITHOUT=SYMBOL it has all
 * symbols. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

typedef unsigned long long ptr;

static int told(const char *what) {
    const char *f = getenv("FAKE_CUDA");
    return f && strcmp(f, what) == 0;
}

/* ---- driver ---- */
static size_t used;
static size_t room(void) {
    return told("small") ? (size_t)64 << 20 : (size_t)4 << 30;
}
int cuInit(unsigned flags) {
    return told("nodevice") ? 100 : 0;
}
int cuDriverGetVersion(int *v) {
    *v = told("old") ? 11040 : 13000;
    return 0;
}
int cuDeviceGetCount(int *n) {
    *n = !told("count");
    return 0;
}
int cuDeviceGet(int *d, int i) {
    *d = i;
    return 0;
}
int cuDeviceGetName(char *name, int n, int d) {
    snprintf(name, (size_t)n, "this machine");
    return 0;
}
int cuDeviceGetAttribute(int *out, int what, int d) {
    *out = what == 16 ? 4 : what == 75 ? 9 : what == 76 ? 0 : 232448;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int d) {
    *c = &used;
    return told("context") ? 201 : 0;
}
int cuCtxSetCurrent(void *c) {
    return 0;
}
int cuMemGetInfo_v2(size_t *left, size_t *all) {
    *all = room();
    *left = used < room() ? room() - used : 0;
    return 0;
}
int cuMemAlloc_v2(ptr *p, size_t n) {
    if (told("oom") || used + n > room()) return 2;
    size_t *at = malloc(n + 64);
    *at = n;
    memset(at + 8, 0xff, n); /* not a number: what is read must have been written */
    used += n;
    *p = (ptr)(uintptr_t)(at + 8);
    return 0;
}
int cuMemFree_v2(ptr p) {
    size_t *at = (size_t *)(uintptr_t)p - 8;
    used -= *at;
    free(at);
    return 0;
}
int cuMemcpyHtoD_v2(ptr to, const void *from, size_t n) {
    memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}
int cuMemcpyDtoH_v2(void *to, ptr from, size_t n) {
    memcpy(to, (void *)(uintptr_t)from, n);
    return 0;
}
int cuMemcpyDtoD_v2(ptr to, ptr from, size_t n) {
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
    return 0;
}
int cuMemsetD8_v2(ptr p, unsigned char c, size_t n) {
    memset((void *)(uintptr_t)p, c, n);
    return 0;
}
int cuStreamCreate(void **s, unsigned flags) {
    *s = &used;
    return 0;
}
int cuStreamQuery(void *s) {
    return 0;
}
int cuStreamSynchronize(void *s) {
    return 0;
}
int cuMemHostAlloc(void **p, size_t n, unsigned flags) {
    *p = malloc(n ? n : 1);
    return *p ? 0 : 2;
}
int cuMemFreeHost(void *p) {
    free(p);
    return 0;
}
int cuMemcpyHtoDAsync_v2(ptr to, const void *from, size_t n, void *s) {
    return cuMemcpyHtoD_v2(to, from, n);
}
int cuGetErrorString(int rc, const char **s) {
    *s = rc == 100   ? "no CUDA-capable device is detected"
         : rc == 201 ? "invalid device context"
         : rc == 2   ? "out of memory"
         : rc == 700 ? "an illegal memory access was encountered"
                     : NULL;
    return 0;
}

/* ---- compiler: C, with the emulation before the text ---- */
static const char HEAD[] =
    "#include <math.h>\n#include <string.h>\n#define DEVICE static inline\n#define CONSTANT_BANK "
    "static const\n"
    "#define GLOBAL\n#define SHARED static\n#define BOUNDS(n)\n#define EMULATE 1\n"
    "struct fake_dim { int x, y, z; };\n"
    "extern struct fake_dim threadIdx, blockIdx, blockDim, gridDim;\n"
    "extern double fake_shared[];\n"
    "void __syncthreads(void);\nvoid __syncwarp(void);\ndouble fake_shuffle(double v, int lane);\n"
    "void fake_mma(double *c0, double *c1, double a, double b);\n"
    "static inline long long __double_as_longlong(double d) { long long l; memcpy(&l, &d, 8); "
    "return l; }\n"
    "static inline double __longlong_as_double(long long l) { double d; memcpy(&d, &l, 8); return "
    "d; }\n"
    "static inline double rsqrt(double x) { return 1 / sqrt(x); }\n";
struct program {
    char *text, *bin; /* bin: 8 bytes that say how long it is, then a shared object */
    size_t n;
};
int nvrtcVersion(int *a, int *b) {
    *a = 13, *b = 0;
    return 0;
}
int nvrtcCreateProgram(void **p, const char *text, const char *name, int n, const char *const *h,
                       const char *const *i) {
    struct program *q = calloc(1, sizeof *q);
    q->text = strdup(text);
    *p = q;
    return 0;
}
int nvrtcCompileProgram(void *p, int n, const char *const *options) {
    struct program *q = p;
    char dir[] = "/tmp/fake_cuda_XXXXXX", path[200], command[1500] = "";
    if (told("compile") || !mkdtemp(dir)) return 6;
    snprintf(path, sizeof path, "%s/a.c", dir);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < n; i++)
        if (strncmp(options[i], "-D", 2) == 0) {
            const char *eq = strchr(options[i], '=');
            fprintf(f, "#define %.*s %s\n", eq ? (int)(eq - options[i] - 2) : 100, options[i] + 2,
                    eq ? eq + 1 : "1");
        }
    fprintf(f, "%s%s", HEAD, q->text);
    fclose(f);
    snprintf(command, sizeof command, "${CC:-cc} -O1 -w -fPIC -shared -o %s/a.so %s/a.c -lm", dir,
             dir);
    int rc = system(command);
    snprintf(path, sizeof path, "%s/a.so", dir);
    f = rc ? NULL : fopen(path, "r");
    if (f) {
        fseek(f, 0, SEEK_END);
        q->n = 8 + (size_t)ftell(f);
        q->bin = malloc(q->n);
        memcpy(q->bin, &q->n, 8);
        rewind(f);
        if (fread(q->bin + 8, 1, q->n - 8, f) != q->n - 8) rc = 6;
        fclose(f);
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command)) return 6;
    return q->bin && !rc ? 0 : 6;
}
int nvrtcGetProgramLogSize(void *p, size_t *n) {
    *n = 32;
    return 0;
}
int nvrtcGetProgramLog(void *p, char *out) {
    strcpy(out, "gpmem.cu(1): error: as told");
    return 0;
}
int nvrtcGetCUBINSize(void *p, size_t *n) {
    *n = ((struct program *)p)->n;
    return 0;
}
int nvrtcGetCUBIN(void *p, char *out) {
    memcpy(out, ((struct program *)p)->bin, ((struct program *)p)->n);
    return 0;
}
int nvrtcDestroyProgram(void **p) {
    struct program *q = *p;
    free(q->text);
    free(q->bin);
    free(q);
    return 0;
}
int cuModuleLoadData(void **m, const void *bin) {
    char path[] = "/tmp/fake_cuda_XXXXXX";
    size_t n;
    int fd = mkstemp(path);
    memcpy(&n, bin, 8);
    if (fd < 0 || write(fd, (const char *)bin + 8, n - 8) != (ssize_t)(n - 8)) return 200;
    close(fd);
    *m = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*m) fprintf(stderr, "%s\n", dlerror());
    unlink(path);
    return *m ? 0 : 200;
}
int cuModuleGetFunction(void **f, void *m, const char *name) {
    *f = dlsym(m, name);
    return *f ? 0 : 500;
}
int cuFuncSetAttribute(void *f, int what, int v) {
    return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared) {
    *n = 2;
    return 0;
}

/* ---- launches ---- */
struct fake_dim {
    int x, y, z;
};
struct fake_dim threadIdx, blockIdx, blockDim, gridDim;
_Alignas(16) double fake_shared[1 << 16];

enum wait { RUNS, AT_WARP, AT_BLOCK, DONE };
enum { MOST = 1024, STACK = 48 << 10 };
static struct fibre {
    ucontext_t at;
    enum wait wait;
    char *stack;
} fibres[MOST];
static ucontext_t back;
static int here;
static double slot[MOST], slot2[MOST];
static void (*kernel)(void);
static void **arguments;

static void pause_at(enum wait why) {
    int me = here;
    fibres[me].wait = why;
    swapcontext(&fibres[me].at, &back);
    here = me;
    threadIdx.x = me;
}
void __syncthreads(void) {
    pause_at(AT_BLOCK);
}
void __syncwarp(void) {
    pause_at(AT_WARP);
}
double fake_shuffle(double v, int lane) {
    slot[here] = v;
    pause_at(AT_WARP);
    double out = slot[(here & ~31) + lane];
    pause_at(AT_WARP);
    return out;
}
/* m8n8k4: lane 4r + k has A(r, k), lane 4c + k has B(k, c), lane 4r + q C(r, 2q) and C(r, 2q + 1).
 */
void fake_mma(double *c0, double *c1, double a, double b) {
    slot[here] = a, slot2[here] = b;
    pause_at(AT_WARP);
    int w = here & ~31, r = (here & 31) / 4, q = here & 3;
    double s0 = 0, s1 = 0;
    for (int k = 0; k < 4; k++) {
        s0 += slot[w + 4 * r + k] * slot2[w + 8 * q + k];
        s1 += slot[w + 4 * r + k] * slot2[w + 8 * q + 4 + k];
    }
    pause_at(AT_WARP);
    *c0 += s0, *c1 += s1;
}

/* Arguments are pointers and whole numbers of 4 or 8 bytes and doubles: by the name of the kernel.
 * Integer registers take the first, as both ABIs do; none of the kernels has floating arguments. */
static void call(void) {
    typedef void fn(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                    uint64_t, uint64_t, uint64_t, uint64_t);
    uint64_t v[12] = {0};
    for (int i = 0; i < 12 && arguments[i]; i++) memcpy(&v[i], arguments[i], 8);
    ((fn *)kernel)(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]);
}
static void entry(void) {
    call();
    fibres[here].wait = DONE;
    swapcontext(&fibres[here].at, &back);
}
static void go(int i) {
    here = i;
    threadIdx.x = i;
    swapcontext(&back, &fibres[i].at);
}
static void die(const char *what) {
    fprintf(stderr, "fake CUDA: %s\n", what);
    abort();
}
/* Whole warps pass a warp barrier while the others of the block wait at theirs. */
static int pass_warp(int w, int n) {
    int at = 0, gone = 0;
    for (int l = 0; l < 32 && w + l < n; l++) {
        at += fibres[w + l].wait == AT_WARP;
        gone += fibres[w + l].wait == DONE;
    }
    if (!at) return 0;
    if (at + gone < 32 && w + 32 <= n) die("a warp is divergent");
    for (int l = 0; l < 32 && w + l < n; l++)
        if (fibres[w + l].wait != DONE) go(w + l);
    return 1;
}
static void run_block(int n) {
    for (int i = 0; i < n; i++) {
        struct fibre *f = &fibres[i];
        if (!f->stack) f->stack = malloc(STACK);
        getcontext(&f->at);
        f->at.uc_stack.ss_sp = f->stack;
        f->at.uc_stack.ss_size = STACK;
        f->at.uc_link = NULL;
        f->wait = RUNS;
        makecontext(&f->at, entry, 0);
    }
    for (int i = 0; i < n; i++) go(i);
    for (;;) {
        for (int w = 0; w < n; w += 32)
            while (pass_warp(w, n)) {
            }
        int waiting = 0;
        for (int i = 0; i < n; i++) waiting += fibres[i].wait == AT_BLOCK;
        if (!waiting) return;
        for (int i = 0; i < n; i++)
            if (fibres[i].wait == AT_BLOCK) go(i);
    }
}

/* gpmem passes an array of addresses without its length; the number of arguments by kernel. */
static int count_of(void *f) {
    static const struct {
        const char *name;
        int n;
    } table[] = {{"prepare", 6},    {"fill", 11},       {"cross", 9},    {"gradient", 11},
                 {"sum_parts", 4},  {"diagonal", 4},    {"project", 10}, {"set_unit", 4},
                 {"copy_block", 6}, {"clear_upper", 3}, {"batch", 7}};
    Dl_info i;
    if (dladdr(f, &i) && i.dli_sname)
        for (size_t k = 0; k < sizeof table / sizeof *table; k++)
            if (strcmp(i.dli_sname, table[k].name) == 0) return table[k].n;
    die("a kernel that it does not know");
    return 0;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **args, void **extra) {
    static int launches;
    void *all[13] = {0};
    if (told("lost") && ++launches > 2) return 700;
    if (shared > sizeof fake_shared) return 1;
    int n = count_of(f);
    for (int i = 0; i < n; i++) all[i] = args[i];
    arguments = all;
    memcpy(&kernel, &f, sizeof f);
    gridDim = (struct fake_dim){(int)gx, (int)gy, 1};
    blockDim = (struct fake_dim){(int)bx, 1, 1};
    for (unsigned y = 0; y < gy; y++)
        for (unsigned x = 0; x < gx; x++) {
            blockIdx = (struct fake_dim){(int)x, (int)y, 0};
            for (size_t i = 0; i < shared / 8; i++) fake_shared[i] = NAN;
            run_block((int)bx);
        }
    return 0;
}

/* ---- cuBLAS, cuSOLVER ---- */
#define D(p) ((double *)(uintptr_t)(p))
int cublasCreate_v2(void **h) {
    *h = &used;
    return 0;
}
int cublasGetVersion_v2(void *h, int *v) {
    *v = 130000;
    return 0;
}
int cublasDgemm_v2_64(void *h, int ta, int tb, int64_t m, int64_t n, int64_t k, const double *alpha,
                      ptr a, int64_t lda, ptr b, int64_t ldb, const double *beta, ptr c,
                      int64_t ldc) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            double s = 0;
            for (int64_t p = 0; p < k; p++)
                s += (ta ? D(a)[p + i * lda] : D(a)[i + p * lda]) *
                     (tb ? D(b)[j + p * ldb] : D(b)[p + j * ldb]);
            double *to = D(c) + i + j * ldc;
            *to = *alpha * s + (*beta != 0 ? *beta * *to : 0);
        }
    return 0;
}
static void solve(int trans, int64_t n, const double *l, int64_t ld, double *x, int64_t step) {
    for (int64_t q = 0; q < n; q++) {
        int64_t i = trans ? n - 1 - q : q;
        double s = x[i * step];
        for (int64_t p = trans ? i + 1 : 0; p < (trans ? n : i); p++)
            s -= (trans ? l[p + i * ld] : l[i + p * ld]) * x[p * step];
        x[i * step] = s / l[i + i * ld];
    }
}
int cublasDtrsm_v2_64(void *h, int right, int upper, int trans, int unit, int64_t m, int64_t n,
                      const double *alpha, ptr l, int64_t ldl, ptr b, int64_t ldb) {
    if (right) /* X op(L) = B: rows of B by op(L)' */
        for (int64_t i = 0; i < m; i++) solve(!trans, n, D(l), ldl, D(b) + i, ldb);
    else
        for (int64_t j = 0; j < n; j++) solve(trans, m, D(l), ldl, D(b) + j * ldb, 1);
    return 0;
}
int cusolverDnCreate(void **h) {
    *h = &used;
    return 0;
}
#ifndef WITHOUT_PARAMS
int cusolverDnCreateParams(void **p) {
    *p = &used;
    return 0;
}
#endif
int cusolverDnXpotrf_bufferSize(void *h, void *p, int uplo, int64_t n, int ta, ptr a, int64_t lda,
                                int tc, size_t *device, size_t *host) {
    *device = *host = 256;
    return 0;
}
int cusolverDnXpotrf(void *h, void *p, int uplo, int64_t n, int ta, ptr a, int64_t lda, int tc,
                     ptr work, size_t nwork, void *host, size_t nhost, ptr info) {
    *(int *)(uintptr_t)info = 0;
    for (int64_t j = 0; j < n; j++) {
        double *col = D(a) + j * lda, d = col[j];
        for (int64_t k = 0; k < j; k++) d -= D(a)[j + k * lda] * D(a)[j + k * lda];
        if (!(d > 0)) {
            *(int *)(uintptr_t)info = (int)j + 1;
            return 0;
        }
        col[j] = sqrt(d);
        for (int64_t i = j + 1; i < n; i++) {
            double s = col[i];
            for (int64_t k = 0; k < j; k++) s -= D(a)[i + k * lda] * D(a)[j + k * lda];
            col[i] = s / col[j];
        }
    }
    return 0;
}
