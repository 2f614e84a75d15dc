/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete choices summed out; see the header.
 */
#include "inference/sums/marginal.h"

#include "inference/sums/elimination.h"
#include "inference/sums/enumerate.h"
#include "runtime/trace/factors.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>

enum { MAX_RUNS = 4096, MAX_CELLS = 1 << 20 };
#define NOWHERE SIZE_MAX

struct marginal {
    struct infer_state *x;
    struct trace *t;
    struct scaffold *s;
    size_t n_moved, n_summed;
    candidates *of;           /* by summed choice: its possible values */
    uint32_t *colour, *radix; /* by summed choice; by colour: the largest number of values */
    uint32_t n_colours;
    size_t n_runs; /* assignments of values to colours */
    struct factors *factors;
    struct elimination *sum;
    size_t n_tables;
    size_t *table; /* by factor: 1 + its table; 0: depends on no summed choice */
    size_t *cell;  /* of table i in run r at [i * n_runs + r]; NOWHERE: given by another run */
    value *vals;   /* of all principals in a run; borrowed */
    value *built;  /* values of the moved ones that the tables are for; owned */
    bool is_built;
    double *shares; /* by factor */
    double rest;    /* log weight of factors without summed choices */
    /* The flat that evaluates runs, or NULL. */
    struct flat *parts;
    size_t *part_table; /* by part, like `table` by factor */
    double *part;       /* densities or shares of the parts; owns the next two */
    double *at, *grad;  /* numbers of all principals */
};

static void marginal_release(struct marginal *m) {
    for (size_t i = 0; i < m->n_summed; i++) values_free(m->of[i].at, m->of[i].n);
    values_free(m->built, m->n_moved);
    factors_free(m->factors);
    elimination_free(m->sum);
    mem_free(m->of);
    mem_free(m->colour);
    mem_free(m->radix);
    mem_free(m->table);
    mem_free(m->cell);
    mem_free(m->vals);
    mem_free(m->shares);
    mem_free(m->part_table);
    mem_free(m->part);
    mem_free(m);
}

static void summed_pack(struct pack *p, void *own) {
    if (((value *)own)->tag != V_NIL) pack_fail(p, "an operator is at work");
}

const struct op_state_class summed_own = {sizeof(value), NULL, summed_pack};

value *marginal_scope(const struct infer_state *x) {
    return infer_own(x, &summed_own);
}

enum gpm_status marginal_choices(struct infer_state *x, struct trace *t, struct node_set *out) {
    value scope = *marginal_scope(x);
    *out = (struct node_set){0};
    if (scope.tag == V_NIL) return GPM_OK;
    struct target g = infer_aim(x, scope, infer_name(x, "all"));
    enum gpm_status st = infer_target_all(x, t, &g, out);
    if (st != GPM_OK || !infer_is_name(scope, "default")) return st;
    size_t n = 0; /* among all choices, the discrete ones */
    for (size_t i = 0; i < out->n; i++)
        if (node_class(out->at[i])->flags & SP_DISCRETE) out->at[n++] = out->at[i];
    out->n = n;
    return st;
}

/* ---- colours and runs --------------------------------------------------------------------------
 */

/* The digit of a colour in run r. */
static uint32_t digit(const struct marginal *m, size_t r, uint32_t colour) {
    for (uint32_t c = 0; c < colour; c++) r /= m->radix[c];
    return (uint32_t)(r % m->radix[colour]);
}

/* Gives each choice the smallest colour that no earlier neighbour has; neighbours share a factor.
 * taken[] is stored by choice and colour, so one pass over the scopes suffices on chains. */
