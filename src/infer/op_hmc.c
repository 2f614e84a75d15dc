/* SPDX-License-Identifier: Apache-2.0
 *
 * Hamiltonian Monte Carlo on the continuous choices of a block, in their unconstrained space: hmc
 * with a given step size, nuts with multinomial sampling of the trajectory (Betancourt 2017), the
 * step size adapted by dual averaging (Hoffman and Gelman 2014) and a diagonal mass matrix from the
 * draws of the warm-up.
 *
 * With z the transformed choices, logp(z) their log weight plus log Jacobian (continuous.h) and
 * p ~ N(0, M) momenta drawn anew at every transition, the energy is
 *
 *     H(z, p) = p' M^-1 p / 2 - logp(z)
 *
 * and the leapfrog steps nearly keep it, are reversible and keep volume. What remains of the error:
 * hmc accepts the end point with log alpha = H(start) - H(end); nuts doubles the trajectory
 * forwards and backwards in time until it turns, and draws a point of it by their weights exp(-H),
 * so that nothing is left to accept.
 *
 * Where the choices decide what else is evaluated (brush), the trajectory follows the gradient at a
 * frozen brush that does not depend on the current one; the leapfrog steps are reversible and keep
 * volume for any such field. The end point gets a fresh brush from the prior and is accepted by its
 * true weight. nuts weighs every point of its trajectory and could not: it makes such a step of hmc
 * instead, and so it does from a state of weight zero, whose energy is infinite. */
#include "infer/continuous.h"

#include "math/special.h"
#include <math.h>
#include <string.h>

/* An energy that goes wrong by DIVERGED nats is no rounding of a step size that fits; from 1000 on
 * the trajectory ends. BFMI: below BFMI_LOW it warns, from BFMI_DRAWS transitions on. */
enum { MAX_DEPTH = 10, DIVERGED = 20, BFMI_DRAWS = 200 };
#define BFMI_LOW 0.3

/* A point of phase space. Its 3 n numbers are neighbours: point_copy relies on it. */
struct point {
    double *z, *p, *g; /* position, momentum, gradient of logp at z; borrowed */
    double logp;       /* -inf outside the support: the energy is infinite there */
};

/* A point whose numbers stand at `room`, which it leaves behind them. */
static struct point point_at(double **room, size_t n) {
    double *z = *room;
    *room += 3 * n;
    return (struct point){z, z + n, z + 2 * n, 0};
}

static void point_copy(struct point *to, const struct point *from, size_t n) {
    memcpy(to->z, from->z, 3 * n * sizeof(double));
    to->logp = from->logp;
}

/* H(z, p); an energy that is no number counts as infinite: never taken. */
static double energy(const struct point *a, const double *inv_mass, size_t n) {
    double k = 0;
    for (size_t i = 0; i < n; i++) k += a->p[i] * a->p[i] * inv_mass[i];
    double h = k / 2 - a->logp;
    return isnan(h) ? INFINITY : h;
}

static void draw_momentum(struct point *a, const double *inv_mass, size_t n, struct rng *rng) {
    for (size_t i = 0; i < n; i++) a->p[i] = rng_normal(rng) / sqrt(inv_mass[i]);
}

/* p(1/2) = p + eps/2 g(z);  z' = z + eps M^-1 p(1/2);  p' = p(1/2) + eps/2 g(z').
 * a->g must be the gradient at a->z on entry, and is so again on return. */
static enum gpm_status leapfrog(struct continuous *c, struct point *a, double eps,
                                const double *inv_mass) {
    size_t n = c->n_z;
    for (size_t i = 0; i < n; i++) {
        a->p[i] += eps / 2 * a->g[i];
        a->z[i] += eps * a->p[i] * inv_mass[i];
    }
    enum gpm_status st = continuous_eval(c, a->z, &a->logp, a->g);
    for (size_t i = 0; i < n; i++) a->p[i] += eps / 2 * a->g[i];
    return st;
}

/* hmc */

/* Where the block stands now, with the gradient there; on the frozen brush, so a->logp need not be
 * c->w_old. */
