/* SPDX-License-Identifier: Apache-2.0
 *
 * A command of the tool is one row: name, one line of help, options, function. The option table
 * alone drives parsing, `--help`, `gpmem help COMMAND`, the man page and the shell completions.
 *
 * To add a command: write src/cli/cmd_NAME.c that ends in COMMAND(NAME) = {...}. Options are stored
 * in a struct of the command's own:
 *
 *     struct args { struct session_args session; uint64_t budget; bool strict; };
 *     static const struct option_row rows[] = {
 *         SESSION_ROWS(struct args, session),
 *         {"budget", 'n', OPTION_UINT, "N", "evaluations to spend (default 50)",
 *          offsetof(struct args, budget)},
 *     };
 *
 * Promises to scripts: stdout holds results, stderr everything else; exit status 0 fine, 1 the run
 * failed, 2 bad usage or a bad program (a command may define more and says so in its text).
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H
#include "base/buf.h"
#include "gpmem/gpmem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum exit_status { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum option_kind {
    OPTION_FLAG,   /* bool; no argument */
    OPTION_COUNT,  /* int; every use adds one */
    OPTION_UINT,   /* uint64_t */
    OPTION_REAL,   /* double */
    OPTION_TIME,   /* double, seconds; 90, 90s, 5m, 2h */
    OPTION_BYTES,  /* uint64_t; 1000, 64K, 512M, 2G */
    OPTION_TEXT,   /* const char *; borrowed from argv */
    OPTION_CHOICE, /* int, index of the word; `arg` lists the words: "text|json" */
    OPTION_LIST    /* struct text_list; may be given several times */
};

struct text_list {
    size_t n;
    const char **at; /* texts borrowed from argv; the list itself ends with the command */
};

struct option_row {
    const char *name; /* long name, without dashes */
    char letter;      /* short name, or 0 */
    enum option_kind kind;
    const char *arg;  /* name of the argument in help; FILE and DIR complete as paths */
    const char *help; /* one line; says the default */
    size_t offset;    /* of the field in the command's struct */
};

struct command {
    int place; /* in the list of `gpmem --help`, from small to large */
    const char *name;
    const char *args;    /* positional arguments as help shows them: "FILE" */
    const char *summary; /* one line, no full stop */
    const char *text;    /* paragraphs for help and the man page; may be NULL */
    const struct option_row *options;
    size_t n_options;
    size_t size;              /* of the command's option struct */
    void (*init)(void *opts); /* defaults on zeroed memory; may be NULL */
    int min_args, max_args;   /* positional arguments; max_args < 0: any number */
    bool hidden;              /* not in the list of commands (used by the build) */
    int (*run)(const void *opts, int argc, char **argv); /* argv: positional, argc of them */
};
#define OPTIONS(rows) .options = (rows), .n_options = sizeof(rows) / sizeof((rows)[0])

/* The row of a command, which is in the list by being linked: a pointer to it goes to a section of
 * its own, so no other file names it. */
#define COMMAND(id)                                                                                \
    static const struct command command_##id;                                                      \
    static const struct command *const listed_##id __attribute__((section("commands"), used)) =    \
        &command_##id;                                                                             \
    static const struct command command_##id

/* The commands in the order of their places; ends with NULL. */
const struct command *const *command_list(void);
const struct command *command_find(const char *name);
/* The prompt: what `gpmem` without a command runs. Not in the list. */
extern const struct command command_prompt;

/* Parses options and runs the command. argv[0] is the command's name. Returns the exit status. */
int command_main(const struct command *c, int argc, char **argv);
/* Parses `argv` (argv[0] skipped) into `opts`; positional arguments are moved to the front of
 * argv + 1 and counted in *n_args. False: bad usage, said on stderr. */
bool options_parse(const struct command *c, int argc, char **argv, void *opts, int *n_args);
void command_print_help(const struct command *c);

/* The nearest of n words by edit distance, or NULL when none is near. */
const char *nearest_word(const char *word, const char *const *words, size_t n);

/* Options that every command takes besides its own, in help, manual pages and completions too:
 * -q, -v, -h. The first two hold for the whole process. */
const struct option_row *common_options(size_t *n);
bool voice_quiet(void);  /* -q: nothing but results and errors */
int voice_verbose(void); /* -v, counted: what is done is explained */
/* "gpmem: " and an explanation on stderr, under -v alone. */
void explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "gpmem: " message on stderr; returns the status given, so that `return usage(...)` reads well. */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Options of every command that runs programs. */
struct session_args {
    uint64_t seed;
    int format;      /* 0 text, 1 json */
    int diagnostics; /* 0 text, 1 json */
    bool allow_run, allow_write;
    uint64_t jobs;
    double max_time;
    uint64_t max_depth, max_memory;
};
void session_args_init(struct session_args *a);
/* Fills the options of a session whose output goes to stdout and stderr. */
void session_args_apply(const struct session_args *a, struct gpm_options *o);
/* Colours: only when the stream is a terminal, never under NO_COLOR or TERM=dumb. */
bool colour_wanted(int fd);

#define SESSION_FIELD(T, f, x) (offsetof(T, f) + offsetof(struct session_args, x))
#define SESSION_ROWS(T, f)                                                                         \
    {"seed",                                                                                       \
     's',                                                                                          \
     OPTION_UINT,                                                                                  \
     "N",                                                                                          \
     "seed of the random numbers (default 1)",                                                     \
     SESSION_FIELD(T, f, seed)},                                                                   \
        {"format",                                                                                 \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         "text|json",                                                                              \
         "how values are printed (default text)",                                                  \
         SESSION_FIELD(T, f, format)},                                                             \
        {"diagnostics",                                                                            \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         "text|json",                                                                              \
         "how errors are printed (default text)",                                                  \
         SESSION_FIELD(T, f, diagnostics)},                                                        \
        {"allow-run",                                                                              \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "programs may run commands and load shared objects",                                      \
         SESSION_FIELD(T, f, allow_run)},                                                          \
        {"allow-write",                                                                            \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "programs may write files",                                                               \
         SESSION_FIELD(T, f, allow_write)},                                                        \
        {"jobs",                                                                                   \
         'j',                                                                                      \
         OPTION_UINT,                                                                              \
         "N",                                                                                      \
         "source functions evaluated at once (default 1)",                                         \
         SESSION_FIELD(T, f, jobs)},                                                               \
        {"max-time",                                                                               \
         0,                                                                                        \
         OPTION_TIME,                                                                              \
         "S",                                                                                      \
         "stop after S seconds (also 5m, 2h; default: no limit)",                                  \
         SESSION_FIELD(T, f, max_time)},                                                           \
        {"max-depth",                                                                              \
         0,                                                                                        \
         OPTION_UINT,                                                                              \
         "N",                                                                                      \
         "deepest recursion (default: the language's)",                                            \
         SESSION_FIELD(T, f, max_depth)},                                                          \
    {                                                                                              \
        "max-memory", 0, OPTION_BYTES, "M",                                                        \
            "bytes a program may hold (also 512M, 2G; default: "                                   \
            "no limit)",                                                                           \
            SESSION_FIELD(T, f, max_memory)                                                        \
    }

/* Appends the whole of a file (or of standard input for "-"); a failure is said. */
GPM_MUST_USE enum gpm_status read_text(const char *path, struct buf *out);
/* The same within the limits of time and memory that the session will have. */
GPM_MUST_USE enum gpm_status read_program(const struct session_args *a, const char *path,
                                          struct buf *out);
#endif
