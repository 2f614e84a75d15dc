/* SPDX-License-Identifier: Apache-2.0
 *
 * For trace/ and flat/ only: nodes, links, families, evaluation, switching nodes on and off
 * (onoff.c). Regeneration on demand stands in regen.c, numbers and records in record.c, copies of
 * statistics in clone.c. */
#ifndef TRACE_NODE_H
#define TRACE_NODE_H
#include "base/pool.h"
#include "runtime/trace/directives.h"
#include "runtime/trace/proposal.h"
#include "runtime/trace/scopes.h"

enum node_kind { NODE_CONST, NODE_APP, NODE_IF, NODE_TAG };

enum {
    NODE_ON = 1,           /* linked, registered, incorporated */
    NODE_RANDOM = 2,       /* its current procedure is random */
    NODE_OBSERVED = 4,     /* constrained: not a free choice */
    NODE_OBS_ROOT = 8,     /* root of an observe directive's expression */
    NODE_LINKED_ARGS = 16, /* operands are linked (always, except for compound calls) */
    NODE_KEPT = 32,        /* frozen draw kept in the statistics: observed, but not data */
    NODE_INCORPORATED = 64,
    NODE_HAS_LOGP = 256, /* logp is the log density of val given the current operands */
    NODE_FROZEN = 1024,
    NODE_AS_DATA = 2048,  /* incorporated as an observation */
    NODE_IN_INDEX = 512,  /* a tag whose context is in the scope index */
    NODE_ARGUMENT = 4096, /* stands for an operand of the node requesting its family */
    NODE_BY_INDEX = 8192  /* a map whose families look their elements up by index (shape.c) */
};

struct in_edge {
    struct node *node;
    uint32_t back; /* position in node->out; unused for constants */
};
struct out_edge {
    struct node *child;
    uint32_t slot; /* in[slot], or xin[slot - XIN] */
};
#define XIN      0x80000000u
#define NO_INDEX UINT32_MAX

struct node {
    union {
        struct cell cell; /* a constant has only this part */
        struct {
            value val;
            uint16_t flags;
            uint8_t kind;
            uint8_t special; /* enum sp_special of the applied builtin */
            uint32_t n_in;
        };
    };
    /* The rest of a node; fields that flat steps touch come first. */
    double logp;
    struct flat *flat; /* compiled steps of this single choice, or NULL */
    const struct ast *ast;
    struct family *family; /* owner; borrowed */
    struct tagctx *ctx;    /* innermost tag context of its evaluation, borrowed, or NULL */
    uint64_t seq;          /* order of creation */
    struct out_edge *out;
    uint32_t n_out, cap_out;
    uint32_t choice;           /* position in trace->choices, or NO_INDEX */
    uint32_t mark;             /* 1 + entry in the current scaffold; 0: not in it */
    struct membership *member; /* tag contexts it is registered in, or NULL */
    struct request *req;       /* NULL if the node requests nothing */
    struct in_edge in[];       /* NODE_APP: operator, operands. NODE_IF: condition. NODE_TAG: scope,
                                  [block,] expression. An alias: the node it names. */
};

/* The families and extra parents of a requesting node. */
struct request {
    struct family **fam;
    uint32_t n_fam, cap_fam;
    uint32_t n_xin, cap_xin;
    struct in_edge *xin; /* roots of families, dereferenced nodes, closed-over nodes */
    struct frame *frame; /* NODE_IF: where the branches are evaluated; borrowed from the family */
    struct tagctx *own;  /* NODE_TAG: its context */
};

