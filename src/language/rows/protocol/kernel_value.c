/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels and means as values; procedures of the language as kernels. */
#include "language/rows/protocol/kernel_value.h"
#include "language/rows/protocol/numeric.h"
#include "language/value/value_pack.h"

#include "base/mem.h"
#include <math.h>
#include <string.h>

static void kernel_release(struct box *b) {
    kern_unref(((struct kernel_box *)b)->k);
}

static void kernel_print(const struct box *b, struct buf *out) {
    kern_print(((const struct kernel_box *)b)->k, out);
}

static bool kernel_equal(const struct box *a, const struct box *b) {
    return kern_equal(((const struct kernel_box *)a)->k, ((const struct kernel_box *)b)->k);
}

static uint64_t kernel_hash(const struct box *b) {
    return kern_hash(((const struct kernel_box *)b)->k);
}

/* k + h, k * h, and a number times a kernel (a variance). */
static enum gpm_status kernel_arith(const char *op, value a, value b, value *out) {
    bool add = !strcmp(op, "add"), mul = !strcmp(op, "mul");
    struct kern *k = kernel_of(a), *h = kernel_of(b), *r = NULL;
    if (!add && !mul) return GPM_E_NOT_FOUND;
    if (k && h)
        r = add ? kern_sum(k, h) : kern_product(k, h);
    else if (mul && k && b.tag == V_NUM)
        r = kern_scale(b.u.num, k);
    else if (mul && h && a.tag == V_NUM)
        r = kern_scale(a.u.num, h);
    if (!r) return k && h ? GPM_E_ARG : GPM_E_NOT_FOUND;
    *out = kernel_value_take(r);
    return GPM_OK;
}

static value part(value d, size_t from, size_t n) {
    return d.tag == V_VECTOR ? value_vector(d.u.vector->at + from, n) : NIL;
}

/* Flat parameters of a sum or product are those of a, then those of b. */
static enum gpm_status kernel_arith_grad(const char *op, value a, value b, value d, value *da,
                                         value *db) {
    struct kern *k = kernel_of(a), *h = kernel_of(b);
    *da = *db = NIL;
    if (d.tag != V_VECTOR) return GPM_OK;
    size_t n = d.u.vector->n, nk = k ? kern_nparam(k) : 0, nh = h ? kern_nparam(h) : 0;
    if (k && h && nk + nh == n) {
        *da = part(d, 0, nk);
        *db = part(d, nk, nh);
    } else if (k && nk <= n) { /* scaled: the factor's parameter follows */
        *da = part(d, n - nk, nk);
        *db = value_num(n > nk ? d.u.vector->at[0] : 0);
    } else if (h && nh <= n) {
        *da = value_num(n > nh ? d.u.vector->at[0] : 0);
        *db = part(d, n - nh, nh);
    }
    return GPM_OK;
}

static void kernel_pack(struct pack *p, struct box *b);
static void mean_pack_box(struct pack *p, struct box *b);

const struct box_class kernel_class = {.name = "kernel",
                                       .size = sizeof(struct kernel_box),
                                       .copies = true,
                                       .pack = kernel_pack,
                                       .release = kernel_release,
                                       .print = kernel_print,
                                       .equal = kernel_equal,
                                       .hash = kernel_hash,
                                       .arith = kernel_arith,
                                       .arith_grad = kernel_arith_grad};

value kernel_value_take(struct kern *k) {
    struct kernel_box *b = box_new(&kernel_class);
    b->k = k;
    return value_box(V_BOX, &b->box);
}

struct kern *kernel_of(value v) {
    return v.tag == V_BOX && v.u.box->cls == &kernel_class ? ((struct kernel_box *)v.u.box)->k
                                                           : NULL;
}

static void mean_release_box(struct box *b) {
    mean_unref(((struct mean_box *)b)->m);
}

static void mean_print_box(const struct box *b, struct buf *out) {
    mean_print(((const struct mean_box *)b)->m, out);
}

const struct box_class mean_class = {.name = "mean function",
                                     .size = sizeof(struct mean_box),
                                     .copies = true,
                                     .release = mean_release_box,
                                     .print = mean_print_box,
                                     .pack = mean_pack_box};

value mean_value_take(struct mean *m) {
    struct mean_box *b = box_new(&mean_class);
    b->m = m;
    return value_box(V_BOX, &b->box);
}

/* Procedures of the language called by the library. */

struct procedure {
    value proc;
    struct sp_host *host;
    struct diags *diags;
    const char *what; /* "kernel" */
};

static void procedure_drop(void *user) {
    struct procedure *p = user;
    value_unref(p->proc);
    mem_free(p);
}

value point_value(const double *x, int dim) {
    return dim == 1 ? value_num(x[0]) : value_vector(x, (size_t)dim);
}

