/* SPDX-License-Identifier: Apache-2.0
 * Many processes at once; contract in gp_engine.h. On the card a block of threads has one process
 * (io/gpu/embed/device_batch.cu). Data stay there under the stamp of their process. */
#include "gp/process/gp_engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "gp/kernel/kern_tree.h"
#include "io/gpu/gpu.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern const char embed_device_batch_cu[];

/* ---- layouts ---- */

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

static bool is_any(const struct gp_program *p) {
    return !p->k;
}

static size_t shared_bytes(size_t n, int warps, const struct gp_program *p, int features,
                           bool global) {
    size_t np = (n + 7) / 8 * 8, red = (size_t)warps * ((size_t)p->layout.np + 2);
    size_t numbers = is_any(p) ? (size_t)p->layout.nt : 0;
    return (red + red % 2 + numbers + np * ((size_t)features + 1) +
            (global ? 0 : tiles_of(n) * 64)) *
           sizeof(double);
}

/* By the most features that the program takes: those that the processes at hand have do not change
 * the layout. Few kinds of the program for any shape, which takes long to compile. */
static struct layout layout_for(size_t n, const struct gp_program *p) {
    int tiles = (int)(n + 7) / 8, most = (tiles + 7) / 8 * 8, features = p->layout.ng;
    for (int two = 8; is_any(p) && two / 2 < most; two *= 2) most = two > most ? two : most;
    struct layout l = {8, 2, 2, most, false, 0};
    if (tiles <= 8) l.warps = 4, l.rows_at_once = 1, l.blocks = is_any(p) ? 4 : 8;
    l.shared = shared_bytes(n, l.warps, p, features, false);
    if (l.shared > gpu_info()->shared / 2 && !is_any(p)) l.blocks = 1;
    if (l.shared <= gpu_info()->shared) return l;
    l = (struct layout){16, 4, 1, l.most_tiles, true, 0};
    l.shared = shared_bytes(n, l.warps, p, features, true);
    return l;
}

/* What makes two layouts different in their sums: processes of one are computed together, and give
 * the same bits in any company. Their number of tiles may differ. */
static unsigned class_of(const struct layout *l, bool slopes) {
    return (unsigned)l->warps << 2 | (unsigned)l->global << 1 | slopes;
}
static bool class_is_global(unsigned class) {
    return class >> 1 & 1;
}

static enum gpm_status compile(struct gp_program *p, const struct layout *l, bool slopes,
                               struct gpu_program **out) {
    char define[5][32];
    const char *options[7] = {define[0], define[1], define[2], define[3], define[4]};
    unsigned key = (unsigned)l->blocks << 16 | (unsigned)l->most_tiles << 8;
    snprintf(define[0], sizeof define[0], "-DW=%d", l->warps);
    snprintf(define[1], sizeof define[1], "-DRB=%d", l->rows_at_once);
    snprintf(define[2], sizeof define[2], "-DMINB=%d", l->blocks);
    snprintf(define[3], sizeof define[3], "-DTMAX=%d", l->most_tiles);
    snprintf(define[4], sizeof define[4], "-DGRAD=%d", slopes);
    if (l->global) options[5] = "-DTILES_GLOBAL=1";
    return gp_program_compiled(p, GP_FOR_BATCH + (key | class_of(l, slopes)), embed_device_batch_cu,
                               options, out);
}

/* ---- a job: before and after ---- */

bool gp_job_fits(const struct gp_job *t) {
    const struct gp *g = t->g;
    return g->device != GP_ON_CPU && g->n > 0 && g->n <= GP_BATCH_MAX && !g->integrated &&
           !t->s->mean && !gp_approx_asked(g) && !gp_contradicts(g, t->s->noise) &&
           !t->s->kern->callback && !(g->roams && g->dim > 1);
}

static void job_fails(struct gp_job *t, enum gpm_status st) {
    t->status = t->g->device == GP_ON_ANY ? GPM_OK : st;
    if (t->status == GPM_E_DEVICE) t->why = mem_strdup(gpu_error());
}

