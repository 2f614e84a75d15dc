/* SPDX-License-Identifier: Apache-2.0
 * What a program printed, as numbers with names; see process.h. */
#include "base/ascii.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/host/process.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static int index_of(const struct proc_outputs *o, const char *name, size_t n) {
    for (int i = 0; i < o->n; i++)
        if (strlen(o->names[i]) == n && memcmp(o->names[i], name, n) == 0) return i;
    return -1;
}

void proc_outputs_name(struct proc_outputs *o, const char *name, size_t n) {
    if (index_of(o, name, n) >= 0) return;
    o->names = mem_realloc(o->names, sizeof *o->names * ((size_t)o->n + 1));
    o->names[o->n++] = mem_strndup(name, n);
}

void proc_outputs_release(struct proc_outputs *o) {
    for (int i = 0; i < o->n; i++) mem_free(o->names[i]);
    for (int i = 0; i < o->n_patterns; i++) mem_free(o->patterns[i]);
    mem_free(o->names);
    mem_free(o->patterns);
    *o = (struct proc_outputs){0};
}

/* The next {name} or {} from p on, or NULL. Unlike the arguments of a command (proc_command.c) a
 * pattern has slots without a name, and no doubled brackets. */
static const char *next_slot(const char *p, size_t *len) {
    for (; (p = strchr(p, '{')); p++) {
        size_t n = 0;
        while (ascii_name(p[1 + n])) n++;
        if (p[1 + n] != '}') continue;
        *len = n;
        return p;
    }
    return NULL;
}

enum gpm_status proc_outputs_pattern(struct proc_outputs *o, const char *pattern, struct buf *err) {
    size_t len;
    const char *p = next_slot(pattern, &len);
    if (!p || p == pattern)
        return buf_fail(err, GPM_E_ARG,
                        "the pattern '%s' needs a text and {} or {name} after it, where the number "
                        "stands, for example 'loss: {}'",
                        pattern);
    int slots = 0, nameless = 0;
    for (const char *q = p; q; q = next_slot(q + 1, &len)) slots++, nameless += !len;
    if (nameless && slots > 1)
        return buf_fail(err, GPM_E_ARG,
                        "the pattern '%s' takes several numbers; name each, for example "
                        "'loss={loss} time={time}'",
                        pattern);
    p = next_slot(pattern, &len);
    for (; p; p = next_slot(p + 1, &len))
        if (len) proc_outputs_name(o, p + 1, len);
    o->patterns = mem_realloc(o->patterns, sizeof *o->patterns * ((size_t)o->n_patterns + 1));
    o->patterns[o->n_patterns++] = mem_strdup(pattern);
    return GPM_OK;
}

/* A number at the start of s, after blanks; returns its length, 0 without a number. */
static size_t number_at(const char *s, double *value) {
    size_t skip = strspn(s, " \t");
    char *end;
    *value = number_read(s + skip, &end);
    return end == s + skip ? 0 : (size_t)(end - s);
}

/* What is known of a number that was asked for. */
enum found { ABSENT, OTHER /* than a number */, COMMA /* inside of it */, NUMBER };

struct answer {
    double *values;
    enum found *found;
};

static void put(struct answer *a, int at, double v) {
    a->values[at] = v;
    a->found[at] = NUMBER;
}

/* Does the pattern fit at s? Blanks stand for any number of blanks; numbers go into the answer.
 * 1,234 and 0,5 are no numbers here, and neither 1 nor 0, unless the pattern has that comma. */
static bool fits(const struct proc_outputs *o, const char *pattern, const char *s,
                 struct answer *a) {
    size_t len;
    const char *next = next_slot(pattern, &len);
    for (const char *p = pattern; *p;) {
        if (p == next) {
            double v;
            size_t used = number_at(s, &v);
            int at = len ? index_of(o, p + 1, len) : 0;
            if (!used) return false;
            if (at >= 0) put(a, at, v);
            s += used;
            p += len + 2;
            if (at >= 0 && *s == ',' && ascii_digit(s[1]) && *p != ',') a->found[at] = COMMA;
            next = next_slot(p, &len);
        } else if (ascii_space(*p)) {
            p++;
            s += strspn(s, " \t");
        } else if (*p++ != *s++) {
            return false;
        }
    }
    return true;
}

/* The last place that fits counts. A pattern that begins with a word begins where a word does:
 * 'loss: {}' does not fit inside of val_loss: 3. */
static void read_patterns(const struct proc_outputs *o, const char *text, struct answer *a) {
    size_t n = (size_t)o->n;
    struct answer trial = {NEW_ARRAY(double, n), NEW_ARRAY(enum found, n)};
    for (int i = 0; i < o->n_patterns; i++)
        for (const char *s = text; *s; s++) {
            if (s > text && ascii_name(s[-1]) && ascii_name(o->patterns[i][0])) continue;
            memcpy(trial.values, a->values, n * sizeof *a->values);
            memcpy(trial.found, a->found, n * sizeof *a->found);
            if (!fits(o, o->patterns[i], s, &trial)) continue;
            memcpy(a->values, trial.values, n * sizeof *a->values);
            memcpy(a->found, trial.found, n * sizeof *a->found);
        }
    mem_free(trial.values);
    mem_free(trial.found);
}

