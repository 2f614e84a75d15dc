/* SPDX-License-Identifier: Apache-2.0
 *
 * Sum-of-products normal form and the rewrite rules of the paper's appendix B, with merged
 * parameters. A term is a coefficient (a variance) times factors of unit amplitude.
 *
 *   SE x SE -> SE            1/l^2 = 1/l1^2 + 1/l2^2
 *   {stationary} x WN -> WN  such a kernel is 1 at equal inputs
 *   X x C -> X               the constant joins the coefficient
 *   equal factors add up     LIN + LIN, WN + WN, C + C, and any other equal terms
 *   LIN(c1) + LIN(c2)        a1 (x-c1)(x'-c1) + a2 (x-c2)(x'-c2) = a (x-c)(x'-c) + d with a =
 * a1+a2, c = (a1 c1 + a2 c2)/a, d = sum_i a_i c_i^2 - a c^2
 */
#include "gp/kernel/kern_tree.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TERMS 1024 /* a product with more terms is not expanded */

/* Work left in one operation, counted in terms copied and pairs of terms compared. An expression of
 * n symbols can stand for 2^n terms (k + k, where k is such a sum). So operations count their work
 * and stop when none is left; their result is then discarded. */
struct work {
    size_t left;
};
enum { WORK_MAX = 4000000, WORK_LEAF = 16 };

static bool work_on(struct work *w, size_t n) {
    w->left = w->left > n ? w->left - n : 0;
    return w->left > 0;
}

struct sum_term {
    double coef;
    VEC(struct kern *) f; /* owned references, canonical order */
    struct buf text;      /* of the factors, once the terms are sorted */
};
typedef VEC(struct sum_term) term_list;

static void term_release(struct sum_term *t) {
    for (size_t i = 0; i < t->f.n; i++) kern_unref(t->f.at[i]);
    vec_release(&t->f);
    buf_release(&t->text);
}

static void list_release(term_list *l) {
    for (size_t i = 0; i < l->n; i++) term_release(&l->at[i]);
    vec_release(l);
}

/* ---- order ---- */

static const char *symbol_of(const struct kern *k) {
    return k->cls ? k->cls->symbol : k->label ? k->label : "?";
}

static int compare_factors(const void *pa, const void *pb) {
    const struct kern *a = *(struct kern *const *)pa, *b = *(struct kern *const *)pb;
    int d = (a->cls ? a->cls->order : 0) - (b->cls ? b->cls->order : 0);
    if (!d) d = strcmp(symbol_of(a), symbol_of(b));
    for (size_t i = 0; !d && i < a->ncol && i < b->ncol; i++) d = a->col[i] - b->col[i];
    if (!d) d = (a->ncol > b->ncol) - (a->ncol < b->ncol);
    for (size_t i = 0; !d && i < a->npar && i < b->npar; i++)
        d = (a->par[i] > b->par[i]) - (a->par[i] < b->par[i]);
    return d ? d : (a->hash > b->hash) - (a->hash < b->hash);
}

static void sort_factors(struct sum_term *t) {
    if (t->f.n > 1) qsort(t->f.at, t->f.n, sizeof *t->f.at, compare_factors);
}

/* ---- rules inside one term ---- */

static bool same_columns(const struct kern *a, const struct kern *b) {
    return a->ncol == b->ncol &&
           (a->ncol == 0 || memcmp(a->col, b->col, a->ncol * sizeof *a->col) == 0);
}

static bool covers(const struct kern *wn, const struct kern *k) {
    if (!wn->ncol) return true;
    for (size_t i = 0; i < k->ncol; i++) {
        size_t j = 0;
        while (j < wn->ncol && wn->col[j] != k->col[i]) j++;
        if (j == wn->ncol) return false;
    }
    return k->ncol > 0;
}

static struct kern *merge_se(const struct kern *a, const struct kern *b) {
    size_t ard = a->ard > b->ard ? a->ard : b->ard;
    double *par = NEW_ARRAY(double, ard + 1);
    par[0] = 1;
    for (size_t c = 0; c < ard; c++) {
        double la = kern_par(a, 1, (int)c), lb = kern_par(b, 1, (int)c);
        par[1 + c] = la / sqrt(1 + (la / lb) * (la / lb));
    }
    struct kern *k = kern_leaf_on(a->cls, par, ard, a->col, a->ncol, NULL);
    mem_free(par);
    return k;
}

