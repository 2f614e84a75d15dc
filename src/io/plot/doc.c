/* SPDX-License-Identifier: Apache-2.0
 *
 * See doc.h. A form is a table of what stands around blocks of each role; tables and pages have
 * files of their own.
 */
#include "io/plot/doc.h"
#include <string.h>

/* What stands before and behind a block of each role; NULL: the form has none. */
struct style {
    const char *open[DOC_FORMS], *close; /* close: of a page */
};
static const struct style styles[DOC_ROLES] = {
    [DOC_NOTHING] = {{NULL, NULL, NULL}, ""},
    [DOC_SECTION] = {{NULL, "\n## ", "<h2>"}, "</h2>\n"},
    [DOC_PART] = {{"\n", "\n### ", "<h3>"}, "</h3>\n"},
    [DOC_PLAIN] = {{"\n", "\n", "<p>"}, "</p>\n"},
    [DOC_LEAD] = {{"\n", "\n", "<p class=\"lead\">"}, "</p>\n"},
    [DOC_SOFT] = {{"\n", "\n", "<p class=\"sub\">"}, "</p>\n"},
    [DOC_NOTE] = {{"\n", "\n", "<p class=\"note\">"}, "</p>\n"},
    [DOC_SETTLED] = {{"\n", "\n", "<p class=\"verdict\">"}, "</p>\n"},
    [DOC_OPEN] = {{"\nNOT SETTLED: ", "\n**Not settled**: ",
                   "<p class=\"verdict open\"><strong>Not settled.</strong> "},
                  "</p>\n"},
    [DOC_STEP] = {{"", "", "<p>"}, "</p>\n"},
    [DOC_ITEM] = {{"", "- ", "<li>"}, "</li>\n"},
    [DOC_CODE] = {{"\n", "\n```\n", "<pre>"}, "</pre>\n"},
    [DOC_TABLE] = {{"\n", "\n", ""}, ""},
    [DOC_WIDE] = {{NULL, NULL, ""}, ""},
    [DOC_HALF] = {{NULL, NULL, ""}, ""},
};
/* Around a run of blocks of one role: lists have a blank line before them, none within. */
static const struct run {
    const char *open, *close; /* of a page */
    bool list;
} runs[DOC_ROLES] = {[DOC_STEP] = {"", "", true},
                     [DOC_ITEM] = {"<ul>\n", "</ul>\n", true},
                     [DOC_HALF] = {"<div class=\"grid\">\n", "</div>\n", false}};

/* No blank line begins a document, nor what stands below a heading of text. */
static void put_mark(struct doc *d, const char *mark) {
    bool close = d->last == DOC_NOTHING || (d->last == DOC_PART && d->form == DOC_TEXT);
    buf_puts(d->out, close && *mark == '\n' ? mark + 1 : mark);
    if (*mark) d->last = DOC_PLAIN;
}

static void end_run(struct doc *d) {
    const char *close = runs[d->last].close;
    if (d->form == DOC_HTML && close) buf_puts(d->out, close);
}

bool doc_enter(struct doc *d, enum doc_role role) {
    const char *open = styles[role].open[d->form];
    const struct run *run = &runs[role];
    if (!open) return false;
    if (d->last != role) {
        end_run(d);
        if (d->form == DOC_HTML && run->open) buf_puts(d->out, run->open);
        if (d->form != DOC_HTML && run->list) put_mark(d, "\n");
    }
    put_mark(d, open);
    d->last = role;
    return true;
}

/* Words of a form. Code keeps its lines: in text they are set in, and end the last one. */
static void put_words(const struct doc *d, enum doc_role role) {
    const char *text = d->words.data;
    if (d->form == DOC_HTML)
        buf_markup(d->out, text);
    else if (role != DOC_CODE)
        (d->form == DOC_MARKDOWN ? buf_markdown : buf_puts)(d->out, text);
    else
        for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
            buf_printf(d->out, "%s%.*s\n", d->form == DOC_TEXT ? "  " : "", (int)strcspn(at, "\n"),
                       at);
}

/* Lines of code have ended already. */
static const char *end_of(const struct doc *d, enum doc_role role) {
    if (d->form == DOC_HTML) return styles[role].close;
    if (role != DOC_CODE) return "\n";
    return d->form == DOC_MARKDOWN ? "```\n" : "";
}

void doc_put(struct doc *d, enum doc_role role) {
    if (d->words.len && doc_enter(d, role)) {
        put_words(d, role);
        buf_puts(d->out, end_of(d, role));
    }
    buf_reset(&d->words);
}

void doc_begin(struct doc *d, enum doc_form form, const char *maker, const char *title,
               struct buf *out) {
    *d = (struct doc){
        .form = form, .out = out, .words = BUF_INIT, .row = BUF_INIT, .href = BUF_INIT};
    if (form == DOC_HTML) doc_page_begin(d, maker, title);
    if (form != DOC_MARKDOWN) return;
    buf_puts(out, "# ");
    buf_markdown(out, title);
    buf_putc(out, '\n');
    d->last = DOC_PLAIN;
}

void doc_end(struct doc *d) {
    end_run(d);
    if (d->form == DOC_HTML) doc_page_end(d);
    buf_release(&d->words);
    buf_release(&d->row);
    buf_release(&d->href);
    vec_release(&d->cells);
}

void doc_fold(struct doc *d, const char *title) {
    if (d->form != DOC_HTML) return;
    doc_enter(d, DOC_TABLE);
    buf_html(d->out, "<details><summary>", title, "</summary>\n");
}

void doc_fold_end(struct doc *d) {
    doc_raw(d, "</details>\n");
}

void doc_raw(struct doc *d, const char *html) {
    if (d->form != DOC_HTML) return;
    doc_enter(d, DOC_TABLE);
    buf_puts(d->out, html);
}

/* ---- tables ---- */

void doc_table(struct doc *d, const char *title, const char *more, const struct doc_column *columns,
               size_t n) {
    d->table = (struct doc_table){
        .title = title, .more = more, .columns = columns, .n = n, .heading = DOC_PART};
}

void doc_cell(struct doc *d) {
    struct doc_cell c = {.text = buf_take(&d->words)};
    if (d->row.len) c.row = buf_take(&d->row);
    if (d->href.len) c.href = buf_take(&d->href);
    vec_push(&d->cells, c);
}

void doc_rest(struct doc *d) {
    doc_cell(d);
    while (d->cells.n % d->table.n) vec_push(&d->cells, ((struct doc_cell){.joined = true}));
}

void doc_table_end(struct doc *d) {
    static void (*const render[DOC_FORMS])(const struct doc *d) = {[DOC_TEXT] = doc_table_text,
                                                                   [DOC_MARKDOWN] =
                                                                       doc_table_markdown,
                                                                   [DOC_HTML] = doc_table_html};
    if (d->form != DOC_TEXT && d->table.title) doc_say(d, d->table.heading, "%s", d->table.title);
    doc_enter(d, DOC_TABLE);
    render[d->form](d);
    for (size_t i = 0; i < d->cells.n; i++) {
        mem_free(d->cells.at[i].text);
        mem_free(d->cells.at[i].href);
        mem_free(d->cells.at[i].row);
    }
    vec_clear(&d->cells);
}

size_t doc_span(const struct doc *d, size_t cell) {
    size_t n = 1, end = cell - cell % d->table.n + d->table.n;
    while (cell + n < end && d->cells.at[cell + n].joined) n++;
    return n;
}
