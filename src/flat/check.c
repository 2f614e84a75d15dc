/* SPDX-License-Identifier: Apache-2.0
 *
 * Test builds repeat part of what flats compute through a scaffold: the same point must weigh the
 * same, and have the same gradient. */
#include "flat/form.h"

#include <math.h>

#ifdef GPMEM_CHECKS
/* Gradients go through an inverse: they have half the digits that values have. */
#define WEIGHT_TOLERANCE   1e-6
#define GRADIENT_TOLERANCE 1e-4

static bool near(double a, double b, double tolerance) {
    return a == b || fabs(a - b) <= tolerance * (1 + fabs(a) + fabs(b));
}

/* Densities this small come from matrices that are singular up to rounding (a line's kernel without
 * noise): the quadratic form divides by rounding errors, and no two ways to compute it agree. */
static bool rests_on_rounding(double a, double b) {
    return a < -1e6 && b < -1e6;
}

static enum gpm_status differs(struct trace *t, const char *what, double flat, double general) {
    return diag_raise(t->core->diags, DIAG_NAN, NO_SPAN,
                      "trace check: %s by a flat %.17g, through a scaffold %.17g", what, flat,
                      general);
}

static enum gpm_status check_gradient(struct scaffold *s, const value *grads) {
    size_t n = scaffold_n_principals(s);
    value *other = NEW_ARRAY(value, n + 1);
    enum gpm_status st = scaffold_gradient(s, other);
    for (size_t i = 0; st == GPM_OK && i < n; i++) {
        if (other[i].tag == V_NUM && grads[i].tag == V_NUM &&
            !near(grads[i].u.num, other[i].u.num, GRADIENT_TOLERANCE))
            st = differs(s->t, "a gradient", grads[i].u.num, other[i].u.num);
        value_unref(other[i]);
    }
    mem_free(other);
    return st;
}

/* Nothing is proposed when this is called, nor afterwards; flats must be opened again. */
enum gpm_status flat_check(struct trace *t, const struct flat *f, const value *vals, double weight,
                           const value *grads) {
    size_t n = flat_n_principals(f);
    struct node **at = NEW_ARRAY(struct node *, n + 1);
    for (size_t i = 0; i < n; i++) at[i] = flat_principal(f, i);
    struct scaffold *s;
    double w_old, w_new;
    enum gpm_status st = scaffold_open(t, at, n, SCAFFOLD_FIXED, &w_old, &s);
    mem_free(at);
    if (st != GPM_OK) return st;
    st = scaffold_regen(s, SCAFFOLD_FIXED, vals, &w_new);
    bool comparable = st == GPM_OK && !rests_on_rounding(weight, w_new);
    if (comparable && !near(weight, w_new, WEIGHT_TOLERANCE))
        st = differs(t, "a weight", weight, w_new);
    if (st == GPM_OK && comparable && grads && scaffold_built(s) && isfinite(w_new))
        st = check_gradient(s, grads);
    scaffold_close(s, false);
    return st;
}
#endif
