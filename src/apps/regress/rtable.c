/* SPDX-License-Identifier: Apache-2.0
 * From the cells of a CSV file to a design: see rtable.h. */
#include "apps/regress/rtable.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/units.h"
#include "base/vec.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static void column_name(const struct csv *c, int col, struct buf *out) {
    if (c->header)
        buf_line(out, c->header[col]);
    else
        buf_printf(out, "c%d", col + 1);
}

static struct column_wish wish_of(const struct rtable_options *o) {
    return (struct column_wish){o->missing, o->date_format, o->decimal, false, true};
}

/* Numbers with a few other cells are a mistake in the file, not words. */
static bool nearly_numeric(const struct table_column *k) {
    return k->numbers < k->cells && 5 * k->numbers >= 4 * k->cells;
}

static bool is_plain(const struct number_style *s) {
    return s->decimal == '.' && !s->thousands && !*s->unit && !s->noted && !s->magnitudes &&
           !s->truth;
}

static enum gpm_status bad_cell(const struct csv *c, int col, const struct table_column *k,
                                struct buf *err) {
    struct buf name = BUF_INIT;
    column_name(c, col, &name);
    enum gpm_status st = GPM_E_FORMAT;
    if (k->style.open)
        buf_printf(err,
                   "%s: '%s' in column '%s' can be read in two ways; say --decimal point or "
                   "--decimal comma",
                   c->name, k->style.doubt, name.data);
    else if (!k->cells)
        buf_printf(err, "%s: column '%s' has no values", c->name, name.data);
    else if (!k->numbers)
        buf_printf(err,
                   "%s: '%s' holds %s ('%s'); an outcome is a number, or one of two words, each in "
                   "two rows or more",
                   c->name, name.data, k->kind == COLUMN_TIMES ? "dates" : "words",
                   csv_text(c, k->bad, col));
    else
        buf_printf(err, "%s, line %zu: '%s' in column '%s' is no number%s", c->name,
                   c->lines[k->bad], csv_text(c, k->bad, col), name.data,
                   strchr("<>", *csv_text(c, k->bad, col))
                       ? " but a bound, a limit of detection say: give a number for it, or leave "
                         "its row out by --missing with what it says"
                       : " (cells that stand for missing values: --missing CODE)");
    buf_release(&name);
    return st;
}

/* ---- columns ---- */

struct reading {
    struct csv csv;
    struct rtable *t;
    struct table_column *col;
    int y;
    struct buf *err;
};

/* What was done to numbers that a reader might wonder about. */
static void note_style(struct rtable *t, const char *name, const struct number_style *s) {
    if (s->noted)
        buf_printf(&t->notes, "marks behind %zu values of '%s' are ignored (%s)\n", s->noted, name,
                   s->notes);
    if (s->magnitudes)
        buf_printf(&t->notes, "K, M, B in '%s' are thousands, millions, billions\n", name);
}

/* Two words, each of them twice or more: 0 and 1. */
static bool two_words(struct reading *r) {
    struct rtable *t = r->t;
    const char *word[2] = {NULL, NULL};
    size_t count[2] = {0, 0};
    for (size_t row = 0; row < r->csv.n_rows; row++) {
        if (!r->col[r->y].cell[row]) continue;
        const char *cell = csv_text(&r->csv, row, r->y);
        int k = word[0] && strcmp(word[0], cell) != 0;
        if (k && word[1] && strcmp(word[1], cell) != 0) return false;
        word[k] = cell;
        count[k]++;
    }
    if (count[0] < 2 || count[1] < 2) return false;
    int first = strcmp(word[0], word[1]) > 0;
    t->word[0] = mem_strdup(word[first]);
    t->word[1] = mem_strdup(word[!first]);
    buf_printf(&t->notes, "of the outcome '%s' is 1, '%s' 0\n", t->word[1], t->word[0]);
    return true;
}

