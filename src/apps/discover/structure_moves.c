/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of structures: allowed product terms, the prior, the seeds of the search and the
 * neighbourhood. Without replacements the search stalls: SE + PER would never become LIN + PER.
 */
#include "base/mem.h"
#include "apps/discover/structure.h"
#include "gp/kernel/kern_class.h"
#include <math.h>
#include <string.h>

#define LIN    factors_of(KERN_ROLE_TREND)
#define SMOOTH factors_of(KERN_ROLE_SMOOTH)
#define PER    factors_of(KERN_ROLE_PERIODIC)
#define WALK   factors_of(KERN_ROLE_WALK)
#define BREAK  factors_of(KERN_ROLE_BREAK)
#define WN     factors_of(KERN_ROLE_WHITE)

/* The break that has two dates, which a scan of the data finds: it has none that are parameters. */
static unsigned pulse(void) {
    return FACTOR_BIT(factor_find("PULSE", 5));
}

/* A periodic term once for each period it may have. */
static void add_term(struct grammar *g, unsigned mask) {
    unsigned from = mask & (mask - 1) && !(mask & WN) ? g->products : g->factors;
    for (int at = 0; at <= (mask & PER ? g->seasons : 0); at++)
        if ((mask & from) == mask && g->n_terms < (int)COUNT_OF(g->terms))
            g->terms[g->n_terms++] = (struct term){(uint16_t)mask, GATE_NONE, (uint16_t)at, 0};
}

/* A pattern of a day that differs within the week. */
static void add_nested(struct grammar *g) {
    if (g->outer && g->n_terms < (int)COUNT_OF(g->terms))
        g->terms[g->n_terms++] =
            (struct term){(uint16_t)PER, GATE_NONE, (uint16_t)g->outer, (uint16_t)g->inner};
}

/* One term for each factor of `mask`, times `others`. */
static void add_terms(struct grammar *g, unsigned mask, unsigned others) {
    for (int f = factor_next(mask, -1); f < FACTOR_MAX; f = factor_next(mask, f))
        add_term(g, FACTOR_BIT(f) | others);
}

static unsigned factors_alone(void) {
    unsigned mask = 0;
    for (int f = 0; f < FACTOR_MAX; f++)
        if (factor_class(f) && factor_class(f)->motif.alone) mask |= FACTOR_BIT(f);
    return mask;
}

void grammar_init(struct grammar *g, uint16_t factors, bool change, bool logs) {
    memset(g, 0, sizeof *g);
    g->factors = factors ? factors : (uint16_t)factors_standard();
    g->products = factors ? factors : (uint16_t)(g->factors & ~factors_alone());
    if (change) g->factors |= (uint16_t)BREAK;
    g->change = change;
    g->changes = g->pulses = !factors || change;
    g->logs = logs;
    g->max_terms = 4;
    g->penalty = -2;
    grammar_calendar(g, 0, 1);
}

void grammar_cheap(struct grammar *g) {
    static const char *const names[] = {"MAT52", "MAT12", "WIENER", "IOU"};
    g->factors = g->products = (uint16_t)(LIN | PER | WN);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        g->factors |= (uint16_t)FACTOR_BIT(factor_find(names[i], strlen(names[i])));
    g->max_terms = 3;
    g->pulses = false;
    grammar_calendar(g, 0, 1);
}

#define PLACES 65534.0

uint16_t term_at(double t) {
    return (uint16_t)(1 + floor(fmin(fmax(t, 0), 1) * PLACES + 0.5));
}

double term_place(uint16_t at) {
    return (at - 1) / PLACES;
}

void grammar_calendar(struct grammar *g, int seasons, size_t places) {
    g->seasons = seasons;
    g->places = places;
    g->n_terms = 0;
    add_terms(g, LIN, 0);
    add_terms(g, SMOOTH, 0);
    add_terms(g, PER, 0);
    add_nested(g);
    add_terms(g, SMOOTH, PER);
    add_terms(g, PER, LIN);
    add_terms(g, SMOOTH, LIN);
    add_terms(g, SMOOTH, LIN | PER);
    add_terms(g, WALK, 0);
    add_terms(g, WN, LIN);
    add_terms(g, BREAK & ~pulse(), 0);
}

#define CALENDAR 0.7 /* share of recurring patterns whose period is one of the calendar's */

static double factors_cost(unsigned mask) {
    double cost = 0;
    for (int f = factor_next(mask, -1); f < FACTOR_MAX; f = factor_next(mask, f))
        cost += 1 + factor_class(f)->motif.cost;
    return cost;
}