void gp_job_begin(struct gp_job *t) {
    struct gp *g = t->g;
    struct gp_slot *s = t->s;
    t->done = false;
    t->status = gpu_info()->shared ? GPM_OK : gpu_open();
    if (!t->status && g->roams) g->program = gp_program_any();
    if (!t->status && !g->roams) t->status = gp_program_of(s->kern, g->dim, &g->program);
    if (t->status) {
        job_fails(t, t->status);
        return;
    }
    t->program = g->program;
    const struct kern_program *p = &t->program->layout;
    struct layout l = layout_for(g->n, t->program);
    size_t nt = (size_t)p->nt + 1, all = nt + (t->slopes ? (size_t)p->np + 2 : 1);
    t->theta = all <= COUNT_OF(t->few) ? t->few : NEW_ARRAY(double, all);
    t->out = t->theta + nt;
    t->features = p->ng;
    if (!g->roams)
        kern_program_params(s->kern, t->theta);
    else if (!kern_any_params(s->kern, t->theta, &t->features)) {
        if (t->theta != t->few) mem_free(t->theta);
        t->program = NULL;
        return;
    }
    t->theta[nt - 1] = s->noise * s->noise;
    t->n = g->n;
    t->layout = class_of(&l, t->slopes);
    t->at = g->placed.stamp == g->stamp ? g->placed : (struct gp_placed){0};
}

/* The sum over the noise first, then those over the kernel's numbers. */
static void keep_slopes(struct gp_slot *s, const double *out, size_t np) {
    s->slopes = mem_realloc(s->slopes, (np + 1) * sizeof *s->slopes);
    s->slopes[0] = out[1 + np];
    memcpy(s->slopes + 1, out + 1, np * sizeof *s->slopes);
    s->have_slopes = true;
    s->asked_slopes = false;
}

void gp_job_end(struct gp_job *t) {
    struct gp_slot *s = t->s;
    bool ran = t->program && !t->status && t->at.stamp;
    t->done = ran && !isnan(t->out[0]); /* else jitter, or none helps */
    if (ran) t->g->placed = t->at;
    if (t->done) {
        s->logml = t->out[0] + gp_replicate_term(t->g, s->noise);
        s->have_logml = true;
        s->method = gp_engine_gpu.method;
        if (t->slopes) keep_slopes(s, t->out, (size_t)t->program->layout.np);
    }
    if (t->why) gpu_fail("%s", t->why); /* of this thread */
    mem_free(t->why);
    if (t->program && t->theta != t->few) mem_free(t->theta);
}

void gp_slot_slopes(struct gp *g, struct gp_slot *s, double *dkern, double *dnoise) {
    size_t np = kern_nparam(s->kern);
    s->asked_slopes = true;
    memset(dkern, 0, np * sizeof *dkern);
    kern_program_slopes(s->kern, s->slopes + 1, dkern);
    for (size_t i = 0; i < np; i++) dkern[i] *= 0.5;
    if (dnoise)
        *dnoise = s->noise > 0 ? s->noise * s->slopes[0] + gp_replicate_slope(g, s->noise, 1) : 0;
}

/* ---- data on the card ---- */

/* One growing array; what is in it is found by the stamp of its process. Full: it starts again. */
static struct {
    gpu_ptr at;
    size_t bytes, used; /* used: doubles */
    uint64_t filling;   /* how often it has started */
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

static bool is_placed(const struct gp_job *t) {
    return t->at.stamp && t->at.filling == store.filling;
}

static size_t unplaced(struct gp_job *const *group, size_t n) {
    size_t doubles = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_placed(group[i])) doubles += data_size(group[i]->g);
    return doubles;
}

/* *fresh: doubles that may have to go over. *again: over what may be in use. */
static enum gpm_status make_room(struct gp_job *const *group, size_t n, size_t *fresh,
                                 bool *again) {
    *fresh = unplaced(group, n);
    *again = false;
    if (store.at && (store.used + *fresh) * sizeof(double) <= store.bytes) return GPM_OK;
    map_release(&store.where);
    memset(&store.where, 0, sizeof store.where);
    *again = true;
    store.used = 0;
    store.filling++;
    *fresh = unplaced(group, n);
    size_t want = 2 * *fresh * sizeof(double);
    return gpu_reserve(&store.at, &store.bytes, want < STORE_LEAST ? STORE_LEAST : want);
}

