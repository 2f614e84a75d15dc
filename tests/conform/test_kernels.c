/* SPDX-License-Identifier: Apache-2.0
 *
 * Every row of the kernel table, and expressions over them: symmetric, positive semi-definite,
 * diagonal agrees with the matrix, cross block agrees with the Gram matrix, gradient against finite
 * differences, printing and parsing are inverse, regular grids give what scattered points give.
 */
#include "support/check.h"
#include "support/kernel_text.h"

#include "gp/kernel/kernel.h"
#include "gp/kernel/kern_class.h"
#include "numeric/la/blas.h"

/* A small generator of its own: tests need reproducible numbers, not good ones. */
static double uniform(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (double)(*s >> 11) * 0x1p-53;
}

/* One leaf per row with parameters away from the defaults; change operators over LIN and SE. */
static struct kern *sample_of(const struct kern_class *row, uint64_t *seed, bool ard) {
    double par[KERN_MAX_PAR + 4];
    size_t n = 0, width = ard ? 2 : 1;
    for (size_t p = 0; p < row->npar; p++)
        for (size_t c = 0; c < (row->par[p].vector ? width : 1); c++) {
            double u = uniform(seed);
            switch (row->par[p].domain) {
            case KERN_DEGREE: par[n++] = 2 + (u > 0.5); break;
            case KERN_UPTO2: par[n++] = 0.6 + u; break;
            case KERN_REAL: par[n++] = 0.2 + 0.6 * u + 0.2 * p; break;
            default: par[n++] = 0.4 + u + 0.7 * p;
            }
        }
    if (row->op != KERN_CHANGE) return kern_leaf_on(row, par, ard ? 2 : 1, NULL, 0, NULL);
    struct kern *a = kernel_of("LIN(sf=0.7)"), *b = kernel_of("SE(sf=1.3, l=0.4)");
    struct kern *k = kern_change(row, par, 0, a, b, NULL);
    kern_unref(a);
    kern_unref(b);
    return k;
}

#define N 23
struct cloud {
    double x[2 * N];
    size_t place[N];
    struct kern_pts pts;
};

static void scatter(struct cloud *c, int dim, uint64_t *seed, bool grid, bool repeat) {
    for (size_t i = 0; i < N * (size_t)dim; i++) c->x[i] = 2 * uniform(seed);
    for (size_t i = 0; i < N && grid; i++) c->x[i] = 0.3 + 0.11 * (double)i;
    if (repeat)
        for (int k = 0; k < dim; k++) c->x[5 + (size_t)k * N] = c->x[9 + (size_t)k * N];
    c->pts = (struct kern_pts){
        .x = c->x, .n = N, .ld = N, .dim = dim, .distinct = !repeat, .step = grid ? 0.11 : 0};
}

/* Some points of a grid, in its order or in another one. */
static void scatter_places(struct cloud *c, bool ordered) {
    for (size_t i = 0; i < N; i++) {
        size_t at = ordered ? i : 7 * i % N;
        c->place[i] = at + at / 3;
        c->x[i] = 0.3 + 0.08 * (double)c->place[i];
    }
    c->pts = (struct kern_pts){.x = c->x,
                               .n = N,
                               .ld = N,
                               .dim = 1,
                               .distinct = true,
                               .step = 0.08,
                               .place = c->place,
                               .grid = N - 1 + (N - 1) / 3 + 1};
}

static void gram(const struct kern *k, struct kern_pts x, double *a) {
    assert_int_equal(kern_fill(k, x, a, N), GPM_OK);
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < j; i++) a[i + j * N] = a[j + i * N];
}

static void check_matrix(const struct kern *k, struct kern_pts x) {
    double a[N * N], b[N * N], d[N], v;
    gram(k, x, a);
    assert_int_equal(kern_cross(k, x, x, b, N), GPM_OK);
    assert_int_equal(kern_diag(k, x, d), GPM_OK);
    double p[2], q[2];
    for (size_t j = 0; j < N; j++) {
        assert_close(a[j + j * N], d[j], 1e-14);
        for (size_t i = 0; i < N; i++) {
            assert_close(a[i + j * N], b[i + j * N], 1e-12);
            assert_close(b[i + j * N], b[j + i * N], 1e-13); /* symmetric */
            for (int c = 0; c < x.dim; c++) {
                p[c] = x.x[i + (size_t)c * x.ld];
                q[c] = x.x[j + (size_t)c * x.ld];
            }
            assert_int_equal(kern_eval(k, p, q, x.dim, &v), GPM_OK);
            assert_close(v, b[i + j * N], 1e-13);
        }
    }
}

