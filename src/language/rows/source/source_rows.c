/* SPDX-License-Identifier: Apache-2.0
 *
 * Source functions from outside and data files: command, foreign, csv_lookup, read_csv, read_table,
 * read_json. Running
 * and loading need a permission; reading does not.
 */
#include "language/rows/source/srcfn.h"

#include "language/rows/source/data_file.h"

#include "base/mem.h"
#include "base/vec.h"
#include "language/rows/protocol/sp_options.h"
#include "base/number.h"
#include "table/table.h"
#include <math.h>
#include <string.h>

static enum gpm_status fail(struct sp_call *c, enum diag_code code, struct buf *err) {
    enum gpm_status st = sp_error(c, code, "%s: %s", c->cls->name, err->data);
    buf_release(err);
    return st;
}

/* Names in an argument: one, or a sequence. The texts belong to the argument. */
struct names {
    VEC(const char *) all;
};

static enum gpm_status names_read(struct sp_call *c, size_t i, const char *param,
                                  struct names *out) {
    value v = c->args[i], *items = NULL;
    size_t n = 0;
    bool good = true;
    *out = (struct names){0};
    vec_reserve(&out->all, 1); /* no names are not the same as none given */
    if (value_text(v))
        vec_push(&out->all, value_text(v));
    else if (!seq_items(v, &items, &n))
        return sp_error(c, DIAG_TYPE, "%s: %s must be a name or a sequence of names, got a %s",
                        c->cls->name, param, value_type_name(v));
    for (size_t k = 0; k < n && good; k++) {
        good = value_text(items[k]) != NULL;
        if (good) vec_push(&out->all, value_text(items[k]));
    }
    values_free(items, n);
    if (good) return GPM_OK;
    vec_release(&out->all);
    return sp_error(c, DIAG_TYPE, "%s: %s must hold names", c->cls->name, param);
}

static bool flag_at(const struct sp_call *c, size_t i) {
    bool yes = false;
    return sp_given(c, i) && sp_truth(c->args[i], &yes) && yes;
}

#define AT_MOST 1e9 /* seconds and retries: for ever */

/* ---- command ------------------------------------------------------------------------------ */

static enum gpm_status make_command(struct sp_call *c, value *out) {
    const char *line = c->args[0].u.str->text;
    enum gpm_status st = sp_need(c, SP_MAY_RUN, "run", line);
    struct names names = {0}; /* none: the placeholders of the line */
    if (st == GPM_OK && sp_given(c, 4)) st = names_read(c, 4, "inputs", &names);
    if (st != GPM_OK) return st;
    struct buf identity = BUF_INIT, err = BUF_INIT;
    struct srcfn *s = srcfn_new(&srcfn_command, NULL, 0);
    struct proc_command *p = &s->u.command;
    st = proc_command_parse(p, line, names.all.at, (int)names.all.n, flag_at(c, 3), &err);
    vec_release(&names.all);
    if (st != GPM_OK) {
        mem_free(s); /* there is no template to release */
        return fail(c, DIAG_BAD_OPERATOR_ARG, &err);
    }
    s->dim = p->n_names;
    p->timeout = sp_given(c, 1) ? fmin(sp_num(c, 1), AT_MOST) : 0;
    p->retries = sp_given(c, 2) ? (int)fmin(sp_num(c, 2), AT_MOST) : 0;
    proc_command_text(p, &identity);
    s->identity = buf_take(&identity);
    *out = srcfn_value(s);
    return GPM_OK;
}

/* ---- foreign ------------------------------------------------------------------------------ */

static enum gpm_status make_foreign(struct sp_call *c, value *out) {
    const char *symbol = value_text(c->args[1]);
    char *path = srcfn_path(c, c->args[0].u.str->text);
    struct buf identity = BUF_INIT, err = BUF_INIT;
    buf_printf(&identity, "%s:%s", path, symbol);
    struct srcfn *s = srcfn_new(&srcfn_foreign, NULL, 1);
    s->parallel = flag_at(c, 3);
    enum gpm_status st = srcfn_dim(c, 2, 1, &s->dim);
    if (st == GPM_OK) st = sp_need(c, SP_MAY_RUN, "load", path);
    if (st == GPM_OK && foreign_open(&s->u.object, path, symbol,
                                     sp_given(c, 2) ? FOREIGN_VECTOR : FOREIGN_SCALAR, &err))
        st = fail(c, DIAG_FILE, &err);
    if (st == GPM_OK) {
        s->identity = buf_take(&identity);
        *out = srcfn_value(s);
    } else {
        mem_free(s); /* there is no object to close */
    }
    buf_release(&identity);
    mem_free(path);
    return st;
}

