/* SPDX-License-Identifier: Apache-2.0
 *
 * The learner's own grammar on a series, as a space of structures: kernel rows with their priors on
 * standardised data (structure.h, smodel.h), starts from relatives and from the periodogram.
 */
#ifndef DISCOVER_SERIES_SPACE_H
#define DISCOVER_SERIES_SPACE_H
#include "base/map.h"
#include "base/vec.h"
#include "apps/discover/evidence.h"
#include "apps/discover/search.h"

struct series_space {
    struct space base;
    const struct smodel_data *data; /* borrowed */
    struct grammar grammar;
    int threads;
    struct smodel_work **work;              /* one per thread */
    VEC(struct structure) known;            /* by number */
    struct map index;                       /* structure hash -> number + 1 */
    struct period_hints hints[TRANSFORMS];  /* of the data, per transform */
    struct period_hints around[TRANSFORMS]; /* of the parent of those that are fitted now */
    struct period_hints places, widths;     /* of changes that the data suggest */
    VEC(struct evidence *) pointed; /* points of suggested structures, in place of their parent */
    size_t values;                  /* that the data had when it was made */
    const struct search *before;    /* with other values out of line, perhaps; borrowed */
    double may_gain;       /* nats: how much of what a structure lay behind then may be gone */
    struct screen *screen; /* long regular series: a subset on which dense structures are tried */
    double top, floor;     /* of the search, when they were prepared: best, still of interest */
    const struct search *search; /* then, too; borrowed */
    double best[TRANSFORMS],
        behind; /* best of each transform; what is given up lies so far below */
};
/* A search over the structures of g on data, which outlive it; nothing is evaluated yet. */
GPM_MUST_USE enum gpm_status series_search_init(struct search *s, const struct smodel_data *data,
                                                const struct grammar *g,
                                                const struct search_options *o);
static inline struct series_space *series_space_of(const struct search *s) {
    return (struct series_space *)s->space;
}
/* Workspaces on what its data, in their place, have become, with the same scales: what was found
 * stays. *was: those before, the caller's to put back or to free. */
GPM_MUST_USE enum gpm_status series_search_renew(struct search *s, struct smodel_work ***was);
void series_search_put_back(struct search *s, struct smodel_work **was);
void series_search_free_works(struct search *s, struct smodel_work **was);
/* The number of a structure in its space. */
size_t series_space_number(struct series_space *s, const struct structure *k);
/* The best structures of another search, of much the same data, evaluated on these; at most so
 * many. further: the search is to look around them. */
void series_search_take(struct search *s, const struct search *other, size_t most, bool further);
/* Instead of a search: the structures of `coarse` (a search on a subset of the same data) that lie
 * within its window, started from their optima there. further: then the search goes on around them
 * on all of the data. */
GPM_MUST_USE enum gpm_status series_search_refine(struct search *s, const struct search *coarse,
                                                  size_t most, bool further);
#endif
