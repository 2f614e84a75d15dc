/* SPDX-License-Identifier: Apache-2.0
 *
 * Constructors of kernels and mean functions, kernel algebra, kernel text: parse, simplify, struct.
 * The constructors of table kernels are generated from the table: name, parameters, texts. */
#include "language/rows/protocol/kernel_value.h"
#include "gp/kernel/kern_class.h"

#include "base/mem.h"
#include "base/vec.h"
#include <string.h>

/* If another row of the same name has exactly the given number of parameters, it is used; otherwise
 * missing ones take their defaults. */
static struct kern *leaf_kernel(const struct kern_class *row, double *par, size_t n, char **why) {
    if (n < row->npar) row = kern_class_with(row, n);
    for (; n < row->npar; n++) par[n] = row->par[n].fallback;
    return kern_leaf(row, par, why);
}

/* Gives a kernel as a value, taking it over. Without one, raises the error `why` (freed). */
static enum gpm_status give(struct sp_call *c, struct kern *k, char *why, value *out) {
    enum gpm_status st = GPM_OK;
    if (k)
        *out = kernel_value_take(k);
    else
        st = sp_error(c, DIAG_DOMAIN, "%s: %s", c->cls->name, why ? why : "cannot be made");
    mem_free(why);
    return st;
}

/* The count of numbers in argument i: one, or one per input coordinate. */
static size_t width(const struct sp_call *c, size_t i) {
    size_t n = 1;
    return c->args[i].tag == V_NUM || !seq_length(c->args[i], &n) ? 1 : n;
}

/* The numbers of all arguments in sequence, with defaults for missing ones. The parameter that may
 * be given per coordinate (at most one in a row) takes *ard of them. */
static enum gpm_status leaf_numbers(struct sp_call *c, const struct kern_class *row, double **par,
                                    size_t *ard) {
    VEC(double) all = {0};
    enum gpm_status st = GPM_OK;
    *ard = 1;
    for (size_t i = 0; i < c->n && st == GPM_OK; i++) {
        double *numbers = NULL, one;
        size_t n = 1;
        if (value_number(c->args[i], &one))
            vec_push(&all, one);
        else if (!seq_numbers(c->args[i], &numbers, &n) || !n)
            st = sp_error(c, DIAG_DOMAIN, "%s: %s has no numbers", c->cls->name, row->par[i].name);
        for (size_t k = 0; numbers && k < n; k++) vec_push(&all, numbers[k]);
        if (numbers) *ard = n;
        mem_free(numbers);
    }
    for (size_t i = c->n; i < row->npar; i++) vec_push(&all, row->par[i].fallback);
    *par = all.at;
    return st;
}

static enum gpm_status k_leaf(struct sp_call *c, value *out) {
    const struct kern_class *row = c->cls->of;
    double *par = NULL, few[8];
    size_t ard;
    char *why = NULL;
    struct kern *k = NULL;
    enum gpm_status st = leaf_numbers(c, row, &par, &ard);
    if (st == GPM_OK && ard == 1) {
        memcpy(few, par, c->n * sizeof *few);
        k = leaf_kernel(row, few, c->n, &why);
    } else if (st == GPM_OK)
        k = kern_leaf_on(row, par, ard, NULL, 0, &why);
    mem_free(par);
    return st == GPM_OK ? give(c, k, why, out) : st;
}

/* An alias's leaf parameters are functions of its arguments. */
static enum gpm_status k_alias_grad(struct sp_call *c, value result, value d, value *dargs) {
    const struct kern_class *row = c->cls->of;
    double par[KERN_MAX_PAR], sum[KERN_MAX_PAR] = {0}, slope;
    for (size_t i = 0; i < c->n; i++) par[i] = sp_num(c, i);
    for (size_t b = 0; d.tag == V_VECTOR && b < d.u.vector->n; b++) {
        kern_base_par(row, par, b, &slope);
        if (row->from[b].par >= 0) sum[row->from[b].par] += slope * d.u.vector->at[b];
    }
    for (size_t i = 0; i < c->n && d.tag == V_VECTOR; i++) dargs[i] = value_num(sum[i]);
    return GPM_OK;
}

/* The adjoint of a kernel is the vector of adjoints of its flat parameters; a leaf's parameters are
 * its arguments. */
static enum gpm_status k_leaf_grad(struct sp_call *c, value result, value d, value *dargs) {
    size_t at = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t n = width(c, i);
        dargs[i] = d.tag != V_VECTOR || at + n > d.u.vector->n ? NIL
                   : c->args[i].tag == V_NUM                   ? value_num(d.u.vector->at[at])
                                             : value_vector(d.u.vector->at + at, n);
        at += n;
    }
    return GPM_OK;
}

