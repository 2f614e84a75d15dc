/* SPDX-License-Identifier: Apache-2.0
 *
 * Plug-ins: distributions and emulators of your own, in a shared object that programs load:
 *
 *     assume skellam = plugin("./libmine.so", "skellam");
 *     assume (f_compute, f_emu) = pluginmem(f, "./libmine.so", "nearest", [0.5]);
 *
 * The object exports gpm_plugin, which names what it holds. This header needs no library: a plug-in
 * is compiled by cc -shared -fPIC and linked with nothing of gpmem's. Loading runs its code, so it
 * needs --allow-run. Its functions are called from one thread at a time; they keep no state
 * between calls but what the arguments hold, so that traces stay exact.
 */
#ifndef GPMEM_PLUGIN_H
#define GPMEM_PLUGIN_H
#include <stddef.h>
#if defined(__cplusplus)
extern "C" {
#endif

enum { GPM_PLUGIN_VERSION = 1 };

/* Random numbers: next(source) is uniform between 0 and 1, neither included. Whatever is drawn must
 * come from it. */
struct gpm_random {
    double (*next)(void *source);
    void *source;
};

enum gpm_plugin_support {
    GPM_SUPPORT_REAL,     /* any number */
    GPM_SUPPORT_POSITIVE, /* above lo */
    GPM_SUPPORT_INTERVAL, /* from lo to hi */
    GPM_SUPPORT_COUNTABLE /* whole numbers, or others that can be counted: not moved by gradients */
};

/* A distribution of numbers with n_args numbers as parameters. Functions return 0, or 1 for
 * parameters outside their domain (the program's state is then impossible). */
struct gpm_plugin_distribution {
    const char *name;
    size_t n_args;
    enum gpm_plugin_support support;
    double lo, hi;
    int (*draw)(const double *args, struct gpm_random r, double *out);
    /* log p(v); -INFINITY where v cannot be */
    int (*log_density)(double v, const double *args, double *out);
    /* g[0] = d log p / dv, g[1 + i] = d / d args[i]; NULL: hmc, nuts and the ascents refuse it */
    int (*gradient)(double v, const double *args, double *g);
};

/* Pairs of an input, dim numbers, and its value. */
struct gpm_pairs {
    size_t n, dim;
    const double *x; /* x[i * dim + c] */
    const double *y;
};

/* An emulator: a distribution over functions. Both functions get the pairs that are known and
 * n_par parameters; densities of pairs given others must multiply to the same joint density in any
 * order. */
struct gpm_plugin_emulator {
    const char *name;
    size_t n_par;
    /* values at n further inputs, jointly */
    int (*draw)(const struct gpm_pairs *known, const double *par, const double *x, size_t n,
                struct gpm_random r, double *out);
    /* log p(values of `more` | known) */
    int (*log_density)(const struct gpm_pairs *known, const double *par,
                       const struct gpm_pairs *more, double *out);
};

struct gpm_plugin {
    int version; /* GPM_PLUGIN_VERSION */
    const struct gpm_plugin_distribution *distributions;
    size_t n_distributions;
    const struct gpm_plugin_emulator *emulators;
    size_t n_emulators;
};

/* What the shared object exports. */
const struct gpm_plugin *gpm_plugin(void);

#if defined(__cplusplus)
}
#endif
#endif
