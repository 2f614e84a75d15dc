/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs. A session calls back on a thread of its own, where nothing of R may be touched: what it
 * prints and draws is kept here, under a lock, until R's thread takes it.
 */
#include "gpmem.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *data;
    size_t n, cap;
};

static void text_add(struct text *t, const char *more, size_t n) {
    if (t->n + n + 1 > t->cap) {
        size_t cap = 2 * (t->n + n + 1);
        char *data = realloc(t->data, cap);
        if (!data) return; /* output is lost, nothing else */
        t->data = data;
        t->cap = cap;
    }
    memcpy(t->data + t->n, more, n);
    t->n += n;
    t->data[t->n] = 0;
}

struct program {
    gpm_session *session;
    const char *name, *code;
    pthread_mutex_t lock;
    struct text output, messages; /* streams 1 and 2; what of the second is not yet printed */
    gpm_draws *draws;
    int quiet;
    enum gpm_status st;
};

static void on_write(void *user, int stream, const char *text, size_t n) {
    struct program *p = user;
    pthread_mutex_lock(&p->lock);
    text_add(stream == 1 ? &p->output : &p->messages, text, n);
    pthread_mutex_unlock(&p->lock);
}

static void on_draw(void *user, const char *const *names, const double *row, size_t n) {
    gpm_draws_push(((struct program *)user)->draws, 0, names, row, n);
}

static void do_run(void *arg) {
    struct program *p = arg;
    p->st = gpm_run_text(p->session, p->name, p->code, strlen(p->code));
}

/* On R's thread: warnings and progress as they come. */
static void print_messages(void *arg) {
    struct program *p = arg;
    pthread_mutex_lock(&p->lock);
    struct text said = p->messages;
    memset(&p->messages, 0, sizeof p->messages);
    pthread_mutex_unlock(&p->lock);
    if (said.n && !p->quiet) REprintf("%s", said.data);
    free(said.data);
}

static void stop_run(void *arg) {
    gpm_interrupt(((struct program *)arg)->session);
}

static void release(SEXP handle) {
    struct program *p = R_ExternalPtrAddr(handle);
    if (!p) return;
    gpm_session_free(p->session);
    free(p->output.data);
    free(p->messages.data);
    gpm_draws_free(p->draws);
    free(p);
    R_ClearExternalPtr(handle);
}

/* list(output, draws or NULL, which of their columns the sampler says of itself) */
static SEXP results(const struct program *p) {
    static const char *names[] = {"output", "draws", "sampler", ""};
    SEXP out = PROTECT(mkNamed(VECSXP, names));
    SET_VECTOR_ELT(
        out, 0,
        ScalarString(mkCharLenCE(p->output.n ? p->output.data : "", (int)p->output.n, CE_UTF8)));
    gpm_draws_arrange(p->draws);
    size_t n = gpm_draws_columns(p->draws), rows = gpm_draws_rows(p->draws);
    if (n && rows) {
        SEXP draws = PROTECT(allocMatrix(REALSXP, (int)rows, (int)n));
        SEXP columns = PROTECT(allocVector(STRSXP, (R_xlen_t)n));
        SEXP sampler = PROTECT(allocVector(LGLSXP, (R_xlen_t)n));
        for (size_t j = 0; j < n; j++) {
            const char *name = gpm_draws_name(p->draws, j);
            gpm_draws_column(p->draws, 0, j, REAL(draws) + j * rows);
            SET_STRING_ELT(columns, (R_xlen_t)j, mkCharCE(name, CE_UTF8));
            LOGICAL(sampler)[j] = gpm_draws_group_of(name) == GPM_DRAWS_SAMPLER;
        }
        SEXP dimnames = PROTECT(allocVector(VECSXP, 2));
        SET_VECTOR_ELT(dimnames, 1, columns);
        setAttrib(draws, R_DimNamesSymbol, dimnames);
        SET_VECTOR_ELT(out, 1, draws);
        SET_VECTOR_ELT(out, 2, sampler);
        UNPROTECT(4);
    }
    UNPROTECT(1);
    return out;
}

/* The summary as JSON of an array rows x chains x variables whose names are `names`. */
SEXP draws_summary(SEXP x, SEXP names) {
    const int *dim = INTEGER(getAttrib(x, R_DimSymbol));
    size_t rows = (size_t)dim[0], chains = (size_t)dim[1], n = (size_t)dim[2];
    const char **name = (const char **)R_alloc(n + 1, sizeof *name);
    double *row = (double *)R_alloc(n + 1, sizeof *row);
    for (size_t j = 0; j < n; j++) name[j] = translateCharUTF8(STRING_ELT(names, (R_xlen_t)j));
    gpm_draws *d = gpm_draws_new();
    for (size_t i = 0; i < rows * chains; i++) {
        for (size_t j = 0; j < n; j++) row[j] = REAL(x)[i + j * rows * chains];
        gpm_draws_push(d, i / rows, name, row, n);
    }
    SEXP out = mkString(gpm_draws_summary(d, GPM_FORMAT_JSON));
    gpm_draws_free(d);
    return out;
}

/* data: the text of a JSON object, or NULL. The external pointer frees everything when an error
 * leaves this function. */
SEXP program_run(SEXP program, SEXP name, SEXP data, SEXP options) {
    struct gpm_options o;
    struct program *p = calloc(1, sizeof *p);
    if (!p) error("no memory");
    SEXP handle = PROTECT(R_MakeExternalPtr(p, R_NilValue, R_NilValue));
    pthread_mutex_init(&p->lock, NULL);
    p->draws = gpm_draws_new();
    p->code = translateCharUTF8(STRING_ELT(program, 0));
    p->name = translateCharUTF8(STRING_ELT(name, 0));
    p->quiet = number(options, "quiet", 0) != 0;
    gpm_options_init(&o);
    o.seed = whole(options, "seed", 1);
    o.chain = few(options, "chain", 0);
    o.allow_run = number(options, "allow_run", 0) != 0;
    o.allow_write = number(options, "allow_write", 0) != 0;
    o.max_seconds = number(options, "max_seconds", 0);
    o.write = on_write;
    o.draw = on_draw;
    o.user = o.draw_user = p;
    p->session = gpm_session_new(&o);
    R_RegisterCFinalizerEx(handle, release, TRUE);
    if (!isNull(data)) {
        const char *json = translateCharUTF8(STRING_ELT(data, 0));
        if (gpm_data_json(p->session, json, strlen(json)) != GPM_OK)
            error("%s", gpm_last_error(p->session));
    }
    Rboolean interrupted = run_beside(do_run, print_messages, stop_run, p);
    if (p->st != GPM_OK) {
        char why[4000];
        snprintf(why, sizeof why, "%s", gpm_last_error(p->session));
        release(handle);
        error(interrupted ? "interrupted" : "%s", why);
    }
    SEXP out = PROTECT(results(p));
    release(handle);
    UNPROTECT(2);
    return out;
}
