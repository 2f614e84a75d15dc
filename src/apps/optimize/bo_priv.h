/* SPDX-License-Identifier: Apache-2.0
 * The optimiser's state, shared by its files. Points are rows in the order of first telling. */
#ifndef OPTIMIZE_BO_PRIV_H
#define OPTIMIZE_BO_PRIV_H
#include "base/vec.h"
#include "numeric/special/rng.h"
#include "apps/optimize/bayesopt.h"
#include "apps/optimize/bo_model.h"

/* The last is for bounded numbers: sign(t) log(1 + |t|) around the bound. */
enum bo_warp { BO_IDENTITY, BO_SQRT, BO_LOG, BO_BILOG, BO_WARP_COUNT };
extern const char *const bo_warp_names[BO_WARP_COUNT];

struct bo_point {
    double *x, *u;  /* owned, one block with y */
    double *y;      /* means of the K numbers; NaN while all evaluations failed */
    VEC(double) ys; /* every value, K at a time in the order of telling */
    int count;
};

/* A fitted combination of kernel and warp. */
struct bo_combo {
    double *theta; /* owned */
    bool fitted;
    int lost;      /* times in a row that it lost by more than 10 nats */
    double *chain; /* owned; state of the Markov chain, NULL: not begun */
};

/* Noise that differs by place (bo_loud.c): coefficients of its log variance. */
#define BO_LOUD_DIMS 10 /* numeric coordinates at most */
struct bo_louder {
    bool on;
    double c[1 + 2 * BO_LOUD_DIMS];
};

/* One number of the evaluations, and what is believed about it as a function of the point. */
struct bo_output {
    struct bo *b;        /* borrowed */
    int k;               /* which number */
    struct bo_goal goal; /* in the optimiser's direction: small is good */
    struct bo_model model;
    struct bo_combo combo[BO_KERN_COUNT][BO_WARP_COUNT];
    enum bo_kern kern;
    enum bo_warp warp;
    size_t n_full;                       /* evaluations at the last full fit; 0: none */
    size_t fit_steps, fits;              /* fits of any kind, full ones */
    double w_mean, w_sd, w_min, w_scale; /* z = (warp((y - min)/scale) - mean)/sd */
    VEC(size_t) active;                  /* points the model sees, the best first */
    VEC(double) model_u, model_y;        /* what the model was given: points, values */
    int given;                           /* under which warp; -1: the points are others by now */
    struct gp_path *path;                /* the function drawn for this decision; NULL: none */
    double spread;                       /* mean deviation of the values told: unit of violations */
    struct bo_louder loud;               /* of a settled model */
};

struct bo_local {
    bool hot, pending, probing;
    size_t center; /* point, SIZE_MAX: none */
    double rho;
    double merit0, predicted, size; /* of the pending step */
    size_t n_used;                  /* points its model had */
    int misses;                     /* bad steps in a row that did not shrink the region */
    int run;                        /* local decisions in a row */
    double *x;                      /* owned; the pending point, as it will be told */
    /* Of each number, K each, one block: the merit of a step is the objective plus the violations
     * times their prices; what the step's model said; by how much bounds are kept away from, as the
     * model was wrong by as much. */
    double *price, *said, *margin;
};

struct bo_region { /* trust region for many dimensions */
    double side;
    int wins, losses;
    double best;
};

struct bo {
    const struct bo_space *space; /* borrowed */
    struct gpm_optimize_options opt;
    uint64_t seed;
    int D;
    int K;                 /* numbers of an evaluation */
    struct bo_output *out; /* owned, K */
    int n_obj;             /* of them objectives; their indices: */
    int *obj;              /* owned */
    int alone;    /* of the objectives the one that this decision minimises; -1: all of them */
    int fidelity; /* coordinate that sets the cost of an evaluation; -1: none */
    size_t cheap; /* decisions in a row for less than the full cost */
    bool plain;   /* one number, minimised, without bounds */
    VEC(struct bo_point) points;
    VEC(double) pending; /* points in flight as the model sees them, D numbers each */
    size_t told, asks;
    size_t n_local, n_global, n_initial; /* decisions by kind */
    bool failed_last, turn_local;
    size_t doubted; /* evaluations when noise was last looked for */
    size_t stuck; /* global proposals in a row too close to the best to teach the model anything */
    /* Merit of a point: max over objectives of gain (y - from); one objective: the value. Several:
     * Chebyshev's scalarisation in units of the front, with weights drawn for each decision. */
    double *gain, *from; /* owned, K each, one block */
    VEC(size_t) front;   /* points that nothing is better than in every objective */
    VEC(double) front_y; /* their objectives in units of the front, n_obj each */
    /* n_obj each, one block: where the front begins, its width, the reference point in its units */
    double *ideal, *unit, *end;
    struct bo_feas *feas; /* NULL: no failures */
    struct bo_local local;
    struct bo_region region;
    VEC(double) tabu; /* boxes: of each its centre, D numbers, and d half-widths */
};

