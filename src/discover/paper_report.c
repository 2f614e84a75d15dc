/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of the paper's model: table, functional form, its four sentences, JSON; queries.
 */
#include "base/mem.h"
#include "discover/paper.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))

/* The best kernel of a structure. */
static const struct paper_evidence *best_of(const struct paper_result *r, int structure) {
    const struct paper_evidence *best = NULL;
    double w = -1;
    for (int i = 0; i < r->g.n_kernels; i++)
        if (r->g.kernel[i].structure == structure && r->weight[i] > w) {
            best = &r->e[i];
            w = r->weight[i];
        }
    return best;
}

static void formula(const struct paper_result *r, struct buf *out) {
    static const char *const names[] = {"s_LIN", "s_SE", "l_SE", "s_PER", "p_PER", "l_PER", "s_WN"};
    const struct paper_evidence *e = best_of(r, r->order[0]);
    int par[PAPER_PARS], n = paper_pars(e->k, par);
    for (int q = 0; q < e->k->n; q++) {
        if (q) buf_puts(out, " + ");
        term_print((struct term){e->k->product[q], 0}, out);
    }
    buf_puts(out, " with ");
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%s=%.3g", i ? ", " : "", names[par[i]], exp(e->prop.mode[0].z[i]));
}

static const char *sentence(unsigned mask) {
    switch (mask) {
    case FACTOR_BIT(FACTOR_LIN): return "a linearly increasing or decreasing function or trend";
    case FACTOR_BIT(FACTOR_PER): return "a periodic function";
    case FACTOR_BIT(FACTOR_SE): return "a smooth function";
    case FACTOR_BIT(FACTOR_WN): return "white noise";
    case FACTOR_BIT(FACTOR_SE) | FACTOR_BIT(FACTOR_PER):
        return "an approximately periodic function";
    case FACTOR_BIT(FACTOR_LIN) | FACTOR_BIT(FACTOR_WN): return "heteroskedastic noise";
    default: return NULL;
    }
}

static void describe(const struct paper_structure *s, struct buf *out) {
    for (size_t i = 0; i < s->n; i++) {
        const char *text = sentence(s->term[i].mask);
        buf_puts(out, "  - ");
        if (text) {
            buf_puts(out, text);
        } else {
            buf_puts(out, "a product of ");
            term_print(s->term[i], out);
        }
        buf_putc(out, '\n');
    }
}

static void scaling(const struct paper_result *r, struct buf *out) {
    buf_printf(out, "x %s and multiplied by %g, y centred", r->opt.raw_x ? "raw" : "centred",
               r->opt.x_scale);
    if (r->opt.y_sd > 0) buf_printf(out, " and scaled to standard deviation %g", r->opt.y_sd);
}

void paper_text(const struct paper_result *r, const struct series *s, struct buf *out) {
    buf_printf(out, "%s: %zu values; the paper's grammar and Gamma(5,1) priors; ", s->name, s->n);
    scaling(r, out);
    buf_puts(out, "\n\nStructures: probability, error, exact sampler, prior, structure\n");
    for (int k = 0; k < r->g.n_structures; k++) {
        const struct paper_structure *p = &r->g.structure[r->order[k]];
        if (k > 0 && p->p < 0.0005) break;
        buf_printf(out, "  %.4f  %.4f  %.4f  %.4f  %s\n", p->p, p->error, p->chain_p, p->prior,
                   p->text);
    }
    const struct paper_structure *top = &r->g.structure[r->order[0]];
    buf_printf(out, "\nThe posterior peaks at %s:\n", top->text);
    describe(top, out);
    buf_puts(out, "\n  ");
    formula(r, out);
    buf_printf(out,
               "\n\n%s: distance %.3f between evidences and 4 exact chains of %zu steps, R-hat "
               "%.3f, acceptance %.2f\n%.1f s, seed %llu\n",
               r->settled ? "settled" : "NOT SETTLED", r->tv, r->steps, r->rhat, r->acceptance,
               r->seconds, (unsigned long long)r->opt.seed);
}

/* "fit": the posterior of the signal under the best kernel, in the user's units. */
static void fit_json(const struct paper_result *r, const struct series *s, struct buf *out) {
    const struct paper_evidence *e = best_of(r, r->order[0]);
    size_t n = s->n;
    struct paper_work *w = paper_work_new(&r->data);
    double *mean = NEW_ARRAY(double, 2 * n), *sd = mean + n, my = 0;
    if (w && paper_fit(&r->data, e->k, w, e->prop.mode[0].z, mean, sd) == GPM_OK) {
        for (size_t i = 0; i < n; i++) my += s->y[i] / (double)n;
        double f = (s->y[n - 1] - my) / r->data.y[n - 1]; /* undoes the scaling */
        const char *const names[] = {"x", "mean", "lo", "hi"};
        buf_puts(out, "  \"fit\": {");
        for (int k = 0; k < 4; k++) {
            buf_printf(out, "%s\"%s\": [", k ? ", " : "", names[k]);
            for (size_t i = 0; i < n; i++) {
                double v = k == 0 ? s->x[i]
                                  : my + f * (mean[i] + (k == 2   ? -1.96
                                                         : k == 3 ? 1.96
                                                                  : 0) *
                                                            sd[i]);
                buf_printf(out, "%s%.10g", i ? ", " : "", v);
            }
            buf_putc(out, ']');
        }
        buf_puts(out, "},\n");
    }
    paper_work_free(w);
    mem_free(mean);
}