static enum gpm_status start(struct continuous *c, struct point *a) {
    memcpy(a->z, c->old, c->n_z * sizeof(double));
    return continuous_eval(c, a->z, &a->logp, a->g);
}

/* A trajectory of `steps` leapfrog steps from the current state, then accept or reject, with
 * log_q = K(p) - K(p'), K = p' M^-1 p / 2 (energy with logp put to 0), M = 1. logp and w_old are
 * the true weights, each with its own brush; the densities along the way only steer. */
static enum gpm_status trajectory(struct continuous *c, double eps, double steps, struct step *s) {
    size_t n = c->n_z;
    double *inv_mass = NEW_ARRAY(double, 4 * n + 1), *room = inv_mass + n, logp;
    for (size_t i = 0; i < n; i++) inv_mass[i] = 1;
    struct point a = point_at(&room, n);
    enum gpm_status st = start(c, &a);
    bool ok = st == GPM_OK && a.logp > -INFINITY;
    draw_momentum(&a, inv_mass, n, &c->t->rng);
    a.logp = 0;
    double before = energy(&a, inv_mass, n);
    for (double i = 0; ok && i < steps; i++) {
        st = leapfrog(c, &a, eps, inv_mass);
        ok = st == GPM_OK && a.logp > -INFINITY;
    }
    if (ok) st = continuous_build(c, a.z, &logp);
    if (ok && st == GPM_OK && move_built(&c->m)) {
        a.logp = 0;
        double log_q = before - energy(&a, inv_mass, n);
        if (logp - c->w_old + log_q < -DIVERGED) c->x->divergences++;
        s->accepted = step_accept(s, c->w_old, logp, log_q);
    }
    mem_free(inv_mass);
    return st;
}

static enum gpm_status hmc_step(struct step *s) {
    struct continuous c;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    /* A random length breaks the periods at which a fixed one returns to its start (Neal 2011). */
    double steps = 1 + (double)rng_below(&s->t->rng, (uint64_t)s->g->extra[1].u.num);
    st = trajectory(&c, s->g->extra[0].u.num, steps, s);
    continuous_close(&c, s->accepted);
    return st;
}

/* nuts: adaptation. What was learned belongs to the session (infer_state.nuts, a list) and is found
 * again by target and dimension, so that a warm-up goes on over instructions and particles. Until
 * `done` reaches `warmup` the kernel depends on its own past and its draws are not of the
 * posterior; from then on step size and masses stay as they are, and each transition leaves it
 * invariant. */

struct adapt {
    struct adapt *next;
    value scope, block; /* the target; counted */
    size_t n;
    double *inv_mass;    /* diagonal of M^-1: variances of the draws; owns the next two */
    double *mean, *m2;   /* of the window so far (Welford 1962) */
    double seen;         /* draws in the current window */
    double done, warmup; /* transitions made; those that adapt */
    /* log_eps NaN: to be found by first_step_size, at the start and after a change of masses */
    double log_eps, log_eps_bar, mu, h_bar, k;      /* dual averaging */
    double energies, e_last, e_mean, e_m2, e_steps; /* after warm-up, see note_energy */
};

void nuts_free(void *states) {
    struct adapt *a = states, *next;
    for (; a; a = next) {
        next = a->next;
        value_unref(a->scope);
        value_unref(a->block);
        mem_free(a->inv_mass);
        mem_free(a);
    }
}

/* By the target, or the subproblem as the program holds it. */
static struct adapt *adapt_for(struct infer_state *x, const struct target *g, size_t n) {
    struct adapt *a = x->nuts;
    value scope = g->sub ? value_box(V_BOX, (struct box *)&g->sub->box) : g->scope;
    for (; a; a = a->next)
        if (a->n == n && value_equal(a->scope, scope) && value_equal(a->block, g->block)) return a;
    a = NEW(struct adapt);
    a->scope = value_ref(scope);
    a->block = value_ref(g->block);
    a->n = n;
    a->inv_mass = mem_zalloc((3 * n + 1) * sizeof(double));
    for (size_t i = 0; i < n; i++) a->inv_mass[i] = 1;
    a->mean = a->inv_mass + n;
    a->m2 = a->mean + n;
    a->warmup = g->extra[0].u.num;
    a->log_eps = NAN;
    a->next = x->nuts;
    x->nuts = a;
    return a;
}

