/* SPDX-License-Identifier: Apache-2.0
 *
 * A GP of one input (and of lines on further ones) by filters (states_run.h) instead of matrices:
 * O(n) likelihood, gradient, prediction, parts and draws; exact where every row of the kernel has a
 * form. A way of gp_way.h.
 *
 * Serves: one input column, or several of which all but the first (the time) have lines alone, no
 * time twice; kernels that are sums and products of rows with a form, lines, constants, white noise
 * and change operators; any noise, replicates, missing points.
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
    char label[72];
};
void gp_kept_release(struct gp_kept *k);

/* The points change: entries from `first` on are new, or (changed) others have changed, too. */
void gp_timeline_changed(struct gp *g, size_t first, bool changed);
void gp_timeline_release(struct gp *g);

/* By how much the form of SE may move the log likelihood of a run; 0: its forms are exact. */
double gp_form_error(const struct st_run *r, double noise);

/* ---- for the two files ---- */
struct gp_question;
struct gp_series {
    struct st_model m;
    struct st_series x;
    double *buf;   /* x, y, noise */
    size_t *entry; /* event -> entry, SIZE_MAX: none */
    size_t *place;
    double least; /* variance of a measurement */
    bool grid;    /* by Chandrasekhar's filter; at first: it fits */
    double rival; /* what the way costs that would be taken instead */
};
/* The model of a slot with at most so many states, `more` events to be added; then its series. The
 * data alone, likelihood and slopes; or what lies between them, too. False: no filter serves. */
bool gp_series_model(struct gp *g, struct gp_slot *s, bool data_alone, size_t more, size_t most,
                     struct gp_series *e, const char **why);
GPM_MUST_USE enum gpm_status gp_series_fill(struct gp *g, struct gp_slot *s, struct gp_series *e);
void gp_series_release(struct gp_series *e);
/* POINTS and JOINT (gp_way.h), with the series that the question has. */
GPM_MUST_USE enum gpm_status gp_states_points(struct gp_question *q, bool *done);
GPM_MUST_USE enum gpm_status gp_states_draw(struct gp_question *q, bool *done);
#endif
