/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictive mixtures: every chosen draw gives a location and a spread (on the scale of its
 * transform) at each new time; means, quantiles and densities are those of the mixture
 * (numeric/posterior/mixture.h).
 *
 * At times among the data a part is normal. What is to come may be of another size than what was
 * seen, and the less was seen the less is known of that: outside of the data a part has the tails
 * of Student's t with max(3, (n/16)^2) degrees of freedom: 32 values of a series tell as much as
 * four would that are independent, and a hundred nearly all there is (chosen on training parts of
 * M3 and of R's series).
 */
#include "apps/discover/predict.h"
#include "apps/discover/further.h"
#include "gp/process/gp_likelihood.h"
#include "numeric/la/parallel.h"
#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

struct component {
    const struct evidence *e;
    const double *z;
    double weight;
    /* n each, one block, scale of the transform; what of the weight counts at each time (further
     * changes are the more probable the later it is) */
    double *mean, *sd, *share;
    double *other; /* mean and sd in the other regime (further.h), n each, or NULL */
    enum gpm_status st;
};
struct forecast {
    const struct posterior *p;
    struct component *c;
    size_t n_c, n;
    double total; /* of the weights */
    double *t;    /* new times, standardised */
    double last;  /* of the data */
    double dof;   /* of the tails outside of the data */
    bool failed;  /* for want of memory */
    struct mixture_written written;
};

/* ---- which draws ---- */
const double *evidence_draw(const struct evidence *e, size_t k, size_t n) {
    if (e->draws.n == 0) return e->prop.mode[0].z;
    double u = ((double)k + 0.5) / (double)n, s = 0;
    for (size_t i = 0; i < e->draws.n; i++) {
        s += e->draws.w[i];
        if (s >= u) return e->draws.z + i * e->draws.d;
    }
    return e->prop.mode[0].z;
}

size_t posterior_draws(const struct posterior *p, size_t budget, struct posterior_draw **out) {
    double kept = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->search->n; i++)
        if (p->weight[i] >= 0.004 && p->search->at[i]->prop.n) kept += p->weight[i];
    *out = NEW_ARRAY(struct posterior_draw, budget + p->search->n);
    for (size_t i = 0; i < p->search->n; i++) {
        const struct evidence *e = p->search->at[i];
        if (p->weight[i] < 0.004 || !e->prop.n) continue;
        size_t k = (size_t)ceil(p->weight[i] / kept * (double)budget);
        if (e->draws.n == 0) k = 1;
        for (size_t j = 0; j < k; j++)
            (*out)[n++] =
                (struct posterior_draw){e, evidence_draw(e, j, k), p->weight[i] / kept / (double)k};
    }
    return n;
}

#define CUT_VALUES 600 /* more: a draw without a filter's form takes tenths of a second */

size_t predict_draws(const struct search *s, size_t n) {
    return s->cut && series_space_of(s)->data->n > CUT_VALUES ? n / 8 : n;
}

static void choose(struct forecast *m, size_t budget) {
    struct posterior_draw *d;
    m->n_c = posterior_draws(m->p, budget, &d);
    m->c = NEW_ARRAY(struct component, m->n_c + 1);
    for (size_t i = 0; i < m->n_c; i++)
        m->c[i] = (struct component){.e = d[i].e, .z = d[i].z, .weight = d[i].weight};
    mem_free(d);
}

static void component_room(struct component *c, size_t n) {
    c->mean = NEW_ARRAY(double, 3 * n);
    c->sd = c->mean + n;
    c->share = c->sd + n;
}

static void component_release(struct component *c) {
    mem_free(c->mean);
    mem_free(c->other);
}

/* A copy of part k at the end. */
static struct component *component_again(struct forecast *m, size_t k) {
    struct component *c = &m->c[m->n_c++];
    *c = m->c[k];
    c->other = NULL;
    component_room(c, m->n);
    memcpy(c->mean, m->c[k].mean, 3 * m->n * sizeof *c->mean);
    return c;
}

/* From standardised means and variances, without the noise's, to the scale of the transform. */
static void rescale(const struct smodel *sm, size_t n, const double *noise, double *mean,
                    double *sd) {
    const struct smodel_data *d = sm->data;
    int tr = sm->s.transform;
    for (size_t i = 0; i < n; i++) {
        mean[i] = d->mean[tr] + d->sd[tr] * mean[i];
        sd[i] = d->sd[tr] * sqrt(sd[i] + noise[i]);
    }
}

