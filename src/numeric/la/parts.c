/* SPDX-License-Identifier: Apache-2.0
 *
 * See parts.h.
 */
#include "numeric/la/parts.h"

static struct {
    unsigned part, parts;
    parts_sum_fn *sum;
    void *user;
} all = {.parts = 1};

void parts_set(unsigned part, unsigned parts, parts_sum_fn *sum, void *user) {
    all.part = part;
    all.parts = parts > 0 && sum ? parts : 1;
    all.sum = sum;
    all.user = user;
}

bool parts_many(void) {
    return all.parts > 1;
}

unsigned parts_number(void) {
    return all.part;
}

unsigned parts_count(void) {
    return all.parts;
}

bool parts_mine(size_t piece) {
    return all.parts == 1 || piece % all.parts == all.part;
}

/* Exchanges the status first. So a part that failed does not make the others wait, and no part
 * continues with incomplete numbers. */
enum gpm_status parts_sum(double *v, size_t n, enum gpm_status st) {
    if (all.parts == 1) return st;
    double failed[2] = {st == GPM_E_NOT_PD, st != GPM_OK && st != GPM_E_NOT_PD};
    if (all.sum(all.user, failed, 2)) return GPM_E_IO;
    if (failed[1] > 0) return st != GPM_OK && st != GPM_E_NOT_PD ? st : GPM_E_NOMEM;
    if (failed[0] > 0) return GPM_E_NOT_PD;
    return all.sum(all.user, v, n) ? GPM_E_IO : GPM_OK;
}
