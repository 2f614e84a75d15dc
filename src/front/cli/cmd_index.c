/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem index add|list|remove|verify|compact|export INDEX: collections of series;
 * gpmem search INDEX QUESTION: questions to them.
 */
#include "base/buf.h"
#include "front/cli/array_task.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "gpmem/index.h"
#include <stdio.h>
#include <string.h>

static struct {
    struct gpm_index_options o;
    int decimal, format;
    size_t top;
    const char *like, *html, *shard;
    bool json;
} args = {.top = 20};

/* Says why when the status is not good, and frees. */
static int index_finish(gpm_index *x, enum gpm_status st) {
    int status = EXIT_FINE;
    if (st)
        status =
            complain(st == GPM_E_FORMAT || st == GPM_E_ARG || st == GPM_E_NOT_FOUND ? EXIT_USAGE
                                                                                    : EXIT_FAILED,
                     "%s", gpm_index_error(x));
    gpm_index_free(x);
    return status;
}

static void progress(void *user, size_t done, size_t of) {
    explain("%zu of %zu series", done, of);
}

static struct gpm_index_options options(void) {
    struct gpm_index_options o = args.o, fresh;
    gpm_index_options_init(&fresh);
    o.size = fresh.size;
    if (!o.seed) o.seed = fresh.seed;
    o.decimal = (enum gpm_discover_decimal)args.decimal;
    o.progress = progress;
    return o;
}

/* 0: all are in; 1: the index failed; 2: nothing could be used; 3: some were refused; 4: stopped.
 */
static int told(gpm_index *x, enum gpm_status st, const struct gpm_index_counts *c,
                const char *refusals) {
    if (st && st != GPM_E_INTERRUPT) return index_finish(x, st);
    out_printf("%zu added, %zu replaced, %zu unchanged, %zu refused%s\n", c->added, c->replaced,
               c->unchanged, c->refused, st ? "; stopped: the same command goes on from here" : "");
    for (const char *p = refusals; *p;) {
        size_t line = strcspn(p, "\n");
        complain(0, "%.*s", (int)line, p);
        p += line + (p[line] == '\n');
    }
    gpm_index_free(x);
    if (st) return EXIT_STOPPED;
    if (!c->refused) return EXIT_FINE;
    return c->added + c->replaced + c->unchanged ? 3 : EXIT_USAGE;
}

/* --shard K/N, auto/N: the number from the scheduler of an array, modulo N. */
static bool read_shard(struct gpm_index_options *o) {
    const char *slash = args.shard ? strchr(args.shard, '/') : NULL;
    uint64_t k = 0, n = 0, number = 0;
    if (!args.shard) return true;
    bool scheduled = !strncmp(args.shard, "auto/", 5);
    char *before = mem_strndup(args.shard, slash ? (size_t)(slash - args.shard) : 0);
    bool good = slash && count_read(COUNT_TASKS, slash + 1, &n);
    if (!scheduled) good = good && count_read(COUNT_ANY, before, &k) && k < n;
    mem_free(before);
    if (!good) {
        complain(0, "--shard '%s': say K/N with K from 0 to N - 1, or auto/N", args.shard);
        return false;
    }
    struct buf from = BUF_INIT;
    if (scheduled && !array_task(&number, &from)) {
        complain(0, "--shard %s: no scheduler says which task of an array this is", args.shard);
        good = false;
    }
    o->shard = (unsigned)(scheduled ? number % n : k);
    o->shards = (unsigned)n;
    if (good) explain("shard %u of %u %s", o->shard, o->shards, from.data);
    buf_release(&from);
    return good;
}

static int add(gpm_index *x, int n, char **files) {
    struct gpm_index_options o = options();
    struct gpm_index_counts c;
    const char *refusals;
    bool good = read_shard(&o);
    if (!n) complain(0, "name files or folders to add");
    if (!n || !good) {
        gpm_index_free(x);
        return EXIT_USAGE;
    }
    stop_on_signals(true);
    o.stop = stop_flag();
    enum gpm_status st = gpm_index_add(x, (const char *const *)files, (size_t)n, &o, &c, &refusals);
    stop_on_signals(false);
    return told(x, st, &c, refusals);
}

