/* SPDX-License-Identifier: Apache-2.0
 *
 * Ordinary differential equations y' = f(t, y, p) from y(t0) = y0 to given times, with derivatives
 * of the solution in y0, t0, the times and the parameters p. Functions of plain doubles.
 */
#ifndef MATH_ODE_H
#define MATH_ODE_H
#include "base/vec.h"
#include "gpmem/status.h"

enum ode_end {
    ODE_DONE,
    ODE_STEPS,  /* more steps than allowed */
    ODE_STUCK,  /* steps below resolution: a singularity or a stiff system */
    ODE_NAN,    /* f gave a non-finite value at the solution */
    ODE_ASKED,  /* f ended the solution by its status */
    ODE_LIBRARY /* the library for stiff systems is missing */
};

struct ode {
    size_t n, p; /* equations, parameters */
    /* dy = f(t, y); a status other than GPM_OK ends the solution. */
    enum gpm_status (*f)(void *ctx, double t, const double *y, double *dy);
    /* After f at a point: ddy += d . df/dy, dp += d . df/dp (NULL: not wanted). */
    void (*back)(void *ctx, const double *d, double *ddy, double *dp);
    void *ctx;
    const double *y0, *ts; /* m non-decreasing times, all >= t0 */
    double t0;
    size_t m;
    double rtol, atol;
    size_t max_steps;
    /* results */
    double at;              /* the time reached */
    enum gpm_status status; /* for ODE_ASKED: the status of f */
};

/* Data that the backward pass needs. */
struct ode_step {
    double t, h;
};
struct ode_track {
    VEC(struct ode_step) steps;
    VEC(double) y, k;      /* per step: n values at its start, 7 n slopes of its stages */
    VEC(size_t) output_in; /* step of each time; SIZE_MAX: at t0 */
};
void ode_track_release(struct ode_track *t);

/* Adjoints: d (m times n, given) of the solution; adds to those of y0 and p. */
struct ode_adjoint {
    const double *d;
    double *dy0, *dp;
};

/* Dormand and Prince's Runge-Kutta method of order 5(4) with its continuous extension. out: n
 * numbers per time. track: filled for ode_rk_back, or NULL. */
enum ode_end ode_rk(struct ode *o, double *out, struct ode_track *track);
/* The exact derivative of the result of ode_rk, for the steps it took. */
enum gpm_status ode_rk_back(struct ode *o, const struct ode_track *track,
                            const struct ode_adjoint *a);
/* Backward differentiation formulas for stiff systems: CVODES of SUNDIALS, loaded on first use.
 * sens: NULL, or d out / d (y0, p): for each time n + p columns of n numbers. */
enum ode_end ode_stiff(struct ode *o, double *out, double *sens);
#endif