static enum gpm_status find_colours(struct marginal *m) {
    enum { MOST = 12 };
    uint16_t *taken = mem_zalloc((m->n_summed + 1) * sizeof *taken);
    VEC(uint32_t) edge = {0}; /* pairs (earlier, later) */
    bool few = true;
    for (size_t i = 0; i < factors_count(m->factors); i++) {
        size_t n;
        const uint32_t *scope = factors_scope(m->factors, i, &n);
        few &= n <= MOST;
        for (size_t a = 0; few && a < n; a++)
            for (size_t b = a + 1; b < n; b++) {
                vec_push(&edge, scope[a]);
                vec_push(&edge, scope[b]);
            }
    }
    /* Edges sorted by their earlier end, so that one walk colours all. */
    size_t *first = mem_zalloc((m->n_summed + 2) * sizeof *first);
    uint32_t *to = NEW_ARRAY(uint32_t, edge.n / 2 + 1);
    for (size_t k = 0; k < edge.n; k += 2) first[edge.at[k] + 2]++;
    for (size_t i = 2; i < m->n_summed + 2; i++) first[i] += first[i - 1];
    for (size_t k = 0; k < edge.n; k += 2) to[first[edge.at[k] + 1]++] = edge.at[k + 1];
    m->n_colours = 1;
    for (size_t i = 0; few && i < m->n_summed; i++) {
        uint32_t c = 0;
        while (c < MOST && (taken[i] >> c & 1)) c++;
        few = c < MOST;
        m->colour[i] = c;
        if (c >= m->n_colours) m->n_colours = c + 1;
        for (size_t k = first[i]; k < first[i + 1]; k++) taken[to[k]] |= (uint16_t)(1u << c);
    }
    mem_free(first);
    mem_free(to);
    mem_free(taken);
    vec_release(&edge);
    double runs = 1;
    for (uint32_t c = 0; c < m->n_colours; c++) m->radix[c] = 1;
    for (size_t i = 0; few && i < m->n_summed; i++)
        if (m->of[i].n > m->radix[m->colour[i]]) m->radix[m->colour[i]] = (uint32_t)m->of[i].n;
    for (uint32_t c = 0; c < m->n_colours; c++) runs *= m->radix[c];
    m->n_runs = (size_t)runs;
    if (few && runs <= MAX_RUNS) return GPM_OK;
    infer_error(m->x, DIAG_LIMIT,
                "the choices to be summed out depend on each other too closely: the model would "
                "have to be evaluated more than %d times",
                MAX_RUNS);
    return diag_set_help(m->x->core->diags,
                         "independent choices and chains can be summed; gibbs draws any of them");
}

/* Sets the values of the summed choices in run r. A choice with fewer values than its colour
 * repeats its last value; that run is not read for it. */
static void set_run(struct marginal *m, const value *moved, size_t r) {
    for (size_t i = 0; i < m->n_moved; i++) m->vals[i] = moved[i];
    for (size_t i = 0; i < m->n_summed; i++) {
        uint32_t d = digit(m, r, m->colour[i]);
        m->vals[m->n_moved + i] = m->of[i].at[d < m->of[i].n ? d : m->of[i].n - 1];
    }
}

/* Builds run r; *built is false if the model cannot be evaluated there. */
static enum gpm_status build_run(struct marginal *m, const value *moved, size_t r, bool *built) {
    double w;
    set_run(m, moved, r);
    scaffold_unregen(m->s);
    enum gpm_status st = scaffold_regen(m->s, SCAFFOLD_FIXED, m->vals, &w);
    *built = st == GPM_OK && scaffold_built(m->s);
    return st;
}

/* ---- possible values of the choices ---- */

static enum gpm_status add_values(struct marginal *m, size_t i, bool *grew) {
    struct node *n = scaffold_principal(m->s, m->n_moved + i);
    return candidates_add_all(&m->of[i], m->t, n, 0, grew);
}

/* Builds every run in the current state to find dependencies and possible values. Repeats until no
 * run adds more. */
static enum gpm_status explore(struct marginal *m, const value *moved) {
    bool grew = true, built;
    enum gpm_status st = GPM_OK;
    while (grew && st == GPM_OK) {
        grew = false;
        st = find_colours(m);
        for (size_t r = 0; r < m->n_runs && st == GPM_OK; r++) {
            st = build_run(m, moved, r, &built);
            if (st == GPM_OK && !built)
                st = infer_error(m->x, DIAG_NOT_ENUMERABLE,
                                 "the model cannot be evaluated with every value of the choices "
                                 "to be summed out");
            if (st == GPM_OK) st = factors_read(m->factors, &grew);
            for (size_t i = 0; i < m->n_summed && st == GPM_OK; i++) st = add_values(m, i, &grew);
            if (st == GPM_OK) st = core_poll(m->x->core, m->x->at);
        }
    }
    return st;
}

/* ---- tables ------------------------------------------------------------------------------------
 */

/* The cell of a scope's table in run r. A cell is read in the run where all other colours have
 * their first value, unless a choice lacks a value. */
