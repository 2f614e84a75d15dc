/* SPDX-License-Identifier: Apache-2.0
 *
 * Laplace's method and importance sampling over an unconstrained space: mixtures of Student-t
 * proposals around modes.
 *
 *     q(z) = sum_k w_k t_nu(z; mode_k, H_k^-1),   w_k ~ p(mode_k) (2 pi)^(d/2) |H_k|^(-1/2)
 *
 * where H_k is the negative Hessian of log p at mode k. Each component has the mass that Laplace's
 * method (Tierney and Kadane 1986) gives its mode. Student's tails (nu = 5) keep the importance
 * weights p / q bounded where normal tails would not. The draws then improve q: components with the
 * moments of the weighted draws are added (adaptive importance sampling, Cappe et al. 2008), one of
 * them wide as a defence (Hesterberg 1995). Only draws made after the last change count.
 */
#include "numeric/posterior/laplace.h"
#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

/* In the callers' units the prior has a spread of about 1. A direction flatter than MIN_CURVATURE
 * would get a component much wider than the prior. */
#define MIN_CURVATURE 0.3
#define DIFF_STEP     1e-4
#define REACH         4.0 /* nats below the first mode within which other regions may matter */
#define REACH_MODES   4   /* limit with regions elsewhere; leaves room for those from draws */

void proposal_release(struct proposal *p) {
    while (p->n) mem_free(p->mode[--p->n].z);
}

/* ---- density and draws ---- */
size_t density_many(const struct density *t, size_t n, const double *z, double *logp,
                    double *grad) {
    size_t d = (size_t)t->d, done = t->many ? n : 0, few = grad ? 1 : HASTY_POINTS;
    if (t->many) t->many(t->ctx, n, z, logp, grad);
    for (size_t i = 0; i < n && t->many && t->evals; i++) *t->evals += logp[i] > -INFINITY;
    for (; done < n && !(done >= few && haste_now(t->haste)); done++)
        logp[done] = density_eval(t, z + done * d, grad ? grad + done * d : NULL);
    for (size_t i = done; i < n; i++) logp[i] = -INFINITY;
    return done;
}

/* log t_nu of z around the mode: r^2 = |scale^-1 (z - mode)|^2. */
static double mode_log_density(const struct mode *m, int d, const double *z) {
    double x[PROPOSAL_MAX_DIM], r2 = 0, nu = PROPOSAL_NU;
    for (int i = 0; i < d; i++) x[i] = z[i] - m->z[i];
    la_trsv(false, (size_t)d, m->scale, (size_t)d, x);
    for (int i = 0; i < d; i++) r2 += x[i] * x[i];
    return log_gamma(0.5 * (nu + d)) - log_gamma(0.5 * nu) - 0.5 * d * log(nu * M_PI) -
           m->log_scale - 0.5 * (nu + d) * log1p(r2 / nu);
}

/* log q(z): weights are kept as logs and not normalised, so their sum is divided out here. */
double proposal_log_density(const struct proposal *p, const double *z) {
    double num[PROPOSAL_MAX_MODES + 2], den[PROPOSAL_MAX_MODES + 2];
    for (int k = 0; k < p->n; k++) {
        den[k] = p->mode[k].log_weight;
        num[k] = den[k] + mode_log_density(&p->mode[k], p->d, z);
    }
    return logsumexp(num, (size_t)p->n) - logsumexp(den, (size_t)p->n);
}

static const struct mode *share_of(const struct proposal *p, int n, double u) {
    double w[PROPOSAL_MAX_MODES + 2] = {0};
    for (int k = 0; k < n; k++) w[k] = p->mode[k].log_weight;
    double total = logsumexp(w, (size_t)n);
    for (int k = 0; k < n; k++) {
        u -= exp(w[k] - total);
        if (u <= 0) return &p->mode[k];
    }
    return &p->mode[n - 1];
}

const struct mode *proposal_mode_at(const struct proposal *p, double u) {
    return share_of(p, p->n_modes ? p->n_modes : p->n, u);
}

