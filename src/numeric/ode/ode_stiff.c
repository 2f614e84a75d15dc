/* SPDX-License-Identifier: Apache-2.0
 *
 * Stiff systems: variable-order backward differentiation formulas with Newton's method, and forward
 * sensitivities, of CVODES (SUNDIALS, BSD-3). The library is loaded by its versioned name, which
 * identifies the binary interface. So neither building nor running needs it before a stiff system
 * occurs. This file declares the functions it calls.
 *
 *     S' = (df/dy) S + df/d(y0, p),   S(t0) = (1, 0)
 *
 * Sensitivities follow the solution's steps and do not affect them. */
#include "numeric/ode/ode.h"
#include "base/library.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

typedef struct library_vector *nvector; /* the library's own objects */
typedef struct library_matrix *smatrix;
typedef void *handle;

typedef int f_fn(double t, nvector y, nvector dy, void *user);
typedef int jac_fn(double t, nvector y, nvector fy, smatrix j, void *user, nvector a, nvector b,
                   nvector c);
typedef int sens_fn(int n, double t, nvector y, nvector dy, nvector *s, nvector *ds, void *user,
                    nvector a, nvector b);
typedef void error_fn(int code, const char *module, const char *function, char *text, void *user);

/* Every library function called here: result, name, parameters. */
#define LIBRARY(X)                                                                                 \
    X(int, SUNContext_Create, (void *comm, handle *out))                                           \
    X(int, SUNContext_Free, (handle *))                                                            \
    X(nvector, N_VNew_Serial, (int64_t n, handle context))                                         \
    X(double *, N_VGetArrayPointer, (nvector))                                                     \
    X(nvector *, N_VCloneVectorArray, (int n, nvector like))                                       \
    X(void, N_VDestroyVectorArray, (nvector *, int n))                                             \
    X(void, N_VDestroy, (nvector))                                                                 \
    X(smatrix, SUNDenseMatrix, (int64_t rows, int64_t cols, handle context))                       \
    X(double *, SUNDenseMatrix_Data, (smatrix))                                                    \
    X(void, SUNMatDestroy, (smatrix))                                                              \
    X(handle, SUNLinSol_Dense, (nvector, smatrix, handle context))                                 \
    X(int, SUNLinSolFree, (handle))                                                                \
    X(handle, CVodeCreate, (int method, handle context))                                           \
    X(int, CVodeInit, (handle, f_fn *, double t0, nvector y0))                                     \
    X(int, CVodeSStolerances, (handle, double rtol, double atol))                                  \
    X(int, CVodeSetUserData, (handle, void *))                                                     \
    X(int, CVodeSetErrHandlerFn, (handle, error_fn *, void *))                                     \
    X(int, CVodeSetMaxNumSteps, (handle, long))                                                    \
    X(int, CVodeSetStopTime, (handle, double))                                                     \
    X(int, CVodeSetLinearSolver, (handle, handle solver, smatrix))                                 \
    X(int, CVodeSetJacFn, (handle, jac_fn *))                                                      \
    X(int, CVodeSensInit, (handle, int n, int how, sens_fn *, nvector *s0))                        \
    X(int, CVodeSensEEtolerances, (handle))                                                        \
    X(int, CVodeSetSensErrCon, (handle, int on))                                                   \
    X(int, CVode, (handle, double until, nvector y, double *reached, int task))                    \
    X(int, CVodeGetSens, (handle, double *reached, nvector *s))                                    \
    X(int, CVodeGetNumSteps, (handle, long *))                                                     \
    X(void, CVodeFree, (handle *))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct { LIBRARY(MEMBER) } lib;
#define SYMBOL(result, name, parameters) {#name, &lib.name},
static const struct library_symbol symbols[] = {LIBRARY(SYMBOL){0}};
static bool loaded;

static void load(void) {
    loaded = library_load("libsundials_cvodes.so.6", symbols);
}

enum { BDF = 2, NORMAL = 1, STAGGERED = 2, TOO_MUCH_WORK = -1 };