/* "the kernel gave nan at 1, 2": impossible parameters for a number, otherwise a mistake. */
static enum gpm_status not_finite(struct procedure *p, const value *args, size_t n, value v) {
    struct buf at = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(&at, ", ");
        value_print(args[i], &at);
    }
    diag_raise(p->diags, v.tag == V_NUM ? DIAG_DOMAIN : DIAG_TYPE, NO_SPAN,
               "the %s gave %s at %s, not a finite number", p->what, SHOW(v), at.data);
    buf_release(&at);
    return GPM_E_USER;
}

static enum gpm_status call(struct procedure *p, value *args, size_t n, double *out) {
    value v = NIL;
    enum gpm_status st = p->host->apply(p->host, p->proc, args, n, &v);
    if (st != GPM_OK)
        st = GPM_E_USER;
    else if (v.tag != V_NUM || !isfinite(v.u.num))
        st = not_finite(p, args, n, v);
    *out = st == GPM_OK ? v.u.num : 0;
    for (size_t i = 0; i < n; i++) value_unref(args[i]);
    value_unref(v);
    return st;
}

static enum gpm_status kernel_callback(void *user, const double *x1, const double *x2, int dim,
                                       double *out) {
    value args[2] = {point_value(x1, dim), point_value(x2, dim)};
    return call(user, args, 2, out);
}

static enum gpm_status mean_callback_call(void *user, const double *x, int dim, double *out) {
    value args[1] = {point_value(x, dim)};
    return call(user, args, 1, out);
}

static struct procedure *procedure_new(struct sp_call *c, value proc, const char *what) {
    struct procedure *p = NEW(struct procedure);
    p->proc = value_ref(proc);
    p->host = c->host;
    p->diags = c->diags;
    p->what = what;
    return p;
}

/* A kernel written with its parameters: code on numbers, made once the dimension is known. */
struct written {
    struct procedure p;
    struct numeric *code; /* NULL until needed */
    int dim;              /* dimension of the code */
    double *in;           /* both points, then the parameters */
    size_t n_par;
};

static void written_drop(void *user) {
    struct written *k = user;
    value_unref(k->p.proc);
    numeric_unref(k->code);
    mem_free(k->in);
    mem_free(k);
}

/* Makes code for points of this dimension and copies the points into its inputs. */
static enum gpm_status written_at(struct written *k, const double *x1, const double *x2, int dim) {
    size_t d = (size_t)dim;
    if (k->dim != dim) {
        double *in = NEW_ARRAY(double, 2 * d + k->n_par + 1);
        memcpy(in + 2 * d, k->in + 2 * (size_t)k->dim, k->n_par * sizeof *in);
        mem_free(k->in);
        k->in = in;
        k->dim = dim;
        numeric_unref(k->code);
        k->code = NULL;
    }
    memcpy(k->in, x1, d * sizeof *x1);
    memcpy(k->in + d, x2, d * sizeof *x2);
    if (k->code) return GPM_OK;
    value like[3] = {point_value(x1, dim), point_value(x2, dim),
                     value_vector(k->in + 2 * d, k->n_par)};
    enum gpm_status st = k->p.host->numeric(k->p.host, k->p.proc, like, 3, 1, &k->code);
    for (int i = 0; i < 3; i++) value_unref(like[i]);
    return st == GPM_OK ? st : GPM_E_USER;
}

static enum gpm_status written_value(void *user, const double *x1, const double *x2, int dim,
                                     double *out) {
    struct written *k = user;
    struct sp_call c = {.diags = k->p.diags, .host = k->p.host};
    enum gpm_status st = written_at(k, x1, x2, dim);
    if (st == GPM_OK) st = numeric_run(&c, k->code, k->in, out);
    if (st != GPM_OK) return GPM_E_USER;
    if (isfinite(*out)) return GPM_OK;
    value args[2] = {point_value(x1, dim), point_value(x2, dim)};
    st = not_finite(&k->p, args, 2, value_num(*out));
    for (int i = 0; i < 2; i++) value_unref(args[i]);
    return st;
}

static enum gpm_status written_slope(void *user, const double *x1, const double *x2, int dim,
                                     double w, double *g) {
    struct written *k = user;
    double y;
    size_t d = 2 * (size_t)dim, n = d + k->n_par;
    enum gpm_status st = written_value(user, x1, x2, dim, &y);
    if (st != GPM_OK) return st;
    if (!k->code->out)
        return diag_raise(k->p.diags, DIAG_NO_GRADIENT, NO_SPAN,
                          "the kernel has no gradient, since it cannot be compiled: %s",
                          k->code->why ? k->code->why : "");
    double *din = mem_zalloc((n + 1) * sizeof *din);
    numeric_back(k->code, &w, din);
    for (size_t i = 0; i < k->n_par; i++) g[i] += din[d + i];
    mem_free(din);
    return GPM_OK;
}

struct kern *kernel_written(struct sp_call *c, value proc, const double *par, size_t n) {
    struct written *k = NEW(struct written);
    k->p = (struct procedure){value_ref(proc), c->host, c->diags, "kernel"};
    k->n_par = n;
    k->in = NEW_ARRAY(double, n + 1);
    memcpy(k->in, par, n * sizeof *par);
    return kern_callback_with(written_value, written_slope, k, written_drop, "procedure", par, n);
}

