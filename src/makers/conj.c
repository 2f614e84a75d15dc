/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame of procedures with statistics: making, copying, remaking.
 */
#include "makers/conj.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

void conj_reserve(struct conj *s, size_t n_par, size_t n_stat, size_t n_latent) {
    s->n_par = n_par;
    s->n_stat = n_stat;
    s->n_latent = n_latent;
    s->par = mem_zalloc((n_par + 1) * sizeof(double));
    s->stat = mem_zalloc((n_stat + 1) * sizeof(double));
    s->latent = mem_zalloc((n_latent + 1) * sizeof(double));
}

enum gpm_status conj_read_numbers(struct sp_call *c, struct conj *s, size_t n_stat,
                                  size_t n_latent) {
    conj_reserve(s, c->n, n_stat, n_latent);
    sp_args(c, s->par);
    for (size_t i = 0; i < c->n; i++)
        if (!isfinite(s->par[i])) return sp_bad_arg(c, i, "a parameter", "finite");
    return GPM_OK;
}

static void release(struct conj *s) {
    mem_free(s->par);
    mem_free(s->stat);
    mem_free(s->latent);
    if (s->objects) values_free(s->objects, s->n_objects);
}

static void conj_free(void *state) {
    release(state);
    mem_free(state);
}

static double *copy_doubles(const double *a, size_t n) {
    double *b = NEW_ARRAY(double, n + 1);
    memcpy(b, a, (n + 1) * sizeof *b);
    return b;
}

static void *conj_copy(void *state, const struct sp_aaa *aaa) {
    const struct conj *s = state;
    struct conj *d = NEW(struct conj);
    *d = *s;
    d->par = copy_doubles(s->par, s->n_par);
    d->stat = copy_doubles(s->stat, s->n_stat);
    d->latent = copy_doubles(s->latent, s->n_latent);
    if (s->objects) {
        d->objects = NEW_ARRAY(value, s->n_objects + 1);
        for (size_t i = 0; i < s->n_objects; i++) d->objects[i] = value_ref(s->objects[i]);
    }
    return d;
}

static value conj_stats(void *state) {
    const struct conj *s = state;
    return s->cls->stats(s);
}

const struct sp_state_class conj_state_class = {
    .copy = conj_copy, .free = conj_free, .stats = conj_stats};

enum gpm_status conj_make(struct sp_call *c, const struct conj_class *cls,
                          const struct sp_class *made, value *out) {
    struct conj *s = NEW(struct conj);
    s->cls = cls;
    enum gpm_status st = cls->read(c, s);
    if (st != GPM_OK) {
        conj_free(s);
        return st;
    }
    if (cls->draw_latent) cls->draw_latent(s, c->rng);
    struct sp_state *state = sp_state_new(&conj_state_class, s);
    *out = sp_made_value(made, state);
    sp_state_unref(state);
    return GPM_OK;
}

enum gpm_status conj_latent_density(struct sp_call *c, const struct conj_class *cls, value v,
                                    double *out) {
    struct sp_made *made = sp_made_of(v);
    const struct conj *of =
        made && made->state->cls == &conj_state_class ? made->state->data : NULL;
    if (!of || of->cls != cls) return sp_bad_value(c, v, "a procedure made by this maker");
    struct conj s = {.cls = cls};
    enum gpm_status st = cls->read(c, &s);
    if (st == GPM_OK)
        *out = s.n_latent == of->n_latent ? cls->latent_lp(&s, of->latent) : -INFINITY;
    release(&s);
    return st;
}

/* ---- absorbing at applications. The token is the state as it was. */
struct conj_token {
    struct conj old;
    bool moved_stat; /* the statistics took another shape */
};

static bool same_shape(const struct conj *a, const struct conj *b) {
    if (a->n_stat != b->n_stat || a->n_objects != b->n_objects) return false;
    if (!a->objects != !b->objects) return false;
    for (size_t i = 0; a->objects && i < a->n_objects; i++)
        if (!value_equal(a->objects[i], b->objects[i])) return false;
    return true;
}

static double joint_of(const struct conj *s) {
    double lp = s->impossible > 0 ? -INFINITY : s->cls->log_joint(s);
    return isnan(lp) ? -INFINITY : lp;
}

static enum gpm_status conj_remake(struct sp_call *c, void *state, void **token,
                                   double *log_joint) {
    struct conj *s = state, fresh = {.cls = s->cls};
    enum gpm_status st = s->cls->read(c, &fresh);
    bool shape = st == GPM_OK && same_shape(s, &fresh);
    if (st == GPM_OK && !shape && !s->cls->remap)
        st = sp_error(c, DIAG_SHAPE, "%s: the dimension cannot change while there are data",
                      c->cls->name);
    if (st != GPM_OK) {
        release(&fresh);
        return st;
    }
    if (shape)
        memcpy(fresh.stat, s->stat, s->n_stat * sizeof(double));
    else
        s->cls->remap(&fresh, s);
    struct conj_token *t = NEW(struct conj_token);
    t->old = *s;
    t->moved_stat = !shape;
    fresh.impossible = s->impossible;
    *s = fresh;
    *log_joint = joint_of(s);
    if (s->cls->draw_latent) s->cls->draw_latent(s, c->rng);
    *token = t;
    return GPM_OK;
}

/* Statistics may have been counted up and down since, exactly: keep the current ones. */
static void conj_undo(void *state, void *token) {
    struct conj *s = state;
    struct conj_token *t = token;
    if (!t->moved_stat) {
        double *kept = s->stat;
        s->stat = t->old.stat;
        t->old.stat = kept;
    }
    t->old.impossible = s->impossible;
    release(s);
    *s = t->old;
    mem_free(t);
}

static void conj_commit(void *state, void *token) {
    struct conj_token *t = token;
    release(&t->old);
    mem_free(t);
}

static enum gpm_status conj_log_joint(void *state, double *out) {
    *out = joint_of(state);
    return GPM_OK;
}

static enum gpm_status conj_gradient(struct sp_call *c, void *state, value *dargs) {
    const struct conj *s = state;
    for (size_t i = 0; i < c->n; i++) dargs[i] = NIL;
    if (!s->cls->gradient)
        return sp_error(c, DIAG_NO_GRADIENT, "%s has no gradient in its parameters", c->cls->name);
    s->cls->gradient(s, c, dargs);
    return GPM_OK;
}

const struct sp_aaa conj_aaa = {.remake = conj_remake,
                                .undo = conj_undo,
                                .commit = conj_commit,
                                .log_joint = conj_log_joint,
                                .gradient = conj_gradient};
