/* SPDX-License-Identifier: Apache-2.0
 *
 * plot, plotf, plot_to_file: pictures of datasets and plain sequences, specified as in
 * io/plot/spec.h, on the terminal or as an SVG file. */
#include "base/file.h"
#include "base/mem.h"
#include "inference/run/dataset.h"
#include "inference/op/show.h"
#include "io/plot/spec.h"
#include "language/rows/protocol/sp_options.h"
#include <stdio.h>
#include <string.h>

/* Columns ready to draw; owns the numbers. */
struct plot_input {
    struct plot_table t;
    VEC(double *) columns;
    VEC(const char *) names;
    double *first[3]; /* a dataset's iteration, time and particle */
    char numbered[16][8];
};

static void input_release(struct plot_input *in) {
    for (size_t i = 0; i < in->columns.n; i++) mem_free(in->columns.at[i]);
    for (size_t i = 0; i < 3; i++) mem_free(in->first[i]);
    vec_release(&in->columns);
    vec_release(&in->names);
}

static void plot_gather(double *x, const size_t *rows, size_t n) {
    double *old = NEW_ARRAY(double, n + 1);
    memcpy(old, x, n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = old[rows[i]];
    mem_free(old);
}

/* Rows with weights are drawn by weight. */
static void read_dataset(struct infer_state *x, const struct dataset *d, struct plot_input *in) {
    size_t *drawn = dataset_drawn(d);
    static const size_t from[3] = {DATASET_ITER, DATASET_TIME, DATASET_PARTICLE};
    for (size_t c = DATASET_FIRST; c < d->n_columns; c++) {
        vec_push(&in->columns, dataset_numbers(d, c));
        vec_push(&in->names, d->names[c]);
    }
    for (size_t i = 0; d->n_columns && i < 3; i++) in->first[i] = dataset_numbers(d, from[i]);
    for (size_t c = 0; drawn && c < in->columns.n; c++)
        plot_gather(in->columns.at[c], drawn, dataset_rows(d));
    for (size_t i = 0; drawn && i < 3; i++) plot_gather(in->first[i], drawn, dataset_rows(d));
    if (drawn) dataset_warn_drawn(x, "plot");
    mem_free(drawn);
    in->t.iteration = in->first[0];
    in->t.time = in->first[1];
    in->t.particle = in->first[2];
    in->t.rows = dataset_rows(d);
}

/* All columns have the same length and are named by number. */
static bool add_column(struct plot_input *in, value v) {
    double *x;
    size_t n, k = in->columns.n;
    if (!seq_numbers(v, &x, &n)) return false;
    if ((k && n != in->t.rows) || k >= COUNT_OF(in->numbered)) {
        mem_free(x);
        return false;
    }
    in->t.rows = n;
    snprintf(in->numbered[k], sizeof in->numbered[k], "%zu", k);
    vec_push(&in->columns, x);
    vec_push(&in->names, in->numbered[k]);
    return true;
}

/* A sequence of numbers is one column; a sequence of sequences of equal length is several. */
static bool read_sequence(value v, struct plot_input *in) {
    value *items;
    size_t n;
    if (add_column(in, v)) return true;
    if (!seq_items(v, &items, &n)) return false;
    bool good = n > 0;
    for (size_t i = 0; i < n && good; i++) good = add_column(in, items[i]);
    values_free(items, n);
    return good;
}

static enum gpm_status read_input(struct infer_state *x, value v, struct plot_input *in) {
    const struct dataset *d = dataset_of(v);
    if (d) {
        read_dataset(x, d, in);
    } else if (!read_sequence(v, in)) {
        return infer_error(x, DIAG_TYPE,
                           "a plot needs a dataset, numbers, or columns of equal length; got a %s",
                           value_type_name(v));
    }
    in->t.columns = in->columns.n;
    in->t.data = (const double *const *)in->columns.at;
    in->t.names = in->names.at;
    return GPM_OK;
}

static enum gpm_status add_panel(struct infer_state *x, struct plot_scene *s, value spec,
                                 const struct plot_table *t) {
    struct buf err = BUF_INIT;
    const char *text = value_text(spec);
    if (!text) {
        return infer_error(x, DIAG_TYPE,
                           "a plot's specification is a string such as \"l0\", got a %s",
                           value_type_name(spec));
    }
    enum gpm_status st = plot_spec_panel(s, text, t, &err);
    if (st != GPM_OK) st = infer_error(x, DIAG_BAD_OPERATOR_ARG, "plot \"%s\": %s", text, err.data);
    buf_release(&err);
    return st;
}

/* The scene of one specification or of a sequence of them. */
static enum gpm_status make_scene(struct infer_state *x, value spec, value data,
                                  struct plot_scene **out) {
    struct plot_input in = {0};
    value *specs;
    size_t n;
    seq_or_one(spec, &specs, &n);
    struct plot_scene *s = plot_scene_new(NULL, NULL, n > 1 ? 2 : 1);
    enum gpm_status st = read_input(x, data, &in);
    for (size_t i = 0; i < n && st == GPM_OK; i++) st = add_panel(x, s, specs[i], &in.t);
    values_free(specs, n);
    input_release(&in);
    *out = s;
    if (st != GPM_OK) plot_scene_free(s);
    return st;
}

/* Asks the host each time, since the answer may depend on the name. */
enum gpm_status infer_may(struct infer_state *x, const char *verb, const char *name) {
    struct buf what = BUF_INIT, shown = BUF_INIT;
    enum gpm_status st = GPM_OK;
    buf_printf(&what, "%s '%s'", verb, name);
    if (!sp_permitted(x->core->host.options, SP_MAY_WRITE, what.data)) {
        buf_shown(&shown, what.data);
        st = infer_error(x, DIAG_DENIED, "not allowed to %s", shown.data);
        diag_set_help(x->core->diags, "give gpmem the flag --allow-write if you trust the program");
    }
    buf_release(&what);
    buf_release(&shown);
    return st;
}

enum gpm_status infer_show(struct infer_state *x, const struct plot_scene *s, const char *file,
                           unsigned rows) {
    struct buf b = BUF_INIT, path = BUF_INIT, svg = BUF_INIT;
    enum gpm_status st = file ? infer_may(x, "write", file) : GPM_OK;
    if (!file) {
        plot_terminal(s, &(struct plot_terminal_options){.rows = rows}, &b);
        if (x->show) { /* a page may hold several pictures, which need different ids */
            char id[24];
            snprintf(id, sizeof id, "p%llx", (unsigned long long)hash_bytes(b.data, b.len, 0));
            plot_svg(s, &(struct plot_svg_options){.id = id, .embedded = true}, &svg);
        }
        infer_present(x, &b, "image/svg+xml", &svg);
    } else if (st == GPM_OK) {
        buf_puts(&path, file);
        if (path.len < 4 || strcmp(path.data + path.len - 4, ".svg") != 0) buf_puts(&path, ".svg");
        plot_svg(s, &(struct plot_svg_options){0}, &b);
        st = file_write(path.data, FILE_GIVEN, b.data, b.len);
        if (st != GPM_OK)
            st = infer_error(x, DIAG_FILE, "cannot write '%s': %s", path.data, file_why());
    }
    buf_release(&b);
    buf_release(&path);
    buf_release(&svg);
    return st;
}

enum { ON_TERMINAL, TO_FILE };

/* (spec, data), or (file, spec, data) */
static enum gpm_status op_plot(struct infer_state *x, const struct action *a, value *out) {
    bool to_file = a->op->how == TO_FILE;
    const value *rest = a->args + (to_file ? 1 : 0);
    struct plot_scene *s;
    enum gpm_status st = make_scene(x, rest[0], rest[1], &s);
    if (st != GPM_OK) return st;
    st = infer_show(x, s, to_file ? value_text(a->args[0]) : NULL, 0);
    plot_scene_free(s);
    x->wrote |= st == GPM_OK;
    return st;
}

const struct infer_op infer_plot_rows[] = {
    {"plot", "(spec: any, data: any) -> action",
     "draws columns of a dataset, or plain numbers, on the terminal: \"l0\" a line of column 0 "
     "over "
     "the iteration, \"p0d1d\" points of column 1 over column 0, \"h0\" a histogram",
     .run = op_plot, .how = ON_TERMINAL},
    {"plotf", "(spec: any, data: any) -> action", "the same as plot", .run = op_plot,
     .how = ON_TERMINAL},
    {"plot_to_file", "(file: name, spec: any, data: any) -> action",
     "draws into an SVG file; needs --allow-write", .run = op_plot, .how = TO_FILE,
     .touches = SP_WRITES},
    {"plotf_to_file", "(file: name, spec: any, data: any) -> action", "the same as plot_to_file",
     .run = op_plot, .how = TO_FILE, .touches = SP_WRITES},
    {0},
};