/* The largest step size (to a factor of 2) at which one leapfrog step changes the energy by at most
 * log 2, up or down: a gain may be the unstable luck of a start in the tail. */
static enum gpm_status first_step_size(struct continuous *c, struct adapt *a) {
    size_t n = c->n_z;
    double *all = NEW_ARRAY(double, 6 * n + 1), *room = all;
    struct point s = point_at(&room, n), e = point_at(&room, n);
    double eps = isnan(a->log_eps) ? 1 : exp(a->log_eps), dir = 0;
    enum gpm_status st = start(c, &s);
    draw_momentum(&s, a->inv_mass, n, &c->t->rng);
    for (int i = 0; i < 60 && st == GPM_OK; i++) {
        point_copy(&e, &s, n);
        st = leapfrog(c, &e, eps, a->inv_mass);
        double gain = energy(&s, a->inv_mass, n) - energy(&e, a->inv_mass, n);
        double now = fabs(gain) < log(2) ? 1 : -1;
        if (dir == 0) dir = now;
        if (now != dir) break;
        eps *= dir > 0 ? 2 : 0.5;
    }
    if (dir > 0) eps /= 2;
    mem_free(all);
    /* Dual averaging begins anew, and shrinks towards mu: ten times the first guess, since long
     * steps are cheap to try. */
    a->log_eps = a->log_eps_bar = log(eps);
    a->mu = log(10 * eps);
    a->h_bar = a->k = 0;
    return st;
}

/* Dual averaging (Hoffman and Gelman 2014, section 3.2) of target - accept towards 0:
 *
 *     h_k = (1 - eta) h_{k-1} + eta (target - accept),  eta = 1 / (k + t0)
 *     log eps_k = mu - sqrt(k) / gamma h_k              the step to try next
 *     log eps_bar = k^-kappa log eps_k + (1 - k^-kappa) log eps_bar
 *
 * eps_bar, the average, is what the transitions after the warm-up use. */
static void average(struct adapt *a, double accept) {
    const double target = 0.8, gamma = 0.05, t0 = 10, kappa = 0.75;
    a->k++;
    double eta = 1 / (a->k + t0);
    a->h_bar = (1 - eta) * a->h_bar + eta * (target - accept);
    a->log_eps = a->mu - sqrt(a->k) / gamma * a->h_bar;
    double w = pow(a->k, -kappa);
    a->log_eps_bar = w * a->log_eps + (1 - w) * a->log_eps_bar;
}

/* Windows end at 30, 60 and 90 percent of the warm-up; the last tenth only tunes the step size. */
static bool window_ends(const struct adapt *a) {
    for (int k = 3; k <= 9; k += 3)
        if (a->done == floor(a->warmup * k / 10)) return true;
    return false;
}

/* At the end of a window the variances of its draws become M^-1, shrunk towards 1e-3 as if five
 * draws had said so (Stan's rule): a window of few draws gives no direction a variance of zero. */
static void learn_mass(struct adapt *a, const double *z) {
    a->seen++;
    for (size_t i = 0; i < a->n; i++) {
        double d = z[i] - a->mean[i];
        a->mean[i] += d / a->seen;
        a->m2[i] += d * (z[i] - a->mean[i]);
    }
    if (!window_ends(a) || a->seen < 10) return;
    for (size_t i = 0; i < a->n; i++) {
        double var = a->m2[i] / (a->seen - 1);
        a->inv_mass[i] = a->seen / (a->seen + 5) * var + 1e-3 * 5 / (a->seen + 5);
        a->mean[i] = a->m2[i] = 0;
    }
    a->seen = 0;
    a->log_eps = NAN; /* found anew for the new masses */
}