static enum gpm_status choose_outcome(struct reading *r) {
    const struct csv *c = &r->csv;
    r->y = -1;
    if (r->t->o.y) {
        if (csv_find(c, r->t->o.y, &r->y, r->err)) return GPM_E_FORMAT;
    } else {
        for (int j = c->n_cols - 1; j >= 0 && r->y < 0; j--)
            if (r->col[j].kind == COLUMN_NUMBERS || nearly_numeric(&r->col[j])) r->y = j;
        if (r->y < 0) return buf_fail(r->err, GPM_E_FORMAT, "%s: no column holds numbers", c->name);
    }
    struct table_column *k = &r->col[r->y];
    bool none = k->kind == COLUMN_WORDS && !k->numbers, words = none && two_words(r);
    if (none && !words) {
        struct column_wish wish = wish_of(&r->t->o);
        wish.truths = true;
        table_column_release(k);
        table_column_read(k, c, r->y, &wish);
        if (k->style.truth)
            buf_printf(&r->t->notes, "of the outcome %s is 1, the other word 0\n", k->style.truth);
    }
    if (!words && (!k->cells || k->numbers < k->cells || k->style.open))
        return bad_cell(c, r->y, k, r->err);
    struct buf name = BUF_INIT;
    column_name(c, r->y, &name);
    r->t->y_name = buf_take(&name);
    if (c->header) r->t->y_heading = mem_strdup(c->header[r->y]);
    r->t->plain = !words && is_plain(&k->style) && !c->aside.n;
    note_style(r->t, r->t->y_name, &k->style);
    if (!r->t->o.y && r->y < c->n_cols - 1)
        buf_printf(&r->t->notes,
                   "the outcome is '%s', the last column of numbers (--y NAME says otherwise)\n",
                   r->t->y_name);
    return GPM_OK;
}

