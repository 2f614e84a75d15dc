/* SPDX-License-Identifier: Apache-2.0
 *
 * What the language server answers about names, calls and the text as a whole: references, rename,
 * quick fixes, formatting, signatures, colours.
 */
#include "base/ascii.h"
#include "base/map.h"
#include "front/cli/lsp.h"

#include <string.h>

static json_t *text_edit(const struct document *d, size_t start, size_t end, const char *text) {
    return json_pack("{s:o, s:s}", "range", range(d, start, end), "newText", text);
}

static json_t *workspace_edit(const struct document *d, json_t *edits_taken) {
    return json_pack("{s:{s:o}}", "changes", d->uri, edits_taken);
}

/* ---- names ---- */

static bool same_definition(const struct gpm_name_place *a, const struct gpm_name_place *b) {
    return a->def_start == b->def_start && a->def_end == b->def_end;
}

/* Occurrences in order of the text, without repetition. */
static bool shown_before(const struct document *d, size_t i) {
    const struct gpm_name_place *n = &d->names.at[i];
    for (size_t k = 0; k < i; k++)
        if (d->names.at[k].start == n->start && same_definition(&d->names.at[k], n)) return true;
    return false;
}

json_t *do_references(json_t *params) {
    size_t at = 0;
    int declared = 1;
    struct document *d = place_of(params, &at);
    const struct gpm_name_place *n = d ? name_at(d, at) : NULL;
    json_unpack(params, "{s:{s:b}}", "context", "includeDeclaration", &declared);
    json_t *list = json_array();
    for (size_t i = 0; n && i < d->names.n; i++) {
        const struct gpm_name_place *k = &d->names.at[i];
        bool definition = k->start == k->def_start;
        if (!same_definition(k, n) || !still_there(d, k) || shown_before(d, i)) continue;
        if (definition && !declared) continue;
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "uri", d->uri, "range", range(d, k->start, k->end)));
    }
    return list;
}

/* NULL: there is no name that could be renamed. */
json_t *do_prepare_rename(json_t *params) {
    size_t at = 0;
    struct document *d = place_of(params, &at);
    const struct gpm_name_place *n = d ? name_at(d, at) : NULL;
    return n ? range(d, n->start, n->end) : NULL;
}

static bool is_name(const char *s) {
    size_t n = 0;
    while (ascii_name(s[n])) n++;
    return n && !s[n] && !ascii_digit(s[0]);
}

/* Nothing is renamed to what is no name, or is one of the text already. */
json_t *do_rename(json_t *params) {
    size_t at = 0;
    const char *new = json_string_value(json_object_get(params, "newName"));
    struct document *d = place_of(params, &at);
    const struct gpm_name_place *n = d ? name_at(d, at) : NULL;
    if (!n || !new || !is_name(new)) return NULL;
    json_t *edits = json_array();
    bool taken = false;
    for (size_t i = 0; i < d->names.n; i++) {
        const struct gpm_name_place *k = &d->names.at[i];
        taken |= strcmp(k->name, new) == 0;
        if (same_definition(k, n) && still_there(d, k) && !shown_before(d, i))
            json_array_append_new(edits, text_edit(d, k->start, k->end, new));
    }
    if (taken) {
        json_decref(edits);
        return NULL;
    }
    return workspace_edit(d, edits);
}

/* ---- quick fixes ---- */

/* The text between two marks, the first of which follows `after`; empty if missing. */
static char *quoted(const char *message, const char *after, char mark) {
    const char *s = strstr(message, after);
    const char *open = s ? strchr(s + strlen(after), mark) : NULL;
    const char *close = open ? strchr(open + 1, mark) : NULL;
    return close ? mem_strndup(open + 1, (size_t)(close - open) - 1) : mem_strdup("");
}

/* The whole word nearest to [start, end): inside it, else before it (the keyword of an argument).
 */
static bool find_word(const struct document *d, const char *word, size_t start, size_t end,
                      size_t *at) {
    size_t n = strlen(word), line = start;
    while (line > 0 && d->text[line - 1] != '\n') line--;
    for (int before = 0; before < 2 && n; before++) {
        size_t lo = before ? line : start, hi = before ? start : end;
        for (size_t i = hi; i-- > lo;) {
            bool whole = i + n <= d->len && memcmp(d->text + i, word, n) == 0 &&
                         !(i && ascii_name(d->text[i - 1])) && !ascii_name(d->text[i + n]);
            if (!whole) continue;
            *at = i;
            return true;
        }
    }
    return false;
}

