/* SPDX-License-Identifier: Apache-2.0
 * Kernel expressions as text for a device; contracts in kern_device.h. */
#include "gp/way/kern_device.h"
#include "gp/kernel/kern_leaf.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern const char embed_device_kernels_cu[], embed_device_any_cu[];

/* One node of the tree, with its indexes in the arrays of a program. */
struct site {
    const struct kern *k;
    int par, feature, constant;
    size_t own;             /* first parameter in the expression's own vector */
    size_t first_kid, past; /* index of the kids' first site; index after the subtree */
};
struct sites {
    VEC(struct site) at;
    int dim, par, feature, gram, constant;
    const struct kern *procedure; /* a part without device text */
};

static int site_features(const struct kern *k, int dim) {
    if (k->op == KERN_CHANGE) return 1 + (int)k->npar;
    return k->op == KERN_LEAF ? k->cls->features * leaf_dim(k, dim) : 0;
}

static void collect(struct sites *s, const struct kern *k, size_t own) {
    struct site t = {.k = k, .own = own};
    if (k->op == KERN_CALLBACK) s->procedure = k;
    t.par = s->par, t.constant = s->constant;
    s->par += (int)k->npar;
    s->constant += k->cls && k->op == KERN_LEAF ? k->cls->device.constants : 0;
    t.first_kid = s->at.n + 1;
    size_t me = s->at.n;
    vec_push(&s->at, t);
    own += k->npar;
    for (size_t i = 0; i < k->nkids; i++) {
        collect(s, k->kid[i], own);
        own += k->kid[i]->total;
    }
    s->at.at[me].past = s->at.n;
}

/* Does white noise compare positions to tell whether a pair is one point? Its coordinates come
 * last. */
static bool by_place(const struct kern *k) {
    return kern_is_white(k) && !k->ncol;
}

static struct sites sites_of(const struct kern *k, int dim) {
    struct sites s = {.dim = dim};
    collect(&s, k, 0);
    for (int white = 0; white < 2; white++) {
        for (size_t i = 0; i < s.at.n; i++) {
            struct site *t = &s.at.at[i];
            if (by_place(t->k) != white) continue;
            t->feature = s.feature;
            s.feature += site_features(t->k, dim);
        }
        if (!white) s.gram = s.feature;
    }
    return s;
}

/* ---- text of rows ---- */

#define ROW_ARGS "const double *p, const double *k, const int n, const int v"

static void row_name(const struct kern_class *cls, struct buf *out) {
    buf_printf(out, "%s_%zu", cls->name, cls->npar);
}

static void function(const struct kern_class *cls, const char *type, const char *what,
                     const char *args, const char *body, struct buf *out) {
    if (!body) return;
    buf_printf(out, "DEVICE %s ", type);
    row_name(cls, out);
    buf_printf(out, "_%s(%s) {\n    %s\n}\n", what, args, body);
}

static void row_functions(const struct kern_class *cls, struct buf *out) {
    const struct kern_device *d = &cls->device;
    struct buf b = BUF_INIT;
    function(cls, "double", "weight", "double x, const double *p, double *dh", d->weight, out);
    if (d->weight && cls->op == KERN_LEAF) { /* value h h'; features h and its derivatives */
        buf_puts(&b, "f[0] = ");
        row_name(cls, &b);
        buf_puts(&b, "_weight(x[0], p + 1, f + 1);");
    } else
        buf_puts(&b, d->prepare ? d->prepare : "COLUMNS f[c] = x[c];");
    if (cls->op == KERN_LEAF)
        function(cls, "void", "prepare", "const double *x, " ROW_ARGS ", double *f", b.data, out);
    function(cls, "double", "value", "const double *f, const double *h, " ROW_ARGS,
             d->value               ? d->value
             : cls->op == KERN_LEAF ? "return f[0] * h[0];"
                                    : NULL,
             out);
    buf_reset(&b);
    if (d->weight)
        buf_printf(&b, "for (int q = 1; q < %zu; q++) g[q] += w * (f[0] * h[q] + f[q] * h[0]);",
                   cls->npar);
    if (cls->op == KERN_LEAF)
        function(cls, "void", "grad",
                 "const double *f, const double *h, " ROW_ARGS ", double w, double *g",
                 d->grad ? d->grad
                 : b.len ? b.data
                         : NULL,
                 out);
    buf_release(&b);
}

