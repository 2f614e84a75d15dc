/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictive mixtures of every kind: quantiles against distribution functions, log scores against
 * densities, CRPS against its integral, draws against distribution functions, counts against sums
 * of their formula, levels.
 */
#include "numeric/posterior/mixture.h"
#include "numeric/special/rng.h"
#include "numeric/special/special.h"
#include "support/check.h"
#include <math.h>

static const struct value_link none = {LINK_NONE, 0, 0, 0}, logs = {LINK_LOG, 0, 0, 0},
                               odds = {LINK_ODDS, 0, -1, 30}, above = {LINK_ABOVE, 0, 2, 0},
                               below = {LINK_BELOW, 0, 0, 40}, square = {LINK_SQUARE, 0, 0, 0};

/* Far apart, narrow and wide, on two scales at once. */
enum { CASES = 6 };
static void make(struct mixture *m, int c) {
    static const struct mixture_part parts[CASES][4] = {
        {{MIXTURE_NORMAL, 0.5, 0, 1, 0, NULL}, {MIXTURE_NORMAL, 0.3, 5, 0.1, 0, &none}},
        {{MIXTURE_NORMAL, 2, 0.5, 1, 3, NULL}, {MIXTURE_NORMAL, 1, 1, 0.5, 3, &logs}},
        {{MIXTURE_NORMAL, 1, 0.2, 0.4, 9, &odds}, {MIXTURE_NORMAL, 1, 7, 2, 9, &none}},
        {{MIXTURE_NORMAL, 1, 0.2, 0.4, 0, &above}, {MIXTURE_NORMAL, 2, -3, 0.2, 0, &below}},
        {{MIXTURE_STUDENT, 1, -2, 0.4, 4, NULL}, {MIXTURE_STUDENT, 3, 1, 2, 4, NULL}},
        {{MIXTURE_NORMAL, 0.3, 3, 0.3, 0, &square}, {MIXTURE_NORMAL, 0.5, 9, 0.3, 5, &square}}};
    mixture_clear(m);
    for (int k = 0; k < 4; k++)
        if (parts[c][k].weight > 0) mixture_add(m, parts[c][k]);
}

static void quantiles_are_inverse(void **state) {
    static const double extreme[] = {1e-9, 1e-5, 1 - 1e-5, 1 - 1e-9};
    struct mixture m = {0};
    for (int c = 0; c < CASES; c++) {
        make(&m, c);
        double last = -INFINITY;
        for (double p = 0.005; p < 1; p += 0.01) {
            double y = mixture_quantile(&m, p);
            assert_true(y > last);
            assert_close(mixture_cdf(&m, y), p, 1e-12);
            last = y;
        }
        for (int k = 0; k < 4; k++)
            assert_close(mixture_cdf(&m, mixture_quantile(&m, extreme[k])) / extreme[k], 1, 1e-9);
    }
    mixture_clear(&m); /* of one part: that part's */
    mixture_add(&m, (struct mixture_part){.weight = 3, .sd = 1});
    assert_close(mixture_quantile(&m, 0.975), 1.959963984540054, 1e-15);
    mixture_release(&m);
}

/* A mass where the links end, parts hundreds of orders of magnitude apart, numbers beyond all. */
static void quantiles_without_a_density(void **state) {
    struct mixture m = {0};
    mixture_add(&m, (struct mixture_part){.weight = 1, .mean = -0.5, .sd = 1, .link = &square});
    mixture_add(&m, (struct mixture_part){.weight = 1, .mean = 4, .sd = 0.1, .link = &square});
    assert_true(mixture_quantile(&m, 0.3) == 0);
    assert_close(mixture_cdf(&m, mixture_quantile(&m, 0.8)), 0.8, 1e-12);
    assert_close(mixture_log_score(&m, 0), log(0.5 * norm_cdf(0.5)), 1e-12);
    assert_true(mixture_log_score(&m, -1) == -INFINITY);
    mixture_clear(&m);
    mixture_add(&m, (struct mixture_part){.weight = 1, .mean = -600, .sd = 1, .link = &logs});
    mixture_add(&m, (struct mixture_part){.weight = 1, .mean = 600, .sd = 1, .link = &logs});
    for (double p = 0.1; p < 1; p += 0.2) {
        if (p == 0.5) continue;
        assert_close(mixture_cdf(&m, mixture_quantile(&m, p)), p, 1e-12);
    }
    mixture_add(&m, (struct mixture_part){.weight = 8, .mean = 900, .sd = 1, .link = &logs});
    assert_true(isinf(mixture_quantile(&m, 0.9)) && isinf(mixture_mean(&m)));
    mixture_release(&m);
}

