/* SPDX-License-Identifier: Apache-2.0
 *
 * Enumerates the values of a block of a grammar's choices, on one trace and without copies:
 *
 *     visit(i):  find the first choice from place i on that is open; none: a state is reached
 *                for each of its values: give it the value, which rebuilds what depends on it,
 *                visit(the place behind it)
 *
 * in the order of evaluation. A choice is open if it belongs to the block or was made since the
 * block was begun. Values are given by moves (inference/run/move.h), so everything before the
 * choice stays. The choices after it may change every time, so they are looked up again. */
#include "apps/discover/derive.h"
#include "base/mem.h"

/* BUILDS: attempts to build a state, each with newly drawn parameters. */
enum { BUILDS = 12, MAX_STATES = 20000 };
#define LEAST_LOG_P                                                                                \
    (-9.3) /* of the block's choices together, log 1e-4: further ones are left out */

uint64_t newest_choice(const struct trace *t) {
    uint64_t most = 0;
    for (size_t i = 0; i < t->choices.n; i++)
        if (node_seq(t->choices.at[i]) > most) most = node_seq(t->choices.at[i]);
    return most;
}

static bool holds(const struct node_set *s, const struct node *n) {
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i] == n) return true;
    return false;
}

/* The values of a choice, counted; the caller frees them with values_free. */
static enum gpm_status values_of(const struct grammar_scopes *g, struct trace *t, struct node *n,
                                 value **vals, size_t *k) {
    const struct sp_class *cls = node_class(n);
    bool numbers = continuous_takes(t, n);
    if (cls && cls->enumerate && !numbers) return node_enumerate(t, n, vals, k);
    enum gpm_status st = infer_error(
        g->x, DIAG_BAD_OPERATOR_ARG,
        "%s: a structure is made of choices with finitely many values; scope %s holds a draw of %s",
        g->op, SHOW(g->structure), cls ? cls->name : "a procedure");
    diag_set_help(g->x->core->diags,
                  numbers ? "tag it with the scope of the parameters, which are integrated out"
                          : "use a distribution that lists its values, such as uniform_discrete");
    return st;
}

enum gpm_status structure_choices(const struct grammar_scopes *g, struct trace *t,
                                  struct node_set *out) {
    struct node_set p = {NULL, 0};
    enum gpm_status st = choices_in_order(g->x, t, g->structure, out);
    if (st == GPM_OK) st = parameters_in_order(g->x, t, g->parameters, &p);
    size_t n = st == GPM_OK ? out->n : 0;
    for (size_t i = out->n = 0; i < n; i++)
        if (!holds(&p, out->at[i])) out->at[out->n++] = out->at[i];
    mem_free(p.at);
    return st;
}

enum gpm_status derivation_read(const struct grammar_scopes *g, struct trace *t,
                                struct derivation *out, double *log_prior) {
    struct node_set c;
    *log_prior = 0;
    *out = (struct derivation){NULL, 0};
    enum gpm_status st = structure_choices(g, t, &c);
    if (st != GPM_OK) return st;
    out->at = NEW_ARRAY(uint32_t, c.n + 1);
    for (; out->n < c.n && st == GPM_OK; out->n++) {
        value *vals;
        size_t k;
        double logp = 0;
        st = values_of(g, t, c.at[out->n], &vals, &k);
        if (st != GPM_OK) break;
        uint32_t j = 0;
        while (j < k && !value_equal(vals[j], node_value(c.at[out->n]))) j++;
        out->at[out->n] = j;
        values_free(vals, k);
        st = node_logp(t, c.at[out->n], &logp);
        *log_prior += logp;
    }
    mem_free(c.at);
    if (st != GPM_OK) mem_free(out->at);
    return st;
}

/* Gives a choice a value; *ok false: no state with it can be built. */
static enum gpm_status give(const struct grammar_scopes *g, struct trace *t, struct node *n,
                            value v, bool *ok) {
    struct step s = {.x = g->x, .t = t, .at = &n, .n = 1};
    struct move m;
    *ok = value_equal(node_value(n), v);
    if (*ok) return GPM_OK;
    enum gpm_status st = core_poll(g->x->core, g->x->at);
    if (st == GPM_OK) st = move_find(&s, &m);
    if (st == GPM_OK) st = move_open(&m);
    if (st != GPM_OK) return st;
    double w;
    for (int k = 0; k < BUILDS && st == GPM_OK && !*ok; k++) {
        st = move_build(&m, &v, &w, NULL);
        *ok = st == GPM_OK && move_built(&m);
    }
    move_close(&m, *ok);
    return st;
}

/* Choice i of the structure; NULL: it has fewer. */
static enum gpm_status choice_at(const struct grammar_scopes *g, struct trace *t, size_t i,
                                 struct node **out) {
    struct node_set c;
    *out = NULL;
    enum gpm_status st = structure_choices(g, t, &c);
    if (st != GPM_OK) return st;
    if (i < c.n) *out = c.at[i];
    mem_free(c.at);
    return GPM_OK;
}

enum gpm_status derivation_build(const struct grammar_scopes *g, struct trace *t,
                                 const struct derivation *d, bool *ok) {
    enum gpm_status st = GPM_OK;
    *ok = true;
    for (size_t i = 0; i < d->n && st == GPM_OK && *ok; i++) {
        struct node *n;
        value *vals;
        size_t k;
        st = choice_at(g, t, i, &n);
        *ok = n != NULL;
        if (n) st = values_of(g, t, n, &vals, &k);
        if (!n || st != GPM_OK) break;
        *ok = d->at[i] < k;
        if (*ok) st = give(g, t, n, vals[d->at[i]], ok);
        values_free(vals, k);
    }
    return st;
}

