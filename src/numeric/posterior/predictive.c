/* SPDX-License-Identifier: Apache-2.0
 *
 * See predictive.h.
 */
#include "numeric/posterior/predictive.h"
#include "base/json.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

static const struct known_quantity known[] = {
    {"mean", draws_mean, 0, true}, {"sd", draws_sd, 0, true},    {"min", NULL, 0, true},
    {"max", NULL, 1, true},        {"median", NULL, 0.5, false},
};

const struct known_quantity *known_quantity_at(size_t i) {
    return i < COUNT_OF(known) ? &known[i] : NULL;
}

const struct known_quantity *known_quantity(const char *name) {
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (!strcmp(name, known[i].name)) return &known[i];
    return NULL;
}

double known_quantity_of(const struct known_quantity *k, const double *y, size_t n) {
    return k->fn ? k->fn(y, n) : draws_quantile(y, n, k->p);
}

void predictive_release(struct predictive *p) {
    for (size_t i = 0; i < p->q.n; i++) {
        mem_free(p->q.at[i].name);
        vec_release(&p->q.at[i].replicated);
    }
    for (size_t i = 0; i < p->shown.n; i++) vec_release(&p->shown.at[i]);
    vec_release(&p->q);
    vec_release(&p->shown);
    vec_release(&p->y);
}

void predictive_show(struct predictive *p, const double *y, size_t n) {
    enum { SHOWN = 40 };
    numbers copy = {0};
    if (p->shown.n == SHOWN) return;
    for (size_t i = 0; i < n; i++) vec_push(&copy, y[i]);
    vec_push(&p->shown, copy);
}

/* ---- from a table ---- */

/* The columns of a group. */
typedef VEC(size_t) places;
static void columns_of(const struct draw_table *d, enum draw_group group, places *out) {
    for (size_t j = 0; j < draw_table_columns(d); j++)
        if (draw_group_of(draw_table_name(d, j)) == group) vec_push(out, j);
}

static void add_replicates(const struct draw_table *d, const places *rep, struct predictive *out) {
    size_t rows = draw_table_rows(d), step = rows / (40 / d->chain.n + 1) + 1;
    double *y = NEW_ARRAY(double, rep->n + 1);
    for (size_t c = 0; c < d->chain.n; c++)
        for (size_t r = 0; r < rows; r++) {
            for (size_t k = 0; k < rep->n; k++) y[k] = draw_table_at(d, c, r, rep->at[k]);
            for (size_t i = 0; i < out->q.n; i++)
                vec_push(&out->q.at[i].replicated,
                         known_quantity_of(known_quantity(out->q.at[i].name), y, rep->n));
            if (r % step == 0) predictive_show(out, y, rep->n);
        }
    mem_free(y);
}

static bool all_there(const struct draw_table *d, const places *p) {
    for (size_t c = 0; c < d->chain.n; c++)
        for (size_t r = 0; r < draw_table_rows(d); r++)
            for (size_t k = 0; k < p->n; k++)
                if (number_is_absent(draw_table_at(d, c, r, p->at[k]))) return false;
    return true;
}

bool predictive_of_table(const struct draw_table *d, struct predictive *out, struct buf *why) {
    struct draw_table drawn;
    if (draw_table_draw(d, &drawn)) {
        bool good = predictive_of_table(&drawn, out, why);
        draw_table_release(&drawn);
        out->title = "posterior predictive check, of draws by weight";
        return good;
    }
    places rep = {0}, obs = {0};
    columns_of(d, DRAWS_REPLICATE, &rep);
    columns_of(d, DRAWS_OBSERVED, &obs);
    *out = (struct predictive){.title = "posterior predictive check"};
    if (!rep.n || !obs.n || !draw_table_rows(d))
        buf_puts(why, "there are no replicates; collect them and the data with the draws: "
                      "collect(mu, y_rep(), y_obs())");
    else if (rep.n != obs.n)
        buf_printf(why, "a replicate has %zu numbers and the data have %zu", rep.n, obs.n);
    else if (!all_there(d, &rep) || !all_there(d, &obs))
        buf_puts(why, "some draws lack part of the data or of their replicate");
    for (size_t k = 0; k < obs.n && !why->len; k++)
        vec_push(&out->y, draw_table_at(d, 0, 0, obs.at[k]));
    for (size_t i = 0; i < COUNT_OF(known) && !why->len; i++) {
        struct predictive_quantity q = {
            mem_strdup(known[i].name), known_quantity_of(&known[i], out->y.at, out->y.n), {0}};
        if (known[i].usual)
            vec_push(&out->q, q);
        else
            mem_free(q.name);
    }
    if (!why->len) add_replicates(d, &rep, out);
    vec_release(&rep);
    vec_release(&obs);
    return !why->len;
}

/* ---- report ---- */

/* Shares of the replicates that are at least, and at most, the observed quantity. */
static void tails(const struct predictive_quantity *q, double *at_least, double *at_most) {
    size_t up = 0, down = 0, n = q->replicated.n;
    for (size_t i = 0; i < n; i++) {
        up += q->replicated.at[i] >= q->observed;
        down += q->replicated.at[i] <= q->observed;
    }
    *at_least = (double)up / (double)n;
    *at_most = (double)down / (double)n;
}

