/* SPDX-License-Identifier: Apache-2.0
 * Evaluation of kernel expressions strip by strip; see kern_plan.h and kern_class.h. */
#include "base/work.h"
#include "gp/kernel/kern_leaf.h"
#include "gp/kernel/kern_plan.h"

#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

static struct plan_node *build(struct plan *p, const struct kern *k, size_t at);

static double *doubles(struct plan *p, size_t n) {
    return arena_alloc(&p->arena, (n ? n : 1) * sizeof(double));
}

static void build_leaf(struct plan *p, struct plan_node *q) {
    const struct kern *k = q->k;
    q->amp = kern_amplitude(k);
    q->nf = k->cls->features * leaf_dim(k, p->rows.dim);
    q->col = doubles(p, (size_t)q->nf);
    q->row_f = doubles(p, (size_t)q->nf * p->rows.n);
    q->col_f = p->square ? q->row_f : doubles(p, (size_t)q->nf * p->cols.n);
    q->zero_off =
        p->square && p->rows.distinct && kern_is_white(k) && (!k->ncol || p->rows.dim == 1);
}

static void change_weights(struct plan *p, const struct kern *k, struct kern_pts x, double **h,
                           double **dh) {
    double d[KERN_MAX_PAR];
    const double *col = x.x + (size_t)k->col[0] * x.ld;
    *h = doubles(p, x.n);
    *dh = doubles(p, x.n * k->npar);
    for (size_t i = 0; i < x.n; i++) {
        (*h)[i] = k->cls->weight(k->par, col[i], d);
        for (size_t c = 0; c < k->npar; c++) (*dh)[c * x.n + i] = d[c];
    }
}

static bool has_expo(const struct plan_node *q) {
    return q->k->op == KERN_LEAF && q->k->cls->expo;
}

static bool has_add(const struct plan_node *q) {
    return q->k->op == KERN_LEAF && q->k->cls->add;
}

/* Sorts the kids of a product: leaves with exponentials first. Kids of a sum: leaves that add in
 * place last. */
static void build_kids(struct plan *p, struct plan_node *q) {
    const struct kern *k = q->k;
    size_t at = q->at + k->npar, front = 0;
    q->kid = ARENA_ARRAY(&p->arena, struct plan_node *, k->nkids);
    q->nkids = k->nkids;
    q->zero_off = k->op != KERN_PRODUCT;
    for (size_t i = 0; i < k->nkids; i++) {
        struct plan_node *c = build(p, k->kid[i], at);
        at += k->kid[i]->total;
        q->kid[i] = c;
        if (k->op == KERN_PRODUCT)
            q->zero_off = q->zero_off || c->zero_off;
        else
            q->zero_off = q->zero_off && c->zero_off;
        bool forward = k->op == KERN_PRODUCT ? has_expo(c) : k->op == KERN_SUM && !has_add(c);
        if (!forward) continue;
        q->kid[i] = q->kid[front];
        q->kid[front++] = c;
    }
    q->nexp = k->op == KERN_PRODUCT ? front : 0;
}

/* On a regular grid a stationary subtree has only one value per lag. Constants alone do not need a
 * table. */
static void build_lags(struct plan *p, struct plan_node *q) {
    size_t n = plan_lags(p);
    struct kern_pts lags = {.x = p->lag_x, .n = n, .ld = n, .dim = 1}, origin = lags;
    origin.n = 1;
    q->lags = ARENA_NEW(&p->arena, struct plan);
    q->lag = doubles(p, n);
    p->status = plan_init(q->lags, q->k, lags, origin, false);
    if (!p->status) p->status = plan_values(q->lags, 0, 0, q->lag);
}

/* Joins terms of a sum that have lags in one table, together with constants. */
static void merge_lags(struct plan *p, struct plan_node *q) {
    size_t n = plan_lags(p);
    for (size_t i = 0; i < q->nkids && !q->table; i++)
        if (q->kid[i]->lag) q->table = ARENA_ARRAY(&p->arena, double, n);
    for (size_t i = 0; i < q->nkids && q->table && !p->status; i++) {
        if (kern_is_constant(q->kid[i]->k)) build_lags(p, q->kid[i]);
        if (q->kid[i]->lag) p->v->axpy(n, 1, q->kid[i]->lag, q->table);
    }
}