/* Shared by rows of sums and products: `of` distinguishes them, and whether the first argument is
 * the variance of a constant. */
static enum gpm_status k_combine(struct sp_call *c, value *out) {
    const char *of = c->cls->of;
    struct kern *r = NULL;
    for (size_t i = 0; i < c->n; i++) {
        bool variance = i == 0 && of[1];
        struct kern *k = variance ? kern_constant(sp_num(c, 0)) : kernel_from(c, c->args[i]);
        if (!k) kern_unref(r);
        if (!k && variance)
            return sp_error(c, DIAG_DOMAIN, "%s: s2 must be a variance", c->cls->name);
        if (!k) return GPM_E_USER;
        struct kern *next = !r ? kern_ref(k) : *of == '+' ? kern_sum(r, k) : kern_product(r, k);
        kern_unref(k);
        kern_unref(r);
        r = next;
        if (!r)
            return sp_error(c, DIAG_KERNEL, "%s: the kernel is nested too deeply", c->cls->name);
    }
    *out = kernel_value_take(r);
    return GPM_OK;
}

/* Flat parameters of a sum or product are those of its parts in turn; a procedure has none. */
static enum gpm_status k_combine_grad(struct sp_call *c, value result, value d, value *dargs) {
    size_t at = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct kern *k = kernel_of(c->args[i]);
        size_t n = k ? kern_nparam(k) : 0;
        dargs[i] = d.tag == V_VECTOR && n && at + n <= d.u.vector->n
                       ? value_vector(d.u.vector->at + at, n)
                       : NIL;
        at += n;
    }
    return GPM_OK;
}

/* make_kernel(k, parameters) */
static enum gpm_status k_written(struct sp_call *c, value *out) {
    double *par = NULL;
    size_t n = 0;
    if (!seq_numbers(c->args[1], &par, &n))
        return sp_type_error(c, c->args[1], "%s: parameters must be numbers", c->cls->name);
    *out = kernel_value_take(kernel_written(c, c->args[0], par, n));
    mem_free(par);
    return GPM_OK;
}

static enum gpm_status k_written_grad(struct sp_call *c, value result, value d, value *dargs) {
    dargs[1] = value_ref(d);
    return GPM_OK;
}

static enum gpm_status k_change(struct sp_call *c, value *out) {
    struct kern *a = kernel_from(c, c->args[0]), *b = kernel_from(c, c->args[1]), *r = NULL;
    double par[2] = {sp_num(c, 2), sp_num(c, 3)};
    char *why = NULL;
    if (a && b) r = kern_change(kern_change_class(false), par, 0, a, b, &why);
    kern_unref(a);
    kern_unref(b);
    return a && b ? give(c, r, why, out) : GPM_E_USER;
}

/* The adjoint of a mean function is the vector of its parameters, like that of a kernel. */
static enum gpm_status m_linear(struct sp_call *c, value *out) {
    double slope = sp_num_or(c, 1, 0);
    *out = mean_value_take(mean_linear(sp_num(c, 0), &slope, c->n - 1)); /* 0 slopes: constant */
    return GPM_OK;
}

/* A kernel is its own expression already: the paper writes Struct(Simplify(Parse(k))). */
static enum gpm_status k_parse(struct sp_call *c, value *out) {
    struct kern *k = NULL;
    char *why = NULL;
    if (c->args[0].tag != V_STR)
        k = kernel_from(c, c->args[0]);
    else if (kern_parse(c->args[0].u.str->text, &k, &why) != GPM_OK)
        sp_error(c, DIAG_KERNEL_TEXT, "%s", why ? why : "the kernel cannot be read");
    mem_free(why);
    if (!k) return GPM_E_USER;
    *out = kernel_value_take(k);
    return GPM_OK;
}

static enum gpm_status too_large(struct sp_call *c) {
    return sp_error(c, DIAG_LIMIT, "%s: %s", c->cls->name, KERN_TOO_LARGE);
}

static enum gpm_status k_simplify(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[0]);
    if (!k) return GPM_E_USER;
    struct kern *s = kern_simplify(k);
    kern_unref(k);
    if (!s) return too_large(c);
    *out = kernel_value_take(s);
    return GPM_OK;
}

