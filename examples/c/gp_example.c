/* SPDX-License-Identifier: Apache-2.0
 *
 * A worked example of the Gaussian process library without the language: fit a kernel to noisy
 * data, predict, draw a function, add and take out a point, ask what the numbers needed. Built and
 * run by the tests. On its own: cc gp_example.c $(pkg-config --cflags --libs gpmem)
 */
#include <gpmem/gp.h>

#include <math.h>
#include <stdio.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != GPM_OK) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, gpm_gp_error(g));                                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static double uniform(unsigned *s) {
    *s = *s * 1664525u + 1013904223u;
    return (*s + 0.5) / 4294967296.0;
}

int main(void) {
    double x[40], y[40], logml, mean[3], var[3], f[3];
    const double xs[3] = {1, 4.5, 9};
    unsigned seed = 7;
    for (int i = 0; i < 40; i++) { /* a sine with noise of standard deviation 0.2 */
        x[i] = 8 * uniform(&seed);
        y[i] = sin(x[i]) + 0.2 * sqrt(12) * (uniform(&seed) - 0.5);
    }

    gpm_gp *g = gpm_gp_new();
    TRY(gpm_gp_model(g, 1, "SE(sf=1, l=0.5) + C(sf=1)", 0.5)); /* noise 0.5 to start with */
    TRY(gpm_gp_add(g, x, y, 40));
    TRY(gpm_gp_fit(g, NULL));
    TRY(gpm_gp_log_likelihood(g, &logml));
    printf("fitted %s, noise %.3f, ", gpm_gp_kernel(g), gpm_gp_noise(g));
    printf("log likelihood %.2f (%s)\n", logml, gpm_gp_method(g));
    gpm_kernel *k = gpm_gp_get_kernel(g);
    printf("structure %s\n", gpm_kernel_structure(k));

    TRY(gpm_gp_predict(g, xs, 3, false, mean, var));
    for (int i = 0; i < 3; i++)
        printf("f(%g) = %.3f +- %.3f (sin: %.3f)\n", xs[i], mean[i], 2 * sqrt(var[i]), sin(xs[i]));

    gpm_path *p; /* one function drawn from the posterior */
    TRY(gpm_path_new(g, 0, 1, &p));
    TRY(gpm_path_eval(p, xs, 3, f, NULL));
    printf("a drawn function: %.3f %.3f %.3f\n", f[0], f[1], f[2]);

    double at = 9, value = sin(9), before = var[2]; /* one more observation, and without it again */
    TRY(gpm_gp_add(g, &at, &value, 1));
    TRY(gpm_gp_predict(g, xs, 3, false, mean, var));
    printf("after observing f(9): +- %.3f instead of %.3f\n", 2 * sqrt(var[2]), 2 * sqrt(before));
    TRY(gpm_gp_remove(g, &at, value));
    printf("%s\n", gpm_gp_report(g));

    gpm_path_free(p);
    gpm_kernel_free(k);
    gpm_gp_free(g);
    return 0;
}
