/* SPDX-License-Identifier: Apache-2.0
 *
 * See contest.h.
 */
#include "apps/discover/contest.h"
#include "base/mem.h"
#include <math.h>

const char *contest_name(int row) {
    return row == CONTEST_STRUCTURE ? "structure"
                                    : baseline_name((enum baseline)(row - CONTEST_FIRST));
}

size_t contest_season(const struct smodel_data *m) {
    double best = INFINITY;
    for (int i = 0; i < m->n_season && m->regular; i++) {
        double k = m->season[i] / m->dt;
        if (k >= 1.5 && k < (double)m->n / 2) best = fmin(best, k);
    }
    return isfinite(best) ? (size_t)floor(best + 0.5) : 1;
}

double contest_scale(const struct smodel_data *m, size_t n, const double *y) {
    size_t lag = contest_season(m);
    double s = 0;
    for (size_t i = lag; i < n; i++) s += fabs(y[i] - y[i - lag]);
    return s / (double)(n - lag);
}

/* The values on their grid, gaps filled on a straight line, and the place of each of the next ones
 * after its end; without a grid the values in their order. */
struct gridded {
    double *y;
    size_t n, *step, most;
};

/* The place of a time on the grid. */
static size_t place(const struct smodel_data *m, double x) {
    double k = floor((x - m->x0) / m->span / m->dt + 0.5);
    return k >= 0 && k < 1e7 ? (size_t)k : 0;
}

static void fill_grid(const struct smodel_data *m, struct contest_values v, struct gridded *g) {
    size_t last = 0;
    for (size_t i = 0; i < v.n; i++) {
        size_t k = m->regular ? place(m, v.x[i]) : i;
        if (k >= g->n) k = g->n - 1;
        for (size_t j = last + 1; j < k && i; j++)
            g->y[j] = g->y[last] + (v.y[i] - g->y[last]) * (double)(j - last) / (double)(k - last);
        g->y[k] = v.y[i];
        last = k;
    }
}

static struct gridded grid_of(const struct smodel_data *m, struct contest_values past,
                              struct contest_values next) {
    struct gridded g = {.n = m->regular ? place(m, past.x[past.n - 1]) + 1 : past.n,
                        .most = next.n};
    g.y = NEW_ARRAY(double, g.n);
    g.step = NEW_ARRAY(size_t, next.n);
    fill_grid(m, past, &g);
    for (size_t i = 0; i < next.n; i++) {
        size_t k = m->regular ? place(m, next.x[i]) : 0;
        g.step[i] = k >= g.n && k - g.n < 1000000 ? k - g.n : i;
        if (g.step[i] >= g.most) g.most = g.step[i] + 1;
    }
    return g;
}

static void score(struct contest_row *r, double scale, size_t h, const double *y, const double *f,
                  const size_t *step, double *mae) {
    double smape = 0;
    *mae = 0;
    for (size_t i = 0; i < h; i++) {
        double v = f[step ? step[i] : i], sum = fabs(v) + fabs(y[i]);
        *mae += fabs(v - y[i]) / (double)h;
        if (sum > 0) smape += 200 * fabs(v - y[i]) / sum / (double)h;
    }
    r->mase += scale > 0 ? *mae / scale : 0;
    r->smape += smape;
}

void contest_add(struct contest *c, const struct smodel_data *m, struct contest_values past,
                 struct contest_values next, const struct prediction *p) {
    struct gridded g = grid_of(m, past, next);
    size_t h = next.n;
    const double *y_next = next.y;
    double *f = NEW_ARRAY(double, g.most), scale = contest_scale(m, past.n, past.y), own, mae;
    double inside = 0;
    size_t season = contest_season(m);
    c->origins++;
    score(&c->row[CONTEST_STRUCTURE], scale, h, y_next, p->median, NULL, &own);
    for (size_t i = 0; i < h; i++) inside += (y_next[i] >= p->lo[i] && y_next[i] <= p->hi[i]);
    c->row[CONTEST_STRUCTURE].coverage += inside / (double)h;
    for (int b = 0; b < BASELINES; b++) {
        struct contest_row *r = &c->row[CONTEST_FIRST + b];
        baseline_forecast((enum baseline)b, g.n, g.y, season, g.most, f);
        score(r, scale, h, y_next, f, g.step, &mae);
        r->coverage = NAN;
        r->wins += own < mae;
    }
    mem_free(f);
    mem_free(g.y);
    mem_free(g.step);
}

static int best_baseline(const struct contest *c) {
    int best = CONTEST_FIRST;
    for (int k = CONTEST_FIRST; k < CONTEST_ROWS; k++)
        if (c->row[k].mase < c->row[best].mase) best = k;
    return best;
}

void contest_sentence(const struct contest *c, struct buf *out) {
    if (!c->origins) return;
    int best = best_baseline(c);
    double ratio = c->row[CONTEST_STRUCTURE].mase / c->row[best].mase;
    if (c->origins > 1)
        buf_printf(out, "Backtest from %zu origins, %zu steps ahead each: ", c->origins, c->steps);
    else
        buf_printf(out, "On the %zu values held out: ", c->steps);
    if (!isfinite(ratio))
        buf_puts(out, "the simple forecasts make no error");
    else if (ratio < 0.97)
        buf_printf(
            out,
            "the structure pays: its error is %.0f%% below that of the best simple forecast (%s)",
            100 * (1 - ratio), contest_name(best));
    else if (ratio <= 1.03)
        buf_printf(
            out, "a tie: the structure's error is %.1f%% %s that of the best simple forecast (%s)",
            100 * fabs(1 - ratio), ratio > 1 ? "above" : "below", contest_name(best));
    else
        buf_printf(out,
                   "the structure does not pay: the error of the best simple forecast (%s) is "
                   "%.0f%% below the structure's",
                   contest_name(best), 100 * (1 - 1 / ratio));
    if (c->origins > 1)
        buf_printf(out, "; the structure has the smaller error at %zu of %zu origins",
                   c->row[best].wins, c->origins);
    buf_puts(out, ".");
}
