/* SPDX-License-Identifier: Apache-2.0
 *
 * Optimising expensive functions, memo tables on disk, and run-time prediction. No session needed.
 *
 *   gpm_optimizer *o = gpm_optimizer_new(&options);
 *   gpm_optimizer_variable(o, "x=-5:10"); gpm_optimizer_variable(o, "n=1:64:log:int");
 *   gpm_optimizer_function(o, "my function", f, user);
 *   if (gpm_optimizer_open(o) || gpm_optimizer_run(o)) puts(gpm_optimizer_error(o));
 *   gpm_optimizer_best(o, x, &y); gpm_optimizer_free(o);
 *
 * Points are arrays of one number per variable; a category is the index of its level. Texts that a
 * call returns stay valid until the next call on the handle.
 */
#ifndef GPMEM_OPTIMIZE_H
#define GPMEM_OPTIMIZE_H
#include "gpmem/gpmem.h"
#include <signal.h>
#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gpm_optimizer gpm_optimizer;

enum gpm_acquisition { GPM_ACQ_DEFAULT, GPM_ACQ_THOMPSON, GPM_ACQ_EI, GPM_ACQ_UCB };

struct gpm_optimize_options {
    size_t size;   /* set by init */
    uint64_t seed; /* default 1 */
    bool maximize, noisy;
    enum gpm_acquisition acquisition;
    int initial;        /* points of the first design; 0: by dimension */
    int mcmc;           /* sample hyper-parameters: 1, 0; -1: where it pays */
    bool no_local;      /* without the local search around the best point */
    unsigned jobs;      /* programs run at once */
    size_t budget;      /* evaluations in the store when the search ends; 0: no limit */
    double max_seconds; /* 0: none */
    bool has_target;
    double target;
    double timeout; /* of one program; 0: none */
    int retries;
    bool json; /* inputs as JSON on the program's stdin */
    const char
        *store;      /* file, or postgresql://..; NULL: in memory. Texts are borrowed until free. */
    const char *log; /* appends one line "x1 .. xd y" per evaluation */
    const char *warm;    /* CSV of known values */
    const char *version; /* tag of the objective */
    bool join;           /* space, settings and command from the store */
    bool allow_run;      /* join: also a command that this user did not store here */
    /* Non-zero (set by a signal handler, or by another thread with an atomic store): stop soon,
     * keep everything. May be NULL. */
    const volatile sig_atomic_t *stop;
    void (*progress)(void *user, const char *line); /* after each evaluation; may be NULL */
    void *user;
    const char *from; /* store of an earlier search: its values where variables' names agree */
    /* A worker of the store that gives no sign of life for so long is taken for dead, and its point
     * offered again; 0: 600, and 60 on a server. */
    double claim_seconds;
    /* Of evaluations together; 0: no limit. One costs the number "cost" that it collects, else 1,
     * or of a variable with :fidelity its share. */
    double max_cost;
    bool no_early_stop; /* programs that fall behind (lines "gpmem: STEP VALUE") are not stopped */
};
GPM_API void gpm_optimize_options_init_sized(struct gpm_optimize_options *o, size_t size);
static inline void gpm_optimize_options_init(struct gpm_optimize_options *o) {
    gpm_optimize_options_init_sized(o, sizeof *o);
}

GPM_API gpm_optimizer *gpm_optimizer_new(const struct gpm_optimize_options *o);
GPM_API void gpm_optimizer_free(gpm_optimizer *o);
GPM_API const char *gpm_optimizer_error(const gpm_optimizer *o);
/* name=lo:hi[:log][:int][:fidelity], name=a,b,c, name=a<b<c (in order), a,b,c=shares (they sum to
 * one) or a,b,c=order (the places 1, 2, 3); before the command and open. A level with a comma,
 * colon or quote in it is written as a JSON string. */
GPM_API enum gpm_status gpm_optimizer_variable(gpm_optimizer *o, const char *text);
/* A guess, evaluated before anything else: name=value of every variable, separated by blanks;
 * several calls, several guesses. After the variables. */
GPM_API enum gpm_status gpm_optimizer_start(gpm_optimizer *o, const char *text);
/* Several numbers of an evaluation, each by its name; before open. An objective is NAME, NAME:min
 * or NAME:max, with @VALUE behind it for a reference value; several (one call each, or separated by
 * commas) ask for the front. A constraint is NAME<=B, NAME>=A, A<=NAME<=B or NAME=V+-TOLERANCE, or
 * after the variables a comparison of expressions in them, which no point then breaks.
 * Numbers to collect are kept. A program prints them in the order objectives, constraints,
 * collected (each name once), or as members of one JSON object, or patterns such as
 * "loss: {loss}" take them out of what it prints. */
GPM_API enum gpm_status gpm_optimizer_objective(gpm_optimizer *o, const char *text);
GPM_API enum gpm_status gpm_optimizer_constraint(gpm_optimizer *o, const char *text);
GPM_API enum gpm_status gpm_optimizer_collect(gpm_optimizer *o, const char *names);
GPM_API enum gpm_status gpm_optimizer_read_output(gpm_optimizer *o, const char *pattern);
GPM_API size_t gpm_optimizer_outputs(const gpm_optimizer *o); /* numbers, at least 1 */
GPM_API const char *gpm_optimizer_output(const gpm_optimizer *o,
                                         size_t k); /* "value" without one */
/* A program with {name} in its arguments that prints one number, or those asked for above. */
GPM_API enum gpm_status gpm_optimizer_command(gpm_optimizer *o, int argc, char *const *argv);
/* A function in this process; non-zero: failed. y has room for all numbers of an evaluation.
 * `identity` is checked against the store. */
