/* SPDX-License-Identifier: Apache-2.0
 *
 * Best-first search over a space of structures with cached evidences, and the posterior over what
 * it visited. Neighbours are evaluated by several threads; each evaluation is a pure function of
 * its inputs and rounds end with a barrier, so the result is the same for any number of threads.
 */
#ifndef DISCOVER_SEARCH_H
#define DISCOVER_SEARCH_H
#include "base/buf.h"
#include "apps/discover/precision.h"
#include "apps/discover/space.h"

/* Nats below the top: what was lent (evidence_lend) and is nearer is fitted. */
#define SEARCH_LENT 1.0

struct search_options {
    uint64_t seed;
    int threads;    /* 0: as many as the machine has, at most 8 */
    size_t draws;   /* per structure near the top; 0: as the space has it */
    double seconds; /* wall-clock limit of all but predictions; 0: none. It says when it was met */
    const volatile sig_atomic_t *stop;   /* ends it with GPM_E_INTERRUPT (base/stop.h) */
    const volatile sig_atomic_t *finish; /* its time is over */
    struct journal *journal;             /* NULL: it is not kept; else borrowed (journal.h) */
    enum precision_choice precision;
};

struct search {
    struct space *space; /* owned */
    struct search_options opt;
    struct precision how;
    struct evidence **at; /* owned */
    size_t n, cap;
    size_t pinned;        /* of them the first, which a mark knows: none is forgotten */
    struct evidence **of; /* by number of the structure; NULL: not visited */
    size_t n_of;
    double top;              /* best total log evidence */
    long evals;              /* likelihood evaluations */
    int rounds;              /* expansions */
    bool cut;                /* stopped by a limit */
    double grown;            /* by clock_seconds: structures have been looked for long enough */
    unsigned long shortages; /* of memory, when the search began: one more ends it */
    double seconds;
};
/* The total log evidence below which a structure is given up early. */
double search_floor(const struct search *s);
/* Past its deadline: what is still to be done is done in short. */
bool search_late(const struct search *s);
/* The same, or it ended its growth earlier than it would have without this run's limits: from here
 * on a journal is not spoken to. */
bool search_hurried(const struct search *s);
/* How many threads an option of `wanted` means. */
int search_threads(int wanted);
/* Takes the space over. */
void search_init(struct search *s, struct space *space, const struct search_options *o);
void search_release(struct search *s);
GPM_MUST_USE enum gpm_status search_run(struct search *s);
/* Continues a finished search: with its results (only the best optima, as for a run that was read
 * back), twice the draws and further structures. GPM_E_INTERRUPT: the time was over before it
 * began, or it was stopped. */
GPM_MUST_USE enum gpm_status search_resume(struct search *s);
/* What a search was at this moment, and the way back to it from whatever has become of it. A mark
 * is released, or gone back to, before its search is. */
struct search_mark {
    struct search was;     /* borrows what the search owns */
    struct space space;    /* of it what every space has */
    struct evidence *flat; /* the evidences without what they own, which is packed */
    struct buf computed;
};
void search_set_mark(struct search *s, struct search_mark *m);
void search_go_back(struct search *s, struct search_mark *m); /* releases it */
void search_release_mark(struct search *s, struct search_mark *m);
/* The time allowed begins at `start`, by clock_seconds. */
void search_limit(struct search *s, double start);
/* Goes on around what is known, until little is found or the time is over. */
GPM_MUST_USE enum gpm_status search_extend(struct search *s);
/* Neighbours of the parent (NULL: of all near the top) that were given up early and may be near the
 * top are looked at in the shape of a relative. */
void search_lend(struct search *s, const struct evidence *parent);
/* A few draws of everything within the window, many of what matters. */
void search_sample(struct search *s);
/* Probability of structures that were not visited, by what the last expansions have found. */
double search_unexplored(const struct search *s);
/* A structure that was evaluated elsewhere; takes it over. */
void search_store(struct search *s, struct evidence *e);
void search_find_top(struct search *s);

/* What could not be computed for want of memory since `before` (mem_shortages) counted as
 * impossible: the result is void, GPM_E_NOMEM. Otherwise st. */
enum gpm_status search_no_shortage(unsigned long before, enum gpm_status st, struct buf *err);
/* The same for results computed after a request to stop: GPM_E_INTERRUPT. */
enum gpm_status search_not_stopped(const volatile sig_atomic_t *stop, enum gpm_status st,
                                   struct buf *err);
#endif
