/* SPDX-License-Identifier: Apache-2.0
 *
 * The effects of other columns, averaged over structures and their parameters: a column that goes
 * along with a trend has a small and well-known effect given one structure and a large one given
 * another. Given a draw the effect is normal; the mixture of all has the moments and the interval,
 * and the mean of the draws' odds against an effect is the ratio of the evidences without and with
 * it.
 */
#include "base/mem.h"
#include "apps/discover/predict.h"
#include "numeric/la/parallel.h"
#include <math.h>
#include <string.h>

#define DRAWS 32

struct draw_effect {
    double change, var, prior;
};
struct effects {
    const struct posterior *p;
    const struct posterior_draw *draw;
    struct draw_effect *of; /* draws x columns */
    enum gpm_status *st;
    size_t n, columns;
};

static void run_draw(void *ctx, size_t job, int thread) {
    struct effects *x = ctx;
    const struct smodel *m = smodel_of(x->draw[job].e);
    struct gp *g;
    enum gpm_status st =
        smodel_condition(m, series_space_of(x->p->search)->work[thread], x->draw[job].z, &g);
    for (size_t j = 0; j < x->columns && !st; j++) {
        struct draw_effect *e = &x->of[job * x->columns + j];
        st = smodel_effect(m, g, (int)j, &e->change, &e->var, &e->prior);
        if (!st && !(e->var > 0)) st = GPM_E_NOT_PD;
    }
    x->st[job] = st;
}

static struct effect average(const struct effects *x, size_t j, double scale) {
    struct mixture m = {0};
    double odds = 0;
    for (size_t i = 0; i < x->n; i++) {
        const struct draw_effect *e = &x->of[i * x->columns + j];
        double w = x->draw[i].weight;
        if (x->st[i]) continue; /* it failed */
        mixture_add(&m, (struct mixture_part){.weight = w, .mean = e->change, .sd = sqrt(e->var)});
        odds += w * exp(-0.5 * e->change * e->change / e->var) * sqrt(e->prior / e->var);
    }
    struct effect of = {.change = scale * mixture_mean(&m),
                        .sd = scale * mixture_sd(&m),
                        .lo = scale * mixture_quantile(&m, 0.025),
                        .hi = scale * mixture_quantile(&m, 0.975),
                        .p = 1 / (1 + odds / m.total)};
    mixture_release(&m);
    return of;
}

enum gpm_status effects_average(const struct posterior *p, const struct evidence *e,
                                struct effect *out) {
    const struct smodel *top = smodel_of(e);
    int tr = top->s.transform;
    if (!top->data->reg) return GPM_OK;
    struct posterior_draw *draw;
    struct effects x = {.p = p, .columns = (size_t)top->data->reg->n};
    size_t n = posterior_draws(p, predict_draws(p->search, DRAWS), &draw), good = 0;
    for (size_t i = 0; i < n; i++)
        if (smodel_of(draw[i].e)->s.transform == tr) draw[x.n++] = draw[i];
    x.draw = draw;
    x.of = mem_zalloc((x.n * x.columns + 1) * sizeof *x.of);
    x.st = mem_zalloc((x.n + 1) * sizeof *x.st);
    la_parallel(p->search->opt.threads, x.n, run_draw, &x);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < x.n; i++) {
        good += !x.st[i];
        if (x.st[i] == GPM_E_NOMEM) st = GPM_E_NOMEM;
    }
    double scale = smodel_unit(top->data, tr);
    for (size_t j = 0; j < x.columns && good && !st; j++) out[j] = average(&x, j, scale);
    mem_free(x.of);
    mem_free(x.st);
    mem_free(draw);
    return st || good ? st : GPM_E_NOT_PD;
}