static size_t cell_of(struct marginal *m, const uint32_t *scope, size_t n, size_t table, size_t r,
                      uint32_t *digits) {
    uint32_t inside = 0;
    for (size_t i = 0; i < n; i++) {
        digits[scope[i]] = digit(m, r, m->colour[scope[i]]);
        if (digits[scope[i]] >= m->of[scope[i]].n) return NOWHERE;
        inside |= 1u << m->colour[scope[i]];
    }
    for (uint32_t c = 0; c < m->n_colours; c++)
        if (!(inside >> c & 1) && digit(m, r, c)) return NOWHERE;
    return elimination_cell(m->sum, table, digits);
}

static enum gpm_status make_tables(struct marginal *m) {
    size_t n_factors = factors_count(m->factors), n;
    uint32_t *size = NEW_ARRAY(uint32_t, m->n_summed + 1);
    struct map known = {0}; /* scope -> 1 + table: equal scopes share one */
    VEC(const uint32_t *) scopes = {0};
    VEC(size_t) lengths = {0};
    for (size_t i = 0; i < m->n_summed; i++) size[i] = (uint32_t)m->of[i].n;
    m->sum = elimination_new(size, m->n_summed);
    m->table = mem_zalloc((n_factors + 1) * sizeof *m->table);
    m->shares = NEW_ARRAY(double, n_factors + 1);
    for (size_t i = 0; i < n_factors; i++) {
        const uint32_t *scope = factors_scope(m->factors, i, &n);
        if (!n) continue;
        m->table[i] = (size_t)(uintptr_t)map_get(&known, MAP_PTR(scope));
        if (m->table[i]) continue;
        m->table[i] = 1 + elimination_add(m->sum, scope, n);
        map_put(&known, MAP_PTR(scope), (void *)(uintptr_t)m->table[i]);
        vec_push(&scopes, scope);
        vec_push(&lengths, n);
    }
    m->n_tables = scopes.n;
    m->cell = NEW_ARRAY(size_t, m->n_tables * m->n_runs + 1);
    for (size_t k = 0; k < m->n_tables; k++)
        for (size_t r = 0; r < m->n_runs; r++)
            m->cell[k * m->n_runs + r] = cell_of(m, scopes.at[k], lengths.at[k], k, r, size);
    map_release(&known);
    vec_release(&scopes);
    vec_release(&lengths);
    mem_free(size);
    if (elimination_plan(m->sum, MAX_CELLS)) return GPM_OK;
    infer_error(m->x, DIAG_LIMIT,
                "too many of the choices to be summed out depend on each other at once");
    return diag_set_help(m->x->core->diags,
                         "independent choices and chains can be summed; gibbs draws any of them");
}

static void clear_tables(struct marginal *m) {
    size_t n;
    m->rest = 0;
    for (size_t k = 0; k < m->n_tables; k++) {
        double *at = elimination_cells(m->sum, k, &n);
        memset(at, 0, n * sizeof *at);
    }
}

/* Adds the weight of a factor in run r to its table k - 1; k = 0: the factor has no table. */
static void marginal_put(struct marginal *m, size_t k, size_t r, double weight) {
    size_t n, at = k ? m->cell[(k - 1) * m->n_runs + r] : NOWHERE;
    if (!k && r == 0) m->rest += weight;
    if (at != NOWHERE) elimination_cells(m->sum, k - 1, &n)[at] += weight;
}

/* The probability of the factor's cell. */
static double share(const struct marginal *m, size_t k, size_t r) {
    size_t at = k ? m->cell[(k - 1) * m->n_runs + r] : NOWHERE;
    return at != NOWHERE ? elimination_probabilities(m->sum, k - 1)[at] : (double)(!k && r == 0);
}

/* ---- by a flat ---- */

static bool is_number(value v) {
    return v.tag == V_NUM || v.tag == V_BOOL;
}

static size_t count_numbers(value v) {
    return is_number(v) ? 1 : adj_count(v);
}

/* Do all values have the compiled type? */
static bool numbers_do(const struct marginal *m) {
    for (size_t i = 0; i < m->n_summed; i++) {
        value was = scaffold_old_value(m->s, m->n_moved + i);
        for (size_t k = 0; k < m->of[i].n; k++)
            if (!is_number(was) || m->of[i].at[k].tag != was.tag) return false;
    }
    return true;
}

