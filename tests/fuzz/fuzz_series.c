/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a CSV file of a time series: read or refused with a message, never worse; what is
 * read and small goes through the learner's likelihood. Bytes after a '#' are steps of a walk in
 * time instead, so that files with repeated and unsorted times, on a grid and off it, are common.
 */
#include "apps/discover/series.h"
#include "apps/discover/smodel.h"
#include "support/structure_text.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define LARGEST 48 /* points of a series that is evaluated */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Low bits a step of -3..4 grid points (its scale from the first byte), high bits the value. */
static void walk(const uint8_t *data, size_t size, struct buf *csv) {
    double t = 0, step = data[0] & 1 ? 1 : 0.37;
    buf_puts(csv, "t,value\n");
    for (size_t i = 1; i < size && i <= LARGEST; i++) {
        t += step * ((data[i] & 7) - 3) + (data[0] & 2 ? 0.01 * data[i] : 0);
        buf_printf(csv, "%.17g,%d\n", t, data[i] >> 3);
    }
}

/* One structure of each kind of covariance, with its gradient: numbers or -inf, no NaN. */
static void evaluate(const struct series *s) {
    static const char *const texts[] = {"LIN + WN", "SE*PER + WIENER + WN", "LIN*SE*PER + IW + WN",
                                        "MAT32 + RQ + STEP*WN + WN", "PER + RAMP + STEP + WN"};
    struct smodel_data d;
    if (smodel_data_init(&d, s->n, s->x, s->y, -INFINITY, INFINITY) != GPM_OK) return;
    struct smodel_work *w = smodel_work_new(&d);
    for (size_t i = 0; w && i < sizeof texts / sizeof *texts; i++) {
        struct structure st = structure_of(texts[i]);
        struct smodel m;
        double z[SMODEL_MAX_PAR], grad[SMODEL_MAX_PAR];
        smodel_init(&m, &d, &st);
        smodel_prior_draw_hint(&m, z);
        if (isnan(smodel_eval(&m, w, z, grad))) abort();
    }
    smodel_work_free(w);
    smodel_data_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct series s;
    struct buf err = BUF_INIT, csv = BUF_INIT;
    struct series_options o = {.skip_bad = size && data[0] & 1};
    if (size > 1 && data[0] == '#')
        walk(data + 1, size - 1, &csv);
    else
        buf_add(&csv, data, size);
    if (series_read(&s, "fuzz", csv.data ? csv.data : "", csv.len, &o, &err) == GPM_OK) {
        for (size_t i = 1; i < s.n; i++)
            if (!(s.x[i] >= s.x[i - 1])) abort();
        struct buf b = BUF_INIT;
        series_print_time(&s, s.x[0], &b);
        buf_release(&b);
        if (s.n <= LARGEST) evaluate(&s);
        series_release(&s);
    } else if (err.len == 0) {
        abort(); /* a refusal says why */
    }
    buf_release(&err);
    buf_release(&csv);
    return 0;
}