/* How far time i is from the data, in spans. */
static double after(const struct forecast *m, size_t i) {
    return fmax(fmax(m->t[i] - m->last, -m->t[i]), 0);
}

static bool ahead(const struct forecast *m) {
    for (size_t i = 0; i < m->n; i++)
        if (after(m, i) > 0) return true;
    return false;
}

/* The structure of a part, as far back as the times go. */
static struct smodel reaching(const struct forecast *m, const struct component *c) {
    double first = 0;
    for (size_t i = 0; i < m->n; i++) first = fmin(first, m->t[i]);
    return smodel_reaching(smodel_of(c->e), first);
}

static void run_component(void *ctx, size_t job, int thread) {
    struct forecast *m = ctx;
    struct component *c = &m->c[job];
    const struct smodel at = reaching(m, c), *sm = &at;
    struct gp *g;
    component_room(c, m->n);
    c->st = smodel_condition(sm, series_space_of(m->p->search)->work[thread], c->z, &g);
    if (!c->st) c->st = smodel_part(sm, c->z, g, SMODEL_SIGNAL, m->t, m->n, c->mean, c->sd);
    double *noise = c->share; /* that comes last */
    if (!c->st) c->st = smodel_noise_vars(sm, c->z, m->t, m->n, noise);
    if (!c->st) rescale(sm, m->n, noise, c->mean, c->sd);
    if (!c->st && sm->tau >= 0 && ahead(m)) {
        c->other = NEW_ARRAY(double, 2 * m->n);
        c->st = smodel_other(sm, c->z, g, m->t, m->n, c->other, c->other + m->n);
        if (!c->st) c->st = smodel_other_noise(sm, c->z, m->t, m->n, noise);
        if (!c->st) rescale(sm, m->n, noise, c->other, c->other + m->n);
    }
    for (size_t i = 0; i < m->n; i++) c->share[i] = 1;
}

/* A draw whose matrix is singular drops out. */
static void keep_good(struct forecast *m) {
    size_t kept = 0;
    for (size_t k = 0; k < m->n_c; k++) {
        m->failed |= m->c[k].st == GPM_E_NOMEM;
        if (m->c[k].st) {
            component_release(&m->c[k]);
            continue;
        }
        m->total += m->c[k].weight;
        m->c[kept++] = m->c[k];
    }
    m->n_c = kept;
}

/* Part k as it is where nothing has changed since the data, and beside it what else may be. */
static void part_further(struct forecast *m, size_t k, const struct further *f) {
    const struct smodel *sm = smodel_of(m->c[k].e);
    double unit = sm->data->sd[sm->s.transform];
    struct further_part part[FURTHER_PARTS];
    size_t parts = further_parts(f, 0, part), first = m->n_c;
    for (size_t j = 1; j < parts; j++) (void)component_again(m, k);
    for (size_t i = 0; i < m->n; i++) {
        (void)further_parts(f, after(m, i), part);
        for (size_t j = 0; j < parts; j++) {
            struct component *c = j ? &m->c[first + j - 1] : &m->c[k];
            c->share[i] = part[j].share;
            if (part[j].other) {
                c->mean[i] = m->c[k].other[i];
                c->sd[i] = m->c[k].other[m->n + i];
            }
            c->sd[i] = hypot(c->sd[i], unit * sqrt(part[j].more));
        }
    }
}

/* The changes that a structure has seen come again (further.h). */
static void add_further(struct forecast *m) {
    size_t n = m->n_c;
    if (!ahead(m)) return;
    m->c = mem_realloc(m->c, (n * FURTHER_PARTS + 1) * sizeof *m->c);
    for (size_t k = 0; k < n; k++) {
        struct further f;
        further_of(smodel_of(m->c[k].e), m->c[k].z, &f);
        if (f.n || f.pulses) part_further(m, k, &f);
    }
}

