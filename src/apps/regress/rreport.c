/* SPDX-License-Identifier: Apache-2.0
 * What a regression found, as text, JSON and CSV. */
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/plot/scene.h"
#include "apps/regress/regress.h"
#include <math.h>
#include <string.h>

enum { MOST_ODD = 8 }; /* rows named */

/* ---- words ---- */

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

static int percent(double share) {
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
                   percent(r->effect[j].total.mid), regress_shape(r, j));
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
                   percent(t->share.mid), percent(t->share.lo), percent(t->share.hi));
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
                   percent(sum));
    if (sum > 1.2)
        buf_printf(out,
                   "The shares add up to %d%%: what inputs do together counts for each of them.",
                   percent(sum));
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
static void put_value(const struct regress *r, double y, struct buf *out) {
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
    put_value(r, r->high, out);
}

static void words_of_chance(const struct regress *r, struct buf *out) {
    const struct rscore *own = &r->check.score[RSCORE_OWN], *lines = &r->check.score[RSCORE_LINES],
                        *none = &r->check.score[RSCORE_NONE];
    struct buf high = BUF_INIT, low = BUF_INIT;
    put_value(r, r->high, &high);
    put_value(r, r->low, &low);
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
                   r->t.y_name, high.data, low.data, percent(own->auc), percent(own->right),
                   percent(none->right));
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

/* ---- text ---- */

static void put_inputs(const struct regress *r, struct buf *out) {
    for (int j = 0; j < r->t.n_inputs; j++) {
        const struct rinput *in = &r->t.input[j];
        buf_printf(out, "%s%s", j ? ", " : "", in->name);
        if (in->level) buf_printf(out, " (%d levels)", in->n_levels);
    }
}

static void put_head(const struct regress *r, struct buf *out) {
    buf_printf(out, "%s: %zu rows; outcome %s; %d input%s: ", r->t.file, r->t.n, r->t.y_name,
               r->t.n_inputs, r->t.n_inputs == 1 ? "" : "s");
    put_inputs(r, out);
    buf_puts(out, "\n");
    for (const char *at = r->t.notes.data; *at; at += strcspn(at, "\n") + 1)
        buf_printf(out, "  note: %.*s\n", (int)strcspn(at, "\n"), at);
    if (r->n + r->wild < r->t.n)
        buf_printf(out, "  note: the model is fitted to %zu rows drawn at random (--max-rows)%s\n",
                   r->n + r->wild, r->check.apart ? "; others test it" : "");
}

static void put_scores(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    const char *names[RSCORES] = {"this model", r->model.family->lines, r->model.family->none};
    const double r2[RSCORES] = {k->r2, k->r2_linear, 0};
    buf_printf(out, ")\n%-22s %10s %8s %8s %8s\n", "", "log score", "AUC", "right", "R2");
    for (int i = 0; i < RSCORES; i++)
        buf_printf(out, "  %-20s %10.4f %8.3f %7d%% %8.3f\n", names[i], k->score[i].log,
                   k->score[i].auc, percent(k->score[i].right), r2[i]);
    buf_puts(out, "(log score: mean logarithm of the chance of what happened; AUC: how often a row "
                  "with the value\nhas the larger chance of two; right: guesses of the more "
                  "probable value; R2: of the chances)\n");
}

static void put_check(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    buf_printf(out, "\nHow well it predicts (%zu rows%s", k->apart ? k->n : r->n,
               k->apart ? " left aside" : ", each left out once");
    if (r->wild) buf_printf(out, "; without the %zu set aside", r->wild);
    if (r->family == RFAMILY_CHANCE) {
        put_scores(r, out);
        return;
    }
    const double rmse[RSCORES] = {k->rmse, k->rmse_linear, k->rmse_mean};
    const double r2[RSCORES] = {k->r2, k->r2_linear, 0};
    const char *names[RSCORES] = {"this model", r->model.family->lines, r->model.family->none};
    bool hidden = regress_hidden(r);
    buf_printf(out, ")\n%-22s %10s %8s%s\n", "", "RMSE", "R2", hidden ? "  log score" : "");
    for (int i = 0; i < RSCORES; i++) {
        buf_printf(out, "  %-20s %10s %8.3f", names[i], FIGURE(4, rmse[i]), r2[i]);
        if (hidden) buf_printf(out, " %10.4f", k->score[i].log);
        if (!i)
            buf_printf(out, "   %g%% intervals hold %.1f%%%s", 100 * r->o.level, 100 * k->coverage,
                       r->wild && !k->apart ? " of all" : "");
        buf_putc(out, '\n');
    }
}

