/* SPDX-License-Identifier: Apache-2.0
 *
 * make_lazy_hmm(p0, T, O): a hidden Markov chain with k states and finitely many symbols. The made
 * procedure h(i) is an emission at time i = 0, 1, ...: the state at 0 has distribution p0, column x
 * of T is the distribution of the next state after x, column x of O that of the symbol (a number
 * from 0) emitted in x. Several emissions at one time are independent given the state.
 *
 * The hidden states are integrated out by the forward-backward recursions over the recorded
 * emissions; times without any only multiply by T. Expected: k and horizons up to some hundreds.
 *
 * par: k, m, then p0, T and O (m x k) column by column; stat: a table (conj_tally) of emissions by
 * time and symbol.
 */
#include "language/rows/makers/conj.h"
#include "base/mem.h"
#include "numeric/dist/dist.h"
#include <math.h>
#include <string.h>

enum { TIME_MAX = 1000000 };

struct emission {
    double time, symbol, count;
};
struct hmm {        /* a view of the state; all borrowed */
    size_t k, m, n; /* states, symbols, emissions */
    const double *p0, *T, *O;
    const struct emission *data; /* by (time, symbol) */
};

static struct hmm hmm_of(const struct conj *s) {
    struct hmm h = {.k = (size_t)s->par[0], .m = (size_t)s->par[1], .n = s->n_stat / 3};
    h.p0 = s->par + 2;
    h.T = h.p0 + h.k;
    h.O = h.T + h.k * h.k;
    h.data = (const struct emission *)(s->stat + 1);
    return h;
}

/* Array of [time, symbol, count]. */
static value hmm_stats(const struct conj *s) {
    struct hmm h = hmm_of(s);
    value out = value_array_new(h.n);
    for (size_t i = 0; i < h.n; i++) {
        const struct emission *e = &h.data[i];
        value row[] = {value_num(e->time), value_num(e->symbol), value_num(e->count)};
        out.u.array->at[i] = value_array(row, 3);
    }
    return out;
}

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

