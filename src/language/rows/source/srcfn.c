/* SPDX-License-Identifier: Apache-2.0
 *
 * See srcfn.h. */
#include "language/rows/source/srcfn.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/pack.h"
#include "language/rows/protocol/sp_options.h"
#include "table/table.h"
#include <math.h>

struct srcfn *srcfn_new(const struct srcfn_class *cls, char *identity_taken, int dim) {
    struct srcfn *s = NEW(struct srcfn);
    s->refs = 1;
    s->cls = cls;
    s->identity = identity_taken;
    s->dim = dim;
    return s;
}

void srcfn_unref(struct srcfn *s) {
    if (!s || --s->refs) return;
    if (s->cls->release) s->cls->release(s);
    mem_free(s->identity);
    mem_free(s);
}

/* ---- programs ----------------------------------------------------------------------------- */

char **srcfn_texts(const double *x, int dim) {
    char **texts = NEW_ARRAY(char *, (size_t)dim + 1);
    for (int i = 0; i < dim; i++) {
        struct buf b = BUF_INIT;
        buf_number(&b, x[i]);
        texts[i] = buf_take(&b);
    }
    return texts;
}

void srcfn_texts_free(char **texts, int dim) {
    for (int i = 0; i < dim; i++) mem_free(texts[i]);
    mem_free(texts);
}

static enum gpm_status run_command(struct srcfn *s, const double *x, double *y,
                                   const volatile sig_atomic_t *stop, struct buf *why) {
    struct proc_result r;
    proc_result_init(&r);
    char **texts = srcfn_texts(x, s->dim);
    proc_run(&s->u.command, (const char *const *)texts, stop, &r);
    srcfn_texts_free(texts, s->dim);
    bool ok = r.outcome == PROC_OK;
    if (ok)
        *y = r.value;
    else if (r.outcome == PROC_INTERRUPTED)
        buf_puts(why, "interrupted");
    else
        proc_result_text(&r, why);
    proc_result_release(&r);
    return ok ? GPM_OK : GPM_E_USER;
}

static void release_command(struct srcfn *s) {
    proc_command_release(&s->u.command);
}

const struct srcfn_class srcfn_command = {run_command, release_command};

/* ---- shared objects and callbacks --------------------------------------------------------- */

static enum gpm_status check_finite(double y, struct buf *why) {
    if (isfinite(y)) return GPM_OK;
    buf_puts(why, "it gave ");
    buf_number(why, y);
    return GPM_E_USER;
}

static enum gpm_status call_object(struct srcfn *s, const double *x, double *y,
                                   const volatile sig_atomic_t *stop, struct buf *why) {
    *y = foreign_call(&s->u.object, x, s->dim);
    return check_finite(*y, why);
}

static void release_object(struct srcfn *s) {
    foreign_close(&s->u.object);
}

const struct srcfn_class srcfn_foreign = {call_object, release_object};

static enum gpm_status call_back(struct srcfn *s, const double *x, double *y,
                                 const volatile sig_atomic_t *stop, struct buf *why) {
    char err[512] = "";
    *y = NAN;
    int rc = s->u.callback.f(s->u.callback.user, x, (size_t)s->dim, y, err, sizeof err);
    if (rc == 0) return check_finite(*y, why);
    err[sizeof err - 1] = 0;
    if (err[0])
        buf_puts(why, err);
    else
        buf_printf(why, "it returned %d", rc);
    return GPM_E_USER;
}

const struct srcfn_class srcfn_call = {call_back, NULL};

/* ---- tables ------------------------------------------------------------------------------- */

static enum gpm_status look_up(struct srcfn *s, const double *x, double *y,
                               const volatile sig_atomic_t *stop, struct buf *why) {
    double *key = NEW_ARRAY(double, (size_t)s->dim);
    for (int i = 0; i < s->dim; i++) key[i] = x[i] + 0.0;
    const struct point_entry *row = point_map_find(&s->u.table, key, s->dim);
    mem_free(key);
    if (row)
        *y = row->y;
    else
        buf_puts(why, "the file has no row with these inputs");
    return row ? GPM_OK : GPM_E_USER;
}

static void release_table(struct srcfn *s) {
    point_map_release(&s->u.table);
}