/* Tables of `gap` for a row with a start, if all points come after the start. */
static void build_gaps(struct plan *p, struct plan_node *q) {
    const double *x = leaf_col(q->k, p->rows, 0);
    double start = q->k->par[q->k->npar - 1];
    for (size_t i = 0; i < p->rows.n; i++)
        if (x[i] < start) return;
    size_t n = plan_lags(p);
    q->gap_at = doubles(p, KERN_STRIP);
    q->gap = doubles(p, n);
    for (size_t i = 0; i < n; i++) q->gap[i] = q->k->cls->gap(q->k->par, p->lag_x[i]);
}

static struct plan_node *build(struct plan *p, const struct kern *k, size_t at) {
    struct plan_node *q = ARENA_NEW(&p->arena, struct plan_node);
    q->k = k;
    q->at = at;
    q->buf = doubles(p, p->rows.n < KERN_STRIP ? p->rows.n : KERN_STRIP);
    if (k->op == KERN_LEAF)
        build_leaf(p, q);
    else if (k->op != KERN_CALLBACK)
        build_kids(p, q);
    if (k->op == KERN_CHANGE) {
        change_weights(p, k, p->rows, &q->h, &q->dh);
        q->hc = q->h, q->dhc = q->dh;
        if (!p->square) change_weights(p, k, p->cols, &q->hc, &q->dhc);
    }
    if (k->op == KERN_CALLBACK) {
        q->row_f = doubles(p, (size_t)p->rows.dim);
        q->col_f = doubles(p, (size_t)p->rows.dim);
    }
    return q;
}

/* White noise terms are only on the diagonal, even if lag 0 occurs off it. */
static bool has_white_term(const struct plan_node *q) {
    for (size_t i = 0; i < q->nkids; i++)
        if (q->kid[i]->zero_off || has_white_term(q->kid[i])) return true;
    return false;
}

/* Builds tables for the largest stationary subtrees. */
static void tabulate(struct plan *p, struct plan_node *q) {
    if (q->k->stationary && !q->k->callback && (q->zero_off || !has_white_term(q))) {
        if (!(q->k->op == KERN_LEAF && q->nf == 0) && !q->zero_off) build_lags(p, q);
        return;
    }
    if (q->k->op == KERN_LEAF && q->k->cls->gap) build_gaps(p, q);
    for (size_t i = 0; i < q->nkids; i++) tabulate(p, q->kid[i]);
    if (q->k->op == KERN_SUM) merge_lags(p, q);
    q->nexp = 0; /* the factors are tables now: no exponential to share */
}

static void find_runs(struct plan *p) {
    const size_t *place = p->rows.place;
    size_t n = p->rows.n;
    for (size_t i = 1; i < n && place; i++)
        if (place[i] <= place[i - 1]) return;
    if (!place) return;
    p->run = arena_alloc(&p->arena, n * sizeof *p->run);
    for (size_t i = n; i-- > 0;)
        p->run[i] = i + 1 < n && place[i + 1] == place[i] + 1 ? p->run[i + 1] : i + 1;
}

/* Computes features of leaves; nodes with a table need none. */
static void prepare(struct plan *p, struct plan_node *q) {
    if (q->lag) return;
    if (q->k->op == KERN_LEAF) {
        leaf_prepare(q->k, p->rows, q->row_f, p->rows.n);
        if (!p->square) leaf_prepare(q->k, p->cols, q->col_f, p->cols.n);
    }
    for (size_t i = 0; i < q->nkids; i++) prepare(p, q->kid[i]);
}

enum gpm_status plan_init(struct plan *p, const struct kern *k, struct kern_pts rows,
                          struct kern_pts cols, bool square) {
    memset(p, 0, sizeof *p);
    enum gpm_status st = kern_check_dim(k, rows.dim, NULL);
    if (st) return st;
    p->rows = rows;
    p->cols = square ? rows : cols;
    p->square = square;
    p->v = vec_ops();
    p->root = build(p, k, 0);
    if (square && rows.step > 0 && rows.dim == 1 && rows.n > 8) {
        double *x = doubles(p, plan_lags(p));
        for (size_t i = 0; i < plan_lags(p); i++) x[i] = (double)i * rows.step;
        p->lag_x = x;
        find_runs(p);
        tabulate(p, p->root);
    }
    prepare(p, p->root);
    return p->status;
}

