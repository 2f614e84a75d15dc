/* SPDX-License-Identifier: Apache-2.0
 *
 * See scene_json.h.
 */
#include "plot/scene_json.h"
#include "base/mem.h"
#include "base/number.h"
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reader {
    char *err;
    size_t err_size;
    size_t panel, item; /* where we are, from 1; 0: not there */
};

__attribute__((format(printf, 2, 3))) static enum gpm_status fail(struct reader *r, const char *fmt,
                                                                  ...) {
    int n = 0;
    va_list ap;
    if (r->item) {
        n = snprintf(r->err, r->err_size, "panel %zu, item %zu: ", r->panel, r->item);
    } else if (r->panel) {
        n = snprintf(r->err, r->err_size, "panel %zu: ", r->panel);
    }
    va_start(ap, fmt);
    if (n >= 0 && (size_t)n < r->err_size) {
        number_vsnprintf(r->err + n, r->err_size - (size_t)n, fmt, ap);
    }
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

struct numbers {
    double *at;
    size_t n;
};

static enum gpm_status read_numbers(struct reader *r, json_t *o, const char *key,
                                    struct numbers *out) {
    json_t *a = json_object_get(o, key);
    if (!json_is_array(a)) return fail(r, "'%s' must be an array of numbers", key);
    out->n = json_array_size(a);
    out->at = mem_realloc(out->at, (out->n ? out->n : 1) * sizeof(double));
    for (size_t i = 0; i < out->n; i++) {
        json_t *v = json_array_get(a, i);
        if (!json_is_number(v) && !json_is_null(v)) {
            return fail(r, "'%s' holds something that is no number at place %zu", key, i);
        }
        out->at[i] = json_is_null(v) ? NAN : json_number_value(v);
    }
    return GPM_OK;
}

/* Up to three arrays of one length; keys[i] NULL ends them. */
static enum gpm_status read_arrays(struct reader *r, json_t *o, const char *const *keys,
                                   struct numbers *out) {
    for (size_t i = 0; i < 3 && keys[i]; i++) {
        enum gpm_status st = read_numbers(r, o, keys[i], &out[i]);
        if (st != GPM_OK) return st;
        if (out[i].n != out[0].n) {
            return fail(r, "'%s' has %zu numbers and '%s' %zu", keys[0], out[0].n, keys[i],
                        out[i].n);
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

struct item {
    struct plot_panel *panel;
    json_t *o;
    const char *label;
    struct plot_style style;
    struct numbers v[3];
};

static enum gpm_status read_line(struct reader *r, struct item *it) {
    enum gpm_status st = read_arrays(r, it->o, (const char *const[]){"x", "y", NULL}, it->v);
    if (st == GPM_OK) {
        plot_line(it->panel, it->label, it->v[0].n, it->v[0].at, it->v[1].at, it->style);
    }
    return st;
}

static enum gpm_status read_points(struct reader *r, struct item *it) {
    enum gpm_status st = read_arrays(r, it->o, (const char *const[]){"x", "y", NULL}, it->v);
    if (st == GPM_OK) {
        plot_points(it->panel, it->label, it->v[0].n, it->v[0].at, it->v[1].at, it->style);
    }
    return st;
}

static enum gpm_status read_band(struct reader *r, struct item *it) {
    enum gpm_status st = read_arrays(r, it->o, (const char *const[]){"x", "low", "high"}, it->v);
    if (st == GPM_OK) {
        plot_band(it->panel, it->label, it->v[0].n, it->v[0].at, it->v[1].at, it->v[2].at,
                  it->style);
    }
    return st;
}

static enum gpm_status read_bars(struct reader *r, struct item *it) {
    enum gpm_status st = read_arrays(r, it->o, (const char *const[]){"x", "y", NULL}, it->v);
    if (st == GPM_OK) {
        double width = number_or(it->o, "width", 0.9);
        it->style.width = 0;
        plot_bars(it->panel, it->label, it->v[0].n, it->v[0].at, width, it->v[1].at, it->style);
    }
    return st;
}

static enum gpm_status read_names(struct reader *r, struct item *it) {
    json_t *names = json_object_get(it->o, "names");
    bool error = json_object_get(it->o, "error") != NULL;
    const char *keys[] = {"y", error ? "error" : NULL, NULL};
    enum gpm_status st = read_arrays(r, it->o, keys, it->v);
    if (st != GPM_OK) return st;
    if (json_array_size(names) != it->v[0].n) return fail(r, "'names' and 'y' differ in length");
    const char **list = NEW_ARRAY(const char *, it->v[0].n ? it->v[0].n : 1);
    for (size_t i = 0; i < it->v[0].n; i++) {
        list[i] = json_string_value(json_array_get(names, i));
        if (!list[i]) list[i] = "";
    }
    plot_named_bars(it->panel, it->v[0].n, list, it->v[0].at, error ? it->v[1].at : NULL,
                    it->style);
    mem_free(list);
    return GPM_OK;
}

static enum gpm_status read_histogram(struct reader *r, struct item *it) {
    enum gpm_status st = read_arrays(r, it->o, (const char *const[]){"x", NULL, NULL}, it->v);
    double bins = number_or(it->o, "bins", 0);
    if (st != GPM_OK) return st;
    if (!(bins >= 0 && bins <= 10000)) return fail(r, "'bins' must be from 0 to 10000");
    plot_histogram(it->panel, it->label, it->v[0].n, it->v[0].at, (size_t)bins, it->style);
    return GPM_OK;
}

static enum gpm_status read_rule(struct reader *r, struct item *it) {
    double x = number_or(it->o, "x", NAN), y = number_or(it->o, "y", NAN);
    if (isnan(x) == isnan(y)) return fail(r, "a rule has either an x or a y");
    if (isnan(y)) {
        plot_rule_x(it->panel, it->label, x, it->style);
    } else {
        plot_rule_y(it->panel, it->label, y, it->style);
    }
    return GPM_OK;
}

static enum gpm_status read_note(struct reader *r, struct item *it) {
    double x = number_or(it->o, "x", NAN), y = number_or(it->o, "y", NAN);
    if (isnan(x) || isnan(y) || !it->label) return fail(r, "a note has an x, a y and a label");
    plot_note(it->panel, x, y, it->label);
    return GPM_OK;
}

static enum gpm_status read_item(struct reader *r, struct plot_panel *panel, json_t *o) {
    static const struct {
        const char *type, *keys;
        enum gpm_status (*read)(struct reader *r, struct item *it);
    } rows[] = {
        {"line", "type label colour width opacity dashed x y", read_line},
        {"points", "type label colour width opacity dashed x y", read_points},
        {"band", "type label colour opacity x low high", read_band},
        {"bars", "type label colour opacity width x y", read_bars},
        {"names", "type colour opacity names y error", read_names},
        {"histogram", "type label colour opacity x bins", read_histogram},
        {"rule", "type label colour width opacity dashed x y", read_rule},
        {"note", "type label x y", read_note},
    };
    const char *type = json_is_object(o) ? text_of(o, "type") : NULL;
    if (!type) return fail(r, "an item is an object with a type");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].type, type) != 0) continue;
        struct item it = {.panel = panel, .o = o, .label = text_of(o, "label")};
        enum gpm_status st = check_keys(r, o, rows[i].keys);
        if (st == GPM_OK) st = read_style(r, o, &it.style);
        if (st == GPM_OK) st = rows[i].read(r, &it);
        for (size_t k = 0; k < 3; k++) mem_free(it.v[k].at);
        return st;
    }
    return fail(r, "there is no item of type '%.40s'", type);
}