const struct srcfn_class srcfn_csv = {look_up, release_table};

enum gpm_status srcfn_csv_fill(struct srcfn *s, const struct csv *c, const int *inputs, int output,
                               struct buf *err) {
    double *x = NEW_ARRAY(double, (size_t)s->dim), y;
    struct table_column *col = NEW_ARRAY(struct table_column, (size_t)s->dim + 1);
    enum gpm_status st = GPM_OK;
    for (int j = 0; j <= s->dim; j++)
        table_column_read(&col[j], c, j < s->dim ? inputs[j] : output, &(struct column_wish){0});
    for (size_t r = 0; r < c->n_rows && st == GPM_OK; r++) {
        st = table_column_number(&col[s->dim], r, &y, err);
        for (int j = 0; j < s->dim && st == GPM_OK; j++) {
            st = table_column_number(&col[j], r, &x[j], err);
            x[j] += 0.0;
        }
        if (st != GPM_OK) break;
        const struct point_entry *same = point_map_find(&s->u.table, x, s->dim);
        if (!same) {
            point_map_add(&s->u.table, x, s->dim, y)->count = (uint32_t)c->lines[r];
        } else if (same->y != y) {
            buf_printf(err,
                       "%s: line %zu repeats the inputs of line %u with another value; a source "
                       "function has one value at each input",
                       c->name, c->lines[r], same->count);
            st = GPM_E_CONFLICT;
        }
    }
    for (int j = 0; j <= s->dim; j++) table_column_release(&col[j]);
    mem_free(col);
    mem_free(x);
    return st;
}

/* ---- as procedures ------------------------------------------------------------------------ */

enum gpm_status srcfn_failed(struct sp_call *c, const char *identity, const double *x, int dim,
                             const char *why) {
    struct buf at = BUF_INIT;
    for (int i = 0; i < dim; i++) {
        if (i) buf_puts(&at, ", ");
        buf_number(&at, x[i]);
    }
    enum gpm_status st =
        sp_error(c, DIAG_SOURCE_FAILED, "the source function %.120s failed at %s: %s", identity,
                 at.data, why);
    buf_release(&at);
    return st;
}

static bool inputs_of(const struct sp_call *c, double **x, size_t *n) {
    if (c->n == 1 && seq_numbers(c->args[0], x, n)) return true;
    *x = NEW_ARRAY(double, c->n + 1);
    *n = c->n;
    for (size_t i = 0; i < c->n; i++) {
        if (c->args[i].tag != V_NUM && c->args[i].tag != V_BOOL) {
            mem_free(*x);
            return false;
        }
        (*x)[i] = sp_num(c, i);
    }
    return true;
}

static enum gpm_status apply_source(struct sp_call *c, value *out) {
    struct srcfn *s = c->state;
    double *x, y;
    size_t n;
    if (!inputs_of(c, &x, &n)) return sp_error(c, DIAG_TYPE, "%.120s takes numbers", s->identity);
    enum gpm_status st;
    struct buf why = BUF_INIT;
    struct sp_options *o = c->host ? c->host->options : NULL;
    if (n != (size_t)s->dim)
        st = sp_error(c, DIAG_ARITY, "%.120s takes %d number%s, got %zu", s->identity, s->dim,
                      s->dim == 1 ? "" : "s", n);
    else if ((st = s->cls->evaluate(s, x, &y, o ? o->stop : NULL, &why)) != GPM_OK)
        st = srcfn_failed(c, s->identity, x, s->dim, why.data);
    else
        *out = value_num(y);
    buf_release(&why);
    mem_free(x);
    return st;
}

static void state_free(void *state) {
    srcfn_unref(state);
}

static void pack_texts(struct pack *p, char ***texts, int *n) {
    size_t count = (size_t)*n;
    pack_count(p, &count, 1);
    if (p->reading) *texts = mem_zalloc((count + 1) * sizeof **texts);
    for (size_t i = 0; i < count; i++) pack_text(p, &(*texts)[i]);
    *n = (int)count;
}

/* What is read is run later: only where that is allowed. */
static bool pack_may_run(struct pack *p) {
    const struct sp_host *host = p->host;
    bool may = !p->reading || (host && host->options && host->options->allow_run);
    if (!may) pack_fail(p, "it runs a program, which needs --allow-run");
    return may;
}