/* Values out of line come again in their share: every part once more, as wide as they were. */
static void add_wild(struct forecast *m, const struct smodel_data *d) {
    if (!(d->wild > 0)) return;
    size_t n = m->n_c;
    m->c = mem_realloc(m->c, (2 * n + 1) * sizeof *m->c);
    for (size_t k = 0; k < n; k++) {
        struct component *w = component_again(m, k), *c = &m->c[k];
        double more = d->wild_sd[smodel_of(c->e)->s.transform];
        w->weight = d->wild * c->weight;
        c->weight *= 1 - d->wild;
        for (size_t i = 0; i < m->n; i++) w->sd[i] = hypot(c->sd[i], more);
    }
}

/* ---- the mixture at one time ---- */
#define DOF_LEAST  3.0
#define DOF_VALUES 16.0

/* 0: tails are normal. */
static double tail_dof(const struct forecast *m, size_t i) {
    return m->t[i] >= 0 && m->t[i] <= m->last ? 0 : m->dof;
}

/* Counts around a rate, truths by a chance. The function is normal about the part's mean, its tails
 * those of what is to come: deviates of equal distance stand for it, which is exact to more digits
 * than draws of the parameters are. */
static void add_hidden(struct mixture *at, const struct smodel *sm, const double *z,
                       struct mixture_part p) {
    enum { DEVIATES = 24, PER_UNIT = 3 };
    for (int k = 0; k < DEVIATES; k++) {
        double u = (k - 0.5 * (DEVIATES - 1)) / PER_UNIT;
        double f = p.mean + p.sd * mixture_tails_deviate(p.par, u);
        struct mixture_part one = {.kind = sm->data->truths ? MIXTURE_CHANCE : MIXTURE_COUNT,
                                   .weight = p.weight * exp(-0.5 * u * u - LOG_SQRT_2PI) / PER_UNIT,
                                   .mean = link_back(p.link, f),
                                   .par = smodel_count_size(sm, z)};
        mixture_add(at, one);
    }
}

/* What the value at time i may be. On the scale of truths (many of them) the mean itself is the
 * chance, which is nowhere more certain than half a value among all would make it. */
static void mixture_at(const struct forecast *m, size_t i, struct mixture *at) {
    double least = 0.5 / (double)smodel_of(m->c->e)->data->n;
    mixture_clear(at);
    for (const struct component *c = m->c; c < m->c + m->n_c; c++) {
        const struct smodel *sm = smodel_of(c->e);
        if (!(c->share[i] > 0)) continue;
        struct mixture_part p = {.weight = c->weight * c->share[i],
                                 .mean = c->mean[i],
                                 .sd = c->sd[i],
                                 .par = tail_dof(m, i),
                                 .link = &sm->data->link[sm->s.transform]};
        if (sm->data->truths && !smodel_hidden(sm)) {
            p.kind = MIXTURE_CHANCE;
            p.mean = fmin(fmax(p.mean, least), 1 - least);
        }
        if (smodel_hidden(sm))
            add_hidden(at, sm, c->z, p);
        else
            mixture_add(at, p);
    }
}

/* ---- the whole ---- */
static void prediction_init(struct prediction *o, size_t n, const double *x) {
    double **at[] = {&o->x, &o->mean, &o->median, &o->lo, &o->hi, &o->logp, &o->crps};
    double *all = NEW_ARRAY(double, COUNT_OF(at) * n);
    for (size_t k = 0; k < COUNT_OF(at); k++) *at[k] = all + k * n;
    memcpy(o->x, x, n * sizeof *x);
    o->n = n;
}

void prediction_release(struct prediction *p) {
    mem_free(p->x);
    memset(p, 0, sizeof *p);
}

/* The mixture at n times; GPM_OK: it has parts. Release it in any case. paths: those of the draws
 * alone, which paths are drawn from; they meet changes and values out of line on their way. */
static enum gpm_status forecast_make(struct forecast *m, const struct posterior *p, size_t draws,
                                     size_t n, const double *x, bool paths) {
    const struct smodel_data *d = series_space_of(p->search)->data;
    *m = (struct forecast){.p = p,
                           .n = n,
                           .t = smodel_times(d, n, x),
                           .last = smodel_last(d),
                           .dof = fmax(DOF_LEAST, pow((double)d->n / DOF_VALUES, 2)),
                           .written = smodel_written(d)};
    if (smodel_scale_hidden(d)) m->written.step = 0; /* any count */
    choose(m, predict_draws(p->search, draws));
    la_parallel(p->search->opt.threads, m->n_c, run_component, m);
    keep_good(m);
    if (!paths) {
        add_further(m);
        add_wild(m, d);
    }
    return m->n_c ? GPM_OK : m->failed ? GPM_E_NOMEM : GPM_E_NOT_PD;
}

