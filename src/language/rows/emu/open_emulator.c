/* SPDX-License-Identifier: Apache-2.0
 *
 * External emulators: a table of pairs, whose predictions come from a voice. The voice is a pair of
 * procedures of the language, or a plug-in (gpmem/plugin.h). Given the known pairs it answers two
 * requests:
 *
 *     draw       values at further inputs, jointly
 *     density    log p(values at further inputs)
 *
 * The density of the whole table is that of all pairs given an empty table. Values and measurements
 * are the same; any noise belongs to the voice. */
#include "language/rows/emu/emulator.h"

#include "base/mem.h"
#include "base/pack.h"
#include "base/vec.h"
#include "language/rows/source/plugin.h"
#include "language/rows/protocol/kernel_value.h"
#include <math.h>
#include <string.h>

struct voice {
    value draw, density;                       /* procedures of the language; NIL: a plug-in */
    const struct gpm_plugin_emulator *plugged; /* or NULL */
    double *par;                               /* parameters of the plug-in; owned */
};

struct open_table {
    struct voice now, before; /* before: the proposal */
    size_t dim;
    VEC(double) x, y;
    struct sp_call who; /* the maker's, without arguments; for messages and calls */
};

static void voice_release(struct voice *v) {
    value_unref(v->draw);
    value_unref(v->density);
    mem_free(v->par);
    *v = (struct voice){.draw = NIL, .density = NIL};
}

/* ---- requests to the voice ---- */

static value points_array(const double *x, size_t n, size_t dim) {
    value v = value_array_new(n);
    for (size_t i = 0; i < n; i++) v.u.array->at[i] = point_value(x + i * dim, (int)dim);
    return v;
}

static value pairs_array(const struct gpm_pairs *p) {
    value v = value_array_new(p->n);
    for (size_t i = 0; i < p->n; i++) {
        value pair = value_array_new(2);
        pair.u.array->at[0] = point_value(p->x + i * p->dim, (int)p->dim);
        pair.u.array->at[1] = value_num(p->y[i]);
        v.u.array->at[i] = pair;
    }
    return v;
}

static struct gpm_pairs all_pairs(const struct open_table *t) {
    return (struct gpm_pairs){t->y.n, t->dim, t->x.at, t->y.at};
}

static enum gpm_status draw_written(struct open_table *t, const double *x, size_t n, double *out) {
    struct gpm_pairs known = all_pairs(t);
    value args[2] = {pairs_array(&known), points_array(x, n, t->dim)}, v = NIL;
    double *got = NULL;
    size_t k = 0;
    enum gpm_status st = t->who.host->apply(t->who.host, t->now.draw, args, 2, &v);
    if (st == GPM_OK && (!seq_numbers(v, &got, &k) || k != n))
        st = sp_error(&t->who, DIAG_TYPE,
                      "%s: draw must give an array of %zu numbers, one for each input, got %s",
                      t->who.cls->name, n, SHOW(v));
    if (st == GPM_OK) memcpy(out, got, n * sizeof *out);
    mem_free(got);
    value_unref(v);
    for (int i = 0; i < 2; i++) value_unref(args[i]);
    return st == GPM_OK ? st : GPM_E_USER;
}

static enum gpm_status density_written(struct open_table *t, const struct gpm_pairs *known,
                                       const struct gpm_pairs *more, double *out) {
    value args[3] = {pairs_array(known), points_array(more->x, more->n, t->dim),
                     value_array_new(more->n)},
          v = NIL;
    for (size_t i = 0; i < more->n; i++) args[2].u.array->at[i] = value_num(more->y[i]);
    enum gpm_status st = t->who.host->apply(t->who.host, t->now.density, args, 3, &v);
    if (st == GPM_OK && v.tag != V_NUM)
        st = sp_error(&t->who, DIAG_TYPE, "%s: density must give a number, got %s",
                      t->who.cls->name, SHOW(v));
    if (st == GPM_OK) *out = v.u.num;
    value_unref(v);
    for (int i = 0; i < 3; i++) value_unref(args[i]);
    return st == GPM_OK ? st : GPM_E_USER;
}

static enum gpm_status outside(struct open_table *t) {
    return sp_error(&t->who, DIAG_DOMAIN, "%s: the parameters of %s are outside their domain",
                    t->who.cls->name, t->now.plugged->name);
}

