/* SPDX-License-Identifier: Apache-2.0
 *
 * The structure learner as operators of the language: a model of structures for one series, the
 * search that integrates parameters out, the exact chains. `gpmem discover` is these in a row, and
 * prints the program.
 */
#include "base/mem.h"
#include "inference/run/dataset.h"
#include "apps/ask/ask.h"
#include "inference/op/query.h"
#include "language/rows/source/srcfn.h"
#include "apps/discover/report.h"
#include "apps/discover/every.h"
#include "apps/discover/program_space.h"
#include <math.h>
#include <string.h>

/* A posterior over structures of a series, or of the grammar that the current model is: then only
 * the search and the posterior of d are there. */
struct structure_model {
    struct structure_posterior base;
    struct discovery d;
    char *scope; /* of a program; NULL: of a series */
};

static void model_release(struct box *b) {
    struct structure_model *m = (struct structure_model *)b;
    discovery_release(&m->d);
    mem_free(m->scope);
}

static void model_print(const struct box *b, struct buf *out) {
    const struct structure_model *m = (const struct structure_model *)b;
    const struct posterior *p = &m->d.post;
    struct buf title = BUF_INIT;
    struct doc doc;
    if (m->scope)
        buf_printf(&title, "<structures of the grammar %s", m->scope);
    else
        buf_printf(&title, "<structures of %zu values of %s", m->d.series.n, m->d.series.name);
    if (!p->search) buf_puts(&title, ": not searched yet");
    doc_begin(&doc, DOC_TEXT, "", "", out);
    report_entries(title.data, "", "structure", &p->structures, &doc);
    doc_end(&doc);
    buf_release(&title);
    out->len--; /* the end of the last line */
    if (p->n_chains) buf_printf(out, "\n  %s%s", p->settled ? "" : "NOT SETTLED: ", p->verdict);
    buf_putc(out, '>');
}

static const struct box_class structures_class = {
    .name = STRUCTURE_POSTERIOR, .release = model_release, .print = model_print};

static enum gpm_status model_ask(const struct structure_posterior *s, const char *query,
                                 struct query_answer *out, struct buf *err) {
    const struct structure_model *m = (const struct structure_model *)s;
    if (!m->d.post.search)
        return buf_fail(err, GPM_E_ARG,
                        "the structures have not been searched yet: infer structure_search(model)");
    struct arena a = {0};
    const char *reading;
    enum gpm_status st = ask_discovery(&m->d, query, out, &reading, &a, err);
    arena_release(&a);
    return st;
}

/* Rows of tabulate. */
static size_t model_row(const struct structure_posterior *s, size_t i, const char **text,
                        struct query_answer *out) {
    const struct structure_model *m = (const struct structure_model *)s;
    const struct posterior *p = &m->d.post;
    if (i < p->structures.n) {
        const struct post_entry *e = &p->structures.at[i];
        *text = e->text;
        *out = (struct query_answer){e->p, e->error, posterior_text_ess(p, e->text)};
    }
    return p->structures.n;
}

static struct structure_model *posterior_new(void) {
    struct structure_model *m = NEW(struct structure_model);
    box_init(&m->base.box, &structures_class);
    m->base.ask = model_ask;
    m->base.row = model_row;
    return m;
}

/* ---- the series ---- */

static bool flag(const struct action *a, size_t i) {
    bool on = false;
    return sp_truth(action_arg(a, i), &on) && on;
}

/* An array of pairs as the text of a file. */
static bool pairs_text(value v, struct buf *out) {
    value *rows;
    size_t n;
    bool ok = seq_items(v, &rows, &n);
    if (!ok) return false;
    buf_puts(out, "time,value\n");
    for (size_t i = 0; i < n && ok; i++) {
        double *xy = NULL;
        size_t k = 0;
        ok = seq_numbers(rows[i], &xy, &k) && k == 2;
        if (ok) buf_printf(out, "%.17g,%.17g\n", xy[0], xy[1]);
        mem_free(xy);
    }
    values_free(rows, n);
    return ok;
}

