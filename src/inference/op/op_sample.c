/* SPDX-License-Identifier: Apache-2.0
 *
 * sample: standard sampling in one operator: a start, a discarded warm-up, then draws of the
 * model's quantities or of what an action collects. nuts moves continuous choices. Other choices
 * move one at a time, by gibbs if their values can be listed, otherwise by mh. */
#include "inference/run/dataset.h"
#include "inference/run/infer_pack.h"
#include "inference/run/progress.h"
#include "inference/op/query.h"
#include "inference/hmc/sampler.h"
#include "inference/hmc/start.h"

#include "base/clock.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>
#include <string.h>

extern const struct infer_op infer_gibbs_rows[];

/* Arguments, in the order of the signature. */
enum {
    ARG_WARMUP,
    ARG_DRAWS,
    ARG_THIN,
    ARG_ACCEPT, /* followed by other settings */
    ARG_INIT = ARG_ACCEPT + 3,
    ARG_COLLECT,
    ARG_ALSO,
    ARG_SCOPE,
    ARG_BLOCK
};

/* The state of a running sample. */
struct sampling {
    struct infer_state *x;
    struct sampler_settings set;
    struct target g;
    struct start start;
    double draws, thin;  /* thin 0: the number advised per draw (pace.h) */
    double picks;        /* picks of choices that nuts does not move, before each transition */
    bool warm;           /* still in the warm-up */
    value collect, also; /* actions, or ABSENT; borrowed */
    bool alone;          /* only nuts touches the model */
    struct dataset *kept;
    /* The quantities of the trace last examined; searched again when its structure changes. */
    uint64_t trace, structure;
    struct trace_quantity *q;
    size_t n_q;
};

/* ---- transitions ---- */

/* Moves one choice picked at random; a continuous one is left to nuts. */
static enum gpm_status other_step(struct step *s) {
    const struct sp_class *cls = node_class(s->at[0]);
    const struct infer_op *gibbs = &infer_gibbs_rows[0];
    s->accepted = true;
    if (continuous_takes(s->t, s->at[0])) return GPM_OK;
    s->accepted = false;
    if (!cls || !cls->enumerate) return move_mh(s);
    const struct target *g = s->g;
    struct target by_gibbs = {.op = gibbs, .scope = g->scope, .block = g->block};
    s->g = &by_gibbs;
    enum gpm_status st = gibbs->step(s);
    s->g = g;
    return st;
}

/* The same, but a continuous choice is proposed from its prior. */
static enum gpm_status any_step(struct step *s) {
    const struct sp_class *cls = node_class(s->at[0]);
    bool proposed = continuous_takes(s->t, s->at[0]) && cls && !(cls->flags & SP_IMPROPER);
    return proposed ? move_mh(s) : other_step(s);
}

static bool has_others(const struct sampling *r) {
    for (size_t p = 0; p < r->x->model->p.n; p++) {
        struct trace *t = r->x->model->p.at[p];
        for (size_t i = 0; i < t->choices.n; i++)
            if (!continuous_takes(t, t->choices.at[i])) return true;
    }
    return false;
}

/* As many picks as there are choices, so that each is visited once on average. The number is the
 * maximum of the warm-up: a number that followed the state would change the distribution. */
static enum gpm_status sweep(struct sampling *r, step_fn *step) {
    struct target g = infer_aim(r->x, infer_name(r->x, "default"), infer_name(r->x, "one"));
    if (r->warm || r->picks < 1) r->picks = fmax(r->picks, (double)r->x->model->p.at[0]->choices.n);
    g.transitions = r->picks;
    return infer_transitions(r->x, &g, step, NULL);
}

/* Moves what nuts does not move; *moved is false if there are no such choices. */
static enum gpm_status move_rest(struct sampling *r, bool *moved) {
    *moved = true;
    if (!is_absent(r->also)) {
        value v = NIL;
        enum gpm_status st = action_run(r->x->core, r->also, r->x->at, &v);
        value_unref(v);
        return st;
    }
    *moved = infer_is_name(r->g.scope, "default") && has_others(r);
    return *moved ? sweep(r, other_step) : GPM_OK;
}

static enum gpm_status find_possible(struct sampling *r, bool *possible) {
    enum gpm_status st = GPM_OK;
    *possible = true;
    for (size_t i = 0; i < r->x->model->p.n && *possible && st == GPM_OK; i++) {
        double joint, likelihood;
        st = trace_log_joint(r->x->model->p.at[i], &joint, &likelihood);
        *possible = st != GPM_OK || joint > -INFINITY;
    }
    return st;
}

/* A discrete choice drawn from the prior may make a datum impossible (a species seen where it is
 * said not to live). Then no value of the continuous choices is a valid start. Usually each choice
 * affects its own data alone, so a few sweeps suffice. More are needed if a datum depends on
 * several choices in a row (an animal seen after years must have survived them). If a drawn
 * parameter makes that unlikely it must change, too, so every other sweep moves the continuous
 * choices. */
