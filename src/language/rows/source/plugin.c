/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading plug-ins, and their distributions as procedures. The row is checked once when loaded. A
 * draw or density that is not a number is an error that names the plug-in. */
#include "language/rows/source/plugin.h"

#include "base/mem.h"
#include "base/pack.h"
#include "numeric/special/rng.h"
#include "language/rows/source/srcfn.h"
#include "language/rows/protocol/sp_options.h"
#include <math.h>
#include <string.h>

static double next_uniform(void *source) {
    return rng_uniform(source);
}

struct gpm_random plugin_random(struct rng *rng) {
    return (struct gpm_random){next_uniform, rng};
}

/* Is v a possible draw? */
static bool holds(const struct gpm_plugin_distribution *d, double v) {
    if (d->support == GPM_SUPPORT_POSITIVE) return v >= d->lo;
    return d->support != GPM_SUPPORT_INTERVAL || (v >= d->lo && v <= d->hi);
}

static bool support_sound(const struct gpm_plugin_distribution *d) {
    switch (d->support) {
    case GPM_SUPPORT_REAL:
    case GPM_SUPPORT_COUNTABLE: return true;
    case GPM_SUPPORT_POSITIVE: return isfinite(d->lo);
    case GPM_SUPPORT_INTERVAL: return isfinite(d->lo) && isfinite(d->hi) && d->lo < d->hi;
    }
    return false; /* an invalid enum value in the object */
}

/* What is wrong with the plug-in; NULL: valid. */
static const char *fault_of(const struct gpm_plugin *p) {
    if (p->version != GPM_PLUGIN_VERSION) return "its version is another one";
    if ((p->n_distributions && !p->distributions) || (p->n_emulators && !p->emulators))
        return "what it counts is not there";
    for (size_t i = 0; i < p->n_distributions; i++) {
        const struct gpm_plugin_distribution *d = &p->distributions[i];
        if (!d->name || !d->draw || !d->log_density)
            return "a distribution lacks its name, draw or log_density";
        if (d->n_args > 8) return "a distribution has more than 8 parameters";
        if (!support_sound(d))
            return "a distribution has no support: one of gpm_plugin_support, with a finite lo "
                   "where it begins, and a hi above it where it ends";
    }
    for (size_t i = 0; i < p->n_emulators; i++) {
        const struct gpm_plugin_emulator *e = &p->emulators[i];
        if (!e->name || !e->draw || !e->log_density)
            return "an emulator lacks its name, draw or log_density";
    }
    return NULL;
}

/* The plug-in in the object at this path, if the program may load it; NULL after sp_error. */
static const struct gpm_plugin *plugin_load(struct sp_call *c, const char *path) {
    char *full = srcfn_path(c, path);
    struct buf err = BUF_INIT;
    struct foreign object = {0};
    const struct gpm_plugin *found = NULL;
    enum gpm_status st = sp_need(c, SP_MAY_RUN, "load", full);
    if (st == GPM_OK && foreign_open(&object, full, "gpm_plugin", FOREIGN_SCALAR, &err))
        st = sp_error(c, DIAG_FILE, "%s", err.data);
    if (st == GPM_OK) {
        const struct gpm_plugin *(*get)(void); /* ISO C has no cast to function pointers */
        memcpy(&get, &object.symbol, sizeof get);
        found = get();
        const char *fault = found ? fault_of(found) : "gpm_plugin gives nothing";
        if (fault) {
            sp_error(c, DIAG_FILE, "'%s' is no plug-in of version %d: %s", path, GPM_PLUGIN_VERSION,
                     fault);
            found = NULL;
            foreign_close(&object);
        }
    }
    buf_release(&err);
    mem_free(full);
    return found;
}

const struct gpm_plugin_emulator *plugin_emulator(struct sp_call *c, const char *path,
                                                  const char *name) {
    const struct gpm_plugin *p = plugin_load(c, path);
    for (size_t i = 0; p && i < p->n_emulators; i++)
        if (!strcmp(p->emulators[i].name, name)) return &p->emulators[i];
    if (p) sp_error(c, DIAG_FILE, "the plug-in '%s' has no emulator '%s'", path, name);
    return NULL;
}

/* ---- distributions ---- */

struct plugged {
    const struct gpm_plugin_distribution *d;
    char *path; /* path of its object */
};

static void plugged_free(void *state) {
    mem_free(((struct plugged *)state)->path);
    mem_free(state);
}

static struct plugged *plugged_new(const struct gpm_plugin_distribution *d, const char *path) {
    struct plugged *p = NEW(struct plugged);
    p->d = d;
    p->path = mem_strdup(path);
    return p;
}

static const struct gpm_plugin_distribution *distribution(struct sp_call *c, const char *path,
                                                          const char *name) {
    const struct gpm_plugin *p = plugin_load(c, path);
    for (size_t i = 0; p && i < p->n_distributions; i++)
        if (!strcmp(p->distributions[i].name, name)) return &p->distributions[i];
    if (p) sp_error(c, DIAG_FILE, "the plug-in '%s' has no distribution '%s'", path, name);
    return NULL;
}

extern const struct sp_class sp_plugin_rows[];
/* Functions of plug-ins have no state, so their location suffices. */
static void *plugged_pack(struct pack *p, void *state) {
    struct plugged *x = state;
    char *path = x ? x->path : NULL, *name = x ? (char *)(uintptr_t)x->d->name : NULL;
    pack_text(p, &path);
    pack_text(p, &name);
    if (x) return x;
    struct sp_call c = {.cls = &sp_plugin_rows[0], .host = p->host, .diags = p->diags};
    const struct gpm_plugin_distribution *d =
        pack_ok(p) && path && name ? distribution(&c, path, name) : NULL;
    if (!d) pack_fail(p, "the plug-in %s cannot be loaded", path ? path : "");
    x = d ? plugged_new(d, path) : NULL;
    mem_free(path);
    mem_free(name);
    return x;
}

