/* SPDX-License-Identifier: Apache-2.0
 *
 * The posterior over the paper's 49 structures: evidence of each of the 94 kernels (several starts,
 * Laplace, importance sampling), and four exact chains over (kernel, parameters) beside it.
 */
#include "la/parallel.h"
#include "base/clock.h"
#include "base/mem.h"
#include "la/blas.h"
#include "la/optim.h"
#include "discover/paper.h"
#include "discover/search.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHAINS  4
#define POLISH  4
#define GIVE_UP 25.0 /* nats below the best at which a kernel is left rough */

struct context {
    const struct paper_data *d;
    const struct paper_kernel *k;
    struct paper_work *w;
    double scale[PAPER_PARS];
};

static double eval_target(void *ctx, const double *z, double *grad) {
    struct context *c = ctx;
    return paper_eval(c->d, c->k, c->w, z, grad);
}

static double minus(void *ctx, size_t n, const double *x, double *grad, int *stop) {
    struct context *c = ctx;
    double z[PAPER_PARS] = {0};
    for (size_t i = 0; i < n; i++) z[i] = x[i] * c->scale[i];
    double f = paper_eval(c->d, c->k, c->w, z, grad);
    if (!isfinite(f)) return INFINITY;
    for (size_t i = 0; i < n; i++) grad[i] *= -c->scale[i];
    return -f;
}

static double optimise(struct context *c, double *z, int iterations) {
    struct optim_options o = OPTIM_OPTIONS_INIT;
    struct optim_result r = {0};
    int par[PAPER_PARS], n = paper_pars(c->k, par);
    o.max_iter = iterations;
    o.max_eval = 2 * iterations + 10;
    o.grad_tol = 1e-3;
    o.f_tol = 1e-9;
    double span = c->d->x[c->d->n - 1] - c->d->x[0];
    for (int i = 0; i < n; i++) { /* a period is known to a third of a radian over the span */
        c->scale[i] = par[i] == PP_PER_P ? fmin(1, 0.05 * exp(z[i]) / span) : 1;
        z[i] /= c->scale[i];
    }
    enum gpm_status st = optim_lbfgs(minus, c, (size_t)n, z, &o, &r);
    for (int i = 0; i < n; i++) z[i] *= c->scale[i];
    return st == GPM_E_ARG ? -INFINITY : -r.f;
}

/* ---- starts ---- */
static const double start_l_se[] = {1, 4, 12}, start_l_per[] = {0.15, 0.3, 0.7, 1.5, 4};
static const double start_s[] = {1, 5};

struct hints {
    double p[10];
    int n;
};

/* Peaks of the detrended periodogram that Gamma(5,1) does not rule out, and round numbers. */
static void find_periods(const struct paper_data *d, struct hints *h) {
    struct smodel_data m;
    struct period_hints p = {.n = 0};
    static const double round_numbers[] = {2, 4, 7, 12};
    if (smodel_data_init(&m, d->n, d->x, d->y) == GPM_OK) {
        period_hints_data(&m, TRANSFORM_NONE, &p);
        for (int i = 0; i < p.n && h->n < 6; i++)
            if (p.p[i] * m.span < 30) h->p[h->n++] = p.p[i] * m.span;
        smodel_data_release(&m);
    }
    for (size_t i = 0; i < COUNT_OF(round_numbers); i++) h->p[h->n++] = round_numbers[i];
}

struct start {
    double z[PAPER_PARS], f;
};

static void consider(struct context *c, struct start *best, int *n, const double *full) {
    struct start s;
    int par[PAPER_PARS], d = paper_pars(c->k, par);
    for (int i = 0; i < d; i++) s.z[i] = log(full[par[i]]);
    s.f = paper_eval(c->d, c->k, c->w, s.z, NULL);
    if (!isfinite(s.f)) return;
    int at = *n < POLISH ? (*n)++ : POLISH - 1;
    if (*n == POLISH && at == POLISH - 1 && best[at].f >= s.f && best[at].f != 0) return;
    best[at] = s;
    for (; at > 0 && best[at].f > best[at - 1].f; at--) {
        struct start x = best[at];
        best[at] = best[at - 1];
        best[at - 1] = x;
    }
}

