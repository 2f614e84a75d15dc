/* SPDX-License-Identifier: Apache-2.0
 *
 * A lower triangular matrix on the GPU as block columns of its lower part: half the memory of a
 * square, limited only by the card. Block column j holds rows j nb .. n; its part above the
 * diagonal is scratch. Calls under gpu_lock. */
#ifndef GPU_BLOCKS_H
#define GPU_BLOCKS_H
#include "io/gpu/gpu.h"

struct gpu_blocks {
    size_t n, nb, count; /* rows, width of a block, blocks */
    gpu_ptr base;
    size_t bytes; /* allocated */
    size_t room;  /* rows that fit without moving data */
};

struct gpu_block {
    gpu_ptr at;
    size_t first, rows, width, ld; /* first row and column; rows from there */
};
struct gpu_block gpu_block(const struct gpu_blocks *b, size_t j);

/* Bytes for n rows, including the needs of a factor and a gradient. */
size_t gpu_blocks_bytes(size_t n);
/* Makes room; loses the contents. */
GPM_MUST_USE enum gpm_status gpu_blocks_init(struct gpu_blocks *b, size_t n);
void gpu_blocks_release(struct gpu_blocks *b); /* takes the lock itself */
/* Factors the matrix in place from block `from` on (earlier blocks are factored already). *failed:
 * a pivot was not positive. */
GPM_MUST_USE enum gpm_status gpu_blocks_factor(const struct gpu_blocks *b, size_t from,
                                               bool *failed);
/* Adds rows if there is room. */
bool gpu_blocks_extend(struct gpu_blocks *b, size_t n);
/* After extending: the old rows hold the factor. The matrix is in the new rows of block columns
 * before old / nb, and in all rows of later ones. Factors it. */
GPM_MUST_USE enum gpm_status gpu_blocks_append(const struct gpu_blocks *b, size_t old,
                                               bool *failed);
/* v = L^-1 v or L^-T v, m columns. v begins with the first row of block `from`; rows above count as
 * 0 (for L^-T: are not computed). inverses: of the diagonal blocks in sequence, or 0; p: then a
 * program with copy_block. */
GPM_MUST_USE enum gpm_status gpu_blocks_solve(const struct gpu_blocks *b, struct gpu_program *p,
                                              gpu_ptr inverses, bool trans, size_t from, gpu_ptr v,
                                              size_t ldv, size_t m);
/* out = L v, one vector; p: a program with clear_upper. */
GPM_MUST_USE enum gpm_status gpu_blocks_times(const struct gpu_blocks *b, struct gpu_program *p,
                                              gpu_ptr v, gpu_ptr out);
/* The inverses of the diagonal blocks, into scratch GPU_INVERSES; p: a program with set_unit. */
GPM_MUST_USE enum gpm_status gpu_blocks_inverses(const struct gpu_blocks *b, struct gpu_program *p,
                                                 gpu_ptr *out);
#endif
