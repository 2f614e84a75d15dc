/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a command line by a command's option table and prints that table as help. Accepts
 * --name VALUE, --name=VALUE, -x VALUE, -xVALUE and grouped flags (-qv); `--` ends the options.
 */
#include "cli/command.h"
#include "base/buf.h"
#include "base/number.h"
#include "cli/out.h"
#include "cli/progress_line.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the command line asked for; written once, before the command runs. */
static struct voice {
    int quiet, verbose;
    bool help;
} voice;

static const struct option_row common[] = {
    {"quiet", 'q', OPTION_COUNT, NULL, "say nothing but results and errors",
     offsetof(struct voice, quiet)},
    {"verbose", 'v', OPTION_COUNT, NULL, "explain what is done", offsetof(struct voice, verbose)},
    {"help", 'h', OPTION_FLAG, NULL, "show this help", offsetof(struct voice, help)},
};
enum { N_COMMON = sizeof common / sizeof common[0] };

const struct option_row *common_options(size_t *n) {
    *n = N_COMMON;
    return common;
}

bool voice_quiet(void) {
    return voice.quiet > 0;
}

int voice_verbose(void) {
    return voice.verbose;
}

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

/* Edit distance with transpositions (optimal string alignment) over lower-cased words; words
 * longer than 63 bytes are cut. */
static int edit_distance(const char *a, const char *b) {
    int d[64][64];
    int n = (int)strnlen(a, 63), m = (int)strnlen(b, 63);
    for (int i = 0; i <= n; i++) d[i][0] = i;
    for (int j = 0; j <= m; j++) d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            int best = d[i - 1][j - 1] + (x != y);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]) && d[i - 2][j - 2] + 1 < best) {
                best = d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char *nearest_word(const char *word, const char *const *words, size_t n) {
    const char *best = NULL;
    int best_d = (int)strlen(word) / 3 + 1; /* "near": a third of the letters, at least one */
    for (size_t i = 0; i < n; i++) {
        int d = edit_distance(word, words[i]);
        if (d <= best_d && (!best || d < best_d)) {
            best = words[i];
            best_d = d;
        }
    }
    return best;
}

static bool has_argument(const struct option_row *o) {
    return o->kind != OPTION_FLAG && o->kind != OPTION_COUNT;
}

static bool parse_uint(const char *text, const char **end, uint64_t *out) {
    if (!isdigit((unsigned char)text[0])) return false;
    char *stop;
    errno = 0;
    *out = strtoull(text, &stop, 10);
    *end = stop;
    return errno == 0;
}

static bool parse_real(const char *text, const char **end, double *out) {
    char *stop;
    errno = 0;
    *out = number_read(text, &stop);
    *end = stop;
    return stop != text && errno == 0 && isfinite(*out);
}

static bool parse_bytes(const char *text, uint64_t *out) {
    const char *end;
    if (!parse_uint(text, &end, out)) return false;
    static const char units[] = "KMGT";
    const char *u = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    unsigned shift = u ? 10 * (unsigned)(u - units + 1) : 0;
    if (u) end++;
    if (u && *end == 'i') end++;
    if (*end == 'B' || *end == 'b') end++;
    if (*end || (shift && *out >> (64 - shift))) return false;
    *out <<= shift;
    return true;
}

static bool parse_time(const char *text, double *out) {
    const char *end;
    if (!parse_real(text, &end, out) || *out < 0) return false;
    double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
    if (*end == 's' || *end == 'm' || *end == 'h') end++;
    *out *= unit;
    return *end == 0;
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

static const char *wanted_text(enum option_kind kind) {
    switch (kind) {
    case OPTION_UINT: return "a whole number, 0 or more";
    case OPTION_REAL: return "a number";
    case OPTION_TIME: return "a time such as 90, 5m or 2h";
    case OPTION_BYTES: return "a size such as 1000, 64K or 2G";
    default: return "another value";
    }
}

static bool store_value(const struct option_row *o, const char *text, void *field) {
    const char *end = "";
    bool good = true;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)field = true; break;
    case OPTION_COUNT: ++*(int *)field; break;
    case OPTION_UINT: good = parse_uint(text, &end, field) && !*end; break;
    case OPTION_REAL: good = parse_real(text, &end, field) && !*end; break;
    case OPTION_TIME: good = parse_time(text, field); break;
    case OPTION_BYTES: good = parse_bytes(text, field); break;
    case OPTION_TEXT: *(const char **)field = text; break;
    case OPTION_CHOICE:
        *(int *)field = choice_index(o->arg, text);
        if (*(int *)field < 0) {
            complain(0, "--%s wants one of %s, not '%s'", o->name, o->arg, text);
            return false;
        }
        break;
    case OPTION_LIST: {
        struct text_list *l = field;
        const char **more = realloc(l->at, (l->n + 1) * sizeof *more);
        if (!more) {
            complain(0, "out of memory");
            return false;
        }
        l->at = more;
        l->at[l->n++] = text;
        break;
    }
    }
    if (!good) complain(0, "--%s wants %s, not '%s'", o->name, wanted_text(o->kind), text);
    return good;
}

