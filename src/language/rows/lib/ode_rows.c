/* SPDX-License-Identifier: Apache-2.0
 *
 * ode_solve: ordinary differential equations whose right-hand side is a procedure of the language,
 * compiled once (language/rows/protocol/numeric.h). The inputs of that code are t, then y, then the
 * parameters.
 */
#include "language/rows/lib/args.h"
#include "numeric/ode/ode.h"
#include "language/rows/protocol/adjoint.h"
#include "language/rows/protocol/numeric.h"
#include <math.h>
#include <string.h>

enum { ARG_F, ARG_Y0, ARG_T0, ARG_TS, ARG_PARAMETERS, ARG_RTOL, ARG_ATOL, ARG_METHOD, ARG_STEPS };
enum { POLL_EVERY = 256 };

/* One call of ode_solve. */
struct solve {
    struct sp_call *c;
    struct numeric *f;
    struct ode o;
    double *y0, *ts, *in, *din; /* in: t, y, p; din: adjoints of the same */
    bool stiff, with_parameters;
    unsigned calls;
};

static void solve_release(struct solve *s) {
    numeric_unref(s->f);
    mem_free(s->y0);
    mem_free(s->ts);
    mem_free(s->in);
}

static enum gpm_status call_f(void *ctx, double t, const double *y, double *dy) {
    struct solve *s = ctx;
    enum gpm_status st = GPM_OK;
    s->in[0] = t;
    memcpy(s->in + 1, y, s->o.n * sizeof *y);
    if (++s->calls % POLL_EVERY == 0) st = s->c->host->poll(s->c->host);
    return st == GPM_OK ? numeric_run(s->c, s->f, s->in, dy) : st;
}

static void call_back(void *ctx, const double *d, double *dy, double *dp) {
    struct solve *s = ctx;
    size_t n = s->o.n, p = s->o.p;
    memset(s->din, 0, (1 + n + p) * sizeof *s->din);
    numeric_back(s->f, d, s->din);
    for (size_t i = 0; i < n; i++) dy[i] += s->din[1 + i];
    for (size_t i = 0; i < p; i++) dp[i] += s->din[1 + n + i];
}

/* ---- arguments ---- */

static enum gpm_status check_times(struct solve *s) {
    double before = s->o.t0;
    for (size_t i = 0; i < s->o.m; i++) {
        if (!isfinite(before) || !isfinite(s->ts[i]) || s->ts[i] < before)
            return sp_error(s->c, DIAG_DOMAIN,
                            "ode_solve: ts must be finite, not fall, and not begin before t0 = "
                            "%.15g: time %zu is %.15g",
                            s->o.t0, i, s->ts[i]);
        before = s->ts[i];
    }
    return GPM_OK;
}

static bool text_is(value v, const char *text) {
    return !strcmp(value_text(v), text);
}

static enum gpm_status read_options(struct solve *s) {
    struct sp_call *c = s->c;
    struct ode *o = &s->o;
    o->rtol = sp_given(c, ARG_RTOL) ? sp_num(c, ARG_RTOL) : 1e-6;
    o->atol = sp_given(c, ARG_ATOL) ? sp_num(c, ARG_ATOL) : 1e-6;
    double steps = sp_given(c, ARG_STEPS) ? sp_num(c, ARG_STEPS) : 1e5;
    o->max_steps = (size_t)fmin(steps, 1e15);
    if (!sp_given(c, ARG_METHOD)) return GPM_OK;
    s->stiff = text_is(c->args[ARG_METHOD], "stiff");
    if (s->stiff || text_is(c->args[ARG_METHOD], "nonstiff")) return GPM_OK;
    return sp_type_error(c, c->args[ARG_METHOD], "method must be \"nonstiff\" or \"stiff\"");
}

/* The code of f, for arguments of these shapes. */
static enum gpm_status read_procedure(struct solve *s) {
    struct sp_call *c = s->c;
    s->with_parameters = sp_given(c, ARG_PARAMETERS);
    value y = value_vector(s->y0, s->o.n), like[] = {value_num(0), y, NIL};
    if (s->with_parameters) like[2] = c->args[ARG_PARAMETERS];
    enum gpm_status st =
        c->host->numeric(c->host, c->args[ARG_F], like, s->with_parameters ? 3 : 2, s->o.n, &s->f);
    value_unref(y);
    if (st == GPM_OK && s->f->random)
        st = sp_error(c, DIAG_TYPE, "ode_solve: f must be deterministic: %s", s->f->why);
    return st;
}