struct kern *kernel_from(struct sp_call *c, value v) {
    struct kern *k = kernel_of(v);
    if (k) return kern_ref(k);
    if (v.tag == V_PROC)
        return kern_callback(kernel_callback, procedure_new(c, v, "kernel"), procedure_drop,
                             "procedure");
    sp_error(c, DIAG_KERNEL, "%s: a kernel is needed, got %s (a %s)", c->cls->name, SHOW(v),
             value_type_name(v));
    diag_set_help(
        c->diags,
        "make_squaredexp(sf, l), make_linear(s), a sum of kernels, or proc(x1, x2) {...}");
    return NULL;
}

struct mean *mean_from(struct sp_call *c, value v) {
    if (v.tag == V_BOX && v.u.box->cls == &mean_class)
        return mean_ref(((struct mean_box *)v.u.box)->m);
    if (v.tag == V_NUM) return mean_const(v.u.num);
    if (v.tag == V_PROC)
        return mean_callback(mean_callback_call, procedure_new(c, v, "mean function"),
                             procedure_drop, "procedure");
    sp_error(c, DIAG_TYPE, "%s: a mean function is needed, got a %s", c->cls->name,
             value_type_name(v));
    diag_set_help(c->diags, "make_const_func(c), a number, or proc(x) {...}");
    return NULL;
}

/* ---- as bytes ---- */

static struct sp_call *reader(struct pack *p, struct sp_call *c) {
    *c = (struct sp_call){.host = p->host, .diags = p->diags};
    return c;
}

static struct kern *callback_pack(struct pack *p, struct kern *k) {
    struct sp_call c;
    struct procedure *plain = k ? kern_user(k, kernel_callback) : NULL;
    struct written *w = k ? kern_user(k, written_value) : NULL;
    uint32_t kind = pack_choice(p, w ? 1 : 0, 2);
    if (k && !plain && !w) pack_fail(p, "a kernel of the calling program cannot be saved");
    if (!pack_ok(p)) return k;
    value proc = plain ? plain->proc : w ? w->p.proc : NIL;
    size_t n = w ? w->n_par : 0;
    pack_value(p, &proc);
    pack_count(p, &n, sizeof(double));
    double *par = w ? w->in + 2 * (size_t)w->dim : NEW_ARRAY(double, n + 1);
    pack_doubles(p, par, n);
    if (k) {
        if (!w) mem_free(par);
        return k;
    }
    struct kern *made =
        kind ? kernel_written(reader(p, &c), proc, par, n)
             : kern_callback(kernel_callback, procedure_new(reader(p, &c), proc, "kernel"),
                             procedure_drop, "procedure");
    mem_free(par);
    value_unref(proc);
    return made;
}

static struct mean *mean_callback_pack(struct pack *p, struct mean *m) {
    struct sp_call c;
    struct procedure *plain = m ? mean_user(m, mean_callback_call) : NULL;
    if (m && !plain) pack_fail(p, "a mean function of the calling program cannot be saved");
    value proc = plain ? plain->proc : NIL;
    pack_value(p, &proc);
    if (m) return m;
    struct procedure *made = procedure_new(reader(p, &c), proc, "mean function");
    value_unref(proc);
    return mean_callback(mean_callback_call, made, procedure_drop, "procedure");
}

const struct gp_foreign kernel_foreign = {callback_pack, mean_callback_pack};

static void kernel_pack(struct pack *p, struct box *b) {
    kern_pack(p, &((struct kernel_box *)b)->k, &kernel_foreign);
}

static void mean_pack_box(struct pack *p, struct box *b) {
    mean_pack(p, &((struct mean_box *)b)->m, &kernel_foreign);
}

enum gpm_status kernel_contains(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[0]), *part = kernel_of(c->args[1]);
    if (!k) return GPM_E_USER;
    bool yes = false;
    char *why = NULL;
    struct buf text = BUF_INIT;
    enum gpm_status st = GPM_OK;
    if (part)
        st = kern_struct(part, &text) == GPM_OK
                 ? GPM_OK
                 : sp_error(c, DIAG_LIMIT, "%s: %s", c->cls->name, KERN_TOO_LARGE);
    else if (c->args[1].tag == V_STR)
        buf_puts(&text, c->args[1].u.str->text);
    else
        st = sp_error(c, DIAG_TYPE, "%s: s must be a structure like \"SE*PER\", or a kernel",
                      c->cls->name);
    if (st == GPM_OK && (st = kern_contains(k, text.data, &yes, &why)) != GPM_OK)
        st = sp_error(c, DIAG_QUERY, "%s", why ? why : "the structure cannot be read");
    kern_unref(k);
    buf_release(&text);
    mem_free(why);
    *out = value_bool(yes);
    return st;
}