void mode_point(const struct mode *m, int d, const double *t, double *z) {
    memcpy(z, t, (size_t)d * sizeof *z);
    la_trmv(false, (size_t)d, m->scale, (size_t)d, z);
    for (int i = 0; i < d; i++) z[i] += m->z[i];
}

/* t_nu = normal / sqrt(chi^2_nu / nu), with one divisor for all coordinates; nu is a whole number,
 * so chi^2 is a sum of that many squares. */
void proposal_draw(const struct proposal *p, struct rng *r, double *z) {
    const struct mode *m = share_of(p, p->n, rng_uniform(r));
    double x[PROPOSAL_MAX_DIM], chi2 = 0;
    for (int i = 0; i < p->d; i++) x[i] = rng_normal(r);
    for (int i = 0; i < (int)PROPOSAL_NU; i++) {
        double g = rng_normal(r);
        chi2 += g * g;
    }
    la_trmv(false, (size_t)p->d, m->scale, (size_t)p->d, x);
    double f = sqrt(PROPOSAL_NU / chi2);
    for (int i = 0; i < p->d; i++) z[i] = m->z[i] + f * x[i];
}

void proposal_walk(const struct proposal *p, struct rng *r, double *z) {
    const struct mode *m = &p->mode[p->n_modes < p->n ? p->n_modes : 0];
    double x[PROPOSAL_MAX_DIM], f = 1.7 / sqrt((double)p->d);
    for (int i = 0; i < p->d; i++) x[i] = rng_normal(r);
    la_trmv(false, (size_t)p->d, m->scale, (size_t)p->d, x);
    for (int i = 0; i < p->d; i++) z[i] += f * x[i];
}

/* ---- modes ---- */
/* Negative Hessian by central differences of the gradient, symmetrised. */
static bool hessian(const struct density *t, const double *z0, double *h) {
    size_t d = (size_t)t->d;
    double *z = NEW_ARRAY(double, 4 * d * d + 2 * d), *g = z + 2 * d * d, *logp = g + 2 * d * d;
    double step = t->step > 0 ? t->step : DIFF_STEP;
    bool ok = true;
    for (size_t k = 0; k < 2 * d; k++) { /* up and down, one coordinate after the other */
        memcpy(z + k * d, z0, sizeof *z * d);
        z[k * d + k / 2] += k % 2 ? -step : step;
    }
    density_many(t, 2 * d, z, logp, g);
    for (size_t k = 0; k < 2 * d; k++) ok = ok && isfinite(logp[k]);
    for (size_t i = 0; i < d && ok; i++)
        for (size_t j = 0; j < d; j++)
            h[j + i * d] = -(g[2 * i * d + j] - g[(2 * i + 1) * d + j]) / (2 * step);
    for (size_t i = 0; i < d && ok; i++)
        for (size_t j = 0; j < i; j++)
            h[i + j * d] = h[j + i * d] = 0.5 * (h[i + j * d] + h[j + i * d]);
    mem_free(z);
    return ok;
}

/* scale = lower Cholesky factor of V diag(1/lambda) V'. */
static bool scale_from_hessian(int d, double *h, struct mode *m) {
    double lam[PROPOSAL_MAX_DIM];
    size_t n = (size_t)d, pivot;
    if (la_syev(n, h, n, lam) != GPM_OK) return false;
    for (int k = 0; k < d; k++)
        if (!(lam[k] > MIN_CURVATURE)) lam[k] = MIN_CURVATURE;
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            double s = 0;
            for (int k = 0; k < d; k++) s += h[i + k * d] * h[j + k * d] / lam[k];
            m->scale[i + j * d] = s;
        }
    if (la_potrf(n, m->scale, n, &pivot) != GPM_OK) return false;
    m->log_scale = 0;
    for (int i = 0; i < d; i++) m->log_scale += log(m->scale[i + i * d]);
    return true;
}

static struct mode mode_alloc(int d, const double *z) {
    double *at = mem_zalloc(sizeof *at * (size_t)(d + d * d));
    memcpy(at, z, sizeof *z * (size_t)d);
    return (struct mode){at, at + d, 0, 0, 0};
}

