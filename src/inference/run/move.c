/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves; see the header.
 *
 *     find --open--> open --build--> built --close(keep)--> gone
 *       |              ^               |
 *       forget         +---- drop -----+--close(no)--> gone, the old state stands
 *
 * A flat takes nothing out: open reads inputs, build computes into scratch, close writes if the
 * state is kept. With a scaffold, open detaches, build regenerates, drop undoes that, and close
 * commits or restores. An operator sees the same in both cases: w_old and a weight for each point,
 * both with the principals' own densities (SCAFFOLD_FIXED). */
#include "inference/run/move.h"

#include "runtime/flat/flat.h"
#include "inference/sums/marginal.h"
#include <math.h>

struct scaffold *move_scaffold(struct step *s) {
    step_begin(s);
    return (s->redraws ? scaffold_build_redrawing : scaffold_build)(s->t, s->at, s->n);
}

/* Without a change of structure the probability of picking the block is the same before and after,
 * so flats need no correction. */
enum gpm_status move_mh(struct step *s) {
    bool done;
    enum gpm_status st = flat_mh(s->t, s->at, s->n, &done, &s->accepted);
    return st == GPM_OK && !done ? trace_mh(s->t, s->at, s->n, s->extra, &s->accepted) : st;
}

/* The scaffold of the block and the summed choices; *found is false if no choice is summed out. */
static enum gpm_status find_marginal(struct step *s, struct move *m, bool *found) {
    struct node_set sum, all;
    enum gpm_status st = marginal_choices(s->x, s->t, &sum);
    *found = st == GPM_OK && sum.n > 0;
    if (*found) {
        all = (struct node_set){NEW_ARRAY(struct node *, s->n + sum.n + 1), s->n};
        for (size_t i = 0; i < s->n; i++) all.at[i] = s->at[i];
        node_set_join(&all, &sum);
        struct step both = *s;
        both.at = all.at;
        both.n = all.n;
        *m = (struct move){.x = s->x, .t = s->t, .n_summed = all.n - s->n};
        m->parts = flat_of_parts(s->t, all.at, all.n); /* before the scaffold is built */
        m->s = move_scaffold(&both);
        if (scaffold_n_principals(m->s) != all.n) {
            scaffold_close(m->s, false);
            infer_error(s->x, DIAG_NOT_ENUMERABLE,
                        "a choice to be summed out decides whether another choice is there");
            st = diag_set_help(
                s->x->core->diags,
                "make all of them before, whichever is used: predict f(0); predict f(1) of "
                "a memoized f, or an array of them");
        }
        mem_free(all.at);
    }
    mem_free(sum.at);
    return st;
}

enum gpm_status move_find(struct step *s, struct move *m) {
    bool found = false;
    step_begin(s);
    enum gpm_status st = s->marginal ? find_marginal(s, m, &found) : GPM_OK;
    if (st != GPM_OK || found) return st;
    *m = (struct move){.x = s->x, .t = s->t, .flat = flat_of(s->t, s->at, s->n)};
    if (!m->flat) m->s = move_scaffold(s);
    return GPM_OK;
}

void move_forget(struct move *m) {
    if (m->s) scaffold_close(m->s, false);
}

static enum gpm_status detach(struct move *m) {
    enum gpm_status st = scaffold_detach(m->s, SCAFFOLD_FIXED, &m->w_old);
    if (st != GPM_OK) m->s = NULL;
    return st;
}

enum gpm_status move_open(struct move *m) {
    if (m->n_summed) {
        size_t n = scaffold_n_principals(m->s) - m->n_summed;
        if (m->parts && !flat_open(m->t, m->parts, &m->w_old)) m->parts = NULL;
        enum gpm_status st = marginal_open(m->x, m->t, m->s, n, m->parts, &m->sum, &m->w_old);
        if (st != GPM_OK) m->s = NULL;
        return st;
    }
    if (m->s) return detach(m);
    return flat_open(m->t, m->flat, &m->w_old) ? GPM_OK : move_generally(m);
}

enum gpm_status move_set_placing(struct move *m, const struct placing *p) {
    m->placing = p;
    if (m->flat && !flat_n_numbers(m->flat)) return move_generally(m);
    if (m->flat)
        flat_set_placing(m->flat, p);
    else
        scaffold_set_placing(m->s, p);
    return GPM_OK;
}

static struct node **principals(const struct move *m, size_t n) {
    struct node **at = NEW_ARRAY(struct node *, n + 1);
    for (size_t i = 0; i < n; i++) at[i] = move_principal(m, i);
    return at;
}

/* From the old state, which the flat has not changed. */
static enum gpm_status give_way(struct move *m, struct node **at, size_t n) {
    if (m->flat) flat_set_placing(m->flat, NULL);
    m->flat = NULL;
    struct step s = {.x = m->x, .t = m->t, .at = at, .n = n};
    m->s = move_scaffold(&s);
    enum gpm_status st = detach(m);
    if (st == GPM_OK) scaffold_set_placing(m->s, m->placing);
    return st;
}

enum gpm_status move_generally(struct move *m) {
    m->left = 0;
    if (!m->flat) return GPM_OK;
    size_t n = move_n(m);
    struct node **at = principals(m, n);
    enum gpm_status st = give_way(m, at, n);
    mem_free(at);
    return st;
}

/* The flat could not evaluate a point. After repeated failures (a row may lack a derivative) it is
 * tried less and less often, since switching to a scaffold and back costs about two scaffold
 * evaluations. */
