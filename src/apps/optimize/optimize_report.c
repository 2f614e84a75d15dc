/* SPDX-License-Identifier: Apache-2.0
 * What an optimisation found: numbers of it, and JSON; for people: optimize_page.c. */
#include "base/json.h"
#include "base/mem.h"
#include "apps/optimize/optimize.h"
#include "apps/optimize/pareto.h"

#include <math.h>
#include <string.h>

size_t optimize_failed(const struct optimize *o) {
    size_t n = 0;
    for (size_t i = 0; i < o->trace.n; i++) n += !o->trace.at[i].values;
    return n;
}

/* Evaluations that keep the bounds. */
size_t optimize_within(const struct optimize *o) {
    size_t n = 0;
    for (size_t i = 0; i < o->trace.n; i++) {
        const double *y = o->trace.at[i].values;
        n += y && goals_met(&o->goals, y);
    }
    return n;
}

bool optimize_is_full(const struct optimize *o, const double *x) {
    for (int j = 0; j < o->space.n; j++)
        if (o->space.vars[j].fidelity && x[j] < o->space.vars[j].hi) return false;
    return true;
}

double optimize_cost(const struct optimize *o, const struct optimize_eval *e) {
    double cost = 1;
    for (int j = 0; j < o->space.n; j++)
        if (o->space.vars[j].fidelity) cost = e->x[j] / o->space.vars[j].hi;
    for (int k = 0; e->values && k < o->goals.names.n; k++)
        if (goals_place(&o->goals, k) < 0 && strcmp(goals_name(&o->goals, k), "cost") == 0)
            cost = e->values[k];
    return cost;
}

bool optimize_best(const struct optimize *o, double *x, double *y) {
    int n = goals_count(&o->goals);
    double *modelled = NEW_ARRAY(double, (size_t)n);
    bool any = bo_best(o->bo, x, modelled);
    for (int k = 0; any && y && k < n; k++) {
        int at = goals_place(&o->goals, k);
        y[k] = at < 0 ? NAN : modelled[at];
    }
    mem_free(modelled);
    return any;
}

bool optimize_objectives(const struct optimize *o, size_t i, double *y) {
    const double *v = o->trace.at[i].values;
    if (!v || !goals_met(&o->goals, v)) return false;
    for (int k = 0, m = 0; k < (int)o->goals.goal.n; k++)
        if (o->goals.goal.at[k].direction) y[m++] = o->goals.goal.at[k].direction * v[k];
    return true;
}

size_t optimize_front(const struct optimize *o, size_t *index) {
    int first, m = goals_objectives(&o->goals, &first);
    double *y = NEW_ARRAY(double, o->trace.n *(size_t)m + 1);
    size_t *at = NEW_ARRAY(size_t, o->trace.n + 1), n = 0, kept = 0;
    for (size_t i = 0; i < o->trace.n; i++)
        if (optimize_objectives(o, i, y + n * (size_t)m)) at[n++] = i;
    bool *keep = NEW_ARRAY(bool, n + 1);
    pareto_front(y, n, m, keep);
    for (size_t i = 0; i < n; i++) { /* in the order of the first objective */
        size_t j = kept;
        bool again = false; /* noisy: a point counts once */
        for (size_t k = 0; k < kept; k++)
            again = again || memcmp(o->trace.at[index[k]].x, o->trace.at[at[i]].x,
                                    (size_t)o->space.n * sizeof(double)) == 0;
        if (!keep[i] || again) continue;
        for (; j > 0 && o->trace.at[index[j - 1]].y > o->trace.at[at[i]].y; j--)
            index[j] = index[j - 1];
        index[j] = at[i];
        kept++;
    }
    mem_free(y);
    mem_free(at);
    mem_free(keep);
    return kept;
}

bool optimize_better(const struct optimize *o, double y, double best) {
    bool up = o->opt.maximize;
    int first;
    goals_objectives(&o->goals, &first);
    if (o->goals.names.n) up = o->goals.goal.at[first].direction < 0;
    return !isnan(y) && (isnan(best) || (up ? y > best : y < best));
}

/* Medians and half of the central 68% of the objectives at the points, m of each in turn. */
bool optimize_front_belief(struct optimize *o, const size_t *index, size_t n, double *mean,
                           double *sd) {
    static const double p[] = {0.15865525393145707, 0.5, 0.8413447460685429};
    int first, m = goals_objectives(&o->goals, &first), j = 0;
    if (!o->opt.noisy || !n) return false;
    size_t dim = (size_t)o->space.n;
    double *x = NEW_ARRAY(double, n *(dim + 3)), *q = x + n * dim;
    bool known = true;
    for (size_t i = 0; i < n; i++) memcpy(x + i * dim, o->trace.at[index[i]].x, dim * sizeof *x);
    for (int k = 0; k < o->goals.names.n && known; k++) {
        if (!o->goals.goal.at[k].direction) continue;
        known = bo_quantiles(o->bo, goals_place(&o->goals, k), x, n, p, 3, q);
        for (size_t i = 0; known && i < n; i++) {
            mean[i * (size_t)m + (size_t)j] = q[3 * i + 1];
            sd[i * (size_t)m + (size_t)j] = 0.5 * (q[3 * i + 2] - q[3 * i]);
        }
        j++;
    }
    mem_free(x);
    return known;
}

