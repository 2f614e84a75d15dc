/* SPDX-License-Identifier: Apache-2.0
 *
 * Running flats: forwards, backwards, and writing a kept proposal.
 *
 *     read inputs      values that the principals do not change, from their nodes (open)
 *     steps            draw or set the principals, compute what follows           (propose)
 *     weigh            densities of what absorbs, into logp[]; and their old ones
 *     back             adjoints from densities to principals, if wanted
 *     keep or drop
 *
 * New values and densities stay in the form's scratch until kept, so a rejection only has to undo
 * what makers hold. A NaN of a numeric function may be a domain error, which only a scaffold can
 * report. So NaN, and anything a row refuses, is left to a scaffold. -inf is a valid result,
 * because a scaffold also gives -inf for domain errors.
 *
 * Values keep their type: a result of another type than its node holds (set_slot) is left to a
 * scaffold. The compiler relies on this for boxed slots, for operations on numbers, and for
 * operands that are not procedures. */
#include "runtime/flat/form.h"

#include "language/rows/protocol/adjoint.h"
#include "runtime/core/call_form.h"
#include <math.h>
#include <string.h>

/* JUDGED: the weight is known and the scratch holds a proposal that can be kept. IMPOSSIBLE: weight
 * -inf, nothing to keep. LEFT: a scaffold must evaluate the point, and the random numbers are given
 * back. */
enum verdict { JUDGED, IMPOSSIBLE, LEFT };

/* ---- rows on values ---- */

static value as_number(uint32_t tag, double x) {
    return tag == V_BOOL ? value_bool(x != 0) : value_num(x);
}

/* A call of an operation's row. If the row fails its diagnostics are dropped; the scaffold repeats
 * them. */
struct row_call {
    struct node_call of;
    size_t n_diags;
    bool made; /* some operands are values built for the call */
};

static struct sp_call *row_begin(const struct flat_run *r, const struct flat_op *op,
                                 struct row_call *k) {
    const uint32_t *shapes = op_shapes(r->form, op);
    value *args = r->form->args;
    k->made = false;
    for (uint32_t i = 0; i < op->n_args; i++) args[i] = shape_operand(r, shapes[i], &k->made);
    k->n_diags = r->t->core->diags->list.n;
    call_begin_with(r->t, r->w[op->node].n, args, &k->of);
    return &k->of.c;
}

static enum gpm_status row_check(const struct flat_run *r, const struct flat_op *op,
                                 struct sp_call *c) {
    return core_check_args(r->t->core, c, r->w[op->node].n->in[0].node->val, NO_SPAN);
}

static void free_made(const struct flat_run *r, const struct flat_op *op, value *args) {
    const uint32_t *shapes = op_shapes(r->form, op);
    for (uint32_t i = 0; i < op->n_args; i++)
        if (!shape_stands(r->form, shapes[i])) value_unref(args[i]);
}

static inline bool row_end(const struct flat_run *r, const struct flat_op *op, struct row_call *k,
                           enum gpm_status st) {
    r->t->core->model = k->of.outer;
    if (k->made) free_made(r, op, k->of.args);
    if (st != GPM_OK) diags_rewind(r->t->core->diags, k->n_diags);
    return st == GPM_OK;
}

/* A result of another type than before is left to a scaffold. */
static bool row_simulate(const struct flat_run *r, const struct flat_op *op) {
    struct row_call k;
    value out;
    if (op->cls->flags & SP_IMPROPER) return false; /* the scaffold reports why */
    struct sp_call *c = row_begin(r, op, &k);
    enum gpm_status st = row_check(r, op, c);
    if (st == GPM_OK) st = sp_simulate(c, &out);
    if (!row_end(r, op, &k, st)) return false;
    bool ok = out.tag == r->w[op->node].n->val.tag && shape_set(r, op->out, out);
    value_unref(out);
    return ok;
}

/* Adds a row's adjoints to its operands. False: one of them acts through a procedure and is
 * hidden. */
