/* SPDX-License-Identifier: Apache-2.0
 * Inside of struct gp, for the gp_*.c files. Contracts in gp.h. */
#ifndef GP_GP_INT_H
#define GP_GP_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "gp/process/gp.h"
#include "gp/way/gp_approx.h"
#include "gp/process/gp_cache.h"
#include "gp/way/gp_grid.h"
#include "gp/way/gp_states.h"
#include "numeric/la/chol.h"

struct gp_way;

/* One model with what was computed for it. */
struct gp_slot {
    struct kern *kern;
    struct mean *mean; /* NULL: zero */
    double noise;
    const struct gp_engine *engine;     /* of the factor; set with have_factor */
    struct chol f;                      /* of "cpu" */
    struct gp_device_factor *on_device; /* of "gpu"; NULL: none */
    void *spread;                       /* of a program's own engine; NULL: none */
    double *r;                          /* residual ybar - mean, n values */
    double *w;                          /* L^-1 r; less the integrated mean, L^-1 (r - mu) */
    double *u;                          /* L^-1 1, with an integrated mean */
    double mu, q, S;                    /* see gp_set_integrated */
    bool have_factor, have_r, have_w, have_logml, singular;
    double logml;
    double quad;    /* r' K^-1 r, where the way to the likelihood left it */
    bool have_quad; /* it did */
    size_t counted; /* inputs in the last likelihood of this model; 0: none */
    size_t asked;   /* predictions since the model was set */
    const char *method;
    const struct gp_way *used; /* the approximation that is built; NULL: none */
    struct inducing low;
    struct kern *smooth;            /* kernel without white noise, for the inducing points */
    double white;                   /* its variance */
    double error;                   /* of the logml, in nats; 0: exact */
    struct gp_kept kept;            /* of the filters */
    double *slopes;                 /* the gradient as the card gave it with the likelihood */
    bool have_slopes, asked_slopes; /* it is there; it was asked for */
};

/* Where the data of a process stand on the card; stamp 0: nowhere. */
struct gp_placed {
    uint64_t stamp, filling; /* of the data; of the memory there, which starts again when full */
    size_t at;               /* doubles */
};

/* v = L^-1 K(X, x) of the last single point asked for: f_compute scores a pair and then records it,
 * and the second solve is the first one. */
struct gp_solved {
    double *v, *x;
    size_t n, cap;
    const struct chol *f; /* the factor, and its state then */
    unsigned long changes;
};

struct gp_pair {
    size_t entry;
    double y;
    bool exact; /* a value of the function itself, without noise */
};

/* What the pairs at one input say. */
struct gp_entry {
    size_t count, exact; /* pairs; exact ones among them */
    double ybar;         /* the exact value where there is one, else the mean */
    double ss;     /* squared deviations of the others from ybar; inf: exact values disagree */
    double more;   /* the noise's variance here is 1 + more times noise^2; ss is divided by that */
    bool touched;  /* while data change: this entry does, */
    double before; /* and its share of the noise was this */
};

struct gp_engine;
struct gp_device_factor;
struct gp_program;

struct gp {
    int dim;
    enum gp_device device;
    double *x; /* distinct inputs, column-major, leading dimension cap */
    size_t n, cap;
    struct gp_entry *at;
    size_t nexact;  /* exact pairs in all */
    uint64_t stamp; /* of the data: equal in two processes that hold the same */
    VEC(struct gp_pair) pairs;
    struct map index;        /* hash of an input -> 1 + its place */
    struct gp_places places; /* on a regular grid, perhaps with gaps */
    struct gp_slot slot[2];
    int cur;
    bool proposed;
    unsigned ways;          /* enum gp_exact_way */
    unsigned integrated;    /* enum gp_integrated */
    struct kern_view *view; /* of the current model, for gp_point; NULL: to be made */
    double *row;            /* its scratch */
    bool roams;             /* its kernel takes many shapes */
    bool apart;             /* pairs at equal inputs are entries of their own */
    gp_loud_fn loud;        /* NULL: the noise is the same everywhere */
    const void *loud_ctx;   /* borrowed */
    enum gp_approx approx;
    size_t approx_size;
    size_t filtered; /* inputs above which filters serve or nothing does; 0: there are other ways */
    struct vecchia vecchia; /* order of the points; n = 0: to be made */
    struct gp_timeline times;
    struct gp_cache cache;
    struct gp_solved solved;
    double *work; /* grows only */
    size_t nwork;
    struct gp_program *program; /* that served last */
    struct gp_placed placed;
    int slopes_follow; /* > 0: likelihoods were followed by gradients of late; both are taken */
    const char *refused[8]; /* by way: why it did not serve the question before */
};