struct stiff {
    struct ode *o;
    handle context, memory, solver;
    nvector y, *s;
    smatrix jacobian;
    double *rows; /* n rows of n + p: df/dy, df/dp */
};

/* A non-finite value may be avoided by a shorter step (positive result). */
static int call_f(double t, nvector y, nvector dy, void *user) {
    struct ode *o = ((struct stiff *)user)->o;
    double *to = lib.N_VGetArrayPointer(dy);
    o->status = o->f(o->ctx, t, lib.N_VGetArrayPointer(y), to);
    if (o->status != GPM_OK) return -1;
    for (size_t i = 0; i < o->n; i++)
        if (!isfinite(to[i])) return 1;
    return 0;
}

/* Row by row, each by the backward function of a unit vector. */
static int all_derivatives(struct stiff *s, double t, const double *y) {
    struct ode *o = s->o;
    size_t n = o->n, width = n + o->p;
    double *unit = mem_zalloc(2 * n * sizeof *unit + sizeof *unit);
    o->status = o->f(o->ctx, t, y, unit + n);
    memset(s->rows, 0, n * width * sizeof *s->rows);
    for (size_t i = 0; o->status == GPM_OK && i < n; i++) {
        unit[i] = 1;
        o->back(o->ctx, unit, s->rows + i * width, s->rows + i * width + n);
        unit[i] = 0;
    }
    mem_free(unit);
    return o->status == GPM_OK ? 0 : -1;
}

static int call_jacobian(double t, nvector y, nvector fy, smatrix j, void *user, nvector a,
                         nvector b, nvector c) {
    struct stiff *s = user;
    size_t n = s->o->n, width = n + s->o->p;
    double *to = lib.SUNDenseMatrix_Data(j);
    int bad = all_derivatives(s, t, lib.N_VGetArrayPointer(y));
    for (size_t i = 0; !bad && i < n; i++)
        for (size_t k = 0; k < n; k++) to[i + k * n] = s->rows[i * width + k];
    return bad;
}

static int call_sensitivities(int m, double t, nvector y, nvector dy, nvector *s, nvector *ds,
                              void *user, nvector a, nvector b) {
    struct stiff *k = user;
    size_t n = k->o->n, width = n + k->o->p;
    int bad = all_derivatives(k, t, lib.N_VGetArrayPointer(y));
    for (size_t q = 0; !bad && q < (size_t)m; q++) {
        const double *from = lib.N_VGetArrayPointer(s[q]);
        double *to = lib.N_VGetArrayPointer(ds[q]);
        for (size_t i = 0; i < n; i++) {
            const double *row = k->rows + i * width;
            to[i] = q >= n ? row[q] : 0;
            for (size_t j = 0; j < n; j++) to[i] += row[j] * from[j];
        }
    }
    return bad;
}

static void no_words(int code, const char *module, const char *function, char *text, void *user) {}

static void release(struct stiff *s) {
    if (s->memory) lib.CVodeFree(&s->memory);
    if (s->solver) lib.SUNLinSolFree(s->solver);
    if (s->jacobian) lib.SUNMatDestroy(s->jacobian);
    if (s->s) lib.N_VDestroyVectorArray(s->s, (int)(s->o->n + s->o->p));
    if (s->y) lib.N_VDestroy(s->y);
    if (s->context) lib.SUNContext_Free(&s->context);
    mem_free(s->rows);
}

static bool begin_sensitivities(struct stiff *s) {
    struct ode *o = s->o;
    int m = (int)(o->n + o->p);
    s->s = lib.N_VCloneVectorArray(m, s->y);
    if (!s->s) return false;
    for (size_t q = 0; q < (size_t)m; q++) {
        double *at = lib.N_VGetArrayPointer(s->s[q]);
        for (size_t i = 0; i < o->n; i++) at[i] = q == i;
    }
    return !lib.CVodeSensInit(s->memory, m, STAGGERED, call_sensitivities, s->s) &&
           !lib.CVodeSensEEtolerances(s->memory) && !lib.CVodeSetSensErrCon(s->memory, 0);
}