static int find_starts(struct context *c, const struct hints *h, struct start *best) {
    unsigned leaves = c->k->leaves;
    bool se = leaves & FACTOR_BIT(FACTOR_SE), per = leaves & FACTOR_BIT(FACTOR_PER);
    bool wn = leaves & FACTOR_BIT(FACTOR_WN);
    int n = 0;
    memset(best, 0, sizeof *best * POLISH);
    for (int a = 0; a < (se ? 3 : 1); a++)
        for (int b = 0; b < (per ? h->n : 1); b++)
            for (int e = 0; e < (per ? 5 : 1); e++)
                for (int s = 0; s < (wn ? 2 : 1); s++) {
                    double full[PAPER_PARS] = {
                        [PP_LIN_S] = 4,        [PP_SE_S] = 5,        [PP_SE_L] = start_l_se[a],
                        [PP_PER_S] = 5,        [PP_PER_P] = h->p[b], [PP_PER_L] = start_l_per[e],
                        [PP_WN_S] = start_s[s]};
                    consider(c, best, &n, full);
                }
    return n;
}

/* ---- evidences ---- */
struct job {
    struct paper_result *r;
    struct paper_work **work;
    struct paper_data thin; /* long series: starts are compared on every second value */
    struct paper_work **thin_work;
    struct hints hints;
    size_t draws;
    int list[PAPER_KERNELS], n;
};

static bool same_place(int d, const double *a, const double *b) {
    for (int i = 0; i < d; i++)
        if (fabs(a[i] - b[i]) > 0.1) return false;
    return true;
}

/* First pass: starts and a short polish. */
static void polish_job(void *ctx, size_t i, int thread) {
    struct job *j = ctx;
    struct paper_evidence *e = &j->r->e[i];
    struct context c = {&j->r->data, e->k, j->work[thread], {0}}, few = c;
    struct start best[POLISH];
    if (j->thin.n) {
        few.d = &j->thin;
        few.w = j->thin_work[thread];
    }
    int n = find_starts(&few, &j->hints, best), par[PAPER_PARS], d = paper_pars(e->k, par);
    e->map = e->logz = -INFINITY;
    e->prop.d = d;
    for (int k = 0; k < n; k++) {
        double f = optimise(&c, best[k].z, 15);
        bool known = false;
        for (int q = 0; q < e->prop.n; q++) known |= same_place(d, best[k].z, e->prop.mode[q].z);
        if (known || !isfinite(f)) continue;
        struct mode m = {NEW_ARRAY(double, (size_t)d), NULL, 0, 0, f};
        memcpy(m.z, best[k].z, sizeof(double) * (size_t)d);
        e->prop.mode[e->prop.n++] = m;
        e->map = fmax(e->map, f);
    }
    e->rough = true;
    e->logz = e->map - d; /* typical: one nat per parameter */
    e->se = 2;
}

/* Second pass, near the top: converged modes, Hessians, importance sampling. */
static void finish_job(void *ctx, size_t i, int thread) {
    struct job *j = ctx;
    struct paper_evidence *e = &j->r->e[j->list[i]];
    struct context c = {&j->r->data, e->k, j->work[thread], {0}};
    struct proposal rough = e->prop;
    struct density t = {.d = e->prop.d, .eval = eval_target, .ctx = &c};
    struct rng r;
    memset(&e->prop, 0, sizeof e->prop);
    for (int k = 0; k < rough.n; k++) {
        double *z = rough.mode[k].z;
        if (rough.mode[k].logp < e->map - 12) continue;
        double f = optimise(&c, z, 150);
        bool known = false;
        for (int q = 0; q < e->prop.n; q++) known |= same_place(rough.d, z, e->prop.mode[q].z);
        if (known || f < e->map - 8) continue;
        e->map = fmax(e->map, f);
        proposal_add_mode(&e->prop, &t, z);
    }
    proposal_release(&rough);
    if (!e->prop.n) return;
    rng_init(&r, j->r->opt.seed, (uint32_t)j->list[i], 31);
    is_draws_release(&e->draws);
    struct is_result res = importance(&t, &e->prop, j->draws / 2, j->draws, &r, &e->draws);
    if (!isfinite(res.logz)) return;
    e->logz = res.logz;
    e->se = res.se;
    e->rough = false;
}

static double total(const struct paper_evidence *e) {
    return e->logz + log(e->k->prior);
}

