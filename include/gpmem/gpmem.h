/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem, the runtime: a session runs programs of the language. Opaque handles, a status from every
 * call, no globals but gpm_voice, no signals, no exit. The text of the last error stays valid until
 * the next call on the session.
 *
 * Two sessions may run in two threads. One session serves one call at a time: meanwhile calls of
 * another thread, or of the session's own callbacks, do nothing and return GPM_E_BUSY, "", NULL, 0
 * or false; gpm_last_error says so, gpm_session_free frees nothing. gpm_interrupt is always heard.
 * The handles of discover.h, regress.h and optimize.h are like this, too.
 *
 * Option structs begin with their size, which their init function sets: a library newer than the
 * header that a program was compiled with takes the members that the program knew and its own
 * defaults for the rest. New members stand at the end.
 */
#ifndef GPMEM_GPMEM_H
#define GPMEM_GPMEM_H
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gpm_session gpm_session;

/* Who reads messages and reports: they name options as the tool takes them (--max-points 100), or
 * as arguments of the packages for Python and R (max_points=100). Of the whole process. */
enum gpm_voice_of { GPM_VOICE_TOOL, GPM_VOICE_PYTHON, GPM_VOICE_R };
GPM_API void gpm_voice(enum gpm_voice_of as);

/* Receives output: stream 1 holds results, stream 2 everything else (progress, warnings). */
typedef void gpm_write_fn(void *user, int stream, const char *text, size_t len);

/* Receives a draw: what `collect` gathered, as numbers; arrays take one column per element, named
 * a[1], a[2], ...; what is no number is left out. Names and row are valid during the call. */
typedef void gpm_draw_fn(void *user, const char *const *names, const double *row, size_t n);

/* Receives what a program shows: the value of an instruction, a picture, a table. `text` is what
 * stream 1 would have received, `rich` the same as its MIME type `type` says: image/svg+xml (a
 * picture), text/html (a table); both are NULL for a value. Valid during the call. */
typedef void gpm_show_fn(void *user, const char *text, const char *type, const char *rich);

enum gpm_format { GPM_FORMAT_TEXT, GPM_FORMAT_JSON };

struct gpm_options {
    size_t size;            /* set by init */
    uint64_t seed;          /* default 1 */
    uint32_t chain;         /* number of this chain, part of the random key */
    enum gpm_format format; /* of printed values */
    bool diagnostics_json;  /* diagnostics as JSON lines */
    bool colour;            /* ANSI colours in diagnostics */
    bool allow_run;         /* programs may run commands and load objects */
    bool allow_write;       /* programs may write files */
    int quiet, verbose;
    unsigned jobs;       /* parallel evaluations of source functions; default 1 */
    size_t max_depth;    /* recursion; 0: default */
    size_t max_memory;   /* bytes; 0: none */
    double max_seconds;  /* 0: none */
    gpm_write_fn *write; /* NULL: output is dropped */
    void *user;
    /* Asked before a program does something that allow_run or allow_write does not allow; true
     * allows this very thing for the rest of the session. NULL: no. Called on the session's own
     * thread. */
    bool (*confirm)(void *user, const char *question);
    gpm_draw_fn *draw; /* NULL: draws stay in the program */
    void *draw_user;
    /* How far the running command is: share in [0, 1], seconds so far, acceptance rates by scope as
     * text; at most ten times a second, on the session's thread. NULL: nobody listens. */
    void (*progress)(void *user, double share, double elapsed, const char *acceptance);
    void *progress_user;
    /* A file that the program is about to read: itself, load, read_csv, csv_lookup. */
    void (*file)(void *user, const char *path);
    void *file_user;
    gpm_show_fn *show; /* NULL: what is shown is written as text */
    void *show_user;
    /* Warnings of the check before a run go to `write` (stream 2) before it begins; else they are
     * part of gpm_last_error at its end. */
    bool warn_early;
    bool profile; /* gpm_profile says where the time went */
    /* One of several sessions that run at once, each in its thread: their small Gaussian processes
     * are computed together on a GPU, where one is used (gpm_device_use). */
    bool together;
    /* Receives the whole state of the running program every `checkpoint_seconds` (0: 60), and
     * before it ends because it was asked to or its time is up; on the session's thread, between
     * two steps. A session with the same program, seed and chain goes on from it (gpm_restore) and
     * draws what this one would have drawn. At most a twentieth of the time goes into it, unless
     * the seconds are negative: then it is done wherever it can be, for tests. false: it could not
     * be kept. NULL: nobody asks. */
    bool (*checkpoint)(void *user, const void *data, size_t n);
    void *checkpoint_user;
    double checkpoint_seconds;
};
GPM_API void gpm_options_init_sized(struct gpm_options *o, size_t size);
static inline void gpm_options_init(struct gpm_options *o) {
    gpm_options_init_sized(o, sizeof *o);
}