static bool has_grad(const struct kern_class *cls) {
    return cls->device.grad || cls->device.weight;
}

/* ---- the expression ---- */

struct writer {
    const struct sites *s;
    struct buf *out;
    int np;
};

static void call(const struct writer *w, const struct site *t, const char *what, const char *before,
                 const char *after) {
    row_name(t->k->cls, w->out);
    buf_printf(w->out, "_%s(%s, t + %d, t + %d, %d, %zu%s)", what, before, t->par,
               w->np + t->constant, leaf_dim(t->k, w->s->dim), t->k->ard, after);
}

static void both_points(const struct site *t, char *out, size_t size) {
    snprintf(out, size, "f + %d, h + %d", t->feature, t->feature);
}

/* " * t[3] * t[3]": its amplitude, as a factor. */
static void amplitude(const struct site *t, struct buf *out) {
    if (t->k->cls->amp != KERN_AMP_NONE) buf_printf(out, " * t[%d]", t->par);
    if (t->k->cls->amp == KERN_AMP_SQUARE) buf_printf(out, " * t[%d]", t->par);
}

static bool is_expo(const struct site *t) {
    return t->k->op == KERN_LEAF && t->k->cls->expo;
}

/* r: the row's value without amplitude; its logarithm for rows with expo. */
static void raw(const struct writer *w, const struct site *t, size_t id) {
    char points[64];
    both_points(t, points, sizeof points);
    buf_printf(w->out, "    double r%zu = ", id);
    if (by_place(t->k)) buf_puts(w->out, "same != 2 ? same : ");
    call(w, t, "value", points, "");
    buf_puts(w->out, ";\n");
}

static size_t next_kid(const struct writer *w, size_t kid) {
    return w->s->at.at[kid].past;
}

/* v: the value of the subtree. x, for a product: the value of its exponentials, with amplitudes. */
static void values(const struct writer *w, size_t id) {
    const struct site *t = &w->s->at.at[id], *kid = w->s->at.at;
    if (t->k->op == KERN_LEAF) {
        raw(w, t, id);
        if (is_expo(t)) buf_printf(w->out, "    r%zu = kexp(r%zu);\n", id, id);
        buf_printf(w->out, "    double v%zu = r%zu", id, id);
        amplitude(t, w->out);
        buf_puts(w->out, ";\n");
        return;
    }
    bool product = t->k->op == KERN_PRODUCT;
    for (size_t i = t->first_kid; i < t->past; i = next_kid(w, i))
        if (product && is_expo(&kid[i]))
            raw(w, &kid[i], i);
        else
            values(w, i);
    if (product) {
        bool any = false;
        buf_printf(w->out, "    double x%zu = 1", id);
        for (size_t i = t->first_kid; i < t->past; i = next_kid(w, i))
            if (is_expo(&kid[i])) amplitude(&kid[i], w->out), any = true;
        if (any) buf_puts(w->out, " * kexp(0");
        for (size_t i = t->first_kid; i < t->past; i = next_kid(w, i))
            if (is_expo(&kid[i])) buf_printf(w->out, " + r%zu", i);
        buf_puts(w->out, any ? ");\n" : ";\n");
    }
    buf_printf(w->out, "    double v%zu = ", id);
    if (t->k->op == KERN_CHANGE) {
        size_t a = t->first_kid, b = next_kid(w, a);
        buf_printf(w->out, "(1 - f[%d]) * (1 - h[%d]) * v%zu + f[%d] * h[%d] * v%zu;\n", t->feature,
                   t->feature, a, t->feature, t->feature, b);
        return;
    }
    if (product)
        buf_printf(w->out, "x%zu", id);
    else
        buf_puts(w->out, "0");
    for (size_t i = t->first_kid; i < t->past; i = next_kid(w, i))
        if (!product || !is_expo(&kid[i])) buf_printf(w->out, " %c v%zu", product ? '*' : '+', i);
    buf_puts(w->out, ";\n");
}