/* For gp_pack.c: room for n inputs; inputs, entries and pairs are in place. */
GPM_MUST_USE enum gpm_status gp_reserve(struct gp *g, size_t n);
void gp_data_read(struct gp *g);
static inline struct gp_slot *gp_current(struct gp *g) {
    return &g->slot[g->cur];
}
/* gp_integrated.c: after L^-1 r is in w; the log likelihood; the factor of the quadratic form's
 * part in the gradient, and its inverse matrix less the mean's part. */
GPM_MUST_USE enum gpm_status gp_integrate(struct gp *g, struct gp_slot *s);
double gp_integrated_logml(const struct gp *g, const struct gp_slot *s);
double gp_integrated_scale(const struct gp *g, const struct gp_slot *s); /* s2, 1 when it is not */
GPM_MUST_USE enum gpm_status gp_integrated_weights(struct gp *g, struct gp_slot *s, double *inverse,
                                                   size_t ld, double *scratch, double *weight);
/* What the integrated mean and scale make of a posterior at m points; along: 1 - V'u, V = L^-1 K(X,
 * X*); var m values or cov m x m, either may be NULL. */
void gp_integrated_posterior(const struct gp *g, const struct gp_slot *s, size_t m,
                             const double *along, double *mean, double *var, double *cov,
                             size_t ld);
/* out += A z with AA' = cov (m x m), by Cholesky with the jitter ladder, else from the clipped
 * spectrum; cov is overwritten. */
GPM_MUST_USE enum gpm_status gp_add_draw(size_t m, double *cov, const double *z, double *out);
void gp_drop_view(struct gp *g);
/* The inputs; and with the grid that they lie on, which kernels among the inputs themselves use.
 * The latter are sorted for it when inputs have come. */
struct kern_pts gp_inputs(const struct gp *g);
struct kern_pts gp_points(struct gp *g);
void gp_slot_forget(struct gp_slot *s); /* drops what was computed, keeps memory */
/* Another model in the proposed slot, with nothing computed for it. */
GPM_MUST_USE enum gpm_status gp_proposed(struct gp *g, const struct kern *k,
                                         const struct mean *mean, double noise,
                                         struct gp_slot **out);
/* Residuals, factor and w = L^-1 r of a slot; GPM_E_NOT_PD (slot marked singular). */
GPM_MUST_USE enum gpm_status gp_slot_residual(struct gp *g, struct gp_slot *s);
GPM_MUST_USE enum gpm_status gp_slot_factor(struct gp *g, struct gp_slot *s);
GPM_MUST_USE enum gpm_status gp_slot_solve(struct gp *g, struct gp_slot *s);
GPM_MUST_USE enum gpm_status gp_slot_logml(struct gp *g, struct gp_slot *s);
/* White noise by value on distinct inputs is noise per point: *extra gets its variance, the result
 * is the kernel of the rest, owned. Inducing points and paths cannot carry it. */
struct kern *gp_without_white(const struct kern *k, double *extra);
/* By name, not automatically. */
static inline bool gp_approx_asked(const struct gp *g) {
    return g->approx > GP_EXACT;
}
/* The solution for the single point xs, or NULL; and what keeps one. */
const double *gp_solved_find(const struct gp *g, const struct gp_slot *s, struct kern_pts xs);
void gp_solved_keep(struct gp *g, const struct gp_slot *s, struct kern_pts xs, const double *v);
/* At least n doubles of scratch; NULL when out of memory. */
double *gp_work(struct gp *g, size_t n);
/* Variance of the noise on the value of entry e, as a part of noise^2: replicates share it, exact
 * values have none. */
static inline double gp_share(const struct gp *g, size_t e) {
    return g->at[e].exact ? 0 : (1 + g->at[e].more) / (double)g->at[e].count;
}
/* The data of another one, in the same order, into an empty one. */
GPM_MUST_USE enum gpm_status gp_copy_data(struct gp *to, const struct gp *from);
/* Is the function's value at this input known for sure? */
bool gp_known(const struct gp *g, const double *x, double *y);
bool gp_contradicts(const struct gp *g, double noise);
/* What replicates add to the log density besides the entry means. */
double gp_replicate_term(const struct gp *g, double noise);
/* Its derivative in the noise, the squared deviations counted `weight` times. */
double gp_replicate_slope(const struct gp *g, double noise, double weight);
#endif