struct component {
    uint16_t mask;
    double p, var;
};

static size_t components(const struct paper_result *r, struct component *c) {
    size_t n = 0;
    for (int k = 0; k < r->g.n_structures; k++)
        for (size_t i = 0; i < r->g.structure[k].n; i++) {
            uint16_t m = r->g.structure[k].term[i].mask;
            size_t q = 0;
            while (q < n && c[q].mask != m) q++;
            if (q == n) c[n++] = (struct component){m, 0, 0};
            c[q].p += r->g.structure[k].p;
            c[q].var += pow(r->g.structure[k].error, 2);
        }
    for (size_t a = 1; a < n; a++)
        for (size_t b = a; b > 0 && c[b].p > c[b - 1].p; b--) {
            struct component x = c[b];
            c[b] = c[b - 1];
            c[b - 1] = x;
        }
    return n;
}

void paper_json(const struct paper_result *r, const struct series *s, struct buf *out) {
    struct component c[64];
    size_t n = components(r, c);
    buf_puts(out, "{\n  \"structures\": [\n");
    for (int k = 0; k < r->g.n_structures; k++) {
        const struct paper_structure *p = &r->g.structure[r->order[k]];
        buf_printf(out,
                   "    {\"struct\": \"%s\", \"probability\": %.10g, \"error\": %.6g, \"sampler\": "
                   "%.10g, \"prior\": %.10g}%s\n",
                   p->text, p->p, p->error, p->chain_p, p->prior,
                   k + 1 < r->g.n_structures ? "," : "");
    }
    buf_puts(out, "  ],\n  \"components\": [\n");
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, "    {\"struct\": \"");
        term_print((struct term){c[i].mask, 0}, out);
        buf_printf(out, "\", \"probability\": %.10g, \"error\": %.6g}%s\n", fmin(c[i].p, 1),
                   sqrt(c[i].var), i + 1 < n ? "," : "");
    }
    buf_puts(out, "  ],\n  \"kernels\": [\n");
    for (int i = 0; i < r->g.n_kernels; i++) {
        buf_puts(out, "    {\"kernel\": \"");
        for (int q = 0; q < r->g.kernel[i].n; q++) {
            if (q) buf_puts(out, " + ");
            term_print((struct term){r->g.kernel[i].product[q], 0}, out);
        }
        buf_printf(
            out, "\", \"prior\": %.10g, \"log_evidence\": %.10g, \"se\": %.4g, \"rough\": %s}%s\n",
            r->g.kernel[i].prior, isfinite(r->e[i].logz) ? r->e[i].logz : -1e300, r->e[i].se,
            r->e[i].rough ? "true" : "false", i + 1 < r->g.n_kernels ? "," : "");
    }
    buf_puts(out, "  ],\n");
    fit_json(r, s, out);
    struct buf text = BUF_INIT;
    formula(r, &text);
    buf_puts(out, "  \"formula\": ");
    buf_json_string(out, text.data, text.len);
    buf_reset(&text);
    describe(&r->g.structure[r->order[0]], &text);
    buf_puts(out, ",\n  \"words\": ");
    buf_json_string(out, text.data, text.len);
    buf_release(&text);
    buf_puts(out, ",\n  \"scaling\": \"");
    scaling(r, out);
    buf_printf(out,
               "\",\n  \"diagnostics\": {\"chains\": 4, \"steps\": %zu, "
               "\"distance_chains_evidences\": %.6g, \"rhat_log_density\": %.6g, \"acceptance\": "
               "%.4g},\n  \"settled\": %s,\n  \"seed\": %llu,\n  \"data\": {\"file\": ",
               r->steps, r->tv, r->rhat, r->acceptance, r->settled ? "true" : "false",
               (unsigned long long)r->opt.seed);
    buf_json_string(out, s->name, strlen(s->name));
    buf_printf(out, ", \"n\": %zu, \"hash\": \"%016llx\"},\n  \"seconds\": %.3f\n}\n", s->n,
               (unsigned long long)s->hash, r->seconds);
}

void paper_query(const struct paper_result *r, const struct kern_query *q, double *p, double *error,
                 double *ess) {
    double var = 0;
    *p = 0;
    for (int k = 0; k < r->g.n_structures; k++) {
        const struct paper_structure *s = &r->g.structure[k];
        if (!kern_query_holds_text(q, s->text)) continue;
        *p += s->p;
        var += s->error * s->error;
    }
    *error = fmax(sqrt(var), 1e-4);
    *ess = r->ess;
}
