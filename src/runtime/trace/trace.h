/* SPDX-License-Identifier: Apache-2.0
 *
 * Probabilistic execution traces.
 *
 * A node is one application, `if` or `tag`. Variable references and literals make no nodes of their
 * own: an operand slot points straight at the node that supplies the value (a constant node for
 * literals). Nodes know their parents (in[] and, for nodes that request families, req->xin[]) and
 * their children (out[]).
 *
 * A family is the evaluation of one expression in one frame: the nodes it made, in order of
 * evaluation, and its root. Requesting nodes (compound calls, `if`, memoized calls, mapv) hold
 * families; memoized families are shared and counted.
 *
 * A proposal is a scaffold (scaffold.c): the nodes that change (D), those that absorb (A), makers
 * that absorb for their applications (M) and the brush, torn down and rebuilt. detach takes them
 * out in reverse order of evaluation, regen puts them back with new values, restore puts the old
 * ones back exactly. See regen.c.
 *
 * Ownership: a trace owns its directives' families; families own nodes and frames; nodes own their
 * value (counted). Nothing outside trace/ keeps node pointers across a transition.
 *
 * This header has the life of a trace and facts about its nodes: making and freeing in record.c,
 * copies in clone.c and layer.c, what the collector visits in onoff.c, facts in node.c, walks over
 * all nodes in transition.c, the order of choices in evaluation_order.c, densities in joint.c,
 * checks in check.c. Directives, scopes, proposals and factors have headers of their own beside it.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "language/lang/ast.h"
#include "numeric/special/rng.h"
#include "language/rows/protocol/sp.h"
#include "runtime/core/plain.h"
#include "language/value/value.h"

/* What other rooms may read of a trace. Only trace/ and flat/ write it and see its parts: nodes,
 * families, links, directives, scopes (node.h). */
struct node;
struct record; /* one directive in the trace, or several observations without a label */
struct scope;
struct scope_block;

struct trace {
    union {
        struct world world;
        struct {
            struct rng rng;
            struct map globals; /* sym -> struct node*; names of layers below: world_find */
        };
    };
    struct session_core *core; /* borrowed: builtins, options, diagnostics */
    VEC(struct record *) records;
    VEC(struct node *) choices; /* unobserved random choices */
    VEC(struct scope *) scopes;
    uint64_t number;    /* unique; an address may be reused, this is not */
    uint64_t structure; /* counts changes of structure; cached flats compare it */
    uint64_t n_nodes;
    uint64_t n_directives; /* given, less those taken back by trace_undo_last */
    double log_weight;     /* particle weight */
    /* For the error of the evidence (inference/particles/op_particles.c). The last two are the same
     * in all particles of a model. */
    struct ancestry {
        uint32_t from;        /* which particle of the common start this one descends from */
        uint32_t generations; /* populations since that start, inclusive; 0: no start yet */
        double variance;      /* relative variance of the evidence at that start */
    } ancestry;
};

/* Facts about a node. */
static inline value node_value(const struct node *n) { /* borrowed */
    return ((const struct cell *)n)->val;
}
uint64_t node_seq(const struct node *n); /* unique number of the node */
/* The first free choice in evaluation order whose number is not in `known`; NULL if every choice is
 * known. All choices it depends on come before it. */
struct node *trace_first_choice(struct trace *t, const uint64_t *known, size_t n);
/* Identifies the place in the program and the named blocks of the draw. Corresponding choices in
 * other states and in copies of the trace have the same number. */
uint64_t node_origin(const struct node *n);
/* Does any random choice or observation depend on this value, directly or through other nodes? */
bool node_matters(const struct node *n);
value node_procedure(const struct node *n);     /* the procedure it applies; borrowed */
value node_arg(const struct node *n, size_t i); /* argument i, from 1 on; borrowed */
struct trace *trace_new(struct session_core *core, struct rng rng);
void trace_free(struct trace *t);
/* For the cycle collector: visits every value the trace holds. */
void trace_visit(struct trace *t, struct visitor *v);
/* A deep copy of all layers with the same generator state. Split the generator for an independent
 * stream. */
struct trace *trace_clone(struct trace *t);
/* Layers (layer.c). Returns a second trace in the same state as *t. Both continue from that state
 * and share its storage. Directives can be added to a layered trace directly. Call trace_whole
 * before anything that may change or walk existing nodes. After trace_share, node pointers from *t
 * are invalid; after trace_whole of a layered trace they are invalid, too. */
struct trace *trace_share(struct trace **t) GPM_MUST_USE;
void trace_whole(struct trace *t);

/* A copy of v that may outlive the trace: closures see copies of the values they close over.
 * Owned. */
value trace_export(struct trace *t, value v);

/* Flat steps leave copies of the changed values (at tags, branches and calls) and the densities of
 * observations stale. This brings them up to date. scaffold_build calls it; other readers and
 * writers must call it after flat steps. */
void trace_settle(struct trace *t);

/* Facts about a choice. */
enum gpm_status node_support(struct trace *t, struct node *n, struct sp_support *out) GPM_MUST_USE;
enum gpm_status node_enumerate(struct trace *t, struct node *n, value **vals,
                               size_t *count) GPM_MUST_USE;
/* The log density of the node's value, from node->logp if that is valid. */
enum gpm_status node_logp(struct trace *t, struct node *n, double *out) GPM_MUST_USE;
enum gpm_status node_density(struct trace *t, struct node *n, value v, double *out) GPM_MUST_USE;
/* Is the choice normal given its arguments (struct sp_class, normal), without bounds? node_prior
 * then gives a draw from its prior (owned) and its mean (borrowed). */
bool node_is_normal(const struct node *n);
enum gpm_status node_prior(struct trace *t, struct node *n, value *draw, value *mean) GPM_MUST_USE;
const struct sp_class *node_class(const struct node *n); /* NULL if it applies no primitive */
struct span node_span(const struct node *n);

/* Calls fn for every node that is on. */
typedef enum gpm_status node_fn(void *ctx, struct trace *t, struct node *n);
enum gpm_status trace_each_node(struct trace *t, node_fn *fn, void *ctx) GPM_MUST_USE;
/* log P of all random choices and observations, recomputed from nothing. */
enum gpm_status trace_log_joint(struct trace *t, double *joint, double *likelihood) GPM_MUST_USE;
/* Checks every invariant and describes a violation in `why`. */
bool trace_check(struct trace *t, struct buf *why);
/* Has the trace ever held a choice without a prior to draw from (SP_IMPROPER)? */
bool trace_had_improper(const struct trace *t);
/* Bytes of all applications (nodes, links, requests, directives) and their number. Layers in `seen`
 * are skipped; the others are added to it. */
size_t trace_memory(struct trace *t, struct map *seen, size_t *n_apps);
#endif