struct family {
    struct node *root;
    PVEC(struct node *) nodes;   /* owned, in order of evaluation */
    PVEC(struct frame *) frames; /* counted; the frame of a call also holds its code */
    PVEC(struct code *) code;    /* syntax trees of its nodes; counted */
    struct tagctx *ctx;          /* enclosing tag context, borrowed, or NULL */
    struct tagctx *own_ctx;      /* memoized: joins the contexts of all requesters; owned */
    struct memo_proc *memo;      /* memoized: the table that lists it; borrowed */
    value key;                   /* memoized: array of arguments */
    uint64_t born;               /* memoized: number of the next node at its creation */
    uint32_t refs;               /* requesters */
    uint32_t lost;               /* scaffold: requesters lost in this proposal */
    uint32_t visit;              /* scope.c */
    uint64_t fresh; /* scope.c: scopes already registered again in this visit, as bits */
    bool building;  /* memoized: being evaluated (a second request is a loop) */
    bool dead;      /* about to be freed */
};

/* Scopes (scope.c). A context is one evaluation of `tag`. Choices in its dynamic extent register in
 * it. The context of a memoized family stands for all contexts that request the family. */
struct tagctx {
    struct tagctx *parent;       /* next outer context; NULL at the top */
    VEC(struct tagctx *) joined; /* memoized families: contexts of the requesters */
    bool memo, exclude;
    uint64_t reach; /* memoized families: bit set of the scopes of tags around the requesters */
    uint64_t bit;   /* bit of its scope */
    value scope, block;
    VEC(struct node *) choices;
    struct scope_block *home; /* its block in the index, or NULL */
    uint32_t home_pos;
    uint32_t slot; /* position in the memberships of the last registered choice */
};
struct scope_block {
    value id;
    struct scope *scope;
    VEC(struct tagctx *) ctxs;
    size_t n_choices;
    uint32_t live_pos; /* in scope->live when n_choices > 0 */
    uint32_t pos;      /* in scope->blocks */
    bool unique;       /* block of one evaluation of a tag without a named block */
};
struct scope {
    value name;
    uint32_t pos;                     /* position in trace->scopes; never changes */
    VEC(struct scope_block *) blocks; /* owned */
    struct map by_id;                 /* hash of id -> block, unique blocks excepted */
    VEC(struct scope_block *) live;   /* blocks that hold choices */
};
struct membership {
    uint32_t n, cap;
    struct {
        struct tagctx *ctx;
        uint32_t pos;
    } in[];
};

struct binding {
    struct sym *name;
    struct node *node;
};
/* Observations without a label cannot be told apart by a program, and there may be millions.
 * Consecutive ones share one record and one family (observations.c). The observed value is stored
 * only in the choice that the expression leads to. */
struct observation {
    struct node *root; /* root of the expression; possibly a node of another directive */
    struct span span;
    uint32_t end; /* its nodes in the family end before this index and begin at the previous part's
                     end */
};
struct record {
    enum record_kind kind;
    bool frozen;                    /* its names may be assumed again */
    struct sym *label;              /* NULL if unlabelled */
    struct family *family;          /* one reference */
    PVEC(struct binding) names;     /* assume: one, or those of the components */
    PVEC(struct observation) parts; /* joined observations, in order */
    struct span span;               /* span of the first directive's expression */
    double weight;                  /* observe: log density of the first one when it was added */
};
static inline struct node *recorded_root(struct recorded d) {
    return d.r->parts.n ? d.r->parts.at[d.i].root : d.r->family->root;
}

/* Compiled steps (runtime/flat/flat.h, the layer above). The trace is up to date except where a
 * flat is ahead of it; `settle` writes the outstanding values. */
struct flat;
struct flat_hooks {
    void (*settle)(struct trace *t);
    bool (*is_ahead)(const struct trace *t);       /* for checks */
    void (*drop)(struct trace *t, struct flat *f); /* drops the flat of a node that is freed */
    /* An accepted proposal changed structure, and nothing else did; `dead` are still to be freed.
     */
    void (*outdate)(struct trace *t, struct scaffold *s, struct family *const *dead, size_t n_dead);
    void (*free)(struct trace *t);
};

/* Shared by all layers of one stack. */
struct lineage {
    uint32_t refs;
    struct pool pool; /* nodes and flats */
};

