/* SPDX-License-Identifier: Apache-2.0
 *
 * Procedures. Every builtin is one row (struct sp_class) of a family table; front/rows.c lists the
 * tables. Arity, argument types, keyword names, help, completion and the reference page come from
 * the row's signature string:
 *
 *     "(mean: real, sd: positive) -> real"         names and types
 *     "(p?: probability) -> bool"                  ? optional (must come last)
 *     "(...xs: number) -> number"                  any number of further arguments
 *
 * Types: any number real integer count positive nonneg probability bool string symbol name (string
 * or symbol) list array seq (list, array or vector) numbers (sequence of numbers) vector matrix
 * dict proc kernel mean ref env; of operators: action scope target block subproblem label dataset
 * model proposal. `real` accepts any number but NaN. `positive`, `nonneg`,
 * `probability`, `integer`, `count` are domains: a number outside is DIAG_DOMAIN, another type
 * DIAG_TYPE. Booleans are accepted where numbers are (as 0/1). A type may carry `|null`.
 * Vector arguments for elementwise arithmetic are declared `any` and handled in the procedure; a
 * random procedure of numbers (SP_LIFTS) takes sequences whose elements have the declared type.
 * An operator whose signature begins (scope: target, block...: a subproblem in the place of the
 * scope leaves the block out, so that what follows it moves up by one.
 *
 * A row's functions see only struct sp_call. They return GPM_OK, or GPM_E_USER after sp_error().
 */
#ifndef SP_SP_H
#define SP_SP_H
#include "language/lang/diag.h"
#include "numeric/special/rng.h"
#include "language/value/value.h"

/* An optional argument omitted by keywords. */
#define ABSENT ((value){.tag = V_SYM, .u.sym = NULL})
static inline bool is_absent(value v) {
    return v.tag == V_SYM && !v.u.sym;
}

struct sp_class;
struct numeric;
struct sp_host; /* services of the evaluator for a procedure */

struct sp_call {
    const struct sp_class *cls;
    const value *args; /* borrowed; optional arguments not given are absent: check n */
    size_t n;
    void *state;     /* statistics of a made procedure, else NULL */
    struct rng *rng; /* NULL in deterministic contexts */
    struct diags *diags;
    struct sp_host *host; /* may be NULL */
    bool observed;        /* a recorded application with data as value */
    bool in_vain;         /* the drawn value will be replaced before it is read */
};

struct sp_host {
    /* Calls a procedure value (untraced). Result owned. */
    enum gpm_status (*apply)(struct sp_host *h, value proc, const value *args, size_t n,
                             value *out);
    /* The log density of v as a value of a compound procedure. */
    enum gpm_status (*density)(struct sp_host *h, value proc, const value *args, size_t n, value v,
                               double *out);
    enum gpm_status (*poll)(struct sp_host *h); /* should long work continue? */
    struct sym_table *syms;
    void (*print)(struct sp_host *h, const char *text, size_t n); /* `print`, `debug` */
    struct sp_options *options; /* permissions, jobs; see sp_options.h */
    const char *folder;         /* of the program, with slash; or NULL */
    /* Appends the code of a procedure, the identity of a source function. May be NULL. */
    void (*describe)(struct sp_host *h, value proc, struct buf *out);
    /* Compiles a procedure to code on doubles (language/rows/protocol/numeric.h) for arguments
     * shaped like these: numbers, matrices and sequences of them, whose numbers are the inputs. It
     * must give n_out numbers. Owned. If it cannot be compiled, `why` has the reason, and it is
     * called directly. */
    enum gpm_status (*numeric)(struct sp_host *h, value proc, const value *like, size_t n,
                               size_t n_out, struct numeric **out);
};

