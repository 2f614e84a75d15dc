/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame of procedures with statistics: making, copying, remaking.
 */
#include "language/rows/makers/conj.h"
#include "base/mem.h"
#include "language/value/value_pack.h"
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

enum gpm_status conj_read_numbers(struct sp_call *c, struct conj *s) {
    conj_reserve(s, c->n, s->cls->n_stat, s->cls->n_latent);
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

static value conj_stats(void *state) {
    const struct conj *s = state;
    return s->cls->stats(s);
}

/* A class is known by the row of its maker. */
static const struct conj_class *pack_class(struct pack *p, const struct conj_class *cls) {
    if (p->copying) {
        pack_raw(p, &cls, sizeof cls);
        return cls;
    }
    uint32_t i = 0, n = (uint32_t)sp_index_count();
    while (cls && i < n && sp_index_at(i)->of != cls) i++;
    const struct sp_class *row = sp_index_at(pack_choice(p, i, n));
    if (row->simulate != conj_make) pack_fail(p, "a maker in it is unknown");
    return row->of;
}

static void *conj_pack(struct pack *p, void *state) {
    struct conj *s = state ? state : NEW(struct conj);
    s->cls = pack_class(p, s->cls);
    pack_size(p, &s->n_par);
    pack_size(p, &s->n_stat);
    pack_size(p, &s->n_latent);
    pack_new_doubles(p, &s->par, s->n_par, 0);
    pack_new_doubles(p, &s->stat, s->n_stat, 0);
    pack_new_doubles(p, &s->latent, s->n_latent, 0);
    bool objects = s->objects != NULL;
    pack_bool(p, &objects);
    pack_count(p, &s->n_objects, objects ? 1 : 0);
    if (!state && objects) s->objects = mem_zalloc((s->n_objects + 1) * sizeof *s->objects);
    if (objects) pack_values(p, s->objects, s->n_objects);
    pack_double(p, &s->impossible);
    return s;
}

static const struct sp_class *conj_row(const void *state, bool second) {
    return &((const struct conj *)state)->cls->made;
}

const struct sp_state_class conj_state_class = {
    .free = conj_free, .stats = conj_stats, .pack = conj_pack, .row = conj_row};

enum gpm_status conj_make(struct sp_call *c, value *out) {
    const struct conj_class *cls = c->cls->of;
    struct conj *s = NEW(struct conj);
    s->cls = cls;
    enum gpm_status st = cls->read(c, s);
    if (st != GPM_OK) {
        conj_free(s);
        return st;
    }
    if (cls->draw_latent) cls->draw_latent(s, c->rng);
    struct sp_state *state = sp_state_new(&conj_state_class, s);
    *out = sp_made_value(&cls->made, state);
    sp_state_unref(state);
    return GPM_OK;
}

enum gpm_status conj_latent_density(struct sp_call *c, value v, double *out) {
    const struct conj_class *cls = c->cls->of;
    struct sp_proc *made = sp_made_of(v);
    if (!made || made->cls != &cls->made)
        return sp_bad_value(c, v, "a procedure made by this maker");
    const struct conj *of = made->state->data;
    struct conj s = {.cls = cls};
    enum gpm_status st = cls->read(c, &s);
    if (st == GPM_OK)
        *out = s.n_latent == of->n_latent ? cls->latent_lp(&s, of->latent) : -INFINITY;
    release(&s);
    return st;
}

/* ---- made procedures */
void conj_fixed(const struct conj *s, double *a) {
    memcpy(a, s->par, s->cls->num.n * sizeof *a);
}

void conj_latent(const struct conj *s, double *a) {
    memcpy(a, s->latent, s->cls->num.n * sizeof *a);
}

/* The distribution of the next application, and its parameters. */
static const struct conj_number *next_of(const struct conj *s, double *a) {
    s->cls->num.next(s, a);
    return &s->cls->num;
}

enum gpm_status conj_draw(struct sp_call *c, value *out) {
    double a[SP_MAX_PARAMS];
    const struct conj_number *d = next_of(conj_of(c), a);
    *out = value_num(d->draw(c->rng, a, d->n));
    return GPM_OK;
}

enum gpm_status conj_density(struct sp_call *c, value v, double *out) {
    double a[SP_MAX_PARAMS], x;
    const struct conj_number *d = next_of(conj_of(c), a);
    enum gpm_status st = d->read(c, v, &x);
    if (st != GPM_OK) return st;
    *out = d->lp(x, a, d->n);
    if (isnan(*out)) *out = -INFINITY; /* data so large that a parameter left the doubles */
    return GPM_OK;
}

enum gpm_status conj_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    double a[SP_MAX_PARAMS], g[SP_MAX_PARAMS + 1], x;
    const struct conj_number *d = next_of(conj_of(c), a);
    enum gpm_status st = d->read(c, v, &x);
    if (st != GPM_OK) return st;
    d->grad(x, a, d->n, g);
    if (dv) *dv = value_num(g[0]);
    return GPM_OK;
}