/* args: data, time, column, skip_bad, max_points, date_format, decimal, missing, every, with,
 * smooth, least, most, per_day, holidays, take */
enum { SERIES_ARGS = 16 };

static enum gpm_status read_decimal(struct infer_state *x, const struct action *a,
                                    enum series_decimal *out) {
    const char *text = value_text(action_arg(a, 6));
    if (!text) return GPM_OK;
    *out = !strcmp(text, "comma") ? DECIMAL_COMMA : DECIMAL_POINT;
    if (*out == DECIMAL_COMMA || !strcmp(text, "point")) return GPM_OK;
    return infer_error(x, DIAG_BAD_OPERATOR_ARG, "%s: decimal is \"point\" or \"comma\"",
                       a->op->name);
}

static enum gpm_status read_take(struct infer_state *x, const struct action *a,
                                 enum series_take *out) {
    const char *text = value_text(action_arg(a, 15));
    if (!text || series_take_find(text, out)) return GPM_OK;
    return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                       "%s: take is \"mean\", \"total\", \"count\", \"median\", \"last\", "
                       "\"min\" or \"max\"",
                       a->op->name);
}

static enum gpm_status read_data(struct infer_state *x, const struct action *a,
                                 struct series_options *o, struct series *out) {
    struct buf err = BUF_INIT, text = BUF_INIT;
    value data = a->args[0];
    *o = (struct series_options){.time = value_text(action_arg(a, 1)),
                                 .value = value_text(action_arg(a, 2)),
                                 .skip_bad = flag(a, 3),
                                 .date_format = value_text(action_arg(a, 5)),
                                 .missing = value_text(action_arg(a, 7)),
                                 .every = value_text(action_arg(a, 8)),
                                 .with = value_text(action_arg(a, 9)),
                                 .smooth = value_text(action_arg(a, 10)),
                                 .least = value_text(action_arg(a, 11)),
                                 .most = value_text(action_arg(a, 12)),
                                 .per_day = flag(a, 13)};
    const char *list = value_text(action_arg(a, 14));
    enum gpm_status st = action_count(x, a, 4, "max_points", 1e9, &o->max_points);
    if (st == GPM_OK) st = read_decimal(x, a, &o->decimal);
    if (st == GPM_OK) st = read_take(x, a, &o->take);
    if (st != GPM_OK) return st;
    struct sp_call c = {.host = &x->core->host};
    char *days = list ? srcfn_path(&c, list) : NULL;
    o->holidays = days;
    if (data.tag == V_STR) {
        char *path = srcfn_path(&c, data.u.str->text);
        st = series_read(out, path, NULL, 0, o, &err);
        mem_free(path);
        if (st == GPM_OK) { /* messages and programs name the file as the user does */
            mem_free(out->name);
            out->name = mem_strdup(data.u.str->text);
        }
    } else if (pairs_text(data, &text)) {
        st = series_read(out, "data", text.data, text.len, o, &err);
    } else {
        st = GPM_E_ARG;
        buf_printf(&err, "%s needs the name of a CSV file, or an array of pairs of time and value",
                   a->op->name);
    }
    if (st != GPM_OK) st = infer_error(x, st == GPM_E_IO ? DIAG_FILE : DIAG_DATA, "%s", err.data);
    o->holidays = list; /* as the user names it */
    mem_free(days);
    buf_release(&err);
    buf_release(&text);
    return st;
}

/* The step of times that are a grid to the decimals that files have (1959.08333333), or 0. */
static double written_step(const struct series *s) {
    double least = INFINITY, span = s->n ? s->x[s->n - 1] - s->x[0] : 0;
    for (size_t i = 1; i < s->n; i++) least = fmin(least, s->x[i] - s->x[i - 1]);
    double step = span / floor(span / least + 0.5);
    for (size_t i = 0; i < s->n; i++) {
        double k = (s->x[i] - s->x[0]) / step;
        if (!(fabs(k - floor(k + 0.5)) < 1e-6)) return 0;
    }
    return step;
}

/* Pairs of time and value. On a grid in full precision likelihoods are those of Toeplitz matrices.
 */
