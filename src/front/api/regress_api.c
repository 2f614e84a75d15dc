/* SPDX-License-Identifier: Apache-2.0
 *
 * Public face of the regression (include/gpmem/regress.h).
 */
#include "gpmem/regress.h"
#include "front/api/call.h"
#include "front/api/voice.h"
#include "base/cores.h"
#include "base/count.h"
#include "apps/regress/regress.h"
#include <math.h>

enum { KEPT_TEXTS = 5 }; /* of the options */

struct gpm_regression {
    struct regress r;
    enum { EMPTY, READ, FITTED } state;
    struct rnew at;
    struct rprediction *p; /* of the new rows; NULL: not computed yet */
    char *kept[KEPT_TEXTS];
    HANDLE;
};

static const struct gpm_regress_options default_options = {.seed = 1, .level = 0.95};

void gpm_regress_options_init_sized(struct gpm_regress_options *o, size_t size) {
    options_give(o, size, &default_options, sizeof default_options);
}

gpm_regression *gpm_regression_new(void) {
    gpm_regression *r = HANDLE_NEW(gpm_regression);
    buf_init(&r->r.t.notes);
    return r;
}

static void forget(gpm_regression *r) {
    rnew_release(&r->at);
    mem_free(r->p);
    r->p = NULL;
}

static void clear(gpm_regression *r) {
    regress_release(&r->r);
    forget(r);
    r->state = EMPTY;
}

void gpm_regression_free(gpm_regression *r) {
    if (!r || !call_enter(&r->busy)) return;
    clear(r);
    for (size_t i = 0; i < KEPT_TEXTS; i++) mem_free(r->kept[i]);
    HANDLE_FREE(r);
}

const char *gpm_regression_error(const gpm_regression *r) {
    CALL_SAYS((gpm_regression *)r);
    return voice_error((struct buf *)&r->err); /* the same text in the caller's words */
}

static enum gpm_status check(const struct gpm_regress_options *o, struct buf *err) {
    if (!(o->level > 0 && o->level < 1))
        return buf_fail(err, GPM_E_ARG, "the level must lie between 0 and 1");
    if ((int)o->noise < 0 || o->noise > GPM_REGRESS_NOISE_ROBUST)
        return buf_fail(err, GPM_E_ARG, "there is no such noise");
    if ((int)o->family < 0 || o->family > GPM_REGRESS_NEGATIVE_BINOMIAL)
        return buf_fail(err, GPM_E_ARG, "there is no such family");
    if (o->max_rows && (o->max_rows < RTABLE_LEAST || o->max_rows > REGRESS_MOST_ROWS))
        return buf_fail(err, GPM_E_ARG, "rows of the model: between %d and %d", RTABLE_LEAST,
                        REGRESS_MOST_ROWS);
    if (o->decimal < 0 || o->decimal > 2)
        return buf_fail(err, GPM_E_ARG, "there is no such way to write decimals");
    return count_check(COUNT_THREADS, "--threads", o->threads, err);
}

/* The texts of options, kept for as long as the handle is in use. */
static void keep(gpm_regression *r, const char **text, size_t place) {
    mem_free(r->kept[place]);
    r->kept[place] = *text ? mem_strdup(*text) : NULL;
    *text = r->kept[place];
}

static enum gpm_status regress_api_take(gpm_regression *r, const struct rtext *from,
                                        const struct gpm_regress_options *given) {
    static const char decimals[] = {0, '.', ','};
    struct gpm_regress_options o = default_options;
    CALL_BEGIN(r, st);
    options_take(&o, sizeof o, given);
    if (!st) st = check(&o, &r->err);
    if (st) return st;
    const char **texts[KEPT_TEXTS] = {&o.y, &o.x, &o.kernel, &o.missing, &o.date_format};
    for (size_t i = 0; i < KEPT_TEXTS; i++) keep(r, texts[i], i);
    int cores = cores_available();
    struct regress_options full = {
        .table = {o.y, o.x, o.missing, decimals[o.decimal], o.date_format},
        .kernel = o.kernel,
        .level = o.level,
        .seed = o.seed,
        .max_rows = o.max_rows,
        .noise = (enum rnoise)o.noise,
        .family = (enum rfamily_kind)o.family,
        .rough = o.rough,
        .threads = o.threads   ? (int)o.threads
                   : cores < 8 ? cores
                               : 8,
        .stop = o.stop};
    clear(r);
    st = regress_read(&r->r, from, &full, &r->err);
    r->state = st ? EMPTY : READ;
    return st;
}