static void drop_factor(struct sum_term *t, size_t i) {
    kern_unref(t->f.at[i]);
    memmove(t->f.at + i, t->f.at + i + 1, (t->f.n - i - 1) * sizeof *t->f.at);
    t->f.n--;
}

static enum kern_algebra algebra_of(const struct kern *k) {
    return k->op == KERN_LEAF ? k->cls->algebra : KERN_ALG_OPAQUE;
}

static bool merge_squares(struct sum_term *t) {
    for (size_t i = 0; i < t->f.n; i++)
        for (size_t j = i + 1; j < t->f.n; j++) {
            struct kern *a = t->f.at[i], *b = t->f.at[j], *m;
            if (algebra_of(a) != KERN_ALG_SE || algebra_of(b) != KERN_ALG_SE) continue;
            if (!same_columns(a, b) || (a->ard != b->ard && a->ard > 1 && b->ard > 1)) continue;
            if (!(m = merge_se(a, b))) continue;
            kern_unref(a);
            t->f.at[i] = m;
            drop_factor(t, j);
            return true;
        }
    return false;
}

static void absorb_into_noise(struct sum_term *t) {
    for (size_t i = 0; i < t->f.n; i++) {
        if (algebra_of(t->f.at[i]) != KERN_ALG_WN) continue;
        for (size_t j = t->f.n; j-- > 0;) {
            enum kern_algebra g = algebra_of(t->f.at[j]);
            bool flat = g == KERN_ALG_SE || g == KERN_ALG_STAT || g == KERN_ALG_WN;
            if (j == i || !flat || !covers(t->f.at[i], t->f.at[j])) continue;
            drop_factor(t, j);
            if (j < i) i--;
        }
    }
}

static void term_simplify(struct sum_term *t) {
    while (merge_squares(t)) continue;
    absorb_into_noise(t);
    sort_factors(t);
}

/* ---- rules between terms ---- */

static bool same_factors(const struct sum_term *a, const struct sum_term *b, size_t skip_a,
                         size_t skip_b) {
    size_t na = a->f.n - (skip_a < a->f.n), nb = b->f.n - (skip_b < b->f.n);
    if (na != nb) return false;
    for (size_t i = 0, p = 0, q = 0; i < na; i++, p++, q++) {
        if (p == skip_a) p++;
        if (q == skip_b) q++;
        if (!kern_equal(a->f.at[p], b->f.at[q])) return false;
    }
    return true;
}

static size_t only_linear(const struct sum_term *t) {
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < t->f.n; i++) {
        if (algebra_of(t->f.at[i]) != KERN_ALG_LIN) continue;
        if (at != SIZE_MAX) return SIZE_MAX;
        at = i;
    }
    return at;
}

static struct kern *linear_leaf(const struct kern *like, const double *c, size_t n) {
    double *par = NEW_ARRAY(double, n + 1);
    bool zero = true;
    par[0] = 1;
    for (size_t i = 0; i < n; i++) {
        par[1 + i] = c[i];
        zero = zero && c[i] == 0;
    }
    const struct kern_class *row = kern_class_of(KERN_ALG_LIN, KERN_AMP_SQUARE, zero ? 1 : 2);
    struct kern *k = kern_leaf_on(row, par, zero ? 1 : n, like->col, like->ncol, NULL);
    mem_free(par);
    return k;
}

/* Number of columns of a linear leaf; 0 if it uses all of an unknown number. */
static size_t known_columns(const struct kern *k) {
    return k->ard > 1 ? k->ard : k->ncol;
}

/* Merges term j into i if they differ only in the origin of one LIN. The remaining constant times
 * the other factors is appended. If the number of columns is unknown, so is the constant, and the
 * terms are left alone (LIN[0](...) names the column). */
