/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of the structure learner as programs of the language that do them again.
 */
#include "apps/discover/discovery.h"
#include "apps/discover/every.h"
#include <string.h>

static void put_string(const char *text, struct buf *out) {
    buf_json_string(out, text, strlen(text)); /* the language's strings escape alike */
}

/* structure_model(...), read_series(...): which values of which file. */
void program_series(const struct series *s, const struct series_options *o, struct buf *out) {
    const struct {
        const char *name, *text;
    } texts[] = {{"time", o->time},
                 {"column", o->value},
                 {"date_format", o->date_format},
                 {"decimal", o->decimal == DECIMAL_COMMA   ? "comma"
                             : o->decimal == DECIMAL_POINT ? "point"
                                                           : NULL},
                 {"missing", o->missing},
                 {"every", o->every},
                 {"take", o->take ? series_take_name(o->take) : NULL},
                 {"least", o->least},
                 {"most", o->most},
                 {"with", o->with},
                 {"smooth", o->smooth},
                 {"holidays", o->holidays}};
    put_string(s->name, out);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!texts[i].text) continue;
        buf_printf(out, ", %s=", texts[i].name);
        put_string(texts[i].text, out);
    }
    if (o->skip_bad) buf_puts(out, ", skip_bad=true");
    if (o->per_day) buf_puts(out, ", per_day=true");
    if (o->max_points) buf_printf(out, ", max_points=%zu", o->max_points);
}

/* The kernels that were asked for; nothing for the default set. */
static void put_kernels(unsigned factors, struct buf *out) {
    for (int f = 0, n = 0; f < FACTOR_MAX && factors; f++) {
        if (!(factors & FACTOR_BIT(f)) || factor_role(f) == KERN_ROLE_BREAK) continue;
        buf_printf(out, "%s%s", n++ ? " " : ",\n  kernels=\"", factor_name(f));
    }
    if (factors) buf_putc(out, '"');
}

void discovery_program(const struct discovery *d, struct buf *out) {
    const struct search *s = &d->search;
    const struct grammar *g = &series_space_of(s)->grammar;
    buf_printf(out,
               "// What gpmem discover ran; `gpmem run --seed %llu` does it again. The terms:\n//",
               (unsigned long long)d->opt.seed);
    for (int k = 0; k < g->n_terms; k++) {
        if (g->terms[k].at) continue;
        buf_putc(out, ' ');
        term_print(g->terms[k], out);
    }
    buf_printf(out, "; prior exp(%g x factors), at most %d terms, and WN\n", g->penalty,
               g->max_terms);
    buf_puts(out, "define model = structure_model(");
    program_series(&d->series, &d->opt.series, out);
    put_kernels(d->opt.factors, out);
    buf_printf(out, ",\n  changepoints=%s, log=\"%s\"", g->change ? "true" : "false",
               g->only_logs && !smodel_scale_hidden(&d->data) ? "always"
               : g->logs                                      ? "auto"
                                                              : "never");
    if (d->opt.holdout > 0) buf_printf(out, ", holdout=%.17g", d->opt.holdout);
    buf_puts(out, ");\n");
    buf_printf(out, "infer structure_search(model, draws=%zu", s->opt.draws);
    if (d->opt.seconds > 0) buf_printf(out, ", seconds=%g", d->opt.seconds);
    if (d->opt.precision) buf_printf(out, ", precision=\"%s\"", precision_names[d->opt.precision]);
    buf_printf(out, ");   // %zu structures, %ld likelihoods\n", s->n, s->evals);
    buf_puts(out, "infer structure_chains(model");
    if (d->opt.steps) buf_printf(out, ", steps=%zu", d->opt.steps);
    buf_printf(out, ");   // %d chains of %zu steps\n", d->post.n_chains, d->post.steps);
    buf_puts(out, "model;                                       // the table of structures\n"
                  "prob(trend, model);\nprob(recurring pattern, model);\nprob(noise, model);\n");
}
