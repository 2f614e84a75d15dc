/* SPDX-License-Identifier: Apache-2.0
 * The engine "gpu": the factor lies on the card as block columns and nothing larger than a vector
 * crosses the bus but what is asked for; contract in gp_engine.h.
 *
 * Gradient without K^-1: block column J of it is L^-T L^-1 E_J, of which the part below the
 * diagonal block needs only the blocks from J on; it is contracted with dK at once and never
 * stored. */
#include "gp/process/gp_engine.h"
#include "gp/way/gp_low_rank.h"

#include "base/mem.h"
#include "io/gpu/blocks.h"
#include "numeric/la/vec_ops.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern const char embed_device_large_cu[];

struct gp_device_factor {
    struct gpu_blocks b;
    double logdet, jitter;
};

/* ---- whether ---- */

static _Atomic(int) asked = GP_ON_CPU;

/* A number of inputs that the environment may set, read once. */
static size_t set_by(_Atomic(size_t) *known, const char *name, size_t usual) {
    const char *said = *known ? NULL : getenv(name);
    if (!*known) *known = said && atoi(said) > 0 ? (size_t)atoi(said) : usual;
    return *known;
}

/* Inputs from which the card is worth its while. */
static size_t least(void) {
    static _Atomic(size_t) known;
    return set_by(&known, "GPMEM_DEVICE_FROM", 512);
}

enum gpm_status gp_device_use(enum gp_device device) {
    enum gpm_status st = device == GP_ON_CPU ? GPM_OK : gpu_open();
    asked = st && device == GP_ON_ANY ? GP_ON_CPU : (int)device;
    return device == GP_ON_ANY ? GPM_OK : st;
}

enum gp_device gp_device(void) {
    return (enum gp_device)asked;
}

enum gpm_status gp_device_serves(void) {
    return asked == GP_ON_GPU ? gpu_open() : GPM_OK;
}

const char *gp_device_error(void) {
    return gpu_error();
}

const char *gp_status_text(enum gpm_status st) {
    return st == GPM_E_DEVICE ? gpu_error() : gpm_status_text(st);
}

void gp_set_device(struct gp *g, enum gp_device device) {
    gp_reject(g);
    g->device = device;
    gp_slot_forget(&g->slot[0]);
    gp_slot_forget(&g->slot[1]);
}

/* By what the card had free; more is refused when it comes to it. */
size_t gp_device_most(void) {
    return (size_t)sqrt(0.9 * (double)gpu_info()->free / 4);
}

size_t gp_exact_max(const struct gp *g) {
    static _Atomic(size_t) known;
    size_t here = set_by(&known, "GPMEM_EXACT_MAX", GP_EXACT_MAX);
    if (g->filtered && g->filtered < here) here = g->filtered;
    if (g->device == GP_ON_GPU) return gpu_open() == GPM_OK ? gp_device_most() : SIZE_MAX;
    if (g->device == GP_ON_ANY && gpu_open() == GPM_OK && gp_device_most() > here)
        return gp_device_most();
    return here;
}

/* ---- programs ---- */

/* The kernel's program, with the functions for one large process; under the card's lock. */
struct program {
    struct kern_program layout;
    struct gpu_program *p;
};

static enum gpm_status program_of(const struct kern *k, int dim, struct program *out) {
    struct gp_program *p = NULL;
    enum gpm_status st = gp_program_of(k, dim, &p);
    if (st) return st;
    out->layout = p->layout;
    return gp_program_compiled(p, GP_FOR_LARGE, embed_device_large_cu, NULL, &out->p);
}

enum gpm_status gp_engine_choose(const struct gp *g, const struct gp_slot *s,
                                 const struct gp_engine **out) {
    *out = gp_engine_host(g->n);
    if (g->device == GP_ON_CPU || g->n < least()) return GPM_OK;
    if (g->roams && gp_meeting()) return GPM_OK; /* others would wait for the compiler */
    struct program p;
    enum gpm_status st = gpu_lock();
    if (!st) {
        st = program_of(s->kern, g->dim, &p);
        gpu_unlock();
    }
    if (!st) *out = &gp_engine_gpu;
    return g->device == GP_ON_ANY ? GPM_OK : st;
}

/* ---- what every call begins with ---- */

/* The model's points and numbers on the card. */
struct work {
    struct program prog;
    gpu_ptr numbers, features, diagonal;
    long long ldf; /* of the features */
};