/* The options of a command: its own, then the common ones; NULL after the last. */
static const struct option_row *option_at(const struct command *c, size_t i) {
    if (i < c->n_options) return &c->options[i];
    return i - c->n_options < N_COMMON ? &common[i - c->n_options] : NULL;
}

static const struct option_row *find_long(const struct command *c, const char *name, size_t len) {
    const struct option_row *o;
    for (size_t i = 0; (o = option_at(c, i)); i++) {
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0) return o;
    }
    return NULL;
}

static const struct option_row *find_letter(const struct command *c, char letter) {
    const struct option_row *o;
    for (size_t i = 0; (o = option_at(c, i)); i++) {
        if (o->letter == letter) return o;
    }
    return NULL;
}

static void complain_unknown(const struct command *c, const char *name, size_t len) {
    const char *names[128];
    size_t n = 0;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)len, name);
    for (size_t i = 0; n < 128 && option_at(c, i); i++) names[n++] = option_at(c, i)->name;
    const char *near = nearest_word(word, names, n);
    bool prompt = c == &command_prompt;
    const char *name_shown = prompt ? "" : c->name, *space = prompt ? "" : " ";
    if (near) {
        complain(0, "gpmem%s%s has no option --%s; did you mean --%s?", space, name_shown, word,
                 near);
    } else {
        complain(0, "gpmem%s%s has no option --%s; `gpmem%s%s --help` lists them", space,
                 name_shown, word, space, name_shown);
    }
}

struct reader {
    const struct command *c;
    int argc, i;
    char **argv;
    char *opts;
};