static enum gpm_status open_sample(void *e, const double *x, size_t n, bool measured,
                                   struct rng *rng, double *out) {
    struct open_table *t = e;
    struct gpm_pairs known = all_pairs(t);
    if (!t->now.plugged) return draw_written(t, x, n, out);
    if (t->now.plugged->draw(&known, t->now.par, x, n, plugin_random(rng), out)) return outside(t);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out[i])) return GPM_E_ARG;
    return GPM_OK;
}

static enum gpm_status density(struct open_table *t, const struct gpm_pairs *known,
                               const struct gpm_pairs *more, double *out) {
    enum gpm_status st = GPM_OK;
    *out = 0;
    if (!more->n) return GPM_OK;
    if (!t->now.plugged)
        st = density_written(t, known, more, out);
    else if (t->now.plugged->log_density(known, t->now.par, more, out))
        st = outside(t);
    if (st == GPM_OK && *out != *out)
        st = sp_error(&t->who, DIAG_NAN, "%s: the log density is NaN", t->who.cls->name);
    return st;
}

static enum gpm_status open_conditional(void *e, bool measured, const double *x, const double *y,
                                        size_t n, double *logpdf) {
    struct open_table *t = e;
    struct gpm_pairs known = all_pairs(t), more = {n, t->dim, x, y};
    return density(t, &known, &more, logpdf);
}

static enum gpm_status open_log_joint(void *e, double *out) {
    struct open_table *t = e;
    struct gpm_pairs none = {0, t->dim, NULL, NULL}, all = all_pairs(t);
    return density(t, &none, &all, out);
}

/* ---- the table ---- */

static enum gpm_status open_add(void *e, bool measured, const double *x, const double *y,
                                size_t n) {
    struct open_table *t = e;
    for (size_t i = 0; i < n * t->dim; i++) vec_push(&t->x, x[i]);
    for (size_t i = 0; i < n; i++) vec_push(&t->y, y[i]);
    return GPM_OK;
}

static enum gpm_status open_remove(void *e, bool measured, const double *x, const double *y) {
    struct open_table *t = e;
    size_t d = t->dim;
    for (size_t i = t->y.n; i-- > 0;) {
        if (t->y.at[i] != *y || memcmp(t->x.at + i * d, x, d * sizeof *x) != 0) continue;
        memmove(t->x.at + i * d, t->x.at + (i + 1) * d, (t->y.n - i - 1) * d * sizeof *x);
        memmove(t->y.at + i, t->y.at + i + 1, (t->y.n - i - 1) * sizeof *y);
        t->x.n -= d;
        t->y.n--;
        return GPM_OK;
    }
    return GPM_E_NOT_FOUND;
}

static size_t open_n_pairs(void *e) {
    return ((struct open_table *)e)->y.n;
}

static void open_pair(void *e, size_t i, double *x, double *y) {
    struct open_table *t = e;
    memcpy(x, t->x.at + i * t->dim, t->dim * sizeof *x);
    *y = t->y.at[i];
}

/* ---- makers ---- */

/* The voice among the maker's arguments. `load`: only the maker loads plug-ins; a proposal of other
 * parameters keeps the loaded one. */
static enum gpm_status read_voice(struct sp_call *c, const struct gpm_plugin_emulator *kept,
                                  struct voice *out) {
    int draw = maker_parameter(c, "draw"), name = maker_parameter(c, "name");
    int par = maker_parameter(c, "parameters");
    double *given = NULL;
    size_t n = 0;
    *out = (struct voice){.draw = NIL, .density = NIL};
    if (draw >= 0) {
        out->draw = value_ref(c->args[draw]);
        out->density = value_ref(c->args[maker_parameter(c, "density")]);
        return GPM_OK;
    }
    out->plugged = kept ? kept
                        : plugin_emulator(c, c->args[maker_parameter(c, "path")].u.str->text,
                                          c->args[name].u.str->text);
    if (!out->plugged) return GPM_E_USER;
    if (par >= 0 && !seq_numbers(c->args[par], &given, &n))
        return sp_type_error(c, c->args[par], "%s: parameters must be an array of numbers",
                             c->cls->name);
    out->par = given;
    if (n == out->plugged->n_par) return GPM_OK;
    enum gpm_status st = sp_error(c, DIAG_ARITY, "%s: %s takes %zu parameters, got %zu",
                                  c->cls->name, out->plugged->name, out->plugged->n_par, n);
    voice_release(out);
    return st;
}

