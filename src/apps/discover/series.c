/* SPDX-License-Identifier: Apache-2.0
 *
 * From CSV cells to a sorted series.
 */
#include "apps/discover/series.h"
#include "apps/discover/holidays.h"
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/units.h"
#include "apps/discover/clocks.h"
#include "apps/discover/date_parts.h"
#include "apps/discover/every.h"
#include "apps/discover/layout.h"
#include "table/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct csv csv;
    struct series *s;
    const struct series_options *o;
    struct buf *err;
    int time, value; /* columns; time -1: row numbers */
    struct every_row *p;
    size_t n;
    struct table_column when; /* the times; none without such a column */
    int reg[REGRESSORS_MAX];  /* columns of regressors */
    double *z;                /* by row of the file; NaN: missing */
    bool blank;               /* no column has numbers */
};

/* ---- regressors ---- */
static bool is_regressor(const struct reading *r, int col) {
    for (int j = 0; j < r->s->reg.n; j++)
        if (r->reg[j] == col) return true;
    return false;
}

/* The columns of a list "price,temp" by name or number. */
static enum gpm_status add_regressors(struct reading *r, const char *list, bool smooth) {
    struct regressors *g = &r->s->reg;
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        char *name = mem_strndup(p, n);
        int col = -1;
        enum gpm_status st = GPM_OK;
        if (csv_find(&r->csv, name, &col, r->err))
            st = GPM_E_FORMAT;
        else if (g->n == REGRESSORS_MAX)
            st = buf_fail(r->err, GPM_E_FORMAT, "at most %d columns can have effects",
                          REGRESSORS_MAX);
        else if (col == r->time || is_regressor(r, col))
            st = buf_fail(r->err, GPM_E_FORMAT, "the column '%s' cannot have an effect %s", name,
                          col == r->time ? "beside being the time" : "twice");
        mem_free(name);
        if (st != GPM_OK) return st;
        r->reg[g->n] = col;
        g->smooth[g->n] = smooth;
        g->name[g->n] = series_clean_name(r->csv.header ? r->csv.header[col] : "column");
        const char *key = g->name[g->n++]; /* by which a later file has it */
        if (r->csv.header && csv_column(&r->csv, key) != col)
            return buf_fail(r->err, GPM_E_FORMAT, "%s: two columns are called '%s'", r->csv.name,
                            key);
        p += n + (p[n] == ',');
    }
    return GPM_OK;
}

static enum gpm_status choose_regressors(struct reading *r) {
    enum gpm_status st = add_regressors(r, r->o->with, false);
    return st == GPM_OK ? add_regressors(r, r->o->smooth, true) : st;
}

struct column_wish series_wish(const struct series_options *o) {
    static const char decimal[] = {0, '.', ','};
    return (struct column_wish){o->missing, NULL, decimal[o->decimal], true, false};
}

/* Do cells begin as numbers do, more of them than are times? They may be some that cannot be read.
 */
static bool look_like_numbers(const struct table_column *k, size_t n) {
    size_t numbers = 0, times = 0;
    for (size_t i = 0; i < n; i++) {
        bool digit = k->cell[i] && ascii_digit(k->cell[i][strspn(k->cell[i], "+-.(<>")]);
        bool time = digit && time_is_one(k->cell[i]);
        times += time;
        numbers += digit && !time;
    }
    return numbers > times;
}

/* Numbers, or some among other cells; where no column has any, words. Codes are no values, and a
 * second column of dates is not one, either: banks write one for the day that counts. */
static bool holds_values(const struct reading *r, int col) {
    struct table_column k;
    struct column_wish wish = series_wish(r->o);
    wish.truths = false;
    table_column_read(&k, &r->csv, col, &wish);
    bool codes = k.kind == COLUMN_WORDS && k.numbers == k.cells;
    bool good = k.kind != COLUMN_TIMES && !k.doubt && !codes;
    if (!r->blank) good = good && (k.numbers || look_like_numbers(&k, r->csv.n_rows));
    table_column_release(&k);
    return good;
}

