/* SPDX-License-Identifier: Apache-2.0
 *
 * See ticks.h.
 */
#include "plot/ticks.h"
#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The round step nearest above range/want: {1, 2, 2.5, 5, 10} * 10^k. */
static double round_step(double range, unsigned want, bool whole) {
    double raw = range / (want ? want : 1);
    double p = pow(10, floor(log10(raw)));
    double m = raw / p;
    double step = (m <= 1 ? 1 : m <= 2 ? 2 : m <= 2.5 ? 2.5 : m <= 5 ? 5 : 10) * p;
    if (whole) step = fmax(1, step == 2.5 ? 5 : step);
    return step;
}

/* Digits after the point that tell neighbouring marks apart. */
static int decimals_of(double step) {
    for (int d = 0; d < 12; d++) {
        double scaled = step * pow(10, d);
        if (fabs(scaled - round(scaled)) < 1e-6 * scaled) return d;
    }
    return 12;
}

static void format_mark(double v, double step, double largest, char *text, size_t size) {
    if (largest >= 1e6 || (largest < 1e-3 && largest > 0)) {
        if (v == 0) {
            snprintf(text, size, "0");
            return;
        }
        double e = floor(log10(fabs(v)) + 1e-9), m = v / pow(10, e);
        int d = decimals_of(step / pow(10, e));
        number_snprintf(text, size, "%.*fe%d", d > 6 ? 6 : d, m, (int)e);
        return;
    }
    number_snprintf(text, size, "%.*f", decimals_of(step), v == 0 ? 0.0 : v);
}

void plot_ticks_linear(double lo, double hi, unsigned want, bool whole, struct plot_ticks *t) {
    t->n = 0;
    if (!(hi > lo) || !isfinite(hi - lo)) return;
    double step = round_step(hi - lo, want, whole);
    double first = ceil(lo / step - 1e-9), last = floor(hi / step + 1e-9);
    if (!(last - first < PLOT_TICKS_MAX)) return; /* step below the precision of lo */
    double largest = fmax(fabs(lo), fabs(hi));
    for (double i = first; i <= last && t->n < PLOT_TICKS_MAX; i++) {
        double v = i * step;
        t->at[t->n] = v;
        format_mark(v, step, largest, t->text[t->n], sizeof t->text[0]);
        t->n++;
    }
}

static void add_log_mark(struct plot_ticks *t, double v, bool written) {
    if (t->n == PLOT_TICKS_MAX) return;
    t->at[t->n] = v;
    t->text[t->n][0] = 0;
    if (written) number_snprintf(t->text[t->n], sizeof t->text[0], "%g", v);
    t->n++;
}

void plot_ticks_log(double lo, double hi, unsigned want, struct plot_ticks *t) {
    t->n = 0;
    if (!(lo > 0) || !(hi > lo) || !isfinite(hi)) return;
    double decades = log10(hi) - log10(lo);
    if (decades < 0.7) { /* less than a decade: round numbers read better */
        plot_ticks_linear(lo, hi, want, false, t);
        return;
    }
    int e0 = (int)floor(log10(lo)), e1 = (int)ceil(log10(hi));
    int stride = (int)ceil(decades / (want ? want : 1));
    bool between = decades <= want / 2.0;
    for (int e = e0; e <= e1; e++) {
        double p = pow(10, e);
        for (int m = 1; m <= 5; m = m == 1 ? 2 : m == 2 ? 5 : 6) {
            double v = m * p;
            if (v < lo * (1 - 1e-9) || v > hi * (1 + 1e-9) || (m > 1 && !between)) continue;
            add_log_mark(t, v, m > 1 || (e - e0) % (stride < 1 ? 1 : stride) == 0);
        }
    }
}
