/* SPDX-License-Identifier: Apache-2.0
 *
 * Source functions from outside the language: programs, C functions of shared objects, callbacks
 * of the embedding program, tables in CSV files. A source maps dim numbers to one; whatever goes
 * wrong is an error with a text, never a value. The rows that make them are in source_rows.c; what
 * gpmem remembers of their values is in evaluations.h.
 */
#ifndef SOURCE_SRCFN_H
#define SOURCE_SRCFN_H
#include "base/buf.h"
#include "table/csv.h"
#include "io/host/foreign.h"
#include "io/host/process.h"
#include "language/rows/source/point_map.h"
#include "language/rows/protocol/sp.h"

struct srcfn;
struct srcfn_class {
    /* y = f(x). GPM_E_USER: it failed and `why` says how. `stop`: give up when it becomes
     * non-zero (may be NULL). */
    enum gpm_status (*evaluate)(struct srcfn *s, const double *x, double *y,
                                const volatile sig_atomic_t *stop, struct buf *why);
    void (*release)(struct srcfn *s);
};

/* A callback of the embedding program: non-zero is a failure, with the reason in err. */
typedef int srcfn_callback(void *user, const double *args, size_t n, double *result, char *err,
                           size_t err_size);

struct srcfn {
    uint32_t refs;
    const struct srcfn_class *cls;
    char *identity; /* owned: what a memo store knows it by */
    int dim;
    bool parallel; /* may be called from several threads at once */
    union {
        struct proc_command command;
        struct foreign object;
        struct map table; /* count: the line of the file */
        struct {
            srcfn_callback *f;
            void *user;
        } callback;
    } u;
};

extern const struct srcfn_class srcfn_command, srcfn_foreign, srcfn_csv, srcfn_call;
struct srcfn *srcfn_new(const struct srcfn_class *cls, char *identity_taken, int dim);
void srcfn_unref(struct srcfn *s);
/* The same table whatever order of loading: -0 is 0. DIAG_DATA texts go to err. */
enum gpm_status srcfn_csv_fill(struct srcfn *s, const struct csv *c, const int *inputs, int output,
                               struct buf *err) GPM_MUST_USE;

extern const struct sp_state_class srcfn_state;
/* As a procedure of the language: f(x), f(x, y) or f([x, y]). */
value srcfn_value(struct srcfn *s_taken);
struct srcfn *srcfn_of(value v); /* borrowed; NULL: not a source */
/* Numbers as the command line and JSON want them; caller frees with mem_free. */
char **srcfn_texts(const double *x, int dim);
void srcfn_texts_free(char **texts, int dim);
/* "./sim {x} at x = 3: ..." as DIAG_SOURCE_FAILED. */
enum gpm_status srcfn_failed(struct sp_call *c, const char *identity, const double *x, int dim,
                             const char *why);
/* A number of coordinates in argument i, from 1 to 10000; the fallback when it was not given. */
enum gpm_status srcfn_dim(struct sp_call *c, int i, int fallback, int *dim) GPM_MUST_USE;
/* A path of a program: relative to the program's own folder, then to the current one. mem_free. */
char *srcfn_path(const struct sp_call *c, const char *path);
#endif
