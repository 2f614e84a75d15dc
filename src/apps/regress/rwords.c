/* SPDX-License-Identifier: Apache-2.0
 * What a regression found, in sentences. */
#include "apps/regress/regress.h"
#include "base/number.h"
#include <math.h>

/* Which way it goes is known, and that it hardly matters. */
static bool little_effect(const struct reffect *f) {
    return f->shape == RSHAPE_NONE && (f->change.lo > 0 || f->change.hi < 0);
}

const char *regress_shape(const struct regress *r, int j) {
    const struct reffect *f = &r->effect[j];
    bool up = f->change.mid > 0;
    if (r->t.input[j].level && f->shape != RSHAPE_NONE && f->shape != RSHAPE_JOINT)
        return f->shape == RSHAPE_OPEN ? "not clear" : "differs by level";
    switch (f->shape) {
    case RSHAPE_OPEN: return "direction open";
    case RSHAPE_JOINT: return "only together with others";
    case RSHAPE_NOT_SIMPLE:
        return f->change.lo > 0   ? "rises on the whole"
               : f->change.hi < 0 ? "falls on the whole"
                                  : "no simple shape";
    case RSHAPE_LINE: return up ? "rises in a straight line" : "falls in a straight line";
    case RSHAPE_MONOTONE: return up ? "rises in a curve" : "falls in a curve";
    case RSHAPE_HILL: return "rises, then falls";
    case RSHAPE_VALLEY: return "falls, then rises";
    case RSHAPE_WAVY: return "goes up and down";
    default: return little_effect(f) ? "little effect" : "no visible effect";
    }
}

int percent_of(double share) {
    return (int)floor(100 * share + 0.5);
}

/* Of the outcome's variation, in percent; not 100 unless it is all. */
static const char *explained(double r2, char text[NUMBER_TEXT]) {
    bool nearly = r2 > 0.995 && r2 < 1;
    number_snprintf(text, NUMBER_TEXT, nearly ? "%.1f" : "%.0f",
                    fmin(100 * r2, nearly ? 99.9 : 100));
    return text;
}

static void regress_together(const struct regress *r, struct buf *out);

/* Inputs whose effect is clear, most important first; those that make no visible difference. */
static void name_inputs(const struct regress *r, struct buf *out) {
    enum { MOST = 3, MOST_NONE = 8 };
    int seen = 0, clear = 0, none = 0, little = 0, n = r->t.n_inputs;
    for (int j = 0; j < n; j++) {
        clear += r->effect[j].clear, none += r->effect[j].shape == RSHAPE_NONE;
        little += little_effect(&r->effect[j]);
    }
    bool told = clear && (r->check.beats_mean || r->check.r2 > 0.5);
    if (!told)
        buf_puts(out, none == n && !little ? "No input makes a visible difference"
                      : n == 1             ? "What the input does is not clear"
                                           : "What each input does on its own is not clear");
    for (int i = 0; i < n && seen < MOST && told; i++) {
        int j = r->order[i];
        if (!r->effect[j].clear) continue;
        const char *first = n > 1 ? "What matters most: " : "It depends on ";
        buf_printf(out, "%s%s (%d%% of the variation; %s)", seen ? "; " : first, r->t.input[j].name,
                   percent_of(r->effect[j].total.mid), regress_shape(r, j));
        seen++;
    }
    buf_puts(out, ".");
    if (told && r->n_together) {
        buf_putc(out, ' ');
        regress_together(r, out);
    }
    const char *between = little == none ? " Little effect: "
                          : little       ? " Little or no visible effect: "
                                         : " No visible effect: ";
    int named = 0;
    for (int i = 0; i < n && none < n; i++) {
        if (r->effect[r->order[i]].shape != RSHAPE_NONE || named++ >= MOST_NONE) continue;
        buf_printf(out, "%s%s", between, r->t.input[r->order[i]].name);
        between = ", ";
    }
    if (none < n && named > MOST_NONE) buf_printf(out, " and %d more", named - MOST_NONE);
    if (none && none < n && out->data[out->len - 1] != '.') buf_puts(out, ".");
}

/* Which inputs act together, a sentence; nothing where none are seen to. */
static void regress_together(const struct regress *r, struct buf *out) {
    enum { MOST = 3 };
    for (int k = 0; k < r->n_together && k < MOST; k++) {
        const struct rtogether *t = &r->together[k];
        buf_printf(out, "%s%s and %s (%d%% [%d, %d] of the variation)",
                   k ? "; " : "Act together: ", r->t.input[t->a].name, r->t.input[t->b].name,
                   percent_of(t->share.mid), percent_of(t->share.lo), percent_of(t->share.hi));
    }
    if (r->n_together > MOST) buf_printf(out, "; and %d more pairs", r->n_together - MOST);
    if (r->n_together) buf_putc(out, '.');
}

