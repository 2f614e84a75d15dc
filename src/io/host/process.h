/* SPDX-License-Identifier: Apache-2.0
 *
 * Running other programs as functions of numbers: arguments with {name} placeholders, no shell,
 * optionally a JSON object on stdin, one number expected on stdout. Every failure of a program is
 * an outcome, not a status: the caller records it and continues.
 *
 * A struct proc_command is the template; proc_pool runs up to `jobs` instances at a time in one
 * thread (poll on pipes and process descriptors): start jobs while there are free slots, wait for
 * the next that ends.
 * Each child leads its own process group; a time-out ends the group (TERM, then KILL), and the
 * group is killed when this process dies for any reason. If the machine cannot start a program now
 * (no descriptor, process or memory left) it is tried again. If that persists the outcome is
 * PROC_SHORTAGE, which tells nothing about the program. The caller must check permission to run. */
#ifndef HOST_PROCESS_H
#define HOST_PROCESS_H
#include "base/buf.h"
#include <gpmem/status.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers that a program gives, if not just one: members of a JSON object; numbers in a line in
 * this order; or taken from a log by patterns such as "loss: {loss}" ({}: the first name), at the
 * last match. */
struct proc_outputs {
    char **names; /* owned, like the patterns */
    int n;
    char **patterns;
    int n_patterns;
};
void proc_outputs_name(struct proc_outputs *o, const char *name, size_t n);
/* GPM_E_ARG with a message: the pattern has no {..}, or no text before it. Adds its names. */
GPM_MUST_USE enum gpm_status proc_outputs_pattern(struct proc_outputs *o, const char *pattern,
                                                  struct buf *err);
void proc_outputs_release(struct proc_outputs *o);

struct proc_command {
    char **argv; /* owned; argc strings, may contain {name}; {{ and }} mean brackets */
    int argc;
    char **names; /* owned; the placeholders that exist */
    int n_names;
    bool json; /* {"name": value, ..} on stdin; then placeholders are not required */
    const struct proc_outputs *outputs; /* borrowed; NULL: one number */
    bool timing;                        /* the value is the elapsed seconds, whatever it prints */
    double timeout;                     /* seconds of wall time per attempt; 0: none */
    int retries;                        /* further attempts after a failure */
    double patience;                    /* seconds to wait for a shortage to end */
    /* Called for each line "gpmem: STEP VALUE" of the output. True: stop the job, with the value as
     * its result. NULL: such lines are ordinary output. */
    bool (*watch)(void *watcher, int64_t tag, double step, double value);
    void *watcher;
};
#define PROC_PATIENCE 60.0

enum proc_outcome {
    PROC_OK,
    PROC_NO_START, /* the program does not exist, or may not be run */
    PROC_EXIT,     /* nonzero exit status */
    PROC_SIGNAL,
    PROC_TIMEOUT,
    PROC_NAN,     /* the output is not finite */
    PROC_GARBAGE, /* the output is not one number */
    PROC_SHORTAGE,
    PROC_INTERRUPTED
};

struct proc_result {
    enum proc_outcome outcome;
    double value;                       /* when PROC_OK */
    double *values;                     /* owned; all numbers if several are requested, else NULL */
    const struct proc_outputs *outputs; /* borrowed; their names */
    int code;                           /* exit status or signal number */
    int attempts;
    double seconds;         /* wall time of the last attempt */
    struct buf steps;       /* steps reported while running, as JSON: [step, value], .. */
    bool any_input;         /* PROC_NO_START: would fail for all inputs */
    bool stopped;           /* by the watcher: `value` is the last one */
    struct buf message;     /* one line: what failed and how; empty when PROC_OK */
    struct buf stderr_tail; /* the last PROC_STDERR_MAX bytes the program wrote to stderr */
};
/* Was nothing learned about the input? Then there is no failure to store. */
static inline bool proc_says_nothing(const struct proc_result *r) {
    return r->outcome == PROC_SHORTAGE || r->outcome == PROC_INTERRUPTED ||
           (r->outcome == PROC_NO_START && r->any_input);
}
#define PROC_STDOUT_MAX 65536
#define PROC_STDERR_MAX 4096
void proc_result_init(struct proc_result *r);
void proc_result_release(struct proc_result *r);
/* The message followed by the stderr excerpt, without trailing newlines: the failure to record. */
void proc_result_text(const struct proc_result *r, struct buf *out);

/* Builds a template from words, or from one line split at blanks ('..', ".." and \ quote; nothing
 * else is special). names NULL: take the command's placeholders. GPM_E_ARG with a message:
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
void proc_pool_free(struct proc_pool *p); /* kills running jobs */
bool proc_pool_full(const struct proc_pool *p);
/* Starts c, which must exist until the job has ended, with these texts for its names (borrowed
 * during the call; quoted in the JSON unless they are numbers). `tag` is returned with the result.
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

/* Reads the requested numbers into values (o->n of them; o NULL: one), from the whole output or its
 * last line. Otherwise describes the problem for the user (empty: the outcome says enough). */
enum proc_outcome proc_read_outputs(const struct proc_outputs *o, const char *text, double *values,
                                    struct buf *why);
/* Is line[..end) "gpmem: STEP VALUE", a report of progress? PROC_ODD_STEP: it only begins like
 * one. */
enum proc_line { PROC_OTHER_LINE, PROC_STEP, PROC_ODD_STEP };
enum proc_line proc_read_step(const char *line, const char *end, double *step, double *value);
/* The progress that an evaluation reported, from its stored numbers: pairs of step and value
 * (owned); returns their number. */
size_t proc_read_steps(const char *outputs, double **pairs, bool *stopped);
/* Exactly one number with blanks around it; PROC_OK, PROC_NAN or PROC_GARBAGE. */
enum proc_outcome proc_parse_number(const char *text, size_t n, double *value);
#endif