/* One line: T(y), then mean, spread and quantiles of T(y'), then the p-value. */
static void add_row(const struct predictive_quantity *q, struct buf *out) {
    const double *x = q->replicated.at;
    size_t n = q->replicated.n;
    double p, other;
    tails(q, &p, &other);
    buf_printf(out, "%-12s %9.4g %10.4g %10.4g %10.4g %10.4g %10.4g %6.3f\n", q->name, q->observed,
               draws_mean(x, n), draws_sd(x, n), draws_quantile(x, n, 0.05),
               draws_quantile(x, n, 0.5), draws_quantile(x, n, 0.95), p);
}

/* Describes quantities for which fewer than 2.5% of the replicates lie on one side of the data. */
static void add_verdict(const struct predictive *c, struct buf *out) {
    size_t n = 0;
    buf_puts(out, "p: share of the replicates whose quantity is at least the observed one\n");
    for (size_t i = 0; i < c->q.n; i++) {
        double up, down;
        tails(&c->q.at[i], &up, &down);
        if (fmin(up, down) >= 0.025) continue;
        buf_printf(out, "%s%s", n++ ? ", " : "the model seldom makes such data, judged by ",
                   c->q.at[i].name);
    }
    if (n) buf_putc(out, '\n');
    bool moves = false;
    for (size_t i = 0; i < c->q.n; i++) {
        const struct predictive_quantity *q = &c->q.at[i];
        double margin = 1e-6 * fabs(q->observed);
        for (size_t j = 0; j < q->replicated.n; j++)
            moves |= !(fabs(q->replicated.at[j] - q->observed) <= margin);
    }
    if (!moves)
        buf_puts(out, "every replicate repeats the data: does the model leave them any noise?\n");
}

void predictive_text(const struct predictive *p, struct buf *out) {
    buf_printf(out, "%s: %zu observed values, %zu replicates\n", p->title, p->y.n,
               p->q.at[0].replicated.n);
    buf_printf(out, "%-12s %9s %10s %10s %10s %10s %10s %6s\n", "", "observed", "mean", "sd", "5%",
               "50%", "95%", "p");
    for (size_t i = 0; i < p->q.n; i++) add_row(&p->q.at[i], out);
    add_verdict(p, out);
}

void predictive_json(const struct predictive *p, struct buf *out) {
    buf_putc(out, '{');
    JSON(out, FIELD("observed_values", p->y.n), FIELD("replicates", p->q.at[0].replicated.n));
    buf_puts(out, ", \"quantities\": {");
    for (size_t i = 0; i < p->q.n; i++) {
        const struct predictive_quantity *q = &p->q.at[i];
        const double *x = q->replicated.at;
        size_t n = q->replicated.n;
        double at_least, at_most;
        tails(q, &at_least, &at_most);
        json_key(out, q->name);
        buf_putc(out, '{');
        JSON(out, FIELD("observed", q->observed), FIELD("mean", draws_mean(x, n)),
             FIELD("sd", draws_sd(x, n)), FIELD("q5", draws_quantile(x, n, 0.05)),
             FIELD("median", draws_quantile(x, n, 0.5)), FIELD("q95", draws_quantile(x, n, 0.95)),
             FIELD("p", at_least));
        buf_putc(out, '}');
    }
    buf_puts(out, "}}\n");
}

/* ---- pictures ---- */

typedef void curve_fn(struct plot_panel *p, const char *label, size_t n, const double *sample,
                      struct plot_style style);

/* The data over replicates, each drawn as a thin line. */
static void add_overlay(const struct predictive *p, struct plot_scene *s, const char *title,
                        const char *axis, curve_fn *curve) {
    struct plot_panel *panel = plot_panel_add(s, title);
    plot_axis_labels(panel, NULL, axis);
    for (size_t i = 0; i < p->shown.n; i++)
        curve(panel, i ? NULL : "replicated", p->shown.at[i].n, p->shown.at[i].at,
              (struct plot_style){.colour = PLOT_SKY, .width = 0.8, .opacity = 0.5});
    curve(panel, "observed", p->y.n, p->y.at,
          (struct plot_style){.colour = PLOT_VERMILION, .width = 2.2});
}

struct plot_scene *predictive_scene(const struct predictive *p, bool overlay) {
    struct buf title = BUF_INIT;
    buf_puts(&title, p->title);
    title.data[0] -= 'a' - 'A';
    struct plot_scene *s = plot_scene_new(
        overlay ? title.data : NULL,
        "Data beside replicated data: densities, distribution functions, test quantities", 2);
    buf_release(&title);
    if (overlay) {
        add_overlay(p, s, "data", "density", plot_density);
        add_overlay(p, s, "data", "share at most", plot_ecdf);
    }
    for (size_t i = 0; i < p->q.n; i++) {
        const struct predictive_quantity *q = &p->q.at[i];
        struct plot_panel *panel = plot_panel_add(s, q->name);
        if (overlay) plot_axis_labels(panel, NULL, "density");
        plot_histogram(panel, "replicated", q->replicated.n, q->replicated.at, 0,
                       PLOT_COLOUR(PLOT_BLUE));
        plot_rule(panel, PLOT_RULE_X, "observed", q->observed, PLOT_COLOUR(PLOT_VERMILION));
    }
    return s;
}