void optimize_put_point(const struct optimize *o, const double *x, int digits, struct buf *out) {
    for (int j = 0; j < o->space.n; j++) {
        buf_printf(out, " %s=", o->space.vars[j].name);
        bo_space_value(&o->space, j, x[j], digits, out);
    }
}

void optimize_put_numbers(const struct optimize *o, const double *y, int digits, struct buf *out) {
    for (int k = 0; k < goals_count(&o->goals); k++) {
        if (isnan(y[k])) continue;
        buf_putc(out, ' ');
        if (o->goals.names.n) buf_printf(out, "%s=", goals_name(&o->goals, k));
        if (digits)
            buf_printf(out, "%.*g", digits, y[k]);
        else
            buf_number(out, y[k]);
    }
}

/* ---- JSON ---- */

static void json_point(const struct optimize *o, const char *key, const double *x,
                       struct buf *out) {
    struct buf level = BUF_INIT;
    json_key(out, key);
    buf_putc(out, '{');
    for (int j = 0; j < o->space.n; j++) {
        const struct bo_var *v = &o->space.vars[j];
        buf_reset(&level);
        bo_space_value(&o->space, j, x[j], 0, &level);
        if (v->n_levels || v->labels)
            JSON(out, FIELD(v->name, level.data));
        else
            JSON(out, FIELD(v->name, x[j]));
    }
    buf_putc(out, '}');
    buf_release(&level);
}

/* "outputs": {..} where numbers have names. */
static void json_numbers_of(const struct optimize *o, const double *y, struct buf *out) {
    if (!o->goals.names.n) return;
    json_key(out, "outputs");
    buf_putc(out, '{');
    for (int k = 0; k < o->goals.names.n; k++)
        if (!isnan(y[k])) JSON(out, FIELD(goals_name(&o->goals, k), y[k]));
    buf_putc(out, '}');
    bool met = goals_met(&o->goals, y);
    if (goals_bounded(&o->goals)) JSON(out, FIELD("feasible", met));
}

/* "believed": {"f": {"mean": .., "sd": ..}} */
static void json_belief(const struct optimize *o, const double *mean, const double *sd,
                        struct buf *out) {
    json_key(out, "believed");
    buf_putc(out, '{');
    for (int k = 0, j = 0; k < o->goals.names.n; k++) {
        if (!o->goals.goal.at[k].direction) continue;
        json_key(out, goals_name(&o->goals, k));
        buf_putc(out, '{');
        JSON(out, FIELD("mean", mean[j]), FIELD("sd", sd[j]));
        buf_putc(out, '}');
        j++;
    }
    buf_putc(out, '}');
}

static void json_front(struct optimize *o, struct buf *out) {
    int first, m = goals_objectives(&o->goals, &first);
    if (m < 2) return;
    size_t *index = NEW_ARRAY(size_t, o->trace.n + 1), n = optimize_front(o, index);
    double *mean = NEW_ARRAY(double, 2 * n * (size_t)m + 1), *sd = mean + n * (size_t)m;
    bool known = optimize_front_belief(o, index, n, mean, sd);
    buf_puts(out, "  \"front\": [");
    for (size_t i = 0; i < n; i++) {
        const struct optimize_eval *e = &o->trace.at[index[i]];
        buf_printf(out, "%s\n    {\"id\": %lld", i ? "," : "", (long long)e->id);
        json_point(o, "x", e->x, out);
        json_numbers_of(o, e->values, out);
        if (known) json_belief(o, mean + i * (size_t)m, sd + i * (size_t)m, out);
        buf_putc(out, '}');
    }
    buf_puts(out, "\n  ],\n");
    mem_free(index);
    mem_free(mean);
}

