/* SPDX-License-Identifier: Apache-2.0
 *
 * exact_posterior(e): the distribution of an expression given the observations, by enumerating all
 * values of all free choices; and exact_log_evidence. Structure may change: the first choice in
 * evaluation order without a value gets each of its values in turn. Later choices, including new
 * ones, are enumerated below it:
 *
 *     p(e = v) is proportional to the sum of p(choices, observations) over the states with e = v
 *
 * A choice comes after everything it depends on, so each state occurs once. All work is done on a
 * copy. The model stays unchanged, and the answer does not depend on its state. */
#include "language/rows/dist/finite.h"
#include "inference/run/infer.h"
#include "numeric/special/special.h"

#include <math.h>

enum { MOST_STATES = 1000000 };

struct found {
    value v;
    double log_weight;
};

struct exact_search {
    struct infer_state *x;
    struct trace *t;
    VEC(uint64_t) known;        /* numbers of the choices with a value, outermost first */
    const struct record *asked; /* the expression, or NULL: only the evidence */
    VEC(struct found) found;
    struct map by_hash; /* hash of a value -> 1 + its first index */
    double log_total;
    size_t states;
};

static double log_add(double a, double b) {
    double hi = fmax(a, b), lo = fmin(a, b);
    return lo == -INFINITY ? hi : hi + log1p(exp(lo - hi));
}

/* Different values may share a hash; then all are searched. */
static struct found *place_of(struct exact_search *s, value v) {
    uint64_t h = value_hash(v);
    size_t first = (size_t)(uintptr_t)map_get(&s->by_hash, h);
    for (size_t i = first ? first - 1 : s->found.n; i < s->found.n; i++)
        if (value_equal(s->found.at[i].v, v)) return &s->found.at[i];
    vec_push(&s->found, ((struct found){value_ref(v), -INFINITY}));
    if (!first) map_put(&s->by_hash, h, (void *)(uintptr_t)s->found.n);
    return &vec_last(&s->found);
}

static enum gpm_status count_state(struct exact_search *s) {
    double joint, likelihood;
    if (++s->states > MOST_STATES)
        return infer_error(s->x, DIAG_LIMIT, "the model has more than %d states to enumerate",
                           MOST_STATES);
    enum gpm_status st = core_poll(s->x->core, s->x->at);
    if (st == GPM_OK) st = trace_log_joint(s->t, &joint, &likelihood);
    if (st != GPM_OK || joint == -INFINITY) return st;
    s->log_total = log_add(s->log_total, joint);
    if (!s->asked) return GPM_OK;
    value v = trace_export(s->t, record_value(s->asked));
    struct found *f = place_of(s, v);
    f->log_weight = log_add(f->log_weight, joint);
    value_unref(v);
    return GPM_OK;
}

static enum gpm_status check_choice(struct exact_search *s, const struct node *n) {
    const struct sp_class *cls = node_class(n);
    if (!cls || !(cls->flags & SP_RENAMES)) return GPM_OK;
    diag_raise(s->x->core->diags, DIAG_NOT_ENUMERABLE, node_span(n),
               "%s names new tables as it likes; their states cannot be enumerated", cls->name);
    return diag_set_help(s->x->core->diags, "mh and gibbs move them");
}

/* *possible: the new value is set; otherwise the state is as before. */
static enum gpm_status set_choice(struct exact_search *s, struct node *n, value v, bool *possible) {
    struct scaffold *part;
    double before, after;
    *possible = true;
    if (value_equal(node_value(n), v)) return GPM_OK;
    enum gpm_status st = scaffold_open(s->t, &n, 1, SCAFFOLD_FIXED, &before, &part);
    if (st != GPM_OK) return st;
    st = scaffold_regen(part, SCAFFOLD_FIXED, &v, &after);
    *possible = st == GPM_OK && scaffold_built(part);
    scaffold_close(part, *possible);
    return st;
}

static enum gpm_status search_below(struct exact_search *s);

static enum gpm_status try_value(struct exact_search *s, struct node *n, value v) {
    bool possible;
    double logp;
    enum gpm_status st = set_choice(s, n, v, &possible);
    if (st == GPM_OK && possible) st = node_logp(s->t, n, &logp);
    return st == GPM_OK && possible && logp > -INFINITY ? search_below(s) : st;
}

static enum gpm_status search_below(struct exact_search *s) {
    struct node *n = trace_first_choice(s->t, s->known.at, s->known.n);
    if (!n) return count_state(s);
    value *vals;
    size_t k;
    enum gpm_status st = check_choice(s, n);
    if (st == GPM_OK) st = node_enumerate(s->t, n, &vals, &k);
    if (st != GPM_OK) return st;
    vec_push(&s->known, node_seq(n));
    for (size_t i = 0; i < k && st == GPM_OK; i++) st = try_value(s, n, vals[i]);
    s->known.n--;
    values_free(vals, k);
    return st;
}

/* The probabilities; values of probability zero do not occur. */
static value distribution(struct exact_search *s) {
    size_t n = s->found.n;
    value *at = NEW_ARRAY(value, n + 1);
    double *p = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) {
        at[i] = value_ref(s->found.at[i].v);
        p[i] = exp(s->found.at[i].log_weight - s->log_total);
    }
    return finite_value(at, p, n);
}

static enum gpm_status search(struct infer_state *x, const struct ast *e, struct frame *f,
                              struct exact_search *s) {
    value v = NIL;
    enum gpm_status st = model_whole(x);
    *s = (struct exact_search){.x = x, .log_total = -INFINITY, .t = trace_clone(x->model->p.at[0])};
    if (st == GPM_OK) st = core_check_memory(x->core, x->at);
    if (st == GPM_OK && e) st = trace_predict(s->t, NULL, e, f, &v);
    value_unref(v);
    if (st == GPM_OK && e) s->asked = vec_last(&s->t->records);
    if (st == GPM_OK) st = search_below(s);
    trace_free(s->t);
    return st;
}

static void search_release(struct exact_search *s) {
    for (size_t i = 0; i < s->found.n; i++) value_unref(s->found.at[i].v);
    vec_release(&s->found);
    vec_release(&s->known);
    map_release(&s->by_hash);
}

enum gpm_status exact_run(struct infer_state *x, struct action *a, value *out) {
    struct exact_search s;
    enum gpm_status st = search(x, a->ast->kids[0]->kids[0], a->splices[0], &s);
    if (st == GPM_OK && s.log_total == -INFINITY)
        st = infer_error(x, DIAG_DOMAIN,
                         "exact_posterior: no state of the model has the observations");
    if (st == GPM_OK) *out = distribution(&s);
    search_release(&s);
    return st;
}

static enum gpm_status op_evidence(struct infer_state *x, const struct action *a, value *out) {
    struct exact_search s;
    enum gpm_status st = search(x, NULL, NULL, &s);
    if (st == GPM_OK) *out = value_num(s.log_total);
    search_release(&s);
    return st;
}

const struct infer_op infer_exact_rows[] = {
    {"exact_log_evidence", "() -> action",
     "log probability of the observations, summed over all values of all choices", NULL, OP_EXACT,
     .run = op_evidence},
    {0},
};
