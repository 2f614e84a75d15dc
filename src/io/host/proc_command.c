/* SPDX-License-Identifier: Apache-2.0
 * Command templates: words, placeholders, the JSON form of the inputs. */
#include "base/ascii.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"
#include "io/host/proc_priv.h"

#include <math.h>
#include <string.h>

static int name_index(const struct proc_command *c, const char *s, size_t n) {
    for (int j = 0; j < c->n_names; j++)
        if (strlen(c->names[j]) == n && memcmp(c->names[j], s, n) == 0) return j;
    return -1;
}

/* Walks one word: calls for each placeholder; text {..} that is no name stays as it is, so that
 * awk programs and JSON literals pass through. */
static bool next_placeholder(const char *s, size_t *start, size_t *len) {
    for (size_t i = *start; s[i]; i++) {
        if ((s[i] == '{' || s[i] == '}') && s[i + 1] == s[i]) {
            i++;
            continue;
        }
        if (s[i] != '{') continue;
        size_t end = i + 1;
        while (ascii_name(s[end])) end++;
        if (s[end] == '}' && end > i + 1 && !ascii_digit(s[i + 1])) {
            *start = i;
            *len = end - i - 1;
            return true;
        }
    }
    return false;
}

static enum gpm_status unknown_name(const struct proc_command *c, const char *s, size_t n,
                                    struct buf *err) {
    buf_printf(err, "the command has the placeholder {%.*s}, but there is no such input; ", (int)n,
               s);
    buf_puts(err, c->n_names ? "inputs are" : "there are no inputs");
    for (int j = 0; j < c->n_names; j++) buf_printf(err, "%s {%s}", j ? "," : "", c->names[j]);
    return GPM_E_ARG;
}

static enum gpm_status check_command(const struct proc_command *c, struct buf *err) {
    int used = 0;
    if (c->argc == 0 || c->argv[0][0] == 0)
        return buf_fail(err, GPM_E_ARG,
                        "the command is empty; give a program, for example ./sim {x}");
    for (int i = 0; i < c->argc; i++) {
        size_t at = 0, len = 0;
        while (next_placeholder(c->argv[i], &at, &len)) {
            if (name_index(c, c->argv[i] + at + 1, len) < 0)
                return unknown_name(c, c->argv[i] + at + 1, len, err);
            at += len + 2;
            used++;
        }
    }
    if (used || c->json || c->n_names == 0) return GPM_OK;
    return buf_fail(err, GPM_E_ARG,
                    "the command has no placeholder, so every call would be the same; write {%s} "
                    "where the value goes, or pass the inputs as JSON on stdin",
                    c->names[0]);
}

/* The placeholders of the words, in the order of their first appearance; "x" if there are no
 * placeholders. */
static void take_names(struct proc_command *c) {
    for (int i = 0; i < c->argc; i++) {
        size_t at = 0, len = 0;
        for (; next_placeholder(c->argv[i], &at, &len); at += len + 2) {
            if (name_index(c, c->argv[i] + at + 1, len) >= 0) continue;
            c->names = mem_realloc(c->names, sizeof *c->names * ((size_t)c->n_names + 1));
            c->names[c->n_names++] = mem_strndup(c->argv[i] + at + 1, len);
        }
    }
    if (!c->n_names) c->names[c->n_names++] = mem_strdup("x");
}

enum gpm_status proc_command_init(struct proc_command *c, char *const *argv, int argc,
                                  const char *const *names, int n_names, bool json,
                                  struct buf *err) {
    *c = (struct proc_command){
        .argc = argc, .n_names = n_names, .json = json, .patience = PROC_PATIENCE};
    c->argv = NEW_ARRAY(char *, (size_t)argc + 1);
    c->names = NEW_ARRAY(char *, (size_t)n_names + 1);
    for (int i = 0; i < argc; i++) c->argv[i] = mem_strdup(argv[i]);
    for (int j = 0; j < n_names; j++) c->names[j] = mem_strdup(names[j]);
    if (!names) take_names(c);
    enum gpm_status s = check_command(c, err);
    if (s) proc_command_release(c);
    return s;
}

/* word := (plain | '..' | ".." | \c)+ ; returns the end, or NULL at an unclosed quote */
static const char *split_word(const char *s, struct buf *word) {
    char quote = 0;
    for (; *s && (quote || !ascii_space(*s)); s++) {
        if (quote ? *s == quote : (*s == '\'' || *s == '"'))
            quote = quote ? 0 : *s;
        else if (*s == '\\' && quote != '\'' && s[1])
            buf_putc(word, *++s);
        else
            buf_putc(word, *s);
    }
    return quote ? NULL : s;
}