static void log_scores_are_densities(void **state) {
    struct mixture m = {0};
    for (int c = 0; c < CASES; c++) {
        make(&m, c);
        for (double p = 0.025; p < 1; p += 0.05) {
            double y = mixture_quantile(&m, p), h = 1e-5 * (1 + fabs(y));
            double slope = (mixture_cdf(&m, y + h) - mixture_cdf(&m, y - h)) / (2 * h);
            assert_close(exp(mixture_log_score(&m, y)) / slope, 1, 1e-5);
        }
    }
    mixture_release(&m);
}

/* The integral of (F - step)^2, whose integrand is below 1e-9 outside. */
static void crps_is_its_integral(void **state) {
    struct mixture m = {0};
    for (int c = 0; c < CASES; c++) {
        make(&m, c);
        double lo = mixture_quantile(&m, 3e-5), hi = mixture_quantile(&m, 1 - 3e-5);
        double y = mixture_quantile(&m, 0.7), sum = 0, step = (hi - lo) / 40000;
        for (double x = lo + step / 2; x < hi; x += step)
            sum += pow(mixture_cdf(&m, x) - (x >= y), 2) * step;
        assert_close(mixture_crps(&m, y) / sum, 1, 0.01); /* a hundred levels */
    }
    mixture_clear(&m); /* of one normal distribution in closed form (Gneiting, Raftery 2007) */
    mixture_add(&m, (struct mixture_part){.weight = 1, .mean = 2, .sd = 3});
    for (double z = -2; z <= 2; z++) {
        double exact =
            z * (2 * norm_cdf(z) - 1) + 2 * exp(-0.5 * z * z - LOG_SQRT_2PI) - 1 / sqrt(M_PI);
        assert_close(mixture_crps(&m, 2 + 3 * z), 3 * exact, 0.01);
    }
    mixture_release(&m);
}

/* Draws of parts with the tails of few degrees of freedom are as their distribution function is. */
static void draws_have_the_distribution(void **state) {
    enum { DRAWS = 20000 };
    struct mixture m = {0};
    struct rng r;
    rng_init(&r, 3, 0, 0);
    make(&m, 1);
    double at[] = {0.01, 0.1, 0.4, 0.7, 0.95, 0.999}, below_at[6] = {0}, y[6];
    for (int k = 0; k < 6; k++) y[k] = mixture_quantile(&m, at[k]);
    for (int i = 0; i < DRAWS; i++) {
        const struct mixture_part *p = &m.part.at[rng_uniform(&r) * 3 < 2 ? 0 : 1];
        double v = p->mean + p->sd * mixture_tails_deviate(p->par, rng_normal(&r));
        if (p->link) v = link_back(p->link, v);
        for (int k = 0; k < 6; k++) below_at[k] += v <= y[k];
    }
    for (int k = 0; k < 6; k++) {
        double sd = sqrt(at[k] * (1 - at[k]) / DRAWS);
        assert_close(below_at[k] / DRAWS, at[k], 4 * sd);
    }
    mixture_release(&m);
}

/* Values out of line: of any size, in their share. */
static void wild_parts(void **state) {
    struct mixture m = {0};
    for (int k = 0; k < 3; k++) {
        double sum = 0, first = 0, second = 0, step = 0.01, wild = 0.1 * k;
        mixture_clear(&m);
        mixture_add(&m, (struct mixture_part){MIXTURE_NORMAL, 1 - wild, 1, 2, 0, NULL});
        mixture_add(&m, (struct mixture_part){MIXTURE_WILD, wild, 1, 20, 0, NULL});
        for (double y = -200; y < 200; y += step) {
            double density = exp(mixture_log_score(&m, y)) * step;
            sum += density, first += y * density, second += y * y * density;
        }
        assert_close(sum, 1, 1e-4); /* but for slips of any size */
        assert_close(first, mixture_mean(&m), 0.01);
        assert_close(sqrt(second - first * first), mixture_sd(&m), 0.02);
        if (k) assert_true(mixture_log_score(&m, 1e9) > -70);
    }
    mixture_release(&m);
}

struct rate {
    double rate, size, weight;
};

static double by_hand(struct rate r, double k) {
    double q = r.rate / (r.rate + r.size);
    if (r.size > 1e8) return exp(k * log(r.rate) - r.rate - lgamma(k + 1));
    return exp(lgamma(k + r.size) - lgamma(r.size) - lgamma(k + 1) + k * log(q) +
               r.size * log1p(-q));
}

