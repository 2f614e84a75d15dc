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

/* An optional argument that keywords left out. */
#define ABSENT ((value){.tag = V_SYM, .u.sym = NULL})
static inline bool is_absent(value v) {
    return v.tag == V_SYM && !v.u.sym;
}

struct sp_class;
struct numeric;
struct sp_host; /* what a procedure may ask of the evaluator that runs it */

struct sp_call {
    const struct sp_class *cls;
    const value *args; /* borrowed; optional ones that were not given are absent: check n */
    size_t n;
    void *state;     /* statistics of a made procedure, else NULL */
    struct rng *rng; /* NULL in deterministic contexts */
    struct diags *diags;
    struct sp_host *host; /* may be NULL */
    bool observed;        /* a recorded application whose value is data */
    bool in_vain;         /* another value takes the place of what is drawn, before it is read */
};

struct sp_host {
    /* Calls a procedure value (untraced). Result owned. */
    enum gpm_status (*apply)(struct sp_host *h, value proc, const value *args, size_t n,
                             value *out);
    /* The log density of v as a value of a compound procedure. */
    enum gpm_status (*density)(struct sp_host *h, value proc, const value *args, size_t n, value v,
                               double *out);
    enum gpm_status (*poll)(struct sp_host *h); /* whether long work is to go on */
    struct sym_table *syms;
    void (*print)(struct sp_host *h, const char *text, size_t n); /* `print`, `debug` */
    struct sp_options *options; /* permissions, jobs; see sp_options.h */
    const char *folder;         /* of the program's file, with its slash; NULL: none. Borrowed */
    /* Appends the code of a procedure, the identity of a source function. May be NULL. */
    void (*describe)(struct sp_host *h, value proc, struct buf *out);
    /* A procedure as code on doubles (language/rows/protocol/numeric.h), for arguments shaped like
     * these: numbers, matrices and sequences of them, whose numbers one after another are the
     * inputs. n_out numbers are asked of it. Owned; one that cannot be compiled says why, and is
     * called as it is. */
    enum gpm_status (*numeric)(struct sp_host *h, value proc, const value *like, size_t n,
                               size_t n_out, struct numeric **out);
};

enum {
    SP_RANDOM = 1,   /* simulate uses the rng; log_density scores */
    SP_DISCRETE = 2, /* its values are countable (no gradient in the value) */
    SP_MAKER = 4,    /* result holds made procedures; see struct sp_aaa */
    SP_CALLS = 8,    /* calls procedure arguments directly through host (kernels written in the
                        language): the evaluator makes what they close over its parents */
    SP_INFERENCE_ONLY = 16,  /* not visible in models */
    SP_HIDDEN = 32,          /* internal (_range): no help, no completion */
    SP_NO_MODEL_EFFECT = 64, /* has a side effect such as printing */
    SP_VECTOR = 128,         /* a random procedure whose value is a vector or matrix */
    SP_PASSES = 256,         /* requests one application and hands its value on (apply): observe
                                reaches through it */
    SP_CHOOSES = 512,        /* a random procedure whose value is an item of its last argument */
    SP_LACKS = 2048,         /* asks which of its optional arguments were given (sp_given) */
    SP_RENAMES = 1024, /* its values are names: another name that nobody else uses is the same */
    SP_LIFTS = 4096,   /* `num` elementwise on sequences and matrices, with numbers for all of their
                          elements; of a random procedure num_log_density, summed */
    SP_FOLDS = 8192,   /* `num` of the elements of its only argument */
    SP_ARRANGES = 16384, /* its result is made of numbers of its arguments, which it does not look
                           at but for those that say which ones (indexes, sizes); of a requesting
                           procedure: its output of the results */
    SP_IMPROPER = 32768, /* what simulate draws is a start, not a draw from its prior */
    SP_AT_INPUT = 65536  /* a random function: its value at another argument is another choice */
};

/* What a row's functions touch beside values. Reading needs no permission; the others ask first
 * (sp_need, infer_may). tests/conform/run_permissions.py finds rows that do not say it. */
