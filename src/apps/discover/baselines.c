/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts to compare with; see the header.
 */
#include "apps/discover/baselines.h"
#include "base/mem.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

const char *baseline_name(enum baseline b) {
    static const char *const names[BASELINES] = {"naive", "seasonal naive", "exponential smoothing",
                                                 "Theta"};
    return names[b];
}

/* ---- the seasons of a series ---- */

/* Centred moving average over one season at i, the two ends of an even one with half weight. */
static double centred(const double *y, size_t i, size_t m) {
    size_t half = m / 2;
    double s = 0;
    for (size_t k = i - half; k <= i + half; k++) s += y[k];
    if (m % 2 == 0) s -= 0.5 * (y[i - half] + y[i + half]);
    return s / (double)m;
}

/* Classical decomposition: season[k] is the mean ratio to (or difference from) the moving average
 * of the values at place k of the season, with mean 1 (or 0). */
static void seasonal_indices(size_t n, const double *y, size_t m, bool times, double *season) {
    size_t *count = mem_zalloc(m * sizeof *count);
    double mean = 0;
    for (size_t k = 0; k < m; k++) season[k] = 0;
    for (size_t i = m / 2; i + m / 2 < n; i++) {
        double c = centred(y, i, m);
        season[i % m] += times ? y[i] / c : y[i] - c;
        count[i % m]++;
    }
    for (size_t k = 0; k < m; k++) {
        season[k] = count[k] ? season[k] / (double)count[k] : times;
        mean += season[k] / (double)m;
    }
    for (size_t k = 0; k < m; k++) season[k] = times ? season[k] / mean : season[k] - mean;
    mem_free(count);
}

static bool all_positive(size_t n, const double *y) {
    for (size_t i = 0; i < n; i++)
        if (!(y[i] > 0)) return false;
    return true;
}

/* Autocorrelation at the season beyond 1.645 of its standard errors (Bartlett): the test that the
 * Theta method makes before it adjusts. */
static bool is_seasonal(size_t n, const double *y, size_t m) {
    double mean = 0, c0 = 0, sum = 1, r = 0;
    if (m < 2 || n < 2 * m + 2) return false;
    for (size_t i = 0; i < n; i++) mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++) c0 += (y[i] - mean) * (y[i] - mean);
    for (size_t k = 1; k <= m; k++) {
        double c = 0;
        for (size_t i = k; i < n; i++) c += (y[i] - mean) * (y[i - k] - mean);
        r = c0 > 0 ? c / c0 : 0;
        if (k < m) sum += 2 * r * r;
    }
    return fabs(r) > 1.645 * sqrt(sum / (double)n);
}

/* ---- exponential smoothing ---- */

enum { TREND_NONE, TREND_LINEAR, TREND_DAMPED, TRENDS };
enum { SEASON_NONE, SEASON_ADD, SEASON_TIMES, SEASONS };
enum { ALPHA, BETA, GAMMA, PHI, N_RATES };

struct smoother {
    int trend, season;
    size_t n, m;
    const double *y;
    double rate[N_RATES];
    double level, slope, *s; /* states after the last value; s: of the last season */
    double *s0, level0, slope0;
};

/* One pass: the states after the data; sum of squared errors one step ahead.
 *   l' = l + phi b + alpha e,  b' = phi b + alpha beta e,  s' = s + gamma (1 - alpha) e
 * e being the error of (l + phi b) + s, or of the product and then divided by the other factor. */
static double smooth(struct smoother *f) {
    double sse = 0, phi = f->trend == TREND_DAMPED ? f->rate[PHI] : 1;
    f->level = f->level0;
    f->slope = f->slope0;
    if (f->season) memcpy(f->s, f->s0, f->m * sizeof *f->s);
    for (size_t i = 0; i < f->n; i++) {
        double base = f->level + (f->trend ? phi * f->slope : 0),
               *s = f->season ? &f->s[i % f->m] : NULL;
        double e = f->y[i] - (f->season == SEASON_TIMES ? base * *s : base + (s ? *s : 0));
        double own = f->season == SEASON_TIMES && *s != 0 ? e / *s : e;
        sse += e * e;
        if (f->season == SEASON_ADD) *s += f->rate[GAMMA] * (1 - f->rate[ALPHA]) * e;
        if (f->season == SEASON_TIMES && base != 0)
            *s += f->rate[GAMMA] * (1 - f->rate[ALPHA]) * e / base;
        f->level = base + f->rate[ALPHA] * own;
        if (f->trend) f->slope = phi * f->slope + f->rate[ALPHA] * f->rate[BETA] * own;
    }
    return isfinite(sse) ? sse : INFINITY;
}

/* States before the first value: those of the first seasons (or values), adjusted. */
static void start(struct smoother *f) {
    size_t span = f->season ? 2 * f->m : f->n < 10 ? f->n : 10, half = span / 2;
    double a = 0, b = 0;
    if (f->season) seasonal_indices(f->n, f->y, f->m, f->season == SEASON_TIMES, f->s0);
    for (size_t i = 0; i < span; i++) {
        double v = f->y[i], s = f->season ? f->s0[i % f->m] : 0;
        v = f->season == SEASON_TIMES ? v / s : v - s;
        if (i < half)
            a += v / (double)half;
        else
            b += v / (double)(span - half);
    }
    f->slope0 = f->trend ? (b - a) / ((double)span / 2) : 0;
    f->level0 = (a + b) / 2 - f->slope0 * ((double)span / 2 + 0.5);
}