/* New data go over in one piece. */
static enum gpm_status send_data(struct gp_job *const *group, size_t n) {
    size_t most, fresh = 0;
    bool again;
    enum gpm_status st = make_room(group, n, &most, &again);
    if (st || !most) return st;
    double *buffer = NEW_ARRAY(double, most + 1);
    for (size_t i = 0; i < n; i++) {
        struct gp_job *t = group[i];
        if (is_placed(t)) continue;
        size_t at = (size_t)(uintptr_t)map_get(&store.where, t->g->stamp);
        if (!at) {
            at = 1 + store.used + fresh;
            write_data(t->g, buffer + fresh);
            fresh += data_size(t->g);
            map_put(&store.where, t->g->stamp, (void *)(uintptr_t)at);
        }
        t->at = (struct gp_placed){t->g->stamp, store.filling, at - 1};
    }
    st = (again ? gpu_put : gpu_put_aside)(store.at + store.used * sizeof(double), buffer,
                                           fresh * sizeof(double));
    store.used += fresh;
    mem_free(buffer);
    return st;
}

/* ---- a group: one program, one class of layouts ---- */

/* One that was started holds its lane until it is finished. */
struct launch {
    struct gp_job **group;
    struct lane *lane;
    enum gpm_status status;
    struct layout l;
    struct gpu_program *p;
    size_t n, numbers, each; /* problems; numbers that each takes and gives */
    double begun;            /* when the card got it */
};

/* Launches that may be under way: some are laid out while the card computes others, and those of
 * different threads and groups fill it together. */
enum {
    LANES = 64,
    LANES_GLOBAL = 4
}; /* the first ones: for tiles in device memory, which is much */
static struct lane {
    pthread_mutex_t busy;
    struct gpu_lane on;
    double seconds; /* that it was under way */
} lanes[LANES] = {[0 ... LANES - 1] = {.busy = PTHREAD_MUTEX_INITIALIZER}};

double gp_jobs_seconds(void) {
    double sum = 0;
    for (size_t i = 0; i < LANES; i++) {
        pthread_mutex_lock(&lanes[i].busy);
        sum += lanes[i].seconds;
        lanes[i].seconds = 0;
        pthread_mutex_unlock(&lanes[i].busy);
    }
    return sum;
}

/* wait: for a lane that is in use; a thread that waits must hold no lane. */
static struct lane *lane_take(bool global, bool wait) {
    for (size_t i = 0; i < (global ? LANES_GLOBAL : LANES); i++)
        if (pthread_mutex_trylock(&lanes[i].busy) == 0) return &lanes[i];
    if (!wait) return NULL;
    pthread_mutex_lock(&lanes[0].busy);
    return &lanes[0];
}

/* Where the card finds each problem, and its numbers. */
static void pack(struct gp_job *const *group, const struct launch *k, double *to) {
    long long *meta = (long long *)to;
    double *theta = to + 2 * k->n;
    for (size_t i = 0; i < k->n; i++) {
        meta[2 * i] = (long long)group[i]->at.at;
        meta[2 * i + 1] = (long long)group[i]->n;
        memcpy(theta + i * k->numbers, group[i]->theta, k->numbers * sizeof *theta);
    }
}

static enum gpm_status start(struct gp_job *const *group, struct launch *k, size_t stride,
                             struct gpu_lane *on) {
    size_t meta_size = 2 * k->n * sizeof(long long),
           in = meta_size + k->n * k->numbers * sizeof(double),
           out = k->n * k->each * sizeof(double);
    int held = 1, problems = (int)k->n;
    enum gpm_status st = GPM_OK;
    if (k->l.global) st = gpu_occupancy(k->p, "batch", 32 * k->l.warps, k->l.shared, &held);
    long long blocks = (long long)k->n, step = (long long)stride,
              most = (long long)(held > 0 ? held : 1) * gpu_info()->processors;
    if (k->l.global && blocks > most) blocks = most;
    if (!st)
        st = gpu_lane_room(on, in, out, k->l.global ? (size_t)blocks * stride * sizeof(double) : 0);
    if (st) return st;
    pack(group, k, on->to);
    gpu_ptr theta = on->in + meta_size;
    struct gpu_grid grid = {blocks, 1, 32 * k->l.warps, k->l.shared};
    void *args[] = {&store.at, &on->in, &problems, &theta, &on->from, &on->scratch, &step};
    k->begun = clock_seconds();
    return gpu_lane_start(on, in, k->p, "batch", grid, args);
}