static size_t name_width(const struct regress *r) {
    size_t w = 8;
    for (int j = 0; j < r->t.n_inputs; j++) {
        size_t n = plot_text_length(r->t.input[j].name);
        w = n > w && n <= 24 ? n : w;
    }
    return w;
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

static void put_change(const struct regress *r, int j, struct buf *out) {
    const struct reffect *f = &r->effect[j];
    regress_between(r, j, " -> ", out);
    buf_puts(out, ": ");
    buf_printf(out, "%s%s [%s, %s]", f->change.mid < 0 ? "" : "+", FIGURE(3, f->change.mid),
               FIGURE(3, f->change.lo), FIGURE(3, f->change.hi));
}

static int change_width(const struct regress *r) {
    size_t w = strlen("change of the outcome");
    for (int j = 0; j < r->t.n_inputs; j++) {
        struct buf change = BUF_INIT;
        put_change(r, j, &change);
        size_t n = plot_text_length(change.data);
        w = n > w ? n : w;
        buf_release(&change);
    }
    return (int)w;
}

/* Words in lines of at most 96 characters. */
static void put_wrapped(const char *text, struct buf *out) {
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column && column + 1 + n > 96) {
            buf_putc(out, '\n');
            column = 0;
        } else if (column) {
            buf_putc(out, ' ');
            column++;
        }
        buf_add(out, text, n);
        column += n;
        text += n;
        while (*text == ' ') text++;
    }
    buf_putc(out, '\n');
}

/* The width in bytes that gives a text so many characters. */
static int in_bytes(const char *text, int width) {
    return width + (int)(strlen(text) - plot_text_length(text));
}

static void put_effects(const struct regress *r, struct buf *out) {
    int w = (int)name_width(r), wide = change_width(r);
    buf_printf(out, "\nWhat matters\n  %-*s  %-16s  %-*s  %s\n", w, "input", "share", wide,
               r->family == RFAMILY_CHANCE ? "change of the chance" : "change of the outcome",
               "how");
    for (int i = 0; i < r->t.n_inputs; i++) {
        int j = r->order[i];
        const struct reffect *f = &r->effect[j];
        struct buf share = BUF_INIT, change = BUF_INIT;
        buf_printf(&share, "%d%% [%d, %d]", percent(f->total.mid), percent(f->total.lo),
                   percent(f->total.hi));
        put_change(r, j, &change);
        buf_printf(out, "  %-*s  %-16s  %-*s  %s\n", in_bytes(r->t.input[j].name, w),
                   r->t.input[j].name, share.data, in_bytes(change.data, wide), change.data,
                   regress_shape(r, j));
        buf_release(&share);
        buf_release(&change);
    }
    buf_printf(out,
               "(share: of the function's variation, interactions included; change: between the "
               "values that\n10%% and 90%% of the rows lie below; in brackets %g%% intervals)\n",
               100 * r->o.level);
    struct buf why = BUF_INIT;
    regress_shares(r, &why);
    if (why.len) put_wrapped(why.data, out);
    buf_release(&why);
}

static void put_odd_chance(const struct regress *r, size_t row, double chance, struct buf *out) {
    struct buf value = BUF_INIT;
    put_value(r, r->t.y[row], &value);
    buf_printf(out, "  line %zu: %s = %s, which had a chance of %.2g%%\n", r->t.line[row],
               r->t.y_name, value.data, 100 * (r->t.y[row] == r->high ? chance : 1 - chance));
    buf_release(&value);
}

static void put_odd(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    if (!k->n_odd) return;
    buf_puts(out, "\nRows far from what the others say\n");
    for (size_t i = 0; i < k->n_odd && i < MOST_ODD; i++) {
        size_t at = k->odd[i], row = r->row[at + k->from];
        if (r->family == RFAMILY_CHANCE)
            put_odd_chance(r, row, k->mean[at], out);
        else
            buf_printf(out,
                       "  line %zu: %s = %s, expected %s [%s, %s], %.1f standard deviations off\n",
                       r->t.line[row], r->t.y_name, FIGURE(5, r->t.y[row]), FIGURE(4, k->mean[at]),
                       FIGURE(4, k->lo[at]), FIGURE(4, k->hi[at]),
                       fabs(r->t.y[row] - k->mean[at]) / k->sd[at]);
    }
    if (k->n_odd > MOST_ODD) buf_printf(out, "  and %zu more\n", k->n_odd - MOST_ODD);
    struct buf aside = BUF_INIT;
    regress_aside(r, &aside);
    if (aside.len) put_wrapped(aside.data, out);
    buf_release(&aside);
}

