/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of a model for users: list_directives, explain, profile. */
#include "inference/run/infer.h"
#include "inference/run/profile.h"

static const char *const kinds[] = {
    [REC_ASSUME] = "assume", [REC_OBSERVE] = "observe", [REC_PREDICT] = "predict"};

/* The text of an expression; owned. */
static value source_text(struct infer_state *x, struct span at) {
    if (at.unit == NO_SPAN_UNIT) return value_cstr("");
    const struct source *u = x->core->diags->sources->units.at[at.unit];
    return at.end <= u->len ? value_str(u->text + at.start, at.end - at.start) : value_cstr("");
}

static value name_or_nil(const struct sym *s) {
    return s ? value_cstr(s->text) : NIL;
}

/* The observed value, or the present value of the expression; borrowed. */
static value shown_value(struct recorded d) {
    return record_kind(d.r) == REC_OBSERVE ? recorded_observed(d) : recorded_value(d);
}

static value directive_facts(struct infer_state *x, struct recorded d) {
    static const char *const keys[] = {"label", "kind", "text", "value"};
    value vals[] = {name_or_nil(record_label(d.r)), value_cstr(kinds[record_kind(d.r)]),
                    source_text(x, recorded_span(d)), value_ref(shown_value(d))};
    return value_dict_take(keys, vals, COUNT_OF(vals));
}

void infer_list_directives(struct infer_state *x, struct buf *out) {
    struct trace *t = x->model->p.at[0];
    trace_whole(t);
    trace_settle(t);
    struct recorded d = {0};
    for (size_t at = 0; trace_next_recorded(t, &at, &d);) {
        const struct sym *label = record_label(d.r);
        enum record_kind kind = record_kind(d.r);
        value text = source_text(x, recorded_span(d));
        if (kind == REC_ASSUME)
            buf_printf(out, "assume %s = %s", label ? label->text : "...", text.u.str->text);
        else
            buf_printf(out, "%s%s%s %s", label ? label->text : "", label ? ": " : "", kinds[kind],
                       text.u.str->text);
        buf_printf(out, kind == REC_OBSERVE ? " = %s\n" : "    // %s\n", SHOW(shown_value(d)));
        value_unref(text);
    }
}

static enum gpm_status op_list(struct infer_state *x, const struct action *a, value *out) {
    struct trace *t = x->model->p.at[0];
    trace_whole(t);
    trace_settle(t);
    size_t n = 0, at = 0;
    struct recorded d = {0};
    for (size_t i = 0; i < t->records.n; i++) n += record_size(t->records.at[i]);
    *out = value_array_new(n);
    for (size_t i = 0; trace_next_recorded(t, &at, &d); i++)
        out->u.array->at[i] = directive_facts(x, d);
    return GPM_OK;
}

/* ---- explain ---- */

struct telling {
    struct infer_state *x;
    struct buf *out;
    size_t n;
};

static void print_choice(void *ctx, const struct choice_facts *f) {
    struct telling *to = ctx;
    struct buf *b = to->out;
    unsigned line = 0, column = 0;
    to->n++;
    buf_printf(b, "  %s(", f->cls->name);
    for (size_t i = 0; i < f->n_args; i++) buf_printf(b, "%s%s", i ? ", " : "", SHOW(f->args[i]));
    buf_printf(b, ") %s %s, log density ", f->observed ? "is observed as" : "drew", SHOW(f->val));
    buf_number(b, f->logp);
    for (size_t i = 0; i < f->n_tags; i++) {
        buf_printf(b, ", scope %s", SHOW(f->scopes[i]));
        if (!is_absent(f->blocks[i])) buf_printf(b, " block %s", SHOW(f->blocks[i]));
    }
    if (f->at.unit != NO_SPAN_UNIT) {
        sources_locate(to->x->core->diags->sources, f->at, &line, &column);
        buf_printf(b, " (line %u)", line);
    }
    buf_putc(b, '\n');
}

static enum gpm_status explain_one(struct infer_state *x, struct trace *t, struct recorded d,
                                   struct buf *out) {
    struct telling to = {x, out, 0};
    const struct sym *label = record_label(d.r);
    enum record_kind kind = record_kind(d.r);
    value text = source_text(x, recorded_span(d));
    bool data = kind == REC_OBSERVE;
    buf_printf(out, "%s%s%s %s = %s\n", data && label ? label->text : "", data && label ? ": " : "",
               kinds[kind], kind == REC_ASSUME && label ? label->text : text.u.str->text,
               SHOW(shown_value(d)));
    value_unref(text);
    enum gpm_status st = trace_explain(t, d, print_choice, &to);
    if (st == GPM_OK && !to.n) buf_puts(out, "  makes no choice of its own\n");
    return st;
}

static enum gpm_status op_explain(struct infer_state *x, const struct action *a, value *out) {
    struct trace *t = x->model->p.at[0];
    struct sym *label = NULL;
    struct buf b = BUF_INIT;
    enum gpm_status st = a->n ? infer_label(x, a->args[0], &label) : GPM_OK;
    value known;
    if (st == GPM_OK && label && (st = trace_report(t, label, x->at, &known)) == GPM_OK)
        value_unref(known); /* the label exists */
    trace_whole(t);
    struct recorded d = {0};
    for (size_t at = 0; st == GPM_OK && trace_next_recorded(t, &at, &d);)
        if (!label || record_label(d.r) == label) st = explain_one(x, t, d, &b);
    if (st == GPM_OK) infer_write(x, b.data ? b.data : "", b.len);
    buf_release(&b);
    return st;
}

/* ---- profile ---- */

/* Inside another profile, that one covers the action. */
static enum gpm_status op_profile(struct infer_state *x, const struct action *a, value *out) {
    if (x->profile) return action_run(x->core, a->args[0], x->at, out);
    struct buf b = BUF_INIT;
    x->profile = profile_new();
    enum gpm_status st = action_run(x->core, a->args[0], x->at, out);
    if (st == GPM_OK) {
        profile_text(x->profile, x->core->diags->sources, &b);
        infer_write(x, b.data, b.len);
    }
    buf_release(&b);
    profile_free(x->profile);
    x->profile = NULL;
    return st;
}

const struct infer_op infer_explain_rows[] = {
    {"list_directives", "() -> action",
     "the directives of the model in their order: an array of dictionaries with label, kind "
     "(assume, "
     "observe, predict), text and value; the prompt's :list prints them",
     .run = op_list},
    {"explain", "(label?: label) -> action",
     "prints how the value of a directive came about: every random choice that it made, with its "
     "arguments, value, log density, scopes and place; without a label, of all directives",
     .run = op_explain},
    {"profile", "(a: action) -> action",
     "runs a and prints where its time went: by directive and operator, their own time without "
     "that "
     "of actions inside them, calls, scope and share of accepted proposals",
     .run = op_profile},
    {0},
};
