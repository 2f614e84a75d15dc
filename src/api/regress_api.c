/* SPDX-License-Identifier: Apache-2.0
 *
 * Public face of the regression (include/gpmem/regress.h).
 */
#include "gpmem/regress.h"
#include "api/call.h"
#include "base/cores.h"
#include "regress/regress.h"
#include <math.h>

struct gpm_regression {
    struct regress r;
    bool ready;
    struct rnew at;
    struct rprediction *p; /* of the new rows; NULL: not computed yet */
    struct buf err, out;
};

static const struct gpm_regress_options default_options = {
    .seed = 1, .level = 0.95, .max_rows = REGRESS_ROWS};

void gpm_regress_options_init_sized(struct gpm_regress_options *o, size_t size) {
    options_give(o, size, &default_options, sizeof default_options);
}

gpm_regression *gpm_regression_new(void) {
    gpm_regression *r = NEW(gpm_regression);
    buf_init(&r->err);
    buf_init(&r->out);
    buf_init(&r->r.t.notes);
    return r;
}

static void clear(gpm_regression *r) {
    regress_release(&r->r);
    rnew_release(&r->at);
    mem_free(r->p);
    r->p = NULL;
    r->ready = false;
}

void gpm_regression_free(gpm_regression *r) {
    if (!r) return;
    clear(r);
    buf_release(&r->err);
    buf_release(&r->out);
    mem_free(r);
}

const char *gpm_regression_error(const gpm_regression *r) {
    return r->err.data;
}

static enum gpm_status check(const struct gpm_regress_options *o, struct buf *err) {
    if (!(o->level > 0 && o->level < 1))
        return buf_fail(err, GPM_E_ARG, "the level must lie between 0 and 1");
    if (o->max_rows < RTABLE_LEAST || o->max_rows > REGRESS_MOST_ROWS)
        return buf_fail(err, GPM_E_ARG, "rows of the model: between %d and %d", RTABLE_LEAST,
                        REGRESS_MOST_ROWS);
    return GPM_OK;
}

enum gpm_status gpm_regression_fit(gpm_regression *r, const char *file,
                                   const struct gpm_regress_options *given) {
    static const char decimals[] = {0, '.', ','};
    struct gpm_regress_options o = default_options;
    enum gpm_status st = call_begin(&r->err);
    options_take(&o, sizeof o, given);
    if (!st) st = check(&o, &r->err);
    if (st) return st;
    int cores = cores_available();
    struct regress_options full = {
        .table = {o.y, o.x, o.missing, decimals[o.decimal >= 0 && o.decimal < 3 ? o.decimal : 0]},
        .kernel = o.kernel,
        .level = o.level,
        .seed = o.seed,
        .max_rows = o.max_rows,
        .threads = o.threads   ? (int)o.threads
                   : cores < 8 ? cores
                               : 8,
        .stop = o.stop};
    clear(r);
    st = regress_fit(&r->r, file, &full, &r->err);
    r->ready = st == GPM_OK;
    return st;
}

static enum gpm_status more(gpm_regression *r, const char *text,
                            enum gpm_status (*take)(const struct rtable *, const char *,
                                                    struct rnew *, struct buf *)) {
    enum gpm_status st = call_begin(&r->err);
    if (!st && !r->ready) st = buf_fail(&r->err, GPM_E_ARG, "there is no regression yet");
    mem_free(r->p);
    r->p = NULL;
    return st ? st : take(&r->r.t, text, &r->at, &r->err);
}

enum gpm_status gpm_regression_file(gpm_regression *r, const char *file) {
    return more(r, file, rnew_file);
}

enum gpm_status gpm_regression_at(gpm_regression *r, const char *point) {
    return more(r, point, rnew_point);
}

size_t gpm_regression_outside(const gpm_regression *r, size_t *lacking) {
    size_t n = 0, lacks = 0, d = (size_t)r->r.t.d;
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < r->at.m; i++) {
        bool whole = true;
        for (size_t k = 0; k < d; k++) whole = whole && isfinite(r->at.x[i * d + k]);
        lacks += !whole;
        n += rtable_outside(&r->r.t, r->at.x + i * d, &names) > 0;
    }
    buf_release(&names);
    if (lacking) *lacking = lacks;
    return n;
}

const char *gpm_regression_report(gpm_regression *r, enum gpm_regress_format f) {
    enum gpm_status st = call_begin(&r->err);
    if (!st && !r->ready) st = buf_fail(&r->err, GPM_E_ARG, "there is no regression yet");
    if (!st && r->at.m && !r->p) {
        r->p = NEW_ARRAY(struct rprediction, r->at.m);
        st = regress_predict(&r->r, r->at.x, r->at.m, r->p);
        if (st) {
            buf_puts(&r->err, gp_status_text(st));
            mem_free(r->p);
            r->p = NULL;
        }
    }
    if (st) return NULL;
    buf_reset(&r->out);
    switch (f) {
    case GPM_REGRESS_JSON: regress_json(&r->r, &r->at, r->p, &r->out); break;
    case GPM_REGRESS_HTML: regress_page(&r->r, &r->at, r->p, &r->out); break;
    case GPM_REGRESS_PROGRAM: regress_program(&r->r, &r->out); break;
    case GPM_REGRESS_PREDICTIONS: regress_predictions_csv(&r->r, &r->at, r->p, &r->out); break;
    case GPM_REGRESS_PREDICTIONS_TEXT:
        regress_predictions_text(&r->r, &r->at, r->p, &r->out);
        break;
    default: regress_text(&r->r, &r->out);
    }
    return r->out.data;
}