static void check_psd(const struct kern *k, struct kern_pts x) {
    double a[N * N], w[N];
    gram(k, x, a);
    assert_int_equal(la_syev(N, a, N, w), GPM_OK);
    assert_true(w[0] >= -1e-11 * w[N - 1]);
}

/* sum_ij M_ij K_ij for a random symmetric M. */
static double contract(const struct kern *k, struct kern_pts x, const double *m) {
    double a[N * N], s = 0;
    gram(k, x, a);
    for (size_t i = 0; i < N * N; i++) s += a[i] * m[i];
    return s;
}

static void check_gradient(const struct kern *k, struct kern_pts x, uint64_t *seed) {
    double m[N * N], g[32] = {0}, theta[32], moved[32];
    size_t np = kern_nparam(k);
    assert_true(np <= 32);
    for (size_t j = 0; j < N; j++)
        for (size_t i = j; i < N; i++) m[i + j * N] = m[j + i * N] = uniform(seed) - 0.4;
    kern_params(k, theta);
    assert_int_equal(kern_grad_add(k, x, NULL, m, N, g), GPM_OK);
    for (size_t p = 0; p < np; p++) {
        if (kern_param_at(k, p)->transform == KERN_T_FIXED) continue;
        double h = 1e-5 * fmax(0.1, fabs(theta[p])), f[2];
        for (int side = 0; side < 2; side++) {
            memcpy(moved, theta, sizeof moved);
            moved[p] += side ? -h : h;
            struct kern *q = kern_with_params(k, moved, NULL);
            assert_non_null(q);
            f[side] = contract(q, x, m);
            kern_unref(q);
        }
        double diff = (f[0] - f[1]) / (2 * h);
        struct buf name = BUF_INIT, text = BUF_INIT;
        kern_param_name(k, p, &name);
        kern_print(k, &text);
        if (fabs(diff - g[p]) > 2e-6 * fmax(1, fabs(diff)))
            print_error("%s in %s: %.10g, by differences %.10g\n", name.data, text.data, g[p],
                        diff);
        buf_release(&name);
        buf_release(&text);
        assert_close(diff, g[p], 2e-6);
    }
}

/* One point at a time: values as in the block, slopes by differences of those. */
static void check_view(const struct kern *k, struct kern_pts x, uint64_t *seed) {
    double w[N], row[N], block[N], at[2], g[2], f[2];
    struct kern_view *v = kern_view_new(k, x);
    assert_non_null(v);
    for (size_t i = 0; i < N; i++) w[i] = uniform(seed) - 0.4;
    for (int rep = 0; rep < 3; rep++) {
        for (int c = 0; c < x.dim; c++) at[c] = 2 * uniform(seed);
        struct kern_pts one = {.x = at, .n = 1, .ld = 1, .dim = x.dim};
        assert_int_equal(kern_cross(k, x, one, block, N), GPM_OK);
        assert_int_equal(kern_view_row(v, at, row), GPM_OK);
        for (size_t i = 0; i < N; i++) assert_close(row[i], block[i], 1e-13);
        double value = 0, sum;
        for (size_t i = 0; i < N; i++) value += w[i] * row[i];
        assert_int_equal(kern_view_slope(v, at, w, &sum, g), GPM_OK);
        assert_close(sum, value, 1e-12);
        for (int c = 0; c < x.dim; c++) {
            double h = 1e-6, keep = at[c];
            for (int side = 0; side < 2; side++) {
                at[c] = keep + (side ? -h : h);
                assert_int_equal(kern_view_row(v, at, row), GPM_OK);
                f[side] = 0;
                for (size_t i = 0; i < N; i++) f[side] += w[i] * row[i];
            }
            at[c] = keep;
            assert_close(g[c], (f[0] - f[1]) / (2 * h), 2e-5);
        }
    }
    kern_view_free(v);
}

static void check_text(const struct kern *k) {
    struct buf one = BUF_INIT, two = BUF_INIT;
    kern_print(k, &one);
    struct kern *back = kernel_of(one.data);
    kern_print(back, &two);
    assert_string_equal(one.data, two.data);
    assert_true(kern_equal(k, back));
    assert_true(kern_hash(k) == kern_hash(back));
    kern_unref(back);
    buf_release(&one);
    buf_release(&two);
}

