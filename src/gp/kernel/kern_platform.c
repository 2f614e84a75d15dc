/* SPDX-License-Identifier: Apache-2.0
 *
 * The platform's kernels with unit variance and squared length scale: other parametrisations of the
 * leaves (gp_cov_se(l2) is SE(sf=1, l=sqrt(l2))).
 * gp_cov_const, gp_cov_scale, gp_cov_bias, gp_cov_sum and gp_cov_product are CONST, kern_scale,
 * kern_sum with CONST, kern_sum and kern_product.
 */
#include "gp/kernel/kern_tree.h"

#define ALIAS(nm, sym, text, words)                                                                \
    .name = nm, .symbol = sym, .doc = text, .phrase = words, .op = KERN_ALIAS
/* The source of a leaf parameter. The sine of gp_cov_periodic has 2 pi d / T: half the period. */
#define ONE                                                                                        \
    { -1, 0 }
#define ROOT(p)                                                                                    \
    { p, 0 }
#define L2                                                                                         \
    { "l2", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -4.24, 2, 1, false }

const struct kern_class kern_rows_platform[] = {
    {ALIAS("gp_cov_se", "SE", "exp(-(x-x')^2 / (2 l2))", "a smooth function"), .npar = 1,
     .par = {L2}, .from = {ONE, ROOT(0)}},
    {ALIAS("gp_cov_periodic", "PER", "exp(-2 sin^2(2 pi (x-x')/T) / l2)", "a periodic function"),
     .npar = 2, .par = {L2, {"T", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, -1.3, 1, 2, false}},
     .from = {ONE, {1, 0.5}, ROOT(0)}},
    {ALIAS("gp_cov_rq", "RQ", "(1 + (x-x')^2 / (2 alpha l2))^-alpha",
           "a function that varies on several scales"),
     .npar = 2, .par = {L2, {"alpha", KERN_POSITIVE, KERN_T_LOG, KERN_P_LOGNORMAL, 0, 1, 1, false}},
     .from = {ONE, ROOT(0), {1, 1}}},
    {ALIAS("gp_cov_matern_32", "MAT32", "(1 + a) exp(-a), a = sqrt(3 (x-x')^2 / l2)",
           "a function with continuous slope"),
     .npar = 1, .par = {L2}, .from = {ONE, ROOT(0)}},
    {ALIAS("gp_cov_matern_52", "MAT52", "(1 + a + a^2/3) exp(-a), a = sqrt(5 (x-x')^2 / l2)",
           "a function with continuous curvature"),
     .npar = 1, .par = {L2}, .from = {ONE, ROOT(0)}},
    {ALIAS("gp_cov_linear", "LIN", "(x - origin)(x' - origin)", "a linear function"), .npar = 1,
     .par = {{"origin", KERN_REAL, KERN_T_NONE, KERN_P_NORMAL, 0.5, 0.8, 0, false}},
     .from = {ONE, {0, 1}}},
    {.name = NULL},
};
