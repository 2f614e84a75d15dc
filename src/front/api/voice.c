/* SPDX-License-Identifier: Apache-2.0
 * Options as the caller's language names them (voice.h). */
#include "front/api/voice.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "gpmem/gpmem.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum kind { TEXT, NUMBER, FLAG };

/* Names are the tool's with _ for - where a column is NULL. `words`: values that are words, between
 * blanks; other values look like one (a number, a quoted text, CAPITALS). */
static const struct option {
    const char *name;
    enum kind kind;
    const char *python, *r, *words;
} table[] = {
    {"acquisition", TEXT, NULL, NULL, " auto thompson ei ucb "},
    {"allow-run", FLAG, NULL, NULL, NULL},
    {"allow-write", FLAG, NULL, NULL, NULL},
    {"at", TEXT, "predict()", "newdata", NULL},
    {"at-file", TEXT, "X", "newdata", NULL},
    {"backtest", NUMBER, NULL, NULL, NULL},
    {"budget", NUMBER, NULL, NULL, NULL},
    {"by", TEXT, NULL, NULL, NULL},
    {"changepoints", FLAG, NULL, NULL, NULL},
    {"collect", TEXT, NULL, NULL, NULL},
    {"column", TEXT, NULL, "value", NULL},
    {"constraint", TEXT, "constraints", "constraints", NULL},
    {"data", TEXT, NULL, NULL, NULL},
    {"date-format", TEXT, NULL, NULL, " number unix unix-ms "},
    {"decimal", TEXT, NULL, NULL, " auto point comma "},
    {"every", TEXT, NULL, NULL, " none "},
    {"family", TEXT, NULL, NULL, " auto normal bernoulli poisson negative_binomial "},
    {"from", TEXT, NULL, NULL, NULL},
    {"holdout", NUMBER, NULL, NULL, NULL},
    {"holidays", TEXT, NULL, NULL, NULL},
    {"horizon", NUMBER, NULL, NULL, NULL},
    {"initial", NUMBER, NULL, NULL, NULL},
    {"independent", FLAG, NULL, NULL, NULL},
    {"jobs", NUMBER, NULL, NULL, NULL},
    {"kernel", TEXT, NULL, NULL, NULL},
    {"kernels", TEXT, NULL, NULL, NULL},
    {"level", NUMBER, NULL, NULL, NULL},
    {"log", TEXT, NULL, NULL, " auto never always "},
    {"max", NUMBER, "most", "most", NULL},
    {"max-points", NUMBER, NULL, NULL, NULL},
    {"max-rows", NUMBER, NULL, NULL, NULL},
    {"max-time", NUMBER, "max_seconds", "max_seconds", NULL},
    {"maximize", FLAG, NULL, NULL, NULL},
    {"min", NUMBER, "least", "least", NULL},
    {"missing", TEXT, NULL, NULL, NULL},
    {"noise", TEXT, NULL, NULL, " auto normal robust "},
    {"noisy", FLAG, NULL, NULL, NULL},
    {"objective", TEXT, "objectives", "objectives", NULL},
    {"paths", NUMBER, NULL, NULL, NULL},
    {"per-day", FLAG, NULL, NULL, NULL},
    {"retries", NUMBER, NULL, NULL, NULL},
    {"rough", FLAG, NULL, NULL, NULL},
    {"seed", NUMBER, NULL, NULL, NULL},
    {"skip-bad", FLAG, NULL, NULL, NULL},
    {"smooth", TEXT, NULL, NULL, NULL},
    {"start", TEXT, NULL, NULL, NULL},
    {"store", TEXT, NULL, NULL, NULL},
    {"take", TEXT, NULL, NULL, " auto mean total count median last min max "},
    {"target", NUMBER, NULL, NULL, NULL},
    {"threads", NUMBER, NULL, NULL, NULL},
    {"time", TEXT, NULL, NULL, NULL},
    {"top", NUMBER, NULL, NULL, NULL},
    {"var", TEXT, "space", "space", NULL},
    {"with", TEXT, "with_columns", NULL, NULL},
    {"x", TEXT, NULL, "inputs", NULL},
    {"y", TEXT, NULL, NULL, NULL},
};