enum gpm_status gpm_regression_read(gpm_regression *r, const char *file,
                                    const struct gpm_regress_options *o) {
    return regress_api_take(r, &(struct rtext){.name = file}, o);
}

enum gpm_status gpm_regression_read_text(gpm_regression *r, const char *name, const char *csv,
                                         size_t n, const struct gpm_regress_options *o) {
    return regress_api_take(r, &(struct rtext){name, csv, n}, o);
}

enum gpm_status gpm_regression_run(gpm_regression *r) {
    CALL_BEGIN(r, st);
    if (!st && r->state != READ)
        st = buf_fail(&r->err, GPM_E_ARG, "there is no table to be fitted; read one first");
    if (!st) st = regress_run(&r->r, &r->err);
    if (!st) r->state = FITTED;
    return st;
}

enum gpm_status gpm_regression_fit(gpm_regression *r, const char *file,
                                   const struct gpm_regress_options *o) {
    enum gpm_status st = gpm_regression_read(r, file, o);
    return st ? st : gpm_regression_run(r);
}

/* Before new rows are taken. */
static enum gpm_status begin_rows(gpm_regression *r, enum gpm_status st) {
    if (st) return st;
    if (r->state == EMPTY) st = buf_fail(&r->err, GPM_E_ARG, "there is no regression yet");
    mem_free(r->p);
    r->p = NULL;
    return st;
}

enum gpm_status gpm_regression_file(gpm_regression *r, const char *file) {
    return gpm_regression_text(r, file, NULL, 0);
}

enum gpm_status gpm_regression_text(gpm_regression *r, const char *name, const char *csv,
                                    size_t n) {
    CALL_BEGIN(r, began);
    enum gpm_status st = begin_rows(r, began);
    struct rtext from = {name, csv, n};
    return st ? st : rnew_table(&r->r.t, &from, &r->at, &r->err);
}

enum gpm_status gpm_regression_at(gpm_regression *r, const char *point) {
    CALL_BEGIN(r, began);
    enum gpm_status st = begin_rows(r, began);
    return st ? st : rnew_point(&r->r.t, point, &r->at, &r->err);
}

void gpm_regression_forget(gpm_regression *r) {
    CALL_ALONE(r, );
    forget(r);
}

size_t gpm_regression_outside(const gpm_regression *r, size_t *lacking) {
    CALL_ALONE((gpm_regression *)r, 0);
    size_t n = 0, lacks = 0, d = (size_t)r->r.t.d;
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < r->at.m; i++) {
        bool whole = !r->at.unseen.at[i];
        for (size_t k = 0; k < d && whole; k++) whole = isfinite(r->at.x[i * d + k]);
        lacks += !whole && !r->at.unseen.at[i];
        n += rtable_outside(&r->r.t, r->at.x + i * d, &names) > 0 && !r->at.unseen.at[i];
    }
    buf_release(&names);
    if (lacking) *lacking = lacks;
    return n;
}

size_t gpm_regression_unseen(const gpm_regression *r, const char **first) {
    CALL_ALONE((gpm_regression *)r, 0);
    size_t n = 0;
    if (first) *first = "";
    for (size_t i = 0; i < r->at.m; i++)
        if (r->at.unseen.at[i] && !n++ && first) *first = r->at.unseen.at[i];
    return n;
}

const char *gpm_regression_report(gpm_regression *r, enum gpm_regress_format f) {
    CALL_BEGIN(r, st);
    if (!st && r->state != FITTED) st = buf_fail(&r->err, GPM_E_ARG, "there is no regression yet");
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
    case GPM_REGRESS_HTML: regress_report(&r->r, &r->at, r->p, DOC_HTML, &r->out); break;
    case GPM_REGRESS_PROGRAM: regress_program(&r->r, &r->out); break;
    case GPM_REGRESS_PREDICTIONS: regress_predictions_csv(&r->r, &r->at, r->p, &r->out); break;
    case GPM_REGRESS_PREDICTIONS_TEXT:
        regress_predictions_text(&r->r, &r->at, r->p, &r->out);
        break;
    default: regress_report(&r->r, &r->at, r->p, DOC_TEXT, &r->out);
    }
    return voice_text(&r->out);
}