enum {
    SP_RANDOM = 1,   /* simulate uses the rng; log_density scores */
    SP_DISCRETE = 2, /* its values are countable (no gradient in the value) */
    SP_MAKER = 4,    /* result holds made procedures; see struct sp_aaa */
    SP_CALLS = 8,    /* calls procedure arguments directly through host (kernels written in the
                        language); the nodes they close over become parents */
    SP_INFERENCE_ONLY = 16,  /* not visible in models */
    SP_HIDDEN = 32,          /* internal (_range): no help, no completion */
    SP_NO_MODEL_EFFECT = 64, /* has a side effect such as printing */
    SP_VECTOR = 128,         /* a random procedure whose value is a vector or matrix */
    SP_PASSES = 256,   /* requests one application and passes its value on (apply): observe reaches
                          through it */
    SP_CHOOSES = 512,  /* a random procedure whose value is an item of its last argument */
    SP_LACKS = 2048,   /* uses sp_given to see which optional arguments were given */
    SP_RENAMES = 1024, /* values are names: renaming an otherwise unused one changes nothing */
    SP_LIFTS = 4096,   /* `num` elementwise on sequences and matrices; a number serves for all
                          elements. Random procedures: num_log_density, summed */
    SP_FOLDS = 8192,   /* `num` over the elements of its only argument */
    SP_ARRANGES = 16384, /* its result consists of numbers of its arguments; it reads only indexes
                            and sizes. Requesting procedures: its output, from the results */
    SP_IMPROPER = 32768, /* simulate gives a start value, not a draw from a prior */
    SP_AT_INPUT = 65536  /* a random function: its value at another argument is another choice */
};

/* Effects of a row's functions beyond values. Reading needs no permission; the others ask first
 * (sp_need, infer_may). tests/conform/run_permissions.py finds rows that do not declare theirs. */
enum sp_touch {
    SP_READS = 1,  /* files that the program names */
    SP_WRITES = 2, /* files, stores and indexes, or a server that holds them */
    SP_RUNS = 4    /* programs and shared objects */
};

/* Builtins that the evaluators handle themselves. */
enum sp_special {
    SPECIAL_NONE,
    SPECIAL_REF,
    SPECIAL_DEREF,
    SPECIAL_MEM,
    SPECIAL_EVAL,
    SPECIAL_ENV,
    SPECIAL_EMPTY_ENV,
    SPECIAL_EXTEND_ENV,
    SPECIAL_APPLY_FUNCTION,
    SPECIAL_RUN,
    SPECIAL_ACTION,
    SPECIAL_PERMUTE,
    SPECIAL_MAP,   /* with more than two arguments: the alias of gradient_ascent */
    SPECIAL_GPMEM, /* makers of memoizers: their source function is wrapped in mem */
    SPECIAL_PURE   /* not a builtin: a call of a compound procedure held as one node
                      (runtime/core/pure.h) */
};

/* The support of a random procedure's values, for each number or for all together.
 * inference/hmc/constrain.h transforms each kind except the last two to unconstrained numbers. */
enum sp_support_kind {
    SUPPORT_REAL,
    SUPPORT_POSITIVE, /* above lo */
    SUPPORT_INTERVAL, /* lo to hi; either may be infinite */
    SUPPORT_ORDERED,  /* ascending numbers between lo and hi */
    SUPPORT_SIMPLEX,
    SUPPORT_ZERO_SUM,
    SUPPORT_UNIT_VECTOR,
    SUPPORT_CORR, /* correlation matrices, and their lower Cholesky factors */
    SUPPORT_CORR_FACTOR,
    SUPPORT_COV,
    SUPPORT_COV_FACTOR,
    SUPPORT_DISCRETE,
    SUPPORT_OTHER
};
struct sp_support {
    enum sp_support_kind kind;
    double lo, hi; /* as the kind requires */
    bool moves;    /* lo or hi depend on the arguments */
    /* 1 + number of the argument that is the end; 0: not an argument. If an end is the narrower of
     * two, one of them moving, it is `mixed` and no argument gives it. */
    uint8_t lo_arg, hi_arg;
    bool mixed;
    uint8_t loc_arg, scale_arg; /* of real numbers with a location and a scale */
};

/* The source of argument `arg` of request number `request`: the requesting application's argument
 * `arg` (-1: none), or its element `item` (-1: all of it). */
struct sp_origin {
    int arg;
    long item;
};

/* Receives the requests of a requesting procedure: proc applied to args. */
typedef void sp_emit_fn(void *ctx, value proc, const value *args, size_t n);

/* A maker whose made procedures keep statistics can absorb a change of its own parameters for all
 * applications at once ("absorbing at applications"). `state` belongs to the made procedures. */
struct sp_aaa {
    /* Replaces the current parameters by those of call c, keeping the statistics, and gives the
     * joint log density of the data under them. *token: for undo or commit. A numerically
     * impossible state gives -inf, not an error. */
    enum gpm_status (*remake)(struct sp_call *c, void *state, void **token, double *log_joint);
    void (*undo)(void *state, void *token);   /* back to the old parameters; frees the token */
    void (*commit)(void *state, void *token); /* keep the new ones; frees the token */
    enum gpm_status (*log_joint)(void *state, double *out); /* under the current parameters */
    /* Adjoints of the maker's arguments for d log_joint = 1 (owned values; NIL: zero). May be NULL.
     */
    enum gpm_status (*gradient)(struct sp_call *c, void *state, value *dargs);
    uint32_t fixed; /* bit i: a change of argument i makes new procedures instead */
    /* Is the first argument called outside of models, with values that outlive them? Then it must
     * not read random choices. NULL: never. */
    bool (*keeps_values)(const struct sp_call *c);
};

