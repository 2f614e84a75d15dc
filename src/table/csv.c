/* SPDX-License-Identifier: Apache-2.0
 * CSV reader; see csv.h. */
#include "table/csv.h"
#include "base/ascii.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "table/times.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct csv *c;
    const char *p, *end;
    char sep;
    size_t line;
    struct buf field; /* scratch */
    VEC(const char *) cells;
    VEC(size_t) lines;
    VEC(size_t) widths; /* of rows, settled at the end */
    struct buf *err;
};

static enum gpm_status bad(const struct csv *c, size_t line, const char *what, struct buf *err) {
    buf_printf(err, "%s:%zu: %s", c->name, line, what);
    return GPM_E_FORMAT;
}

static bool is_blank(char ch) {
    return ch == ' ' || ch == '\t';
}

/* A tab may be the separator; where a space is, any blanks are one. */
static const char *skip_blanks(const struct reader *r, const char *p) {
    while (p < r->end && is_blank(*p) && (*p != r->sep || r->sep == ' ')) p++;
    return p;
}

static bool field_ends(const struct reader *r) {
    return r->p == r->end || *r->p == r->sep || *r->p == '\n' || *r->p == '\r' ||
           (r->sep == ' ' && *r->p == '\t');
}

/* quoted := '"' (char | '""')* '"' */
static enum gpm_status read_quoted(struct reader *r) {
    size_t open_line = r->line;
    for (r->p++; r->p < r->end; r->p++) {
        if (*r->p == '\n') r->line++;
        if (*r->p != '"') {
            buf_putc(&r->field, *r->p);
        } else if (r->p + 1 < r->end && r->p[1] == '"') {
            buf_putc(&r->field, *r->p++);
        } else {
            r->p++;
            if (r->sep != ' ') r->p = skip_blanks(r, r->p);
            if (field_ends(r)) return GPM_OK;
            return bad(r->c, r->line,
                       "text after a closing quote; double the quotes inside a "
                       "quoted field",
                       r->err);
        }
    }
    return bad(r->c, open_line, "the quote opened here is never closed", r->err);
}

static void read_plain(struct reader *r) {
    const char *start = r->p, *stop;
    while (!field_ends(r)) r->p++;
    for (stop = r->p; stop > start && is_blank(stop[-1]); stop--) continue;
    buf_add(&r->field, start, (size_t)(stop - start));
}

static enum gpm_status read_field(struct reader *r) {
    buf_reset(&r->field);
    r->p = skip_blanks(r, r->p);
    enum gpm_status s = GPM_OK;
    if (r->p < r->end && *r->p == '"')
        s = read_quoted(r);
    else
        read_plain(r);
    if (!s && memchr(r->field.data, 0, r->field.len))
        s = bad(r->c, r->line, "a NUL byte; this is not a text file", r->err);
    if (!s) vec_push(&r->cells, arena_strndup(&r->c->arena, r->field.data, r->field.len));
    return s;
}

static void end_of_line(struct reader *r) {
    if (r->p < r->end && *r->p == '\r') r->p++;
    if (r->p < r->end && *r->p == '\n') r->p++;
    r->line++;
}

/* row := field (sep field)* newline */
static enum gpm_status read_row(struct reader *r) {
    size_t line = r->line, before = r->cells.n;
    for (;;) {
        enum gpm_status s = read_field(r);
        if (s) return s;
        if (r->sep == ' ') r->p = skip_blanks(r, r->p);
        if (r->p == r->end || *r->p == '\n' || *r->p == '\r') break;
        r->p += r->sep != ' ';
    }
    end_of_line(r);
    vec_push(&r->lines, line);
    vec_push(&r->widths, r->cells.n - before);
    return GPM_OK;
}

static bool skip_line(struct reader *r) {
    const char *q = skip_blanks(r, r->p);
    bool blank = q == r->end || *q == '\n' || *q == '\r';
    bool comment = q < r->end && *q == '#' && r->lines.n == 0;
    if (!blank && !comment) return false;
    while (q < r->end && *q != '\n' && (*q != '\r' || comment)) q++;
    r->p = q;
    end_of_line(r);
    return true;
}

