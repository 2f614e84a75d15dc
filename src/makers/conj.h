/* SPDX-License-Identifier: Apache-2.0
 *
 * State of made procedures with sufficient statistics: parameters (the maker's arguments as
 * numbers), statistics of the incorporated applications, and, for the uncollapsed kind, the latent
 * parameter that the applications share. One frame serves beta-Bernoulli, Dirichlet-categorical,
 * gamma-Poisson, normal-inverse-gamma and the procedures of fixed parameters; a family supplies a
 * struct conj_class.
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
#include "dist/dist_row.h"

struct conj {
    const struct conj_class *cls;
    size_t n_par, n_stat, n_latent;
    double *par, *stat, *latent; /* owned */
    value *objects;              /* owned, or NULL; n_objects of them */
    size_t n_objects;
    double impossible; /* data that no parameters can give (a coin that shows 7) */
};

struct conj_class {
    /* Fills par (and objects, sizes) of a fresh state from the maker's arguments. */
    enum gpm_status (*read)(struct sp_call *c, struct conj *s);
    double (*log_joint)(const struct conj *s);
    /* dargs[c->n] of log_joint; NULL: none */
    void (*gradient)(const struct conj *s, const struct sp_call *c, value *dargs);
    value (*stats)(const struct conj *s);
    /* uncollapsed only: a draw from the posterior given the statistics; prior log density */
    void (*draw_latent)(struct conj *s, struct rng *r);
    double (*latent_lp)(const struct conj *s, const double *latent);
    /* Moves the statistics of `old` into s, whose parameters have another shape; NULL: an error. */
    void (*remap)(struct conj *s, const struct conj *old);
};

extern const struct sp_aaa conj_aaa;
extern const struct sp_state_class conj_state_class;

/* Sets sizes and zeroed arrays; called by read. */
void conj_reserve(struct conj *s, size_t n_par, size_t n_stat, size_t n_latent);
/* The maker's simulate: a procedure applying `made`, without data. */
enum gpm_status conj_make(struct sp_call *c, const struct conj_class *cls,
                          const struct sp_class *made, value *out);
/* The maker's log_density (uncollapsed): prior density of the latent of the made procedure v. */
enum gpm_status conj_latent_density(struct sp_call *c, const struct conj_class *cls, value v,
                                    double *out);
/* read: all arguments are numbers checked by the signature; infinite ones are an error. */
enum gpm_status conj_read_numbers(struct sp_call *c, struct conj *s, size_t n_stat,
                                  size_t n_latent);

static inline struct conj *conj_of(struct sp_call *c) {
    return c->state;
}
#endif