static void release_lags(struct plan_node *q) {
    if (q->lags) plan_release(q->lags);
    for (size_t i = 0; i < q->nkids; i++) release_lags(q->kid[i]);
}

void plan_release(struct plan *p) {
    if (p->root && p->lag_x) release_lags(p->root);
    arena_release(&p->arena);
}

static void gather(struct plan *p, struct plan_node *q, size_t j) {
    if (q->lag) return;
    for (int f = 0; f < q->nf; f++) q->col[f] = q->col_f[(size_t)f * p->cols.n + j];
    for (size_t i = 0; i < q->nkids; i++) gather(p, q->kid[i], j);
}

void plan_column(struct plan *p, size_t j) {
    if (work_steps(&p->steps, p->rows.n)) p->status = GPM_E_INTERRUPT;
    p->fixed = j;
    gather(p, p->root, j);
}

static void move(struct plan *p, struct plan_node *q) {
    const struct kern *k = q->k;
    if (k->op == KERN_LEAF) leaf_prepare(k, p->cols, q->col_f, 1);
    double ignored[KERN_MAX_PAR];
    if (k->op == KERN_CHANGE) q->hc[0] = k->cls->weight(k->par, p->cols.x[k->col[0]], ignored);
    for (size_t i = 0; i < q->nkids; i++) move(p, q->kid[i]);
}

void plan_move(struct plan *p) {
    move(p, p->root);
    gather(p, p->root, 0);
}

static void callback_pair(struct plan *p, struct plan_node *q, size_t i, size_t j, bool diag,
                          double *out) {
    struct kern_pts other = diag ? p->rows : p->cols;
    for (int c = 0; c < p->rows.dim; c++) {
        q->row_f[c] = p->rows.x[i + (size_t)c * p->rows.ld];
        q->col_f[c] = other.x[j + (size_t)c * other.ld];
    }
    *out = 0;
    if (!p->status) p->status = q->k->fn(q->k->user, q->row_f, q->col_f, p->rows.dim, out);
    if (!p->status && isnan(*out)) p->status = GPM_E_USER;
}

static void leaf_strip(struct plan *p, struct plan_node *q, size_t i0, size_t m, double *out) {
    struct kern_strip s = plan_view(p, q, i0, m);
    if (q->k->cls->expo) {
        memset(out, 0, m * sizeof *out);
        q->k->cls->expo(q->k, &s, out);
        p->v->exp_scale(m, q->amp, out);
        return;
    }
    q->k->cls->value(q->k, &s, out);
    if (q->amp != 1) p->v->scale(m, q->amp, out);
}

/* exp of the summed exponents of the first nexp kids, times their amplitudes. */
static void exponentials(struct plan *p, struct plan_node *q, size_t i0, size_t m, double *out) {
    double amp = 1;
    memset(out, 0, m * sizeof *out);
    for (size_t c = 0; c < q->nexp; c++) {
        struct kern_strip s = plan_view(p, q->kid[c], i0, m);
        q->kid[c]->k->cls->expo(q->kid[c]->k, &s, out);
        amp *= q->kid[c]->amp;
    }
    p->v->exp_scale(m, amp, out);
}

static void product_strip(struct plan *p, struct plan_node *q, size_t j, size_t i0, size_t m,
                          double *out) {
    size_t c = q->nexp;
    if (c)
        exponentials(p, q, i0, m, out);
    else
        plan_strip(p, q->kid[c++], j, i0, m, out);
    for (; c < q->nkids; c++) {
        plan_strip(p, q->kid[c], j, i0, m, q->buf);
        p->v->mul(m, q->buf, out);
    }
}

static void sum_strip(struct plan *p, struct plan_node *q, size_t j, size_t i0, size_t m,
                      double *out) {
    bool first = !q->table;
    if (q->table) plan_look_up(p, q->table, j, i0, m, out);
    for (size_t c = 0; c < q->nkids; c++) {
        if (plan_zero(q->kid[c], j, i0) || (q->table && q->kid[c]->lag)) continue;
        if (!first && has_add(q->kid[c]) && !q->kid[c]->lag) {
            struct kern_strip s = plan_view(p, q->kid[c], i0, m);
            q->kid[c]->k->cls->add(q->kid[c]->k, &s, q->kid[c]->amp, out);
            continue;
        }
        plan_strip(p, q->kid[c], j, i0, m, first ? out : q->buf);
        if (!first) p->v->axpy(m, 1, q->buf, out);
        first = false;
    }
    if (first) memset(out, 0, m * sizeof *out);
}