void regress_text(const struct regress *r, struct buf *out) {
    struct buf words = BUF_INIT;
    put_head(r, out);
    if (!rmodel_settled(&r->model))
        buf_puts(out, "  note: the result is NOT SETTLED, see the last paragraph\n");
    put_check(r, out);
    put_effects(r, out);
    regress_rest(r, &words);
    if (words.len) buf_printf(out, "\n%s\n", words.data);
    buf_reset(&words);
    put_odd(r, out);
    buf_putc(out, '\n');
    regress_words(r, &words);
    put_wrapped(words.data, out);
    buf_reset(&words);
    buf_puts(&words, "Method: ");
    regress_method(r, &words);
    buf_putc(&words, '.');
    put_wrapped(words.data, out);
    buf_release(&words);
}

/* ---- predictions ---- */

void regress_predictions_csv(const struct regress *r, const struct rnew *at,
                             const struct rprediction *p, struct buf *out) {
    for (int j = 0; j < r->t.n_inputs; j++) {
        csv_put(out, r->t.input[j].name);
        buf_putc(out, ',');
    }
    buf_puts(out, "mean,median,sd,lower,upper,new_sd,new_lower,new_upper,outside\n");
    for (size_t i = 0; i < at->m; i++) {
        const double v[] = {p[i].mean, p[i].median, p[i].sd,     p[i].lo,
                            p[i].hi,   p[i].new_sd, p[i].new_lo, p[i].new_hi};
        const double *row = at->x + i * (size_t)r->t.d;
        struct buf cell = BUF_INIT;
        for (int j = 0; j < r->t.n_inputs; j++) {
            buf_reset(&cell);
            rtable_value(&r->t, j, row, &cell);
            csv_put(out, cell.data);
            buf_putc(out, ',');
        }
        for (size_t k = 0; k < COUNT_OF(v); k++) {
            if (isfinite(v[k])) buf_printf(out, "%.7g", v[k]);
            buf_putc(out, ',');
        }
        buf_reset(&cell);
        rtable_outside(&r->t, row, &cell);
        csv_put(out, cell.data);
        buf_putc(out, '\n');
        buf_release(&cell);
    }
}

void regress_predictions_text(const struct regress *r, const struct rnew *at,
                              const struct rprediction *p, struct buf *out) {
    enum { MOST = 40 };
    struct buf what = BUF_INIT;
    regress_target(r, &what);
    buf_printf(out, "\nPredictions of %s (%g%% intervals)\n  %10s %10s %-24s %s\n", what.data,
               100 * r->o.level, r->family == RFAMILY_CHANCE ? "chance" : "median", "sd",
               r->family == RFAMILY_CHANCE ? "  of the chance" : "  of the function",
               "  of a new measurement");
    buf_release(&what);
    for (size_t i = 0; i < at->m && i < MOST; i++) {
        const double *row = at->x + i * (size_t)r->t.d;
        struct buf f = BUF_INIT, n = BUF_INIT, far = BUF_INIT;
        buf_printf(&f, "[%s, %s]", FIGURE(4, p[i].lo), FIGURE(4, p[i].hi));
        buf_printf(&n, "[%s, %s]", FIGURE(4, p[i].new_lo), FIGURE(4, p[i].new_hi));
        if (isfinite(p[i].mean))
            buf_printf(out, "  %10s %10s   %-22s   %-22s  ",
                       FIGURE(5, r->family == RFAMILY_CHANCE ? p[i].mean : p[i].median),
                       FIGURE(3, p[i].sd), f.data, n.data);
        else if (at->unseen.at[i])
            buf_puts(out, "  no prediction: "), buf_line(out, at->unseen.at[i]);
        else
            buf_printf(out, "  a value is missing: no prediction  ");
        for (int j = 0; j < r->t.n_inputs; j++) {
            buf_printf(out, " %s=", r->t.input[j].name);
            rtable_value(&r->t, j, row, out);
        }
        if (rtable_outside(&r->t, row, &far) && !at->unseen.at[i])
            buf_printf(out, "   outside of the data: %s", far.data);
        buf_putc(out, '\n');
        buf_release(&f);
        buf_release(&n);
        buf_release(&far);
    }
    if (at->m > MOST) buf_printf(out, "  and %zu more (--out FILE.csv has all)\n", at->m - MOST);
}

/* ---- JSON ---- */

