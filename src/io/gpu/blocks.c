/* SPDX-License-Identifier: Apache-2.0
 * Triangular matrices as block columns; contracts in blocks.h. */
#include "io/gpu/blocks.h"

#include "base/mem.h"

static gpu_ptr place(gpu_ptr base, size_t doubles) {
    return base + doubles * sizeof(double);
}
static size_t round_up(size_t n) { /* leading dimensions: whole sectors of memory */
    return (n + 31) / 32 * 32;
}

/* Wide enough for the products to run at full speed, narrow enough for several blocks. */
static size_t width_for(size_t n) {
    return n <= 2048 ? (n + 31) / 32 * 32 : n <= 60000 ? 1024 : 2048;
}

/* Room for points to come, where memory is not short. */
static size_t room_for(size_t n) {
    return n <= 30000 ? n + n / 16 + 64 : n;
}

/* Doubles before block j: blocks i < j have round_up(room - i nb) rows of nb columns. */
static size_t before(const struct gpu_blocks *b, size_t j) {
    size_t sum = 0;
    for (size_t i = 0; i < j; i++) sum += round_up(b->room - i * b->nb) * b->nb;
    return sum;
}

struct gpu_block gpu_block(const struct gpu_blocks *b, size_t j) {
    size_t first = j * b->nb, rows = b->n - first;
    struct gpu_block k = {place(b->base, before(b, j)), first, rows, rows < b->nb ? rows : b->nb,
                          round_up(b->room - first)};
    return k;
}

static size_t matrix_bytes(struct gpu_blocks b) {
    return before(&b, (b.room + b.nb - 1) / b.nb) * sizeof(double);
}

size_t gpu_blocks_bytes(size_t n) {
    struct gpu_blocks b = {.n = n, .nb = width_for(n), .room = room_for(n)};
    return matrix_bytes(b) + (2 * round_up(n) * b.nb + 40 * n) * sizeof(double) +
           ((size_t)256 << 20);
}

enum gpm_status gpu_blocks_init(struct gpu_blocks *b, size_t n) {
    b->n = n;
    b->room = room_for(n);
    b->nb = width_for(n);
    b->count = (n + b->nb - 1) / b->nb;
    return gpu_reserve(&b->base, &b->bytes, matrix_bytes(*b));
}

void gpu_blocks_release(struct gpu_blocks *b) {
    gpu_free(b->base);
    *b = (struct gpu_blocks){0};
}

/* Right-looking: factor the diagonal block, solve for what is below, take the products off. */
enum gpm_status gpu_blocks_factor(const struct gpu_blocks *b, size_t from, bool *failed) {
    gpu_ptr info;
    enum gpm_status st = gpu_scratch(GPU_RESULT, (b->count + 1) * sizeof(int), &info);
    if (!st) st = gpu_zero(info, (b->count + 1) * sizeof(int));
    for (size_t j = from; j < b->count && !st; j++) {
        struct gpu_block d = gpu_block(b, j);
        gpu_ptr below = place(d.at, d.width);
        st = gpu_potrf(d.width, d.at, d.ld, info + j * sizeof(int));
        if (!st) st = gpu_trsm(true, true, d.rows - d.width, d.width, d.at, d.ld, below, d.ld);
        for (size_t k = j + 1; k < b->count && !st; k++) {
            struct gpu_block t = gpu_block(b, k);
            gpu_ptr row = place(d.at, t.first - d.first);
            st = gpu_gemm(false, true, t.rows, t.width, d.width, -1, row, d.ld, row, d.ld, 1, t.at,
                          t.ld);
        }
    }
    int *codes = mem_zalloc((b->count + 1) * sizeof *codes);
    if (!st) st = gpu_get(codes, info, b->count * sizeof *codes);
    *failed = false;
    for (size_t j = from; j < b->count && !st; j++) *failed = *failed || codes[j] != 0;
    mem_free(codes);
    return st;
}

bool gpu_blocks_extend(struct gpu_blocks *b, size_t n) {
    if (n > b->room) return false;
    b->n = n;
    b->count = (n + b->nb - 1) / b->nb;
    return true;
}

/* Whole block columns before the last old one get the new rows of the factor; the others are
 * factored again, less the products of the former. */