static bool give_args(const struct flat_run *r, const struct flat_op *op, value *dargs) {
    const uint32_t *shapes = op_shapes(r->form, op);
    bool ok = true;
    for (uint32_t i = 0; i < op->n_args; i++) {
        bool hidden = is_absent(dargs[i]);
        ok &= !hidden || !shape_changes(r->form, r->form->words, shapes[i]);
        if (!hidden) shape_give(r, shapes[i], dargs[i]);
        value_unref(hidden ? NIL : dargs[i]);
    }
    return ok;
}

enum grad_of { OF_SIMULATE, OF_DENSITY, OF_MAKER };

/* For a computed value, d is its adjoint and the operands get their share. For a density, d is
 * `share` (1 except in sums of parts), and a changing value gets its adjoint, too. False: the row
 * has no derivative; the scaffold reports that or finds that none is needed. */
static bool row_gradient(const struct flat_run *r, const struct flat_op *op, enum grad_of of,
                         double share) {
    const struct sp_class *cls = op->cls;
    bool known = of == OF_SIMULATE  ? cls->grad_simulate != NULL
                 : of == OF_DENSITY ? cls->grad_density != NULL
                                    : cls->aaa->gradient != NULL;
    if (!known) return false;
    struct row_call k;
    struct sp_call *c = row_begin(r, op, &k);
    const struct node *n = r->w[op->node].n;
    value *dargs = NEW_ARRAY(value, op->n_args + 1), dv = NIL, own = shape_value(r, op->out);
    for (uint32_t i = 0; i < op->n_args; i++) dargs[i] = NIL;
    bool moves = op->node < r->form->n_principals;
    enum gpm_status st;
    if (of == OF_MAKER)
        st = cls->aaa->gradient(c, first_made(n->val)->state->data, dargs);
    else if (of == OF_DENSITY)
        st = cls->grad_density(c, own, moves ? &dv : NULL, dargs);
    else {
        value d = shape_adjoint(r, op->out);
        st = cls->grad_simulate(c, own, d, dargs);
        value_unref(d);
    }
    bool ok = row_end(r, op, &k, st);
    for (uint32_t i = 0; !ok && i < op->n_args; i++) value_unref(dargs[i]), dargs[i] = NIL;
    for (uint32_t i = 0; share != 1 && i < op->n_args; i++)
        if (!is_absent(dargs[i])) value_set_take(&dargs[i], adj_scaled(dargs[i], share));
    if (share != 1) value_set_take(&dv, adj_scaled(dv, share));
    ok = give_args(r, op, dargs) && ok;
    if (of == OF_DENSITY && moves) shape_give(r, op->out, dv);
    value_unref(dv);
    value_unref(own);
    mem_free(dargs);
    return ok;
}

/* The maker holds the proposal until it is kept or dropped. */
static enum verdict row_density(const struct flat_run *r, const struct flat_op *op, double *logp,
                                bool gradient) {
    bool maker = op->code == FLAT_MAKER;
    struct row_call k;
    struct pending p = {.n = r->w[op->node].n};
    struct sp_call *c = row_begin(r, op, &k);
    enum gpm_status st = row_check(r, op, c);
    if (st == GPM_OK && maker)
        st = op->cls->aaa->remake(c, first_made(p.n->val)->state->data, &p.token, logp);
    else if (st == GPM_OK) {
        value own = shape_value(r, op->out);
        st = op->cls->log_density(c, own, logp);
        value_unref(own);
    }
    if (!row_end(r, op, &k, st)) return LEFT;
    if (maker) vec_push(&inner(r->t)->flats->pending, p);
    if (*logp != *logp) return LEFT;
    if (*logp == -INFINITY) return IMPOSSIBLE;
    return gradient && !row_gradient(r, op, maker ? OF_MAKER : OF_DENSITY, 1) ? LEFT : JUDGED;
}

/* Commits what makers hold or takes it back. A proposal that follows another without keep or drop
 * first ends that one (begin). */
static void end_pending(struct trace *t, bool keep) {
    struct flats *all = inner(t)->flats;
    while (all->pending.n) {
        struct pending p = vec_pop(&all->pending);
        const struct sp_aaa *aaa = node_class(p.n)->aaa;
        (keep ? aaa->commit : aaa->undo)(first_made(p.n->val)->state->data, p.token);
    }
}

/* ---- forwards ---- */

