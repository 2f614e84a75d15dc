/* SPDX-License-Identifier: Apache-2.0
 * The problems of bench_bo2, from the literature; see bo2_problems.h. */
#include "bo2_problems.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

static double sq(double x) {
    return x * x;
}

/* ---- smooth functions ---- */

static double branin2(double x, double y) {
    double a = y - 5.1 / (4 * PI * PI) * x * x + 5 / PI * x - 6;
    return a * a + 10 * (1 - 1 / (8 * PI)) * cos(x) + 10;
}
static void branin(const double *x, double *y) {
    y[0] = branin2(x[0], x[1]);
}

/* Parts first to last of four, with their weights. */
static double hartmann_sum(const double *x, int first, int last, const double *alpha) {
    static const double A[] = {10, 3,   17,  3.5, 1.7, 8, .05, 10, 17,  .1, 8,  14,
                               3,  3.5, 1.7, 10,  17,  8, 17,  8,  .05, 10, .1, 14};
    static const double P[] = {.1312, .1696, .5569, .0124, .8283, .5886, .2329, .4135,
                               .8307, .3736, .1004, .9991, .2348, .1451, .3522, .2883,
                               .3047, .6650, .4047, .8828, .8732, .5743, .1091, .0381};
    double s = 0;
    for (int i = first; i <= last; i++) {
        double e = 0;
        for (int j = 0; j < 6; j++) e += A[i * 6 + j] * sq(x[j] - P[i * 6 + j]);
        s -= alpha[i] * exp(-e);
    }
    return s;
}
static double hartmann(const double *x) {
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    return hartmann_sum(x, 0, 3, alpha);
}
static void hartmann6(const double *x, double *y) {
    y[0] = hartmann(x);
}
/* Six of a hundred variables matter. */
static void embedded(const double *x, double *y) {
    double z[6];
    for (int j = 0; j < 6; j++) z[j] = x[(17 * j + 5) % 100];
    y[0] = hartmann(z);
}

static double ackley_of(const double *x, int d) {
    double a = 0, b = 0;
    for (int i = 0; i < d; i++) a += x[i] * x[i] / d, b += cos(2 * PI * x[i]) / d;
    return -20 * exp(-0.2 * sqrt(a)) - exp(b) + 20 + exp(1);
}
static void ackley4(const double *x, double *y) {
    y[0] = ackley_of(x, 4);
}
static void ackley20(const double *x, double *y) {
    y[0] = ackley_of(x, 20);
}
static void ackley50(const double *x, double *y) {
    y[0] = ackley_of(x, 50);
}
static void rosenbrock20(const double *x, double *y) {
    y[0] = 0;
    for (int i = 0; i < 19; i++) y[0] += 100 * sq(x[i + 1] - x[i] * x[i]) + sq(1 - x[i]);
}
static void levy50(const double *x, double *y) {
    double w[50];
    for (int i = 0; i < 50; i++) w[i] = 1 + (x[i] - 1) / 4;
    y[0] = sq(sin(PI * w[0]));
    for (int i = 0; i < 49; i++) y[0] += sq(w[i] - 1) * (1 + 10 * sq(sin(PI * w[i] + 1)));
    y[0] += sq(w[49] - 1) * (1 + sq(sin(2 * PI * w[49])));
}

/* ---- bounds ---- */