/* The density at the mode bounds it while only the value varies. */
enum gpm_status conj_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS];
    const struct conj_number *d = next_of(conj_of(c), a);
    return conj_density(c, varies ? value_num(a[d->mode]) : v, out);
}

enum gpm_status conj_incorporate(struct sp_call *c, value v) {
    return conj_of(c)->cls->count(c, v, 1);
}

enum gpm_status conj_unincorporate(struct sp_call *c, value v) {
    return conj_of(c)->cls->count(c, v, -1);
}

/* ---- tables */
static int compare_keys(const double *a, const double *b, size_t k) {
    for (size_t i = 0; i < k; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

double *conj_record(const struct conj *s, const double *key, size_t k, size_t *at) {
    size_t lo = 0, n = (s->n_stat - 1) / (k + 1), hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_keys(s->stat + 1 + mid * (k + 1), key, k) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    double *r = s->stat + 1 + lo * (k + 1);
    return lo < n && compare_keys(r, key, k) == 0 ? r : NULL;
}

bool conj_tally(struct conj *s, const double *key, size_t k, double by) {
    size_t at, size = k + 1;
    double *r = conj_record(s, key, k, &at);
    if (!r && by < 0) return false;
    if (!r) {
        s->stat = mem_realloc(s->stat, (s->n_stat + size + 1) * sizeof(double));
        r = s->stat + 1 + at * size;
        memmove(r + size, r, (s->n_stat - 1 - at * size) * sizeof *r);
        memcpy(r, key, k * sizeof *r);
        r[k] = 0;
        s->n_stat += size;
    }
    s->stat[0] += by;
    r[k] += by;
    if (r[k] == 0) {
        s->n_stat -= size;
        memmove(r, r + size, (s->n_stat - 1 - at * size) * sizeof *r);
    }
    return true;
}

/* ---- absorbing at applications. The token is the state as it was; its statistics are NULL when
 * the new parameters took them over: they may be counted up and down before an undo. */
static bool same_shape(const struct conj *a, const struct conj *b) {
    if (a->cls->any_shape) return true;
    if (a->n_par != b->n_par || a->n_objects != b->n_objects) return false;
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
    struct conj *old = NEW(struct conj);
    *old = *s;
    if (shape) {
        mem_free(fresh.stat);
        fresh.stat = s->stat;
        fresh.n_stat = s->n_stat;
        old->stat = NULL;
    } else {
        s->cls->remap(&fresh, s);
    }
    fresh.impossible = s->impossible;
    *s = fresh;
    *log_joint = joint_of(s);
    if (s->cls->draw_latent) s->cls->draw_latent(s, c->rng);
    *token = old;
    return GPM_OK;
}

static void conj_undo(void *state, void *token) {
    struct conj *s = state, *old = token;
    if (!old->stat) {
        old->stat = s->stat;
        old->n_stat = s->n_stat;
        s->stat = NULL;
    }
    old->impossible = s->impossible;
    release(s);
    *s = *old;
    mem_free(old);
}

static void conj_commit(void *state, void *token) {
    conj_free(token);
}

static enum gpm_status conj_log_joint(void *state, double *out) {
    *out = joint_of(state);
    return GPM_OK;
}

static enum gpm_status conj_gradient(struct sp_call *c, void *state, value *dargs) {
    const struct conj *s = state;
    for (size_t i = 0; i < c->n; i++) dargs[i] = NIL;
    s->cls->gradient(s, c, dargs);
    return GPM_OK;
}

#define ABSORB                                                                                     \
    .remake = conj_remake, .undo = conj_undo, .commit = conj_commit, .log_joint = conj_log_joint
const struct sp_aaa conj_aaa = {ABSORB, .gradient = conj_gradient}, conj_aaa_plain = {ABSORB};
