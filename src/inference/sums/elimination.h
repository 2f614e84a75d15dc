/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over the joint values of discrete variables, by elimination of one after the other:
 *
 *     log sum over z of exp( sum over tables T of T(z restricted to the scope of T) )
 *
 * Independent variables are summed one by one. On a chain this is the forward recursion; marginals
 * are the backward recursion, and draws the backward sampling. The cost is determined by the
 * largest set of variables in one step. */
#ifndef INFER_ELIMINATION_H
#define INFER_ELIMINATION_H
#include "numeric/special/rng.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elimination;
/* n variables; variable i has size[i] values. */
struct elimination *elimination_new(const uint32_t *size, size_t n);
void elimination_free(struct elimination *e);
/* Adds a table over these variables (ascending) and returns its number. In its cells the first
 * variable varies fastest. */
size_t elimination_add(struct elimination *e, const uint32_t *scope, size_t n);
/* Chooses the order of elimination; call it after all tables are added. False: a step would need
 * more than max_cells cells. */
bool elimination_plan(struct elimination *e, size_t max_cells);
/* The log values of a table, to be filled. */
double *elimination_cells(struct elimination *e, size_t table, size_t *n);
/* The index of the cell with these values (digits by variable). */
size_t elimination_cell(const struct elimination *e, size_t table, const uint32_t *digits);
double elimination_log_sum(struct elimination *e);
/* After the sum: the probability of every cell of a table, the derivative of the sum in that
 * cell. */
void elimination_marginals(struct elimination *e);
const double *elimination_probabilities(const struct elimination *e, size_t table);
/* After a finite sum: draws joint values by their probability. */
void elimination_draw(const struct elimination *e, struct rng *rng, uint32_t *digits);
#endif
