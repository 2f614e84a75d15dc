/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient contraction g_p = sum_ij M_ij dK_ij/dtheta_p in one pass over the triangle. Every node
 * receives the weights of its values and passes weights down. For a product of exponentials the
 * value is computed once, and the leaves add derivatives of their logarithms. On a regular grid
 * stationary subtrees only collect weights by lag; their derivatives are taken at the n lags
 * afterwards. */
#include "gp/kernel/kern_plan.h"

#include "numeric/la/vec_ops.h"

#include <string.h>

struct pass {
    struct plan *p;
    double *g;
    double *dx;          /* if not NULL: derivatives in the fixed point instead */
    double value;        /* in that case: the sum of the weighted values */
    const double *alpha; /* if not NULL: the weights are alpha alpha' - M */
    size_t j, i0, m;     /* strip against point j; diag: points i0 .. i0 + m against themselves */
    bool diag;
};

static void descend(struct pass *s, struct plan_node *q, const double *w);

/* Adds the leaf's derivatives gb, one per parameter of the leaf, to g. */
void plan_deliver(const struct plan_node *q, const double *gb, double *g) {
    for (size_t i = 0; i < q->k->npar; i++) g[q->at + i] += gb[i];
}

static double *clear_own(struct pass *s, struct plan_node *q) {
    if (!q->own) q->own = ARENA_ARRAY(&s->p->arena, double, q->k->npar);
    return memset(q->own, 0, q->k->npar * sizeof *q->own);
}

/* Leaf with exponential; wt = weight * value. total = sum of wt. */
static void exp_leaf(struct pass *s, struct plan_node *q, const double *wt, double total) {
    struct kern_strip v = plan_view(s->p, q, s->i0, s->m);
    if (s->dx) {
        q->k->cls->slope(q->k, &v, wt, s->dx);
        s->value += total;
        return;
    }
    double *own = clear_own(s, q);
    if (q->k->cls->amp == KERN_AMP_SQUARE && q->k->par[0] > 0) own[0] = 2 / q->k->par[0] * total;
    /* On the diagonal these leaves depend only on the amplitude. */
    if (!s->diag) q->k->cls->grad(q->k, &v, wt, own);
    plan_deliver(q, own, s->g);
}

/* Adds the derivatives along one strip; t: scratch of its length. */
static void value_strip(struct plan_node *q, const struct kern_strip *st, const double *w,
                        double *t, double *own) {
    const struct vec_ops *v = vec_ops();
    const struct kern_class *cls = q->k->cls;
    if (cls->grad_value) { /* one pass; t is filled with the amplitude */
        double before = own[0];
        own[0] = 0;
        v->scale_to(st->m, q->amp, w, t);
        cls->grad(q->k, st, t, own);
        own[0] = before + (q->amp > 0 ? kern_amp_slope(q->k) / q->amp * own[0] : 0);
        return;
    }
    if (cls->amp != KERN_AMP_NONE) {
        cls->value(q->k, st, t);
        own[0] += kern_amp_slope(q->k) * v->dot(st->m, w, t);
    }
    if (!cls->grad) return;
    v->scale_to(st->m, q->amp, w, t);
    cls->grad(q->k, st, t, own);
}

static void value_leaf(struct pass *s, struct plan_node *q, const double *w) {
    const struct vec_ops *v = s->p->v;
    struct kern_strip st = plan_view(s->p, q, s->i0, s->m);
    if (s->dx) {
        v->scale_to(s->m, q->amp, w, q->buf);
        s->value += q->k->cls->slope(q->k, &st, q->buf, s->dx);
        return;
    }
    double *own = clear_own(s, q);
    if (!s->diag)
        value_strip(q, &st, w, q->buf, own);
    else if (q->k->stationary)
        own[0] = kern_amp_slope(q->k) * v->sum(s->m, w);
    for (size_t i = 0; i < s->m && s->diag && !q->k->stationary; i++) {
        st = plan_self(s->p, q, s->i0 + i);
        value_strip(q, &st, w + i, q->buf, own);
    }
    plan_deliver(q, own, s->g);
}

static void leaf(struct pass *s, struct plan_node *q, const double *w) {
    if (!q->k->cls->expo) {
        value_leaf(s, q, w);
        return;
    }
    if (s->diag)
        s->p->v->scale_to(s->m, q->amp, w, q->buf);
    else {
        plan_strip(s->p, q, s->j, s->i0, s->m, q->buf);
        s->p->v->mul(s->m, w, q->buf);
    }
    exp_leaf(s, q, q->buf, s->p->v->sum(s->m, q->buf));
}