/* ---- neighbours ---- */
struct visit {
    const struct grammar_scopes *g;
    struct trace *t;
    uint64_t since;  /* choices of this number and above came to exist */
    uint64_t *block; /* numbers of the block's choices */
    size_t n_block, states;
    derivation_fn *fn;
    void *ctx;
};

static bool is_open(const struct visit *v, const struct node *n) {
    for (size_t i = 0; i < v->n_block; i++)
        if (v->block[i] == node_seq(n)) return true;
    return node_seq(n) >= v->since;
}

static enum gpm_status visit(struct visit *v, size_t from, double logp);

/* The choice at place i, n of that number, takes each of its values in turn. */
static enum gpm_status visit_values(struct visit *v, struct node *n, size_t i, double logp) {
    value *vals;
    size_t k;
    uint64_t seq = node_seq(n);
    enum gpm_status st = values_of(v->g, v->t, n, &vals, &k);
    if (st != GPM_OK) return st;
    for (size_t j = 0; j < k && st == GPM_OK; j++) {
        bool ok = false;
        double p = 0;
        st = choice_at(v->g, v->t, i, &n);
        if (st == GPM_OK && (!n || node_seq(n) != seq))
            st = infer_error(v->g->x, DIAG_BAD_OPERATOR_ARG,
                             "%s: a choice of the structure changes one that was made before it",
                             v->g->op);
        if (st == GPM_OK) st = give(v->g, v->t, n, vals[j], &ok);
        if (st == GPM_OK && ok) st = node_logp(v->t, n, &p);
        if (st == GPM_OK && ok && logp + p >= LEAST_LOG_P) st = visit(v, i + 1, logp + p);
    }
    values_free(vals, k);
    return st;
}

static enum gpm_status visit(struct visit *v, size_t from, double logp) {
    struct node_set c;
    enum gpm_status st = structure_choices(v->g, v->t, &c);
    if (st != GPM_OK) return st;
    while (from < c.n && !is_open(v, c.at[from])) from++;
    struct node *n = from < c.n ? c.at[from] : NULL;
    mem_free(c.at);
    if (n) return visit_values(v, n, from, logp);
    if (++v->states > MAX_STATES)
        return infer_error(v->g->x, DIAG_LIMIT,
                           "%s: a block of the structure has more than %d states; tag its parts "
                           "with blocks of their own",
                           v->g->op, MAX_STATES);
    return v->fn(v->ctx, v->t);
}

/* Places of the choices of each block, as bytes: which[b * n + i]. */
static enum gpm_status blocks_of(const struct grammar_scopes *g, struct trace *t, size_t *n_blocks,
                                 size_t *n, unsigned char **which) {
    struct node_set c;
    struct scope *s = trace_scope(t, g->structure);
    struct scope_block **blocks = NULL;
    enum gpm_status st =
        s ? structure_choices(g, t, &c) : infer_unknown_scope(g->x, t, g->structure);
    *n_blocks = *n = 0;
    *which = NULL;
    if (st != GPM_OK || !s) return st;
    scopes_sorted(s, &blocks, n_blocks);
    *n = c.n;
    *which = mem_zalloc(*n_blocks * c.n + 1);
    for (size_t b = 0; b < *n_blocks; b++) {
        struct node_set in;
        block_choices(blocks[b], &in.at, &in.n);
        for (size_t i = 0; i < c.n; i++) (*which)[b * c.n + i] = holds(&in, c.at[i]);
        mem_free(in.at);
    }
    mem_free(blocks);
    mem_free(c.at);
    return GPM_OK;
}

static enum gpm_status visit_block(const struct grammar_scopes *g, struct trace *t,
                                   const struct derivation *d, const unsigned char *in,
                                   derivation_fn *fn, void *ctx) {
    struct node_set c;
    bool ok;
    enum gpm_status st = derivation_build(g, t, d, &ok);
    if (st != GPM_OK || !ok) return st;
    st = structure_choices(g, t, &c);
    if (st != GPM_OK) return st;
    struct visit v = {g, t, newest_choice(t) + 1, NEW_ARRAY(uint64_t, c.n + 1), 0, 0, fn, ctx};
    for (size_t i = 0; i < c.n && i < d->n; i++)
        if (in[i]) v.block[v.n_block++] = node_seq(c.at[i]);
    mem_free(c.at);
    st = v.n_block ? visit(&v, 0, 0) : GPM_OK;
    mem_free(v.block);
    return st;
}

/* A block in its surroundings: the other choices in order, and where the block stands among them.
 */
static uint64_t surroundings(const struct derivation *d, const unsigned char *in) {
    uint64_t h = 1;
    for (size_t i = 0; i < d->n; i++) {
        if (in[i] && i && in[i - 1]) continue;
        h = hash_mix(h * 31 + (in[i] ? UINT32_MAX : d->at[i]));
    }
    return h;
}

enum gpm_status derivation_neighbours(const struct grammar_scopes *g, struct trace *t,
                                      const struct derivation *d, struct map *done,
                                      derivation_fn *fn, void *ctx) {
    size_t n_blocks, n;
    unsigned char *which;
    bool ok;
    enum gpm_status st = derivation_build(g, t, d, &ok);
    if (st != GPM_OK || !ok) return st;
    st = blocks_of(g, t, &n_blocks, &n, &which);
    if (n != d->n) n_blocks = 0;
    for (size_t b = 0; b < n_blocks && st == GPM_OK; b++) {
        uint64_t key = surroundings(d, which + b * n);
        if (map_get(done, key)) continue;
        map_put(done, key, done);
        st = visit_block(g, t, d, which + b * n, fn, ctx);
    }
    mem_free(which);
    return st;
}
