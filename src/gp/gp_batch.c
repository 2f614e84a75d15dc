/* SPDX-License-Identifier: Apache-2.0
 * Many processes at once; contract in gp_batch.h. On the card a block of threads has one process
 * (gpu/embed/device_batch.cu). Data stay there under the stamp of their process. */
#include "gp/gp_batch.h"
#include "gp/gp_engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "gp/kern_device.h"
#include "gp/kern_tree.h"
#include "gpu/gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const char embed_device_batch_cu[];

static double seconds;
double gp_batch_seconds(void) {
    return seconds;
}

/* ---- programs ---- */

/* How a block of threads is laid out, by the rows of tiles. */
struct layout {
    int warps, rows_at_once, blocks, most_tiles;
    bool global; /* tiles in device memory */
    size_t shared;
};

static size_t tiles_of(size_t n) {
    size_t t = (n + 7) / 8;
    return t * (t + 1) / 2 + t;
}

static size_t shared_bytes(size_t n, int warps, const struct kern_program *p, bool global) {
    size_t np = (n + 7) / 8 * 8, red = (size_t)warps * ((size_t)p->np + 2);
    return (red + red % 2 + np * ((size_t)p->ng + 1) + (global ? 0 : tiles_of(n) * 64)) *
           sizeof(double);
}

static struct layout layout_for(size_t n, const struct kern_program *p) {
    size_t tiles = (n + 7) / 8;
    struct layout l = {8, 2, 2, ((int)tiles + 7) / 8 * 8, false, 0};
    if (tiles <= 8) l.warps = 4, l.rows_at_once = 1, l.blocks = 8;
    l.shared = shared_bytes(n, l.warps, p, false);
    if (l.shared > gpu_info()->shared / 2) l.blocks = 1;
    if (l.shared <= gpu_info()->shared) return l;
    l = (struct layout){16, 4, 1, l.most_tiles, true, 0};
    l.shared = shared_bytes(n, l.warps, p, true);
    return l;
}

struct program {
    struct kern *k;
    struct kern_program layout;
    char *text;
};
static struct {
    struct program *at;
    size_t n, cap;
} programs; /* under the card's lock */

static enum gpm_status text_of(const struct kern *k, int dim, struct program *out) {
    for (size_t i = 0; i < programs.n; i++)
        if (programs.at[i].layout.dim == dim && kern_same_shape(programs.at[i].k, k)) {
            *out = programs.at[i];
            return GPM_OK;
        }
    struct buf text = BUF_INIT;
    char *why = NULL;
    enum gpm_status st = kern_program(k, dim, &out->layout, &text, &why);
    if (st) st = gpu_fail("%s", why ? why : "the kernel has no program");
    mem_free(why);
    buf_puts(&text, embed_device_batch_cu);
    out->text = buf_take(&text);
    buf_release(&text);
    if (st) {
        mem_free(out->text);
        return st;
    }
    out->k = kern_ref(k);
    vec_push(&programs, *out);
    return GPM_OK;
}

static enum gpm_status compile(const struct program *p, const struct layout *l, bool slopes,
                               struct gpu_program **out) {
    char define[5][32];
    const char *options[7] = {define[0], define[1], define[2], define[3], define[4]};
    snprintf(define[0], sizeof define[0], "-DW=%d", l->warps);
    snprintf(define[1], sizeof define[1], "-DRB=%d", l->rows_at_once);
    snprintf(define[2], sizeof define[2], "-DMINB=%d", l->blocks);
    snprintf(define[3], sizeof define[3], "-DTMAX=%d", l->most_tiles);
    snprintf(define[4], sizeof define[4], "-DGRAD=%d", slopes);
    if (l->global) options[5] = "-DTILES_GLOBAL=1";
    return gpu_program(p->text, options, out);
}

/* ---- data on the card ---- */

/* One growing array; what is in it is found by the stamp of its process. Full: it starts again. */
static struct {
    gpu_ptr at;
    size_t bytes, used; /* used: doubles */
    struct map where;   /* stamp -> 1 + offset */
} store;
enum { STORE_LEAST = 64 << 20 };

static size_t data_size(const struct gp *g) {
    return g->n * ((size_t)g->dim + 2);
}

static void write_data(const struct gp *g, double *to) {
    size_t n = g->n, dim = (size_t)g->dim;
    for (size_t c = 0; c < dim; c++) memcpy(to + c * n, g->x + c * g->cap, n * sizeof *to);
    for (size_t i = 0; i < n; i++) {
        to[dim * n + i] = g->at[i].ybar;
        to[(dim + 1) * n + i] = gp_share(g, i);
    }
}

