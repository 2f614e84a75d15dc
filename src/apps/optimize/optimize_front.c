/* SPDX-License-Identifier: Apache-2.0
 * The front of several objectives for people: what is believed of its points under noise, and a
 * table of the page where one is picked by how much each objective matters. */
#include "base/mem.h"
#include "apps/optimize/optimize.h"

#include <math.h>
#include <string.h>

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

/* Each row has its objectives, small is good, from 0 (the best of the front) to 1 (the worst); the
 * script picks the row whose worst weighted objective is least. */
static const char picker[] =
    "<script>(function(){var t=document.getElementById('pick'),r=t.tBodies[0].rows,"
    "s=document.querySelectorAll('.weight');function pick(){var best=1/0,at=0;"
    "for(var i=0;i<r.length;i++){var y=r[i].dataset.y.split(' ').map(Number),w=-1/0;"
    "for(var j=0;j<y.length;j++)w=Math.max(w,s[j].value*(y[j]+.01));if(w<best){best=w;at=i}}"
    "for(var i=0;i<r.length;i++)r[i].className=i==at?'picked':''}"
    "for(var j=0;j<s.length;j++)s[j].addEventListener('input',pick);"
    "for(var i=0;i<r.length;i++)r[i].addEventListener('click',function(){"
    "for(var k=0;k<r.length;k++)r[k].className='';this.className='picked'});pick()})()</script>\n";

static void head(const struct optimize *o, struct buf *out) {
    buf_puts(out, "<p>Weigh the objectives, or click a row:</p>\n<p class=\"weights\">");
    for (int k = 0; k < o->goals.names.n; k++)
        if (o->goals.goal.at[k].direction)
            buf_printf(out,
                       "<label>%s <input class=\"weight\" type=\"range\" min=\"0.02\" max=\"1\" "
                       "step=\"0.02\" value=\"0.5\"></label> ",
                       goals_name(&o->goals, k));
    buf_puts(out, "</p>\n<div class=\"wide\"><table id=\"pick\"><thead><tr>");
    for (int k = 0; k < o->goals.names.n; k++)
        buf_printf(out, "<th>%s</th>", goals_name(&o->goals, k));
    for (int j = 0; j < o->space.n; j++) buf_printf(out, "<th>%s</th>", o->space.vars[j].name);
    buf_puts(out, "</tr></thead><tbody>\n");
}

static void row(const struct optimize *o, const struct optimize_eval *e, const double *mean,
                const double *sd, struct buf *out) {
    struct buf text = BUF_INIT;
    for (int k = 0, j = 0; k < o->goals.names.n; k++) {
        bool objective = o->goals.goal.at[k].direction != 0;
        if (objective && mean)
            buf_printf(out, "<td>%.5g ± %.2g</td>", mean[j], sd[j]);
        else
            buf_printf(out, "<td>%.6g</td>", e->values[k]);
        j += objective;
    }
    for (int j = 0; j < o->space.n; j++) {
        buf_reset(&text);
        bo_space_value(&o->space, j, e->x[j], 5, &text);
        buf_puts(out, "<td>");
        buf_markup(out, text.data);
        buf_puts(out, "</td>");
    }
    buf_puts(out, "</tr>\n");
    buf_release(&text);
}

void optimize_front_table(struct optimize *o, const size_t *index, size_t n, struct buf *out) {
    int first, m = goals_objectives(&o->goals, &first);
    size_t M = (size_t)m;
    double *y = NEW_ARRAY(double, 3 * n * M + 2 * M + 1), *mean = y + n * M, *sd = mean + n * M;
    double *low = sd + n * M, *high = low + M;
    bool known = optimize_front_belief(o, index, n, mean, sd);
    for (size_t j = 0; j < M; j++) low[j] = INFINITY, high[j] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!optimize_objectives(o, index[i], y + i * M)) continue;
        for (size_t j = 0; j < M; j++) {
            low[j] = fmin(low[j], y[i * M + j]);
            high[j] = fmax(high[j], y[i * M + j]);
        }
    }
    head(o, out);
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, "<tr data-y=\"");
        for (size_t j = 0; j < M; j++)
            buf_printf(out, "%s%.4f", j ? " " : "",
                       high[j] > low[j] ? (y[i * M + j] - low[j]) / (high[j] - low[j]) : 0);
        buf_puts(out, "\">");
        row(o, &o->trace.at[index[i]], known ? mean + i * M : NULL, sd + i * M, out);
    }
    buf_puts(out, "</tbody></table></div>\n");
    if (n) buf_puts(out, picker);
    mem_free(y);
}
