/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a command line by a command's option table and prints that table as help. Accepts
 * --name VALUE, --name=VALUE, -x VALUE, -xVALUE and grouped flags (-qv); `--` ends the options.
 */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct voice voice;

static const struct option_row common[] = {
    {"quiet", 'q', OPTION_COUNT, NULL, "say nothing but results and errors", &voice.quiet},
    {"verbose", 'v', OPTION_COUNT, NULL, "explain what is done", &voice.verbose},
    {"help", 'h', OPTION_FLAG, NULL, "show this help", &voice.help},
};

static void say(const char *fmt, va_list ap) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "gpmem: ");
    buf_vprintf(&b, fmt, ap);
    buf_putc(&b, '\n');
    err_text(b.data, b.len);
    buf_release(&b);
}

int complain(int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    return status;
}

void explain(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (voice.verbose) say(fmt, ap);
    va_end(ap);
}

void name_list_add(void *list, const char *name) {
    vec_push((struct name_list *)list, mem_strdup(name));
}

void name_list_release(struct name_list *l) {
    for (size_t i = 0; i < l->n; i++) mem_free(l->at[i]);
    vec_release(l);
}

static bool parse_real(const char *text, char **end, double *out) {
    errno = 0;
    *out = number_read(text, end);
    return *end != text && errno == 0 && isfinite(*out);
}

static bool parse_bytes(const char *text, size_t *out) {
    char *end;
    if (!ascii_digit(text[0])) return false;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    if (errno) return false;
    static const char units[] = "KMGT";
    const char *u = *end ? strchr(units, ascii_upper(*end)) : NULL;
    unsigned shift = u ? 10 * (unsigned)(u - units + 1) : 0;
    if (u) end++;
    if (u && *end == 'i') end++;
    if (*end == 'B' || *end == 'b') end++;
    if (*end || (shift && n >> (64 - shift)) || n << shift > SIZE_MAX) return false;
    *out = (size_t)(n << shift);
    return true;
}

static bool parse_time(const char *text, double *out) {
    char *end;
    if (!parse_real(text, &end, out) || *out < 0) return false;
    double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
    if (*end == 's' || *end == 'm' || *end == 'h') end++;
    *out *= unit;
    return *end == 0 && *out <= 1e9;
}

/* Index of `text` among the words of "a|b|c", or -1. */
static int choice_index(const char *words, const char *text) {
    size_t len = strlen(text);
    for (int i = 0;; i++) {
        size_t n = strcspn(words, "|");
        if (n == len && memcmp(words, text, n) == 0) return i;
        if (!words[n]) return -1;
        words += n + 1;
    }
}

/* What a value should have been; other kinds take any text, or say so themselves. */
static const char *const wanted[] = {
    [OPTION_REAL] = "a number",
    [OPTION_TIME] = "a time such as 90, 5m or 2h, up to 30 years",
    [OPTION_BYTES] = "a size such as 1000, 64K or 2G",
};

static bool store_count(const struct option_row *o, const char *text) {
    uint64_t n;
    enum count_of range = option_range(o->kind);
    enum option_kind kind = option_kind(o->kind);
    if (!count_read(range, text, &n)) {
        struct buf want = BUF_INIT;
        count_put_range(range, &want);
        complain(0, "--%s wants %s, not '%s'", o->name, want.data, text);
        buf_release(&want);
        return false;
    }
    if (kind == OPTION_UINT)
        *(uint64_t *)o->field = n;
    else if (kind == OPTION_SIZE)
        *(size_t *)o->field = n < SIZE_MAX ? (size_t)n : SIZE_MAX;
    else
        *(int *)o->field = (int)n;
    return true;
}

static bool store_value(const struct option_row *o, const char *text) {
    char *end;
    void *field = o->field;
    bool good = true;
    int choice = 0;
    switch (option_kind(o->kind)) {
    case OPTION_FLAG: *(bool *)field = true; break;
    case OPTION_COUNT: ++*(int *)field; break;
    case OPTION_UINT:
    case OPTION_SIZE:
    case OPTION_SMALL: return store_count(o, text);
    case OPTION_REAL: good = parse_real(text, &end, field) && !*end; break;
    case OPTION_TIME: good = parse_time(text, field); break;
    case OPTION_BYTES: good = parse_bytes(text, field); break;
    case OPTION_TEXT: *(const char **)field = text; break;
    case OPTION_CHOICE:
        choice = choice_index(o->arg, text);
        if (choice < 0)
            return complain(false, "--%s wants one of %s, not '%s'", o->name, o->arg, text);
        *(int *)field = choice;
        break;
    case OPTION_LIST: vec_push((struct text_list *)field, text); break;
    case OPTION_GROUP: break;
    }
    return good || complain(false, "--%s wants %s, not '%s'", o->name, wanted[o->kind], text);
}