static value series_pairs(const struct series *s) {
    value v = value_array_new(s->n);
    double step = written_step(s);
    for (size_t i = 0; i < s->n; i++) {
        double xy[2] = {s->x[i], s->y[i]};
        if (step > 0) xy[0] = s->x[0] + floor((s->x[i] - s->x[0]) / step + 0.5) * step;
        v.u.array->at[i] = value_vector(xy, 2);
    }
    return v;
}

static enum gpm_status op_read_series(struct infer_state *x, const struct action *a, value *out) {
    struct series_options o;
    struct series s;
    enum gpm_status st = read_data(x, a, &o, &s);
    if (st != GPM_OK) return st;
    *out = series_pairs(&s);
    series_release(&s);
    return GPM_OK;
}

/* ---- the model ---- */

static enum gpm_status read_log(struct infer_state *x, const char *text, enum log_choice *out) {
    static const char *const names[] = {"auto", "never", "always"};
    for (int i = 0; i < 3; i++)
        if (text && !strcmp(text, names[i])) {
            *out = (enum log_choice)i;
            return GPM_OK;
        }
    return text ? infer_error(x, DIAG_BAD_OPERATOR_ARG,
                              "structure_model: log is \"auto\", \"never\" or \"always\"")
                : GPM_OK;
}

/* args after those of the series: kernels, changepoints, log, holdout */
static enum gpm_status read_options(struct infer_state *x, const struct action *a,
                                    struct discovery_options *o) {
    struct buf err = BUF_INIT;
    const char *kernels = value_text(action_arg(a, SERIES_ARGS));
    o->change = flag(a, SERIES_ARGS + 1);
    enum gpm_status st = read_log(x, value_text(action_arg(a, SERIES_ARGS + 2)), &o->logs);
    value holdout = action_arg(a, SERIES_ARGS + 3);
    if (!is_absent(holdout)) o->holdout = holdout.u.num;
    if (st == GPM_OK && kernels && discovery_kernels(kernels, &o->factors, &err) != GPM_OK)
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG, "structure_model: %s", err.data);
    o->seed = x->core->rng.seed + ((uint64_t)x->core->rng.chain << 40);
    buf_release(&err);
    return st;
}

static enum gpm_status op_structure_model(struct infer_state *x, const struct action *a,
                                          value *out) {
    struct discovery_options o = DISCOVERY_OPTIONS_INIT;
    struct series series;
    struct buf err = BUF_INIT;
    enum gpm_status st = read_options(x, a, &o);
    if (st == GPM_OK) st = read_data(x, a, &o.series, &series);
    if (st != GPM_OK) return st;
    struct structure_model *m = posterior_new();
    st = discovery_start(&m->d, &o, &series, &err);
    *out = value_box(V_BOX, &m->base.box);
    if (st != GPM_OK) {
        st = infer_error(x, DIAG_DATA, "%s", err.data);
        value_unref(*out);
    }
    buf_release(&err);
    return st;
}

/* ---- inference ---- */

/* The structures of a series, with the options that d has. */
static enum gpm_status search_series(struct infer_state *x, struct structure_model *m) {
    struct buf err = BUF_INIT;
    posterior_release(&m->d.post);
    search_release(&m->d.search);
    m->d.opt.stop = x->core->limits.stop;
    enum gpm_status st = discovery_search(&m->d, &err), ended = core_poll(x->core, x->at);
    if (st != GPM_OK || ended != GPM_OK) {
        posterior_release(&m->d.post);
        search_release(&m->d.search);
        st = ended ? ended : infer_error(x, DIAG_DATA, "%s", err.data);
    }
    buf_release(&err);
    return st;
}

/* The model's state becomes a draw from the posterior that was found. */
static enum gpm_status set_state(struct infer_state *x, const struct structure_model *m) {
    struct trace **t = &x->model->p.at[0], *next;
    enum gpm_status st = program_space_draw(&m->d.post, &(*t)->rng, &next);
    if (st == GPM_OK && !next)
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "structure_search: no state of the posterior could be built");
    if (st != GPM_OK) return st;
    next->rng = (*t)->rng;
    next->log_weight = (*t)->log_weight;
    trace_free(*t);
    *t = next;
    return GPM_OK;
}