static enum gpm_status read_axis(struct reader *r, json_t *o, struct plot_axis *a, json_t **label) {
    if (!o) return GPM_OK;
    enum gpm_status st = check_keys(r, o, "label log min max whole");
    if (st != GPM_OK) return st;
    a->log = json_is_true(json_object_get(o, "log"));
    a->whole = json_is_true(json_object_get(o, "whole"));
    a->lo = number_or(o, "min", NAN);
    a->hi = number_or(o, "max", NAN);
    *label = json_object_get(o, "label");
    return GPM_OK;
}

static enum gpm_status read_panel(struct reader *r, struct plot_scene *s, json_t *o) {
    json_t *x_label = NULL, *y_label = NULL, *item;
    size_t i;
    enum gpm_status st = check_keys(r, o, "title x y items");
    if (st != GPM_OK) return st;
    struct plot_panel *p = plot_panel_add(s, text_of(o, "title"));
    st = read_axis(r, json_object_get(o, "x"), &p->x, &x_label);
    if (st == GPM_OK) st = read_axis(r, json_object_get(o, "y"), &p->y, &y_label);
    plot_axis_labels(p, json_string_value(x_label), json_string_value(y_label));
    json_array_foreach(json_object_get(o, "items"), i, item) {
        r->item = i + 1;
        if (st == GPM_OK) st = read_item(r, p, item);
    }
    r->item = st == GPM_OK ? 0 : r->item;
    return st;
}

static enum gpm_status read_scene(struct reader *r, json_t *root, struct plot_scene **out) {
    enum gpm_status st = check_keys(r, root, "title description columns panels");
    json_t *panel;
    size_t i;
    if (st != GPM_OK) return st;
    double columns = number_or(root, "columns", 1);
    if (!(columns >= 1 && columns <= 12)) return fail(r, "'columns' must be from 1 to 12");
    struct plot_scene *s = plot_scene_new(text_of(root, "title"), (size_t)columns);
    if (text_of(root, "description")) plot_describe(s, text_of(root, "description"));
    json_array_foreach(json_object_get(root, "panels"), i, panel) {
        r->panel = i + 1;
        if (st == GPM_OK) st = read_panel(r, s, panel);
    }
    if (st != GPM_OK) {
        plot_scene_free(s);
        return st;
    }
    *out = s;
    return GPM_OK;
}

enum gpm_status plot_scene_from_json(const char *text, size_t len, struct plot_scene **out,
                                     char *err, size_t err_size) {
    struct reader r = {err, err_size, 0, 0};
    json_error_t e;
    locale_t before = number_locale_enter();
    json_t *root = json_loadb(text, len, 0, &e);
    number_locale_leave(before);
    if (!root) return fail(&r, "line %d, column %d: %s", e.line, e.column, e.text);
    enum gpm_status st = read_scene(&r, root, out);
    json_decref(root);
    return st;
}
