/* SPDX-License-Identifier: Apache-2.0
 *
 * A report written once and rendered as text, Markdown or a page of HTML. A report is a run of
 * blocks: what stands in `words` becomes a block by doc_put, in the role that it has; tables are
 * filled cell by cell; figures exist on pages alone. All text is escaped here.
 *
 *     struct doc d;
 *     doc_begin(&d, DOC_HTML, "gpmem discover", "Structure of y", out);
 *     doc_say(&d, DOC_LEAD, "%zu values", n);
 *     static const struct doc_column columns[] = {{"input", DOC_WORD}, {"share", DOC_NUMBER}};
 *     doc_table(&d, "What matters", NULL, columns, 2);
 *     doc_cellf(&d, "%s", name);
 *     doc_cellf(&d, "%.1f", share);
 *     doc_table_end(&d);
 *     doc_end(&d);
 *
 * Text: a paragraph is one line (the tool breaks it for a terminal), code and rows of tables begin
 * with two blanks, headings stand above tables alone.
 */
#ifndef PLOT_DOC_H
#define PLOT_DOC_H
#include "base/vec.h"
#include "io/plot/scene.h"

enum doc_form { DOC_TEXT, DOC_MARKDOWN, DOC_HTML, DOC_FORMS };

enum doc_role {
    DOC_NOTHING, /* nothing was written yet */
    DOC_SECTION, /* headings, not in text */
    DOC_PART,
    DOC_PLAIN, /* paragraphs */
    DOC_LEAD,
    DOC_SOFT, /* beside what matters */
    DOC_NOTE,
    DOC_SETTLED,
    DOC_OPEN,
    DOC_STEP, /* items of a list; those of DOC_STEP have their number in their words */
    DOC_ITEM,
    DOC_CODE,
    DOC_TABLE, /* by functions of their own */
    DOC_WIDE,
    DOC_HALF,
    DOC_ROLES
};

enum doc_kind {
    DOC_WORD,
    DOC_NUMBER,
    DOC_NAME, /* a name of the language */
    DOC_BAR   /* a share in percent, drawn; pages alone */
};

struct doc_column {
    const char *name;
    enum doc_kind kind;
};

/* In text a table stands below "title: more"; without `more` below its title and the names of its
 * columns. Elsewhere its title is a heading and its columns are named. */
struct doc_table {
    const char *title, *more; /* or NULL */
    const char *attributes;   /* of pages: " id=\"t\"", or NULL */
    const struct doc_column *columns;
    size_t n;
    bool stacked;          /* a narrow page has its cells below each other */
    enum doc_role heading; /* of the title; DOC_PART unless it is set */
};

struct doc_cell {
    char *text;
    char *href;  /* the place that it leads to, or NULL */
    char *row;   /* attributes of the row that it begins, or NULL */
    bool joined; /* part of the cell before it */
};

struct doc {
    enum doc_form form;
    struct buf words; /* of the next block */
    struct buf *out;
    enum doc_role last;
    struct doc_table table; /* that is being filled */
    VEC(struct doc_cell) cells;
    /* Of the next cell, for pages: attributes of the row that it begins, " class=\"out\""; the
     * place of the page that it leads to, "#name". */
    struct buf row, href;
};

/* The title is copied. doc_end frees everything but `out`. */
void doc_begin(struct doc *d, enum doc_form form, const char *maker, const char *title,
               struct buf *out);
void doc_end(struct doc *d);

/* What stands in `words` as a block; nothing where it is empty. doc_say adds to it before. */
void doc_put(struct doc *d, enum doc_role role);
#define doc_say(d, role, ...) (buf_printf(&(d)->words, __VA_ARGS__), doc_put(d, role))
/* A part that is closed on a page until the reader opens it. */
void doc_fold(struct doc *d, const char *title);
void doc_fold_end(struct doc *d);
/* A page's own markup. */
void doc_raw(struct doc *d, const char *html);

/* Begins one; `table` has what else is to be said of it. The columns live until its end. */
void doc_table(struct doc *d, const char *title, const char *more, const struct doc_column *columns,
               size_t n);
/* The next cell is what stands in `words`; doc_cellf adds to it before. doc_rest: one cell over the
 * rest of the row. */
void doc_cell(struct doc *d);
void doc_rest(struct doc *d);
#define doc_cellf(d, ...) (buf_printf(&(d)->words, __VA_ARGS__), doc_cell(d))
#define doc_restf(d, ...) (buf_printf(&(d)->words, __VA_ARGS__), doc_rest(d))
void doc_table_end(struct doc *d);

/* What is shown when the pointer rests on a chart: the label of the nearest x, and the lines there;
 * a line's values beyond its n are blank. */
struct doc_line {
    const char *name;
    const double *y;
    size_t n;
};
struct doc_hover {
    size_t n;
    const double *x;
    void (*label)(const void *ctx, double x, struct buf *out);
    const void *ctx;
    const struct doc_line *lines;
    size_t n_lines;
};
/* Whether figures are drawn: others need not be made. */
bool doc_draws(const struct doc *d);
/* DOC_WIDE: as wide as the page, with a caption (the scene's description) and what the pointer
 * shows, or NULL; drawn for wide pages and narrow ones, so that letters keep their size. DOC_HALF:
 * beside others, as wide as a telephone. The id is the page's own. The scene is freed. */
void doc_figure(struct doc *d, enum doc_role size, const char *id, struct plot_scene *s,
                const struct doc_hover *h);

/* ---- between the files of documents ---- */

/* Ends the run of blocks before and begins a block; false: the form has none of the role. */
bool doc_enter(struct doc *d, enum doc_role role);
/* Columns that a cell takes. */
size_t doc_span(const struct doc *d, size_t cell);
void doc_table_text(const struct doc *d);
void doc_table_markdown(const struct doc *d);
void doc_table_html(const struct doc *d);
void doc_page_begin(struct doc *d, const char *maker, const char *title);
void doc_page_end(struct doc *d);
#endif
