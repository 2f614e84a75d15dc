/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums by elimination; see the header.
 *
 * A step adds all tables whose scope contains its variable z in a table over the union U of their
 * scopes, and sums z out: message(u) = log sum_z exp T(u, z), a table of later steps. Backwards,
 * the derivative of the total in a message is that in T times the share of z:
 *
 *     Tbar(u, z) = mbar(u) exp(T(u, z) - m(u))
 *
 * and is passed on to the added tables; it is the marginal probability of each cell. Draws go the
 * same way: at a step's turn all of u has been drawn. */
#include "inference/sums/elimination.h"

#include "base/vec.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct table {
    uint32_t *scope; /* ascending */
    size_t n, cells;
    double *at, *adj;
    bool used; /* by a step of the plan */
};

typedef VEC(size_t) numbers;

struct elim_step {
    uint32_t var;
    size_t joint, message; /* tables: T and m */
    numbers from;          /* the tables added in T */
};

struct elimination {
    uint32_t *size;
    size_t n;
    VEC(struct table) tables;
    VEC(struct elim_step) steps;
    numbers *of;     /* by variable: tables that contain it, without the steps' T */
    uint32_t *digit; /* scratch, by variable */
};

struct elimination *elimination_new(const uint32_t *size, size_t n) {
    struct elimination *e = NEW(struct elimination);
    e->n = n;
    e->size = NEW_ARRAY(uint32_t, n + 1);
    e->digit = mem_zalloc((n + 1) * sizeof *e->digit);
    e->of = mem_zalloc((n + 1) * sizeof *e->of);
    if (n) memcpy(e->size, size, n * sizeof *size);
    return e;
}

void elimination_free(struct elimination *e) {
    if (!e) return;
    for (size_t i = 0; i < e->tables.n; i++) {
        mem_free(e->tables.at[i].scope);
        mem_free(e->tables.at[i].at);
        mem_free(e->tables.at[i].adj);
    }
    for (size_t i = 0; i < e->steps.n; i++) vec_release(&e->steps.at[i].from);
    for (size_t i = 0; i < e->n; i++) vec_release(&e->of[i]);
    vec_release(&e->tables);
    vec_release(&e->steps);
    mem_free(e->of);
    mem_free(e->size);
    mem_free(e->digit);
    mem_free(e);
}

static double count_cells(const struct elimination *e, const uint32_t *scope, size_t n) {
    double cells = 1;
    for (size_t i = 0; i < n; i++) cells *= e->size[scope[i]];
    return cells;
}

static size_t add_table(struct elimination *e, const uint32_t *scope, size_t n) {
    struct table t = {.n = n, .scope = NEW_ARRAY(uint32_t, n + 1)};
    if (n) memcpy(t.scope, scope, n * sizeof *scope);
    t.cells = (size_t)count_cells(e, scope, n);
    t.at = mem_zalloc((t.cells + 1) * sizeof *t.at);
    t.adj = mem_zalloc((t.cells + 1) * sizeof *t.adj);
    vec_push(&e->tables, t);
    return e->tables.n - 1;
}

size_t elimination_add(struct elimination *e, const uint32_t *scope, size_t n) {
    size_t t = add_table(e, scope, n);
    for (size_t i = 0; i < n; i++) vec_push(&e->of[scope[i]], t);
    return t;
}

double *elimination_cells(struct elimination *e, size_t table, size_t *n) {
    *n = e->tables.at[table].cells;
    return e->tables.at[table].at;
}

const double *elimination_probabilities(const struct elimination *e, size_t table) {
    return e->tables.at[table].adj;
}

size_t elimination_cell(const struct elimination *e, size_t table, const uint32_t *digits) {
    const struct table *t = &e->tables.at[table];
    size_t at = 0, stride = 1;
    for (size_t i = 0; i < t->n; i++) {
        at += stride * digits[t->scope[i]];
        stride *= e->size[t->scope[i]];
    }
    return at;
}

/* ---- the plan ---------------------------------------------------------------------------------
 */

/* Merges the ascending scope of n with another; returns the length. `to` has room for both. */
static size_t unite(uint32_t *to, size_t n, const uint32_t *more, size_t m) {
    size_t i = n, j = m, both = 0;
    for (size_t a = 0, b = 0; a < n && b < m;) {
        both += to[a] == more[b];
        bool left = to[a] < more[b], same = to[a] == more[b];
        a += left || same;
        b += !left;
    }
    for (size_t k = n + m - both; k-- > 0;) { /* backwards, so that nothing is overwritten */
        bool old = j == 0 || (i > 0 && to[i - 1] >= more[j - 1]);
        uint32_t next = old ? to[i - 1] : more[j - 1];
        i -= old;
        j -= j > 0 && more[j - 1] == next;
        to[k] = next;
    }
    return n + m - both;
}

static bool plan_step(struct elimination *e, uint32_t var, size_t max_cells) {
    struct elim_step s = {.var = var};
    VEC(uint32_t) scope = {0};
    vec_push(&scope, var);
    for (size_t i = 0; i < e->of[var].n; i++) {
        struct table *t = &e->tables.at[e->of[var].at[i]];
        if (t->used) continue;
        t->used = true;
        vec_reserve(&scope, scope.n + t->n);
        scope.n = unite(scope.at, scope.n, t->scope, t->n);
        vec_push(&s.from, e->of[var].at[i]);
    }
    bool fits = count_cells(e, scope.at, scope.n) <= (double)max_cells;
    if (fits) {
        s.joint = add_table(e, scope.at, scope.n);
        size_t kept = 0;
        for (size_t i = 0; i < scope.n; i++)
            if (scope.at[i] != var) scope.at[kept++] = scope.at[i];
        s.message = elimination_add(e, scope.at, kept);
        vec_push(&e->steps, s);
    } else
        vec_release(&s.from);
    vec_release(&scope);
    return fits;
}