static void branin_disk(const double *x, double *y) {
    branin(x, y);
    y[1] = sq(x[0] - 2.5) + sq(x[1] - 7.5) - 50;
}
static void gardner(const double *x, double *y) {
    y[0] = cos(2 * x[0]) * cos(x[1]) + sin(x[0]);
    y[1] = cos(x[0]) * cos(x[1]) - sin(x[0]) * sin(x[1]) + 0.5;
}
static void gramacy(const double *x, double *y) {
    y[0] = x[0] + x[1];
    y[1] = 1.5 - x[0] - 2 * x[1] - 0.5 * sin(2 * PI * (x[0] * x[0] - 2 * x[1]));
    y[2] = x[0] * x[0] + x[1] * x[1] - 1.5;
}
static void townsend(const double *x, double *y) {
    double t = atan2(x[0], x[1]);
    y[0] = -sq(cos((x[0] - 0.1) * x[1])) - x[0] * sin(3 * x[0] + x[1]);
    y[1] = x[0] * x[0] + x[1] * x[1] -
           sq(2 * cos(t) - cos(2 * t) / 2 - cos(3 * t) / 4 - cos(4 * t) / 8) - sq(2 * sin(t));
}
static void hartmann_ball(const double *x, double *y) {
    y[0] = hartmann(x);
    y[1] = -1;
    for (int j = 0; j < 6; j++) y[1] += x[j] * x[j];
}
static void vessel(const double *x, double *y) {
    y[0] = 0.6224 * x[0] * x[2] * x[3] + 1.7781 * x[1] * x[2] * x[2] + 3.1661 * x[0] * x[0] * x[3] +
           19.84 * x[0] * x[0] * x[2];
    y[1] = 0.0193 * x[2] - x[0];
    y[2] = 0.00954 * x[2] - x[1];
    y[3] = 1296000 - PI * x[2] * x[2] * x[3] - 4.0 / 3 * PI * x[2] * x[2] * x[2];
}
static void reducer(const double *x, double *y) {
    double a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5], g = x[6];
    y[0] = 0.7854 * a * b * b * (3.3333 * c * c + 14.9334 * c - 43.0934) -
           1.508 * a * (f * f + g * g) + 7.4777 * (f * f * f + g * g * g) +
           0.7854 * (d * f * f + e * g * g);
    y[1] = 27 / (a * b * b * c) - 1;
    y[2] = 397.5 / (a * b * b * c * c) - 1;
    y[3] = 1.93 * d * d * d / (b * c * f * f * f * f) - 1;
    y[4] = 1.93 * e * e * e / (b * c * g * g * g * g) - 1;
    y[5] = sqrt(sq(745 * d / (b * c)) + 16.9e6) / (110 * f * f * f) - 1;
    y[6] = sqrt(sq(745 * e / (b * c)) + 157.5e6) / (85 * g * g * g) - 1;
    y[7] = b * c / 40 - 1;
    y[8] = 5 * b / a - 1;
    y[9] = a / (12 * b) - 1;
    y[10] = (1.5 * f + 1.9) / d - 1;
    y[11] = (1.1 * g + 1.9) / e - 1;
}
static void beam(const double *x, double *y) {
    double h = x[0], l = x[1], t = x[2], b = x[3];
    double P = 6000, L = 14, E = 30e6, G = 12e6;
    double t1 = P / (sqrt(2) * h * l), M = P * (L + l / 2), R = sqrt(l * l / 4 + sq((h + t) / 2));
    double J = 2 * (sqrt(2) * h * l * (l * l / 12 + sq((h + t) / 2))), t2 = M * R / J;
    double tau = sqrt(t1 * t1 + t1 * t2 * l / R + t2 * t2);
    y[0] = 1.10471 * h * h * l + 0.04811 * t * b * (14 + l);
    y[1] = tau - 13600;
    y[2] = 6 * P * L / (b * t * t) - 30000;
    y[3] = h - b;
    y[4] = 4 * P * L * L * L / (E * t * t * t * b) - 0.25;
    y[5] = P - 4.013 * E * sqrt(sq(t) * pow(b, 6) / 36) / (L * L) *
                   (1 - t / (2 * L) * sqrt(E / (4 * G)));
}
static void spring(const double *x, double *y) {
    double w = x[0], d = x[1], n = x[2];
    y[0] = (n + 2) * d * w * w;
    y[1] = 1 - d * d * d * n / (71785 * pow(w, 4));
    y[2] = (4 * d * d - w * d) / (12566 * (d * w * w * w - pow(w, 4))) + 1 / (5108 * w * w) - 1;
    y[3] = 1 - 140.45 * w / (d * d * n);
    y[4] = (w + d) / 1.5 - 1;
}
static const double vessel_box[] = {0, 10, 0, 10, 10, 50, 150, 200};
static const double reducer_box[] = {2.6, 3.6, .7,  .8,  17,  28, 7.3,
                                     8.3, 7.3, 8.3, 2.9, 3.9, 5,  5.5};
static const double beam_box[] = {.125, 10, .1, 10, .1, 10, .1, 10};
static const double spring_box[] = {.05, 2, .25, 1.3, 2, 15};
static const double townsend_box[] = {-2.25, 2.25, -2.5, 1.75};