/* ---- CSV files ---------------------------------------------------------------------------- */

/* The path in argument 0, of a file that is about to be read; mem_free. */
static char *path_read(const struct sp_call *c) {
    char *path = srcfn_path(c, c->args[0].u.str->text);
    struct sp_options *o = c->host ? c->host->options : NULL;
    if (o && o->file) o->file(o->file_user, path);
    return path;
}

static enum gpm_status cannot_read(struct sp_call *c, enum gpm_status st, struct buf *err) {
    return fail(c,
                st == GPM_E_IO          ? DIAG_FILE
                : st == GPM_E_INTERRUPT ? DIAG_INTERRUPTED
                : st == GPM_E_LIMIT     ? DIAG_LIMIT
                                        : DIAG_DATA,
                err);
}

static enum gpm_status open_csv(struct sp_call *c, struct csv *file) {
    struct buf err = BUF_INIT;
    char *path = path_read(c);
    enum gpm_status st = csv_table(file, path, NULL, 0, &err);
    mem_free(path);
    if (st != GPM_OK) return cannot_read(c, st, &err);
    table_head(file, NULL);
    return st;
}

static enum gpm_status read_data(struct sp_call *c, value *out) {
    struct buf err = BUF_INIT;
    char *path = path_read(c);
    enum gpm_status st = data_file(path, out, &err);
    mem_free(path);
    return st == GPM_OK ? st : cannot_read(c, st, &err);
}

static enum gpm_status read_table(struct sp_call *c, value *out) {
    struct csv file;
    enum gpm_status st = open_csv(c, &file);
    if (st != GPM_OK) return st;
    *out = data_columns(&file);
    csv_release(&file);
    return st;
}

/* The cells of a column: of one of numbers these, of another plain numbers alone. */
static void put_cells(const struct csv *file, int col, value *rows, size_t place, bool flat) {
    struct table_column k;
    table_column_read(&k, file, col, &(struct column_wish){0});
    bool numbers = k.kind == COLUMN_NUMBERS && !k.style.open;
    for (size_t r = 0; r < file->n_rows; r++) {
        const char *cell = csv_text(file, r, col);
        double x = k.x[r];
        bool number = k.cell[r] && (numbers || number_parse(cell, strlen(cell), &x));
        value *to = flat ? &rows[r] : &rows[r].u.array->at[place];
        *to = number ? value_num(x) : value_cstr(cell);
    }
    table_column_release(&k);
}

/* Columns that argument i names (all of them when it is absent); *n of them, mem_free. */
static enum gpm_status columns_of(struct sp_call *c, size_t i, const struct csv *file, int **cols,
                                  size_t *n) {
    *cols = NULL;
    if (!sp_given(c, i)) {
        *n = (size_t)file->n_cols;
        *cols = NEW_ARRAY(int, *n + 1);
        for (size_t k = 0; k < *n; k++) (*cols)[k] = (int)k;
        return GPM_OK;
    }
    struct names names;
    struct buf err = BUF_INIT;
    enum gpm_status st = names_read(c, i, "columns", &names);
    if (st != GPM_OK) return st;
    *n = names.all.n;
    *cols = NEW_ARRAY(int, *n + 1);
    for (size_t k = 0; k < *n && st == GPM_OK; k++)
        if (csv_find(file, names.all.at[k], &(*cols)[k], &err) != GPM_OK)
            st = fail(c, DIAG_DATA, &err);
    vec_release(&names.all);
    if (st == GPM_OK) return st;
    mem_free(*cols);
    return st;
}

static enum gpm_status read_csv(struct sp_call *c, value *out) {
    struct csv file;
    int *cols;
    size_t n;
    enum gpm_status st = open_csv(c, &file);
    if (st != GPM_OK) return st;
    st = columns_of(c, 1, &file, &cols, &n);
    if (st == GPM_OK) {
        bool flat = sp_given(c, 1) && value_text(c->args[1]);
        *out = value_array_new(file.n_rows);
        for (size_t r = 0; r < file.n_rows && !flat; r++) out->u.array->at[r] = value_array_new(n);
        for (size_t k = 0; k < n; k++) put_cells(&file, cols[k], out->u.array->at, k, flat);
        mem_free(cols);
    }
    csv_release(&file);
    return st;
}

