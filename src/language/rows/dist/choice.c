/* SPDX-License-Identifier: Apache-2.0
 *
 * Choices among objects: categorical and its relatives, exactly, permute. Weights need not be
 * normalised. Objects that are equal add their weights up.
 */
#include "base/mem.h"
#include "language/rows/protocol/adjoint.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/dist/dist_row.h"
#include <math.h>
#include <stdlib.h>

/* What a call of categorical, log_categorical or uniform_categorical chooses from. */
struct choice {
    size_t n;
    double *w;      /* weights, owned; logarithms when `logs` */
    value *objects; /* owned; NULL: the indexes 0..n-1 */
    bool logs;
};

static void choice_release(struct choice *ch) {
    mem_free(ch->w);
    if (ch->objects) values_free(ch->objects, ch->n);
}

static enum gpm_status check_weights(struct sp_call *c, const struct choice *ch) {
    double top = -INFINITY;
    for (size_t i = 0; i < ch->n; i++) {
        if (!ch->logs && !(ch->w[i] >= 0)) return sp_bad_arg(c, 0, "weights", "nonnegative");
        if (ch->w[i] == INFINITY) return sp_bad_arg(c, 0, "weights", "finite");
        top = fmax(top, ch->w[i]);
    }
    if (ch->n == 0) return sp_error(c, DIAG_DOMAIN, "%s: nothing to choose from", c->cls->name);
    if (ch->logs ? top > -INFINITY : top > 0) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: all weights are zero", c->cls->name);
}

enum { WEIGHTS, LOG_WEIGHTS, UNIFORM }; /* variants */

static enum gpm_status read_choice(struct sp_call *c, struct choice *ch) {
    size_t objects = c->cls->variant == UNIFORM ? 0 : 1, n; /* which argument they are */
    if (objects) {
        enum gpm_status st = sp_numbers_arg(c, 0, "weights", &ch->w, &ch->n);
        if (st == GPM_OK) st = check_weights(c, ch);
        if (st != GPM_OK || c->n == 1) return st;
    }
    ch->objects = sp_items(c, objects, &n);
    if (objects && n != ch->n) {
        values_free(ch->objects, n);
        ch->objects = NULL;
        return sp_error(c, DIAG_SHAPE, "%s: %zu weights but %zu objects", c->cls->name, ch->n, n);
    }
    if (objects) return GPM_OK;
    ch->n = n;
    ch->w = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) ch->w[i] = 1;
    return check_weights(c, ch);
}

static enum gpm_status choice_init(struct sp_call *c, struct choice *ch) {
    *ch = (struct choice){.logs = c->cls->variant == LOG_WEIGHTS};
    enum gpm_status st = read_choice(c, ch);
    if (st != GPM_OK) choice_release(ch);
    return st;
}

static value object(const struct choice *ch, size_t i) {
    return ch->objects ? value_ref(ch->objects[i]) : value_num((double)i);
}

static bool is_object(const struct choice *ch, size_t i, value v) {
    if (ch->objects) return value_equal(ch->objects[i], v);
    return v.tag == V_NUM && v.u.num == (double)i;
}

static enum gpm_status choice_simulate(struct sp_call *c, value *out) {
    struct choice ch;
    enum gpm_status st = choice_init(c, &ch);
    if (st != GPM_OK) return st;
    size_t i = (ch.logs ? draw_log_index : draw_index)(c->rng, ch.w, ch.n);
    *out = object(&ch, i);
    choice_release(&ch);
    return GPM_OK;
}

/* log of the share of weight on objects equal to v */
static double share(const struct choice *ch, value v) {
    double top = -INFINITY, match = 0, total = 0;
    for (size_t i = 0; ch->logs && i < ch->n; i++) top = fmax(top, ch->w[i]);
    for (size_t i = 0; i < ch->n; i++) {
        double w = ch->logs ? exp(ch->w[i] - top) : ch->w[i];
        total += w;
        if (is_object(ch, i, v)) match += w;
    }
    return log(match / total);
}