static const struct sp_class *plugged_row(const void *state, bool second);
const struct sp_state_class plugged_state = {
    .shared = true, .free = plugged_free, .pack = plugged_pack, .row = plugged_row};

/* Reads the parameters; there must be as many numbers as the distribution has. */
static enum gpm_status read_args(struct sp_call *c, double *args) {
    const struct gpm_plugin_distribution *d = ((struct plugged *)c->state)->d;
    if (c->n != d->n_args)
        return sp_error(c, DIAG_ARITY, "%s takes %zu argument%s, got %zu", d->name, d->n_args,
                        d->n_args == 1 ? "" : "s", c->n);
    for (size_t i = 0; i < c->n; i++)
        if (!value_number(c->args[i], &args[i]))
            return sp_type_error(c, c->args[i], "%s: argument %zu must be a number", d->name,
                                 i + 1);
    return GPM_OK;
}

static enum gpm_status outside(struct sp_call *c) {
    return sp_error(c, DIAG_DOMAIN, "%s: the parameters are outside their domain",
                    ((struct plugged *)c->state)->d->name);
}

static enum gpm_status plugged_simulate(struct sp_call *c, value *out) {
    const struct gpm_plugin_distribution *d = ((struct plugged *)c->state)->d;
    double args[8], v = NAN;
    enum gpm_status st = read_args(c, args);
    if (st != GPM_OK) return st;
    if (d->draw(args, plugin_random(c->rng), &v)) return outside(c);
    if (!isfinite(v)) return sp_error(c, DIAG_NAN, "the plug-in %s drew %g", d->name, v);
    if (!holds(d, v))
        return sp_error(c, DIAG_DOMAIN, "the plug-in %s drew %g, which lies outside its support",
                        d->name, v);
    *out = value_num(v);
    return GPM_OK;
}

static enum gpm_status plugged_log_density(struct sp_call *c, value v, double *out) {
    const struct gpm_plugin_distribution *d = ((struct plugged *)c->state)->d;
    double args[8], x;
    enum gpm_status st = read_args(c, args);
    *out = -INFINITY;
    if (st != GPM_OK || !value_number(v, &x)) return st;
    return d->log_density(x, args, out) ? outside(c) : GPM_OK;
}

static enum gpm_status plugged_support(struct sp_call *c, struct sp_support *out) {
    const struct gpm_plugin_distribution *d = ((struct plugged *)c->state)->d;
    static const enum sp_support_kind kinds[] = {[GPM_SUPPORT_REAL] = SUPPORT_REAL,
                                                 [GPM_SUPPORT_POSITIVE] = SUPPORT_POSITIVE,
                                                 [GPM_SUPPORT_INTERVAL] = SUPPORT_INTERVAL,
                                                 [GPM_SUPPORT_COUNTABLE] = SUPPORT_DISCRETE};
    *out = (struct sp_support){.kind = kinds[d->support], .lo = d->lo, .hi = d->hi};
    return GPM_OK;
}

static enum gpm_status plugged_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    const struct gpm_plugin_distribution *d = ((struct plugged *)c->state)->d;
    double args[8], g[9] = {0}, x;
    enum gpm_status st = read_args(c, args);
    if (st != GPM_OK) return st;
    if (!d->gradient) return sp_error(c, DIAG_NO_GRADIENT, "%s has no gradient", d->name);
    if (!value_number(v, &x) || d->gradient(x, args, g)) return outside(c);
    if (dv) *dv = value_num(g[0]);
    for (size_t i = 0; i < c->n; i++) dargs[i] = value_num(g[1 + i]);
    return GPM_OK;
}

#define PLUGGED                                                                                    \
    .name = "plugin", .sig = "(...args: number) -> number", .doc = "a distribution of a plug-in",  \
    .simulate = plugged_simulate, .log_density = plugged_log_density, .support = plugged_support
static const struct sp_class plugged_class = {PLUGGED, .flags = SP_RANDOM,
                                              .grad_density = plugged_grad};
static const struct sp_class plugged_discrete_class = {PLUGGED, .flags = SP_RANDOM | SP_DISCRETE,
                                                       .grad_density = plugged_grad};

static const struct sp_class *plugged_row(const void *state, bool second) {
    bool countable = ((const struct plugged *)state)->d->support == GPM_SUPPORT_COUNTABLE;
    return countable ? &plugged_discrete_class : &plugged_class;
}

static enum gpm_status make_plugged(struct sp_call *c, value *out) {
    const char *path = c->args[0].u.str->text;
    const struct gpm_plugin_distribution *d = distribution(c, path, c->args[1].u.str->text);
    if (!d) return GPM_E_USER;
    struct plugged *made = plugged_new(d, path);
    struct sp_state *state = sp_state_new(&plugged_state, made);
    *out = sp_made_value(plugged_row(made, false), state);
    sp_state_unref(state);
    return GPM_OK;
}

const struct sp_class sp_plugin_rows[] = {
    {.name = "plugin",
     .sig = "(path: string, name: string) -> proc",
     .doc = "A distribution of a plug-in, a shared object that gpmem/plugin.h describes; needs "
            "--allow-run.",
     .touches = SP_RUNS,
     .simulate = make_plugged},
};
const size_t sp_plugin_count = COUNT_OF(sp_plugin_rows);
