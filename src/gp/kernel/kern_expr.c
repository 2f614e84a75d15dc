/* SPDX-License-Identifier: Apache-2.0
 * Construction, comparison and parameters of kernel expression trees; contracts in kernel.h. */
#include "gp/kernel/kern_tree.h"

#include "base/map.h"
#include "base/mem.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static void complain(char **why, struct buf *text) {
    if (why) *why = buf_take(text);
    buf_release(text);
}

/* ---- parameters of one row ---- */

int kern_par_index(const struct kern *k, int p, int c) {
    int extra = k->ard > 1 ? (int)k->ard - 1 : 0;
    for (int q = 0; q < p; q++)
        if (k->cls->par[q].vector) return p + extra;
    return k->cls->par[p].vector && k->ard > 1 ? p + c : p;
}

size_t kern_par_of(const struct kern *k, size_t i, int *c) {
    size_t p = k->cls->npar - 1;
    while (p > 0 && (size_t)kern_par_index(k, (int)p, 0) > i) p--;
    *c = k->cls->par[p].vector && k->ard > 1 ? (int)i - kern_par_index(k, (int)p, 0) : -1;
    return p;
}

double kern_amplitude(const struct kern *k) {
    switch (k->cls->amp) {
    case KERN_AMP_SQUARE: return k->par[0] * k->par[0];
    case KERN_AMP_LINEAR: return k->par[0];
    default: return 1;
    }
}

double kern_amp_slope(const struct kern *k) {
    switch (k->cls->amp) {
    case KERN_AMP_SQUARE: return 2 * k->par[0];
    case KERN_AMP_LINEAR: return 1;
    default: return 0;
    }
}

bool kern_in_range(double v) {
    return v == 0 || (fabs(v) <= KERN_SIZE_MAX && fabs(v) >= 1 / KERN_SIZE_MAX);
}

bool kern_all_bounded(const double *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(v[i]) <= KERN_SIZE_MAX)) return false;
    return true;
}

static bool in_domain(enum kern_domain d, double v) {
    if (!isfinite(v)) return false;
    switch (d) {
    case KERN_POSITIVE: return v > 0;
    case KERN_NONNEGATIVE: return v >= 0;
    case KERN_UPTO2: return v > 0 && v <= 2;
    case KERN_DEGREE: return v >= 1 && v <= 10 && v == floor(v);
    default: return true;
    }
}

static bool check_params(const struct kern *k, char **why) {
    static const char *const domain[] = {"a finite number", "positive", "zero or positive",
                                         "above 0 and at most 2", "a whole number from 1 to 10"};
    const struct kern_param *p = k->cls->par;
    for (size_t i = 0, left = 0; i < k->npar; i++, p += left == 0) {
        left = (left ? left : p->vector ? k->ard : 1) - 1; /* of this parameter */
        bool ok = in_domain(p->domain, k->par[i]);
        if (ok &&
            (p->domain == KERN_REAL ? kern_all_bounded(k->par + i, 1) : kern_in_range(k->par[i])))
            continue;
        struct buf b = BUF_INIT;
        buf_printf(&b, "%s: parameter %s must be %s, got ", k->cls->name, p->name,
                   ok ? KERN_RANGE_TEXT : domain[p->domain]);
        buf_number(&b, k->par[i]);
        complain(why, &b);
        return false;
    }
    return true;
}

/* ---- building ---- */

/* One block of memory holds a node with its parameters, kids and columns. */
static struct kern *node_new(enum kern_op op, const struct kern_class *cls, const double *par,
                             size_t npar, const int *col, size_t ncol, size_t kids) {
    struct kern *k =
        mem_zalloc(sizeof *k + npar * sizeof *par + kids * sizeof k + ncol * sizeof *col);
    atomic_init(&k->refs, 1);
    k->op = op;
    k->cls = cls;
    k->ard = 1;
    k->npar = npar;
    k->ncol = ncol;
    k->par = (double *)(k + 1);
    k->kid = (struct kern **)(k->par + npar);
    k->col = (int *)(k->kid + kids);
    if (npar) memcpy(k->par, par, npar * sizeof *par);
    if (ncol) memcpy(k->col, col, ncol * sizeof *col);
    return k;
}

/* Exponentials and similar functions are expensive; lines and walks are not. */
static bool dear_leaf(const struct kern_class *cls) {
    return cls->algebra == KERN_ALG_OPAQUE
               ? cls->npar > 2
               : cls->algebra == KERN_ALG_SE || cls->algebra == KERN_ALG_STAT;
}

/* Sets hash, depth, flags and parameter count from the parts. The hash does not depend on
 * addresses, except for callbacks, which have no other identity. */