enum gpm_status proc_command_parse(struct proc_command *c, const char *line,
                                   const char *const *names, int n_names, bool json,
                                   struct buf *err) {
    VEC(char *) words = {0};
    enum gpm_status s = GPM_OK;
    const char *p = line;
    for (;;) {
        while (ascii_space(*p)) p++;
        if (!*p) break;
        struct buf word = BUF_INIT;
        p = split_word(p, &word);
        vec_push(&words, buf_take(&word));
        if (!p) {
            s = buf_fail(err, GPM_E_ARG, "the command has an unclosed quote: %s", line);
            break;
        }
    }
    if (!s) s = proc_command_init(c, words.at, (int)words.n, names, n_names, json, err);
    for (size_t i = 0; i < words.n; i++) mem_free(words.at[i]);
    vec_release(&words);
    return s;
}

void proc_command_release(struct proc_command *c) {
    for (int i = 0; i < c->argc; i++) mem_free(c->argv[i]);
    for (int j = 0; j < c->n_names; j++) mem_free(c->names[j]);
    mem_free(c->argv);
    mem_free(c->names);
    *c = (struct proc_command){0};
}

void proc_command_text(const struct proc_command *c, struct buf *out) {
    for (int i = 0; i < c->argc; i++) {
        if (i) buf_putc(out, ' ');
        bool quote = !c->argv[i][0] || strpbrk(c->argv[i], ASCII_SPACES "'\"\\");
        if (quote) buf_putc(out, '"');
        for (const char *s = c->argv[i]; *s; s++) {
            if (*s == '"' || *s == '\\') buf_putc(out, '\\');
            buf_putc(out, *s);
        }
        if (quote) buf_putc(out, '"');
    }
}

/* {{ stands for a bracket; }} does where there is a {{ to close, and else for itself, as programs
 * of awk and objects of JSON end with it. */
static void fill_word(const struct proc_command *c, const char *s, const char *const *values,
                      struct buf *out) {
    size_t at = 0, len = 0, from = 0;
    bool doubled = strstr(s, "{{") != NULL;
    for (;;) {
        bool more = next_placeholder(s, &at, &len);
        size_t to = more ? at : strlen(s);
        for (size_t i = from; i < to; i++) {
            buf_putc(out, s[i]);
            if ((s[i] == '{' || (s[i] == '}' && doubled)) && s[i + 1] == s[i]) i++;
        }
        if (!more) return;
        buf_puts(out, values[name_index(c, s + at + 1, len)]);
        from = at = at + len + 2;
    }
}

char **proc_fill_argv(const struct proc_command *c, const char *const *values) {
    char **argv = NEW_ARRAY(char *, (size_t)c->argc + 1);
    for (int i = 0; i < c->argc; i++) {
        struct buf word = BUF_INIT;
        fill_word(c, c->argv[i], values, &word);
        argv[i] = buf_take(&word);
    }
    argv[c->argc] = NULL;
    return argv;
}

void proc_fill_json(const struct proc_command *c, const char *const *values, struct buf *out) {
    buf_putc(out, '{');
    for (int j = 0; j < c->n_names; j++) {
        double x;
        if (proc_parse_number(values[j], strlen(values[j]), &x) == PROC_OK)
            JSON(out, FIELD(c->names[j], x));
        else
            JSON(out, FIELD(c->names[j], values[j]));
    }
    buf_puts(out, "}\n");
}

enum proc_outcome proc_parse_number(const char *text, size_t n, double *value) {
    while (n && ascii_space(*text)) text++, n--;
    while (n && ascii_space(text[n - 1])) n--;
    double x;
    if (!number_parse(text, n, &x)) return PROC_GARBAGE;
    if (!isfinite(x)) return PROC_NAN;
    *value = x;
    return PROC_OK;
}

void proc_result_init(struct proc_result *r) {
    *r = (struct proc_result){
        .value = NAN, .message = BUF_INIT, .stderr_tail = BUF_INIT, .steps = BUF_INIT};
}

void proc_result_release(struct proc_result *r) {
    mem_free(r->values);
    r->values = NULL;
    buf_release(&r->message);
    buf_release(&r->stderr_tail);
    buf_release(&r->steps);
}

void proc_result_text(const struct proc_result *r, struct buf *out) {
    buf_add(out, r->message.data, r->message.len);
    if (r->stderr_tail.len == 0) return;
    buf_puts(out, "\nstderr: ");
    buf_visible(out, r->stderr_tail.data, r->stderr_tail.len);
    while (out->len && (out->data[out->len - 1] == '\n' || out->data[out->len - 1] == ' '))
        out->data[--out->len] = 0;
}
