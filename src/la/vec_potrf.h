/* SPDX-License-Identifier: Apache-2.0
 *
 * Small Cholesky, right-looking by columns; part of vec_body.h.
 */
#ifndef LA_VEC_POTRF_H
#define LA_VEC_POTRF_H
#include <math.h>
#include <stddef.h>

static size_t v_potrf(size_t n, double *a, size_t lda) {
    for (size_t k = 0; k < n; k++) {
        double *ck = a + k * lda, d = ck[k];
        if (!(d > 0)) return k + 1;
        d = sqrt(d);
        ck[k] = d;
        for (size_t i = k + 1; i < n; i++) ck[i] /= d;
        for (size_t j = k + 1; j < n; j++) {
            double f = ck[j], *cj = a + j * lda;
            for (size_t i = j; i < n; i++) cj[i] -= f * ck[i];
        }
    }
    return 0;
}
#endif