double proposal_add_mode(struct proposal *p, const struct density *t, const double *z) {
    int d = t->d;
    p->d = d;
    if (p->n >= PROPOSAL_MAX_MODES) return -INFINITY;
    struct mode m = mode_alloc(d, z);
    double *h = NEW_ARRAY(double, (size_t)(d * d));
    m.logp = density_eval(t, z, NULL);
    bool ok = isfinite(m.logp) && !haste_now(t->haste) && hessian(t, z, h) &&
              scale_from_hessian(d, h, &m);
    mem_free(h);
    if (!ok) {
        mem_free(m.z);
        return -INFINITY;
    }
    /* log evidence of the mode: |scale| = |H|^(-1/2) */
    m.log_weight = m.logp + 0.5 * d * LOG_2PI + m.log_scale;
    p->mode[p->n++] = m;
    return m.log_weight;
}

/* Element (a, b) of scale scale'. */
static double covariance(const struct mode *m, int d, int a, int b) {
    double sum = 0;
    for (int k = 0; k <= a && k <= b; k++) sum += m->scale[a + k * d] * m->scale[b + k * d];
    return sum;
}

bool proposal_lend_mode(struct proposal *p, int d, const struct mode *like, int like_d,
                        const int *source, const double *unit, const double *z, double logp) {
    struct mode m = mode_alloc(d, z);
    size_t pivot;
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            int a = source ? source[i] : i, b = source ? source[j] : j;
            m.scale[i + j * d] = a >= 0 && b >= 0 ? covariance(like, like_d, a, b)
                                 : i == j         ? unit[i] * unit[i]
                                                  : 0;
        }
    if (la_potrf((size_t)d, m.scale, (size_t)d, &pivot) != GPM_OK) {
        mem_free(m.z);
        return false;
    }
    for (int i = 0; i < d; i++) m.log_scale += log(m.scale[i + i * d]);
    m.logp = logp;
    m.log_weight = logp + 0.5 * d * LOG_2PI + m.log_scale;
    p->d = d;
    p->mode[p->n++] = m;
    return true;
}

/* Drops the mode with the least weight among those from `from` on. */
static void drop_least(struct proposal *p, int from) {
    int least = from;
    for (int k = from; k < p->n; k++)
        if (p->mode[k].log_weight < p->mode[least].log_weight) least = k;
    mem_free(p->mode[least].z);
    p->mode[least] = p->mode[--p->n];
}

void proposal_make_room(struct proposal *p) {
    if (p->n >= PROPOSAL_MAX_MODES) drop_least(p, 1);
}

void proposal_reach(struct proposal *p, const struct density *t) {
    double at[PROPOSAL_MAX_DIM], unit[PROPOSAL_MAX_DIM];
    int source[PROPOSAL_MAX_DIM], own = p->n;
    if (!t->elsewhere || !own || own >= REACH_MODES || haste_now(t->haste)) return;
    const struct mode first = p->mode[0];
    double here = density_eval(t, first.z, NULL);
    for (int k = 0; t->elsewhere(t->ctx, first.z, k, at, unit); k++) {
        for (int i = 0; i < p->d; i++) source[i] = unit[i] > 0 ? -1 : i;
        double logp = first.logp + density_eval(t, at, NULL) - here;
        if (!isfinite(logp) || !proposal_lend_mode(p, p->d, &first, p->d, source, unit, at, logp))
            continue;
        struct mode *m = &p->mode[p->n - 1]; /* its shape is borrowed: must never give most draws */
        m->log_weight = fmin(m->log_weight, first.log_weight);
        if (m->log_weight < first.log_weight - REACH)
            drop_least(p, p->n - 1);
        else if (p->n > REACH_MODES)
            drop_least(p, own);
    }
}

/* A new field must be written, or set by the reader. */
PACK_SIZE(struct mode, 40, "see mode_pack");
PACK_SIZE(struct proposal, 336, "see proposal_pack");
PACK_SIZE(struct draws, 40, "see is_draws_pack");