/* ---- what stands around a table ---- */
enum { BEFORE = 30 }; /* lines that may stand before a table */

/* The width of more than half of the rows, otherwise that of the first row. */
static size_t usual_width(const struct reader *r) {
    size_t best = r->widths.at[0], votes = 0, n = 0; /* majority vote */
    for (size_t i = 0; i < r->widths.n; i++) {
        if (!votes) best = r->widths.at[i];
        votes += r->widths.at[i] == best ? 1 : -1;
    }
    for (size_t i = 0; i < r->widths.n; i++) n += r->widths.at[i] == best;
    return 2 * n > r->widths.n ? best : r->widths.at[0];
}

/* A title, a source, a remark: no time at the beginning, and not numbers alone after it. */
static bool is_remark(const char *const *cell, size_t n) {
    double x;
    size_t numbers = 0;
    for (size_t i = 1; i < n; i++) numbers += number_parse(cell[i], strlen(cell[i]), &x);
    return !time_is_one(cell[0]) && (n == 1 || numbers < n - 1);
}

/* Names of columns, one less than there are: rows have names of their own, as R writes them. */
static bool are_names(const char *const *cell, size_t n) {
    double x;
    for (size_t i = 0; i < n; i++)
        if (!*cell[i] || number_parse(cell[i], strlen(cell[i]), &x)) return false;
    return n > 1;
}

/* Cells up to the last one that is not empty. */
static size_t filled(const char *const *cell, size_t width) {
    while (width && !*cell[width - 1]) width--;
    return width;
}

/* Names of columns; or times, with a name or nothing before them. */
static bool are_heads(const char *const *cell, size_t n) {
    size_t times = 0, from = !*cell[0];
    for (size_t i = 0; i < n; i++) times += time_is_one(cell[i]);
    bool names = n > from + 1 && (from ? are_names(cell + 1, n - 1) : are_names(cell, n));
    return names && (!times || (times == n - 1 && !time_is_one(cell[0])));
}

/* Spreadsheets and banks fill lines of titles up to the width of the table with empty cells. How
 * many of n rows stand so before the names of its columns: fewer cells than these, and not a time
 * or a number at the beginning. */
static size_t padded_titles(const char *const *cell, size_t n, size_t width) {
    size_t most = 0, i;
    double x;
    if (n > BEFORE) n = BEFORE;
    for (i = 0; i < n; i++)
        most = filled(cell + i * width, width) > most ? filled(cell + i * width, width) : most;
    for (i = 0; i < n; i++, cell += width) {
        size_t all = filled(cell, width);
        bool dated = all == 2 && time_is_one(cell[1]) && !time_is_one(cell[0]); /* "as of", a day */
        if (all == most && !dated) return are_heads(cell, most) ? i : 0;
        if (time_is_one(cell[0]) || number_parse(cell[0], strlen(cell[0]), &x)) return 0;
    }
    return 0;
}

/* Keeps rows [first, last), whose cells begin with number `from`; with a corner a row of names that
 * lacks one before them. */
static void keep_rows(struct reader *r, size_t first, size_t last, size_t from, bool corner) {
    size_t width = (size_t)r->c->n_cols, n = (last - first) * width;
    const char **cells = NEW_ARRAY(const char *, n + width + 1), **to = cells;
    if (corner) {
        *to++ = "";
        memcpy(to, r->cells.at + from - (width - 1), (width - 1) * sizeof *to);
        to += width - 1;
        first--;
    }
    memcpy(to, r->cells.at + from, n * sizeof *to);
    mem_free(r->cells.at);
    r->cells.at = cells;
    r->lines.n = last - first;
    memmove(r->lines.at, r->lines.at + first, r->lines.n * sizeof *r->lines.at);
}

