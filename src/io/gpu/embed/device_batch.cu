/* SPDX-License-Identifier: Apache-2.0
 * Many small Gaussian processes of one kernel: a block of threads computes one log likelihood (and its gradient)
 * without leaving the chip. Compiled behind a kernel's text (gp/way/kern_device.h); C and CUDA alike.
 *
 * The lower triangle lives as 8x8 tiles; element (r, c) of a tile is at (c/4)*32 + r*4 + c%4, so that the
 * fragments of the tensor units' 8x8x4 product are 32 consecutive (or permuted, conflict-free) doubles. One more row of
 * tiles holds y' and the signs s' of the rounding test: factoring [K; y'; s'] leaves L^-1 y and L^-1 s in it. The
 * diagonal tiles keep the inverses of their factors. Gradient: X = L^-1 in place by rows (the row of y becomes
 * alpha'), then for each tile of K^-1 = X'X the contraction with dK; K^-1 is never stored.
 *
 * W warps; TMAX most rows of tiles; RB rows of tiles that a warp updates at once; MINB blocks that a processor is to
 * hold; GRAD 0 or 1. ANY: each problem brings its own expression (gp/process/embed/device_any.cu). TILES_GLOBAL: the tiles
 * are in device memory, blocks go through the problems. */
#ifndef GLOBAL
#define GLOBAL extern "C" __global__
#define SHARED __shared__
#endif
#ifndef EMULATE
#define fake_shuffle(v, lane) __shfl_sync(0xffffffffu, v, lane)
#define BATCH_BOUNDS __launch_bounds__(W * 32, MINB)
DEVICE void fake_mma(double *c0, double *c1, double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(*c0), "+d"(*c1)
                 : "d"(a), "d"(b));
}
#else
#define BATCH_BOUNDS
typedef struct {
    double x, y;
} double2;
#endif
#define EL(r, c) ((((c) >> 2) << 5) + ((r) << 2) + ((c)&3))
#define TILE(I, J) (tiles + (((I) * ((I) + 1) / 2 + (J)) << 6))
#define LOG_TWO_PI 1.8378770664093454836
#if GRAD
#define OUT (NP + 2)
#else
#define OUT 1
#endif
#ifdef ANY
#define USED(p) ((p) < NP_USED || (p) == NP)
#else
#define USED(p) 1
#endif
#define SUMS (NP + 2) /* of a warp: the gradient's, and room for the likelihood's */

/* The two elements of an accumulator fragment, at o = EL(lane / 4, 2 * (lane % 4)). */
DEVICE void get2(const double *t, int o, double *a, double *b) {
    double2 v = *(const double2 *)(t + o);
    *a = v.x, *b = v.y;
}
DEVICE void put2(double *t, int o, double a, double b) {
    double2 v;
    v.x = a, v.y = b;
    *(double2 *)(t + o) = v;
}
DEVICE double warp_sum(double v) {
    for (int o = 16; o; o >>= 1) v += fake_shuffle(v, (threadIdx.x & 31) ^ o);
    return v;
}
DEVICE double warp_least(double v) {
    for (int o = 16; o; o >>= 1) {
        double u = fake_shuffle(v, (threadIdx.x & 31) ^ o);
        v = u < v ? u : v;
    }
    return v;
}

/* Factor of the 8x8 tile t and its inverse, which replaces it; piv gets the pivots (d^2). Every lane has the whole
 * triangle in registers and does the same: no shuffles on the critical path. Lane r then solves for column r of the
 * inverse. */
DEVICE void factor8(double *t, double *piv) {
    int lane = threadIdx.x & 31, r = lane & 7;
    double a[8][8], inv[8], x[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j <= i; j++) a[i][j] = t[EL(i, j)];
#pragma unroll
    for (int c = 0; c < 8; c++) {
        if (lane == 0) piv[c] = a[c][c];
        inv[c] = rsqrt(a[c][c]);
#pragma unroll
        for (int i = c + 1; i < 8; i++) a[i][c] *= inv[c];
#pragma unroll
        for (int j = c + 1; j < 8; j++)
#pragma unroll
            for (int i = j; i < 8; i++) a[i][j] -= a[i][c] * a[j][c];
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        double s = 0, s1 = 0;
#pragma unroll
        for (int k = 0; k < i; k++) {
            if (k & 1)
                s1 += a[i][k] * x[k];
            else
                s += a[i][k] * x[k];
        }
        x[i] = i == r ? inv[i] : i > r ? -inv[i] * (s + s1) : 0;
    }
    __syncwarp();
    if (lane < 8)
#pragma unroll
        for (int i = 0; i < 8; i++) t[EL(i, r)] = x[i];
}