static json_t *parse(const char *text, size_t flags) {
    locale_t before = number_locale_enter();
    json_t *j = json_loads(text, flags, NULL);
    number_locale_leave(before);
    return j;
}

/* {.., "steps": [[step, value], ..], "stopped": true} */
size_t proc_read_steps(const char *outputs, double **pairs, bool *stopped) {
    json_t *j = parse(outputs, 0);
    const json_t *steps = json_object_get(j, "steps");
    size_t n = json_array_size(steps);
    *pairs = NEW_ARRAY(double, 2 * n + 1);
    for (size_t i = 0; i < 2 * n; i++)
        (*pairs)[i] = json_number_value(json_array_get(json_array_get(steps, i / 2), i % 2));
    *stopped = json_is_true(json_object_get(j, "stopped"));
    json_decref(j);
    return n;
}

/* The text with NaN, Infinity and -Infinity, which JSON does not know and programs write all the
 * same, as null. */
static void without_infinities(const char *text, struct buf *out) {
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool quoted = false;
    for (const char *p = text; *p; p++) {
        size_t n = 0;
        for (size_t i = 0; !quoted && !n && i < COUNT_OF(words); i++)
            if (strncmp(p, words[i], strlen(words[i])) == 0) n = strlen(words[i]);
        if (n && !ascii_name(p[n]) && (p == text || !ascii_name(p[-1]))) {
            json_number(out, NAN);
            p += n - 1;
            continue;
        }
        if (*p == '"') quoted = !quoted;
        buf_putc(out, *p);
        if (quoted && *p == '\\' && p[1]) buf_putc(out, *++p);
    }
}

static json_t *parse_object(const char *text) {
    json_t *j = parse(text, JSON_REJECT_DUPLICATES);
    if (j || !strpbrk(text, "NI")) return j;
    struct buf plain = BUF_INIT;
    without_infinities(text, &plain);
    j = parse(plain.data, JSON_REJECT_DUPLICATES);
    buf_release(&plain);
    return j;
}

/* The member of this name inside of other members, when there is exactly one. */
static const json_t *inner_member(json_t *j, const char *name, int *count) {
    const json_t *found = NULL;
    for (void *it = json_object_iter(j); it; it = json_object_iter_next(j, it)) {
        json_t *v = json_object_iter_value(it);
        if (!json_is_object(v)) continue;
        const json_t *here = json_object_get(v, name);
        *count += here != NULL;
        const json_t *below = inner_member(v, name, count);
        found = here ? here : below ? below : found;
    }
    return *count == 1 ? found : NULL;
}

/* false: it is no JSON object. */
static bool read_json(const struct proc_outputs *o, const char *text, struct answer *a) {
    json_t *j = parse_object(text);
    bool object = json_is_object(j);
    for (int i = 0; object && i < o->n; i++) {
        int count = 0;
        const json_t *v = json_object_get(j, o->names[i]);
        if (!v) v = inner_member(j, o->names[i], &count);
        if (v) a->found[i] = OTHER;
        if (json_is_null(v)) put(a, i, NAN); /* so JSON says that there is no number */
        if (json_is_number(v)) put(a, i, json_number_value(v));
    }
    json_decref(j);
    return object;
}

/* Numbers of a line, separated by blanks or commas; how many there are, -1: something else. */
static int read_line(const struct proc_outputs *o, const char *s, struct answer *a) {
    int n = 0;
    for (;;) {
        while (ascii_space(*s) || *s == ',') s++;
        if (!*s) return n;
        double v;
        size_t used = number_at(s, &v);
        if (!used || (s[used] && !ascii_space(s[used]) && s[used] != ',')) return -1;
        if (n < o->n) put(a, n, v);
        n++;
        s += used;
    }
}

/* The reason why the number `name` is missing. */
static void say_missing(const char *name, enum found f, struct buf *why) {
    static const char *const forms[] = {[ABSENT] = "'%s' is not among what it printed: ",
                                        [OTHER] = "'%s' is no number in what it printed: ",
                                        [COMMA] = "'%s' is followed by a comma and digits: ",
                                        [NUMBER] = "printed a value of '%s' that is not finite: "};
    buf_printf(why, forms[f], name);
}

static enum proc_outcome judge_named(const struct proc_outputs *o, int given,
                                     const struct answer *a, struct buf *why) {
    if (given != o->n) {
        buf_printf(why, "must print %d number%s (", o->n, o->n == 1 ? "" : "s");
        for (int i = 0; i < o->n; i++) buf_printf(why, "%s%s", i ? ", " : "", o->names[i]);
        buf_printf(why, ")%s, or one JSON object with %s, but printed ",
                   o->n == 1 ? "" : " in this order", o->n == 1 ? "this member" : "these members");
        return PROC_GARBAGE;
    }
    for (int i = 0; i < o->n; i++) {
        bool number = a->found[i] == NUMBER;
        if (number && isfinite(a->values[i])) continue;
        say_missing(o->names[i], a->found[i], why);
        return number ? PROC_NAN : PROC_GARBAGE;
    }
    return PROC_OK;
}