static enum gpm_status check_width(struct reader *r, size_t got, size_t line) {
    struct csv *c = r->c;
    if (c->n_cols == 0) {
        if (got > CSV_MAX_COLUMNS) return bad(c, line, "more than 10000 columns", r->err);
        c->n_cols = (int)got;
    }
    if ((int)got == c->n_cols) return GPM_OK;
    return buf_fail(r->err, GPM_E_FORMAT, "%s:%zu: %zu field%s where the first row has %d%s",
                    c->name, line, got, got == 1 ? "" : "s", c->n_cols,
                    c->n_cols == 1 ? "; what stands before a table is to begin with #" : "");
}

/* Remarks before and after the rows of a table are left out; all between must be as wide as it. */
static enum gpm_status settle_width(struct reader *r) {
    size_t n = r->widths.n, width = usual_width(r), first = 0, last = n, from = 0, to = r->cells.n;
    const size_t *w = r->widths.at;
    const char *const *cell = r->cells.at;
    while (first < n && first < BEFORE && w[first] != width && is_remark(cell + from, w[first]))
        from += w[first++];
    while (last > first && w[last - 1] != width && is_remark(cell + to - w[last - 1], w[last - 1]))
        to -= w[--last];
    if (first == last) return bad(r->c, r->lines.at[0], "no rows that are equally wide", r->err);
    for (size_t i = first; i < last; i++) {
        enum gpm_status s = check_width(r, w[i], r->lines.at[i]);
        if (s) return s;
    }
    size_t titles = padded_titles(cell + from, last - first, width);
    first += titles;
    from += titles * width;
    bool corner = first && !titles && w[first - 1] == width - 1 && width > 2 &&
                  are_names(cell + from - (width - 1), width - 1) && !are_names(cell + from, width);
    r->c->aside.n = first - corner + (n - last);
    r->c->aside.line = first > corner ? r->lines.at[0] : last < n ? r->lines.at[last] : 0;
    keep_rows(r, first, last, from, corner);
    return GPM_OK;
}

#define SEPARATORS "\t;|,"
enum { SEPS = sizeof SEPARATORS - 1, BLANKS = SEPS, COUNTS };

/* The separators of one line from *p on, outside quotes; *p becomes the end of the line. */
static void count_separators(const char **p, const char *end, int *count) {
    bool quoted = false;
    for (; *p < end && (quoted || (**p != '\n' && **p != '\r')); ++*p) {
        if (**p == '"') quoted = !quoted;
        for (int k = 0; k < SEPS && !quoted; k++) count[k] += **p == SEPARATORS[k];
    }
}

/* How often blanks stand between fields of a line. *thousands becomes false unless every field but
 * the first is three digits: those may be of one number. */
static int count_blanks(const char *p, const char *end, bool *thousands) {
    int fields = 0;
    for (;; fields++) {
        while (p < end && is_blank(*p)) p++;
        const char *from = p;
        bool quoted = false, three = true;
        for (; p < end && (quoted || !is_blank(*p)); p++) {
            if (*p == '"') quoted = !quoted;
            three &= ascii_digit(*p);
        }
        if (p == from) return fields - 1;
        if (fields) *thousands &= three && p - from == 3;
    }
}

/* Is the line one time, which blanks are in ("2001-01-31 12:00", "5 Jan 2001")? A time with a
 * number after it is a row of two. */
static bool is_one_time(const char *p, const char *end) {
    while (end > p && is_blank(end[-1])) end--;
    const char *last = end;
    while (last > p && !is_blank(last[-1])) last--;
    char *text = mem_strndup(p, (size_t)(end - p));
    double x;
    bool one = time_is_one(text);
    bool number = number_parse(text + (last - p), (size_t)(end - last), &x);
    while (last > p && is_blank(last[-1])) last--;
    text[last - p] = 0;
    one = one && last > p && !(number && time_is_one(text));
    mem_free(text);
    return one;
}

enum { LINES = 20 };

/* How many lines have the same number of a separator, which is not 0. */
static int agreement(const int count[LINES][COUNTS], int lines, int k) {
    int best = 0;
    for (int i = 0; i < lines; i++) {
        int n = 0;
        for (int j = 0; j < lines; j++) n += count[j][k] == count[i][k];
        if (count[i][k] && n > best) best = n;
    }
    return best;
}

