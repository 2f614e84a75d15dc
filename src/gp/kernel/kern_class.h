/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel is one row of a table. A family file (kern_stationary.c, kern_periodic.c,
 * kern_linear.c, kern_noise.c, kern_platform.c) holds static functions and ends in its rows;
 * kern_index.c lists the families. Adding a kernel to a family edits that one file.
 *
 * How a row computes: `prepare` derives a few numbers (features) from every point, for example
 * x / l, or cos and sin of 2 pi x / p. Then strips of one column of the Gram matrix are evaluated
 * against one fixed point. A strip has at most KERN_STRIP rows, so it stays in the first-level
 * cache. The amplitude is separate: kernel = amplitude * value(strip), or amplitude *
 * exp(expo(strip)). Rows with `expo` share one exponential inside a product (SE*PER costs one exp).
 */
#ifndef GP_KERN_CLASS_H
#define GP_KERN_CLASS_H
#include "gp/kernel/kernel.h"
#include "numeric/dist/dist.h"

#define KERN_STRIP   512
#define KERN_MAX_PAR 6 /* parameters of a row; a vector parameter counts once */

enum kern_amp {
    KERN_AMP_NONE,
    KERN_AMP_SQUARE, /* parameter 0 is a standard deviation: enters squared */
    KERN_AMP_LINEAR  /* parameter 0 is the factor itself */
};

/* Simplification rules that apply to a row. */
enum kern_algebra {
    KERN_ALG_OPAQUE, /* no rule but constants */
    KERN_ALG_SE,     /* SE x SE = SE */
    KERN_ALG_STAT,   /* stationary with value 1 at lag 0: times WN is WN */
    KERN_ALG_WN,
    KERN_ALG_CONST,
    KERN_ALG_LIN
};

/* Features: row[f * ld + i] for the points of a strip, col[f] for the fixed point. */
struct kern_strip {
    const double *row; /* features of the first row of the strip; feature f at row + f * ld */
    size_t ld;
    const double *col; /* features of the fixed point */
    size_t m;          /* rows in this strip, at most KERN_STRIP */
    int nf;            /* features */
    const double *gap; /* the row's `gap` at their distances, or NULL */
    bool later;        /* no row precedes the fixed point (one column); false: unknown */
};

/* A random feature of a stationary kernel of value 1 at lag 0: sqrt(2) cos(w.x + b) with a
 * frequency w from the spectral density, times random signs for values of columns. The mean of
 * products of such features is the kernel. For a product of kernels the frequencies add and the
 * signs multiply. */
struct kern_wave {
    struct rng *rng;
    double *w;      /* per input column: the row adds its frequency (radians) */
    uint64_t *sign; /* per input column: 0, or a key; value v has the sign kern_sign(key, v) */
};
struct kern_states; /* kern_states.h */

/* The row on a device: bodies of C functions of one pair of points, compiled at run time
 * (kern_device.h). Names in scope: x, the leaf's n columns of a point; p, its parameters, where a
 * vector parameter takes v values (1: shared), so column c has p[first + c % v]; k, constants; f
 * and h, the features of two points; w, a weight; g, one sum per parameter. */
struct kern_device {
    const char *prepare;                                 /* f from x; NULL: the coordinates */
    const char *value;                                   /* returns it; of rows with expo its log */
    const char *grad;                                    /* as `grad` of the row */
    const char *weight;                                  /* as `weight`: x, p, dh; returns h */
    int constants;                                       /* numbers computed once, see `constant` */
    void (*constant)(const struct kern *k, double *out); /* by this */
};
double kern_sign(uint64_t key, double v); /* 1 or -1 */

