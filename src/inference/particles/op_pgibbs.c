/* SPDX-License-Identifier: Apache-2.0
 *
 * Particle Gibbs (Andrieu, Doucet and Holenstein 2010): conditional sequential Monte Carlo over the
 * blocks in order. The current values are the retained particle. P further particles are drawn
 * block by block from the prior. Each continues an ancestor picked by its weight in the previous
 * step; the retained particle may be one. At the end one of the P + 1 is drawn by its last weight.
 *
 * The retained particle's ancestor is drawn, too (Lindsten, Jordan and Schoen 2014). The retained
 * values from a step on may continue any particle of the previous step. The probability is
 * proportional to its weight times the density of those values given the particle. So early blocks
 * move, however many follow. This would be too expensive if later values read far back, and invalid
 * if their structure depends on values. Then the retained particle keeps its line.
 *
 * func_pmap takes the particle of greatest joint density instead. particle_filter has no retained
 * particle: it draws all blocks and estimates the evidence of what depends on them.
 *
 * A particle is the chain of its steps back to where it left the retained one. A step stores the
 * generator that drew it; drawing again rebuilds the step, so one trace serves all particles. The
 * particles of a step are built in the order of their family tree, every other step backwards.
 * Neighbours then differ only in the steps since their last common ancestor, which are few because
 * lines die out. So a sweep costs time proportional to the number of steps. */
#include "inference/run/move.h"

#include "numeric/special/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BY_WEIGHT, MOST_PROBABLE, FILTER }; /* which of the particles is kept */

/* A step of a drawn particle. The links form a shared tree: a particle holds its last link, and a
 * link holds its parent. Lines that die out free themselves. */
struct link {
    struct link *parent; /* counted; NULL: the retained particle */
    uint32_t step, refs;
    struct rng rng;
    bool given; /* has the retained values */
};

struct particle {
    struct link *at; /* its last step */
    double weight;   /* of that step */
    size_t place;    /* position in the order of the tree */
};

struct csmc {
    struct infer_state *x;
    struct trace *t;
    struct scaffold *s;
    uint32_t steps;
    size_t n;                    /* new particles */
    double *w_old;               /* retained: log weight per step */
    double old_joint;            /* retained: log joint of the whole trace (func_pmap) */
    struct particle *now, *next; /* index n: the retained one, if its ancestors are drawn */
    size_t all;                  /* how many particles each step builds */
    size_t *turn;                /* index of the particle built at each turn */
    uint32_t *last;              /* by step: see scaffold_looks_ahead; NULL: no ancestor draws */
    value *values;               /* of the retained particle, by principal; borrowed */
    double *ahead;               /* log shares of the particles as ancestors of the retained one */
    double *upto;                /* of `now`: cumulative normalised weights */
    struct rng rng;
    bool free;           /* no retained particle */
    double log_evidence; /* of the finished steps: sum of the logs of their mean weights */
    /* The present trace: steps [0, shared) are retained, [shared, built) drawn. */
    uint32_t shared, built;
    struct link **path; /* links of the drawn steps; NULL: its line died out */
    size_t *mark;       /* mark before each drawn step */
    struct link **way;  /* scratch: links to be built */
    struct arena mem;   /* memory of all these arrays */
};

/* The generator of a step is split off when its ancestor is drawn, so building it twice draws the
 * same. */
static struct link *link_new(struct csmc *c, struct link *parent, uint32_t step) {
    struct link *l = NEW(struct link);
    *l = (struct link){parent, step, 1, rng_split(&c->rng), false};
    if (parent) parent->refs++;
    return l;
}

static void link_unref(struct csmc *c, struct link *l) {
    while (l && !--l->refs) {
        struct link *parent = l->parent;
        if (c->path[l->step] == l) c->path[l->step] = NULL;
        mem_free(l);
        l = parent;
    }
}