static enum gpm_status k_struct(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[0]);
    if (!k) return GPM_E_USER;
    struct buf b = BUF_INIT;
    enum gpm_status st = kern_struct(k, &b);
    if (st == GPM_OK) *out = value_str(b.data, b.len);
    buf_release(&b);
    kern_unref(k);
    return st == GPM_OK ? st : too_large(c);
}

/* An input as numbers, owned; false: the value is not an input. */
static bool input_of(value v, double **x, size_t *n) {
    if (v.tag != V_NUM) return seq_numbers(v, x, n);
    *x = NEW_ARRAY(double, 1);
    **x = v.u.num;
    *n = 1;
    return true;
}

static enum gpm_status k_eval(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[0]);
    if (!k) return GPM_E_USER;
    double *a = NULL, *b = NULL, r;
    size_t na, nb;
    enum gpm_status st;
    if (!input_of(c->args[1], &a, &na) || !input_of(c->args[2], &b, &nb) || na != nb)
        st = sp_error(c, DIAG_GP_DIMENSION, "%s: two inputs of one dimension are needed",
                      c->cls->name);
    else
        st = kern_eval(k, a, b, (int)na, &r);
    if (st == GPM_OK)
        *out = value_num(r);
    else if (st != GPM_E_USER)
        st = sp_error(c, DIAG_GP_DIMENSION, "%s: the inputs do not fit the kernel", c->cls->name);
    mem_free(a);
    mem_free(b);
    kern_unref(k);
    return st;
}

/* ---- constructors, made from the kernel table ---- */

/* "(sf: number, c?: number) -> kernel" */
static char *leaf_sig(const struct kern_class *row) {
    struct buf b = BUF_INIT;
    size_t n = row->npar;
    for (size_t p = 0; p < n; p++)
        buf_printf(&b, "%s%s%s: %s", p ? ", " : "(", row->par[p].name,
                   p + row->optional >= n ? "?" : "", row->par[p].vector ? "per_input" : "number");
    buf_puts(&b, ") -> kernel");
    return buf_take(&b);
}

/* "make_se(1, 2) => SE(sf=1, l=2)" */
static char *leaf_example(const struct kern_class *row, const char *maker) {
    struct buf b = BUF_INIT;
    double par[8];
    size_t n = row->npar - row->optional;
    buf_puts(&b, maker);
    for (size_t p = 0; p < n; p++) {
        enum kern_domain domain = row->par[p].domain;
        par[p] = domain == KERN_UPTO2 ? 1.5 : domain == KERN_DEGREE ? 2 : (double)(p + 1);
        buf_printf(&b, "%s%g", p ? ", " : "(", par[p]);
    }
    buf_puts(&b, ") => ");
    struct kern *k = leaf_kernel(row, par, n, NULL);
    kern_print(k, &b);
    kern_unref(k);
    return buf_take(&b);
}

static char *leaf_doc(const struct kern_class *row, size_t i) {
    struct buf b = BUF_INIT;
    if (i > 0)
        buf_printf(&b, "The same as %s.", kern_class_maker(row, 0));
    else
        buf_printf(&b, "%s: %s; %s.", row->symbol, row->doc, row->phrase);
    return buf_take(&b);
}

/* Made once for the index of procedures and kept. */
size_t sp_kernel_leaf_make(const struct sp_class **rows) {
    static struct sp_class made[96];
    size_t n = 0;
    const struct kern_class *row;
    const char *maker;
    for (size_t r = 0; (row = kern_class_at(r)); r++)
        for (size_t i = 0; (maker = kern_class_maker(row, i)) && n < COUNT_OF(made); i++)
            made[n++] = (struct sp_class){.name = maker,
                                          .of = row,
                                          .sig = leaf_sig(row),
                                          .doc = leaf_doc(row, i),
                                          .example = leaf_example(row, maker),
                                          .simulate = k_leaf,
                                          .grad_simulate =
                                              row->op == KERN_ALIAS ? k_alias_grad : k_leaf_grad};
    *rows = made;
    return n;
}

#define COMBINE(sign, words)                                                                       \
    .sig = "(k: any, ...h: any) -> kernel", .doc = words, .flags = SP_CALLS, .of = sign,           \
    .simulate = k_combine, .grad_simulate = k_combine_grad
#define WITH_VARIANCE(sign, words)                                                                 \
    .sig = "(s2: number, k: any) -> kernel", .doc = words, .flags = SP_CALLS,                      \
    .of = sign " variance", .simulate = k_combine
#define CONSTANT_MEAN                                                                              \
    .sig = "(c: real) -> mean", .doc = "The constant mean function.", .simulate = m_linear,        \
    .grad_simulate = k_leaf_grad

