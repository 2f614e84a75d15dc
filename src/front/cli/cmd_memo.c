/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem memo list|show|export|import|copy|verify|rm STORE: looking at memo tables, CSV both ways,
 * copies.
 */
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "gpmem/optimize.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int format;
    bool replicates;
    const char *function;
} args;

/* What is done with one argument after the store, or with none; ids are read before. *text is what
 * to print, if anything. */
typedef enum gpm_status action_fn(gpm_memo *m, const char *arg, int64_t id, const char **text);

static enum gpm_status list(gpm_memo *m, const char *arg, int64_t id, const char **text) {
    return gpm_memo_list(m, (enum gpm_format)args.format, text);
}

static enum gpm_status show(gpm_memo *m, const char *arg, int64_t id, const char **text) {
    return gpm_memo_show(m, id, (enum gpm_format)args.format, text);
}

static enum gpm_status export(gpm_memo *m, const char *arg, int64_t id, const char **text) {
    const char *csv; enum gpm_status s = gpm_memo_export(m, &csv);
    if (!s && !out_file(arg, csv, strlen(csv))) s = GPM_E_IO;
    return s;
}

static enum gpm_status import(gpm_memo *m, const char *arg, int64_t id, const char **text) {
    size_t added = 0;
    enum gpm_status s = gpm_memo_import(m, arg, args.replicates, &added);
    if (!s) out_printf("%zu rows added from %s\n", added, arg);
    return s;
}

static enum gpm_status copy(gpm_memo *m, const char *arg, int64_t id, const char **text) {
    size_t rows = 0;
    enum gpm_status s = gpm_memo_copy(m, arg, &rows);
    if (!s) out_printf("%zu rows copied to %s\n", rows, arg);
    return s;
}

static enum gpm_status verify(gpm_memo *m, const char *arg, int64_t id, const char **text) {
    size_t rows = 0;
    bool summed = false;
    enum gpm_status s = gpm_memo_verify(m, &rows, &summed);
    if (!s) out_printf("%zu rows, all readable\n", rows);
    if (!s && !summed)
        complain(0, "not every page has a checksum; gpmem memo copy makes a file where each has");
    return s;
}

static enum gpm_status rm(gpm_memo *m, const char *arg, int64_t id, const char **text) {
    return gpm_memo_remove(m, id);
}

static const struct action {
    const char *name;
    action_fn *fn;
    bool write, ids, many; /* many: every argument in turn */
    const char *missing;   /* said without an argument; NULL: none is needed */
} actions[] = {{"list", list, .write = false},
               {"show", show, .ids = true, .many = true},
               {"export", export, .write = false},
               {"import", import, true, .many = true, .missing = "name the CSV file to import"},
               {"copy", copy, .missing = "name the store to copy to"},
               {"verify", verify, .write = false},
               {"rm", rm, true, true, true, "name the ids of the rows to remove"}};

static int act(const struct action *act, gpm_memo *m, int argc, char **argv) {
    if (act->missing && !argc) return complain(EXIT_USAGE, "%s", act->missing);
    for (int i = 0; i < (act->many && argc ? argc : 1); i++) {
        int64_t id = 0;
        char *end;
        if (act->ids && argc && ((id = strtoll(argv[i], &end, 10)) <= 0 || *end))
            return complain(EXIT_USAGE, "'%s' is not the id of a row", argv[i]);
        const char *text = "";
        enum gpm_status s = act->fn(m, argc ? argv[i] : NULL, id, &text);
        if (!s) out_text(text);
        if (s && *gpm_memo_error(m)) complain(0, "%s", gpm_memo_error(m)); /* else it was said */
        if (s) return s == GPM_E_NOT_FOUND || s == GPM_E_ARG ? EXIT_USAGE : EXIT_FAILED;
    }
    return EXIT_FINE;
}

/* import into a store that does not exist yet: the header of the file names the inputs. */
static enum gpm_status create(gpm_memo *m, const char *store, const char *csv) {
    struct buf text = BUF_INIT, names = BUF_INIT;
    enum gpm_status st = read_text(csv, &text);
    text.data[strcspn(text.data, "\r\n")] = 0;
    char *rest, *p = strtok_r(text.data, ",", &rest);
    for (; p && strcmp(p, "value") != 0; p = strtok_r(NULL, ",", &rest))
        buf_printf(&names, "%s%s", names.len ? "," : "", p);
    if (!st) st = names.len ? gpm_memo_create(m, store, args.function, names.data) : GPM_E_ARG;
    buf_release(&text);
    buf_release(&names);
    return st;
}

static int memo_run(int argc, char **argv) {
    const struct action *found = actions, *end = actions + COUNT_OF(actions);
    while (found < end && strcmp(found->name, argv[0]) != 0) found++;
    if (found == end)
        return complain(EXIT_USAGE,
                        "there is no 'memo %s'; say list, show, export, import, copy, verify or rm",
                        argv[0]);
    gpm_memo *m = gpm_memo_new();
    bool fresh = found->fn == import && argc > 2 && args.function && !gpm_memo_there(argv[1]);
    enum gpm_status s =
        fresh ? create(m, argv[1], argv[2]) : gpm_memo_open(m, argv[1], found->write);
    int status = EXIT_FAILED;
    if (!s)
        status = act(found, m, argc - 2, argv + 2);
    else if (*gpm_memo_error(m))
        complain(0, "%s", gpm_memo_error(m));
    else if (s == GPM_E_ARG) /* others were said */
        complain(0, "the CSV file has no header");
    gpm_memo_free(m);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how rows are printed (default text)", &args.format},
    {"replicates", 0, OPTION_FLAG, NULL, "import: a known input gets a further value",
     &args.replicates},
    {"function", 0, OPTION_TEXT, "NAME",
     "import into a new store: the identity of the function it is for", &args.function},
};

COMMAND(memo, 150) = {
    .args = "list|show|export|import|copy|verify|rm STORE [ARGS]",
    .summary = "Looks at memo tables, and moves them to and from CSV",
    .text =
        "memo list STORE: every row, tab-separated. memo show STORE [ID..]: the table as a "
        "whole, or rows with everything known about them. memo export STORE [FILE]: CSV. memo "
        "import STORE FILE..: adds rows, all of a file or none. memo copy STORE NEW: "
        "everything into "
        "a new store. memo verify STORE: reads everything, with the checksums of its pages. memo "
        "rm STORE ID..: removes "
        "rows. A store is an SQLite file, or postgresql://[user@]host[:port]/database[#name], "
        "which workers on many machines share. Exit status: 1 when the store cannot be used, 2 "
        "bad usage or no such row.",
    OPTIONS(rows),
    .takes = {2, -1},
    .run = memo_run,
};