static enum gpm_status hmm_read(struct sp_call *c, struct conj *s) {
    double *p0 = NULL, *T = NULL, *O = NULL;
    size_t rows, cols, states, k, m;
    enum gpm_status st = sp_numbers_arg(c, 0, "p0", &p0, &k);
    if (st == GPM_OK) st = sp_matrix_arg(c, 1, "T", &T, &rows, &cols);
    if (st == GPM_OK && (rows != k || cols != k))
        st = sp_error(c, DIAG_SHAPE, "%s: p0 has %zu states but T is %zu x %zu", c->cls->name, k,
                      rows, cols);
    if (st == GPM_OK) st = sp_matrix_arg(c, 2, "O", &O, &m, &states);
    if (st == GPM_OK && states != k)
        st = sp_error(c, DIAG_SHAPE, "%s: p0 has %zu states but O has %zu columns", c->cls->name, k,
                      states);
    if (st == GPM_OK && !is_distribution(p0, k))
        st = sp_bad_arg(c, 0, "p0", "nonnegative with sum 1");
    const char *bad = st != GPM_OK                          ? NULL
                      : !columns_are_distributions(T, k, k) ? "T"
                      : !columns_are_distributions(O, m, k) ? "O"
                                                            : NULL;
    if (bad)
        st = sp_error(c, DIAG_DOMAIN, "%s: a column of %s is no probability distribution",
                      c->cls->name, bad);
    if (st == GPM_OK) {
        conj_reserve(s, 2 + k + k * k + m * k, 1, 0);
        s->par[0] = (double)k;
        s->par[1] = (double)m;
        memcpy(s->par + 2, p0, k * sizeof(double));
        memcpy(s->par + 2 + k, T, k * k * sizeof(double));
        memcpy(s->par + 2 + k + k * k, O, m * k * sizeof(double));
    }
    mem_free(p0);
    mem_free(T);
    mem_free(O);
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
static void step(const struct hmm *s, bool transposed, double *a, double *scratch) {
    size_t k = s->k;
    memset(scratch, 0, k * sizeof *scratch);
    for (size_t x = 0; x < k; x++)
        for (size_t y = 0; y < k; y++) {
            if (transposed)
                scratch[x] += s->T[y + x * k] * a[y];
            else
                scratch[y] += s->T[y + x * k] * a[x];
        }
    memcpy(a, scratch, k * sizeof *a);
}

static void emit(const struct hmm *s, const struct emission *e, double *a) {
    for (size_t x = 0; x < s->k; x++) {
        double o = e->symbol < (double)s->m ? s->O[(size_t)e->symbol + x * s->m] : 0;
        a[x] *= e->count == 1 ? o : pow(o, e->count);
    }
}

/* Forward to `until`, taking in the emissions up to then: *a ~ p(state, data <= until). */
static double forward(const struct hmm *s, double until, double *a, double *scratch) {
    double lp = 0;
    size_t next = 0;
    memcpy(a, s->p0, s->k * sizeof *a);
    for (double t = 0;; t++) {
        for (; next < s->n && s->data[next].time == t; next++) emit(s, &s->data[next], a);
        lp += rescale(a, s->k);
        if (t == until || lp == -INFINITY) return lp;
        step(s, false, a, scratch);
    }
}

/* Backward to `until`: *b ~ p(data after until | state at until), scaled. */
static void backward(const struct hmm *s, double until, double *b, double *scratch) {
    size_t left = s->n;
    for (size_t x = 0; x < s->k; x++) b[x] = 1;
    if (!left) return;
    for (double t = s->data[left - 1].time; t > until; t--) {
        for (; left && s->data[left - 1].time == t; left--) emit(s, &s->data[left - 1], b);
        rescale(b, s->k);
        step(s, true, b, scratch);
    }
}

static double hmm_joint(const struct conj *of) {
    struct hmm s = hmm_of(of);
    if (!s.n) return 0;
    double *a = NEW_ARRAY(double, 2 * s.k + 1);
    double lp = forward(&s, s.data[s.n - 1].time, a, a + s.k);
    mem_free(a);
    return lp;
}

/* ---- the made procedure */
static enum gpm_status check_time(struct sp_call *c) {
    return sp_num(c, 0) <= TIME_MAX ? GPM_OK : sp_bad_arg(c, 0, "time", "at most a million");
}

/* w[o] = p(symbol o at t | data), up to a factor; *m symbols */
static enum gpm_status predictive(struct sp_call *c, double **w, size_t *m) {
    struct hmm s = hmm_of(conj_of(c));
    size_t k = s.k;
    enum gpm_status st = check_time(c);
    if (st != GPM_OK) return st;
    double *a = NEW_ARRAY(double, 3 * k + 1), *b = a + k;
    forward(&s, sp_num(c, 0), a, a + 2 * k);
    backward(&s, sp_num(c, 0), b, a + 2 * k);
    for (size_t x = 0; x < k; x++) a[x] *= b[x];
    rescale(a, k);
    *m = s.m;
    *w = mem_zalloc((s.m + 1) * sizeof(double));
    for (size_t x = 0; x < k; x++)
        for (size_t o = 0; o < s.m; o++) (*w)[o] += s.O[o + x * s.m] * a[x];
    mem_free(a);
    return GPM_OK;
}

static enum gpm_status hmm_draw(struct sp_call *c, value *out) {
    double *w;
    size_t m;
    enum gpm_status st = predictive(c, &w, &m);
    if (st != GPM_OK) return st;
    *out = value_num((double)draw_index(c->rng, w, m));
    mem_free(w);
    return GPM_OK;
}

static bool is_symbol(value v, double *x) {
    return value_number(v, x) && *x >= 0 && *x < 1e9 && *x == floor(*x);
}

static enum gpm_status hmm_density(struct sp_call *c, value v, double *out) {
    double *w, sum = 0, o;
    size_t m;
    enum gpm_status st = predictive(c, &w, &m);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < m; i++) sum += w[i];
    *out = is_symbol(v, &o) && o < (double)m ? log(w[(size_t)o] / sum) : -INFINITY;
    if (isnan(*out)) *out = -INFINITY; /* the data are impossible already */
    mem_free(w);
    return GPM_OK;
}

static enum gpm_status hmm_count(struct sp_call *c, value v, double by) {
    double key[2] = {sp_num(c, 0)};
    enum gpm_status st = check_time(c);
    if (st != GPM_OK) return st;
    if (!is_symbol(v, &key[1]))
        conj_of(c)->impossible += by;
    else if (!conj_tally(conj_of(c), key, 2, by))
        return sp_bad_value(c, v, "a recorded emission");
    return GPM_OK;
}

static enum gpm_status hmm_enumerate(struct sp_call *c, value **vals, size_t *n) {
    double *w;
    size_t m;
    enum gpm_status st = predictive(c, &w, &m);
    if (st != GPM_OK) return st;
    *vals = NEW_ARRAY(value, m + 1);
    *n = 0;
    for (size_t o = 0; o < m; o++)
        if (w[o] > 0) (*vals)[(*n)++] = value_num((double)o);
    mem_free(w);
    return GPM_OK;
}

static const struct conj_class hmm = {
    .made = {CONJ_MADE("lazy_hmm", "(time: count) -> count"), CONJ_DISCRETE, .simulate = hmm_draw,
             .log_density = hmm_density, .enumerate = hmm_enumerate},
    .read = hmm_read,
    .count = hmm_count,
    .stats = hmm_stats,
    .log_joint = hmm_joint,
    .any_shape = true};

const struct sp_class sp_makers_hmm_rows[] = {
    {.name = "make_lazy_hmm",
     .sig = "(p0: numbers, T: any, O: any) -> proc",
     .doc = "hidden Markov chain: p0 starts, columns of T move, columns of O emit; h(time) is a "
            "symbol",
     .example = "assess(1, make_lazy_hmm([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]]), 3) => 0",
     CONJ_PLAIN_MAKER(hmm, conj_aaa_plain)},
};
const size_t sp_makers_hmm_count = COUNT_OF(sp_makers_hmm_rows);
