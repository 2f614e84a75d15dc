/* SPDX-License-Identifier: Apache-2.0
 *
 * make_lazy_hmm(p0, T, O): a hidden Markov chain with k states and finitely many symbols. The made
 * procedure h(i) is an emission at time i = 0, 1, ...: the state at 0 has distribution p0, column x
 * of T is the distribution of the next state after x, column x of O that of the symbol (a number
 * from 0) emitted in x. Several emissions at one time are independent given the state.
 *
 * The hidden states are integrated out by the forward-backward recursions over the recorded
 * emissions; times without any only multiply by T. Expected: k and horizons up to some hundreds.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "math/dist.h"
#include "dist/dist_row.h"
#include <math.h>
#include <string.h>

enum { TIME_MAX = 1000000 };

struct hmm_par {
    size_t k, m;        /* states, symbols */
    double *p0, *T, *O; /* owned; T is k x k, O is m x k, column-major */
};
struct emission {
    size_t time, symbol, count;
};
struct hmm {
    struct hmm_par par;
    VEC(struct emission) data; /* by (time, symbol) */
    size_t impossible;         /* emissions that are no symbols of any model */
};

static void par_release(struct hmm_par *p) {
    mem_free(p->p0);
    mem_free(p->T);
    mem_free(p->O);
}

static void hmm_free(void *state) {
    struct hmm *s = state;
    par_release(&s->par);
    vec_release(&s->data);
    mem_free(s);
}

static double *copy(const double *a, size_t n) {
    double *b = NEW_ARRAY(double, n + 1);
    memcpy(b, a, n * sizeof *b);
    return b;
}

static void *hmm_copy(void *state, const struct sp_aaa *aaa) {
    const struct hmm *s = state;
    struct hmm *t = NEW(struct hmm);
    t->par = s->par;
    t->par.p0 = copy(s->par.p0, s->par.k);
    t->par.T = copy(s->par.T, s->par.k * s->par.k);
    t->par.O = copy(s->par.O, s->par.m * s->par.k);
    for (size_t i = 0; i < s->data.n; i++) vec_push(&t->data, s->data.at[i]);
    t->impossible = s->impossible;
    return t;
}

/* Array of [time, symbol, count]. */
static value hmm_stats(void *state) {
    const struct hmm *s = state;
    value out = value_array_new(s->data.n);
    for (size_t i = 0; i < s->data.n; i++) {
        const struct emission *e = &s->data.at[i];
        value row[] = {value_num((double)e->time), value_num((double)e->symbol),
                       value_num((double)e->count)};
        out.u.array->at[i] = value_array(row, 3);
    }
    return out;
}

static const struct sp_state_class hmm_state = {
    .copy = hmm_copy, .free = hmm_free, .stats = hmm_stats};

/* ---- parameters */
static bool is_distribution(const double *p, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(p[i] >= 0)) return false;
        sum += p[i];
    }
    return fabs(sum - 1) < 1e-6;
}

static bool columns_are_distributions(const double *a, size_t rows, size_t cols) {
    for (size_t j = 0; j < cols; j++)
        if (!is_distribution(a + j * rows, rows)) return false;
    return true;
}

static enum gpm_status read_par(struct sp_call *c, struct hmm_par *p) {
    size_t rows, cols, states;
    *p = (struct hmm_par){0};
    enum gpm_status st = sp_numbers_arg(c, 0, "p0", &p->p0, &p->k);
    if (st == GPM_OK) st = sp_matrix_arg(c, 1, "T", &p->T, &rows, &cols);
    if (st == GPM_OK && (rows != p->k || cols != p->k))
        st = sp_error(c, DIAG_SHAPE, "%s: p0 has %zu states but T is %zu x %zu", c->cls->name, p->k,
                      rows, cols);
    if (st == GPM_OK) st = sp_matrix_arg(c, 2, "O", &p->O, &p->m, &states);
    if (st == GPM_OK && states != p->k)
        st = sp_error(c, DIAG_SHAPE, "%s: p0 has %zu states but O has %zu columns", c->cls->name,
                      p->k, states);
    if (st == GPM_OK && !is_distribution(p->p0, p->k))
        st = sp_bad_arg(c, 0, "p0", "nonnegative with sum 1");
    if (st == GPM_OK && !columns_are_distributions(p->T, p->k, p->k))
        st = sp_error(c, DIAG_DOMAIN, "%s: a column of T is no probability distribution",
                      c->cls->name);
    if (st == GPM_OK && !columns_are_distributions(p->O, p->m, p->k))
        st = sp_error(c, DIAG_DOMAIN, "%s: a column of O is no probability distribution",
                      c->cls->name);
    if (st != GPM_OK) par_release(p);
    return st;
}

/* ---- recursions. Vectors over states are scaled to sum 1; the log scale is returned. */
static double rescale(double *a, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < k; i++) sum += a[i];
    if (!(sum > 0)) return -INFINITY;
    for (size_t i = 0; i < k; i++) a[i] /= sum;
    return log(sum);
}

