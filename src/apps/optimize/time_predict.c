/* SPDX-License-Identifier: Apache-2.0
 * Predicting run times; see time_predict.h. */
#include "apps/optimize/time_predict.h"
#include "base/mem.h"
#include "gp/process/gp.h"
#include "numeric/posterior/mixture.h"

#include <math.h>

#define N_A      6
#define N_G      8
#define MAX_RUNS 1500 /* the last ones count */

/* Inputs to the straight line: logarithms when every value is positive, else standardised. */
static void transform(const double *inputs, size_t n, int dim, const double *x, double *v) {
    size_t d = (size_t)dim;
    for (size_t j = 0; j < d; j++) {
        bool positive = x[j] > 0;
        double mean = 0, sd = 0;
        for (size_t i = 0; i < n; i++) positive = positive && inputs[i * d + j] > 0;
        for (size_t i = 0; i < n; i++) mean += inputs[i * d + j] / (double)n;
        for (size_t i = 0; i < n; i++) sd += pow(inputs[i * d + j] - mean, 2) / (double)n;
        sd = sd > 0 ? sqrt(sd) : 1;
        for (size_t i = 0; i <= n; i++) {
            double value = i < n ? inputs[i * d + j] : x[j];
            v[i * d + j] = positive ? log(value) : (value - mean) / sd;
        }
    }
}

/* 100 (1 + v.v') + a SE(|v - v'|/2), as in time_predict.h. */
static struct kern *kernel_of(double a) {
    struct buf text = BUF_INIT;
    struct kern *k = NULL;
    buf_puts(&text, "100 + LIN(sf=10) + SE(l=2, sf=");
    buf_number(&text, sqrt(a));
    buf_putc(&text, ')');
    if (kern_parse(text.data, &k, NULL)) k = NULL;
    buf_release(&text);
    return k;
}

/* Evidence and prediction for one (a, g); false when the matrix is not positive definite. */
static bool component(struct gp *g, double a, double noise, const double *x,
                      struct mixture_part *out, double *log_evidence) {
    struct kern *k = kernel_of(a);
    double var = 0;
    *out = (struct mixture_part){.kind = MIXTURE_STUDENT};
    bool ok = k && gp_set_model(g, k, NULL, sqrt(noise)) == GPM_OK &&
              gp_logml(g, log_evidence) == GPM_OK &&
              gp_predict(g, x, 1, GP_MEASURED, &out->mean, &var) == GPM_OK;
    out->sd = sqrt(fmax(var, 1e-24));
    kern_unref(k);
    return ok;
}

enum gpm_status runtime_predict(const double *inputs, const double *t, size_t n, int dim,
                                const double *x, const double *p, int m, double *out) {
    size_t d = (size_t)dim;
    if (n > MAX_RUNS) inputs += (n - MAX_RUNS) * d, t += n - MAX_RUNS, n = MAX_RUNS;
    if (n < 3) return GPM_E_ARG;
    double *v = NEW_ARRAY(double, (n + 1) * d), *z = NEW_ARRAY(double, n), ev[N_A * N_G];
    double top = -INFINITY;
    struct mixture_part part[N_A * N_G];
    int count = 0;
    transform(inputs, n, dim, x, v);
    for (size_t i = 0; i < n; i++) z[i] = log(fmax(t[i], 1e-9));
    struct kern *first = kernel_of(1);
    struct gp *g = gp_new(dim, first, NULL, 1, NULL);
    kern_unref(first);
    gp_set_integrated(g, GP_SCALE);
    enum gpm_status s = gp_add(g, GP_MEASURED, v, z, n);
    for (int i = 0; !s && i < N_A; i++)
        for (int j = 0; j < N_G; j++) {
            double a = i ? pow(10, i - 3) : 1e-4, noise = pow(10, 0.5 * j - 3);
            if (component(g, a, noise, v + n * d, &part[count], &ev[count]))
                top = fmax(top, ev[count]), count++;
        }
    struct mixture all = {0};
    for (int i = 0; i < count; i++) {
        part[i].weight = exp(ev[i] - top);
        part[i].par = (double)n;
        mixture_add(&all, part[i]);
    }
    for (int i = 0; i < m && count; i++) out[i] = exp(mixture_quantile(&all, p[i]));
    mixture_release(&all);
    gp_free(g);
    mem_free(v);
    mem_free(z);
    return s ? s : count ? GPM_OK : GPM_E_NOMEM;
}
