/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the paper's program and reports what its search found: table, functional form, its four
 * sentences, JSON.
 */
#include "apps/discover/paper.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "apps/discover/discovery.h"
#include "apps/discover/every.h"
#include "apps/discover/program_space.h"
#include "gp/process/gp.h"
#include "gp/kernel/kern_class.h"
#include "inference/op/query.h"
#include <math.h>
#include <string.h>

#define JITTER 1e-9 /* of the mean variance: structures without noise are singular otherwise */

/* ---- the program ---- */
/* Base kernels are procedures, not kernels: which ones are chosen then does not depend on their
 * parameters, and a step of the parameters leaves the structure alone. The permutation is made of
 * coins, which can be enumerated: each kernel is put at a random place among those behind it. */
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
    "assume insert = proc(k, l) {\n"
    "  if is_null(l) { list(k) } else {\n"
    "    if bernoulli(1 / (1 + size(l))) { pair(k, l) } else { pair(first(l), insert(k, rest(l))) "
    "}\n"
    "  }\n"
    "};\n"
    "assume shuffle = proc(l) { if is_null(l) { l } else { insert(first(l), shuffle(rest(l))) } "
    "};\n"
    "assume kernel_composer = proc(l) {\n"
    "  if (size(l) <= 1) { first(l)() } else {\n"
    "    if (bernoulli()) { add_funcs(first(l)(), kernel_composer(rest(l))) }\n"
    "    else { mult_funcs(first(l)(), kernel_composer(rest(l))) }\n"
    "  }\n"
    "};\n"
    "assume selection = tag(scope=\"grammar\", shuffle(select_primitive_kernels(BK)));\n"
    "assume empty = is_null(selection);\n"
    "observe flip(if (empty) { 0 } else { 1 }) = true;   // conditions on a selection that is not "
    "empty\n"
    "assume K = tag(scope=\"grammar\", if (empty) { wn() } else { kernel_composer(selection) });\n"
    "assume f = make_gp(0, K);\n"
    "observe f(xs) = ys;\n";

/* All but the line that reads the data. */
static void put_model(const struct paper *p, struct buf *out) {
    buf_printf(out,
               "define mean = proc(v) { sum(v) / size(v) };\n"
               "define centred = proc(v) { let m = mean(v); mapv(proc(a) { a - m }, v) };\n"
               "define y = centred(mapv(second, data));\n"
               "define xs = mapv(proc(a) { a * %.17g }, centred(mapv(first, data)));\n",
               p->opt.x_scale);
    if (p->opt.y_sd > 0)
        buf_printf(out,
                   "define ys = mapv(proc(a) { a * %.17g / sqrt(mean(mapv(proc(b) { b * b }, y))) "
                   "}, y);\n",
                   p->opt.y_sd);
    else
        buf_puts(out, "define ys = y;\n");
    for (int k = 1; k <= 7; k++)
        buf_printf(out, "assume theta_%d = tag(scope=\"hyper-parameters\", gamma(5, 1));\n", k);
    buf_puts(out, grammar_text);
    buf_puts(out, "define model = run(structure_search(\"grammar\", \"hyper-parameters\"");
    if (p->opt.seconds > 0) buf_printf(out, ", seconds=%g", p->opt.seconds);
    buf_puts(out, "));\ninfer structure_chains(model);\n");
}

void paper_program(const struct paper *p, struct buf *out) {
    buf_printf(out,
               "// The paper's grammar and priors; `gpmem run --seed %llu` does it again\n"
               "define data = read_series(",
               (unsigned long long)p->opt.seed);
    program_series(&p->series, &p->read, out);
    buf_puts(out, ");\n");
    put_model(p, out);
    buf_puts(out, "tabulate(model);\nprob(trend & recurring pattern & noise, model);\n");
}