/* a = T a, or T' a */
static void step(const struct hmm_par *p, bool transposed, double *a, double *scratch) {
    size_t k = p->k;
    memset(scratch, 0, k * sizeof *scratch);
    for (size_t x = 0; x < k; x++)
        for (size_t y = 0; y < k; y++) {
            if (transposed)
                scratch[x] += p->T[y + x * k] * a[y];
            else
                scratch[y] += p->T[y + x * k] * a[x];
        }
    memcpy(a, scratch, k * sizeof *a);
}

static void emit(const struct hmm_par *p, const struct emission *e, double *a) {
    for (size_t x = 0; x < p->k; x++) {
        double o = e->symbol < p->m ? p->O[e->symbol + x * p->m] : 0;
        a[x] *= e->count == 1 ? o : pow(o, (double)e->count);
    }
}

/* Forward to `until`, taking in the emissions up to then: *a ~ p(state, data <= until). */
static double forward(const struct hmm *s, size_t until, double *a, double *scratch) {
    double lp = 0;
    size_t next = 0;
    memcpy(a, s->par.p0, s->par.k * sizeof *a);
    for (size_t t = 0;; t++) {
        for (; next < s->data.n && s->data.at[next].time == t; next++)
            emit(&s->par, &s->data.at[next], a);
        lp += rescale(a, s->par.k);
        if (t == until || lp == -INFINITY) return lp;
        step(&s->par, false, a, scratch);
    }
}

/* Backward to `until`: *b ~ p(data after until | state at until), scaled. */
static void backward(const struct hmm *s, size_t until, double *b, double *scratch) {
    size_t left = s->data.n;
    for (size_t x = 0; x < s->par.k; x++) b[x] = 1;
    if (!left) return;
    for (size_t t = s->data.at[left - 1].time; t > until; t--) {
        for (; left && s->data.at[left - 1].time == t; left--)
            emit(&s->par, &s->data.at[left - 1], b);
        rescale(b, s->par.k);
        step(&s->par, true, b, scratch);
    }
}

static double joint(const struct hmm *s) {
    if (s->impossible) return -INFINITY;
    if (!s->data.n) return 0;
    double *a = NEW_ARRAY(double, 2 * s->par.k + 1);
    double lp = forward(s, vec_last(&s->data).time, a, a + s->par.k);
    mem_free(a);
    return lp;
}

/* ---- the made procedure */
static enum gpm_status time_of(struct sp_call *c, size_t *t) {
    if (sp_num(c, 0) > TIME_MAX) return sp_bad_arg(c, 0, "time", "at most a million");
    *t = (size_t)sp_num(c, 0);
    return GPM_OK;
}

/* w[o] = p(symbol o at t | data), up to a factor */
static enum gpm_status predictive(struct sp_call *c, double **w) {
    const struct hmm *s = c->state;
    size_t k = s->par.k, t = 0;
    enum gpm_status st = time_of(c, &t);
    if (st != GPM_OK) return st;
    double *a = NEW_ARRAY(double, 3 * k + 1), *b = a + k;
    forward(s, t, a, a + 2 * k);
    backward(s, t, b, a + 2 * k);
    for (size_t x = 0; x < k; x++) a[x] *= b[x];
    rescale(a, k);
    *w = mem_zalloc((s->par.m + 1) * sizeof(double));
    for (size_t x = 0; x < k; x++)
        for (size_t o = 0; o < s->par.m; o++) (*w)[o] += s->par.O[o + x * s->par.m] * a[x];
    mem_free(a);
    return GPM_OK;
}

static enum gpm_status hmm_draw(struct sp_call *c, value *out) {
    double *w;
    enum gpm_status st = predictive(c, &w);
    if (st != GPM_OK) return st;
    *out = value_num((double)draw_index(c->rng, w, ((struct hmm *)c->state)->par.m));
    mem_free(w);
    return GPM_OK;
}

static bool symbol_of(value v, size_t *symbol) {
    double x;
    if (!sp_as_number(v, &x) || !(x >= 0 && x < 1e9 && x == floor(x))) return false;
    *symbol = (size_t)x;
    return true;
}

static enum gpm_status hmm_density(struct sp_call *c, value v, double *out) {
    const struct hmm *s = c->state;
    double *w, sum = 0;
    size_t o;
    enum gpm_status st = predictive(c, &w);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < s->par.m; i++) sum += w[i];
    *out = symbol_of(v, &o) && o < s->par.m ? log(w[o] / sum) : -INFINITY;
    if (isnan(*out)) *out = -INFINITY; /* the data are impossible already */
    mem_free(w);
    return GPM_OK;
}

/* Position of the record (t, o), or where it belongs. */
static size_t position(const struct hmm *s, size_t t, size_t o) {
    size_t i = s->data.n;
    while (i && (s->data.at[i - 1].time > t ||
                 (s->data.at[i - 1].time == t && s->data.at[i - 1].symbol >= o)))
        i--;
    return i;
}