static inline void operands(const struct flat_run *r, const struct flat_op *op, double *out) {
    for (size_t i = 0; i < op->n_args; i++) out[i] = r->v[op->args[i]];
}

static inline bool draw_principal(const struct flat_run *r, const struct flat_op *op) {
    double args[FLAT_ARGS];
    if (op->code == FLAT_DRAW_ROW) return row_simulate(r, op);
    operands(r, op, args);
    double x = op->cls->num_sample(&r->t->rng, args, op->n_args);
    r->v[op->out] = x;
    return x == x;
}

/* Computes the changing slots in order; false: left to a scaffold. */
static inline __attribute__((always_inline)) bool run_steps(const struct flat_run *r, bool draw) {
    double *v = r->v, args[FLAT_ARGS];
    const struct flat_op *op = r->form->ops, *end = op + r->form->n_steps;
    for (; op < end; op++) {
        double x;
        switch ((enum flat_code)op->code) {
        case FLAT_ADD: x = v[op->args[0]] + v[op->args[1]]; break;
        case FLAT_SUB: x = v[op->args[0]] - v[op->args[1]]; break;
        case FLAT_MUL: x = v[op->args[0]] * v[op->args[1]]; break;
        case FLAT_DIV: x = v[op->args[0]] / v[op->args[1]]; break;
        case FLAT_DRAW:
        case FLAT_DRAW_ROW:
            if (draw && !draw_principal(r, op)) return false;
            if (r->form->placing && !(draw ? place_drawn : place_principal)(r, op)) return false;
            continue;
        case FLAT_ROW:
            if (!row_simulate(r, op)) return false;
            continue;
        case FLAT_NUM:
            operands(r, op, args);
            x = op->cls->num(args, op->n_args);
            break;
        case FLAT_ASSESS:
            operands(r, op, args);
            x = op->cls->num_log_density(args[0], args + 1, op->n_args - 1u);
            break;
        default:
            if (!columns_run(r, op)) return false;
            continue;
        }
        if (x != x) return false;
        v[op->out] = x;
    }
    return true;
}

/* Any density except a normal one on numbers. own: its value if the flat stores it, else NULL. adj
 * NULL: no gradient. */
static enum verdict other_density(struct flat_run *r, const struct flat_op *op,
                                  const union flat_word *own, double *adj, double *logp) {
    if (op->code == FLAT_ROW || op->code == FLAT_MAKER)
        return row_density(r, op, logp, adj != NULL);
    if (op->code == FLAT_COLS || op->code == FLAT_MANY) {
        *logp = columns_density(r, op, adj != NULL);
        return *logp > -INFINITY ? JUDGED : *logp == -INFINITY ? IMPOSSIBLE : LEFT;
    }
    double args[FLAT_ARGS], g[FLAT_ARGS + 1] = {0}, x = own ? own[1].x : r->v[op->out];
    if (op->code == FLAT_GATHERED) {
        *logp = op->cls->gathered(x, r->v, r->form->gathered + op->args[0], op->len, adj);
        return *logp > -INFINITY ? JUDGED : *logp == -INFINITY ? IMPOSSIBLE : LEFT;
    }
    operands(r, op, args);
    *logp = op->cls->num_log_density(x, args, op->n_args);
    if (!(*logp > -INFINITY)) return *logp == -INFINITY ? IMPOSSIBLE : LEFT;
    if (!adj) return JUDGED;
    if (!op->cls->num_grad) return LEFT;
    op->cls->num_grad(x, args, op->n_args, g);
    adj[op->out] += g[0];
    for (size_t i = 0; i < op->n_args; i++) adj[op->args[i]] += g[i + 1];
    return JUDGED;
}

/* Densities being summed up. */
struct sums {
    double new, old; /* old: of the current state */
    double *next;    /* where to store new ones */
};

/* The node's density is valid while the flat's epoch is. A maker stores none at its node and is
 * called. */
static bool old_density(const struct flat_run *r, const struct flat_op *op, double *out) {
    const struct node *n = r->w[op->node].n;
    *out = n->logp;
    for (uint32_t i = 1; i < op_n_nodes(op); i++) *out += r->w[op->node + i].n->logp;
    return op->code != FLAT_MAKER ||
           op->cls->aaa->log_joint(first_made(n->val)->state->data, out) == GPM_OK;
}