/* One object equal to v: its logarithm needs no exp, so far tails keep their accuracy. */
static double log_share(const struct choice *ch, value v) {
    double match = -INFINITY;
    for (size_t i = 0; i < ch->n; i++)
        if (is_object(ch, i, v)) match = logaddexp(match, ch->w[i]);
    return match - logsumexp(ch->w, ch->n);
}

/* Several data at once are no value of a choice among indexes. */
static enum gpm_status check_index(struct sp_call *c, const struct choice *ch, value v) {
    if (ch->objects || v.tag == V_NIL || !seq_is(v)) return GPM_OK;
    sp_type_error(c, v, "the value must be one index");
    return diag_set_help(c->diags,
                         "data are observed one by one: for (i = 0; i < size(y); i++) { observe "
                         "%s(w) = y[i] }",
                         c->cls->name);
}

static enum gpm_status choice_log_density(struct sp_call *c, value v, double *out) {
    struct choice ch;
    enum gpm_status st = choice_init(c, &ch);
    if (st != GPM_OK) return st;
    st = check_index(c, &ch, v);
    if (st == GPM_OK) *out = ch.logs ? log_share(&ch, v) : share(&ch, v);
    choice_release(&ch);
    return st;
}

static enum gpm_status choice_enumerate(struct sp_call *c, value **vals, size_t *n) {
    struct choice ch;
    enum gpm_status st = choice_init(c, &ch);
    if (st != GPM_OK) return st;
    *vals = NEW_ARRAY(value, ch.n);
    *n = 0;
    for (size_t i = 0; i < ch.n; i++) {
        bool known = ch.logs ? ch.w[i] == -INFINITY : ch.w[i] == 0;
        for (size_t k = 0; !known && k < *n; k++) known = is_object(&ch, i, (*vals)[k]);
        if (!known) (*vals)[(*n)++] = object(&ch, i);
    }
    choice_release(&ch);
    return GPM_OK;
}

/* d log(M / W) / dw_i = [i matches] / M - 1 / W; for log weights times w_i. */
static enum gpm_status choice_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    struct choice ch;
    enum gpm_status st = choice_init(c, &ch);
    if (st != GPM_OK) return st;
    double lp = ch.logs ? log_share(&ch, v) : share(&ch, v);
    double total = ch.logs ? logsumexp(ch.w, ch.n) : 0;
    for (size_t i = 0; !ch.logs && i < ch.n; i++) total += ch.w[i];
    value d = value_vector_new(ch.n);
    for (size_t i = 0; i < ch.n; i++) {
        double scale = ch.logs ? exp(ch.w[i] - total) : 1 / total; /* share, or 1 / W */
        d.u.vector->at[i] = (is_object(&ch, i, v) ? scale * exp(-lp) : 0) - scale;
    }
    if (dv) *dv = NIL;
    dargs[0] = d;
    if (c->n > 1) dargs[1] = NIL;
    choice_release(&ch);
    return GPM_OK;
}

/* The same of an index by numbers that stand anywhere: log(w_k / W) and its gradient. */
static double weights_gathered(double x, const double *v, const uint32_t *at, size_t n,
                               double *adj) {
    double total = 0;
    if (!(x >= 0 && x < (double)n && x == floor(x))) return -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!(v[at[i]] >= 0)) return NAN;
        total += v[at[i]];
    }
    if (!(total > 0 && total < INFINITY)) return NAN;
    double own = v[at[(size_t)x]];
    if (adj && own > 0) {
        adj[at[(size_t)x]] += 1 / own;
        for (size_t i = 0; i < n; i++) adj[at[i]] -= 1 / total;
    }
    return log(own / total);
}

static double log_weights_gathered(double x, const double *v, const uint32_t *at, size_t n,
                                   double *adj) {
    double top = -INFINITY, total = 0;
    if (!(x >= 0 && x < (double)n && x == floor(x))) return -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!(v[at[i]] < INFINITY)) return NAN;
        top = fmax(top, v[at[i]]);
    }
    if (top == -INFINITY) return NAN;
    for (size_t i = 0; i < n; i++) total += exp(v[at[i]] - top);
    double log_total = top + log(total), own = v[at[(size_t)x]];
    if (adj && own > -INFINITY) {
        adj[at[(size_t)x]] += 1;
        for (size_t i = 0; i < n; i++) adj[at[i]] -= exp(v[at[i]] - log_total);
    }
    return own - log_total;
}