static atomic_int voice = GPM_VOICE_TOOL;

void gpm_voice(enum gpm_voice_of as) {
    atomic_store(&voice, (int)as);
}

static bool is_lower(char c) {
    return ascii_alpha(c) && c == ascii_lower(c);
}

static bool is_upper(char c) {
    return ascii_alpha(c) && c == ascii_upper(c);
}

static size_t name_length(const char *s) {
    size_t n = 0;
    while (is_lower(s[n]) || (n && s[n] == '-' && is_lower(s[n + 1]))) n++;
    return n;
}

static const struct option *option_at(const char *text, const char *s) {
    if (s[0] != '-' || s[1] != '-') return NULL;
    if (s > text && (ascii_alnum(s[-1]) || s[-1] == '-' || s[-1] == '_')) return NULL;
    size_t n = name_length(s + 2);
    for (size_t i = 0; n && i < COUNT_OF(table); i++)
        if (strlen(table[i].name) == n && !memcmp(table[i].name, s + 2, n)) return &table[i];
    return NULL;
}

/* Length of the value at s; 0 if there is no value. */
static size_t value_length(const struct option *o, const char *s) {
    size_t n = 0;
    if (o->kind == FLAG) return 0;
    if (*s == '\'') {
        const char *end = strchr(s + 1, '\'');
        return end ? (size_t)(end - s) + 1 : 0;
    }
    while (s[n] && !strchr(" \t\n;:)\"'`<", s[n]) &&
           !(strchr(".,", s[n]) && (!s[n + 1] || strchr(" \n\"", s[n + 1]))))
        n++;
    if (ascii_digit(s[0]) || (s[0] == '-' && ascii_digit(s[1]))) return n;
    if (n > 1 && is_upper(s[0]) && is_upper(s[1])) return n;
    for (const char *w = o->words; n && w && (w = strstr(w, " ")) && w[1]; w++)
        if (!strncmp(w + 1, s, n) && w[n + 1] == ' ') return n;
    return 0;
}

static void put_name(const struct option *o, int as, struct buf *out) {
    const char *own = as == GPM_VOICE_R ? o->r : o->python;
    for (const char *s = own ? own : o->name; *s; s++) buf_putc(out, *s == '-' ? '_' : *s);
}

/* "--min 0" at s; returns its length. Values that are words or codes become texts, in the quotes
 * that JSON and pages leave as they are. */
static size_t put_argument(const struct option *o, const char *s, int as, struct buf *out) {
    size_t at = 2 + strlen(o->name);
    put_name(o, as, out);
    if (o->kind == FLAG) {
        buf_puts(out, as == GPM_VOICE_R ? "=TRUE" : "=True");
        return at;
    }
    size_t n = s[at] == ' ' || s[at] == '=' ? value_length(o, s + at + 1) : 0;
    if (!n) return at;
    const char *value = s + at + 1;
    bool quote = o->kind == TEXT && *value != '\'' && !is_upper(*value);
    buf_puts(out, quote ? "='" : "=");
    buf_add(out, value, n);
    if (quote) buf_putc(out, '\'');
    at += 1 + n;
    if (s[at] == ' ' && option_at(s, s + at + 1)) buf_putc(out, ','); /* the next argument */
    return at;
}

const char *voice_text(struct buf *b) {
    int as = atomic_load(&voice);
    if (as == GPM_VOICE_TOOL || !strstr(b->data, "--")) return b->data;
    struct buf out = BUF_INIT;
    for (const char *s = b->data; *s;) {
        const char *end = strncmp(s, "`gpmem ", 7) ? NULL : strchr(s + 1, '`');
        const struct option *o = end ? NULL : option_at(b->data, s);
        size_t n = end ? (size_t)(end - s) + 1 : 1;
        if (o)
            n = put_argument(o, s, as, &out);
        else
            buf_add(&out, s, n);
        s += n;
    }
    buf_release(b);
    *b = out;
    return b->data;
}

const char *voice_error(struct buf *b) {
    struct buf out = BUF_INIT;
    buf_visible(&out, b->data, b->len);
    if (out.len == b->len) {
        buf_release(&out);
    } else {
        buf_release(b);
        *b = out;
    }
    return voice_text(b);
}
