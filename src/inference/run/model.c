/* SPDX-License-Identifier: Apache-2.0
 *
 * Models: sets of particles (traces) that share directives; and the state of a session's inference.
 *
 * Ownership: a model (a counted box) owns its traces. The session's infer_state holds a reference
 * to the current model, and every operator works on x->model. Random numbers: the session has a
 * seed and a chain number; each new model's first trace gets the next stream of them (next_stream),
 * copies split theirs. So no two traces that run share a stream, and what a program draws does not
 * depend on what other models do. */
#include "runtime/core/nest.h"
#include "inference/run/dataset.h"
#include "inference/run/profile.h"

#include <math.h>
#include <string.h>

void particles_free(particles *p) {
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i]) trace_free(p->at[i]);
    vec_release(p);
}

static void model_clear(struct box *b) {
    particles_free(&((struct model *)b)->p);
}

static void model_visit(struct box *b, struct visitor *v) {
    struct model *m = (struct model *)b;
    for (size_t i = 0; i < m->p.n; i++) trace_visit(m->p.at[i], v);
}

const struct box_class model_class = {.name = "model",
                                      .size = sizeof(struct model),
                                      .release = model_clear,
                                      .visit = model_visit,
                                      .clear = model_clear,
                                      .pack = model_pack};

value model_new(struct session_core *core) {
    struct model *m = box_new(&model_class);
    struct infer_state *x = infer_of(core);
    struct rng r;
    rng_init(&r, core->rng.seed, core->rng.chain, ++x->next_stream);
    m->made_by = core->nest ? core->nest->number : 0;
    vec_push(&m->p, trace_new(core, r));
    core->frames_made += 50; /* a model's contents soon outweigh its frames */
    return value_box(V_BOX, &m->box);
}

struct model *model_of(value v) {
    return v.tag == V_BOX && v.u.box->cls == &model_class ? (struct model *)v.u.box : NULL;
}

enum gpm_status model_add_copy(struct infer_state *x, struct trace **t, particles *to) {
    enum gpm_status st = core_poll(x->core, x->at);
    if (st != GPM_OK) return st;
    struct trace *copy = trace_share(t);
    copy->rng = rng_split(&(*t)->rng);
    st = core_check_memory(x->core, x->at);
    if (st == GPM_OK)
        vec_push(to, copy);
    else
        trace_free(copy);
    return st;
}

enum gpm_status model_whole(struct infer_state *x) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < x->model->p.n && st == GPM_OK; i++) {
        trace_whole(x->model->p.at[i]);
        st = core_poll(x->core, x->at);
    }
    return st;
}

enum gpm_status model_fork(struct infer_state *x, struct model *m, value *out) {
    struct model *f = box_new(&model_class);
    f->begun = m->begun;
    f->made_by = m->made_by;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < m->p.n && st == GPM_OK; i++) st = model_add_copy(x, &m->p.at[i], &f->p);
    *out = value_box(V_BOX, &f->box);
    if (st != GPM_OK) value_unref(*out);
    return st;
}

/* By value: the returned vector stays unchanged whatever the action does to the model's. */
particles infer_lend(struct infer_state *x, size_t i) {
    struct model *m = x->model;
    particles all = m->p;
    m->p = (particles){0};
    vec_push(&m->p, all.at[i]);
    return all;
}

enum gpm_status infer_take_back(struct infer_state *x, size_t i, particles all, enum gpm_status st,
                                value *out) {
    struct model *m = x->model;
    particles now = m->p;
    m->p = all;
    all.at[i] = now.at[0];
    for (size_t k = 1; k < now.n; k++) trace_free(now.at[k]);
    mem_free(now.at);
    if (st != GPM_OK || now.n == 1) return st;
    value_unref(*out);
    return infer_error(x, DIAG_PARTICLES,
                       "an action on one particle must not make several (it made %zu)", now.n);
}

/* log W = log sum_i w_i; an estimate of the evidence after observes and resampling
 * (op_particles.c). */
double model_log_weight(const struct model *m) {
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < m->p.n; i++) max = fmax(max, m->p.at[i]->log_weight);
    if (isinf(max)) return max;
    for (size_t i = 0; i < m->p.n; i++) sum += exp(m->p.at[i]->log_weight - max);
    return max + log(sum);
}

/* The observation whose density is zero at the present choices; false if all are possible. */
static bool contradicted(struct trace *t, struct span *at) {
    struct recorded d = {NULL, 0};
    bool found = false;
    trace_whole(t);
    for (size_t k = 0; !found && trace_next_recorded(t, &k, &d);) {
        double *logp;
        size_t n;
        if (record_kind(d.r) != REC_OBSERVE) continue;
        if (trace_log_likelihood(t, d, &logp, &n) != GPM_OK) break;
        for (size_t i = 0; i < n; i++) found |= logp[i] == -INFINITY;
        mem_free(logp);
        *at = recorded_span(d);
    }
    return found;
}

/* Particles of weight zero are ignored unless all have weight zero. */
void model_tell_impossible(struct infer_state *x) {
    struct model *m = x->model;
    struct diags *d = x->core->diags;
    size_t said = d->list.n;
    struct span at = NO_SPAN;
    if (m->looked_at || !m->begun) return;
    m->looked_at = true;
    if (m->p.n > 1 && model_log_weight(m) > -INFINITY) return;
    for (size_t i = 0; i < m->p.n; i++)
        if (!contradicted(m->p.at[i], &at)) {
            diags_rewind(d, said);
            return;
        }
    diag_warn(d, DIAG_IMPOSSIBLE, x->at,
              "the state that is kept or shown here has probability zero");
    diag_add_label(d, at, "it contradicts this observation");
    diag_set_help(d, "no operator has found a possible state: force one, begin with "
                     "bogo_possibilize(default, all), or move the choices by another operator");
}