/* The first that stands equally often in every one of the first lines; else in most of them (titles
 * stand before the table); else the most frequent of the first line. A comma comes late: it may be
 * a decimal's. Blanks separate where none of the others is anywhere, and equally many columns stand
 * in every line. */
static char find_separator(const char *p, const char *end) {
    int count[LINES][COUNTS] = {{0}}, lines = 0, best = SEPS - 1, others = 0, most = 0, times = 0;
    bool thousands = true;
    while (p < end && (*p == '#' || *p == '\n' || *p == '\r')) {
        while (p < end && *p != '\n') p++;
        if (p < end) p++;
    }
    for (; lines < LINES && p < end; lines++) {
        const char *from = p;
        count_separators(&p, end, count[lines]);
        count[lines][BLANKS] = count_blanks(from, p, &thousands);
        times += is_one_time(from, p);
        while (p < end && (*p == '\n' || *p == '\r')) p++;
        for (int k = 0; k < SEPS; k++) others += count[lines][k];
    }
    for (int k = 0; k < SEPS; k++)
        if (lines && agreement(count, lines, k) == lines) return SEPARATORS[k];
    bool corner = lines > 2 && count[0][BLANKS] + 1 == count[1][BLANKS]; /* as R writes it */
    if (lines && !others && times >= lines - (lines > 1)) return SEPARATORS[best]; /* one column */
    if (lines && !others && !thousands && agreement(count, lines, BLANKS) + corner == lines)
        return ' ';
    for (int k = 0; k < SEPS; k++) {
        int n = agreement(count, lines, k);
        if (n > most) most = n, best = k;
    }
    if (2 * most > lines) return SEPARATORS[best];
    for (int k = 0; k < SEPS; k++)
        if (count[0][k] > count[0][best]) best = k;
    return SEPARATORS[best];
}

/* As people, spreadsheets, statistics packages and offices write it. */
bool csv_is_missing(const char *s) {
    static const char *const words[] = {
        "",        "na",     "nan",     "null",     "?",     "n/a", ".",    "..",
        "-",       "--",     "#n/a",    "#na",      "<na>",  "nat", "none", "-nan",
        "1.#qnan", "1.#ind", "-1.#ind", "#n/a n/a", ":",     "***", "n.a.", "#div/0!",
        "#value!", "#ref!",  "#num!",   "#name?",   "#null!"};
    if (ascii_digit(s[*s == '-']) && !strchr(s, '#')) return false;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (ascii_casecmp(s, words[i]) == 0) return true;
    return false;
}

void csv_take_header(struct csv *c) {
    c->header = c->cells;
    c->cells += c->n_cols;
    c->lines++;
    c->n_rows--;
}

/* What a file begins with that is no text, and what to do about it. */
static const char *no_text(const char *text, size_t n) {
    static const struct {
        const char *begins, *says;
    } kinds[] = {
        {"\x1f\x8b", "this is compressed by gzip; unpack it first (gunzip)"},
        {"PK\x03\x04", "this is a zip archive, as spreadsheets (.xlsx) are; save it as CSV"},
        {"\xd0\xcf\x11\xe0", "this is an old spreadsheet (.xls); save it as CSV"},
        {"PAR1", "this is a Parquet file; save it as CSV"},
        {"{", "this is JSON; save it as CSV"},
        {"[{", "this is JSON; save it as CSV"},
        {"<!DOCTYPE", "this is a web page, not a table"},
        {"<html", "this is a web page, not a table"},
        {"<?xml", "this is XML; save it as CSV"}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t k = strlen(kinds[i].begins);
        if (n >= k && memcmp(text, kinds[i].begins, k) == 0) return kinds[i].says;
    }
    return NULL;
}