static int by_count(const void *a, const void *b) {
    const size_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? 1 : -1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* The distinct words of a column, the most frequent one first; otherwise why they are no levels.
 * Many are taken where the column was asked for: each costs a column of the design. */
static const char *find_levels(struct reading *r, int col, bool asked, struct rinput *in) {
    enum { ROOM = RTABLE_COLUMNS + 1 };
    static const char many[] = "it holds words, and too many different ones to be levels";
    const char *word[ROOM];
    size_t order[ROOM][2] = {{0}}; /* count, place */
    int n = 0;
    for (size_t row = 0; row < r->csv.n_rows; row++) {
        if (!r->col[col].cell[row]) continue;
        const char *cell = csv_text(&r->csv, row, col);
        int k = 0;
        while (k < n && strcmp(word[k], cell) != 0) k++;
        if (k == n && n == ROOM) return many;
        if (k == n) word[n] = cell, order[n][1] = (size_t)n, n++;
        order[k][0]++;
    }
    if (3 * (size_t)n > r->col[col].cells) return many; /* hardly a word comes twice */
    if (n > RTABLE_LEVELS && !asked)
        return "it holds words, and many different ones (--x takes it with all of them)";
    qsort(order, (size_t)n, sizeof order[0], by_count);
    in->level = NEW_ARRAY(char *, (size_t)n + 1);
    in->n_levels = n;
    for (int k = 0; k < n; k++) in->level[k] = mem_strdup(word[order[k][1]]);
    return NULL;
}

static void left_out(struct rtable *t, const char *name, const char *why) {
    buf_printf(&t->notes, "'%s' is left out: %s\n", name, why);
}

/* Dates become years since the first. */
static void take_dates(const struct table_column *k, size_t n, struct rinput *in) {
    enum time_kind kind = k->form.kind;
    in->dated = true;
    in->form = time_form_copy(&k->form);
    in->origin = INFINITY;
    for (size_t row = 0; row < n; row++) in->origin = fmin(in->origin, k->x[row]);
    in->year = kind == TIME_MONTH || kind == TIME_QUARTER ? 1 : DAYS_PER_YEAR;
}

static void rinput_release(struct rinput *in) {
    for (int l = 0; l < in->n_levels; l++) mem_free(in->level[l]);
    mem_free(in->level);
    mem_free(in->name);
    mem_free(in->heading);
    time_form_release(&in->form);
}

/* Adds column `col` as an input; asked: by name, so that leaving it out is an error. */
static enum gpm_status add_input(struct reading *r, int col, bool asked) {
    struct rtable *t = r->t;
    const struct table_column *k = &r->col[col];
    bool numeric = k->kind == COLUMN_NUMBERS;
    struct buf name = BUF_INIT;
    struct rinput in = {.column = col, .style = k->style, .first = t->d, .n = 1};
    const char *why = NULL;
    column_name(&r->csv, col, &name);
    if ((numeric && k->style.open) || nearly_numeric(k)) {
        buf_release(&name);
        return bad_cell(&r->csv, col, k, r->err);
    }
    if (!k->cells)
        why = "it has no values";
    else if (!asked && csv_counts_rows(&r->csv, col))
        why = "it counts the rows";
    else if (!asked && 2 * k->cells < r->csv.n_rows)
        why = "most of its values are missing";
    else if (k->kind == COLUMN_TIMES)
        take_dates(k, r->csv.n_rows, &in);
    else if (!numeric && (why = find_levels(r, col, asked, &in)))
        why = k->doubt ? k->doubt : why;
    else if (in.level && in.n_levels < 2)
        why = "it is the same in every row";
    if (in.level) in.n = in.n_levels - 1;
    in.name = buf_take(&name);
    if (r->csv.header) in.heading = mem_strdup(r->csv.header[col]);
    if (!why && numeric) note_style(t, in.name, &k->style);
    if (!why && k->none)
        buf_printf(&t->notes,
                   "None in '%s' is a level, of %zu row%s (--missing None: a missing value)\n",
                   in.name, k->none, k->none == 1 ? "" : "s");
    if (why) {
        if (asked)
            buf_printf(r->err, "%s: column '%s' cannot be an input: %s", r->csv.name, in.name, why);
        else
            left_out(t, *in.name ? in.name : "(no name)", why);
        rinput_release(&in);
        return asked ? GPM_E_FORMAT : GPM_OK;
    }
    t->input[t->n_inputs++] = in;
    t->d += in.n;
    t->plain = t->plain && is_plain(&in.style);
    return GPM_OK;
}

int rinput_column(const struct rinput *in, const struct csv *c) {
    int same = 0, col = in->column;
    if (!in->heading) return col;
    if (col < c->n_cols && !strcmp(c->header[col], in->heading)) return col;
    for (int j = 0; j < c->n_cols; j++) same += !strcmp(c->header[j], in->heading);
    if (same > 1) return -1;
    return csv_column(c, same ? in->heading : in->name);
}

static enum gpm_status one_name_each(const struct reading *r) {
    const struct csv *c = &r->csv;
    char **name = mem_zalloc(((size_t)c->n_cols + 1) * sizeof *name); /* as reports show them */
    enum gpm_status st = GPM_OK;
    for (int a = 0; c->header && a < c->n_cols; a++) {
        struct buf shown = BUF_INIT;
        column_name(c, a, &shown);
        name[a] = buf_take(&shown);
        for (int b = 0; b < a && *name[a] && !st; b++)
            if (!strcmp(name[a], name[b]))
                st = buf_fail(r->err, GPM_E_FORMAT, "%s: two columns are called '%s'", c->name,
                              name[a]);
    }
    for (int a = 0; a < c->n_cols; a++) mem_free(name[a]);
    mem_free(name);
    return st;
}

static enum gpm_status choose_inputs(struct reading *r) {
    const struct csv *c = &r->csv;
    struct rtable *t = r->t;
    enum gpm_status st = GPM_OK;
    t->input = NEW_ARRAY(struct rinput, (size_t)c->n_cols + 1);
    for (const char *p = t->o.x; !st && p && *p;) {
        size_t n = strcspn(p, ",");
        char *name = mem_strndup(p, n);
        int col = -1;
        if (csv_find(c, name, &col, r->err))
            st = GPM_E_FORMAT;
        else if (col == r->y)
            st = buf_fail(r->err, GPM_E_FORMAT, "'%s' is the outcome and cannot be an input", name);
        for (int j = 0; !st && j < t->n_inputs; j++)
            if (t->input[j].column == col)
                st = buf_fail(r->err, GPM_E_FORMAT, "--x names '%s' twice", name);
        if (!st) st = add_input(r, col, true);
        mem_free(name);
        p += n + (p[n] == ',');
    }
    for (int col = 0; !st && !t->o.x && col < c->n_cols; col++)
        if (col != r->y) st = add_input(r, col, false);
    return st;
}

/* ---- rows ---- */

bool rinput_put(const struct rinput *in, const char *cell, double *row) {
    if (in->dated) {
        double x;
        if (time_read(&in->form, cell, &x)) return false;
        *row = (x - in->origin) / in->year;
        return isfinite(*row);
    }
    if (!in->level) return number_style_read(&in->style, cell, row);
    int k = 0;
    while (k < in->n_levels && strcmp(in->level[k], cell) != 0) k++;
    for (int l = 1; l < in->n_levels; l++) row[l - 1] = l == k;
    return k < in->n_levels;
}

static void say_missing(struct rtable *t, const size_t *gone, size_t first) {
    const char *between = " (";
    buf_printf(&t->notes, "%zu of %zu rows have missing values and are skipped", t->read - t->n,
               t->read);
    for (int j = 0; j <= t->n_inputs; j++) {
        if (!gone[j]) continue;
        buf_printf(&t->notes, "%s%s %zu", between, j < t->n_inputs ? t->input[j].name : t->y_name,
                   gone[j]);
        between = ", ";
    }
    buf_printf(&t->notes, "); the first is line %zu", first);
    if (3 * (t->read - t->n) > t->read)
        buf_puts(&t->notes, " (--x without such columns keeps rows)");
    buf_putc(&t->notes, '\n');
}

static void take_rows(struct reading *r) {
    struct rtable *t = r->t;
    const struct csv *c = &r->csv;
    size_t d = (size_t)t->d, first = 0;
    size_t *gone = mem_zalloc(((size_t)t->n_inputs + 1) * sizeof *gone);
    t->x = NEW_ARRAY(double, c->n_rows *d + 1);
    t->y = NEW_ARRAY(double, c->n_rows + 1);
    t->line = NEW_ARRAY(size_t, c->n_rows + 1);
    for (size_t row = 0; row < c->n_rows; row++) {
        bool whole = true;
        for (int j = 0; j <= t->n_inputs; j++) {
            int col = j < t->n_inputs ? t->input[j].column : r->y;
            bool here = r->col[col].cell[row];
            gone[j] += !here;
            whole = whole && here;
            if (here && j < t->n_inputs)
                (void)rinput_put(&t->input[j], csv_text(c, row, col),
                                 t->x + t->n * d + t->input[j].first);
            else if (here && t->word[1])
                t->y[t->n] = !strcmp(csv_text(c, row, col), t->word[1]);
            else if (here)
                t->y[t->n] = r->col[col].x[row];
        }
        if (!whole && !first) first = c->lines[row];
        t->line[t->n] = c->lines[row];
        t->n += whole;
    }
    t->read = c->n_rows;
    if (t->n < t->read) say_missing(t, gone, first);
    mem_free(gone);
}

/* Mean and standard deviation of n numbers `step` apart, safe for numbers of any size. */
static void moments(const double *v, size_t n, size_t step, double *mean, double *sd) {
    double big = 0, m = 0, s = 0;
    for (size_t i = 0; i < n; i++) big = fmax(big, fabs(v[i * step]));
    if (!(big > 0)) big = 1;
    for (size_t i = 0; i < n; i++) m += v[i * step] / big / (double)n;
    for (size_t i = 0; i < n; i++) s += (v[i * step] / big - m) * (v[i * step] / big - m);
    *mean = m * big;
    *sd = n > 1 ? sqrt(s / (double)(n - 1)) * big : 0;
}

/* Equal up to rounding of the mean. */
static bool is_constant(double mean, double sd) {
    return !(sd > 1e-12 * fabs(mean)) || !(sd > 0);
}

static bool differ(const double *v, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0]) return true;
    return false;
}

