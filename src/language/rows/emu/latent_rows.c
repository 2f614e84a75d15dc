/* SPDX-License-Identifier: Apache-2.0
 *
 * gp_latent: the values of a Gaussian process as a function of standard normals, for models in
 * which they are unknown and observed through any distribution. */
#include "base/mem.h"
#include "gp/way/gp_white.h"
#include "language/rows/protocol/adjoint.h"
#include "language/rows/protocol/kernel_value.h"

enum { ARG_XS, ARG_Z, ARG_KERNEL, ARG_MEAN };

struct latent {
    struct kern *k;
    struct mean *m;
    struct gp_white w;
    double *x, *z;
    size_t n;
    int dim;
};

static void latent_release(struct latent *l) {
    gp_white_release(&l->w);
    kern_unref(l->k);
    mean_unref(l->m);
    mem_free(l->x);
    mem_free(l->z);
}

/* Numbers are points on the line; sequences of numbers are points of several dimensions. */
static enum gpm_status read_points(struct sp_call *c, struct latent *l) {
    size_t cols = 1, ragged;
    double *by_columns;
    if (seq_numbers(c->args[ARG_XS], &l->x, &l->n)) {
        l->dim = 1;
    } else if (seq_matrix(c->args[ARG_XS], &by_columns, &l->n, &cols, &ragged) && cols) {
        l->dim = (int)cols;
        l->x = NEW_ARRAY(double, l->n *cols + 1);
        for (size_t i = 0; i < l->n * cols; i++) l->x[i] = by_columns[i / cols + i % cols * l->n];
        mem_free(by_columns);
    } else
        return sp_type_error(c, c->args[ARG_XS],
                             "xs must be a sequence of numbers, or of points of one dimension");
    if (kern_all_bounded(l->x, l->n * cols)) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: xs must be numbers below 1e150 in size", c->cls->name);
}

static enum gpm_status latent_init(struct latent *l, struct sp_call *c) {
    size_t n_z;
    *l = (struct latent){0};
    enum gpm_status st = read_points(c, l);
    if (st != GPM_OK) return st;
    if (!seq_numbers(c->args[ARG_Z], &l->z, &n_z)) return GPM_E_ARG; /* the signature checks it */
    if (n_z != l->n)
        return sp_error(c, DIAG_GP_LENGTH, "%s: %zu inputs but %zu standard normals", c->cls->name,
                        l->n, n_z);
    st = sp_check_size(c, (double)l->n * (double)l->n, sizeof(double));
    if (st != GPM_OK) return st;
    l->k = kernel_from(c, c->args[ARG_KERNEL]);
    if (!l->k) return GPM_E_USER;
    if (sp_given(c, ARG_MEAN) && !(l->m = mean_from(c, c->args[ARG_MEAN]))) return GPM_E_USER;
    st = gp_white_init(&l->w, l->k, l->m, l->x, l->n, l->dim);
    if (st == GPM_E_ARG)
        return sp_error(c, DIAG_GP_DIMENSION, "%s: the kernel does not fit the inputs",
                        c->cls->name);
    if (st == GPM_E_NOT_PD)
        return sp_error(c, DIAG_GP_NUMERIC, "%s: the covariance matrix is not positive definite",
                        c->cls->name);
    return st;
}

static enum gpm_status simulate_latent(struct sp_call *c, value *out) {
    struct latent l;
    enum gpm_status st = latent_init(&l, c);
    if (st == GPM_OK) {
        *out = value_vector_new(l.n);
        gp_white_values(&l.w, l.z, out->u.vector->at);
    }
    latent_release(&l);
    return st;
}

/* Procedures as kernels or means hide their dependencies, and inputs are data: ABSENT. */
static void give_model(struct sp_call *c, const struct latent *l, value dk, value dm,
                       value *dargs) {
    bool kernel = c->args[ARG_KERNEL].tag != V_PROC;
    dargs[ARG_XS] = ABSENT;
    dargs[ARG_KERNEL] = kernel ? value_ref(dk) : ABSENT;
    if (!l->m) return;
    value m = c->args[ARG_MEAN];
    dargs[ARG_MEAN] = m.tag == V_PROC   ? ABSENT
                      : !dm.u.vector->n ? NIL
                      : m.tag == V_NUM  ? value_num(dm.u.vector->at[0])
                                        : value_ref(dm);
}

static enum gpm_status grad_latent(struct sp_call *c, value r, value dr, value *dargs) {
    struct latent l;
    if (dr.tag == V_NIL) return GPM_OK;
    enum gpm_status st = latent_init(&l, c);
    if (st == GPM_OK) {
        double *d = NEW_ARRAY(double, l.n + 1);
        value dz = value_vector_new(l.n), dk = value_vector_new(kern_nparam(l.k));
        value dm = value_vector_new(mean_nparam(l.m));
        adj_doubles(dr, d, l.n);
        st = gp_white_back(&l.w, l.z, d, dz.u.vector->at, dk.u.vector->at, dm.u.vector->at);
        if (st == GPM_OK) {
            dargs[ARG_Z] = value_ref(dz);
            give_model(c, &l, dk, dm, dargs);
        }
        mem_free(d);
        value_unref(dz);
        value_unref(dk);
        value_unref(dm);
    }
    latent_release(&l);
    return st;
}

const struct sp_class sp_latent_rows[] = {
    {SP_GROW(gp_latent, latent, "(xs: any, z: numbers, kernel: any, mean?: any) -> vector",
             "The values at xs of the Gaussian process of that kernel and mean, as a function of "
             "independent standard normals z: mean + L z, where L is the Cholesky factor of the "
             "covariance matrix. With z a choice of the model, the values can be observed through "
             "any distribution, and nuts mixes.",
             "gp_latent([1, 3], [0.5, 2], make_whitenoise(2), 10) => [11, 14]"),
     .flags = SP_CALLS},
};
const size_t sp_latent_count = COUNT_OF(sp_latent_rows);