/* (1-h)(1-h') k1 + h h' k2 */
static void change_strip(struct plan *p, struct plan_node *q, size_t j, size_t i0, size_t m,
                         double *out) {
    double hj = q->hc[j];
    const double *h = q->h + i0;
    bool zero[] = {plan_zero(q->kid[0], j, i0), plan_zero(q->kid[1], j, i0)};
    if (!zero[0]) plan_strip(p, q->kid[0], j, i0, m, out);
    if (zero[0]) memset(out, 0, m * sizeof *out);
    for (size_t i = 0; i < m && !zero[0]; i++) out[i] *= (1 - h[i]) * (1 - hj);
    if (!zero[1]) plan_strip(p, q->kid[1], j, i0, m, q->buf);
    for (size_t i = 0; i < m && !zero[1]; i++) out[i] += h[i] * hj * q->buf[i];
}

void plan_strip(struct plan *p, struct plan_node *q, size_t j, size_t i0, size_t m, double *out) {
    if (q->lag) {
        plan_look_up(p, q->lag, j, i0, m, out);
        return;
    }
    switch (q->k->op) {
    case KERN_LEAF: leaf_strip(p, q, i0, m, out); break;
    case KERN_SUM: sum_strip(p, q, j, i0, m, out); break;
    case KERN_PRODUCT: product_strip(p, q, j, i0, m, out); break;
    case KERN_CHANGE: change_strip(p, q, j, i0, m, out); break;
    default:
        for (size_t i = 0; i < m; i++) callback_pair(p, q, i0 + i, j, false, &out[i]);
    }
}

enum gpm_status plan_values(struct plan *p, size_t j, size_t i0, double *out) {
    plan_column(p, j);
    for (; i0 < p->rows.n; i0 += KERN_STRIP, out += KERN_STRIP)
        plan_strip(p, p->root, j, i0, plan_width(p, i0), out);
    return p->status;
}

struct kern_strip plan_self(const struct plan *p, const struct plan_node *q, size_t i) {
    for (int f = 0; f < q->nf; f++) q->col[f] = q->row_f[(size_t)f * p->rows.n + i];
    return (struct kern_strip){q->row_f + i, p->rows.n, q->col, 1, q->nf, q->gap, true};
}

static void leaf_diag(struct plan *p, struct plan_node *q, size_t i0, size_t m, double *out) {
    bool line = kern_is_line(q->k);
    for (size_t i = 0; i < m; i++) out[i] = line ? 0 : q->amp;
    if (line) { /* the sum of the squared features */
        for (int c = 0; c < (q->k->cls->weight ? 1 : q->nf); c++)
            p->v->add_square(m, q->row_f + (size_t)c * p->rows.n + i0, out);
        p->v->scale(m, q->amp, out);
    }
    for (size_t i = 0; i < m && !line && !q->k->stationary; i++) {
        struct kern_strip s = plan_self(p, q, i0 + i);
        q->k->cls->value(q->k, &s, &out[i]);
        out[i] *= q->amp;
    }
}

void plan_diag(struct plan *p, struct plan_node *q, size_t i0, size_t m, double *out) {
    switch (q->k->op) {
    case KERN_LEAF: leaf_diag(p, q, i0, m, out); return;
    case KERN_CALLBACK:
        for (size_t i = 0; i < m; i++) callback_pair(p, q, i0 + i, i0 + i, true, &out[i]);
        return;
    default: break;
    }
    for (size_t c = 0; c < q->nkids; c++) {
        double *to = c ? q->buf : out;
        plan_diag(p, q->kid[c], i0, m, to);
        for (size_t i = 0; i < m && q->k->op == KERN_CHANGE; i++) {
            double w = c ? q->h[i0 + i] : 1 - q->h[i0 + i];
            to[i] *= w * w;
        }
        if (c && q->k->op == KERN_PRODUCT)
            p->v->mul(m, q->buf, out);
        else if (c)
            p->v->axpy(m, 1, q->buf, out);
    }
}
