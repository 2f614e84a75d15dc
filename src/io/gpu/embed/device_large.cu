/* SPDX-License-Identifier: Apache-2.0
 * One Gaussian process with many points, on the device; compiled behind a kernel's text (gp/way/kern_device.h).
 * Feature q of point i is f[q * ldf + i]. Matrices are column-major. Every sum has a fixed order, so that two
 * runs have the same bits. C and CUDA alike (tests run it on the host). */
#ifndef GLOBAL
#define GLOBAL extern "C" __global__
#define SHARED __shared__
#define BOUNDS(threads) __launch_bounds__(threads)
#endif
typedef long long i64;
#define TC 32 /* columns of a block of threads */

/* x: points by columns, leading dimension ldx. */
GLOBAL void prepare(const double *x, i64 ldx, i64 n, const double *th, double *f, i64 ldf) {
    i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i >= n) return;
    double xi[DIM], fi[NF];
    for (int c = 0; c < DIM; c++) xi[c] = x[i + c * ldx];
    k_prepare(xi, th, fi);
    for (int q = 0; q < NF; q++) f[q * ldf + i] = fi[q];
}

/* Lower triangle of a Gram matrix: element (r, c) of this block is on the diagonal where r + off == c, and gets
 * diag[c] on top. What is above the diagonal is left as it is. */
GLOBAL void BOUNDS(128) fill(double *a, i64 lda, const double *fr, i64 ldr, i64 rows, const double *fc, i64 ldc,
                             i64 cols, i64 off, const double *th, const double *diag) {
    SHARED double sc[TC][NF + 1];
    i64 c0 = (i64)blockIdx.y * TC, r = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    int m = cols - c0 < TC ? (int)(cols - c0) : TC;
    if (blockIdx.x * (i64)blockDim.x + blockDim.x - 1 + off < c0) return;
    for (int t = threadIdx.x; t < m * NF; t += blockDim.x) sc[t / NF][t % NF] = fc[(t % NF) * ldc + c0 + t / NF];
    double t[NT], fi[NF];
    for (int p = 0; p < NT; p++) t[p] = th[p];
    __syncthreads();
    if (r >= rows) return;
    for (int q = 0; q < NF; q++) fi[q] = fr[q * ldr + r];
    double *col = a + r + c0 * lda;
    for (int c = 0; c < m; c++, col += lda) {
        if (r + off < c0 + c) break;
        int same = r + off == c0 + c;
        double v = k_value(fi, sc[c], t, same);
        if (same) v += diag[c0 + c];
        *col = v;
    }
}

/* The kernel between two sets of points; equal coordinates are one point. */
GLOBAL void BOUNDS(128) cross(double *a, i64 lda, const double *fr, i64 ldr, i64 rows, const double *fc, i64 ldc,
                              i64 cols, const double *th) {
    SHARED double sc[TC][NF + 1];
    i64 c0 = (i64)blockIdx.y * TC, r = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    int m = cols - c0 < TC ? (int)(cols - c0) : TC;
    for (int t = threadIdx.x; t < m * NF; t += blockDim.x) sc[t / NF][t % NF] = fc[(t % NF) * ldc + c0 + t / NF];
    double t[NT], fi[NF];
    for (int p = 0; p < NT; p++) t[p] = th[p];
    __syncthreads();
    if (r >= rows) return;
    for (int q = 0; q < NF; q++) fi[q] = fr[q * ldr + r];
    double *col = a + r + c0 * lda;
    for (int c = 0; c < m; c++, col += lda) *col = k_value(fi, sc[c], t, 2);
}

/* Sum over the block, in thread 0. */
DEVICE double block_sum(double v, double *scratch) {
    __syncthreads();
    scratch[threadIdx.x] = v;
    for (int o = blockDim.x / 2; o; o >>= 1) {
        __syncthreads();
        if (threadIdx.x < o) scratch[threadIdx.x] += scratch[threadIdx.x + o];
    }
    __syncthreads();
    return scratch[0];
}

/* part[block * (NP + 1) + p]: sums of (a_i a_j + b_i b_j - M_ij) dK_ij / dp over the lower triangle of this block
 * of columns, off-diagonal elements twice; the last is that of the diagonal alone with the weights `share`. */
