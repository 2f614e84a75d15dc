/* SPDX-License-Identifier: Apache-2.0
 *
 * Directives of a trace: making, reading and taking them back (record.c; of observations without a
 * label observations.c, freezing freeze.c, new data for them replicate.c, what they were drawn by
 * explain.c, which quantities they name quantities.c, what names mean made_with.c, walks
 * transition.c). Messages stand where the rule is: record.c, observe.c, node.c. */
#ifndef TRACE_DIRECTIVES_H
#define TRACE_DIRECTIVES_H
#include "runtime/trace/trace.h"

/* Facts about a directive: number i of a record. */
enum record_kind { REC_ASSUME, REC_OBSERVE, REC_PREDICT };
struct recorded {
    const struct record *r;
    uint32_t i;
};
enum record_kind record_kind(const struct record *r);
struct sym *record_label(const struct record *r); /* NULL if unlabelled */
uint32_t record_size(const struct record *r);     /* directives that it holds */
value record_value(const struct record *r);       /* the first directive's; borrowed */
value recorded_value(struct recorded d);          /* of the expression; borrowed */
value recorded_observed(struct recorded d);       /* in the form the choice holds it; borrowed */
struct span recorded_span(struct recorded d);     /* of the expression */
/* Steps through the directives of a trace. Start with d.r NULL and *at 0 (the record number);
 * returns false after the last. */
bool trace_next_recorded(const struct trace *t, size_t *at, struct recorded *d);
/* Calls `each` for every random choice that went into the value of a directive. Choices of other
 * directives that it reads are left out. Values are borrowed. blocks[i] is ABSENT for a tag without
 * a named block. */
enum { CHOICE_FACTS = 8 };
struct choice_facts {
    const struct sp_class *cls;
    struct span at;
    value val, args[CHOICE_FACTS], scopes[CHOICE_FACTS], blocks[CHOICE_FACTS];
    size_t n_args, n_tags;
    double logp;
    bool observed;
};
typedef void choice_fn(void *ctx, const struct choice_facts *f);
enum gpm_status trace_explain(struct trace *t, struct recorded d, choice_fn *each,
                              void *ctx) GPM_MUST_USE;
/* trace_each_node for one directive; nodes of other directives that it reads are left out. */
enum gpm_status trace_each_in(struct trace *t, struct recorded d, node_fn *fn,
                              void *ctx) GPM_MUST_USE;
/* Names that the model assumes, in order. Release *out with mem_free. */
size_t trace_names(const struct trace *t, const char ***out);

/* Assumed names, and values of memoized procedures written name[argument], that depend on a free
 * choice. They come in program order and are valid while t->structure stays the same. */
struct trace_quantity {
    char *name;        /* owned */
    struct node *node; /* the node that supplies its value */
};
size_t trace_quantities(const struct trace *t, struct trace_quantity **out);
void trace_quantities_free(struct trace_quantity *q, size_t n);

/* Directives. On failure the trace is unchanged. `frame` is the splice frame of the model
 * expression (the callee counts a reference); `ast` is the expression inside AST_MODEL. */
enum gpm_status trace_assume(struct trace *t, struct sym *const *names, size_t n, struct sym *label,
                             const struct ast *ast, struct frame *frame, value *out) GPM_MUST_USE;
enum gpm_status trace_predict(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value *out) GPM_MUST_USE;
/* Evaluates n expressions one after the other, returns their values, then removes all of them. */
enum gpm_status trace_sample(struct trace *t, const struct ast *const *ast,
                             struct frame *const *frame, size_t n, value *out) GPM_MUST_USE;
enum gpm_status trace_observe(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value v, double *weight) GPM_MUST_USE;
enum gpm_status trace_force(struct trace *t, const struct ast *ast, struct frame *frame, value v,
                            double *weight) GPM_MUST_USE;
/* Messages shared by directives and by the check before a run. `first`: where the name was assumed.
 * `from`: the row whose value cannot be observed, applied at `made`. `names`: the existing
 * labels. */
enum gpm_status trace_name_taken(struct diags *d, const struct sym *name, struct span at,
                                 struct span first);
enum gpm_status trace_not_random(struct diags *d, const struct sp_class *from, bool constant,
                                 struct span made, struct span at);
enum gpm_status trace_not_boolean(struct diags *d, const struct sp_class *cls, value v,
                                  struct span at);
void trace_impossible(struct diags *d, const struct sp_class *cls, value v, struct span at);
enum gpm_status trace_not_enumerable(struct diags *d, const struct sp_class *cls, struct span at);
enum gpm_status trace_no_label(struct diags *d, const struct sym *label, struct span at,
                               const char *const *names, size_t n);
enum gpm_status trace_forget(struct trace *t, struct sym *label, struct span at,
                             double *weight) GPM_MUST_USE;
enum gpm_status trace_report(struct trace *t, struct sym *label, struct span at,
                             value *out) GPM_MUST_USE;
enum gpm_status trace_freeze(struct trace *t, struct sym *label, struct span at) GPM_MUST_USE;
/* The statistics of the made procedure that the expression evaluates to; an error if it keeps
 * none. */
enum gpm_status trace_stats(struct trace *t, const struct ast *ast, struct frame *frame,
                            struct span at, value *out) GPM_MUST_USE;
/* Draws new data for observe directives, given all other choices. Each out[i] is owned. The trace
 * ends unchanged. */
enum gpm_status trace_replicate(struct trace *t, const struct recorded *of, size_t n,
                                value *out) GPM_MUST_USE;
/* Log densities of the data of one observe: one per element if the elements are independent, else
 * one for the whole. For a procedure with statistics each is log p(y_i | all other data,
 * parameters), the quantity that leave-one-out needs. Release *each with mem_free. */
enum gpm_status trace_log_likelihood(struct trace *t, struct recorded d, double **each,
                                     size_t *n) GPM_MUST_USE;
/* Takes the newest directive back. */
void trace_undo_last(struct trace *t);

/* Call before a name changes its meaning, through a definition of the inference program (defines)
 * or through the model. Fails if a procedure of the inference program reads the name for the model.
 * Directives that look it up later keep its current meaning. */
enum gpm_status trace_change_name(struct trace *t, struct sym *name, bool defines,
                                  struct span at) GPM_MUST_USE;
#endif
