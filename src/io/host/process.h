/* SPDX-License-Identifier: Apache-2.0
 *
 * Running other programs as functions of numbers: arguments with {name} placeholders, no shell,
 * optionally a JSON object on stdin, one number expected on stdout. Everything that can go wrong
 * with a program is an outcome, not a status: the caller records it and goes on.
 *
 * A struct proc_command is the template; proc_pool runs up to `jobs` instances at a time in one
 * thread (poll on pipes and process descriptors): start jobs while there are free slots, wait for
 * the next that ends.
 * Each child leads its own process group; a time-out ends the group (TERM, then KILL), and the
 * group is killed when this process dies, however it dies. A machine that cannot start a program
 * now (no descriptor, process or memory left) is asked again; when it does not recover the outcome
 * is PROC_SHORTAGE, which says nothing about the program. Permission to run is the caller's
 * business.
 */
#ifndef HOST_PROCESS_H
#define HOST_PROCESS_H
#include "base/buf.h"
#include <gpmem/status.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers that a program gives, when they are more than the one that it prints: members of a
 * JSON object, numbers in a line in this order, or taken out of a log by patterns such as
 * "loss: {loss}" ({}: the first name), the last place where one fits. */
struct proc_outputs {
    char **names; /* owned, as are the patterns */
    int n;
    char **patterns;
    int n_patterns;
};
void proc_outputs_name(struct proc_outputs *o, const char *name, size_t n);
/* GPM_E_ARG with a message: there is no {..} in it, or nothing before it. Names are added. */
GPM_MUST_USE enum gpm_status proc_outputs_pattern(struct proc_outputs *o, const char *pattern,
                                                  struct buf *err);
void proc_outputs_release(struct proc_outputs *o);

struct proc_command {
    char **argv; /* owned; argc strings, may hold {name}; {{ .. }} stand for brackets */
    int argc;
    char **names; /* owned; the placeholders that exist */
    int n_names;
    bool json; /* {"name": value, ..} on stdin; then placeholders are not required */
    const struct proc_outputs *outputs; /* borrowed; NULL: one number */
    bool timing;     /* its value is the seconds that it took, whatever it prints */
    double timeout;  /* seconds of wall time per attempt; 0: none */
    int retries;     /* further attempts after a failure */
    double patience; /* seconds that a shortage of the machine may last */
    /* Called for each line "gpmem: STEP VALUE" of the output. True: stop the job, with the value as
     * its result. NULL: such lines are ordinary output. */
    bool (*watch)(void *watcher, int64_t tag, double step, double value);
    void *watcher;
};
#define PROC_PATIENCE 60.0

enum proc_outcome {
    PROC_OK,
    PROC_NO_START, /* there is no such program, or it may not be run */
    PROC_EXIT,     /* with a status that is not 0 */
    PROC_SIGNAL,
    PROC_TIMEOUT,
    PROC_NAN,     /* what it printed is not finite */
    PROC_GARBAGE, /* nor is it one number */
    PROC_SHORTAGE,
    PROC_INTERRUPTED
};

struct proc_result {
    enum proc_outcome outcome;
    double value;   /* when PROC_OK */
    double *values; /* owned; all numbers when several are asked for, else NULL */
    const struct proc_outputs *outputs; /* borrowed; their names */
    int code;                           /* exit status or signal number */
    int attempts;
    double seconds;         /* wall time of the last attempt */
    struct buf steps;       /* what was told on the way, as JSON: [step, value], .. */
    bool any_input;         /* PROC_NO_START: of the same program for all inputs */
    bool stopped;           /* by the watcher: `value` is the last of them */
    struct buf message;     /* one line: what failed and how; empty when PROC_OK */
    struct buf stderr_tail; /* the last PROC_STDERR_MAX bytes the program wrote to stderr */
};
/* Nothing was learnt about the input: not a failure to store. */
static inline bool proc_says_nothing(const struct proc_result *r) {
    return r->outcome == PROC_SHORTAGE || r->outcome == PROC_INTERRUPTED ||
           (r->outcome == PROC_NO_START && r->any_input);
}
#define PROC_STDOUT_MAX 65536
#define PROC_STDERR_MAX 4096
void proc_result_init(struct proc_result *r);
void proc_result_release(struct proc_result *r);
/* message, and the stderr excerpt below it, without newlines at the end: what to record as the
 * failure. */
void proc_result_text(const struct proc_result *r, struct buf *out);

/* Builds a template from words, or from one line split at blanks ('..', ".." and \ quote; nothing
 * else is special). names NULL: the placeholders that the command has. GPM_E_ARG with a message:
 * empty command, unknown placeholder, unclosed quote, or no placeholder at all while `json` is off
 * and there are inputs. */
GPM_MUST_USE enum gpm_status proc_command_init(struct proc_command *c, char *const *argv, int argc,
                                               const char *const *names, int n_names, bool json,
                                               struct buf *err);
GPM_MUST_USE enum gpm_status proc_command_parse(struct proc_command *c, const char *line,
                                                const char *const *names, int n_names, bool json,
                                                struct buf *err);
void proc_command_release(struct proc_command *c);
/* The template as one line: the identity of the source function. */
void proc_command_text(const struct proc_command *c, struct buf *out);

struct proc_pool;
struct proc_pool *proc_pool_new(int jobs);
void proc_pool_free(struct proc_pool *p); /* kills what still runs */
bool proc_pool_full(const struct proc_pool *p);
/* Starts c, which stays until the job has ended, with the texts in place of its names (borrowed
 * during the call; quoted in the JSON unless they are numbers). `tag` comes back with the result.
 * The pool must not be full. */
void proc_pool_start(struct proc_pool *p, const struct proc_command *c, const char *const *values,
                     int64_t tag);
/* Waits up to `seconds` (< 0: for ever) for one job to end; false when none did, when nothing runs,
 * or when *stop became non-zero (stop may be NULL). r must be initialised. With a stop a failure is
 * reported a little later: one caused by the caller's own end is not an answer and is not
 * reported. */
bool proc_pool_wait(struct proc_pool *p, double seconds, const volatile sig_atomic_t *stop,
                    int64_t *tag, struct proc_result *r);

/* One job; PROC_INTERRUPTED, and killed, when *stop becomes non-zero. */
void proc_run(const struct proc_command *c, const char *const *values,
              const volatile sig_atomic_t *stop, struct proc_result *r);

/* The numbers asked for into values (o->n of them; o NULL: one), from all that was printed or from
 * its last line; else what is wrong, for people (empty: nothing to add to the outcome). */
enum proc_outcome proc_read_outputs(const struct proc_outputs *o, const char *text, double *values,
                                    struct buf *why);
/* Is line[..end) "gpmem: STEP VALUE", what a program tells on its way? PROC_ODD_STEP: it begins so.
 */
enum proc_line { PROC_OTHER_LINE, PROC_STEP, PROC_ODD_STEP };
enum proc_line proc_read_step(const char *line, const char *end, double *step, double *value);
/* What an evaluation told on its way, from its stored numbers: pairs of step and value (owned), how
 * many. */
size_t proc_read_steps(const char *outputs, double **pairs, bool *stopped);
/* Exactly one number with blanks around it; PROC_OK, PROC_NAN or PROC_GARBAGE. */
enum proc_outcome proc_parse_number(const char *text, size_t n, double *value);
#endif
