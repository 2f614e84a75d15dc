/* SPDX-License-Identifier: Apache-2.0
 *
 * The trajectory of the no-U-turn sampler, with multinomial sampling of its points (Betancourt
 * 2017): a binary tree whose leaves are points in the order of time. It grows by doubling: a
 * subtree as large as the whole tree is added at a random end. It stops when the whole tree turns
 * back on itself, or a subtree does, which is then discarded. In both cases the same tree could
 * have been grown from each of its points with the same probability, so the draw is reversible.
 * Points are drawn by their weights exp(-H), so no acceptance step is needed. */
#include "inference/hmc/sampler.h"

#include "numeric/la/cols.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

struct phase_point point_at(double **room, size_t n) {
    double *z = *room;
    *room += 5 * n;
    return (struct phase_point){z, z + n, z + 2 * n, z + 3 * n, z + 4 * n, 0, 0, 0};
}

void point_copy(struct phase_point *to, const struct phase_point *from, size_t n) {
    memcpy(to->z, from->z, 5 * n * sizeof(double));
    to->logp = from->logp;
    to->h = from->h;
    to->log_way = from->log_way;
}

/* For points of which one is no longer needed. */
static void point_swap(struct phase_point *a, struct phase_point *b) {
    struct phase_point was = *a;
    *a = *b;
    *b = was;
}

double point_energy(const struct phase_point *a, size_t n) {
    double h = col_dot(n, a->p, a->v) / 2 - a->logp;
    return isnan(h) ? INFINITY : h;
}

enum gpm_status point_begin(struct continuous *c, const struct metric *m, bool known,
                            struct phase_point *a) {
    memcpy(a->z, c->old, c->n_z * sizeof(double));
    enum gpm_status st = known ? GPM_OK : continuous_eval(c, a->z, &a->logp, a->g);
    metric_momentum(m, &c->t->rng, a->p);
    metric_velocity(m, a->p, a->v);
    metric_velocity(m, a->g, a->u);
    return st;
}

/* p(1/2) = p + eps/2 g(z); z' = z + eps M^-1 p(1/2); p' = p(1/2) + eps/2 g(z'); v = M^-1 p is
 * updated in the same way with u = M^-1 g, which costs one product with M^-1 per step. */
enum gpm_status point_leap(struct continuous *c, const struct metric *m, double eps,
                           struct phase_point *a) {
    size_t n = c->n_z;
    col_add_both(n, eps / 2, a->g, a->p, a->u, a->v);
    col_add(n, eps, a->v, a->z);
    enum gpm_status st = continuous_eval(c, a->z, &a->logp, a->g);
    metric_velocity(m, a->g, a->u);
    col_add_both(n, eps / 2, a->g, a->p, a->u, a->v);
    return st;
}

/* A step of the tree must keep the energy within NEAR nats. Between NEAR and TOO_FAR it may vary
 * with a probability that falls to 0. A step has up to 2^HALVINGS leapfrog steps. */
#define NEAR    0.5
#define TOO_FAR 10.0
enum { HALVINGS = 8 };

/* A subtree: 2^depth points grown in one direction from an end of the tree. */
struct branch {
    struct phase_point end;  /* outermost point in the direction of growth */
    struct phase_point pick; /* the point drawn from it */
    double log_weight;       /* log sum of exp(h0 - h) */
    double *rho;             /* sum of momenta */
    double *p_near, *v_near; /* momentum and velocity at its first point */
    bool ok;
};

/* The tree being grown: the whole in time order, the part to be `added`, and for every depth the
 * second half grown there. */
struct tree {
    struct continuous *c;
    const struct metric *m;
    double eps, h0;              /* step size, above 0; energy of the start */
    double sum_accept, n_accept; /* of min(1, exp(h0 - h)) over all leaves; eps is tuned by it */
    double n_leapfrog;
    bool seeking; /* far from the typical set: a step that gains density is accepted despite its
                     error */
    bool divergent;
    struct phase_point first, last, pick; /* of the whole tree */
    struct phase_point back;              /* scratch */
    double log_weight, *rho;              /* of the whole tree */
    size_t max_depth;
    struct branch added, *half; /* half: max_depth of them */
    double *numbers;            /* storage of all points */
};

static struct branch branch_at(double **room, size_t n) {
    struct branch b = {.end = point_at(room, n), .pick = point_at(room, n)};
    b.rho = *room;
    b.p_near = b.rho + n;
    b.v_near = b.p_near + n;
    *room += 3 * n;
    return b;
}

struct tree *tree_new(size_t n, size_t max_depth) {
    struct tree *t = NEW(struct tree);
    double *room = t->numbers = NEW_ARRAY(double, (21 + 13 * (max_depth + 1)) * n + 1);
    t->max_depth = max_depth;
    t->first = point_at(&room, n);
    t->last = point_at(&room, n);
    t->pick = point_at(&room, n);
    t->back = point_at(&room, n);
    t->rho = room;
    room += n;
    t->half = NEW_ARRAY(struct branch, max_depth + 1);
    t->added = branch_at(&room, n);
    for (size_t i = 0; i < max_depth; i++) t->half[i] = branch_at(&room, n);
    return t;
}