/* ---- several objectives ---- */

static void branin_currin(const double *x, double *y) {
    double a = x[0], b = x[1];
    y[0] = branin2(15 * a - 5, 15 * b);
    double cut = b > 0 ? 1 - exp(-0.5 / b) : 1;
    y[1] = cut * (2300 * a * a * a + 1900 * a * a + 2092 * a + 60) /
           (100 * a * a * a + 500 * a * a + 4 * a + 20);
}
static void zdt1(const double *x, double *y) {
    double g = 1;
    for (int i = 1; i < 4; i++) g += 9 * x[i] / 3;
    y[0] = x[0];
    y[1] = g * (1 - sqrt(x[0] / g));
}
static void zdt2(const double *x, double *y) {
    double g = 1;
    for (int i = 1; i < 4; i++) g += 9 * x[i] / 3;
    y[0] = x[0];
    y[1] = g * (1 - sq(x[0] / g));
}
static void dtlz2(const double *x, double *y) {
    double g = 0;
    for (int i = 1; i < 6; i++) g += sq(x[i] - 0.5);
    y[0] = (1 + g) * cos(x[0] * PI / 2);
    y[1] = (1 + g) * sin(x[0] * PI / 2);
}
static void vehicle(const double *x, double *y) {
    double a = x[0], b = x[1], c = x[2], d = x[3], e = x[4];
    y[0] =
        1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e;
    y[1] = 6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d +
           0.0861 * a * e + 0.3628 * b * d - 0.1106 * a * a - 0.3437 * c * c + 0.1764 * d * d;
    y[2] = -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c -
           0.0118 * b * d - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b * b + 0.0109 * d * d;
}
static const double bc_ref[] = {18, 6}, zdt_ref[] = {11, 11}, dtlz_ref[] = {1.1, 1.1};
static const double vehicle_ref[] = {1864.72022, 11.81993945, 0.2903999384};

/* ---- hard shapes ---- */

/* Mixes all coordinates: reflections make an orthogonal matrix. */
static void turn(const double *x, int d, double shift, double *z) {
    for (int i = 0; i < d; i++) z[i] = x[i] - shift * sin(3.0 * i + 1);
    for (int r = 1; r <= 3; r++) {
        double dot = 0, norm = 0;
        for (int i = 0; i < d; i++) {
            double v = sin(1.7 * r * (i + 1) + r * r);
            dot += v * z[i], norm += v * v;
        }
        for (int i = 0; i < d; i++) z[i] -= 2 * dot / norm * sin(1.7 * r * (i + 1) + r * r);
    }
}
static void ellipsoid10(const double *x, double *y) {
    double z[10];
    turn(x, 10, 2, z);
    y[0] = 0;
    for (int i = 0; i < 10; i++) y[0] += pow(10, 6.0 * i / 9) * z[i] * z[i];
}
static void cigar10(const double *x, double *y) {
    double z[10];
    turn(x, 10, 2, z);
    y[0] = z[0] * z[0];
    for (int i = 1; i < 10; i++) y[0] += 1e6 * z[i] * z[i];
}
static void weierstrass5(const double *x, double *y) {
    double z[5], f0 = 0;
    for (int k = 0; k < 12; k++) f0 += pow(.5, k) * cos(PI * pow(3, k));
    for (int i = 0; i < 5; i++) z[i] = x[i] - 1.3 * sin(2.0 * i + 1);
    y[0] = 0;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 12; k++)
            y[0] += pow(.5, k) * cos(2 * PI * pow(3, k) * (z[i] / 4 + .5)) / 5;
    y[0] = 10 * pow(fabs(y[0] - f0), 3);
}
/* Twenty-one hills of different widths. */
static void gallagher5(const double *x, double *y) {
    double best = 0;
    for (int i = 0; i < 21; i++) {
        double w = i ? 1.1 + 8 * (i - 1) / 19.0 : 10, e = 0, a = pow(1000, (i * 7 % 21) / 20.0);
        for (int j = 0; j < 5; j++) {
            double c = 4.5 * sin(12.9898 * (i + 1) + 78.233 * (j + 1) * (i + 2));
            e += pow(a, 0.5 * (j / 4.0) - 0.25) * sq(x[j] - c);
        }
        best = fmax(best, w * exp(-e / 10));
    }
    y[0] = sq(10 - best);
}