/* ---- exactly(v[, logp]) */
SP_SIMPLE(exactly, value_ref(c->args[0]))

static enum gpm_status exactly_log_density(struct sp_call *c, value v, double *out) {
    *out = value_equal(v, c->args[0]) ? 0 : sp_num_or(c, 1, -INFINITY);
    return GPM_OK;
}

static enum gpm_status exactly_enumerate(struct sp_call *c, value **vals, size_t *n) {
    *vals = NEW_ARRAY(value, 1);
    (*vals)[0] = value_ref(c->args[0]);
    *n = 1;
    return GPM_OK;
}

static enum gpm_status exactly_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    if (dv) *dv = NIL;
    dargs[0] = NIL;
    if (c->n > 1) dargs[1] = value_equal(v, c->args[0]) ? NIL : value_num(1);
    return GPM_OK;
}

static enum gpm_status exactly_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    if (!varies) return exactly_log_density(c, v, out);
    *out = fmax(0, sp_num_or(c, 1, 0));
    return c->n > 1 && varies & 4u ? GPM_E_NOT_FOUND : GPM_OK;
}

static double exactly_num(double v, const double *a, size_t n) {
    return v == a[0] ? 0 : n > 1 ? a[1] : -INFINITY;
}

static double exactly_sample(struct rng *rng, const double *a, size_t n) {
    return a[0];
}

static void exactly_num_grad(double v, const double *a, size_t n, double *g) {
    g[0] = g[1] = 0;
    if (n > 1) g[2] = v == a[0] ? 0 : 1;
}

/* ---- factor(lp): true, whose log density is lp; it is observed (language/lang/parse_special.c) */

/* The log weight: a number, or the sum of a sequence. */
static enum gpm_status factor_sum(struct sp_call *c, double *out) {
    double sum = 0, *x;
    size_t n;
    if (seq_numbers(c->args[0], &x, &n)) {
        for (size_t i = 0; i < n; i++) sum += x[i];
        mem_free(x);
    } else if (!value_number(c->args[0], &sum))
        return sp_error(c, DIAG_TYPE,
                        "factor: the log weight must be a number or a sequence of numbers, got %s",
                        SHOW(c->args[0]));
    if (isnan(sum)) return sp_error(c, DIAG_DOMAIN, "factor: the log weight is NaN");
    *out = sum;
    return GPM_OK;
}

static enum gpm_status simulate_factor(struct sp_call *c, value *out) {
    double lp;
    enum gpm_status st = factor_sum(c, &lp);
    if (!st) *out = value_bool(true);
    return st;
}

static enum gpm_status factor_log_density(struct sp_call *c, value v, double *out) {
    enum gpm_status st = factor_sum(c, out);
    if (!st && !(v.tag == V_BOOL && v.u.boolean)) *out = -INFINITY;
    return st;
}

static enum gpm_status factor_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    size_t n;
    if (dv) *dv = NIL;
    if (seq_length(c->args[0], &n)) {
        dargs[0] = value_vector_new(n);
        for (size_t i = 0; i < n; i++) dargs[0].u.vector->at[i] = 1;
    } else
        dargs[0] = value_num(1);
    return GPM_OK;
}

static double factor_num(double v, const double *a, size_t n) {
    return v == 1 ? a[0] : -INFINITY;
}

static double factor_sample(struct rng *rng, const double *a, size_t n) {
    return 1;
}

static void factor_num_grad(double v, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = 1;
}

/* ---- permute(seq): a list for a list, an array for an array, a vector for a vector */
static enum gpm_status permute_simulate(struct sp_call *c, value *out) {
    size_t n;
    value *items = sp_items(c, 0, &n);
    size_t *p = NEW_ARRAY(size_t, n + 1);
    value *moved = NEW_ARRAY(value, n + 1);
    draw_permutation(c->rng, p, n);
    for (size_t i = 0; i < n; i++) moved[i] = items[p[i]];
    *out = seq_like_take(c->args[0], moved, n);
    mem_free(moved);
    mem_free(p);
    mem_free(items);
    return GPM_OK;
}

