/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem-mpi: the tool on many processes, under an MPI launcher.
 *
 *     mpirun -n 4 gpmem-mpi run FILE
 *
 * All processes (ranks) run the program with the same random numbers; Gaussian processes that are
 * approximated by blocks do each block on one of them (gpm_parts). Rank 0 speaks and writes; the
 * bytes are those of one process. It alone listens to signals: when it stops, the job ends with its
 * status.
 */
#include "cli/command.h"
#include "gpmem/gp.h"
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 10 /* that a rank which failed waits for the others to do so, too */

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

/* Ranks other than 0 compute, and are silent. */
static void be_silent(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_IGN);
    FILE *null = fopen("/dev/null", "r+");
    if (!null) return;
    for (int fd = 0; fd < 3; fd++) dup2(fileno(null), fd);
    fclose(null);
}

/* Every rank fails alike, unless one of them alone has no memory left, or was told to stop: then
 * the others wait in a sum for ever, and the job is ended. */
static void end_together(int status) {
    MPI_Request all;
    int there = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (int i = 0; i < 100 * WAIT_SECONDS && !there; i++) {
        MPI_Test(&all, &there, MPI_STATUS_IGNORE);
        if (!there) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    if (!there) MPI_Abort(MPI_COMM_WORLD, status);
}

int main(int argc, char **argv) {
    int rank, ranks, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    gpm_parts((unsigned)rank, (unsigned)ranks, sum, NULL);
    if (rank > 0) be_silent();
    int status = tool_main(argc, argv);
    if (status == EXIT_STOPPED && rank == 0) MPI_Abort(MPI_COMM_WORLD, status);
    if (status != EXIT_FINE) end_together(status);
    MPI_Finalize();
    return status;
}
