/* SPDX-License-Identifier: Apache-2.0
 *
 * See observed.h.
 */
#include "inference/op/observed.h"

#include <math.h>

typedef VEC(struct recorded) observes;

/* A query about the data of one particle. */
struct asked {
    struct infer_state *x;
    struct trace *t;
    const char *who;
};

/* Appends the numbers of v, sequences and matrices one element after the other. */
static bool all_numbers(numbers *y, value v) {
    value *items;
    size_t n;
    bool good = true;
    double x;
    if (value_number(v, &x)) {
        vec_push(y, x);
        return true;
    }
    if (v.tag == V_MATRIX) {
        size_t all = v.u.matrix->rows * v.u.matrix->cols;
        for (size_t i = 0; i < all; i++) vec_push(y, v.u.matrix->at[i]);
        return true;
    }
    if (!seq_items(v, &items, &n)) return false;
    for (size_t i = 0; i < n && good; i++) good = all_numbers(y, items[i]);
    values_free(items, n);
    return good;
}

/* The numbers of v (the data or a replicate) whose data are not missing. */
static bool add_numbers(numbers *y, value v, value data) {
    numbers x = {0}, seen = {0};
    bool good = all_numbers(&x, v) && all_numbers(&seen, data);
    for (size_t i = 0; good && i < x.n; i++)
        if (!(i < seen.n && isnan(seen.at[i]))) vec_push(y, x.at[i]);
    vec_release(&x);
    vec_release(&seen);
    return good;
}

/* Does the label match: the whole name, or its beginning when the pattern ends with a star? */
static bool matches(const char *pattern, const char *label) {
    size_t n = strlen(pattern);
    if (n && pattern[n - 1] == '*') return strncmp(pattern, label, n - 1) == 0;
    return strcmp(pattern, label) == 0;
}

/* Adds the observes that the label names and that are not in the list; ABSENT names all. */
static enum gpm_status add_labelled(const struct asked *c, value label, observes *out) {
    bool all = is_absent(label);
    const char *pattern = all ? NULL : value_text(label);
    size_t before = out->n;
    for (size_t i = 0; (all || pattern) && i < c->t->records.n; i++) {
        const struct record *r = c->t->records.at[i];
        const struct sym *name = record_label(r);
        bool named =
            record_kind(r) == REC_OBSERVE && (all || (name && matches(pattern, name->text)));
        for (size_t j = 0; named && !all && j < out->n; j++) named = out->at[j].r != r;
        for (uint32_t j = 0; named && j < record_size(r); j++)
            vec_push(out, ((struct recorded){r, j}));
    }
    if (out->n > before || all) return GPM_OK;
    enum gpm_status st =
        infer_error(c->x, DIAG_UNKNOWN_LABEL, "no observe has the label %s", SHOW(label));
    diag_set_help(c->x->core->diags, "label one by name: observe e = v; a star at the end, "
                                     "\"y*\", stands for every label that begins so");
    return st;
}

static enum gpm_status select_observed(const struct asked *c, value labels, observes *out) {
    value *items;
    size_t n;
    enum gpm_status st = GPM_OK;
    seq_or_one(labels, &items, &n);
    for (size_t i = 0; i < n && st == GPM_OK; i++) st = add_labelled(c, items[i], out);
    values_free(items, n);
    if (st == GPM_OK && !out->n)
        st = infer_error(c->x, DIAG_BAD_OPERATOR_ARG, "%s needs data: the model has no observe",
                         c->who);
    return st;
}

static enum gpm_status add_values(const struct asked *c, const observes *r, bool replicate,
                                  numbers *y) {
    value *v = NEW_ARRAY(value, r->n + 1);
    size_t have = 0;
    enum gpm_status st = replicate ? trace_replicate(c->t, r->at, r->n, v) : GPM_OK;
    for (; st == GPM_OK && have < r->n; have++)
        if (!replicate) v[have] = value_ref(recorded_observed(r->at[have]));
    for (size_t i = 0; i < have && st == GPM_OK; i++)
        if (!add_numbers(y, v[i], recorded_observed(r->at[i])))
            st = infer_error(c->x, DIAG_TYPE,
                             "%s compares numbers; a %s is observed here, leave it out with "
                             "labels=",
                             c->who, value_type_name(v[i]));
    values_free(v, have);
    return st;
}

static enum gpm_status add_densities(const struct asked *c, const observes *r, numbers *y) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < r->n && st == GPM_OK; i++) {
        double *each;
        size_t n;
        st = trace_log_likelihood(c->t, r->at[i], &each, &n);
        for (size_t k = 0; st == GPM_OK && k < n; k++) vec_push(y, each[k]);
        if (st == GPM_OK) mem_free(each);
    }
    return st;
}

enum gpm_status observed_numbers(struct infer_state *x, struct trace *t, value labels,
                                 enum observed_what what, const char *who, numbers *y) {
    struct asked c = {x, t, who};
    observes r = {0};
    trace_whole(t); /* all of its records are read */
    enum gpm_status st = select_observed(&c, labels, &r);
    if (st == GPM_OK)
        st = what == OBSERVED_LOG_LIK ? add_densities(&c, &r, y)
                                      : add_values(&c, &r, what == OBSERVED_REPLICATE, y);
    vec_release(&r);
    return st;
}

/* ---- in a program ---- */

/* The data of one particle as an array. */
static enum gpm_status observed_array(struct infer_state *x, const struct action *a,
                                      struct trace *t, value *out) {
    numbers y = {0};
    enum gpm_status st =
        observed_numbers(x, t, action_arg(a, 0), (enum observed_what)a->op->how, a->op->name, &y);
    if (st == GPM_OK) *out = value_numbers(y.at, y.n);
    vec_release(&y);
    return st;
}

const struct infer_op infer_observed_rows[] = {
    {"log_lik", "(labels?: any) -> action",
     "the log density of every observed value in the state as it is, per particle; collect(mu, "
     "log_lik()) keeps them with the draw for loo and waic. labels=: which observes (a name, "
     "several, \"y*\"; all). Elements of a vectorised observe count one by one, a procedure that "
     "integrates its parameters out gives each value's density given all others",
     .how = OBSERVED_LOG_LIK, EACH(observed_array)},
    {"y_rep", "(labels?: any) -> action",
     "a replicate of the observed data, drawn from the state as it is, per particle; "
     "collect(mu, y_rep()) keeps it with the draw: draws of the posterior predictive "
     "distribution, and after reset_to_prior() of the prior predictive one. labels= as in log_lik",
     .how = OBSERVED_REPLICATE, EACH(observed_array)},
    {"y_obs", "(labels?: any) -> action",
     "the observed data as an array of numbers, per particle; labels= as in log_lik",
     .how = OBSERVED_DATA, EACH(observed_array)},
    {0},
};