/* The items in the order in which their places stand in `order`, which may hold further places: the
 * first n of a uniform order of more are in uniform order. */
static enum gpm_status reorder(struct sp_call *c, value *out) {
    double *order = NULL;
    size_t n, m = 0, k = 0;
    value *items = sp_items(c, 0, &n);
    value *moved = NEW_ARRAY(value, n + 1);
    if (!seq_numbers(c->args[1], &order, &m)) m = 0;
    for (size_t i = 0; i < m && k < n; i++)
        if (order[i] >= 0 && order[i] < (double)n) moved[k++] = value_ref(items[(size_t)order[i]]);
    mem_free(order);
    values_free(items, n);
    if (k < n) {
        values_free(moved, k);
        return sp_error(c, DIAG_DOMAIN, "permute: the list has grown too long");
    }
    *out = seq_like_take(c->args[0], moved, n);
    mem_free(moved);
    return GPM_OK;
}

static enum gpm_status reorder_grad(struct sp_call *c, value r, value dr, value *dargs) {
    double *order = NULL;
    size_t n = 0, m = 0, k = 0;
    if (dr.tag == V_NIL || !seq_length(c->args[0], &n)) return GPM_OK;
    if (!seq_numbers(c->args[1], &order, &m)) m = 0;
    dargs[0] = value_array_new(n);
    for (size_t i = 0; i < m && k < n; i++)
        if (order[i] >= 0 && order[i] < (double)n)
            dargs[0].u.array->at[(size_t)order[i]] = adj_item(dr, k++);
    mem_free(order);
    return GPM_OK;
}

/* log of (product of the factorials of the multiplicities / n!), or -inf when b is no rearrangement
 * of a: orders that look alike add up. used[i]: items a[i] that were matched already. */
static double arrangement_lp(const value *a, const value *b, size_t n) {
    bool *used = mem_zalloc(n + 1);
    double lp = -log_gamma((double)n + 1);
    for (size_t i = 0; i < n && lp > -INFINITY; i++) {
        size_t seen = 0, at = n; /* equal items matched before, first free one */
        for (size_t j = 0; j < n; j++) {
            if (!value_equal(a[j], b[i])) continue;
            if (used[j])
                seen++;
            else if (at == n)
                at = j;
        }
        if (at == n)
            lp = -INFINITY;
        else {
            used[at] = true;
            lp += log((double)seen + 1);
        }
    }
    mem_free(used);
    return lp;
}

static enum gpm_status permute_log_density(struct sp_call *c, value v, double *out) {
    value *b;
    size_t n, m;
    if (!seq_items(v, &b, &m)) return sp_bad_value(c, v, "a list, array or vector");
    value *a = sp_items(c, 0, &n);
    *out = n == m ? arrangement_lp(a, b, n) : -INFINITY;
    values_free(a, n);
    values_free(b, m);
    return GPM_OK;
}

/* Next permutation in lexicographic order of the labels (equal items share one label). */
static bool next_permutation(size_t *p, size_t n) {
    if (n < 2) return false;
    size_t i = n - 1;
    while (i > 0 && p[i - 1] >= p[i]) i--;
    if (i == 0) return false;
    size_t j = n - 1;
    while (p[j] <= p[i - 1]) j--;
    size_t t = p[i - 1];
    p[i - 1] = p[j], p[j] = t;
    for (size_t k = n - 1; i < k; i++, k--) t = p[i], p[i] = p[k], p[k] = t;
    return true;
}