static bool merge_linear(term_list *l, size_t i, size_t j) {
    struct sum_term *a = &l->at[i], *b = &l->at[j];
    size_t pa = only_linear(a), pb = only_linear(b);
    if (pa == SIZE_MAX || pb == SIZE_MAX || !same_factors(a, b, pa, pb)) return false;
    struct kern *ka = a->f.at[pa], *kb = b->f.at[pb];
    size_t n = known_columns(ka) > known_columns(kb) ? known_columns(ka) : known_columns(kb);
    if (!same_columns(ka, kb) || n == 0 || n > 64) return false;
    double c[64], rest = 0, sum = a->coef + b->coef;
    for (size_t q = 0; q < n; q++) {
        double ca = kern_origin(ka, (int)q), cb = kern_origin(kb, (int)q);
        c[q] = (a->coef * ca + b->coef * cb) / sum;
        rest += a->coef * b->coef / sum * (ca - cb) * (ca - cb); /* = sum a_i c_i^2 - a c^2 */
        if (!isfinite(c[q]) || !isfinite(rest)) return false;
    }
    struct sum_term extra = {.coef = rest};
    for (size_t q = 0; q < a->f.n; q++)
        if (q != pa) vec_push(&extra.f, kern_ref(a->f.at[q]));
    a->f.at[pa] = linear_leaf(ka, c, n);
    a->coef = sum;
    kern_unref(ka);
    term_release(b);
    l->at[j] = extra;
    return true;
}

static bool merge_pair(term_list *l, size_t i, size_t j) {
    struct sum_term *a = &l->at[i], *b = &l->at[j];
    if (!same_factors(a, b, SIZE_MAX, SIZE_MAX)) return merge_linear(l, i, j);
    a->coef += b->coef;
    term_release(b);
    l->at[j] = l->at[--l->n];
    return true;
}

static void list_simplify(term_list *l, struct work *w) {
    for (size_t i = 0; i < l->n; i++) term_simplify(&l->at[i]);
    for (size_t i = l->n; i-- > 0;)
        if (l->at[i].coef == 0) {
            term_release(&l->at[i]);
            l->at[i] = l->at[--l->n];
        }
    for (bool changed = true; changed;) { /* a merge can enable another */
        changed = false;
        for (size_t i = 0; i < l->n; i++)
            for (size_t j = i + 1; j < l->n && work_on(w, 1 + l->at[i].f.n);) {
                bool merged = merge_pair(l, i, j); /* then j is another term */
                changed = changed || merged;
                if (!merged) j++;
            }
    }
    for (size_t i = 0; i < l->n; i++) sort_factors(&l->at[i]);
}

/* ---- expansion ---- */

static void expand(const struct kern *k, term_list *out, struct work *w);

static struct kern *simplify(const struct kern *k, struct work *w);

static void push_factor(term_list *out, double coef, struct kern *take) {
    struct sum_term t = {.coef = coef};
    if (take) vec_push(&t.f, take);
    vec_push(out, t);
}

static void expand_leaf(const struct kern *k, term_list *out) {
    double amp = kern_amplitude(k);
    if (k->cls->algebra == KERN_ALG_CONST)
        push_factor(out, amp, NULL);
    else if (k->cls->amp == KERN_AMP_NONE)
        push_factor(out, 1, kern_ref(k));
    else if (k->cls->algebra == KERN_ALG_LIN && k->cls->npar > 1)
        push_factor(out, amp, linear_leaf(k, k->par + 1, k->ard));
    else
        push_factor(out, amp, kern_with_first(k, 1));
}

static void multiply(term_list *acc, const term_list *by, struct work *w) {
    term_list out = {0};
    for (size_t i = 0; i < acc->n; i++)
        for (size_t j = 0; j < by->n; j++) {
            if (!work_on(w, 1 + acc->at[i].f.n + by->at[j].f.n)) break;
            struct sum_term t = {.coef = acc->at[i].coef * by->at[j].coef};
            for (size_t q = 0; q < acc->at[i].f.n; q++)
                vec_push(&t.f, kern_ref(acc->at[i].f.at[q]));
            for (size_t q = 0; q < by->at[j].f.n; q++) vec_push(&t.f, kern_ref(by->at[j].f.at[q]));
            vec_push(&out, t);
        }
    list_release(acc);
    *acc = out;
}

static struct kern *rebuild(term_list *l, const struct kern *whole, struct work *w);

static void expand_product(const struct kern *k, term_list *out, struct work *w) {
    term_list acc = {0}, next = {0};
    push_factor(&acc, 1, NULL);
    for (size_t i = 0; i < k->nkids && work_on(w, 1); i++) {
        if (!i || k->kid[i] != k->kid[i - 1]) { /* k * k: expanded once */
            list_release(&next);
            expand(k->kid[i], &next, w);
            list_simplify(&next, w);
        }
        if (next.n > 1 && acc.n > MAX_TERMS / next.n) { /* too large: kept as one factor */
            struct kern *whole = rebuild(&next, k->kid[i], w);
            list_release(&next);
            push_factor(&next, 1, whole);
        }
        multiply(&acc, &next, w);
        list_simplify(&acc, w);
    }
    list_release(&next);
    for (size_t i = 0; i < acc.n; i++) vec_push(out, acc.at[i]);
    vec_release(&acc);
}