static void json_trace(const struct optimize *o, struct buf *out) {
    double best = NAN;
    buf_puts(out, "  \"trace\": [");
    for (size_t i = 0; i < o->trace.n; i++) {
        const struct optimize_eval *e = &o->trace.at[i];
        bool counts = optimize_is_full(o, e->x) && !e->stopped;
        if (counts && optimize_better(o, e->y, best) && goals_met(&o->goals, e->values))
            best = e->y;
        buf_printf(out, "%s\n    {\"id\": %lld", i ? "," : "", (long long)e->id);
        json_point(o, "x", e->x, out);
        JSON(out, FIELD("y", e->y), FIELD("status", e->values ? "done" : "failed"),
             FIELD("best", best));
        if (e->values) json_numbers_of(o, e->values, out);
        buf_printf(out, ", \"seconds\": %.6g", e->seconds);
        if (e->given) JSON(out, FIELD("given", e->given));
        if (e->stopped) JSON(out, FIELD("stopped", e->stopped));
        if (e->error) JSON(out, FIELD("error", e->error));
        buf_putc(out, '}');
    }
    buf_puts(out, "\n  ]");
}

static void json_model(struct optimize *o, struct buf *out) {
    struct bo_summary s;
    size_t n = (size_t)o->space.n;
    double *first = NEW_ARRAY(double, 3 * n), *total = first + n, *sd = total + n;
    if (bo_summarise(o->bo, &s)) {
        buf_printf(out,
                   "  \"model\": {\"kernel\": \"%s\", \"warp\": \"%s\", \"points\": %zu, "
                   "\"noise_sd\": %.6g, \"coverage_50\": %.3f, \"coverage_90\": %.3f, "
                   "\"converged_optima\": %d},\n",
                   s.kernel, s.warp, s.n_model, s.noise_sd, s.coverage50, s.coverage90, s.tabu);
    }
    if (bo_sensitivity(o->bo, first, total, sd)) {
        buf_puts(out, "  \"sensitivity\": {");
        for (size_t j = 0; j < n; j++) {
            json_key(out, o->space.vars[j].name);
            buf_printf(out, "{\"first\": %.4f, \"total\": %.4f, \"sd\": %.4f}", first[j], total[j],
                       sd[j]);
        }
        buf_puts(out, "},\n");
    }
    mem_free(first);
}

static void json_variables(const struct optimize *o, struct buf *out) {
    struct buf text = BUF_INIT;
    bo_space_text(&o->space, &text);
    buf_puts(out, ",\n  \"variables\": [");
    for (char *p = text.data, *q; (q = strchr(p, '\n')); p = q + 1) {
        if (p != text.data) buf_puts(out, ", ");
        buf_json_string(out, p, (size_t)(q - p));
    }
    buf_putc(out, ']');
    buf_release(&text);
}

/* The numbers that are only kept, of the evaluation that has this point and these numbers. */
static void add_kept(const struct optimize *o, const double *x, double *y) {
    size_t bytes = (size_t)o->space.n * sizeof *x;
    for (size_t i = 0; i < o->trace.n; i++) {
        const struct optimize_eval *e = &o->trace.at[i];
        bool same = e->values && memcmp(e->x, x, bytes) == 0;
        for (int k = 0; same && k < goals_count(&o->goals); k++)
            same = isnan(y[k]) || e->values[k] == y[k];
        if (!same) continue;
        memcpy(y, e->values, (size_t)goals_count(&o->goals) * sizeof *y);
        return;
    }
}

void optimize_report_json(struct optimize *o, struct buf *out) {
    int first, count = goals_count(&o->goals);
    double *x = NEW_ARRAY(double, (size_t)(o->space.n + count)), *y = x + o->space.n, mean, sd;
    goals_objectives(&o->goals, &first);
    bool up = o->goals.names.n ? o->goals.goal.at[first].direction < 0 : o->opt.maximize;
    buf_printf(out, "{\n  \"goal\": \"%s\",\n  \"ended\": \"%s\",\n  \"seed\": %llu,\n  ",
               up ? "maximize" : "minimize", o->end, (unsigned long long)o->opt.seed);
    JSON(out, FIELD("function", o->memo->function));
    json_variables(o, out);
    buf_printf(out, ",\n  \"evaluations\": %zu,\n  \"failed\": %zu,\n", o->trace.n,
               optimize_failed(o));
    if (optimize_best(o, x, y)) {
        buf_puts(out, "  \"best\": {");
        json_point(o, "x", x, out);
        JSON(out, FIELD("y", y[first]));
        add_kept(o, x, y);
        json_numbers_of(o, y, out);
        buf_puts(out, "},\n  \"recommended\": {");
        if (!bo_recommend(o->bo, x, &mean, &sd)) mean = sd = NAN;
        json_point(o, "x", x, out);
        JSON(out, FIELD("mean", mean), FIELD("sd", sd));
        buf_puts(out, "},\n");
    } else {
        buf_puts(out, "  \"best\": null,\n  \"recommended\": null,\n");
    }
    bool seen = !o->opt.noisy && bo_noise_seen(o->bo, &sd);
    if (seen) buf_printf(out, "  \"noise_noticed\": %.6g,\n", sd);
    json_front(o, out);
    json_model(o, out);
    json_trace(o, out);
    buf_puts(out, "\n}\n");
    mem_free(x);
}