/* exp(-2 per factor of all terms and what its row adds); a change costs two factors more, its
 * dates are integrated over; roots cost one: amounts and percentages are what people speak of.
 * Where there is a calendar its periods share the weight of all but the free ones. */
double grammar_log_prior(const struct grammar *g, const struct structure *s) {
    double cost = s->change != CHANGE_NONE ? 2 : 0, sum = 0;
    if (s->transform == TRANSFORM_POWER) cost++;
    for (int i = 0; i < s->n; i++) {
        cost += factors_cost(s->t[i].mask);
        if (s->t[i].mask & PER && g->seasons)
            sum += log(s->t[i].at ? CALENDAR / g->seasons : 1 - CALENDAR);
        if (s->t[i].mask & BREAK && s->t[i].at) sum -= log((double)g->places);
        if (s->t[i].to && s->t[i].mask & BREAK) sum -= log(0.5 * (double)(g->places - 1));
        if (s->t[i].to && s->t[i].mask & PER) cost += factors_cost(PER);
    }
    return g->penalty * cost + sum;
}

#define MAX_PATTERNS 3 /* that recur, in one structure */

/* Terms that may stand more than once: smooth functions of two time scales, and patterns of as many
 * free periods as there may be patterns: where the third had to be one that changes, that it does
 * would be certain and false. */
static int max_copies(struct term t) {
    if (t.at) return t.mask == PER && !t.to ? 2 : 1; /* a smooth pattern with sharp edges */
    if (t.mask == PER) return MAX_PATTERNS;
    return t.mask & SMOOTH && !(t.mask & LIN) ? 2 : 1;
}

static bool same_term(struct term a, struct term b) {
    return a.mask == b.mask && a.at == b.at && a.to == b.to;
}

static bool nested(const struct grammar *g, struct term t) {
    return t.at && t.at <= g->seasons && t.to <= g->seasons && t.at != t.to && t.gate == GATE_NONE;
}

/* Breaks that share a date are others in disguise: a pulse and a step where it ends are two steps.
 */
static bool dates_shared(struct term a, struct term b) {
    if (!(a.mask & BREAK) || !(b.mask & BREAK) || !(a.to || b.to)) return false;
    return a.at == b.at || a.at == b.to || (a.to && (a.to == b.at || a.to == b.to));
}

bool grammar_allows(const struct grammar *g, const struct structure *s) {
    if (s->n > g->max_terms || s->n > STRUCTURE_MAX_TERMS) return false;
    int per = 0;
    for (int i = 0; i < s->n; i++) {
        int copies = 0;
        for (int k = 0; k < s->n; k++) copies += same_term(s->t[k], s->t[i]);
        for (int k = 0; k < i; k++)
            if (dates_shared(s->t[k], s->t[i])) return false;
        if (copies > max_copies(s->t[i])) return false;
        if (s->t[i].mask & PER && s->t[i].at > g->seasons) return false;
        if (s->t[i].at && !(s->t[i].mask & (PER | BREAK))) return false;
        if (s->t[i].mask == PER ? s->t[i].to && !nested(g, s->t[i])
                                : (s->t[i].mask == pulse()) != (s->t[i].to > s->t[i].at))
            return false;
        if (s->t[i].mask == WN && s->t[i].gate == GATE_NONE) return false;
        if (s->t[i].mask & WN && g->steady) return false;
        if (s->t[i].gate != GATE_NONE && s->t[i].mask & BREAK) return false;
        per += (s->t[i].mask & PER) != 0;
    }
    if (s->transform != TRANSFORM_LOG && g->logs && g->only_logs) return false;
    if (s->transform == TRANSFORM_LOG && !g->logs) return false;
    return per <= MAX_PATTERNS && (s->transform != TRANSFORM_POWER || g->powers);
}

static bool gate_fits(unsigned gate, unsigned change) {
    if (gate == GATE_NONE) return true;
    return change == CHANGE_POINT
               ? gate == GATE_BEFORE || gate == GATE_AFTER
               : change == CHANGE_WINDOW && gate <= GATE_OUTSIDE && gate >= GATE_INSIDE;
}

static bool term_exists(const struct grammar *g, unsigned mask) {
    for (int k = 0; k < g->n_terms; k++)
        if (g->terms[k].mask == mask) return true;
    return false;
}