static gpu_ptr place(gpu_ptr base, size_t doubles) {
    return base + doubles * sizeof(double);
}

/* Features of the data, and behind them of the points xs (n 0: none). */
static enum gpm_status features(struct gp *g, const struct kern *k, struct kern_pts xs,
                                struct work *w) {
    size_t n = g->n, all = n + xs.n, dim = (size_t)g->dim;
    double t[KERN_PROGRAM_MAX];
    gpu_ptr points;
    enum gpm_status st = program_of(k, g->dim, &w->prog);
    if (!st) st = gpu_scratch(GPU_POINTS, all * dim * sizeof(double), &points);
    if (!st) st = gpu_scratch(GPU_NUMBERS, sizeof t, &w->numbers);
    if (!st)
        st = gpu_scratch(GPU_FEATURES, (all * (size_t)w->prog.layout.nf + 1) * sizeof(double),
                         &w->features);
    for (size_t c = 0; c < dim && !st; c++) {
        st = gpu_put(place(points, c * all), g->x + c * g->cap, n * sizeof(double));
        if (!st) st = gpu_put(place(points, c * all + n), xs.x + c * xs.ld, xs.n * sizeof(double));
    }
    if (st) return st;
    kern_program_params(k, t);
    st = gpu_put(w->numbers, t, (size_t)w->prog.layout.nt * sizeof *t);
    w->ldf = (long long)all;
    struct gpu_grid grid = {(w->ldf + 255) / 256, 1, 256, 0};
    return st ? st
              : GPU_LAUNCH(w->prog.p, "prepare", grid, &points, &w->ldf, &w->ldf, &w->numbers,
                           &w->features, &w->ldf);
}

/* noise^2 times the shares, and the jitter. */
static enum gpm_status diagonal(struct gp *g, struct gp_slot *s, double jitter, struct work *w) {
    double *d = NEW_ARRAY(double, g->n + 1);
    for (size_t i = 0; i < g->n; i++) d[i] = s->noise * s->noise * gp_share(g, i) + jitter;
    enum gpm_status st = gpu_scratch(GPU_DIAGONAL, g->n * sizeof *d, &w->diagonal);
    if (!st) st = gpu_put(w->diagonal, d, g->n * sizeof *d);
    mem_free(d);
    return st;
}

/* Rows from `first` on of block column j of the matrix. */
static enum gpm_status fill(const struct work *w, const struct gpu_blocks *b, size_t j,
                            size_t first) {
    struct gpu_block k = gpu_block(b, j);
    if (first < k.first) first = k.first;
    long long rows = (long long)(b->n - first), cols = (long long)k.width, lda = (long long)k.ld,
              off = (long long)(first - k.first);
    gpu_ptr a = place(k.at, first - k.first), fr = place(w->features, first),
            fc = place(w->features, k.first), diag = place(w->diagonal, k.first), th = w->numbers;
    long long ldf = w->ldf;
    struct gpu_grid grid = {(rows + 127) / 128, (cols + 31) / 32, 128, 0};
    return GPU_LAUNCH(w->prog.p, "fill", grid, &a, &lda, &fr, &ldf, &rows, &fc, &ldf, &cols, &off,
                      &th, &diag);
}

/* Of the diagonal: sum of logarithms, least, largest, sum. */
static enum gpm_status pivots(const struct work *w, const struct gpu_blocks *b, double out[4]) {
    static const double none[4] = {0, 1e300, -1e300, 0};
    gpu_ptr at;
    enum gpm_status st = gpu_scratch(GPU_RESULT, sizeof none, &at);
    if (!st) st = gpu_put(at, none, sizeof none);
    for (size_t j = 0; j < b->count && !st; j++) {
        struct gpu_block k = gpu_block(b, j);
        long long ld = (long long)k.ld, n = (long long)k.width;
        struct gpu_grid one = {1, 1, 256, 0};
        st = GPU_LAUNCH(w->prog.p, "diagonal", one, &k.at, &ld, &n, &at);
    }
    return st ? st : gpu_get(out, at, sizeof none);
}

static enum gpm_status solve_locked(struct gp_device_factor *f, bool trans, double *b) {
    gpu_ptr v;
    size_t n = f->b.n;
    enum gpm_status st = gpu_scratch(GPU_VECTORS, n * sizeof *b, &v);
    if (!st) st = gpu_put(v, b, n * sizeof *b);
    if (!st) st = gpu_blocks_solve(&f->b, NULL, 0, trans, 0, v, n, 1);
    return st ? st : gpu_get(b, v, n * sizeof *b);
}