/* Prepares draw: upto[i] is the share of particles 0 .. i; the rest up to 1 is the retained
 * particle's. Returns false if all weights are zero. */
static bool add_up(struct csmc *c, double retained) {
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) c->upto[i] = c->now[i].weight;
    c->upto[c->n] = retained;
    double total = logsumexp(c->upto, c->n + 1);
    for (size_t i = 0; i < c->n; i++) {
        if (c->now[i].weight > -INFINITY) sum += exp(c->now[i].weight - total);
        c->upto[i] = sum;
    }
    return total > -INFINITY;
}

/* Index of the particle whose share contains u; c->n is the retained one. */
static size_t pgibbs_draw(struct csmc *c, double retained, bool any, double u) {
    if (!any) return c->n;
    size_t i = infer_first_above(c->upto, c->n, u);
    if (i < c->n || retained > -INFINITY) return i;
    while (i-- > 0)
        if (c->now[i].weight > -INFINITY) return i;
    return c->n;
}

/* Undoes the steps that are not on the line of `to`, and lists the missing ones in c->way. */
static enum gpm_status branch_off(struct csmc *c, struct link *to) {
    uint32_t first = to->step;
    struct link *l = to;
    bool tangled = scaffold_tangled(c->s);
    for (; l; l = l->parent) {
        bool drawn = l->step >= c->shared && l->step < c->built;
        if (!tangled && drawn && c->path[l->step] == l) break;
        first = l->step;
        c->way[first] = l;
    }
    enum gpm_status st = GPM_OK;
    if (!l) {
        st = scaffold_attach_old(c->s, first);
        c->shared = first;
    } else if (first < c->built)
        scaffold_rewind(c->s, c->mark[first]);
    c->built = first;
    return st;
}

/* Builds a particle in the trace. *weight: of its last step; if it is -inf, that step is left
 * out. */
static enum gpm_status build(struct csmc *c, struct link *to, double *weight) {
    double ignored;
    enum gpm_status st = core_poll(c->x->core, c->x->at);
    if (st == GPM_OK) st = branch_off(c, to);
    *weight = 0;
    while (st == GPM_OK && c->built <= to->step) {
        uint32_t k = c->built;
        c->mark[k] = scaffold_mark(c->s);
        c->t->rng = c->way[k]->rng;
        st = c->way[k]->given ? scaffold_regen_given(c->s, k, c->values, weight, &ignored)
                              : scaffold_regen_step(c->s, k, weight);
        if (st != GPM_OK) break;
        if (*weight == -INFINITY) {
            scaffold_rewind(c->s, c->mark[k]);
            break;
        }
        c->path[k] = c->way[k];
        c->built++;
    }
    return st;
}

/* By parent, then by index: a total order, so the result does not depend on how qsort treats
 * ties. */