static bool begin(struct stiff *s, bool sensitivities) {
    struct ode *o = s->o;
    int64_t n = (int64_t)o->n;
    s->rows = mem_array(o->n * (o->n + o->p) + 1, sizeof *s->rows);
    if (lib.SUNContext_Create(NULL, &s->context)) return false;
    s->y = lib.N_VNew_Serial(n, s->context);
    s->jacobian = lib.SUNDenseMatrix(n, n, s->context);
    s->memory = lib.CVodeCreate(BDF, s->context);
    if (!s->y || !s->jacobian || !s->memory) return false;
    memcpy(lib.N_VGetArrayPointer(s->y), o->y0, o->n * sizeof *o->y0);
    s->solver = lib.SUNLinSol_Dense(s->y, s->jacobian, s->context);
    return s->solver && !lib.CVodeInit(s->memory, call_f, o->t0, s->y) &&
           !lib.CVodeSetErrHandlerFn(s->memory, no_words, NULL) &&
           !lib.CVodeSStolerances(s->memory, o->rtol, o->atol) &&
           !lib.CVodeSetUserData(s->memory, s) &&
           !lib.CVodeSetLinearSolver(s->memory, s->solver, s->jacobian) &&
           (!o->back || !lib.CVodeSetJacFn(s->memory, call_jacobian)) &&
           !lib.CVodeSetStopTime(s->memory, o->ts[o->m - 1]) &&
           (!sensitivities || begin_sensitivities(s));
}

static enum ode_end reach(struct stiff *s, double t) {
    struct ode *o = s->o;
    long used = 0;
    lib.CVodeGetNumSteps(s->memory, &used);
    if ((size_t)used >= o->max_steps) return ODE_STEPS;
    lib.CVodeSetMaxNumSteps(s->memory, (long)o->max_steps - used);
    int code = lib.CVode(s->memory, t, s->y, &o->at, NORMAL);
    if (o->status != GPM_OK) return ODE_ASKED;
    return code >= 0               ? ODE_DONE
           : code == TOO_MUCH_WORK ? ODE_STEPS
           : code <= -8            ? ODE_NAN
                                   : ODE_STUCK;
}

/* At t0 the solution is y0 and its sensitivity the unit matrix, which the vectors initially
 * hold. */
static enum ode_end all_times(struct stiff *s, double *out, double *sens) {
    struct ode *o = s->o;
    size_t n = o->n, width = n + o->p;
    for (size_t i = 0; i < o->m; i++) {
        double reached;
        enum ode_end end = o->ts[i] > o->t0 ? reach(s, o->ts[i]) : ODE_DONE;
        if (end != ODE_DONE) return end;
        memcpy(out + i * n, lib.N_VGetArrayPointer(s->y), n * sizeof *out);
        if (!sens) continue;
        if (o->ts[i] > o->t0 && lib.CVodeGetSens(s->memory, &reached, s->s)) return ODE_STUCK;
        for (size_t q = 0; q < width; q++)
            memcpy(sens + (i * width + q) * n, lib.N_VGetArrayPointer(s->s[q]), n * sizeof *sens);
    }
    return ODE_DONE;
}

enum ode_end ode_stiff(struct ode *o, double *out, double *sens) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!loaded) return ODE_LIBRARY;
    struct stiff s = {.o = o};
    o->at = o->t0;
    o->status = GPM_OK;
    if (o->m && !(o->ts[o->m - 1] > o->t0)) { /* no time to integrate over */
        for (size_t i = 0; i < o->m; i++) memcpy(out + i * o->n, o->y0, o->n * sizeof *out);
        for (size_t i = 0; sens && i < o->m * (o->n + o->p) * o->n; i++)
            sens[i] = i / o->n % (o->n + o->p) == i % o->n;
        return ODE_DONE;
    }
    enum ode_end end = begin(&s, sens != NULL) ? all_times(&s, out, sens) : ODE_STUCK;
    release(&s);
    return end;
}