typedef int gpm_objective(void *user, const double *x, double *y);
GPM_API void gpm_optimizer_function(gpm_optimizer *o, const char *identity, gpm_objective *f,
                                    void *user);
GPM_API enum gpm_status gpm_optimizer_open(gpm_optimizer *o);
/* GPM_E_INTERRUPT when the stop flag ended it. */
GPM_API enum gpm_status gpm_optimizer_run(gpm_optimizer *o);

/* Evaluations elsewhere. y not finite: the evaluation failed. */
GPM_API enum gpm_status gpm_optimizer_ask(gpm_optimizer *o, double *x, int64_t *id);
GPM_API enum gpm_status gpm_optimizer_tell(gpm_optimizer *o, int64_t id, double y);
GPM_API enum gpm_status gpm_optimizer_tell_at(gpm_optimizer *o, const double *x, double y);

/* The same with all numbers, gpm_optimizer_outputs of them; NULL: the evaluation failed. */
GPM_API enum gpm_status gpm_optimizer_tell_all(gpm_optimizer *o, int64_t id, const double *y);
GPM_API enum gpm_status gpm_optimizer_tell_all_at(gpm_optimizer *o, const double *x,
                                                  const double *y);

GPM_API size_t gpm_optimizer_dim(const gpm_optimizer *o);
GPM_API const char *gpm_optimizer_name(const gpm_optimizer *o, size_t j);
/* Value of variable j as text; reading one back: GPM_E_ARG with a message. */
GPM_API const char *gpm_optimizer_value(gpm_optimizer *o, size_t j, double x);
GPM_API enum gpm_status gpm_optimizer_read(gpm_optimizer *o, size_t j, const char *text, double *x);
GPM_API size_t gpm_optimizer_count(const gpm_optimizer *o); /* evaluations in the store */
/* The best point, which nobody asks for when x is NULL, and its value; false: nothing succeeded. */
GPM_API bool gpm_optimizer_best(const gpm_optimizer *o, double *x, double *y);
/* The same with all numbers (those only kept: NaN). feasible: they keep the bounds; when not, it is
 * the evaluation that breaks them least. */
GPM_API bool gpm_optimizer_best_all(const gpm_optimizer *o, double *x, double *y, bool *feasible);
GPM_API bool gpm_optimizer_recommend(gpm_optimizer *o, double *x, double *mean, double *sd);
enum gpm_optimize_format { GPM_OPTIMIZE_TEXT, GPM_OPTIMIZE_JSON, GPM_OPTIMIZE_HTML };
GPM_API const char *gpm_optimizer_report(gpm_optimizer *o, enum gpm_optimize_format f);

/* ---- memo tables ---- */

typedef struct gpm_memo gpm_memo;
/* A handle; errors of opening are in gpm_memo_error. `write` false: reads only. */
GPM_API gpm_memo *gpm_memo_new(void);
GPM_API void gpm_memo_free(gpm_memo *m);
GPM_API const char *gpm_memo_error(const gpm_memo *m);
GPM_API enum gpm_status gpm_memo_open(gpm_memo *m, const char *path, bool write);
/* Creates the table of a function with inputs `names` (comma separated). */
GPM_API enum gpm_status gpm_memo_create(gpm_memo *m, const char *path, const char *function,
                                        const char *names);
GPM_API enum gpm_status gpm_memo_list(gpm_memo *m, enum gpm_format f, const char **text);
/* id 0: the table as a whole. */
GPM_API enum gpm_status gpm_memo_show(gpm_memo *m, int64_t id, enum gpm_format f,
                                      const char **text);
GPM_API enum gpm_status gpm_memo_export(gpm_memo *m, const char **csv);
GPM_API enum gpm_status gpm_memo_import(gpm_memo *m, const char *path, bool replicate,
                                        size_t *added);
/* Is there a store that can be opened? */
GPM_API bool gpm_memo_there(const char *path);
/* All rows and what belongs to them into a new store: a file, or postgresql://... */
GPM_API enum gpm_status gpm_memo_copy(gpm_memo *m, const char *to, size_t *rows);
GPM_API enum gpm_status gpm_memo_remove(gpm_memo *m, int64_t id);
/* Reads everything; *rows: their number; *summed: the pages of the file, or of the server, have
 * checksums, so that every changed byte that means something is noticed. */
GPM_API enum gpm_status gpm_memo_verify(gpm_memo *m, size_t *rows, bool *summed);

/* ---- run times ---- */

typedef struct gpm_timer gpm_timer;
GPM_API gpm_timer *gpm_timer_new(const char *store);
GPM_API void gpm_timer_free(gpm_timer *t);
GPM_API const char *gpm_timer_error(const gpm_timer *t);
/* Runs the command with {name} replaced and stores its wall time; a failing program is a recorded
 * failure (GPM_E_USER), not a time. Its stdout goes nowhere. */
GPM_API enum gpm_status gpm_timer_run(gpm_timer *t, int argc, char *const *argv, size_t n,
                                      const char *const *names, const double *values,
                                      double timeout, const volatile sig_atomic_t *stop,
                                      double *seconds);
/* Median and interval of the given probability for these values. argv may be NULL. GPM_E_ARG below
 * three successful runs. */
GPM_API enum gpm_status gpm_timer_predict(gpm_timer *t, size_t n, const char *const *names,
                                          const double *values, double level, double *median,
                                          double *low, double *high, size_t *runs);
#if defined(__cplusplus)
}
#endif
#endif