static void add_fix(json_t *list, const struct document *d, json_t *diagnostic, const char *title,
                    json_t *edit_taken) {
    json_t *edits = json_pack("[o]", edit_taken);
    json_array_append_new(list, json_pack("{s:s, s:s, s:[O], s:b, s:o}", "title", title, "kind",
                                          "quickfix", "diagnostics", diagnostic, "isPreferred", 1,
                                          "edit", workspace_edit(d, edits)));
}

/* "did you mean `x`?", "it is called `x` here": x in the place of the word that the message quotes
 * first. */
static void fix_word(json_t *list, const struct document *d, json_t *diagnostic,
                     const char *message, size_t start, size_t end) {
    char mark = strstr(message, "did you mean \"") ? '"' : '`';
    char *wrong = quoted(message, "", mark);
    char *right = quoted(
        message,
        strstr(message, "help: it is called") ? "help: it is called" : "help: did you mean", mark);
    size_t at;
    if (*right && find_word(d, wrong, start, end, &at)) {
        struct buf b = BUF_INIT;
        buf_printf(&b, "Write `%s`", right);
        add_fix(list, d, diagnostic, b.data, text_edit(d, at, at + strlen(wrong), right));
        buf_release(&b);
    }
    mem_free(wrong);
    mem_free(right);
}

static void fix(json_t *list, const struct document *d, json_t *diagnostic) {
    const char *message = "", *code = "";
    json_t *where = NULL;
    size_t start, end;
    json_unpack(diagnostic, "{s?s, s?s, s?o}", "message", &message, "code", &code, "range", &where);
    if (!where || !range_bytes(d, where, &start, &end)) return;
    if (strcmp(code, "E0117") == 0)
        add_fix(list, d, diagnostic, "Insert `;`", text_edit(d, end, end, ";"));
    fix_word(list, d, diagnostic, message, start, end);
}

json_t *do_code_action(json_t *params) {
    struct document *d = document_find(uri_of(params));
    json_t *given = NULL, *one, *list = json_array();
    size_t i;
    json_unpack(params, "{s:{s:o}}", "context", "diagnostics", &given);
    if (!d) return list;
    json_array_foreach(given, i, one) fix(list, d, one);
    return list;
}

/* ---- the whole text ---- */

json_t *do_formatting(json_t *params) {
    struct document *d = document_find(uri_of(params));
    const char *text = d ? gpm_format_text(server.session, d->path, d->text, d->len) : NULL;
    if (!text) return NULL;
    json_t *edits = json_array();
    if (strcmp(text, d->text) != 0) json_array_append_new(edits, text_edit(d, 0, d->len, text));
    return edits;
}

/* ---- signatures ---- */

/* The call around an offset: its name, and the number of the argument there. */
struct call_search {
    const struct document *d;
    size_t offset;
    struct open_call {
        size_t name_start, name_end;
        unsigned commas;
    } open[200];
    size_t n, lost;              /* lost: brackets deeper than that */
    size_t last_start, last_end; /* the last name, when it was the last token */
};

static void search_call(void *user, enum gpm_token_kind kind, size_t start, size_t end) {
    struct call_search *s = user;
    if (start >= s->offset || kind == GPM_TOKEN_COMMENT) return;
    char c = s->d->text[start];
    bool sign = kind == GPM_TOKEN_SIGN;
    if (sign && strchr("([{", c)) {
        struct open_call call = {s->last_start, c == '(' ? s->last_end : s->last_start, 0};
        if (s->n < COUNT_OF(s->open))
            s->open[s->n++] = call;
        else
            s->lost++;
    } else if (sign && strchr(")]}", c)) {
        if (s->lost)
            s->lost--;
        else if (s->n)
            s->n--;
    } else if (sign && c == ',' && s->n && !s->lost)
        s->open[s->n - 1].commas++;
    bool name = kind == GPM_TOKEN_NAME || kind == GPM_TOKEN_WORD;
    s->last_start = name ? start : 0;
    s->last_end = name ? end : 0;
}