/* ---- mixed spaces ---- */

static void integers10(const double *x, double *y) {
    y[0] = 0;
    for (int i = 0; i < 10; i++) y[0] += (i + 1) * sq(x[i] - round(30 + 25 * sin(i + 1.0)));
}
static const char integers_space[] =
    "a=0:100:int\nb=0:100:int\nc=0:100:int\nd=0:100:int\ne=0:100:int\nf=0:100:int\ng=0:100:int\n"
    "h=0:100:int\ni=0:100:int\nj=0:100:int\n";
static void logs10(const double *x, double *y) {
    y[0] = 0;
    for (int i = 0; i < 10; i++) y[0] += sq(log10(x[i]) + 2 + 1.5 * sin(2.0 * i)) / 10;
}
static const char logs_space[] =
    "a=1e-5:10:log\nb=1e-5:10:log\nc=1e-5:10:log\nd=1e-5:10:log\ne=1e-5:10:log\nf=1e-5:10:log\n"
    "g=1e-5:10:log\nh=1e-5:10:log\ni=1e-5:10:log\nj=1e-5:10:log\n";
/* One of twenty categories with two numbers, whose optimum moves with the category. */
static void categories20(const double *x, double *y) {
    double h = fabs(sin(7.3 * (x[0] + 1))), u = .5 + .3 * sin(x[0]), v = .5 + .3 * cos(2 * x[0]);
    y[0] = .6 * (h - fabs(sin(7.3 * 4))) * (h - fabs(sin(7.3 * 4))) + (x[0] != 3) * .1 +
           sq(x[1] - u) + sq(x[2] - v);
}
static const char categories_space[] = "c=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t\nx=0:1\ny=0:1\n";
/* A classifier's settings, of which some matter only for some kinds. */
static void tuning(const double *x, double *y) { /* kind, lin_c, rbf_c, rbf_gamma, depth, trees */
    int kind = (int)x[0];
    double lc = log10(x[1]), rc = log10(x[2]), rg = log10(x[3]);
    if (kind == 0) y[0] = .12 + .01 * sq(lc - .3);
    if (kind == 1)
        y[0] = .02 + .012 * sq(rc - 1.2) + .02 * sq(rg + 1.7) + .008 * (rc - 1.2) * (rg + 1.7);
    if (kind == 2) y[0] = .05 + .002 * sq(x[4] - 9) + .03 * exp(-x[5] / 60);
}
static const char tuning_space[] =
    "kind=linear,rbf,forest\nlin_c=1e-3:1e3:log when kind=linear\nrbf_c=1e-3:1e3:log when "
    "kind=rbf\n"
    "rbf_gamma=1e-5:10:log when kind=rbf\ndepth=1:20:int when kind=forest\n"
    "trees=10:300:int when kind=forest\n";

/* ---- a fidelity: the last variable s, 1 is the function meant (Wu, Toscano-Palmerin, Frazier and
 * Wilson 2019, augmented functions) ---- */

static void cheap_branin(const double *x, double *y) {
    double u = x[0], v = x[1], s = x[2];
    double a = v - (5.1 / (4 * PI * PI) - 0.1 * (1 - s)) * u * u + 5 / PI * u - 6;
    y[0] = a * a + 10 * (1 - 1 / (8 * PI)) * cos(u) + 10;
}
static const char cheap_branin_space[] = "x1=-5:10\nx2=0:15\ns=0.05:1:fidelity\n";
/* Hartmann-6 with the first weight lowered by 0.1 (1 - s). */
static void cheap_hartmann(const double *x, double *y) {
    double less[1] = {-0.1 * (1 - x[6])};
    y[0] = hartmann(x) + hartmann_sum(x, 0, 0, less);
}
static const char cheap_hartmann_space[] =
    "x1=0:1\nx2=0:1\nx3=0:1\nx4=0:1\nx5=0:1\nx6=0:1\ns=0.05:1:fidelity\n";
