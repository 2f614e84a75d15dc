/* SPDX-License-Identifier: Apache-2.0
 * What a program printed, as numbers with names; see process.h. */
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "host/process.h"

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

/* The next {name} or {} from p on; NULL: there is none. Unlike the arguments of a command
 * (proc_command.c) a pattern has slots without a name, and no doubled brackets. */
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
    for (; p; p = next_slot(p + 1, &len))
        if (len) proc_outputs_name(o, p + 1, len);
    o->patterns = mem_realloc(o->patterns, sizeof *o->patterns * ((size_t)o->n_patterns + 1));
    o->patterns[o->n_patterns++] = mem_strdup(pattern);
    return GPM_OK;
}

/* A number at the start of s, after blanks; its length, 0: there is none. */
static size_t number_at(const char *s, double *value) {
    size_t skip = strspn(s, " \t");
    char *end;
    *value = number_read(s + skip, &end);
    return end == s + skip ? 0 : (size_t)(end - s);
}

/* Does the pattern fit at s? Blanks stand for any number of blanks; numbers go into values. */
static bool fits(const struct proc_outputs *o, const char *pattern, const char *s, double *values) {
    size_t len;
    const char *next = next_slot(pattern, &len);
    for (const char *p = pattern; *p;) {
        if (p == next) {
            double v;
            size_t used = number_at(s, &v);
            int at = len ? index_of(o, p + 1, len) : 0;
            if (!used) return false;
            if (at >= 0) values[at] = v;
            s += used;
            p += len + 2;
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

static void read_patterns(const struct proc_outputs *o, const char *text, double *values) {
    double *trial = NEW_ARRAY(double, (size_t)o->n);
    for (int i = 0; i < o->n_patterns; i++)
        for (const char *s = text; *s; s++) { /* the last place that fits counts */
            memcpy(trial, values, sizeof *trial * (size_t)o->n);
            if (fits(o, o->patterns[i], s, trial))
                memcpy(values, trial, sizeof *trial * (size_t)o->n);
        }
    mem_free(trial);
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

/* false: it is no JSON object. Members that are no numbers stay as they are. */
static bool read_json(const struct proc_outputs *o, const char *text, double *values) {
    json_t *j = parse(text, JSON_REJECT_DUPLICATES);
    bool object = json_is_object(j);
    for (int i = 0; object && i < o->n; i++) {
        const json_t *v = json_object_get(j, o->names[i]);
        if (json_is_number(v)) values[i] = json_number_value(v);
    }
    json_decref(j);
    return object;
}

/* Numbers of a line, separated by blanks or commas; how many there are, -1: something else. */
static int read_line(const struct proc_outputs *o, const char *s, double *values) {
    int n = 0;
    for (;;) {
        while (ascii_space(*s) || *s == ',') s++;
        if (!*s) return n;
        double v;
        size_t used = number_at(s, &v);
        if (!used || (s[used] && !ascii_space(s[used]) && s[used] != ',')) return -1;
        if (n < o->n) values[n] = v;
        n++;
        s += used;
    }
}

static enum proc_outcome read_named(const struct proc_outputs *o, const char *text, double *values,
                                    struct buf *why) {
    for (int i = 0; i < o->n; i++) values[i] = HUGE_VAL; /* not there */
    int given = o->n;
    if (o->n_patterns)
        read_patterns(o, text, values);
    else if (!read_json(o, text, values))
        given = read_line(o, text, values);
    if (given != o->n) {
        buf_printf(why, "must print %d number%s (", o->n, o->n == 1 ? "" : "s");
        for (int i = 0; i < o->n; i++) buf_printf(why, "%s%s", i ? ", " : "", o->names[i]);
        buf_puts(why, ") in this order, or one JSON object with these members, but printed ");
        return PROC_GARBAGE;
    }
    for (int i = 0; i < o->n; i++) {
        if (isfinite(values[i])) continue;
        bool absent = values[i] == HUGE_VAL;
        buf_printf(why,
                   absent ? "'%s' is not among what it printed: "
                          : "printed a value of '%s' that is not finite: ",
                   o->names[i]);
        return absent ? PROC_GARBAGE : PROC_NAN;
    }
    return PROC_OK;
}

enum proc_line proc_read_step(const char *line, const char *end, double *step, double *value) {
    static const char mark[] = "gpmem:";
    size_t n = strlen(mark);
    char *step_end, *value_end;
    if ((size_t)(end - line) < n || strncmp(line, mark, n)) return PROC_OTHER_LINE;
    *step = number_read(line + n, &step_end);
    if (step_end == line + n || step_end >= end) return PROC_ODD_STEP;
    *value = number_read(step_end, &value_end);
    return value_end > step_end && value_end <= end && isfinite(*value) ? PROC_STEP : PROC_ODD_STEP;
}

static enum proc_outcome read_text(const struct proc_outputs *o, const char *text, double *values,
                                   struct buf *why) {
    if (o) return read_named(o, text, values, why);
    return proc_parse_number(text, strlen(text), values);
}

/* Programs tell how they get on before they answer. Where all that was printed is no answer, the
 * last line is one, provided that no line before it could be taken for it. */
enum proc_outcome proc_read_outputs(const struct proc_outputs *o, const char *text, double *values,
                                    struct buf *why) {
    enum proc_outcome whole = read_text(o, text, values, why);
    if (whole != PROC_GARBAGE || (o && o->n_patterns)) return whole;
    struct buf line = BUF_INIT, said = BUF_INIT;
    enum proc_outcome last = PROC_GARBAGE;
    size_t answers = 0, odd = 0;
    double step, value;
    for (const char *p = text; *p; p += *p == '\n') {
        size_t n = strcspn(p, "\n");
        buf_reset(&line);
        buf_add(&line, p, n);
        p += n;
        if (line.len == strspn(line.data, " \t\r")) continue;
        buf_reset(&said);
        odd += proc_read_step(line.data, line.data + line.len, &step, &value) == PROC_ODD_STEP;
        last = read_text(o, line.data, values, &said);
        answers += last != PROC_GARBAGE;
    }
    if (odd) {
        buf_reset(why);
        buf_puts(why, "a line 'gpmem: STEP VALUE' has two numbers: ");
    } else if (last != PROC_GARBAGE && answers == 1) {
        whole = last;
        buf_reset(why);
        if (said.len) buf_puts(why, said.data);
    } else if (answers > 1) {
        buf_reset(why);
        buf_printf(why, "printed %zu lines that could each be the answer: ", answers);
    }
    buf_release(&line);
    buf_release(&said);
    return whole;
}