static void finish(struct kern *k) {
    uint64_t h = hash_mix((uint64_t)k->op + 17);
    if (k->cls) h = hash_bytes(k->cls->name, strlen(k->cls->name), h + k->cls->npar);
    for (size_t i = 0; i < k->npar; i++) h = hash_mix(31 * h + hash_num(k->par[i]));
    for (size_t i = 0; i < k->ncol; i++) h = hash_mix(h ^ (uint64_t)(k->col[i] + 1));
    if (k->op == KERN_CALLBACK) h = hash_mix(h ^ MAP_PTR(k->user) ^ (uint64_t)(uintptr_t)k->fn);
    k->total = k->npar;
    k->size = 1;
    k->callback = k->op == KERN_CALLBACK;
    k->stationary = k->op == KERN_LEAF ? k->cls->stationary : !k->callback && k->op != KERN_CHANGE;
    k->slopes = k->op == KERN_LEAF ? k->cls->slope != NULL : !k->callback && k->op != KERN_CHANGE;
    k->dear = k->callback || (k->op == KERN_LEAF && dear_leaf(k->cls));
    k->everywhere = !k->ncol && k->ard == 1 && !(k->cls && k->cls->one_column);
    for (size_t i = 0; i < k->nkids; i++) {
        const struct kern *q = k->kid[i];
        h = hash_mix(h * 31 + q->hash);
        k->total += q->total;
        if (q->depth >= k->depth) k->depth = q->depth + 1;
        k->size += q->size;
        k->stationary = k->stationary && q->stationary;
        k->callback = k->callback || q->callback;
        k->slopes = k->slopes && q->slopes;
        k->dear = k->dear || q->dear;
        k->everywhere = k->everywhere && q->everywhere;
    }
    k->hash = h;
}

double kern_base_par(const struct kern_class *alias, const double *par, size_t b, double *slope) {
    int p = alias->from[b].par;
    double f = alias->from[b].factor, root = p >= 0 && f == 0 ? sqrt(par[p]) : 0;
    *slope = p < 0 ? 0 : f != 0 ? f : 0.5 / root;
    return p < 0 ? 1 : f != 0 ? f * par[p] : root;
}

/* The leaf behind an alias. */
static struct kern *alias_base(const struct kern *k) {
    const struct kern_class *row, *best = NULL;
    double par[KERN_MAX_PAR], slope;
    /* The last row of that name has the most parameters (LIN with an origin). */
    for (size_t i = 0; (row = kern_class_at(i)); i++)
        if (strcmp(row->name, k->cls->symbol) == 0 && (!best || row->npar > best->npar)) best = row;
    for (size_t b = 0; b < best->npar; b++) par[b] = kern_base_par(k->cls, k->par, b, &slope);
    return kern_leaf_on(best, par, 1, k->col, k->ncol, NULL);
}

struct kern *kern_leaf_on(const struct kern_class *cls, const double *par, size_t ard,
                          const int *col, size_t ncol, char **why) {
    bool vector = false;
    for (size_t p = 0; p < cls->npar; p++) vector = vector || cls->par[p].vector;
    size_t many = ard > 1 && vector ? ard : 1;
    struct kern *k = node_new(cls->op, cls, par, cls->npar + many - 1, col, ncol, 1);
    k->ard = many;
    struct buf b = BUF_INIT;
    if (cls->op == KERN_CHANGE)
        buf_printf(&b, "%s needs two kernels", cls->name);
    else if (ard > 1 && !vector)
        buf_printf(&b, "%s has no parameter per column", cls->name);
    else if (ard > 1 && ncol && ard != ncol)
        buf_printf(&b, "%s: %zu length scales for %zu columns", cls->name, ard, ncol);
    else if (ncol > 1 && cls->one_column)
        buf_printf(&b, "%s acts on one column", cls->name);
    for (size_t i = 0; i < ncol && b.len == 0; i++)
        if (col[i] < 0) buf_printf(&b, "%s: columns count from 0, got %d", cls->name, col[i]);
    bool ok = !b.len && check_params(k, why);
    if (ok && cls->op != KERN_ALIAS) {
        finish(k);
        return k;
    }
    struct kern *base = ok ? alias_base(k) : NULL;
    if (ok && !base) /* the root of a tiny or huge parameter leaves the domain */
        buf_printf(&b, "%s: parameter out of the range of numbers", cls->name);
    if (b.len) complain(why, &b);
    kern_unref(k);
    return base;
}

struct kern *kern_with_first(const struct kern *k, double first) {
    double small[16], *par = k->npar <= 16 ? small : NEW_ARRAY(double, k->npar);
    memcpy(par, k->par, k->npar * sizeof *par);
    par[0] = first;
    struct kern *out = kern_leaf_on(k->cls, par, k->ard, k->col, k->ncol, NULL);
    if (par != small) mem_free(par);
    return out;
}

struct kern *kern_leaf(const struct kern_class *cls, const double *par, char **why) {
    return kern_leaf_on(cls, par, 1, NULL, 0, why);
}

/* Kids of the same operation are merged into the node. */
struct kern *kern_nary(enum kern_op op, struct kern *const *kids, size_t n) {
    size_t total = 0;
    for (size_t i = 0; i < n; i++) total += kids[i]->op == op ? kids[i]->nkids : 1;
    if (n == 1) return kern_ref(kids[0]);
    if (total > KERN_SYMBOLS_MAX) return NULL;
    struct kern *k = node_new(op, NULL, NULL, 0, NULL, 0, total);
    for (size_t i = 0; i < n; i++) {
        if (kids[i]->op != op)
            k->kid[k->nkids++] = kern_ref(kids[i]);
        else
            for (size_t j = 0; j < kids[i]->nkids; j++)
                k->kid[k->nkids++] = kern_ref(kids[i]->kid[j]);
    }
    finish(k);
    if (k->depth <= KERN_DEPTH_MAX && k->size <= KERN_SYMBOLS_MAX) return k;
    kern_unref(k);
    return NULL;
}

