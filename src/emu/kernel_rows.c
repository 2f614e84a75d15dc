/* SPDX-License-Identifier: Apache-2.0
 *
 * Constructors of kernels and mean functions, kernel algebra, kernel text: parse, simplify, struct.
 * Constructors of table kernels need only the row's name: the parameters are those of the row, in
 * its order. */
#include "sp/kernel_value.h"

#include "base/mem.h"
#include <string.h>

static const struct {
    const char *procedure, *kernel;
} constructors[] = {
    {"make_squaredexp", "SE"},
    {"make_se", "SE"},
    {"make_linear", "LIN"},
    {"make_constant", "C"},
    {"make_whitenoise", "WN"},
    {"make_noise", "WN"},
    {"make_rq", "RQ"},
    {"make_periodic", "PER"},
    {"make_matern_12", "MAT12"},
    {"make_matern_32", "MAT32"},
    {"make_matern_52", "MAT52"},
    {"make_gamma_exponential", "GE"},
    {"make_polynomial", "POLY"},
    {"make_cosine", "COS"},
    {"make_wiener", "WIENER"},
    {"make_integrated_wiener", "IWIENER"},
    {"make_ramp", "RAMP"},
    {"make_step", "STEP"},
    {"make_zero_periodic", "ZPER"},
    {"gp_cov_const", "CONST"},
};

static const char *kernel_name(const char *procedure) {
    for (size_t i = 0; i < COUNT_OF(constructors); i++)
        if (!strcmp(constructors[i].procedure, procedure)) return constructors[i].kernel;
    return procedure;
}

static enum gpm_status k_leaf(struct sp_call *c, value *out) {
    double par[8];
    char *why = NULL;
    const char *name = kernel_name(c->cls->name);
    const struct kern_class *row = kern_class_find(name);
    size_t n = c->n;
    for (size_t i = 0; i < n; i++) par[i] = sp_num(c, i);
    for (; row && n < kern_class_nparam(row); n++) par[n] = kern_class_param(row, n)->fallback;
    bool fits = row && kern_class_nparam(row) == n;
    struct kern *k = fits ? kern_leaf(row, par, &why) : kern_named(name, par, n, &why);
    if (!k) {
        enum gpm_status st =
            sp_error(c, DIAG_DOMAIN, "%s: %s", c->cls->name, why ? why : "cannot be made");
        mem_free(why);
        return st;
    }
    *out = kernel_value_take(k);
    return GPM_OK;
}

static enum gpm_status k_leaf_grad(struct sp_call *c, value result, value d, value *dargs) {
    UNUSED(result);
    for (size_t i = 0; i < c->n; i++)
        dargs[i] = d.tag == V_VECTOR && i < d.u.vector->n ? value_num(d.u.vector->at[i]) : NIL;
    return GPM_OK;
}

static enum gpm_status combine(struct sp_call *c, bool sum, value *out) {
    struct kern *r = NULL;
    for (size_t i = 0; i < c->n; i++) {
        struct kern *k = kernel_from(c, c->args[i]), *next = NULL;
        if (!k) {
            kern_unref(r);
            return GPM_E_USER;
        }
        next = !r ? kern_ref(k) : sum ? kern_sum(r, k) : kern_product(r, k);
        kern_unref(k);
        kern_unref(r);
        r = next;
        if (!r)
            return sp_error(c, DIAG_KERNEL, "%s: the kernel is nested too deeply", c->cls->name);
    }
    *out = kernel_value_take(r);
    return GPM_OK;
}

static enum gpm_status k_add(struct sp_call *c, value *out) {
    return combine(c, true, out);
}

static enum gpm_status k_mult(struct sp_call *c, value *out) {
    return combine(c, false, out);
}

static enum gpm_status k_combine_grad(struct sp_call *c, value result, value d, value *dargs) {
    UNUSED(result);
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

static enum gpm_status k_scale(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[1]);
    if (!k) return GPM_E_USER;
    struct kern *r = kern_scale(sp_num(c, 0), k);
    kern_unref(k);
    if (!r) return sp_error(c, DIAG_DOMAIN, "%s: the factor must be a variance", c->cls->name);
    *out = kernel_value_take(r);
    return GPM_OK;
}

