/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints likelihood, gradient and predictions of a Gaussian process of N points, in all bits,
 * computed by all ranks: mpirun -n P mpi_gp [N [METHOD]], by both approximations or by METHOD
 * (vecchia, inducing, exact, joint: all that is asked of the factor of the others). Standard error:
 * the CPU time of each rank. tests/cluster/run_mpi.py compares. */
#include "gp/process/gp.h"
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

static void need(enum gpm_status st) {
    if (!st) return;
    fprintf(stderr, "%s\n", gp_status_text(st));
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void show(const char *what, const double *v, size_t n) {
    if (gpm_parts_number()) return;
    printf("%s:", what);
    for (size_t i = 0; i < n; i++) printf(" %a", v[i]);
    printf("\n");
}

/* Numbers that look standard normal, the same on every rank. */
static void fill_normals(double *z, size_t n) {
    for (size_t i = 0; i < n; i++) z[i] = 1.4 * sin(12.9898 * (double)(i + 1) + sin((double)i));
}

/* A process with a mean function of its own, a constant and the scale integrated out or not, two
 * parts: likelihood, slopes, covariances, joint draws, parts, leave-one-out, innovations, densities
 * of new pairs. `which`: of gp_set_integrated. */
static void ask_all(const double *x, const double *y, size_t n, unsigned which) {
    enum { AT = 150 };
    const double slopes[2] = {0.02, -0.01};
    struct kern *all = NULL, *part = NULL;
    struct mean *mean = mean_linear(0.3, slopes, 2);
    double value, d[8] = {0}, dmean[3] = {0}, dnoise, m[AT], v[AT],
                  *cov = malloc(AT * AT * sizeof *cov), *z = malloc(n * sizeof *z),
                  *one = malloc(n * sizeof *one), *two = malloc(n * sizeof *two);
    need(kern_parse("MAT32(sf=1, l=3) + SE(sf=0.5, l=6)", &all, NULL));
    need(kern_parse("SE(sf=0.5, l=6)", &part, NULL));
    struct gp *g = gp_new(2, all, mean, 0.2, NULL);
    gp_set_integrated(g, which);
    gp_set_approx(g, GP_EXACT, 0);
    need(gp_add(g, GP_MEASURED, x, y, n));
    need(gp_add(g, GP_MEASURED, x, y + 1, 20)); /* replicates */
    need(gp_grad_weighted(g, 1, &value, d, dmean, &dnoise));
    const double slope[] = {value, d[0], d[1], d[2], d[3], dmean[0], dmean[1], dmean[2], dnoise};
    show(gp_method(g), slope, 9);
    need(gp_predict(g, x + 7, AT, GP_MEASURED, m, v));
    show("mean", m, AT);
    show("variance", v, AT);
    need(gp_predict_cov(g, x + 7, AT, GP_LATENT, m, cov, AT));
    show("covariance", cov, (size_t)AT * AT);
    fill_normals(z, n);
    need(gp_sample(g, x + 7, AT, GP_MEASURED, z, m));
    show("draw", m, AT);
    need(gp_component(g, part, x + 7, AT, m, v));
    show("part", m, AT);
    show("its variance", v, AT);
    need(gp_component_cov(g, part, x + 7, 20, m, cov, 20));
    show("its covariance", cov, 400);
    need(gp_innovations(g, one));
    show("innovations", one, n);
    need(gp_conditional(g, GP_MEASURED, x + 7, y, 60, &value));
    show("density", &value, 1);
    one = realloc(one, (n + 20) * sizeof *one);
    two = realloc(two, (n + 20) * sizeof *two);
    need(gp_loo(g, one, two, &value));
    show("left out", &value, 1);
    show("their means", one, n + 20);
    show("their variances", two, n + 20);
    gp_free(g);
    g = gp_new(2, all, mean, 0.2, NULL); /* a draw of the prior at all points: the factor times z */
    gp_set_device(g, GP_ON_ANY);
    gp_set_approx(g, GP_EXACT, 0);
    need(gp_sample(g, x, n, GP_MEASURED, z, one));
    show("prior", one, n);
    gp_free(g);
    mean_unref(mean);
    kern_unref(all);
    kern_unref(part);
    free(cov);
    free(z);
    free(one);
    free(two);
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
    if (argc > 2 && !strcmp(argv[2], "joint"))
        for (unsigned which = 0; which <= 3; which += GP_MEAN | GP_SCALE) ask_all(x, y, n, which);
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
