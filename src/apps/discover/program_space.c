/* SPDX-License-Identifier: Apache-2.0
 *
 * The structures of a program. With k a structure, theta its parameters, y the observations:
 *
 *     log p(y, k) = log const_k + log integral of w_k(theta),   const_k = p(everything) /
 * w_k(theta)
 *
 * w_k the weight of the parameters: their density and that of all that depends on them. const_k
 * holds the probability of the choices that make the structure, and observations that depend on
 * those alone. Parameters that nothing depends on integrate to one and are left out.
 *
 * Evaluations happen on copies of the trace, a fresh one per structure, opened when it is needed.
 */
#include "apps/discover/program_space.h"
#include "apps/discover/derive.h"
#include "base/ascii.h"
#include "base/map.h"
#include "base/mem.h"
#include "gp/kernel/kernel.h"
#include "inference/op/query.h"
#include "numeric/special/special.h"
#include "language/rows/protocol/kernel_value.h"
#include <math.h>
#include <string.h>

/* CARRIED: starts around relatives; OPEN: copies of the trace that are kept. */
enum { CARRIED = 24, OPEN = 40, TRIES = 20 };

/* A derivation and what it adds to the evidence of its structure. */
struct way {
    struct derivation d;
    double log_const, log_prior;
    bool expanded;
};

struct form {
    double key[FIT_KEYS];
    double plain; /* weight at a point in the order of evaluation */
    char *text;   /* simplified */
    VEC(struct way) ways;
    struct evidence *e; /* borrowed; NULL: not fitted yet */
    size_t n_z;         /* parameters */
    size_t *order;      /* of the parameters, see canonical */
    uint64_t *origin;   /* of each (trace.h) */
    struct fit_place place;
    /* while it is open */
    struct trace *t;
    struct continuous c;
    struct conditional q;
    uint64_t used;
};

struct program_space {
    struct space base;
    struct grammar_scopes g;
    struct trace *from, *work; /* the state as it was found; where derivations are enumerated */
    uint64_t since;            /* choices of `work` above this number came to exist in the search */
    VEC(struct form *) forms;
    struct map known; /* hash of a derivation -> number of its structure + 1 */
    struct map tried; /* blocks in their surroundings, see derive.h */
    uint64_t clock;
};

static struct program_space *own(struct space *s) {
    return (struct program_space *)s;
}

static uint64_t hash_of(const struct derivation *d) {
    return hash_bytes(d->at, d->n * sizeof *d->at, d->n);
}

/* ---- opening ---- */
static void form_close(struct form *f) {
    if (!f->t) return;
    continuous_close(&f->c, false);
    trace_free(f->t);
    f->t = NULL;
}

/* Takes the parameters that matter out of a fresh copy t; those that do not are named in `idle`
 * (may be NULL). */
static enum gpm_status open_parameters(const struct program_space *s, struct trace *t,
                                       struct continuous *c, struct node_set *idle) {
    struct node_set p;
    enum gpm_status st = parameters_in_order(s->g.x, t, s->g.parameters, &p);
    if (st != GPM_OK) return st;
    size_t n = 0;
    struct node_set none = {NEW_ARRAY(struct node *, p.n + 1), 0};
    for (size_t i = 0; i < p.n; i++)
        if (node_matters(p.at[i]))
            p.at[n++] = p.at[i];
        else
            none.at[none.n++] = p.at[i];
    struct step step = {.x = s->g.x, .t = t, .at = p.at, .n = n};
    *c = (struct continuous){.n_parts = 0};
    if (n) st = continuous_open(&step, true, c);
    if (st == GPM_OK && c->n_z > PROPOSAL_MAX_DIM) {
        st = infer_error(s->g.x, DIAG_LIMIT,
                         "%s: %zu parameters are too many to integrate over: at most %d", s->g.op,
                         c->n_z, PROPOSAL_MAX_DIM);
        continuous_close(c, false);
    }
    mem_free(p.at);
    if (idle)
        *idle = none;
    else
        mem_free(none.at);
    return st;
}

/* A fresh copy of the state, in derivation d; NULL with GPM_OK: it cannot be built. */
static enum gpm_status state_of(const struct program_space *s, const struct derivation *d,
                                struct trace **out) {
    struct trace *t = trace_copy(s->from);
    bool ok;
    enum gpm_status st = derivation_build(&s->g, t, d, &ok);
    *out = st == GPM_OK && ok ? trace_copy(t) : NULL;
    trace_free(t);
    return st;
}