/* Takes column c of the design away. */
static void drop_column(struct rtable *t, int c) {
    size_t d = (size_t)t->d, to = 0;
    for (size_t i = 0; i < t->n * d; i++)
        if ((int)(i % d) != c) t->x[to++] = t->x[i];
    t->d--;
}

/* Inputs that are the same in all complete rows say nothing. */
static enum gpm_status drop_constants(struct rtable *t, struct buf *err) {
    int kept = 0;
    for (int j = 0; j < t->n_inputs; j++) {
        struct rinput in = t->input[j];
        double mean, sd;
        in.first = kept ? t->input[kept - 1].first + t->input[kept - 1].n : 0;
        for (int k = in.n - 1; k >= 0; k--) {
            moments(t->x + in.first + k, t->n, (size_t)t->d, &mean, &sd);
            if (!is_constant(mean, sd)) continue;
            drop_column(t, in.first + k);
            in.n--;
            if (in.level) { /* the level is in no complete row, or in all */
                mem_free(in.level[k + 1]);
                memmove(&in.level[k + 1], &in.level[k + 2],
                        (size_t)(in.n_levels - k - 2) * sizeof *in.level);
                in.n_levels--;
            }
        }
        if (in.n) {
            t->input[kept++] = in;
            continue;
        }
        if (t->o.x)
            buf_printf(err, "%s: the input '%s' is the same in all rows", t->file, in.name);
        else
            left_out(t, in.name, "it is the same in all rows");
        rinput_release(&in);
    }
    bool failed = t->o.x && kept < t->n_inputs;
    t->n_inputs = kept;
    return failed ? GPM_E_FORMAT : GPM_OK;
}

