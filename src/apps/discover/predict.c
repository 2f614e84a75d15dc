/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictive mixtures: every chosen draw gives a location and a spread (on the scale of its
 * transform) at each new time; means, quantiles and densities are those of the mixture.
 *
 * At times among the data a part is normal. What is to come may be of another size than what was
 * seen, and the less was seen the less is known of that: outside of the data a part has the tails
 * of Student's t with max(3, (n/16)^2) degrees of freedom: 32 values of a series tell as much as
 * four would that are independent, and a hundred nearly all there is (chosen on training parts of
 * M3 and of R's series). It is Wallace's form (1959), which is a distribution of its own and within
 * .002 of t's:
 *
 *     F(r) = Phi(w(r)),  w(r) = c sgn(r) sqrt(v log(1 + r^2/v)),  c = (8v + 1)/(8v + 3),
 *
 * and beyond w = 2, of which those data say nothing, normal with the spread that it has there: on
 * the scale of logarithms t itself would have no mean.
 */
#include "apps/discover/predict.h"
#include "apps/discover/counts.h"
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
struct mixture {
    const struct posterior *p;
    struct component *c;
    size_t n_c, n;
    double total; /* of the weights */
    double *t;    /* new times, standardised */
    double last;  /* of the data */
    double dof;   /* of the tails outside of the data */
    bool failed;  /* for want of memory */
    struct count_mixture
        *counts;    /* few counts (SCALE_RATE): their distribution at time number ... */
    size_t counted; /* ... this; SIZE_MAX: of none yet */
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

static void choose(struct mixture *m, size_t budget) {
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
static struct component *component_again(struct mixture *m, size_t k) {
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
static double after(const struct mixture *m, size_t i) {
    return fmax(fmax(m->t[i] - m->last, -m->t[i]), 0);
}

static bool ahead(const struct mixture *m) {
    for (size_t i = 0; i < m->n; i++)
        if (after(m, i) > 0) return true;
    return false;
}

/* The structure of a part, as far back as the times go. */
static struct smodel reaching(const struct mixture *m, const struct component *c) {
    double first = 0;
    for (size_t i = 0; i < m->n; i++) first = fmin(first, m->t[i]);
    return smodel_reaching(smodel_of(c->e), first);
}

static void run_component(void *ctx, size_t job, int thread) {
    struct mixture *m = ctx;
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
static void keep_good(struct mixture *m) {
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
static void part_further(struct mixture *m, size_t k, const struct further *f) {
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
static void add_further(struct mixture *m) {
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
static void add_wild(struct mixture *m, const struct smodel_data *d) {
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

static double weight_at(const struct component *c, size_t i) {
    return c->weight * c->share[i];
}

/* ---- tails ---- */
#define DOF_LEAST  3.0
#define DOF_VALUES 16.0
#define TAIL_END   2.0 /* normal deviate beyond which tails are normal again */

static double tail_dof(const struct mixture *m, size_t i) {
    return m->t[i] >= 0 && m->t[i] <= m->last ? INFINITY : m->dof;
}

static double tail_unit(double dof) {
    return (8 * dof + 1) / (8 * dof + 3);
}

static double wallace(double dof, double r) {
    return copysign(tail_unit(dof) * sqrt(dof * log1p(r / dof * r)), r);
}

static double wallace_inverse(double dof, double w) {
    double u = w / tail_unit(dof);
    return copysign(sqrt(dof * expm1(u / dof * u)), w);
}

/* w(r): the normal deviate of the same probability. */
static double tail_normal(double dof, double r) {
    if (isinf(dof)) return r;
    double end = wallace_inverse(dof, TAIL_END);
    return fabs(r) <= end ? wallace(dof, r) : r * (TAIL_END / end);
}

/* The inverse. */
static double tail_deviate(double dof, double w) {
    if (isinf(dof)) return w;
    if (fabs(w) <= TAIL_END) return wallace_inverse(dof, w);
    return w * (wallace_inverse(dof, TAIL_END) / TAIL_END);
}

/* log dw/dr */
static double tail_log_slope(double dof, double r, double w) {
    if (isinf(dof)) return 0;
    if (fabs(w) > TAIL_END) return log(TAIL_END / wallace_inverse(dof, TAIL_END));
    double c = tail_unit(dof);
    return (fabs(r) < 1e-6 ? log(c) : 2 * log(c) + log(r / w)) - log1p(r / dof * r);
}

/* ---- few counts ---- */
#define DEVIATES 24

static double deviate(int k) {
    return (k - DEVIATES / 2 + 0.5) / 3;
}

/* The rate is lognormal about a part's mean, its tails those of what is to come: deviates of equal
 * distance stand for it, which is exact to more digits than draws of the parameters are. */
static void add_rates(const struct mixture *m, const struct component *c, size_t i) {
    const struct smodel *sm = smodel_of(c->e);
    double size = smodel_count_size(sm, c->z), dof = tail_dof(m, i), w[DEVIATES], sum = 0;
    for (int k = 0; k < DEVIATES; k++) sum += w[k] = exp(-0.5 * deviate(k) * deviate(k));
    for (int k = 0; k < DEVIATES; k++) {
        double r = tail_deviate(dof, deviate(k));
        counts_add(m->counts, (struct count_rate){exp(c->mean[i] + c->sd[i] * r), size,
                                                  weight_at(c, i) * w[k] / sum});
    }
}

/* The distribution of the count at time i; NULL: values are no such counts. */
static struct count_mixture *counts_at(struct mixture *m, size_t i) {
    if (!m->counts || m->counted == i) return m->counts;
    counts_clear(m->counts);
    for (const struct component *c = m->c; c < m->c + m->n_c; c++)
        if (c->share[i] > 0) add_rates(m, c, i);
    m->counted = i;
    return m->counts;
}

/* ---- values of 0 and 1 ---- */
/* The chance of a 1 at time i: the mean of the parts' chances, each over where its log odds may lie
 * by the same deviates. On the scale of values (many of them) the mean itself is the chance, which
 * is nowhere more certain than half a value among all would make it. */
static double chance_at(const struct mixture *m, size_t i) {
    double s = 0, dof = tail_dof(m, i), least = 0.5 / (double)smodel_of(m->c->e)->data->n;
    for (const struct component *c = m->c; c < m->c + m->n_c; c++) {
        const struct smodel *sm = smodel_of(c->e);
        double p = 0, all = 0;
        for (int k = 0; k < DEVIATES && smodel_hidden(sm); k++) {
            double u = deviate(k), w = exp(-0.5 * u * u);
            p += w * logistic(c->mean[i] + c->sd[i] * tail_deviate(dof, u));
            all += w;
        }
        s += weight_at(c, i) * (all > 0 ? p / all : fmin(fmax(c->mean[i], least), 1 - least));
    }
    return s / m->total;
}

/* ---- the mixture at one time ---- */
static double to_scale(const struct component *c, double y) {
    return smodel_forward(smodel_of(c->e)->data, smodel_of(c->e)->s.transform, y);
}

static double mixture_cdf(const struct mixture *m, size_t i, double y) {
    double s = 0, dof = tail_dof(m, i);
    for (const struct component *c = m->c; c < m->c + m->n_c; c++)
        if (c->share[i] > 0)
            s += weight_at(c, i) *
                 norm_cdf(tail_normal(dof, (to_scale(c, y) - c->mean[i]) / c->sd[i]));
    return s / m->total;
}

/* Doubles in their own order as integers: -inf is the least, neighbours differ by one. */
static int64_t double_rank(double v) {
    int64_t k;
    memcpy(&k, &v, sizeof k);
    return k < 0 ? INT64_MIN - k : k;
}

static double rank_double(int64_t k) {
    double v;
    if (k < 0) k = INT64_MIN - k;
    memcpy(&v, &k, sizeof v);
    return v;
}

/* The least double at which the distribution function reaches q. It lies between the least and the
 * greatest of the parts' own quantiles; halving the doubles between (not the distance) finds it in
 * at most 64 steps however many orders of magnitude the parts are apart. +inf: beyond all numbers.
 * slack: doubles by which the answer may be too large. */
static double mixture_quantile(struct mixture *m, size_t i, double q, int64_t slack) {
    const struct smodel_data *d = smodel_of(m->c->e)->data;
    struct count_mixture *counts = counts_at(m, i);
    if (d->truths) return q > 1 - chance_at(m, i);
    if (counts) return smodel_possible(d, counts_quantile(counts, q));
    double lo = INFINITY, hi = -INFINITY, z = tail_deviate(tail_dof(m, i), norm_quantile(q));
    for (const struct component *c = m->c; c < m->c + m->n_c; c++) {
        if (!(c->share[i] > 0)) continue;
        double v = smodel_back(d, smodel_of(c->e)->s.transform, c->mean[i] + z * c->sd[i]);
        lo = fmin(lo, v);
        hi = fmax(hi, v);
    }
    int64_t a = double_rank(lo), b = double_rank(hi);
    while (b - slack > a) {
        int64_t mid = (a >> 1) + (b >> 1) + (a & b & 1); /* no overflow; below b */
        if (mixture_cdf(m, i, rank_double(mid)) < q)
            a = mid + 1;
        else
            b = mid;
    }
    double y = rank_double(b);
    if (d->scale == SCALE_ROOT && d->counts)
        y = fmax(ceil(y - 0.5), 0) + 0.0; /* a count k has what lies within half of it */
    return smodel_written(d, y);
}

/* The mean; of a lognormal part exp(m + s^2/2), of which the heavier tails would have none. It may
 * be infinite. */
static double mixture_mean(struct mixture *m, size_t i) {
    struct count_mixture *counts = counts_at(m, i);
    double s = 0;
    if (smodel_of(m->c->e)->data->truths) return chance_at(m, i);
    if (counts) return counts_mean(counts);
    for (const struct component *c = m->c; c < m->c + m->n_c; c++) {
        const struct smodel *sm = smodel_of(c->e);
        if (c->share[i] > 0)
            s += weight_at(c, i) *
                 smodel_back_mean(sm->data, sm->s.transform, c->mean[i], c->sd[i] * c->sd[i]);
    }
    return s / m->total;
}

static double component_logp(const struct component *c, size_t i, double y, double dof) {
    double v = to_scale(c, y), r = (v - c->mean[i]) / c->sd[i], w = tail_normal(dof, r);
    double lp = -0.5 * w * w - log(c->sd[i]) - 0.91893853320467274 + tail_log_slope(dof, r, w);
    return isinf(v)
               ? -INFINITY
               : lp + smodel_log_stretch(smodel_of(c->e)->data, smodel_of(c->e)->s.transform, y);
}

/* Of one of few levels: the probability of all that is written so, per unit, as densities are. */
static double level_density(const struct mixture *m, size_t i, double y) {
    const struct smodel_data *d = smodel_of(m->c->e)->data;
    double half = 0.5 * d->level_y;
    double below = y - half < d->low ? 0 : mixture_cdf(m, i, y - half);
    return ((y + half > d->high ? 1 : mixture_cdf(m, i, y + half)) - below) / d->level_y;
}

#define LEVEL_DIGITS 1e-10 /* differences of the distribution function that have some */

static double mixture_logp(struct mixture *m, size_t i, double y) {
    struct count_mixture *counts = counts_at(m, i);
    if (smodel_of(m->c->e)->data->truths)
        return log(y > 0.5 ? chance_at(m, i) : 1 - chance_at(m, i));
    if (counts) return counts_log_probability(counts, y);
    double step = smodel_of(m->c->e)->data->level_y, level = step > 0 ? level_density(m, i, y) : 0;
    if (level * step > LEVEL_DIGITS) return log(level);
    double best = -INFINITY, s = 0, dof = tail_dof(m, i);
    const struct component *end = m->c + m->n_c;
    for (const struct component *c = m->c; c < end; c++)
        if (c->share[i] > 0) best = fmax(best, component_logp(c, i, y, dof));
    if (isinf(best)) /* forecasts of roots end at 0, which has a probability and no density */
        return log(mixture_cdf(m, i, y) - mixture_cdf(m, i, nextafter(y, -INFINITY)));
    for (const struct component *c = m->c; c < end; c++)
        if (c->share[i] > 0) s += weight_at(c, i) * exp(component_logp(c, i, y, dof) - best);
    return best + log(s / m->total);
}

/* Continuous ranked probability score as an integral over levels a of the quantiles Q(a),
 *   2 (1[y <= Q(a)] - a) (Q(a) - y) da,
 * by the midpoint rule: levels are spread as the mixture is, however wide it is. */
static double mixture_crps(struct mixture *m, size_t i, double y) {
    enum { LEVELS = 100 };
    const int64_t slack = (int64_t)1 << 32; /* a millionth of the value */
    double s = 0;
    for (int k = 0; k < LEVELS; k++) {
        double a = (k + 0.5) / LEVELS, q = mixture_quantile(m, i, a, slack);
        s += 2 * ((y <= q) - a) * (q - y) / LEVELS;
    }
    return s;
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
static enum gpm_status mixture_make(struct mixture *m, const struct posterior *p, size_t draws,
                                    size_t n, const double *x, bool paths) {
    const struct smodel_data *d = series_space_of(p->search)->data;
    *m = (struct mixture){.p = p,
                          .n = n,
                          .t = smodel_times(d, n, x),
                          .last = smodel_last(d),
                          .dof = fmax(DOF_LEAST, pow((double)d->n / DOF_VALUES, 2))};
    if (d->scale == SCALE_RATE) m->counts = NEW(struct count_mixture);
    m->counted = SIZE_MAX;
    choose(m, predict_draws(p->search, draws));
    la_parallel(p->search->opt.threads, m->n_c, run_component, m);
    keep_good(m);
    if (!paths) {
        add_further(m);
        add_wild(m, d);
    }
    return m->n_c ? GPM_OK : m->failed ? GPM_E_NOMEM : GPM_E_NOT_PD;
}

static void mixture_release(struct mixture *m) {
    if (m->counts) counts_release(m->counts);
    mem_free(m->counts);
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
    struct mixture m;
    enum gpm_status st = mixture_make(&m, p, draws, n, x, false);
    if (st == GPM_OK) {
        prediction_init(out, n, x);
        for (size_t i = 0; i < n; i++) {
            out->mean[i] = mixture_mean(&m, i);
            out->median[i] = mixture_quantile(&m, i, 0.5, 0);
            out->lo[i] = mixture_quantile(&m, i, 0.5 * (1 - level), 0);
            out->hi[i] = mixture_quantile(&m, i, 0.5 * (1 + level), 0);
            if (!y) continue;
            out->logp[i] = mixture_logp(&m, i, y[i]);
            out->crps[i] = mixture_crps(&m, i, y[i]);
        }
    }
    mixture_release(&m);
    return st;
}

enum gpm_status predict_quantiles(const struct posterior *p, size_t n, const double *x,
                                  const double *levels, size_t n_levels, double *out) {
    struct mixture m;
    enum gpm_status st = mixture_make(&m, p, usual_draws(p), n, x, false);
    for (size_t i = 0; i < n && st == GPM_OK; i++)
        for (size_t k = 0; k < n_levels; k++)
            out[i * n_levels + k] = mixture_quantile(&m, i, levels[k], 0);
    mixture_release(&m);
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

static enum gpm_status course_of(struct course *w, const struct mixture *m,
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
static void draw_further(const struct mixture *m, struct rng *r, struct course *w) {
    struct further f;
    further_of(smodel_of(w->c->e), w->c->z, &f);
    memset(w->shift, 0, m->n * sizeof *w->shift);
    memset(w->other, 0, m->n * sizeof *w->other);
    further_draw(&f, r, m->n, m->t, false, w->shift, w->other);
    further_draw(&f, r, m->n, m->t, true, w->shift, w->other);
}

/* The signals of both regimes from the same normal deviates: where one follows the other what is
 * common to them goes on. */
static void draw_signals(const struct mixture *m, struct rng *r, struct course *w) {
    for (size_t i = 0; i < m->n; i++) w->of[0].signal[i] = rng_normal(r);
    memcpy(w->of[1].signal, w->of[0].signal, m->n * sizeof *w->shift);
    for (int k = 0; k < (w->c->other ? 2 : 1); k++)
        la_trmv(false, m->n, w->of[k].factor, m->n, w->of[k].signal);
}

/* One path into column k of out: the signal and further changes together, the noise (and whether a
 * value is out of line) one by one. The dependence is that of the normal distribution, every single
 * value has its own tails. */
static void draw_path(const struct mixture *m, struct course *w, struct rng *r, size_t paths,
                      double *out) {
    const struct smodel *sm = smodel_of(w->c->e);
    const struct smodel_data *d = sm->data;
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
        double v = middle + spread * tail_deviate(tail_dof(m, i), off / spread);
        double size = m->counts ? smodel_count_size(sm, w->c->z) : 0;
        if (d->truths && !smodel_hidden(sm)) /* the mean is the chance; its noise is in the draw */
            v = rng_uniform(r) < middle + d->sd[tr] * g->signal[i];
        else
            v = smodel_hidden(sm) ? smodel_likelihood(d)->draw(r, v, &size) : smodel_back(d, tr, v);
        if (d->scale == SCALE_ROOT && d->counts) v = floor(v + 0.5);
        out[i * paths] = smodel_written(d, v);
    }
}

/* Every part gives the paths that fall to it by systematic resampling. */
enum gpm_status predict_paths(const struct posterior *p, size_t n, const double *x, size_t paths,
                              uint64_t seed, double *out) {
    struct mixture m;
    enum gpm_status st = mixture_make(&m, p, usual_draws(p), n, x, true);
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
    mixture_release(&m);
    return st;
}