/* The full trace, of which trace.h shows the view. */
struct inner {
    struct trace view;
    struct map labels;          /* sym -> record */
    struct scaffold *active;    /* between detach and accept */
    const struct ast *replaced; /* the expression being evaluated for an observation, or NULL */
    struct scaffold *spare;     /* a scaffold kept for reuse, or NULL */
    uint64_t next_seq, next_block;
    uint32_t ctx_visit;
    bool scopes_vary;    /* a tag has changed its scope, so scope bits are no longer valid */
    bool makers;         /* has or had procedures with statistics, which change in place */
    bool improper;       /* has or had choices with improper priors */
    bool opening;        /* taking calls apart that are otherwise held as one node */
    struct lineage *kin; /* counted */
    struct trace *below; /* sealed layer below; counted. NULL: the trace is whole */
    uint32_t above;      /* number of layers on top; the trace is sealed while it is > 0 */
    struct pmap *names, *entries; /* of a sealed one: its world's maps and its own */
    struct map lent;              /* name -> procedures that read it for the model (made_with.c) */
    struct flats *flats;          /* all compiled steps; NULL until the first */
    uint64_t flats_structure;     /* view.structure for which they hold */
    const struct flat_hooks *flat_hooks;
};
static inline struct inner *inner(const struct trace *t) {
    return (struct inner *)(uintptr_t)t;
}

static inline struct pool *pool_of(const struct trace *t) {
    return &inner(t)->kin->pool;
}

/* Layers (layer.c). Is the node or family in a layer below? Those are read-only. */
static inline bool node_below(const struct trace *t, const struct node *n) {
    return n->kind != NODE_CONST && n->seq < t->world.first;
}
static inline bool family_below(const struct trace *t, const struct family *f) {
    return f->memo && f->born < t->world.first;
}
/* All layers of t, the lowest first; release *out with mem_free. */
size_t trace_layers(const struct trace *t, struct trace ***out);
struct record *layer_record(const struct trace *t, const struct sym *label); /* or NULL */
/* For trace_pack.c: layer_new makes a layer on a sealed trace; layer_seal seals t. */
struct trace *layer_new(struct trace *below);
void layer_seal(struct trace *t);

/* The frame a directive is evaluated in (made_with.c): f, or a copy of f that keeps the present
 * meaning of the names in `a`. `own`: names that the directive binds. Counted. */
struct frame *bindings_make(struct trace *t, const struct ast *a, struct frame *f,
                            struct sym *const *own, size_t n_own) GPM_MUST_USE;
/* Does any directive look up names of this one later? With `others` the directive itself is left
 * out. */
bool bindings_read(struct trace *t, const struct record *r, bool others);
/* Has anything that another directive made read a node of this one (readers.c)? */
bool record_is_read(struct trace *t, struct record *r);
/* Notes procedures of the inference program inside v that may be called later. trace_lend_branches
 * does so for the branches of an `if` in such a procedure. */
void trace_lend(struct trace *t, value v);
void trace_lend_branches(struct trace *t, const struct ast *a, struct frame *f);
void lent_join(struct trace *t, const struct trace *from);
void lent_release(struct map *lent);
/* Allocation and links (node.c). */
struct node *node_new(struct trace *t, struct family *fam, enum node_kind kind,
                      const struct ast *ast, uint32_t n_in);
struct node *node_constant(struct trace *t, struct family *fam, value v_taken);
static inline size_t node_size(int kind, uint32_t n_in) {
    return kind == NODE_CONST ? sizeof(struct cell)
                              : sizeof(struct node) + n_in * sizeof(struct in_edge);
}
void node_free(struct trace *t, struct node *n);
/* Registers child in in[slot].node->out. A parent in a layer below is not touched: that link is
 * made when the trace becomes whole. */
