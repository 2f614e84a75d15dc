/* SPDX-License-Identifier: Apache-2.0
 *
 * One computation on many processes. Every process runs the same program with the same random
 * numbers and comes to the same places with the same bits; where work falls into pieces that do not
 * need each other, each process (a part) does some of them and the results are added up over all.
 *
 *     double *sub = zeros(pieces);
 *     for (i = 0; i < pieces; i++)
 *         if (parts_mine(i)) sub[i] = piece(i);       // the others' stay 0
 *     st = parts_sum(sub, pieces, st);                // now every process has all of them
 *     for (i = 0; i < pieces; i++) total += sub[i];   // in the order of the pieces
 *
 * Each number is added to zeros alone, so the result does not depend on the number of processes.
 * The library knows no MPI: who has one gives the sum (gpm_parts in gpmem/gp.h).
 */
#ifndef LA_PARTS_H
#define LA_PARTS_H
#include <gpmem/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Set once, before anything is computed; parts 1: this process does everything. */
typedef int parts_sum_fn(void *user, double *v, size_t n); /* 0: it could */
void parts_set(unsigned part, unsigned parts, parts_sum_fn *sum, void *user);
bool parts_mine(size_t piece);
bool parts_many(void);
unsigned parts_number(void), parts_count(void);
/* v := its sum over all parts. `st`: how it went here; what it gives is how it went everywhere, the
 * same in every part: GPM_OK only when all were. */
GPM_MUST_USE enum gpm_status parts_sum(double *v, size_t n, enum gpm_status st);
#endif
