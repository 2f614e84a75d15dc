/* SPDX-License-Identifier: Apache-2.0
 *
 * Covariance rows of the optimiser's model, unit variance: squared exponential, Matern-5/2, and two
 * mixtures, with the derivatives that fitting and ascent need. Inputs are scaled by their length
 * scales first and stored coordinate by coordinate, so that a row is a few passes over contiguous
 * memory; categories enter by the Hamming kernel exp(-[x != x'] / l).
 *
 *   SE(r) = exp(-r^2/2)          M52(r) = (1 + s + s^2/3) exp(-s), s = sqrt(5) r
 *   MIX   = (1-w) M52(r) + w M32(r/rho)             a ripple on a funnel (with an edge at its foot:
 *           M32(r) = (1 + s) exp(-s), s = sqrt(3) r; SE here does worse on such functions)
 *   ADD   = w/d sum_j M52(r_j) + (1-w) M52(r/rho)   additive plus interaction
 */
#ifndef OPTIMIZE_BO_KERN_H
#define OPTIMIZE_BO_KERN_H
#include <stddef.h>

enum bo_kern { BO_SE, BO_M52, BO_MIX, BO_ADD, BO_KERN_COUNT };
extern const char *const bo_kern_names[BO_KERN_COUNT];

/* n points in scaled coordinates: coordinate k of point i at s[k * ld + i]. */
struct bo_points {
    const double *s;
    size_t ld;
    int d;             /* real coordinates */
    int n_cat;         /* categories */
    const double *cat; /* category c of point i at cat[c * ld + i] */
};

struct bo_kern_spec {
    enum bo_kern kind;
    double w, rho;         /* of the mixtures */
    const double *cat_inv; /* 1/l per category */
};

/* What a row yields; d_rho and d_logit may be NULL unless MIX or ADD, axis unless ADD.
 * slope: -dk/dx_k = slope_i (x_k - s_k,i) in scaled units, also dk/dlog l_k = slope_i (..)^2;
 * axis: as slope but one vector per coordinate (ld apart), on top of slope, ADD only. */
struct bo_row {
    double *k, *slope, *axis, *d_rho, *d_logit;
    size_t ld_axis;
};

/* Covariances of the point x (scaled; categories xc) with points from..to-1. */
void bo_kern_row(const struct bo_kern_spec *spec, const struct bo_points *p, size_t from, size_t to,
                 const double *x, const double *xc, struct bo_row *out, double *scratch);
#define BO_KERN_SCRATCH(n) (2 * (n))

/* x[i] = exp(x[i]), about 1e-15 relative, for x <= 700. */
void bo_exp(size_t n, double *x);

/* Runs the best instruction set of the machine; one result per element, so all give the same. (The
 * thread sanitizer instruments the function that chooses, which runs before its library is there.)
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define BO_SIMD __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BO_SIMD
#endif
#endif