/* The densities of n operations. own: NULL, or the triples of owned observations. adj: NULL, or
 * receives the gradient. with_old: add up old densities, too. This is the hot loop; constant
 * arguments of its callers give four specialised copies.
 *
 * log N(x; mean, sd) = -z^2 / 2 - log sd - log sqrt(2 pi), z = (x - mean) / sd; d/dx = -z / sd,
 * d/dmean = z / sd, d/dsd = (z^2 - 1) / sd. */
static inline __attribute__((always_inline)) enum verdict
weigh(struct flat_run *r, const struct flat_op *op, size_t n, const union flat_word *own,
      double *adj, bool with_old, struct sums *s) {
    const double log_sqrt_2pi = 0.91893853320467274178, *v = r->v;
    double new = s->new, old = s->old, *next = s->next, before;
    double last_sd = r->form->last_sd, log_sd = r->form->log_sd;
    for (const struct flat_op *end = op + n; op < end; op++) {
        double logp;
        if (op->code == FLAT_NORMAL) {
            double x = own ? own[1].x : v[op->out], sd = v[op->args[1]];
            if (sd != last_sd) {
                if (!(sd > 0)) return LEFT;
                last_sd = sd;
                log_sd = log(sd) + log_sqrt_2pi;
            }
            double z = (x - v[op->args[0]]) / sd;
            logp = -0.5 * z * z - log_sd;
            if (adj) {
                double slope = z / sd;
                adj[op->out] -= slope;
                adj[op->args[0]] += slope;
                adj[op->args[1]] += (z * z - 1) / sd;
            }
            if (!(logp > -INFINITY)) return logp == -INFINITY ? IMPOSSIBLE : LEFT;
            before = own ? own[2].x : with_old ? r->w[op->node].n->logp : 0;
        } else {
            before = own ? own[2].x : 0;
            if (with_old && !own && !old_density(r, op, &before)) return LEFT;
            enum verdict j = other_density(r, op, own, adj, &logp);
            if (j != JUDGED) return j;
        }
        *next++ = logp;
        new += logp;
        if (with_old) old += before;
        if (own) own += 3;
    }
    *s = (struct sums){new, old, next};
    r->form->last_sd = last_sd;
    r->form->log_sd = log_sd;
    return JUDGED;
}

/* log p(shared) + log p(owned), and for given values (not for_mh) + log p(principals). In the
 * gradient the `out` of an owned observation is one past the last slot (build.c); its adjoint is
 * discarded. */
static inline __attribute__((always_inline)) enum verdict weigh_all(struct flat_run *r, double *adj,
                                                                    bool for_mh, struct sums *s) {
    const struct flat_form *f = r->form;
    const struct flat_op *op = f->ops + f->n_steps;
    *s = (struct sums){0, 0, f->logp};
    enum verdict j = weigh(r, op, f->n_shared, NULL, adj, for_mh, s);
    op += f->n_shared;
    if (j == JUDGED && f->n_own) j = weigh(r, op, f->n_own, r->w + form_n_words(f), adj, for_mh, s);
    if (j != JUDGED || for_mh) return j;
    return weigh(r, op + f->n_own, f->n_principals, NULL, adj, false, s);
}

static enum verdict weigh_for_mh(struct flat_run *r, struct sums *s) {
    return weigh_all(r, NULL, true, s);
}

static enum verdict weigh_given(struct flat_run *r, double *adj, struct sums *s) {
    return adj ? weigh_all(r, adj, false, s) : weigh_all(r, NULL, false, s);
}

/* ---- backwards ---- */