static void weigh(struct paper_result *r) {
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < r->g.n_kernels; i++) top = fmax(top, total(&r->e[i]));
    for (int i = 0; i < r->g.n_kernels; i++) sum += r->weight[i] = exp(total(&r->e[i]) - top);
    for (int i = 0; i < r->g.n_kernels; i++) r->weight[i] /= sum;
}

/* Rough kernels within reach of the top are finished, best first, until none is left. */
static void evidences(struct paper_result *r, struct job *j, int threads) {
    for (int i = 0; i < r->g.n_kernels; i++) r->e[i].k = &r->g.kernel[i];
    la_parallel(threads, (size_t)r->g.n_kernels, polish_job, j);
    for (int pass = 0; pass < 4; pass++) {
        double top = -INFINITY;
        for (int i = 0; i < r->g.n_kernels; i++) top = fmax(top, total(&r->e[i]));
        j->n = 0;
        for (int i = 0; i < r->g.n_kernels; i++)
            if (r->e[i].rough && r->e[i].prop.n && total(&r->e[i]) > top - GIVE_UP)
                j->list[j->n++] = i;
        if (j->n == 0) break;
        la_parallel(threads, (size_t)j->n, finish_job, j);
    }
    weigh(r);
}

/* ---- chains ---- */
struct chains {
    struct paper_result *r;
    struct paper_work **work;
    double q[PAPER_KERNELS];
    long accepted[CHAINS];
};

static int pick(const double *q, int n, struct rng *g) {
    double u = rng_uniform(g);
    int last = 0;
    for (int i = 0; i < n; i++) {
        if (q[i] <= 0) continue;
        last = i;
        if ((u -= q[i]) <= 0) break;
    }
    return last;
}

static void chain_job(void *ctx, size_t c, int thread) {
    struct chains *s = ctx;
    struct paper_result *r = s->r;
    struct rng g;
    rng_init(&g, r->opt.seed, (uint32_t)c, 41);
    int k = 0;
    double ratio = -INFINITY, lp = -INFINITY;
    for (size_t i = 0; i < r->steps; i++) {
        int next = pick(s->q, r->g.n_kernels, &g);
        const struct paper_evidence *e = &r->e[next];
        double z[SMODEL_MAX_PAR];
        proposal_draw(&e->prop, &g, z);
        double f = paper_eval(&r->data, e->k, s->work[thread], z, NULL) + log(e->k->prior);
        double x = f - log(s->q[next]) - proposal_log_density(&e->prop, z);
        if (log(rng_uniform(&g)) < x - ratio) {
            k = next;
            ratio = x;
            lp = f;
            s->accepted[c]++;
        }
        r->chain[c * r->steps + i] = k;
        r->chain_lp[c * r->steps + i] = lp;
    }
}

static void run_chains(struct paper_result *r, struct paper_work **work, int threads) {
    struct chains s = {.r = r, .work = work};
    double sum = 0;
    for (int i = 0; i < r->g.n_kernels; i++) {
        s.q[i] = r->e[i].rough || !r->e[i].prop.n ? 0 : pow(r->weight[i], 0.7) + 1e-4;
        sum += s.q[i];
    }
    for (int i = 0; i < r->g.n_kernels; i++) s.q[i] /= sum;
    r->chain = NEW_ARRAY(int, CHAINS * r->steps);
    r->chain_lp = NEW_ARRAY(double, CHAINS * r->steps);
    la_parallel(threads, CHAINS, chain_job, &s);
    long accepted = 0;
    for (int c = 0; c < CHAINS; c++) accepted += s.accepted[c];
    r->acceptance = (double)accepted / (double)(CHAINS * r->steps);
}

static double rhat(const struct paper_result *r) {
    double mean[CHAINS], within = 0, grand = 0, between = 0, n = (double)r->steps;
    for (int c = 0; c < CHAINS; c++) {
        const double *x = r->chain_lp + (size_t)c * r->steps;
        double v = 0;
        mean[c] = 0;
        for (size_t i = 0; i < r->steps; i++) mean[c] += x[i] / n;
        for (size_t i = 0; i < r->steps; i++) v += (x[i] - mean[c]) * (x[i] - mean[c]) / (n - 1);
        within += v / CHAINS;
        grand += mean[c] / CHAINS;
    }
    for (int c = 0; c < CHAINS; c++)
        between += (mean[c] - grand) * (mean[c] - grand) / (CHAINS - 1);
    return within > 0 ? sqrt((n - 1) / n + between / within) : 1;
}