static void scales(struct rtable *t) {
    t->centre = NEW_ARRAY(double, 2 * (size_t)t->d + 1);
    t->scale = t->centre + t->d;
    for (int k = 0; k < t->d; k++)
        moments(t->x + k, t->n, (size_t)t->d, &t->centre[k], &t->scale[k]);
    moments(t->y, t->n, 1, &t->y_mean, &t->y_sd);
    for (int j = 0; j < t->n_inputs; j++) {
        struct rinput *in = &t->input[j];
        in->lo = INFINITY, in->hi = -INFINITY;
        for (size_t i = 0; i < t->n; i++) {
            double v = t->x[i * (size_t)t->d + (size_t)in->first];
            in->lo = fmin(in->lo, v), in->hi = fmax(in->hi, v);
        }
    }
}

/* Pairs of columns that cannot be told apart, the first few. */
static void say_collinear(struct rtable *t) {
    enum { MOST = 3 };
    size_t d = (size_t)t->d;
    int said = 0;
    for (int a = 0; a < t->n_inputs; a++)
        for (int b = a + 1; b < t->n_inputs && said < MOST; b++) {
            const struct rinput *p = &t->input[a], *q = &t->input[b];
            if (p->level || q->level) continue;
            double r = 0;
            for (size_t i = 0; i < t->n; i++)
                r += (t->x[i * d + (size_t)p->first] - t->centre[p->first]) / t->scale[p->first] *
                     ((t->x[i * d + (size_t)q->first] - t->centre[q->first]) / t->scale[q->first]) /
                     (double)(t->n - 1);
            if (fabs(r) < 0.99) continue;
            buf_printf(&t->notes,
                       "'%s' and '%s' say nearly the same (correlation %.3f): their effects can "
                       "hardly be told apart\n",
                       p->name, q->name, r);
            said++;
        }
}

/* How far an input goes together with the outcome, along a line or on both sides of its mean. */
static double strength(const struct rtable *t, const struct rinput *in) {
    size_t d = (size_t)t->d;
    double best = 0;
    for (int c = in->first; c < in->first + in->n; c++)
        for (int square = 0; square < 2; square++) {
            double mx = 0, my = 0, xx = 0, yy = 0, xy = 0, centre, sd;
            moments(t->x + c, t->n, d, &centre, &sd);
            for (int pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < t->n; i++) {
                    double x = (t->x[i * d + (size_t)c] - centre) / sd,
                           y = (t->y[i] - t->y_mean) / t->y_sd;
                    if (square) x *= x;
                    if (pass)
                        xx += (x - mx) * (x - mx), yy += (y - my) * (y - my),
                            xy += (x - mx) * (y - my);
                    else
                        mx += x / (double)t->n, my += y / (double)t->n;
                }
            if (xx > 0 && yy > 0) best = fmax(best, xy * xy / xx / yy);
        }
    return best;
}