enum sp_touch {
    SP_READS = 1,  /* files that the program names */
    SP_WRITES = 2, /* files, stores and indexes; or it connects to a server that holds them */
    SP_RUNS = 4    /* programs and shared objects */
};

/* Builtins that the evaluators treat themselves. */
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
    SPECIAL_PURE /* of no builtin: a call of a compound procedure held as one (runtime/core/pure.h)
                  */
};

/* Where the values of a random procedure lie: each number by itself, or all of them together.
 * inference/hmc/constrain.h has a transform to unconstrained numbers for each but the last two. */
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
    double lo, hi; /* where the kind says so */
    bool moves;    /* lo or hi come from the arguments */
    /* 1 + the number of the argument that it is, 0: of none. An end that is the narrower of two of
     * which one moves is `mixed`: no argument gives it. */
    uint8_t lo_arg, hi_arg;
    bool mixed;
    uint8_t loc_arg, scale_arg; /* of real numbers whose distribution these shift and stretch */
};

/* Where argument `arg` of request number `request` comes from: the requesting application's
 * argument `arg` (-1: none of them), or the element `item` of it (-1: the whole). */
struct sp_origin {
    int arg;
    long item;
};

/* Receives what a requesting procedure wants evaluated: proc applied to args. */
typedef void sp_emit_fn(void *ctx, value proc, const value *args, size_t n);

/* Makers whose made procedures keep statistics can absorb a change of their own parameters for all
 * applications at once ("absorbing at applications"). `state` is that of the made procedures. */
struct sp_aaa {
    /* Puts the parameters of call c in place of the current ones, keeping the statistics, and
     * gives the joint log density of the data under them. *token: what undo or commit needs.
     * A numerically impossible state gives -inf, not an error. */
    enum gpm_status (*remake)(struct sp_call *c, void *state, void **token, double *log_joint);
    void (*undo)(void *state, void *token);   /* back to the old parameters; frees the token */
    void (*commit)(void *state, void *token); /* keep the new ones; frees the token */
    enum gpm_status (*log_joint)(void *state, double *out); /* under the current parameters */
    /* Adjoints of the maker's arguments for d log_joint = 1 (owned values; NIL: zero). May be NULL.
     */
    enum gpm_status (*gradient)(struct sp_call *c, void *state, value *dargs);
    uint32_t fixed; /* bit i: a change of argument i makes new procedures instead */
    /* Whether the first argument is called outside of models, and its values kept beyond them: it
     * must not read random choices. NULL: never. */
    bool (*keeps_values)(const struct sp_call *c);
};

/* Operations on the state of made procedures. */
struct sp_state_class {
    bool shared; /* copies of a model share it: nothing of the model decides what it is */
    void (*free)(void *state);
    value (*stats)(void *state);                   /* extract_stats; owned */
    void (*visit)(void *state, struct visitor *v); /* NULL: does not show what it holds */
    /* Writes or reads one (base/pack.h), also to copy it; state NULL: one is read, owned. */
    void *(*pack)(struct pack *p, void *state);
    /* The row that a procedure with this state applies; the second of those that share one */
    const struct sp_class *(*row)(const void *state, bool second);
};

/* Numbers of an argument for compiled steps: a matrix by columns, a sequence as one column, a
 * number as 1 by 1. */
struct sp_block {
    size_t rows, cols;
    const double *at;
    double *adj; /* where its adjoint adds up; NULL: not wanted */
};
/* The same for one operand of a density of many elements: step 0, a number for all; 1, a column. */
struct sp_col {
    const double *at;
    size_t step;
    double *adj;
};

/* Rows that compiled code (flat/) knows: by heart when they are applied to two numbers, or as one
 * that tells a number from a boolean. */
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
    SP_CODE_EQUAL, /* and, with variant 0, its opposite */
    SP_CODE_ASSESS
};

