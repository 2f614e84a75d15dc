/* SPDX-License-Identifier: Apache-2.0
 *
 * The structure learner as operators of the language: a model of structures for one series, the
 * search that integrates parameters out, the exact chains. `gpmem discover` is these in a row, and
 * prints the program.
 */
#include "base/mem.h"
#include "infer/dataset.h"
#include "infer/query.h"
#include "source/srcfn.h"
#include "discover/discovery.h"
#include "discover/program_space.h"
#include <math.h>
#include <string.h>

/* A posterior over structures of a series, or of the grammar that the current model is. */
struct structure_model {
    struct structure_posterior base;
    struct discovery d;   /* of a series */
    char *scope;          /* of a program; NULL: of a series */
    struct search search; /* of a program */
    struct posterior post;
    bool searched, sampled;
};

static struct posterior *posterior_of(const struct structure_model *m) {
    return (struct posterior *)(m->scope ? &m->post : &m->d.post);
}

static void model_free(struct box *b) {
    struct structure_model *m = (struct structure_model *)b;
    if (m->scope) {
        posterior_release(&m->post);
        search_release(&m->search);
    } else {
        discovery_release(&m->d);
    }
    mem_free(m->scope);
    mem_free(m);
}

static void model_print(const struct box *b, struct buf *out) {
    const struct structure_model *m = (const struct structure_model *)b;
    const struct posterior *p = posterior_of(m);
    double rest = 0;
    if (m->scope)
        buf_printf(out, "<structures of the grammar %s", m->scope);
    else
        buf_printf(out, "<structures of %zu values of %s", m->d.series.n, m->d.series.name);
    if (!m->searched) buf_puts(out, ": not searched yet");
    for (size_t i = 0; m->searched && i < p->structures.n; i++) {
        const struct post_entry *e = &p->structures.at[i];
        if (i > 0 && e->p < 0.005)
            rest += e->p;
        else
            buf_printf(out, "\n  %.4f  %.4f  %s%s", e->p, e->error, e->p_log > 0.5 ? "log " : "",
                       e->text);
    }
    if (rest > 0) buf_printf(out, "\n  %.4f          all others", rest);
    if (m->sampled) buf_printf(out, "\n  %s%s", p->settled ? "" : "NOT SETTLED: ", p->verdict);
    buf_putc(out, '>');
}

static const struct box_class structures_class = {
    .name = STRUCTURE_POSTERIOR, .free = model_free, .print = model_print};

static enum gpm_status model_ask(const struct structure_posterior *s, const char *query,
                                 struct query_answer *out, struct buf *err) {
    const struct structure_model *m = (const struct structure_model *)s;
    struct post_answer a = {0, 0, 0};
    if (!m->searched)
        return buf_fail(err, GPM_E_ARG,
                        "the structures have not been searched yet: infer structure_search(model)");
    enum gpm_status st = posterior_query(posterior_of(m), query, &a, err);
    *out = (struct query_answer){a.p, a.error, a.ess};
    return st;
}

