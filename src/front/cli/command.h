/* SPDX-License-Identifier: Apache-2.0
 *
 * A command of the tool is one row: name, one line of help, options, function. The option table
 * alone drives parsing, `--help`, `gpmem help COMMAND`, the man page and the shell completions.
 *
 * To add a command: write src/front/cli/cmd_NAME.c that ends in COMMAND(NAME, PLACE) = {...}. A
 * process runs one command, so options are stored in variables, which hold the defaults before:
 *
 *     static struct { uint64_t budget; bool strict; } args = {.budget = 50};
 *     static const struct option_row rows[] = {
 *         {.kind = OPTION_GROUP, .field = &session_options},
 *         {"budget", 'n', OPTION_UINT, "N", "evaluations to spend (default 50)", &args.budget},
 *     };
 *     OPTIONS(rows),
 *
 * Promises to scripts: stdout holds results, stderr everything else; exit status 0 fine, 1 the run
 * failed, 2 bad usage or a bad program (a command may define more and says so in its text).
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H
#include "base/buf.h"
#include "base/count.h"
#include "base/vec.h"
#include "gpmem/gpmem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* EXIT_STOPPED: a signal or a limit of time ended it in good order; the same command, or resume,
 * goes on. */
enum exit_status {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_UNSETTLED = 3,
    EXIT_STOPPED = 4
};

enum option_kind {
    OPTION_FLAG,   /* bool; no argument */
    OPTION_COUNT,  /* int; every use adds one */
    OPTION_UINT,   /* uint64_t */
    OPTION_SIZE,   /* size_t */
    OPTION_SMALL,  /* unsigned or int; its range lies within both */
    OPTION_REAL,   /* double */
    OPTION_TIME,   /* double, seconds; 90, 90s, 5m, 2h */
    OPTION_BYTES,  /* size_t; 1000, 64K, 512M, 2G */
    OPTION_TEXT,   /* const char *; borrowed from argv */
    OPTION_CHOICE, /* int, index of the word; `arg` lists the words: "html|text|json" */
    OPTION_LIST,   /* struct text_list; may be given several times */
    OPTION_GROUP   /* here are the rows of a struct option_group */
};

/* A kind of number with its range (base/count.h): COUNTED(SIZE, HORIZON); without one any fits. */
#define COUNTED(kind, range) ((enum option_kind)(OPTION_##kind | (int)COUNT_##range << 8))
static inline enum count_of option_range(enum option_kind counted) {
    return (enum count_of)((int)counted >> 8);
}
static inline enum option_kind option_kind(enum option_kind counted) {
    return (enum option_kind)((int)counted & 255);
}

struct text_list { /* texts borrowed from argv */
    const char **at;
    size_t n, cap;
};

struct option_row {
    const char *name; /* long name, without dashes */
    char letter;      /* short name, or 0 */
    enum option_kind kind;
    const char *arg;  /* name of the argument in help; FILE and DIR complete as paths */
    const char *help; /* one line; says the default */
    void *field;      /* where the value goes */
};
/* Options that several commands share. */
struct option_group {
    const struct option_row *rows;
    size_t n;
};
static inline bool option_has_argument(const struct option_row *o) {
    return o->kind != OPTION_FLAG && o->kind != OPTION_COUNT;
}

struct command_row {
    const char *args;    /* positional arguments as help shows them: "FILE" */
    const char *summary; /* one line, no full stop */
    const char *text;    /* paragraphs for help and the man page; may be NULL */
    const struct option_row *options;
    size_t n_options;
    int takes[2]; /* positional arguments: at least, at most; a negative number: as many as come */
    int (*run)(int argc, char **argv); /* argv: positional, argc of them */
};
#define OPTIONS(rows) .options = (rows), .n_options = COUNT_OF(rows)

/* A command is in the list by being linked: a pointer to it goes to a section of its own, so no
 * other file names it. Places in the list of `gpmem --help` go from small to large; 0: not there
 * (used by the build). */
struct command {
    const char *name;
    const struct command_row *row;
    int place;
};
#define COMMAND(id, place) COMMAND_NAMED(id, #id, place)
#define COMMAND_NAMED(id, name, place)                                                             \
    static const struct command_row row_##id;                                                      \
    static const struct command command_##id = {name, &row_##id, place};                           \
    static const struct command *const listed_##id __attribute__((section("commands"), used)) =    \
        &command_##id;                                                                             \
    static const struct command_row row_##id

/* In the order of their places; ends with a name NULL. */
const struct command *command_list(void);
const struct command *command_find(const char *name);
/* The prompt: what `gpmem` without a command runs. Not in the list. */
extern const struct command command_prompt;

/* The whole tool: the exit status for a command line. */
int tool_main(int argc, char **argv);

/* Parses options and runs the command. argv[0] is the command's name. Returns the exit status. */
int command_main(const struct command *c, int argc, char **argv);
void command_print_help(const struct command *c);

/* The options of a command: its own with those of groups, then those that every command takes:
 * -q, -v, -h. */
struct option_list {
    size_t own, n;
    const struct option_row *at[64];
};
struct option_list command_options(const struct command *c);
/* What the command line asked for; written once, before the command runs. */
extern struct voice {
    int quiet;   /* -q, counted: nothing but results and errors */
    int verbose; /* -v, counted: what is done is explained */
    bool help;
} voice;
/* "gpmem: " and an explanation on stderr, under -v alone. */
void explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "gpmem: " message on stderr; returns the status given, so that `return usage(...)` reads well. */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copies of names, as gpm_complete hands them over. */
struct name_list {
    char **at;
    size_t n, cap;
};
void name_list_add(void *list, const char *name);
void name_list_release(struct name_list *l);

/* Options of every command that runs programs, and what the command line gave of them. The seed is
 * apart: a run that goes on has its own. */
extern struct option_group session_options;
/* --device, and what it asks for (the exit status); command_main does it before a command that has
 * the option. */
extern struct option_group device_options;
int device_choose(void);
bool device_is_gpu(void); /* chosen, and there */
extern struct gpm_options session_args;
extern int session_diagnostics; /* 1: as JSON */
#define SEED_OPTION                                                                                \
    { "seed", 's', OPTION_UINT, "N", "seed of the random numbers (default 1)", &session_args.seed }
/* These options, complete: output to stdout and stderr. */
struct gpm_options session_settings(void);
/* Colours: only when the stream is a terminal, never under NO_COLOR or TERM=dumb. */
bool colour_wanted(int fd);

/* Appends the whole of a file (or of standard input for "-"); a failure is said. */
GPM_MUST_USE enum gpm_status read_text(const char *path, struct buf *out);
/* The same within the limits of time and memory that the session will have. */
GPM_MUST_USE enum gpm_status read_program(const char *path, struct buf *out);
#endif