struct kern_class {
    const char *name, *symbol, *doc, *phrase;
    enum kern_op op; /* KERN_LEAF, KERN_ALIAS, KERN_CHANGE */
    enum kern_algebra algebra;
    int order; /* rank among the factors of a canonical product: lowest first, then by symbol */
    enum kern_amp amp;
    bool stationary; /* leaves: stationary with value 1 at lag 0 */
    bool one_column; /* valid only for a single input column */
    int walk; /* 1: Wiener process, stationary after one difference; 2: integrated, after two.
                 Parameter 1 is the start */
    /* Rows with stationary increments that start with value 0 at their last parameter: half the
     * variance of an increment over a distance, without the amplitude; d[p] = d/dpar_p, p > 0. */
    double (*variogram)(const double *par, double distance, double *d);
    /* Rows that start at their last parameter: an expensive function of the distance. On a regular
     * grid after the start it is computed once per lag. */
    double (*gap)(const double *par, double distance);
    bool not_psd; /* not positive semi-definite for every input (platform's tolerance kernels) */
    struct kern_motif motif;
    const char *maker[2]; /* procedures of the language; the row's own name if it has none */
    size_t optional;      /* number of trailing parameters that may be omitted */
    size_t npar;
    struct kern_param par[KERN_MAX_PAR];

    /* Leaves. par: expanded parameters (a vector parameter takes `dim` places or 1). x: the leaf's
     * columns. */
    int features; /* per column */
    /* NULL: features are the coordinates. */
    void (*prepare)(const struct kern *k, struct kern_pts x, double *f, size_t ld);
    void (*expo)(const struct kern *k, const struct kern_strip *s, double *out);  /* out += */
    void (*value)(const struct kern *k, const struct kern_strip *s, double *out); /* out = */
    /* Optional: out += amp * value, for rows cheaper than a pass over scratch memory. */
    void (*add)(const struct kern *k, const struct kern_strip *s, double amp, double *out);
    /* g[p] += sum_i w_i d/dpar_p over expanded parameters, without the amplitude. It differentiates
     * the log value for rows with expo (w then includes the value), otherwise the value. NULL:
     * nothing to add. */
    void (*grad)(const struct kern *k, const struct kern_strip *s, const double *w, double *g);
    bool grad_value; /* grad also adds g[0] += sum_i w_i value_i, for the amplitude */
    /* Optional: g[c] += sum_i w_i d/dx'_c for the fixed point x' and input column c, of the same
     * function as grad. Returns sum_i w_i value_i (any number for rows with expo). Without it
     * differences are used. */
    double (*slope)(const struct kern *k, const struct kern_strip *s, const double *w, double *g);
    /* Radial rows: e_i = w_i times -2 dk/d(r^2) (of log k for rows with expo) over fall_factor.
     * Returns the sum of w k (0 for rows with expo). Adds derivatives in shape parameters to g
     * unless NULL. Without `fall`, e = w. */
    double (*fall)(const struct kern *k, const struct kern_strip *s, const double *w, double *e,
                   double *g);
    double fall_factor;
    /* For rows without shape parameters: the value at q = r^2 (which may be overwritten), and e as
     * in fall (w NULL: not wanted). */
    void (*profile)(size_t m, double *q, double *value, const double *w, double *e);
    double nu; /* Matern rows: smoothness */
    /* Optional: one random feature, see kern_wave. */
    void (*wave)(const struct kern *k, int dim, struct kern_wave *f);
    /* State-space form (kern_states.h) for filters; NULL: no such form. Lines, constants and white
     * noise need none. */
    const struct kern_states *states;
    struct kern_device device;

    /* Aliases are built as the leaf named by the symbol. Each leaf parameter is a factor times
     * parameter `par`, or its root (factor 0), or 1 (par -1). */
    struct {
        int par;
        double factor;
    } from[KERN_MAX_PAR];

    /* Change operators: h(x) and dh[p] = dh/dpar_p. Leaves with value h h', where h is a function
     * of one column: the same, with par from the second parameter on. */
    double (*weight)(const double *par, double x, double *dh);
};
/* Parameter b of the leaf; *slope: its derivative in the alias parameter from[b].par. */
double kern_base_par(const struct kern_class *alias, const double *par, size_t b, double *slope);
#endif