/* Rows of tabulate. */
static size_t model_row(const struct structure_posterior *s, size_t i, const char **text,
                        struct query_answer *out) {
    const struct structure_model *m = (const struct structure_model *)s;
    const struct posterior *p = posterior_of(m);
    if (!m->searched) return 0;
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

static struct structure_model *model_arg(struct infer_state *x, const char *op, value v) {
    if (structure_posterior_of(v)) return (struct structure_model *)v.u.box;
    (void)!infer_error(x, DIAG_TYPE,
                       "%s needs what structure_model or structure_search gives; got a %s", op,
                       value_type_name(v));
    return NULL;
}

const struct posterior *structure_model_posterior(value v) {
    struct structure_posterior *s = structure_posterior_of(v);
    struct structure_model *m = s && s->ask == model_ask ? (struct structure_model *)s : NULL;
    return m && m->searched ? posterior_of(m) : NULL;
}

/* ---- the series ---- */

/* Optional arguments of an operator, by position and name; a later one may be given without them.
 */
struct options_in {
    struct infer_state *x;
    const char *op;
    const value *args;
    size_t n;
};

static bool given(const struct options_in *o, size_t i) {
    return i < o->n && !is_absent(o->args[i]);
}

static enum gpm_status wrong(const struct options_in *o, size_t i, const char *name,
                             const char *what) {
    char *shown = sp_show(o->args[i]);
    enum gpm_status st =
        infer_error(o->x, DIAG_TYPE, "%s: %s must be %s, got %s", o->op, name, what, shown);
    mem_free(shown);
    return st;
}

static enum gpm_status take_text(const struct options_in *o, size_t i, const char *name,
                                 const char **out) {
    *out = NULL;
    if (!given(o, i)) return GPM_OK;
    value v = o->args[i];
    if (v.tag != V_SYM && v.tag != V_STR) return wrong(o, i, name, "a string");
    *out = v.tag == V_SYM ? v.u.sym->text : v.u.str->text;
    return GPM_OK;
}

static enum gpm_status take_flag(const struct options_in *o, size_t i, const char *name,
                                 bool *out) {
    *out = false;
    if (!given(o, i)) return GPM_OK;
    if (o->args[i].tag != V_BOOL) return wrong(o, i, name, "true or false");
    *out = o->args[i].u.boolean;
    return GPM_OK;
}

static enum gpm_status take_number(const struct options_in *o, size_t i, const char *name,
                                   double most, double *out) {
    if (!given(o, i)) return GPM_OK;
    if (o->args[i].tag != V_NUM || !(o->args[i].u.num >= 0 && o->args[i].u.num <= most))
        return wrong(o, i, name, most == 1 ? "a share from 0 to 1" : "a number from 0 up");
    *out = o->args[i].u.num;
    return GPM_OK;
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

/* args: data, time, column, skip_bad, max_points */
enum { SERIES_ARGS = 5 };

static enum gpm_status read_data(const struct options_in *in, struct series_options *o,
                                 struct series *out) {
    struct infer_state *x = in->x;
    const value *args = in->args;
    struct buf err = BUF_INIT, text = BUF_INIT;
    double most = 1000;
    *o = (struct series_options){0};
    enum gpm_status st = take_text(in, 1, "time", &o->time);
    if (st == GPM_OK) st = take_text(in, 2, "column", &o->value);
    if (st == GPM_OK) st = take_flag(in, 3, "skip_bad", &o->skip_bad);
    if (st == GPM_OK) st = take_number(in, 4, "max_points", 1e9, &most);
    if (st != GPM_OK) return st;
    o->max_points = (size_t)most;
    if (args[0].tag == V_STR) {
        struct sp_call c = {.host = &x->core->host};
        char *path = srcfn_path(&c, args[0].u.str->text);
        st = series_read(out, path, NULL, 0, o, &err);
        mem_free(path);
        if (st == GPM_OK) { /* messages and programs name the file as the user does */
            mem_free(out->name);
            out->name = mem_strdup(args[0].u.str->text);
        }
    } else if (pairs_text(args[0], &text)) {
        st = series_read(out, "data", text.data, text.len, o, &err);
    } else {
        st = GPM_E_ARG;
        buf_printf(&err, "%s needs the name of a CSV file, or an array of pairs of time and value",
                   in->op);
    }
    if (st != GPM_OK) st = infer_error(x, st == GPM_E_IO ? DIAG_FILE : DIAG_DATA, "%s", err.data);
    buf_release(&err);
    buf_release(&text);
    return st;
}

static enum gpm_status op_read_series(struct infer_state *x, const struct action *a, value *out) {
    struct options_in in = {x, "read_series", a->args, a->n};
    struct series_options o;
    struct series s;
    enum gpm_status st = read_data(&in, &o, &s);
    if (st != GPM_OK) return st;
    *out = value_array_new(s.n);
    for (size_t i = 0; i < s.n; i++) {
        double xy[2] = {s.x[i], s.y[i]};
        out->u.array->at[i] = value_vector(xy, 2);
    }
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
static enum gpm_status read_options(const struct options_in *in, struct discovery_options *o) {
    struct infer_state *x = in->x;
    struct buf err = BUF_INIT;
    const char *kernels = NULL, *log = NULL;
    enum gpm_status st = take_text(in, SERIES_ARGS, "kernels", &kernels);
    if (st == GPM_OK) st = take_flag(in, SERIES_ARGS + 1, "changepoints", &o->change);
    if (st == GPM_OK) st = take_text(in, SERIES_ARGS + 2, "log", &log);
    if (st == GPM_OK) st = take_number(in, SERIES_ARGS + 3, "holdout", 1, &o->holdout);
    if (st == GPM_OK) st = read_log(x, log, &o->logs);
    if (st == GPM_OK && kernels && discovery_kernels(kernels, &o->factors, &err) != GPM_OK)
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG, "structure_model: %s", err.data);
    o->seed = x->core->rng.seed + ((uint64_t)x->core->rng.chain << 40);
    buf_release(&err);
    return st;
}

static enum gpm_status op_structure_model(struct infer_state *x, const struct action *a,
                                          value *out) {
    struct options_in in = {x, "structure_model", a->args, a->n};
    struct discovery_options o = DISCOVERY_OPTIONS_INIT;
    struct series series;
    struct buf err = BUF_INIT;
    enum gpm_status st = read_options(&in, &o);
    if (st == GPM_OK) st = read_data(&in, &o.series, &series);
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

/* The structures of a series. */
static enum gpm_status search_series(struct infer_state *x, struct structure_model *m, double draws,
                                     double seconds) {
    struct buf err = BUF_INIT;
    if (m->searched) { /* anew */
        posterior_release(&m->d.post);
        search_release(&m->d.search);
        m->searched = m->sampled = false;
    }
    m->d.opt.draws = (size_t)draws;
    m->d.opt.seconds = seconds;
    enum gpm_status st = discovery_search(&m->d, &err);
    if (st != GPM_OK) {
        search_release(&m->d.search);
        st = infer_error(x, DIAG_DATA, "%s", err.data);
    }
    m->searched = st == GPM_OK;
    buf_release(&err);
    return st;
}

/* The model's state becomes a draw from the posterior that was found. */
static enum gpm_status set_state(struct infer_state *x, const struct structure_model *m) {
    struct trace **t = &x->model->p.at[0], *next;
    enum gpm_status st = program_space_draw(&m->post, &(*t)->rng, &next);
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
                                      double draws, double seconds, value *out) {
    struct search_options o;
    if (x->model->p.n != 1)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_search needs a model of one particle; there are %zu",
                           x->model->p.n);
    struct structure_model *m = posterior_new();
    search_options_init(&o);
    o.seed = rng_u64(&x->model->p.at[0]->rng);
    o.draws = (size_t)draws;
    o.seconds = seconds;
    m->scope = sp_show(scope);
    search_init(&m->search, program_space_new(x, x->model->p.at[0], scope, parameters), &o);
    enum gpm_status st = search_run(&m->search);
    if (st == GPM_E_NO_CONVERGENCE)
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG,
                         "structure_search: no structure of the grammar %s could be fitted",
                         m->scope);
    if (st == GPM_OK) {
        posterior_init(&m->post, &m->search);
        m->searched = true;
        st = set_state(x, m);
    }
    program_space_rest(m->search.space);
    *out = value_box(V_BOX, &m->base.box);
    if (st != GPM_OK) {
        value_unref(*out);
        *out = NIL;
    }
    return st;
}

static enum gpm_status op_search(struct infer_state *x, const struct action *a, value *out) {
    struct options_in in = {x, "structure_search", a->args, a->n};
    value what = a->args[0], parameters = action_arg(a, 1);
    double draws = 0, seconds = 0;
    enum gpm_status st = take_number(&in, 2, "draws", 1e6, &draws);
    if (st == GPM_OK) st = take_number(&in, 3, "seconds", 1e9, &seconds);
    if (st != GPM_OK) return st;
    if (what.tag == V_STR || what.tag == V_SYM) {
        if (is_absent(parameters)) parameters = infer_name(x, "default");
        st = search_program(x, what, parameters, draws, seconds, out);
    } else {
        struct structure_model *m = model_arg(x, in.op, what);
        if (!m) return GPM_E_USER;
        if (!is_absent(parameters) || m->scope)
            return infer_error(
                x, DIAG_BAD_OPERATOR_ARG,
                "structure_search(model) is for the structures of a series; a grammar "
                "of the current model is given by its scopes: "
                "structure_search(\"grammar\", \"parameters\")");
        st = search_series(x, m, draws, seconds);
        *out = value_ref(what);
    }
    if (st == GPM_OK) query_note(x, *out);
    return st;
}

static enum gpm_status op_chains(struct infer_state *x, const struct action *a, value *out) {
    struct options_in in = {x, "structure_chains", a->args, a->n};
    struct structure_model *m = model_arg(x, in.op, a->args[0]);
    double steps = 0;
    if (!m || take_number(&in, 1, "steps", 1e7, &steps) != GPM_OK) return GPM_E_USER;
    if (!m->searched)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_chains: the structures have not been searched yet; run "
                           "structure_search(model) first");
    struct posterior *p = posterior_of(m);
    const struct search *s = p->search;
    if (m->sampled) {
        posterior_release(p);
        posterior_init(p, s);
    }
    posterior_chains(p, (size_t)steps);
    if (m->scope) program_space_rest(s->space);
    m->sampled = s->space->st == GPM_OK;
    return s->space->st;
}