static enum gpm_status form_open(struct program_space *s, struct form *f) {
    f->used = ++s->clock;
    if (f->t) return GPM_OK;
    struct form *oldest = NULL;
    size_t n = 0;
    for (size_t i = 0; i < s->forms.n; i++) {
        struct form *o = s->forms.at[i];
        n += o->t != NULL;
        if (o->t && (!oldest || o->used < oldest->used)) oldest = o;
    }
    if (n >= OPEN) form_close(oldest);
    enum gpm_status st = state_of(s, &f->ways.at[0].d, &f->t);
    if (st == GPM_OK && f->t) st = open_parameters(s, f->t, &f->c, NULL);
    if (st != GPM_OK && f->t) {
        trace_free(f->t);
        f->t = NULL;
    }
    f->q.of.c = &f->c;
    f->q.at = f->place;
    f->q.of.st = GPM_OK;
    return st;
}

/* A structure without parameters has one that nothing depends on. */
static double eval_none(void *ctx, const double *u, double *grad) {
    if (grad) grad[0] = -u[0];
    return -0.5 * (u[0] * u[0] + LOG_2PI);
}

static double eval_form(void *ctx, const double *u, double *grad) {
    struct form *f = ctx;
    struct density t = conditional_density(&f->q);
    return f->t ? t.eval(t.ctx, u, grad) : -INFINITY;
}

static struct density density(struct space *base, const struct evidence *e, int thread,
                              bool folded) {
    struct program_space *s = own(base);
    struct form *f = e->item;
    if (base->st == GPM_OK && f->q.of.st != GPM_OK) base->st = f->q.of.st;
    if (base->st == GPM_OK && f->n_z) base->st = form_open(s, f);
    return (struct density){
        .d = f->n_z ? (int)f->n_z : 1, .eval = f->n_z ? eval_form : eval_none, .ctx = f};
}

/* ---- which structure is this? ---- */

static void name_of(const struct program_space *s, struct trace *t, struct buf *out) {
    struct kern *k = kernel_of(query_kernel(t));
    struct node_set c;
    if (k && kern_struct(k, out) == GPM_OK) return;
    if (structure_choices(&s->g, t, &c) != GPM_OK) return;
    for (size_t i = 0; i < c.n; i++)
        buf_printf(out, "%s%s", i ? " " : "", SHOW(node_value(c.at[i])));
    mem_free(c.at);
}

/* A state with positive probability: parameters are drawn until there is one. */
static enum gpm_status possible(const struct program_space *s, struct trace *t, double *joint) {
    double w_old, w_new, likelihood;
    enum gpm_status st = trace_log_joint(t, joint, &likelihood);
    for (int k = 0; k < TRIES && st == GPM_OK && !(*joint > -INFINITY); k++) {
        struct node_set p;
        st = parameters_in_order(s->g.x, t, s->g.parameters, &p);
        if (st != GPM_OK) break;
        if (p.n) st = trace_redraw(t, p.at, p.n, &w_old, &w_new);
        mem_free(p.at);
        if (st == GPM_OK) st = trace_log_joint(t, joint, &likelihood);
    }
    return st;
}

/* What does not depend on the parameters that f has open. */
static enum gpm_status constant_of(struct form *f, const struct node_set *idle, double joint,
                                   double *out) {
    enum gpm_status st = GPM_OK;
    *out = joint;
    if (f->n_z) *out -= f->c.w_old - continuous_log_jacobian(&f->c, f->c.old);
    for (size_t i = 0; i < idle->n && st == GPM_OK; i++) {
        double logp = 0;
        st = node_logp(f->t, idle->at[i], &logp);
        *out -= logp;
    }
    return st;
}

/* Derivations that differ in the order in which they draw the same parameters have the same
 * conditional but for that order. The canonical one sorts parameters by what they do: the weight
 * with all of them at z = 0 and this one at z = 1; equals stay as they are. order[k] is the place
 * of the k-th, key the weights at three points in that order. Where those cannot be evaluated, the
 * order of evaluation is as good as any, and derivations may count as different structures of one
 * name. */