static void json_interval(struct buf *out, const char *name, struct rinterval v) {
    json_numbers(out, name, 3, (const double[]){v.mid, v.lo, v.hi});
}

/* Dates as the file writes them, beside the years since the first that are computed with. */
static void json_dates(const struct rinput *in, const struct reffect *f, struct buf *out) {
    json_key(out, "dates");
    for (size_t i = 0; i < f->m; i++) {
        struct buf date = BUF_INIT;
        rinput_date(in, f->at[i], &date);
        buf_puts(out, i ? ", " : "[");
        buf_json_string(out, date.data, date.len);
        buf_release(&date);
    }
    buf_puts(out, "]");
}

static void json_effect(const struct regress *r, int j, struct buf *out) {
    const struct reffect *f = &r->effect[j];
    const struct rinput *in = &r->t.input[j];
    double *v = NEW_ARRAY(double, 3 * f->m + 1);
    for (size_t i = 0; i < f->m; i++)
        v[i] = f->f[i].mid, v[f->m + i] = f->f[i].lo, v[2 * f->m + i] = f->f[i].hi;
    buf_puts(out, "    {");
    JSON(out, FIELD("name", (const char *)in->name), FIELD("shape", regress_shape(r, j)));
    json_interval(out, "share", f->total);
    json_interval(out, "share_alone", f->alone);
    json_interval(out, "change", f->change);
    json_interval(out, "bend", f->bend);
    if (in->level) {
        JSON(out, FIELD("from", (const char *)in->level[(int)f->from]),
             FIELD("to", (const char *)in->level[(int)f->to]));
        json_key(out, "levels");
        for (int l = 0; l < in->n_levels; l++) {
            buf_puts(out, l ? ", " : "[");
            buf_json_string(out, in->level[l], strlen(in->level[l]));
        }
        buf_puts(out, "]");
    } else {
        if (in->dated) json_dates(in, f, out);
        JSON(out, FIELD("from", f->from), FIELD("to", f->to));
        json_numbers(out, "at", f->m, f->at);
    }
    json_numbers(out, "median", f->m, v);
    json_numbers(out, "lower", f->m, v + f->m);
    json_numbers(out, "upper", f->m, v + 2 * f->m);
    buf_puts(out, "}");
    mem_free(v);
}

static void json_together(const struct regress *r, struct buf *out) {
    json_key(out, "interactions");
    buf_puts(out, "[");
    for (int k = 0; k < r->n_together; k++) {
        const struct rtogether *t = &r->together[k];
        buf_puts(out, k ? ", {" : "{");
        JSON(out, FIELD("a", (const char *)r->t.input[t->a].name),
             FIELD("b", (const char *)r->t.input[t->b].name));
        json_interval(out, "share", t->share);
        buf_puts(out, "}");
    }
    buf_puts(out, "]");
}

static void json_parameters(const struct regress *r, struct buf *out) {
    const struct rmodel *m = &r->model;
    double *v = NEW_ARRAY(double, m->kept + 1);
    json_key(out, "parameters");
    buf_puts(out, "{");
    for (int i = 0; i < m->d; i++) {
        struct buf name = BUF_INIT;
        rmodel_name(m, i, &name);
        for (size_t k = 0; k < m->kept; k++)
            v[k] = rmodel_value(m, i, m->z[k * (size_t)m->d + (size_t)i]);
        json_interval(out, name.data, rinterval_of(v, m->kept, r->o.level));
        buf_release(&name);
    }
    buf_puts(out, "}");
    mem_free(v);
}

static void json_odd(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    json_key(out, "outliers");
    buf_puts(out, "[");
    for (size_t i = 0; i < k->n_odd; i++) {
        size_t at = k->odd[i], row = r->row[at + k->from];
        buf_puts(out, i ? ", {" : "{");
        JSON(out, FIELD("line", r->t.line[row]), FIELD("value", r->t.y[row]),
             FIELD("expected", k->mean[at]), FIELD("sd", k->sd[at]),
             FIELD("set_aside", (bool)(!k->apart && at >= r->n)));
        buf_puts(out, "}");
    }
    buf_puts(out, "]");
}

