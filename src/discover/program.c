/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of the structure learner as programs of the language that do them again.
 */
#include "discover/discovery.h"
#include "discover/paper.h"
#include <string.h>

static void put_string(const char *text, struct buf *out) {
    buf_json_string(out, text, strlen(text)); /* the language's strings escape alike */
}

/* structure_model(...), read_series(...): which values of which file. */
static void put_series(const struct series *s, const struct series_options *o, struct buf *out) {
    put_string(s->name, out);
    if (o->time) {
        buf_puts(out, ", time=");
        put_string(o->time, out);
    }
    if (o->value) {
        buf_puts(out, ", column=");
        put_string(o->value, out);
    }
    if (o->skip_bad) buf_puts(out, ", skip_bad=true");
    if (o->max_points != 1000) buf_printf(out, ", max_points=%zu", o->max_points);
}

static void put_kernels(const struct grammar *g, struct buf *out) {
    bool any = false;
    for (int f = 0; f < FACTOR_MAX; f++) {
        if (!(g->factors & FACTOR_BIT(f)) || factor_role(f) == KERN_ROLE_BREAK) continue;
        buf_printf(out, "%s%s", any ? " " : "", factor_name(f));
        any = true;
    }
}

void discovery_program(const struct discovery *d, struct buf *out) {
    const struct search *s = &d->search;
    const struct grammar *g = &series_space_of(s)->grammar;
    buf_printf(out,
               "// What gpmem discover ran; gpmem run --seed %llu does it again. The terms:\n//",
               (unsigned long long)d->opt.seed);
    for (int k = 0; k < g->n_terms; k++) {
        buf_putc(out, ' ');
        term_print(g->terms[k], out);
    }
    buf_printf(out, "; prior exp(%g x factors), at most %d terms, and WN\n", g->penalty,
               g->max_terms);
    buf_puts(out, "define model = structure_model(");
    put_series(&d->series, &d->opt.series, out);
    buf_puts(out, ",\n  kernels=\"");
    put_kernels(g, out);
    buf_printf(out, "\", changepoints=%s, log=\"%s\"", g->change ? "true" : "false",
               g->only_logs ? "always"
               : g->logs    ? "auto"
                            : "never");
    if (d->opt.holdout > 0) buf_printf(out, ", holdout=%.17g", d->opt.holdout);
    buf_puts(out, ");\n");
    buf_printf(out, "infer structure_search(model, draws=%zu", s->opt.draws);
    if (d->opt.seconds > 0) buf_printf(out, ", seconds=%g", d->opt.seconds);
    buf_printf(out, ");   // %zu structures, %ld likelihoods\n", s->n, s->evals);
    buf_printf(out, "infer structure_chains(model, steps=%zu);   // %d chains\n", d->post.steps,
               d->post.n_chains);
    buf_puts(out, "model;                                       // the table of structures\n"
                  "prob(trend, model);\nprob(recurring pattern, model);\nprob(noise, model);\n");
}

/* Base kernels are procedures, not kernels: which ones are chosen then does not depend on their
 * parameters, and a step of the parameters leaves the structure alone. */
static const char grammar_text[] =
    "assume lin = proc() { make_linear(theta_1) };\n"
    "assume per = proc() { make_periodic(theta_2, theta_3, theta_4) };\n"
    "assume se = proc() { make_squaredexp(theta_5, theta_6) };\n"
    "assume wn = proc() { make_noise(theta_7) };\n"
    "assume BK = list(lin, per, se, wn);\n"
    "assume select_primitive_kernels = proc(l) {\n"
    "  if is_null(l) { l } else {\n"
    "    if bernoulli() { pair(first(l), select_primitive_kernels(rest(l))) }\n"
    "    else { select_primitive_kernels(rest(l)) }\n"
    "  }\n"
    "};\n"
    "assume non_empty_selection = proc() {                // an empty selection is drawn again\n"
    "  let s = select_primitive_kernels(BK);\n"
    "  if is_null(s) { non_empty_selection() } else { s }\n"
    "};\n"
    "assume kernel_composer = proc(l) {\n"
    "  if (size(l) <= 1) { first(l)() } else {\n"
    "    if (bernoulli()) { add_funcs(first(l)(), kernel_composer(rest(l))) }\n"
    "    else { mult_funcs(first(l)(), kernel_composer(rest(l))) }\n"
    "  }\n"
    "};\n"
    "assume selection = tag(scope=\"grammar\", permute(non_empty_selection()));\n"
    "assume K = tag(scope=\"grammar\", kernel_composer(selection));\n"
    "assume f = make_gp(0, K);\n"
    "observe f(xs) = ys;\n";

void paper_program(const struct paper_result *r, const struct series *s,
                   const struct series_options *read, struct buf *out) {
    buf_puts(out, "// The paper's grammar and priors; the same posterior by moves between "
                  "structures\ndefine data = read_series(");
    put_series(s, read, out);
    buf_puts(out, ");\ndefine mean = proc(v) { sum(v) / size(v) };\n"
                  "define centred = proc(v) { let m = mean(v); mapv(proc(a) { a - m }, v) };\n"
                  "define y = centred(mapv(second, data));\n");
    buf_printf(out, "define xs = mapv(proc(a) { a * %.17g }, centred(mapv(first, data)));\n",
               r->opt.x_scale);
    if (r->opt.y_sd > 0)
        buf_printf(out,
                   "define ys = mapv(proc(a) { a * %.17g / sqrt(mean(mapv(proc(b) { b * b }, y))) "
                   "}, y);\n",
                   r->opt.y_sd);
    else
        buf_puts(out, "define ys = y;\n");
    for (int k = 1; k <= PAPER_PARS; k++)
        buf_printf(out, "assume theta_%d = tag(scope=\"hyper-parameters\", gamma(5, 1));\n", k);
    buf_puts(out, grammar_text);
    buf_puts(out, "define step = do(structure_mh(\"grammar\", all, \"hyper-parameters\", 20),\n"
                  "                 laplace_mh(\"hyper-parameters\", all, 1));\n"
                  "infer repeat(100, step);\n"
                  "define draws = run(accumulate_dataset(500, do(step, collect(struct(K)))));\n"
                  "tabulate(draws);\nprob(trend & recurring pattern & noise, draws);\n");
}