static int by_place(const void *a, const void *b, void *ctx) {
    const struct csmc *c = ctx;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    size_t x = c->next[i].place, y = c->next[j].place;
    if (x != y) return x < y ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* Log weight of step k of the retained particle. */
static double retained_weight(const struct csmc *c, uint32_t k) {
    return c->last ? c->now[c->n].weight : c->w_old[k];
}

/* For each particle of the previous step: log of its weight times the density of the retained
 * values from step k on. Densities after last[k] are the same for all. */
static enum gpm_status look_ahead(struct csmc *c, uint32_t k) {
    enum gpm_status st = GPM_OK;
    double ignored, weight, own;
    for (size_t i = 0; i < c->all && st == GPM_OK; i++) {
        size_t p = c->turn[k % 2 ? c->all - 1 - i : i];
        c->ahead[p] = c->now[p].weight;
        if (c->ahead[p] == -INFINITY) continue;
        st = build(c, c->now[p].at, &ignored);
        size_t mark = scaffold_mark(c->s);
        for (uint32_t q = k; st == GPM_OK && q <= c->last[k] && c->ahead[p] > -INFINITY; q++) {
            st = scaffold_regen_given(c->s, q, c->values, &weight, &own);
            c->ahead[p] += weight + own;
        }
        if (st == GPM_OK) scaffold_rewind(c->s, mark);
    }
    return st;
}

/* The ancestor of the retained particle at step k; its own ancestor remains possible. */
static size_t draw_ahead(struct csmc *c) {
    double total = logsumexp(c->ahead, c->all), u = rng_uniform(&c->rng), sum = 0;
    for (size_t i = 0; i < c->n && total > -INFINITY; i++)
        if ((sum += exp(c->ahead[i] - total)) > u) return i;
    return c->n;
}

/* Particle i of step k continues particle a of the previous step; c->n: the retained one. */
static void descend(struct csmc *c, size_t i, size_t a, uint32_t k) {
    bool line = k && (a < c->n || c->last);
    c->next[i].at = link_new(c, line ? c->now[a].at : NULL, k);
    c->next[i].at->given = i == c->n;
    c->next[i].place = line ? c->now[a].place : c->n;
    c->turn[i] = i;
}

/* Draws ancestors for the particles of step k and the order to build them: children in the order of
 * their parents, those that leave the old state last. */
static enum gpm_status draw_parents(struct csmc *c, uint32_t k) {
    double retained = k ? retained_weight(c, k - 1) : 0;
    enum gpm_status st = k && c->last ? look_ahead(c, k) : GPM_OK;
    if (st != GPM_OK) return st;
    bool any = k && add_up(c, retained);
    double comb = c->free ? rng_uniform(&c->rng) : 0; /* systematic: one number for all */
    if (c->last) descend(c, c->n, k ? draw_ahead(c) : c->n, k);
    for (size_t i = 0; i < c->n; i++) {
        double u = c->free ? ((double)i + comb) / (double)c->n : rng_uniform(&c->rng);
        descend(c, i, k ? pgibbs_draw(c, retained, any, u) : c->n, k);
    }
    qsort_r(c->turn, c->all, sizeof *c->turn, by_place, c);
    for (size_t i = 0; i < c->all; i++) c->next[c->turn[i]].place = i;
    return st;
}

/* Adds one step of a filter to the evidence; false if no particle survived it. */
static bool count_evidence(struct csmc *c) {
    for (size_t i = 0; i < c->n; i++) c->upto[i] = c->now[i].weight;
    c->log_evidence += logsumexp(c->upto, c->n) - log((double)c->n);
    return c->log_evidence > -INFINITY;
}

/* For each step, ancestors are drawn by the weights of the previous step (multinomial, with the
 * retained particle among them). Then the step is drawn from its prior and weighted by what absorbs
 * in it. This is the conditional SMC kernel with the prior as proposal. It leaves the posterior
 * invariant for any number of particles. */
static enum gpm_status sweep(struct csmc *c) {
    enum gpm_status st = GPM_OK;
    for (uint32_t k = 0; k < c->steps && st == GPM_OK; k++) {
        st = draw_parents(c, k);
        if (st != GPM_OK) break; /* next belongs to a step already undone */
        for (size_t i = 0; i < c->all && st == GPM_OK; i++) {
            struct particle *p = &c->next[c->turn[k % 2 ? c->all - 1 - i : i]];
            st = build(c, p->at, &p->weight);
        }
        for (size_t i = 0; i < c->all; i++) link_unref(c, c->now[i].at);
        struct particle *swap = c->now;
        c->now = c->next;
        c->next = swap;
        if (c->free && !count_evidence(c)) break;
    }
    return st;
}

/* The particle whose whole state is most probable; each is built again to evaluate it. */
static enum gpm_status most_probable(struct csmc *c, size_t *best) {
    double most = c->old_joint, joint, ignored;
    enum gpm_status st = GPM_OK;
    *best = c->n;
    for (size_t i = 0; i < c->n && st == GPM_OK; i++) {
        if (c->now[i].weight == -INFINITY) continue;
        st = build(c, c->now[i].at, &ignored);
        if (st == GPM_OK) st = trace_log_joint(c->t, &joint, &ignored);
        if (st == GPM_OK && joint > most) {
            most = joint;
            *best = i;
        }
    }
    return st;
}

/* The last weight is the last factor that resampling has not used; earlier factors determined which
 * particles survived. func_pmap compares whole states, so it builds each particle again. */
static enum gpm_status choose(struct csmc *c, bool max, bool *moved) {
    double retained = retained_weight(c, c->steps - 1), ignored;
    size_t k = c->n;
    enum gpm_status st = GPM_OK;
    if (max)
        st = most_probable(c, &k);
    else
        k = pgibbs_draw(c, retained, add_up(c, retained), rng_uniform(&c->rng));
    bool built = k != c->n || c->last;
    if (st == GPM_OK && built) st = build(c, c->now[k].at, &ignored);
    *moved = st == GPM_OK && built;
    return st;
}

static void csmc_init(struct csmc *c, size_t n) {
    c->n = c->all = n;
    c->w_old = ARENA_ARRAY(&c->mem, double, c->steps);
    c->now = ARENA_ARRAY(&c->mem, struct particle, n + 1);
    c->next = ARENA_ARRAY(&c->mem, struct particle, n + 1);
    c->turn = ARENA_ARRAY(&c->mem, size_t, n + 1);
    c->upto = ARENA_ARRAY(&c->mem, double, n + 1);
    c->path = ARENA_ARRAY(&c->mem, struct link *, c->steps);
    c->mark = ARENA_ARRAY(&c->mem, size_t, c->steps);
    c->way = ARENA_ARRAY(&c->mem, struct link *, c->steps);
}

/* Includes the retained particle among those built, if possible. */
static void retain(struct csmc *c) {
    uint32_t *last = ARENA_ARRAY(&c->mem, uint32_t, c->steps);
    size_t n = scaffold_n_principals(c->s);
    if (c->steps < 2 || !scaffold_looks_ahead(c->s, last)) return;
    c->last = last;
    c->all = c->n + 1;
    c->ahead = ARENA_ARRAY(&c->mem, double, c->all);
    c->values = ARENA_ARRAY(&c->mem, value, n);
    for (size_t i = 0; i < n; i++) c->values[i] = scaffold_old_value(c->s, i);
}

static void csmc_release(struct csmc *c) {
    for (size_t i = 0; i < c->all; i++) link_unref(c, c->now[i].at);
    arena_release(&c->mem);
}

/* Keeps the particle now built, or restores the old state. */
static enum gpm_status close_sweep(struct csmc *c, bool keep, enum gpm_status st) {
    if (st != GPM_OK || !keep) {
        enum gpm_status cleared = scaffold_attach_old(c->s, 0);
        if (st == GPM_OK) st = cleared;
        keep = false;
    }
    scaffold_close(c->s, keep);
    return st;
}

/* One sweep over the sets; the principals of set i belong to step i. */
static enum gpm_status pgibbs_run(struct csmc *c, const struct target *g, bool *moved) {
    csmc_init(c, (size_t)g->extra[0].u.num);
    enum gpm_status st = scaffold_detach(c->s, SCAFFOLD_PRIOR, c->w_old);
    if (st == GPM_OK) {
        if (g->op->how == BY_WEIGHT) retain(c);
        c->rng = rng_split(&c->t->rng);
        struct rng outer = c->t->rng;
        st = sweep(c);
        if (st == GPM_OK) st = choose(c, g->op->how == MOST_PROBABLE, moved);
        c->t->rng = outer;
        st = close_sweep(c, *moved, st);
    }
    csmc_release(c);
    return st;
}

/* Filters: the particle kept is drawn by the evidence of its run, then by its weight in it. So the
 * weighted runs form one filter. log_z: of each run. */
static enum gpm_status run_filters(struct csmc *c, size_t runs, double *log_z) {
    struct link *kept = NULL;
    double total = -INFINITY, ignored;
    enum gpm_status st = GPM_OK;
    for (uint32_t k = 0; k < c->steps; k++) c->w_old[k] = -INFINITY; /* has no descendants */
    for (size_t r = 0; r < runs && st == GPM_OK; r++) {
        c->log_evidence = 0;
        st = sweep(c);
        log_z[r] = c->log_evidence;
        if (st != GPM_OK || log_z[r] == -INFINITY) continue;
        total = logaddexp(total, log_z[r]);
        size_t k = pgibbs_draw(c, -INFINITY, add_up(c, -INFINITY), rng_uniform(&c->rng));
        if (log(rng_uniform(&c->rng)) >= log_z[r] - total) continue;
        link_unref(c, kept);
        kept = c->now[k].at;
        kept->refs++;
    }
    bool keep = st == GPM_OK && kept;
    if (keep) st = build(c, kept, &ignored);
    link_unref(c, kept);
    return close_sweep(c, keep, st);
}

/* log of the mean evidence of the runs, and its standard error, which one run cannot give. */
static value evidence_of(const double *log_z, size_t runs) {
    static const char *const keys[] = {"log_evidence", "error"};
    double n = (double)runs, log_mean = logsumexp(log_z, runs) - log(n), squares = 0;
    for (size_t r = 0; r < runs; r++) squares += pow(expm1(log_z[r] - log_mean), 2);
    bool told = runs > 1 && log_mean > -INFINITY;
    return infer_numbers(keys, (double[]){log_mean, told ? sqrt(squares / (n * (n - 1))) : NAN}, 2);
}

static enum gpm_status filter(struct csmc *c, const struct target *g, value *out) {
    size_t runs = (size_t)g->extra[1].u.num;
    double *log_z = NEW_ARRAY(double, runs);
    c->free = true;
    csmc_init(c, (size_t)g->extra[0].u.num);
    enum gpm_status st = scaffold_detach(c->s, SCAFFOLD_PRIOR, c->w_old);
    if (st == GPM_OK) {
        c->rng = rng_split(&c->t->rng);
        struct rng outer = c->t->rng;
        st = run_filters(c, runs, log_z);
        c->t->rng = outer;
    }
    if (st == GPM_OK) *out = evidence_of(log_z, runs);
    csmc_release(c);
    mem_free(log_z);
    return st;
}

static int by_seq(const void *a, const void *b) {
    const struct node_set *x = a, *y = b;
    return node_seq(x->at[0]) < node_seq(y->at[0]) ? -1 : node_seq(x->at[0]) > node_seq(y->at[0]);
}

static enum gpm_status on_sets(struct step *s, const struct node_set *sets, size_t n) {
    struct csmc c = {.x = s->x, .t = s->t};
    size_t total = 0, k = 0;
    for (size_t i = 0; i < n; i++) total += sets[i].n;
    if (!total) return GPM_OK;
    struct node **at = NEW_ARRAY(struct node *, total);
    uint32_t *step = NEW_ARRAY(uint32_t, total);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < sets[i].n; j++) {
            step[k] = (uint32_t)i;
            at[k++] = sets[i].at[j];
        }
    double ignored;
    enum gpm_status st = GPM_OK;
    if (s->g->op->how == MOST_PROBABLE) st = trace_log_joint(s->t, &c.old_joint, &ignored);
    if (st == GPM_OK) {
        c.s = scaffold_build(s->t, at, total);
        c.steps = scaffold_set_steps(c.s, at, step, total);
        st =
            s->g->op->how == FILTER ? filter(&c, s->g, s->ctx) : pgibbs_run(&c, s->g, &s->accepted);
    }
    mem_free(at);
    mem_free(step);
    return st;
}