/* The mode of a structure that was abandoned early has no shape. */
static void mode_pack(struct pack *p, int d, struct mode *m) {
    const double none[PROPOSAL_MAX_DIM] = {0};
    bool shaped = m->scale != NULL;
    pack_bool(p, &shaped);
    if (p->reading) *m = mode_alloc(d, none);
    if (p->reading && !shaped) m->scale = NULL;
    pack_doubles(p, m->z, (size_t)d);
    if (shaped) pack_doubles(p, m->scale, (size_t)(d * d));
    pack_double(p, &m->log_scale);
    pack_double(p, &m->log_weight);
    pack_double(p, &m->logp);
}

void proposal_pack(struct pack *p, struct proposal *x) {
    x->d = (int)pack_choice(p, (uint32_t)x->d, PROPOSAL_MAX_DIM + 1);
    x->n_modes = (int)pack_choice(p, (uint32_t)x->n_modes, COUNT_OF(x->mode) + 1);
    int n = (int)pack_choice(p, (uint32_t)x->n, COUNT_OF(x->mode) + 1);
    for (int k = 0; k < n; k++) {
        mode_pack(p, x->d, &x->mode[k]);
        x->n = p->reading ? k + 1 : n;
    }
}

/* ---- importance sampling ---- */
void is_draws_release(struct draws *d) {
    mem_free(d->z);
    mem_free(d->logp);
    mem_free(d->w);
    memset(d, 0, sizeof *d);
}

static void draws_init(struct draws *d, size_t n, int dim) {
    d->n = n;
    d->d = (size_t)dim;
    d->z = NEW_ARRAY(double, n *(size_t)dim);
    d->logp = NEW_ARRAY(double, n);
    d->w = NEW_ARRAY(double, n);
}

void is_draws_pack(struct pack *p, struct draws *d) {
    size_t n = d->n;
    d->d = pack_choice(p, (uint32_t)d->d, PROPOSAL_MAX_DIM + 1);
    pack_count(p, &n, (d->d + 2) * sizeof(double));
    if (p->reading && n) draws_init(d, n, (int)d->d);
    pack_doubles(p, d->z, n * d->d);
    pack_doubles(p, d->logp, n);
    pack_doubles(p, d->w, n);
}

/* Computes draws, log densities and log weights (left in w). */
static void sample(const struct density *t, const struct proposal *p, struct rng *r,
                   struct draws *d) {
    for (size_t i = 0; i < d->n; i++) proposal_draw(p, r, d->z + i * d->d);
    d->n = density_many(t, d->n, d->z, d->logp, NULL);
    for (size_t i = 0; i < d->n; i++)
        d->w[i] = isfinite(d->logp[i]) ? d->logp[i] - proposal_log_density(p, d->z + i * d->d)
                                       : -INFINITY;
}

/* Turns log weights into shares that sum to 1. With w_i = p/q of n draws:
 *
 *     Z ~ 1/n sum w_i (unbiased),   ess / n = (sum w)^2 / (n sum w^2)
 *
 * and the error of log Z by the delta method from the relative variance of the weights. */
static struct is_result normalise(struct draws *d) {
    struct is_result r = {-INFINITY, INFINITY, 0};
    double total = logsumexp(d->w, d->n), s2 = 0;
    if (!isfinite(total)) return r;
    for (size_t i = 0; i < d->n; i++) {
        d->w[i] = exp(d->w[i] - total);
        s2 += d->w[i] * d->w[i];
    }
    double n = (double)d->n;
    r.logz = total - log(n);
    r.ess = 1 / (s2 * n);
    /* relative variance of the mean weight: (n sum w^2 - 1) / n */
    r.se = sqrt(fmax(n * s2 - 1, 0) / n);
    return r;
}

/* A component with the moments of the weighted draws, its covariance times `widen`. The diagonal
 * gets a factor of 1.02 to stay away from singularity. False: the covariance is singular (fewer
 * draws with weight than dimensions). */
