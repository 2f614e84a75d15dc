/* SPDX-License-Identifier: Apache-2.0
 * Random numbers for random features; see kern_wave in kern_class.h. */
#include "gp/kern_tree.h"

#include "base/map.h"

#include <math.h>

double kern_normal(struct kern_wave *f) {
    if ((f->has_spare = !f->has_spare) == false) return f->spare;
    double u = f->uniform(f->user), r = sqrt(-2 * log(u > 0 ? u : 1e-300));
    double a = 2 * M_PI * f->uniform(f->user);
    f->spare = r * sin(a);
    return r * cos(a);
}

/* Marsaglia and Tsang (2000); shape below 1 by the power trick. */
double kern_gamma(struct kern_wave *f, double shape) {
    if (shape < 1)
        return kern_gamma(f, shape + 1) * pow(fmax(f->uniform(f->user), 1e-300), 1 / shape);
    double a = shape - 1.0 / 3, c = 1 / sqrt(9 * a);
    for (;;) {
        double x = kern_normal(f), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = f->uniform(f->user);
        if (log(fmax(u, 1e-300)) < 0.5 * x * x + a - a * v + a * log(v)) return a * v;
    }
}

double kern_sign(uint64_t key, double v) {
    v += 0.0; /* -0 is 0 */
    return hash_bytes(&v, sizeof v, key) & 1 ? 1 : -1;
}
