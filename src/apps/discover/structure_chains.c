/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact sampler over (structure, parameters): an independence chain that proposes a structure
 * from its evidence (flattened) and parameters from the structure's Student-t mixture, and accepts
 * by p(y,z'|k') p(k') q(k) g_k(z) / [p(y,z|k) p(k) q(k') g_k'(z')]. It is reversible jump with
 * near-perfect proposals, corrects what is left of Laplace's error, and four independent chains
 * from scattered starts tell whether the posterior has settled.
 */
#include "base/mem.h"
#include "runtime/core/core_pack.h"
#include "apps/discover/journal.h"
#include "apps/discover/posterior.h"
#include <math.h>
#include <string.h>

#define CHAINS  4
#define FLATTEN 0.7 /* power of the evidence in the proposal */
/* How far probabilities that the report states (of components, of the logarithm, of the leading
 * structures) may differ from chain to chain, and from all chains to the evidences. */
#define AGREE_CHAINS    0.12
#define AGREE_EVIDENCES 0.06
#define LEADING         0.05 /* structures of at least this probability are compared, too */
#define GAP             15
#define LATE_STEPS      10 /* of chains that begin past the deadline: too few to settle */

struct state {
    size_t k;
    double z[PROPOSAL_MAX_DIM], logp, ratio; /* ratio: log of target over independence proposal */
};

struct run {
    struct posterior *p;
    double *q;   /* proposal probabilities over evidences */
    size_t warm; /* steps that forget the scattered start */
    size_t done, steps;
    struct rng g[CHAINS];
    struct state now[CHAINS];
    struct state heavy[CHAINS];       /* of the largest ratio: what its proposal missed most */
    struct chain_state *path[CHAINS]; /* steps each */
    long accepted[CHAINS];
};

/* What has a borrowed shape and a few draws would hold the chains up, and counts little. */
static bool usable(const struct evidence *e) {
    return evidence_fitted(e) && e->draws.n > 0 && !e->lent;
}

static void proposal_weights(struct run *r) {
    const struct search *s = r->p->search;
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        r->q[i] = usable(s->at[i]) ? pow(r->p->weight[i], FLATTEN) : 0;
        sum += r->q[i];
    }
    for (size_t i = 0; i < s->n; i++) r->q[i] /= sum;
}

size_t posterior_pick(const double *share, size_t n, struct rng *r) {
    double u = rng_uniform(r);
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (share[i] <= 0) continue;
        last = i;
        u -= share[i];
        if (u <= 0) break;
    }
    return last;
}

/* Fills logp and ratio of the state (k, z). */
static void weigh(const struct run *r, int thread, struct state *s) {
    const struct evidence *e = r->p->search->at[s->k];
    struct space *space = r->p->search->space;
    struct density t = space->ops->density(space, e, thread, true);
    s->logp = density_eval(&t, s->z, NULL) + e->log_prior;
    s->ratio = s->logp == -INFINITY
                   ? -INFINITY
                   : s->logp - log(r->q[s->k]) - proposal_log_density(&e->prop, s->z);
}

static void propose(const struct run *r, size_t k, struct rng *g, int thread, struct state *s) {
    s->k = k;
    proposal_draw(&r->p->search->at[k]->prop, g, s->z);
    weigh(r, thread, s);
}

/* A random walk within the structure: frees a state that independence proposals hardly ever leave.
 */
static void walk(const struct run *r, struct rng *g, int thread, struct state *s) {
    struct state next = *s;
    proposal_walk(&r->p->search->at[s->k]->prop, g, next.z);
    weigh(r, thread, &next);
    if (log(rng_uniform(g)) < next.logp - s->logp) *s = next;
}

static void step(struct run *r, size_t c, bool with_walk, bool counted, int thread) {
    struct state next = {0}, *now = &r->now[c];
    struct rng *g = &r->g[c];
    propose(r, posterior_pick(r->q, r->p->search->n, g), g, thread, &next);
    if (log(rng_uniform(g)) < next.ratio - now->ratio) {
        *now = next;
        r->accepted[c] += counted;
    }
    if (with_walk) walk(r, g, thread, now);
    if (now->ratio > r->heavy[c].ratio) r->heavy[c] = *now;
}

static void start_chain(struct run *r, size_t c, int thread) {
    const struct search *s = r->p->search;
    struct rng *g = &r->g[c];
    rng_init(g, s->opt.seed, (uint32_t)c, 77);
    double *flat = NEW_ARRAY(double, s->n + 1), usable_n = 0;
    for (size_t i = 0; i < s->n; i++) usable_n += r->q[i] > 0;
    for (size_t i = 0; i < s->n; i++) flat[i] = r->q[i] > 0 ? 1 / usable_n : 0;
    r->now[c].ratio = r->heavy[c].ratio = -INFINITY;
    r->accepted[c] = 0;
    for (int tries = 0; tries < 50 && !isfinite(r->now[c].ratio); tries++) /* scattered start */
        propose(r, posterior_pick(tries < 25 ? flat : r->q, s->n, g), g, thread, &r->now[c]);
    mem_free(flat);
    for (size_t i = 0; i < r->warm && !search_late(s); i++) step(r, c, i % 2, false, thread);
}