struct sp_class {
    const char *name, *sig, *doc;
    const char *example; /* one line, run by the tests; "expr => printed value", or NULL */
    const void *of;      /* the row of another table that this one stands for, or NULL */
    unsigned flags;
    enum sp_special special;
    enum sp_code code;
    bool normal; /* random: normal around its first argument, whatever the others are (bounds apart)
                  */
    int variant; /* which one of those that share these functions it is; they know what it says */
    enum gpm_status (*simulate)(struct sp_call *c, value *out);
    enum gpm_status (*log_density)(struct sp_call *c, value v,
                                   double *out); /* -inf outside support */
    /* draws what an observation of the application shows, where that is not what a draw gives (the
     * measurement, not the function under it); NULL: simulate */
    enum gpm_status (*replicate)(struct sp_call *c, value *out);
    /* statistics of made procedures */
    enum gpm_status (*incorporate)(struct sp_call *c, value v);
    enum gpm_status (*unincorporate)(struct sp_call *c, value v);
    /* requesting procedures (mapv, apply): what to evaluate, then the output from the results */
    enum gpm_status (*request)(struct sp_call *c, sp_emit_fn *emit, void *ctx);
    enum gpm_status (*output)(struct sp_call *c, const value *results, size_t n, value *out);
    struct sp_origin (*origin)(size_t request, size_t arg); /* for gradients; NULL: of nowhere */
    /* optional */
    enum gpm_status (*enumerate)(struct sp_call *c, value **vals,
                                 size_t *n); /* owned; values_free */
    enum gpm_status (*support)(struct sp_call *c, struct sp_support *out);
    /* d log_density: *dv (may be NULL) and dargs[n], owned, NIL where zero or not differentiable */
    enum gpm_status (*grad_density)(struct sp_call *c, value v, value *dv, value *dargs);
    /* SP_AT_INPUT: location and scale of the value, a number that is normal given the arguments and
     * what is recorded, and their derivatives in the numbers of the first argument. GPM_E_LIMIT: it
     * has none */
    enum gpm_status (*predict)(struct sp_call *c, double at[2], double *dloc, double *dscale);
    /* adjoints of the arguments of a deterministic procedure given that of its result */
    enum gpm_status (*grad_simulate)(struct sp_call *c, value result, value dresult, value *dargs);
    /* upper bound of log_density over v and the arguments whose bit is set in `varies` (bit 0: the
     * value, bit i+1: argument i); GPM_E_NOT_FOUND: unbounded */
    enum gpm_status (*log_bound)(struct sp_call *c, value v, uint64_t varies, double *out);
    /* the same on plain doubles, for compiled steps; no error checks inside: NaN tells the caller
     * to take the slow path */
    double (*num)(const double *args, size_t n); /* deterministic */
    /* dargs[i] = d * (d num / d args[i]); v: the result */
    void (*num_back)(double v, const double *args, size_t n, double d, double *dargs);
    double (*num_log_density)(double v, const double *args, size_t n); /* random */
    double (*num_sample)(struct rng *rng, const double *args, size_t n);
    /* g[0] = d log_density / dv, g[1 + i] = d / d args[i], at a point of the support */
    void (*num_grad)(double v, const double *args, size_t n, double *g);
    /* num_log_density of n elements, summed; x[0]: the values, x[1 + i]: argument i. Adds the
     * derivatives to the adjoints that are wanted. NULL: one element after the other */
    double (*cols)(size_t n, const struct sp_col *x, size_t n_args);
    /* deterministic, result of one shape for arguments of one shape: its numbers. False: the slow
     * path. block_back adds to the adjoints of the arguments, given that of the result */
    bool (*block)(const struct sp_block *args, size_t n, double *out);
    void (*block_back)(const struct sp_block *args, size_t n, const double *out, const double *d);
    /* random: the log density of the number x given the n numbers of all arguments, in order, that
     * stand in v[at[0]], v[at[1]], ... adj: NULL, or adj[at[i]] += the derivative in number i. Of
     * discrete rows, whose x has none. NaN: the slow path */
    double (*gathered)(double x, const double *v, const uint32_t *at, size_t n, double *adj);
    unsigned touches; /* beside values: enum sp_touch */
    size_t num_args;  /* an application to more has no numeric form; 0: to any number it has */
    const struct sp_aaa *aaa; /* makers */
    /* requesting procedures: adjoints of the n results (owned; NIL: zero) given that of the output
     */
    enum gpm_status (*grad_output)(struct sp_call *c, size_t n, value dresult, value *dresults);
};

