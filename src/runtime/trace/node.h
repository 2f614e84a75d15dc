/* SPDX-License-Identifier: Apache-2.0
 *
 * For trace/ and flat/: nodes, links, families, evaluation, switching nodes on and off. */
#ifndef TRACE_NODE_H
#define TRACE_NODE_H
#include "base/pool.h"
#include "runtime/trace/trace.h"

enum node_kind { NODE_CONST, NODE_APP, NODE_IF, NODE_TAG };

enum {
    NODE_ON = 1,           /* linked, registered, incorporated */
    NODE_RANDOM = 2,       /* its current procedure is random */
    NODE_OBSERVED = 4,     /* constrained: not a free choice */
    NODE_OBS_ROOT = 8,     /* root of an observe directive */
    NODE_LINKED_ARGS = 16, /* operands are linked (all but compound calls) */
    NODE_KEPT = 32,        /* a frozen draw that stays in the statistics: observed, but no datum */
    NODE_INCORPORATED = 64,
    NODE_HAS_LOGP = 256, /* logp is the log density of val given the current operands */
    NODE_FROZEN = 1024,
    NODE_AS_DATA = 2048,  /* incorporated as an observation */
    NODE_IN_INDEX = 512,  /* a tag whose context stands in the scope index */
    NODE_ARGUMENT = 4096, /* a constant that stands for an operand of who requests its family */
    NODE_BY_INDEX = 8192  /* a map whose families look their elements up (shape.c) */
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
        struct cell cell; /* a constant has no more */
        struct {
            value val;
            uint16_t flags;
            uint8_t kind;
            uint8_t special; /* enum sp_special of the builtin it applies */
            uint32_t n_in;
        };
    };
    /* the rest; what steps by flats touch stands first */
    double logp;
    struct flat *flat; /* compiled steps of this one choice, or NULL */
    const struct ast *ast;
    struct family *family; /* borrowed: the one that owns it */
    struct tagctx *ctx;    /* innermost tag context it was evaluated in, borrowed, or NULL */
    uint64_t seq;          /* order of creation */
    struct out_edge *out;
    uint32_t n_out, cap_out;
    uint32_t choice;           /* position in trace->choices, or NO_INDEX */
    uint32_t mark;             /* 1 + entry in the current scaffold, 0: none */
    struct membership *member; /* tag contexts it is registered in, or NULL */
    struct request *req;       /* NULL for nodes that request nothing */
    struct in_edge in[];       /* NODE_APP: operator, operands; NODE_IF: condition; NODE_TAG: scope,
                                  [block,] expression; of another name for a node, that alone */
};

/* What a requesting node holds. */
struct request {
    struct family **fam;
    uint32_t n_fam, cap_fam;
    uint32_t n_xin, cap_xin;
    struct in_edge *xin; /* family roots, dereferenced nodes, closed-over nodes */
    struct frame *frame; /* NODE_IF: where the branches are evaluated; borrowed from the family */
    struct tagctx *own;  /* NODE_TAG: its context */
};

struct family {
    struct node *root;
    PVEC(struct node *) nodes;   /* owned, in order of evaluation */
    PVEC(struct frame *) frames; /* counted */
    PVEC(struct code *) code;    /* that its nodes are part of; counted. Of a call: the frame's */
    struct tagctx *ctx;          /* enclosing tag context, borrowed, or NULL */
    struct tagctx *own_ctx;      /* memoized: the context that joins its requesters'; owned */
    struct memo_proc *memo;      /* memoized: the table it stands in; borrowed */
    value key;                   /* memoized: array of arguments */
    uint64_t born;               /* memoized: number of the next node when it was made */
    uint32_t refs;               /* requesters */
    uint32_t lost;               /* scaffold: requesters lost so far */
    uint32_t visit;              /* scope.c */
    uint64_t fresh;              /* scope.c: registered anew in this visit */
    bool building;               /* memoized: being evaluated (a second request is a loop) */
    bool dead;                   /* about to be freed */
};

/* Scopes (scope.c). A context is one evaluation of `tag`; choices in its dynamic extent register
 * in it. A memoized family's context stands for all contexts that request the family. */