static void json_predictions(const struct regress *r, const struct rnew *at,
                             const struct rprediction *p, struct buf *out) {
    json_key(out, "predictions");
    buf_puts(out, "[");
    for (size_t i = 0; i < at->m; i++) {
        const double *row = at->x + i * (size_t)r->t.d;
        struct buf far = BUF_INIT;
        buf_puts(out, i ? ",\n    {\"at\": {" : "\n    {\"at\": {");
        for (int j = 0; j < r->t.n_inputs; j++) {
            struct buf cell = BUF_INIT;
            rtable_value(&r->t, j, row, &cell);
            if (r->t.input[j].level || r->t.input[j].dated)
                JSON(out, FIELD(r->t.input[j].name, (const char *)cell.data));
            else
                JSON(out, FIELD(r->t.input[j].name, row[r->t.input[j].first]));
            buf_release(&cell);
        }
        rtable_outside(&r->t, row, &far);
        buf_putc(out, '}');
        JSON(out, FIELD("mean", p[i].mean), FIELD("median", p[i].median), FIELD("sd", p[i].sd),
             FIELD("lower", p[i].lo), FIELD("upper", p[i].hi), FIELD("new_sd", p[i].new_sd),
             FIELD("new_lower", p[i].new_lo), FIELD("new_upper", p[i].new_hi),
             FIELD("outside", (const char *)far.data));
        if (at->unseen.at[i]) JSON(out, FIELD("why", (const char *)at->unseen.at[i]));
        buf_puts(out, "}");
        buf_release(&far);
    }
    buf_puts(out, "]");
}

static void json_scores(const struct regress *r, struct buf *out) {
    static const char *const names[RSCORES] = {"scores", "scores_linear", "scores_none"};
    for (int i = 0; i < RSCORES; i++) {
        const struct rscore *s = &r->check.score[i];
        json_key(out, names[i]);
        buf_putc(out, '{');
        JSON(out, FIELD("log_score", s->log));
        if (r->family == RFAMILY_CHANCE) JSON(out, FIELD("auc", s->auc), FIELD("right", s->right));
        buf_putc(out, '}');
    }
}

void regress_json(const struct regress *r, const struct rnew *at, const struct rprediction *p,
                  struct buf *out) {
    const struct rcheck *k = &r->check;
    struct buf words = BUF_INIT, kernel = BUF_INIT, method = BUF_INIT;
    regress_words(r, &words);
    regress_method(r, &method);
    kern_print(r->model.k, &kernel);
    buf_puts(out, "{\n  ");
    JSON(out, FIELD("file", (const char *)r->t.file), FIELD("outcome", (const char *)r->t.y_name),
         FIELD("family", r->model.family->name), FIELD("rows", r->t.n),
         FIELD("rows_read", r->t.read), FIELD("rows_of_the_model", r->n),
         FIELD("level", r->o.level), FIELD("settled", rmodel_settled(&r->model)),
         FIELD("summary", (const char *)words.data), FIELD("notes", (const char *)r->t.notes.data));
    buf_puts(out, ",\n  \"check\": {");
    const char *how = k->apart ? "rows left aside" : "leave one out";
    JSON(out, FIELD("how", how), FIELD("rows", k->n), FIELD("rmse", k->rmse), FIELD("r2", k->r2),
         FIELD("coverage", k->coverage), FIELD("rmse_linear", k->rmse_linear),
         FIELD("r2_linear", k->r2_linear), FIELD("rmse_mean", k->rmse_mean));
    if (regress_hidden(r))
        json_scores(r, out);
    else
        JSON(out, FIELD("log_score", k->score[RSCORE_OWN].log));
    buf_puts(out, "},\n  \"inputs\": [\n");
    for (int i = 0; i < r->t.n_inputs; i++) {
        if (i) buf_puts(out, ",\n");
        json_effect(r, r->order[i], out);
    }
    buf_puts(out, "],\n ");
    json_together(r, out);
    if (!regress_hidden(r)) json_interval(out, "noise", r->noise);
    if (r->family == RFAMILY_CHANCE) JSON(out, FIELD("chance_of", r->high));
    JSON(out, FIELD("rows_set_aside", r->wild), FIELD("outlier_share", r->wild_share));
    json_odd(r, out);
    buf_puts(out, ",\n  \"model\": {");
    JSON(out, FIELD("kernel", (const char *)kernel.data),
         FIELD("method", (const char *)method.data), FIELD("draws", r->model.kept),
         FIELD("log_evidence", r->model.is.logz), FIELD("log_evidence_error", r->model.is.se));
    json_parameters(r, out);
    buf_puts(out, "}");
    if (at->m) {
        buf_puts(out, ",\n ");
        json_predictions(r, at, p, out);
    }
    buf_puts(out, "\n}\n");
    buf_release(&words);
    buf_release(&kernel);
    buf_release(&method);
}