static void forecast_release(struct forecast *m) {
    for (size_t k = 0; k < m->n_c; k++) component_release(&m->c[k]);
    mem_free(m->c);
    mem_free(m->t);
}

static size_t usual_draws(const struct posterior *p) {
    size_t n = series_space_of(p->search)->data->n;
    return n <= 300 ? 60 : n <= 700 ? 40 : 24;
}

enum gpm_status predict(const struct posterior *p, size_t n, const double *x, const double *y,
                        double level, struct prediction *out) {
    return predict_closely(p, usual_draws(p), n, x, y, level, out);
}

enum gpm_status predict_closely(const struct posterior *p, size_t draws, size_t n, const double *x,
                                const double *y, double level, struct prediction *out) {
    struct forecast m;
    enum gpm_status st = forecast_make(&m, p, draws, n, x, false);
    struct mixture at = {.written = &m.written};
    if (st == GPM_OK) {
        prediction_init(out, n, x);
        for (size_t i = 0; i < n; i++) {
            mixture_at(&m, i, &at);
            out->mean[i] = mixture_mean(&at);
            out->median[i] = mixture_quantile(&at, 0.5);
            out->lo[i] = mixture_quantile(&at, 0.5 * (1 - level));
            out->hi[i] = mixture_quantile(&at, 0.5 * (1 + level));
            if (!y) continue;
            out->logp[i] = mixture_log_score(&at, y[i]);
            out->crps[i] = mixture_crps(&at, y[i]);
        }
    }
    mixture_release(&at);
    forecast_release(&m);
    return st;
}

enum gpm_status predict_quantiles(const struct posterior *p, size_t n, const double *x,
                                  const double *levels, size_t n_levels, double *out) {
    struct forecast m;
    enum gpm_status st = forecast_make(&m, p, usual_draws(p), n, x, false);
    struct mixture at = {.written = &m.written};
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        mixture_at(&m, i, &at);
        for (size_t k = 0; k < n_levels; k++)
            out[i * n_levels + k] = mixture_quantile(&at, levels[k]);
    }
    mixture_release(&at);
    forecast_release(&m);
    return st;
}

/* ---- paths ---- */
static enum gpm_status factored(enum gpm_status st, size_t n, double *cov) {
    size_t pivot;
    for (size_t i = 0; i < n && !st; i++) cov[i * (n + 1)] += 1e-9 * (1 + cov[i * (n + 1)]);
    return st ? st : la_potrf(n, cov, n, &pivot);
}

enum gpm_status predict_joint(const struct smodel *m, const double *z, struct gp *g, int part,
                              const double *t, size_t n, double *mean, double *factor) {
    return factored(smodel_part_cov(m, z, g, part, t, n, mean, factor), n, factor);
}

/* A part of the mixture as joint distributions, of each regime: means, factors of covariances,
 * variances of the noise. */
struct course {
    const struct component *c;
    struct regime {
        double *mean, *noise, *signal, *factor;
    } of[2];
    double *shift;
    bool *other;
};

static void course_init(struct course *w, size_t n) {
    double *at = NEW_ARRAY(double, n *(2 * n + 7));
    for (int k = 0; k < 2; k++, at += n * (n + 3))
        w->of[k] = (struct regime){at, at + n, at + 2 * n, at + 3 * n};
    w->shift = at;
    w->other = NEW_ARRAY(bool, n + 1);
}

static void course_release(struct course *w) {
    mem_free(w->of[0].mean);
    mem_free(w->other);
}

static enum gpm_status course_of(struct course *w, const struct forecast *m,
                                 const struct component *c) {
    const struct smodel at = reaching(m, c), *sm = &at;
    struct gp *g;
    struct regime *seen = &w->of[0], *other = &w->of[1];
    enum gpm_status st = smodel_condition(sm, series_space_of(m->p->search)->work[0], c->z, &g);
    w->c = c;
    if (!st) st = predict_joint(sm, c->z, g, SMODEL_SIGNAL, m->t, m->n, seen->mean, seen->factor);
    if (!st) st = smodel_noise_vars(sm, c->z, m->t, m->n, seen->noise);
    if (st || !c->other) return st;
    st = smodel_other_cov(sm, c->z, g, m->t, m->n, other->mean, other->factor);
    st = factored(st, m->n, other->factor);
    return st ? st : smodel_other_noise(sm, c->z, m->t, m->n, other->noise);
}

