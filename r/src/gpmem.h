/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines of the package. Handles of the library are external pointers with finalizers; a NULL
 * one (after a workspace was loaded) makes the R side build the object again.
 */
#ifndef R_GPMEM_H
#define R_GPMEM_H
#include <R.h>
#include <Rinternals.h>
#include <gpmem/discover.h>
#include <gpmem/draws.h>
#include <gpmem/gp.h>
#include <gpmem/optimize.h>
#include <gpmem/regress.h>

/* Runs f(arg) on a thread of its own. Meanwhile this one passes on what `pump` (may be NULL) finds
 * to print, and asks R for interrupts: at the first it calls stop(arg), if there is one. TRUE:
 * there was an interrupt. */
Rboolean run_beside(void (*f)(void *), void (*pump)(void *), void (*stop)(void *), void *arg);

/* Members of a list by name; errors name what is wrong. */
SEXP member(SEXP list, const char *name);
double number(SEXP list, const char *name, double otherwise);
/* The one reader of counts and seeds: an error for what is negative, NA, no whole number or more
 * than one; the library knows the range of each. */
uint64_t whole(SEXP list, const char *name, uint64_t otherwise);
uint64_t whole_of(SEXP v, const char *name);
unsigned few_of(SEXP v, const char *name);
unsigned few(SEXP list, const char *name, unsigned otherwise); /* the same for an unsigned */
const char *word(SEXP list, const char *name);                 /* NULL: not given */

SEXP gp_new(SEXP dim, SEXP kernel, SEXP noise, SEXP mean, SEXP x, SEXP y);
SEXP gp_fit(SEXP gp, SEXP seed, SEXP starts, SEXP keep_noise);
SEXP gp_facts(SEXP gp);
SEXP gp_predict(SEXP gp, SEXP x, SEXP measured, SEXP covariance);
SEXP gp_simulate(SEXP gp, SEXP x, SEXP draws, SEXP seed);
SEXP gp_alive(SEXP gp);
SEXP kernel_rows(void);

SEXP discover_run(SEXP csv, SEXP path, SEXP options);
SEXP discover_report(SEXP handle, SEXP format);
SEXP discover_query(SEXP handle, SEXP question);
SEXP discover_forecast(SEXP handle, SEXP horizon, SEXP times, SEXP table, SEXP level,
                       SEXP quantiles, SEXP paths);
SEXP panel_run(SEXP path, SEXP by, SEXP independent, SEXP options);
SEXP discover_save(SEXP handle, SEXP folder);
SEXP discover_open(SEXP folder);

SEXP regress_run(SEXP csv, SEXP path, SEXP options);
SEXP regress_report(SEXP handle, SEXP format);
SEXP regress_predict(SEXP handle, SEXP csv);

SEXP optimizer_new(SEXP options);
SEXP optimizer_names(SEXP handle);
SEXP optimizer_ask(SEXP handle);
SEXP optimizer_tell(SEXP handle, SEXP id, SEXP y);
SEXP optimizer_best(SEXP handle);
SEXP optimizer_report(SEXP handle, SEXP format);

SEXP draws_summary(SEXP x, SEXP names);
SEXP program_run(SEXP program, SEXP name, SEXP data, SEXP options);
SEXP library_version(void);
#endif