static int merge(gpm_index *x, int n, char **from) {
    struct gpm_index_counts c;
    const char *refusals;
    if (!n) {
        gpm_index_free(x);
        return complain(EXIT_USAGE, "name the indexes to merge into it");
    }
    enum gpm_status st = gpm_index_merge(x, (const char *const *)from, (size_t)n, &c, &refusals);
    return told(x, st, &c, refusals);
}

static int list(gpm_index *x, int n, char **more) {
    const char *text;
    enum gpm_status st = gpm_index_list(x, args.format ? GPM_INDEX_JSON : GPM_INDEX_TEXT, &text);
    if (!st) out_text(text);
    return index_finish(x, st);
}

static int removed(gpm_index *x, int n, char **names) {
    enum gpm_status st = GPM_OK;
    if (!n) {
        gpm_index_free(x);
        return complain(EXIT_USAGE, "name the series to remove");
    }
    for (int i = 0; i < n && !st; i++) st = gpm_index_remove(x, names[i]);
    return index_finish(x, st);
}

static int verify(gpm_index *x, int n, char **more) {
    size_t series;
    enum gpm_status st = gpm_index_verify(x, &series);
    if (!st) out_printf("%zu series, all readable\n", series);
    if (!st && !gpm_index_summed(x))
        complain(0, "not every page has a checksum; gpmem index compact gives each of a file one");
    return index_finish(x, st);
}

static int compact(gpm_index *x, int n, char **more) {
    return index_finish(x, gpm_index_compact(x, n ? more[0] : NULL));
}

static int export(gpm_index *x, int n, char **more) {
    const char *text, *ending = n ? strrchr(more[0], '.') : NULL;
    if (ending && !strcmp(ending, ".parquet"))
        return index_finish(x, gpm_index_export_parquet(x, more[0]));
    enum gpm_status st = gpm_index_export(x, &text);
    bool written = !st && out_file(n ? more[0] : NULL, text, strlen(text));
    int status = index_finish(x, st);
    return !st && !written ? EXIT_FAILED : status;
}

static const struct {
    const char *name;
    int (*run)(gpm_index *x, int n, char **more);
} actions[] = {{"add", add},       {"merge", merge},     {"list", list},    {"remove", removed},
               {"verify", verify}, {"compact", compact}, {"export", export}};

static int run_index(int argc, char **argv) {
    explain("index %s: %s", argv[1], argv[0]);
    for (size_t i = 0; i < COUNT_OF(actions); i++)
        if (!strcmp(actions[i].name, argv[0]))
            return actions[i].run(gpm_index_new(argv[1]), argc - 2, argv + 2);
    return complain(
        EXIT_USAGE,
        "there is no 'index %s'; say add, merge, list, remove, verify, compact or export", argv[0]);
}

static int run_search(int argc, char **argv) {
    const char *text;
    bool page = args.html != NULL;
    gpm_index *x = gpm_index_new(argv[0]);
    enum gpm_index_format form = page        ? GPM_INDEX_HTML
                                 : args.json ? GPM_INDEX_JSON
                                             : GPM_INDEX_TEXT;
    struct gpm_index_options o = options();
    if (argc == 2 && gpm_index_read(x, argv[1], &text) == GPM_OK) explain("read as %s", text);
    if ((argc == 2) == (args.like != NULL)) {
        gpm_index_free(x);
        return complain(EXIT_USAGE, "search takes a question, or --like FILE instead of one");
    }
    enum gpm_status st = args.like ? gpm_index_like(x, args.like, args.top, &o, form, &text)
                                   : gpm_index_search(x, argv[1], args.top, form, &text);
    bool written = true;
    if (!st && page)
        written = out_file(args.html, text, strlen(text));
    else if (!st)
        out_text(text);
    int status = index_finish(x, st);
    return written ? status : EXIT_FAILED;
}