/* k + k is 2 k: a kernel that occurs several times in a row in a sum is expanded once. */
static void expand_sum(const struct kern *k, term_list *out, struct work *w) {
    size_t times = 1;
    for (size_t i = 0; i < k->nkids && work_on(w, 1); i += times) {
        size_t from = out->n;
        for (times = 1; i + times < k->nkids && k->kid[i + times] == k->kid[i];) times++;
        expand(k->kid[i], out, w);
        for (size_t j = from; j < out->n; j++) out->at[j].coef *= (double)times;
    }
    list_simplify(out, w);
}

static void expand(const struct kern *k, term_list *out, struct work *w) {
    if (!work_on(w, WORK_LEAF)) return;
    switch (k->op) {
    case KERN_ALIAS: /* never the op of a kernel */
    case KERN_LEAF: expand_leaf(k, out); return;
    case KERN_PRODUCT: expand_product(k, out, w); return;
    case KERN_CALLBACK: push_factor(out, 1, kern_ref(k)); return;
    case KERN_SUM: expand_sum(k, out, w); return;
    case KERN_CHANGE: break;
    }
    struct kern *a = simplify(k->kid[0], w);
    struct kern *b = k->kid[1] == k->kid[0] ? kern_ref(a) : simplify(k->kid[1], w);
    struct kern *change = kern_change(k->cls, k->par, k->col[0], a, b, NULL);
    if (!change) w->left = 0;
    push_factor(out, 1, change);
    kern_unref(a);
    kern_unref(b);
}

/* ---- back to an expression ---- */

/* The coefficient goes into the first factor with an amplitude. */
static struct kern *rebuild_term(const struct sum_term *t) {
    VEC(struct kern *) kids = {0};
    double coef = t->coef;
    for (size_t i = 0; i < t->f.n; i++) {
        struct kern *k = t->f.at[i];
        if (coef != 1 && k->op == KERN_LEAF && k->cls->amp == KERN_AMP_SQUARE) {
            vec_push(&kids, kern_with_first(k, sqrt(coef)));
            coef = 1;
        } else
            vec_push(&kids, kern_ref(k));
    }
    double sf = sqrt(coef);
    if (!kids.n)
        vec_push(&kids, kern_leaf(kern_class_of(KERN_ALG_CONST, KERN_AMP_SQUARE, 1), &sf, NULL));
    else if (coef != 1)
        vec_push(&kids, kern_constant(coef));
    struct kern *k = kern_nary(KERN_PRODUCT, kids.at, kids.n);
    for (size_t i = 0; i < kids.n; i++) kern_unref(kids.at[i]);
    vec_release(&kids);
    return k;
}

static void write_struct(const struct kern *k, struct buf *out, struct work *w);

static void term_text(const struct sum_term *t, struct buf *out, struct work *w) {
    if (!t->f.n) buf_puts(out, "C");
    for (size_t i = 0; i < t->f.n; i++) {
        const struct kern *k = t->f.at[i];
        if (i) buf_putc(out, '*');
        bool sum = k->op == KERN_SUM || k->op == KERN_PRODUCT;
        if (sum) buf_putc(out, '(');
        if (sum)
            write_struct(k, out, w);
        else
            buf_puts(out, symbol_of(k));
        if (sum) buf_putc(out, ')');
        kern_print_columns(k, out);
        if (k->op != KERN_CHANGE) continue;
        buf_putc(out, '(');
        write_struct(k->kid[0], out, w);
        buf_puts(out, ", ");
        write_struct(k->kid[1], out, w);
        buf_putc(out, ')');
    }
}

/* By text, a lone WN last; equal texts by their parameters. */
static int compare_terms(const void *pa, const void *pb) {
    const struct sum_term *a = pa, *b = pb;
    int last = (strcmp(a->text.data, "WN") == 0) - (strcmp(b->text.data, "WN") == 0);
    int order = last ? last : strcmp(a->text.data, b->text.data);
    if (order) return order;
    for (size_t i = 0; i < a->f.n && i < b->f.n; i++) {
        int d = compare_factors(&a->f.at[i], &b->f.at[i]);
        if (d) return d;
    }
    return (a->coef > b->coef) - (a->coef < b->coef);
}