/* Leaves the weakest inputs out until the others fit a model. */
static void drop_weakest(struct rtable *t) {
    int before = t->n_inputs;
    double *power = NEW_ARRAY(double, (size_t)before + 1);
    moments(t->y, t->n, 1, &t->y_mean, &t->y_sd);
    for (int j = 0; j < before; j++) power[j] = strength(t, &t->input[j]);
    while (t->d > RTABLE_COLUMNS) {
        int weak = 0;
        for (int j = 1; j < t->n_inputs; j++)
            if (power[j] < power[weak]) weak = j;
        int first = t->input[weak].first, n = t->input[weak].n;
        for (int c = n - 1; c >= 0; c--) drop_column(t, first + c);
        rinput_release(&t->input[weak]);
        t->n_inputs--;
        memmove(&t->input[weak], &t->input[weak + 1],
                (size_t)(t->n_inputs - weak) * sizeof *t->input);
        memmove(&power[weak], &power[weak + 1], (size_t)(t->n_inputs - weak) * sizeof *power);
        for (int j = weak; j < t->n_inputs; j++) t->input[j].first -= n;
    }
    mem_free(power);
    buf_printf(
        &t->notes,
        "%d of %d inputs, those that go together with '%s' the least, are left out: a model has "
        "at most %d columns (--x NAME,... chooses); how well it predicts is told by rows that this "
        "choice has seen, and too well\n",
        before - t->n_inputs, before, t->y_name, RTABLE_COLUMNS);
}

bool rtable_two_values(const struct rtable *t, double *low, double *high) {
    *low = *high = t->y[0];
    for (size_t i = 0; i < t->n; i++) {
        if (t->y[i] == *low || t->y[i] == *high) continue;
        if (*low != *high) return false;
        *low = fmin(*low, t->y[i]);
        *high = fmax(*high, t->y[i]);
    }
    return *low != *high;
}

static enum gpm_status check(struct rtable *t, struct buf *err) {
    if (t->n < RTABLE_LEAST)
        return buf_fail(err, GPM_E_FORMAT, "%s: %zu complete row%s; a regression needs %d or more",
                        t->file, t->n, t->n == 1 ? "" : "s", RTABLE_LEAST);
    enum gpm_status st = drop_constants(t, err);
    if (st) return st;
    if (!t->n_inputs)
        return buf_fail(err, GPM_E_FORMAT, "%s: there is no input beside the outcome '%s'%s%.*s",
                        t->file, t->y_name, t->notes.len ? ": " : "",
                        (int)strcspn(t->notes.data, "\n"), t->notes.data);
    if (t->d > RTABLE_COLUMNS && !t->o.x) drop_weakest(t);
    if (t->d > RTABLE_COLUMNS)
        return buf_fail(err, GPM_E_FORMAT,
                        "%s: %d columns of inputs (a level of words counts as one), at most %d; "
                        "choose some with --x",
                        t->file, t->d, RTABLE_COLUMNS);
    rtable_drop_copies(t);
    scales(t);
    if (is_constant(t->y_mean, t->y_sd))
        return buf_fail(err, GPM_E_FORMAT, "%s: the outcome '%s' %s%s", t->file, t->y_name,
                        differ(t->y, t->n)
                            ? "varies too little for double precision: subtract its mean"
                            : "is the same in all rows",
                        t->o.y ? "" : " (--y NAME takes another column)");
    say_collinear(t);
    return GPM_OK;
}

/* Notes that lines were left out: how many, and the first of them. */
static void note_lines(struct rtable *t, size_t n, size_t line, const char *one, const char *all) {
    if (n == 1) buf_printf(&t->notes, "line %zu %s left out\n", line, one);
    if (n > 1)
        buf_printf(&t->notes, "%zu lines %s left out; the first is line %zu\n", n, all, line);
}