/* Why shares need not add up to all; nothing where they nearly do. */
void regress_shares(const struct regress *r, struct buf *out) {
    double sum = 0;
    for (int j = 0; j < r->t.n_inputs; j++) sum += r->effect[j].total.mid;
    if (sum < 0.8)
        buf_printf(out,
                   "The shares add up to %d%%: the rest belongs to inputs that go together, of "
                   "which one can stand for another.",
                   percent_of(sum));
    if (sum > 1.2)
        buf_printf(out,
                   "The shares add up to %d%%: what inputs do together counts for each of them.",
                   percent_of(sum));
}

void regress_aside(const struct regress *r, struct buf *out) {
    if (!r->wild) return;
    bool one = r->wild == 1;
    buf_printf(out,
               "%zu row%s out of line: errors of another kind are far more probable than noise. %s "
               "not part of the model, noise and errors are without %s. Intervals of new "
               "measurements take in that about %.1f%% of them are so, ten times as far out as "
               "the others. --noise normal keeps all.",
               r->wild, one ? " is" : "s are", one ? "It is" : "They are", one ? "it" : "them",
               100 * r->wild_share);
}

/* A value of the outcome: a number, or the word that the file has. */
void regress_value(const struct regress *r, double y, struct buf *out) {
    if (r->t.word[0])
        buf_puts(out, r->t.word[y > 0.5]);
    else
        buf_printf(out, "%g", y);
}

/* What the model predicts: the outcome, or the chance of one of its values. */
void regress_target(const struct regress *r, struct buf *out) {
    if (r->family != RFAMILY_CHANCE) {
        buf_puts(out, r->t.y_name);
        return;
    }
    buf_printf(out, "chance of %s = ", r->t.y_name);
    regress_value(r, r->high, out);
}

static void words_of_chance(const struct regress *r, struct buf *out) {
    const struct rscore *own = &r->check.score[RSCORE_OWN], *lines = &r->check.score[RSCORE_LINES],
                        *none = &r->check.score[RSCORE_NONE];
    struct buf high = BUF_INIT, low = BUF_INIT;
    regress_value(r, r->high, &high);
    regress_value(r, r->low, &low);
    if (!r->check.beats_mean)
        buf_printf(out,
                   "The inputs hardly tell which rows have %s = %s: the share alone is as good, as "
                   "far as can be told. ",
                   r->t.y_name, high.data);
    else
        buf_printf(out,
                   "Of a row with %s = %s and one with %s, neither of which it has seen, the model "
                   "gives the first the larger chance in %d%% of the cases; its guess is right in "
                   "%d%% of the rows, where that of the more frequent value is in %d%%",
                   r->t.y_name, high.data, low.data, percent_of(own->auc), percent_of(own->right),
                   percent_of(none->right));
    buf_release(&high);
    buf_release(&low);
    if (!r->check.beats_mean) return;
    bool curved = r->check.beats_lines && own->log > lines->log;
    buf_puts(out, curved ? ". Straight lines on the scale of log odds do worse: curves or "
                           "interactions matter. "
                         : ", and straight lines on the scale of log odds do as well. ");
}

static void words_of_check(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    if (r->family == RFAMILY_CHANCE) {
        words_of_chance(r, out);
        return;
    }
    bool hidden = regress_hidden(r);
    if (hidden ? !k->beats_mean : k->r2 < 0.02 || (!k->beats_mean && k->r2 < 0.5)) {
        buf_printf(out, "The inputs hardly help to predict %s: the mean is %s. ", r->t.y_name,
                   k->r2 < 0.02 ? "as good" : "as good, as far as can be told");
        return;
    }
    buf_printf(out,
               "The model explains %s%% of the variation of %s in rows that it has not seen "
               "(typical error "
               "%s, where the mean has %s",
               explained(k->r2, (char[NUMBER_TEXT]){0}), r->t.y_name, FIGURE(3, k->rmse),
               FIGURE(3, k->rmse_mean));
    double gain = 1 - k->rmse / k->rmse_linear;
    /* of few rows straight lines are not well known */
    bool curved = k->beats_lines && r->t.n >= 10 * (size_t)r->t.d;
    if (gain > 0.03 && !curved)
        buf_printf(out, " and straight lines have %s). ", FIGURE(3, k->rmse_linear));
    else if (gain > 0.03)
        buf_printf(out, " and straight lines have %s: curves or interactions matter). ",
                   FIGURE(3, k->rmse_linear));
    else
        buf_puts(out, "), and straight lines do as well. ");
}