/* Canonical order of the terms, with their texts. */
static void sort_terms(term_list *l, struct work *w) {
    for (size_t i = 0; i < l->n; i++) {
        l->at[i].text.len = 0;
        term_text(&l->at[i], &l->at[i].text, w);
        work_on(w, l->at[i].text.len);
    }
    if (l->n > 1) qsort(l->at, l->n, sizeof *l->at, compare_terms);
}

/* The terms of `whole` as one kernel; `whole` itself if a coefficient overflows. */
static struct kern *rebuild(term_list *l, const struct kern *whole, struct work *w) {
    for (size_t i = 0; i < l->n; i++)
        if (!(l->at[i].coef <= 1e300) || (l->at[i].coef != 0 && l->at[i].coef < 1e-300))
            return kern_ref(whole);
    if (!w->left) return kern_ref(whole);
    if (!l->n) return kern_constant(0);
    sort_terms(l, w);
    struct kern **kids = NEW_ARRAY(struct kern *, l->n);
    size_t n = 0;
    while (n < l->n && (kids[n] = rebuild_term(&l->at[n]))) n++;
    struct kern *k = n == l->n ? kern_nary(KERN_SUM, kids, n) : NULL;
    for (size_t i = 0; i < n; i++) kern_unref(kids[i]);
    mem_free(kids);
    if (!k) w->left = 0; /* larger than a kernel may be */
    return k ? k : kern_ref(whole);
}

/* ---- the three operations ---- */

static void normal_form(const struct kern *k, term_list *l, struct work *w) {
    expand(k, l, w);
    list_simplify(l, w);
}

static struct kern *simplify(const struct kern *k, struct work *w) {
    term_list l = {0};
    normal_form(k, &l, w);
    struct kern *out = rebuild(&l, k, w);
    list_release(&l);
    return out;
}

struct kern *kern_simplify(const struct kern *k) {
    struct work w = {WORK_MAX};
    struct kern *out = simplify(k, &w);
    if (w.left) return out;
    kern_unref(out);
    return NULL;
}

static void write_struct(const struct kern *k, struct buf *out, struct work *w) {
    term_list l = {0};
    normal_form(k, &l, w);
    sort_terms(&l, w);
    for (size_t i = 0; i < l.n; i++) buf_printf(out, "%s%s", i ? " + " : "", l.at[i].text.data);
    if (!l.n) buf_puts(out, "0");
    list_release(&l);
}

enum gpm_status kern_struct(const struct kern *k, struct buf *out) {
    struct work w = {WORK_MAX};
    size_t from = out->len;
    write_struct(k, out, &w);
    if (w.left) return GPM_OK;
    out->len = from;
    out->data[from] = 0;
    return GPM_E_NOT_FOUND;
}

enum gpm_status kern_struct_canonical(const char *text, struct buf *out, char **why) {
    struct kern *k = NULL;
    enum gpm_status st = kern_parse(text, &k, why);
    if (st) return st;
    st = kern_struct(k, out);
    if (st && why) *why = mem_strdup(KERN_TOO_LARGE);
    kern_unref(k);
    return st ? GPM_E_FORMAT : GPM_OK;
}

/* Two defaults of one kind would merge ("SE + SE"), so the texts of the terms are compared
 * pairwise. */
enum gpm_status kern_contains(const struct kern *k, const char *structure, bool *yes, char **why) {
    struct kern *s = NULL;
    enum gpm_status st = kern_parse(structure, &s, why);
    if (st) return st;
    term_list have = {0}, want = {0};
    struct work w = {WORK_MAX};
    normal_form(k, &have, &w);
    normal_form(s, &want, &w);
    sort_terms(&have, &w);
    sort_terms(&want, &w);
    size_t i = 0, j = 0;
    for (; i < have.n && j < want.n; i++)
        if (strcmp(have.at[i].text.data, want.at[j].text.data) == 0) j++;
    *yes = j == want.n && want.n > 0;
    if (!w.left && why) *why = mem_strdup(KERN_TOO_LARGE);
    list_release(&have);
    list_release(&want);
    kern_unref(s);
    return w.left ? GPM_OK : GPM_E_FORMAT;
}
