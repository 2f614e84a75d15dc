/* SPDX-License-Identifier: Apache-2.0
 *
 * A search engine for time series: an index of many series in one file, and questions to it, such
 * as "is periodic during the 1990s but not before" or rises(from=1988) & !LIN. Results are ranked
 * by their probability. A handle belongs to one thread; text results stay valid until the next call
 * on it.
 */
#ifndef GPMEM_INDEX_H
#define GPMEM_INDEX_H
#include "gpmem/discover.h"
#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gpm_index gpm_index;

struct gpm_index_options {
    size_t size;             /* set by init */
    uint64_t seed;           /* default 1 */
    unsigned threads;        /* 0: as many as the machine has */
    const char *time_column; /* as in struct gpm_discover_options, also what follows */
    const char *value_column;
    bool skip_bad;
    const char *date_format;
    const char *missing;
    enum gpm_discover_decimal decimal;
    const char *by;                                       /* a series for every value of it */
    bool wide;                                            /* a series in every column */
    bool thorough;                                        /* the search of discover */
    void (*progress)(void *user, size_t done, size_t of); /* may be NULL */
    void *user;
    const volatile sig_atomic_t *stop; /* not 0 there: add ends, with what it has stored */
    unsigned shard, shards;            /* of every `shards` series the one of this number; 0: all */
    bool learn;        /* priors from the first series that are added, for all of them */
    double claim;      /* seconds that a process on a server has for a series; 0: 300 */
    const char *every; /* as in struct gpm_discover_options, also what follows */
    enum gpm_discover_take take;
};
GPM_API void gpm_index_options_init_sized(struct gpm_index_options *o, size_t size);
static inline void gpm_index_options_init(struct gpm_index_options *o) {
    gpm_index_options_init_sized(o, sizeof *o);
}

/* What became of the series that were added. */
struct gpm_index_counts {
    size_t added, replaced, unchanged, refused;
};
enum gpm_index_format { GPM_INDEX_TEXT, GPM_INDEX_JSON, GPM_INDEX_HTML };

/* A handle on the index in this file. Never NULL. */
GPM_API gpm_index *gpm_index_new(const char *path);
GPM_API void gpm_index_free(gpm_index *x);
GPM_API const char *gpm_index_error(gpm_index *x);
/* Adds CSV files, folders of them, and kept runs; makes the file where there is none. Series that
 * cannot be used are refused, a line each in *refusals: name, source, reason, separated by tabs. */
GPM_API enum gpm_status gpm_index_add(gpm_index *x, const char *const *files, size_t n,
                                      const struct gpm_index_options *o,
                                      struct gpm_index_counts *counts, const char **refusals);
/* The series of other indexes, one after the other, into this one; counts and refusals as above. */
GPM_API enum gpm_status gpm_index_merge(gpm_index *x, const char *const *from, size_t n,
                                        struct gpm_index_counts *counts, const char **refusals);
/* The `top` best answers to a question, formal or English; as text, JSON or a page. */
GPM_API enum gpm_status gpm_index_search(gpm_index *x, const char *question, size_t top,
                                         enum gpm_index_format format, const char **text);
/* Series with the structure of a series of the index, a file or a kept run. */
GPM_API enum gpm_status gpm_index_like(gpm_index *x, const char *like, size_t top,
                                       const struct gpm_index_options *o,
                                       enum gpm_index_format format, const char **text);
GPM_API enum gpm_status gpm_index_list(gpm_index *x, enum gpm_index_format format,
                                       const char **text);
GPM_API enum gpm_status gpm_index_remove(gpm_index *x, const char *name);
/* Reads everything; *n: series. */
GPM_API enum gpm_status gpm_index_verify(gpm_index *x, size_t *n);
/* Have the pages of the file, or of the server, which were verified last, checksums? Then every
 * changed byte that means something is noticed. */
GPM_API bool gpm_index_summed(const gpm_index *x);
/* Without gaps: in place, or as a copy in a new file. */
GPM_API enum gpm_status gpm_index_compact(gpm_index *x, const char *copy);
/* JSON, a line per series. */
GPM_API enum gpm_status gpm_index_export(gpm_index *x, const char **text);
/* Names, structures and their probabilities as a table in a Parquet file. */
GPM_API enum gpm_status gpm_index_export_parquet(gpm_index *x, const char *file);
/* How a question is read, in the formal language. */
GPM_API enum gpm_status gpm_index_read(gpm_index *x, const char *question, const char **formal);
#if defined(__cplusplus)
}
#endif
#endif
