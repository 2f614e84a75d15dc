/* SPDX-License-Identifier: Apache-2.0
 *
 * Custom proposals. A proposal moves the choices of a subproblem by a symmetric kernel on each
 * value, by fixed values, or by a procedure of the subproblem. The procedure gives an action whose
 * result is list(log weight, action that undoes the move). mh_correct accepts or rejects with the
 * Metropolis-Hastings rule, including the probability of picking the block.
 *
 * detach, regen and restore are the single steps as actions. Between detach and regen or restore
 * the model is open, and nothing else may touch it. */
#include "inference/run/move.h"
#include "language/value/value_pack.h"

#include <math.h>

enum proposal_kind { PROPOSE_SYMMETRIC, PROPOSE_VALUES, PROPOSE_CALL };
struct custom {
    struct box box;
    enum proposal_kind kind;
    value how; /* kernel, array of values, procedure */
    value sub; /* the subproblem; ABSENT until on_subproblem */
};

static void proposal_release(struct box *b) {
    struct custom *p = (struct custom *)b;
    value_unref(p->how);
    value_unref(p->sub);
}

static void proposal_pack(struct pack *p, struct box *b) {
    struct custom *c = (struct custom *)b;
    c->kind = (enum proposal_kind)pack_choice(p, c->kind, PROPOSE_CALL + 1);
    pack_value(p, &c->how);
    pack_value(p, &c->sub);
}

const struct box_class proposal_class = {.name = "proposal",
                                         .size = sizeof(struct custom),
                                         .release = proposal_release,
                                         .pack = proposal_pack};

static struct custom *proposal_of(value v) {
    return v.tag == V_BOX && v.u.box->cls == &proposal_class ? (struct custom *)v.u.box : NULL;
}

static value proposal_new(enum proposal_kind kind, value how) {
    struct custom *p = box_new(&proposal_class);
    p->kind = kind;
    p->how = value_ref(how);
    p->sub = ABSENT;
    return value_box(V_BOX, &p->box);
}

static enum gpm_status op_local(struct infer_state *x, const struct action *a, value *out) {
    *out = proposal_new((enum proposal_kind)a->op->how, a->args[0]);
    return GPM_OK;
}

/* A copy of the proposal bound to a subproblem. */
static enum gpm_status placed(struct infer_state *x, value how, value sub, value *out) {
    struct custom *p = proposal_of(how);
    value made;
    if (p)
        made = proposal_new(p->kind, p->how);
    else if (how.tag == V_PROC)
        made = proposal_new(PROPOSE_CALL, how);
    else
        return infer_error(x, DIAG_BAD_PROPOSAL,
                           "a proposal is needed (symmetric_local_proposal(f), "
                           "regeneration_local_proposal(values) or a procedure), got a %s",
                           value_type_name(how));
    if (!subproblem_of(sub)) {
        value_unref(made);
        return infer_error(x, DIAG_BAD_OPERATOR_ARG, "a subproblem is needed, got a %s",
                           value_type_name(sub));
    }
    proposal_of(made)->sub = value_ref(sub);
    *out = made;
    return GPM_OK;
}

/* on_subproblem(scope, block, proposal), or (subproblem, proposal). */
static enum gpm_status op_on_subproblem(struct infer_state *x, const struct action *a, value *out) {
    if (a->n == 2) return placed(x, a->args[1], a->args[0], out);
    value sub = subproblem_new(SUB_SCOPE, a->args[0], a->args[1]);
    enum gpm_status st = placed(x, a->args[2], sub, out);
    value_unref(sub);
    return st;
}

/* New values for the choices of a scaffold. */

static enum gpm_status same_kind(struct infer_state *x, value was, value is) {
    bool ok = was.tag == is.tag || (was.tag == V_BOOL && is.tag == V_NUM) ||
              (was.tag == V_NUM && is.tag == V_BOOL) || (seq_is(was) && seq_is(is));
    if (ok && !(is.tag == V_NUM && isnan(is.u.num))) return GPM_OK;
    return infer_error(x, DIAG_BAD_PROPOSAL, "the proposal gave %s for a choice that is a %s",
                       SHOW(is), value_type_name(was));
}

/* The untraced evaluator calls the kernel with each old value; its draws come from the session's
 * generator. On an error vals holds nothing. */
