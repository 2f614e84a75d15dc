/* SPDX-License-Identifier: Apache-2.0
 *
 * Discovering structure in time series: a CSV file in, the posterior over symbolic structures,
 * forecasts, reports and answers to questions out. A handle serves one call at a time
 * (gpmem.h); the search itself uses several threads. Text results stay valid until the next call on
 * the handle.
 */
#ifndef GPMEM_DISCOVER_H
#define GPMEM_DISCOVER_H
#include "gpmem/gpmem.h"
#include "gpmem/plot.h"
#include <signal.h>
#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gpm_discovery gpm_discovery;

enum gpm_discover_decimal { GPM_DECIMAL_AUTO, GPM_DECIMAL_POINT, GPM_DECIMAL_COMMA };
/* What is made of the rows of one step. */
enum gpm_discover_take {
    GPM_TAKE_AUTO, /* means of long series; counts where the file has nothing but times */
    GPM_TAKE_MEAN,
    GPM_TAKE_TOTAL,
    GPM_TAKE_COUNT,
    GPM_TAKE_MEDIAN,
    GPM_TAKE_LAST,
    GPM_TAKE_MIN,
    GPM_TAKE_MAX
};
enum gpm_discover_log { GPM_LOG_AUTO, GPM_LOG_NEVER, GPM_LOG_ALWAYS };
/* How thorough a search is. Low: a fifth of the work, kernels whose likelihood costs little, errors
 * that are larger; high: twice the draws, longer chains, and more structures that count little. */
enum gpm_discover_precision { GPM_PRECISION_NORMAL, GPM_PRECISION_LOW, GPM_PRECISION_HIGH };

struct gpm_discover_options {
    size_t size;             /* set by init */
    uint64_t seed;           /* default 1 */
    unsigned threads;        /* 0: as many as the machine has */
    const char *time_column; /* name or number; NULL: by the usual names */
    const char *value_column;
    bool skip_bad;       /* skip rows that cannot be read instead of failing */
    size_t max_points;   /* most recent values kept; default 0: all */
    const char *kernels; /* "LIN SE PER W IW" ...; NULL: the default set */
    bool changepoints;
    enum gpm_discover_log log;         /* transform of the output */
    double holdout;                    /* share kept aside at the end; 0: none */
    size_t horizon;                    /* forecast steps in reports; 0: by size */
    double level;                      /* of intervals, default .95 */
    double max_seconds;                /* 0: none */
    bool paper;                        /* refused: the paper's grammar is examples/paper.vnts */
    double paper_x, paper_y;           /* not read */
    const char *date_format;           /* "%d/%m/%Y", "unix-ms", "number" ...; NULL: found */
    const char *missing;               /* cells that stand for missing values, by commas: "-999" */
    enum gpm_discover_decimal decimal; /* how the file writes decimals */
    size_t backtest;                   /* origins of a backtest beside simple forecasts; 0: none */
    const char *every;                 /* a step, of whose rows `take` is taken: "1h", "1d", "none";
                                        * NULL: above 2000 values, to at most 1200 */
    const char *with_columns;          /* "price,temp": columns with linear effects */
    const char *smooth_columns;        /* columns with smooth effects */
    /* Non-zero (set by a signal handler, or by another thread with an atomic store): the run ends
     * soon with GPM_E_INTERRUPT and holds nothing. Looked at while it runs alone. */
    const volatile sig_atomic_t *stop;
    const char *least, *most; /* numbers that no value lies below, above; NULL: no such end */
    bool per_day;             /* totals of months or quarters as means of a day of theirs */
    /* As `stop`, but the run ends as if max_seconds were over, and holds what was found by then. */
    const volatile sig_atomic_t *finish;
    /* A folder, made where it is not there: results of the search are kept in it as they come. The
     * same call after any end (a signal, a crash) goes on with them, with the result of a run that
     * was not disturbed. They stay there until gpm_discover_unkeep. NULL: they are not kept. */
    const char *keep;
    /* A file of days with names, holidays and moving feasts, also to come: each name has an effect
     * by how many of its days a step has; NULL: none. Not with with_columns, smooth_columns. */
    const char *holidays;
    /* Without `every` over the step of the times, and that of totals and counts where there is none
     * over one of the calendar. */
    enum gpm_discover_take take;
    enum gpm_discover_precision precision;
};
GPM_API void gpm_discover_options_init_sized(struct gpm_discover_options *o, size_t size);
static inline void gpm_discover_options_init(struct gpm_discover_options *o) {
    gpm_discover_options_init_sized(o, sizeof *o);
}