void link_in(struct trace *t, struct node *child, uint32_t slot);
void unlink_in(struct trace *t, struct node *child, uint32_t slot);
struct request *node_request(struct trace *t, struct node *n); /* allocated on first use */
struct request *request_new(struct trace *t);
void request_free(struct trace *t, struct request *r);
void request_add_parent(struct trace *t, struct node *n, struct node *parent); /* links too */
void request_clear_parents(struct trace *t, struct node *n);
void request_unlink(struct trace *t, struct node *n); /* keeps the list, for relinking */
static inline struct in_edge *edge_of(struct node *n, uint32_t slot) {
    return slot & XIN ? &n->req->xin[slot & ~XIN] : &n->in[slot];
}
uint64_t trace_number(void); /* the next unused number */
struct family *family_new(struct trace *t, struct tagctx *ctx);
static inline void memo_set_family(struct memo_entry *e, struct family *f) {
    e->family = f;
    e->root = &f->root;
}
/* Keeps the code that the family's nodes point into; NULL does nothing. */
void family_keep_code(struct trace *t, struct family *f, struct code *k);
void family_free(struct trace *t, struct family *f); /* all nodes must be off */
struct frame *family_frame(struct trace *t, struct family *f, struct frame *parent, size_t n,
                           struct sym **names, struct code *code); /* owned by the family */

static inline bool node_is_datum(const struct node *n) {
    return (n->flags & (NODE_OBSERVED | NODE_KEPT)) == NODE_OBSERVED;
}

/* Evaluation (eval.c, apply.c). */
enum gpm_status eval_expr(struct trace *t, struct family *fam, const struct ast *a, struct frame *f,
                          struct tagctx *ctx, struct node **out) GPM_MUST_USE;
/* Evaluates `a` in a new family. On failure everything is undone. */
enum gpm_status eval_family(struct trace *t, const struct ast *a, struct frame *f,
                            struct tagctx *ctx, struct family **out) GPM_MUST_USE;
/* A new node of the family that applies nodes[0] to the others. */
enum gpm_status eval_application(struct trace *t, struct family *fam, const struct ast *a,
                                 struct tagctx *ctx, struct node *const *nodes, size_t n,
                                 struct node **out) GPM_MUST_USE;
/* An application that the program did not write. Messages show the call it stands for. y may be
 * NULL. */
enum gpm_status eval_builtin(struct trace *t, struct family *fam, const struct ast *a,
                             struct tagctx *ctx, const char *name, struct node *x, struct node *y,
                             struct node **out) GPM_MUST_USE;
/* A node of this family with the value of a node of any family: a name that can be frozen
 * separately. A value that never changes becomes a constant. Procedures keep the node of their
 * maker. */
enum gpm_status eval_alias(struct trace *t, struct family *fam, const struct ast *a,
                           struct node *of, struct node **out) GPM_MUST_USE;
/* n nodes of the family, one per component of a package. */
enum gpm_status eval_components(struct trace *t, struct family *fam, const struct ast *a,
                                struct node *package, size_t n, struct node **out) GPM_MUST_USE;
/* Parts of application that nested.c needs: ending the evaluation of a family for n, calling a
 * memoized procedure by its argument array, and computing a run inside a model (run(a)). */
enum gpm_status request_family(struct trace *t, struct node *n, struct family *f,
                               enum gpm_status st) GPM_MUST_USE;
enum gpm_status apply_memo(struct trace *t, struct node *n, struct memo_proc *m,
                           value key) GPM_MUST_USE;
enum gpm_status apply_run(struct trace *t, struct node *n, value *out) GPM_MUST_USE;
/* Evaluates a call held as one node (SPECIAL_PURE) in full: a family that no node requests. The
 * caller drops and frees it whatever the status. */
enum gpm_status call_taken_apart(struct trace *t, struct node *n, struct family **out) GPM_MUST_USE;
/* Computes a node's value from its parents, registers and incorporates it. `requests`: evaluate the
 * requested families again; otherwise only the output is recomputed. */
enum gpm_status node_apply(struct trace *t, struct node *n, bool requests) GPM_MUST_USE;
/* Does the application call procedures among its operands directly (SP_CALLS, or assess of a
 * compound procedure)? */