static bool may_be_value(const struct reading *r, int col, int by) {
    return col != r->time && col != by && !is_regressor(r, col) &&
           !date_parts_has(&r->csv, r->time, col) && !csv_counts_rows(&r->csv, col) &&
           holds_values(r, col);
}

static void list_values(const struct reading *r, int by, struct buf *out) {
    enum { LISTED = 30 };
    int n = 0;
    for (int c = 0; c < r->csv.n_cols; c++) {
        if (!may_be_value(r, c, by) || n++ >= LISTED) continue;
        char *name = r->csv.header ? series_clean_name(r->csv.header[c]) : NULL;
        if (name && *name)
            buf_printf(out, " '%s'", name);
        else
            buf_printf(out, " %d", c + 1);
        mem_free(name);
    }
    if (n > LISTED) buf_printf(out, " and %d more", n - LISTED);
}

/* Is there a column beside the times, and beside what tells series apart? */
static bool more_than_times(const struct reading *r, int by) {
    for (int c = 0; c < r->csv.n_cols; c++)
        if (c != r->time && c != by && !date_parts_has(&r->csv, r->time, c) &&
            !csv_counts_rows(&r->csv, c))
            return true;
    return false;
}

static enum gpm_status choose_value(struct reading *r) {
    static const char *const usual[] = {"y", "value", "values", NULL};
    if (r->o->value)
        return csv_find(&r->csv, r->o->value, &r->value, r->err) ? GPM_E_FORMAT : GPM_OK;
    int by = -1, rest = 0;
    if (r->o->by && csv_find(&r->csv, r->o->by, &by, r->err)) return GPM_E_FORMAT;
    if (r->s->take == TAKE_AUTO && r->time >= 0 && !more_than_times(r, by)) r->s->take = TAKE_COUNT;
    r->value = -1;
    if (r->s->take == TAKE_COUNT) return GPM_OK;
    r->value = csv_column_of(&r->csv, usual);
    if (r->value >= 0 && r->value != r->time && r->value != by) return GPM_OK;
    for (int pass = 0; pass < 2 && !rest; pass++) {
        r->blank = pass;
        for (int c = 0; c < r->csv.n_cols; c++)
            if (may_be_value(r, c, by)) r->value = c, rest++;
    }
    if (rest == 1) return GPM_OK;
    if (!rest)
        return buf_fail(r->err, GPM_E_FORMAT,
                        "%s has no column of values beside its times; name both with --time and "
                        "--column",
                        r->csv.name);
    if (r->csv.layout == CSV_ACROSS)
        buf_printf(r->err, "%s has %d series, in rows; choose one with --column:", r->csv.name,
                   r->csv.n_cols - 1);
    else
        buf_printf(r->err,
                   "%s has %d columns, some of which may act on the others (--with); choose "
                   "the values with --column:",
                   r->csv.name, r->csv.n_cols);
    list_values(r, by, r->err);
    return GPM_E_FORMAT;
}

/* ---- rows ---- */
static enum gpm_status bad_row(struct reading *r, size_t row, const char *what, const char *cell) {
    if (r->o->skip_bad) {
        r->s->bad++;
        return GPM_OK;
    }
    return buf_fail(r->err, GPM_E_FORMAT,
                    "%s:%zu: %s '%s'; correct the row, or skip such rows with --skip-bad",
                    r->csv.name, r->csv.lines[row], what, cell);
}

/* Says what is wrong with a time that could not be read. */
static enum gpm_status bad_time(struct reading *r, size_t row) {
    const char *cell = csv_text(&r->csv, row, r->time);
    size_t good = 0;
    while (good < r->csv.n_rows && isnan(r->when.x[good])) good++;
    struct buf what = BUF_INIT;
    if (good == r->csv.n_rows && series_guessed_times(&r->csv, r->o, r->time, "none", r->err))
        return GPM_E_FORMAT;
    if (r->o->date_format)
        buf_printf(&what, "the time is not of the form '%s':", r->o->date_format);
    else if (good < r->csv.n_rows && r->when.cell[row] && time_is_one(cell))
        buf_printf(&what, "the times change their format (line %zu has another one): ",
                   r->csv.lines[good]);
    else
        buf_puts(&what, "cannot read the time (a number, 1949, 1949-01, 1949Q1, 1949-01-31, "
                        "31.1.1949, 31-Jan-1949, 1949-01-31T12:00; others with --date-format)");
    enum gpm_status st = bad_row(r, row, what.data, cell);
    buf_release(&what);
    return st;
}