static enum gpm_status make_possible(struct sampling *r) {
    enum { SWEEPS = 200 };
    bool possible, moved = true;
    enum gpm_status st = find_possible(r, &possible);
    for (int i = 0; i < SWEEPS && !possible && moved && st == GPM_OK; i++) {
        st = move_rest(r, &moved);
        if (st == GPM_OK && moved && is_absent(r->also) && i % 2) st = sweep(r, any_step);
        if (st == GPM_OK && moved) st = find_possible(r, &possible);
    }
    return st;
}

/* Warns about unobserved values of a Gaussian process (only emulators have `replicate`). They are
 * ordinary choices, but as strongly correlated as the kernel says. It may take hours until the
 * draws show it. */
static void warn_of_processes(const struct sampling *r) {
    enum { FEW = 8 };
    const struct trace *t = r->x->model->p.at[0];
    size_t n = 0;
    for (size_t i = 0; i < t->choices.n; i++) {
        const struct sp_class *cls = node_class(t->choices.at[i]);
        if (cls && cls->replicate) n += adj_count(node_value(t->choices.at[i]));
    }
    if (n < FEW) return;
    diag_warn(r->x->core->diags, DIAG_SLOW, r->x->at,
              "%zu values of a Gaussian process are choices here, which move slowly as they stand",
              n);
    diag_set_help(r->x->core->diags,
                  "gp_latent(xs, z, kernel) makes them of independent choices z; likelihood= of "
                  "make_gp integrates them out");
}

static enum gpm_status transition(struct sampling *r) {
    bool moved;
    enum gpm_status st = move_rest(r, &moved);
    r->alone = !moved && is_absent(r->collect); /* the effect of an action is unknown */
    r->g.again &= r->alone;
    if (st == GPM_OK) st = infer_transitions(r->x, &r->g, nuts_step, &r->set);
    r->g.again = r->alone;
    return st;
}

/* ---- draws ---- */

static bool is_numeric(value v) {
    double one, *x;
    size_t n;
    if (value_number(v, &one) || v.tag == V_MATRIX) return true;
    if (!seq_numbers(v, &x, &n)) return false;
    mem_free(x);
    return n > 0;
}

/* An empty sequence may have numbers in a later draw. */
static bool may_be_kept(value v) {
    size_t n;
    return is_numeric(v) || (seq_length(v, &n) && n == 0);
}

static void look_up(struct sampling *r, struct trace *t) {
    if (r->trace == t->number && r->structure == t->structure) return;
    trace_quantities_free(r->q, r->n_q);
    r->n_q = trace_quantities(t, &r->q);
    r->trace = t->number;
    r->structure = t->structure;
}

/* Columns are in the order of the quantities, so each search starts where the last one ended; new
 * columns are added. False: no column can be kept, now or later. */
static bool add_row(struct sampling *r, double iter, size_t particle, double total) {
    struct dataset *d = r->kept;
    bool any = false;
    look_up(r, r->x->model->p.at[particle]);
    for (size_t i = 0; i < r->n_q; i++) any |= may_be_kept(node_value(r->q[i].node));
    if (!any) return false;
    size_t *to = NEW_ARRAY(size_t, r->n_q + 1);
    for (size_t i = 0, at = DATASET_FIRST; i < r->n_q; i++) {
        bool kept = is_numeric(node_value(r->q[i].node)), here = at < d->n_columns;
        to[i] = !kept                                         ? SIZE_MAX
                : here && !strcmp(d->names[at], r->q[i].name) ? at
                                                              : dataset_column(d, r->q[i].name, 0);
        if (kept) at = to[i] + 1;
    }
    dataset_ready(d);
    collect_begin_row(r->x, iter, particle, total, d);
    size_t first = d->cells.n - DATASET_FIRST;
    while (d->cells.n < first + d->n_columns) vec_push(&d->cells, NIL);
    for (size_t i = 0; i < r->n_q; i++)
        if (to[i] != SIZE_MAX) d->cells.at[first + to[i]] = value_ref(node_value(r->q[i].node));
    mem_free(to);
    return true;
}

static enum gpm_status keep_quantities(struct sampling *r, double iter) {
    size_t first = dataset_rows(r->kept);
    double total = collect_total(r->x);
    bool any = true;
    model_tell_impossible(r->x);
    for (size_t i = 0; i < r->x->model->p.n && any; i++) any = add_row(r, iter, i, total);
    if (!any)
        return infer_error(r->x, DIAG_BAD_OPERATOR_ARG,
                           "sample: the model assumes no name that depends on a choice and is a "
                           "number or a sequence of numbers; say what to keep: "
                           "collect=collect(...)");
    collect_pass_on(r->x, r->kept, first);
    return GPM_OK;
}