static void values(struct pass *s, struct plan_node *q, double *out) {
    if (s->diag)
        plan_diag(s->p, q, s->i0, s->m, out);
    else if (plan_zero(q, s->j, s->i0))
        memset(out, 0, s->m * sizeof *out);
    else
        plan_strip(s->p, q, s->j, s->i0, s->m, out);
}

/* The exponential part times all other factors except `skip`, times w. */
static void others(struct pass *s, struct plan_node *q, size_t skip, const double *w, double *out,
                   double *tmp) {
    memcpy(out, w, s->m * sizeof *out);
    for (size_t c = 0; c < q->nkids; c++) {
        if (c == skip) continue;
        values(s, q->kid[c], tmp);
        s->p->v->mul(s->m, tmp, out);
    }
}

static void product(struct pass *s, struct plan_node *q, const double *w) {
    double mine[KERN_STRIP], tmp[KERN_STRIP], before = s->value, total = 0;
    if (q->nexp) {
        values(s, q, mine);
        s->p->v->mul(s->m, w, mine);
        total = s->p->v->sum(s->m, mine);
        for (size_t c = 0; c < q->nexp; c++) exp_leaf(s, q->kid[c], mine, total);
    }
    for (size_t c = q->nexp; c < q->nkids; c++) {
        others(s, q, c, w, mine, tmp);
        double known = s->value;
        descend(s, q->kid[c], mine);
        if (!q->nexp) total = s->value - known;
    }
    s->value = before + total; /* every factor computed the same total */
}

/* Derivatives in the operator's parameters; a, b: weights times the values of its two sides. */
static void change_slopes(struct pass *s, const struct plan_node *q, const double *a,
                          const double *b) {
    const struct vec_ops *v = s->p->v;
    const double *h = q->h + s->i0;
    size_t n = s->p->rows.n, nc = s->p->cols.n, m = s->m;
    double hj = s->diag ? 0 : q->hc[s->j], after = s->diag ? 0 : v->dot(m, h, b);
    double before = s->diag ? 0 : v->sum(m, a) - v->dot(m, h, a);
    for (size_t c = 0; c < q->k->npar; c++) {
        const double *d = q->dh + c * n + s->i0;
        double sum = 0;
        for (size_t i = 0; i < m && s->diag; i++)
            sum += 2 * d[i] * (h[i] * b[i] - (1 - h[i]) * a[i]);
        if (!s->diag)
            sum = hj * v->dot(m, d, b) - (1 - hj) * v->dot(m, d, a) +
                  q->dhc[c * nc + s->j] * (after - before);
        s->g[q->at + c] += sum;
    }
}

static void change(struct pass *s, struct plan_node *q, const double *w) {
    double a[KERN_STRIP], b[KERN_STRIP];
    const double *h = q->h + s->i0;
    values(s, q->kid[0], a);
    values(s, q->kid[1], b);
    s->p->v->mul(s->m, w, a);
    s->p->v->mul(s->m, w, b);
    change_slopes(s, q, a, b);
    for (size_t i = 0; i < s->m; i++) {
        double h2 = s->diag ? h[i] : q->hc[s->j];
        a[i] = w[i] * (1 - h[i]) * (1 - h2);
        b[i] = w[i] * h[i] * h2;
    }
    descend(s, q->kid[0], a);
    descend(s, q->kid[1], b);
}

static void callback(struct pass *s, struct plan_node *q, const double *w) {
    struct plan *p = s->p;
    struct kern_pts other = s->diag ? p->rows : p->cols;
    for (size_t i = 0; i < s->m && q->k->slope && !p->status; i++) {
        size_t at = s->diag ? s->i0 + i : s->j;
        for (int c = 0; c < p->rows.dim; c++) {
            q->row_f[c] = p->rows.x[s->i0 + i + (size_t)c * p->rows.ld];
            q->col_f[c] = other.x[at + (size_t)c * other.ld];
        }
        p->status = q->k->slope(q->k->user, q->row_f, q->col_f, p->rows.dim, w[i], s->g + q->at);
    }
}

static void collect(const struct pass *s, const double *w, double *lag_sum) {
    const size_t *place = s->p->rows.place;
    size_t lag;
    for (size_t i = 0, end; i < s->m && plan_ordered(s->p); i = end) {
        end = plan_run(s->p, s->j, s->i0, s->m, i, &lag);
        s->p->v->axpy(end - i, 1, w + i, lag_sum + lag);
    }
    for (size_t i = 0; i < s->m && !plan_ordered(s->p); i++)
        lag_sum[lag_of(place[s->i0 + i], place[s->j])] += w[i];
}

static void sum(struct pass *s, struct plan_node *q, const double *w) {
    bool table = q->lag_sum && !s->diag;
    if (table) collect(s, w, q->lag_sum);
    for (size_t c = 0; c < q->nkids; c++)
        if (!(table && q->kid[c]->lag)) descend(s, q->kid[c], w);
}