/* Number of other variables that share a table with it, counted once per table. */
static size_t degree(const struct elimination *e, size_t var) {
    size_t n = 0;
    for (size_t i = 0; i < e->of[var].n; i++) n += e->tables.at[e->of[var].at[i]].n - 1;
    return n;
}

static int by_rank(const void *a, const void *b, void *ctx) {
    const size_t *rank = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (rank[x] != rank[y]) return rank[x] < rank[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Variables with the fewest neighbours first; ties by index. So ends of chains and leaves of trees
 * precede their neighbours. */
bool elimination_plan(struct elimination *e, size_t max_cells) {
    uint32_t *order = NEW_ARRAY(uint32_t, e->n + 1);
    size_t *rank = NEW_ARRAY(size_t, e->n + 1);
    bool fits = true;
    for (size_t i = 0; i < e->n; i++) {
        order[i] = (uint32_t)i;
        rank[i] = degree(e, i);
    }
    qsort_r(order, e->n, sizeof *order, by_rank, rank);
    for (size_t i = 0; i < e->n && fits; i++) fits = plan_step(e, order[i], max_cells);
    mem_free(order);
    mem_free(rank);
    return fits;
}

/* ---- forwards and backwards ---------------------------------------------------------------------
 */

/* The digits of cell `at` of a table, by variable. */
static void set_digits(struct elimination *e, const struct table *t, size_t at) {
    for (size_t i = 0; i < t->n; i++) {
        e->digit[t->scope[i]] = (uint32_t)(at % e->size[t->scope[i]]);
        at /= e->size[t->scope[i]];
    }
}

/* m(u) = log sum_z exp T(u, z), computed relative to the maximum for each u. */
static void sum_out(struct elimination *e, const struct elim_step *s) {
    struct table *t = &e->tables.at[s->joint], *m = &e->tables.at[s->message];
    double *most = m->adj; /* scratch until the backward pass */
    for (size_t u = 0; u < m->cells; u++) {
        most[u] = -INFINITY;
        m->at[u] = 0;
    }
    for (size_t i = 0; i < t->cells; i++) {
        set_digits(e, t, i);
        size_t u = elimination_cell(e, s->message, e->digit);
        if (!(t->at[i] <= most[u])) most[u] = t->at[i];
    }
    for (size_t i = 0; i < t->cells; i++) {
        set_digits(e, t, i);
        size_t u = elimination_cell(e, s->message, e->digit);
        if (most[u] > -INFINITY) m->at[u] += exp(t->at[i] - most[u]);
    }
    for (size_t u = 0; u < m->cells; u++)
        m->at[u] = most[u] > -INFINITY ? most[u] + log(m->at[u]) : -INFINITY;
}

double elimination_log_sum(struct elimination *e) {
    double total = 0;
    for (size_t k = 0; k < e->steps.n; k++) {
        const struct elim_step *s = &e->steps.at[k];
        struct table *t = &e->tables.at[s->joint];
        for (size_t i = 0; i < t->cells; i++) {
            set_digits(e, t, i);
            t->at[i] = 0;
            for (size_t j = 0; j < s->from.n; j++)
                t->at[i] +=
                    e->tables.at[s->from.at[j]].at[elimination_cell(e, s->from.at[j], e->digit)];
        }
        sum_out(e, s);
        if (!e->tables.at[s->message].n) total += e->tables.at[s->message].at[0];
    }
    return total;
}

void elimination_marginals(struct elimination *e) {
    for (size_t i = 0; i < e->tables.n; i++)
        memset(e->tables.at[i].adj, 0, e->tables.at[i].cells * sizeof(double));
    for (size_t k = e->steps.n; k-- > 0;) {
        const struct elim_step *s = &e->steps.at[k];
        struct table *t = &e->tables.at[s->joint], *m = &e->tables.at[s->message];
        if (!m->n) m->adj[0] = 1;
        for (size_t i = 0; i < t->cells; i++) {
            set_digits(e, t, i);
            size_t u = elimination_cell(e, s->message, e->digit);
            double p = m->adj[u] > 0 ? m->adj[u] * exp(t->at[i] - m->at[u]) : 0;
            for (size_t j = 0; j < s->from.n && p > 0; j++)
                e->tables.at[s->from.at[j]].adj[elimination_cell(e, s->from.at[j], e->digit)] += p;
        }
    }
}

void elimination_draw(const struct elimination *e, struct rng *rng, uint32_t *digits) {
    for (size_t k = e->steps.n; k-- > 0;) {
        const struct elim_step *s = &e->steps.at[k];
        double u = rng_uniform(rng), sum = 0;
        uint32_t last = 0;
        digits[s->var] = 0;
        double total = e->tables.at[s->message].at[elimination_cell(e, s->message, digits)];
        for (uint32_t d = 0; d < e->size[s->var] && sum <= u; d++) {
            digits[s->var] = d;
            double p =
                exp(e->tables.at[s->joint].at[elimination_cell(e, s->joint, digits)] - total);
            if (p > 0) last = d;
            sum += p;
        }
        digits[s->var] = last;
    }
}