/* A column of dates that holds the numbers by which spreadsheets count days (1954 to 2064). */
static bool spreadsheet_days(const struct reading *r) {
    const double *x = r->when.x;
    const char *name = r->s->time_name;
    bool date = !ascii_casecmp(name, "ds") || !ascii_casecmp(name, "datum");
    for (const char *p = name; *p && !date; p++) date = !ascii_ncasecmp(p, "date", 4);
    if (r->when.form.kind != TIME_NUMBER || r->o->date_format || !date) return false;
    for (size_t row = 0; row < r->csv.n_rows; row++)
        if (r->when.cell[row] && !(x[row] >= 20000 && x[row] < 60000)) return false;
    return true;
}

/* NaN where the row is skipped; without a column of times the rows are counted. */
static enum gpm_status read_times(struct reading *r) {
    struct table_column *k = &r->when;
    enum gpm_status st = GPM_OK;
    if (r->time < 0) {
        k->x = NEW_ARRAY(double, r->csv.n_rows + 1);
        for (size_t row = 0; row < r->csv.n_rows; row++) k->x[row] = (double)row + 1;
        return st;
    }
    st = table_column_times(k, &r->csv, r->time, r->o->missing, r->o->date_format, r->err);
    bool days = st == GPM_OK && spreadsheet_days(r);
    if (days) {
        table_column_release(k);
        st = table_column_times(k, &r->csv, r->time, r->o->missing, "excel", r->err);
    }
    k->form.found |= days;
    r->s->form = k->form;
    k->form = (struct time_form){0};
    for (size_t row = 0; row < r->csv.n_rows && st == GPM_OK; row++)
        if (isnan(k->x[row])) st = bad_time(r, row);
    return st;
}

static enum gpm_status check_style(const struct reading *r, const struct number_style *s) {
    if (!s->open) return GPM_OK;
    buf_printf(r->err, "%s: ", r->csv.name);
    number_style_doubt(s, r->err);
    return buf_fail(r->err, GPM_E_FORMAT, "; say --decimal comma or --decimal point");
}

/* Column j of the regressors, of every row. */
static enum gpm_status read_regressor(struct reading *r, size_t j, const struct table_column *k) {
    size_t n = (size_t)r->s->reg.n;
    enum gpm_status st = check_style(r, &k->style);
    for (size_t row = 0; row < r->csv.n_rows && st == GPM_OK; row++) {
        r->z[row * n + j] = k->x[row];
        if (!k->cell[row] || !isnan(k->x[row])) continue;
        st = buf_fail(r->err, GPM_E_FORMAT, "%s:%zu: the value of '%s' is not a number: '%s'",
                      r->csv.name, r->csv.lines[row], r->s->reg.name[j], k->cell[row]);
    }
    return st;
}

static enum gpm_status read_regressors(struct reading *r) {
    size_t n = (size_t)r->s->reg.n;
    struct column_wish wish = series_wish(r->o);
    enum gpm_status st = GPM_OK;
    if (n) r->z = NEW_ARRAY(double, r->csv.n_rows *n + 1);
    for (size_t j = 0; j < n && st == GPM_OK; j++) {
        struct table_column k;
        table_column_read(&k, &r->csv, r->reg[j], &wish);
        st = read_regressor(r, j, &k);
        table_column_release(&k);
    }
    return st;
}

/* Values are made of several rows? */
static bool in_steps(const struct reading *r) {
    return (r->o->every && strcmp(r->o->every, "none")) || r->s->take != TAKE_AUTO;
}

/* Of a step other rows may tell what this one does not. */
static bool row_complete(const struct reading *r, size_t row) {
    if (in_steps(r)) return true;
    for (int j = 0; j < r->s->reg.n; j++)
        if (isnan(r->z[row * (size_t)r->s->reg.n + (size_t)j])) return false;
    return true;
}

