/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of JSON objects, one call for several:
 *
 *   JSON(out, FIELD("file", name), FIELD("rows", n), FIELD("sorted", s->sorted));
 *
 * appends "file": "a.csv", "rows": 12, "sorted": true. A value is a text, which is escaped, a
 * number or a variable of type bool. A comma comes before a field unless a bracket, a blank or the
 * start of a line does.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H
#include "base/buf.h"
#include <stdbool.h>

enum json_kind { JSON_NUMBER, JSON_TEXT, JSON_BOOL };
struct json_field {
    const char *name, *text;
    double number;
    enum json_kind kind;
};
/* clang-format off */
#define FIELD(name, v)                                                                             \
    {name,                                                                                         \
     _Generic((v), char *: (v), const char *: (v), default: NULL),                                 \
     (double)_Generic((v), char *: 0, const char *: 0, default: (v)),                              \
     _Generic((v), char *: JSON_TEXT, const char *: JSON_TEXT, bool: JSON_BOOL,                    \
              default: JSON_NUMBER)}
/* clang-format on */
#define JSON(out, ...) json_fields(out, (const struct json_field[]){__VA_ARGS__, {0}})

void json_fields(struct buf *out, const struct json_field *f); /* up to one without a name */
void json_key(struct buf *out, const char *name);
void json_number(struct buf *out, double v); /* as buf_number; null: not finite */
void json_short(struct buf *out, double v, int digits);
void json_list(struct buf *out, size_t n, const double *v);
void json_numbers(struct buf *out, const char *name, size_t n, const double *v);
#endif