static bool moments(const struct draws *d, int n, double widen, struct mode *out) {
    double mean[PROPOSAL_MAX_DIM] = {0};
    for (size_t i = 0; i < d->n; i++)
        for (int k = 0; k < n; k++) mean[k] += d->w[i] * d->z[i * d->d + (size_t)k];
    struct mode m = mode_alloc(n, mean);
    for (size_t i = 0; i < d->n; i++) {
        const double *z = d->z + i * d->d;
        for (int a = 0; a < n; a++)
            for (int b = 0; b <= a; b++)
                m.scale[a + b * n] += widen * d->w[i] * (z[a] - mean[a]) * (z[b] - mean[b]);
    }
    for (int a = 0; a < n; a++) m.scale[a + a * n] *= 1.02;
    size_t pivot;
    if (la_potrf((size_t)n, m.scale, (size_t)n, &pivot) != GPM_OK) {
        mem_free(m.z);
        return false;
    }
    for (int a = 0; a < n; a++) m.log_scale += log(m.scale[a + a * n]);
    *out = m;
    return true;
}

/* Adds two components with the moments of the draws, the second wide as a defence against heavy
 * weights. They take 60 and 15 percent of the mixture and replace those of an earlier stage. */
static void add_moments(struct proposal *p, const struct draws *d, double ess) {
    /* a covariance of d (d + 1) / 2 numbers from fewer draws would be noise */
    if (ess * (double)d->n < 2.5 * p->d) return;
    struct mode narrow, wide;
    if (!moments(d, p->d, 1.1, &narrow)) return;
    if (!moments(d, p->d, 4.0, &wide)) {
        mem_free(narrow.z);
        return;
    }
    while (p->n > p->n_modes) mem_free(p->mode[--p->n].z);
    double w[PROPOSAL_MAX_MODES];
    for (int k = 0; k < p->n; k++) w[k] = p->mode[k].log_weight;
    double total = logsumexp(w, (size_t)p->n);
    narrow.log_weight = total + log(0.60 / 0.25);
    wide.log_weight = total + log(0.15 / 0.25);
    p->mode[p->n++] = narrow;
    p->mode[p->n++] = wide;
}

struct is_result importance_once(const struct density *t, const struct proposal *p, size_t n,
                                 struct rng *r, struct draws *out) {
    draws_init(out, n, t->d);
    sample(t, p, r, out);
    return normalise(out);
}

/* Stage 0 is the pilot, which only shapes q; stage 1 is the estimate. Stage 2, from a q also shaped
 * by stage 1, replaces the estimate if few of its draws counted. *out holds the draws of the last
 * stage. n_modes is fixed at the first call; later calls replace the components from moments. */
struct is_result importance(const struct density *t, struct proposal *p, size_t pilot, size_t n,
                            struct rng *r, struct draws *out) {
    struct is_result res = {0};
    p->n_modes = p->n_modes ? p->n_modes : p->n;
    for (int stage = pilot ? 0 : 1; stage < 3; stage++) {
        if (stage == 2 && res.ess > 0.35) break; /* a second adaptation only if needed */
        if (out->n && haste_now(t->haste)) break;
        if (stage > 0 && out->n) is_draws_release(out);
        struct draws d;
        res = importance_once(t, p, stage == 0 ? pilot : n, r, &d);
        *out = d;
        if (stage == 0 || (stage == 1 && res.ess <= 0.35)) add_moments(p, out, res.ess);
    }
    return res;
}

/* No draw weighs more than 1/sqrt(n) of all (truncated importance sampling, Ionides 2008).
 * Otherwise a few heavy draws would determine the quantiles of the parameters. The cap c solves c =
 * sum min(w, c) / sqrt(n); sufficiently even weights are unchanged. */
void is_draws_even(struct draws *d) {
    double cap = INFINITY, root = sqrt((double)d->n);
    for (int it = 0; it < 100; it++) {
        double sum = 0;
        for (size_t i = 0; i < d->n; i++) sum += fmin(d->w[i], cap);
        if (!(sum > 0) || sum / root >= cap * (1 - 1e-9)) break;
        cap = sum / root;
    }
    double sum = 0;
    for (size_t i = 0; i < d->n; i++) sum += d->w[i] = fmin(d->w[i], cap);
    for (size_t i = 0; i < d->n && sum > 0; i++) d->w[i] /= sum;
}