static void begin_group(struct launch *k) {
    struct gp_program *prog = k->group[0]->program;
    bool slopes = k->group[0]->slopes;
    k->numbers = (size_t)prog->layout.nt + 1;
    k->each = slopes ? (size_t)prog->layout.np + 2 : 1;
    size_t most = 0;
    int features = 0;
    for (size_t i = 0; i < k->n; i++) {
        most = k->group[i]->n > most ? k->group[i]->n : most;
        features = k->group[i]->features > features ? k->group[i]->features : features;
    }
    enum gpm_status st = gpu_lock();
    if (!st) {
        k->l = layout_for(most, prog);
        k->l.shared = shared_bytes(most, k->l.warps, prog, features, k->l.global);
        st = compile(prog, &k->l, slopes, &k->p);
        if (!st) st = send_data(k->group, k->n);
        if (!st) st = start(k->group, k, tiles_of(most) * 64, &k->lane->on);
        gpu_unlock();
    }
    k->status = st;
}

/* The lane stays the caller's. */
static void end_group(struct launch *k) {
    enum gpm_status st = k->status;
    if (!st) st = gpu_lane_wait(&k->lane->on);
    if (!st) k->lane->seconds += clock_seconds() - k->begun;
    for (size_t i = 0; i < k->n && !st; i++)
        memcpy(k->group[i]->out, k->lane->on.from + i * k->each, k->each * sizeof(double));
    for (size_t i = 0; i < k->n && st; i++) {
        k->group[i]->at.stamp = 0; /* nothing was given */
        job_fails(k->group[i], st == GPM_E_NOMEM ? GPM_E_DEVICE : st);
    }
}

/* ---- all ---- */

static bool same_group(const struct gp_job *a, const struct gp_job *b) {
    return a->program == b->program && a->layout == b->layout;
}

enum { GROUPS = 8 }; /* of one call under way */
struct gp_jobs {
    struct gp_job **sorted;
    size_t n; /* groups under way */
    struct launch k[GROUPS];
};

/* The jobs from `first` on that are of one group with the first of them, side by side. */
static size_t gather(struct gp_job **jobs, size_t first, size_t n) {
    size_t end = first + 1;
    for (size_t j = end; j < n; j++)
        if (same_group(jobs[first], jobs[j])) {
            struct gp_job *other = jobs[end];
            jobs[end++] = jobs[j];
            jobs[j] = other;
        }
    return end;
}

/* A lane for one more group: a free one, else, where this call has some, that of the last. */
static struct lane *next_lane(struct gp_jobs *all, unsigned class, bool wait) {
    bool global = class_is_global(class);
    struct lane *lane = all->n < GROUPS ? lane_take(global, wait && all->n == 0) : NULL;
    if (lane || !all->n) return lane;
    struct launch *last = &all->k[--all->n];
    end_group(last);
    return last->lane;
}

/* All groups are under way before any is waited for, as far as there are lanes. */
struct gp_jobs *gp_jobs_begin(struct gp_job **jobs, size_t n, bool wait) {
    struct gp_jobs *all = NEW(struct gp_jobs);
    all->n = 0;
    all->sorted = NEW_ARRAY(struct gp_job *, n + 1);
    memcpy(all->sorted, jobs, n * sizeof *jobs);
    for (size_t i = 0; i < n;) {
        size_t end = gather(all->sorted, i, n);
        struct lane *lane = next_lane(all, all->sorted[i]->layout, wait);
        if (!lane) {
            mem_free(all->sorted);
            mem_free(all);
            return NULL;
        }
        struct launch *k = &all->k[all->n++];
        *k = (struct launch){.group = all->sorted + i, .n = end - i, .lane = lane};
        begin_group(k);
        i = end;
    }
    return all;
}

bool gp_jobs_ended(const struct gp_jobs *all) {
    for (size_t i = 0; i < all->n; i++)
        if (!all->k[i].status && !gpu_lane_ended(&all->k[i].lane->on)) return false;
    return true;
}

void gp_jobs_end(struct gp_jobs *all) {
    for (size_t i = 0; i < all->n; i++) {
        end_group(&all->k[i]);
        pthread_mutex_unlock(&all->k[i].lane->busy);
    }
    mem_free(all->sorted);
    mem_free(all);
}

void gp_jobs_run(struct gp_job **jobs, size_t n) {
    gp_jobs_end(gp_jobs_begin(jobs, n, true));
}