static enum gpm_status in_order(struct infer_state *x, struct trace *t, const struct target *g,
                                node_sets *sets) {
    enum gpm_status st = infer_target_sets(x, t, g, sets);
    if (sets->n && infer_is_name(g->scope, "default"))
        qsort(sets->at, sets->n, sizeof *sets->at, by_seq);
    return st;
}

/* The blocks in the order of their ids, or one block. For scope default, the choices in order of
 * creation; in a model written as a series that is the order of time. */
static enum gpm_status pgibbs_step(struct step *s) {
    const struct target *g = s->g;
    struct node_set one = {s->at, s->n};
    node_sets sets;
    if (g->extra[0].u.num > 1e6)
        return infer_error(s->x, DIAG_LIMIT, "%s: %g particles are too many", g->op->name,
                           g->extra[0].u.num);
    /* A sweep has no acceptance ratio that could include the correction for a random pick. */
    if (s->extra) return move_mh(s);
    if (!infer_is_name(g->block, "ordered") && !infer_is_name(g->block, "all") &&
        g->block.tag != V_ARRAY)
        return on_sets(s, &one, 1);
    enum gpm_status st = in_order(s->x, s->t, g, &sets);
    if (st == GPM_OK) st = on_sets(s, sets.at, sets.n);
    node_sets_free(&sets);
    return st;
}

