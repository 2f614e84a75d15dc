/* SPDX-License-Identifier: Apache-2.0
 *
 * Public face of the search engine (include/gpmem/index.h).
 */
#include "gpmem/index.h"
#include "front/api/call.h"
#include "front/api/voice.h"
#include "base/count.h"
#include "apps/index/index.h"
#include <string.h>

struct gpm_index {
    char *path;
    HANDLE;
    bool summed; /* as it was verified last */
};

static const struct gpm_index_options default_options = {.seed = 1};

void gpm_index_options_init_sized(struct gpm_index_options *o, size_t size) {
    options_give(o, size, &default_options, sizeof default_options);
}

gpm_index *gpm_index_new(const char *path) {
    gpm_index *x = HANDLE_NEW(gpm_index);
    x->path = mem_strdup(path);
    return x;
}

void gpm_index_free(gpm_index *x) {
    if (!x) return;
    mem_free(x->path);
    HANDLE_FREE(x);
}

const char *gpm_index_error(gpm_index *x) {
    return voice_error(&x->err);
}

static enum gpm_status index_api_begin(gpm_index *x) {
    buf_reset(&x->out);
    return call_begin(&x->err);
}

static enum gpm_status taken(gpm_index *x, const struct gpm_index_options *given,
                             struct index_options *out) {
    struct gpm_index_options o = default_options;
    options_take(&o, sizeof o, given);
    if (o.by && o.wide)
        return buf_fail(&x->err, GPM_E_ARG,
                        "by is for the long format, wide for the other; a file has one of them");
    if ((unsigned)o.take >= TAKES)
        return buf_fail(&x->err, GPM_E_ARG, "there is nothing like that to take");
    enum gpm_status st = count_check(COUNT_THREADS, "--threads", o.threads, &x->err);
    if (st) return st;
    *out = (struct index_options){.series = {.time = o.time_column,
                                             .value = o.value_column,
                                             .skip_bad = o.skip_bad,
                                             .date_format = o.date_format,
                                             .missing = o.missing,
                                             .decimal = (enum series_decimal)o.decimal,
                                             .every = o.every,
                                             .take = (enum series_take)o.take},
                                  .seed = o.seed,
                                  .threads = (int)o.threads,
                                  .by = o.by,
                                  .wide = o.wide,
                                  .thorough = o.thorough,
                                  .progress = o.progress,
                                  .progress_ctx = o.user,
                                  .stop = o.stop,
                                  .shard = o.shard,
                                  .shards = o.shards,
                                  .claim = o.claim,
                                  .learn = o.learn};
    if (o.shards && o.shard >= o.shards)
        return buf_fail(&x->err, GPM_E_ARG, "shard %u of %u: they are numbered from 0 on", o.shard,
                        o.shards);
    return GPM_OK;
}

static void report(gpm_index *x, struct index_report *r, struct gpm_index_counts *counts,
                   const char **refusals) {
    *counts = (struct gpm_index_counts){r->added, r->replaced, r->unchanged, r->refused};
    buf_puts(&x->out, r->refusals.data);
    *refusals = x->out.data;
    index_report_release(r);
}

enum gpm_status gpm_index_add(gpm_index *x, const char *const *files, size_t n,
                              const struct gpm_index_options *given,
                              struct gpm_index_counts *counts, const char **refusals) {
    struct index_options o;
    struct index_report r = {.refusals = BUF_INIT};
    enum gpm_status st = index_api_begin(x);
    if (!st) st = taken(x, given, &o);
    if (!st) st = index_add(x->path, files, n, &o, &r, &x->err);
    report(x, &r, counts, refusals);
    return st;
}

enum gpm_status gpm_index_merge(gpm_index *x, const char *const *from, size_t n,
                                struct gpm_index_counts *counts, const char **refusals) {
    struct index_report r = {.refusals = BUF_INIT};
    enum gpm_status st = index_api_begin(x);
    if (!st) st = index_merge(x->path, from, n, &r, &x->err);
    report(x, &r, counts, refusals);
    return st;
}

static void render(gpm_index *x, struct index_result *r, enum gpm_index_format format) {
    if (format == GPM_INDEX_JSON)
        index_result_json(r, &x->out);
    else
        index_result_report(r, format == GPM_INDEX_HTML ? DOC_HTML : DOC_TEXT, &x->out);
    index_result_release(r);
}

enum gpm_status gpm_index_search(gpm_index *x, const char *question, size_t top,
                                 enum gpm_index_format format, const char **text) {
    struct index_result r;
    enum gpm_status st = index_api_begin(x);
    if (!st) st = count_check(COUNT_TOP, "--top", top, &x->err);
    if (!st) st = index_search(x->path, question, top, 0, &r, &x->err);
    if (!st) render(x, &r, format);
    *text = x->out.data;
    return st;
}

enum gpm_status gpm_index_like(gpm_index *x, const char *like, size_t top,
                               const struct gpm_index_options *given, enum gpm_index_format format,
                               const char **text) {
    struct index_result r;
    struct index_options o;
    enum gpm_status st = index_api_begin(x);
    if (!st) st = count_check(COUNT_TOP, "--top", top, &x->err);
    if (!st) st = taken(x, given, &o);
    if (!st) st = index_like(x->path, like, top, &o, &r, &x->err);
    if (!st) render(x, &r, format);
    *text = x->out.data;
    return st;
}

enum gpm_status gpm_index_list(gpm_index *x, enum gpm_index_format format, const char **text) {
    enum gpm_status st = index_api_begin(x);
    if (!st) st = index_list(x->path, format == GPM_INDEX_JSON, &x->out, &x->err);
    *text = x->out.data;
    return st;
}

enum gpm_status gpm_index_remove(gpm_index *x, const char *name) {
    enum gpm_status st = index_api_begin(x);
    return st ? st : index_remove(x->path, name, &x->err);
}

enum gpm_status gpm_index_verify(gpm_index *x, size_t *n) {
    enum gpm_status st = index_api_begin(x);
    *n = 0;
    return st ? st : index_verify(x->path, n, &x->summed, &x->err);
}

bool gpm_index_summed(const gpm_index *x) {
    return x->summed;
}

enum gpm_status gpm_index_compact(gpm_index *x, const char *copy) {
    enum gpm_status st = index_api_begin(x);
    return st ? st : index_compact(x->path, copy, &x->err);
}

enum gpm_status gpm_index_export(gpm_index *x, const char **text) {
    enum gpm_status st = index_api_begin(x);
    if (!st) st = index_export(x->path, &x->out, &x->err);
    *text = x->out.data;
    return st;
}

enum gpm_status gpm_index_export_parquet(gpm_index *x, const char *file) {
    enum gpm_status st = index_api_begin(x);
    return st ? st : index_export_parquet(x->path, file, &x->err);
}

enum gpm_status gpm_index_read(gpm_index *x, const char *question, const char **formal) {
    struct arena a = {0};
    struct ask *q;
    const char *reading = NULL;
    enum gpm_status st = index_api_begin(x);
    if (!st) st = ask_read(question, &a, &q, &reading, &x->err);
    if (!st) buf_puts(&x->out, reading);
    *formal = x->out.data;
    arena_release(&a);
    return st;
}