/* Rows are counted: those of the column that was asked for, where its cells are not missing. */
static void read_events(struct reading *r) {
    const double *x = r->when.x;
    for (size_t row = 0; row < r->csv.n_rows; row++) {
        if (isnan(x[row])) continue;
        if (r->value >= 0 && csv_missing_as(&r->csv, row, r->value, r->o->missing))
            r->s->missing++;
        else
            r->p[r->n++] = (struct every_row){x[row], 1, row};
    }
}

static enum gpm_status bad_value(struct reading *r, size_t row, const char *cell) {
    return bad_row(r, row,
                   strchr("<>", *cell) ? "the value is a bound, a limit of detection say: give a "
                                         "number for it, or leave it out by --missing with what "
                                         "it says:"
                   : r->blank          ? "no column has numbers (--take count counts rows): the "
                                         "value is not one:"
                                       : "the value is not a number:",
                   cell);
}

static enum gpm_status take_values(struct reading *r, const struct table_column *k) {
    const double *x = r->when.x;
    enum gpm_status st = check_style(r, &k->style);
    for (size_t row = 0; row < r->csv.n_rows && st == GPM_OK; row++) {
        if (isnan(x[row])) continue;
        if (!k->cell[row] || !row_complete(r, row)) {
            r->s->missing++;
            if (r->s->take == TAKE_TOTAL) r->p[r->n++] = (struct every_row){x[row], NAN, row};
        } else if (!isnan(k->x[row])) {
            r->p[r->n++] = (struct every_row){x[row], k->x[row], row};
        } else {
            st = bad_value(r, row, k->cell[row]);
        }
    }
    return st;
}

static enum gpm_status read_values(struct reading *r) {
    struct table_column k;
    struct column_wish wish = series_wish(r->o);
    table_column_read(&k, &r->csv, r->value, &wish);
    r->s->style = k.style;
    r->s->style.doubt = NULL; /* a cell of the file */
    enum gpm_status st = take_values(r, &k);
    table_column_release(&k);
    return st;
}

static int by_time(const void *a, const void *b) {
    const struct every_row *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return p->order < q->order ? -1 : 1;
}

/* ---- the calendar ---- */
double series_month_of(double day) {
    int y, m, d;
    calendar_date((long)floor(day), &y, &m, &d);
    return 12.0 * y + m - 1;
}

double series_first_day(double month) {
    double year = floor(month / 12);
    return (double)calendar_days((int)year, (int)(month - 12 * year) + 1, 1);
}

/* Days that are all the first, all the last, or all the same of a month, at the same time of day,
 * count as months: equal steps, and a year is 1. */
static bool count_months(struct reading *r) {
    struct series *s = r->s;
    enum time_kind kind = s->form.kind;
    double zone = s->form.zone / 1440.0, clock = 0;
    int d, first = 0;
    bool end = true, same = r->n > 1, last;
    if ((kind != TIME_DATE && kind != TIME_INSTANT && kind != TIME_UNIX) || s->form.zones)
        return false;
    for (size_t i = 0; i < r->n && (same || end); i++) {
        double at = r->p[i].x + zone + 1e-9; /* of rounding, at midnight */
        (void)series_month_time(at, &d, &last);
        if (!i) first = d, clock = at - floor(at);
        bool alike = fabs(at - floor(at) - clock) < 1e-6;
        same &= alike && d == first;
        end &= alike && last;
    }
    if (r->n < 2 || !(end || (same && (first == 1 || r->n > 2)))) return false;
    s->month_end = end;
    s->month_at = (end ? 0 : first - 1) + clock - 1e-9 - zone;
    for (size_t i = 0; i < r->n; i++)
        r->p[i].x = series_month_time(r->p[i].x + zone + 1e-9, &d, &last);
    return true;
}