/* ---- factor ---- */

/* As chol.c judges a factor: clear pivots, or an error of rounding that changes nothing. */
static enum gpm_status sound(struct gp_device_factor *f, const double p[4], double max, bool *yes) {
    size_t n = f->b.n;
    *yes = p[1] > 0 && chol_pivot_clear(n, p[1], max);
    if (*yes || !(p[1] > 0)) return GPM_OK;
    double *s = NEW_ARRAY(double, n);
    chol_signs(n, s);
    enum gpm_status st = solve_locked(f, false, s);
    if (!st) *yes = chol_rounding_small(n, s, max);
    mem_free(s);
    return st;
}

/* One rung of the jitter ladder; *max and *mean of the diagonal are those of the first. */
static enum gpm_status rung(struct gp *g, struct gp_slot *s, struct work *w, double relative,
                            double *max, double *mean, bool *good) {
    struct gp_device_factor *f = s->on_device;
    double p[4];
    bool failed = true;
    f->jitter = relative * (*mean > 0 ? *mean : 1);
    enum gpm_status st = diagonal(g, s, f->jitter, w);
    for (size_t j = 0; j < f->b.count && !st; j++) st = fill(w, &f->b, j, 0);
    if (!st && relative == 0) {
        st = pivots(w, &f->b, p);
        *max = p[2], *mean = p[3] / (double)g->n;
        if (!st && !(isfinite(*mean))) return GPM_E_NOT_PD;
    }
    if (!st) st = gpu_blocks_factor(&f->b, 0, &failed);
    *good = false;
    if (st || failed) return st;
    st = pivots(w, &f->b, p);
    f->logdet = 2 * p[0];
    return st ? st : sound(f, p, *max, good);
}

/* Memory for the factor, from this process's other model and from scratch where it is short. */
static enum gpm_status make_room(struct gp *g, struct gp_slot *s) {
    size_t need = gpu_blocks_bytes(g->n), left;
    if (!s->on_device) s->on_device = NEW(struct gp_device_factor);
    struct gp_slot *other = &g->slot[s == &g->slot[0]];
    enum gpm_status st = gpu_free_bytes(&left);
    if (!st && left + s->on_device->b.bytes < need) {
        gpu_scratch_drop();
        if (other->on_device) {
            if (other->engine == &gp_engine_gpu) other->have_factor = other->have_w = false;
            gpu_unlock();
            gp_engine_gpu.release(other);
            st = gpu_lock();
            if (st) return st;
        }
        st = gpu_free_bytes(&left);
        left += s->on_device->b.bytes;
        if (!st && left < need)
            return gpu_fail(
                "a Gaussian process of %zu inputs needs %.1f GB on the GPU, which has %.1f "
                "of %.1f GB free",
                g->n, 1e-9 * (double)need, 1e-9 * (double)left, 1e-9 * (double)gpu_info()->memory);
    }
    if (!st) st = gpu_blocks_init(&s->on_device->b, g->n);
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}

static enum gpm_status factor_locked(struct gp *g, struct gp_slot *s) {
    struct work w;
    double relative = 0, max = 0, mean = 0;
    bool good = false;
    struct kern_pts none = {.dim = g->dim};
    enum gpm_status st = make_room(g, s);
    if (!st) st = features(g, s->kern, none, &w);
    for (; !st && relative<CHOL_JITTER_LAST * 1.5; relative = relative> 0 ? relative * 10
                                                                          : CHOL_JITTER_FIRST) {
        st = rung(g, s, &w, relative, &max, &mean, &good);
        if (st || good) break;
    }
    s->f.jitter = s->on_device ? s->on_device->jitter : 0;
    return st ? st : good ? GPM_OK : GPM_E_NOT_PD;
}

static enum gpm_status factor(struct gp *g, struct gp_slot *s) {
    enum gpm_status st = gpu_lock();
    if (st) return st;
    st = factor_locked(g, s);
    gpu_unlock();
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}

static enum gpm_status solve(struct gp *g, struct gp_slot *s, bool trans, double *b) {
    enum gpm_status st = g->n ? gpu_lock() : GPM_OK;
    if (st || !g->n) return st;
    st = solve_locked(s->on_device, trans, b);
    gpu_unlock();
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}