/* f(a, b) of a procedure that the text defines: what stands between the parentheses of proc(...),
 * or before the arrow. False: it defines no procedure. */
static bool own_signature(const struct document *d, const char *name, struct buf *out) {
    for (size_t i = 0; i < d->names.n; i++) {
        const struct gpm_name_place *n = &d->names.at[i];
        if (n->start != n->def_start || strcmp(n->name, name) != 0 || !still_there(d, n)) continue;
        const char *s = d->text + n->def_end, *end = d->text + n->whole_end;
        while (s < end && strchr(" \t\n=", *s)) s++;
        if (end - s > 4 && memcmp(s, "proc", 4) == 0) s += 4;
        while (s < end && *s == ' ') s++;
        const char *close = s < end && *s == '(' ? memchr(s, ')', (size_t)(end - s)) : NULL;
        if (!close) continue;
        buf_printf(out, "%s%.*s", name, (int)(close - s) + 1, s);
        return true;
    }
    return false;
}

/* [start, end) of the parameters in a signature, in UTF-16 units, which are bytes: names are ASCII.
 */
static json_t *parameters_of(const char *label) {
    json_t *list = json_array();
    const char *s = strchr(label, '('), *from;
    for (from = s ? s + 1 : NULL; from && *from && *from != ')';) {
        size_t n = strcspn(from, ",)");
        while (*from == ' ') from++, n--;
        if (n)
            json_array_append_new(list, json_pack("{s:[i, i]}", "label", (int)(from - label),
                                                  (int)(from - label + (long)n)));
        from += n + (from[n] == ',');
    }
    return list;
}

static size_t keyword_index(const struct document *d, const char *label, size_t offset) {
    size_t start = offset;
    while (start > 0 && !strchr("(,\n", d->text[start - 1])) start--;
    while (d->text[start] == ' ') start++;
    size_t n = 0;
    while (ascii_name(d->text[start + n])) n++;
    if (!n || start + n >= offset + 1 || d->text[start + n] != '=') return SIZE_MAX;
    size_t index = 0;
    for (const char *s = strchr(label, '('); s && *s && *s != ')'; s++) {
        if (strchr("(,", *s)) {
            const char *name = s + 1;
            while (*name == ' ' || *name == '.') name++;
            if (strncmp(name, d->text + start, n) == 0 && !ascii_name(name[n])) return index;
            index++;
        }
    }
    return SIZE_MAX;
}

json_t *do_signature(json_t *params) {
    size_t at = 0;
    struct document *d = place_of(params, &at);
    if (!d) return NULL;
    struct call_search s = {.d = d, .offset = at};
    gpm_tokens(d->text, d->len, search_call, &s);
    const struct open_call *call = s.n && !s.lost ? &s.open[s.n - 1] : NULL;
    if (!call || call->name_end == call->name_start) return NULL;
    char *name = mem_strndup(d->text + call->name_start, call->name_end - call->name_start);
    struct buf label = BUF_INIT, doc = BUF_INIT;
    if (!own_signature(d, name, &label)) {
        const char *help = gpm_help(server.session, name);
        size_t n = help ? strcspn(help, "\n") : 0;
        if (help) buf_add(&label, help, n);
        if (help && help[n]) buf_puts(&doc, help + n + 1 + strspn(help + n + 1, " "));
    }
    json_t *out = NULL;
    if (label.len && strchr(label.data, '(')) {
        size_t keyword = keyword_index(d, label.data, at);
        out = json_pack("{s:[{s:s, s:s, s:o}], s:i, s:i}", "signatures", "label", label.data,
                        "documentation", doc.data ? doc.data : "", "parameters",
                        parameters_of(label.data), "activeSignature", 0, "activeParameter",
                        keyword != SIZE_MAX ? (int)keyword : (int)call->commas);
    }
    buf_release(&label);
    buf_release(&doc);
    mem_free(name);
    return out;
}

/* ---- colours ---- */

