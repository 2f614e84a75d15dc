/* SPDX-License-Identifier: Apache-2.0
 *
 * See scene_json.h.
 */
#include "io/plot/scene_json.h"
#include "base/mem.h"
#include "base/number.h"
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reader {
    struct buf *err;
    size_t panel, item; /* where we are, from 1; 0: not there */
};

__attribute__((format(printf, 2, 3))) static enum gpm_status fail(struct reader *r, const char *fmt,
                                                                  ...) {
    va_list ap;
    if (r->panel) buf_printf(r->err, "panel %zu", r->panel);
    if (r->item) buf_printf(r->err, ", item %zu", r->item);
    if (r->panel) buf_puts(r->err, ": ");
    va_start(ap, fmt);
    buf_vprintf(r->err, fmt, ap);
    va_end(ap);
    return GPM_E_FORMAT;
}

/* Every key must be one of the words of `known` ("a b c"). */
static enum gpm_status check_keys(struct reader *r, json_t *o, const char *known) {
    const char *key;
    json_t *value;
    if (!json_is_object(o)) return fail(r, "an object is expected");
    json_object_foreach(o, key, value) {
        size_t n = strlen(key);
        const char *at = known;
        while (at && !(strncmp(at, key, n) == 0 && (at[n] == ' ' || !at[n]))) {
            at = strchr(at, ' ');
            if (at) at++;
        }
        if (!at || n == 0) return fail(r, "'%.40s' is not known here; known are: %s", key, known);
    }
    return GPM_OK;
}

static const char *text_of(json_t *o, const char *key) {
    return json_string_value(json_object_get(o, key));
}

static double number_or(json_t *o, const char *key, double otherwise) {
    json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : otherwise;
}

/* The item's x, y and y2 from arrays of one length under these keys (NULL: none, and so is an
 * "error" that is not there). The caller frees them. */
static enum gpm_status read_arrays(struct reader *r, json_t *o, const char *const *keys,
                                   struct plot_item *it) {
    const double **to[3] = {&it->x, &it->y, &it->y2};
    const char *first = NULL;
    for (size_t k = 0; k < 3; k++) {
        json_t *a = keys[k] ? json_object_get(o, keys[k]) : NULL;
        if (!keys[k] || (!a && !strcmp(keys[k], "error"))) continue;
        if (!json_is_array(a)) return fail(r, "'%s' must be an array of numbers", keys[k]);
        size_t size = json_array_size(a);
        double *v = NEW_ARRAY(double, size);
        *to[k] = v;
        for (size_t i = 0; i < size; i++) {
            json_t *n = json_array_get(a, i);
            if (!json_is_number(n) && !json_is_null(n))
                return fail(r, "'%s' holds something that is no number at place %zu", keys[k], i);
            v[i] = json_is_null(n) ? NAN : json_number_value(n);
        }
        if (!first) {
            first = keys[k];
            it->n = size;
        } else if (size != it->n) {
            return fail(r, "'%s' has %zu numbers and '%s' %zu", first, it->n, keys[k], size);
        }
    }
    return GPM_OK;
}

static enum gpm_status read_style(struct reader *r, json_t *o, struct plot_style *style) {
    static const char *const names[PLOT_COLOURS] = {"blue",   "vermilion", "green", "purple",
                                                    "orange", "sky",       "black", "grey"};
    const char *colour = text_of(o, "colour");
    *style = (struct plot_style){PLOT_NEXT, number_or(o, "width", 0), number_or(o, "opacity", 0),
                                 json_is_true(json_object_get(o, "dashed"))};
    if (!colour) return GPM_OK;
    for (int i = 0; i < PLOT_COLOURS; i++) {
        if (strcmp(names[i], colour) == 0) {
            style->colour = i;
            return GPM_OK;
        }
    }
    return fail(r, "there is no colour '%.40s'", colour);
}

/* ---- items ---- */

/* Two kinds of items that are others in the scene. */
enum { HISTOGRAM = PLOT_NOTE + 1, RULE };
static const struct item_type {
    const char *type, *keys;
    int kind;              /* enum plot_kind, or of the above */
    const char *arrays[3]; /* of x, y, y2 */
} item_types[] = {
    {"line", "type label colour width opacity dashed x y", PLOT_LINE, {"x", "y"}},
    {"points", "type label colour width opacity dashed x y", PLOT_POINTS, {"x", "y"}},
    {"band", "type label colour opacity x low high", PLOT_BAND, {"x", "low", "high"}},
    {"bars", "type label colour opacity width x y", PLOT_BARS, {"x", "y"}},
    {"names", "type colour opacity names y error", PLOT_NAMED, {NULL, "y", "error"}},
    {"histogram", "type label colour opacity x bins", HISTOGRAM, {"x"}},
    {"rule", "type label colour width opacity dashed x y", RULE, {NULL}},
    {"note", "type label x y", PLOT_NOTE, {NULL}},
};

static enum gpm_status add_names(struct reader *r, struct plot_panel *panel, json_t *names,
                                 struct plot_item it) {
    if (json_array_size(names) != it.n) return fail(r, "'names' and 'y' differ in length");
    const char **list = NEW_ARRAY(const char *, it.n);
    for (size_t i = 0; i < it.n; i++) {
        list[i] = json_string_value(json_array_get(names, i));
        if (!list[i]) list[i] = "";
    }
    it.names = list;
    plot_add(panel, it);
    mem_free(list);
    return GPM_OK;
}

