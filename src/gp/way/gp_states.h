/* SPDX-License-Identifier: Apache-2.0
 *
 * A GP of one input (and of lines on further ones) by filters (states_run.h) instead of matrices:
 * O(n) likelihood, gradient, prediction, parts and draws; exact where every row of the kernel has a
 * form. Each function sets *done to false, and nothing else, when it does not serve: the caller
 * then goes the next way.
 *
 * Serves: one input column, or several of which all but the first (the time) have lines alone, no
 * time twice; kernels that are sums and products of rows with a form, lines, constants, white noise
 * and change operators; any noise, replicates, missing points; no integrated mean or scale, no
 * approximation asked for by name; more points than the dense way is as fast for.
 * SE, whose form is not exact, only where matrices are not an option (above GP_EXACT_MAX inputs)
 * and the noise is at least SE_NOISE of its size, and then with an error that gp_approx_error
 * tells.
 */
#ifndef GP_GP_STATES_H
#define GP_GP_STATES_H
#include "gp/process/gp.h"
#include "gp/way/gp_grid.h"
#include "gp/way/states_run.h"

/* The inputs in ascending order. */
struct gp_timeline {
    size_t n;      /* inputs that are in order; 0: to be made */
    size_t *order; /* event -> entry; NULL: entries are ascending */
    size_t cap;
    unsigned long epoch; /* grows when anything but the end has changed */
};

/* What a filter leaves for data that are appended at the end, and what was computed. */
struct gp_kept {
    bool valid, used; /* there is a run to go on from; the likelihood is that of a filter */
    struct st_model *model;
    struct st_run *run;
    double *state, last; /* after the last event, at this time */
    double step;         /* > 0: the next event is so much later */
    double lattice;      /* > 0: or a multiple of this (folded harmonics) */
    size_t n, room;      /* entries that are in it; that its harmonics are good for */
    unsigned long epoch;
    size_t states;
    size_t asked; /* predictions since the model was set */
    char label[72];
};
void gp_kept_release(struct gp_kept *k);

/* What a filter is to be faster than: Toeplitz recursions, which it never is below GP_GRID_LEAST
 * points of a regular grid, or a dense factor. */
enum gp_rival { GP_BESIDE_GRID, GP_BESIDE_FACTOR };

/* Sets s->logml and, when want is not NULL, the slopes. */
GPM_MUST_USE enum gpm_status gp_states_logml(struct gp *g, struct gp_slot *s, enum gp_rival rival,
                                             const struct gp_slopes *want, bool *done);
/* Posterior of the function, or of an additive part of it, at column-major points: as posterior()
 * of gp_predict.c, which calls it first. The mean function is not added for a part. */
GPM_MUST_USE enum gpm_status gp_states_posterior(struct gp *g, const struct kern *part,
                                                 struct kern_pts xs, double *mean, double *var,
                                                 double *cov, size_t ld, bool *done);
/* Joint draw of the function, with normals of a generator that z seeds: for more points than a
 * matrix of theirs is wanted for. */
GPM_MUST_USE enum gpm_status gp_states_draw(struct gp *g, struct kern_pts xs, double extra,
                                            const double *z, double *out, bool *done);
/* Log density of many new pairs given the data: that of all less that of the data. */
GPM_MUST_USE enum gpm_status gp_states_conditional(struct gp *g, enum gp_target target,
                                                   const double *x, const double *y, size_t n,
                                                   double *logpdf, bool *done);
/* The points change: entries from `first` on are new, or (changed) others have changed, too. */
void gp_timeline_changed(struct gp *g, size_t first, bool changed);
void gp_timeline_release(struct gp *g);

/* By how much the form of SE may move the log likelihood of a run; 0: its forms are exact. */
double gp_form_error(const struct st_run *r, double noise);

/* ---- for the two files ---- */
/* The model of a slot and its series, `more` events to be added; *done is false when it does not
 * serve. Asked about: the data alone, likelihood and slopes; or what lies between them, too. */
enum gp_asked { GP_OF_DATA, GP_OF_ALL };
struct gp_series {
    struct st_model m;
    struct st_series x;
    double *buf;   /* x, y, noise */
    size_t *entry; /* event -> entry, SIZE_MAX: none */
    size_t *place;
    double least; /* variance of a measurement */
    bool grid;    /* Chandrasekhar's filter fits */
};
GPM_MUST_USE enum gpm_status gp_series_init(struct gp *g, struct gp_slot *s, enum gp_asked asked,
                                            size_t more, enum gp_rival rival, struct gp_series *e,
                                            bool *done);
void gp_series_release(struct gp_series *e);
#endif
