/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints likelihood, gradient and predictions of a Gaussian process of N points, in all bits,
 * computed by all ranks: mpirun -n P mpi_gp [N [METHOD]], by both approximations or by METHOD
 * (vecchia, inducing, exact). Standard error: the CPU time of each rank. tests/cluster/run_mpi.py
 * compares. */
#include "gpmem/gp.h"
#include "ranks.h"
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(gpm_gp *g, enum gpm_status st) {
    if (!st) return;
    fprintf(stderr, "%s\n", gpm_gp_error(g));
    MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char **argv) {
    enum { AT = 600 };
    int ranks, rank = ranks_join(&argc, &argv);
    size_t n = argc > 1 ? (size_t)atol(argv[1]) : 4096;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double *x = malloc(2 * n * sizeof *x), *y = malloc(n * sizeof *y), mean[AT], var[AT];
    for (size_t i = 0; i < n; i++) {
        x[2 * i] = 0.5 * floor((double)i / 64) + 0.1 * sin((double)i * (double)i);
        x[2 * i + 1] = 0.5 * (double)(i % 64) + 0.1 * cos(3.0 * (double)i);
        y[i] = sin(0.3 * x[2 * i]) + 0.1 * cos((double)(i * i % 1000));
    }
    static const struct {
        enum gpm_approximation kind;
        const char *kernel;
        size_t size;
        const char *name;
    } cases[] = {{GPM_APPROX_VECCHIA, "MAT32(sf=1, l=3)", 128, "vecchia"},
                 {GPM_APPROX_INDUCING, "SE(sf=1, l=6)", 128, "inducing"},
                 {GPM_APPROX_NONE, "MAT32(sf=1, l=3)", 0, "exact"}};
    for (size_t k = 0; k < 3; k++) {
        if (argc > 2 ? strcmp(argv[2], cases[k].name) != 0 : k == 2) continue;
        gpm_gp *g = gpm_gp_new();
        double value, d[8] = {0}, noise;
        clock_t began = clock();
        must(g, gpm_gp_model(g, 2, cases[k].kernel, 0.2));
        must(g, gpm_gp_set_approximation(g, cases[k].kind, cases[k].size));
        must(g, gpm_gp_add(g, x, y, n));
        must(g, gpm_gp_log_likelihood(g, &value));
        double likelihood = (double)(clock() - began) / CLOCKS_PER_SEC;
        must(g, gpm_gp_log_likelihood_grad(g, &value, d, &noise));
        must(g, gpm_gp_predict(g, x + 7, AT, false, mean, var));
        fprintf(stderr, "rank %d of %d, %s: likelihood %.3f s, all %.3f s of CPU\n", rank, ranks,
                gpm_gp_method(g), likelihood, (double)(clock() - began) / CLOCKS_PER_SEC);
        if (rank == 0) {
            printf("%s: %a, %a %a %a\n", gpm_gp_method(g), value, d[0], d[1], noise);
            for (int i = 0; i < AT; i++) printf("%a %a\n", mean[i], var[i]);
        }
        gpm_gp_free(g);
    }
    free(x);
    free(y);
    MPI_Finalize();
    return 0;
}
