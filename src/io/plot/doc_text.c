/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of documents as text and as Markdown.
 */
#include "io/plot/doc.h"
#include <string.h>

#define WIDEST 40 /* characters that cells of a column are padded to */

/* ---- text ---- */

/* The last column that has something in this row: no blanks stand behind it. */
static size_t row_end(const struct doc *d, const struct doc_cell *row) {
    size_t n = d->table.n;
    while (n && (row[n - 1].joined || d->table.columns[n - 1].kind == DOC_BAR || !*row[n - 1].text))
        n--;
    return n;
}

static void text_row(const struct doc *d, const struct doc_cell *row, const int *width) {
    size_t end = row_end(d, row);
    for (size_t j = 0; j < end; j++) {
        const char *text = row[j].text ? row[j].text : "";
        int pad = width[j] - (int)plot_text_length(text);
        bool right = d->table.columns[j].kind == DOC_NUMBER && !row[j + (j + 1 < end)].joined;
        if (d->table.columns[j].kind == DOC_BAR || row[j].joined) continue;
        if (pad < 0) pad = 0;
        buf_printf(d->out, "  %*s%s%*s", right ? pad : 0, "", text, !right && j + 1 < end ? pad : 0,
                   "");
    }
    buf_putc(d->out, '\n');
}

static void widen(int *width, const char *text) {
    int n = (int)plot_text_length(text);
    if (n > *width) *width = n < WIDEST ? n : WIDEST;
}

void doc_table_text(const struct doc *d) {
    const struct doc_table *t = &d->table;
    int *width = NEW_ARRAY(int, t->n);
    struct doc_cell *head = NEW_ARRAY(struct doc_cell, t->n);
    for (size_t j = 0; j < t->n; j++) {
        head[j] = (struct doc_cell){.text = (char *)t->columns[j].name};
        width[j] = 0;
        if (!t->more) widen(&width[j], head[j].text);
    }
    for (size_t i = 0; i < d->cells.n; i++)
        if (!d->cells.at[i].joined && doc_span(d, i) == 1)
            widen(&width[i % t->n], d->cells.at[i].text);
    if (t->title)
        buf_printf(d->out, "%s%s%s\n", t->title, t->more && *t->more ? ": " : "",
                   t->more ? t->more : "");
    if (!t->more) text_row(d, head, width);
    for (size_t i = 0; i < d->cells.n; i += t->n) text_row(d, d->cells.at + i, width);
    mem_free(head);
    mem_free(width);
}

/* ---- Markdown ---- */

static void markdown_cell(const struct doc *d, size_t i) {
    const struct doc_cell *c = &d->cells.at[i];
    if (c->joined || !*c->text)
        buf_puts(d->out, " |");
    else if (d->table.columns[i % d->table.n].kind == DOC_NAME && doc_span(d, i) == 1)
        buf_printf(d->out, " `%s` |", c->text);
    else {
        buf_putc(d->out, ' ');
        buf_markdown(d->out, c->text);
        buf_puts(d->out, " |");
    }
}

void doc_table_markdown(const struct doc *d) {
    const struct doc_table *t = &d->table;
    buf_putc(d->out, '|');
    for (size_t j = 0; j < t->n; j++) {
        if (t->columns[j].kind == DOC_BAR) continue;
        buf_putc(d->out, ' ');
        buf_markdown(d->out, t->columns[j].name);
        buf_puts(d->out, " |");
    }
    buf_puts(d->out, "\n|");
    for (size_t j = 0; j < t->n; j++)
        if (t->columns[j].kind != DOC_BAR)
            buf_puts(d->out, t->columns[j].kind == DOC_NUMBER ? "---:|" : "---|");
    for (size_t i = 0; i < d->cells.n; i++) {
        if (i % t->n == 0) buf_puts(d->out, "\n|");
        if (t->columns[i % t->n].kind != DOC_BAR) markdown_cell(d, i);
    }
    buf_putc(d->out, '\n');
}