static enum gpm_status new_values(struct infer_state *x, const struct custom *p, const value *old,
                                  size_t n, value *vals) {
    value *items = NULL;
    size_t have = n, i = 0;
    enum gpm_status st = GPM_OK;
    if (p->kind == PROPOSE_VALUES && !seq_items(p->how, &items, &have)) have = 0;
    if (have != n)
        st = infer_error(x, DIAG_BAD_PROPOSAL, "%zu values are proposed for %zu choices", have, n);
    for (; st == GPM_OK && i < n; i++) {
        vals[i] = items ? value_ref(items[i]) : NIL;
        if (!items) st = plain_apply(x->core, p->how, &old[i], 1, x->at, &vals[i]);
        if (st != GPM_OK) vals[i] = NIL;
        if (st == GPM_OK) st = same_kind(x, old[i], vals[i]);
    }
    while (st != GPM_OK && i-- > 0) value_unref(vals[i]);
    if (items) values_free(items, have);
    return st;
}

/* Moves the block to the given values. correct: accept as for a symmetric kernel; otherwise accept
 * whenever the model can be evaluated. */
static enum gpm_status go_to(struct step *s, const value *vals, bool correct) {
    struct move m;
    double w_new;
    s->redraws = correct;
    enum gpm_status st = move_find(s, &m);
    if (st == GPM_OK) st = move_open(&m);
    if (st != GPM_OK) return st;
    st = move_build(&m, vals, &w_new, NULL);
    s->accepted = st == GPM_OK && move_built(&m) && (!correct || step_accept(s, m.w_old, w_new, 0));
    move_close(&m, s->accepted);
    return st;
}

static enum gpm_status value_move(struct step *s, const struct custom *p) {
    struct move m;
    enum gpm_status st = move_find(s, &m);
    if (st != GPM_OK) return st;
    size_t k = move_n(&m);
    value *old = NEW_ARRAY(value, k + 1), *vals = NEW_ARRAY(value, k + 1);
    for (size_t i = 0; i < k; i++) old[i] = value_ref(move_old_value(&m, i));
    move_forget(&m); /* the proposal may run any code */
    st = new_values(s->x, p, old, k, vals);
    values_free(old, k);
    if (st == GPM_OK) {
        st = go_to(s, vals, true);
        for (size_t i = 0; i < k; i++) value_unref(vals[i]);
    }
    mem_free(vals);
    return st;
}

/* list(weight, action that undoes the move). */
static enum gpm_status read_move(struct infer_state *x, value r, double *weight, value *reject) {
    value *items;
    size_t n = 0;
    bool ok = seq_items(r, &items, &n);
    if (!ok && r.tag == V_PAIR) { /* pair(weight, action) */
        *weight = r.u.pair->first.tag == V_NUM ? r.u.pair->first.u.num : NAN;
        *reject = value_ref(r.u.pair->rest);
    } else {
        *weight = n > 0 && items[0].tag == V_NUM ? items[0].u.num : NAN;
        *reject = n > 1 ? value_ref(items[n - 1]) : NIL;
        if (ok) values_free(items, n);
    }
    if (!isnan(*weight) && action_of(*reject)) return GPM_OK;
    value_unref(*reject);
    return infer_error(x, DIAG_BAD_PROPOSAL,
                       "a proposal must give list(log weight, action that takes it back)");
}

/* A move made by the program. Its weight stands for log (p(x') q(x | x')) - log (p(x) q(x' | x)).
 * Rejecting runs the program's action that undoes the move. */
static enum gpm_status correct(struct step *s, value action) {
    struct infer_state *x = s->x;
    double weight;
    value r, reject, ignored;
    step_begin(s);
    enum gpm_status st = action_run(x->core, action, x->at, &r);
    if (st != GPM_OK) return st;
    st = read_move(x, r, &weight, &reject);
    value_unref(r);
    if (st != GPM_OK) return st;
    if (x->model->p.at[0] != s->t) {
        value_unref(reject);
        return infer_error(x, DIAG_PARTICLES, "a proposal must not replace the particle");
    }
    s->accepted = step_accept(s, 0, weight, 0);
    if (!s->accepted) {
        st = action_run(x->core, reject, x->at, &ignored);
        if (st == GPM_OK) value_unref(ignored);
    }
    value_unref(reject);
    return st == GPM_OK ? infer_close(x, true) : st;
}

/* The program's action sees a model with one particle, the current one; the others are set aside
 * meanwhile. */