static bool read_value(struct reader *r, const struct option_row *o, const char *inline_value) {
    const char *value = inline_value;
    if (has_argument(o) && !value) {
        if (r->i + 1 >= r->argc) {
            complain(0, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
            return false;
        }
        value = r->argv[++r->i];
    }
    bool own = o < common || o >= common + N_COMMON;
    return store_value(o, value, (own ? r->opts : (char *)&voice) + o->offset);
}

static bool read_long(struct reader *r, const char *word) {
    size_t len = strcspn(word, "=");
    const struct option_row *o = find_long(r->c, word, len);
    if (!o) {
        complain_unknown(r->c, word, len);
        return false;
    }
    if (word[len] && !has_argument(o)) {
        complain(0, "--%s takes no value", o->name);
        return false;
    }
    return read_value(r, o, word[len] ? word + len + 1 : NULL);
}

static bool read_letters(struct reader *r, const char *letters) {
    for (; *letters; letters++) {
        const struct option_row *o = find_letter(r->c, *letters);
        if (!o) {
            complain(0, "there is no option -%c; `gpmem%s%s --help` lists them", *letters,
                     r->c == &command_prompt ? "" : " ", r->c == &command_prompt ? "" : r->c->name);
            return false;
        }
        if (!has_argument(o)) {
            if (!read_value(r, o, NULL)) return false;
            continue;
        }
        return read_value(r, o, letters[1] ? letters + 1 : NULL);
    }
    return true;
}

/* No option has a digit for its letter, so -3.5 and -.5 are numbers wherever they stand. */
static bool is_negative_number(const char *word) {
    return word[0] == '-' && isdigit((unsigned char)(word[1] == '.' ? word[2] : word[1]));
}

bool options_parse(const struct command *c, int argc, char **argv, void *opts, int *n_args) {
    struct reader r = {c, argc, 1, argv, opts};
    int kept = 0;
    for (; r.i < argc; r.i++) {
        char *word = argv[r.i];
        if (strcmp(word, "--") == 0) {
            for (r.i++; r.i < argc; r.i++) argv[++kept] = argv[r.i];
            break;
        }
        if (word[0] != '-' || !word[1] || is_negative_number(word)) {
            argv[++kept] = word;
        } else if (!(word[1] == '-' ? read_long(&r, word + 2) : read_letters(&r, word + 1))) {
            return false;
        }
    }
    *n_args = kept;
    return true;
}

static void print_option(const struct option_row *o) {
    char left[80];
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, has_argument(o) ? " " : "",
             has_argument(o) ? o->arg : "");
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
    bool prompt = c == &command_prompt;
    out_printf("Usage: gpmem%s%s [OPTIONS]%s%s\n\n%s.\n", prompt ? "" : " ", prompt ? "" : c->name,
               c->args && *c->args ? " " : "", c->args ? c->args : "", c->summary);
    if (c->text) {
        out_text("\n");
        print_wrapped(c->text);
    }
    out_printf("\nOptions:\n");
    for (size_t i = 0; option_at(c, i); i++) print_option(option_at(c, i));
}

/* --help anywhere before `--` wins over every other option. */
static bool help_wanted(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

/* Under -v: what was asked for, and how it ended. */
static int run_explained(const struct command *c, const void *opts, int n, char **argv) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    explain("version %s, %s%s%s", gpm_version(), c == &command_prompt ? "the prompt" : c->name,
            n ? " of " : "", n ? argv[0] : "");
    int status = c->run(opts, n, argv);
    clock_gettime(CLOCK_MONOTONIC, &b);
    explain("%.3f s, exit status %d",
            (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec), status);
    return status;
}

static void options_free(const struct command *c, char *opts) {
    for (size_t i = 0; i < c->n_options; i++)
        if (c->options[i].kind == OPTION_LIST)
            free(((struct text_list *)(void *)(opts + c->options[i].offset))->at);
    free(opts);
}

int command_main(const struct command *c, int argc, char **argv) {
    if (help_wanted(argc, argv)) {
        command_print_help(c);
        return out_finish(EXIT_FINE);
    }
    void *opts = calloc(1, c->size ? c->size : 1);
    if (!opts) return complain(EXIT_FAILED, "out of memory");
    if (c->init) c->init(opts);
    int n = 0, status = EXIT_USAGE;
    const char *space = c == &command_prompt ? "" : " ";
    const char *name = c == &command_prompt ? "" : c->name;
    if (options_parse(c, argc, argv, opts, &n)) {
        if (n < c->min_args || (c->max_args >= 0 && n > c->max_args)) {
            complain(0, "usage: gpmem%s%s [OPTIONS] %s", space, name, c->args ? c->args : "");
            complain(0, "%s; see `gpmem%s%s --help`",
                     n < c->min_args ? "an argument is missing" : "there are too many arguments",
                     space, name);
        } else {
            status = run_explained(c, opts, n, argv + 1);
        }
    }
    options_free(c, opts);
    return out_finish(status);
}