static void leaf_slopes(const struct writer *w, const struct site *t, const char *weight) {
    char points[64], after[64];
    both_points(t, points, sizeof points);
    snprintf(after, sizeof after, ", %s, g + %d", weight, t->par);
    if (!has_grad(t->k->cls)) return;
    buf_puts(w->out, "    ");
    call(w, t, "grad", points, after);
    buf_puts(w->out, ";\n");
}

/* From the weight w of a node to its sums and the weights of its kids. */
static void slopes(const struct writer *w, size_t id);

static void leaf(const struct writer *w, const struct site *t, size_t id) {
    struct buf b = BUF_INIT;
    if (t->k->cls->amp != KERN_AMP_NONE) {
        buf_printf(w->out, "    g[%d] += w%zu * r%zu", t->par, id, id);
        if (t->k->cls->amp == KERN_AMP_SQUARE) buf_printf(w->out, " * 2 * t[%d]", t->par);
        buf_puts(w->out, ";\n");
    }
    buf_printf(&b, "w%zu", id);
    if (is_expo(t))
        buf_printf(&b, " * v%zu", id);
    else
        amplitude(t, &b);
    leaf_slopes(w, t, b.data);
    buf_release(&b);
}

static void product(const struct writer *w, const struct site *t, size_t id) {
    const struct site *kid = w->s->at.at;
    char weight[32];
    snprintf(weight, sizeof weight, "y%zu", id);
    buf_printf(w->out, "    double y%zu = w%zu * v%zu;\n", id, id, id);
    for (size_t i = t->first_kid; i < t->past; i = next_kid(w, i)) {
        if (is_expo(&kid[i])) { /* derivative of the logarithm */
            if (kid[i].k->cls->amp == KERN_AMP_SQUARE)
                buf_printf(w->out, "    g[%d] += t[%d] > 0 ? y%zu * (2 / t[%d]) : 0;\n", kid[i].par,
                           kid[i].par, id, kid[i].par);
            leaf_slopes(w, &kid[i], weight);
            continue;
        }
        buf_printf(w->out, "    double w%zu = w%zu * x%zu", i, id, id);
        for (size_t j = t->first_kid; j < t->past; j = next_kid(w, j))
            if (j != i && !is_expo(&kid[j])) buf_printf(w->out, " * v%zu", j);
        buf_puts(w->out, ";\n");
        slopes(w, i);
    }
}

/* d/dp of (1-h)(1-h') a + h h' b = (dh h' + h dh') b - (dh (1-h') + (1-h) dh') a. */
static void change(const struct writer *w, const struct site *t, size_t id) {
    size_t a = t->first_kid, b = next_kid(w, a);
    int h = t->feature;
    for (int p = 0; p < (int)t->k->npar; p++) {
        int d = h + 1 + p;
        buf_printf(w->out,
                   "    g[%d] += w%zu * ((f[%d] * h[%d] + f[%d] * h[%d]) * v%zu - (f[%d] * (1 - "
                   "h[%d]) + (1 - f[%d]) * h[%d]) * v%zu);\n",
                   t->par + p, id, d, h, h, d, b, d, h, h, d, a);
    }
    buf_printf(w->out, "    double w%zu = w%zu * (1 - f[%d]) * (1 - h[%d]);\n", a, id, h, h);
    buf_printf(w->out, "    double w%zu = w%zu * f[%d] * h[%d];\n", b, id, h, h);
    slopes(w, a);
    slopes(w, b);
}

static void slopes(const struct writer *w, size_t id) {
    const struct site *t = &w->s->at.at[id];
    switch (t->k->op) {
    case KERN_LEAF: leaf(w, t, id); break;
    case KERN_PRODUCT: product(w, t, id); break;
    case KERN_CHANGE: change(w, t, id); break;
    default:
        for (size_t i = t->first_kid; i < t->past; i = next_kid(w, i)) {
            buf_printf(w->out, "    double w%zu = w%zu;\n", i, id);
            slopes(w, i);
        }
    }
}

