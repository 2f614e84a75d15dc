/* SPDX-License-Identifier: Apache-2.0
 *
 * See charts.h.
 */
#include "apps/discover/charts.h"
#include "apps/discover/words.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

static struct plot_panel *dated_panel(const struct discovery *d, struct plot_scene *s,
                                      const char *title) {
    struct plot_panel *p = plot_panel_add(s, title);
    if (series_dated(&d->series))
        p->x.time = strcmp(d->series.unit, "day") ? PLOT_TIME_YEARS : PLOT_TIME_DAYS;
    return p;
}

/* Values are modelled on the log scale, and the forecast leaves them so far behind that they would
 * lie on the axis: the chart is logarithmic, too. */
static bool wide_forecast(const struct discovery *d) {
    double most = 0, limit = 0;
    if (!words_log(d)) return false;
    for (size_t i = 0; i < d->series.n; i++) most = fmax(most, d->series.y[i]);
    for (size_t i = 0; i < d->fit.n; i++) limit = fmax(limit, d->fit.hi[i]);
    return limit > 5 * most;
}

struct plot_panel *chart_forecast(const struct discovery *d, struct plot_scene *s,
                                  const char *title) {
    size_t n = d->series.n, h = d->fit.n - n;
    const struct prediction *p = &d->fit;
    const double *line = discovery_line(d);
    struct plot_panel *panel = dated_panel(d, s, title);
    plot_axis_labels(panel, d->series.time_name, d->series.value_name);
    panel->y.log = wide_forecast(d);
    bool band = !d->data.truths; /* of 0 and 1 it says less than their chance */
    if (band)
        plot_band(panel, NULL, n, p->x, p->lo, p->hi,
                  (struct plot_style){.colour = PLOT_SKY, .opacity = 0.25});
    if (band)
        plot_band(panel, "forecast interval", h + 1, p->x + n - 1, p->lo + n - 1, p->hi + n - 1,
                  (struct plot_style){.colour = PLOT_VERMILION, .opacity = 0.25});
    plot_xy(panel, PLOT_LINE, "fit", n, p->x, line,
            (struct plot_style){.colour = PLOT_SKY, .width = 1.2});
    plot_xy(panel, PLOT_LINE, "forecast", h + 1, p->x + n - 1, line + n - 1,
            PLOT_COLOUR(PLOT_VERMILION));
    plot_xy(panel, PLOT_POINTS, "data", n, d->series.x, d->series.y,
            (struct plot_style){.colour = PLOT_BLACK, .width = n > 300 ? 1.3 : 2});
    if (d->hold.n)
        plot_xy(panel, PLOT_POINTS, "held out", d->hold.n, d->hold.pred.x, d->hold.y,
                (struct plot_style){.colour = PLOT_GREEN, .width = 2});
    return panel;
}

void chart_part_interval(const struct series_part *p, size_t n, double *lo, double *hi) {
    for (size_t i = 0; i < n; i++) {
        lo[i] = p->mean[i] - 1.96 * p->sd[i];
        hi[i] = p->mean[i] + 1.96 * p->sd[i];
    }
}

struct plot_panel *chart_part(const struct discovery *d, int part, struct plot_scene *s,
                              const char *title) {
    const struct series_part *p = &d->dec.part[part];
    size_t n = d->dec.n;
    double *lo = NEW_ARRAY(double, 2 * n), *hi = lo + n;
    bool logs = words_log(d);
    struct plot_panel *panel = dated_panel(d, s, title);
    chart_part_interval(p, n, lo, hi);
    plot_axis_labels(panel, d->series.time_name,
                     logs ? "effect (log scale units)" : d->series.value_name);
    plot_band(panel, NULL, n, d->dec.x, lo, hi,
              (struct plot_style){.colour = PLOT_BLUE, .opacity = 0.2});
    plot_xy(panel, PLOT_LINE, NULL, n, d->dec.x, p->mean, PLOT_COLOUR(PLOT_BLUE));
    plot_rule(panel, PLOT_RULE_X, NULL, d->series.x[d->series.n - 1],
              (struct plot_style){.colour = PLOT_GREY, .dashed = true});
    mem_free(lo);
    return panel;
}

/* ---- the picture of a whole run ---- */

static bool wanted(const char *const *only, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(only[i], name)) return true;
    return n == 0;
}

/* Whether something has this name. */
static bool is_known(const struct discovery *d, const char *name, struct buf *all) {
    bool known = !strcmp(name, "forecast");
    buf_puts(all, "forecast");
    for (int k = 0; k < d->dec.n_parts; k++) {
        struct buf own = BUF_INIT;
        if (d->dec.part[k].term == SMODEL_CONSTANT) continue;
        describe_name(d, d->dec.part[k].term, &own);
        known |= !strcmp(own.data, name);
        buf_printf(all, ", %s", own.data);
        buf_release(&own);
    }
    return known;
}

enum gpm_status discovery_scene(const struct discovery *d, const char *const *only, size_t n_only,
                                struct plot_scene **out, struct buf *err) {
    for (size_t i = 0; i < n_only; i++) {
        struct buf all = BUF_INIT;
        bool known = is_known(d, only[i], &all);
        if (!known) buf_printf(err, "there is no '%s' to draw, but: %s", only[i], all.data);
        buf_release(&all);
        if (!known) return GPM_E_ARG;
    }
    struct plot_scene *s = plot_scene_new(NULL, "Data and forecast, then the components", 1);
    struct buf title = BUF_INIT;
    if (wanted(only, n_only, "forecast")) {
        buf_puts(&title, "Data and forecast: ");
        buf_line(&title, d->series.value_name);
        chart_forecast(d, s, title.data);
    }
    for (int k = 0; k < d->dec.n_parts; k++) {
        int term = d->dec.part[k].term;
        struct buf name = BUF_INIT;
        if (term == SMODEL_CONSTANT) continue;
        describe_name(d, term, &name);
        buf_reset(&title);
        buf_printf(&title, "%s: ", name.data);
        if (term >= 0)
            describe_headline(d, term, &title);
        else
            buf_puts(&title, "effect of another column");
        if (wanted(only, n_only, name.data)) chart_part(d, k, s, title.data);
        buf_release(&name);
    }
    buf_release(&title);
    *out = s;
    return GPM_OK;
}