static enum gpm_status k_bias(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[1]), *b = kern_constant(sp_num(c, 0));
    struct kern *r = k && b ? kern_sum(b, k) : NULL;
    kern_unref(k);
    kern_unref(b);
    if (!k) return GPM_E_USER;
    if (!r) return sp_error(c, DIAG_DOMAIN, "%s: the bias must be a variance", c->cls->name);
    *out = kernel_value_take(r);
    return GPM_OK;
}

static enum gpm_status k_change(struct sp_call *c, value *out) {
    struct kern *a = kernel_from(c, c->args[0]), *b = kernel_from(c, c->args[1]), *r = NULL;
    double par[2] = {sp_num(c, 2), sp_num(c, 3)};
    char *why = NULL;
    if (a && b) r = kern_change(kern_class_find("CP"), par, 0, a, b, &why);
    kern_unref(a);
    kern_unref(b);
    if (!a || !b) return GPM_E_USER;
    if (r)
        *out = kernel_value_take(r);
    else
        sp_error(c, DIAG_DOMAIN, "%s: %s", c->cls->name, why ? why : "cannot be made");
    mem_free(why);
    return r ? GPM_OK : GPM_E_USER;
}

static enum gpm_status m_const(struct sp_call *c, value *out) {
    struct mean_box *b = NEW(struct mean_box);
    box_init(&b->box, &mean_class);
    b->m = mean_const(sp_num(c, 0));
    *out = value_box(V_BOX, &b->box);
    return GPM_OK;
}

/* The adjoint of a mean function is the vector of its parameters, as that of a kernel. */
static enum gpm_status m_linear(struct sp_call *c, value *out) {
    double slope = sp_num(c, 1);
    struct mean_box *b = NEW(struct mean_box);
    box_init(&b->box, &mean_class);
    b->m = mean_linear(sp_num(c, 0), &slope, 1);
    *out = value_box(V_BOX, &b->box);
    return GPM_OK;
}