static enum gpm_status leave(struct move *m) {
    enum { MOST = 10 };
    unsigned left = m->left < MOST ? m->left + 1 : MOST;
    enum gpm_status st = move_generally(m);
    m->left = left;
    m->wait = (1u << (left - 1)) - 1;
    return st;
}

/* Restores the old state and lets the flat continue. */
static enum gpm_status come_back(struct move *m) {
    size_t n = move_n(m);
    struct node **at = principals(m, n);
    enum gpm_status st = GPM_OK;
    double ignored;
    scaffold_close(m->s, false);
    m->s = NULL;
    m->flat = flat_of(m->t, at, n);
    if (m->flat && flat_open(m->t, m->flat, &ignored))
        flat_set_placing(m->flat, m->placing);
    else {
        m->left = 0;
        st = give_way(m, at, n);
    }
    mem_free(at);
    return st;
}

size_t move_n(const struct move *m) {
    return m->flat ? flat_n_principals(m->flat) : scaffold_n_principals(m->s) - m->n_summed;
}

struct node *move_principal(const struct move *m, size_t i) {
    return m->flat ? flat_principal(m->flat, i) : scaffold_principal(m->s, i);
}

value move_old_value(const struct move *m, size_t i) {
    return m->flat ? node_value(flat_principal(m->flat, i)) : scaffold_old_value(m->s, i);
}

bool move_args_change(const struct move *m, size_t i) {
    return m->flat ? flat_args_change(m->flat, i) : scaffold_args_change(m->s, i);
}

bool move_has_brush(const struct move *m) {
    return m->s && !m->n_summed && scaffold_has_brush(m->s); /* summed choices have no brush */
}

struct node *move_rebuilds(const struct move *m) {
    return m->s ? scaffold_rebuilds(m->s) : NULL;
}

#ifdef GPMEM_CHECKS
/* The state is proposed again afterwards. */
enum gpm_status move_check(struct move *m, const value *vals, double weight, const value *grads) {
    static _Thread_local unsigned tick;
    double again;
    if (++tick % 16 || !vals) return GPM_OK;
    struct rng now = m->t->rng;
    flat_drop(m->t, m->flat);
    enum gpm_status st = flat_check(m->t, m->flat, vals, weight, grads);
    m->t->rng = now;
    if (st == GPM_OK &&
        (!flat_open(m->t, m->flat, &again) || !flat_propose(m->t, m->flat, vals, &again, NULL)))
        st = infer_error(m->x, DIAG_NAN, "trace check: a point cannot be proposed twice");
    return st;
}
#endif

/* A flat that cannot evaluate a point has changed nothing, not even the random numbers. The
 * scaffold begins from the same state and draws what the flat would have drawn. */
enum gpm_status move_build(struct move *m, const value *vals, double *weight, value *grads) {
    enum gpm_status st = GPM_OK;
    if (m->sum && vals) {
        st = marginal_build(m->sum, vals, weight, grads);
        m->built = st == GPM_OK && *weight > -INFINITY;
        return st;
    }
    if (m->s && m->left && m->wait-- == 0) st = come_back(m);
    if (st != GPM_OK) return st;
    if (m->flat) {
        if (flat_propose(m->t, m->flat, vals, weight, grads)) {
            m->left = 0;
            m->built = *weight > -INFINITY;
#ifdef GPMEM_CHECKS
            st = move_check(m, vals, *weight, grads);
#endif
            return st;
        }
        st = leave(m);
        if (st != GPM_OK) return st;
    }
    scaffold_unregen(m->s);
    st = scaffold_regen(m->s, vals ? SCAFFOLD_FIXED : SCAFFOLD_PRIOR, vals, weight);
    if (m->sum) m->built = st == GPM_OK && scaffold_built(m->s); /* with the summed choices */
    for (size_t i = 0; st == GPM_OK && grads && i < move_n(m); i++) grads[i] = NIL;
    if (st == GPM_OK && grads && *weight > -INFINITY && scaffold_built(m->s))
        st = scaffold_gradient(m->s, grads);
    return st;
}

bool move_numbers(struct move *m, size_t n, const double *x, double *weight, double *grad) {
    if (!m->flat || flat_n_numbers(m->flat) != n) return false;
    if (!flat_propose_numbers(m->t, m->flat, x, weight, grad)) return false;
    m->left = 0;
    m->built = *weight > -INFINITY;
    return true;
}

bool move_built(const struct move *m) {
    return m->flat || m->sum ? m->built : m->s && scaffold_built(m->s);
}

value move_value(const struct move *m, size_t i) {
    return m->flat ? flat_proposed(m->flat, i) : node_value(scaffold_principal(m->s, i));
}

void move_drop(struct move *m) {
    m->built = false;
    if (m->flat)
        flat_drop(m->t, m->flat);
    else
        scaffold_unregen(m->s);
}

/* Settles the trace, since the caller may read or change it in any way next. */
void move_close(struct move *m, bool keep) {
    if (!m->flat && !m->s) return; /* it ended in an error; nothing to close */
    if (m->flat) flat_set_placing(m->flat, NULL);
    keep = keep && move_built(m);
    if (m->sum)
        marginal_close(m->sum, keep);
    else if (m->flat && keep)
        flat_keep(m->t, m->flat);
    else if (m->flat)
        flat_drop(m->t, m->flat);
    else
        scaffold_close(m->s, keep);
    trace_settle(m->t);
}
