/* SPDX-License-Identifier: Apache-2.0
 * Any kernel expression of one column: its tree is data. Compiled behind the rows' functions, which row_prepare,
 * row_value and row_grad call by number (gp/way/kern_device.c). t[0] holds the number of sites, of features and of
 * parameters; then comes a word for each site, parents before kids; then parameters and constants. Features of a point
 * lie ld apart. All threads of a block have the same expression, so that branches do not part them. C and CUDA alike. */
#ifdef EMULATE
#define CALLED static
#else
#define CALLED static __device__ __noinline__
#endif
#define WORD(i) __double_as_longlong(t[i])
#define SITE(i) __double_as_longlong(t[1 + (i)])
#define FIELD(word, at) ((int)((word) >> (at)) & 255)
#define IS(word) FIELD(word, 0)
#define ROW(word) FIELD(word, 8)
#define PAR(word) (t + 1 + SITES + FIELD(word, 16))
#define CONSTANTS(word) (t + 1 + SITES + FIELD(word, 24)) /* of a change operator: how many parameters */
#define FEATURE(word) (FIELD(word, 32) * ld)
#define PARENT(word) FIELD(word, 40)
#define PAST(word) FIELD(word, 48)
#define IS_LEAF 0
#define IS_SUM 1
#define IS_PRODUCT 2
#define IS_CHANGE 3
#define NG FIELD(WORD(0), 8)
#define NP_USED FIELD(WORD(0), 16)

DEVICE double any_amplitude(long long s, const double *p) {
    int kind = (int)(s >> 56) & 15;
    return kind == 0 ? 1 : kind == 1 ? p[0] * p[0] : p[0];
}
DEVICE int any_is_log(long long s) {
    return (int)(s >> 60) & 1;
}

CALLED void any_prepare(double x, const double *t, double *f, int ld) {
    int n = FIELD(WORD(0), 0);
    for (int i = 0; i < n; i++) {
        long long s = SITE(i);
        if (ROW(s)) row_prepare(ROW(s), x, PAR(s), CONSTANTS(s), f + FEATURE(s), ld);
    }
}

/* The part of a change operator's value that is before it, or behind. */
DEVICE double any_side(const double *f, const double *h, int behind) {
    return behind ? f[0] * h[0] : (1 - f[0]) * (1 - h[0]);
}

/* v: values of subtrees; r: of leaves without their amplitudes. */
DEVICE void any_values(const double *f, const double *h, int ld, const double *t, int same, double *v, double *r) {
    int n = FIELD(WORD(0), 0);
    for (int i = 0; i < n; i++) v[i] = IS(SITE(i)) == IS_PRODUCT;
    for (int i = n - 1; i >= 0; i--) {
        long long s = SITE(i);
        if (IS(s) == IS_LEAF) {
            double a = row_value(ROW(s), f + FEATURE(s), h + FEATURE(s), ld, PAR(s), CONSTANTS(s), same);
            r[i] = any_is_log(s) ? kexp(a) : a;
            v[i] = r[i] * any_amplitude(s, PAR(s));
        }
        if (i == 0) break;
        int up = PARENT(s);
        long long q = SITE(up);
        if (IS(q) == IS_PRODUCT)
            v[up] *= v[i];
        else
            v[up] += IS(q) == IS_CHANGE ? any_side(f + FEATURE(q), h + FEATURE(q), i > up + 1) * v[i] : v[i];
    }
}

CALLED double any_value(const double *f, const double *h, int ld, const double *t, int same) {
    double v[SITES], r[SITES];
    any_values(f, h, ld, t, same, v, r);
    return v[0];
}

/* What a kid counts in its parent's value. */
DEVICE double any_share(int i, const double *f, const double *h, int ld, const double *t, const double *v) {
    int up = PARENT(SITE(i));
    long long q = SITE(up);
    double share = 1;
    if (IS(q) == IS_CHANGE) return any_side(f + FEATURE(q), h + FEATURE(q), i > up + 1);
    if (IS(q) == IS_PRODUCT)
        for (int j = up + 1; j < PAST(q); j = PAST(SITE(j))) share *= j == i ? 1 : v[j];
    return share;
}

/* g[p] += w dk/dp. */
CALLED void any_grad(const double *f, const double *h, int ld, const double *t, int same, double weight, double *g) {
    double v[SITES], r[SITES], w[SITES];
    int n = FIELD(WORD(0), 0);
    any_values(f, h, ld, t, same, v, r);
    for (int i = 0; i < n; i++) {
        long long s = SITE(i);
        const double *p = PAR(s), *a = f + FEATURE(s), *b = h + FEATURE(s);
        double *to = g + FIELD(s, 16);
        w[i] = i ? w[PARENT(s)] * any_share(i, f, h, ld, t, v) : weight;
        if (IS(s) == IS_LEAF) {
            int kind = (int)(s >> 56) & 15;
            if (kind) to[0] += w[i] * r[i] * (kind == 1 ? 2 * p[0] : 1);
            row_grad(ROW(s), a, b, ld, p, CONSTANTS(s), w[i] * (any_is_log(s) ? v[i] : any_amplitude(s, p)), to);
        } else if (IS(s) == IS_CHANGE) {
            double before = v[i + 1], behind = v[PAST(SITE(i + 1))];
            for (int q = 0; q < FIELD(s, 24); q++) {
                double d = a[(1 + q) * ld], e = b[(1 + q) * ld];
                to[q] += w[i] * ((d * b[0] + a[0] * e) * behind - (d * (1 - b[0]) + (1 - a[0]) * e) * before);
            }
        }
    }
}