/* The structures that the choices of a scope of the current model make. */
static enum gpm_status search_program(struct infer_state *x, value scope, value parameters,
                                      const struct search_options *given, value *out) {
    struct search_options o = *given;
    struct trace *t = x->model->p.at[0];
    if (x->model->p.n != 1)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_search needs a model of one particle; there are %zu",
                           x->model->p.n);
    struct structure_model *m = posterior_new();
    struct search *s = &m->d.search;
    o.seed = rng_u64(&t->rng);
    m->scope = mem_strdup(SHOW(scope));
    search_init(s, program_space_new(x, t, scope, parameters), &o);
    enum gpm_status st = search_run(s);
    if (st == GPM_E_NO_CONVERGENCE)
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "structure_search: no structure of the grammar %s could be fitted",
                         m->scope);
    if (st == GPM_OK) {
        posterior_init(&m->d.post, s);
        st = set_state(x, m);
    }
    program_space_rest(s->space);
    *out = value_box(V_BOX, &m->base.box);
    if (st != GPM_OK) {
        value_unref(*out);
        *out = NIL;
    }
    return st;
}

static enum gpm_status op_search(struct infer_state *x, const struct action *a, value *out) {
    value what = a->args[0], parameters = action_arg(a, 1), seconds = action_arg(a, 3);
    struct search_options o = {.finish = x->finish};
    enum gpm_status st = action_count(x, a, 2, "draws", 1e6, &o.draws);
    if (st != GPM_OK) return st;
    if (!is_absent(seconds)) o.seconds = seconds.u.num;
    const char *precision = value_text(action_arg(a, 4));
    if (precision && !precision_find(precision, &o.precision))
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_search: precision is \"low\", \"normal\" or \"high\"");
    if (what.tag != V_BOX) {
        if (is_absent(parameters)) parameters = infer_name(x, "default");
        st = search_program(x, what, parameters, &o, out);
    } else {
        struct structure_model *m = (struct structure_model *)what.u.box;
        if (!is_absent(parameters) || m->scope)
            return infer_error(
                x, DIAG_BAD_OPERATOR_ARG,
                "structure_search(model) is for the structures of a series; a grammar "
                "of the current model is given by its scopes: "
                "structure_search(\"grammar\", \"parameters\")");
        m->d.opt.draws = o.draws;
        m->d.opt.seconds = o.seconds;
        m->d.opt.precision = o.precision;
        st = search_series(x, m);
        *out = value_ref(what);
    }
    if (st == GPM_OK) query_note(x, *out);
    return st;
}

static enum gpm_status op_chains(struct infer_state *x, const struct action *a, value *out) {
    struct structure_model *m = (struct structure_model *)a->args[0].u.box;
    size_t steps = 0;
    enum gpm_status st = action_count(x, a, 1, "steps", 1e7, &steps);
    if (st != GPM_OK) return st;
    if (!m->d.post.search)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_chains: the structures have not been searched yet; run "
                           "structure_search(model) first");
    struct posterior *p = &m->d.post;
    struct search *s = p->search;
    if (p->n_chains) { /* start again */
        posterior_release(p);
        posterior_init(p, s);
    }
    posterior_chains(p, steps);
    if (m->scope) program_space_rest(s->space);
    st = s->space->st == GPM_OK ? core_poll(x->core, x->at) : s->space->st;
    if (st != GPM_OK) p->n_chains = 0;
    return st;
}