struct tagctx {
    struct tagctx *parent;       /* next outer context; NULL at the top */
    VEC(struct tagctx *) joined; /* memoized families: requesters' contexts */
    bool memo, exclude;
    uint64_t reach; /* memoized families: scopes of the tags outwards of its requesters, as bits */
    uint64_t bit;   /* of its scope */
    value scope, block;
    VEC(struct node *) choices;
    struct scope_block *home; /* where it stands in the index, or NULL */
    uint32_t home_pos;
    uint32_t slot; /* in the memberships of the choice that registered here last */
};
struct scope_block {
    value id;
    struct scope *scope;
    VEC(struct tagctx *) ctxs;
    size_t n_choices;
    uint32_t live_pos; /* in scope->live when n_choices > 0 */
    uint32_t pos;      /* in scope->blocks */
    bool unique;       /* of one evaluation of tag without a block */
};
struct scope {
    value name;
    uint32_t pos;                     /* in trace->scopes, for good */
    VEC(struct scope_block *) blocks; /* owned */
    struct map by_id;                 /* hash of id -> block, but for unique ones */
    VEC(struct scope_block *) live;   /* those holding choices */
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
/* Observations that have no label cannot be told apart by a program, and there may be millions:
 * those that follow each other share one record and one family (observations.c). What they observed
 * is the value of the choice that the expression leads to, and stands nowhere else. */
struct observation {
    struct node *root; /* of its expression; it may be a node of another directive */
    struct span span;
    uint32_t
        end; /* its nodes are those of the family before this number, from the part before on */
};
struct record {
    enum record_kind kind;
    bool frozen;                    /* its names may be given again */
    struct sym *label;              /* NULL: none */
    struct family *family;          /* one reference */
    PVEC(struct binding) names;     /* assume: one, or those of the components */
    PVEC(struct observation) parts; /* of several observations, in their order; else none */
    struct span span;               /* of the first one's expression */
    double weight;                  /* observe: log density when it was made, of the first one */
};
static inline struct node *recorded_root(struct recorded d) {
    return d.r->parts.n ? d.r->parts.at[d.i].root : d.r->family->root;
}

/* Compiled steps (runtime/flat/flat.h, the layer above). The trace is true except for flats that
 * are ahead of it; `settle` writes what they left. */
struct flat;
struct flat_hooks {
    void (*settle)(struct trace *t);
    bool (*is_ahead)(const struct trace *t);       /* for checks */
    void (*drop)(struct trace *t, struct flat *f); /* the flat of a node that goes */
    void (*free)(struct trace *t);
};

/* What the layers that go on from each other have in common. */
struct lineage {
    uint32_t refs;
    struct pool pool; /* nodes and flats */
};

/* A trace behind the view of it that trace.h gives. */
struct inner {
    struct trace view;
    struct map labels;          /* sym -> record */
    struct scaffold *active;    /* between detach and accept */
    const struct ast *replaced; /* being evaluated for an observation; NULL: nothing is */
    struct scaffold *spare;     /* one that is not in use, or NULL */
    uint64_t next_seq, next_block;
    uint32_t ctx_visit;
    bool scopes_vary;    /* a tag has changed its scope: their bits say nothing */
    bool makers;         /* it has or had procedures with statistics, which change in place */
    bool improper;       /* it has or had choices with improper priors */
    bool opening;        /* calls are taken apart that else would be held as one */
    struct lineage *kin; /* shared by the layers of one stack; counted */
    struct trace *below; /* sealed, counted (above); NULL: the trace is whole */
    uint32_t above;      /* layers that go on from this one, which is sealed while there are any */
    struct pmap *names, *entries; /* of a sealed one: as its world's, with its own */
    struct map lent; /* names that procedures of the program read for it, and those (made_with.c) */
    struct flats *flats; /* all compiled steps; NULL: none yet */
    const struct flat_hooks *flat_hooks;
};
static inline struct inner *inner(const struct trace *t) {
    return (struct inner *)(uintptr_t)t;
}

static inline struct pool *pool_of(const struct trace *t) {
    return &inner(t)->kin->pool;
}

/* Layers (layer.c). Is the node, the family, in one below? What is there is read, not written. */
static inline bool node_below(const struct trace *t, const struct node *n) {
    return n->kind != NODE_CONST && n->seq < t->world.first;
}
static inline bool family_below(const struct trace *t, const struct family *f) {
    return f->memo && f->born < t->world.first;
}
/* All layers of t, the lowest first; mem_free *out. */
size_t trace_layers(const struct trace *t, struct trace ***out);
struct record *layer_record(const struct trace *t, const struct sym *label); /* NULL: none */
/* For trace_pack.c: one that goes on from a sealed one; t is sealed. */
struct trace *layer_new(struct trace *below);
void layer_seal(struct trace *t);

/* What directives are made with (made_with.c). The frame f of the expression a, or a copy of it
 * that keeps what names mean now; own: names that the directive binds. Counted. */
struct frame *bindings_make(struct trace *t, const struct ast *a, struct frame *f,
                            struct sym *const *own, size_t n_own) GPM_MUST_USE;
/* Does a directive, or one of the others, look up names of this one later? */
bool bindings_read(struct trace *t, const struct record *r, bool others);
/* Does anything that another directive made read what this one made (readers.c)? */
bool record_is_read(struct trace *t, struct record *r);
/* Procedures of the inference program that the value holds may be called later; those of the
 * branches of an `if` in such a one. */
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
/* Registers child in in[slot].node->out, but for a parent in a layer below: then the link is
 * made when the trace becomes whole. */
void link_in(struct trace *t, struct node *child, uint32_t slot);
void unlink_in(struct trace *t, struct node *child, uint32_t slot);
struct request *node_request(struct trace *t, struct node *n); /* allocated on first use */
struct request *request_new(struct trace *t);
void request_free(struct trace *t, struct request *r);
void request_add_parent(struct trace *t, struct node *n, struct node *parent); /* links too */
void request_clear_parents(struct trace *t, struct node *n);
void request_unlink(struct trace *t, struct node *n); /* but remembers them for relinking */
static inline struct in_edge *edge_of(struct node *n, uint32_t slot) {
    return slot & XIN ? &n->req->xin[slot & ~XIN] : &n->in[slot];
}
uint64_t trace_number(void); /* the next one */
struct family *family_new(struct trace *t, struct tagctx *ctx);
static inline void memo_set_family(struct memo_entry *e, struct family *f) {
    e->family = f;
    e->root = &f->root;
}
/* Keeps code that nodes of the family are part of; NULL: nothing to keep. */
void family_keep_code(struct trace *t, struct family *f, struct code *k);
void family_free(struct trace *t, struct family *f); /* nodes must be off */
struct frame *family_frame(struct trace *t, struct family *f, struct frame *parent, size_t n,
                           struct sym **names, struct code *code); /* owned by the family */

static inline bool node_is_datum(const struct node *n) {
    return (n->flags & (NODE_OBSERVED | NODE_KEPT)) == NODE_OBSERVED;
}

/* Evaluation (eval.c, apply.c). */
enum gpm_status eval_expr(struct trace *t, struct family *fam, const struct ast *a, struct frame *f,
                          struct tagctx *ctx, struct node **out) GPM_MUST_USE;
/* A new family evaluating `a`; on failure everything is undone. */
enum gpm_status eval_family(struct trace *t, const struct ast *a, struct frame *f,
                            struct tagctx *ctx, struct family **out) GPM_MUST_USE;
/* A node of the family that applies nodes[0] to the others. */
enum gpm_status eval_application(struct trace *t, struct family *fam, const struct ast *a,
                                 struct tagctx *ctx, struct node *const *nodes, size_t n,
                                 struct node **out) GPM_MUST_USE;
/* An application that the program did not write; messages show the call it stands for. y may be
 * NULL. */
enum gpm_status eval_builtin(struct trace *t, struct family *fam, const struct ast *a,
                             struct tagctx *ctx, const char *name, struct node *x, struct node *y,
                             struct node **out) GPM_MUST_USE;
/* A node of the family that has the value of another one, whoever that belongs to: a name that can
 * be frozen by itself. What never changes is a constant, and procedures keep the node that made
 * them. */
enum gpm_status eval_alias(struct trace *t, struct family *fam, const struct ast *a,
                           struct node *of, struct node **out) GPM_MUST_USE;
/* n nodes of the family for the components of a package. */
enum gpm_status eval_components(struct trace *t, struct family *fam, const struct ast *a,
                                struct node *package, size_t n, struct node **out) GPM_MUST_USE;
/* Pieces of applications that nested.c needs: the end of the evaluation of a family for n, a call
 * of a memoized procedure by the array of its arguments; and the run that n is (run(a) in a model).
 */
enum gpm_status request_family(struct trace *t, struct node *n, struct family *f,
                               enum gpm_status st) GPM_MUST_USE;
enum gpm_status apply_memo(struct trace *t, struct node *n, struct memo_proc *m,
                           value key) GPM_MUST_USE;
enum gpm_status apply_run(struct trace *t, struct node *n, value *out) GPM_MUST_USE;
/* A call that is held as one (SPECIAL_PURE), evaluated as any other: a family that nobody has
 * requested, for the caller to drop and free, whatever the status. */
enum gpm_status call_taken_apart(struct trace *t, struct node *n, struct family **out) GPM_MUST_USE;
/* Computes a node's value from its parents, with requests; registers and incorporates it.
 * `requests`: evaluate requests anew (else only the output is computed again). */
enum gpm_status node_apply(struct trace *t, struct node *n, bool requests) GPM_MUST_USE;
/* Does it call procedures among its operands directly (SP_CALLS, or assess of a compound one)? */
static inline bool node_calls(const struct node *n, const struct sp_class *cls) {
    return (cls->flags & SP_CALLS) ||
           (cls->code == SP_CODE_ASSESS && n->n_in > 2 && n->in[2].node->val.tag == V_PROC &&
            !sp_proc_of(n->in[2].node->val));
}
/* Does it map over sequences that are nodes, whose elements are looked up (shape.c)? */
bool node_maps_by_index(const struct node *n);
/* Is that operand of a map by index one of its sequences? */
static inline bool maps_over(const struct node *n, uint32_t slot) {
    return (n->flags & NODE_BY_INDEX) && slot > 1 && !(slot & XIN);
}
/* What the procedures among n's operands close over becomes its parents (SP_CALLS). */
void node_close_over(struct trace *t, struct node *n);
/* On: linked, incorporated, registered; the mirror image of off. */
void node_on(struct trace *t, struct node *n);
/* One requester less: the family goes off with its last one. It is not freed. */
void family_drop(struct trace *t, struct family *f, struct tagctx *ctx);
/* One requester more: the family goes on with its first one. */
void family_take(struct trace *t, struct family *f, struct tagctx *ctx);
/* Frees those of the families that nobody requests, and what only they requested. */
void families_free_dead(struct trace *t, struct family *const *fam, size_t n);
/* Frees all families as they stand: the trace ends. */
void families_free_all(struct trace *t);
/* Drops all families of a request and frees the dead ones, and the request's extra parents. */
void request_release(struct trace *t, struct node *n);
void set_maker(value v, struct node *maker);
struct sp_proc *first_made(value v);
struct node *maker_of(value v); /* node of the maker of a made procedure value, or NULL */

/* For as long as a row runs, the procedures that it calls see the model's names and draw from its
 * generator. Returns what core->model was and is to be again. */
static inline struct world *model_enter(struct trace *t) {
    struct world *outer = t->core->model;
    t->core->model = &t->world;
    return outer;
}

/* Pieces of on and off. */
void node_link_all(struct trace *t, struct node *n);
void node_link_operands(struct trace *t, struct node *n);
uint32_t linked_operands(const struct node *n); /* how many of them know it as their child */
void set_linked_args(struct trace *t, struct node *n,
                     bool linked); /* of an application, which is on or not */
void node_unlink_all(struct trace *t, struct node *n);
void choice_add(struct trace *t, struct node *n);
void choice_remove(struct trace *t, struct node *n);
enum gpm_status node_incorporate(struct trace *t, struct node *n);
/* For a value that was given: where its density is zero its procedure keeps it when it can, so that
 * the joint density is zero until it leaves; one that cannot hold it does without. */
enum gpm_status node_incorporate_given(struct trace *t, struct node *n) GPM_MUST_USE;
enum gpm_status node_unincorporate(struct trace *t, struct node *n);
/* A call of the row that computes n. Its arguments are borrowed from the operand nodes, so it ends
 * before any of those changes. */
struct node_call {
    struct sp_call c;
    struct world *outer;
    value *args, small[8];
};
void call_begin(struct trace *t, struct node *n, struct node_call *k);
/* With other arguments than its operands are; the caller's. */
void call_begin_with(struct trace *t, struct node *n, value *args, struct node_call *k);
/* The same, and checks the arguments; ends by call_end whatever it gives. */
enum gpm_status call_begin_checked(struct trace *t, struct node *n,
                                   struct node_call *k) GPM_MUST_USE;
/* st: of the row's function. Places its diagnostic. */
enum gpm_status call_end(struct trace *t, struct node *n, struct node_call *k,
                         enum gpm_status st) GPM_MUST_USE;
bool node_is_stateful(const struct node *n); /* its procedure keeps statistics */
/* During regen: makes sure that a node that is being rebuilt has its new value; the maker of a made
 * procedure; a node's operands with the makers of procedures among them (a made procedure computes
 * with its maker's parameters); its extra parents. */
enum gpm_status regen_ensure(struct trace *t, struct node *n) GPM_MUST_USE;
enum gpm_status regen_maker(struct trace *t, value proc) GPM_MUST_USE;
enum gpm_status regen_operands(struct trace *t, struct node *n) GPM_MUST_USE;
enum gpm_status regen_extra(struct trace *t, struct node *n) GPM_MUST_USE;
/* A deterministic application that records data (f_compute) weighs in with its density when a
 * proposal takes it out (after unincorporating) or puts it in (before incorporating). */
enum gpm_status carry_weight(struct trace *t, struct node *n) GPM_MUST_USE;

/* Scopes (scope.c). */
struct tagctx *tagctx_new(struct tagctx *parent, bool memo);
void tagctx_free(struct tagctx *c);
void tagctx_set_scope(struct trace *t, struct tagctx *c, value name);
uint64_t tagctx_reach(const struct tagctx *c);
void tagctx_register(struct trace *t, struct node *choice);
void tagctx_unregister(struct trace *t, struct node *choice);
void tag_enter_index(struct trace *t, struct node *tag); /* scope and block from its operands */
void tag_leave_index(struct trace *t, struct node *tag);
void memo_join(struct trace *t, struct family *f, struct tagctx *ctx);
void memo_part(struct trace *t, struct family *f, struct tagctx *ctx);
struct scope *scope_get(struct trace *t, value name); /* made if need be */
void scopes_release(struct trace *t);

/* Observations (observe.c). */
enum gpm_status observation_end(struct trace *t, struct node *root, struct span at,
                                struct node **out) GPM_MUST_USE;
/* The node whose value this one only passes on (tag, branch, call of a compound), or NULL. */
struct node *copy_source(const struct node *n);
struct node *chase(struct node *n); /* the node an expression's value comes from */
/* Carries the new value of n to those of its children that have been computed already; an error
 * where one of them is random or makes requests, unless the value goes back to what it was. */
enum gpm_status observation_propagate(struct trace *t, struct node *n, bool back) GPM_MUST_USE;
/* A value given from outside (observed, forced, proposed), in the form of the choice's own draws.
 * Its density is taken, and it is not yet part of the statistics. The node holds a draw. */
enum gpm_status node_give(struct trace *t, struct node *n, value v, double *logp) GPM_MUST_USE;
enum gpm_status constrain_end(struct trace *t, struct node *end, value v,
                              double *weight) GPM_MUST_USE;
/* The directives before the newest one, where both are observations without a label, become one
 * record (observations.c). The newest stays by itself, so that it can be taken back. */
void observations_join(struct trace *t);
/* The nodes of a directive in its record's family: from *from on, before the number returned. */
uint32_t recorded_nodes(struct recorded d, uint32_t *from);

/* An observation of another directive's node leaves its record, since that is no choice any more.
 * True: the record has gone, too. */
bool observation_drop(struct trace *t, struct record *r, uint32_t part);
/* Its names and its label are free again; nodes of others that read the family's must be gone. */
void record_undo(struct trace *t, struct record *r);
/* The directive becomes its value (freeze.c). */
enum gpm_status record_freeze(struct trace *t, struct record *r, struct span at) GPM_MUST_USE;
bool record_keeps_counts(const struct record *r); /* of draws that were frozen */

/* Numbers, as the layer above keeps them. */
static inline bool number_is(value v) {
    return v.tag == V_NUM || v.tag == V_BOOL;
}
static inline double number_of(const value *v) {
    return v->tag == V_BOOL ? (double)v->u.boolean : v->u.num;
}
/* Statistics of a made procedure, for trying on; owned. */
void *trace_copy_state(struct trace *t, struct sp_state *s);
#endif