void tree_free(struct tree *t) {
    if (!t) return;
    mem_free(t->half);
    mem_free(t->numbers);
    mem_free(t);
}

/* The generalised criterion (Betancourt 2017, appendix A.4). rho is the sum of the momenta, here
 * rho1 + rho2; in any metric it represents end minus start. The velocities M^-1 p at both ends must
 * still point along it. */
static bool no_turn(const double *v1, const double *v2, const double *rho1, const double *rho2,
                    size_t n) {
    double along[2];
    col_dots_of_sum(n, rho1, rho2, v1, v2, along);
    return along[0] > 0 && along[1] > 0;
}

/* Two adjacent parts, neither of which turns. Part `a` has velocity v_a at its outer end and (p_sa,
 * v_sa) at the seam; likewise `b`. Do they turn together, or does one turn with the first point of
 * the other? The latter detects turns that fall between the two. Without it, steps at half the
 * period of the slowest direction would circle forever (Stan's extra checks). */
struct part {
    const double *v, *p_seam, *v_seam, *rho;
};
static bool no_turn_joined(const struct part *a, const struct part *b, size_t n) {
    return no_turn(a->v, b->v, a->rho, b->rho, n) &&
           no_turn(a->v, b->v_seam, a->rho, b->p_seam, n) &&
           no_turn(a->v_seam, b->v, a->p_seam, b->rho, n);
}

/* ---- locally adapted step sizes ----
 *
 * Within-orbit adaptive steps (Bou-Rabee, Carpenter, Kleppe and Liu 2025). The number of leapfrog
 * steps is chosen at random with probabilities that depend only on the point and its energies. The
 * tree grown by these choices has a probability from each of its points, and points are drawn by
 * exp(-H) times that probability. Between neighbours it changes by the ratio of the choice on the
 * way back to that on the way there. log_way adds up these ratios from the start. */

/* Goes from `from` over the time eps in 2^halvings leapfrog steps to `to`. *varied: range of the
 * energy on the way; infinite if it was too large, and the way was abandoned. */
static enum gpm_status stretch(struct tree *t, const struct phase_point *from, double eps,
                               int halvings, struct phase_point *to, double *varied) {
    size_t n = t->c->n_z, steps = (size_t)1 << halvings;
    double lo = from->h, hi = from->h;
    enum gpm_status st = GPM_OK;
    point_copy(to, from, n);
    *varied = 0;
    for (size_t i = 0; i < steps && *varied < TOO_FAR && st == GPM_OK; i++) {
        st = point_leap(t->c, t->m, eps / (double)steps, to);
        t->n_leapfrog++;
        to->h = point_energy(to, n);
        lo = fmin(lo, to->h);
        hi = fmax(hi, to->h);
        *varied = hi - lo;
    }
    return st;
}

/* The probability of accepting this number of steps, given the variation of the energy. */
static double satisfied(double varied) {
    double p = log(varied / TOO_FAR) / log(NEAR / TOO_FAR);
    return varied <= NEAR ? 1 : varied < TOO_FAR ? p : 0;
}

/* Takes the same time in 2^k steps, after a single step varied by `varied`; k is the first that is
 * accepted. The way back from `to` has another probability of the same k, since it tries fewer
 * steps from another point. The ratio of the two goes into the point's weight. */
static enum gpm_status shorter(struct tree *t, const struct phase_point *from, double eps,
                               double varied, struct phase_point *to, bool *ok) {
    int k = 0;
    enum gpm_status st = GPM_OK;
    double p = satisfied(varied), ratio = 0;
    *ok = p > 0 && rng_uniform(&t->c->t->rng) < p;
    while (!*ok && k < HALVINGS && st == GPM_OK) {
        ratio -= log1p(-p);
        st = stretch(t, from, eps, ++k, to, &varied);
        p = satisfied(varied);
        *ok = p > 0 && rng_uniform(&t->c->t->rng) < p;
    }
    t->divergent |= !*ok;
    for (int back = 0; *ok && back < k && st == GPM_OK; back++) {
        st = stretch(t, to, -eps, back, &t->back, &varied);
        ratio += log1p(-satisfied(varied));
        *ok = ratio > -INFINITY;
    }
    to->log_way = from->log_way + ratio;
    return st;
}

/* One step of the tree, over the time eps. Its weight is exp(h0 - h), so the start of the tree has
 * weight 1, times the ratios of the way to it. eps is tuned by the error of a single leapfrog
 * step. */