GLOBAL void BOUNDS(128)
    gradient(const double *m, i64 ldm, const double *f, i64 ldf, i64 rows, i64 cols, const double *a,
             const double *b, const double *share, const double *th, double *part) {
    SHARED double sc[TC][NF + 1], sa[TC], sb[TC], scratch[128];
    i64 c0 = (i64)blockIdx.y * TC, r = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    int k = cols - c0 < TC ? (int)(cols - c0) : TC;
    double g[NP + 1];
    for (int p = 0; p <= NP; p++) g[p] = 0;
    int any = blockIdx.x * (i64)blockDim.x + blockDim.x - 1 >= c0;
    if (any) {
        for (int t = threadIdx.x; t < k * NF; t += blockDim.x) sc[t / NF][t % NF] = f[(t % NF) * ldf + c0 + t / NF];
        for (int t = threadIdx.x; t < k; t += blockDim.x) sa[t] = a[c0 + t], sb[t] = b[c0 + t];
    }
    __syncthreads();
    if (any && r < rows) {
        double t[NT], fi[NF], ar = a[r], br = b[r];
        for (int p = 0; p < NT; p++) t[p] = th[p];
        for (int q = 0; q < NF; q++) fi[q] = f[q * ldf + r];
        for (int c = 0; c < k; c++) {
            if (r < c0 + c) break;
            int same = r == c0 + c;
            double w = ar * sa[c] + br * sb[c] - m[r + (c0 + c) * ldm];
            k_grad(fi, sc[c], t, same, same ? w : 2 * w, g);
            if (same) g[NP] += w * share[r];
        }
    }
    i64 id = blockIdx.x + (i64)blockIdx.y * gridDim.x;
    for (int p = 0; p <= NP; p++) {
        double s = block_sum(g[p], scratch);
        if (threadIdx.x == 0) part[id * (NP + 1) + p] = s;
    }
}
/* out[p] += the sum of column p of n parts; one block of 256 threads each. */
GLOBAL void sum_parts(const double *part, i64 n, int np, double *out) {
    SHARED double scratch[256];
    double s = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) s += part[i * np + blockIdx.x];
    s = block_sum(s, scratch);
    if (threadIdx.x == 0) out[blockIdx.x] += s;
}

/* Of the diagonal of a block: out[0] += sum of logarithms, out[1] least, out[2] largest, out[3] += sum; one block
 * of 256 threads. A NaN makes the least one -1. */
GLOBAL void diagonal(const double *a, i64 lda, i64 n, double *out) {
    SHARED double scratch[256], low[256], high[256];
    double logs = 0, sum = 0, least = 1e300, most = -1e300;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
        double d = a[i * (lda + 1)];
        logs += log(d), sum += d;
        least = d < least ? d : least, most = d > most ? d : most;
        if (!(d - d == 0)) least = -1;
    }
    logs = block_sum(logs, scratch);
    sum = block_sum(sum, scratch);
    low[threadIdx.x] = least, high[threadIdx.x] = most;
    __syncthreads();
    if (threadIdx.x) return;
    for (int i = 1; i < blockDim.x; i++) {
        least = low[i] < least ? low[i] : least;
        most = high[i] > most ? high[i] : most;
    }
    out[0] += logs, out[3] += sum;
    out[1] = least < out[1] ? least : out[1], out[2] = most > out[2] ? most : out[2];
}

/* Of column c of v: dots[0][c] = v'w, dots[1][c] = v'u, dots[2][c] = v'v, dots[3][c] = the kernel of that point with
 * itself; one block of 256 threads each. fs: features of the columns' points. */
GLOBAL void project(const double *v, i64 ldv, i64 n, const double *w, const double *u, const double *fs, i64 lds,
                    const double *th, double *dots, i64 m) {
    SHARED double scratch[256];
    double q = 0, s = 0, z = 0;
    const double *col = v + blockIdx.x * ldv;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) q += col[i] * col[i], s += col[i] * w[i], z += col[i] * u[i];
    q = block_sum(q, scratch);
    s = block_sum(s, scratch);
    z = block_sum(z, scratch);
    if (threadIdx.x) return;
    double f[NF];
    for (int i = 0; i < NF; i++) f[i] = fs[i * lds + blockIdx.x];
    dots[blockIdx.x] = s, dots[m + blockIdx.x] = z, dots[2 * m + blockIdx.x] = q;
    dots[3 * m + blockIdx.x] = k_value(f, f, th, 1);
}

/* The first rows of x are the identity, the others 0. */
GLOBAL void set_unit(double *x, i64 ldx, i64 rows, i64 cols) {
    i64 r = blockIdx.x * (i64)blockDim.x + threadIdx.x, c = blockIdx.y;
    if (r < rows && c < cols) x[r + c * ldx] = r == c ? 1 : 0;
}
/* What is above the diagonal of a factor's block becomes 0. */
GLOBAL void clear_upper(double *a, i64 lda, i64 n) {
    i64 r = blockIdx.x * (i64)blockDim.x + threadIdx.x, c = blockIdx.y;
    if (r < c && c < n) a[r + c * lda] = 0;
}
GLOBAL void copy_block(double *to, i64 ldt, const double *from, i64 ldf, i64 rows, i64 cols) {
    i64 r = blockIdx.x * (i64)blockDim.x + threadIdx.x, c = blockIdx.y;
    if (r < rows && c < cols) to[r + c * ldt] = from[r + c * ldf];
}
