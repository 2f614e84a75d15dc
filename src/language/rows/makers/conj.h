/* SPDX-License-Identifier: Apache-2.0
 *
 * State of made procedures with sufficient statistics: parameters (the maker's arguments as
 * numbers), statistics of the incorporated applications, and, for the uncollapsed kind, the latent
 * parameter that the applications share. One frame serves all makers of this folder; a family
 * supplies a struct conj_class.
 *
 * Absorbing at applications: log_joint is the density of all incorporated data with the latent
 * parameter integrated out. Remaking an uncollapsed procedure draws the latent from its posterior
 * given the statistics; since the weight is the marginal, (parameters, latent) moves as one block:
 *   p(theta'|par') p(data|theta') / p(theta'|par', data) = p(data|par').
 * Data of density zero are incorporated like any other, so that the joint density is zero until
 * they leave or a change of parameters makes them possible. Uncollapsed makers are random
 * procedures themselves. A trace may treat them as plain random choices (redrawn from the prior,
 * log_density = prior density of the latent) or absorb by aaa, as a chosen block and as a child
 * alike; it must not mix the two.
 */
#ifndef MAKERS_CONJ_H
#define MAKERS_CONJ_H
#include "language/rows/dist/dist_row.h"

struct conj {
    const struct conj_class *cls;
    size_t n_par, n_stat, n_latent;
    double *par, *stat, *latent; /* owned */
    value *objects;              /* owned, or NULL; n_objects of them */
    size_t n_objects;
    double impossible; /* data that no parameters can give (a coin that shows 7) */
};

/* Data that are numbers: the next application is a draw from a distribution of numeric/dist/dist.h.
 */
struct conj_number {
    size_t n, mode;                                /* its parameters; which of them is the mode */
    void (*next)(const struct conj *s, double *a); /* fills its parameters */
    double (*draw)(struct rng *r, const double *a, size_t n);
    double (*lp)(double x, const double *a, size_t n);
    void (*grad)(double x, const double *a, size_t n, double *g); /* NULL: discrete */
    enum gpm_status (*read)(struct sp_call *c, value v, double *x);
};

struct conj_class {
    struct sp_class made;    /* the made procedures */
    size_t n_stat, n_latent; /* for conj_read_numbers */
    /* Fills par (and objects, sizes) of a fresh state from the maker's arguments. */
    enum gpm_status (*read)(struct sp_call *c, struct conj *s);
    double (*log_joint)(const struct conj *s);
    /* dargs[c->n] of log_joint; NULL: none, and the maker's aaa is conj_aaa_plain */
    void (*gradient)(const struct conj *s, const struct sp_call *c, value *dargs);
    value (*stats)(const struct conj *s);
    /* Takes a datum into the statistics (by = 1) or out of them (by = -1). */
    enum gpm_status (*count)(struct sp_call *c, value v, double by);
    /* uncollapsed only: a draw from the posterior given the statistics; prior log density */
    void (*draw_latent)(struct conj *s, struct rng *r);
    double (*latent_lp)(const struct conj *s, const double *latent);
    /* Moves the statistics of `old` into s, whose parameters have another shape; NULL: an error. */
    void (*remap)(struct conj *s, const struct conj *old);
    bool any_shape; /* the statistics do not depend on the shape of the parameters */
    struct conj_number num;
};

extern const struct sp_state_class conj_state_class;
extern const struct sp_aaa conj_aaa, conj_aaa_plain; /* with a gradient, without */

/* Sets sizes and zeroed arrays; called by read. */
void conj_reserve(struct conj *s, size_t n_par, size_t n_stat, size_t n_latent);
/* read: all arguments are numbers checked by the signature; infinite ones are an error. */
enum gpm_status conj_read_numbers(struct sp_call *c, struct conj *s);

/* The maker's simulate: a procedure of the class c->cls->of, without data. */
enum gpm_status conj_make(struct sp_call *c, value *out);
/* The maker's log_density (uncollapsed): prior density of the latent of the made procedure v. */
enum gpm_status conj_latent_density(struct sp_call *c, value v, double *out);

/* For the rows of made procedures; the first four read the class's `num`. */
enum gpm_status conj_draw(struct sp_call *c, value *out);
enum gpm_status conj_density(struct sp_call *c, value v, double *out);
enum gpm_status conj_grad(struct sp_call *c, value v, value *dv, value *dargs);
enum gpm_status conj_bound(struct sp_call *c, value v, uint64_t varies, double *out);
enum gpm_status conj_incorporate(struct sp_call *c, value v);
enum gpm_status conj_unincorporate(struct sp_call *c, value v);

/* The next application of procedures whose distribution has the fixed parameters, or the latents,
 * themselves. */
void conj_fixed(const struct conj *s, double *a);
void conj_latent(const struct conj *s, double *a);

/* Statistics that are a sorted table: stat[0] is the number of data, then come records of a key
 * (k numbers) and its count. Counts a datum by 1 or -1; false: the datum to remove is missing. */
bool conj_tally(struct conj *s, const double *key, size_t k, double by);
/* The record of `key`, or NULL; *at: where it stands or belongs, counted in records. */
double *conj_record(const struct conj *s, const double *key, size_t k, size_t *at);

#define CONJ_MADE(title, type)                                                                     \
    .name = title, .sig = type, .doc = "made by make_" title, .incorporate = conj_incorporate,     \
    .unincorporate = conj_unincorporate
#define CONJ_NUMBER .simulate = conj_draw, .log_density = conj_density
#define CONJ_DISCRETE                                                                              \
    .flags = SP_RANDOM | SP_DISCRETE, .support = sp_support_discrete, .log_bound = sp_discrete_bound
/* Rows of makers: collapsed, uncollapsed. */
#define CONJ_MAKER(class) CONJ_PLAIN_MAKER(class, conj_aaa)
#define CONJ_PLAIN_MAKER(class, absorb)                                                            \
    .of = &class, .flags = SP_MAKER, .simulate = conj_make, .aaa = &absorb
#define CONJ_UC_MAKER(class)                                                                       \
    .of = &class, .flags = SP_MAKER | SP_RANDOM, .simulate = conj_make,                            \
    .log_density = conj_latent_density, .aaa = &conj_aaa

static inline struct conj *conj_of(struct sp_call *c) {
    return c->state;
}
#endif
