/* SPDX-License-Identifier: Apache-2.0
 *
 * A session: one program's symbols, sources, definitions and current model, and the top level that
 * runs instructions one by one. An instruction that fails leaves the state as it was. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H
#include "inference/run/infer.h"

/* Files that load each other, one inside the other: their real paths. */
struct loads {
    VEC(char *) paths; /* owned */
};

struct session {
    struct session_core core;
    struct infer_state infer;
    struct sym_table syms;
    struct sources sources;
    struct diags diags;
    volatile sig_atomic_t interrupted;
    bool json; /* format of printed values */
    bool printing;
    bool verbose;             /* says after each instruction what it did and how long it took */
    bool running;             /* a text runs; others are loaded by it, and were checked with it */
    const struct ast *last;   /* instruction of the text that was given; borrowed while that runs */
    struct loads loading;     /* files that run, one inside the other */
    void (*warn)(void *user); /* says what the check found before the run begins, or NULL */
    void *warn_user;
    double max_seconds;
    size_t stack_size;
    struct checkpoints *checkpoints; /* checkpoint.h; NULL: none are asked for */
};

/* Reads the library written in the language. Not GPM_OK: no session, but one to be released. */
enum gpm_status session_init(struct session *s, uint64_t seed, uint32_t chain) GPM_MUST_USE;
void session_release(struct session *s);
/* Parses and runs a text under a name. Must be called on a stack of s->stack_size bytes. */
enum gpm_status session_run(struct session *s, const char *name, const char *text,
                            size_t len) GPM_MUST_USE;
enum gpm_status session_run_file(struct session *s, const char *path, struct span at) GPM_MUST_USE;
enum gpm_status session_check(struct session *s, const char *name, const char *text, size_t len,
                              bool interactive) GPM_MUST_USE;
/* What can be known of a parsed program before it runs: errors that would certainly happen, and
 * warnings; see check.h. whole: it is a program by itself, not one line of several; for_people:
 * also what is merely untidy. */
enum gpm_status session_check_program(struct session *s, const struct ast *program, bool whole,
                                      bool for_people) GPM_MUST_USE;
void session_define(struct session *s, const char *name, value v_taken);
/* What help says of a name: arguments, words, example or NULL. */
struct help_row {
    const char *name, *form, *doc, *example;
};
/* Data given from outside (data.c): every name of a dictionary becomes a defined one, and `data`
 * the dictionary of all. From a JSON text, or a file that read_json or read_table would read. */
enum gpm_status session_data_json(struct session *s, const char *text, size_t n) GPM_MUST_USE;
enum gpm_status session_data_file(struct session *s, const char *path) GPM_MUST_USE;
/* Help on a name (signature, text, example) appended to out; false: unknown. */
bool session_help(struct session *s, const char *name, struct buf *out);
void session_reference_json(struct session *s, struct buf *out);
void session_complete(struct session *s, const char *prefix, void (*each)(void *, const char *),
                      void *user);
#endif
