/* SPDX-License-Identifier: Apache-2.0
 *
 * marginalize: discrete choices summed out while an action runs, or drawn from their joint
 * conditional distribution. See marginal.h. */
#include "inference/sums/marginal.h"
#include "inference/run/move.h"

/* Draws all of them jointly, given everything else: closing a move without moved choices draws the
 * summed ones. */
static enum gpm_status draw_all(struct infer_state *x, struct trace *t) {
    struct node_set set;
    struct scaffold *s;
    struct marginal *m;
    double w;
    enum gpm_status st = marginal_choices(x, t, &set);
    if (st == GPM_OK && set.n) {
        struct step step = {.x = x, .t = t, .at = set.at, .n = set.n};
        s = move_scaffold(&step);
        st = marginal_open(x, t, s, 0, NULL, &m, &w);
        if (st == GPM_OK) marginal_close(m, true);
    }
    mem_free(set.at);
    return st;
}

static enum gpm_status op_marginalize(struct infer_state *x, const struct action *a, value *out) {
    value *summed = marginal_scope(x), outer = *summed, inner = action_arg(a, 1);
    enum gpm_status st = GPM_OK;
    *summed = a->args[0];
    if (!is_absent(inner)) st = action_run(x->core, inner, x->at, out);
    for (size_t i = 0; is_absent(inner) && i < x->model->p.n && st == GPM_OK; i++)
        st = draw_all(x, x->model->p.at[i]);
    *summed = outer;
    return st;
}

const struct infer_op infer_marginal_rows[] = {
    {"marginalize", "(scope: scope, a?: action) -> action",
     "runs a with the discrete choices of the scope summed out: operators on continuous choices "
     "(nuts, hmc, laplace, ...) see the marginal density, and after each of their transitions the "
     "summed choices are drawn given the rest; without a, draws them once. Independent choices are "
     "summed one by one, chains forwards and backwards; default means all discrete choices",
     .flags = OP_MOVES, .run = op_marginalize},
    {0},
};