static inline bool node_calls(const struct node *n, const struct sp_class *cls) {
    return (cls->flags & SP_CALLS) ||
           (cls->code == SP_CODE_ASSESS && n->n_in > 2 && n->in[2].node->val.tag == V_PROC &&
            !sp_proc_of(n->in[2].node->val));
}
/* Does it map over sequences that are nodes, with elements looked up by index (shape.c)? */
bool node_maps_by_index(const struct node *n);
/* Is the operand at `slot` one of the sequences of a map by index? */
static inline bool maps_over(const struct node *n, uint32_t slot) {
    return (n->flags & NODE_BY_INDEX) && slot > 1 && !(slot & XIN);
}
/* Makes the nodes that procedures among n's operands close over parents of n (SP_CALLS). */
void node_close_over(struct trace *t, struct node *n);
/* Switches a node on: links, incorporates and registers it. The mirror image of off. */
void node_on(struct trace *t, struct node *n);
/* Removes one requester. The family goes off with the last one, but is not freed. */
void family_drop(struct trace *t, struct family *f, struct tagctx *ctx);
/* Adds one requester. The family goes on with the first one. */
void family_take(struct trace *t, struct family *f, struct tagctx *ctx);
/* Appends to `dead` those of the families that have no requester left, and everything only they
 * requested; they must be freed then. */
typedef VEC(struct family *) families;
void families_find_dead(struct family *const *fam, size_t n, families *dead);
void families_free(struct trace *t, families *dead);
/* Finds and frees them. */
void families_free_dead(struct trace *t, struct family *const *fam, size_t n);
/* Frees all families as they stand, when the trace ends. */
void families_free_all(struct trace *t);
/* Drops all families and extra parents of a request and frees the dead families. */
void request_release(struct trace *t, struct node *n);
void set_maker(value v, struct node *maker);
struct sp_proc *first_made(value v);
struct node *maker_of(value v); /* node of the procedure's maker, or NULL */

/* While a row runs, the procedures it calls see the model's names and draw from its generator.
 * Returns the previous core->model, to be restored afterwards. */
static inline struct world *model_enter(struct trace *t) {
    struct world *outer = t->core->model;
    t->core->model = &t->world;
    return outer;
}

/* Parts of on and off. */
void node_link_all(struct trace *t, struct node *n);
void node_link_operands(struct trace *t, struct node *n);
uint32_t linked_operands(const struct node *n); /* how many operands list n as a child */
void set_linked_args(struct trace *t, struct node *n,
                     bool linked); /* n: an application, on or off */
void node_unlink_all(struct trace *t, struct node *n);
void choice_add(struct trace *t, struct node *n);
void choice_remove(struct trace *t, struct node *n);
enum gpm_status node_incorporate(struct trace *t, struct node *n);
/* Incorporates a given value. If its density is zero the procedure still keeps it when it can, so
 * the joint density is zero until the value leaves. A procedure that cannot hold it goes
 * without. */
enum gpm_status node_incorporate_given(struct trace *t, struct node *n) GPM_MUST_USE;
enum gpm_status node_unincorporate(struct trace *t, struct node *n);
/* A call of the row that computes n. Arguments are borrowed from the operand nodes, so the call
 * must end before any of them changes. */
struct node_call {
    struct sp_call c;
    struct world *outer;
    value *args, small[8];
};
void call_begin(struct trace *t, struct node *n, struct node_call *k);
/* With arguments other than the operands' values; they belong to the caller. */
void call_begin_with(struct trace *t, struct node *n, value *args, struct node_call *k);
/* Begins a call and checks its arguments. Always end it with call_end, whatever the status. */
enum gpm_status call_begin_checked(struct trace *t, struct node *n,
                                   struct node_call *k) GPM_MUST_USE;
/* st is the status of the row's function. Gives its diagnostic a place in the program. */
enum gpm_status call_end(struct trace *t, struct node *n, struct node_call *k,
                         enum gpm_status st) GPM_MUST_USE;