/* E-BFMI (Betancourt 2016): squared steps of the energy over its spread. Momenta drawn anew change
 * the energy of a transition; where that change is small beside the whole range, the chain walks
 * through the levels of the posterior slowly, and may not have reached some. */
static void note_energy(struct adapt *a, double e) {
    if (a->energies++ > 0) a->e_steps += (e - a->e_last) * (e - a->e_last);
    double d = e - a->e_mean;
    a->e_last = e;
    a->e_mean += d / a->energies;
    a->e_m2 += d * (e - a->e_mean);
}

/* The lowest of the adapted scopes; NaN: unknown. */
static double nuts_bfmi(const struct infer_state *x) {
    double worst = NAN;
    for (const struct adapt *a = x->nuts; a; a = a->next)
        if (a->energies >= BFMI_DRAWS && a->e_m2 > 0) worst = fmin(a->e_steps / a->e_m2, worst);
    return worst;
}

void nuts_complain(const struct infer_state *x, struct buf *out) {
    const char *cure =
        "what was drawn may miss a part of the posterior. Write the model so that the "
        "scale of no choice depends on another (x = scale * z with z normal(0, 1)), "
        "or warm up longer";
    double bfmi = nuts_bfmi(x);
    if (x->divergences)
        buf_printf(out, "%llu trajectories diverged (the energy went wrong by more than %d): %s\n",
                   (unsigned long long)x->divergences, DIVERGED, cure);
    if (bfmi < BFMI_LOW)
        buf_printf(out, "the energy moves slowly, E-BFMI %.2f (should be above %g): %s\n", bfmi,
                   BFMI_LOW, cure);
    if (x->deep)
        buf_printf(out,
                   "%llu trajectories reached the limit of %d steps before they turned: the step "
                   "size is small for the posterior; warm up longer, or bring the choices to one "
                   "scale\n",
                   (unsigned long long)x->deep, (1 << MAX_DEPTH) - 1);
}

/* nuts: the tree. The trajectory is a binary tree whose leaves are points in the order of time. It
 * grows by doubling: a subtree as large as all there is, at a random end. It stops when a subtree
 * turns back on itself (that one is thrown away) or the whole does; either way the same tree could
 * have been grown from each of its points with the same probability, which is what makes the draw
 * from it reversible. */

/* A subtree: 2^depth points grown in one direction from an end of the tree. */
struct branch {
    struct point end;   /* outermost point in the direction of growth */
    struct point pick;  /* the point drawn from it */
    double log_weight;  /* log sum of exp(h0 - h) */
    double *rho;        /* sum of momenta */
    double *near, *far; /* velocities at its two ends, in the order of growth */
    bool ok;
};

/* The branches of a tree under way: at every depth the second half that grows there; the whole, in
 * the order of time, which ends at its last point; what is added to it. */
enum { WHOLE = MAX_DEPTH, ADDED, BRANCHES };
struct tree {
    struct continuous *c;
    const double *inv_mass;
    double eps, h0;              /* step size, above 0; energy of the start */
    double sum_accept, n_accept; /* of min(1, exp(h0 - h)) over all leaves: what eps is tuned by */
    bool divergent, deep;
    struct point first; /* of the whole */
    struct branch part[BRANCHES];
    double *numbers; /* of all these; owned */
};

static void tree_init(struct tree *t) {
    size_t n = t->c->n_z;
    double *room = t->numbers = NEW_ARRAY(double, (3 + 9 * BRANCHES) * n + 1);
    t->first = point_at(&room, n);
    for (int i = 0; i < BRANCHES; i++) {
        struct point end = point_at(&room, n), pick = point_at(&room, n);
        t->part[i] = (struct branch){end, pick, 0, room, room + n, room + 2 * n, false};
        room += 3 * n;
    }
}

/* The branch that is the point `end` alone. */
static void branch_of_end(struct branch *b, const double *inv_mass, size_t n) {
    point_copy(&b->pick, &b->end, n);
    for (size_t i = 0; i < n; i++) {
        b->rho[i] = b->end.p[i];
        b->near[i] = b->far[i] = b->end.p[i] * inv_mass[i];
    }
}