/* Adjoints of the operands of a deterministic operation from the adjoint of its result. */
static inline bool back(const struct flat_run *r, const struct flat_op *op) {
    double *adj = r->form->adj, args[FLAT_ARGS], g[FLAT_ARGS], d;
    const double *v = r->v;
    const uint32_t *a = op->args;
    switch ((enum flat_code)op->code) {
    case FLAT_ADD: d = adj[op->out], adj[a[0]] += d, adj[a[1]] += d; return true;
    case FLAT_SUB: d = adj[op->out], adj[a[0]] += d, adj[a[1]] -= d; return true;
    case FLAT_MUL:
        d = adj[op->out];
        if (d == 0) return true; /* avoids 0 times infinity */
        adj[a[0]] += d * v[a[1]], adj[a[1]] += d * v[a[0]];
        return true;
    case FLAT_DIV:
        d = adj[op->out];
        if (d == 0) return true;
        adj[a[0]] += d / v[a[1]], adj[a[1]] -= d * v[op->out] / v[a[1]];
        return true;
    case FLAT_ROW: return shape_is_still(r, op->out) || row_gradient(r, op, OF_SIMULATE, 1);
    case FLAT_NUM:
    case FLAT_ASSESS: break;
    case FLAT_DRAW:
    case FLAT_DRAW_ROW: return !r->form->placing || place_back(r, op); /* ends at principals */
    default: return columns_back(r, op);
    }
    d = adj[op->out];
    if (d == 0) return true;
    bool assess = op->code == FLAT_ASSESS;
    if (assess ? !op->cls->num_grad : !op->cls->num_back) return false;
    operands(r, op, args);
    if (assess)
        assess_back(op, v[op->out], args, d, g);
    else
        op->cls->num_back(v[op->out], args, op->n_args, d, g);
    for (size_t i = 0; i < op->n_args; i++) adj[a[i]] += g[i];
    return true;
}

/* Adjoints of inputs and constants are written but never read. */
double *clear_adjoints(struct flat_form *f) {
    if (!f->adj) f->adj = mem_zalloc((form_n_slots(f) + 1 + f->most_len) * sizeof *f->adj);
    memset(f->adj, 0, f->n_changing * sizeof *f->adj);
    for (uint32_t i = 0; i < f->n_boxes; i++) value_set_take(&f->box_adj[i], NIL);
    return f->adj;
}

bool run_back(const struct flat_run *r) {
    struct flat_form *f = r->form;
    for (uint32_t i = f->n_steps; i-- > 0;)
        if (!back(r, &f->ops[i])) return false;
    /* Columns may have multiplied 0 by infinity. */
    for (uint32_t i = 0; i < f->n_x; i++)
        if (f->adj[i] != f->adj[i]) return false;
    return true;
}

bool run_forwards(const struct flat_run *r) {
    return run_steps(r, false);
}

bool one_density(struct flat_run *r, const struct flat_op *op, double *logp) {
    return other_density(r, op, NULL, NULL, logp) != LEFT;
}

bool one_gradient(struct flat_run *r, const struct flat_op *op, double share) {
    double args[FLAT_ARGS], g[FLAT_ARGS + 1] = {0}, *adj = r->form->adj;
    if (op->code == FLAT_ROW) return row_gradient(r, op, OF_DENSITY, share);
    if (!op->cls->num_grad) return false;
    operands(r, op, args);
    op->cls->num_grad(r->v[op->out], args, op->n_args, g);
    adj[op->out] += share * g[0];
    for (size_t i = 0; i < op->n_args; i++) adj[op->args[i]] += share * g[i + 1];
    return true;
}

static value principal_adjoint(const struct flat_run *r, uint32_t i) {
    uint32_t place = r->form->places[i];
    return place & AT_SHAPE ? shape_adjoint(r, place & ~AT_SHAPE) : value_num(r->form->adj[place]);
}

/* ---- proposals ---- */

/* Booleans are 0 and 1 in v[]. */
static inline bool read_number(const struct node *n, double *out) {
    if (n->val.tag == V_NUM)
        *out = n->val.u.num;
    else if (n->val.tag == V_BOOL)
        *out = n->val.u.boolean;
    else
        return false;
    return true;
}

/* Reads wide inputs. False: an input is no longer numeric or has another shape. Values are
 * immutable, so the same object is not read twice. */
