/* SPDX-License-Identifier: Apache-2.0
 *
 * Particle Gibbs (Andrieu, Doucet and Holenstein 2010): conditional sequential Monte Carlo over the
 * blocks in order. The current values are the retained particle; P further particles are drawn
 * block by block from the prior, each continuing an ancestor picked by the weight of the step
 * before, which may be the retained one. At the end one of the P + 1 is drawn by its last weight.
 * func_pmap takes the one of greatest joint density instead.
 *
 * A particle is the number of steps it shares with the retained one and the generators that drew
 * the others: replaying them rebuilds it, so that one trace serves for all. */
#include "infer/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct particle {
    uint32_t shared; /* steps taken over from the retained particle */
    struct rng *rng; /* one per step */
    double weight;   /* of the last step */
};

struct csmc {
    struct infer_state *x;
    struct trace *t;
    struct scaffold *s;
    uint32_t steps;
    size_t n;         /* new particles */
    double *w_old;    /* retained: per step */
    double *w;        /* scratch: per step */
    double old_joint; /* retained: log joint of the whole trace (func_pmap) */
    struct particle *now, *next;
    struct rng rng;
};

static double log_sum(const struct csmc *c, double first) {
    double max = first, sum;
    for (size_t i = 0; i < c->n; i++) max = fmax(max, c->now[i].weight);
    if (isinf(max)) return max;
    sum = exp(first - max);
    for (size_t i = 0; i < c->n; i++) sum += exp(c->now[i].weight - max);
    return max + log(sum);
}

/* Number of a particle drawn by weight; c->n is the retained one. */
static size_t draw(struct csmc *c, double retained) {
    double total = log_sum(c, retained), u = rng_uniform(&c->rng), sum = 0;
    if (!(total > -INFINITY)) return c->n;
    size_t last = c->n;
    for (size_t i = 0; i < c->n; i++) {
        if (c->now[i].weight == -INFINITY) continue;
        last = i;
        sum += exp(c->now[i].weight - total);
        if (u < sum) return i;
    }
    return retained > -INFINITY ? c->n : last;
}

/* Builds the first `steps` steps of a particle; the caller takes them apart again. */
static enum gpm_status replay(struct csmc *c, const struct particle *p, uint32_t steps) {
    enum gpm_status st = GPM_OK;
    memset(c->w, 0, c->steps * sizeof *c->w);
    scaffold_attach_old(c->s, p->shared);
    for (uint32_t k = p->shared; k < steps && st == GPM_OK; k++) {
        c->t->rng = p->rng[k];
        st = scaffold_regen_step(c->s, k, c->w);
    }
    return st;
}

static enum gpm_status clear(struct csmc *c, const struct particle *p) {
    scaffold_unregen(c->s);
    return scaffold_detach_old(c->s, p->shared);
}

/* Particle `to` continues `from` (NULL: the retained one) by one step. */
static enum gpm_status extend(struct csmc *c, const struct particle *from, struct particle *to,
                              uint32_t step) {
    to->shared = from ? from->shared : step;
    if (from) memcpy(to->rng, from->rng, step * sizeof *to->rng);
    to->rng[step] = rng_split(&c->rng);
    enum gpm_status st = core_poll(c->x->core, c->x->at);
    if (st != GPM_OK) return st;
    st = replay(c, to, step + 1);
    to->weight = c->w[step];
    enum gpm_status cleared = clear(c, to);
    return st == GPM_OK ? cleared : st;
}

static enum gpm_status sweep(struct csmc *c) {
    enum gpm_status st = GPM_OK;
    for (uint32_t k = 0; k < c->steps && st == GPM_OK; k++) {
        for (size_t i = 0; i < c->n && st == GPM_OK; i++) {
            size_t a = k ? draw(c, c->w_old[k - 1]) : c->n;
            st = extend(c, a == c->n ? NULL : &c->now[a], &c->next[i], k);
        }
        struct particle *swap = c->now;
        c->now = c->next;
        c->next = swap;
    }
    return st;
}

/* The particle whose whole state is most probable: each is built once more to see. */
static enum gpm_status most_probable(struct csmc *c, size_t *best) {
    double most = c->old_joint, joint, likelihood;
    enum gpm_status st = GPM_OK;
    *best = c->n;
    for (size_t i = 0; i < c->n && st == GPM_OK; i++) {
        if (c->now[i].weight == -INFINITY) continue;
        st = replay(c, &c->now[i], c->steps);
        if (st == GPM_OK) st = trace_log_joint(c->t, &joint, &likelihood);
        enum gpm_status cleared = clear(c, &c->now[i]);
        if (st == GPM_OK) st = cleared;
        if (st == GPM_OK && joint > most) {
            most = joint;
            *best = i;
        }
    }
    return st;
}