/* data: for each problem at meta[2 p], with n = meta[2 p + 1] points: x by columns, y, and the noise's shares.
 * theta: NT numbers and the variance of the noise. out: OUT each, the log likelihood (not a number where it is not
 * to be trusted), with GRAD the sums of (alpha alpha' - K^-1) dK over both triangles, and those of the diagonal with shares. */
GLOBAL void BATCH_BOUNDS batch(const double *data, const long long *meta, int problems, const double *theta,
                               double *out, double *scratch, long long stride) {
#ifdef EMULATE
    double *shared = fake_shared;
#else
    extern __shared__ __align__(16) double shared[];
#endif
    int tid = threadIdx.x, lane = tid & 31, w = tid >> 5;
    int r = lane >> 2, q = lane & 3, o = EL(r, 2 * q), turned = EL(q, r); /* turned + 16: EL(q + 4, r) */
    double *red = shared;                                             /* W * SUMS, padded to an even number */
    for (int prob = blockIdx.x; prob < problems; prob += gridDim.x) {
        int n = (int)meta[2 * prob + 1], T = (n + 7) >> 3, np = T << 3;
        const double *x = data + meta[2 * prob], *y = x + DIM * n, *share = y + n;
        /* features, NG rows of np; pivots, later alpha; then the tiles */
        double *ft = red + W * SUMS + (W * SUMS & 1);
        double noise = theta[(long long)prob * (NT + 1) + NT], most = 0;
#ifdef ANY /* numbers that are found by their place in an array */
        double *th = ft;
        ft += NT;
        __syncthreads();
        for (int p = tid; p < NT; p += W * 32) th[p] = theta[(long long)prob * (NT + 1) + p];
        __syncthreads();
        const double *t = th; /* which NG reads */
#else
        double th[NT];
        for (int p = 0; p < NT; p++) th[p] = theta[(long long)prob * (NT + 1) + p];
#endif
        double *al = ft + NG * np, *piv = al;
#ifdef TILES_GLOBAL
        double *tiles = scratch + blockIdx.x * stride;
#else
        double *tiles = al + np;
#endif
        __syncthreads();
        for (int i = tid; i < np; i += W * 32) {
#ifdef ANY
            any_prepare(i < n ? x[i] : 0, th, ft + i, np);
            double d = i < n ? any_value(ft + i, ft + i, np, th, 1) + noise * share[i] : 0;
#else
            double xi[DIM], fi[NF];
            for (int c = 0; c < DIM; c++) xi[c] = i < n ? x[i + c * n] : 0;
            k_prepare(xi, th, fi);
            for (int k = 0; k < NG; k++) ft[k * np + i] = fi[k];
            double d = i < n ? k_value(fi, fi, th, 1) + noise * share[i] : 0;
#endif
            most = d > most ? d : most;
        }
        __syncthreads();
        /* fill: tiles (I, J) of the triangle, then the row of y and s */
        for (int k = w, I = 0, J = w; k < T * (T + 1) / 2; k += W, J += W) {
            while (J > I) J -= I + 1, I++;
            int i = I * 8 + r, j = J * 8 + 2 * q;
            double v[2];
#ifndef ANY
            double fi[NF], h[2][NF];
            for (int f = 0; f < NG; f++) fi[f] = ft[f * np + i], get2(ft + f * np, j, &h[0][f], &h[1][f]);
#endif
            for (int e = 0; e < 2; e++) {
                v[e] = i == j + e;
#ifdef ANY
                if (i < n && j + e <= i) v[e] = any_value(ft + i, ft + j + e, np, th, i == j + e);
#else
                if (i < n) v[e] = k_value(fi, h[e], th, i == j + e);
#endif
                if (i < n && i == j + e) v[e] += noise * share[i];
            }
            put2(TILE(I, J), o, v[0], v[1]);
        }
        for (int J = w; J < T; J += W) {
            double v[2];
            for (int e = 0; e < 2; e++) {
                int j = J * 8 + 2 * q + e;
                double s = (unsigned)(j + 1) * 2654435761u >> 31 ? 1 : -1;
                v[e] = j >= n || r > 1 ? 0 : r ? s : y[j];
            }
            put2(TILE(T, J), o, v[0], v[1]);
        }
        __syncthreads();
        /* factor, left-looking by columns of tiles but for the diagonal, which is kept up to date */
        for (int J = 0; J < T; J++) {
            if (w == 0)
                factor8(TILE(J, J), piv + 8 * J);
            else
                for (int I = J + w; I <= T; I += (W - 1) * RB) {
                    double c[RB][2], d[RB][2];
                    const double *a[RB], *b = TILE(J, 0);
#pragma unroll
                    for (int k = 0; k < RB; k++) {
                        int Ik = I + k * (W - 1) <= T ? I + k * (W - 1) : T;
                        a[k] = TILE(Ik, 0);
                        c[k][0] = c[k][1] = d[k][0] = d[k][1] = 0;
                        if (I + k * (W - 1) <= T) get2(TILE(Ik, J), o, &c[k][0], &c[k][1]);
                    }
#pragma unroll 2
                    for (int K = 0; K < J; K++, b += 64) {
                        double b0 = -b[lane], b1 = -b[32 + lane];
#pragma unroll
                        for (int k = 0; k < RB; k++) {
                            fake_mma(&c[k][0], &c[k][1], a[k][lane], b0);
                            fake_mma(&d[k][0], &d[k][1], a[k][32 + lane], b1);
                            a[k] += 64;
                        }
                    }
#pragma unroll
                    for (int k = 0; k < RB; k++) {
                        int Ik = I + k * (W - 1);
                        if (Ik > T) break;
                        put2(TILE(Ik, J), o, c[k][0] + d[k][0], c[k][1] + d[k][1]);
                    }
                }
            __syncthreads();
            const double *inv = TILE(J, J);
            double i0 = inv[lane], i1 = inv[32 + lane];
            for (int I = J + 1 + w; I <= T; I += W) {
                double *t = TILE(I, J), a0 = t[lane], a1 = t[32 + lane], c0 = 0, c1 = 0, d0 = 0, d1 = 0;
                fake_mma(&c0, &c1, a0, i0);
                fake_mma(&d0, &d1, a1, i1);
                __syncwarp();
                put2(t, o, c0 + d0, c1 + d1);
                if (I == T) continue;
                __syncwarp(); /* the diagonal is kept up to date, so that its factor need not wait */
                double *g = TILE(I, I);
                a0 = t[lane], a1 = t[32 + lane];
                get2(g, o, &c0, &c1), d0 = d1 = 0;
                fake_mma(&c0, &c1, -a0, a0);
                fake_mma(&d0, &d1, -a1, a1);
                put2(g, o, c0 + d0, c1 + d1);
            }
            __syncthreads();
        }
        double quad = 0, logdet = 0, rounding = 0, least = 1e300;
        for (int i = tid; i < np; i += W * 32) {
            const double *t = TILE(T, i >> 3);
            double v = t[EL(0, i & 7)], s = t[EL(1, i & 7)];
            quad += v * v, rounding += s * s;
            if (i < n) {
                logdet += log(piv[i]);
                least = piv[i] < least ? piv[i] : least;
                if (!(piv[i] > 0)) least = -1;
            }
        }
        quad = warp_sum(quad), logdet = warp_sum(logdet), rounding = warp_sum(rounding);
        least = warp_least(least), most = -warp_least(-most);
        for (int pass = 0; pass < 3; pass++) { /* SUMS is at least 2 */
            __syncthreads();
            if (lane == 0) {
                red[w * SUMS] = pass == 0 ? quad : pass == 1 ? rounding : least;
                red[w * SUMS + 1] = pass == 0 ? logdet : most;
            }
            __syncthreads();
            if (tid) continue;
            double a = red[0], b = red[1];
            for (int k = 1; k < W; k++) {
                double c = red[k * SUMS], d = red[k * SUMS + 1];
                a = pass < 2 ? a + c : c < a ? c : a;
                b = pass == 0 ? b + d : d > b ? d : b;
            }
            if (pass == 0) quad = a, logdet = b;
            if (pass == 1) rounding = a, most = b;
            if (pass == 2) least = a;
        }
        if (tid == 0) { /* as numeric/la/chol.c judges */
            int sound = least > 1e-4 * most || (least > 0 && 2.220446049250313e-16 * most * rounding < 0.01);
            out[(long long)prob * OUT] =
                sound ? -0.5 * (quad + logdet + n * LOG_TWO_PI) : __longlong_as_double(0x7ff8000000000000ll);
        }
#if GRAD
        __syncthreads();
        /* X = L^-1 by rows; row T gives alpha' */
        for (int I = 1; I <= T; I++) {
            double s[(TMAX + W - 1) / W][2];
#pragma unroll
            for (int k = 0; k < (TMAX + W - 1) / W; k++) {
                int J = w + k * W;
                double c0 = 0, c1 = 0, d0 = 0, d1 = 0;
                if (J < I) {
                    const double *a = TILE(I, J);
#pragma unroll 2
                    for (int K = J; K < I; K++, a += 64) {
                        const double *b = TILE(K, J);
                        fake_mma(&c0, &c1, a[lane], b[turned]);
                        fake_mma(&d0, &d1, a[32 + lane], b[turned + 16]);
                    }
                }
                s[k][0] = c0 + d0, s[k][1] = c1 + d1;
            }
            __syncthreads();
            if (I < T) {
                double i0 = -TILE(I, I)[lane], i1 = -TILE(I, I)[32 + lane];
#pragma unroll
                for (int k = 0; k < (TMAX + W - 1) / W; k++) {
                    int J = w + k * W;
                    if (J >= I) break;
                    double *t = TILE(I, J), c0 = 0, c1 = 0, d0 = 0, d1 = 0;
                    put2(t, o, s[k][0], s[k][1]);
                    __syncwarp();
                    fake_mma(&c0, &c1, i0, t[turned]);
                    fake_mma(&d0, &d1, i1, t[turned + 16]);
                    __syncwarp();
                    put2(t, o, c0 + d0, c1 + d1);
                }
            } else if (r == 0)
#pragma unroll
                for (int k = 0; k < (TMAX + W - 1) / W; k++) {
                    int J = w + k * W;
                    if (J < T) al[J * 8 + 2 * q] = s[k][0], al[J * 8 + 2 * q + 1] = s[k][1];
                }
            __syncthreads();
        }
        /* contraction, tile by tile */
        double g[NP + 1];
        for (int p = 0; p <= NP; p++) g[p] = 0;
        for (int k = w, I = 0, J = w; k < T * (T + 1) / 2; k += W, J += W) {
            while (J > I) J -= I + 1, I++;
            double c0 = 0, c1 = 0, d0 = 0, d1 = 0;
#pragma unroll 2
            for (int K = I; K < T; K++) {
                const double *a = TILE(K, I), *b = TILE(K, J);
                fake_mma(&c0, &c1, a[turned], b[turned]);
                fake_mma(&d0, &d1, a[turned + 16], b[turned + 16]);
            }
            int i = I * 8 + r, j = J * 8 + 2 * q;
            double aa[2], ai = al[i], m[2];
            m[0] = c0 + d0, m[1] = c1 + d1;
#ifndef ANY
            double fi[NF], h[2][NF];
            for (int f = 0; f < NG; f++) fi[f] = ft[f * np + i], get2(ft + f * np, j, &h[0][f], &h[1][f]);
#endif
            get2(al, j, &aa[0], &aa[1]);
#pragma unroll
            for (int e = 0; e < 2; e++) {
                int same = i == j + e;
                double wt = ai * aa[e] - m[e];
                if (i < n && j + e <= i) {
#ifdef ANY
                    any_grad(ft + i, ft + j + e, np, th, same, same ? wt : 2 * wt, g);
#else
                    k_grad(fi, h[e], th, same, same ? wt : 2 * wt, g);
#endif
                    if (same) g[NP] += wt * share[i];
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p <= NP; p++) {
            if (!USED(p)) continue;
            double v = warp_sum(g[p]);
            if (lane == 0) red[w * SUMS + p] = v;
        }
        __syncthreads();
        for (int p = tid; p <= NP; p += W * 32) {
            double s = 0;
            for (int k = 0; k < W && USED(p); k++) s += red[k * SUMS + p];
            out[(long long)prob * OUT + 1 + p] = s;
        }
#endif
    }
}