static enum gpm_status parse_rows(struct csv *c, const char *name, const char *text, size_t n,
                                  struct buf *err) {
    *c = (struct csv){.name = mem_strdup(name)};
    struct reader r = {.c = c,
                       .p = text,
                       .end = text + n,
                       .sep = find_separator(text, text + n),
                       .line = 1,
                       .field = BUF_INIT,
                       .err = err};
    enum gpm_status s = GPM_OK;
    while (!s && r.p < r.end)
        if (!skip_line(&r)) s = read_row(&r);
    if (!s && r.lines.n == 0) s = bad(c, 1, "the file has no rows", err);
    if (!s) s = settle_width(&r);
    c->n_rows = r.lines.n;
    c->cells = r.cells.at;
    c->lines = r.lines.at;
    buf_release(&r.field);
    vec_release(&r.widths);
    if (s) csv_release(c);
    return s;
}

/* UTF-16, as Windows writes it in places, says so at its beginning; what is no UTF-8 is in the
 * older code, as spreadsheets save it. */
static enum gpm_status parse(struct csv *c, const char *name, const char *text, size_t n,
                             struct buf *err) {
    const char *says = no_text(text, n);
    *c = (struct csv){0};
    if (says) return buf_fail(err, GPM_E_FORMAT, "%s: %s", name, says);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, n -= 3;
    bool wide = n >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2));
    size_t good = wide ? n : utf8_check(text, n);
    if (!wide && (good == n || !text[good])) return parse_rows(c, name, text, n, err);
    struct buf utf8 = BUF_INIT;
    if (wide)
        utf8_from_utf16(text, n, &utf8);
    else
        utf8_from_windows(text, n, &utf8);
    enum gpm_status s = parse_rows(c, name, utf8.data, utf8.len, err);
    buf_release(&utf8);
    return s;
}

enum gpm_status csv_table(struct csv *c, const char *name, const char *text, size_t n,
                          struct buf *err) {
    if (text) return parse(c, name, text, n, err);
    struct buf all = BUF_INIT;
    enum gpm_status s = file_read(name, FILE_GIVEN, FILE_TEXT_MAX, &all);
    if (s)
        buf_printf(err, "%s: %s", name, file_why());
    else
        s = parse(c, name, all.data, all.len, err);
    buf_release(&all);
    return s;
}

void csv_drop(struct csv *c, const bool *drop) {
    size_t kept = 0, width = (size_t)c->n_cols;
    for (size_t i = 0; i < c->n_rows; i++) {
        if (drop[i]) {
            if (!c->aside.n++ || c->lines[i] < c->aside.line) c->aside.line = c->lines[i];
            continue;
        }
        if (kept < i)
            memcpy(c->cells + kept * width, c->cells + i * width, width * sizeof *c->cells);
        c->lines[kept++] = c->lines[i];
    }
    c->n_rows = kept;
}

void csv_reshape(struct csv *c, int n_cols, size_t n_rows, const char **cells, size_t *lines) {
    mem_free(c->header ? c->header : c->cells);
    mem_free(c->header ? c->lines - 1 : c->lines);
    c->header = NULL;
    c->n_cols = n_cols;
    c->n_rows = n_rows;
    c->cells = cells;
    c->lines = lines;
    csv_take_header(c);
}

void csv_release(struct csv *c) {
    arena_release(&c->arena);
    mem_free(c->header ? c->header : c->cells); /* both arrays begin with the header */
    mem_free(c->header ? c->lines - 1 : c->lines);
    mem_free(c->name);
    *c = (struct csv){0};
}

/* Is a heading that name, in one line with its control characters visible? */
static bool shown_as(const char *heading, const char *name) {
    struct buf shown = BUF_INIT;
    buf_line(&shown, heading);
    bool same = strcmp(shown.data, name) == 0;
    buf_release(&shown);
    return same;
}

static bool alike(const char *heading, const char *name) {
    return !ascii_casecmp(heading, name);
}

static bool contains(const char *text, const char *part) {
    size_t n = strlen(part);
    for (; n > 1 && *text; text++)
        if (!ascii_ncasecmp(text, part, n)) return true;
    return false;
}