static struct particle *particles_new(size_t n, uint32_t steps) {
    struct particle *p = NEW_ARRAY(struct particle, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (struct particle){.rng = NEW_ARRAY(struct rng, steps + 1)};
    return p;
}

static void particles_free(struct particle *p, size_t n) {
    for (size_t i = 0; i < n; i++) mem_free(p[i].rng);
    mem_free(p);
}

static enum gpm_status choose(struct csmc *c, bool max, bool *moved) {
    size_t k = c->n;
    enum gpm_status st = GPM_OK;
    if (max)
        st = most_probable(c, &k);
    else
        k = draw(c, c->w_old[c->steps - 1]);
    *moved = st == GPM_OK && k != c->n;
    if (!*moved) return st;
    st = replay(c, &c->now[k], c->steps);
    if (st != GPM_OK) (void)clear(c, &c->now[k]);
    return st;
}

struct pgibbs {
    double particles;
    bool max;
};

/* One sweep over the sets; the principals of set i belong to step i. */
static enum gpm_status run(struct csmc *c, const struct pgibbs *h, bool *moved) {
    c->n = (size_t)h->particles;
    c->w_old = NEW_ARRAY(double, c->steps + 1);
    c->w = NEW_ARRAY(double, c->steps + 1);
    c->now = particles_new(c->n, c->steps);
    c->next = particles_new(c->n, c->steps);
    enum gpm_status st = scaffold_detach_steps(c->s, c->w_old, c->steps);
    if (st == GPM_OK) {
        c->rng = rng_split(&c->t->rng);
        struct rng outer = c->t->rng;
        st = sweep(c);
        if (st == GPM_OK) st = choose(c, h->max, moved);
        c->t->rng = outer;
        if (st == GPM_OK && *moved)
            scaffold_commit(c->s);
        else
            scaffold_restore(c->s);
    }
    particles_free(c->now, c->n);
    particles_free(c->next, c->n);
    mem_free(c->w_old);
    mem_free(c->w);
    return st;
}

static int by_seq(const void *a, const void *b) {
    const struct node_set *x = a, *y = b;
    return x->at[0]->seq < y->at[0]->seq ? -1 : x->at[0]->seq > y->at[0]->seq;
}

static enum gpm_status on_sets(struct infer_state *x, struct trace *t, const struct node_set *sets,
                               size_t n, const struct pgibbs *h, bool *moved) {
    struct csmc c = {.x = x, .t = t};
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
    enum gpm_status st = h->max ? trace_log_joint(t, &c.old_joint, &ignored) : GPM_OK;
    if (st == GPM_OK) st = scaffold_build(t, at, total, &c.s);
    if (st == GPM_OK) {
        c.steps = scaffold_set_steps(c.s, at, step, total);
        st = run(&c, h, moved);
        scaffold_free(c.s);
    }
    mem_free(at);
    mem_free(step);
    return st;
}

/* A single block: picked as for any other operator. */
static enum gpm_status one_block(struct infer_state *x, struct trace *t, struct node **at, size_t n,
                                 const struct mh_extra *extra, void *ctx, bool *accepted) {
    if (extra) return trace_mh(t, at, n, extra, accepted);
    struct node_set set = {at, n};
    return on_sets(x, t, &set, 1, ctx, accepted);
}

static enum gpm_status over_blocks(struct infer_state *x, const struct target *g,
                                   struct pgibbs *h) {
    value scope = g->sub ? g->sub->a : g->scope;
    enum gpm_status st = GPM_OK;
    for (size_t p = 0; p < x->model->p.n; p++)
        for (double k = 0; k < g->transitions && st == GPM_OK; k++) {
            struct trace *t = x->model->p.at[p];
            struct node_set *sets;
            size_t n;
            bool moved = false;
            st = infer_target_sets(x, t, g, &sets, &n);
            if (st != GPM_OK) return st;
            if (n && infer_is_name(scope, "default")) qsort(sets, n, sizeof *sets, by_seq);
            if (n) st = on_sets(x, t, sets, n, h, &moved);
            if (n && st == GPM_OK) infer_count(x, infer_stats_of(x, scope), moved);
            target_sets_free(sets, n);
        }
    return st;
}

static enum gpm_status particle_gibbs(struct infer_state *x, const char *op, bool max,
                                      const value *args, size_t n, value *out) {
    struct target g;
    struct pgibbs h = {.max = max};
    value extra[1] = {value_num(10)};
    while (n && args[n - 1].tag == V_BOOL) n--; /* "in parallel?" */
    enum gpm_status st = infer_target_with(x, op, args, n, extra, 1, infer_name(x, "ordered"), &g);
    if (st == GPM_OK) st = infer_number(x, op, "number of particles", extra[0], 1, &h.particles);
    if (st == GPM_OK && h.particles > 1e6)
        st = infer_error(x, DIAG_LIMIT, "%s: %g particles are too many", op, h.particles);
    if (st != GPM_OK) return st;
    value block = g.sub ? g.sub->b : g.block;
    bool several =
        infer_is_name(block, "ordered") || infer_is_name(block, "all") || block.tag == V_ARRAY;
    if (g.sub && g.sub->kind != SUB_SCOPE) several = false;
    st = several ? over_blocks(x, &g, &h) : infer_transitions(x, &g, one_block, &h);
    if (st == GPM_OK) *out = NIL;
    return st;
}

static enum gpm_status op_pgibbs(struct infer_state *x, const value *args, size_t n, value *out) {
    return particle_gibbs(x, "pgibbs", false, args, n, out);
}

static enum gpm_status op_pmap(struct infer_state *x, const value *args, size_t n, value *out) {
    return particle_gibbs(x, "func_pmap", true, args, n, out);
}

#define PGIBBS_SIG                                                                                 \
    "(scope: any, block?: any, particles?: any, steps?: any, parallel?: any) -> action"
const struct infer_op infer_pgibbs_rows[] = {
    {"pgibbs", PGIBBS_SIG,
     "particle Gibbs: conditional sequential Monte Carlo over the blocks in order", NULL, 0,
     op_pgibbs},
    {"func_pgibbs", PGIBBS_SIG, "the same as pgibbs", NULL, 0, op_pgibbs},
    {"func_pmap", PGIBBS_SIG, "as pgibbs, but takes the most probable particle", NULL, 0, op_pmap},
};
const size_t infer_pgibbs_count = COUNT_OF(infer_pgibbs_rows);
