/* SPDX-License-Identifier: Apache-2.0
 *
 * Work beside R's own thread, which must not be left waiting where nobody can interrupt it; and
 * members of lists.
 */
#include "gpmem.h"
#include <R_ext/Utils.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct work {
    void (*f)(void *);
    void *arg;
    int done;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

static void *do_work(void *p) {
    struct work *w = p;
    w->f(w->arg);
    pthread_mutex_lock(&w->lock);
    w->done = 1;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void ask_r(void *unused) {
    R_CheckUserInterrupt();
}

Rboolean run_beside(void (*f)(void *), void (*pump)(void *), void (*stop)(void *), void *arg) {
    struct work w = {f, arg, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    Rboolean interrupted = FALSE;
    if (pthread_create(&thread, NULL, do_work, &w) != 0) error("no thread could be started");
    for (int done = 0; !done;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&w.lock);
        while (!w.done && pthread_cond_timedwait(&w.ended, &w.lock, &until) == 0) {
        }
        done = w.done;
        pthread_mutex_unlock(&w.lock);
        if (pump) pump(arg);
        /* jumps that an interrupt makes end in R_ToplevelExec */
        if (!done && !interrupted && !R_ToplevelExec(ask_r, NULL)) {
            interrupted = TRUE;
            if (stop) stop(arg);
        }
    }
    pthread_join(thread, NULL);
    return interrupted;
}

SEXP member(SEXP list, const char *name) {
    SEXP names = getAttrib(list, R_NamesSymbol);
    for (R_xlen_t i = 0; i < xlength(list) && names != R_NilValue; i++)
        if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return VECTOR_ELT(list, i);
    return R_NilValue;
}

double number(SEXP list, const char *name, double otherwise) {
    SEXP v = member(list, name);
    return isNull(v) ? otherwise : asReal(v);
}

/* R's numbers are doubles: those above 2^53 are not all there. */
uint64_t whole_of(SEXP v, const char *name) {
    double x = xlength(v) == 1 && (isReal(v) || isInteger(v) || isLogical(v)) ? asReal(v) : NA_REAL;
    if (!(x >= 0 && x <= 9007199254740992.0 && x == floor(x)))
        error("%s must be one whole number from 0 to 2^53", name);
    return (uint64_t)x;
}

uint64_t whole(SEXP list, const char *name, uint64_t otherwise) {
    SEXP v = member(list, name);
    return isNull(v) ? otherwise : whole_of(v, name);
}

unsigned few_of(SEXP v, const char *name) {
    uint64_t n = whole_of(v, name);
    if (n > INT_MAX) error("%s must be below 2^31", name);
    return (unsigned)n;
}

unsigned few(SEXP list, const char *name, unsigned otherwise) {
    SEXP v = member(list, name);
    return isNull(v) ? otherwise : few_of(v, name);
}

const char *word(SEXP list, const char *name) {
    SEXP v = member(list, name);
    return isNull(v) || xlength(v) == 0 ? NULL : translateCharUTF8(STRING_ELT(v, 0));
}
