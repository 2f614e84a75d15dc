/* SPDX-License-Identifier: Apache-2.0
 * Fields of JSON objects; see json.h. */
#include "base/json.h"

#include <math.h>
#include <string.h>

void json_number(struct buf *out, double v) {
    if (isfinite(v))
        buf_number(out, v);
    else
        buf_puts(out, "null");
}

void json_short(struct buf *out, double v, int digits) {
    if (isfinite(v))
        buf_printf(out, "%.*g", digits, v);
    else
        json_number(out, v);
}

void json_key(struct buf *out, const char *name) {
    if (out->len && !strchr("{[ \n", out->data[out->len - 1])) buf_puts(out, ", ");
    buf_json_string(out, name, strlen(name));
    buf_puts(out, ": ");
}

void json_fields(struct buf *out, const struct json_field *f) {
    for (; f->name; f++) {
        json_key(out, f->name);
        if (f->kind == JSON_TEXT)
            buf_json_string(out, f->text ? f->text : "", f->text ? strlen(f->text) : 0);
        else if (f->kind == JSON_BOOL)
            buf_puts(out, f->number != 0 ? "true" : "false");
        else
            json_number(out, f->number);
    }
}

void json_list(struct buf *out, size_t n, const double *v) {
    buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(out, ", ");
        json_number(out, v[i]);
    }
    buf_putc(out, ']');
}

void json_numbers(struct buf *out, const char *name, size_t n, const double *v) {
    json_key(out, name);
    json_list(out, n, v);
}