static void add_rate(struct mixture *m, struct rate r) {
    mixture_add(m, (struct mixture_part){MIXTURE_COUNT, r.weight, r.rate, 0, r.size, NULL});
}

/* Rates in the table and beyond it, sizes from wild to Poisson. */
static void counts(void **state) {
    static const struct rate rates[] = {{0.02, 3, 1},  {0.7, 0.4, 2}, {3, 1e9, 1},
                                        {90, 12, 0.5}, {700, 50, 1},  {2000, 1e9, 0.25}};
    struct mixture m = {0};
    double mean = 0, total = 0, sum = 0, q[] = {0.025, 0.5, 0.9, 0.975}, want[4] = {-1, -1, -1, -1};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        add_rate(&m, rates[i]);
        mean += rates[i].weight * rates[i].rate;
        total += rates[i].weight;
    }
    for (int k = 0; k < 4000; k++) {
        double p = 0;
        for (size_t i = 0; i < COUNT_OF(rates); i++)
            p += rates[i].weight * by_hand(rates[i], k) / total;
        sum += p;
        assert_close(exp(mixture_log_score(&m, k)), p, 1e-9);
        assert_close(mixture_cdf(&m, k + 0.5), sum, 1e-9);
        for (int j = 0; j < 4; j++)
            if (want[j] < 0 && sum >= q[j] + 1e-9) want[j] = k;
    }
    assert_close(sum, 1, 1e-6);
    for (int j = 0; j < 4; j++) assert_close(mixture_quantile(&m, q[j]), want[j], 0);
    assert_close(mixture_mean(&m), mean / total, 1e-9);
    assert_true(isinf(mixture_log_score(&m, 2.5)) && isinf(mixture_log_score(&m, -1)));
    mixture_clear(&m);
    add_rate(&m, (struct rate){INFINITY, 3, 1}); /* a rate beyond all numbers */
    assert_true(isinf(mixture_quantile(&m, 0.5)));
    for (int poisson = 0; poisson < 2; poisson++) { /* a rate below all numbers: no count but 0 */
        mixture_clear(&m);
        add_rate(&m, (struct rate){0, poisson ? 1e9 : 3, 1});
        assert_close(mixture_log_score(&m, 0), 0, 1e-12);
        assert_true(mixture_log_score(&m, 1) < -200);
        assert_close(mixture_quantile(&m, 0.975), 0, 0);
    }
    mixture_release(&m);
}

static void chances(void **state) {
    struct mixture m = {0};
    mixture_add(&m, (struct mixture_part){MIXTURE_CHANCE, 1, 0.2, 0, 0, NULL});
    mixture_add(&m, (struct mixture_part){MIXTURE_CHANCE, 3, 0.6, 0, 0, NULL});
    assert_close(mixture_mean(&m), 0.5, 1e-15);
    assert_close(mixture_log_score(&m, 1), log(0.5), 1e-15);
    assert_true(mixture_quantile(&m, 0.49) == 0 && mixture_quantile(&m, 0.51) == 1);
    assert_close(mixture_crps(&m, 1), 0.25, 1e-12); /* the square of the other's chance */
    mixture_release(&m);
}

/* Ratings from 1 to 5: the levels' probabilities are all there is, quantiles are levels. */
static void levels(void **state) {
    const struct mixture_written ratings = {false, 1, 1, 5}, whole = {true, 0, 0, INFINITY};
    struct mixture m = {.written = &ratings};
    mixture_add(&m, (struct mixture_part){.weight = 1, .mean = 3.4, .sd = 1.2, .par = 4});
    double sum = 0, upto = 0;
    for (double y = 1; y <= 5; y++) {
        double p = exp(mixture_log_score(&m, y));
        assert_true(mixture_quantile(&m, upto + 0.5 * p) == y);
        sum += p, upto += p;
    }
    assert_close(sum, 1, 1e-12);
    m.written = &whole;
    assert_true(mixture_quantile(&m, 1e-6) == 0 && mixture_quantile(&m, 0.5) == 3);
    mixture_release(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles_are_inverse),
                                       cmocka_unit_test(quantiles_without_a_density),
                                       cmocka_unit_test(log_scores_are_densities),
                                       cmocka_unit_test(crps_is_its_integral),
                                       cmocka_unit_test(draws_have_the_distribution),
                                       cmocka_unit_test(wild_parts),
                                       cmocka_unit_test(counts),
                                       cmocka_unit_test(chances),
                                       cmocka_unit_test(levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