static void prepare(const struct writer *w) {
    buf_puts(w->out, "DEVICE void k_prepare(const double *x, const double *t, double *f) {\n");
    for (size_t i = 0; i < w->s->at.n; i++) {
        const struct site *t = &w->s->at.at[i];
        if (t->k->op == KERN_CHANGE) {
            buf_printf(w->out, "    f[%d] = ", t->feature);
            row_name(t->k->cls, w->out);
            buf_printf(w->out, "_weight(x[%d], t + %d, f + %d);\n", t->k->col[0], t->par,
                       t->feature + 1);
        }
        if (t->k->op != KERN_LEAF || site_features(t->k, w->s->dim) == 0) continue;
        char after[32];
        int n = leaf_dim(t->k, w->s->dim);
        snprintf(after, sizeof after, ", f + %d", t->feature);
        buf_printf(w->out, "    {\n        double y[%d] = {", n);
        for (int c = 0; c < n; c++) buf_printf(w->out, "x[%d], ", leaf_place(t->k, c));
        buf_puts(w->out, "};\n        ");
        call(w, t, "prepare", "y", after);
        buf_puts(w->out, ";\n    }\n");
    }
    buf_puts(w->out, "}\n");
}

static enum gpm_status refuse(const struct sites *s, char **why) {
    struct buf b = BUF_INIT;
    const struct kern_class *none = NULL;
    for (size_t i = 0; i < s->at.n && !none; i++) {
        const struct kern_class *c = s->at.at[i].k->cls;
        if (c && !c->device.value && !c->device.weight) none = c;
    }
    if (s->procedure)
        buf_printf(&b, "the kernel %s is a procedure, which cannot run on a GPU",
                   s->procedure->label);
    else if (none)
        buf_printf(&b, "the kernel %s has no device text (docs/extending.md)", none->name);
    else if (s->feature > KERN_PROGRAM_MAX || s->par + s->constant > KERN_PROGRAM_MAX)
        buf_printf(&b,
                   "the kernel is too large for a GPU: %d parameters and %d features, at most %d",
                   s->par, s->feature, KERN_PROGRAM_MAX);
    enum gpm_status st = b.len ? GPM_E_LIMIT : GPM_OK;
    if (st && why) *why = buf_take(&b);
    buf_release(&b);
    return st;
}

enum gpm_status kern_program(const struct kern *k, int dim, struct kern_program *p,
                             struct buf *text, char **why) {
    struct sites s = sites_of(k, dim);
    enum gpm_status st = refuse(&s, why);
    if (!st) {
        struct writer w = {&s, text, s.par};
        *p = (struct kern_program){dim, s.feature, s.par, s.par + s.constant, s.gram};
        buf_printf(text,
                   "#define DIM %d\n#define NF %d\n#define NG %d\n#define NP %d\n#define NT %d\n",
                   dim, s.feature ? s.feature : 1, s.gram, s.par, p->nt);
        buf_puts(text, embed_device_kernels_cu);
        for (size_t i = 0; i < s.at.n; i++) {
            bool seen = !s.at.at[i].k->cls;
            for (size_t j = 0; j < i && !seen; j++) seen = s.at.at[j].k->cls == s.at.at[i].k->cls;
            if (!seen) row_functions(s.at.at[i].k->cls, text);
        }
        prepare(&w);
        buf_puts(text,
                 "DEVICE double k_value(const double *f, const double *h, const double *t, int "
                 "same) {\n");
        values(&w, 0);
        buf_puts(text,
                 "    return v0;\n}\nDEVICE void k_grad(const double *f, const double *h, const "
                 "double *t, int same, double w0, double *g) {\n");
        values(&w, 0);
        slopes(&w, 0);
        buf_puts(text, "}\n");
    }
    vec_release(&s.at);
    return st;
}

/* ---- numbers ---- */

static void constants(const struct kern *k, double **constant) {
    if (k->op == KERN_LEAF && k->cls->device.constants) {
        k->cls->device.constant(k, *constant);
        *constant += k->cls->device.constants;
    }
    for (size_t i = 0; i < k->nkids; i++) constants(k->kid[i], constant);
}

void kern_program_params(const struct kern *k, double *t) {
    double *constant = t + kern_nparam(k);
    kern_params(k, t);
    constants(k, &constant);
}