/* Call while the scaffold exists: finds the table of each part by its entry. */
static void take_parts(struct marginal *m, struct flat *parts) {
    if (!parts || !numbers_do(m)) return;
    size_t n = flat_n_parts(parts), n_x = flat_n_numbers(parts);
    m->parts = parts;
    m->part_table = NEW_ARRAY(size_t, n + 1);
    m->part = NEW_ARRAY(double, n + 2 * n_x + 1);
    m->at = m->part + n;
    m->grad = m->at + n_x;
    for (size_t i = 0; i < n; i++)
        m->part_table[i] = m->table[factors_of_node(m->factors, flat_part(parts, i))];
}

static void set_numbers(struct marginal *m, const value *moved, size_t r) {
    double *x = m->at;
    set_run(m, moved, r);
    for (size_t i = 0; i < m->n_moved + m->n_summed; i++) {
        size_t n = count_numbers(m->vals[i]);
        if (m->vals[i].tag == V_BOOL)
            *x = m->vals[i].u.boolean;
        else
            adj_doubles(m->vals[i], x, n);
        x += n;
    }
}

/* Like fill_tables; false: left to the scaffold. */
static bool fill_by_parts(struct marginal *m, const value *moved) {
    size_t n = flat_n_parts(m->parts);
    clear_tables(m);
    for (size_t r = 0; r < m->n_runs; r++) {
        set_numbers(m, moved, r);
        if (!flat_weigh_parts(m->t, m->parts, m->at, m->part)) return false;
        for (size_t i = 0; i < n; i++) marginal_put(m, m->part_table[i], r, m->part[i]);
    }
    return true;
}

/* Like add_gradients; false: left to the scaffold. */
static bool add_by_parts(struct marginal *m, const value *moved, value *grads) {
    size_t n = flat_n_parts(m->parts);
    double *g = m->grad;
    memset(g, 0, flat_n_numbers(m->parts) * sizeof *g);
    for (size_t r = 0; r < m->n_runs; r++) {
        set_numbers(m, moved, r);
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            m->part[i] = share(m, m->part_table[i], r);
            any |= m->part[i] != 0;
        }
        if (any && !flat_add_gradient(m->t, m->parts, m->at, m->part, g)) return false;
    }
    for (size_t i = 0; i < m->n_moved; g += count_numbers(moved[i++]))
        value_set_take(&grads[i], adj_like(moved[i], g));
    return true;
}

/* ---- through the scaffold ---- */

/* Fills the tables at these values of the moved choices; *built is false if the model cannot be
 * evaluated there. */
static enum gpm_status fill_tables(struct marginal *m, const value *moved, bool *built) {
    enum gpm_status st = GPM_OK;
    *built = true;
    if (m->parts && fill_by_parts(m, moved)) return GPM_OK;
    clear_tables(m);
    for (size_t r = 0; r < m->n_runs && st == GPM_OK && *built; r++) {
        bool grew = false;
        st = build_run(m, moved, r, built);
        if (st == GPM_OK && *built && scaffold_has_brush(m->s))
            st = factors_read(m->factors, &grew);
        if (st == GPM_OK && grew)
            st = infer_error(m->x, DIAG_NOT_ENUMERABLE,
                             "what the choices to be summed out decide changes with the other "
                             "choices; they cannot be summed out together");
        for (size_t i = 0; st == GPM_OK && *built && i < factors_count(m->factors); i++)
            marginal_put(m, m->table[i], r, factors_weight(m->factors, i));
    }
    return st;
}

/* Each factor has the probability of its cell as its share. */
static bool set_shares(struct marginal *m, size_t r) {
    bool any = false;
    for (size_t i = 0; i < factors_count(m->factors); i++) {
        m->shares[i] = share(m, m->table[i], r);
        any |= m->shares[i] != 0;
    }
    return any;
}

static enum gpm_status add_gradients(struct marginal *m, const value *moved, value *grads) {
    enum gpm_status st = GPM_OK;
    bool built;
    elimination_marginals(m->sum);
    if (m->parts && add_by_parts(m, moved, grads)) return GPM_OK;
    value *part = NEW_ARRAY(value, m->n_moved + m->n_summed + 1);
    for (size_t r = 0; r < m->n_runs && st == GPM_OK; r++) {
        if (!set_shares(m, r)) continue;
        st = build_run(m, moved, r, &built);
        if (st != GPM_OK || !built) break;
        scaffold_set_shares(m->s, m->shares);
        st = scaffold_gradient(m->s, part);
        scaffold_set_shares(m->s, NULL);
        for (size_t i = 0; st == GPM_OK && i < m->n_moved + m->n_summed; i++) {
            if (i < m->n_moved) value_set_take(&grads[i], adj_add(grads[i], part[i]));
            value_unref(part[i]);
        }
    }
    mem_free(part);
    return st;
}

