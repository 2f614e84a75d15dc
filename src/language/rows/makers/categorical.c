/* SPDX-License-Identifier: Apache-2.0
 *
 * Dirichlet-categorical makers. par: one alpha per object; stat: one count per object; latent: the
 * probability vector of the uncollapsed kind. Objects that are equal share the slot of the first
 * (their alphas add up there; the others keep alpha 0 and count 0), so that sequential densities
 * multiply to the joint in any order.
 */
#include "base/mem.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/makers/conj.h"
#include <math.h>
#include <string.h>

enum { SIZE_MAX_DIR = 10000000 };

/* Slot of the first object equal to v, or n. Without objects the values are the indexes. */
static size_t slot_of(const struct conj *s, value v) {
    if (!s->objects) {
        double x = v.tag == V_NUM ? v.u.num : -1;
        return x >= 0 && x == floor(x) && x < (double)s->n_par ? (size_t)x : s->n_par;
    }
    for (size_t i = 0; i < s->n_objects; i++)
        if (value_equal(s->objects[i], v)) return i;
    return s->n_par;
}

static value object_at(const struct conj *s, size_t i) {
    return s->objects ? value_ref(s->objects[i]) : value_num((double)i);
}

/* Adds the alphas of equal objects to the first of them. */
static void merge_equal(struct conj *s) {
    for (size_t i = 0; s->objects && i < s->n_objects; i++) {
        size_t first = slot_of(s, s->objects[i]);
        if (first == i) continue;
        s->par[first] += s->par[i];
        s->par[i] = 0;
    }
}

/* alphas or (SYMMETRIC) alpha and n, then objects */
enum { GENERAL, SYMMETRIC };

static enum gpm_status read_alphas(struct sp_call *c, struct conj *s) {
    double *alpha, size;
    size_t n;
    if (c->cls->variant == SYMMETRIC) {
        size = sp_num(c, 1);
        if (!(size >= 1) || size > SIZE_MAX_DIR)
            return sp_bad_arg(c, 1, "n", "from 1 to 10 million");
        n = (size_t)size;
        conj_reserve(s, n, n, n);
        for (size_t i = 0; i < n; i++) s->par[i] = sp_num(c, 0);
        return GPM_OK;
    }
    enum gpm_status st = sp_numbers_arg(c, 0, "alphas", &alpha, &n);
    if (st != GPM_OK) return st;
    conj_reserve(s, n, n, n);
    memcpy(s->par, alpha, n * sizeof *alpha);
    mem_free(alpha);
    for (size_t i = 0; i < n; i++)
        if (!(s->par[i] > 0) || isinf(s->par[i])) return sp_bad_arg(c, 0, "alphas", "positive");
    if (n == 0) return sp_error(c, DIAG_DOMAIN, "%s: nothing to choose from", c->cls->name);
    return GPM_OK;
}

static enum gpm_status read_dir(struct sp_call *c, struct conj *s) {
    size_t objects = c->cls->variant == SYMMETRIC ? 2 : 1; /* which argument they are */
    enum gpm_status st = read_alphas(c, s);
    if (st != GPM_OK || c->n <= objects) return st;
    s->objects = sp_items(c, objects, &s->n_objects);
    if (s->n_objects != s->n_par)
        return sp_error(c, DIAG_SHAPE, "%s: %zu parameters but %zu objects", c->cls->name, s->n_par,
                        s->n_objects);
    merge_equal(s);
    return GPM_OK;
}

/* Gamma(A) / Gamma(A + N) prod Gamma(alpha_i + c_i) / Gamma(alpha_i) */
static double dir_joint(const struct conj *s) {
    double A = 0, n = 0, lp = 0;
    for (size_t i = 0; i < s->n_par; i++) {
        double a = s->par[i], k = s->stat[i];
        A += a;
        n += k;
        if (k == 0) continue;
        if (a == 0) return -INFINITY; /* a datum that is no object any more */
        lp += log_gamma(a + k) - log_gamma(a);
    }
    return n == 0 ? 0 : lp + log_gamma(A) - log_gamma(A + n);
}

/* The one parameter of the symmetric one has the sum of the derivatives. */
static void dir_gradient(const struct conj *s, const struct sp_call *c, value *dargs) {
    double A = 0, n = 0, sum = 0;
    value d = value_vector_new(s->n_par);
    for (size_t i = 0; i < s->n_par; i++) A += s->par[i], n += s->stat[i];
    double both = digamma(A) - digamma(A + n);
    for (size_t i = 0; i < s->n_par; i++) {
        size_t k = s->objects ? slot_of(s, s->objects[i]) : i;
        d.u.vector->at[i] = digamma(s->par[k] + s->stat[k]) - digamma(s->par[k]) + both;
        sum += d.u.vector->at[i];
    }
    dargs[0] = d;
    if (c->cls->variant == SYMMETRIC) value_set_take(&dargs[0], value_num(sum));
}

static value dir_stats(const struct conj *s) {
    value out = value_numbers(s->stat, s->n_stat);
    return out;
}

/* A separate slot with alpha 0, for a datum that is not one of the objects: it makes the joint
 * density zero. Returns its number. */
static size_t add_homeless(struct conj *s, value v) {
    size_t n = s->n_par;
    if (!s->objects) { /* name the indexes, so that others can follow */
        s->n_objects = n;
        s->objects = NEW_ARRAY(value, n + 2);
        for (size_t i = 0; i < n; i++) s->objects[i] = value_num((double)i);
    }
    s->objects = mem_realloc(s->objects, (n + 2) * sizeof(value));
    s->objects[s->n_objects++] = value_ref(v);
    double **arrays[] = {&s->par, &s->stat, &s->latent};
    for (int k = 0; k < 3; k++) {
        *arrays[k] = mem_realloc(*arrays[k], (n + 2) * sizeof(double));
        (*arrays[k])[n] = (*arrays[k])[n + 1] = 0;
    }
    s->n_par = s->n_stat = s->n_latent = n + 1;
    return n;
}