/* ---- any expression of one column ---- */

/* Limits: sites, numbers, parameters among them, features. */
enum { ANY_SITES = 32, ANY_NUMBERS = 64, ANY_PAR = 48, ANY_FEATURES = 16 };

/* Rows with device text, numbered from 1; 0 is white noise by position. */
static const struct kern_class *any_row(size_t number) {
    const struct kern_class *cls;
    for (size_t i = 0; (cls = kern_class_at(i)); i++)
        if ((cls->device.value || cls->device.weight) && --number == 0) break;
    return cls;
}

static struct {
    const struct kern_class *at[256];
    size_t n;
} any_rows;

static void list_any_rows(void) {
    while (any_rows.n + 1 < COUNT_OF(any_rows.at) &&
           (any_rows.at[any_rows.n + 1] = any_row(any_rows.n + 1)))
        any_rows.n++;
}

static uint64_t any_number(const struct kern_class *cls) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_any_rows);
    size_t i = any_rows.n;
    while (i && any_rows.at[i] != cls) i--;
    return i;
}

/* A case for each row with such a function; features are `ld` apart. */
static void any_cases(struct buf *out, const char *head, const char *what, const char *call) {
    buf_printf(out, "%s {\n    switch (row) {\n", head);
    for (size_t i = 1; i <= any_rows.n; i++) {
        const struct kern_class *cls = any_rows.at[i];
        bool change = cls->op == KERN_CHANGE, prepares = strcmp(what, "prepare") == 0;
        int nf = change ? (int)cls->npar : cls->features;
        if (change ? !prepares : strcmp(what, "grad") == 0 && !has_grad(cls)) continue;
        buf_printf(out, "    case %zu: {\n        double a[%d]", i, nf > 0 ? nf : 1);
        if (!prepares) buf_printf(out, ", b[%d]", nf > 0 ? nf : 1);
        buf_puts(out, ";\n");
        for (int q = 0; q < nf && !prepares; q++)
            buf_printf(out, "        a[%d] = f[%d * ld], b[%d] = h[%d * ld];\n", q, q, q, q);
        buf_puts(out, change                       ? "        f[0] = "
                      : strcmp(what, "value") == 0 ? "        return "
                                                   : "        ");
        row_name(cls, out);
        buf_printf(out, "_%s\n", change ? "weight(x, p, a);" : call);
        for (int q = 0; q < nf && prepares; q++)
            buf_printf(out, "        f[%d * ld] = a[%d];\n", q + change, q);
        buf_puts(out, "        break;\n    }\n");
    }
    buf_puts(out, "    }\n");
}

void kern_any_program(struct kern_program *p, struct buf *text) {
    *p = (struct kern_program){.dim = 1,
                               .np = ANY_PAR,
                               .nt = 1 + ANY_SITES + ANY_NUMBERS + 1, /* even: what follows is */
                               .ng = ANY_FEATURES};                   /* read by pairs */
    any_number(NULL);
    buf_printf(text, "#define ANY 1\n#define DIM 1\n#define NP %d\n#define NT %d\n", p->np, p->nt);
    buf_printf(text, "#define SITES %d\n", ANY_SITES);
    buf_puts(text, embed_device_kernels_cu);
    for (size_t i = 1; i <= any_rows.n; i++) row_functions(any_rows.at[i], text);
#define ANY_ARGS "const int row, const double *f, const double *h, const int ld, const double *p, "
    any_cases(text,
              "DEVICE void row_prepare(const int row, const double x, const double *p, const "
              "double *k, double *f, const int ld)",
              "prepare", "prepare(&x, p, k, 1, 1, a);");
    buf_puts(text, "}\n");
    any_cases(text, "DEVICE double row_value(" ANY_ARGS "const double *k, const int same)", "value",
              "value(a, b, p, k, 1, 1);");
    buf_puts(text, "    return same;\n}\n");
    any_cases(text, "DEVICE void row_grad(" ANY_ARGS "const double *k, double w, double *g)",
              "grad", "grad(a, b, p, k, 1, 1, w, g);");
    buf_puts(text, "}\n");
    buf_puts(text, embed_device_any_cu);
}