static bool read_wide(const struct flat_run *r) {
    struct flat_form *f = r->form;
    const uint32_t *places = f->places + f->n_nodes;
    const union flat_word *w = r->w + f->n_nodes + f->n_in;
    for (uint32_t i = 0; i < f->n_wide; i++) {
        value v = w[i].n->val;
        if (!places[i] || (f->seen[i].tag == v.tag && f->seen[i].u.obj == v.u.obj)) continue;
        value_set_take(&f->seen[i], NIL);
        if (!shape_set(r, places[i] & ~AT_SHAPE, v)) return false;
        f->missing |= value_has_nan(v);
        f->seen[i] = value_ref(v);
    }
    return true;
}

static inline bool read_inputs(const struct flat_run *r) {
    const struct flat_form *f = r->form;
    for (uint32_t i = 0; i < f->n_in; i++)
        if (!read_number(r->w[f->n_nodes + i].n, &r->v[f->n_changing + i])) return false;
    return !f->reads || read_wide(r);
}

/* vals NULL: the values in their nodes. */
static bool set_principals(const struct flat_run *r, const value *vals) {
    const uint32_t *places = r->form->places;
    for (uint32_t i = 0; i < r->form->n_principals; i++) {
        value now = r->w[i].n->val, v = vals ? vals[i] : now;
        if (v.tag != now.tag) return false;
        if (!(places[i] & AT_SHAPE))
            r->v[places[i]] = number_of(&v);
        else if (!shape_set(r, places[i] & ~AT_SHAPE, v))
            return false;
    }
    return true;
}

/* Reads old densities from the current state, and what the flat owns. */
static enum gpm_status refresh(struct flat_run *r) {
    const struct flat_form *f = r->form;
    struct trace *t = r->t;
    write_ahead(t);
    double logp;
    for (uint32_t i = 0; i < f->n_shared; i++) {
        const struct flat_op *op = &f->ops[f->n_steps + i];
        for (uint32_t k = 0; op->code != FLAT_MAKER && k < op_n_nodes(op); k++) {
            enum gpm_status st = node_logp(t, r->w[op->node + k].n, &logp);
            if (st != GPM_OK) return st;
        }
    }
    union flat_word *at = r->w + form_n_words(f);
    for (uint32_t i = 0; i < f->n_own; i++, at += 3) {
        enum gpm_status st = node_logp(t, at->n, &logp);
        if (st != GPM_OK) return st;
        if (!read_number(at->n, &at[1].x)) at[1].x = NAN;
        at[2].x = logp;
    }
    r->f->stamp = inner(t)->flats->stamp;
    return GPM_OK;
}

/* The sum of the old densities without the principals' own. False for a state that is impossible or
 * cannot be evaluated: leaving it takes a scaffold. */
static bool old_weight(const struct flat_run *r, double *sum) {
    const struct flat_form *f = r->form;
    const union flat_word *at = r->w + form_n_words(f);
    double logp;
    *sum = 0;
    for (uint32_t i = 0; i < f->n_shared; i++) {
        if (!old_density(r, &f->ops[f->n_steps + i], &logp)) return false;
        *sum += logp;
    }
    for (uint32_t i = 0; i < f->n_own; i++, at += 3) *sum += at[2].x;
    return *sum > -INFINITY; /* false for NaN, too */
}

/* Settles the trace first: other flats may own or have changed what this one reads, and the old
 * densities must be those of the current state. */
bool flat_open(struct trace *t, struct flat *f, double *weight) {
    struct flat_run r = run_of(t, f);
    size_t n_diags = t->core->diags->list.n;
    double own;
    trace_settle(t);
    enum gpm_status st = refresh(&r);
    bool ok = st == GPM_OK && read_inputs(&r) && old_weight(&r, weight);
    for (uint32_t i = 0; ok && i < f->form->n_principals; i++) {
        ok = node_logp(t, f->w[i].n, &own) == GPM_OK;
        *weight += own;
    }
    if (!ok) diags_rewind(t->core->diags, n_diags);
    return ok && *weight > -INFINITY;
}

static void flat_run_begin(struct flat_run *r, bool draw) {
    struct flats *all = inner(r->t)->flats;
    if (all->pending.n) end_pending(r->t, false);
    all->before = r->t->rng;
    all->drawn = draw;
}

/* Makers return to their old parameters unless the proposal is valid. The generator is rewound only
 * for LEFT: an impossible proposal has used its random numbers. */