/* ---- the run ---- */
enum gpm_status paper_run(struct paper *p, struct series *s, const struct series_options *read,
                          const struct paper_options *o, struct buf *err) {
    struct buf text = BUF_INIT;
    double start = clock_seconds();
    unsigned long shortages = mem_shortages();
    memset(p, 0, sizeof *p);
    p->series = *s;
    p->read = series_options_copy(read);
    p->opt = *o;
    enum gpm_status st = session_init(&p->session, o->seed, 0);
    if (st == GPM_OK) {
        if (o->stop) p->session.core.limits.stop = o->stop;
        p->session.infer.finish = o->finish;
        session_define(&p->session, "data", series_pairs(s));
        put_model(p, &text);
        st = session_run(&p->session, "the paper's program", text.data, text.len);
    }
    if (st != GPM_OK && p->session.diags.list.n) diags_render(&p->session.diags, false, err);
    if (st == GPM_OK) p->post = structure_model_posterior(query_noted(&p->session.infer));
    p->seconds = clock_seconds() - start;
    buf_release(&text);
    st = search_not_stopped(o->stop, search_no_shortage(shortages, st, err), err);
    p->session.core.limits.stop = &p->session.interrupted;
    p->session.infer.finish = NULL;
    if (p->post) p->post->search->opt.finish = p->post->search->space->haste.finish = NULL;
    if (st != GPM_OK) paper_release(p);
    return st == GPM_E_USER ? GPM_E_NO_CONVERGENCE : st;
}

void paper_release(struct paper *p) {
    session_release(&p->session);
    series_release(&p->series);
    series_options_release(&p->read);
    memset(p, 0, sizeof *p);
}

/* ---- the most probable structure ---- */
/* Its kernel at the best parameters, simplified; NULL if missing. */
static struct kern *top_kernel(const struct paper *p) {
    const struct evidence *e = p->post->structures.at[0].best;
    struct kern *k = NULL, *simple = NULL;
    if (program_space_kernel(p->post->search->space, e, e->prop.mode[0].z, &k) == GPM_OK && k)
        simple = kern_simplify(k);
    kern_unref(k);
    return simple;
}

/* With three digits. */
static void formula(const struct paper *p, struct buf *out) {
    struct kern *k = top_kernel(p);
    struct buf full = BUF_INIT;
    if (k) kern_print(k, &full);
    for (char *at = full.data; at && *at;) {
        buf_putc(out, *at);
        if (*at++ == '=') buf_printf(out, "%.3g", number_read(at, &at));
    }
    buf_release(&full);
    kern_unref(k);
}

/* The same kernel with noise of size 0. */
static struct kern *without_noise(const struct kern *k) {
    size_t n = kern_nparam(k);
    double *theta = NEW_ARRAY(double, n + 1);
    const struct kern_param *noise = kern_class_find("WN")->par;
    kern_params(k, theta);
    for (size_t i = 0; i < n; i++)
        if (kern_param_at(k, i) == noise) theta[i] = 0;
    struct kern *signal = kern_with_params(k, theta, NULL);
    mem_free(theta);
    return signal;
}

/* Posterior mean and sd of the signal at the data, in the program's units. */
static enum gpm_status fit_signal(const struct paper *p, const double *x, const double *y,
                                  double *mean, double *sd) {
    size_t n = p->series.n;
    struct kern *all = top_kernel(p), *signal = all ? without_noise(all) : NULL;
    struct kern_pts at = {.x = x, .n = n, .ld = n, .dim = 1};
    double level = 0;
    memset(mean, 0, n * sizeof *mean);
    enum gpm_status st = all ? kern_diag(all, at, sd) : GPM_E_ARG;
    for (size_t i = 0; i < n && !st; i++) level += sd[i] / (double)n;
    memset(sd, 0, n * sizeof *sd);
    struct gp *g = st == GPM_OK ? gp_new(1, all, NULL, sqrt(JITTER * level), NULL) : NULL;
    if (g) st = gp_add(g, GP_MEASURED, x, y, n);
    if (g && st == GPM_OK && signal) st = gp_component(g, signal, x, n, mean, sd);
    for (size_t i = 0; i < n && !st; i++) sd[i] = sqrt(sd[i]);
    gp_free(g);
    kern_unref(all);
    kern_unref(signal);
    return st;
}