/* The generalised criterion (Betancourt 2017, appendix A.4): with rho the sum of the momenta, the
 * velocities M^-1 p at both ends still point along it. rho stands for end minus start, in any
 * metric. */
static bool no_turn(const struct branch *b, size_t n) {
    double near = 0, far = 0;
    for (size_t i = 0; i < n; i++) near += b->near[i] * b->rho[i], far += b->far[i] * b->rho[i];
    return near > 0 && far > 0;
}

/* One leapfrog step. Its weight is exp(h0 - h), so that the start of the tree weighs 1. */
static enum gpm_status leaf(struct tree *t, const struct point *from, double dir,
                            struct branch *b) {
    size_t n = t->c->n_z;
    point_copy(&b->end, from, n);
    enum gpm_status st = leapfrog(t->c, &b->end, dir * t->eps, t->inv_mass);
    if (st != GPM_OK) return st;
    double gain = t->h0 - energy(&b->end, t->inv_mass, n);
    t->sum_accept += gain >= 0 ? 1 : exp(gain);
    t->n_accept++;
    if (!(gain > -DIVERGED)) t->divergent = true;
    b->ok = gain > -1000;
    b->log_weight = gain;
    branch_of_end(b, t->inv_mass, n);
    return GPM_OK;
}

/* 2^depth further points in direction dir: two halves, each a tree. Within a subtree the pick is
 * multinomial: that of the second half with probability w2 / (w1 + w2). Not ok: a half turned or
 * diverged, and the caller must not use the branch. */
static enum gpm_status grow(struct tree *t, const struct point *from, double dir, int depth,
                            struct branch *b) {
    if (depth == 0) return leaf(t, from, dir, b);
    size_t n = t->c->n_z;
    enum gpm_status st = grow(t, from, dir, depth - 1, b);
    if (st != GPM_OK || !b->ok) return st;
    struct branch *more = &t->part[depth];
    st = grow(t, &b->end, dir, depth - 1, more);
    if (st != GPM_OK) return st;
    double total = logaddexp(b->log_weight, more->log_weight);
    if (log(rng_uniform(&t->c->t->rng)) < more->log_weight - total)
        point_copy(&b->pick, &more->pick, n);
    b->log_weight = total;
    point_copy(&b->end, &more->end, n);
    for (size_t i = 0; i < n; i++) b->rho[i] += more->rho[i];
    memcpy(b->far, more->far, n * sizeof(double));
    b->ok = more->ok && no_turn(b, n);
    return GPM_OK;
}

/* One doubling in a random direction; *more: go on. The pick moves to the new half with probability
 * min(1, w_new / w_old): biased progressive sampling, which leaves exp(-H) invariant over the tree
 * and prefers points far from the start (Betancourt 2017, appendix A.3). */
static enum gpm_status double_tree(struct tree *t, int depth, bool *more) {
    size_t n = t->c->n_z;
    struct branch *all = &t->part[WHOLE], *b = &t->part[ADDED];
    bool forward = rng_uniform(&t->c->t->rng) < 0.5;
    struct point *from = forward ? &all->end : &t->first;
    enum gpm_status st = grow(t, from, forward ? 1 : -1, depth, b);
    *more = st == GPM_OK && b->ok;
    if (!*more) return st;
    if (log(rng_uniform(&t->c->t->rng)) < b->log_weight - all->log_weight)
        point_copy(&all->pick, &b->pick, n);
    all->log_weight = logaddexp(all->log_weight, b->log_weight);
    point_copy(from, &b->end, n);
    memcpy(forward ? all->far : all->near, b->far, n * sizeof(double));
    for (size_t i = 0; i < n; i++) all->rho[i] += b->rho[i];
    *more = no_turn(all, n);
    return GPM_OK;
}