static inline enum verdict end(struct flat_run *r, enum verdict j) {
    if (j == JUDGED) return j;
    if (inner(r->t)->flats->pending.n) end_pending(r->t, false);
    if (j == LEFT) r->t->rng = inner(r->t)->flats->before;
    return j;
}

/* Sets or draws the principals' values. The gradient, if wanted, is left in adj. */
static enum verdict propose(struct flat_run *r, bool draw, bool gradient, double *weight) {
    struct sums s = {0};
    enum verdict j = LEFT;
    double *adj = gradient ? clear_adjoints(r->form) : NULL;
    if (run_steps(r, draw)) j = draw ? weigh_for_mh(r, &s) : weigh_given(r, adj, &s);
    if (j == JUDGED && gradient && !run_back(r)) j = LEFT;
    *weight = j == JUDGED ? s.new : -INFINITY;
    return end(r, j);
}

bool flat_propose(struct trace *t, struct flat *f, const value *vals, double *weight,
                  value *grads) {
    struct flat_run r = run_of(t, f);
    flat_run_begin(&r, !vals);
    *weight = -INFINITY;
    enum verdict j = LEFT;
    if (!vals || set_principals(&r, vals)) j = propose(&r, !vals, grads != NULL, weight);
    for (uint32_t i = 0; j != LEFT && grads && i < f->form->n_principals; i++)
        grads[i] = j == JUDGED ? principal_adjoint(&r, i) : NIL;
    return j != LEFT;
}

size_t flat_n_numbers(const struct flat *f) {
    return f->form->n_x;
}

bool flat_propose_numbers(struct trace *t, struct flat *f, const double *x, double *weight,
                          double *grad) {
    struct flat_run r = run_of(t, f);
    flat_run_begin(&r, false);
    memcpy(r.v, x, f->form->n_x * sizeof *x);
    enum verdict j = propose(&r, false, grad != NULL, weight);
    if (j == JUDGED && grad) memcpy(grad, f->form->adj, f->form->n_x * sizeof *grad);
    return j != LEFT;
}

/* The proposed value of the node in word i; owned. */
static value word_value(const struct flat_run *r, uint32_t i) {
    uint32_t place = r->form->places[i];
    return place & AT_SHAPE ? shape_value(r, place & ~AT_SHAPE)
                            : as_number(r->w[i].n->val.tag, r->v[place]);
}

value flat_proposed(const struct flat *f, size_t i) {
    struct flat_run r = run_of(NULL, (struct flat *)f);
    struct flat_form *form = f->form;
    if (!form->proposed) form->proposed = mem_zalloc(form->n_principals * sizeof(value));
    value_set_take(&form->proposed[i], word_value(&r, (uint32_t)i));
    return form->proposed[i];
}

void flat_drop(struct trace *t, struct flat *f) {
    end_pending(t, false);
}

static inline void put_word(const struct flat_run *r, uint32_t i, uint32_t place) {
    struct node *n = r->w[i].n;
    if (place & AT_SHAPE)
        value_set_take(&n->val, shape_value(r, place & ~AT_SHAPE));
    else /* booleans stay booleans */
        n->val = as_number(n->val.tag, r->v[place]);
}

/* Neighbouring flats read the principals' own densities when the principals absorb. */
static void keep_principals(struct flat_run *r, const double *logp) {
    const struct flat_form *f = r->form;
    const struct flat_op *op = f->ops + form_n_ops(f) - f->n_principals;
    for (uint32_t i = 0; i < f->n_principals; i++, op++) {
        struct node *n = r->w[i].n;
        n->flags |= NODE_HAS_LOGP;
        if (!inner(r->t)->flats->drawn)
            n->logp = logp[i];
        else {
            struct sums s = {0, 0, &n->logp};
            if (weigh(r, op, 1, NULL, NULL, false, &s) == JUDGED) continue;
            n->flags &= (uint16_t)~NODE_HAS_LOGP;
            trace_settle(r->t); /* flats it absorbs for must read it again */
        }
    }
}

/* Accepts the proposal: values and shared densities go into their nodes, owned densities into the
 * flat, which is then ahead of the trace (flat.h). */