/* What is added to the level on the way to each time, after the data and before them, and in which
 * regime it lies. */
static void draw_further(const struct forecast *m, struct rng *r, struct course *w) {
    struct further f;
    further_of(smodel_of(w->c->e), w->c->z, &f);
    memset(w->shift, 0, m->n * sizeof *w->shift);
    memset(w->other, 0, m->n * sizeof *w->other);
    further_draw(&f, r, m->n, m->t, false, w->shift, w->other);
    further_draw(&f, r, m->n, m->t, true, w->shift, w->other);
}

/* The signals of both regimes from the same normal deviates: where one follows the other what is
 * common to them goes on. */
static void draw_signals(const struct forecast *m, struct rng *r, struct course *w) {
    for (size_t i = 0; i < m->n; i++) w->of[0].signal[i] = rng_normal(r);
    memcpy(w->of[1].signal, w->of[0].signal, m->n * sizeof *w->shift);
    for (int k = 0; k < (w->c->other ? 2 : 1); k++)
        la_trmv(false, m->n, w->of[k].factor, m->n, w->of[k].signal);
}

/* One path into column k of out: the signal and further changes together, the noise (and whether a
 * value is out of line) one by one. The dependence is that of the normal distribution, every single
 * value has its own tails. */
static void draw_path(const struct forecast *m, struct course *w, struct rng *r, size_t paths,
                      double *out) {
    const struct smodel *sm = smodel_of(w->c->e);
    const struct smodel_data *d = sm->data;
    struct mixture_written written = smodel_written(d);
    int tr = sm->s.transform;
    draw_further(m, r, w);
    draw_signals(m, r, w);
    for (size_t i = 0; i < m->n; i++) {
        const struct regime *g = &w->of[w->other[i]];
        double wild = rng_uniform(r) < d->wild ? d->wild_sd[tr] : 0;
        double beside = hypot(d->sd[tr] * sqrt(g->noise[i]), wild), var = 0;
        for (size_t j = 0; j <= i; j++) var += g->factor[i + j * m->n] * g->factor[i + j * m->n];
        double off = d->sd[tr] * g->signal[i] + beside * rng_normal(r);
        double spread = hypot(d->sd[tr] * sqrt(var), beside);
        double middle = d->mean[tr] + d->sd[tr] * (g->mean[i] + w->shift[i]);
        double v = middle + spread * mixture_tails_deviate(tail_dof(m, i), off / spread);
        double size = smodel_count_size(sm, w->c->z);
        if (d->truths && !smodel_hidden(sm)) /* the mean is the chance; its noise is in the draw */
            v = rng_uniform(r) < middle + d->sd[tr] * g->signal[i];
        else
            v = smodel_hidden(sm) ? smodel_likelihood(d)->draw(r, v, &size)
                                  : link_back(&d->link[tr], v);
        out[i * paths] = mixture_as_written(&written, v);
    }
}

/* Every part gives the paths that fall to it by systematic resampling. */
enum gpm_status predict_paths(const struct posterior *p, size_t n, const double *x, size_t paths,
                              uint64_t seed, double *out) {
    struct forecast m;
    enum gpm_status st = forecast_make(&m, p, usual_draws(p), n, x, true);
    struct course w;
    course_init(&w, n);
    double sum = 0;
    struct rng r;
    rng_init(&r, seed, 0, 55);
    double shift = rng_uniform(&r);
    size_t done = 0;
    for (const struct component *c = m.c; st == GPM_OK && c < m.c + m.n_c; c++) {
        sum += c->weight / m.total * (double)paths;
        bool last = c + 1 == m.c + m.n_c, ready = false;
        for (; done < paths && (last || (double)done + shift < sum) && st == GPM_OK; done++) {
            if (!ready) st = course_of(&w, &m, c);
            ready = true;
            if (!st) draw_path(&m, &w, &r, paths, out + done);
        }
    }
    course_release(&w);
    forecast_release(&m);
    return st;
}