enum gpm_status rtext_read(const struct rtext *from, struct csv *c, struct buf *err) {
    enum gpm_status st = csv_table(c, from->name, from->text, from->n, err);
    return !st || st == GPM_E_NOT_FOUND ? st : GPM_E_FORMAT;
}

enum gpm_status rtable_read(struct rtable *t, const struct rtext *from,
                            const struct rtable_options *o, struct buf *err) {
    *t = (struct rtable){.file = mem_strdup(from->name), .from_file = !from->text, .o = *o};
    buf_init(&t->notes);
    struct reading r = {.t = t, .err = err};
    enum gpm_status st = rtext_read(from, &r.csv, err);
    if (st) return st;
    table_head(&r.csv, o->missing);
    t->header = r.csv.header != NULL;
    note_lines(t, r.csv.aside.n, r.csv.aside.line, "of the file is no row of the table and",
               "of the file are no rows of the table and");
    size_t line = 0, sums = csv_drop_totals(&r.csv, o->decimal, &line);
    note_lines(t, sums, line, "is called a sum or a mean of others and is",
               "are called sums or means of others and are");
    struct column_wish wish = wish_of(o);
    r.col = NEW_ARRAY(struct table_column, (size_t)r.csv.n_cols + 1);
    for (int j = 0; j < r.csv.n_cols; j++) table_column_read(&r.col[j], &r.csv, j, &wish);
    if (!r.csv.n_rows) st = buf_fail(err, GPM_E_FORMAT, "%s has no rows of data", from->name);
    if (!st) st = one_name_each(&r);
    if (!st) st = choose_outcome(&r);
    if (!st) st = choose_inputs(&r);
    if (!st) {
        take_rows(&r);
        st = check(t, err);
    }
    for (int j = 0; j < r.csv.n_cols; j++) table_column_release(&r.col[j]);
    mem_free(r.col);
    csv_release(&r.csv);
    return st;
}

void rtable_release(struct rtable *t) {
    for (int j = 0; j < t->n_inputs; j++) rinput_release(&t->input[j]);
    mem_free(t->input);
    mem_free(t->file);
    mem_free(t->y_name);
    mem_free(t->y_heading);
    mem_free(t->word[0]);
    mem_free(t->word[1]);
    mem_free(t->x);
    mem_free(t->y);
    mem_free(t->line);
    mem_free(t->centre);
    buf_release(&t->notes);
    memset(t, 0, sizeof *t);
}

void rinput_date(const struct rinput *in, double v, struct buf *out) {
    time_print(&in->form, in->origin + v * in->year, out);
}

void rtable_value(const struct rtable *t, int j, const double *row, struct buf *out) {
    const struct rinput *in = &t->input[j];
    const double *v = row + in->first;
    int k = 0;
    if (!isfinite(*v)) return;
    for (int l = 1; l < in->n_levels; l++)
        if (v[l - 1] > 0.5) k = l;
    if (in->level)
        buf_puts(out, in->level[k]);
    else if (in->dated)
        rinput_date(in, *v, out);
    else
        buf_number(out, *v);
}

int rtable_outside(const struct rtable *t, const double *row, struct buf *out) {
    int n = 0;
    for (int j = 0; j < t->n_inputs; j++) {
        const struct rinput *in = &t->input[j];
        double v = row[in->first], slack = 1e-9 * (in->hi - in->lo);
        if (!(in->level ? isinf(v) : v < in->lo - slack || v > in->hi + slack)) continue;
        buf_printf(out, "%s%s", n ? " " : "", in->name);
        n++;
    }
    return n;
}

void rtable_scale_outcome(struct rtable *t, const size_t *row, size_t n) {
    double *y = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) y[i] = t->y[row[i]];
    moments(y, n, 1, &t->y_mean, &t->y_sd);
    mem_free(y);
}

void rtable_standard(const struct rtable *t, const double *row, double *z) {
    for (int k = 0; k < t->d; k++) z[k] = (row[k] - t->centre[k]) / t->scale[k];
}
