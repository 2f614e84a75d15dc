/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem-mpi: the tool on many processes, under an MPI launcher.
 *
 *     mpirun -n 4 gpmem-mpi run FILE
 *
 * All processes (ranks) run the program with the same random numbers; Gaussian processes that are
 * approximated by blocks do each block on one of them (gpm_parts), exact ones of many points have
 * their factor spread over all (exact.c). Rank 0 speaks and writes; the
 * bytes are those of one process. It alone listens to signals: when it stops, the job ends with its
 * status.
 */
#include "front/cli/command.h"
#include "ranks.h"
#include <mpi.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 10 /* that a rank which failed waits for the others to do so, too */

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
    int rank = ranks_join(&argc, &argv);
    if (rank > 0) be_silent();
    int status = tool_main(argc, argv);
    if (status == EXIT_STOPPED && rank == 0) MPI_Abort(MPI_COMM_WORLD, status);
    if (status != EXIT_FINE) end_together(status);
    MPI_Finalize();
    return status;
}