static enum gpm_status call_move(struct step *s, const struct custom *p) {
    struct infer_state *x = s->x;
    value sub = subproblem_chosen(s->at, s->n, p->sub), action, ignored = NIL;
    size_t i = 0;
    enum gpm_status st = plain_apply(x->core, p->how, &sub, 1, x->at, &action);
    value_unref(sub);
    if (st != GPM_OK) return st;
    while (x->model->p.at[i] != s->t) i++;
    particles all = infer_lend(x, i);
    st = infer_take_back(x, i, all, correct(s, action), &ignored);
    s->t = x->model->p.at[i];
    value_unref(action);
    return st;
}

static enum gpm_status custom_step(struct step *s) {
    const struct custom *p = s->ctx;
    return p->kind == PROPOSE_CALL ? call_move(s, p) : value_move(s, p);
}

/* A bound proposal runs like any operator (infer_transitions). A bare action is already a move of
 * the first particle, without a pick. */
static enum gpm_status run_proposal(struct infer_state *x, value v) {
    struct custom *p = proposal_of(v);
    struct step first = {.x = x, .t = x->model->p.at[0]};
    if (!p && action_of(v)) return correct(&first, v);
    if (!p || is_absent(p->sub))
        return infer_error(x, DIAG_BAD_PROPOSAL,
                           "mh_correct needs on_subproblem(scope, block, proposal), got a %s",
                           value_type_name(v));
    struct target g = infer_aim(x, p->sub, NIL);
    return infer_transitions(x, &g, custom_step, p);
}

static enum gpm_status op_mh_correct(struct infer_state *x, const struct action *a, value *out) {
    return run_proposal(x, a->args[0]);
}

static enum gpm_status op_apply(struct infer_state *x, const struct action *a, value *out) {
    value p;
    enum gpm_status st = placed(x, a->args[1], a->args[0], &p);
    if (st != GPM_OK) return st;
    st = run_proposal(x, p);
    value_unref(p);
    return st;
}

/* The single steps. At most one part is out. Every action without OP_OPEN closes it first
 * (infer_close). So a program that forgets to restore gets an error instead of a broken model. For
 * the program a part is an empty box, which may outlive it. */

static const struct box_class part_class = {.name = "detached part", .size = sizeof(struct box)};

/* The part taken out by detach, until the next action without OP_OPEN. */
struct detached {
    struct scaffold *s; /* NULL: no part is out */
    struct box *part;   /* the program's handle; borrowed */
    bool regenerated;   /* the new state is built: closing keeps it */
    bool fixed;         /* built from given values */
    double weight;      /* its log weight in that mode */
};

static void detached_pack(struct pack *p, void *own) {
    if (((struct detached *)own)->s) pack_fail(p, "part of the model is detached");
}

const struct op_state_class detached_own = {sizeof(struct detached), NULL, detached_pack};

static struct detached *detached(const struct infer_state *x) {
    return infer_own(x, &detached_own);
}

static void close_part(struct detached *open) {
    if (open->s) scaffold_close(open->s, open->regenerated);
    open->s = NULL;
}

/* Keeps a regenerated part; restores a part that is still out. */
enum gpm_status infer_close(struct infer_state *x, bool complain) {
    struct detached *open = detached(x);
    bool bad = open->s && !open->regenerated;
    close_part(open);
    if (!bad || !complain) return GPM_OK;
    return infer_error(
        x, DIAG_BAD_PROPOSAL,
        "the model was detached and not put back: call regen or restore after detach");
}

/* Settles first: "one" is picked once, so the detached part is the part that was read. */
static enum gpm_status sub_nodes(struct infer_state *x, value sub, struct node_set *out) {
    value settled;
    enum gpm_status st = subproblem_settle(x, sub, &settled);
    if (st != GPM_OK) return st;
    st = subproblem_choices(x, x->model->p.at[0], subproblem_of(settled), out);
    value_unref(settled);
    return st;
}

enum { ALWAYS_ARRAY, ONE_BY_ITSELF };

static enum gpm_status op_current(struct infer_state *x, const struct action *a, value *out) {
    struct node_set set;
    value sub = subproblem_given(x, a);
    enum gpm_status st = sub_nodes(x, sub, &set);
    value_unref(sub);
    if (st != GPM_OK) return st;
    *out = node_set_values(x->model->p.at[0], &set);
    mem_free(set.at);
    if (a->op->how == ONE_BY_ITSELF && set.n == 1)
        value_set_take(out, value_ref(out->u.array->at[0]));
    return GPM_OK;
}

/* The program's handle for the part that is out. */
static value part_taken_out(struct infer_state *x, double weight) {
    return value_pair_take(value_num(weight), value_box(V_BOX, box_new(&part_class)));
}