static enum gpm_status times(struct gp *g, struct gp_slot *s, double *b) {
    size_t n = g->n;
    struct program p;
    gpu_ptr v;
    enum gpm_status st = gpu_lock();
    if (st) return st;
    st = program_of(s->kern, g->dim, &p);
    if (!st) st = gpu_scratch(GPU_VECTORS, 2 * n * sizeof *b, &v);
    if (!st) st = gpu_put(v, b, n * sizeof *b);
    if (!st) st = gpu_blocks_times(&s->on_device->b, p.p, v, place(v, n));
    if (!st) st = gpu_get(b, place(v, n), n * sizeof *b);
    gpu_unlock();
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}

static double logdet(const struct gp_slot *s) {
    return s->on_device->logdet;
}

static void release(struct gp_slot *s) {
    if (!s->on_device) return;
    gpu_blocks_release(&s->on_device->b);
    mem_free(s->on_device);
    s->on_device = NULL;
}

/* ---- gradient ---- */

/* Block column j of K^-1, rows from its diagonal on, into x. */
static enum gpm_status inverse_column(const struct gpu_blocks *b, struct gpu_program *p,
                                      gpu_ptr inverses, size_t j, gpu_ptr x, long long ldx) {
    struct gpu_block k = gpu_block(b, j);
    long long rows = (long long)k.rows, cols = (long long)k.width;
    struct gpu_grid grid = {(rows + 255) / 256, cols, 256, 0};
    enum gpm_status st = GPU_LAUNCH(p, "set_unit", grid, &x, &ldx, &rows, &cols);
    if (!st) st = gpu_blocks_solve(b, p, inverses, false, j, x, (size_t)ldx, k.width);
    return st ? st : gpu_blocks_solve(b, p, inverses, true, j, x, (size_t)ldx, k.width);
}

static long long padded(size_t n) {
    return ((long long)n + 31) / 32 * 32;
}

/* sums[p] += sum_ij (a_i a_j + b_i b_j - [K^-1]_ij) dK_ij/dp, and the last over the diagonal with
 * shares. */
static enum gpm_status contract(struct gp *g, struct gp_device_factor *f, const struct work *w,
                                const double *vectors, double *sums) {
    size_t n = g->n, np = (size_t)w->prog.layout.np + 1;
    long long ldx = padded(n), most = ((ldx + 127) / 128) * (((long long)f->b.nb + 31) / 32);
    gpu_ptr v, x, part, out, inverses;
    enum gpm_status st = gpu_blocks_inverses(&f->b, w->prog.p, &inverses);
    if (!st) st = gpu_scratch(GPU_VECTORS, 3 * n * sizeof(double), &v);
    if (!st) st = gpu_scratch(GPU_BLOCK, (size_t)ldx * f->b.nb * sizeof(double), &x);
    if (!st) st = gpu_scratch(GPU_PARTS, (size_t)most * np * sizeof(double), &part);
    if (!st) st = gpu_scratch(GPU_RESULT, np * sizeof(double), &out);
    if (!st) st = gpu_put(v, vectors, 3 * n * sizeof(double));
    if (!st) st = gpu_zero(out, np * sizeof(double));
    for (size_t j = 0; j < f->b.count && !st; j++) {
        struct gpu_block k = gpu_block(&f->b, j);
        long long rows = (long long)k.rows, cols = (long long)k.width, ldf = w->ldf;
        struct gpu_grid grid = {(rows + 127) / 128, (cols + 31) / 32, 128, 0},
                        each = {(long long)np, 1, 256, 0};
        long long parts = grid.x * grid.y;
        gpu_ptr feat = place(w->features, k.first), a = place(v, k.first),
                b = place(v, n + k.first), share = place(v, 2 * n + k.first), th = w->numbers;
        int count = (int)np;
        st = inverse_column(&f->b, w->prog.p, inverses, j, x, ldx);
        if (!st)
            st = GPU_LAUNCH(w->prog.p, "gradient", grid, &x, &ldx, &feat, &ldf, &rows, &cols, &a,
                            &b, &share, &th, &part);
        if (!st) st = GPU_LAUNCH(w->prog.p, "sum_parts", each, &part, &parts, &count, &out);
    }
    return st ? st : gpu_get(sums, out, np * sizeof(double));
}

