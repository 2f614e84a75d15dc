/* SPDX-License-Identifier: Apache-2.0
 *
 * The same model as a program of the language, to be taken from there. The data are read from the
 * file where every row of it takes part and all inputs are numbers; else they stand in the program,
 * standardised. An outcome with two values is modelled by the chance of the larger one, the
 * logistic of the process, counts by the logarithm of their mean; scales are those of the family.
 */
#include "base/mem.h"
#include "apps/regress/regress.h"
#include <math.h>
#include <string.h>

/* Can the language write a heading? */
static bool is_text(const char *heading) {
    for (; *heading; heading++)
        if ((unsigned char)*heading < ' ' && !strchr("\b\f\n\r\t", *heading)) return false;
    return true;
}

static bool reads_file(const struct regress *r) {
    bool plain = r->t.from_file && r->t.header && r->t.plain && r->n == r->t.read &&
                 !r->t.o.missing && is_text(r->t.y_heading);
    for (int j = 0; j < r->t.n_inputs; j++)
        plain = plain && !r->t.input[j].level && is_text(r->t.input[j].heading);
    return plain;
}

static void put_column(const struct regress *r, const char *name, struct buf *out) {
    buf_puts(out, "read_csv(");
    buf_json_string(out, r->t.file, strlen(r->t.file));
    buf_puts(out, ", ");
    buf_json_string(out, name, strlen(name));
    buf_puts(out, ")");
}

static void put_from_file(const struct regress *r, struct buf *out) {
    buf_puts(out, "define standard = proc(v) { (v - mean(v)) / sd(v) };\n");
    for (int j = 0; j < r->t.n_inputs; j++) {
        buf_printf(out, "define x%d = standard(", j + 1);
        put_column(r, r->t.input[j].heading, out);
        buf_puts(out, ");\n");
    }
    buf_puts(out, "define xs = to_array(map(to_array, zip(");
    for (int j = 0; j < r->t.n_inputs; j++) buf_printf(out, "%sx%d", j ? ", " : "", j + 1);
    buf_puts(out, ")));\ndefine ys = ");
    if (r->family == RFAMILY_CHANCE)
        buf_printf(out, "mapv(v -> if (v == %.17g) { 1 } else { 0 }, ", r->high);
    else if (!regress_hidden(r))
        buf_puts(out, "standard(");
    put_column(r, r->t.y_heading, out);
    buf_puts(out, r->family == RFAMILY_CHANCE || !regress_hidden(r) ? ");\n" : ";\n");
}

/* Separated by commas, some to a line. */
static void put_numbers(const double *v, size_t n, struct buf *out) {
    enum { A_LINE = 6 };
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%.10g", !i ? "" : i % A_LINE ? ", " : ",\n    ", v[i]);
}

static void put_data(const struct regress *r, struct buf *out) {
    size_t d = (size_t)r->t.d;
    buf_puts(out, "define xs = array(\n");
    for (size_t i = 0; i < r->n; i++) {
        buf_puts(out, "  array(");
        put_numbers(r->x + i * d, d, out);
        buf_puts(out, i + 1 < r->n ? "),\n" : "));\n");
    }
    buf_puts(out, "define ys = array(\n  ");
    put_numbers(r->y, r->n, out);
    buf_puts(out, ");\n");
}

static void put_usual_kernel(const struct regress *r, struct buf *out) {
    const struct rfamily *f = r->model.family;
    buf_printf(out,
               "assume linear = lognormal(log(%g), 1);\nassume sf = lognormal(log(%g), 1);\n"
               "assume l = array(",
               0.5 * f->scale, f->scale);
    for (int k = 0; k < r->t.d; k++)
        buf_printf(out, "%slognormal(log(%.3g), 1)", k ? ", " : "", RMODEL_LENGTH(r->t.d));
    buf_printf(out,
               ");\nassume f = make_gp(make_constant(%g) + make_linear(linear, 0) + "
               "make_squaredexp(sf, l),\n  ",
               f->constant * f->constant);
}

static void put_end(const struct regress *r, const char *likelihood, const char *collect,
                    struct buf *out) {
    buf_puts(out, likelihood);
    if (r->t.d > 1) buf_printf(out, ", dim=%d", r->t.d);
    buf_printf(out,
               ");\nobserve f(xs) = ys;\n\ndefine draws = run(sample(warmup=300, draws=500%s));\n"
               "infer summarize(draws);\n",
               collect);
}

/* Chances and counts, with what they are where all inputs have their means. */
static void put_hidden(const struct regress *r, struct buf *out) {
    struct buf collect = BUF_INIT, likelihood = BUF_INIT;
    bool chance = r->family == RFAMILY_CHANCE, size = r->model.d > r->model.nk;
    buf_printf(&collect, ", collect=collect(linear, sf, l,%s\n  labelled(%s(f(",
               size ? " size," : "", chance ? "inv_logit" : "exp");
    if (r->t.d > 1) buf_puts(&collect, "array(");
    for (int k = 0; k < r->t.d; k++) buf_puts(&collect, k ? ", 0" : "0");
    buf_printf(&collect, "%s), %s_at_means))", r->t.d > 1 ? "))" : ")", chance ? "chance" : "mean");
    buf_printf(&likelihood, size ? "likelihood=[\"%s\", size]" : "likelihood=\"%s\"",
               r->model.family->likelihood);
    if (size) buf_printf(out, "assume size = lognormal(log(%g), 1);\n", r->model.family->size);
    put_usual_kernel(r, out);
    put_end(r, likelihood.data, collect.data, out);
    buf_release(&collect);
    buf_release(&likelihood);
}

void regress_program(const struct regress *r, struct buf *out) {
    buf_puts(out, "// A regression of ");
    if (r->family == RFAMILY_CHANCE) buf_puts(out, "the chance that ");
    buf_line(out, r->t.y_name);
    if (r->family == RFAMILY_CHANCE) buf_printf(out, " is %g, and not %g,", r->high, r->low);
    buf_printf(out, " with a Gaussian process; all %s have mean 0 and standard deviation 1.\n",
               regress_hidden(r) ? "inputs" : "columns");
    if (reads_file(r))
        put_from_file(r, out);
    else
        put_data(r, out);
    buf_putc(out, '\n');
    if (regress_hidden(r)) {
        put_hidden(r, out);
        return;
    }
    buf_puts(out, "assume noise = lognormal(log(0.3), 1);\n");
    put_usual_kernel(r, out);
    put_end(r, "noise=sqrt(noise * noise + 1e-8)", "", out);
}