bool structure_sound(const struct structure *s, int seasons) {
    struct grammar all;
    struct structure c = *s;
    grammar_init(&all, (uint16_t)(FACTOR_BIT(FACTOR_MAX) - 1), true, true);
    all.max_terms = STRUCTURE_MAX_TERMS;
    all.powers = true;
    grammar_calendar(&all, seasons, 1);
    if (!grammar_allows(&all, s)) return false;
    for (int i = 0; i < s->n; i++)
        if ((s->t[i].mask != WN && s->t[i].mask != pulse() && !term_exists(&all, s->t[i].mask)) ||
            !gate_fits(s->t[i].gate, s->change))
            return false;
    structure_canonical(&c);
    return structure_equal(s, &c);
}

static void emit(const struct grammar *g, struct structure s, structure_fn each, void *ctx) {
    structure_canonical(&s);
    if (grammar_allows(g, &s)) each(ctx, &s);
}

static struct structure with_term(struct structure s, struct term t) {
    if (s.n < STRUCTURE_MAX_TERMS)
        s.t[s.n++] = t;
    else
        s.n = STRUCTURE_MAX_TERMS + 1; /* not allowed */
    return s;
}

static struct structure without_term(struct structure s, int i) {
    memmove(s.t + i, s.t + i + 1, sizeof s.t[0] * (size_t)(s.n - 1 - i));
    s.n--;
    return s;
}

void grammar_seeds(const struct grammar *g, int transform, structure_fn each, void *ctx) {
    struct structure empty;
    memset(&empty, 0, sizeof empty);
    empty.transform = (uint8_t)transform;
    emit(g, empty, each, ctx);
    for (int k = 0; k < g->n_terms; k++) emit(g, with_term(empty, g->terms[k]), each, ctx);
}

/* Replacing is worth a try between relatives: one factor more or less, or both trends, or both
 * recurring with the same period; or another period. */
static bool related(struct term x, struct term y) {
    unsigned a = x.mask, b = y.mask;
    if (a == b) return x.at != y.at || x.to != y.to;
    if (a & b & PER && x.at != y.at) return false;
    if (__builtin_popcount(a ^ b) == 1) return true;
    if ((a | b) & WN) return false;
    if (a != LIN && b != LIN && (a ^ b) & LIN) return false; /* amplitudes: one factor at a time */
    return (a & PER) == (b & PER);
}

/* Products with LIN are reached by multiplying a term that is there. */
static bool addable(unsigned mask) {
    return mask == LIN || mask == (LIN | WN) || !(mask & LIN);
}

static void emit_changes(const struct grammar *g, const struct structure *s, structure_fn each,
                         void *ctx) {
    if (s->change != CHANGE_NONE) { /* undo the gate of each term, or gate another one */
        struct structure all = *s;
        for (int i = all.n - 1; i >= 0; i--) {
            all.t[i].gate = GATE_NONE;
            if (all.t[i].mask == WN) all = without_term(all, i);
        }
        emit(g, all, each, ctx);
    }
    for (int i = 0; i < s->n; i++) {
        if (s->t[i].mask & BREAK) continue;
        static const unsigned gates[2][2] = {{GATE_BEFORE, GATE_AFTER},
                                             {GATE_INSIDE, GATE_OUTSIDE}};
        for (unsigned c = CHANGE_POINT; c <= CHANGE_WINDOW; c++) {
            if (s->change != CHANGE_NONE && s->change != c) continue;
            for (int k = 0; k < 2; k++) {
                struct structure v = *s;
                v.change = (uint8_t)c;
                v.t[i].gate = (uint16_t)gates[c - 1][k];
                emit(g, v, each, ctx);
            }
        }
    }
}

/* ---- changes that the data suggest ---- */
static bool extended(const struct grammar *g, struct structure s, struct structure *out) {
    structure_canonical(&s);
    *out = s;
    return s.n <= STRUCTURE_MAX_TERMS && grammar_allows(g, &s);
}

static struct term change_term(const char *word, uint16_t at) {
    return (struct term){(uint16_t)FACTOR_BIT(factor_find(word, strlen(word))), GATE_NONE, at, 0};
}

bool grammar_break(const struct grammar *g, const struct structure *s, double from, double to,
                   struct structure *out) {
    struct term t = change_term(to > 0 ? "PULSE" : "STEP", term_at(from));
    if (to > 0) t.to = term_at(to);
    return (g->pulses || !t.to) && extended(g, with_term(*s, t), out);
}