/* The weights are a a' + b b' - K^-1, b = K^-1 1 / sqrt(q) under an integrated mean. */
static enum gpm_status gradient(struct gp *g, struct gp_slot *s, double *weight, double *dkern,
                                double *dnoise, double **alpha) {
    size_t n = g->n;
    double *a = gp_work(g, 3 * n + 1), *b = a + n, *share = b + n, sums[KERN_PROGRAM_MAX + 1] = {0};
    if (!a) return GPM_E_NOMEM;
    *weight /= gp_integrated_scale(g, s);
    for (size_t i = 0; i < n; i++) {
        a[i] = sqrt(*weight) * s->w[i];
        b[i] = g->integrated & GP_MEAN ? s->u[i] / sqrt(s->q) : 0;
        share[i] = gp_share(g, i);
    }
    enum gpm_status st = solve(g, s, true, a);
    if (!st && g->integrated & GP_MEAN) st = solve(g, s, true, b);
    if (!st) st = gpu_lock();
    if (st) return st;
    struct work w;
    struct kern_pts none = {.dim = g->dim};
    st = features(g, s->kern, none, &w);
    if (!st) st = contract(g, s->on_device, &w, a, sums);
    gpu_unlock();
    if (st) return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
    kern_program_slopes(s->kern, sums, dkern);
    for (size_t i = 0; i < kern_nparam(s->kern); i++) dkern[i] *= 0.5;
    if (dnoise)
        *dnoise = s->noise * sums[w.prog.layout.np] + gp_replicate_slope(g, s->noise, *weight);
    *alpha = a;
    return GPM_OK;
}

static enum gpm_status inverse(struct gp *g, struct gp_slot *s, double *a, size_t ld) {
    struct gp_device_factor *f = s->on_device;
    struct program p;
    long long ldx = padded(g->n);
    gpu_ptr x, inverses;
    enum gpm_status st = gpu_lock();
    if (st) return st;
    st = program_of(s->kern, g->dim, &p);
    if (!st) st = gpu_blocks_inverses(&f->b, p.p, &inverses);
    if (!st) st = gpu_scratch(GPU_BLOCK, (size_t)ldx * f->b.nb * sizeof(double), &x);
    for (size_t j = 0; j < f->b.count && !st; j++) {
        struct gpu_block k = gpu_block(&f->b, j);
        st = inverse_column(&f->b, p.p, inverses, j, x, ldx);
        for (size_t c = 0; c < k.width && !st; c++)
            st = gpu_get(a + k.first + c + (k.first + c) * ld, place(x, c + c * (size_t)ldx),
                         (k.rows - c) * sizeof *a);
    }
    gpu_unlock();
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}

/* ---- posterior ---- */

/* What the card gives of each point: V'w, V'u, the sum of V^2, the kernel with itself. */
struct projection {
    double *mean, *along, *known, *prior;
};

static enum gpm_status project(struct gp *g, struct gp_slot *s, struct work *w, size_t m,
                               struct projection *p, double *cov) {
    struct gp_device_factor *f = s->on_device;
    size_t n = g->n;
    long long ldv = padded(n), rows = (long long)n, cols = (long long)m, ldf = w->ldf;
    gpu_ptr v, vectors, dots, corner, fs = place(w->features, n), th = w->numbers;
    enum gpm_status st = gpu_scratch(GPU_BLOCK, (size_t)ldv * m * sizeof(double), &v);
    struct gpu_grid grid = {(rows + 127) / 128, (cols + 31) / 32, 128, 0},
                    square = {(cols + 127) / 128, (cols + 31) / 32, 128, 0},
                    each = {cols, 1, 256, 0};
    if (!st)
        st = GPU_LAUNCH(w->prog.p, "cross", grid, &v, &ldv, &w->features, &ldf, &rows, &fs, &ldf,
                        &cols, &th);
    if (!st) st = gpu_blocks_solve(&f->b, w->prog.p, 0, false, 0, v, (size_t)ldv, m);
    if (!st) st = gpu_scratch(GPU_VECTORS, 2 * n * sizeof(double), &vectors);
    if (!st) st = gpu_put(vectors, s->w, n * sizeof(double));
    if (!st && s->u) st = gpu_put(place(vectors, n), s->u, n * sizeof(double));
    if (!st && !s->u) st = gpu_zero(place(vectors, n), n * sizeof(double));
    if (!st) st = gpu_scratch(GPU_RESULT, 4 * m * sizeof(double), &dots);
    gpu_ptr u = st ? 0 : place(vectors, n);
    if (!st)
        st = GPU_LAUNCH(w->prog.p, "project", each, &v, &ldv, &rows, &vectors, &u, &fs, &ldf, &th,
                        &dots, &cols);
    if (!st) st = gpu_get(p->mean, dots, 4 * m * sizeof(double));
    if (st || !cov) return st;
    st = gpu_scratch(GPU_PARTS, m * m * sizeof(double), &corner);
    if (!st)
        st = GPU_LAUNCH(w->prog.p, "cross", square, &corner, &cols, &fs, &ldf, &cols, &fs, &ldf,
                        &cols, &th);
    if (!st) st = gpu_gemm(true, false, m, m, n, -1, v, (size_t)ldv, v, (size_t)ldv, 1, corner, m);
    return st ? st : gpu_get(cov, corner, m * m * sizeof(double));
}