static bool is_part(const struct scaffold *s, const struct node_set *set) {
    bool same = scaffold_n_principals(s) == set->n;
    for (size_t i = 0; i < set->n && same; i++) {
        bool found = false;
        for (size_t j = 0; j < set->n; j++) found |= scaffold_principal(s, j) == set->at[i];
        same = found;
    }
    return same;
}

/* Detach after regen of the same part: takes the new state out again, so that the old one can be
 * restored. Venture's programs reject in this way: do(detach(s), restore(s, old)). The weight is
 * that of the regen, with or without the choices' own densities:
 *
 *     w_fixed = w_prior + sum log p(choice) */
static enum gpm_status detach_again(struct infer_state *x, bool fixed, value *out) {
    struct detached *open = detached(x);
    struct scaffold *s = open->s;
    double own = 0, w = open->weight;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; fixed != open->fixed && i < scaffold_n_principals(s) && st == GPM_OK; i++) {
        double logp;
        st = node_logp(x->model->p.at[0], scaffold_principal(s, i), &logp);
        if (st == GPM_OK) own += logp;
    }
    if (st != GPM_OK) return st;
    scaffold_unregen(s);
    open->regenerated = false;
    *out = part_taken_out(x, fixed == open->fixed ? w : fixed ? w + own : w - own);
    return GPM_OK;
}

/* The result is pair(log weight, part). The weight of what was taken out, under SCAFFOLD_FIXED with
 * the choices' own densities, must be subtracted from regen's. */
static enum gpm_status op_detach(struct infer_state *x, const struct action *a, value *out) {
    struct node_set set;
    struct detached *open = detached(x);
    enum gpm_status st = GPM_OK;
    if (open->s && open->regenerated) {
        st = sub_nodes(x, a->args[0], &set);
        if (st != GPM_OK) return st;
        bool same = is_part(open->s, &set);
        mem_free(set.at);
        if (same) return detach_again(x, a->op->how == SCAFFOLD_FIXED, out);
    }
    st = infer_close(x, true);
    if (st == GPM_OK && x->model->p.n != 1)
        st = infer_error(x, DIAG_PARTICLES, "%s works on one particle; use for_each_particle",
                         a->op->name);
    if (st == GPM_OK) st = sub_nodes(x, a->args[0], &set);
    if (st != GPM_OK) return st;
    struct scaffold *s;
    double w = 0;
    st = scaffold_open(x->model->p.at[0], set.at, set.n, (enum scaffold_mode)a->op->how, &w, &s);
    mem_free(set.at);
    if (st != GPM_OK) return st;
    open->s = s;
    open->regenerated = false;
    *out = part_taken_out(x, w);
    open->part = out->u.pair->rest.u.box;
    return GPM_OK;
}

/* A state that cannot be built has weight -inf and stays detached; only restore is then
 * possible. */
static enum gpm_status rebuild(struct infer_state *x, const char *op, const value *vals, size_t n,
                               value *out) {
    struct detached *open = detached(x);
    struct scaffold *s = open->s;
    if (!s || open->regenerated)
        return infer_error(x, DIAG_BAD_PROPOSAL, "%s: nothing is detached", op);
    if (vals && n != scaffold_n_principals(s))
        return infer_error(x, DIAG_BAD_PROPOSAL, "%s: %zu values for %zu choices", op, n,
                           scaffold_n_principals(s));
    double w;
    enum gpm_status st = scaffold_regen(s, vals ? SCAFFOLD_FIXED : SCAFFOLD_PRIOR, vals, &w);
    if (st != GPM_OK) return st;
    open->regenerated = scaffold_built(s);
    if (!open->regenerated) w = -INFINITY;
    open->fixed = vals != NULL;
    open->weight = w;
    *out = value_num(w);
    return GPM_OK;
}

static enum gpm_status op_regen(struct infer_state *x, const struct action *a, value *out) {
    return rebuild(x, "regen", NULL, 0, out);
}

static enum gpm_status op_regen_with(struct infer_state *x, const struct action *a, value *out) {
    value *items;
    size_t k;
    if (!seq_items(a->args[1], &items, &k))
        return infer_error(x, DIAG_TYPE, "regen_with_proposal needs a sequence of values, got a %s",
                           value_type_name(a->args[1]));
    enum gpm_status st = rebuild(x, "regen_with_proposal", items, k, out);
    values_free(items, k);
    return st;
}

