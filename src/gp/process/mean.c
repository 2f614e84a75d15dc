/* SPDX-License-Identifier: Apache-2.0
 * Mean functions; contracts in mean.h. */
#include "gp/process/gp_pack.h"
#include "gp/process/mean.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

struct mean {
    _Atomic(long) refs;
    double a, *b; /* constant, slopes */
    size_t dim;   /* slopes; 0: a constant */
    mean_callback_fn fn;
    void *user;
    void (*drop)(void *);
    char *label;
};

struct mean *mean_linear(double a, const double *b, size_t dim) {
    struct mean *m = NEW(struct mean);
    atomic_init(&m->refs, 1);
    m->a = a;
    m->b = NEW_ARRAY(double, dim + 1);
    if (dim) memcpy(m->b, b, dim * sizeof *b);
    m->dim = dim;
    return m;
}

struct mean *mean_const(double c) {
    return mean_linear(c, NULL, 0);
}

struct mean *mean_callback(mean_callback_fn fn, void *user, void (*drop)(void *user),
                           const char *label) {
    struct mean *m = mean_const(0);
    m->fn = fn;
    m->user = user;
    m->drop = drop;
    m->label = mem_strdup(label ? label : "procedure");
    return m;
}

struct mean *mean_ref(const struct mean *m) {
    struct mean *q = (struct mean *)m;
    if (q) atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
    return q;
}

void mean_unref(struct mean *m) {
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    if (m->drop) m->drop(m->user);
    mem_free(m->b);
    mem_free(m->label);
    mem_free(m);
}

/* NULL counts as zero. */
static bool is_zero(const struct mean *m) {
    return !m || (!m->fn && m->dim == 0 && m->a == 0);
}

bool mean_equal(const struct mean *a, const struct mean *b) {
    if (a == b || (is_zero(a) && is_zero(b))) return true;
    if (!a || !b || a->a != b->a || a->dim != b->dim) return false;
    if (a->fn != b->fn || a->user != b->user) return false;
    return a->dim == 0 || memcmp(a->b, b->b, a->dim * sizeof *a->b) == 0;
}

void mean_print(const struct mean *m, struct buf *out) {
    if (m && m->fn) {
        buf_puts(out, m->label);
        return;
    }
    buf_number(out, m ? m->a : 0);
    for (size_t c = 0; m && c < m->dim; c++) {
        buf_puts(out, " + ");
        buf_number(out, m->b[c]);
        buf_printf(out, "*x%zu", c);
    }
}

static enum gpm_status eval_callback(const struct mean *m, struct kern_pts x, double *out) {
    double *point = NEW_ARRAY(double, (size_t)x.dim);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < x.n && !st; i++) {
        for (int c = 0; c < x.dim; c++) point[c] = x.x[i + (size_t)c * x.ld];
        st = m->fn(m->user, point, x.dim, &out[i]);
    }
    mem_free(point);
    return st;
}

size_t mean_nparam(const struct mean *m) {
    return !m || m->fn ? 0 : 1 + m->dim;
}

void mean_grad(const struct mean *m, struct kern_pts x, const double *w, double *out) {
    for (size_t p = 0; p < mean_nparam(m); p++) {
        out[p] = 0;
        for (size_t i = 0; i < x.n; i++) out[p] += w[i] * (p ? x.x[i + (p - 1) * x.ld] : 1);
    }
}

enum gpm_status mean_eval(const struct mean *m, struct kern_pts x, double *out) {
    if (m && m->fn) return eval_callback(m, x, out);
    if (m && m->dim && (int)m->dim != x.dim) return GPM_E_ARG;
    for (size_t i = 0; i < x.n; i++) out[i] = m ? m->a : 0;
    for (size_t c = 0; m && c < m->dim; c++)
        for (size_t i = 0; i < x.n; i++) out[i] += m->b[c] * x.x[i + c * x.ld];
    return GPM_OK;
}

void *mean_user(const struct mean *m, mean_callback_fn fn) {
    return m->fn == fn ? m->user : NULL;
}

void mean_pack(struct pack *p, struct mean **m, const struct gp_foreign *foreign) {
    size_t number = pack_object(p, (void **)m);
    if (!number) {
        if (p->reading) mean_ref(*m);
        return;
    }
    bool called = !p->reading && (*m)->fn;
    pack_bool(p, &called);
    if (called) {
        struct mean *made = foreign->mean(p, p->reading ? NULL : *m);
        if (p->reading) *m = made;
        if (!made) pack_fail(p, "a mean function in it cannot be made");
        pack_made(p, number, *m);
        return;
    }
    size_t dim = p->reading ? 0 : (*m)->dim;
    pack_count(p, &dim, sizeof(double));
    if (p->reading) {
        double *none = mem_zalloc((dim + 1) * sizeof *none);
        *m = mean_linear(0, none, dim);
        mem_free(none);
        pack_made(p, number, *m);
    }
    pack_double(p, &(*m)->a);
    pack_doubles(p, (*m)->b, dim);
}