double model_ess(const struct model *m) {
    double total = model_log_weight(m), squares = 0;
    for (size_t i = 0; i < m->p.n; i++) squares += exp(2 * (m->p.at[i]->log_weight - total));
    return total > -INFINITY ? 1 / squares : 0;
}

size_t infer_first_above(const double *upto, size_t n, double u) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (u < upto[mid])
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Rounding may leave u above all shares; then the last particle with positive weight is taken. */
static size_t draw_from(const double *upto, size_t n, double u) {
    size_t i = infer_first_above(upto, n, u);
    if (i < n) return i;
    while (--i && upto[i] == upto[i - 1]) continue;
    return i;
}

void infer_draw_particles(struct infer_state *x, double total, bool systematic, size_t want,
                          size_t *count) {
    const struct model *m = x->model;
    bool any = total > -INFINITY;
    /* Cumulative weights of particles 0 .. i as shares of the total. */
    double *upto = NEW_ARRAY(double, m->p.n), sum = 0;
    for (size_t i = 0; any && i < m->p.n; i++) upto[i] = sum += exp(m->p.at[i]->log_weight - total);
    double comb = systematic ? rng_uniform(&x->core->rng) : 0;
    for (size_t k = 0; k < want; k++) {
        double u = systematic ? ((double)k + comb) / (double)want : rng_uniform(&x->core->rng);
        count[any ? draw_from(upto, m->p.n, u) : (size_t)(u * (double)m->p.n)]++;
    }
    mem_free(upto);
}

/* Sets the hooks of the evaluator below (it does not know this layer), the first model, the names
 * of blocks, and the rows whose name is an action instead of a procedure (OP_VALUE). */
void infer_state_init(struct infer_state *x, struct session_core *core) {
    x->core = core;
    x->own = op_states_new();
    core->session = x;
    core->run_action = action_run;
    core->make_directive = action_make;
    core->apply_op = action_make_op;
    core->names_action = action_named;
    core->run_nested = infer_run_nested;
    x->model = model_of(model_new(core));
    static const char *const names[] = {"one",  "all",     "each",   "each_reverse",
                                        "none", "default", "ordered"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        core_bind_builtin(core, names[i], value_sym(sym_cstr(core->syms, names[i])));
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct infer_op *op = infer_op_of(sp_index_at(i));
        value v;
        if (op && (op->flags & OP_VALUE) &&
            action_make_op(core, sp_index_at(i), NULL, 0, NO_SPAN, &v) == GPM_OK)
            core_bind_builtin(core, op->name, v);
    }
}

void infer_state_release(struct infer_state *x) {
    profile_free(x->profile);
    value_unref(value_box(V_BOX, &x->model->box));
    for (size_t i = 0; i < x->known_scopes.n; i++) value_unref(x->known_scopes.at[i]);
    vec_release(&x->known_scopes);
    for (size_t i = 0; i < x->n_stats; i++) value_unref(x->stats[i].scope);
    mem_free(x->stats);
    for (size_t i = 0; i < x->callbacks.n; i++) mem_free(x->callbacks.at[i].name);
    vec_release(&x->callbacks);
    if (x->row) draw_row_release(x->row);
    mem_free(x->row);
    op_states_free(x->own);
}

/* Output of an abandoned walk is not shown. */
void infer_write(struct infer_state *x, const char *text, size_t n) {
    if (x->core->limits.cut) return;
    x->wrote = true;
    if (x->write) x->write(x->user, 1, text, n);
}

void infer_present(struct infer_state *x, const struct buf *text, const char *type,
                   const struct buf *rich) {
    if (!x->show) {
        infer_write(x, text->data, text->len);
        return;
    }
    if (x->core->limits.cut) return;
    x->wrote = true;
    bool both = rich && rich->len;
    x->show(x->show_user, text->len ? text->data : "", both ? type : NULL,
            both ? rich->data : NULL);
}

size_t infer_stats_of(struct infer_state *x, value scope) {
    size_t i = 0;
    while (i < x->n_stats && !value_name_equal(x->stats[i].scope, scope)) i++;
    if (i == x->n_stats) {
        x->stats = mem_realloc(x->stats, (i + 1) * sizeof *x->stats);
        x->stats[x->n_stats++] = (struct scope_stats){value_ref(scope), 0, 0};
    }
    return i;
}

void infer_count(struct infer_state *x, size_t stats, bool accepted) {
    x->stats[stats].proposed++;
    x->stats[stats].accepted += accepted;
    if (x->profile) profile_count(x->profile, x->stats[stats].scope, accepted);
}

static void note_scope(struct infer_state *x, value scope) {
    for (size_t i = 0; i < x->known_scopes.n; i++)
        if (value_name_equal(x->known_scopes.at[i], scope)) return;
    vec_push(&x->known_scopes, value_ref(scope));
}

/* An operator on a scope whose tag was not evaluated in this state does nothing; a misspelt scope
 * is an error. */
void infer_note_scopes(struct infer_state *x, const struct ast *a) {
    if (!a) return;
    if (a->kind == AST_TAG || a->kind == AST_TAG_OUT) {
        const struct ast *s = a->kids[0];
        if (s->kind == AST_STRING || s->kind == AST_QUOTE || s->kind == AST_NUMBER)
            note_scope(x, core_literal(x->core, s)->val);
    }
    for (uint32_t i = 0; i < a->n; i++) infer_note_scopes(x, a->kids[i]);
}

value infer_numbers(const char *const *keys, const double *vals, size_t n) {
    value *v = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) v[i] = value_num(vals[i]);
    value d = value_dict_take(keys, v, n);
    mem_free(v);
    return d;
}