static enum gpm_status make_room(size_t doubles) {
    if (store.at && (store.used + doubles) * sizeof(double) <= store.bytes) return GPM_OK;
    size_t want = 2 * doubles * sizeof(double);
    map_release(&store.where);
    memset(&store.where, 0, sizeof store.where);
    store.used = 0;
    return gpu_reserve(&store.at, &store.bytes, want < STORE_LEAST ? STORE_LEAST : want);
}

/* meta: offset and number of inputs of each; new data go over in one piece. */
static enum gpm_status send_data(struct gp_job *const *group, size_t n, long long *meta) {
    size_t all = 0, fresh = 0;
    for (size_t i = 0; i < n; i++) all += data_size(group[i]->g);
    enum gpm_status st = make_room(all);
    if (st) return st;
    double *buffer = NEW_ARRAY(double, all + 1);
    for (size_t i = 0; i < n; i++) {
        struct gp *g = group[i]->g;
        size_t at = (size_t)(uintptr_t)map_get(&store.where, g->stamp);
        if (!at) {
            at = 1 + store.used + fresh;
            write_data(g, buffer + fresh);
            fresh += data_size(g);
            map_put(&store.where, g->stamp, (void *)(uintptr_t)at);
        }
        meta[2 * i] = (long long)at - 1;
        meta[2 * i + 1] = (long long)g->n;
    }
    st = gpu_put(store.at + store.used * sizeof(double), buffer, fresh * sizeof(double));
    store.used += fresh;
    mem_free(buffer);
    return st;
}

/* ---- a group: one shape, with or without gradients ---- */

struct launch {
    struct program prog;
    struct layout l;
    struct gpu_program *p;
    size_t n, each;      /* problems; numbers that each gives */
    double *theta, *out; /* on the host */
    long long *meta;
};

static enum gpm_status launch(struct launch *k) {
    size_t nt = (size_t)k->prog.layout.nt + 1, each = k->each;
    size_t stride = 0;
    int held = 1, problems = (int)k->n;
    gpu_ptr meta, theta, out, scratch = 0;
    for (size_t i = 0; i < k->n; i++) {
        size_t t = tiles_of((size_t)k->meta[2 * i + 1]) * 64;
        stride = t > stride ? t : stride;
    }
    enum gpm_status st = gpu_scratch(GPU_POINTS, 2 * k->n * sizeof(long long), &meta);
    if (!st) st = gpu_scratch(GPU_NUMBERS, k->n * nt * sizeof(double), &theta);
    if (!st) st = gpu_scratch(GPU_RESULT, k->n * each * sizeof(double), &out);
    if (!st) st = gpu_occupancy(k->p, "batch", 32 * k->l.warps, k->l.shared, &held);
    long long blocks = (long long)k->n,
              most = (long long)(held > 0 ? held : 1) * gpu_info()->processors;
    if (k->l.global && blocks > most) blocks = most;
    if (!st && k->l.global)
        st = gpu_scratch(GPU_BLOCK, (size_t)blocks * stride * sizeof(double), &scratch);
    if (!st) st = gpu_put(meta, k->meta, 2 * k->n * sizeof(long long));
    if (!st) st = gpu_put(theta, k->theta, k->n * nt * sizeof(double));
    struct gpu_grid grid = {blocks, 1, 32 * k->l.warps, k->l.shared};
    long long step = (long long)stride;
    double start = clock_seconds();
    if (!st)
        st = GPU_LAUNCH(k->p, "batch", grid, &store.at, &meta, &problems, &theta, &out, &scratch,
                        &step);
    if (!st) st = gpu_get(k->out, out, k->n * each * sizeof(double));
    seconds += clock_seconds() - start;
    return st;
}

static void take(struct gp_job *t, const struct kern_program *p, const double *out) {
    struct gp_slot *s = t->s;
    t->done = !isnan(out[0]); /* else jitter, or none helps */
    if (!t->done) return;
    s->logml = out[0] + gp_replicate_term(t->g, s->noise);
    s->have_logml = true;
    s->method = gp_engine_gpu.method;
    if (!t->dkern) return;
    memset(t->dkern, 0, kern_nparam(s->kern) * sizeof *t->dkern);
    kern_program_slopes(s->kern, out + 1, t->dkern);
    for (size_t i = 0; i < kern_nparam(s->kern); i++) t->dkern[i] *= 0.5;
    if (t->dnoise)
        *t->dnoise =
            s->noise > 0 ? s->noise * out[1 + p->np] + gp_replicate_slope(t->g, s->noise, 1) : 0;
}

