/* SPDX-License-Identifier: Apache-2.0
 *
 * The search space of an optimisation: named variables, and the map between a point x as people see
 * it and u as the model sees it. x has one number per variable (categories: the index of the
 * level); u has the numeric variables in [0,1] first (log-scaled ones by their logarithm, integers
 * on their grid), then the categories as they are.
 */
#ifndef OPTIMIZE_BO_SPACE_H
#define OPTIMIZE_BO_SPACE_H
#include "base/buf.h"
#include <gpmem/status.h>
#include <stdbool.h>
#include <stdint.h>

struct bo_var {
    char *name; /* owned */
    bool log, integer;
    bool fidelity; /* it sets what an evaluation costs; only its upper end is the function meant */
    double lo, hi; /* numeric variables */
    char **levels; /* owned; categories only */
    int n_levels;  /* 0: numeric */
    int at;        /* place in u */
    int parent;    /* category that decides whether it matters, -1: it always does */
    bool *when;    /* owned; for which levels of the parent; NULL without one */
    char **labels; /* owned; of whole numbers 0, 1, ..: their names in order; NULL: none */
    int group;     /* of variables that belong together, from 1 on; 0: none */
    bool shares;   /* those of its group sum to one; else they are an order: 1, 2, .. in some */
};

struct bo_space {        /* zeroed: without variables */
    struct bo_var *vars; /* owned */
    int n;               /* variables */
    int d, n_cat;        /* numeric variables, categories; n = d + n_cat */
    int *var_at;         /* owned; variable at each place of u */
    int n_groups;
    struct bo_rule *rules; /* owned; known constraints, bo_rules.h */
    int n_rules;
};

void bo_space_release(struct bo_space *s);
/* One variable from text: name=lo:hi[:log][:int][:fidelity], name=a,b,c for categories, or
 * name=a<b<c for levels in order; behind it perhaps " when category=a,b": for other levels of that
 * category (given before) it means nothing, and has the value in its middle. Several at once:
 * a,b,c=shares are numbers of at least 0 that sum to one, a,b,c=order the places 1, 2, 3 in some
 * order. GPM_E_ARG with a message for bad names, empty ranges, a log scale that reaches 0, one name
 * twice. */
GPM_MUST_USE enum gpm_status bo_space_add(struct bo_space *s, const char *text, struct buf *err);
/* n variables that are any numbers; names: separated by commas. */
void bo_space_any(struct bo_space *s, const char *names, int n);
/* All variables as text, one per line, in the form bo_space_add reads. */
void bo_space_text(const struct bo_space *s, struct buf *out);
GPM_MUST_USE enum gpm_status bo_space_parse(struct bo_space *s, const char *text, struct buf *err);

void bo_space_to_unit(const struct bo_space *s, const double *x, double *u);
void bo_space_from_unit(const struct bo_space *s, const double *u, double *x);
/* Moves integer coordinates of u to the nearest grid point, everything into the box, and what means
 * nothing at this point to its middle. */
void bo_space_snap(const struct bo_space *s, double *u);
/* The step of integer coordinate k of u around u[k] towards dir (+1, -1); false at the border. */
bool bo_space_step(const struct bo_space *s, double *u, int k, int dir);
/* Variable of coordinate k < d of u at u_k, whole numbers and edges left aside. */
double bo_space_relaxed(const struct bo_space *s, int k, double u);
/* Coordinate k is a place in an order: the next member after `from` to change places with; -1. */
int bo_space_partner(const struct bo_space *s, int k, int from);
int bo_space_fidelity(const struct bo_space *s);           /* its coordinate, or -1 */
bool bo_space_is_integer(const struct bo_space *s, int k); /* of coordinate k < d of u */
bool bo_space_active(const struct bo_space *s, const double *u, int k); /* coordinate k matters */
int bo_space_levels(const struct bo_space *s, int k); /* of coordinate k of u; 0: numeric */
bool bo_space_inside(const struct bo_space *s, const double *x);
/* Number of points when every variable is discrete, else infinity. */
double bo_space_size(const struct bo_space *s);
/* The value of variable j: the level's name, the number of a level that there is not (a store may
 * hold one), a number. digits: so many, for people; 0: as the command sees it. */
void bo_space_value(const struct bo_space *s, int j, double x, int digits, struct buf *out);
/* Reads one value; GPM_E_ARG when it is not a number in the range or not a level. */
GPM_MUST_USE enum gpm_status bo_space_read(const struct bo_space *s, int j, const char *text,
                                           double *x, struct buf *err);
/* The same, but a level may stand in quotes, as where it was given. */
GPM_MUST_USE enum gpm_status bo_space_read_quoted(const struct bo_space *s, int j, const char *text,
                                                  double *x, struct buf *err);
#endif