bool node_is_stateful(const struct node *n); /* its procedure keeps statistics */
/* During regen, these make sure that a node under reconstruction has its new value. regen_maker:
 * the maker of a made procedure. regen_operands: all operands, and the makers of procedures among
 * them, since a made procedure computes with its maker's parameters. regen_extra: the extra
 * parents. */
enum gpm_status regen_ensure(struct trace *t, struct node *n) GPM_MUST_USE;
enum gpm_status regen_maker(struct trace *t, value proc) GPM_MUST_USE;
enum gpm_status regen_operands(struct trace *t, struct node *n) GPM_MUST_USE;
enum gpm_status regen_extra(struct trace *t, struct node *n) GPM_MUST_USE;
/* A deterministic application that records data (f_compute) adds its density to the weight of a
 * proposal: after unincorporating when taken out, before incorporating when put in. */
enum gpm_status carry_weight(struct trace *t, struct node *n) GPM_MUST_USE;

/* Scopes (scope.c). */
struct tagctx *tagctx_new(struct tagctx *parent, bool memo);
void tagctx_free(struct tagctx *c);
void tagctx_set_scope(struct trace *t, struct tagctx *c, value name);
uint64_t tagctx_reach(const struct tagctx *c);
void tagctx_register(struct trace *t, struct node *choice);
void tagctx_unregister(struct trace *t, struct node *choice);
void tag_enter_index(struct trace *t, struct node *tag); /* scope, block: from its operands */
void tag_leave_index(struct trace *t, struct node *tag);
void memo_join(struct trace *t, struct family *f, struct tagctx *ctx);
void memo_part(struct trace *t, struct family *f, struct tagctx *ctx);
struct scope *scope_get(struct trace *t, value name); /* creates it if needed */
void scopes_release(struct trace *t);

/* Observations (observe.c). */
enum gpm_status observation_end(struct trace *t, struct node *root, struct span at,
                                struct node **out) GPM_MUST_USE;
/* The node whose value n passes on unchanged (tag, branch, call of a compound), or NULL. */
struct node *copy_source(const struct node *n);
struct node *chase(struct node *n); /* follows copy_source to the node that supplies the value */
/* Carries the new value of n to its already computed children. Fails if one of them is random or
 * requests families, unless the value is being restored (back). */
enum gpm_status observation_propagate(struct trace *t, struct node *n, bool back) GPM_MUST_USE;
/* Gives a choice a value from outside (observed, forced, proposed) in the form of its own draws.
 * Takes its density; the statistics do not count it yet. The node must hold a draw. */
enum gpm_status node_give(struct trace *t, struct node *n, value v, double *logp) GPM_MUST_USE;
enum gpm_status constrain_end(struct trace *t, struct node *end, value v,
                              double *weight) GPM_MUST_USE;
/* Joins the directives before the newest one into one record where both are observations without a
 * label (observations.c). The newest stays separate, so that it can be taken back. */
void observations_join(struct trace *t);
/* The nodes of a directive in its record's family: from *from to the returned index, exclusive. */
uint32_t recorded_nodes(struct recorded d, uint32_t *from);

/* Removes an observation of another directive's node, which is no longer a choice. True: the record
 * became empty and was freed. */
bool observation_drop(struct trace *t, struct record *r, uint32_t part);
/* Frees the record's names and label. Nodes of other directives that read the family must be
 * gone. */
void record_undo(struct trace *t, struct record *r);
/* Replaces the directive by its value (freeze.c). */
enum gpm_status record_freeze(struct trace *t, struct record *r, struct span at) GPM_MUST_USE;
bool record_keeps_counts(const struct record *r); /* it counts frozen draws in statistics */

/* Numbers as the layer above stores them. */
static inline bool number_is(value v) {
    return v.tag == V_NUM || v.tag == V_BOOL;
}
static inline double number_of(const value *v) {
    return v->tag == V_BOOL ? (double)v->u.boolean : v->u.num;
}
/* A copy of a made procedure's statistics for trial changes; owned. */
void *trace_copy_state(struct trace *t, struct sp_state *s);
#endif