/* The one column whose heading is so to the name; -1: none, or several. */
static int only_column(const struct csv *c, const char *name,
                       bool (*so)(const char *heading, const char *name)) {
    int found = -1;
    for (int j = 0; c->header && j < c->n_cols; j++)
        if (so(c->header[j], name)) found = found == -1 ? j : -2;
    return found >= 0 ? found : -1;
}

int csv_column(const struct csv *c, const char *name) {
    for (int j = 0; c->header && j < c->n_cols; j++)
        if (strcmp(c->header[j], name) == 0) return j;
    return only_column(c, name, shown_as);
}

static bool names_rows(const char *name) {
    static const char *const names[] = {"",  "id",  "index",    "idx",    "nr",        "no",
                                        "#", "row", "rownames", "number", "unnamed: 0"};
    size_t n = strlen(name);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!ascii_casecmp(name, names[i])) return true;
    if (n < 3 || ascii_casecmp(name + n - 2, "id")) return false;
    char before = name[n - 3]; /* customer_id, PassengerId, userID; not humid */
    return !ascii_alpha(before) || (before != ascii_upper(before) && name[n - 2] == 'I');
}

bool csv_counts_rows(const struct csv *c, int col) {
    bool named = c->header && names_rows(c->header[col]);
    double v, first = 0;
    for (size_t i = 0; i < c->n_rows && named; i++) {
        const char *cell = csv_text(c, i, col);
        named = number_parse(cell, strlen(cell), &v);
        if (!i) first = v;
        named &= v == first + (double)i;
    }
    return named;
}

int csv_column_of(const struct csv *c, const char *const *names) {
    for (; c->header && *names; names++)
        for (int j = 0; j < c->n_cols; j++)
            if (!ascii_casecmp(c->header[j], *names)) return j;
    return -1;
}

/* The column that was probably meant; -1: none, or several. */
static int csv_near(const struct csv *c, const char *name) {
    const char *near = suggest_nearest(name, c->header, (size_t)c->n_cols);
    return near ? csv_column(c, near) : only_column(c, name, contains);
}

enum gpm_status csv_find(const struct csv *c, const char *name, int *col, struct buf *err) {
    char *end;
    int j = csv_column(c, name);
    long k = strtol(name, &end, 10);
    if (j < 0) j = only_column(c, name, alike);
    if (j < 0 && end != name && *end == 0 && k >= 1 && k <= c->n_cols) j = (int)k - 1;
    if (j >= 0) {
        *col = j;
        return GPM_OK;
    }
    buf_printf(err, "%s: there is no column '%s'; ", c->name, name);
    if (!c->header)
        return buf_fail(err, GPM_E_NOT_FOUND,
                        "the file has no header, name columns by number 1..%d", c->n_cols);
    int near = csv_near(c, name);
    if (near >= 0) buf_printf(err, "did you mean '%s'? ", c->header[near]);
    buf_puts(err, near >= 0 ? "Columns are " : "columns are ");
    for (int i = 0; i < c->n_cols && i < 20; i++) {
        buf_puts(err, i ? ", " : "");
        buf_line(err, c->header[i]);
    }
    if (c->n_cols > 20) buf_puts(err, ", ...");
    return GPM_E_NOT_FOUND;
}

static bool is_listed(const char *cell, const char *codes) {
    for (const char *p = codes; p && *p;) {
        size_t n = strcspn(p, ",");
        if (strlen(cell) == n && !strncmp(cell, p, n)) return true;
        p += n + (p[n] == ',');
    }
    return false;
}

bool csv_missing_as(const struct csv *c, size_t row, int col, const char *codes) {
    return is_listed(csv_text(c, row, col), codes) || csv_is_missing(csv_text(c, row, col));
}

bool csv_is_none(const char *cell, const char *codes) {
    return !ascii_casecmp(cell, "none") && !is_listed(cell, codes);
}

void csv_put(struct buf *out, const char *text) {
    bool quote = text[0] == ' ' || text[0] == '#' || strpbrk(text, ",;\t\"\r\n");
    if (quote) buf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"') buf_putc(out, '"');
        buf_putc(out, *text);
    }
    if (quote) buf_putc(out, '"');
}