/* A learner: the error falls with the epochs to what the settings can reach. */
static void epochs(const double *x, double *y) {
    double rate = log10(x[0]), decay = log10(x[1]), e = x[2];
    double reach =
        .04 * sq(rate + 2.2) + .02 * sq(decay + 3.5) + .01 * (rate + 2.2) * (decay + 3.5);
    y[0] = .05 + reach + .4 * exp(-e * 12 / (1 + .5 * sq(rate + 1.8)));
}
static const char epochs_space[] = "rate=1e-5:1:log\ndecay=1e-6:1:log\ne=0.02:1:fidelity\n";

/* What is cheap misleads: the valleys are elsewhere. */
static void elsewhere_branin(const double *x, double *y) {
    double s = x[2], u = x[0] + 5 * (1 - s), v = x[1] - 4 * (1 - s);
    double a = v - 5.1 / (4 * PI * PI) * u * u + 5 / PI * u - 6;
    y[0] = a * a + 10 * (1 - 1 / (8 * PI)) * cos(u) + 10;
}
/* A learner that is the better in the end the slower it is. */
static void patience(const double *x, double *y) {
    double rate = log10(x[0]), decay = log10(x[1]), e = x[2];
    double reach = .03 * sq(rate + 3) + .02 * sq(decay + 3.5);
    y[0] = .05 + reach + .5 * exp(-30 * e * pow(10, .5 * (rate + 2)));
}

#define F(name_, f_, d_, text, best_, budget_)                                                     \
    {                                                                                              \
        .name = name_, .family = "fidelity", .f = f_, .d = d_, .n_obj = 1, .space = text,          \
        .best = best_, .budget = budget_, .fidelity = true                                         \
    }
#define N(name_, f_, d_, lo_, hi_, box_, best_, share, iqr_, target_)                              \
    {                                                                                              \
        .name = name_, .family = "noise", .f = f_, .d = d_, .n_obj = 1, .lo = lo_, .hi = hi_,      \
        .box = box_, .best = best_, .noise = share, .iqr = iqr_, .budget = 100, .target = target_  \
    }
#define C(name_, f_, d_, con, lo_, hi_, box_, best_, target_)                                      \
    {                                                                                              \
        .name = name_, .family = "bounds", .f = f_, .d = d_, .n_obj = 1, .n_con = con, .lo = lo_,  \
        .hi = hi_, .box = box_, .best = best_, .budget = 100, .target = target_                    \
    }
#define M(name_, f_, d_, m, best_, ref_, untold_, target_)                                         \
    {                                                                                              \
        .name = name_, .family = "objectives", .f = f_, .d = d_, .n_obj = m, .lo = 0, .hi = 1,     \
        .best = best_, .ref = ref_, .untold = untold_, .budget = 100, .target = target_            \
    }
#define VEHICLE(name_, untold_)                                                                    \
    {                                                                                              \
        .name = name_, .family = "objectives", .f = vehicle, .d = 5, .n_obj = 3,                   \
        .box = vehicle_box, .best = 246.81607081187002, .ref = vehicle_ref, .untold = untold_,     \
        .budget = 100, .target = .0105                                                             \
    }
#define S(name_, f_, d_, text, best_, budget_, target_)                                            \
    {                                                                                              \
        .name = name_, .family = "spaces", .f = f_, .d = d_, .n_obj = 1, .space = text,            \
        .best = best_, .budget = budget_, .target = target_                                        \
    }
#define B(name_, family_, f_, d_, lo_, hi_, best_, target_)                                        \
    {                                                                                              \
        .name = name_, .family = family_, .f = f_, .d = d_, .n_obj = 1, .lo = lo_, .hi = hi_,      \
        .best = best_, .budget = 500, .target = target_                                            \
    }

static const double branin_box[] = {-5, 10, 0, 15};
static const double vehicle_box[] = {1, 3, 1, 3, 1, 3, 1, 3, 1, 3};