/* What the chains do not agree on, and what may help. */
void regress_open(const struct regress *r, struct buf *out) {
    const struct rchains *c = &r->model.chains;
    buf_puts(out, "the chains end in different places, each of which explains the rows in another "
                  "way (log evidence");
    for (int i = 0; i < RCHAINS; i++) buf_printf(out, "%s %.1f", i ? "," : "", c->evidence[i]);
    buf_printf(out, "; R-hat %.2f, of ", c->rhat);
    rmodel_name(&r->model, c->worst, out);
    buf_puts(out, "). More rows, fewer inputs (--x), another --kernel or another --seed may settle "
                  "it");
}

void regress_words(const struct regress *r, struct buf *out) {
    if (!rmodel_settled(&r->model)) {
        buf_puts(out, "Not settled: ");
        regress_open(r, out);
        buf_puts(out, ". Shares, curves, intervals and predictions below are no answer. ");
    }
    words_of_check(r, out);
    name_inputs(r, out);
    if (regress_hidden(r) && r->family != RFAMILY_CHANCE) buf_putc(out, ' ');
    if (regress_hidden(r))
        regress_rest(r, out);
    else
        buf_printf(out, " What the inputs cannot explain has a standard deviation of %s.",
                   FIGURE(3, r->noise.mid));
    size_t odd = r->check.n_odd, wild = r->wild;
    if (odd)
        buf_printf(out, " %zu row%s far from what the others say", odd,
                   odd == 1 ? " lies" : "s lie");
    if (odd && wild == odd)
        buf_printf(out, " and %s set aside", wild == 1 ? "is" : "are");
    else if (odd && wild)
        buf_printf(out, ", of which %zu %s set aside", wild, wild == 1 ? "is" : "are");
    if (odd) buf_puts(out, ".");
}

void regress_rest(const struct regress *r, struct buf *out) {
    switch (r->family) {
    case RFAMILY_CHANCE: break;
    case RFAMILY_POISSON:
        buf_puts(out, "What the inputs leave open is what chance does to counts (Poisson).");
        break;
    case RFAMILY_NEGATIVE_BINOMIAL:
        buf_printf(out,
                   "Counts scatter more than by chance alone: around a mean m with variance m + "
                   "m^2 / %.3g (%.3g to %.3g).",
                   r->noise.mid, r->noise.lo, r->noise.hi);
        break;
    default:
        buf_printf(out, "Noise: standard deviation %s [%s, %s]", FIGURE(4, r->noise.mid),
                   FIGURE(4, r->noise.lo), FIGURE(4, r->noise.hi));
    }
}

void regress_method(const struct regress *r, struct buf *out) {
    const struct rmodel *m = &r->model;
    if (regress_hidden(r))
        buf_printf(out,
                   "Gaussian process for the logarithm of the %s on %zu rows, %s likelihood by "
                   "expectation propagation, %zu draws of its %d parameters ",
                   r->family == RFAMILY_CHANCE ? "odds" : "mean", r->n, m->family->name, m->kept,
                   m->d);
    else
        buf_printf(out, "exact Gaussian process on %zu rows, %zu draws of its %d parameters ", r->n,
                   m->kept, m->d);
    if (m->method == RMODEL_IMPORTANCE)
        buf_printf(out, "by importance sampling (%.0f effective draws of %zu)",
                   m->is.ess * (double)m->draws, m->draws);
    else if (m->method == RMODEL_CHAINS)
        buf_printf(out, "by %d chains of Hamiltonian Monte Carlo (R-hat %.2f%s)", RCHAINS,
                   m->chains.rhat,
                   m->chains.rhat >= RCHAINS_SETTLED
                       ? ": not all of them tell the same, intervals are rough"
                       : "");
    else
        buf_puts(
            out,
            "by Laplace's method: a normal approximation at the optimum, which is not checked, "
            "since the table is too large for chains");
}

/* A value of input j for readers: a number, or a date as the file writes it. */
static void regress_number(const struct regress *r, int j, double v, struct buf *out) {
    if (r->t.input[j].dated)
        rinput_date(&r->t.input[j], v, out);
    else
        buf_puts(out, FIGURE(4, v));
}

void regress_between(const struct regress *r, int j, const char *sign, struct buf *out) {
    const struct reffect *f = &r->effect[j];
    char **level = r->t.input[j].level;
    if (level) {
        buf_printf(out, "%s%s%s", level[(int)f->from], sign, level[(int)f->to]);
        return;
    }
    regress_number(r, j, f->from, out);
    buf_puts(out, sign);
    regress_number(r, j, f->to, out);
}