/* GPM_E_NOT_FOUND: v is no symbol of any model. */
static enum gpm_status find(struct sp_call *c, value v, size_t *t, size_t *o, size_t *i) {
    const struct hmm *s = c->state;
    enum gpm_status st = time_of(c, t);
    if (st != GPM_OK) return st;
    if (!symbol_of(v, o)) return GPM_E_NOT_FOUND;
    *i = position(s, *t, *o);
    return GPM_OK;
}

static bool is_at(const struct hmm *s, size_t i, size_t t, size_t o) {
    return i < s->data.n && s->data.at[i].time == t && s->data.at[i].symbol == o;
}

static enum gpm_status hmm_incorporate(struct sp_call *c, value v) {
    struct hmm *s = c->state;
    size_t t, o, i;
    enum gpm_status st = find(c, v, &t, &o, &i);
    s->impossible += st == GPM_E_NOT_FOUND;
    if (st != GPM_OK) return st == GPM_E_NOT_FOUND ? GPM_OK : st;
    if (is_at(s, i, t, o)) {
        s->data.at[i].count++;
        return GPM_OK;
    }
    vec_push(&s->data, ((struct emission){0, 0, 0}));
    memmove(s->data.at + i + 1, s->data.at + i, (s->data.n - 1 - i) * sizeof *s->data.at);
    s->data.at[i] = (struct emission){t, o, 1};
    return GPM_OK;
}

static enum gpm_status hmm_unincorporate(struct sp_call *c, value v) {
    struct hmm *s = c->state;
    size_t t, o, i;
    enum gpm_status st = find(c, v, &t, &o, &i);
    s->impossible -= st == GPM_E_NOT_FOUND;
    if (st != GPM_OK) return st == GPM_E_NOT_FOUND ? GPM_OK : st;
    if (!is_at(s, i, t, o)) return sp_bad_value(c, v, "a recorded emission");
    if (--s->data.at[i].count) return GPM_OK;
    memmove(s->data.at + i, s->data.at + i + 1, (s->data.n - i - 1) * sizeof *s->data.at);
    s->data.n--;
    return GPM_OK;
}

static enum gpm_status hmm_enumerate(struct sp_call *c, value **vals, size_t *n) {
    double *w;
    enum gpm_status st = predictive(c, &w);
    if (st != GPM_OK) return st;
    size_t m = ((struct hmm *)c->state)->par.m;
    *vals = NEW_ARRAY(value, m + 1);
    *n = 0;
    for (size_t o = 0; o < m; o++)
        if (w[o] > 0) (*vals)[(*n)++] = value_num((double)o);
    mem_free(w);
    return GPM_OK;
}

/* ---- absorbing: the token holds the old parameters */
static enum gpm_status hmm_remake(struct sp_call *c, void *state, void **token, double *log_joint) {
    struct hmm *s = state;
    struct hmm_par fresh;
    enum gpm_status st = read_par(c, &fresh);
    if (st != GPM_OK) return st;
    struct hmm_par *old = NEW(struct hmm_par);
    *old = s->par;
    s->par = fresh;
    *log_joint = joint(s);
    *token = old;
    return GPM_OK;
}

static void hmm_undo(void *state, void *token) {
    struct hmm *s = state;
    par_release(&s->par);
    s->par = *(struct hmm_par *)token;
    mem_free(token);
}

static void hmm_commit(void *state, void *token) {
    par_release(token);
    mem_free(token);
}

static enum gpm_status hmm_log_joint(void *state, double *out) {
    *out = joint(state);
    return GPM_OK;
}

static const struct sp_aaa hmm_aaa = {
    .remake = hmm_remake, .undo = hmm_undo, .commit = hmm_commit, .log_joint = hmm_log_joint};

static const struct sp_class made_hmm = {.name = "lazy_hmm",
                                         .sig = "(time: count) -> count",
                                         .doc = "made by make_lazy_hmm",
                                         .flags = SP_RANDOM | SP_DISCRETE,
                                         .simulate = hmm_draw,
                                         .log_density = hmm_density,
                                         .incorporate = hmm_incorporate,
                                         .unincorporate = hmm_unincorporate,
                                         .enumerate = hmm_enumerate,
                                         .support = sp_support_discrete,
                                         .log_bound = sp_discrete_bound};

static enum gpm_status make_hmm(struct sp_call *c, value *out) {
    struct hmm_par par;
    enum gpm_status st = read_par(c, &par);
    if (st != GPM_OK) return st;
    struct hmm *s = NEW(struct hmm);
    s->par = par;
    struct sp_state *state = sp_state_new(&hmm_state, s);
    *out = sp_made_value(&made_hmm, state);
    sp_state_unref(state);
    return GPM_OK;
}

const struct sp_class sp_makers_hmm_rows[] = {
    {.name = "make_lazy_hmm",
     .sig = "(p0: numbers, T: any, O: any) -> proc",
     .doc = "hidden Markov chain: p0 starts, columns of T move, columns of O emit; h(time) is a "
            "symbol",
     .example = "assess(1, make_lazy_hmm([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]]), 3) => 0",
     .flags = SP_MAKER,
     .simulate = make_hmm,
     .aaa = &hmm_aaa},
};
const size_t sp_makers_hmm_count = COUNT_OF(sp_makers_hmm_rows);