/* NULL: the defaults. */
GPM_API gpm_session *gpm_session_new(const struct gpm_options *o);
GPM_API void gpm_session_free(gpm_session *s);

/* Parses, checks and runs a program. `name` appears in messages and is the base of relative loads.
 * A program that would certainly fail after inference or a loop does not begin. Otherwise, every
 * instruction before a failing one has taken effect; the failing one has not. */
GPM_API enum gpm_status gpm_run_text(gpm_session *s, const char *name, const char *text,
                                     size_t len);
GPM_API enum gpm_status gpm_run_file(gpm_session *s, const char *path);
/* The next program that the session runs, which is its first, goes on from a checkpoint (see
 * gpm_options) instead of beginning. It is that of the checkpoint: another one is an error of
 * gpm_run_text, and the session is not used any more. GPM_E_ARG: it was cut or changed, another
 * version wrote it, or another user, whose checkpoints are taken with allow_run alone
 * (gpm_last_error says what); nothing has happened then, or, where what it needs is missing
 * (GPM_E_USER), the session cannot be used any more. */
GPM_API enum gpm_status gpm_restore(gpm_session *s, const void *data, size_t n);
/* Runs nothing: parses, and says what would fail (errors) or is wrong should it be reached
 * (warnings; gpm_last_error has both). With `interactive` it parses only, and GPM_E_INCOMPLETE says
 * that more lines are wanted. */
GPM_API enum gpm_status gpm_check_text(gpm_session *s, const char *name, const char *text,
                                       size_t len, bool interactive);

/* The text of a program in the style of the house: the same tokens and comments on the same lines.
 * NULL: it does not parse, gpm_last_error says why. Lives until the next call for this session. */
GPM_API const char *gpm_format_text(gpm_session *s, const char *name, const char *text, size_t len);

/* Data for the programs that the session will run: every name of a JSON object, or every column of
 * a CSV file, is defined, and `data` is a dictionary of all of them. JSON as Stan's data files have
 * it: arrays of numbers are vectors, nested ones matrices, "NaN" and "Infinity" numbers. A program
 * cannot define such a name again. */
GPM_API enum gpm_status gpm_data_json(gpm_session *s, const char *text, size_t len);
/* A file: CSV when its name ends in .csv or .tsv, else JSON. */
GPM_API enum gpm_status gpm_data_file(gpm_session *s, const char *path);

/* The directives of the current model, one a line: what stands in the program, and its value. Valid
 * until the next call for this session. */
GPM_API const char *gpm_list_directives(gpm_session *s);
/* With the option `profile`: a table of directives and operators, their own time, calls, scope and
 * share of accepted proposals, the slowest first; "" without it. */
GPM_API const char *gpm_profile(gpm_session *s);

/* The last error, rendered as the options say; "" when there was none. */
GPM_API const char *gpm_last_error(gpm_session *s);
/* Asks the running command, or where none runs the next one, to stop at the next safe point
 * (async-signal-safe). */
GPM_API void gpm_interrupt(gpm_session *s);
/* Did the last run end because it was asked to, or because its time was up? Nothing is wrong then:
 * the program can be run again, or go on elsewhere. */
GPM_API bool gpm_stopped(const gpm_session *s);

/* What the operators have proposed so far: calls `each` for every scope, in the order of first use,
 * and returns how many trajectories of hmc and nuts diverged. */
GPM_API uint64_t gpm_acceptance(gpm_session *s,
                                void (*each)(void *user, const char *scope, uint64_t proposed,
                                             uint64_t accepted),
                                void *user);