static enum gpm_status posterior(struct gp *g, struct gp_slot *s, const struct kern *part,
                                 struct kern_pts xs, double *mean, double *var, double *cov,
                                 size_t ld, double *along) {
    size_t m = xs.n;
    if (m == 0) return GPM_OK;
    double *all = mem_try_doubles(4 * m), *joint = cov ? mem_try_doubles(m * m) : NULL;
    enum gpm_status st = !all || (cov && !joint) ? GPM_E_NOMEM : gpu_lock();
    struct projection p = {all, all + m, all + 2 * m, all + 3 * m};
    if (!st) {
        struct work w;
        st = features(g, part ? part : s->kern, xs, &w);
        if (!st) st = project(g, s, &w, m, &p, joint);
        if (st == GPM_E_NOMEM) st = GPM_E_DEVICE;
        gpu_unlock();
    }
    for (size_t i = 0; i < m && !st; i++) {
        if (mean) mean[i] += p.mean[i];
        if (along) along[i] -= p.along[i];
        if (var) var[i] = p.prior[i] > p.known[i] ? p.prior[i] - p.known[i] : 0;
        for (size_t j = i; j < m && cov; j++) cov[j + i * ld] = joint[j + i * m];
    }
    mem_free(all);
    mem_free(joint);
    return st;
}

/* ---- new inputs ---- */

static enum gpm_status append_locked(struct gp *g, struct gp_slot *s, size_t first) {
    struct gp_device_factor *f = s->on_device;
    struct work w;
    struct kern_pts none = {.dim = g->dim};
    double p[4];
    bool failed;
    if (!gpu_blocks_extend(&f->b, g->n)) return GPM_E_LIMIT;
    enum gpm_status st = features(g, s->kern, none, &w);
    if (!st) st = diagonal(g, s, f->jitter, &w);
    for (size_t j = 0; j < f->b.count && !st; j++)
        st = fill(&w, &f->b, j, j < first / f->b.nb ? first : 0);
    if (!st) st = gpu_blocks_append(&f->b, first, &failed);
    if (!st) st = pivots(&w, &f->b, p);
    if (!st && (failed || !(p[1] > 0))) st = GPM_E_NOT_PD;
    f->logdet = 2 * p[0];
    return st;
}

static enum gpm_status append(struct gp *g, struct gp_slot *s, size_t first) {
    s->have_r = s->have_w = false; /* a solution is nothing beside the transfers */
    enum gpm_status st = gpu_lock();
    if (st) return st;
    st = append_locked(g, s, first);
    gpu_unlock();
    return st;
}

/* ---- low rank (gp_low_rank.h) ---- */

static enum gpm_status low_begin(struct low_rank *w) {
    size_t have = 0;
    enum gpm_status st = gpu_lock();
    if (st) return st;
    st = gpu_reserve(&w->at, &have, w->n * w->most * sizeof(double));
    for (; st == GPM_E_NOMEM && w->most > 256; w->most /= 2) /* fewer may do */
        st = gpu_reserve(&w->at, &have, w->n * (w->most / 2) * sizeof(double));
    gpu_unlock();
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}
static void low_end(struct low_rank *w) {
    gpu_free(w->at);
}

/* Columns [first, first + m) of K into a; a pair is one point where its coordinates are. */
static enum gpm_status low_block(const struct low_rank *w, const struct work *k, size_t first,
                                 size_t m, gpu_ptr a) {
    long long n = (long long)w->n, cols = (long long)m, ldf = k->ldf;
    gpu_ptr fr = k->features, fc = place(k->features, first), th = k->numbers;
    struct gpu_grid grid = {(n + 127) / 128, (cols + 31) / 32, 128, 0};
    return GPU_LAUNCH(k->prog.p, "cross", grid, &a, &n, &fr, &ldf, &n, &fc, &ldf, &cols, &th);
}