/* A row per state of the chains; a chain is a particle. */
static enum gpm_status op_draws(struct infer_state *x, const struct action *a, value *out) {
    static const char *const names[] = {"structure", "log", "log density"};
    const struct structure_model *m = (const struct structure_model *)a->args[0].u.box;
    if (!m->d.post.n_chains)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_draws: there are no chains yet; run "
                           "structure_chains(model) first");
    const struct posterior *p = &m->d.post;
    struct dataset *d = dataset_new(names, COUNT_OF(names));
    for (size_t i = 0; i < p->steps; i++)
        for (int c = 0; c < p->n_chains; c++) {
            const struct chain_state *s = &p->chain[(size_t)c * p->steps + i];
            const struct evidence *e = p->search->at[s->structure];
            value row[] = {value_num((double)i + 1),
                           value_num(c),
                           value_num(0),
                           value_num(0),
                           value_num(1.0 / p->n_chains),
                           value_str(e->text, strlen(e->text)),
                           value_bool(e->group == TRANSFORM_LOG),
                           value_num(s->logp)};
            for (size_t q = 0; q < COUNT_OF(row); q++) vec_push(&d->cells, row[q]);
        }
    *out = value_box(V_BOX, &d->box);
    return GPM_OK;
}

#define SERIES_SIG                                                                                 \
    "data: any, time?: name, column?: name, skip_bad?: bool, max_points?: count, "                 \
    "date_format?: name, decimal?: name, missing?: name, every?: name, with?: name, smooth?: "     \
    "name, "                                                                                       \
    "least?: name, most?: name, per_day?: bool, holidays?: name, take?: name"

const struct infer_op infer_discover_rows[] = {
    {"read_series", "(" SERIES_SIG ") -> array",
     "pairs of time and value of a CSV file of a time series, as gpmem discover reads it: dates "
     "are years or days, missing values are left out, times ascend, and those that lie on a grid "
     "to the decimals of the file lie on it in full precision. time and column name its columns; "
     "skip_bad leaves rows out that cannot be read; max_points keeps the last ones only, every "
     "(\"1h\", \"none\") averages over steps, of whose rows take (\"mean\", \"total\", \"count\", "
     "\"median\", \"last\", \"min\", \"max\") takes something else; "
     "date_format (\"%d/%m/%Y\"), decimal (\"comma\") and missing (\"-999\") say how times, "
     "numbers "
     "and missing values are written; with and smooth (\"price,temp\") name columns whose linear "
     "or "
     "smooth effects a structure_model has, least and most (\"0\", \"100\") what values can be; "
     "per_day makes totals of "
     "months or quarters means of a day of theirs; holidays names a file of days with names, each "
     "of "
     "which has an effect",
     NULL, OP_PLAIN, .run = op_read_series, .touches = SP_READS},
    {"structure_model",
     "(" SERIES_SIG ", kernels?: name, changepoints?: bool, log?: name, holdout?: nonneg) -> any",
     "a posterior over the structures of a time series (a CSV file, or an array of pairs), to be "
     "searched: what gpmem discover works on, with its prior. Prints as a table; prob(query, "
     "model) asks it. time, column, skip_bad, max_points, date_format, decimal, missing, every, "
     "with, smooth, least, most, per_day, holidays and take "
     "as in read_series; kernels, changepoints, log and holdout as the options of gpmem "
     "discover",
     NULL, OP_PLAIN, .run = op_structure_model, .touches = SP_READS},
    {"structure_search",
     "(model: grammar, parameters?: any, draws?: count, seconds?: nonneg, precision?: name) "
     "-> action",
     "best-first search over structures, parameters integrated out of each by Laplace's method and "
     "importance sampling (draws per structure near the top). model: what structure_model gives; "
     "or the scope of the current model whose discrete choices make the structure, and then "
     "`parameters` is the scope of its continuous ones (default: all there are). Gives the "
     "posterior over structures, as structure_model does; the state of the current model becomes "
     "a draw from it. seconds: when to stop at the latest; precision (\"low\", \"high\"): as the "
     "option of gpmem discover",
     NULL, OP_MOVES, .run = op_search},
    {"structure_chains", "(model: structures, steps?: count) -> action",
     "four exact chains of so many steps over structures and parameters beside the search: whether "
     "the posterior has settled, and effective sample sizes",
     NULL, 0, .run = op_chains},
    {"structure_draws", "(model: structures) -> any",
     "the states of the chains of a structure_model as a dataset: structure, logarithm, log "
     "density",
     NULL, OP_PLAIN, .run = op_draws},
    {0},
};