static void add_options(struct option_list *l, const struct option_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct option_group *group = rows[i].field;
        if (rows[i].kind == OPTION_GROUP)
            add_options(l, group->rows, group->n);
        else if (l->n < COUNT_OF(l->at))
            l->at[l->n++] = &rows[i];
        else
            abort();
    }
}

struct option_list command_options(const struct command *c) {
    struct option_list l = {.n = 0};
    add_options(&l, c->row->options, c->row->n_options);
    l.own = l.n;
    add_options(&l, common, COUNT_OF(common));
    return l;
}

/* What stands behind "gpmem" on its command line: "" or " NAME". */
static const char *spaced_name(const struct command *c) {
    static char text[64];
    snprintf(text, sizeof text, c == &command_prompt ? "" : " %s", c->name);
    return text;
}

struct reader {
    const struct command *c;
    struct option_list options;
    int argc, i;
    char **argv;
};

/* By its letter, or when that is 0 by its name. */
static const struct option_row *find_option(const struct reader *r, char letter, const char *name,
                                            size_t len) {
    for (size_t i = 0; i < r->options.n; i++) {
        const struct option_row *o = r->options.at[i];
        bool named = strlen(o->name) == len && memcmp(o->name, name, len) == 0;
        if (letter ? o->letter == letter : named) return o;
    }
    return NULL;
}

/* What different people and programs call the same; the commands here have one of each. */
static const char *const alike[][10] = {
    {"y", "column", "target", "outcome", "response", "dependent", "value", "values", "label"},
    {"x", "with", "inputs", "features", "predictors", "regressors", "xreg", "columns"},
    {"time", "date", "ds", "timestamp", "index", "date-column", "time-column"},
    {"by", "group", "group-by", "groupby", "id", "panel"},
    {"take", "aggregate", "agg", "resample", "sum"},
    {"every", "freq", "frequency", "step", "interval"},
    {"horizon", "ahead", "steps", "forecast", "periods", "n-ahead"},
    {"html", "report", "page"},
    {"format", "html", "json", "markdown", "text"},
    {"out", "output", "save", "dir", "outdir"},
    {"budget", "evaluations", "evals", "trials", "iterations", "n-trials", "max-evals", "calls"},
    {"var", "param", "parameter", "variable", "space", "bounds", "range"},
    {"maximize", "maximise", "max", "maximum"},
    {"jobs", "threads", "workers", "cores", "parallel", "n-jobs", "cpus"},
    {"max-time", "timeout", "time-limit", "limit", "seconds"},
    {"seed", "random-state", "random-seed", "rng"},
    {"level", "confidence", "interval", "alpha", "coverage"},
    {"missing", "na", "na-values", "nan"},
    {"date-format", "format", "time-format", "dateformat"},
    {"holdout", "test", "test-size", "split", "validation"},
    {"backtest", "cv", "cross-validation", "folds"},
    {"max-points", "max-rows", "last", "tail", "limit-rows"},
    {"skip-bad", "ignore-errors", "on-bad-lines"},
    {"kernels", "kernel", "components"},
    {"store", "db", "database", "storage", "cache"},
    {"start", "guess", "init", "initial", "x0"},
    {"family", "likelihood", "link", "distribution"},
};

/* The command's own word for one that others have. */
static const char *own_word(const char *word, const char *const *names, size_t n) {
    for (size_t i = 0; i < COUNT_OF(alike); i++) {
        bool here = false;
        for (size_t k = 0; k < COUNT_OF(alike[i]) && alike[i][k]; k++)
            here |= !strcmp(alike[i][k], word);
        for (size_t k = 0; here && k < COUNT_OF(alike[i]) && alike[i][k]; k++)
            for (size_t j = 0; j < n; j++)
                if (!strcmp(alike[i][k], names[j])) return names[j];
    }
    return NULL;
}

static bool complain_unknown(const struct reader *r, const char *name, size_t len) {
    const char *names[COUNT_OF(r->options.at)], *command = spaced_name(r->c);
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)len, name);
    for (size_t i = 0; i < r->options.n; i++) names[i] = r->options.at[i]->name;
    const char *near = own_word(word, names, r->options.n);
    if (!near) near = suggest_nearest(word, names, r->options.n);
    if (!strcmp(word, "sep") || !strcmp(word, "separator") || !strcmp(word, "delimiter"))
        return complain(false, "gpmem%s has no option --%s: separators of tables are found",
                        command, word);
    if (near)
        return complain(false, "gpmem%s has no option --%s; did you mean --%s?", command, word,
                        near);
    return complain(false, "gpmem%s has no option --%s; `gpmem%s --help` lists them", command, word,
                    command);
}

