/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem memo list|show|export|import|rm STORE: looking at memo tables, CSV both ways.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/optimize.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
    int format;
    bool replicates;
    const char *function;
};

typedef int action_fn(const struct args *a, gpm_memo *m, int argc, char **argv);

static int fail(gpm_memo *m, enum gpm_status s) {
    return complain(s == GPM_E_NOT_FOUND || s == GPM_E_ARG ? EXIT_USAGE : EXIT_FAILED, "%s",
                    gpm_memo_error(m));
}

static bool read_id(const char *text, int64_t *id) {
    char *end;
    *id = strtoll(text, &end, 10);
    return end != text && *end == 0 && *id > 0;
}

static int list(const struct args *a, gpm_memo *m, int argc, char **argv) {
    const char *text;
    (void)argc, (void)argv;
    enum gpm_status s = gpm_memo_list(m, (enum gpm_format)a->format, &text);
    if (s) return fail(m, s);
    out_text(text);
    return EXIT_FINE;
}

static int show(const struct args *a, gpm_memo *m, int argc, char **argv) {
    const char *text;
    for (int i = 0; i < (argc ? argc : 1); i++) {
        int64_t id = 0;
        if (argc && !read_id(argv[i], &id))
            return complain(EXIT_USAGE, "'%s' is not the id of a row", argv[i]);
        enum gpm_status s = gpm_memo_show(m, id, (enum gpm_format)a->format, &text);
        if (s) return fail(m, s);
        out_text(text);
    }
    return EXIT_FINE;
}

static int export(const struct args *a, gpm_memo *m, int argc, char **argv) {
    const char *csv;
    (void)a;
    enum gpm_status s = gpm_memo_export(m, &csv);
    if (s) return fail(m, s);
    return out_file(argc ? argv[0] : NULL, csv, strlen(csv)) ? EXIT_FINE : EXIT_FAILED;
}

static int import(const struct args *a, gpm_memo *m, int argc, char **argv) {
    if (argc == 0) return complain(EXIT_USAGE, "name the CSV file to import");
    for (int i = 0; i < argc; i++) {
        size_t added = 0;
        enum gpm_status s = gpm_memo_import(m, argv[i], a->replicates, &added);
        if (s) return fail(m, s);
        out_printf("%zu rows added from %s\n", added, argv[i]);
    }
    return EXIT_FINE;
}

static int rm(const struct args *a, gpm_memo *m, int argc, char **argv) {
    (void)a;
    if (argc == 0) return complain(EXIT_USAGE, "name the ids of the rows to remove");
    for (int i = 0; i < argc; i++) {
        int64_t id;
        if (!read_id(argv[i], &id))
            return complain(EXIT_USAGE, "'%s' is not the id of a row", argv[i]);
        enum gpm_status s = gpm_memo_remove(m, id);
        if (s) return fail(m, s);
    }
    return EXIT_FINE;
}

static const struct action {
    const char *name;
    action_fn *fn;
    bool write;
} actions[] = {{"list", list, false},
               {"show", show, false},
               {"export", export, false},
               {"import", import, true},
               {"rm", rm, true}};
#define N_ACTIONS (sizeof actions / sizeof actions[0])

static const struct action *find_action(const char *word) {
    for (size_t i = 0; i < N_ACTIONS; i++)
        if (strcmp(actions[i].name, word) == 0) return &actions[i];
    return NULL;
}

/* import into a store that does not exist yet: the header of the file names the inputs. */
static enum gpm_status create(const struct args *a, gpm_memo *m, const char *store,
                              const char *csv) {
    struct buf text = BUF_INIT, names = BUF_INIT;
    enum gpm_status st = read_text(csv, &text);
    text.data[strcspn(text.data, "\r\n")] = 0;
    for (char *p = strtok(text.data, ","); p && strcmp(p, "value") != 0; p = strtok(NULL, ","))
        buf_printf(&names, "%s%s", names.len ? "," : "", p);
    if (!st) st = names.len ? gpm_memo_create(m, store, a->function, names.data) : GPM_E_ARG;
    buf_release(&text);
    buf_release(&names);
    return st;
}

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    const struct action *act = find_action(argv[0]);
    if (!act)
        return complain(EXIT_USAGE, "there is no 'memo %s'; say list, show, export, import or rm",
                        argv[0]);
    gpm_memo *m = gpm_memo_new();
    bool fresh = act->fn == import && argc > 2 && a->function && access(argv[1], F_OK) != 0;
    enum gpm_status s =
        fresh ? create(a, m, argv[1], argv[2]) : gpm_memo_open(m, argv[1], act->write);
    int status = EXIT_FAILED;
    if (!s)
        status = act->fn(a, m, argc - 2, argv + 2);
    else if (*gpm_memo_error(m))
        complain(0, "%s", gpm_memo_error(m));
    else if (s == GPM_E_ARG) /* others were said */
        complain(0, "the CSV file has no header");
    gpm_memo_free(m);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how rows are printed (default text)",
     offsetof(struct args, format)},
    {"replicates", 0, OPTION_FLAG, NULL, "import: a known input gets a further value",
     offsetof(struct args, replicates)},
    {"function", 0, OPTION_TEXT, "NAME",
     "import into a new store: the identity of the function it is for",
     offsetof(struct args, function)},
};

COMMAND(memo) = {
    .place = 150,
    .name = "memo",
    .args = "list|show|export|import|rm STORE [ARGS]",
    .summary = "Looks at memo tables, and moves them to and from CSV",
    .text = "memo list STORE: every row, tab-separated. memo show STORE [ID..]: the table as a "
            "whole, or rows with everything known about them. memo export STORE [FILE]: CSV. memo "
            "import STORE FILE..: adds rows, all of a file or none. memo rm STORE ID..: removes "
            "rows. Exit status: 1 when the store cannot be used, 2 bad usage or no such row.",
    OPTIONS(rows, struct args),
    .takes = {2, -1},
    .run = run,
};