/* From `done` on to `steps`: a chain that is made longer is the chain that was long at once. In
 * haste it stays where it is. */
static void run_chain(void *ctx, size_t c, int thread) {
    struct run *r = ctx;
    if (r->done == 0) start_chain(r, c, thread);
    for (size_t i = r->done; i < r->steps; i++) {
        if (i == 0 || !search_late(r->p->search)) step(r, c, (r->warm + i) % 2, true, thread);
        r->path[c][i] = (struct chain_state){(int)r->now[c].k, r->now[c].logp};
    }
}

/* ---- in a journal ---- */
static uint64_t chain_key(void *ctx, size_t c) {
    const struct run *r = ctx;
    return r->done << 32 ^ r->steps;
}

static void state_pack(struct pack *p, struct state *s) {
    pack_size(p, &s->k);
    pack_doubles(p, s->z, PROPOSAL_MAX_DIM);
    pack_double(p, &s->logp);
    pack_double(p, &s->ratio);
}

static void chain_pack(struct pack *p, void *ctx, size_t c) {
    struct run *r = ctx;
    uint64_t accepted = (uint64_t)r->accepted[c];
    pack_rng(p, &r->g[c]);
    state_pack(p, &r->now[c]);
    state_pack(p, &r->heavy[c]);
    pack_u64(p, &accepted);
    r->accepted[c] = (long)accepted;
    for (size_t i = r->done; i < r->steps; i++) {
        pack_int(p, &r->path[c][i].structure);
        pack_double(p, &r->path[c][i].logp);
    }
}

static bool chain_late(const void *ctx) {
    return search_hurried(((const struct run *)ctx)->p->search);
}

static const struct journal_step chain_step = {"chain", run_chain, chain_key, chain_pack,
                                               chain_late};

/* ---- diagnostics ---- */
/* Effective size of one chain's sequence by Geyer's initial positive pairs. */
static double chain_ess(const double *x, size_t n) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) var += (x[i] - mean) * (x[i] - mean) / (double)n;
    if (!(var > 0)) return (double)n;
    double tau = 1;
    for (size_t lag = 1; lag + 1 < n / 2; lag += 2) {
        double pair = 0;
        for (size_t h = lag; h < lag + 2; h++) {
            double c = 0;
            for (size_t i = 0; i + h < n; i++) c += (x[i] - mean) * (x[i + h] - mean);
            pair += c / (double)n / var;
        }
        if (pair <= 0) break;
        tau += 2 * pair;
    }
    return (double)n / tau;
}

/* A chain in which it always or never holds is judged by its log density: did it move at all? */
double posterior_indicator_ess(const struct posterior *p, structure_test holds, void *ctx) {
    if (!p->n_chains) return 0;
    double ess = 0, *x = NEW_ARRAY(double, p->steps);
    for (int c = 0; c < p->n_chains; c++) {
        const struct chain_state *at = p->chain + (size_t)c * p->steps;
        bool varies = false;
        for (size_t i = 0; i < p->steps; i++) {
            x[i] = holds(ctx, p, (size_t)at[i].structure);
            varies |= x[i] != x[0];
        }
        for (size_t i = 0; !varies && i < p->steps; i++) x[i] = at[i].logp;
        ess += chain_ess(x, p->steps);
    }
    mem_free(x);
    return ess;
}

/* Split R-hat of the log density. */
static double log_density_rhat(const struct posterior *p) {
    size_t half = p->steps / 2;
    double mean[2 * CHAINS], var[2 * CHAINS], grand = 0, between = 0, within = 0;
    int m = 2 * p->n_chains;
    for (int c = 0; c < m; c++) {
        const struct chain_state *x =
            p->chain + (size_t)(c / 2) * p->steps + (size_t)(c % 2) * half;
        mean[c] = var[c] = 0;
        for (size_t i = 0; i < half; i++) mean[c] += x[i].logp / (double)half;
        for (size_t i = 0; i < half; i++)
            var[c] += (x[i].logp - mean[c]) * (x[i].logp - mean[c]) / (double)(half - 1);
        grand += mean[c] / m;
        within += var[c] / m;
    }
    for (int c = 0; c < m; c++) between += (mean[c] - grand) * (mean[c] - grand) / (m - 1);
    double n = (double)half;
    return within > 0 ? sqrt((n - 1) / n + between / within) : 1;
}