static int free_rates(const struct smoother *f, int *which) {
    int k = 0;
    which[k++] = ALPHA;
    if (f->trend) which[k++] = BETA;
    if (f->season) which[k++] = GAMMA;
    if (f->trend == TREND_DAMPED) which[k++] = PHI;
    return k;
}

/* Least squares by a pattern search: each rate in turn, steps that halve. */
static double fit(struct smoother *f) {
    static const double least[N_RATES] = {0.01, 0.001, 0.001, 0.8},
                        most[N_RATES] = {0.99, 0.99, 0.99, 0.98};
    static const double first[N_RATES] = {0.3, 0.1, 0.1, 0.95};
    int which[N_RATES], k = free_rates(f, which);
    memcpy(f->rate, first, sizeof first);
    start(f);
    double best = smooth(f);
    for (double step = 0.25; step > 0.002; step /= 2)
        for (int round = 0, moved = 1; moved && round < 8; round++) {
            moved = 0;
            for (int j = 0; j < 2 * k; j++) {
                int r = which[j / 2];
                double old = f->rate[r], by = (most[r] - least[r]) * (j % 2 ? -step : step);
                f->rate[r] = fmin(fmax(old + by, least[r]), most[r]);
                double sse = f->rate[r] != old ? smooth(f) : INFINITY;
                if (sse < best)
                    best = sse, moved = 1;
                else
                    f->rate[r] = old;
            }
        }
    return smooth(f);
}

/* Gaussian log likelihood at its best variance, with the number of rates, states and the variance.
 */
static double aicc(const struct smoother *f, double sse) {
    int which[N_RATES];
    double n = (double)f->n;
    double k = free_rates(f, which) + 1 + (f->trend != 0) + (f->season ? (double)f->m - 1 : 0) + 1;
    if (n - k - 1 <= 0) return INFINITY;
    return n * log(fmax(sse, 1e-300) / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

static void smoothing_ahead(const struct smoother *f, size_t h, double *out) {
    double phi = f->trend == TREND_DAMPED ? f->rate[PHI] : 1, sum = 0, power = 1;
    for (size_t i = 0; i < h; i++) {
        power *= phi;
        sum += f->trend ? power : 0;
        double v = f->level + sum * f->slope, s = f->season ? f->s[(f->n + i) % f->m] : 0;
        out[i] = f->season == SEASON_TIMES ? v * s : v + s;
    }
}

static void smoothing_forecast(size_t n, const double *y, size_t m, size_t h, double *out) {
    bool seasons = m >= 2 && n >= 2 * m + 4, positive = all_positive(n, y);
    double best = INFINITY, *room = NEW_ARRAY(double, 2 * (m + 1));
    for (size_t i = 0; i < h; i++) out[i] = y[n - 1];
    for (int t = 0; t < TRENDS; t++)
        for (int s = 0; s < SEASONS; s++) {
            if ((s && !seasons) || (s == SEASON_TIMES && !positive)) continue;
            struct smoother f = {
                .trend = t, .season = s, .n = n, .m = m, .y = y, .s = room, .s0 = room + m + 1};
            double score = aicc(&f, fit(&f));
            if (!(score < best)) continue;
            best = score;
            smoothing_ahead(&f, h, out);
        }
    mem_free(room);
}

/* ---- Theta ---- */

static double regression_slope(size_t n, const double *y) {
    double mt = 0.5 * (double)(n - 1), my = 0, sxy = 0, sxx = 0;
    for (size_t i = 0; i < n; i++) my += y[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        sxy += ((double)i - mt) * (y[i] - my);
        sxx += ((double)i - mt) * ((double)i - mt);
    }
    return sxy / sxx;
}

static void theta_forecast(size_t n, const double *given, size_t m, size_t h, double *out) {
    bool adjust = is_seasonal(n, given, m), times = adjust && all_positive(n, given);
    double *y = NEW_ARRAY(double, n + m + 1), *season = y + n;
    if (adjust) seasonal_indices(n, given, m, times, season);
    for (size_t i = 0; i < n; i++)
        y[i] = !adjust ? given[i] : times ? given[i] / season[i % m] : given[i] - season[i % m];
    struct smoother f = {.n = n, .y = y};
    (void)fit(&f);
    double a = f.rate[ALPHA], drift = regression_slope(n, y) / 2;
    for (size_t i = 0; i < h; i++) {
        double v = f.level + drift * ((double)i + (1 - pow(1 - a, (double)n)) / a);
        size_t k = adjust ? (n + i) % m : 0;
        out[i] = !adjust ? v : times ? v * season[k] : v + season[k];
    }
    mem_free(y);
}

void baseline_forecast(enum baseline b, size_t n, const double *y, size_t season, size_t h,
                       double *out) {
    size_t m = season >= 2 && season <= n ? season : 1;
    switch (b) {
    case BASELINE_SMOOTHING: smoothing_forecast(n, y, m, h, out); break;
    case BASELINE_THETA: theta_forecast(n, y, m, h, out); break;
    case BASELINE_NAIVE: m = 1; /* fall through */
    default:
        for (size_t i = 0; i < h; i++) out[i] = y[n - m + i % m];
    }
}