/* ---- structures ---- */
static void summarise(struct paper_result *r) {
    struct paper_structure *s = r->g.structure;
    double var[PAPER_STRUCTURES] = {0};
    for (int i = 0; i < r->g.n_kernels; i++) {
        int k = r->g.kernel[i].structure;
        s[k].p += r->weight[i];
    }
    for (int k = 0; k < r->g.n_structures; k++) /* delta method over the evidences */
        for (int i = 0; i < r->g.n_kernels; i++) {
            double in = r->g.kernel[i].structure == k, w = r->weight[i];
            double slope = w * (in - s[k].p);
            var[k] += slope * slope * r->e[i].se * r->e[i].se;
        }
    for (size_t i = 0; i < CHAINS * r->steps; i++)
        s[r->g.kernel[r->chain[i]].structure].chain_p += 1 / (double)(CHAINS * r->steps);
    for (int k = 0; k < r->g.n_structures; k++) {
        s[k].error = fmax(2.58 * sqrt(var[k]), 1e-4);
        r->tv += 0.5 * fabs(s[k].p - s[k].chain_p);
        r->order[k] = k;
    }
    for (int a = 1; a < r->g.n_structures; a++)
        for (int b = a; b > 0 && s[r->order[b]].p > s[r->order[b - 1]].p; b--) {
            int x = r->order[b];
            r->order[b] = r->order[b - 1];
            r->order[b - 1] = x;
        }
    r->rhat = rhat(r);
    r->ess = r->acceptance * (double)(CHAINS * r->steps);
    r->settled = r->tv < 0.05 && r->rhat < 1.1;
}

void paper_release(struct paper_result *r) {
    for (int i = 0; i < PAPER_KERNELS; i++) {
        proposal_release(&r->e[i].prop);
        is_draws_release(&r->e[i].draws);
    }
    mem_free(r->chain);
    mem_free(r->chain_lp);
    paper_data_release(&r->data);
    paper_grammar_release(&r->g);
    memset(r, 0, sizeof *r);
}

static void free_works(struct paper_work **w, int threads) {
    for (int i = 0; w && i < threads; i++) paper_work_free(w[i]);
    mem_free(w);
}

/* A workspace per thread; NULL when out of memory. */
static struct paper_work **new_works(const struct paper_data *d, int threads) {
    struct paper_work **w = NEW_ARRAY(struct paper_work *, (size_t)threads);
    for (int i = 0; i < threads; i++)
        if (!(w[i] = paper_work_new(d))) {
            free_works(w, threads);
            return NULL;
        }
    return w;
}

enum gpm_status paper_run(struct paper_result *r, const struct series *s,
                          const struct paper_options *o, struct buf *err) {
    memset(r, 0, sizeof *r);
    unsigned long shortages = mem_shortages();
    double start = clock_seconds();
    la_init();
    r->opt = *o;
    if (r->opt.threads <= 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        r->opt.threads = cores > 8 ? 8 : cores < 1 ? 1 : (int)cores;
    }
    paper_grammar_init(&r->g);
    paper_data_init(&r->data, s, &r->opt);
    r->steps = o->steps ? o->steps : s->n <= 300 ? 1000 : 300;
    struct job j = {.r = r, .draws = o->draws ? o->draws : s->n <= 300 ? 600 : 200};
    if (s->n > 300) paper_data_thin(&j.thin, &r->data);
    j.work = new_works(&r->data, r->opt.threads);
    j.thin_work = j.thin.n ? new_works(&j.thin, r->opt.threads) : NULL;
    bool ok = j.work && (j.thin_work || !j.thin.n);
    if (ok) {
        find_periods(&r->data, &j.hints);
        evidences(r, &j, r->opt.threads);
        run_chains(r, j.work, r->opt.threads);
        summarise(r);
    } else {
        buf_printf(err, "%s: not enough memory for %zu values", s->name, s->n);
    }
    free_works(j.work, r->opt.threads);
    free_works(j.thin_work, r->opt.threads);
    paper_data_release(&j.thin);
    r->seconds = clock_seconds() - start;
    enum gpm_status st = search_no_shortage(shortages, ok ? GPM_OK : GPM_E_NOMEM, err);
    if (st) paper_release(r);
    return st;
}