static int by_size(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

enum { PERMUTE_ENUMERATE_MAX = 7 };

static enum gpm_status permute_enumerate(struct sp_call *c, value **vals, size_t *n_vals) {
    value order[PERMUTE_ENUMERATE_MAX];
    size_t n, label[PERMUTE_ENUMERATE_MAX];
    value *items = sp_items(c, 0, &n);
    if (n > PERMUTE_ENUMERATE_MAX) {
        values_free(items, n);
        return sp_error(
            c, DIAG_NOT_ENUMERABLE,
            "permute: the orders of %zu items are too many to enumerate (at most %d items)", n,
            PERMUTE_ENUMERATE_MAX);
    }
    for (size_t i = 0; i < n; i++)
        for (label[i] = 0; label[i] < i && !value_equal(items[label[i]], items[i]);)
            label[i]++; /* nan */
    qsort(label, n, sizeof *label, by_size);
    size_t most = (size_t)rint(tgamma((double)n + 1));
    *vals = NEW_ARRAY(value, most);
    *n_vals = 0;
    do {
        for (size_t i = 0; i < n; i++) order[i] = value_ref(items[label[i]]);
        (*vals)[(*n_vals)++] = seq_like_take(c->args[0], order, n);
    } while (next_permutation(label, n));
    values_free(items, n);
    return GPM_OK;
}

#define CHOICE                                                                                     \
    .flags = SP_RANDOM | SP_DISCRETE | SP_CHOOSES, .simulate = choice_simulate,                    \
    .log_density = choice_log_density, .enumerate = choice_enumerate,                              \
    .support = sp_support_discrete, .log_bound = sp_discrete_bound

const struct sp_class sp_choice_rows[] = {
    {.name = "categorical",
     .sig = "(weights: numbers, objects?: seq) -> any",
     .doc = "an object (or index from 0) with probability in proportion to its weight",
     .example = "categorical([0, 1], [\"a\", \"b\"]) => \"b\"",
     .variant = WEIGHTS,
     .gathered = weights_gathered,
     .num_args = 1,
     .grad_density = choice_grad,
     CHOICE},
    {.name = "log_categorical",
     .sig = "(log_weights: numbers, objects?: seq) -> any",
     .doc = "categorical with logarithms of the weights",
     .example = "log_categorical([log(0), 0]) => 1",
     .variant = LOG_WEIGHTS,
     .gathered = log_weights_gathered,
     .num_args = 1,
     .grad_density = choice_grad,
     CHOICE},
    {.name = "uniform_categorical",
     .sig = "(objects: seq) -> any",
     .doc = "one of the objects, all equally likely",
     .example = "uniform_categorical([7]) => 7",
     .variant = UNIFORM,
     CHOICE},
    {.name = "exactly",
     .sig = "(v: any, logp_if_different?: real) -> any",
     .doc = "v itself; may be observed: log density 0 at v, else the second argument (-inf)",
     .example = "exactly(5) => 5",
     .flags = SP_RANDOM | SP_DISCRETE,
     .code = SP_CODE_EXACTLY,
     .simulate = simulate_exactly,
     .log_density = exactly_log_density,
     .enumerate = exactly_enumerate,
     .support = sp_support_discrete,
     .grad_density = exactly_grad,
     .num_log_density = exactly_num,
     .num_sample = exactly_sample,
     .num_grad = exactly_num_grad,
     .log_bound = exactly_bound},
    {.name = "_factor",
     .sig = "(lp: any) -> bool",
     .doc = "what `factor(lp)` observes: true, with log density lp",
     .example = "assess(true, _factor, -3) => -3",
     .flags = SP_RANDOM | SP_DISCRETE | SP_HIDDEN,
     .simulate = simulate_factor,
     .log_density = factor_log_density,
     .support = sp_support_discrete,
     .grad_density = factor_grad,
     .num_log_density = factor_num,
     .num_sample = factor_sample,
     .num_grad = factor_num_grad},
    {.name = "permute",
     .special = SPECIAL_PERMUTE,
     .sig = "(items: seq) -> seq",
     .doc = "the items in a uniformly random order",
     .example = "permute([4]) => [4]",
     .flags = SP_RANDOM | SP_DISCRETE,
     .simulate = permute_simulate,
     .log_density = permute_log_density,
     .enumerate = permute_enumerate,
     .support = sp_support_discrete,
     .log_bound = sp_discrete_bound},
    {.name = "_reorder",
     .sig = "(items: seq, order: numbers) -> seq",
     .doc = "the items in the order in which their places stand in the second argument",
     .example = "_reorder([5, 6, 7], [2, 3, 0, 1]) => [7, 5, 6]",
     .flags = SP_HIDDEN,
     .simulate = reorder,
     .grad_simulate = reorder_grad},
};
const size_t sp_choice_count = COUNT_OF(sp_choice_rows);