static void set_unit(struct reading *r) {
    struct series *s = r->s;
    enum time_kind *kind = &s->form.kind;
    bool some = r->time >= 0 && r->n > 1;
    s->unit = "step";
    if (some && count_months(r)) {
        s->unit = "year";
    } else if (*kind >= TIME_DATE) {
        s->unit = "day";
    } else if (*kind != TIME_NUMBER) {
        s->unit = "year";
    } else if (r->time >= 0 && !r->o->date_format && !time_elapsed(&s->form) && r->n &&
               r->p[0].x >= 1000 && r->p[r->n - 1].x <= 2200) {
        *kind = TIME_YEAR; /* numbers between 1000 and 2200 are taken for years */
        s->unit = "year";
    }
}

void series_set_seasons(struct series *s) {
    s->n_season = 0;
    if (!strcmp(s->unit, "year")) s->season[s->n_season++] = 1;
    if (strcmp(s->unit, "day")) return;
    s->season[s->n_season++] = 7;
    s->season[s->n_season++] = DAYS_PER_YEAR;
    s->season[s->n_season++] = DAYS_PER_YEAR / 12;
    if (s->form.kind != TIME_INSTANT && s->form.kind != TIME_UNIX) return;
    s->season[s->n_season++] = 1;
    s->season[s->n_season++] = 1.0 / 24;
}

static void set_hash(struct series *s) {
    s->hash = hash_bytes(s->y, s->n * sizeof *s->y, hash_bytes(s->x, s->n * sizeof *s->x, 1));
}

static void keep_regressors(struct reading *r, size_t drop) {
    struct series *s = r->s;
    size_t k = (size_t)s->reg.n;
    if (!k) return;
    s->reg.rows = s->n;
    s->reg.x = NEW_ARRAY(double, s->n + 1);
    s->reg.z = NEW_ARRAY(double, s->n *k + 1);
    memcpy(s->reg.x, s->x, s->n * sizeof *s->x);
    for (size_t i = 0; i < s->n; i++)
        memcpy(s->reg.z + i * k, r->z + r->p[drop + i].order * k, k * sizeof *r->z);
}

static enum gpm_status check_regressors(const struct reading *r) {
    const struct series *s = r->s;
    size_t k = (size_t)s->reg.n;
    if (k && s->repeated)
        return buf_fail(r->err, GPM_E_FORMAT,
                        "%s: times repeat; with effects of other columns each has one row: "
                        "--take total, mean, ... makes one of them",
                        r->csv.name);
    for (size_t j = 0; j < k; j++) {
        double lo = INFINITY, hi = -INFINITY; /* a step without rows does not tell */
        for (size_t i = 0; i < s->n; i++)
            lo = fmin(lo, s->reg.z[i * k + j]), hi = fmax(hi, s->reg.z[i * k + j]);
        if (!(lo < hi))
            return buf_fail(r->err, GPM_E_FORMAT,
                            "%s: the column '%s' is constant: its effect cannot be seen",
                            r->csv.name, s->reg.name[j]);
    }
    return GPM_OK;
}

/* The days from a time that counts months on, `months` of them long. */
static double days_of(double x, int months) {
    double days = 0;
    for (int k = (int)floor(x * 12 + 0.5), end = k + months; k < end; k++) {
        int year = (int)floor(k / 12.0);
        days += calendar_month_length(year, k - 12 * year + 1);
    }
    return days;
}

/* Months differ by a tenth in length: totals of them, or of quarters, become means of a day. */
static enum gpm_status take_per_day(struct reading *r) {
    struct series *s = r->s;
    int months = s->form.kind == TIME_QUARTER ? 3 : 1;
    bool dated =
        s->form.kind == TIME_MONTH || s->form.kind == TIME_QUARTER || series_counts_months(s);
    double least = INFINITY; /* a quarter is a quarter however it is written, and so is a half */
    for (size_t i = 1; i < s->n; i++) least = fmin(least, (s->x[i] - s->x[i - 1]) * 12);
    if (least > 1.5) months = least > 4.5 && least < 6.5 ? 6 : 3;
    for (size_t i = 1; i < s->n && dated; i++) {
        double k = (s->x[i] - s->x[i - 1]) * 12 / months;
        dated = fabs(k - floor(k + 0.5)) < 0.1;
    }
    if (!dated)
        return buf_fail(r->err, GPM_E_ARG,
                        "%s: means of a day (--per-day) are made of totals of months or quarters",
                        r->csv.name);
    for (size_t i = 0; i < s->n; i++) s->y[i] /= days_of(s->x[i], months);
    struct buf name = BUF_INIT;
    buf_printf(&name, "%s per day", s->value_name);
    mem_free(s->value_name);
    s->value_name = buf_take(&name);
    return GPM_OK;
}

