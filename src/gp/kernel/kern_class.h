/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel is one row of a table. A family file (kern_stationary.c, kern_periodic.c,
 * kern_linear.c, kern_noise.c, kern_platform.c) holds static functions and ends in its rows;
 * kern_index.c lists the families. Adding a kernel to a family edits that one file.
 *
 * How a row computes: `prepare` derives from every point a few numbers (features), for example
 * x / l, or cos and sin of 2 pi x / p; then strips of one column of the Gram matrix are evaluated
 * against one fixed point. A strip holds at most KERN_STRIP rows, so it stays in the first cache
 * and one pass does what a fused loop would. The amplitude is kept apart: kernel = amplitude *
 * value(strip),  or  amplitude * exp(expo(strip)). Rows with `expo` share one exponential inside a
 * product (SE*PER costs one exp).
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

/* What simplification knows about a row. */
enum kern_algebra {
    KERN_ALG_OPAQUE, /* no rule but constants */
    KERN_ALG_SE,     /* SE x SE = SE */
    KERN_ALG_STAT,   /* stationary with value 1 at lag 0: times WN is WN */
    KERN_ALG_WN,
    KERN_ALG_CONST,
    KERN_ALG_LIN
};

/* Feature arrays: rows_f[f * ldr + i] for the strip's points, col_f[f] for the fixed point. */
struct kern_strip {
    const double *row; /* features of the first row of the strip; feature f at row + f * ld */
    size_t ld;
    const double *col; /* features of the fixed point */
    size_t m;          /* rows in this strip, at most KERN_STRIP */
    int nf;            /* features */
    const double *gap; /* `gap` of the row at their distances; NULL: not known */
    bool later;        /* no row lies before the fixed point (one column); false: not known */
};

/* A random feature of a stationary kernel of value 1 at lag 0: sqrt(2) cos(w.x + b) with a
 * frequency w drawn from the spectral density, times random signs by the values of columns. The
 * mean of products of such features is the kernel; those of a product of kernels add and multiply.
 */
struct kern_wave {
    struct rng *rng;
    double *w;      /* per input column: the row adds its frequency, in radians */
    uint64_t *sign; /* per input column: 0, or a key; the value v then has the sign of
                     * kern_sign(key, v) */
};
struct kern_states; /* kern_states.h */

/* The same row for a device: bodies of C functions of one pair of points, compiled at run time
 * (kern_device.h). What they see: x, the leaf's n columns of a point; p, its parameters, a vector
 * parameter of v values (1: shared) in its place, so that column c has p[first + c % v]; k, its
 * constants; f and h, the features of two points; w, a weight; g, one sum per parameter. */
struct kern_device {
    const char *prepare;                                 /* f from x; NULL: the coordinates */
    const char *value;                                   /* returns it; of rows with expo its log */
    const char *grad;                                    /* as `grad` of the row */
    const char *weight;                                  /* as `weight`: x, p, dh; returns h */
    int constants;                                       /* numbers made of the parameters once, */
    void (*constant)(const struct kern *k, double *out); /* by this */
};
double kern_sign(uint64_t key, double v); /* 1 or -1 */

struct kern_class {
    const char *name, *symbol, *doc, *phrase;
    enum kern_op op; /* KERN_LEAF, KERN_ALIAS, KERN_CHANGE */
    enum kern_algebra algebra;
    int order; /* among the factors of a canonical product: lowest first, then by symbol */
    enum kern_amp amp;
    bool stationary; /* leaves: and of value 1 at lag 0 */
    bool one_column; /* makes sense on a single input column only */
    int walk; /* 1: Wiener process, stationary after one difference; 2: integrated, after two;
               * parameter 1 is where it starts */
    /* Rows of stationary increments that start with value 0 at their last parameter: half the
     * variance of an increment over a distance, the amplitude left out; d[p] = d/dpar_p, p > 0. */
    double (*variogram)(const double *par, double distance, double *d);
    /* Rows that start at their last parameter: a function of the distance that is dear. On a
     * regular grid behind that start it is computed once for each lag. */
    double (*gap)(const double *par, double distance);
    bool not_psd; /* not positive semi-definite for every input (platform's tolerance kernels) */
    struct kern_motif motif;
    const char *maker[2]; /* procedures of the language; the row's own name when it has none */
    size_t optional;      /* parameters at the end that they may leave out */
    size_t npar;
    struct kern_param par[KERN_MAX_PAR];

    /* Leaves. par: expanded parameters (a vector parameter occupies `dim` or 1 places), x: the
     * columns the leaf looks at. */
    int features; /* for each of those columns */
    /* NULL: the features are the coordinates. */
    void (*prepare)(const struct kern *k, struct kern_pts x, double *f, size_t ld);
    void (*expo)(const struct kern *k, const struct kern_strip *s, double *out);  /* out += */
    void (*value)(const struct kern *k, const struct kern_strip *s, double *out); /* out = */
    /* Optional: out += amp * value, for rows cheaper than a pass over scratch memory. */
    void (*add)(const struct kern *k, const struct kern_strip *s, double amp, double *out);
    /* g[p] += sum_i w_i d/dpar_p, p over expanded parameters, the amplitude left out: of log value
     * for rows with expo (w already holds the value), of value otherwise. NULL: nothing to add. */
    void (*grad)(const struct kern *k, const struct kern_strip *s, const double *w, double *g);
    bool grad_value; /* grad also does g[0] += sum_i w_i value_i, for the amplitude */
    /* Optional: g[c] += sum_i w_i d/dx'_c, x' the fixed point, c an input column; of what grad
     * takes the derivative. Returns sum_i w_i value_i (rows with expo: anything). Without it
     * differences are taken. */
    double (*slope)(const struct kern *k, const struct kern_strip *s, const double *w, double *g);
    /* Radial rows: e_i = w_i times -2 dk/d(r^2) (of log k for rows with expo) over fall_factor;
     * returns the sum of w k (rows with expo: 0), and adds derivatives in parameters of shape to g
     * unless that is NULL. No fall: e = w. */
    double (*fall)(const struct kern *k, const struct kern_strip *s, const double *w, double *e,
                   double *g);
    double fall_factor;
    /* For those without parameters of shape: the value at q = r^2, which may be overwritten, and
     * e as in fall (w NULL: not wanted). */
    void (*profile)(size_t m, double *q, double *value, const double *w, double *e);
    double nu; /* Matern rows: smoothness */
    /* Optional: one random feature, see kern_wave. */
    void (*wave)(const struct kern *k, int dim, struct kern_wave *f);
    /* State-space form (kern_states.h), for engines that filter instead of factoring; NULL: none.
     * Lines, constants and white noise need none. */
    const struct kern_states *states;
    struct kern_device device;

    /* Aliases are made as the leaf that they stand for, named by the symbol. Each parameter of the
     * leaf is a factor times parameter `par`, its root (factor 0), or 1 (par -1). */
    struct {
        int par;
        double factor;
    } from[KERN_MAX_PAR];

    /* Change operators: h(x) and dh[p] = dh/dpar_p. Leaves of value h h', h a
     * function of one column: the same, par from the second one on. */
    double (*weight)(const double *par, double x, double *dh);
};
/* Parameter b of the leaf, and its derivative in parameter from[b].par of the alias. */
double kern_base_par(const struct kern_class *alias, const double *par, size_t b, double *slope);
#endif