static enum gpm_status solve_init(struct solve *s, struct sp_call *c) {
    *s = (struct solve){.c = c};
    struct ode *o = &s->o;
    size_t at = 0;
    *o = (struct ode){.f = call_f, .ctx = s, .t0 = sp_num(c, ARG_T0)};
    if (sp_given(c, ARG_PARAMETERS) && !numeric_flatten(c->args[ARG_PARAMETERS], NULL, &o->p))
        return sp_type_error(c, c->args[ARG_PARAMETERS],
                             "parameters must be numbers, or sequences of them");
    o->y0 = s->y0 = sp_numbers(c, ARG_Y0, &o->n);
    o->ts = s->ts = sp_numbers(c, ARG_TS, &o->m);
    s->in = NEW_ARRAY(double, 2 * (1 + o->n + o->p));
    s->din = s->in + 1 + o->n + o->p;
    if (o->p) numeric_flatten(c->args[ARG_PARAMETERS], s->in + 1 + o->n, &at);
    enum gpm_status st = read_options(s);
    if (st == GPM_OK) st = check_times(s);
    if (st == GPM_OK) st = sp_check_size(c, (double)o->n * (double)o->m, sizeof(double));
    if (st == GPM_OK) st = read_procedure(s);
    if (st == GPM_OK && s->f->out) o->back = call_back;
    return st;
}

/* ---- what can go wrong ---- */

static enum gpm_status failed(struct solve *s, enum ode_end end) {
    struct sp_call *c = s->c;
    double t = s->o.at;
    switch (end) {
    case ODE_DONE: return GPM_OK;
    case ODE_ASKED: return s->o.status;
    case ODE_LIBRARY:
        sp_error(c, DIAG_FILE,
                 "ode_solve: method=\"stiff\" needs the library CVODES of SUNDIALS, "
                 "libsundials_cvodes.so.6, which cannot be loaded");
        return diag_set_help(c->diags, "Debian: apt install libsundials-cvodes6");
    case ODE_NAN:
        return sp_error(c, DIAG_ODE,
                        "ode_solve: the right-hand side gives no finite numbers near t = %.6g", t);
    case ODE_STUCK:
        sp_error(c, DIAG_ODE, "ode_solve: the solution cannot be followed beyond t = %.6g", t);
        break;
    default:
        sp_error(c, DIAG_ODE, "ode_solve: max_steps = %zu steps were taken at t = %.6g",
                 s->o.max_steps, t);
    }
    return s->stiff ? GPM_E_USER
                    : diag_set_help(c->diags, "method=\"stiff\" is for systems whose parts move at "
                                              "very different speeds");
}

/* ---- value and gradient ---- */

static value matrix_by_rows(const double *at, size_t rows, size_t cols) {
    value v = value_matrix_new(rows, cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) v.u.matrix->at[i + j * rows] = at[i * cols + j];
    return v;
}

static enum gpm_status simulate_ode(struct sp_call *c, value *out) {
    struct solve s;
    enum gpm_status st = solve_init(&s, c);
    if (st == GPM_OK) {
        double *y = NEW_ARRAY(double, s.o.m *s.o.n + 1);
        st = failed(&s, s.stiff ? ode_stiff(&s.o, y, NULL) : ode_rk(&s.o, y, NULL));
        if (st == GPM_OK) *out = matrix_by_rows(y, s.o.m, s.o.n);
        mem_free(y);
    }
    solve_release(&s);
    return st;
}

static enum gpm_status back_rk(struct solve *s, double *y, const struct ode_adjoint *a) {
    struct ode_track track = {0};
    enum gpm_status st = failed(s, ode_rk(&s->o, y, &track));
    if (st == GPM_OK) st = ode_rk_back(&s->o, &track, a);
    ode_track_release(&track);
    return st;
}

static enum gpm_status back_stiff(struct solve *s, double *y, const struct ode_adjoint *a) {
    size_t n = s->o.n, width = n + s->o.p;
    enum gpm_status st = sp_check_size(s->c, (double)s->o.m * (double)(width * n), sizeof(double));
    if (st != GPM_OK) return st;
    double *sens = NEW_ARRAY(double, s->o.m *width *n + 1);
    st = failed(s, ode_stiff(&s->o, y, sens));
    for (size_t k = 0; st == GPM_OK && k < s->o.m * width * n; k++) {
        size_t time = k / (width * n), q = k / n % width, i = k % n;
        *(q < n ? &a->dy0[q] : &a->dp[q - n]) += a->d[time * n + i] * sens[k];
    }
    mem_free(sens);
    return st;
}