/* A row per state of the chains; a chain is a particle. */
static enum gpm_status op_draws(struct infer_state *x, const struct action *a, value *out) {
    static const char *const names[] = {"structure", "log", "log density"};
    struct structure_model *m = model_arg(x, "structure_draws", a->args[0]);
    if (!m) return GPM_E_USER;
    if (!m->sampled)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_draws: there are no chains yet; run "
                           "structure_chains(model) first");
    const struct posterior *p = posterior_of(m);
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

#define SERIES_SIG "data: any, time?: any, column?: any, skip_bad?: any, max_points?: any"

const struct infer_op infer_discover_rows[] = {
    {"read_series", "(" SERIES_SIG ") -> array",
     "pairs of time and value of a CSV file of a time series, as gpmem discover reads it: dates "
     "are "
     "years or days, missing values are left out, times ascend",
     NULL, OP_PLAIN, .run = op_read_series},
    {"structure_model",
     "(" SERIES_SIG ", kernels?: any, changepoints?: any, log?: any, holdout?: any) -> any",
     "a posterior over the structures of a time series (a CSV file, or an array of pairs), to be "
     "searched: what gpmem discover works on, with its prior. Prints as a table; prob(query, "
     "model) "
     "asks it",
     NULL, OP_PLAIN, .run = op_structure_model},
    {"structure_search", "(model: any, parameters?: any, draws?: any, seconds?: any) -> action",
     "best-first search over structures, parameters integrated out of each by Laplace's method and "
     "importance sampling (draws per structure near the top). model: what structure_model gives; "
     "or the scope of the current model whose discrete choices make the structure, and then "
     "`parameters` is the scope of its continuous ones (default: all there are). Gives the "
     "posterior over structures, as structure_model does; the state of the current model becomes "
     "a draw from it",
     NULL, 0, .run = op_search},
    {"structure_chains", "(model: any, steps?: any) -> action",
     "four exact chains over structures and parameters beside the search: whether the posterior "
     "has "
     "settled, and effective sample sizes",
     NULL, 0, .run = op_chains},
    {"structure_draws", "(model: any) -> any",
     "the states of the chains of a structure_model as a dataset: structure, logarithm, log "
     "density",
     NULL, OP_PLAIN, .run = op_draws},
    {0},
};