/* What is wrong with the trajectories of hmc and nuts so far, one line each: divergences, an energy
 * that moves slowly (E-BFMI), trajectories cut at their limit; "" when nothing is. Valid until the
 * next call. */
GPM_API const char *gpm_trajectory_complaints(gpm_session *s);
/* What hmc and nuts have done so far, by name: transitions, divergences, max_depth_hit,
 * accept_stat, treedepth, stepsize, ebfmi, ...; NaN where unknown. Nothing when neither was used.
 */
GPM_API void gpm_sampler_facts(gpm_session *s,
                               void (*each)(void *user, const char *name, double value),
                               void *user);
/* What to try on a scope by what its choices are, "" when it is unknown. */
GPM_API const char *gpm_acceptance_advice(gpm_session *s, const char *scope);
/* A line about a scope whose proposals are hardly ever accepted; returns its length, 0: nothing is
 * wrong. */
GPM_API size_t gpm_acceptance_complaint(const char *scope, double proposed, double accepted,
                                        const char *advice, char *text, size_t size);
/* Names known to the session that begin with `prefix` (procedures, operators, kernels, assumed and
 * defined names): calls `each` for every one. */
GPM_API void gpm_complete(gpm_session *s, const char *prefix,
                          void (*each)(void *user, const char *name), void *user);
/* Help on one name: signature, text, example; NULL: unknown. Valid until the next call. */
GPM_API const char *gpm_help(gpm_session *s, const char *name);
/* The whole reference as JSON (all procedures, operators, kernels); valid until the next call. */
GPM_API const char *gpm_reference_json(gpm_session *s);

/* Binds a C function as a procedure of the inference program and of models: `sig` as in
 * "(x: real) -> real"; all arguments and the result are numbers. Nonzero return: failure, with the
 * reason written to err. Deterministic. GPM_E_ARG: a name or signature that cannot be read; the
 * text of the error says why. */
typedef int gpm_function(void *user, const double *args, size_t n, double *result, char *err,
                         size_t err_size);
GPM_API enum gpm_status gpm_bind_function(gpm_session *s, const char *name, const char *sig,
                                          gpm_function *f, void *user);
/* The same for a function that may be called from several threads at once: f_compute on an array
 * then evaluates `jobs` points at a time. */
GPM_API enum gpm_status gpm_bind_parallel(gpm_session *s, const char *name, const char *sig,
                                          gpm_function *f, void *user);

/* What the action call_back("name", e1, ..., en) calls. `args` is JSON: one array per expression,
 * with its value in every particle. *result is text of the language for the action's value ("3.5",
 * "[1, 2]"), valid until the next call; left alone: the empty list. Nonzero return: failure, with
 * the reason written to err. Called on the session's own thread; binding a name again replaces it.
 * GPM_E_ARG: no name. */
typedef int gpm_callback(void *user, const char *args, const char **result, char *err,
                         size_t err_size);
GPM_API enum gpm_status gpm_bind_callback(gpm_session *s, const char *name, gpm_callback *f,
                                          void *user);
GPM_API const char *gpm_version(void);

/* ---- where Gaussian processes are computed ---- */
/* For what this process makes from now on: "cpu"; "gpu", which never falls back; "auto", a GPU
 * where there is one and it can do it. GPM_E_DEVICE: there is none, gpm_device_error says why.
 * GPM_E_ARG: no such word. */
GPM_API enum gpm_status gpm_device_use(const char *device);
/* Why the last call of this thread ended with GPM_E_DEVICE. */
GPM_API const char *gpm_device_error(void);
/* The GPU as a line of text, "NVIDIA H200, 141 GB, ..."; NULL: none, gpm_device_error says why. */
GPM_API const char *gpm_device_text(void);
/* The processor whose code the library's BLAS runs, "SkylakeX". Without OPENBLAS_CORETYPE it is the
 * best for this machine, unless the library was built on a shared OpenBLAS. Where it is an older
 * one, the second says what OPENBLAS_CORETYPE has to be before the process starts, else NULL. */
GPM_API const char *gpm_blas_core(void);
GPM_API const char *gpm_blas_better_core(void);
/* The same as a sentence for people, NULL where all is well: what is wrong and what to set. */
GPM_API const char *gpm_blas_advice(void);
#if defined(__cplusplus)
}
#endif
#endif