/* The output column: named, else the last; inputs: named, else all others. */
static enum gpm_status lookup_columns(struct sp_call *c, const struct csv *file, int **inputs,
                                      size_t *dim, int *output) {
    struct buf err = BUF_INIT;
    *output = file->n_cols - 1;
    if (sp_given(c, 2) && csv_find(file, value_text(c->args[2]), output, &err) != GPM_OK)
        return fail(c, DIAG_DATA, &err);
    enum gpm_status st = columns_of(c, 1, file, inputs, dim);
    if (st != GPM_OK || sp_given(c, 1)) return st;
    size_t kept = 0;
    for (size_t k = 0; k < *dim; k++)
        if ((*inputs)[k] != *output) (*inputs)[kept++] = (*inputs)[k];
    *dim = kept;
    if (kept) return GPM_OK;
    mem_free(*inputs);
    return sp_error(c, DIAG_DATA, "csv_lookup: %s has one column; it needs inputs and an output",
                    file->name);
}

static enum gpm_status csv_lookup(struct sp_call *c, value *out) {
    struct csv file;
    int *inputs, output;
    size_t dim;
    struct buf err = BUF_INIT;
    enum gpm_status st = open_csv(c, &file);
    if (st != GPM_OK) return st;
    st = lookup_columns(c, &file, &inputs, &dim, &output);
    if (st == GPM_OK) {
        struct srcfn *s = srcfn_new(&srcfn_csv, mem_strdup(c->args[0].u.str->text), (int)dim);
        st = srcfn_csv_fill(s, &file, inputs, output, &err);
        if (st == GPM_OK)
            *out = srcfn_value(s);
        else {
            srcfn_unref(s);
            st = fail(c, st == GPM_E_CONFLICT ? DIAG_GP_CONTRADICTION : DIAG_DATA, &err);
        }
        mem_free(inputs);
    }
    csv_release(&file);
    return st;
}

const struct sp_class sp_source_rows[] = {
    {.name = "command",
     .sig = "(line: string, timeout?: nonneg, retries?: count, json?: bool, inputs?: any) -> proc",
     .doc = "A program as a function: command(\"./sim {x}\")(3) runs ./sim 3 (no shell) and takes "
            "the one number it prints. Placeholders are the inputs, in the order of the line or of "
            "inputs=; with json=true they go as a JSON object to stdin. timeout= in seconds. "
            "Needs --allow-run.",
     .flags = SP_LACKS,
     .touches = SP_RUNS,
     .simulate = make_command},
    {.name = "foreign",
     .sig = "(path: string, symbol: name, dim?: any, parallel?: bool) -> proc",
     .doc = "A C function of a shared object: double f(double), or with dim= double f(const "
            "double *x, int n). parallel=true: it may be called from several threads at once "
            "(--jobs). Needs --allow-run.",
     .flags = SP_LACKS,
     .touches = SP_RUNS,
     .simulate = make_foreign},
    {.name = "csv_lookup",
     .sig = "(path: string, inputs?: any, output?: name) -> proc",
     .doc = "The table in a CSV file as a function: the output column (the last, unless named) at "
            "the given inputs (the other columns, unless named). An input that is not in the file "
            "is an error.",
     .touches = SP_READS,
     .simulate = csv_lookup},
    {.name = "read_csv",
     .sig = "(path: string, columns?: any) -> array",
     .doc = "Rows of a CSV file as an array of arrays; read_csv(path, \"y\") is one column. Cells "
            "that are not numbers are strings. Paths are relative to the program's file.",
     .example = "read_csv(\"data/airline.csv\")[0] => [\"1949-01-01\", 112]",
     .touches = SP_READS,
     .simulate = read_csv},
    {.name = "read_table",
     .sig = "(path: string) -> dict",
     .doc = "The columns of a CSV file by name, read once: vectors of numbers (missing ones are "
            "nan), or arrays of texts.",
     .example = "size(read_table(\"data/airline.csv\")) => 2",
     .touches = SP_READS,
     .simulate = read_table},
    {.name = "read_json",
     .sig = "(path: string) -> any",
     .doc = "The data in a JSON file, as Stan writes them: a dictionary of names; arrays of "
            "numbers are vectors, nested ones matrices; \"NaN\", \"Infinity\" and null are "
            "numbers (nan).",
     .touches = SP_READS,
     .simulate = read_data},
};
const size_t sp_source_count = COUNT_OF(sp_source_rows);