/* ---- the move ----------------------------------------------------------------------------------
 */

enum gpm_status marginal_build(struct marginal *m, const value *vals, double *weight,
                               value *grads) {
    for (size_t i = 0; grads && i < m->n_moved; i++) grads[i] = NIL;
    for (size_t i = 0; i < m->n_moved; i++) value_set_take(&m->built[i], value_ref(vals[i]));
    enum gpm_status st = fill_tables(m, m->built, &m->is_built);
    if (st != GPM_OK) return st;
    *weight = m->is_built ? m->rest + elimination_log_sum(m->sum) : -INFINITY;
    m->is_built = *weight > -INFINITY;
    if (!grads || !m->is_built) return GPM_OK;
    st = add_gradients(m, m->built, grads);
    for (size_t i = 0; st != GPM_OK && i < m->n_moved; i++) value_set_take(&grads[i], NIL);
    return st;
}

static enum gpm_status marginal_begin(struct marginal *m, struct flat *parts, double *weight) {
    bool grew = false;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < m->n_summed && st == GPM_OK; i++) st = add_values(m, i, &grew);
    if (st != GPM_OK) {
        scaffold_close(m->s, false);
        return st;
    }
    st = scaffold_detach(m->s, SCAFFOLD_FIXED, weight);
    if (st != GPM_OK) return st; /* already closed */
    value *old = NEW_ARRAY(value, m->n_moved + 1);
    for (size_t i = 0; i < m->n_moved; i++) old[i] = scaffold_old_value(m->s, i);
    st = explore(m, old);
    if (st == GPM_OK) st = make_tables(m);
    if (st == GPM_OK) take_parts(m, parts);
    if (st == GPM_OK) st = marginal_build(m, old, weight, NULL);
    mem_free(old);
    if (st != GPM_OK) scaffold_close(m->s, false);
    return st;
}

enum gpm_status marginal_open(struct infer_state *x, struct trace *t, struct scaffold *s,
                              size_t n_moved, struct flat *parts, struct marginal **out,
                              double *weight) {
    struct marginal *m = NEW(struct marginal);
    size_t all = scaffold_n_principals(s);
    *m = (struct marginal){.x = x, .t = t, .s = s, .n_moved = n_moved, .n_summed = all - n_moved};
    m->factors = factors_new(s, n_moved);
    m->of = mem_zalloc((m->n_summed + 1) * sizeof *m->of);
    m->colour = mem_zalloc((m->n_summed + 1) * sizeof *m->colour);
    m->radix = NEW_ARRAY(uint32_t, 32);
    m->vals = NEW_ARRAY(value, all + 1);
    m->built = NEW_ARRAY(value, n_moved + 1);
    for (size_t i = 0; i < n_moved; i++) m->built[i] = NIL;
    enum gpm_status st = marginal_begin(m, parts, weight);
    if (st != GPM_OK) {
        marginal_release(m);
        m = NULL;
    }
    *out = m;
    return st;
}

/* Draws the summed choices given the moved ones, whose tables are filled, and builds that state. */
static bool draw_rest(struct marginal *m, const value *moved) {
    uint32_t *digits = mem_zalloc((m->n_summed + 1) * sizeof *digits);
    double w;
    elimination_draw(m->sum, &m->t->rng, digits);
    for (size_t i = 0; i < m->n_moved; i++) m->vals[i] = moved[i];
    for (size_t i = 0; i < m->n_summed; i++) m->vals[m->n_moved + i] = m->of[i].at[digits[i]];
    mem_free(digits);
    scaffold_unregen(m->s);
    return scaffold_regen(m->s, SCAFFOLD_FIXED, m->vals, &w) == GPM_OK && scaffold_built(m->s) &&
           w > -INFINITY;
}

void marginal_close(struct marginal *m, bool keep) {
    double w;
    value *old = NEW_ARRAY(value, m->n_moved + 1);
    for (size_t i = 0; i < m->n_moved; i++) old[i] = scaffold_old_value(m->s, i);
    keep = keep && m->is_built;
    bool ok = keep || (marginal_build(m, old, &w, NULL) == GPM_OK && m->is_built);
    ok = ok && draw_rest(m, m->built);
    scaffold_close(m->s, ok);
    mem_free(old);
    marginal_release(m);
}