static enum gpm_status canonical(struct continuous *c, size_t *order, double *key) {
    double z[PROPOSAL_MAX_DIM] = {0}, effect[PROPOSAL_MAX_DIM];
    size_t d = c->n_z;
    enum gpm_status st = continuous_eval(c, z, &key[0], NULL);
    for (size_t i = 0; i < d && st == GPM_OK; i++) {
        z[i] = 1;
        st = continuous_eval(c, z, &effect[i], NULL);
        z[i] = 0;
    }
    key[3] = 0;
    for (size_t i = 0; i < d && st == GPM_OK; i++) {
        size_t k = i;
        for (; k > 0 && effect[order[k - 1]] > effect[i] + 1e-7 * (1 + fabs(effect[i])); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (int point = 1; point < 3 && st == GPM_OK; point++) {
        for (size_t k = 0; k < d; k++) z[order[k]] = 0.3 * sin((double)(k + 1) * point);
        st = continuous_eval(c, z, &key[point], NULL);
    }
    for (size_t k = 0; k < d && st == GPM_OK; k++) key[3] += (double)(k + 1) * effect[order[k]];
    return st;
}

static void note_origins(struct form *f) {
    f->origin = NEW_ARRAY(uint64_t, f->n_z + 1);
    for (size_t i = 0, k = 0; i < f->c.n_parts; i++)
        for (size_t j = 0; j < f->c.part[i].to.n_z; j++)
            f->origin[k++] = hash_mix(node_origin(move_principal(&f->c.m, i)) + j);
    for (size_t i = f->n_z; i-- > 0;) { /* the second of the same origin is the second everywhere */
        uint64_t before = 0;
        for (size_t k = 0; k < i; k++) before += f->origin[k] == f->origin[i];
        f->origin[i] = hash_mix(f->origin[i] + before);
    }
}

/* The same parameters in the same order: one weight tells whether they do the same. */
static enum gpm_status plain_key(struct form *f) {
    double z[PROPOSAL_MAX_DIM];
    for (size_t k = 0; k < f->n_z; k++) z[k] = 0.3 * cos((double)(k + 1));
    return continuous_eval(&f->c, z, &f->plain, NULL);
}

/* Fills the form for the state of t, a fresh copy that it keeps; *way gets its constant. *ok false:
 * the state is impossible. */
static enum gpm_status form_read(struct program_space *s, struct trace *t, struct form *f,
                                 struct way *way, bool *ok) {
    struct buf name = BUF_INIT;
    struct node_set idle = {NULL, 0};
    double joint;
    bool random = false;
    f->t = t;
    enum gpm_status st = possible(s, t, &joint);
    *ok = st == GPM_OK && joint > -INFINITY;
    if (!*ok) return st;
    name_of(s, t, &name);
    f->text = buf_take(&name);
    st = open_parameters(s, t, &f->c, &idle);
    f->n_z = f->c.n_z;
    f->q = (struct conditional){.of = {&f->c, GPM_OK}};
    if (st == GPM_OK) st = constant_of(f, &idle, joint, &way->log_const);
    mem_free(idle.at);
    if (st == GPM_OK && f->n_z) st = conditional_random(&f->c, &random);
    if (st == GPM_OK && random)
        st = infer_error(s->g.x, DIAG_BAD_OPERATOR_ARG,
                         "%s: under the structure %s further choices are drawn along with the "
                         "parameters; tag them with the scope of the parameters",
                         s->g.op, f->text);
    if (st == GPM_OK && f->n_z) st = plain_key(f);
    if (st == GPM_OK) note_origins(f);
    return st;
}

static void form_free(struct form *f) {
    form_close(f);
    for (size_t i = 0; i < f->ways.n; i++) mem_free(f->ways.at[i].d.at);
    vec_release(&f->ways);
    mem_free(f->text);
    mem_free(f->origin);
    mem_free(f->order);
    mem_free(f);
}

/* Choices that come and go with the structure belong to it or to its parameters: nothing else would
 * integrate over them. */
static enum gpm_status no_strays(const struct program_space *s, struct trace *t) {
    struct node_set c, p = {NULL, 0};
    struct map tagged = {0};
    enum gpm_status st = structure_choices(&s->g, t, &c);
    if (st != GPM_OK) return st;
    st = choices_in_order(s->g.x, t, s->g.parameters, &p);
    for (size_t i = 0; i < c.n; i++) map_put(&tagged, MAP_PTR(c.at[i]), c.at[i]);
    for (size_t i = 0; st == GPM_OK && i < p.n; i++) map_put(&tagged, MAP_PTR(p.at[i]), p.at[i]);
    for (size_t i = 0; st == GPM_OK && i < t->choices.n; i++) {
        struct node *n = t->choices.at[i];
        if (node_seq(n) <= s->since || map_get(&tagged, MAP_PTR(n))) continue;
        const struct sp_class *cls = node_class(n);
        st =
            infer_error(s->g.x, DIAG_BAD_OPERATOR_ARG,
                        "%s: a draw of %s comes and goes with the structure, but is tagged neither "
                        "as part of it nor as a parameter",
                        s->g.op, cls ? cls->name : "a procedure");
    }
    mem_free(c.at);
    mem_free(p.at);
    map_release(&tagged);
    return st;
}

/* The prior of a structure is that of all its derivations; one more, and its neighbours are looked
 * at again. */
static void weigh_ways(struct form *f) {
    if (!f->e) return;
    f->e->log_prior = -INFINITY;
    f->e->prior = 0;
    for (size_t i = 0; i < f->ways.n; i++) {
        f->e->log_prior = logaddexp(f->e->log_prior, f->ways.at[i].log_const);
        f->e->prior += exp(f->ways.at[i].log_prior);
        f->e->expanded &= f->ways.at[i].expanded;
    }
}

/* The number of the structure equal to f, or of a new one. */
static enum gpm_status find_form(const struct program_space *s, struct form *f, size_t *id) {
    for (*id = 0; *id < s->forms.n; ++*id) {
        const struct form *o = s->forms.at[*id];
        if (o->n_z == f->n_z && !strcmp(o->text, f->text) && nearly_same(o->plain, f->plain) &&
            !memcmp(o->origin, f->origin, f->n_z * sizeof *f->origin))
            return GPM_OK;
    }
    f->order = NEW_ARRAY(size_t, f->n_z + 1);
    enum gpm_status st = f->n_z ? canonical(&f->c, f->order, f->key) : GPM_OK;
    for (*id = 0; *id < s->forms.n && st == GPM_OK; ++*id) {
        const struct form *o = s->forms.at[*id];
        if (o->n_z == f->n_z && !strcmp(o->text, f->text) && conditional_same(o->key, f->key))
            return GPM_OK;
    }
    return st;
}

/* The structure of a derivation that was not met before, in the state of t. *id SIZE_MAX: it is
 * impossible. Takes d over. */
static enum gpm_status add_way(struct program_space *s, struct trace *t, struct derivation *d,
                               double log_prior, size_t *id) {
    struct form *f = NEW(struct form);
    struct way way = {*d, 0, log_prior, false};
    bool ok = false;
    *id = SIZE_MAX;
    enum gpm_status st = no_strays(s, t);
    if (st == GPM_OK) st = form_read(s, trace_copy(t), f, &way, &ok);
    if (st != GPM_OK || !ok) {
        mem_free(d->at);
        form_free(f);
        return st;
    }
    st = find_form(s, f, id);
    if (st != GPM_OK || *id < s->forms.n) {
        form_free(f);
        if (st != GPM_OK) {
            mem_free(d->at);
            *id = SIZE_MAX;
            return st;
        }
        f = s->forms.at[*id];
    } else {
        vec_push(&s->forms, f);
    }
    vec_push(&f->ways, way);
    weigh_ways(f);
    return st;
}

/* ---- seeds and neighbours ---- */
struct emission {
    struct program_space *s;
    space_emit each;
    void *ctx;
};

static enum gpm_status emit(void *ctx, struct trace *t) {
    struct emission *x = ctx;
    struct program_space *s = x->s;
    struct derivation d;
    double log_prior;
    enum gpm_status st = derivation_read(&s->g, t, &d, &log_prior);
    if (st != GPM_OK) return st;
    uint64_t h = hash_of(&d);
    size_t id = (size_t)(uintptr_t)map_get(&s->known, h);
    if (id) {
        mem_free(d.at);
        id--;
    } else {
        st = add_way(s, t, &d, log_prior, &id);
        map_put(&s->known, h, (void *)(uintptr_t)(id + 1));
        for (size_t i = 0, open = 0; i < s->forms.n; i++) /* new ones keep their copies */
            if (s->forms.at[i]->t && ++open > OPEN) form_close(s->forms.at[i]);
    }
    if (st == GPM_OK && id != SIZE_MAX) x->each(x->ctx, id);
    return st;
}

/* The structure of the state as it was found, or of the first draw that is possible. */
static void seeds(struct space *base, int group, space_emit each, void *ctx) {
    struct emission x = {own(base), each, ctx};
    struct program_space *s = x.s;
    for (int k = 0; k < TRIES && !s->forms.n && base->st == GPM_OK; k++) {
        struct node_set c;
        double w_old, w_new;
        base->st = structure_choices(&s->g, s->work, &c);
        if (base->st != GPM_OK) return;
        if (k && c.n) base->st = trace_redraw(s->work, c.at, c.n, &w_old, &w_new);
        mem_free(c.at);
        if (base->st == GPM_OK) base->st = emit(&x, s->work);
    }
}

static void neighbours(struct space *base, const struct evidence *e, space_emit each, void *ctx) {
    struct emission x = {own(base), each, ctx};
    struct form *f = e->item;
    for (size_t i = 0; i < f->ways.n && base->st == GPM_OK; i++) {
        if (f->ways.at[i].expanded) continue;
        f->ways.at[i].expanded = true;
        struct derivation d = f->ways.at[i].d; /* f may get further ways meanwhile */
        base->st = derivation_neighbours(&x.s->g, x.s->work, &d, &x.s->tried, emit, &x);
    }
    weigh_ways(f);
}

/* ---- fits ---- */
/* Parameter k of f as it is at the optimum of another structure; false: that has none of it. */
static bool take_over(const struct form *o, const struct form *f, size_t k, double *u) {
    for (size_t q = 0; q < o->n_z; q++) {
        if (o->origin[q] != f->origin[k]) continue;
        double z = o->place.centre[q] + o->place.spread[q] * o->e->prop.mode[0].z[q];
        *u = (z - f->place.centre[k]) / f->place.spread[k];
        return true;
    }
    return false;
}

/* Parameters of the best structures known, where f has them: u; how many are left without. */
static size_t best_known(const struct program_space *s, struct form *f, double *u, bool *fresh) {
    size_t left = f->n_z;
    for (size_t k = 0; k < f->n_z; k++) {
        double best = -INFINITY;
        for (size_t i = 0; i < s->forms.n; i++) {
            const struct form *o = s->forms.at[i];
            if (o == f || !o->e || !o->e->prop.n || !(evidence_total(o->e) > best)) continue;
            if (take_over(o, f, k, &u[k])) best = evidence_total(o->e);
        }
        fresh[k] = best == -INFINITY;
        left -= !fresh[k];
    }
    return left;
}

/* Draws from the prior, and the same with what relatives know. With all parameters known from
 * relatives there is nothing to scan for. */
static int make_starts(const struct program_space *s, struct form *f, double *u,
                       struct fit_rules *rules) {
    struct rng own_rng;
    double known[PROPOSAL_MAX_DIM];
    bool fresh[PROPOSAL_MAX_DIM];
    rng_init(&own_rng, 20, 1, 1);
    int n = conditional_starts(&f->q, &own_rng, u);
    f->place = f->q.at;
    size_t d = f->n_z, left = best_known(s, f, known, fresh);
    *rules = laplace_fit_rules;
    rules->range = 8;
    if (left == d || !n) return n;
    if (!left) rules->scan = 0, rules->polished = 3;
    int more = left ? CARRIED : 1;
    for (int i = 0; i < more; i++)
        for (size_t k = 0; k < d; k++)
            u[(size_t)(n + i) * d + k] = fresh[k] ? u[(size_t)(i % n) * d + k] : known[k];
    return n + more;
}

static struct evidence *fit(struct space *base, size_t id, const struct evidence *parent,
                            int thread) {
    struct program_space *s = own(base);
    struct form *f = s->forms.at[id];
    struct evidence *e = evidence_make(-INFINITY);
    e->id = id;
    e->item = f;
    e->text = mem_strdup(f->text);
    e->hash = hash_of(&f->ways.at[0].d);
    f->e = e;
    weigh_ways(f);
    struct density t = density(base, e, thread, false);
    struct fit_rules rules = laplace_fit_rules;
    if (base->st != GPM_OK) return e;
    e->open = fit_starts_new(t.d, LAPLACE_STARTS(t.d) + CARRIED);
    int n = f->n_z ? make_starts(s, f, e->open->z, &rules) : 1;
    evidence_begin(e, t, n, -INFINITY, &rules);
    if (base->st == GPM_OK) base->st = f->q.of.st;
    return e;
}

static bool carry(struct space *base, const struct evidence *e, const struct evidence *from,
                  double *u) {
    const struct form *f = e->item;
    if (!f->n_z || !e->prop.n || !from->prop.n) return false;
    memcpy(u, e->prop.mode[0].z, sizeof *u * f->n_z);
    for (size_t k = 0; k < f->n_z; k++) (void)take_over(from->item, f, k, &u[k]);
    return true;
}

/* ---- the space ---- */
void program_space_rest(struct space *base) {
    for (size_t i = 0; i < own(base)->forms.n; i++) form_close(own(base)->forms.at[i]);
}

static void space_free(struct space *base) {
    struct program_space *s = own(base);
    for (size_t i = 0; i < s->forms.n; i++) form_free(s->forms.at[i]);
    vec_release(&s->forms);
    map_release(&s->known);
    map_release(&s->tried);
    trace_free(s->from);
    trace_free(s->work);
    value_unref(s->g.structure);
    value_unref(s->g.parameters);
    mem_free(s);
}

static const struct space_ops ops = {.free = space_free,
                                     .seeds = seeds,
                                     .neighbours = neighbours,
                                     .fit = fit,
                                     .carry = carry,
                                     .density = density};

struct space *program_space_new(struct infer_state *x, struct trace *t, value structure,
                                value parameters) {
    struct program_space *s = NEW(struct program_space);
    s->base = (struct space){.ops = &ops,
                             .rules = &laplace_fit_rules,
                             .groups = 1,
                             .seeded = 1,
                             .max_threads = 1,
                             .draws = 500,
                             .most = 400,
                             .steps = 500};
    s->g =
        (struct grammar_scopes){x, "structure_search", value_ref(structure), value_ref(parameters)};
    s->from = trace_copy(t);
    s->work = trace_copy(t);
    s->since = newest_choice(s->work);
    return &s->base;
}

/* ---- states ---- */
/* Builds the parameters u into t, a fresh copy in a derivation of f; the idle ones are drawn. */
static enum gpm_status build_state(const struct program_space *s, const struct form *f,
                                   struct trace *t, const double *u, bool *ok) {
    struct continuous c;
    struct node_set idle;
    double z[PROPOSAL_MAX_DIM] = {0}, key[FIT_KEYS], logp = 0, w_old, w_new;
    size_t order[PROPOSAL_MAX_DIM];
    enum gpm_status st = open_parameters(s, t, &c, &idle);
    *ok = true;
    if (st == GPM_OK && c.n_parts) {
        *ok = c.n_z == f->n_z;
        if (*ok) st = canonical(&c, order, key);
        for (size_t k = 0; k < f->n_z && *ok && st == GPM_OK; k++) {
            size_t i = f->order[k];
            z[order[k]] = f->place.centre[i] + f->place.spread[i] * u[i];
        }
        if (*ok && st == GPM_OK) st = continuous_build(&c, z, &logp);
        *ok = *ok && st == GPM_OK && logp > -INFINITY;
        continuous_close(&c, *ok);
    }
    if (st == GPM_OK && *ok && idle.n) st = trace_redraw(t, idle.at, idle.n, &w_old, &w_new);
    mem_free(idle.at);
    return st;
}

enum gpm_status program_space_draw(const struct posterior *p, struct rng *r, struct trace **out) {
    const struct search *x = p->search;
    const struct program_space *s = own(x->space);
    enum gpm_status st = GPM_OK;
    *out = NULL;
    for (int k = 0; k < TRIES && st == GPM_OK && !*out; k++) {
        const struct evidence *e = x->at[posterior_pick(p->weight, x->n, r)];
        const struct form *f = e->item;
        bool ok = false;
        if (!e->prop.n) continue;
        double *share = NEW_ARRAY(double, f->ways.n);
        for (size_t i = 0; i < f->ways.n; i++)
            share[i] = exp(f->ways.at[i].log_const - e->log_prior);
        st = state_of(s, &f->ways.at[posterior_pick(share, f->ways.n, r)].d, out);
        mem_free(share);
        const double *u = e->prop.mode[0].z;
        if (e->draws.n) u = e->draws.z + posterior_pick(e->draws.w, e->draws.n, r) * e->draws.d;
        if (st == GPM_OK && *out) st = build_state(s, f, *out, u, &ok);
        if (*out && !ok) {
            trace_free(*out);
            *out = NULL;
        }
    }
    return st;
}