static inline size_t bo_tabu_width(const struct bo *b) {
    return (size_t)(b->D + b->space->d);
}

/* u is of the function meant: it has no fidelity, or its upper end. */
static inline bool bo_is_full(const struct bo *b, const double *u) {
    return b->fidelity < 0 || u[b->fidelity] >= 1;
}

/* The output whose scales stand for all: the first objective, else the first number. */
static inline struct bo_output *bo_lead(const struct bo *b) {
    return &b->out[b->n_obj ? b->obj[0] : 0];
}

#define BO_MANY           5 /* outputs: from so many on each has to be thrifty */
#define BO_MANY_DIMS      20
#define BO_MAX_OBJECTIVES 6
#define BO_RHO_FIRST      0.1 /* radius of a new trust region of the local arm */

struct bo_ranked { /* a point with what it is sorted by; ties in the order of points */
    double key, second;
    size_t i;
};
int bo_by_key(const void *a, const void *b); /* bo_data.c */

/* bo_data.c */
size_t bo_find(const struct bo *b, const double *x);     /* SIZE_MAX: none */
size_t bo_incumbent(const struct bo *b, bool skip_tabu); /* SIZE_MAX: none */
size_t bo_n_good(const struct bo *b);
/* By how much the K numbers break their bounds, in units of their spreads; 0: they do not. */
double bo_violation(const struct bo *b, const double *y);
double bo_merit(const struct bo *b, const double *y);
/* Squared distance in units of the length scales; categories that differ are far. */
double bo_distance2(const struct bo *b, const double *u, const double *v, const double *inv_l);
bool bo_in_tabu(const struct bo *b, const double *u);
/* Of many variables often few matter, and then the search is one of few: along coordinates whose
 * 1/l is below this the first objective's model says that nothing happens. */
double bo_idle(const struct bo *b);
/* u within 1e-7 of a told or pending point (noisy: of a pending one only) */
bool bo_duplicate(const struct bo *b, const double *u);
void bo_load_points(struct bo_output *o, const double *theta); /* active set, lengths exp(theta) */
/* The active set's values under the warp, into the model; sets w_*. */
GPM_MUST_USE enum gpm_status bo_load_outputs(struct bo_output *o, enum bo_warp warp);
double bo_log_jacobian(const struct bo_output *o, enum bo_warp warp); /* y -> z, active set */
double bo_unwarp(const struct bo_output *o, double z);
double bo_unwarp_slope(const struct bo_output *o, double z); /* dy/dz */
double bo_to_z(const struct bo_output *o, double y);         /* infinite ones stay so */

/* bo_fit.c: brings the models up to date for a decision, factors included. */
GPM_MUST_USE enum gpm_status bo_refit(struct bo *b, struct rng *r);
/* The same without choosing or learning anything new: for predictions between decisions. */
GPM_MUST_USE enum gpm_status bo_ensure_model(struct bo_output *o);

/* bayesopt.c */
void bo_uniform_point(const struct bo *b, struct rng *r, double *u);
double bo_any_level(const struct bo *b, struct rng *r, int k); /* of category k of u, at random */

/* bo_acq.c: a global proposal in u. far: how far from the best point (outside tabu regions) the
 * first choice was, in length scales; infinite when categories differ. */
GPM_MUST_USE enum gpm_status bo_global(struct bo *b, struct rng *r, double *u, double *far);
double bo_log_ei(double best, double mean, double var, double *d_mean, double *d_var);
/* the point that the model sees whose posterior mean is least; borrowed */
const double *bo_lowest_mean(struct bo *b, double *mean);
/* minimum of the posterior mean, from the best evaluated point on */
void bo_minimise_mean(struct bo *b, double *u);

/* bo_front.c: several objectives. */
void bo_front_update(struct bo *b, struct rng *r); /* the front, its units, new weights */
/* Would a drawn value of the objective that is minimised alone move the front's end? */
bool bo_end_gains(const struct bo *b, double value);
/* What is to be minimised in the objectives y, with its derivatives: minus the log of the volume
 * that y adds to the front, or how far behind the front y is. */