/* Operations on the state of made procedures. */
struct sp_state_class {
    bool shared; /* copies of a model share it: its contents do not depend on the model */
    void (*free)(void *state);
    value (*stats)(void *state);                   /* extract_stats; owned */
    void (*visit)(void *state, struct visitor *v); /* NULL: its references are hidden */
    /* Writes or reads a state (base/pack.h), also to copy it; state NULL: reads one, owned. */
    void *(*pack)(struct pack *p, void *state);
    /* The row that a procedure with this state applies; second: that of the second procedure
     * sharing it. */
    const struct sp_class *(*row)(const void *state, bool second);
};

/* Numbers of an argument of compiled steps: a matrix by columns, a sequence as one column, a number
 * as 1 x 1. */
struct sp_block {
    size_t rows, cols;
    const double *at;
    double *adj; /* accumulates its adjoint; NULL: not wanted */
};
/* The same for one operand of a density of many elements: step 0, one number for all; 1, a
 * column. */
struct sp_col {
    const double *at;
    size_t step;
    double *adj;
};

/* Rows with special treatment in compiled code (flat/): written out for two numbers, or
 * distinguishing numbers from booleans. */
enum sp_code {
    SP_CODE_NONE,
    SP_CODE_ADD,
    SP_CODE_SUB,
    SP_CODE_MUL,
    SP_CODE_DIV,
    SP_CODE_POW,
    SP_CODE_NORMAL,
    SP_CODE_EXACTLY,
    SP_CODE_LOOKUP,
    SP_CODE_ITEM,  /* element number `variant` */
    SP_CODE_EQUAL, /* and, with variant 0, its negation */
    SP_CODE_ASSESS
};