/* The probability of one statement: in each chain (its share of the n structures' counts `one`) and
 * by the evidences, of those structures that chains visit. Chains are compared in pairs, all of
 * them together with the evidences. */
static void compare(struct posterior *p, const double *one, structure_test holds, void *ctx) {
    size_t n = p->search->n;
    double share[CHAINS] = {0}, known = 0, of = 0, all = 0, apart = 0;
    for (size_t i = 0; i < n; i++) {
        if (!usable(p->search->at[i])) continue;
        of += p->weight[i];
        if (!holds(ctx, p, i)) continue;
        known += p->weight[i];
        for (size_t c = 0; c < CHAINS; c++) share[c] += one[c * n + i] / (double)p->steps;
    }
    for (size_t a = 0; a < CHAINS; a++) {
        all += share[a] / CHAINS;
        for (size_t b = 0; b < a; b++) apart += fabs(share[a] - share[b]);
    }
    p->tv_between = fmax(p->tv_between, apart / (CHAINS * (CHAINS - 1) / 2.0));
    p->tv_evidence = fmax(p->tv_evidence, fabs(all - known / of));
}

static void distances(struct posterior *p) {
    size_t n = p->search->n;
    double *one = mem_zalloc(CHAINS * n * sizeof *one);
    for (size_t i = 0; i < CHAINS * p->steps; i++)
        one[i / p->steps * n + (size_t)p->chain[i].structure]++;
    p->tv_between = p->tv_evidence = 0;
    for (size_t k = 0; k < p->components.n; k++)
        compare(p, one, posterior_has_term, p->components.at[k].text);
    for (size_t k = 0; k < p->structures.n && p->structures.at[k].p >= LEADING; k++)
        compare(p, one, posterior_is, p->structures.at[k].text);
    mem_free(one);
}

static void least_ess(struct posterior *p) {
    p->ess = (double)p->n_chains * (double)p->steps;
    for (size_t i = 0; i < p->components.n; i++) {
        const struct post_entry *e = &p->components.at[i];
        if (e->p < 0.02 || e->p > 0.98) continue;
        p->ess = fmin(p->ess, posterior_indicator_ess(p, posterior_has_term, e->text));
    }
}

/* Every kind of disagreement in words; none: settled. Differences are those of the samples, which
 * are never closer than sampling lets them be: agreement has to be seen, not allowed for. */
static void judge(struct posterior *p) {
    struct buf b = BUF_INIT;
    const struct search *s = p->search;
    if (s->cut) buf_puts(&b, "the search was stopped by a limit before it was done; ");
    if (p->unexplored > 0.1)
        buf_printf(&b, "structures that were not visited may have %.0f%% of the probability; ",
                   100 * p->unexplored);
    if (p->tv_evidence > AGREE_EVIDENCES)
        buf_printf(&b, "chains and evidences disagree about a probability by %.3f; ",
                   p->tv_evidence);
    if (p->tv_between > AGREE_CHAINS)
        buf_printf(&b, "chains disagree with each other about a probability by %.3f; ",
                   p->tv_between);
    if (p->rhat > 1.1) buf_printf(&b, "R-hat of the log density is %.2f; ", p->rhat);
    if (p->ess < 40)
        buf_printf(&b, "only %.0f effective draws of a component's presence; ", p->ess);
    p->settled = b.len == 0;
    if (!p->settled) {
        b.data[b.len - 2] = 0;
        p->verdict = buf_take(&b);
        return;
    }
    buf_printf(&b,
               "settled: %d chains of %zu steps agree about every probability (to %.3f with each "
               "other, to %.3f with the evidences; R-hat %.3f, at least %.0f effective draws)",
               p->n_chains, p->steps, p->tv_between, p->tv_evidence, p->rhat, p->ess);
    p->verdict = buf_take(&b);
}

/* The chains so far as one array, and what they say. */
static void diagnose(struct run *r) {
    struct posterior *p = r->p;
    long accepted = 0;
    mem_free(p->chain);
    mem_free(p->verdict);
    p->chain = NEW_ARRAY(struct chain_state, CHAINS * r->steps);
    p->steps = r->steps;
    for (size_t c = 0; c < CHAINS; c++) {
        memcpy(p->chain + c * r->steps, r->path[c], r->steps * sizeof *p->chain);
        accepted += r->accepted[c];
    }
    p->acceptance = (double)accepted / (double)(CHAINS * r->steps);
    p->rhat = log_density_rhat(p);
    distances(p);
    least_ess(p);
    judge(p);
}

static bool apart(const struct posterior *p) {
    return p->tv_between > AGREE_CHAINS || p->tv_evidence > AGREE_EVIDENCES || p->rhat > 1.1 ||
           p->ess < 40;
}

