/* SPDX-License-Identifier: Apache-2.0
 *
 * Data for models from JSON and CSV; see the header.
 */
#include "language/rows/source/data_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "table/table.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

/* ---- JSON -------------------------------------------------------------------------------------
 */

/* The place of a value, from the outermost name on, for messages. */
struct json_place {
    const struct json_place *outer;
    const char *name; /* NULL: an index */
    size_t index;
};

static void put_place(const struct json_place *p, struct buf *out) {
    if (!p) return;
    put_place(p->outer, out);
    if (p->name)
        buf_printf(out, p->outer ? ".%s" : "%s", p->name);
    else
        buf_printf(out, "[%zu]", p->index);
}

static enum gpm_status convert(const json_t *j, const struct json_place *at, value *out,
                               struct buf *err);

/* A number, or the text of one that JSON cannot write; null: missing. */
static bool as_number(const json_t *j, double *out) {
    static const struct {
        const char *text;
        double x;
    } words[] = {{"NaN", NAN},
                 {"nan", NAN},
                 {"Infinity", INFINITY},
                 {"+Infinity", INFINITY},
                 {"Inf", INFINITY},
                 {"inf", INFINITY},
                 {"+inf", INFINITY},
                 {"+Inf", INFINITY},
                 {"-Infinity", -INFINITY},
                 {"-Inf", -INFINITY},
                 {"-inf", -INFINITY}};
    if (json_is_number(j)) {
        *out = json_number_value(j);
        return true;
    }
    if (json_is_null(j)) {
        *out = NAN;
        return true;
    }
    for (size_t i = 0; json_is_string(j) && i < COUNT_OF(words); i++)
        if (strcmp(json_string_value(j), words[i].text) == 0) {
            *out = words[i].x;
            return true;
        }
    return false;
}

static bool is_numbers(const json_t *j) {
    double x;
    size_t n = json_array_size(j);
    for (size_t i = 0; i < n; i++)
        if (!as_number(json_array_get(j, i), &x)) return false;
    return json_is_array(j);
}

static value vector_of(const json_t *j) {
    value v = value_vector_new(json_array_size(j));
    for (size_t i = 0; i < v.u.vector->n; i++)
        (void)as_number(json_array_get(j, i), &v.u.vector->at[i]);
    return v;
}

/* Rows of numbers; different lengths are an error. */
static enum gpm_status matrix_of(const json_t *j, const struct json_place *at, value *out,
                                 struct buf *err) {
    size_t rows = json_array_size(j), cols = json_array_size(json_array_get(j, 0));
    for (size_t i = 1; i < rows; i++) {
        size_t n = json_array_size(json_array_get(j, i));
        if (n == cols) continue;
        put_place(at, err);
        return buf_fail(err, GPM_E_FORMAT,
                        ": the rows have different lengths: row 0 has %zu elements, row %zu has "
                        "%zu",
                        cols, i, n);
    }
    *out = value_matrix_new(rows, cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            (void)as_number(json_array_get(json_array_get(j, i), k),
                            &out->u.matrix->at[i + k * rows]);
    return GPM_OK;
}

/* Do nested arrays of numbers have equal shapes? */
static bool same_shape(value a, value b) {
    if (a.tag != b.tag) return false;
    if (a.tag == V_MATRIX)
        return a.u.matrix->rows == b.u.matrix->rows && a.u.matrix->cols == b.u.matrix->cols;
    return a.tag != V_ARRAY || a.u.array->n == b.u.array->n;
}

static bool is_tensor(value v) {
    return v.tag == V_MATRIX || (v.tag == V_ARRAY && v.u.array->n && is_tensor(v.u.array->at[0]));
}

static enum gpm_status array_of(const json_t *j, const struct json_place *at, value *out,
                                struct buf *err) {
    size_t n = json_array_size(j);
    enum gpm_status st = GPM_OK;
    bool rows = n > 0;
    if (is_numbers(j)) {
        *out = vector_of(j);
        return GPM_OK;
    }
    for (size_t i = 0; i < n && rows; i++) rows = is_numbers(json_array_get(j, i));
    if (rows) return matrix_of(j, at, out, err);
    *out = value_array_new(n);
    for (size_t i = 0; i < n && !st; i++) {
        const struct json_place here = {.outer = at, .index = i};
        value *item = &out->u.array->at[i];
        st = convert(json_array_get(j, i), &here, item, err);
        if (st || !i || !is_tensor(out->u.array->at[0]) || same_shape(out->u.array->at[0], *item))
            continue;
        put_place(&here, err);
        st = buf_fail(err, GPM_E_FORMAT, ": its shape differs from that of its neighbours");
    }
    if (st) value_unref(*out);
    return st;
}

static enum gpm_status dict_of(const json_t *j, const struct json_place *at, value *out,
                               struct buf *err) {
    size_t n = json_object_size(j), k = 0;
    enum gpm_status st = GPM_OK;
    value *kv = mem_zalloc((2 * n + 1) * sizeof *kv);
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)j, key, item) {
        const struct json_place here = {.outer = at, .name = key};
        if (!st) st = convert(item, &here, &kv[2 * k + 1], err);
        if (!st) kv[2 * k++] = value_cstr(key);
    }
    if (!st) *out = value_dict(kv, n);
    values_free(kv, 2 * n);
    return st;
}

