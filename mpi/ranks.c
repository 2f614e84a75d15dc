/* SPDX-License-Identifier: Apache-2.0
 * See ranks.h. */
#include "ranks.h"
#include "gpmem/gp.h"
#include <limits.h>
#include <mpi.h>

static int sum(void *user, double *v, size_t n) {
    (void)user;
    for (size_t done = 0; done < n;) {
        int some = n - done < INT_MAX ? (int)(n - done) : INT_MAX;
        if (MPI_Allreduce(MPI_IN_PLACE, v + done, some, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
            return 1;
        done += (size_t)some;
    }
    return 0;
}

int ranks_join(int *argc, char ***argv) {
    int rank, ranks, provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    gpm_parts((unsigned)rank, (unsigned)ranks, sum, NULL);
#ifdef GPMEM_SCALAPACK
    exact_begin(rank, ranks);
#endif
    return rank;
}
