/* SPDX-License-Identifier: Apache-2.0
 * What a factorisation needed, in numbers and in words; contract in gp.h. */
#include "gp/process/gp_way.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static double squared_distance(const struct gp *g, size_t i, size_t j) {
    double q = 0;
    for (int c = 0; c < g->dim; c++) {
        double d = g->x[i + (size_t)c * g->cap] - g->x[j + (size_t)c * g->cap];
        q += d * d;
    }
    return q;
}

struct place {
    double x;
    size_t i;
};
static int by_x(const void *a, const void *b) {
    const struct place *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* Points sorted by their first column: only neighbours nearer than the best so far in it count.
 * Returns the squared distance. */
static double nearest_pair(const struct gp *g, size_t pair[2]) {
    struct place *s = NEW_ARRAY(struct place, g->n + 1);
    double best = INFINITY;
    for (size_t i = 0; i < g->n; i++) s[i] = (struct place){g->x[i], i};
    qsort(s, g->n, sizeof *s, by_x);
    for (size_t i = 0; i < g->n; i++)
        for (size_t j = i + 1; j < g->n; j++) {
            double dx = s[j].x - s[i].x;
            if (dx * dx >= best) break;
            double q = squared_distance(g, s[i].i, s[j].i);
            if (q >= best) continue;
            best = q;
            pair[0] = s[i].i;
            pair[1] = s[j].i;
        }
    mem_free(s);
    return best;
}

static void print_point(const struct gp *g, size_t i, struct buf *out) {
    if (g->dim > 1) buf_putc(out, '(');
    for (int c = 0; c < g->dim; c++)
        buf_printf(out, "%s%.6g", c ? ", " : "", g->x[i + (size_t)c * g->cap]);
    if (g->dim > 1) buf_putc(out, ')');
}

static void print_nearest(const struct gp *g, struct buf *out) {
    size_t pair[2] = {0, 0};
    double q = nearest_pair(g, pair);
    buf_puts(out, "; nearest inputs ");
    print_point(g, pair[0], out);
    buf_puts(out, " and ");
    print_point(g, pair[1], out);
    buf_printf(out, " (distance %.3g)", sqrt(q));
}

const char *gp_method(const struct gp *g) {
    const struct gp_slot *s = &g->slot[g->cur];
    return s->have_logml && s->method ? s->method : "none";
}

/* No matrix was made, and none needed jitter. */
static void report_filter(const struct gp *g, const struct gp_slot *s, struct buf *out) {
    buf_printf(out, "%zu inputs by %s", g->n, s->method);
    if (s->error > 0) buf_printf(out, ", log likelihood within about %.2g nats", s->error);
    buf_puts(out, "; kernel ");
    kern_print(s->kern, out);
    buf_puts(out, ", noise ");
    buf_number(out, s->noise);
}

enum gpm_status gp_report(struct gp *g, struct buf *out) {
    struct gp_slot *s = gp_current(g);
    bool approx = gp_factor_allowed(g) != GPM_OK;
    enum gpm_status st = approx || s->have_logml ? gp_slot_logml(g, s) : GPM_OK;
    if (!st && s->kept.used && !s->have_factor) {
        report_filter(g, s, out);
        return GPM_OK;
    }
    if (!st && !approx) st = gp_slot_factor(g, s);
    if (st && st != GPM_E_NOT_PD) return st;
    const struct chol *f = approx ? &s->low.kuu : &s->f; /* n = 0 under Vecchia: nothing to tell */
    if (s->used)
        buf_printf(out, "approximated by %s, log likelihood within about %.2g nats; ", s->method,
                   s->error);
    if (st)
        buf_printf(out,
                   "the covariance matrix of %zu inputs is not positive definite, even with %g of "
                   "its mean diagonal added",
                   g->n, CHOL_JITTER_LAST);
    else if (f->jitter > 0)
        buf_printf(out, "%.3g was added to the diagonal of the covariance matrix of %zu inputs",
                   f->jitter, g->n);
    else
        buf_printf(out, "the covariance matrix of %zu inputs factored without jitter", g->n);
    if (!st) buf_printf(out, "; condition about %.1e", chol_condition(f));
    if (g->n > 1) print_nearest(g, out);
    buf_puts(out, "; kernel ");
    kern_print(s->kern, out);
    buf_puts(out, ", noise ");
    buf_number(out, s->noise);
    if (st || f->jitter > 0)
        buf_puts(out, s->noise > 0 ? ". A larger noise or a shorter length scale helps"
                                   : ". Noise on the data (noise=...) or a shorter length scale "
                                     "helps");
    return GPM_OK;
}
