/* SPDX-License-Identifier: Apache-2.0
 *
 * Memoizers with other emulators than the Gaussian process: Student-t processes and polynomial
 * regression with unknown noise. */
#include "emu/emulator.h"

#include "base/mem.h"

const struct sp_class sp_emulators_rows[] = {
    {.name = "make_tp",
     .sig = "(a: any, b?: any, noise?: any, dim?: any, df?: any) -> proc",
     .doc =
         "A Student-t process, make_tp(kernel) or make_tp(mean, kernel): like make_gp with tails "
         "of df= degrees of freedom (above 2; default 5). The kernel is its covariance.",
     .flags = SP_MAKER | SP_CALLS,
     .simulate = memoizer_make,
     .of = &tp_emulator,
     .aaa = &memoizer_aaa},
    {.name = "tpmem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: any, a: any, b?: any, noise?: any, dim?: any, store?: any, df?: any) -> list",
     .doc = "Memoization with a Student-t process: gpmem with tails of df= degrees of freedom; the "
            "band widens when the values are larger than the kernel expects.",
     .flags = SP_MAKER | SP_CALLS,
     .simulate = memoizer_make,
     .of = &tp_emulator,
     .aaa = &memoizer_pair_aaa},
    {.name = "make_quad",
     .sig = "(degree?: any, scale?: any, shape?: any, rate?: any, dim?: any) -> proc",
     .doc =
         "Bayesian polynomial regression with unknown noise variance v ~ inv_gamma(shape, rate): "
         "the prior of the polynomial is the process of covariance v scale^2 (1 + x.x')^degree. "
         "g(x) draws the polynomial, g(x, true) a new value.",
     .flags = SP_MAKER,
     .simulate = memoizer_make,
     .of = &poly_emulator,
     .aaa = &memoizer_aaa},
    {.name = "quadmem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: any, degree?: any, scale?: any, shape?: any, rate?: any, dim?: any, store?: any) "
            "-> list",
     .doc =
         "Memoization with Bayesian polynomial regression of unknown noise: (f_compute, f_emu) = "
         "quadmem(f); degree= 2 unless given.",
     .flags = SP_MAKER | SP_CALLS,
     .simulate = memoizer_make,
     .of = &poly_emulator,
     .aaa = &memoizer_pair_aaa},
};
const size_t sp_emulators_count = COUNT_OF(sp_emulators_rows);