/* A handle that holds the run or, after a failure, the message. Never NULL. */
GPM_API gpm_discovery *gpm_discover_new(void);
GPM_API void gpm_discover_free(gpm_discovery *d);
/* Runs the learner. path NULL: on the search that the folder o->keep holds, which was ended before
 * it was done, with the data and options that it was begun with. GPM_E_FORMAT, GPM_E_ARG, GPM_E_IO:
 * the input is wrong, see the error text. */
GPM_API enum gpm_status gpm_discover_run(gpm_discovery *d, const char *path,
                                         const struct gpm_discover_options *o);
/* The same for CSV in memory; messages and reports call it by its name. */
GPM_API enum gpm_status gpm_discover_run_text(gpm_discovery *d, const char *name, const char *text,
                                              size_t len, const struct gpm_discover_options *o);
GPM_API const char *gpm_discover_error(gpm_discovery *d);
GPM_API bool gpm_discover_settled(const gpm_discovery *d);

/* What a folder keeps of a search that is not finished: of one series, of several (gpm_panel_run),
 * of gpm_discover_go_on with a kept run. */
enum gpm_discover_kept { GPM_KEPT_NOTHING, GPM_KEPT_SERIES, GPM_KEPT_PANEL, GPM_KEPT_MORE };
GPM_API enum gpm_discover_kept gpm_discover_unfinished(const char *dir);
/* Removes it; the search is finished and saved, or nobody wants it. */
GPM_API void gpm_discover_unkeep(const char *dir);

/* Folder: manifest, data, structures, draws, chains. */
GPM_API enum gpm_status gpm_discover_save(gpm_discovery *d, const char *dir);
/* Values that follow those of the run, as a table with its columns: a text under a name, or the
 * file of this name where text is NULL. Forecasts are of all values from here on; structures and
 * draws of parameters stay as they were learnt. It is then neither saved nor continued. */
GPM_API enum gpm_status gpm_discover_add(gpm_discovery *d, const char *name, const char *text,
                                         size_t len);
GPM_API enum gpm_status gpm_discover_open(gpm_discovery *d, const char *dir);

enum gpm_discover_format {
    GPM_REPORT_TEXT,
    GPM_REPORT_JSON,
    GPM_REPORT_MARKDOWN,
    GPM_REPORT_HTML,
    GPM_REPORT_PROGRAM
};
/* "" when there is none: see gpm_discover_error. */
GPM_API const char *gpm_discover_report(gpm_discovery *d, enum gpm_discover_format f);

/* Whether a folder holds a run of the structure learner. */
GPM_API bool gpm_discover_is_run(const char *dir);
/* Data with forecast, and the components: a picture of those that are named ("forecast", "SE*PER"),
 * of all when there are no names. */
GPM_API enum gpm_status gpm_discover_plot(gpm_discovery *d, const char *const *names, size_t n,
                                          const struct gpm_plot_options *o, const char **picture);

struct gpm_answer {
    double probability, error, ess;
};
GPM_API enum gpm_status gpm_discover_query(gpm_discovery *d, const char *query,
                                           struct gpm_answer *out);