/* Counts move to the equal object of the new parameters. */
static void dir_remap(struct conj *s, const struct conj *old) {
    for (size_t i = 0; i < old->n_stat; i++) {
        if (old->stat[i] == 0) continue;
        value v = object_at(old, i);
        size_t to = slot_of(s, v);
        if (to == s->n_par) to = add_homeless(s, v);
        s->stat[to] += old->stat[i];
        value_unref(v);
    }
}

static void dir_latent(struct conj *s, struct rng *r) {
    double *post = NEW_ARRAY(double, s->n_par + 1), *x = NEW_ARRAY(double, s->n_par + 1);
    size_t n = 0, k = 0;
    for (size_t i = 0; i < s->n_par; i++)
        if (s->par[i] > 0) post[n++] = s->par[i] + s->stat[i];
    dirichlet_draw(r, post, n, x);
    for (size_t i = 0; i < s->n_par; i++) s->latent[i] = s->par[i] > 0 ? x[k++] : 0;
    mem_free(post);
    mem_free(x);
}

static double dir_latent_lp(const struct conj *s, const double *latent) {
    double *a = NEW_ARRAY(double, s->n_par + 1), *x = NEW_ARRAY(double, s->n_par + 1);
    size_t n = 0;
    for (size_t i = 0; i < s->n_par; i++)
        if (s->par[i] > 0) a[n] = s->par[i], x[n++] = latent[i];
    double lp = dirichlet_lp(x, a, n);
    mem_free(a);
    mem_free(x);
    return lp;
}

/* ---- the made procedures */
static double weight(const struct conj *s, size_t i) {
    if (s->par[i] == 0) return 0; /* shares another slot, or has no home */
    return s->cls->draw_latent ? s->latent[i] : s->par[i] + s->stat[i];
}

static enum gpm_status cat_draw(struct sp_call *c, value *out) {
    const struct conj *s = conj_of(c);
    double *w = NEW_ARRAY(double, s->n_par + 1);
    for (size_t i = 0; i < s->n_par; i++) w[i] = weight(s, i);
    *out = object_at(s, draw_index(c->rng, w, s->n_par));
    mem_free(w);
    return GPM_OK;
}

static enum gpm_status cat_density(struct sp_call *c, value v, double *out) {
    const struct conj *s = conj_of(c);
    size_t slot = slot_of(s, v);
    double total = 0;
    for (size_t i = 0; i < s->n_par; i++) total += weight(s, i);
    *out = slot < s->n_par ? log(weight(s, slot) / total) : -INFINITY;
    return GPM_OK;
}

static enum gpm_status cat_count(struct sp_call *c, value v, double by) {
    struct conj *s = conj_of(c);
    size_t slot = slot_of(s, v);
    if (slot == s->n_par) slot = add_homeless(s, v);
    s->stat[slot] += by;
    return GPM_OK;
}

static enum gpm_status cat_enumerate(struct sp_call *c, value **vals, size_t *n) {
    const struct conj *s = conj_of(c);
    *vals = NEW_ARRAY(value, s->n_par + 1);
    *n = 0;
    for (size_t i = 0; i < s->n_par; i++)
        if (weight(s, i) > 0) (*vals)[(*n)++] = object_at(s, i);
    return GPM_OK;
}

#define CHOICE(title)                                                                              \
    .made = {CONJ_MADE(title, "() -> any"), CONJ_DISCRETE, .simulate = cat_draw,                   \
             .log_density = cat_density, .enumerate = cat_enumerate},                              \
    .read = read_dir, .count = cat_count, .stats = dir_stats, .log_joint = dir_joint,              \
    .gradient = dir_gradient, .remap = dir_remap
#define LATENT .draw_latent = dir_latent, .latent_lp = dir_latent_lp

static const struct conj_class dir = {CHOICE("dir_cat")};
static const struct conj_class sym = {CHOICE("sym_dir_cat")};
static const struct conj_class uc_dir = {CHOICE("uc_dir_cat"), LATENT};
static const struct conj_class uc_sym = {CHOICE("uc_sym_dir_cat"), LATENT};

const struct sp_class sp_makers_cat_rows[] = {
    {.name = "make_dir_cat",
     .sig = "(alphas: numbers, objects?: seq) -> proc",
     .doc = "a choice whose probabilities have a Dirichlet prior, integrated out",
     .example = "assess(0, make_dir_cat([1, 1])) => -0.6931471805599453",
     CONJ_MAKER(dir)},
    {.name = "make_sym_dir_cat",
     .sig = "(alpha: positive, n: count, objects?: seq) -> proc",
     .doc = "make_dir_cat with n equal parameters",
     .example = "assess(1, make_sym_dir_cat(0.3, 2)) => -0.6931471805599453",
     .variant = SYMMETRIC,
     CONJ_MAKER(sym)},
    {.name = "make_uc_dir_cat",
     .sig = "(alphas: numbers, objects?: seq) -> proc",
     .doc = "a choice whose probabilities are drawn from a Dirichlet and kept",
     CONJ_UC_MAKER(uc_dir)},
    {.name = "make_uc_sym_dir_cat",
     .sig = "(alpha: positive, n: count, objects?: seq) -> proc",
     .doc = "make_uc_dir_cat with n equal parameters",
     .variant = SYMMETRIC,
     CONJ_UC_MAKER(uc_sym)},
};
const size_t sp_makers_cat_count = COUNT_OF(sp_makers_cat_rows);