/* "fit": the posterior of the signal under the best kernel, in the user's units. */
static void fit_json(const struct paper *p, struct buf *out) {
    const struct series *s = &p->series;
    size_t n = s->n;
    double *x = NEW_ARRAY(double, 6 * n), *y = x + n, *mean = y + n, *sd = mean + n, *lo = sd + n,
           *hi = lo + n, mx = 0, my = 0, ss = 0;
    for (size_t i = 0; i < n; i++) mx += s->x[i] / (double)n, my += s->y[i] / (double)n;
    for (size_t i = 0; i < n; i++) ss += (s->y[i] - my) * (s->y[i] - my) / (double)n;
    double f = p->opt.y_sd > 0 ? p->opt.y_sd / sqrt(ss) : 1;
    for (size_t i = 0; i < n; i++) {
        x[i] = p->opt.x_scale * (s->x[i] - mx);
        y[i] = f * (s->y[i] - my);
    }
    if (fit_signal(p, x, y, mean, sd) == GPM_OK) {
        for (size_t i = 0; i < n; i++) {
            mean[i] = my + mean[i] / f;
            lo[i] = mean[i] - 1.96 * sd[i] / f;
            hi[i] = mean[i] + 1.96 * sd[i] / f;
        }
        buf_puts(out, "  \"fit\": {");
        json_numbers(out, "x", n, s->x);
        json_numbers(out, "mean", n, mean);
        json_numbers(out, "lo", n, lo);
        json_numbers(out, "hi", n, hi);
        buf_puts(out, "},\n");
    }
    mem_free(x);
}

/* ---- words ---- */
static const char *const sentences[][2] = {
    {"LIN", "a linearly increasing or decreasing function or trend"},
    {"PER", "a periodic function"},
    {"SE", "a smooth function"},
    {"WN", "white noise"},
    {"SE*PER", "an approximately periodic function"},
    {"LIN*WN", "heteroskedastic noise"},
};

static void describe(const char *structure, struct buf *out) {
    const char *term;
    size_t len;
    while ((term = structure_next_term(&structure, &len))) {
        const char *text = NULL;
        for (size_t i = 0; i < COUNT_OF(sentences); i++)
            if (strlen(sentences[i][0]) == len && !strncmp(sentences[i][0], term, len))
                text = sentences[i][1];
        if (text)
            buf_printf(out, "  - %s\n", text);
        else
            buf_printf(out, "  - a product of %.*s\n", (int)len, term);
    }
}

static void scaling(const struct paper *p, struct buf *out) {
    buf_printf(out, "x centred and multiplied by %g, y centred", p->opt.x_scale);
    if (p->opt.y_sd > 0) buf_printf(out, " and scaled to standard deviation %g", p->opt.y_sd);
}

/* ---- output ---- */
/* Prior and share of the chains' states of a structure. */
static void shares(const struct paper *p, const char *text, double *prior, double *sampled) {
    const struct posterior *q = p->post;
    size_t n = (size_t)q->n_chains * q->steps;
    *prior = *sampled = 0;
    for (size_t i = 0; i < q->search->n; i++)
        if (!strcmp(q->search->at[i]->text, text)) *prior += q->search->at[i]->prior;
    for (size_t i = 0; i < n; i++)
        *sampled += !strcmp(q->search->at[q->chain[i].structure]->text, text) / (double)n;
}

/* The probability of a derivation that is not empty. */
static double total_prior(const struct paper *p) {
    double sum = 0;
    for (size_t i = 0; i < p->post->search->n; i++) sum += p->post->search->at[i]->prior;
    return sum;
}