static void check_all(const struct kern *k, int dim, bool psd, uint64_t *seed) {
    struct cloud c;
    for (int kind = 0; kind < (dim == 1 ? 5 : 2); kind++) {
        scatter(&c, dim, seed, kind == 2, kind == 1);
        if (kind > 2) scatter_places(&c, kind == 3);
        check_matrix(k, c.pts);
        if (psd) check_psd(k, c.pts);
        check_gradient(k, c.pts, seed);
        if (kind == 0) check_view(k, c.pts, seed);
    }
    check_text(k);
}

/* A row's parameters do not depend on the rows before it. */
static uint64_t seed_of(const struct kern_class *row) {
    uint64_t seed = 42 + (uint64_t)row->npar;
    for (const char *c = row->name; *c; c++) seed = seed * 31 + (unsigned char)*c;
    return seed;
}

static void every_row(void **state) {
    const struct kern_class *row;
    for (size_t i = 0; (row = kern_class_at(i)); i++) {
        uint64_t seed = seed_of(row);
        for (int rep = 0; rep < 3; rep++) {
            struct kern *k = sample_of(row, &seed, false);
            assert_non_null(k);
            check_all(k, 1, !row->not_psd, &seed);
            if (!row->one_column) check_all(k, 2, !row->not_psd, &seed);
            kern_unref(k);
            assert_true(strlen(row->doc) > 0 && strlen(row->phrase) > 0);
        }
    }
}

static void ard_rows(void **state) {
    const struct kern_class *row;
    int seen = 0;
    for (size_t i = 0; (row = kern_class_at(i)); i++) {
        uint64_t seed = seed_of(row);
        bool vector = false;
        for (size_t p = 0; p < row->npar; p++) vector = vector || row->par[p].vector;
        if (!vector) continue;
        struct kern *k = sample_of(row, &seed, true);
        assert_non_null(k);
        check_all(k, 2, true, &seed);
        kern_unref(k);
        seen++;
    }
    assert_true(seen >= 7);
}

static void expressions(void **state) {
    static const char *const one[] = {
        "LIN(sf=1.2) + SE(sf=0.5, l=0.3) * PER(sf=1.1, p=0.7, l=0.9) + WN(sigma=0.1)",
        "(LIN(sf=0.3, c=0.2) + C(sf=0.4)) * (SE(sf=1, l=0.5) + WN(sigma=0.2))",
        "CP(LIN(sf=0.5) * PER(sf=1, p=0.4, l=1), CW(SE, C, tau1=0.2, tau2=1, s=0.1), tau=0.9, "
        "s=0.2)",
        "4 * gp_cov_se(l2=0.64) + 0.25 * gp_cov_periodic(l2=0.5, T=1.3) * "
        "gp_cov_linear(origin=0.4)",
        "RQ(sf=1, l=0.4, alpha=0.7) * MAT32(sf=1, l=0.9) * COS(sf=1, p=0.8) + ZPER(sf=1, p=0.6, "
        "l=0.5)",
        "LIN(sf=0.5) * SE(sf=1, l=0.6) * PER(sf=1, p=0.5, l=1) * RAMP(sf=1, tau=0.34) + "
        "IWIENER(sf=1)",
        "IOU(sf=0.8, l=0.7) + LIN(sf=0.5) * WN(sigma=0.4)",
        "IOU(sf=1, l=0.05, x0=0.3) + LIN * IOU",
        "LIN(sf=0.5) * WN(sigma=0.4) + GE(sf=1, l=1, gamma=1.3) * MAT12(sf=1, l=2)",
        "0.3 + SE(sf=1, l=0.5) + ZPER(sf=0.6, p=0.5, l=1) + IOU(sf=1, l=0.4, x0=0.3) + "
        "WIENER(sf=0.7, x0=0.3) + CP(WN(sigma=0.5), WN(sigma=0.3), tau=0.9, s=0.2)",
        "C(sf=0.4) * SE(sf=1, l=0.3) + CW(LIN(sf=0.5), WN(sigma=0.3), tau1=0.6, tau2=1.1, s=0.1) + "
        "CP(WN(sigma=0.2), WIENER(sf=1) + 0.5, tau=0.9, s=0.1)"};
    static const char *const two[] = {
        "SE[0](sf=1, l=0.4) * SE[1](sf=1, l=0.8) + LIN[1](sf=0.4)",
        "SE(sf=1, l=[0.3, 0.9]) + PER[0](sf=1, p=0.5, l=1) * WN(sigma=0.3)",
        "CP[1](LIN, SE[0](sf=1, l=0.4), tau=0.5, s=0.1)", "POLY(sf=1, c=0.5, degree=3) * MAT52[1]"};
    uint64_t seed = 11;
    for (size_t i = 0; i < COUNT_OF(one); i++) {
        struct kern *k = kernel_of(one[i]);
        check_all(k, 1, true, &seed);
        kern_unref(k);
    }
    for (size_t i = 0; i < COUNT_OF(two); i++) {
        struct kern *k = kernel_of(two[i]);
        check_all(k, 2, true, &seed);
        kern_unref(k);
    }
}