const struct sp_class sp_kernel_rows[] = {
    {.name = "add_funcs",
     .example = "add_funcs(make_linear(1), make_whitenoise(2)) => LIN(sf=1) + WN(sigma=2)",
     COMBINE("+", "The sum of kernels.")},
    {.name = "mult_funcs",
     .example = "mult_funcs(make_linear(1), make_whitenoise(2)) => LIN(sf=1) * WN(sigma=2)",
     COMBINE("*", "The product of kernels.")},
    {.name = "make_kernel",
     .sig = "(k: proc, parameters: numbers) -> kernel",
     .doc = "The kernel k(x, y, parameters) of a procedure written in the language, with gradients "
            "in the parameters where the procedure computes with numbers.",
     .example = "make_kernel(proc(x, y, p) { p[0] * x * y }, [2]) => procedure",
     .flags = SP_CALLS,
     .simulate = k_written,
     .grad_simulate = k_written_grad},
    {.name = "gp_cov_sum",
     .example = "gp_cov_sum(make_linear(1), make_whitenoise(2)) => LIN(sf=1) + WN(sigma=2)",
     COMBINE("+", "The sum of kernels.")},
    {.name = "gp_cov_product",
     .example = "gp_cov_product(make_linear(1), make_whitenoise(2)) => LIN(sf=1) * WN(sigma=2)",
     COMBINE("*", "The product of kernels.")},
    {.name = "gp_cov_scale",
     .example = "gp_cov_scale(4, gp_cov_se(4)) => 4 * SE(sf=1, l=2)",
     WITH_VARIANCE("*", "s2 times the kernel.")},
    {.name = "gp_cov_bias",
     .example = "gp_cov_bias(4, gp_cov_se(4)) => 4 + SE(sf=1, l=2)",
     WITH_VARIANCE("+", "s2 plus the kernel.")},
    {.name = "make_change_point",
     .example = "make_change_point(make_linear(1), make_constant(2), 5, 0.1) => CP(LIN(sf=1), "
                "C(sf=2), tau=5, s=0.1)",
     .sig = "(before: any, after: any, tau: number, s: number) -> kernel",
     .doc = "One kernel before tau, another after it, switched by a sigmoid of width s.",
     .flags = SP_CALLS,
     .simulate = k_change},
    {.name = "make_const_func", .example = "make_const_func(3) => 3", CONSTANT_MEAN},
    {.name = "gp_mean_const", .example = "gp_mean_const(3) => 3", CONSTANT_MEAN},
    {.name = "make_linear_func",
     .example = "make_linear_func(1, 2) => 1 + 2*x0",
     .sig = "(a: real, b: real) -> mean",
     .doc = "The mean function a + b x.",
     .simulate = m_linear,
     .grad_simulate = k_leaf_grad},
    {.name = "parse",
     .sig = "(k: any) -> kernel",
     .doc = "The kernel written as text; a kernel is given back as it is.",
     .example = "parse(\"LIN(sf=2) + WN(sigma=1)\") => LIN(sf=2) + WN(sigma=1)",
     .flags = SP_CALLS,
     .simulate = k_parse},
    {.name = "simplify",
     .sig = "(k: any) -> kernel",
     .doc = "The kernel as a simplified sum of products: the same function.",
     .example = "simplify(make_squaredexp(2, 1) * make_whitenoise(3)) => WN(sigma=6)",
     .flags = SP_CALLS,
     .simulate = k_simplify},
    {.name = "struct",
     .sig = "(k: any) -> string",
     .doc = "The symbolic structure of a kernel, in canonical order.",
     .example = "struct(make_whitenoise(1) + make_linear(2)) => \"LIN + WN\"",
     .flags = SP_CALLS,
     .simulate = k_struct},
    {.name = "has_component",
     .sig = "(k: any, s: any) -> bool",
     .doc = "The same as contains(k, s) for kernels; k may also be a procedure of two inputs.",
     .example = "has_component(make_linear(1) + make_whitenoise(1), \"WN\") => true",
     .flags = SP_CALLS,
     .simulate = kernel_contains},
    {.name = "covariance",
     .sig = "(k: any, x1: any, x2: any) -> number",
     .doc = "The kernel's value at two inputs.",
     .example = "covariance(make_linear(2), 1, 3) => 12",
     .flags = SP_CALLS,
     .simulate = k_eval},
};
const size_t sp_kernel_count = COUNT_OF(sp_kernel_rows);