void paper_text(const struct paper *p, struct buf *out) {
    const struct posterior *q = p->post;
    const char *top = q->structures.at[0].text;
    buf_printf(out, "%s: %zu values", p->series.name, p->series.n);
    every_say(&p->series, out);
    buf_puts(out, "; the paper's grammar and Gamma(5,1) priors; ");
    scaling(p, out);
    buf_puts(out, "\n\nStructures: probability, error, exact sampler, prior, structure\n");
    for (size_t k = 0; k < q->structures.n; k++) {
        const struct post_entry *e = &q->structures.at[k];
        double prior, sampled;
        if (k > 0 && e->p < 0.0005) break;
        shares(p, e->text, &prior, &sampled);
        buf_printf(out, "  %.4f  %.4f  %.4f  %.4f  %s\n", e->p, e->error, sampled,
                   prior / total_prior(p), e->text);
    }
    buf_printf(out, "\nThe posterior peaks at %s:\n", top);
    describe(top, out);
    buf_puts(out, "\n  ");
    formula(p, out);
    buf_printf(out, "\n\n%s%s; acceptance %.2f\n%.1f s, seed %llu\n",
               q->settled ? "" : "NOT SETTLED: ", q->verdict, q->acceptance, p->seconds,
               (unsigned long long)p->opt.seed);
}

static void kernels_json(const struct paper *p, struct buf *out) {
    const struct search *s = p->post->search;
    buf_puts(out, "  \"kernels\": [\n");
    for (size_t i = 0; i < s->n; i++) {
        const struct evidence *e = s->at[i];
        buf_puts(out, "    {");
        JSON(out, FIELD("kernel", e->derived), FIELD("prior", e->prior / total_prior(p)),
             FIELD("log_evidence", isfinite(e->logz) ? e->logz : -1e300),
             FIELD("se", isfinite(e->se) ? e->se : 1e300), FIELD("rough", e->rough));
        buf_puts(out, i + 1 < s->n ? "},\n" : "}\n");
    }
    buf_puts(out, "  ],\n");
}

void paper_json(const struct paper *p, struct buf *out) {
    const struct posterior *q = p->post;
    struct buf form = BUF_INIT, words = BUF_INIT, scaled = BUF_INIT;
    buf_puts(out, "{\n  \"structures\": [\n");
    for (size_t k = 0; k < q->structures.n; k++) {
        const struct post_entry *e = &q->structures.at[k];
        double prior, sampled;
        shares(p, e->text, &prior, &sampled);
        buf_puts(out, "    {");
        JSON(out, FIELD("struct", e->text), FIELD("probability", e->p), FIELD("error", e->error),
             FIELD("sampler", sampled), FIELD("prior", prior / total_prior(p)));
        buf_puts(out, k + 1 < q->structures.n ? "},\n" : "}\n");
    }
    buf_puts(out, "  ],\n");
    report_table("components", "struct", &q->components, out);
    kernels_json(p, out);
    fit_json(p, out);
    formula(p, &form);
    describe(q->structures.at[0].text, &words);
    scaling(p, &scaled);
    buf_puts(out, "  ");
    JSON(out, FIELD("formula", form.data), FIELD("words", words.data),
         FIELD("scaling", scaled.data));
    buf_puts(out, ",\n  \"diagnostics\": {");
    JSON(out, FIELD("chains", q->n_chains), FIELD("steps", q->steps),
         FIELD("distance_chains_evidences", q->tv_evidence), FIELD("rhat_log_density", q->rhat),
         FIELD("acceptance", q->acceptance));
    buf_printf(out, "},\n  \"settled\": %s,\n  \"seed\": %llu,\n  \"data\": {",
               q->settled ? "true" : "false", (unsigned long long)p->opt.seed);
    JSON(out, FIELD("file", p->series.name), FIELD("n", p->series.n));
    every_json(&p->series, out);
    buf_printf(out, ", \"hash\": \"%016llx\"},\n  \"seconds\": %.3f\n}\n",
               (unsigned long long)p->series.hash, p->seconds);
    buf_release(&form);
    buf_release(&words);
    buf_release(&scaled);
}
