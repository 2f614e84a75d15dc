/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of a regression: complete rows of a CSV file as an outcome and columns of a design.
 *
 * An input that is a number is one column of the design; so is one of dates, as years since the
 * first; an input of words with few levels is one
 * column of 0 and 1 for each level but the first (the most frequent one). Everything that was left
 * out, skipped or is worth knowing stands in `notes`, a line each.
 */
#ifndef REGRESS_RTABLE_H
#define REGRESS_RTABLE_H
#include "table/table.h"
#include "base/vec.h"

enum {
    RTABLE_LEAST = 5,    /* complete rows */
    RTABLE_COLUMNS = 60, /* of the design at most: with the other parameters they fit a proposal */
    RTABLE_LEVELS = 12   /* of an input of words that was not asked for by name, at most */
};

struct rtable_options {
    const char *y, *x;       /* column of the outcome; list "a,b" of inputs; NULL: found */
    const char *missing;     /* list of cells that stand for missing values */
    char decimal;            /* '.', ',' or 0: found */
    const char *date_format; /* as in table/times.h; NULL: found */
};

struct rinput {
    char *name;                /* as reports show it */
    char *heading;             /* as the file has it; NULL: it has no header */
    int column;                /* of the file */
    struct number_style style; /* of numbers */
    int first, n;              /* columns of the design */
    char **level;              /* n_levels words, the first without a column; NULL: a number */
    int n_levels;
    bool dated;            /* the column holds (date - origin) / year */
    struct time_form form; /* how the file writes dates */
    double origin, year;
    double lo, hi; /* of numbers: the range of the data */
};

struct rtable {
    char *file, *y_name, *y_heading;
    char *word[2]; /* of an outcome of two words: 0 and 1, in the alphabet's order; NULL: numbers */
    struct rinput *input;
    int n_inputs, d;                      /* d: columns of the design */
    size_t n, read;                       /* complete rows, rows of the file */
    double *x, *y;                        /* n x d by rows, and the outcome, as read */
    size_t *line;                         /* of the file, for each row */
    double *centre, *scale, y_mean, y_sd; /* of columns and outcome: mean and standard deviation */
    bool from_file;                       /* else from a text */
    bool header;                          /* names are the file's */
    bool plain;                           /* numbers stand in it as programs write them */
    struct rtable_options o;              /* borrowed */
    struct buf notes;
};

/* A file, or a text with a name for messages. */
struct rtext {
    const char *name, *text; /* text NULL: that of the file called so */
    size_t n;
};
/* Zeroes t first; GPM_E_FORMAT: err says what is wrong, with file and line. */
GPM_MUST_USE enum gpm_status rtable_read(struct rtable *t, const struct rtext *from,
                                         const struct rtable_options *o, struct buf *err);
void rtable_release(struct rtable *t);
GPM_MUST_USE enum gpm_status rtext_read(const struct rtext *from, struct csv *c, struct buf *err);
/* Where another table has the input: by its heading or what that is shown as, or by its number
 * without a header. -1: nowhere. */
int rinput_column(const struct rinput *in, const struct csv *c);
/* The columns of the design for a cell; false: it is no number, no date, no level. */
bool rinput_put(const struct rinput *in, const char *cell, double *row);
/* A number of a column of dates as the file would write it. */
void rinput_date(const struct rinput *in, double v, struct buf *out);

/* New rows for the same inputs: m x d as read, NaN where a cell is missing, infinite where it holds
 * a word that is no level of the data; found by name. */
struct rnew {
    double *x;
    size_t m, cap;
    VEC(size_t) line;   /* of its file; 0: it stood in no file */
    VEC(char *) unseen; /* of each row, what says that it has such a word; NULL: none */
};
void rnew_release(struct rnew *r);
/* All rows of the source, or none: what cannot be read adds nothing. A word that is no level is an
 * error where no row is without one. */
GPM_MUST_USE enum gpm_status rnew_table(const struct rtable *t, const struct rtext *from,
                                        struct rnew *r, struct buf *err);
/* "a=1,b=2": every input once. */
GPM_MUST_USE enum gpm_status rnew_point(const struct rtable *t, const char *text, struct rnew *r,
                                        struct buf *err);

/* The value of input j in a row of the design, as the file would write it. */
void rtable_value(const struct rtable *t, int j, const double *row, struct buf *out);
/* Names of the inputs of a row that lie outside of the data, separated by blanks; how many. */
int rtable_outside(const struct rtable *t, const double *row, struct buf *out);
/* Leaves rows out that are copies of others, and notes it (rcopies.c). */
void rtable_drop_copies(struct rtable *t);
/* Has the outcome two values, and no others? */
bool rtable_two_values(const struct rtable *t, double *low, double *high);
/* Mean and standard deviation of the outcome from n rows. */
void rtable_scale_outcome(struct rtable *t, const size_t *row, size_t n);
/* Standardised coordinates of a row. */
void rtable_standard(const struct rtable *t, const double *row, double *z);
#endif