static enum proc_outcome read_named(const struct proc_outputs *o, const char *text, double *values,
                                    struct buf *why) {
    struct answer a = {values, NEW_ARRAY(enum found, (size_t)o->n)};
    for (int i = 0; i < o->n; i++) values[i] = NAN, a.found[i] = ABSENT;
    int given = o->n;
    if (o->n_patterns)
        read_patterns(o, text, &a);
    else if (!read_json(o, text, &a))
        given = read_line(o, text, &a);
    enum proc_outcome outcome = judge_named(o, given, &a, why);
    mem_free(a.found);
    return outcome;
}

enum proc_line proc_read_step(const char *line, const char *end, double *step, double *value) {
    static const char mark[] = "gpmem:";
    size_t n = strlen(mark);
    char *step_end, *value_end;
    if ((size_t)(end - line) < n || strncmp(line, mark, n)) return PROC_OTHER_LINE;
    *step = number_read(line + n, &step_end);
    if (step_end == line + n || step_end >= end) return PROC_ODD_STEP;
    *value = number_read(step_end, &value_end);
    return value_end > step_end && value_end <= end ? PROC_STEP : PROC_ODD_STEP;
}

static enum proc_outcome read_text(const struct proc_outputs *o, const char *text, double *values,
                                   struct buf *why) {
    if (o) return read_named(o, text, values, why);
    return proc_parse_number(text, strlen(text), values);
}

/* What a terminal would show of line[..n) in the end: what follows the last return of the carriage,
 * those at its end left aside. */
static const char *shown(const char *line, size_t *n) {
    while (*n && ascii_space(line[*n - 1])) --*n;
    const char *start = line;
    for (size_t i = 0; i < *n; i++)
        if (line[i] == '\r') start = line + i + 1;
    *n -= (size_t)(start - line);
    return start;
}

/* The last line that begins with a bracket, when an object over several lines may begin there. */
static const char *last_object(const char *text) {
    const char *at = NULL;
    for (const char *p = text; (p = strchr(p, '{')); p++)
        if (p > text && p[-1] == '\n') at = p;
    return at && strchr(at, '\n') ? at : NULL;
}

/* From single lines: the last one is the answer when it is the only one that may be. */
static enum proc_outcome read_lines(const struct proc_outputs *o, const char *text, double *values,
                                    struct buf *why) {
    struct buf line = BUF_INIT, said = BUF_INIT;
    enum proc_outcome last = PROC_GARBAGE;
    size_t answers = 0, odd = 0;
    double step, value;
    for (const char *p = text; *p; p += *p == '\n') {
        size_t n = strcspn(p, "\n"), kept = n;
        const char *end = shown(p, &kept);
        buf_reset(&line);
        buf_add(&line, end, kept);
        p += n;
        if (line.len == strspn(line.data, " \t\r")) continue;
        buf_reset(&said);
        odd += proc_read_step(line.data, line.data + line.len, &step, &value) == PROC_ODD_STEP;
        last = read_text(o, line.data, values, &said);
        answers += last != PROC_GARBAGE;
    }
    if (odd) {
        last = PROC_GARBAGE;
        buf_reset(why);
        buf_puts(why, "a line 'gpmem: STEP VALUE' has two numbers: ");
    } else if (last != PROC_GARBAGE && answers == 1) {
        buf_reset(why);
        if (said.len) buf_puts(why, said.data);
    } else {
        last = PROC_GARBAGE;
        if (answers > 1) buf_reset(why);
        if (answers > 1)
            buf_printf(why, "printed %zu lines that could each be the answer: ", answers);
    }
    buf_release(&line);
    buf_release(&said);
    return last;
}

/* Programs tell how they get on before they answer. Where all that was printed is no answer, the
 * last line is one, provided that no line before it could be taken for it; or the object over
 * several lines that all ends with. */
enum proc_outcome proc_read_outputs(const struct proc_outputs *o, const char *text, double *values,
                                    struct buf *why) {
    static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, at the beginning */
    if (strncmp(text, mark, strlen(mark)) == 0) text += strlen(mark);
    enum proc_outcome whole = read_text(o, text, values, why);
    if (whole != PROC_GARBAGE || (o && o->n_patterns)) return whole;
    enum proc_outcome last = read_lines(o, text, values, why);
    const char *object = o ? last_object(text) : NULL;
    json_t *j = last == PROC_GARBAGE && object ? parse_object(object) : NULL;
    if (json_is_object(j)) {
        buf_reset(why);
        last = read_named(o, object, values, why);
    }
    json_decref(j);
    return last;
}
