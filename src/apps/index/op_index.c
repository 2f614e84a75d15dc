/* SPDX-License-Identifier: Apache-2.0
 *
 * The search engine in the language: structure_index adds series to an index, search asks it. */
#include "base/mem.h"
#include "apps/index/index.h"
#include "inference/op/show.h"
#include "io/store/catalog.h"

/* A text, or an array or list of texts; their number, 0: something else is among them. The block is
 * the caller's. */
static size_t take_texts(value v, const char ***out) {
    size_t n = 0, room = 1;
    const char **at = NEW_ARRAY(const char *, room);
    *out = at;
    if (value_text(v)) {
        at[0] = value_text(v);
        return 1;
    }
    value e;
    for (struct seq_walk w = {v, 0}; seq_next(&w, &e);) {
        if (n == room) *out = at = mem_realloc(at, (room *= 2) * sizeof *at);
        at[n] = value_text(e);
        if (!at[n++]) return 0;
    }
    return n;
}

/* An index on a server is another's machine: it is spoken to as it is written. */
static enum gpm_status may_write(struct infer_state *x, const char *path) {
    return infer_may(x, catalog_is_file(path) ? "write the index" : "connect to", path);
}

static enum gpm_status op_structure_index(struct infer_state *x, const struct action *a,
                                          value *out) {
    const char **files, *path = value_text(a->args[0]);
    size_t n = take_texts(a->args[1], &files);
    struct index_options o = {.seed = x->core->rng.seed, .stop = x->core->limits.stop};
    struct index_report r = {.refusals = BUF_INIT};
    struct buf err = BUF_INIT;
    enum gpm_status st;
    if (!n)
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "structure_index: files are a text or an array of texts");
    else if ((st = may_write(x, path)) == GPM_OK) {
        st = index_add(path, files, n, &o, &r, &err);
        if (st != GPM_OK)
            st = infer_error(x, DIAG_DATA, "%s", err.data);
        else if (!(r.added + r.replaced + r.unchanged))
            st = infer_error(x, DIAG_DATA, "structure_index: nothing could be used: %s",
                             r.refusals.data);
    }
    if (st == GPM_OK) *out = value_num((double)(r.added + r.replaced + r.unchanged));
    index_report_release(&r);
    buf_release(&err);
    mem_free(files);
    return st;
}

static value hit_value(const struct index_hit *h) {
    value v[] = {value_str(h->name, strlen(h->name)), value_num(h->probability),
                 value_num(h->error)};
    value row = value_array(v, COUNT_OF(v));
    value_unref(v[0]);
    return row;
}

static enum gpm_status op_search_index(struct infer_state *x, const struct action *a, value *out) {
    struct index_result r;
    struct buf err = BUF_INIT;
    size_t n = 20;
    const char *path = value_text(a->args[0]);
    enum gpm_status st = action_count(x, a, 2, "top", 1e9, &n);
    if (st == GPM_OK && !n) st = infer_error(x, DIAG_DOMAIN, "search: top is at least 1");
    if (st == GPM_OK && !catalog_is_file(path)) st = may_write(x, path);
    if (st != GPM_OK) return st;
    st = index_search(path, value_text(a->args[1]), n, 0, &r, &err);
    if (st != GPM_OK)
        st = infer_error(x, st == GPM_E_FORMAT ? DIAG_BAD_OPERATOR_ARG : DIAG_DATA, "search: %s",
                         err.data);
    else {
        *out = value_array_new(r.n);
        for (size_t i = 0; i < r.n; i++) out->u.array->at[i] = hit_value(&r.at[i]);
        index_result_release(&r);
    }
    buf_release(&err);
    return st;
}

const struct infer_op infer_series_rows[] = {
    {"structure_index", "(index: name, files: any) -> nonneg",
     "adds series to an index in one file, as gpmem index add does: CSV files, folders of them or "
     "kept runs, a text or an array of texts. Gives the number of series that are in it now of "
     "those named; needs --allow-write",
     NULL, OP_PLAIN, .run = op_structure_index, .touches = SP_READS | SP_WRITES},
    {"search", "(index: name, question: name, top?: count) -> array",
     "the series of an index that most probably have a property: an array of [name, probability, "
     "error], the most probable first, at most `top` (20). The question is English (\"is periodic "
     "during the 1990s\") or formal (\"rises(from=1988) & PER\"), as for gpmem search. An "
     "index on a server needs --allow-write",
     NULL, OP_PLAIN, .run = op_search_index, .touches = SP_READS | SP_WRITES},
    {0},
};