enum gpm_status gpu_blocks_append(const struct gpu_blocks *b, size_t old, bool *failed) {
    size_t whole = old / b->nb;
    enum gpm_status st = GPM_OK;
    for (size_t j = 0; j < whole && !st; j++) {
        struct gpu_block d = gpu_block(b, j);
        gpu_ptr fresh = place(d.at, old - d.first);
        st = gpu_trsm(true, true, b->n - old, d.width, d.at, d.ld, fresh, d.ld);
        for (size_t k = j + 1; k < b->count && !st; k++) {
            struct gpu_block t = gpu_block(b, k);
            size_t first = k < whole ? old : t.first;
            st = gpu_gemm(false, true, b->n - first, t.width, d.width, -1,
                          place(d.at, first - d.first), d.ld, place(d.at, t.first - d.first), d.ld,
                          1, place(t.at, first - t.first), t.ld);
        }
    }
    return st ? st : gpu_blocks_factor(b, whole, failed);
}

enum gpm_status gpu_blocks_inverses(const struct gpu_blocks *b, struct gpu_program *p,
                                    gpu_ptr *out) {
    gpu_ptr all; /* and one more, for products */
    enum gpm_status st =
        gpu_scratch(GPU_INVERSES, (b->count + 1) * b->nb * b->nb * sizeof(double), &all);
    for (size_t j = 0; j < b->count && !st; j++) {
        struct gpu_block d = gpu_block(b, j);
        gpu_ptr to = place(all, j * b->nb * b->nb);
        long long w = (long long)d.width, ld = (long long)b->nb;
        struct gpu_grid g = {(w + 255) / 256, w, 256, 0};
        st = GPU_LAUNCH(p, "set_unit", g, &to, &ld, &w, &w);
        if (!st) st = gpu_trsm(false, false, d.width, d.width, d.at, d.ld, to, b->nb);
    }
    *out = all;
    return st;
}

/* v = D^-1 v or D^-T v with diagonal block j. A product with its inverse is twice as fast as the
 * solution where there are many columns. */
static enum gpm_status diagonal(const struct gpu_blocks *b, struct gpu_program *p, gpu_ptr inverses,
                                bool trans, size_t j, gpu_ptr v, size_t ldv, size_t m) {
    struct gpu_block d = gpu_block(b, j);
    if (!inverses || m < 64 || m > b->nb)
        return gpu_trsm(false, trans, d.width, m, d.at, d.ld, v, ldv);
    gpu_ptr inv = place(inverses, j * b->nb * b->nb),
            tmp = place(inverses, b->count * b->nb * b->nb);
    enum gpm_status st =
        gpu_gemm(trans, false, d.width, m, d.width, 1, inv, b->nb, v, ldv, 0, tmp, b->nb);
    long long w = (long long)d.width, cols = (long long)m, ldt = (long long)b->nb,
              ldto = (long long)ldv;
    struct gpu_grid g = {(w + 255) / 256, cols, 256, 0};
    return st ? st : GPU_LAUNCH(p, "copy_block", g, &v, &ldto, &tmp, &ldt, &w, &cols);
}

enum gpm_status gpu_blocks_solve(const struct gpu_blocks *b, struct gpu_program *p,
                                 gpu_ptr inverses, bool trans, size_t from, gpu_ptr v, size_t ldv,
                                 size_t m) {
    enum gpm_status st = GPM_OK;
    for (size_t i = from; i < b->count && !st; i++) {
        size_t j = trans ? b->count - 1 - (i - from) : i;
        struct gpu_block d = gpu_block(b, j);
        size_t below = d.rows - d.width;
        gpu_ptr here = place(v, d.first - from * b->nb), rest = place(here, d.width),
                l = place(d.at, d.width);
        if (trans && below)
            st = gpu_gemm(true, false, d.width, m, below, -1, l, d.ld, rest, ldv, 1, here, ldv);
        if (!st) st = diagonal(b, p, inverses, trans, j, here, ldv, m);
        if (!trans && below && !st)
            st = gpu_gemm(false, false, below, m, d.width, -1, l, d.ld, here, ldv, 1, rest, ldv);
    }
    return st;
}

enum gpm_status gpu_blocks_times(const struct gpu_blocks *b, struct gpu_program *p, gpu_ptr v,
                                 gpu_ptr out) {
    enum gpm_status st = gpu_zero(out, b->n * sizeof(double));
    for (size_t j = 0; j < b->count && !st; j++) {
        struct gpu_block d = gpu_block(b, j);
        long long w = (long long)d.width, ld = (long long)d.ld;
        struct gpu_grid g = {(w + 255) / 256, w, 256, 0};
        st = GPU_LAUNCH(p, "clear_upper", g, &d.at, &ld, &w);
        if (!st)
            st = gpu_gemm(false, false, d.rows, 1, d.width, 1, d.at, d.ld, place(v, d.first), b->n,
                          1, place(out, d.first), b->n);
    }
    return st;
}