/* Formulas written out by hand for one pair of points. */
static void known_values(void **state) {
    static const struct {
        const char *text;
        double x, y, value;
    } row[] = {
        {"SE(sf=2, l=0.5)", 0.3, 1, 4 * 0.37531109885139957}, /* exp(-0.98) */
        {"gp_cov_se(l2=0.25)", 0.3, 1, 0.37531109885139957},
        {"LIN(sf=3)", 2, -1.5, -27},
        {"LIN(sf=3, c=1)", 2, -1.5, -22.5},
        {"gp_cov_linear(origin=1)", 2, -1.5, -2.5},
        {"C(sf=1.5)", 2, 3, 2.25},
        {"2.5", 2, 3, 2.5},
        {"WN(sigma=0.6)", 2, 2, 0.36},
        {"WN(sigma=0.6)", 2, 2.000001, 0},
        {"PER(sf=1, p=2, l=1)", 0, 0.5, 0.36787944117144233},        /* exp(-2 sin^2(pi/4)) */
        {"gp_cov_periodic(l2=1, T=4)", 0, 0.5, 0.36787944117144233}, /* exp(-2 sin^2(pi/4)) */
        {"RQ(sf=1, l=1, alpha=0.5)", 0, 1, 0.70710678118654752},     /* (1+1)^-1/2 */
        {"CAUCHY(sf=2, l=0.5)", 0, 1, 0.8},                          /* 4 / (1+4) */
        {"MAT12(sf=1, l=2)", 0, 1, 0.60653065971263342},             /* exp(-1/2) */
        {"MAT32(sf=1, l=1)", 0, 1, 0.4833577245965077},
        {"MAT52(sf=1, l=1)", 0, 1, 0.5239941088318203},
        {"GE(sf=1, l=1, gamma=0.5)", 0, 4, 0.13533528323661270}, /* exp(-2) */
        {"COS(sf=1, p=3)", 0, 1, -0.5},
        {"POLY(sf=1, c=1, degree=3)", 2, 1, 27},
        {"WIENER(sf=2)", 0.5, 3, 2},
        {"IWIENER(sf=1)", 1, 2, 0.83333333333333333},     /* 1/3 + 1/2 */
        {"IOU(sf=2, l=0.5)", 1, 1.5, 2.8172429104330343}, /* m=1: (4 - 1 + e^-2 + e^-3 - e^-1) */
        {"IOU(sf=1, l=1e9, x0=1)", 3, 4, 5.9999999943333333}, /* a line, 2 * 3, and its next term */
        {"IOU(sf=1, l=1e-9, x0=1)", 3, 4, 3.999999999e-9},    /* 2 l, a Wiener process */
        {"RAMP(sf=2, tau=1)", 3, 2, 8},
        {"STEP(sf=2, tau=1)", 3, 0, 0},
        {"gp_cov_delta(tol2=0.0001)", 1, 1.009, 1},
        {"gp_cov_deltoid(t2=4, s=2)", 0, 2, 0.5},
        {"gp_cov_bump(t0=1, t1=2)", 0, 1, 1},
        {"gp_cov_bump(t0=1, t1=2)", 0, 2, 0},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct kern *k = kernel_of(row[i].text);
        double v;
        assert_int_equal(kern_eval(k, &row[i].x, &row[i].y, 1, &v), GPM_OK);
        assert_close(v, row[i].value, 2e-15);
        kern_unref(k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),
        cmocka_unit_test(ard_rows),
        cmocka_unit_test(expressions),
        cmocka_unit_test(known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