/* A later time moves the solution along f, a later start moves y0 against it. */
static enum gpm_status back_times(struct solve *s, const double *y, const struct ode_adjoint *a,
                                  double *dt0, double *dts) {
    size_t n = s->o.n;
    double *slope = NEW_ARRAY(double, n + 1);
    enum gpm_status st = call_f(s, s->o.t0, s->y0, slope);
    *dt0 = 0;
    for (size_t i = 0; i < n; i++) *dt0 -= a->dy0[i] * slope[i];
    for (size_t k = 0; st == GPM_OK && k < s->o.m; k++) {
        dts[k] = 0;
        st = call_f(s, s->ts[k], y + k * n, slope);
        for (size_t i = 0; i < n; i++) dts[k] += a->d[k * n + i] * slope[i];
    }
    mem_free(slope);
    return st;
}

static enum gpm_status no_code(struct sp_call *c, const struct numeric *f) {
    sp_error(c, DIAG_NO_GRADIENT, "ode_solve: there is no gradient through f: %s", f->why);
    return diag_set_help(c->diags, "arithmetic, conditions, indexing, let, maps and calls of such "
                                   "procedures have one; mh and slice need none");
}

static enum gpm_status grad_ode(struct sp_call *c, value r, value dr, value *dargs) {
    struct solve s;
    if (dr.tag == V_NIL) return GPM_OK;
    enum gpm_status st = solve_init(&s, c);
    if (st == GPM_OK && !s.f->out) st = no_code(c, s.f);
    if (st == GPM_OK) {
        size_t n = s.o.n, m = s.o.m, p = s.o.p;
        double *room = mem_zalloc((2 * m * n + n + p + m + 1) * sizeof *room), dt0;
        double *y = room, *d = y + m * n, *dy0 = d + m * n, *dp = dy0 + n, *dts = dp + p;
        double *by_columns = NEW_ARRAY(double, m *n + 1);
        struct ode_adjoint a = {d, dy0, dp};
        mat_adjoint_numbers(dr, m, n, by_columns);
        for (size_t i = 0; i < m * n; i++) d[i] = by_columns[i / n + i % n * m];
        st = s.stiff ? back_stiff(&s, y, &a) : back_rk(&s, y, &a);
        if (st == GPM_OK) st = back_times(&s, y, &a, &dt0, dts);
        if (st == GPM_OK) {
            const double *at = dp;
            dargs[ARG_Y0] = value_vector(dy0, n);
            dargs[ARG_T0] = value_num(dt0);
            dargs[ARG_TS] = value_vector(dts, m);
            if (s.with_parameters)
                dargs[ARG_PARAMETERS] = numeric_shaped(c->args[ARG_PARAMETERS], &at, true);
        }
        mem_free(by_columns);
        mem_free(room);
    }
    solve_release(&s);
    return st;
}

const struct sp_class sp_ode_rows[] = {
    {.name = "ode_solve",
     .sig = "(f: proc, y0: numbers, t0: real, ts: numbers, parameters?: any, rtol?: positive, "
            "atol?: positive, method?: name, max_steps?: count) -> matrix",
     .doc = "The solution of y' = f(t, y, parameters) from y(t0) = y0: a matrix with a row for "
            "each time of ts. Without parameters f is called as f(t, y). Its gradient is that in "
            "y0, t0, ts and parameters. rtol= and atol= (1e-6) say what error a step may make, "
            "max_steps= (100000) how many there may be; method=\"stiff\" takes CVODES of SUNDIALS, "
            "method=\"nonstiff\" (unless given) a Runge-Kutta method of order 5.",
     .example = "ode_solve((t, y, k) -> [-k * y[0]], [1], 0, [0, 1], 2, rtol=1e-3)[0] => [1]",
     .flags = SP_CALLS | SP_LACKS,
     .simulate = simulate_ode,
     .grad_simulate = grad_ode},
};
const size_t sp_ode_count = COUNT_OF(sp_ode_rows);