/* Several series one below the other are not one. */
static enum gpm_status check_apart(const struct reading *r) {
    size_t same = 0;
    for (size_t i = 1; i < r->n; i++) same += r->p[i].x == r->p[i - 1].x;
    int col = 3 * same > r->n ? layout_apart(&r->csv, r->time, r->value) : -1;
    if (col < 0) return GPM_OK;
    return buf_fail(r->err, GPM_E_FORMAT,
                    "%s: times repeat, and '%s' tells their rows apart: --by '%s' takes a series "
                    "for each, --take total or mean makes one of all",
                    r->csv.name, r->csv.header[col], r->csv.header[col]);
}

static enum gpm_status finish(struct reading *r) {
    struct series *s = r->s;
    s->rows = r->csv.n_rows;
    if (s->form.kind == TIME_INSTANT && !s->form.zones && !s->form.zone && !in_steps(r))
        s->set_back = clocks_merge(r->p, &r->n);
    s->sorted = true;
    size_t ups = 0, downs = 0;
    for (size_t i = 1; i < r->n; i++) {
        s->sorted &= r->p[i].x >= r->p[i - 1].x;
        ups += r->p[i].x > r->p[i - 1].x;
        downs += r->p[i].x < r->p[i - 1].x;
    }
    bool in_order = ups + 1 >= r->n || downs + 1 >= r->n;
    qsort(r->p, r->n, sizeof *r->p, by_time);
    if (r->time >= 0 && !in_steps(r) && check_apart(r)) return GPM_E_FORMAT;
    if (s->form.kind == TIME_NUMBER && !in_order) {
        static const char *const what = "numbers that are not in order";
        if (series_guessed_times(&r->csv, r->o, r->time, what, r->err)) return GPM_E_FORMAT;
    }
    set_unit(r);
    size_t most = r->o->max_points;
    if ((s->reg.n || r->o->holidays) && !most) most = REGRESSORS_ROWS;
    if (!most || in_steps(r)) {
        struct every_beside beside = {(size_t)s->reg.n, r->z};
        enum gpm_status st = every_take(s, r->o->every, &r->p, &r->n, &beside, r->err);
        r->z = beside.z;
        if (st != GPM_OK) return st;
    }
    size_t drop = most && r->n > most ? r->n - most : 0;
    s->left_out = drop;
    s->n = r->n - drop;
    s->x = NEW_ARRAY(double, s->n + 1);
    s->y = NEW_ARRAY(double, s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        s->x[i] = r->p[drop + i].x;
        s->y[i] = r->p[drop + i].y;
        if (i && s->x[i] == s->x[i - 1]) s->repeated++;
    }
    keep_regressors(r, drop);
    series_set_seasons(s);
    enum gpm_status st = r->o->per_day ? take_per_day(r) : GPM_OK;
    set_hash(s);
    return st;
}

static enum gpm_status check(const struct reading *r) {
    const struct series *s = r->s;
    const char *name = r->csv.name;
    if (s->rows == 0) return buf_fail(r->err, GPM_E_FORMAT, "%s has no rows", name);
    if (s->n == 0)
        return buf_fail(r->err, GPM_E_FORMAT,
                        "%s: no value in %zu rows (%zu missing, %zu unreadable)", name, s->rows,
                        s->missing, s->bad);
    if (s->n < 8)
        return buf_fail(r->err, GPM_E_FORMAT,
                        "%s: %zu value%s too few to look for structure%s%s; 8 are needed", name,
                        s->n, s->n == 1 ? " is" : "s are", *s->every ? ", over " : "", s->every);
    double span = s->x[s->n - 1] - s->x[0];
    if (!isfinite(span) || !(span > 0))
        return buf_fail(r->err, GPM_E_FORMAT, "%s: %s", name,
                        isfinite(span) ? "all values have the same time"
                                       : "the times lie too far apart");
    for (size_t i = 1; i < s->n; i++)
        if (s->y[i] != s->y[0]) return GPM_OK;
    return buf_fail(r->err, GPM_E_FORMAT,
                    "%s: the series is constant (every value is %g): nothing to discover", name,
                    s->y[0]);
}