static enum gpm_status together(struct gp_job *const *group, size_t n) {
    struct launch k = {.n = n};
    size_t most = 0;
    for (size_t i = 0; i < n; i++) most = group[i]->g->n > most ? group[i]->g->n : most;
    enum gpm_status st = gpu_lock();
    if (st) return st;
    st = text_of(group[0]->s->kern, group[0]->g->dim, &k.prog);
    if (!st) {
        size_t nt = (size_t)k.prog.layout.nt + 1;
        k.l = layout_for(most, &k.prog.layout);
        k.theta = NEW_ARRAY(double, n *nt);
        k.each = group[0]->dkern ? (size_t)k.prog.layout.np + 2 : 1;
        k.out = NEW_ARRAY(double, n *k.each);
        k.meta = NEW_ARRAY(long long, 2 * n);
        for (size_t i = 0; i < n; i++) {
            kern_program_params(group[i]->s->kern, k.theta + i * nt);
            k.theta[i * nt + nt - 1] = group[i]->s->noise * group[i]->s->noise;
        }
        st = compile(&k.prog, &k.l, group[0]->dkern != NULL, &k.p);
        if (!st) st = send_data(group, n, k.meta);
        if (!st) st = launch(&k);
    }
    gpu_unlock();
    for (size_t i = 0; i < n && !st; i++) take(group[i], &k.prog.layout, k.out + i * k.each);
    mem_free(k.theta);
    mem_free(k.out);
    mem_free(k.meta);
    return st == GPM_E_NOMEM ? GPM_E_DEVICE : st;
}

/* ---- all ---- */

bool gp_job_fits(const struct gp_job *t) {
    const struct gp *g = t->g;
    return g->device != GP_ON_CPU && g->n > 0 && g->n <= GP_BATCH_MAX && !g->integrated &&
           !t->s->mean && !gp_approx_asked(g) && !gp_contradicts(g, t->s->noise) &&
           !t->s->kern->callback;
}

static bool same_group(const struct gp_job *a, const struct gp_job *b) {
    return a->g->dim == b->g->dim && !a->dkern == !b->dkern &&
           kern_same_shape(a->s->kern, b->s->kern);
}

void gp_jobs_run(struct gp_job **jobs, size_t n) {
    struct gp_job **group = NEW_ARRAY(struct gp_job *, n + 1);
    bool *taken = mem_zalloc(n + 1);
    seconds = 0;
    for (size_t i = 0; i < n; i++) {
        size_t m = 0;
        for (size_t j = i; j < n && !taken[i]; j++)
            if (!taken[j] && same_group(jobs[i], jobs[j])) group[m++] = jobs[j], taken[j] = j > i;
        taken[i] = true;
        enum gpm_status st = m ? together(group, m) : GPM_OK;
        for (size_t j = 0; j < m && st; j++)
            group[j]->status = group[j]->g->device == GP_ON_ANY ? GPM_OK : st;
    }
    mem_free(group);
    mem_free(taken);
}

static void alone(struct gp_batch_item *t, struct gp_slot *s) {
    t->status = gp_slot_logml(t->g, s);
    if (t->status == GPM_E_NOT_PD) t->status = GPM_OK;
    t->logml = s->logml;
    if (t->status || !t->dkern || t->logml == -INFINITY) return;
    t->status = gp_grad_weighted(t->g, 1, &t->logml, t->dkern, t->dmean, t->dnoise);
}

enum gpm_status gp_batch(struct gp_batch_item *items, size_t n) {
    struct gp_job *jobs = mem_zalloc((n + 1) * sizeof *jobs),
                  **fit = NEW_ARRAY(struct gp_job *, n + 1);
    enum gpm_status st = GPM_OK;
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        struct gp_batch_item *t = &items[i];
        jobs[i] = (struct gp_job){.g = t->g, .dkern = t->dkern, .dnoise = t->dnoise};
        t->status = gp_proposed(t->g, t->kern, t->mean, t->noise, &jobs[i].s);
        if (!t->status && gp_job_fits(&jobs[i])) fit[m++] = &jobs[i];
    }
    gp_jobs_run(fit, m);
    for (size_t i = 0; i < n; i++) {
        struct gp_batch_item *t = &items[i];
        if (!t->status) t->status = jobs[i].status;
        if (!t->status && !jobs[i].done)
            alone(t, jobs[i].s);
        else if (!t->status)
            t->logml = jobs[i].s->logml;
        if (t->status && t->status != GPM_E_ARG) gp_reject(t->g);
        if (!st) st = t->status;
    }
    mem_free(jobs);
    mem_free(fit);
    return st;
}