/* Also after regen: undoes the new state and restores the old one, which rejects. */
static enum gpm_status op_restore(struct infer_state *x, const struct action *a, value *out) {
    struct detached *open = detached(x);
    value part = action_arg(a, 1);
    if (!open->s || (a->n > 1 && (part.tag != V_BOX || part.u.box != open->part)))
        return infer_error(x, DIAG_BAD_PROPOSAL, "restore: that part is not detached now");
    open->regenerated = false;
    close_part(open);
    return GPM_OK;
}

/* Makes no correction: the program changes the state on purpose, and the chain continues from
 * there. */
static enum gpm_status set_values(struct step *s) {
    const value *v = s->ctx;
    value *items = NULL;
    size_t k = 1;
    enum gpm_status st;
    if (s->n > 1 && !seq_items(*v, &items, &k)) k = 1;
    if (k != s->n)
        st = infer_error(s->x, DIAG_BAD_PROPOSAL, "set_value_at: %zu values for %zu choices", k,
                         s->n);
    else
        st = go_to(s, items ? items : v, false);
    if (st == GPM_OK && !s->accepted)
        st = infer_error(s->x, DIAG_BAD_PROPOSAL,
                         "set_value_at: the model cannot be evaluated with that value");
    if (items) values_free(items, k);
    return st;
}

static enum gpm_status op_set_value_at(struct infer_state *x, const struct action *a, value *out) {
    value v = a->args[a->n - 1];
    struct target g = infer_aim(x, a->args[0], a->n > 2 ? a->args[1] : infer_name(x, "all"));
    return infer_transitions(x, &g, set_values, &v);
}

const struct infer_op infer_custom_rows[] = {
    {"symmetric_local_proposal", "(f: proc) -> proposal",
     "moves every choice by f(value); f must be symmetric", .flags = OP_PLAIN, .run = op_local,
     .how = PROPOSE_SYMMETRIC},
    {"symmetric_local_proposal_from_chain", "(f: proc) -> proposal",
     "the same as symmetric_local_proposal", .flags = OP_PLAIN, .run = op_local,
     .how = PROPOSE_SYMMETRIC},
    {"regeneration_local_proposal", "(values: any) -> proposal", "proposes the given values",
     .flags = OP_PLAIN, .run = op_local, .how = PROPOSE_VALUES},
    {"on_subproblem", "(scope: any, block: any, proposal?: any) -> proposal",
     "a proposal on the block of a scope", .flags = OP_PLAIN, .run = op_on_subproblem},
    {"mh_correct", "(proposal: any) -> action",
     "makes the move, then accepts it or takes it back. A proposal may be a procedure of the "
     "subproblem, proc(s) { ... return(list(weight, undo)) }: the log of p(x') q(x | x') / (p(x) "
     "q(x' | x)), and the action that takes the move back",
     .flags = OP_MOVES, .run = op_mh_correct},
    {"apply_mh_correction", "(subproblem: any, proposal: any) -> action",
     "mh_correct of a proposal on a subproblem", .flags = OP_MOVES, .run = op_apply},
    {"get_current_values", "(subproblem: subproblem) -> action",
     "the values of the choices of a subproblem", .run = op_current, .how = ALWAYS_ARRAY},
    {"detach", "(subproblem: subproblem) -> action",
     "takes the subproblem out: pair(log weight, old part); after regen it takes the new state out "
     "again, and the old part can be put back by restore",
     .flags = OP_OPEN, .run = op_detach, .how = SCAFFOLD_PRIOR},
    {"detach_for_proposal", "(subproblem: subproblem) -> action",
     "detach whose weight includes the choices' own densities", .flags = OP_OPEN, .run = op_detach,
     .how = SCAFFOLD_FIXED},
    {"regen", "(subproblem?: any) -> action",
     "draws what was detached (the subproblem) from the prior; its log weight",
     .flags = OP_OPEN | OP_MOVES, .run = op_regen},
    {"regen_with_proposal", "(subproblem: any, values: any) -> action",
     "rebuilds what was detached with given values; its log weight", .flags = OP_OPEN | OP_MOVES,
     .run = op_regen_with},
    {"restore", "(subproblem: any, old?: any) -> action",
     "puts the old part of the subproblem back", .flags = OP_OPEN, .run = op_restore},
    {"value_at", "(scope: target, block?: block) -> action",
     "the value of the choice at a scope and block", .run = op_current, .how = ONE_BY_ITSELF,
     .block = "all"},
    {"set_value_at", "(scope: any, block: any, v?: any) -> action",
     "sets the choice at a scope and block to v", .flags = OP_MOVES, .run = op_set_value_at},
    {0},
};