char *series_clean_name(const char *text) {
    struct buf b = BUF_INIT;
    buf_line(&b, text);
    return buf_take(&b);
}

static enum gpm_status read_all(struct reading *r) {
    enum gpm_status st = series_time_column(&r->csv, r->o, &r->time, r->err);
    if (st == GPM_OK) st = choose_regressors(r);
    if (st == GPM_OK) st = choose_value(r);
    if (st != GPM_OK) return st;
    struct series *s = r->s;
    const char **head = r->csv.header;
    s->aside = r->csv.aside.n;
    s->aside_line = r->csv.aside.line;
    s->layout = (int)r->csv.layout;
    s->name = series_clean_name(r->csv.name);
    s->time_name = series_clean_name(head && r->time >= 0 ? head[r->time] : "time");
    s->value_name = series_clean_name(r->value < 0 ? "count" : head ? head[r->value] : "value");
    r->p = NEW_ARRAY(struct every_row, r->csv.n_rows + 1);
    st = read_times(r);
    if (st == GPM_OK) st = read_regressors(r);
    if (st == GPM_OK && s->take == TAKE_COUNT)
        read_events(r);
    else if (st == GPM_OK)
        st = read_values(r);
    if (st == GPM_OK) st = finish(r);
    if (st == GPM_OK) st = check(r);
    if (st == GPM_OK && r->o->holidays) st = holidays_add(s, r->o->holidays, r->err);
    return st == GPM_OK ? check_regressors(r) : st;
}

enum gpm_status series_read_csv(struct series *s, const struct csv *file,
                                const struct series_options *o, struct buf *err) {
    struct reading r = {.s = s, .o = o, .err = err, .csv = *file};
    memset(s, 0, sizeof *s);
    s->take = o->take;
    enum gpm_status st = read_all(&r);
    mem_free(r.p);
    table_column_release(&r.when);
    mem_free(r.z);
    if (st != GPM_OK) series_release(s);
    return st;
}

enum gpm_status series_read(struct series *s, const char *name, const char *text, size_t len,
                            const struct series_options *o, struct buf *err) {
    struct csv file;
    int time;
    memset(s, 0, sizeof *s);
    enum gpm_status st = csv_table(&file, name, text, len, err);
    if (st != GPM_OK) return st;
    st = series_time_column(&file, o, &time, err);
    if (st == GPM_OK) st = series_read_csv(s, &file, o, err);
    csv_release(&file);
    return st;
}

void series_release(struct series *s) {
    mem_free(s->x);
    mem_free(s->y);
    mem_free(s->name);
    mem_free(s->time_name);
    mem_free(s->value_name);
    time_form_release(&s->form);
    regressors_release(&s->reg);
    memset(s, 0, sizeof *s);
}

static double *copy_numbers(const double *v, size_t n) {
    double *c = NEW_ARRAY(double, n + 1);
    memcpy(c, v, n * sizeof *v);
    return c;
}

struct series series_copy(const struct series *s) {
    struct series c = *s;
    c.x = copy_numbers(s->x, s->n);
    c.y = copy_numbers(s->y, s->n);
    c.name = mem_strdup(s->name);
    c.time_name = mem_strdup(s->time_name);
    c.value_name = mem_strdup(s->value_name);
    c.form = time_form_copy(&s->form);
    c.reg = regressors_copy(&s->reg);
    return c;
}

bool series_dated(const struct series *s) {
    return time_dated(&s->form);
}

void series_cut(struct series *s, size_t n) {
    s->n = n;
    set_hash(s);
}