static enum gpm_status keep_collected(struct sampling *r, double iter) {
    value v = NIL;
    enum gpm_status st = action_run(r->x->core, r->collect, r->x->at, &v);
    if (st == GPM_OK && !dataset_of(v))
        st = infer_error(r->x, DIAG_TYPE,
                         "sample: collect= must be an action that gives a dataset, as collect(...) "
                         "does; it gave a %s",
                         value_type_name(v));
    if (st == GPM_OK) dataset_append(r->kept, dataset_of(v), iter);
    value_unref(v);
    return st;
}

/* One transition of the warm-up, or one draw. */
static enum gpm_status one_round(void *ctx, double i) {
    struct sampling *r = ctx;
    enum gpm_status st = GPM_OK;
    r->warm = i < r->set.warmup;
    if (r->warm) return transition(r);
    if (i == r->set.warmup && !(r->thin > 0)) r->thin = sampler_pace(r->x, &r->g);
    for (double k = 0; k < r->thin && st == GPM_OK; k++) st = transition(r);
    if (st != GPM_OK) return st;
    double iter = i + 1 - r->set.warmup;
    return is_absent(r->collect) ? keep_quantities(r, iter) : keep_collected(r, iter);
}

/* ---- the operator ---- */

static double number_or(const struct action *a, size_t i, double otherwise) {
    value v = action_arg(a, i);
    return is_absent(v) ? otherwise : v.u.num;
}

static enum gpm_status read_arguments(struct infer_state *x, const struct action *a,
                                      struct sampling *r) {
    value scope = action_arg(a, ARG_SCOPE), block = action_arg(a, ARG_BLOCK);
    *r = (struct sampling){.x = x, .set = sampler_defaults};
    r->set.warmup = number_or(a, ARG_WARMUP, 1000);
    r->draws = number_or(a, ARG_DRAWS, 1000);
    r->thin = number_or(a, ARG_THIN, 0);
    r->collect = action_arg(a, ARG_COLLECT);
    r->also = action_arg(a, ARG_ALSO);
    r->g = infer_aim(x, is_absent(scope) ? infer_name(x, "default") : scope,
                     is_absent(block) ? infer_name(x, "all") : block);
    r->g.op = a->op;
    if (!is_absent(action_arg(a, ARG_THIN)) && r->thin < 1)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG, "sample: thin must be at least 1");
    enum gpm_status st = sampler_settings_read(x, a, ARG_ACCEPT, &r->set);
    return st == GPM_OK ? start_read(x, action_arg(a, ARG_INIT), &r->start) : st;
}

/* The progress of the rounds; everything else follows from the arguments. */
static void pack_sampling(struct pack *p, void *ctx) {
    struct sampling *r = ctx;
    pack_double(p, &r->thin);
    pack_double(p, &r->picks);
    pack_dataset(p, &r->kept);
}

static enum gpm_status op_sample(struct infer_state *x, const struct action *a, value *out) {
    struct sampling r;
    struct waypoint here = {PLACE_OPERATOR, pack_sampling, &r, NULL, false};
    enum gpm_status st = read_arguments(x, a, &r);
    if (st != GPM_OK) return st;
    r.kept = dataset_new(NULL, 0);
    r.warm = true;
    if (!place_enter(x->core, &here)) {
        struct sampler_begin begin = {&r.set, &r.start, false};
        sampler_mark(x);
        warn_of_processes(&r);
        st = make_possible(&r);
        if (st == GPM_OK) st = infer_transitions(x, &r.g, sampler_begin_step, &begin);
    }
    place_hand(x->core);
    if (st == GPM_OK) st = progress_loop(x, r.set.warmup + r.draws, one_round, &r);
    place_leave(x->core, &here);
    trace_quantities_free(r.q, r.n_q);
    st = dataset_give(r.kept, st, out);
    query_note(x, *out);
    if (st == GPM_OK) nuts_warn(x);
    return st;
}

const struct infer_op infer_sample_rows[] = {
    {"sample",
     "(warmup?: count, draws?: count, thin?: count, target_accept?: probability, "
     "max_depth?: count, metric?: name, init?: any, collect?: action, also?: action, "
     "scope?: target, block?: block) -> action",
     "samples the posterior: a start, `warmup` transitions (1000) of nuts that adapt and are not "
     "kept, then `draws` (1000), each after `thin` transitions (as many as the end of the warm-up "
     "says a draw is worth, 1 to 8). Gives a dataset of all names "
     "that the model assumes and that depend on a choice, or of what the action `collect` gives; "
     "the draws go to the run's folder, too. target_accept, max_depth (10) and metric as in "
     "nuts. init: pathfinder (the default: a draw from the best normal approximation along paths "
     "uphill), random (uniform in -2 .. 2 in the unconstrained space), prior, current, optimum, "
     "laplace, or a dictionary of names and values; a start that is impossible is drawn again, up "
     "to 100 times. Choices that are not continuous move by gibbs or mh, one at a time, or by the "
     "action `also` before each transition. `sample e` and `sample(e)` are the directive: they "
     "evaluate e in the model and give its value; that leaves no trace",
     .flags = OP_RESUMES | OP_MOVES, .run = op_sample},
    {0},
};