static enum gpm_status add_item(struct reader *r, struct plot_panel *panel, json_t *o, int kind,
                                struct plot_item it) {
    double bins = number_or(o, "bins", 0);
    double x = number_or(o, "x", NAN), y = number_or(o, "y", NAN);
    switch (kind) {
    case PLOT_BARS: /* `width` is theirs, in units of the axis */
        it.style.width = 0;
        plot_bars(panel, it.label, it.n, it.x, number_or(o, "width", 0.9), it.y, it.style);
        break;
    case PLOT_NAMED: return add_names(r, panel, json_object_get(o, "names"), it);
    case HISTOGRAM:
        if (!(bins >= 0 && bins <= 10000)) return fail(r, "'bins' must be from 0 to 10000");
        plot_histogram(panel, it.label, it.n, it.x, (size_t)bins, it.style);
        break;
    case RULE:
        if (isnan(x) == isnan(y)) return fail(r, "a rule has either an x or a y");
        plot_rule(panel, isnan(y) ? PLOT_RULE_X : PLOT_RULE_Y, it.label, isnan(y) ? x : y,
                  it.style);
        break;
    case PLOT_NOTE:
        if (isnan(x) || isnan(y) || !it.label) return fail(r, "a note has an x, a y and a label");
        plot_xy(panel, PLOT_NOTE, it.label, 1, &x, &y, PLOT_COLOUR(PLOT_BLACK));
        break;
    default: plot_add(panel, it);
    }
    return GPM_OK;
}

static enum gpm_status read_item(struct reader *r, struct plot_panel *panel, json_t *o) {
    const char *type = json_is_object(o) ? text_of(o, "type") : NULL;
    if (!type) return fail(r, "an item is an object with a type");
    for (size_t i = 0; i < COUNT_OF(item_types); i++) {
        const struct item_type *t = &item_types[i];
        if (strcmp(t->type, type) != 0) continue;
        struct plot_item it = {.kind = (enum plot_kind)t->kind, .label = text_of(o, "label")};
        enum gpm_status st = check_keys(r, o, t->keys);
        if (st == GPM_OK) st = read_style(r, o, &it.style);
        if (st == GPM_OK) st = read_arrays(r, o, t->arrays, &it);
        if (st == GPM_OK) st = add_item(r, panel, o, t->kind, it);
        mem_free((double *)it.x);
        mem_free((double *)it.y);
        mem_free((double *)it.y2);
        return st;
    }
    return fail(r, "there is no item of type '%.40s'", type);
}

static enum gpm_status read_axis(struct reader *r, json_t *o, struct plot_axis *a) {
    if (!o) return GPM_OK;
    enum gpm_status st = check_keys(r, o, "label log min max whole");
    if (st != GPM_OK) return st;
    a->log = json_is_true(json_object_get(o, "log"));
    a->whole = json_is_true(json_object_get(o, "whole"));
    a->lo = number_or(o, "min", NAN);
    a->hi = number_or(o, "max", NAN);
    return GPM_OK;
}

static enum gpm_status read_panel(struct reader *r, struct plot_scene *s, json_t *o) {
    json_t *item;
    size_t i;
    enum gpm_status st = check_keys(r, o, "title x y items");
    if (st != GPM_OK) return st;
    struct plot_panel *p = plot_panel_add(s, text_of(o, "title"));
    json_t *x = json_object_get(o, "x"), *y = json_object_get(o, "y");
    st = read_axis(r, x, &p->x);
    if (st == GPM_OK) st = read_axis(r, y, &p->y);
    plot_axis_labels(p, text_of(x, "label"), text_of(y, "label"));
    json_array_foreach(json_object_get(o, "items"), i, item) {
        if (st != GPM_OK) return st;
        r->item = i + 1;
        st = read_item(r, p, item);
    }
    if (st == GPM_OK) r->item = 0;
    return st;
}

static enum gpm_status read_scene(struct reader *r, json_t *root, struct plot_scene **out) {
    enum gpm_status st = check_keys(r, root, "title description columns panels");
    json_t *panel;
    size_t i;
    if (st != GPM_OK) return st;
    double columns = number_or(root, "columns", 1);
    if (!(columns >= 1 && columns <= 12)) return fail(r, "'columns' must be from 1 to 12");
    *out = plot_scene_new(text_of(root, "title"), text_of(root, "description"), (size_t)columns);
    json_array_foreach(json_object_get(root, "panels"), i, panel) {
        r->panel = i + 1;
        if (st == GPM_OK) st = read_panel(r, *out, panel);
    }
    if (st != GPM_OK) plot_scene_free(*out);
    return st;
}

enum gpm_status plot_scene_from_json(const char *text, size_t len, struct plot_scene **out,
                                     struct buf *err) {
    struct reader r = {err, 0, 0};
    json_error_t e;
    locale_t before = number_locale_enter();
    json_t *root = json_loadb(text, len, 0, &e);
    number_locale_leave(before);
    if (!root) return fail(&r, "line %d, column %d: %s", e.line, e.column, e.text);
    enum gpm_status st = read_scene(&r, root, out);
    json_decref(root);
    return st;
}