/* In one particle. Without choices to draw, the evidence is that of an empty set of
 * observations. */
static enum gpm_status op_filter(struct infer_state *x, const struct action *a, struct trace *t,
                                 value *out) {
    struct target g;
    node_sets sets;
    enum gpm_status st = infer_target(x, a, &g);
    if (st != GPM_OK) return st;
    double n = g.extra[0].u.num, runs = g.extra[1].u.num;
    if (n < 1 || n > 1e6 || runs > 1e6)
        return infer_error(x, DIAG_LIMIT, "%s: %g particles in %g runs; 1 to 1000000 are possible",
                           g.op->name, n, runs);
    st = in_order(x, t, &g, &sets);
    struct step s = {.x = x, .t = t, .g = &g, .ctx = out};
    if (st == GPM_OK) st = on_sets(&s, sets.at, sets.n);
    if (st == GPM_OK && out->tag == V_NIL) *out = evidence_of((double[]){0, 0}, 2);
    node_sets_free(&sets);
    return st;
}

#define PGIBBS_SIG                                                                                 \
    "(scope: target, block?: block, particles?: count, steps?: count, parallel?: bool) -> action"
#define PGIBBS                                                                                     \
    .run = infer_steps, .step = pgibbs_step, .block = "ordered", .n_extra = 1, .extra = {10},      \
    .counted = "number of particles"
const struct infer_op infer_pgibbs_rows[] = {
    {"pgibbs", PGIBBS_SIG,
     "particle Gibbs: conditional sequential Monte Carlo over the blocks in order, with that many "
     "particles",
     PGIBBS, .how = BY_WEIGHT},
    {"func_pgibbs", PGIBBS_SIG, "the same as pgibbs", PGIBBS, .how = BY_WEIGHT},
    {"func_pmap", PGIBBS_SIG, "as pgibbs, but takes the most probable of the particles", PGIBBS,
     .how = MOST_PROBABLE},
    {"particle_filter", "(scope: target, block?: block, particles?: count, runs?: count) -> action",
     "a bootstrap filter over the blocks in order, with that many particles (100), resampled at "
     "every block: draws the blocks anew, and gives, per particle of the model, a dictionary of "
     "log_evidence, the log density of all that depends on the blocks with these summed out (its "
     "exp is unbiased), and error, its standard error over the runs (nan for the one run that "
     "there is unless runs= says more). What is kept is one particle drawn by weight",
     .flags = OP_MOVES, .run = infer_each, .each = op_filter, .how = FILTER, .block = "ordered",
     .n_extra = 2, .extra = {100, 1}, .counted = "number of runs"},
    {0},
};
