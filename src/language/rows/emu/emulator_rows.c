/* SPDX-License-Identifier: Apache-2.0
 *
 * The makers of memoizers, and of emulators alone: Gaussian processes, Student-t processes,
 * polynomial regression with unknown noise. */
#include "language/rows/emu/emulator.h"

#include "base/mem.h"

/* The fields of a maker's row except its texts. */
#define ALONE(e)  .simulate = memoizer_make, .of = &e##_emulator, .aaa = &memoizer_aaa
#define PAIRED(e) .simulate = memoizer_make, .of = &e##_emulator, .aaa = &memoizer_pair_aaa

const struct sp_class sp_gp_rows[] = {
    {.name = "make_gp",
     .sig = "(a: any, b?: any, noise?: any, dim?: any, likelihood?: any, outputs?: any) -> proc",
     .doc = "A Gaussian process: make_gp(kernel) or make_gp(mean, kernel). g(x) draws at a number, "
            "g(array) jointly; "
            "every recorded application conditions the next. noise= gives each pair its own noise; "
            "likelihood= makes measurements other than normal ones around the function, by "
            "Laplace's approximation: \"poisson\" (of its exponential), \"bernoulli\", "
            "[\"binomial\", n] (of its logistic), [\"negative_binomial\", size], "
            "[\"student_t\", df, scale]. Several outputs: a list of kernels, one each; outputs=n, "
            "of the same kernel; outputs=B, a matrix of covariances between them.",
     .flags = SP_MAKER | SP_CALLS,
     ALONE(gp)},
    {.name = "gpmem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: proc, a: any, b?: any, noise?: any, dim?: any, store?: any, likelihood?: any, "
            "outputs?: any) -> list",
     .doc = "Gaussian-process memoization: (f_compute, f_emu) = gpmem(f, kernel) or gpmem(f, mean, "
            "kernel). "
            "f_compute(x) evaluates f once per input and records the pair; f_emu is the GP given "
            "all pairs. dim= numbers make one input; noise= gives each pair its own noise; store= "
            "keeps the values of f in a file; likelihood= and outputs= as in make_gp.",
     .flags = SP_MAKER | SP_CALLS,
     .touches = SP_WRITES,
     PAIRED(gp)},
};
const size_t sp_gp_count = COUNT_OF(sp_gp_rows);

const struct sp_class sp_emulators_rows[] = {
    {.name = "make_tp",
     .sig = "(a: any, b?: any, noise?: any, dim?: any, df?: any, outputs?: any) -> proc",
     .doc =
         "A Student-t process, make_tp(kernel) or make_tp(mean, kernel): like make_gp with tails "
         "of df= degrees of freedom (above 2; default 5). The kernel is its covariance.",
     .flags = SP_MAKER | SP_CALLS,
     ALONE(tp)},
    {.name = "tpmem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: proc, a: any, b?: any, noise?: any, dim?: any, store?: any, df?: any, outputs?: "
            "any) -> list",
     .doc = "Memoization with a Student-t process: gpmem with tails of df= degrees of freedom; the "
            "band widens when the values are larger than the kernel expects.",
     .flags = SP_MAKER | SP_CALLS,
     .touches = SP_WRITES,
     PAIRED(tp)},
    {.name = "make_quad",
     .sig = "(degree?: any, scale?: any, shape?: any, rate?: any, dim?: any) -> proc",
     .doc =
         "Bayesian polynomial regression with unknown noise variance v ~ inv_gamma(shape, rate): "
         "the prior of the polynomial is the process of covariance v scale^2 (1 + x.x')^degree. "
         "g(x) draws the polynomial, g(x, true) a new value.",
     .flags = SP_MAKER,
     ALONE(poly)},
    {.name = "quadmem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: proc, degree?: any, scale?: any, shape?: any, rate?: any, dim?: any, store?: any) "
            "-> list",
     .doc =
         "Memoization with Bayesian polynomial regression of unknown noise: (f_compute, f_emu) = "
         "quadmem(f); degree= 2 unless given.",
     .flags = SP_MAKER | SP_CALLS,
     .touches = SP_WRITES,
     PAIRED(poly)},
};
const size_t sp_emulators_count = COUNT_OF(sp_emulators_rows);