#define BO_NO_VOLUME 20.7 /* - log 1e-9 of the front's volume: above, y adds nothing */
double bo_front_value(const struct bo *b, const double *y, double *slope);

/* bo_draw.c: all outputs drawn at once. */
/* What a decision may cost: the more numbers an evaluation gives, the less for each of them. */
struct bo_effort {
    size_t features;   /* random features of each drawn function: they carry the prior alone */
    int iterations;    /* of a descent */
    int starts;        /* descents from so many of the best candidates */
    int rounds;        /* looks at the draw when it says nothing new, */
    double wider;      /* each so many times as wide as the one before */
    double candidates; /* over all numbers */
};
struct bo_effort bo_effort(const struct bo *b);
GPM_MUST_USE enum gpm_status bo_draw(struct bo *b, struct rng *r, double tau);
/* Value of the draw at u: what is to be minimised, above BO_BROKEN where bounds are broken. */
#define BO_BROKEN 1e6
double bo_draw_value(struct bo *b, const double *u);
/* K values of the draw and of the means beneath at each of count points; the value of K of them. */
void bo_draw_many(struct bo *b, const double *u, size_t count, double *z, double *mean);
double bo_draw_judge(struct bo *b, double *z);
/* A local minimum of it from u on, in the box; returns its value. */
double bo_draw_refine(struct bo *b, double *u, const double *lo, const double *hi);

/* bo_local.c */
/* What a local step is to decrease, see struct bo_local. */
double bo_local_merit(const struct bo *b, const double *y);
bool bo_local_ask(struct bo *b, struct rng *r, double *u); /* false: nothing to do here */
void bo_make_tabu(struct bo *b, const double *u);  /* a box around u is left alone from now on */
void bo_local_told(struct bo *b, const double *y); /* of the pending point; NULL: it failed */

/* bo_noise.c: in the model's units, of a factored model. */
/* Standard deviation of an evaluation's noise; at u (or NULL: anywhere) by the repetitions there.
 */
double bo_noise_sd_at(struct bo_output *o, const double *u);
/* What is believed at point p without its own values, from what is believed with them. */
void bo_leave_out(struct bo_output *o, const struct bo_point *p, double *mean, double *var);
/* Of each active point: by how much its values are off when left out, and the variance that the
 * model expects of that; owned by the caller. told: means to be corrected, NULL: the model's. */
double *bo_left_out(struct bo_output *o, const double *told);
/* By how much, squared, the mean is off at the evaluated place u beyond its variance: values and
 * how likely they are. */
#define BO_OFF 12
struct bo_off {
    double t2[BO_OFF], share[BO_OFF];
};
void bo_off(struct bo_output *o, const double *left, const double *u, struct bo_off *out);
/* What is believed at a place u between the points, corrected by what those close to it are off by.
 */
void bo_off_between(struct bo_output *o, const double *left, const double *u, double *mean,
                    double *var);
/* Exact values: is it time to evaluate the best point u once more, because noise would explain the
 * values better? */
bool bo_doubt(struct bo *b, double *u);

/* bo_loud.c: variance of the noise at u in units of the model's; 1 where it is one for all. */
double bo_loud(const struct bo_output *o, const double *u);
/* A factored model takes noise by place if that explains the values better, and is factored again;
 * fits are made without. */
GPM_MUST_USE enum gpm_status bo_loud_learn(struct bo_output *o);
void bo_loud_off(struct bo_output *o);

/* bo_cusp.c: what is believed at the active points and, last, at the lowest place u, when the
 * minimum may be sharp. */
void bo_cusp(struct bo_output *o, const double *u, double *mean, double *var);

/* bo_worth.c: what an evaluation at each of the first count of n places would be worth, when one of
 * the n is to be recommended; in the model's units. False: not known. */
bool bo_worth(struct bo_output *o, const double *at, size_t n, size_t count, double *worth);

/* bo_fidelity.c: what the point u, chosen for the function meant, is to cost. */
void bo_choose_fidelity(struct bo *b, double *u);

/* bo_feas.c */
struct bo_feas;
void bo_feas_update(struct bo *b); /* after bo_refit */
void bo_feas_draw(struct bo *b, struct rng *r);
double bo_feas_path(struct bo *b, const double *u); /* > 0: feasible in this draw */
double bo_feas_log_prob(struct bo *b, const double *u);
void bo_feas_free(struct bo_feas *f);
#endif
