/* SPDX-License-Identifier: Apache-2.0
 *
 * Collections of series: sketches (apps/discover/sketch.h) in a catalog (io/store/catalog.h), and
 * search over them by questions (apps/ask/ask.h).
 *
 * Several processes that add the same files to an index on a server share the work.
 * A series is indexed by one thread from its file to its sketch; sketches are written in the order
 * of the files, whichever is ready first. So equal files give equal indexes. */
#ifndef INDEX_INDEX_H
#define INDEX_INDEX_H
#include "apps/ask/ask.h"
#include "numeric/la/parallel.h"
#include "io/plot/doc.h"
#include "io/store/catalog.h"
#include <signal.h>

struct index_options {
    struct series_options series;
    uint64_t seed;
    int threads;
    const char *by; /* long format: a column that tells series apart */
    bool wide;      /* a series in every column */
    bool thorough;  /* the search of discover instead of the brief one */
    bool learn;     /* priors from the first series that are added, for all of them */
    const struct hyper_priors *priors; /* of the index; NULL: the plain ones */
    size_t shard, shards;              /* of every `shards` series the one of this number; 0: all */
    double claim;                      /* seconds that a claim lasts; 0: as usual */
    const volatile sig_atomic_t *stop;
    void (*progress)(void *ctx, size_t done, size_t of);
    void *progress_ctx;
};
/* What became of the series. */
struct index_report {
    size_t added, replaced, unchanged, refused;
    struct buf refusals; /* a line each: name, source, reason, by tabs */
};
/* Files, folders (their *.csv, by name) and kept runs. GPM_OK also when some were refused. */
GPM_MUST_USE enum gpm_status index_add(const char *path, const char *const *files, size_t n,
                                       const struct index_options *o, struct index_report *report,
                                       struct buf *err);
void index_report_release(struct index_report *r);
/* The series of other indexes, from first to last. One of a name that is taken counts as unchanged
 * where it was made of the same, else as refused. */
GPM_MUST_USE enum gpm_status index_merge(const char *path, const char *const *from, size_t n,
                                         struct index_report *report, struct buf *err);

/* The sketch of one file or kept run, which no index has. */
GPM_MUST_USE enum gpm_status index_sketch(const char *path, const struct index_options *o,
                                          struct sketch *out, struct buf *err);
/* Structures and probabilities of a sketch as a posting: u32 number, u16 of 65535, each. */
GPM_MUST_USE enum gpm_status index_posting(const struct sketch *p, struct catalog *c,
                                           struct buf *out, struct buf *err);
/* The names of a catalog's structures for sketch_write, sketch_read. */
struct index_names {
    struct catalog *c;
    struct buf *err;
};
struct sketch_names index_names(struct index_names *n);

/* la_parallel over n series. On a GPU many of them are under way, so that what they ask of the card
 * meets there (base/fibres.h). */
void index_parallel(const struct index_options *o, size_t n, la_job_fn fn, void *ctx);
/* series_read(), which o->stop ends while it waits. */
GPM_MUST_USE enum gpm_status index_read(struct series *s, const char *path,
                                        const struct index_options *o, struct buf *err);
/* The posterior of a series, which it takes over (also on failure). */
GPM_MUST_USE enum gpm_status index_discover(struct discovery *d, struct series *s,
                                            const struct index_options *o, struct buf *why);
/* The priors of an index: those that it has, else learnt where that is asked for, from a sample of
 * the files. *text (owned; NULL: none) is what they are kept as. */
GPM_MUST_USE enum gpm_status index_priors(struct catalog *c, const struct index_options *o,
                                          const char *const *sources, size_t n,
                                          struct hyper_priors *out, char **text, struct buf *err);

/* What a catalog's blocks hold: the traits of its series. */
struct catalog_maker index_maker(struct catalog *c);
/* The sketch of a series cannot be read: GPM_E_FORMAT, and what to do. */
enum gpm_status index_damaged(const char *name, struct buf *err);

/* ---- search ---- */
struct index_hit {
    int64_t id;
    char *name, *source, *words, *structure; /* structure: the most probable */
    double probability, error, p_structure;
    struct sketch sketch;
};
struct index_result {
    struct index_hit *at; /* by descending probability, then error, then number */
    size_t n;
    char *question, *reading; /* reading: the formal one, or what it is compared with */
    int64_t series, looked;   /* in the index; whose sketch was read */
};
/* The `top` best answers with a probability of at least `least`. */
GPM_MUST_USE enum gpm_status index_search(const char *path, const char *question, size_t top,
                                          double least, struct index_result *out, struct buf *err);
/* The series whose posterior over structures is nearest to that of a file, kept run, or series of
 * the index: the probability that a draw of each has the same structure, as a share of the most
 * possible (the Bhattacharyya coefficient, sum sqrt(p q)). */
GPM_MUST_USE enum gpm_status index_like(const char *path, const char *like, size_t top,
                                        const struct index_options *o, struct index_result *out,
                                        struct buf *err);
void index_result_release(struct index_result *r);
void index_result_report(const struct index_result *r, enum doc_form form, struct buf *out);
void index_result_json(const struct index_result *r, struct buf *out);

/* "forecast": [...], the steps ahead of a sketch. */
void index_forecast(const struct sketch *p, struct buf *out);

/* ---- the rest ---- */
GPM_MUST_USE enum gpm_status index_list(const char *path, bool json, struct buf *out,
                                        struct buf *err);
/* All of it as JSON lines, in the order of the numbers; sketches as hexadecimal digits. */
GPM_MUST_USE enum gpm_status index_export(const char *path, struct buf *out, struct buf *err);
/* A table of them, without sketches, as a Parquet file. */
GPM_MUST_USE enum gpm_status index_export_parquet(const char *path, const char *file,
                                                  struct buf *err);
GPM_MUST_USE enum gpm_status index_remove(const char *path, const char *name, struct buf *err);
/* Every sketch is read; *n how many there are. */
GPM_MUST_USE enum gpm_status index_verify(const char *path, size_t *n, bool *summed,
                                          struct buf *err);
/* Rewrites the file without gaps, or writes such a copy to a new file. */
GPM_MUST_USE enum gpm_status index_compact(const char *path, const char *copy, struct buf *err);
#endif