/* The identity names object and function. */
static void pack_object_of(struct pack *p, struct srcfn *s) {
    struct foreign *f = &s->u.object;
    f->kind = (enum foreign_kind)pack_choice(p, f->kind, FOREIGN_VECTOR + 1);
    if (!p->reading) return;
    struct buf why = BUF_INIT;
    char *path = mem_strdup(s->identity ? s->identity : ""), *colon = strrchr(path, ':');
    if (colon) *colon = 0;
    bool good = pack_ok(p) && colon && pack_may_run(p) &&
                foreign_open(f, path, colon + 1, f->kind, &why) == GPM_OK;
    if (!good) pack_fail(p, "the function %s cannot be loaded", s->identity ? s->identity : "");
    mem_free(path);
    buf_release(&why);
}

static void pack_command(struct pack *p, struct proc_command *c) {
    if (c->watch || c->outputs) pack_fail(p, "a program that is watched cannot be saved");
    pack_texts(p, &c->argv, &c->argc);
    pack_texts(p, &c->names, &c->n_names);
    pack_bool(p, &c->json);
    pack_bool(p, &c->timing);
    pack_double(p, &c->timeout);
    pack_int(p, &c->retries);
    pack_double(p, &c->patience);
    (void)pack_may_run(p);
}

static void *state_pack(struct pack *p, void *state) {
    struct srcfn *s = state ? state : srcfn_new(&srcfn_csv, NULL, 0);
    static const struct srcfn_class *const kinds[] = {&srcfn_csv, &srcfn_command, &srcfn_foreign};
    uint32_t kind = 0;
    while (kind < COUNT_OF(kinds) && kinds[kind] != s->cls) kind++;
    kind = pack_choice(p, kind, COUNT_OF(kinds) + 1);
    if (kind == COUNT_OF(kinds)) pack_fail(p, "a function of another program cannot be saved");
    if (kind == COUNT_OF(kinds)) return s;
    s->cls = kinds[kind];
    pack_text(p, &s->identity);
    pack_int(p, &s->dim);
    pack_bool(p, &s->parallel);
    if (s->cls == &srcfn_command)
        pack_command(p, &s->u.command);
    else if (s->cls == &srcfn_foreign)
        pack_object_of(p, s);
    else
        point_map_pack(p, &s->u.table, s->dim);
    return s;
}

static const struct sp_class srcfn_row;
static const struct sp_class *state_row(const void *state, bool second) {
    return &srcfn_row;
}

const struct sp_state_class srcfn_state = {
    .shared = true, .free = state_free, .pack = state_pack, .row = state_row};
static const struct sp_class srcfn_row = {.name = "source function",
                                          .sig = "(...x: any) -> number",
                                          .doc = "A function from outside the language.",
                                          .simulate = apply_source};

value srcfn_value(struct srcfn *s_taken) {
    struct sp_state *state = sp_state_new(&srcfn_state, s_taken);
    value v = sp_made_value(&srcfn_row, state);
    sp_state_unref(state);
    return v;
}

struct srcfn *srcfn_of(value v) {
    struct sp_proc *m = sp_made_of(v);
    return m && m->cls == &srcfn_row ? m->state->data : NULL;
}

char *srcfn_path(const struct sp_call *c, const char *path) {
    const char *folder = c->host ? c->host->folder : NULL;
    if (path[0] != '/' && folder && folder[0]) {
        struct buf b = BUF_INIT;
        buf_puts(&b, folder);
        buf_puts(&b, path);
        if (file_there(b.data)) return buf_take(&b);
        buf_release(&b);
    }
    return mem_strdup(path);
}

enum gpm_status srcfn_dim(struct sp_call *c, int i, int fallback, int *dim) {
    *dim = fallback;
    if (i < 0 || !sp_given(c, (size_t)i)) return GPM_OK;
    value v = c->args[i];
    if (v.tag != V_NUM || !(v.u.num >= 1 && v.u.num <= 10000) || v.u.num != floor(v.u.num))
        return sp_error(c, DIAG_DOMAIN, "%s: dim must be a number of coordinates, from 1 to 10000",
                        c->cls->name);
    *dim = (int)v.u.num;
    return GPM_OK;
}
