/* SPDX-License-Identifier: Apache-2.0
 *
 * A space of structures, as the search sees it: numbers, each with a prior, neighbours and a
 * density over an unconstrained vector of parameters. The search knows nothing else, so what a
 * structure is (a mask of kernels, the choices of a program) is the space's own affair.
 *
 * The evidence of a structure is its parameters integrated out: several optima, Laplace's method at
 * each, importance sampling from a mixture of Student-t distributions. The weighted draws are kept:
 * they are the posterior of the parameters.
 */
#ifndef DISCOVER_SPACE_H
#define DISCOVER_SPACE_H
#include "gpmem/status.h"
#include "numeric/posterior/fit.h"
#include <stdbool.h>
#include <stdint.h>

struct search;
#define SPACE_GROUPS 3 /* at most */
struct evidence {
    size_t id;                     /* number of the structure in its space */
    void *item;                    /* what the space keeps for it */
    void (*item_free)(void *item); /* NULL: the space frees it */
    char *text;                    /* the structure in canonical form: "LIN + SE*PER + WN"; owned */
    int group;                     /* of the space's groups */
    /* The structure as its parameters make it look, where motifs are looked for; the caller's.
     * NULL: as its text. */
    char *(*seen)(const struct evidence *e);
    uint64_t hash;     /* of the structure: its stream of random numbers */
    double log_prior;  /* of the structure, and of all that does not depend on its parameters */
    double prior;      /* probability of the structure before the data; 0: the space does not say */
    double log_copies; /* log of the number of equal domains of which one is integrated over */
    struct proposal prop;
    double map;      /* log density at the best mode */
    double laplace;  /* log evidence by Laplace, copies counted */
    double logz, se; /* best estimate and its standard error */
    double ess;      /* share; 0 before importance sampling */
    struct draws draws;
    struct fit_starts *open; /* polished starts between the space's fit and finish */
    bool rough;              /* far from the top, not polished */
    bool lent;               /* its proposal has the shape of a relative's (evidence_lend) */
    bool climbed;            /* its neighbours with a fast density were visited */
    bool expanded;           /* all of them were */
    int round;               /* of the search in which that was; 0: it was not */
    int found_in;            /* the round that led to it; 0: it was suggested */
    long evals;
};
/* Looked at to the end, not given up on the way. */
static inline bool evidence_fitted(const struct evidence *e) {
    return !e->rough && e->prop.n > 0;
}
static inline double evidence_total(const struct evidence *e) {
    return e->logz + e->log_prior;
}
void evidence_free(struct evidence *e);
/* Packs computed results. Reading replaces the present ones, and does nothing if the bytes are
 * invalid. */
void evidence_pack(struct pack *p, struct evidence *e);
struct evidence *evidence_make(double log_prior); /* nothing is known yet */
/* Rough evidence from the n starts in e->open: a few steps of optimisation, of one start alone
 * where that lies far below `floor` (log evidence that is still of interest). */
void evidence_begin(struct evidence *e, struct density t, int n, double floor,
                    const struct fit_rules *rules);
/* Follows the best starts to their optima and applies Laplace's method, unless the structure turns
 * out to lie below `floor`: then it stays rough. Once; in haste it may be left open. */
void evidence_finish(struct evidence *e, struct density t, double floor,
                     const struct fit_rules *rules);
/* The one mode that z leads to; in haste perhaps none. */
void evidence_at(struct evidence *e, struct density t, double *z);
/* A mode at z with the shape of another evidence's first one, for a hurried search. */
void evidence_borrow(struct evidence *e, struct density t, const double *z,
                     const struct evidence *from);
/* For an abandoned structure: modes with the shape of a relative's first one (source: see
 * proposal_lend_mode), at its place and at `faint` (may be NULL), where it is nearly the relative,
 * as wide as the prior. False: impossible, or the expected evidence is below `floor`; nothing has
 * changed. */
bool evidence_lend(struct evidence *e, struct density t, const struct evidence *from,
                   const int *source, const double *faint, double floor);
/* Another start, which replaces all modes when it leads higher. */
void evidence_improve(struct evidence *e, struct density t, double *z);
/* Importance sampling with n draws from t; replaces logz, se, ess and the draws. */
void evidence_sample(struct evidence *e, size_t n, uint64_t seed, struct density t);

/* The same of modes that were lent, as they are; where no draw counts it is rough. */
void evidence_glance(struct evidence *e, size_t n, uint64_t seed, struct density t);

/* The same after the proposal was mended: it has missed the region around `heavy`. */
void evidence_mend(struct evidence *e, size_t n, uint64_t seed, struct density t,
                   const double *heavy);

typedef void (*space_emit)(void *ctx, size_t id);

struct space;
struct space_ops {
    void (*free)(struct space *s);
    /* Structures of a group to begin with. */
    void (*seeds)(struct space *s, int group, space_emit each, void *ctx);
    /* Those one step away; a structure may come more than once. */
    void (*neighbours)(struct space *s, const struct evidence *e, space_emit each, void *ctx);
    /* Has it a fast density? NULL: there is no such difference. */
    bool (*fast)(struct space *s, size_t id);
    /* Structures that the data suggest beside e, which no step from it leads to; may be NULL. */
    void (*suggestions)(struct space *s, const struct evidence *e, space_emit each, void *ctx);
    /* Is it one of those that cannot follow a change by bending? */
    bool (*plain)(const struct evidence *e);
    bool (*unchanged)(const struct evidence *e); /* has it no change? */
    /* Before structures around `parent` (NULL: none) are fitted; may be NULL. */
    void (*prepare)(struct space *s, const struct search *x, const struct evidence *parent,
                    bool dense);
    /* A rough evidence from a few steps of optimisation. Threads fit different structures at the
     * same time; a fit is a pure function of structure and parent. */
    struct evidence *(*fit)(struct space *s, size_t id, const struct evidence *parent, int thread);
    /* The same before anything is known of it. NULL: searches of this space are not kept. */
    struct evidence *(*make)(struct space *s, size_t id);
    /* Another start for e from a relative's optimum; false: impossible. */
    bool (*carry)(struct space *s, const struct evidence *e, const struct evidence *from,
                  double *z);
    /* The start at which e nearly equals the smaller relative; false: impossible. May be NULL. */
    bool (*faint)(struct space *s, const struct evidence *e, const struct evidence *from,
                  double *z);
    /* Which of the relative's coordinates those of e are, -1: none; false: they are other things.
     * May be NULL. */
    bool (*related)(struct space *s, const struct evidence *e, const struct evidence *from,
                    int *source);
    /* The density of the parameters; folded: on one of several equal domains where there are some,
     * which counts for all. Valid until the thread asks for another. */
    struct density (*density)(struct space *s, const struct evidence *e, int thread, bool folded);
};

struct space {
    const struct space_ops *ops;
    /* Kinds of structures of which each must have its chance: transforms. Those behind the seeded
     * ones are reached from them alone, and have their chance while they are near the top. */
    int groups, seeded;
    int max_threads; /* 0: any number */
    /* by the size of the data: draws per structure near the top, structures at most, steps of a
     * chain */
    size_t draws, most, steps;
    const struct fit_rules *rules;
    struct haste haste; /* of the search (search_limit) */
    enum gpm_status st; /* not GPM_OK: an error of the model ended everything */
};
/* The mode that the first one of e leads to, alone. */
void space_refit(struct space *s, struct evidence *e, int thread);
#endif
