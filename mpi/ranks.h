/* SPDX-License-Identifier: Apache-2.0
 *
 * A program's processes (ranks) under an MPI launcher, as one computation: gpm_parts by
 * MPI_Allreduce, and exact factors spread over all of them where there is ScaLAPACK (exact.c).
 */
#ifndef MPI_RANKS_H
#define MPI_RANKS_H

int ranks_join(int *argc, char ***argv); /* this rank's number; MPI is begun */

#ifdef GPMEM_SCALAPACK
/* Exact factors of many inputs are made by all ranks from now on. */
void exact_begin(int rank, int ranks);
#endif
#endif