struct sp_class {
    const char *name, *sig, *doc;
    const char *example; /* one line, run by the tests; "expr => printed value", or NULL */
    const void *of;      /* the row of another table behind this one, or NULL */
    unsigned flags;
    enum sp_special special;
    enum sp_code code;
    bool normal; /* random: normal around its first argument, whatever the others are (except
                    bounds) */
    int variant; /* distinguishes rows that share these functions */
    enum gpm_status (*simulate)(struct sp_call *c, value *out);
    enum gpm_status (*log_density)(struct sp_call *c, value v,
                                   double *out); /* -inf outside support */
    /* Draws what an observation of the application shows, if that differs from a draw (the
     * measurement, not the function beneath). NULL: simulate. */
    enum gpm_status (*replicate)(struct sp_call *c, value *out);
    /* Statistics of made procedures. */
    enum gpm_status (*incorporate)(struct sp_call *c, value v);
    enum gpm_status (*unincorporate)(struct sp_call *c, value v);
    /* Requesting procedures (mapv, apply): the applications to evaluate, then the output from the
     * results. */
    enum gpm_status (*request)(struct sp_call *c, sp_emit_fn *emit, void *ctx);
    enum gpm_status (*output)(struct sp_call *c, const value *results, size_t n, value *out);
    struct sp_origin (*origin)(size_t request, size_t arg); /* for gradients; NULL: no sources */
    /* optional */
    enum gpm_status (*enumerate)(struct sp_call *c, value **vals,
                                 size_t *n); /* owned; values_free */
    enum gpm_status (*support)(struct sp_call *c, struct sp_support *out);
    /* d log_density: *dv (may be NULL) and dargs[n], owned; NIL if zero or not differentiable. */
    enum gpm_status (*grad_density)(struct sp_call *c, value v, value *dv, value *dargs);
    /* SP_AT_INPUT: location and scale of the value, a number that is normal given the arguments and
     * the recorded data, and their derivatives in the numbers of the first argument. GPM_E_LIMIT:
     * not available. */
    enum gpm_status (*predict)(struct sp_call *c, double at[2], double *dloc, double *dscale);
    /* Adjoints of the arguments of a deterministic procedure, given that of its result. */
    enum gpm_status (*grad_simulate)(struct sp_call *c, value result, value dresult, value *dargs);
    /* Upper bound of log_density over v and the arguments whose bit is set in `varies` (bit 0: the
     * value, bit i+1: argument i); GPM_E_NOT_FOUND: unbounded. */
    enum gpm_status (*log_bound)(struct sp_call *c, value v, uint64_t varies, double *out);
    /* The same on plain doubles, for compiled steps. There are no error checks: NaN tells the
     * caller to take the slow path. */
    double (*num)(const double *args, size_t n); /* deterministic */
    /* dargs[i] = d * (d num / d args[i]); v: the result */
    void (*num_back)(double v, const double *args, size_t n, double d, double *dargs);
    double (*num_log_density)(double v, const double *args, size_t n); /* random */
    double (*num_sample)(struct rng *rng, const double *args, size_t n);
    /* g[0] = d log_density / dv, g[1 + i] = d / d args[i], at a point of the support. */
    void (*num_grad)(double v, const double *args, size_t n, double *g);
    /* num_log_density of n elements, summed; x[0]: the values, x[1 + i]: argument i. Adds the
     * derivatives to the wanted adjoints. NULL: element by element. */
    double (*cols)(size_t n, const struct sp_col *x, size_t n_args);
    /* Deterministic, with a result shape determined by the argument shapes: the result's numbers.
     * False: the slow path. block_back adds to the arguments' adjoints, given that of the
     * result. */
    bool (*block)(const struct sp_block *args, size_t n, double *out);
    void (*block_back)(const struct sp_block *args, size_t n, const double *out, const double *d);
    /* Discrete random rows: the log density of the number x given the n numbers of all arguments,
     * in order, at v[at[0]], v[at[1]], ... adj: NULL, or adj[at[i]] += the derivative in number i.
     * NaN: the slow path. */
    double (*gathered)(double x, const double *v, const uint32_t *at, size_t n, double *adj);
    unsigned touches;         /* beyond values: enum sp_touch */
    size_t num_args;          /* most arguments of the numeric forms; 0: unlimited */
    const struct sp_aaa *aaa; /* makers */
    /* Requesting procedures: adjoints of the n results (owned; NIL: zero), given that of the
     * output. */
    enum gpm_status (*grad_output)(struct sp_call *c, size_t n, value dresult, value *dresults);
};

/* simulate_NAME of a procedure that is an expression of c->args. */
#define SP_SIMPLE(NAME, EXPRESSION)                                                                \
    static enum gpm_status simulate_##NAME(struct sp_call *c, value *out) {                        \
        *out = EXPRESSION;                                                                         \
        return GPM_OK;                                                                             \
    }
/* The fields of most deterministic rows; a second form adds a gradient. */
#define SP_ROW(NAME, FN, SIG, DOC, EXAMPLE)                                                        \
    .name = #NAME, .sig = SIG, .doc = DOC, .example = EXAMPLE, .simulate = simulate_##FN
#define SP_GROW(NAME, FN, SIG, DOC, EXAMPLE)                                                       \
    SP_ROW(NAME, FN, SIG, DOC, EXAMPLE), .grad_simulate = grad_##FN

/* State shared by the procedures that one maker call made (gpmem makes two). */
struct sp_state {
    uint32_t refs;
    const struct sp_state_class *cls;
    void *data;
};
/* A procedure value that applies a row: a builtin, or a made procedure, whose row is in no
 * table. */
struct sp_proc {
    struct box box;
    const struct sp_class *cls;
    const struct sp_sig *sig; /* of cls; owned by the index, or by the session and NULL at first */
    struct sp_state *state;   /* counted; NULL: a builtin */
    void *maker;              /* borrowed: maker node in a trace, or NULL; set by the trace */
};
extern const struct box_class sp_proc_class;
struct sp_state *sp_state_new(const struct sp_state_class *cls, void *data); /* one reference */
struct sp_state *sp_state_ref(struct sp_state *s);
void sp_state_unref(struct sp_state *s);
/* A procedure value applying `cls` to `state` (a reference is taken). */
value sp_made_value(const struct sp_class *cls, struct sp_state *state);
/* The row behind a procedure value, or NULL; with state: of made ones alone. */
static inline struct sp_proc *sp_proc_of(value v) {
    return v.tag == V_PROC && v.u.box->cls == &sp_proc_class ? (struct sp_proc *)v.u.box : NULL;
}
static inline struct sp_proc *sp_made_of(value v) {
    struct sp_proc *p = sp_proc_of(v);
    return p && p->state ? p : NULL;
}