static const struct option_row index_rows[] = {
    {"seed", 's', OPTION_UINT, "N", "add: seed of the random numbers (default 1)", &args.o.seed},
    {"time", 0, OPTION_TEXT, "NAME",
     "add: column of times (default: ds, date, time, ... or the first), or rows for their order",
     &args.o.time_column},
    {"column", 'c', OPTION_TEXT, "NAME",
     "add: column of values (default: y, value, or the only one)", &args.o.value_column},
    {"by", 0, OPTION_TEXT, "COLUMN", "add: a series for every value of this column", &args.o.by},
    {"wide", 0, OPTION_FLAG, NULL, "add: a series in every column", &args.o.wide},
    {"thorough", 0, OPTION_FLAG, NULL,
     "add: the search of discover for every series, ten times the work", &args.o.thorough},
    {"shard", 0, OPTION_TEXT, "K/N|auto/N",
     "add: of every N series the one of number K; auto: the number of this task of a job array",
     &args.shard},
    {"learn", 0, OPTION_FLAG, NULL,
     "add: learn what hyper-parameters are common from 24 of the files, for this index from now on",
     &args.o.learn},
    {"claim", 0, OPTION_TIME, "S",
     "add, on a server: time that a process has for a series before others take it (default 300)",
     &args.o.claim},
    {"skip-bad", 0, OPTION_FLAG, NULL, "add: skip rows that cannot be read", &args.o.skip_bad},
    {"date-format", 0, OPTION_TEXT, "FORMAT", "add: how times are written (default: found)",
     &args.o.date_format},
    {"decimal", 0, OPTION_CHOICE, "auto|point|comma",
     "add: how decimals are written (default auto)", &args.decimal},
    {"missing", 0, OPTION_TEXT, "CODE,...", "add: cells that stand for missing values",
     &args.o.missing},
    {"every", 0, OPTION_TEXT, "STEP", "add: a step of several rows, as in discover", &args.o.every},
    {"take", 0, OPTION_CHOICE, "auto|mean|total|count|median|last|min|max",
     "add: of the rows of a step or of one time: totals of sales, counts of events", &args.o.take},
    {"format", 0, OPTION_CHOICE, "text|json", "list: how series are printed (default text)",
     &args.format},
    {"threads", 'j', COUNTED(SMALL, THREADS), "N", "add: threads (default: all cores, at most 8)",
     &args.o.threads},
    {.kind = OPTION_GROUP, .field = &device_options},
};

COMMAND(index, 112) = {
    .args = "add|merge|list|remove|verify|compact|export INDEX [ARGS]",
    .summary = "Keeps an index of many series, for search",
    .text =
        "index add INDEX FILE|FOLDER..: CSV files, the *.csv of folders, kept runs of discover; "
        "makes the index where there is none. What is unchanged is skipped, so a run that was "
        "stopped or killed goes on where it was. A series is called by its file, or by file and "
        "column (--wide) or value (--by). INDEX is a file, or postgresql://HOST/DATABASE#NAME: "
        "there "
        "several processes that are given the same files share them. index merge INDEX FROM..: the "
        "series of other indexes. index list INDEX: what is in it, and what was refused. "
        "index remove INDEX NAME..: takes series out. index verify INDEX: reads everything, with "
        "the checksums of its pages. index "
        "compact INDEX [COPY]: without gaps, in place or as a new file. index export INDEX [FILE]: "
        "JSON, a line a series, or, where the file ends in .parquet, a table of names, structures, "
        "probabilities and forecasts. Exit status: 0 fine, 1 the index failed, 2 bad usage or "
        "nothing "
        "could be used, 3 some series were refused, 4 stopped by a signal: the same command goes "
        "on.",
    OPTIONS(index_rows),
    .takes = {2, -1},
    .run = run_index,
};

static const struct option_row search_rows[] = {
    {"top", 'n', COUNTED(SIZE, TOP), "N", "results (default 20)", &args.top},
    {"json", 0, OPTION_FLAG, NULL, "print JSON", &args.json},
    {"html", 0, OPTION_TEXT, "FILE", "write a page with charts that can be sorted", &args.html},
    {"like", 0, OPTION_TEXT, "FILE",
     "series with the structure of this file, kept run, or series of the index", &args.like},
};

COMMAND(search, 114) = {
    .args = "INDEX [QUESTION]",
    .summary = "Ranks the series of an index by the probability that something is so",
    .text =
        "A question is English (\"is periodic during the 1990s but not before\", \"has a rising "
        "trend starting around 1988\") or formal: rises(from=1988), falls(1970..1980), linear(), "
        "periodic(1990..2000, period=12 months), periodic(until=1970), swing_grows(), "
        "noise_grows(), jumps(1963..1967, size>2), smooth(), random_walk(), pure_noise(), "
        "value(1990) > 5, share(periodic) > 0.5, and the components and motifs of gpmem query; "
        "AND (&), OR (|), NOT (!), parentheses. How it was read is shown.",
    OPTIONS(search_rows),
    .takes = {1, 2},
    .run = run_search,
};