static bool read_value(struct reader *r, const struct option_row *o, const char *value) {
    if (option_has_argument(o) && !value) {
        if (r->i + 1 >= r->argc)
            return complain(false, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
        value = r->argv[++r->i];
    }
    return store_value(o, value);
}

static bool read_long(struct reader *r, const char *word) {
    size_t len = strcspn(word, "=");
    const struct option_row *o = find_option(r, 0, word, len);
    if (!o) return complain_unknown(r, word, len);
    if (word[len] && !option_has_argument(o))
        return complain(false, "--%s takes no value", o->name);
    return read_value(r, o, word[len] ? word + len + 1 : NULL);
}

static bool read_letters(struct reader *r, const char *letters) {
    for (; *letters; letters++) {
        const struct option_row *o = find_option(r, *letters, "", 0);
        if (!o)
            return complain(false, "there is no option -%c; `gpmem%s --help` lists them", *letters,
                            spaced_name(r->c));
        if (option_has_argument(o)) return read_value(r, o, letters[1] ? letters + 1 : NULL);
        if (!read_value(r, o, NULL)) return false;
    }
    return true;
}

/* No option has a digit for its letter, so -3.5 and -.5 are numbers wherever they stand. */
static bool is_negative_number(const char *word) {
    return word[0] == '-' && ascii_digit(word[1] == '.' ? word[2] : word[1]);
}

/* Positional arguments are moved to the front of argv + 1 and counted; -1: bad usage, said on
 * stderr. */
static int parse_options(struct reader *r) {
    int kept = 0;
    for (r->i = 1; r->i < r->argc; r->i++) {
        char *word = r->argv[r->i];
        if (strcmp(word, "--") == 0) {
            for (r->i++; r->i < r->argc; r->i++) r->argv[++kept] = r->argv[r->i];
            break;
        }
        if (word[0] != '-' || !word[1] || is_negative_number(word)) {
            r->argv[++kept] = word;
        } else if (!(word[1] == '-' ? read_long(r, word + 2) : read_letters(r, word + 1))) {
            return -1;
        }
    }
    return kept;
}

static void print_option(const struct option_row *o) {
    char left[80];
    char letter[8] = "    ";
    bool arg = option_has_argument(o);
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, arg ? " " : "", arg ? o->arg : "");
    out_printf(strlen(left) > 27 ? "  %s\n%31s" : "  %-28s %.0s", left, "");
    out_printf("%s\n", o->help);
}

/* Text with lines broken at blanks before column 96; breaks that are there stay. */
static void print_wrapped(const char *text) {
    size_t column = 0;
    while (*text) {
        size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " \n");
        if (word == 0 && text[blanks] == '\n') {
            out_text("\n");
            column = 0;
            text += blanks + 1;
            continue;
        }
        if (column > 0 && column + blanks + word > 96) {
            out_text("\n");
            text += blanks;
            blanks = column = 0;
        }
        out_printf("%.*s", (int)(blanks + word), text);
        column += blanks + word;
        text += blanks + word;
    }
    out_text("\n");
}

void command_print_help(const struct command *c) {
    struct option_list l = command_options(c);
    out_printf("Usage: gpmem%s [OPTIONS]%s%s\n\n%s.\n", spaced_name(c), *c->row->args ? " " : "",
               c->row->args, c->row->summary);
    if (c->row->text) {
        out_text("\n");
        print_wrapped(c->row->text);
    }
    out_printf("\nOptions:\n");
    for (size_t i = 0; i < l.n; i++) print_option(l.at[i]);
}

/* --help anywhere before `--` wins over every other option. */
static bool help_wanted(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

static bool has_device_option(const struct option_list *l) {
    for (size_t i = 0; i < l->own; i++)
        if (l->at[i] == &device_options.rows[0]) return true;
    return false;
}

int command_main(const struct command *c, int argc, char **argv) {
    if (help_wanted(argc, argv)) {
        command_print_help(c);
        return out_finish(EXIT_FINE);
    }
    struct reader r = {c, command_options(c), argc, 0, argv};
    int n = parse_options(&r), status = EXIT_USAGE;
    bool few = n < c->row->takes[0], many = c->row->takes[1] >= 0 && n > c->row->takes[1];
    if (n >= 0 && (few || many)) {
        complain(0, "usage: gpmem%s [OPTIONS] %s", spaced_name(c), c->row->args);
        complain(0, "%s; see `gpmem%s --help`",
                 few ? "an argument is missing" : "there are too many arguments", spaced_name(c));
    } else if (n >= 0) {
        double start = clock_seconds();
        explain("version %s, %s%s%s", gpm_version(), c == &command_prompt ? "the prompt" : c->name,
                n ? " of " : "", n ? argv[1] : "");
        status = has_device_option(&r.options) ? device_choose() : EXIT_FINE;
        if (status == EXIT_FINE) status = c->row->run(n, argv + 1);
        explain("%.3f s, exit status %d", clock_seconds() - start, status);
    }
    return out_finish(status);
}