/* The fields of a site's word, as read by device_any.cu. */
static uint64_t any_word(const struct site *t, size_t parent) {
    const struct kern_class *cls = t->k->cls;
    bool is_leaf = t->k->op == KERN_LEAF, change = t->k->op == KERN_CHANGE;
    uint64_t op = is_leaf ? 0 : t->k->op == KERN_PRODUCT ? 2 : change ? 3 : 1;
    uint64_t row = (is_leaf || change) && !by_place(t->k) ? any_number(cls) : 0;
    uint64_t amp = !is_leaf || cls->amp == KERN_AMP_NONE ? 0 : cls->amp == KERN_AMP_SQUARE ? 1 : 2;
    return op | row << 8 | (uint64_t)t->par << 16 |
           (uint64_t)(change ? (int)t->k->npar : t->constant) << 24 | (uint64_t)t->feature << 32 |
           (uint64_t)parent << 40 | (uint64_t)t->past << 48 | amp << 56 |
           (uint64_t)is_expo(t) << 60;
}

static void any_words(const struct sites *s, uint64_t *to) {
    size_t above[ANY_SITES] = {0}, depth = 0; /* sites whose subtree contains the present one */
    for (size_t i = 0; i < s->at.n; i++) {
        while (depth && s->at.at[above[depth - 1]].past <= i) depth--;
        to[i] = any_word(&s->at.at[i], depth ? above[depth - 1] : 0);
        above[depth++] = i;
    }
}

static bool any_fits(const struct sites *s) {
    for (size_t i = 0; i < s->at.n; i++) {
        const struct kern *k = s->at.at[i].k;
        bool leaf = k->op == KERN_LEAF || k->op == KERN_CHANGE;
        if (leaf && !by_place(k) && !any_number(k->cls)) return false;
        if (k->op == KERN_LEAF && leaf_dim(k, 1) != 1) return false;
    }
    return !s->procedure && s->at.n <= ANY_SITES && s->par <= ANY_PAR && s->gram <= ANY_FEATURES &&
           s->par + s->constant <= ANY_NUMBERS;
}

bool kern_any_params(const struct kern *k, double *t, int *features) {
    struct sites s = sites_of(k, 1);
    bool fits = any_fits(&s);
    if (fits) {
        uint64_t words[1 + ANY_SITES] = {s.at.n | (uint64_t)s.gram << 8 | (uint64_t)s.par << 16};
        for (size_t i = 0; i < s.at.n; i++) s.at.at[i].constant += s.par; /* after the numbers */
        any_words(&s, words + 1);
        memset(t, 0, (2 + ANY_SITES + ANY_NUMBERS) * sizeof *t);
        memcpy(t, words, sizeof words);
        kern_program_params(k, t + 1 + ANY_SITES);
        *features = s.gram;
    }
    vec_release(&s.at);
    return fits;
}

void kern_program_slopes(const struct kern *k, const double *g, double *dkern) {
    for (size_t i = 0; i < kern_nparam(k); i++) dkern[i] += g[i];
}

uint64_t kern_shape(const struct kern *k) {
    uint64_t h = hash_mix((uint64_t)k->op + 3);
    if (k->cls) h = hash_mix(h ^ MAP_PTR(k->cls));
    h = hash_mix(h + k->ard);
    for (size_t i = 0; i < k->ncol; i++) h = hash_mix(h ^ (uint64_t)(k->col[i] + 1));
    for (size_t i = 0; i < k->nkids; i++) h = hash_mix(31 * h + kern_shape(k->kid[i]));
    return h;
}

bool kern_same_shape(const struct kern *a, const struct kern *b) {
    if (a->op != b->op || a->cls != b->cls || a->ard != b->ard || a->ncol != b->ncol ||
        a->nkids != b->nkids || a->callback || b->callback)
        return false;
    for (size_t i = 0; i < a->ncol; i++)
        if (a->col[i] != b->col[i]) return false;
    for (size_t i = 0; i < a->nkids; i++)
        if (!kern_same_shape(a->kid[i], b->kid[i])) return false;
    return true;
}
