/* SPDX-License-Identifier: Apache-2.0
 *
 * See array_task.h.
 */
#include "front/cli/array_task.h"
#include "base/ascii.h"
#include <stdlib.h>
#include <string.h>

const char *const array_task_names[] = {
    /* arrays: Slurm, PBS Pro, Torque, Grid Engine, LSF, indexed jobs of Kubernetes */
    "SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "PBS_ARRAYID", "SGE_TASK_ID", "LSB_JOBINDEX",
    "JOB_COMPLETION_INDEX",
    /* ranks: OpenMPI, PMIx, MPICH and its kin, srun */
    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", NULL};

/* Grid Engine says "undefined" outside an array, LSF says 0: their tasks have numbers from 1 on. */
static bool from_one(const char *name) {
    return !strcmp(name, "SGE_TASK_ID") || !strcmp(name, "LSB_JOBINDEX");
}

bool array_task(uint64_t *number, struct buf *from) {
    for (const char *const *name = array_task_names; *name; name++) {
        const char *text = getenv(*name);
        size_t n = text ? strspn(text, "0123456789") : 0;
        if (n < 1 || n > 9 || text[n]) continue;
        uint64_t value = strtoull(text, NULL, 10);
        if (from_one(*name) && value-- == 0) continue;
        *number = value;
        buf_printf(from, "%s=%s", *name, text);
        return true;
    }
    return false;
}