bool grammar_without_break(const struct structure *s, int i, struct structure *out) {
    *out = without_term(*s, i);
    out->t[out->n] = (struct term){0};
    return s->t[i].mask & BREAK;
}

bool grammar_steps(const struct grammar *g, const struct structure *s, int i,
                   struct structure *out) {
    struct structure v = without_term(*s, i);
    if (s->t[i].mask != pulse()) return false;
    v = with_term(v, change_term("STEP", s->t[i].at));
    return extended(g, with_term(v, change_term("STEP", s->t[i].to)), out);
}

bool grammar_bend(const struct grammar *g, const struct structure *s, struct structure *out) {
    return extended(g, with_term(*s, change_term("RAMP", 0)), out);
}

static unsigned change_of(enum gate gate) {
    return gate == GATE_BEFORE || gate == GATE_AFTER ? CHANGE_POINT : CHANGE_WINDOW;
}

bool grammar_gate(const struct grammar *g, const struct structure *s, int i, enum gate gate,
                  struct structure *out) {
    struct structure v = *s;
    if (s->change != CHANGE_NONE || s->t[i].mask & (BREAK | WN) || s->t[i].to) return false;
    v.change = (uint8_t)change_of(gate);
    v.t[i].gate = (uint16_t)gate;
    return extended(g, v, out);
}

bool grammar_wave(const struct grammar *g, const struct structure *s, int at, enum gate gate,
                  struct structure *out) {
    struct structure v = *s;
    if (s->change != CHANGE_NONE) return false;
    v.change = (uint8_t)change_of(gate);
    return extended(g, with_term(v, (struct term){(uint16_t)PER, (uint16_t)gate, (uint16_t)at, 0}),
                    out);
}

static bool moves(struct term t) {
    return t.mask & (SMOOTH | WALK) && !(t.mask & PER);
}

bool grammar_moves(const struct grammar *g, const struct structure *s, int i, enum gate gate,
                   struct structure *out) {
    struct term t = change_term("MAT12", 0);
    struct structure v = *s;
    bool any = false;
    for (int k = 0; k < s->n; k++) any |= moves(s->t[k]);
    if (s->change != CHANGE_NONE || g->steady || !any || !term_exists(g, t.mask)) return false;
    if (i < s->n && !moves(s->t[i])) return false;
    if (i < s->n) v = without_term(v, i);
    v.change = (uint8_t)change_of(gate);
    t.gate = (uint16_t)gate;
    return extended(g, with_term(v, t), out);
}

bool grammar_patterns(const struct grammar *g, const struct structure *s, int i, int n,
                      struct structure *out) {
    struct structure v = without_term(*s, i);
    for (int k = 0; k < n; k++)
        v = with_term(v, (struct term){(uint16_t)PER, GATE_NONE, k ? 0 : s->t[i].at, 0});
    return extended(g, v, out);
}

bool grammar_without_line(const struct structure *s, struct structure *out) {
    for (int i = 0; i < s->n; i++)
        if (s->t[i].mask == LIN && s->t[i].gate == GATE_NONE) {
            *out = without_term(*s, i);
            out->t[out->n] = (struct term){0};
            return true;
        }
    return false;
}

bool grammar_spread(const struct grammar *g, const struct structure *s, enum gate gate,
                    struct structure *out) {
    struct structure v = *s;
    if (s->change != CHANGE_NONE) return false;
    v.change = (uint8_t)change_of(gate);
    return extended(g, with_term(v, (struct term){(uint16_t)WN, (uint16_t)gate, 0, 0}), out);
}

void grammar_neighbours(const struct grammar *g, const struct structure *s, structure_fn each,
                        void *ctx) {
    for (int i = 0; i < s->n; i++) emit(g, without_term(*s, i), each, ctx);
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < g->n_terms; k++) {
            if (!related(g->terms[k], s->t[i])) continue;
            struct term t = {g->terms[k].mask, s->t[i].gate, g->terms[k].at, g->terms[k].to};
            emit(g, with_term(without_term(*s, i), t), each, ctx);
        }
    for (int k = 0; k < g->n_terms; k++)
        if (addable(g->terms[k].mask)) emit(g, with_term(*s, g->terms[k]), each, ctx);
    if (g->change) emit_changes(g, s, each, ctx);
    struct structure other = *s;
    for (other.transform = 0; other.transform < TRANSFORMS; other.transform++)
        if (other.transform != s->transform) emit(g, other, each, ctx);
}