/* The tables. */
struct sp_family {
    const struct sp_class *rows;
    const size_t *count;
    size_t (*make)(const struct sp_class **rows); /* rows made from another table, once */
};
extern const struct sp_family sp_families[]; /* front/rows.c */
extern const size_t sp_family_count;

size_t sp_index_count(void);
const struct sp_class *sp_index_at(size_t i);
const struct sp_class *sp_index_find(const char *name); /* NULL if unknown */
long sp_index_number(const char *name);                 /* row number for sp_index_at, or -1 */
const struct sp_sig *sp_index_sig(size_t i);            /* parsed; lives as long as the process */
value sp_builtin_value(size_t i);                       /* row i as a procedure value, owned */

/* Parsed signatures. */
enum { SP_MAX_PARAMS = 20 };
struct sp_sig {
    size_t n_min, n_max; /* n_max == SIZE_MAX: variadic */
    size_t n_params;
    bool target; /* begins with a target and a block */
    int result;  /* type of the result */
    struct {
        char name[24];
        int type; /* enum sp_type in sig.c */
        bool optional, variadic, null_ok;
    } params[SP_MAX_PARAMS];
};
/* Parses a row's signature; a bad one is a bug (assert). */
void sp_sig_parse(const char *text, struct sp_sig *out);
/* Tags the result of a row may have by its signature; *kind: the class of a box, or NULL. */
unsigned sp_result_tags(const struct sp_class *cls, const char **kind);
bool sp_result_fits(const struct sp_class *cls, value v);
/* Checks number and types of c->args against the signature: DIAG_ARITY, DIAG_TYPE, DIAG_DOMAIN with
 * messages that name procedure, parameter, expected type and offending value. */
enum gpm_status sp_check_args(struct sp_call *c, const struct sp_sig *sig);
/* Does it have parameters that all accept anything? */
bool sp_sig_takes_any(const struct sp_sig *sig);
/* The name of argument i, which belongs to parameter p, in messages; those of `...xs` are
 * numbered. */
const char *sp_param_name(const struct sp_sig *sig, size_t p, size_t i, char name[40]);
/* Number of the parameter called `name`, or -1. */
int sp_sig_param(const struct sp_sig *sig, const char *name);

/* Stores a diagnostic without a place, which the evaluator adds; returns GPM_E_USER. */
enum gpm_status sp_error(struct sp_call *c, enum diag_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* DIAG_TYPE: "name: text, got value", where the format gives the text ("xs must be a sequence"). */
enum gpm_status sp_type_error(struct sp_call *c, value got, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Procedures whose values are given objects (categorical, exactly, made choices among objects),
 * without a form of their own. */
bool sp_gives_objects(const struct sp_class *cls);
/* The row's simulate; a draw that is not finite is an error for any procedure. */
enum gpm_status sp_simulate(struct sp_call *c, value *out) GPM_MUST_USE;
/* A value as text for a message, cut to one short line. SHOW(v) uses an array in the enclosing
 * block. */
enum { SP_SHOWN = 160 };
const char *sp_shown(value v, char text[SP_SHOWN]);
#define SHOW(v) sp_shown(v, (char[SP_SHOWN]){0})
/* For sizes chosen by the user: DIAG_LIMIT if n elements of `size` bytes cannot be allocated. */
enum gpm_status sp_check_size(struct sp_call *c, double n, size_t size);
/* Truth of a condition: a boolean, or a number other than 0. False: another value. */
static inline bool sp_truth(value v, bool *out) {
    if (v.tag == V_BOOL)
        *out = v.u.boolean;
    else if (v.tag == V_NUM)
        *out = v.u.num != 0;
    else
        return false;
    return true;
}
/* Was optional argument i given? */
static inline bool sp_given(const struct sp_call *c, size_t i) {
    return i < c->n && !is_absent(c->args[i]);
}
/* args[i] as a number (already checked by the signature). */
static inline double sp_num(const struct sp_call *c, size_t i) {
    value v = c->args[i];
    return v.tag == V_BOOL ? (double)v.u.boolean : v.u.num;
}
static inline double sp_num_or(const struct sp_call *c, size_t i, double fallback) {
    return i < c->n ? sp_num(c, i) : fallback;
}
/* The numbers of argument i, a sequence by its signature; caller frees with mem_free. */
double *sp_numbers(const struct sp_call *c, size_t i, size_t *n);
#endif
