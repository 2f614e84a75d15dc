/* SPDX-License-Identifier: Apache-2.0
 *
 * Observations that move. When a branch changes, the observed expression may end at another choice.
 * Choices made in a branch come and go with the scaffold. A choice that exists without the
 * observation (a variable) is not in the scaffold. When the observation leaves it, it is drawn from
 * its prior; when the observation arrives, its value is discarded. So the proposal concerns both
 * choices, the densities of the free values cancel, and the weight is that of the observed ones. */
#include "runtime/trace/scaffold.h"

static enum gpm_status refuse(struct scaffold *s, const struct entry *e, struct node *end,
                              const char *what, const char *help) {
    diag_raise(s->t->core->diags, DIAG_OBSERVE_PROPAGATE, node_span(e->n), "%s", what);
    diag_add_label(s->t->core->diags, node_span(end), "this choice");
    return diag_set_help(s->t->core->diags, "%s", help);
}

/* A choice cannot be left or taken if it is already observed, changes for another reason, or is
 * built step by step. */
static enum gpm_status check(struct scaffold *s, const struct entry *e, struct node *end) {
    if (end->flags & NODE_OBSERVED && end != e->obs->kept_end)
        return refuse(s, e, end, "a branch moves this observation to a choice that is observed",
                      "observe each choice once, or observe normal(the choice, small) instead");
    if (s->by_steps)
        return refuse(s, e, end,
                      "a branch moves this observation to or from a variable, which particle Gibbs "
                      "cannot do",
                      "use mh or gibbs here, or draw the choice inside the branch");
    if (entry_of(s, end))
        return refuse(s, e, end,
                      "a branch moves this observation to or from a choice that the same proposal "
                      "changes",
                      "draw the choice inside the branch, or observe normal(the choice, small) "
                      "instead");
    return GPM_OK;
}

/* The observation releases an end outside the scaffold. Its density leaves the weight, and it
 * becomes a free choice drawn from its prior. */
static enum gpm_status leave(struct scaffold *s, struct entry *e, double *weight) {
    struct node *end = e->obs->kept_end;
    double logp;
    enum gpm_status st = check(s, e, end);
    if (st == GPM_OK) st = node_unincorporate(s->t, end);
    if (st == GPM_OK) st = node_logp(s->t, end, &logp);
    if (st != GPM_OK) return st;
    *weight -= logp;
    e->obs->left = true;
    e->obs->left_val = value_ref(end->val);
    s->t->structure++; /* the set of free choices has changed */
    end->flags &= (uint16_t) ~(NODE_OBSERVED | NODE_HAS_LOGP);
    st = node_apply(s->t, end, false);
    if (st == GPM_OK) choice_add(s->t, end);
    return st == GPM_OK ? observation_propagate(s->t, end, false) : st;
}

/* Let y be the observed value, a the end that is left, b the end that is taken. The move goes from
 * (a = y, b free) to (a free, b = y) and draws the free one from its prior in both directions:
 *
 *     *weight += log p(b = y) - log p(a = y)
 *
 * If detach tore the old end down, it has already counted that density, and only the first term is
 * added. A new end made or torn down by this proposal (`made`) was not a free choice before. */
enum gpm_status observation_follow(struct scaffold *s, struct entry *e, double *weight) {
    struct observed_root *o = e->obs;
    struct node *end = chase(e->n);
    enum gpm_status st = GPM_OK;
    if (end == o->kept_end) return GPM_OK;
    if (o->kept_end && !o->left) st = leave(s, e, weight);
    bool made = end->seq >= s->first_seq || is_torn_down(s, end);
    if (st == GPM_OK && !made) {
        st = check(s, e, end);
        o->taken = st == GPM_OK;
        if (o->taken) o->taken_val = value_ref(end->val);
        s->t->structure++;
    }
    if (st != GPM_OK) return st;
    double logp = 0;
    o->new_end = end;
    st = constrain_end(s->t, end, o->seen, &logp);
    *weight += logp;
    return st;
}

#define MOVE_FAILED "an observation that moved cannot return"

/* Restores the value of a choice, observed or free. */
static void put_back(struct scaffold *s, struct node *end, value v, bool observed) {
    struct session_core *core = s->t->core;
    core_must(core, node_unincorporate(s->t, end), MOVE_FAILED);
    s->t->structure++;
    choice_remove(s->t, end);
    end->flags &= (uint16_t) ~(NODE_OBSERVED | NODE_HAS_LOGP);
    if (observed) end->flags |= NODE_OBSERVED;
    value_set_take(&end->val, v);
    core_must(core, node_incorporate(s->t, end), MOVE_FAILED);
    if (!observed) choice_add(s->t, end);
    core_must(core, observation_propagate(s->t, end, true), MOVE_FAILED);
}

void observation_return(struct scaffold *s, struct entry *e) {
    struct observed_root *o = e->obs;
    if (!o) return;
    if (o->taken)
        put_back(s, o->new_end, o->taken_val, false);
    else if (o->new_end)
        o->new_end->flags &= (uint16_t)~NODE_OBSERVED;
    if (o->left) put_back(s, o->kept_end, o->left_val, true);
    o->taken = o->left = false;
    o->taken_val = o->left_val = NIL;
    o->new_end = NULL;
}

void observation_stay(struct entry *e) {
    struct observed_root *o = e->obs;
    if (!o) return;
    value_unref(o->taken_val);
    value_unref(o->left_val);
    o->taken_val = o->left_val = NIL;
}