/* Longer chains may bring them together, at no more than the search itself has cost. */
static bool worth_more(const struct run *r, size_t first) {
    const struct posterior *p = r->p;
    return apart(p) && !p->search->cut && !search_late(p->search) &&
           2 * (double)r->steps <= p->search->how.longest * (double)first &&
           (double)CHAINS * 2 * (double)r->steps < (double)p->search->evals;
}

/* A gap: one draw there weighs as much as GAP average ones. */
static bool gap(const struct run *r, size_t c) {
    const struct state *h = &r->heavy[c];
    if (!isfinite(h->ratio)) return false;
    double even = evidence_total(r->p->search->at[h->k]) - log(r->q[h->k]);
    return h->ratio - even > log(GAP);
}

static bool any_gap(const struct run *r) {
    bool any = false;
    for (size_t c = 0; c < CHAINS; c++) any |= gap(r, c);
    return any;
}

/* Chains of the posterior as it is, longer and longer until they agree, or it is not worth it, or
 * (mending) they met a gap. They are never shorter than those before them, which disagreed: short
 * ones may agree by chance. */
static void run_chains(struct run *r, size_t steps, bool mending) {
    struct search *s = r->p->search;
    size_t first = s->space->steps;
    proposal_weights(r);
    r->p->n_chains = CHAINS;
    r->done = 0;
    r->steps = steps ? steps : r->steps > first ? r->steps : first;
    for (bool more = true; more; r->done = r->steps, r->steps *= more ? 2 : 1) {
        journal_step(s->opt.journal, s->opt.threads, CHAINS, &chain_step, r);
        s->cut |= search_late(s);
        diagnose(r);
        more = !steps && worth_more(r, first) && !(mending && any_gap(r));
    }
}

/* ---- gaps in the proposals ---- */
struct mending {
    struct run *r;
    const struct state *at[CHAINS];
    size_t n;
};

static void mend_job(void *ctx, size_t job, int thread) {
    struct mending *m = ctx;
    const struct state *h = m->at[job];
    struct search *s = m->r->p->search;
    struct density t = s->space->ops->density(s->space, s->at[h->k], thread, true);
    evidence_mend(s->at[h->k], s->opt.draws, s->opt.seed, t, h->z);
}

static uint64_t mend_key(void *ctx, size_t job) {
    const struct mending *m = ctx;
    return m->r->p->search->at[m->at[job]->k]->hash;
}

static void mend_pack(struct pack *p, void *ctx, size_t job) {
    const struct mending *m = ctx;
    evidence_pack(p, m->r->p->search->at[m->at[job]->k]);
}

static bool mend_late(const void *ctx) {
    return chain_late(((const struct mending *)ctx)->r);
}

static const struct journal_step mend_step = {"mend", mend_job, mend_key, mend_pack, mend_late};

/* Structures whose proposals missed most of the states that chains visited are sampled again around
 * these; then all probabilities are recomputed. */
static void mend_proposals(struct run *r) {
    struct mending m = {.r = r};
    struct posterior *p = r->p;
    for (size_t c = 0; c < CHAINS; c++) {
        bool known = !gap(r, c);
        for (size_t i = 0; i < m.n && !known; i++) known = m.at[i]->k == r->heavy[c].k;
        if (!known) m.at[m.n++] = &r->heavy[c];
    }
    struct search *s = p->search;
    journal_step(s->opt.journal, s->opt.threads, m.n, &mend_step, &m);
    search_find_top(s);
    posterior_release(p);
    posterior_init(p, s);
}

/* Chains that could not be brought together by being longer: the evidences that they propose by
 * need more draws. */
static bool doubtful(const struct posterior *p) {
    const struct search *s = p->search;
    return apart(p) && !s->cut && !search_late(s);
}

static void sample_more(struct posterior *p) {
    struct search *s = p->search;
    s->opt.draws *= 2;
    search_sample(s);
    posterior_release(p);
    posterior_init(p, s);
}

void posterior_chains(struct posterior *p, size_t steps) {
    struct search *s = p->search;
    struct run r = {.p = p, .q = NEW_ARRAY(double, s->n + 1), .warm = s->space->steps / 10 + 5};
    if (!steps && search_late(s)) steps = LATE_STEPS;
    size_t room = steps ? steps : (size_t)s->how.longest * s->space->steps;
    for (size_t c = 0; c < CHAINS; c++) r.path[c] = NEW_ARRAY(struct chain_state, room);
    run_chains(&r, steps, true);
    for (int k = 0; k < s->how.mends && !steps && apart(p) && any_gap(&r); k++) {
        mend_proposals(&r);
        run_chains(&r, steps, k + 1 < s->how.mends);
    }
    for (int k = 0; k < s->how.more && !steps && doubtful(p); k++) {
        sample_more(p);
        run_chains(&r, steps, false);
    }
    for (size_t c = 0; c < CHAINS; c++) mem_free(r.path[c]);
    mem_free(r.q);
}
