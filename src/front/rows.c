/* SPDX-License-Identifier: Apache-2.0
 *
 * The families of procedures and of inference operators, in the order help and the reference show
 * them: the one file that names all rows. A family of procedures ends its file with `const struct
 * sp_class sp_NAME_rows[]` and `const size_t sp_NAME_count`; rows that another table gives rise to
 * (constructors of kernels) are made by `sp_NAME_make`. A family of operators ends its file with
 * `const struct infer_op infer_NAME_rows[]`, the last of them empty. A new family is one word here.
 * A library without applications (GPMEM_APPS=OFF) leaves out theirs. */
#include "inference/run/infer.h"

#define PROCEDURES(FAMILY, MADE)                                                                   \
    FAMILY(arith)                                                                                  \
    FAMILY(functions)                                                                              \
    FAMILY(compare)                                                                                \
    FAMILY(types)                                                                                  \
    FAMILY(list)                                                                                   \
    FAMILY(seq)                                                                                    \
    FAMILY(vectors)                                                                                \
    FAMILY(matrix)                                                                                 \
    FAMILY(solve)                                                                                  \
    FAMILY(higher)                                                                                 \
    FAMILY(special)                                                                                \
    FAMILY(assess)                                                                                 \
    FAMILY(interpolate)                                                                            \
    FAMILY(ode)                                                                                    \
    FAMILY(misc)                                                                                   \
    FAMILY(continuous)                                                                             \
    FAMILY(location)                                                                               \
    FAMILY(positive)                                                                               \
    FAMILY(discrete)                                                                               \
    FAMILY(cdf)                                                                                    \
    FAMILY(improper)                                                                               \
    FAMILY(choice)                                                                                 \
    FAMILY(category)                                                                               \
    FAMILY(finite)                                                                                 \
    FAMILY(mvn)                                                                                    \
    FAMILY(multi)                                                                                  \
    FAMILY(constrained)                                                                            \
    FAMILY(ordered)                                                                                \
    FAMILY(makers)                                                                                 \
    FAMILY(makers_normal)                                                                          \
    FAMILY(makers_cat)                                                                             \
    FAMILY(makers_crp)                                                                             \
    FAMILY(makers_hmm)                                                                             \
    MADE(kernel_leaf)                                                                              \
    FAMILY(kernel)                                                                                 \
    FAMILY(latent)                                                                                 \
    FAMILY(gp)                                                                                     \
    FAMILY(emulators)                                                                              \
    FAMILY(source)                                                                                 \
    FAMILY(plugin)                                                                                 \
    FAMILY(open)                                                                                   \
    MADE(operator)
#ifdef GPMEM_NO_APPS
#define APPLICATION(FAMILY, name)
#else
#define APPLICATION(FAMILY, name) FAMILY(name)
#endif
#define OPERATORS(FAMILY)                                                                          \
    FAMILY(control)                                                                                \
    FAMILY(store)                                                                                  \
    APPLICATION(FAMILY, discover)                                                                  \
    APPLICATION(FAMILY, series)                                                                    \
    FAMILY(dataset)                                                                                \
    FAMILY(plot)                                                                                   \
    FAMILY(check)                                                                                  \
    FAMILY(custom)                                                                                 \
    FAMILY(drift)                                                                                  \
    FAMILY(gibbs)                                                                                  \
    FAMILY(ascent)                                                                                 \
    FAMILY(hmc)                                                                                    \
    FAMILY(laplace)                                                                                \
    FAMILY(meanfield)                                                                              \
    FAMILY(mh)                                                                                     \
    FAMILY(model)                                                                                  \
    FAMILY(particles)                                                                              \
    FAMILY(pgibbs)                                                                                 \
    FAMILY(query)                                                                                  \
    FAMILY(rejection)                                                                              \
    FAMILY(sample)                                                                                 \
    FAMILY(slice)                                                                                  \
    FAMILY(structure)                                                                              \
    FAMILY(select)                                                                                 \
    FAMILY(loo)                                                                                    \
    FAMILY(observed)                                                                               \
    FAMILY(bridge)                                                                                 \
    FAMILY(marginal)                                                                               \
    FAMILY(ess)                                                                                    \
    FAMILY(exact)                                                                                  \
    FAMILY(explain)

#define DECLARED(name)                                                                             \
    extern const struct sp_class sp_##name##_rows[];                                               \
    extern const size_t sp_##name##_count;
#define MAKER(name)         extern size_t sp_##name##_make(const struct sp_class **rows);
#define ROWS(name)          {sp_##name##_rows, &sp_##name##_count, NULL},
#define MADE_ROWS(name)     {NULL, NULL, sp_##name##_make},
#define OPERATOR(name)      extern const struct infer_op infer_##name##_rows[];
#define OPERATOR_ROWS(name) infer_##name##_rows,

PROCEDURES(DECLARED, MAKER)
OPERATORS(OPERATOR)

const struct sp_family sp_families[] = {PROCEDURES(ROWS, MADE_ROWS)};
const size_t sp_family_count = COUNT_OF(sp_families);
const struct infer_op *const infer_families[] = {OPERATORS(OPERATOR_ROWS) NULL};