static enum gpm_status open_check(struct sp_call *c) {
    struct voice v;
    enum gpm_status st = read_voice(c, NULL, &v);
    if (st == GPM_OK) voice_release(&v);
    return st;
}

static void *open_make(struct sp_call *c, int dim) {
    struct voice v;
    if (read_voice(c, NULL, &v) != GPM_OK) return NULL;
    struct open_table *t = NEW(struct open_table);
    t->now = v;
    t->before = (struct voice){.draw = NIL, .density = NIL};
    t->dim = (size_t)dim;
    t->who = (struct sp_call){.cls = c->cls, .diags = c->diags, .host = c->host};
    return t;
}

static enum gpm_status open_propose(void *e, struct sp_call *c, double *log_joint) {
    struct open_table *t = e;
    struct voice v;
    enum gpm_status st = read_voice(c, t->now.plugged, &v);
    if (st != GPM_OK) return st;
    t->before = t->now;
    t->now = v;
    st = open_log_joint(t, log_joint);
    if (st == GPM_OK) return st;
    voice_release(&t->now);
    t->now = t->before;
    t->before = (struct voice){.draw = NIL, .density = NIL};
    return st;
}

static void open_accept(void *e) {
    voice_release(&((struct open_table *)e)->before);
}

static void open_reject(void *e) {
    struct open_table *t = e;
    voice_release(&t->now);
    t->now = t->before;
    t->before = (struct voice){.draw = NIL, .density = NIL};
}

static void open_free(void *e) {
    struct open_table *t = e;
    voice_release(&t->now);
    voice_release(&t->before);
    vec_release(&t->x);
    vec_release(&t->y);
    mem_free(t);
}

/* The table. The maker's call has the voice, which has no state. */
static void open_pack(struct pack *p, void *e) {
    struct open_table *t = e;
    pack_vec_doubles(p, &t->x);
    pack_vec_doubles(p, &t->y);
    if (t->x.n != t->y.n * t->dim) pack_fail(p, "a pair in it has no input");
}

static const struct emulator_class open_emulator = {.name = "from outside",
                                                    .sample = open_sample,
                                                    .conditional = open_conditional,
                                                    .add = open_add,
                                                    .remove = open_remove,
                                                    .log_joint = open_log_joint,
                                                    .n_pairs = open_n_pairs,
                                                    .pair = open_pair,
                                                    .propose = open_propose,
                                                    .accept = open_accept,
                                                    .reject = open_reject,
                                                    .free = open_free,
                                                    .pack = open_pack,
                                                    .make = open_make,
                                                    .check = open_check};

#define ALONE  .simulate = memoizer_make, .of = &open_emulator, .aaa = &memoizer_aaa
#define PAIRED .simulate = memoizer_make, .of = &open_emulator, .aaa = &memoizer_pair_aaa

const struct sp_class sp_open_rows[] = {
    {.name = "make_emulator",
     .sig = "(draw: proc, density: proc, dim?: any) -> proc",
     .doc = "An emulator written in the language: draw(pairs, xs) gives values at the inputs xs, "
            "jointly, and density(pairs, xs, ys) the log density of ys there, given pairs, an "
            "array of [input, value].",
     .flags = SP_MAKER | SP_CALLS,
     ALONE},
    {.name = "emumem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: any, draw: proc, density: proc, dim?: any, store?: any) -> list",
     .doc = "Memoization with an emulator written in the language: (f_compute, f_emu) = emumem(f, "
            "draw, density), see make_emulator.",
     .flags = SP_MAKER | SP_CALLS,
     .touches = SP_WRITES,
     PAIRED},
    {.name = "make_plugin",
     .sig = "(path: string, name: string, parameters?: any, dim?: any) -> proc",
     .doc = "An emulator of a plug-in (gpmem/plugin.h) with an array of parameters; needs "
            "--allow-run.",
     .flags = SP_MAKER,
     .touches = SP_RUNS,
     ALONE},
    {.name = "pluginmem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: any, path: string, name: string, parameters?: any, dim?: any, store?: any) -> "
            "list",
     .doc = "Memoization with an emulator of a plug-in: (f_compute, f_emu) = pluginmem(f, path, "
            "name, parameters).",
     .flags = SP_MAKER | SP_CALLS,
     .touches = SP_RUNS | SP_WRITES,
     PAIRED},
};
const size_t sp_open_count = COUNT_OF(sp_open_rows);