static enum gpm_status low_leave(enum gpm_status st) {
    gpu_unlock();
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}

/* Takes the lock, which low_leave gives back, unless it fails: features of the data, and a vector
 * of scratch. */
static enum gpm_status low_enter(struct low_rank *w, struct work *k, size_t doubles, gpu_ptr *v) {
    struct kern_pts none = {.dim = w->g->dim};
    enum gpm_status st = gpu_lock();
    if (st) return st;
    if (k) st = features(w->g, w->d->kern, none, k);
    if (!st) st = gpu_scratch(GPU_VECTORS, doubles * sizeof(double), v);
    return st ? low_leave(st) : GPM_OK;
}

static enum gpm_status low_column(struct low_rank *w, size_t p, double *out) {
    struct work k;
    gpu_ptr c;
    enum gpm_status st = low_enter(w, &k, w->n, &c);
    if (st) return st;
    st = low_block(w, &k, p, 1, c);
    if (!st && w->rank)
        st = gpu_gemm(false, true, w->n, 1, w->rank, -1, w->at, w->n, place(w->at, p), w->n, 1, c,
                      w->n);
    if (!st) st = gpu_get(out, c, w->n * sizeof *out);
    return low_leave(st);
}
static enum gpm_status low_keep(struct low_rank *w, const double *column) {
    enum gpm_status st = gpu_lock();
    if (st) return st;
    return low_leave(gpu_put(place(w->at, w->rank * w->n), column, w->n * sizeof *column));
}

/* y = op(L) x. */
static enum gpm_status low_product(struct low_rank *w, bool trans, const double *x, double *y) {
    size_t n = w->n, nx = trans ? n : w->rank, ny = trans ? w->rank : n;
    gpu_ptr v;
    enum gpm_status st = low_enter(w, NULL, n + w->rank, &v);
    if (st) return st;
    st = gpu_put(v, x, nx * sizeof *x);
    if (!st) st = gpu_gemm(trans, false, ny, 1, nx, 1, w->at, n, v, nx, 0, place(v, nx), ny);
    if (!st) st = gpu_get(y, place(v, nx), ny * sizeof *y);
    return low_leave(st);
}
static enum gpm_status low_l_times(struct low_rank *w, const double *c, double *out) {
    return low_product(w, false, c, out);
}
static enum gpm_status low_lt_times(struct low_rank *w, const double *v, double *out) {
    return low_product(w, true, v, out);
}

static enum gpm_status low_k_times(struct low_rank *w, const double *x, double *out) {
    enum { MOST = 1 << 28, WIDEST = 2048 }; /* doubles of a block, its columns */
    size_t n = w->n, width = MOST / n < 32 ? 32 : MOST / n > WIDEST ? WIDEST : MOST / n;
    struct work k;
    gpu_ptr v, block;
    if (width > n) width = n;
    enum gpm_status st = low_enter(w, &k, 2 * n, &v);
    if (st) return st;
    st = gpu_scratch(GPU_BLOCK, n * width * sizeof(double), &block);
    if (!st) st = gpu_put(v, x, n * sizeof *x);
    for (size_t j = 0; j < n && !st; j += width) {
        size_t m = n - j < width ? n - j : width;
        st = low_block(w, &k, j, m, block);
        if (!st)
            st =
                gpu_gemm(false, false, n, 1, m, 1, block, n, place(v, j), m, j > 0, place(v, n), n);
    }
    if (!st) st = gpu_get(out, place(v, n), n * sizeof *out);
    return low_leave(st);
}

const struct low_rank_ops low_rank_gpu = {
    .method = "low rank and conjugate gradients (GPU)",
    .begin = low_begin,
    .column = low_column,
    .keep = low_keep,
    .l_times = low_l_times,
    .lt_times = low_lt_times,
    .k_times = low_k_times,
    .end = low_end,
};

const struct gp_engine gp_engine_gpu = {
    .method = "Cholesky (GPU)",
    .factor = factor,
    .solve = solve,
    .times = times,
    .logdet = logdet,
    .gradient = gradient,
    .inverse = inverse,
    .posterior = posterior,
    .append = append,
    .release = release,
    .chunk = 2048,
};