struct kern *kern_sum(struct kern *a, struct kern *b) {
    struct kern *kids[] = {a, b};
    return kern_nary(KERN_SUM, kids, 2);
}

struct kern *kern_product(struct kern *a, struct kern *b) {
    struct kern *kids[] = {a, b};
    return kern_nary(KERN_PRODUCT, kids, 2);
}

struct kern *kern_join(enum kern_op op, struct kern *a, struct kern *b) {
    if (!a || !b) return a ? a : b;
    struct kern *kids[] = {a, b}, *out = kern_nary(op, kids, 2);
    kern_unref(a);
    kern_unref(b);
    return out;
}

struct kern *kern_constant(double variance) {
    return kern_leaf(kern_class_of(KERN_ALG_CONST, KERN_AMP_LINEAR, 1), &variance, NULL);
}

struct kern *kern_scale(double variance, struct kern *k) {
    struct kern *c = kern_constant(variance), *out = c ? kern_product(c, k) : NULL;
    kern_unref(c);
    return out;
}

struct kern *kern_change(const struct kern_class *cls, const double *par, int col,
                         struct kern *before, struct kern *after, char **why) {
    struct kern *k = node_new(KERN_CHANGE, cls, par, cls->npar, &col, 1, 2);
    k->kid[0] = kern_ref(before);
    k->kid[1] = kern_ref(after);
    k->nkids = 2;
    finish(k);
    if (check_params(k, why)) {
        if (k->depth <= KERN_DEPTH_MAX && k->size <= KERN_SYMBOLS_MAX && col >= 0) return k;
        if (why)
            *why = mem_strdup(col < 0 ? "columns count from 0"
                                      : "kernel too large or nested too deeply");
    }
    kern_unref(k);
    return NULL;
}

struct kern *kern_callback(kern_callback_fn fn, void *user, void (*drop)(void *user),
                           const char *label) {
    return kern_callback_with(fn, NULL, user, drop, label, NULL, 0);
}

struct kern *kern_callback_with(kern_callback_fn fn, kern_callback_slope_fn slope, void *user,
                                void (*drop)(void *user), const char *label, const double *par,
                                size_t npar) {
    struct kern *k = node_new(KERN_CALLBACK, NULL, par, npar, NULL, 0, 0);
    k->fn = fn;
    k->slope = slope;
    k->user = user;
    k->drop = drop;
    k->label = mem_strdup(label ? label : "procedure");
    finish(k);
    return k;
}

struct kern *kern_ref(const struct kern *k) {
    struct kern *m = (struct kern *)k;
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void kern_unref(struct kern *k) {
    if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < k->nkids; i++) kern_unref(k->kid[i]);
    if (k->drop) k->drop(k->user);
    mem_free(k->label);
    mem_free(k);
}

/* ---- looking inside ---- */

uint64_t kern_hash(const struct kern *k) {
    return k->hash;
}

bool kern_equal(const struct kern *a, const struct kern *b) {
    if (a == b) return true;
    if (a->hash != b->hash || a->op != b->op || a->cls != b->cls || a->npar != b->npar ||
        a->ncol != b->ncol || a->nkids != b->nkids || a->fn != b->fn || a->user != b->user)
        return false;
    for (size_t i = 0; i < a->npar; i++)
        if (!same_number(a->par[i], b->par[i])) return false;
    for (size_t i = 0; i < a->ncol; i++)
        if (a->col[i] != b->col[i]) return false;
    for (size_t i = 0; i < a->nkids; i++)
        if (!kern_equal(a->kid[i], b->kid[i])) return false;
    return true;
}
enum gpm_status kern_check_dim(const struct kern *k, int dim, char **why) {
    if (k->everywhere) return GPM_OK;
    struct buf b = BUF_INIT;
    const char *name = k->cls ? k->cls->name : "";
    for (size_t i = 0; i < k->ncol; i++)
        if (k->col[i] >= dim && !b.len)
            buf_printf(&b, "%s looks at input column %d, but inputs have %d column%s (0 .. %d)",
                       name, k->col[i], dim, dim == 1 ? "" : "s", dim - 1);
    if (!b.len && k->ard > 1 && !k->ncol && (int)k->ard != dim)
        buf_printf(&b, "%s has %zu length scales, but inputs have %d columns", name, k->ard, dim);
    if (!b.len && k->cls && k->cls->one_column && !k->ncol && dim != 1)
        buf_printf(&b, "%s acts on one column; choose it with dims=[...]", name);
    if (b.len) {
        complain(why, &b);
        return GPM_E_ARG;
    }
    for (size_t i = 0; i < k->nkids; i++) {
        enum gpm_status st = kern_check_dim(k->kid[i], dim, why);
        if (st) return st;
    }
    return GPM_OK;
}