enum {
    TYPE_KEYWORD,
    TYPE_NUMBER,
    TYPE_STRING,
    TYPE_OPERATOR,
    TYPE_COMMENT,
    TYPE_VARIABLE,
    TYPE_PARAMETER,
    TYPE_FUNCTION
};
enum { MOD_DECLARATION = 1, MOD_LIBRARY = 2 };

json_t *semantic_legend(void) {
    return json_pack("{s:[s, s, s, s, s, s, s, s], s:[s, s]}", "tokenTypes", "keyword", "number",
                     "string", "operator", "comment", "variable", "parameter", "function",
                     "tokenModifiers", "declaration", "defaultLibrary");
}

/* The protocol has, of every token, lines and characters since the one before, its length, type and
 * modifiers; a token that goes over several lines is one on each. */
struct colours {
    const struct document *d;
    json_t *data;
    struct map names;           /* 1 + offset -> struct gpm_name_place */
    size_t at;                  /* bytes that the next two count */
    json_int_t line, character; /* of `at` */
    json_int_t last_line, last_character;
};

static void move_to(struct colours *c, size_t to) {
    while (c->at < to) {
        size_t n = document_sequence(c->d, c->at);
        if (c->d->text[c->at] == '\n') {
            c->line++;
            c->character = 0;
        } else
            c->character += n == 4 ? 2 : 1;
        c->at += n;
    }
}

static void colour(struct colours *c, size_t start, size_t end, int type, int modifiers) {
    move_to(c, start);
    json_int_t line = c->line, character = c->character;
    move_to(c, end);
    json_int_t numbers[] = {line - c->last_line,
                            line == c->last_line ? character - c->last_character : character,
                            c->character - character, type, modifiers};
    if (end <= start) return;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        json_array_append_new(c->data, json_integer(numbers[i]));
    c->last_line = line;
    c->last_character = character;
}

/* One entry for each place where a name of the text stands. */
static void index_names(struct colours *c) {
    for (size_t i = 0; i < c->d->names.n; i++) {
        const struct gpm_name_place *n = &c->d->names.at[i];
        if (still_there(c->d, n)) map_put(&c->names, n->start + 1, (void *)(uintptr_t)n);
    }
}

static int type_of_name(const struct colours *c, size_t start, size_t end, int *modifiers) {
    const struct gpm_name_place *n = map_get(&c->names, start + 1);
    if (n && n->end == end) {
        if (n->start == n->def_start) *modifiers |= MOD_DECLARATION;
        return n->kind == GPM_NAME_PARAMETER ? TYPE_PARAMETER : TYPE_VARIABLE;
    }
    char *name = mem_strndup(c->d->text + start, end - start);
    bool known = gpm_help(server.session, name) != NULL;
    mem_free(name);
    if (known) *modifiers |= MOD_LIBRARY;
    return known ? TYPE_FUNCTION : TYPE_VARIABLE;
}

static void colour_token(void *user, enum gpm_token_kind kind, size_t start, size_t end) {
    static const int types[] = {[GPM_TOKEN_WORD] = TYPE_KEYWORD,
                                [GPM_TOKEN_NUMBER] = TYPE_NUMBER,
                                [GPM_TOKEN_STRING] = TYPE_STRING,
                                [GPM_TOKEN_SIGN] = TYPE_OPERATOR,
                                [GPM_TOKEN_COMMENT] = TYPE_COMMENT};
    struct colours *c = user;
    int modifiers = 0;
    if (kind == GPM_TOKEN_SIGN && strchr("()[]{},;", c->d->text[start])) return;
    int type = kind == GPM_TOKEN_NAME ? type_of_name(c, start, end, &modifiers) : types[kind];
    while (start < end) {
        const char *nl = memchr(c->d->text + start, '\n', end - start);
        size_t to = nl ? (size_t)(nl - c->d->text) : end;
        colour(c, start, to, type, modifiers);
        start = nl ? to + 1 : end;
    }
}

json_t *do_semantic_tokens(json_t *params) {
    struct document *d = document_find(uri_of(params));
    if (!d) return NULL;
    struct colours c = {.d = d, .data = json_array()};
    index_names(&c);
    gpm_tokens(d->text, d->len, colour_token, &c);
    map_release(&c.names);
    return json_pack("{s:o}", "data", c.data);
}