/* simulate_NAME of a procedure that is an expression of c->args. */
#define SP_SIMPLE(NAME, EXPRESSION)                                                                \
    static enum gpm_status simulate_##NAME(struct sp_call *c, value *out) {                        \
        *out = EXPRESSION;                                                                         \
        return GPM_OK;                                                                             \
    }
/* What most rows of deterministic procedures have; with a gradient. */
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
/* A procedure value that applies a row: a builtin, or a made procedure, whose row stands in no
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
const struct sp_class *sp_index_find(const char *name); /* NULL: none */
long sp_index_number(const char *name);                 /* row number for sp_index_at; -1: none */
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
/* Tags that the result of a row may have by its signature; *kind: the class of a box, or NULL. */
unsigned sp_result_tags(const struct sp_class *cls, const char **kind);
bool sp_result_fits(const struct sp_class *cls, value v);
/* Checks number and types of c->args against the signature: DIAG_ARITY, DIAG_TYPE, DIAG_DOMAIN with
 * messages that name procedure, parameter, expected type and offending value. */
enum gpm_status sp_check_args(struct sp_call *c, const struct sp_sig *sig);
/* Has it parameters, and may each of them be anything? */
bool sp_sig_takes_any(const struct sp_sig *sig);
/* What messages call argument i, which belongs to parameter p: those of `...xs` by their number. */
const char *sp_param_name(const struct sp_sig *sig, size_t p, size_t i, char name[40]);
/* Number of the parameter called `name`, or -1. */
int sp_sig_param(const struct sp_sig *sig, const char *name);

/* Stores a diagnostic without a place (the evaluator adds it); returns GPM_E_USER. */
enum gpm_status sp_error(struct sp_call *c, enum diag_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* DIAG_TYPE: "name: what, got value", where the format gives what ("xs must be a sequence"). */
enum gpm_status sp_type_error(struct sp_call *c, value got, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Procedures whose values are whatever they were given (categorical, exactly, made choices among
 * objects): their values have no form of their own. */
bool sp_gives_objects(const struct sp_class *cls);
/* The row's simulate; a draw that is not finite is an error, whichever procedure it
 * is. */
enum gpm_status sp_simulate(struct sp_call *c, value *out) GPM_MUST_USE;
/* A value as text for a message, cut to one short line. SHOW(v): in an array of the block around
 * it.
 */
enum { SP_SHOWN = 160 };
const char *sp_shown(value v, char text[SP_SHOWN]);
#define SHOW(v) sp_shown(v, (char[SP_SHOWN]){0})
/* For sizes the user chose: DIAG_LIMIT when n elements of `size` bytes cannot be had. */
enum gpm_status sp_check_size(struct sp_call *c, double n, size_t size);
/* Truth of a condition: booleans, and numbers other than 0. False: neither. */
static inline bool sp_truth(value v, bool *out) {
    if (v.tag == V_BOOL)
        *out = v.u.boolean;
    else if (v.tag == V_NUM)
        *out = v.u.num != 0;
    else
        return false;
    return true;
}
/* A number, boolean (0/1) or atom as a double; false: none of them. */
bool sp_as_number(value v, double *out);
/* Was optional argument i given? */
static inline bool sp_given(const struct sp_call *c, size_t i) {
    return i < c->n && !is_absent(c->args[i]);
}
/* args[i] as a number (checked already by the signature). */
static inline double sp_num(const struct sp_call *c, size_t i) {
    value v = c->args[i];
    return v.tag == V_BOOL ? (double)v.u.boolean : v.u.num;
}
static inline double sp_num_or(const struct sp_call *c, size_t i, double fallback) {
    return i < c->n ? sp_num(c, i) : fallback;
}
#endif