static void descend(struct pass *s, struct plan_node *q, const double *w) {
    if (q->lag && q->lag_sum && !s->diag) {
        collect(s, w, q->lag_sum);
        return;
    }
    if (q->zero_off && !s->diag) return;
    switch (q->k->op) {
    case KERN_LEAF: leaf(s, q, w); break;
    case KERN_PRODUCT: product(s, q, w); break;
    case KERN_CHANGE: change(s, q, w); break;
    case KERN_CALLBACK: callback(s, q, w); break;
    case KERN_SUM: sum(s, q, w); break;
    default: break;
    }
}

static void lag_start(struct plan *p, struct plan_node *q) {
    if ((q->lag || q->table) && !q->lag_sum)
        q->lag_sum = ARENA_ARRAY(&p->arena, double, plan_lags(p));
    for (size_t c = 0; c < q->nkids && !q->lag; c++) {
        if (q->table && q->kid[c]->lag) q->kid[c]->lag_sum = q->lag_sum;
        lag_start(p, q->kid[c]);
    }
}

/* Uses the collected weights; the diagonal pass handles lag 0. */
static void lag_finish(struct pass *s, struct plan_node *q) {
    if (q->lag)
        plan_column_grad(q->lags, q->lag_sum, s->g + q->at);
    else
        for (size_t c = 0; c < q->nkids; c++) lag_finish(s, q->kid[c]);
}

/* All rows from i0 on against the fixed point; w: their weights. */
static void pass_rows(struct pass *s, size_t i0, const double *w) {
    for (s->i0 = i0; s->i0 < s->p->rows.n; s->i0 += KERN_STRIP) {
        s->m = plan_width(s->p, s->i0);
        descend(s, s->p->root, w + (s->i0 - i0));
    }
}

static void pass_triangle(struct pass *s, const double *m, size_t ld, double *w) {
    size_t n = s->p->rows.n;
    for (s->j = 0; s->j < n && !s->p->status; s->j++) {
        size_t first = s->j + 1;
        plan_column(s->p, s->j);
        s->p->v->scale_to(n - first, s->alpha ? -2 : 2, m + first + s->j * ld, w); /* 2: both */
        if (s->alpha) s->p->v->axpy(n - first, 2 * s->alpha[s->j], s->alpha + first, w);
        pass_rows(s, first, w);
    }
}

static void pass_diagonal(struct pass *s, const double *m, size_t ld, double *w) {
    for (size_t i = 0; i < s->p->rows.n; i++) {
        double d = m[i * (ld + 1)], a = s->alpha ? s->alpha[i] : 0;
        w[i] = s->alpha ? a * a - d : d;
    }
    s->diag = true;
    pass_rows(s, 0, w);
    s->diag = false;
}

void plan_column_grad(struct plan *p, const double *w, double *g) {
    struct pass s = {.p = p, .g = g};
    plan_column(p, 0);
    pass_rows(&s, 0, w);
}

double plan_slope(struct plan *p, const double *w, double *g) {
    struct pass s = {.p = p, .dx = g};
    pass_rows(&s, 0, w);
    return s.value;
}

enum gpm_status kern_grad_add(const struct kern *k, struct kern_pts x, const double *alpha,
                              const double *m, size_t ld, double *g) {
    struct plan p;
    enum gpm_status st = plan_init(&p, k, x, x, true);
    if (!st) {
        struct pass s = {.p = &p, .g = g, .alpha = alpha};
        double *w = arena_alloc(&p.arena, (x.n + 1) * sizeof *w);
        lag_start(&p, p.root);
        pass_triangle(&s, m, ld, w);
        pass_diagonal(&s, m, ld, w);
        lag_finish(&s, p.root);
        st = p.status;
    }
    plan_release(&p);
    return st;
}

enum gpm_status kern_grad_cross(const struct kern *k, struct kern_pts rows, struct kern_pts cols,
                                const double *w, size_t ld, double *g) {
    struct plan p;
    enum gpm_status st = plan_init(&p, k, rows, cols, false);
    struct pass s = {.p = &p, .g = g};
    for (; s.j < cols.n && !st; s.j++) {
        plan_column(&p, s.j);
        pass_rows(&s, 0, w + s.j * ld);
        st = p.status;
    }
    plan_release(&p);
    return st;
}

enum gpm_status kern_grad_diag(const struct kern *k, struct kern_pts x, const double *w,
                               double *g) {
    struct plan p;
    enum gpm_status st = plan_init(&p, k, x, x, true);
    struct pass s = {.p = &p, .g = g, .diag = true};
    if (!st) pass_rows(&s, 0, w);
    if (!st) st = p.status;
    plan_release(&p);
    return st;
}