/* Grows the whole tree from the current state. */
static enum gpm_status nuts_tree(struct tree *t) {
    size_t n = t->c->n_z;
    struct branch *all = &t->part[WHOLE];
    bool more = true;
    enum gpm_status st = start(t->c, &all->end);
    if (st != GPM_OK || all->end.logp == -INFINITY) return st;
    draw_momentum(&all->end, t->inv_mass, n, &t->c->t->rng);
    t->h0 = energy(&all->end, t->inv_mass, n);
    branch_of_end(all, t->inv_mass, n);
    point_copy(&t->first, &all->end, n);
    for (int depth = 0; depth < MAX_DEPTH && more && st == GPM_OK; depth++)
        st = double_tree(t, depth, &more);
    t->deep = more && st == GPM_OK;
    return st;
}

/* One transition on a block without brush. Nothing but numbers changes, so the blocks there are
 * stay the same and log P(block) cancels: no ratio is left to compute. A pick whose weight turns
 * out -inf when it is built in the trace is refused. */
static enum gpm_status nuts_draw(struct continuous *c, struct adapt *a, bool *accepted) {
    struct tree t = {.c = c, .inv_mass = a->inv_mass};
    const double *picked;
    double logp;
    bool warm = a->done < a->warmup;
    enum gpm_status st = isnan(a->log_eps) ? first_step_size(c, a) : GPM_OK;
    if (st != GPM_OK) return st;
    t.eps = exp(warm ? a->log_eps : a->log_eps_bar);
    tree_init(&t);
    st = nuts_tree(&t);
    picked = t.part[WHOLE].pick.z;
    if (st == GPM_OK && t.n_accept > 0) {
        st = continuous_build(c, picked, &logp);
        *accepted = st == GPM_OK && logp > -INFINITY;
        a->done++;
        if (warm) {
            average(a, t.sum_accept / t.n_accept);
            learn_mass(a, picked);
        } else {
            c->x->divergences += t.divergent;
            c->x->deep += t.deep;
            /* h0 is the energy right after the momenta were drawn: what E-BFMI compares */
            note_energy(a, t.h0);
        }
    }
    mem_free(t.numbers);
    return st;
}

static enum gpm_status nuts_step(struct step *s) {
    struct continuous c;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    struct adapt *a = adapt_for(s->x, s->g, c.n_z);
    if (c.w_old == -INFINITY || move_has_brush(&c.m))
        st = trajectory(&c, 0.1, 1 + (double)rng_below(&s->t->rng, 10), s);
    else
        st = nuts_draw(&c, a, &s->accepted);
    continuous_close(&c, s->accepted);
    return st;
}

static enum gpm_status op_nuts(struct infer_state *x, const struct action *a, value *out) {
    enum gpm_status st = infer_steps(x, a, out);
    bool slow = nuts_bfmi(x) < BFMI_LOW;
    if (st != GPM_OK || !(x->divergences || slow || x->deep)) return st;
    diag_warn(x->core->diags, DIAG_SLOW, x->at, "nuts does not follow this posterior: %s",
              x->divergences ? "trajectories diverge"
              : slow         ? "its energy moves slowly (E-BFMI below 0.3)"
                             : "trajectories reach the limit of their length");
    diag_set_help(x->core->diags, "summarize and gpmem diagnose say how often; where the scale "
                                  "of a choice depends on another, write it as scale * z with "
                                  "z ~ normal(0, 1)");
    return st;
}

const struct infer_op infer_hmc_rows[] = {
    {"hmc",
     "(scope: target, block?: block, step_size?: nonneg, leapfrog_steps?: count, "
     "transitions?: count) -> action",
     "Hamiltonian Monte Carlo on the continuous choices of the block, 1 to leapfrog_steps steps of "
     "step_size",
     STEPS(hmc_step, "all"), .n_extra = 2, .extra = {0.1, 10},
     .counted = "number of leapfrog steps"},
    {"nuts", "(scope: target, block?: block, warmup?: count, transitions?: count) -> action",
     "No-U-turn sampler; the first `warmup` transitions (300) adapt step size and masses",
     .flags = OP_STEPS, .run = op_nuts, .block = "all", .n_extra = 1, .extra = {300},
     .steps_last = true, .step = nuts_step},
    {0},
};
