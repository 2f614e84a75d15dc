/* SPDX-License-Identifier: Apache-2.0
 *
 * One computation on many processes. Every process runs the same program with the same random
 * numbers and reaches the same points with the same bits. Where work splits into independent
 * pieces, each process (a part) does some of them, and the results are summed over all processes.
 *
 *     double *sub = zeros(pieces);
 *     for (i = 0; i < pieces; i++)
 *         if (parts_mine(i)) sub[i] = piece(i);       // the others' stay 0
 *     st = parts_sum(sub, pieces, st);                // now every process has all of them
 *     for (i = 0; i < pieces; i++) total += sub[i];   // in the order of the pieces
 *
 * Each number is only added to zeros, so the result does not depend on the number of processes. The
 * library itself does not use MPI: the caller supplies the sum (gpm_parts in gpmem/gp.h). */
#ifndef LA_PARTS_H
#define LA_PARTS_H
#include <gpmem/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Set once before any computation; parts 1: this process does everything. */
typedef int parts_sum_fn(void *user, double *v, size_t n); /* 0: success */
void parts_set(unsigned part, unsigned parts, parts_sum_fn *sum, void *user);
bool parts_mine(size_t piece);
bool parts_many(void);
unsigned parts_number(void), parts_count(void);
/* v := its sum over all parts. `st` is this part's status; the result is the same in every part,
 * and GPM_OK only if all parts gave GPM_OK. */
GPM_MUST_USE enum gpm_status parts_sum(double *v, size_t n, enum gpm_status st);
#endif