static enum gpm_status leaf(struct tree *t, const struct phase_point *from, double dir,
                            struct branch *b) {
    size_t n = t->c->n_z;
    double varied;
    enum gpm_status st = stretch(t, from, dir * t->eps, 0, &b->end, &varied);
    if (st != GPM_OK) return st;
    double gain = t->h0 - b->end.h, accept = gain >= 0 ? 1 : exp(gain);
    bool before = t->divergent;
    b->ok = varied <= NEAR || (t->seeking && from->h - b->end.h > TOO_FAR);
    if (!b->ok) st = shorter(t, from, dir * t->eps, varied, &b->end, &b->ok);
    if (st != GPM_OK) return st;
    /* A step that no number of shorter steps can make is too long, whatever density it gains by its
     * error: in the tail, where a chain may begin, errors lead towards lower energy. */
    t->sum_accept += t->divergent && !before ? 0 : accept;
    t->n_accept++;
    b->log_weight = t->h0 - b->end.h + b->end.log_way;
    if (!b->ok) return GPM_OK;
    point_copy(&b->pick, &b->end, n);
    memcpy(b->rho, b->end.p, n * sizeof(double));
    memcpy(b->p_near, b->end.p, n * sizeof(double));
    memcpy(b->v_near, b->end.v, n * sizeof(double));
    return GPM_OK;
}

/* Grows 2^depth further points in direction dir: two halves, each a tree. Within a subtree the pick
 * is multinomial: the second half's with probability w2 / (w1 + w2). Not ok: a half turned or
 * diverged, and the caller must discard the branch. */
static enum gpm_status grow(struct tree *t, const struct phase_point *from, double dir,
                            size_t depth, struct branch *b) {
    if (depth == 0) return leaf(t, from, dir, b);
    size_t n = t->c->n_z;
    enum gpm_status st = grow(t, from, dir, depth - 1, b);
    if (st != GPM_OK || !b->ok) return st;
    struct branch *more = &t->half[depth - 1];
    st = grow(t, &b->end, dir, depth - 1, more);
    b->ok = more->ok;
    if (st != GPM_OK || !b->ok) return st;
    double ahead = b->log_weight - more->log_weight; /* log w1 / w2 */
    double less = exp(-fabs(ahead));                 /* the smaller weight over the larger */
    if (rng_uniform(&t->c->t->rng) * (1 + less) < (ahead > 0 ? less : 1))
        point_swap(&b->pick, &more->pick);
    b->log_weight = fmax(b->log_weight, more->log_weight) + log1p(less);
    struct part before = {b->v_near, b->end.p, b->end.v, b->rho};
    struct part after = {more->end.v, more->p_near, more->v_near, more->rho};
    b->ok = no_turn_joined(&before, &after, n);
    col_add(n, 1, more->rho, b->rho);
    point_swap(&b->end, &more->end);
    return GPM_OK;
}

/* One doubling in a random direction; *more: continue. The pick moves to the new half with
 * probability min(1, w_new / w_old). This biased progressive sampling leaves exp(-H) invariant over
 * the tree and prefers points far from the start (Betancourt 2017, appendix A.3). */
static enum gpm_status double_tree(struct tree *t, size_t depth, bool *more) {
    size_t n = t->c->n_z;
    struct branch *b = &t->added;
    bool forward = rng_uniform(&t->c->t->rng) < 0.5;
    struct phase_point *from = forward ? &t->last : &t->first,
                       *other = forward ? &t->first : &t->last;
    enum gpm_status st = grow(t, from, forward ? 1 : -1, depth, b);
    *more = st == GPM_OK && b->ok;
    if (!*more) return st;
    if (log(rng_uniform(&t->c->t->rng)) < b->log_weight - t->log_weight)
        point_swap(&t->pick, &b->pick);
    t->log_weight = logaddexp(t->log_weight, b->log_weight);
    struct part all = {other->v, from->p, from->v, t->rho};
    struct part added = {b->end.v, b->p_near, b->v_near, b->rho};
    *more = no_turn_joined(&all, &added, n);
    col_add(n, 1, b->rho, t->rho);
    point_swap(from, &b->end);
    return GPM_OK;
}

enum gpm_status nuts_trajectory(struct tree *t, struct continuous *c, const struct metric *m,
                                double eps, bool seeking, const double *g, double logp,
                                struct nuts_result *r, struct phase_point *pick) {
    size_t n = c->n_z, depth = 0;
    t->c = c;
    t->m = m;
    t->eps = eps;
    t->seeking = seeking;
    t->divergent = t->added.ok = false;
    t->sum_accept = t->n_accept = t->n_leapfrog = t->log_weight = t->first.log_way = 0;
    t->first.logp = logp;
    if (g) memcpy(t->first.g, g, n * sizeof *g);
    enum gpm_status st = point_begin(c, m, g != NULL, &t->first);
    bool more = st == GPM_OK && t->first.logp > CONTINUOUS_HOPELESS;
    r->began = more;
    t->h0 = t->first.h = point_energy(&t->first, n);
    point_copy(&t->last, &t->first, n);
    point_copy(&t->pick, &t->first, n);
    memcpy(t->rho, t->first.p, n * sizeof(double));
    for (; depth < t->max_depth && more && st == GPM_OK; depth++) st = double_tree(t, depth, &more);
    *pick = t->pick;
    r->accept_stat = t->n_accept ? t->sum_accept / t->n_accept : 0;
    r->n_leapfrog = t->n_leapfrog;
    r->depth = (double)(depth && !t->added.ok ? depth - 1 : depth); /* complete doublings */
    r->energy = t->h0;
    r->divergent = t->divergent;
    r->deep = more;
    return st;
}