/* *out is NIL on failure. */
static enum gpm_status convert(const json_t *j, const struct json_place *at, value *out,
                               struct buf *err) {
    double x;
    enum gpm_status st = GPM_OK;
    *out = NIL;
    if (as_number(j, &x)) {
        *out = value_num(x);
    } else if (json_is_array(j)) {
        st = array_of(j, at, out, err);
    } else if (json_is_object(j)) {
        st = dict_of(j, at, out, err);
    } else if (json_is_string(j)) {
        *out = value_str(json_string_value(j), json_string_length(j));
    } else {
        *out = value_bool(json_is_true(j));
    }
    if (st) *out = NIL;
    return st;
}

enum gpm_status data_json(const char *text, size_t n, value *out, struct buf *err) {
    json_error_t why;
    locale_t before = number_locale_enter();
    json_t *j = json_loadb(
        text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &why);
    number_locale_leave(before);
    if (!j)
        return buf_fail(err, GPM_E_FORMAT, "line %d, column %d: %s", why.line, why.column,
                        why.text);
    enum gpm_status st = convert(j, NULL, out, err);
    json_decref(j);
    return st;
}

/* ---- CSV --------------------------------------------------------------------------------------
 */

/* An ambiguous column is text, and so is one whose marks would be lost. */
static value column_of(const struct csv *file, int col) {
    struct table_column k;
    table_column_read(&k, file, col, &(struct column_wish){0});
    value v = value_vector_new(file->n_rows);
    bool codes = k.kind == COLUMN_WORDS && k.numbers == k.cells;
    bool numbers = !codes && !k.style.open && !k.style.noted;
    for (size_t r = 0; r < file->n_rows && numbers; r++) {
        double *to = &v.u.vector->at[r];
        *to = k.x[r];
        if (k.cell[r] && isnan(*to)) numbers = number_parse(k.cell[r], strlen(k.cell[r]), to);
    }
    table_column_release(&k);
    if (numbers) return v;
    value_unref(v);
    v = value_array_new(file->n_rows);
    for (size_t r = 0; r < file->n_rows; r++) v.u.array->at[r] = value_cstr(csv_text(file, r, col));
    return v;
}

/* Without a header the columns are called c1, c2, ... */
value data_columns(const struct csv *file) {
    size_t n = (size_t)file->n_cols;
    value *kv = NEW_ARRAY(value, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%zu", i + 1);
        kv[2 * i] = value_cstr(file->header ? file->header[i] : name);
        kv[2 * i + 1] = column_of(file, (int)i);
    }
    value d = value_dict(kv, n);
    values_free(kv, 2 * n);
    return d;
}

static bool is_table(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".tsv") == 0);
}

enum gpm_status data_file(const char *path, value *out, struct buf *err) {
    if (is_table(path)) {
        struct csv file;
        enum gpm_status st = csv_table(&file, path, NULL, 0, err);
        if (st) return st;
        table_head(&file, NULL);
        *out = data_columns(&file);
        csv_release(&file);
        return GPM_OK;
    }
    struct buf text = BUF_INIT, why = BUF_INIT;
    enum gpm_status st = file_read(path, FILE_GIVEN, FILE_TEXT_MAX, &text);
    if (st) {
        buf_printf(err, "cannot read %s: %s", path, file_why());
    } else {
        st = data_json(text.data, text.len, out, &why);
        if (st) buf_printf(err, "%s: %s", path, why.data);
    }
    buf_release(&text);
    buf_release(&why);
    return st;
}
