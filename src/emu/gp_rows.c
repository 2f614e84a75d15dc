/* SPDX-License-Identifier: Apache-2.0
 *
 * make_gp and gpmem: the makers. */
#include "emu/emulator.h"
#include "emu/gp_args.h"

#include "base/mem.h"
#include <math.h>
#include <string.h>

size_t gp_args_first(const struct sp_call *c) {
    return c->cls->special == SPECIAL_GPMEM ? 1 : 0; /* after the source function */
}

static bool given(const struct sp_call *c, size_t i) {
    return i < c->n && !is_absent(c->args[i]);
}

size_t gp_args_kernel_position(const struct sp_call *c) {
    size_t f = gp_args_first(c);
    return given(c, f + 1) ? f + 1 : f;
}

int gp_args_noise_position(const struct sp_call *c) {
    size_t i = gp_args_first(c) + 2;
    return given(c, i) ? (int)i : -1;
}

enum gpm_status gp_args_read(struct sp_call *c, struct gp_args *out) {
    size_t k = gp_args_kernel_position(c), f = gp_args_first(c);
    int noise = gp_args_noise_position(c);
    *out = (struct gp_args){0};
    if (noise >= 0) {
        value v = c->args[noise];
        if (v.tag != V_NUM || !(v.u.num >= 0) || !kern_in_range(v.u.num))
            return sp_error(c, DIAG_DOMAIN,
                            "%s: noise must be a standard deviation, zero or " KERN_RANGE_TEXT,
                            c->cls->name);
        out->noise = v.u.num;
    }
    out->k = kernel_from(c, c->args[k]);
    if (!out->k) return GPM_E_USER;
    if (k == f + 1 && !(out->m = mean_from(c, c->args[f]))) {
        kern_unref(out->k);
        return GPM_E_USER;
    }
    return GPM_OK;
}

void gp_args_release(struct gp_args *a) {
    kern_unref(a->k);
    if (a->m) mean_unref(a->m);
    *a = (struct gp_args){0};
}

enum gpm_status gp_args_gradient(struct sp_call *c, struct gp *g, double weight, value *dargs) {
    struct gp_args a; /* of the call: the proposed model where one is pending */
    enum gpm_status st = gp_args_read(c, &a);
    if (st != GPM_OK) return st;
    double logml, dnoise;
    size_t k = gp_args_kernel_position(c), f = gp_args_first(c), nmean = mean_nparam(a.m);
    value dk = value_vector_new(kern_nparam(a.k)), dm = value_vector_new(nmean);
    st = gp_grad_weighted(g, weight, &logml, dk.u.vector->at, dm.u.vector->at, &dnoise);
    gp_args_release(&a);
    if (st != GPM_OK) {
        value_unref(dk);
        value_unref(dm);
        return st == GPM_E_LIMIT
                   ? sp_error(c, DIAG_NO_GRADIENT, "%s: too many data for a gradient", c->cls->name)
                   : sp_error(c, DIAG_GP_NUMERIC,
                              "%s: the covariance matrix is not positive definite", c->cls->name);
    }
    dargs[k] = c->args[k].tag == V_PROC ? ABSENT : value_ref(dk);
    if (k == f + 1) {
        value m = c->args[f];
        dargs[f] = m.tag == V_PROC  ? ABSENT
                   : nmean == 0     ? NIL
                   : m.tag == V_NUM ? value_num(dm.u.vector->at[0])
                                    : value_ref(dm);
    }
    value_unref(dk);
    value_unref(dm);
    int noise = gp_args_noise_position(c);
    if (noise >= 0) dargs[noise] = value_num(dnoise);
    return GPM_OK;
}

const struct sp_class sp_gp_rows[] = {
    {.name = "make_gp",
     .sig = "(a: any, b?: any, noise?: any, dim?: any) -> proc",
     .doc = "A Gaussian process: make_gp(kernel) or make_gp(mean, kernel). g(x) draws at a number, "
            "g(array) jointly; "
            "every recorded application conditions the next. noise= gives each pair its own noise.",
     .flags = SP_MAKER | SP_CALLS,
     .simulate = memoizer_make,
     .of = &gp_emulator,
     .aaa = &memoizer_aaa},
    {.name = "gpmem",
     .special = SPECIAL_GPMEM,
     .sig = "(f: any, a: any, b?: any, noise?: any, dim?: any, store?: any) -> list",
     .doc = "Gaussian-process memoization: (f_compute, f_emu) = gpmem(f, kernel) or gpmem(f, mean, "
            "kernel). "
            "f_compute(x) evaluates f once per input and records the pair; f_emu is the GP given "
            "all pairs. dim= numbers make one input; noise= gives each pair its own noise; store= "
            "keeps the values of f in a file.",
     .flags = SP_MAKER | SP_CALLS,
     .simulate = memoizer_make,
     .of = &gp_emulator,
     .aaa = &memoizer_pair_aaa},
};
const size_t sp_gp_count = COUNT_OF(sp_gp_rows);