/* A kernel is its own expression already: the paper writes Struct(Simplify(Parse(k))). */
static enum gpm_status k_parse(struct sp_call *c, value *out) {
    struct kern *k;
    char *why = NULL;
    if (c->args[0].tag != V_STR) {
        k = kernel_from(c, c->args[0]);
        if (k) *out = kernel_value_take(k);
        return k ? GPM_OK : GPM_E_USER;
    }
    enum gpm_status st = kern_parse(c->args[0].u.str->text, &k, &why);
    if (st == GPM_OK)
        *out = kernel_value_take(k);
    else
        st = sp_error(c, DIAG_KERNEL_TEXT, "%s", why ? why : "the kernel cannot be read");
    mem_free(why);
    return st;
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

enum gpm_status kernel_contains(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[0]), *part = kernel_of(c->args[1]);
    if (!k) return GPM_E_USER;
    bool yes = false;
    char *why = NULL;
    struct buf text = BUF_INIT;
    enum gpm_status st = GPM_OK;
    if (part)
        st = kern_struct(part, &text) == GPM_OK ? GPM_OK : too_large(c);
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

static enum gpm_status k_eval(struct sp_call *c, value *out) {
    struct kern *k = kernel_from(c, c->args[0]);
    if (!k) return GPM_E_USER;
    double *a = NULL, *b = NULL, one[2], r;
    size_t na = 1, nb = 1;
    bool ok = true;
    if (c->args[1].tag == V_NUM)
        one[0] = c->args[1].u.num;
    else
        ok = seq_numbers(c->args[1], &a, &na);
    if (c->args[2].tag == V_NUM)
        one[1] = c->args[2].u.num;
    else
        ok = ok && seq_numbers(c->args[2], &b, &nb);
    enum gpm_status st = GPM_OK;
    if (!ok || na != nb)
        st = sp_error(c, DIAG_GP_DIMENSION, "%s: two inputs of one dimension are needed",
                      c->cls->name);
    else
        st = kern_eval(k, a ? a : &one[0], b ? b : &one[1], (int)na, &r);
    if (st == GPM_OK)
        *out = value_num(r);
    else if (st != GPM_E_USER)
        st = sp_error(c, DIAG_GP_DIMENSION, "%s: the inputs do not fit the kernel", c->cls->name);
    mem_free(a);
    mem_free(b);
    kern_unref(k);
    return st;
}

#define LEAF(n_, sig_, doc_, example_)                                                             \
    {                                                                                              \
        .name = n_, .sig = sig_ " -> kernel", .doc = doc_, .example = example_,                    \
        .simulate = k_leaf, .grad_simulate = k_leaf_grad                                           \
    }
#define COMBINE(n_, fn, doc_, example_)                                                            \
    {                                                                                              \
        .name = n_, .sig = "(k: any, ...h: any) -> kernel", .doc = doc_, .example = example_,      \
        .flags = SP_CALLS, .simulate = fn, .grad_simulate = k_combine_grad                         \
    }

const struct sp_class sp_kernel_rows[] = {
    LEAF("make_squaredexp", "(sf: number, l: number)",
         "SE: sf^2 exp(-(x-x')^2 / (2 l^2)), a smooth function.",
         "make_squaredexp(1, 2) => SE(sf=1, l=2)"),
    LEAF("make_se", "(sf: number, l: number)", "The same as make_squaredexp.",
         "make_se(1, 2) => SE(sf=1, l=2)"),
    LEAF("make_linear", "(sf: number, c?: number)",
         "LIN: sf^2 (x-c)(x'-c), a line; c is 0 when left out.", "make_linear(1) => LIN(sf=1)"),
    LEAF("make_periodic", "(sf: number, p: number, l: number)",
         "PER: sf^2 exp(-2 sin^2(pi (x-x')/p) / l^2), period p.",
         "make_periodic(1, 2, 3) => PER(sf=1, p=2, l=3)"),
    LEAF("make_constant", "(sf: number)", "C: sf^2, an unknown constant.",
         "make_constant(1) => C(sf=1)"),
    LEAF("make_whitenoise", "(sigma: number)", "WN: sigma^2 where x = x', by value of x.",
         "make_whitenoise(1) => WN(sigma=1)"),
    LEAF("make_noise", "(sigma: number)", "The same as make_whitenoise.",
         "make_noise(1) => WN(sigma=1)"),
    LEAF("make_rq", "(sf: number, l: number, alpha: number)",
         "RQ: sf^2 (1 + (x-x')^2/(2 alpha l^2))^-alpha.",
         "make_rq(1, 2, 3) => RQ(sf=1, l=2, alpha=3)"),
    LEAF("make_matern_12", "(sf: number, l: number)", "Matern 1/2: sf^2 exp(-|x-x'|/l).",
         "make_matern_12(1, 2) => MAT12(sf=1, l=2)"),
    LEAF("make_matern_32", "(sf: number, l: number)",
         "Matern 3/2: sf^2 (1+a) exp(-a), a = sqrt(3)|x-x'|/l.",
         "make_matern_32(1, 2) => MAT32(sf=1, l=2)"),
    LEAF("make_matern_52", "(sf: number, l: number)",
         "Matern 5/2: sf^2 (1+a+a^2/3) exp(-a), a = sqrt(5)|x-x'|/l.",
         "make_matern_52(1, 2) => MAT52(sf=1, l=2)"),
    LEAF("make_gamma_exponential", "(sf: number, l: number, gamma: number)",
         "sf^2 exp(-(|x-x'|/l)^gamma), gamma in (0, 2].",
         "make_gamma_exponential(1, 2, 1.5) => GE(sf=1, l=2, gamma=1.5)"),
    LEAF("make_polynomial", "(sf: number, c: number, degree: number)", "sf^2 (c + x x')^degree.",
         "make_polynomial(1, 1, 2) => POLY(sf=1, c=1, degree=2)"),
    LEAF("make_cosine", "(sf: number, p: number)", "sf^2 cos(2 pi (x-x')/p).",
         "make_cosine(1, 2) => COS(sf=1, p=2)"),
    LEAF("make_wiener", "(sf: number, x0?: number)", "Wiener process from x0: sf^2 min(t, t').",
         "make_wiener(1) => WIENER(sf=1, x0=0)"),
    LEAF("make_integrated_wiener", "(sf: number, x0?: number)",
         "Integrated Wiener process from x0.", "make_integrated_wiener(1) => IWIENER(sf=1, x0=0)"),
    LEAF("make_ramp", "(sf: number, tau: number)", "A trend that starts at tau.",
         "make_ramp(1, 2) => RAMP(sf=1, tau=2)"),
    LEAF("make_step", "(sf: number, tau: number)", "A jump at tau.",
         "make_step(1, 2) => STEP(sf=1, tau=2)"),
    LEAF("make_zero_periodic", "(sf: number, p: number, l: number)",
         "PER with the constant part taken out.",
         "make_zero_periodic(1, 2, 3) => ZPER(sf=1, p=2, l=3)"),
    LEAF("gp_cov_const", "(c: number)", "The constant covariance c.", "gp_cov_const(1) => 1"),
    LEAF("gp_cov_se", "(l2: number)", "exp(-(x-x')^2 / (2 l2)).",
         "gp_cov_se(1) => gp_cov_se(l2=1)"),
    LEAF("gp_cov_periodic", "(l2: number, T: number)", "exp(-2 sin^2(2 pi (x-x')/T) / l2).",
         "gp_cov_periodic(1, 2) => gp_cov_periodic(l2=1, T=2)"),
    LEAF("gp_cov_rq", "(l2: number, alpha: number)", "(1 + (x-x')^2/(2 alpha l2))^-alpha.",
         "gp_cov_rq(1, 2) => gp_cov_rq(l2=1, alpha=2)"),
    LEAF("gp_cov_matern_32", "(l2: number)", "Matern 3/2 of squared length l2.",
         "gp_cov_matern_32(1) => gp_cov_matern_32(l2=1)"),
    LEAF("gp_cov_matern_52", "(l2: number)", "Matern 5/2 of squared length l2.",
         "gp_cov_matern_52(1) => gp_cov_matern_52(l2=1)"),
    LEAF("gp_cov_linear", "(origin: number)", "(x - origin)(x' - origin).",
         "gp_cov_linear(1) => gp_cov_linear(origin=1)"),
    LEAF("gp_cov_delta", "(tol2: number)", "1 where (x-x')^2 <= tol2.",
         "gp_cov_delta(1) => gp_cov_delta(tol2=1)"),
    LEAF("gp_cov_deltoid", "(t2: number, s: number)",
         "A soft delta: 1 / (1 + ((x-x')^2/t2)^(s/2)).",
         "gp_cov_deltoid(1, 2) => gp_cov_deltoid(t2=1, s=2)"),
    LEAF("gp_cov_bump", "(t0: number, t1: number)", "1 within t0, falling smoothly to 0 at t1.",
         "gp_cov_bump(1, 2) => gp_cov_bump(t0=1, t1=2)"),
    COMBINE("add_funcs", k_add, "The sum of kernels.",
            "add_funcs(make_linear(1), make_whitenoise(2)) => LIN(sf=1) + WN(sigma=2)"),
    COMBINE("mult_funcs", k_mult, "The product of kernels.",
            "mult_funcs(make_linear(1), make_whitenoise(2)) => LIN(sf=1) * WN(sigma=2)"),
    COMBINE("gp_cov_sum", k_add, "The sum of kernels.",
            "gp_cov_sum(make_linear(1), make_whitenoise(2)) => LIN(sf=1) + WN(sigma=2)"),
    COMBINE("gp_cov_product", k_mult, "The product of kernels.",
            "gp_cov_product(make_linear(1), make_whitenoise(2)) => LIN(sf=1) * WN(sigma=2)"),
    {.name = "gp_cov_scale",
     .example = "gp_cov_scale(4, gp_cov_se(2)) => 4 * gp_cov_se(l2=2)",
     .sig = "(s2: number, k: any) -> kernel",
     .doc = "s2 times the kernel.",
     .flags = SP_CALLS,
     .simulate = k_scale},
    {.name = "gp_cov_bias",
     .example = "gp_cov_bias(4, gp_cov_se(2)) => 4 + gp_cov_se(l2=2)",
     .sig = "(s2: number, k: any) -> kernel",
     .doc = "s2 plus the kernel.",
     .flags = SP_CALLS,
     .simulate = k_bias},
    {.name = "make_change_point",
     .example = "make_change_point(make_linear(1), make_constant(2), 5, 0.1) => CP(LIN(sf=1), "
                "C(sf=2), tau=5, s=0.1)",
     .sig = "(before: any, after: any, tau: number, s: number) -> kernel",
     .doc = "One kernel before tau, another after it, switched by a sigmoid of width s.",
     .flags = SP_CALLS,
     .simulate = k_change},
    {.name = "make_const_func",
     .example = "make_const_func(3) => 3",
     .sig = "(c: real) -> mean",
     .doc = "The constant mean function.",
     .simulate = m_const,
     .grad_simulate = k_leaf_grad},
    {.name = "gp_mean_const",
     .example = "gp_mean_const(3) => 3",
     .sig = "(c: real) -> mean",
     .doc = "The constant mean function.",
     .simulate = m_const,
     .grad_simulate = k_leaf_grad},
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