/* How the last question was read, in the formal language. */
GPM_API const char *gpm_discover_reading(gpm_discovery *d);
/* CSV x,median,lo,hi for the next `horizon` steps, or at the n times given (numbers in the file's
 * unit; dates as the file writes them). */
GPM_API enum gpm_status gpm_discover_forecast(gpm_discovery *d, size_t horizon,
                                              const char *const *times, size_t n_times,
                                              double level, const char **csv);
/* The same at the times of a CSV file's column of times, found as that of the data is; a run with
 * effects of other columns needs their values there, too. */
GPM_API enum gpm_status gpm_discover_forecast_file(gpm_discovery *d, const char *path, double level,
                                                   const char **csv);
/* The same for CSV in memory. */
GPM_API enum gpm_status gpm_discover_forecast_text(gpm_discovery *d, const char *name,
                                                   const char *text, size_t len, double level,
                                                   const char **csv);
/* What forecasts made after this hold beside: the quantiles at these levels (columns q0.1, ...) and
 * draws of the whole course (path1, ...). */
GPM_API enum gpm_status gpm_discover_forecast_add(gpm_discovery *d, const double *levels,
                                                  size_t n_levels, size_t paths);
/* Goes on with the run that is open: more draws, more structures, longer chains; within so many
 * seconds (0: no limit). GPM_E_INTERRUPT: the time was too short even to begin. Where it fails, for
 * whatever reason, the handle and a folder keep the run that they had. */
GPM_API enum gpm_status gpm_discover_continue(gpm_discovery *d, double max_seconds);
/* The same with options, of which max_seconds, stop, finish and keep count. */
GPM_API enum gpm_status gpm_discover_go_on(gpm_discovery *d, const struct gpm_discover_options *o);

/* ---- several series of one file ---- */
typedef struct gpm_panel gpm_panel;
struct gpm_panel_options {
    size_t size;      /* set by init */
    const char *by;   /* column whose values tell the series apart; NULL: a series in each column */
    bool independent; /* every series by itself: no shared hyper-parameters */
};
GPM_API void gpm_panel_options_init_sized(struct gpm_panel_options *o, size_t size);
static inline void gpm_panel_options_init(struct gpm_panel_options *o) {
    gpm_panel_options_init_sized(o, sizeof *o);
}
GPM_API gpm_panel *gpm_panel_new(void);
GPM_API void gpm_panel_free(gpm_panel *p);
/* A run for each series; a series that cannot be used does not stop the others. */
GPM_API enum gpm_status gpm_panel_run(gpm_panel *p, const char *path,
                                      const struct gpm_discover_options *o,
                                      const struct gpm_panel_options *how);
GPM_API const char *gpm_panel_error(gpm_panel *p);
GPM_API size_t gpm_panel_size(const gpm_panel *p);
GPM_API const char *gpm_panel_key(const gpm_panel *p, size_t i);
/* The run of series i, owned by the panel; NULL when there is none: *why says so (may be NULL). */
GPM_API gpm_discovery *gpm_panel_member(gpm_panel *p, size_t i, const char **why);
/* Each run into a folder of its own below dir. With options.keep gpm_panel_run refuses before the
 * work what this would refuse: a folder with the run of another series. */
GPM_API enum gpm_status gpm_panel_save(gpm_panel *p, const char *dir);
/* Text, JSON or HTML. */
GPM_API const char *gpm_panel_report(gpm_panel *p, enum gpm_discover_format f);

/* ---- remarks on the data ---- */

/* What the values of a file show of its own making, without a search: a unit that changed, a
 * counter, a sensor that stuck, values that end where a scale does. Of the options those that say
 * how the file is read count; how: where it has several series, or NULL. The report is text, or
 * JSON; a run that the handle had is gone. */
GPM_API enum gpm_status gpm_discover_check(gpm_discovery *d, const char *path,
                                           const struct gpm_discover_options *o,
                                           const struct gpm_panel_options *how, bool json,
                                           const char **report);
#if defined(__cplusplus)
}
#endif
#endif
