/* SPDX-License-Identifier: Apache-2.0
 *
 * One GPU, without CUDA at build time: libcuda, NVRTC, cuBLAS and cuSOLVER are opened on first use,
 * and programs are compiled from text for the present card. This layer offers memory, programs and
 * dense linear algebra in double precision; it knows no kernels.
 *
 * Every call may give GPM_E_DEVICE; gpu_error then has the reason for the user. A card that failed
 * stays unusable in this process. Make calls only between gpu_lock and gpu_unlock, except where
 * noted: one thread uses the card at a time. Work is queued in order; gpu_get waits for it. */
#ifndef GPU_GPU_H
#define GPU_GPU_H
#include "base/buf.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>

typedef unsigned long long gpu_ptr; /* an address on the card; 0: none */

struct gpu_info {
    char name[128];
    int driver, nvrtc, cublas; /* versions as their libraries count: 13000, 13000, 130000 */
    int major, minor;          /* compute capability */
    int processors;
    size_t memory, free; /* bytes */
    size_t shared;       /* bytes of shared memory available to a block */
};

/* Opens it, once per process; callable from any thread without the lock, like the next two. */
GPM_MUST_USE enum gpm_status gpu_open(void);
/* The reason of this thread's last failure; valid until its next one. Never NULL. */
const char *gpu_error(void);
const struct gpu_info *gpu_info(void); /* of an open one; `free` is from the time of opening */
/* Fails with the reason given. */
enum gpm_status gpu_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

GPM_MUST_USE enum gpm_status gpu_lock(void);
void gpu_unlock(void);

/* ---- memory ---- */
/* *p may hold an allocation of *have bytes, which is kept if large enough. GPM_E_NOMEM (the reason
 * tells the available memory) leaves it 0. */
GPM_MUST_USE enum gpm_status gpu_reserve(gpu_ptr *p, size_t *have, size_t bytes);
void gpu_free(gpu_ptr p); /* 0: nothing; takes the lock itself */
GPM_MUST_USE enum gpm_status gpu_free_bytes(size_t *out);
GPM_MUST_USE enum gpm_status gpu_put(gpu_ptr to, const void *from, size_t bytes);
/* Lanes continue meanwhile: no running work may use that memory. */
GPM_MUST_USE enum gpm_status gpu_put_aside(gpu_ptr to, const void *from, size_t bytes);
GPM_MUST_USE enum gpm_status gpu_get(void *to, gpu_ptr from, size_t bytes);
GPM_MUST_USE enum gpm_status gpu_zero(gpu_ptr to, size_t bytes);
/* Persistent scratch memory, for the holder of the lock. */
enum gpu_scratch {
    GPU_POINTS,
    GPU_FEATURES,
    GPU_NUMBERS,
    GPU_DIAGONAL,
    GPU_VECTORS,
    GPU_BLOCK,
    GPU_PARTS,
    GPU_INVERSES,
    GPU_WORK,
    GPU_RESULT,
    GPU_SCRATCHES
};
GPM_MUST_USE enum gpm_status gpu_scratch(enum gpu_scratch which, size_t bytes, gpu_ptr *out);
void gpu_scratch_drop(void); /* frees all of it */

/* ---- programs ---- */
struct gpu_program;
/* The program of that text, compiled once and kept for the process. options: "-DW=4" ..., ends with
 * NULL; may be NULL. */
GPM_MUST_USE enum gpm_status gpu_program(const char *text, const char *const *options,
                                         struct gpu_program **out);
struct gpu_grid {
    long long x, y; /* blocks */
    int threads;
    size_t shared; /* bytes */
};
/* args: addresses of the arguments. A grid without blocks does nothing. */
GPM_MUST_USE enum gpm_status gpu_launch(struct gpu_program *p, const char *name, struct gpu_grid g,
                                        void **args);
#define GPU_LAUNCH(p, name, grid, ...) gpu_launch(p, name, grid, (void *[]){__VA_ARGS__})
/* Number of blocks of such a launch that a processor holds at once. */
GPM_MUST_USE enum gpm_status gpu_occupancy(struct gpu_program *p, const char *name, int threads,
                                           size_t shared, int *out);

/* ---- lanes: one is prepared while the card works for another ---- */
/* A separate queue, with device and host memory between which it copies asynchronously. One thread
 * at a time has it; only what follows gpu_lane_start is called without the lock. */
struct gpu_lane {
    void *queue;
    gpu_ptr in, scratch;
    double *to, *from; /* input to copy, and where programs write their results */
    size_t in_bytes, scratch_bytes, to_bytes, from_bytes;
};
/* Room for that many bytes each; loses the contents. */
GPM_MUST_USE enum gpm_status gpu_lane_room(struct gpu_lane *l, size_t in, size_t out,
                                           size_t scratch);
/* Asynchronously copies `in` bytes to the card and runs the program. */
GPM_MUST_USE enum gpm_status gpu_lane_start(struct gpu_lane *l, size_t in, struct gpu_program *p,
                                            const char *name, struct gpu_grid g, void **args);
bool gpu_lane_ended(const struct gpu_lane *l); /* or failed */
GPM_MUST_USE enum gpm_status gpu_lane_wait(struct gpu_lane *l);

/* ---- dense matrices, column-major, lower triangles ---- */
/* C = alpha op(A) op(B) + beta C, C m x n, inner dimension k. */
GPM_MUST_USE enum gpm_status gpu_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, double alpha,
                                      gpu_ptr a, size_t lda, gpu_ptr b, size_t ldb, double beta,
                                      gpu_ptr c, size_t ldc);
/* B (m x n) = L^-1 B, L^-T B (trans); right: B L^-T (trans), B L^-1. */
GPM_MUST_USE enum gpm_status gpu_trsm(bool right, bool trans, size_t m, size_t n, gpu_ptr l,
                                      size_t ldl, gpu_ptr b, size_t ldb);
/* Cholesky in place; *info on the card is nonzero on failure. */
GPM_MUST_USE enum gpm_status gpu_potrf(size_t n, gpu_ptr a, size_t lda, gpu_ptr info);
#endif