static inline void keep(struct flat_run *r) {
    struct flat_form *f = r->form;
    struct flats *all = inner(r->t)->flats;
    const double *logp = f->logp;
    const struct flat_op *op = f->ops + f->n_steps;
    union flat_word *at = r->w + form_n_words(f);
    const uint32_t *places = f->places;
    for (uint32_t i = 0; i < f->n_nodes; i++) put_word(r, i, places[i]);
    for (uint32_t i = 0; i < f->n_shared; i++, op++, logp++)
        if (op->code == FLAT_MANY)
            for (uint32_t k = 0; k < op->len; k++)
                r->w[op->node + k].n->logp = columns_one(r, op, k);
        else if (op->code != FLAT_MAKER)
            r->w[op->node].n->logp = *logp;
    for (uint32_t i = 0; i < f->n_own; i++, at += 3) at[2].x = *logp++;
    if (f->settles && !r->f->ahead) {
        r->f->ahead = 1;
        vec_push(&all->ahead, r->f);
    }
    keep_principals(r, logp);
    if (all->pending.n) end_pending(r->t, true);
}

void flat_keep(struct trace *t, struct flat *f) {
    struct flat_run r = run_of(t, f);
    keep(&r);
}

/* ---- after proposals ---- */

/* Carries a value to the nodes that only pass it on. */
static void settle_copies(struct node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        struct node *c = n->out[i].child;
        if (copy_source(c) != n) continue;
        value_set_take(&c->val, value_ref(n->val));
        settle_copies(c);
    }
}

/* Writes what keep left out: nodes that only pass a value on, and densities that the flat owns. */
static void write_one(struct flat *f) {
    const struct flat_form *form = f->form;
    const union flat_word *at = f->w + form_n_words(form), *copies = at - form->n_copies;
    const uint32_t *of = f->form->places + form->n_nodes + form->n_wide;
    for (uint32_t i = 0; i < form->n_copies; i++)
        value_set_take(&copies[i].n->val, value_ref(f->w[of[i]].n->val));
    for (uint32_t i = 0; form->n_principals == 1 && i < form->n_nodes; i++)
        settle_copies(f->w[i].n);
    for (uint32_t i = 0; i < form->n_own; i++, at += 3) at->n->logp = at[2].x;
    f->ahead = 0;
}

void write_ahead(struct trace *t) {
    struct flats *all = inner(t)->flats;
    for (size_t i = 0; i < all->ahead.n; i++) write_one(all->ahead.at[i]);
    all->ahead.n = 0;
}

/* ---- Metropolis-Hastings ---- */

/* The proposal comes from the prior, so the ratio is that of what absorbs:
 *     log alpha = sum log p(absorbing | new) - sum log p(absorbing | old) */
enum gpm_status flat_mh(struct trace *t, struct node *const *principals, size_t n, bool *done,
                        bool *accepted) {
    struct flat *f = n == 1 ? principals[0]->flat : NULL;
    enum gpm_status st = GPM_OK;
    *done = *accepted = false;
    if (!f || f->stamp != flats_of(t)->stamp || !f->form) f = flat_of(t, principals, n);
    if (!f) return GPM_OK;
    struct flat_run r = run_of(t, f);
    struct sums s;
    if (n > 1) trace_settle(t); /* others own what it shares */
    if (f->stamp != inner(t)->flats->stamp) st = refresh(&r);
    if (st != GPM_OK || !read_inputs(&r)) return st;
    flat_run_begin(&r, true);
    enum verdict j = run_steps(&r, true) ? weigh_for_mh(&r, &s) : LEFT;
    if (j == IMPOSSIBLE && !old_weight(&r, &s.old)) j = LEFT;
    if (j == JUDGED && !(s.old > -INFINITY)) j = LEFT;
    if (end(&r, j) == LEFT) return GPM_OK;
    *done = true;
    *accepted = j == JUDGED && mh_accept(s.new - s.old, s.old, s.new, &t->rng);
    if (*accepted)
        keep(&r);
    else if (inner(t)->flats->pending.n)
        end_pending(t, false);
    return GPM_OK;
}