const struct problem problems[] = {
    N("Branin 5%", branin, 2, 0, 0, branin_box, .39788735772973816, .05, 64.1, .44),
    N("Branin 20%", branin, 2, 0, 0, branin_box, .39788735772973816, .2, 64.1, 1),
    N("Branin 50%", branin, 2, 0, 0, branin_box, .39788735772973816, .5, 64.1, 2.8),
    N("Hartmann-6 5%", hartmann6, 6, 0, 1, NULL, -3.322368011415515, .05, .295, .0078),
    N("Hartmann-6 20%", hartmann6, 6, 0, 1, NULL, -3.322368011415515, .2, .295, .03),
    N("Hartmann-6 50%", hartmann6, 6, 0, 1, NULL, -3.322368011415515, .5, .295, .03),
    N("Ackley-4 5%", ackley4, 4, -5, 10, NULL, 0, .05, 3.17, 0),
    N("Ackley-4 20%", ackley4, 4, -5, 10, NULL, 0, .2, 3.17, 0),
    C("Branin in a disk", branin_disk, 2, 1, 0, 0, branin_box, .39788735772973816, 1e-3),
    C("Gardner", gardner, 2, 1, 0, 6, NULL, -1.8887513614506, 1e-3),
    C("Gramacy", gramacy, 2, 2, 0, 1, NULL, .599788052, 1e-3),
    C("Townsend", townsend, 2, 1, 0, 0, townsend_box, -2.0239883624572, 0),
    C("Hartmann-6 in a ball", hartmann_ball, 6, 1, 0, 1, NULL, -3.322368011415515, 1e-3),
    C("Pressure vessel", vessel, 4, 3, 0, 0, vessel_box, 5885.3327736, .01),
    C("Speed reducer", reducer, 7, 11, 0, 0, reducer_box, 2994.471065685, .01),
    C("Welded beam", beam, 4, 5, 0, 0, beam_box, 1.7248523085, .01),
    C("Spring", spring, 3, 4, 0, 0, spring_box, .0126652328, .02),
    M("BraninCurrin", branin_currin, 2, 2, 59.36011874867746, bc_ref, false, .0105),
    M("ZDT1", zdt1, 4, 2, 121 - 1.0 / 3, zdt_ref, false, 1.2e-4),
    M("ZDT2", zdt2, 4, 2, 121 - 2.0 / 3, zdt_ref, false, 0),
    M("DTLZ2", dtlz2, 6, 2, 1.21 - PI / 4, dtlz_ref, false, .039),
    VEHICLE("Vehicle safety", false),
    M("BraninCurrin without reference", branin_currin, 2, 2, 59.36011874867746, bc_ref, true,
      .0105),
    M("ZDT1 without reference", zdt1, 4, 2, 121 - 1.0 / 3, zdt_ref, true, 1.2e-4),
    M("ZDT2 without reference", zdt2, 4, 2, 121 - 2.0 / 3, zdt_ref, true, 0),
    M("DTLZ2 without reference", dtlz2, 6, 2, 1.21 - PI / 4, dtlz_ref, true, .039),
    VEHICLE("Vehicle safety without reference", true),
    S("10 integers", integers10, 10, integers_space, 0, 100, 0),
    S("10 log scales", logs10, 10, logs_space, 0, 100, 0),
    S("20 categories", categories20, 3, categories_space, 0, 50, .12),
    S("Classifier tuning", tuning, 6, tuning_space, .02, 50, .0097),
    F("Cheap Branin", cheap_branin, 3, cheap_branin_space, .39788735772973816, 20),
    F("Cheap Hartmann-6", cheap_hartmann, 7, cheap_hartmann_space, -3.322368011415515, 40),
    F("Epochs", epochs, 3, epochs_space, .050005974237977126, 8),
    F("Elsewhere Branin", elsewhere_branin, 3, cheap_branin_space, .39788735772973816, 20),
    F("Patience", patience, 3, epochs_space, .05003658116073535, 8),
    B("Ackley-20", "many", ackley20, 20, -5, 10, 0, .01),
    B("Ackley-50", "many", ackley50, 50, -5, 10, 0, 3),
    B("Rosenbrock-20", "many", rosenbrock20, 20, -5, 10, 0, 36),
    B("Levy-50", "many", levy50, 50, -10, 10, 0, 18),
    B("Hartmann-6 of 100", "many", embedded, 100, 0, 1, -3.322368011415515, .12),
    B("Ellipsoid-10", "hard", ellipsoid10, 10, -5, 5, 0, 0),
    B("Bent cigar-10", "hard", cigar10, 10, -5, 5, 0, 0),
    B("Weierstrass-5", "hard", weierstrass5, 5, -5, 5, 0, .05),
    B("Gallagher-5", "hard", gallagher5, 5, -5, 5, 0, .7),
};
const size_t n_problems = sizeof problems / sizeof problems[0];
