/* SPDX-License-Identifier: Apache-2.0
 *
 * One typed growable array: VEC(struct foo) v = {0}; vec_push(&v, x); vec_release(&v);
 * Fields: v.at[i], v.n, v.cap.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H
#include "base/mem.h"
#include <stddef.h>
#include <stdint.h>

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t n, cap;                                                                             \
    }

#define vec_reserve(v, want)                                                                       \
    do {                                                                                           \
        if ((v)->cap < (size_t)(want)) {                                                           \
            size_t cap_ = (v)->cap ? (v)->cap * 2 : 8;                                             \
            if (cap_ < (size_t)(want)) cap_ = (size_t)(want);                                      \
            (v)->at = mem_realloc((v)->at, cap_ * sizeof *(v)->at);                                \
            (v)->cap = cap_;                                                                       \
        }                                                                                          \
    } while (0)

#define vec_push(v, x)                                                                             \
    do {                                                                                           \
        vec_reserve((v), (v)->n + 1);                                                              \
        (v)->at[(v)->n++] = (x);                                                                   \
    } while (0)

#define vec_pop(v)  ((v)->at[--(v)->n])
#define vec_last(v) ((v)->at[(v)->n - 1])
/* Removes and returns element i; the last one moves into its place. */
#define vec_swap_out(v, i) ((v)->at[i] = vec_pop(v))
#define vec_clear(v)       ((v)->n = 0)
#define vec_release(v)     (mem_free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
#endif
