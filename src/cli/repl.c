/* SPDX-License-Identifier: Apache-2.0
 *
 * The prompt.
 */
#include "cli/run.h"
#include <errno.h>
#include <histedit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
    struct session_args session;
    struct text_list expressions;
};

static void init(void *opts) {
    struct args *a = opts;
    session_args_init(&a->session);
}

static int run_expressions(gpm_session *s, const struct text_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        int status = run_text(s, "<expression>", l->at[i], strlen(l->at[i]));
        if (status != EXIT_FINE) return status;
    }
    return EXIT_FINE;
}

static int run_stdin(gpm_session *s) {
    size_t len;
    char *text = read_whole("-", &len);
    if (!text) return complain(EXIT_FAILED, "cannot read the program: %s", strerror(errno));
    int status = run_text(s, "<stdin>", text, len);
    free(text);
    return status;
}

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    struct gpm_options o;
    session_args_apply(&a->session, &o);
    gpm_session *s = gpm_session_new(&o);
    int status = a->expressions.n ? run_expressions(s, &a->expressions) : run_stdin(s);
    gpm_session_free(s);
    return status;
}

static const struct option_row rows[] = {
    {"eval", 'e', OPTION_LIST, "EXPR", "run EXPR instead of asking for input",
     offsetof(struct args, expressions)},
    SESSION_ROWS(struct args, session),
};

const struct command command_prompt = {
    .name = "gpmem",
    .args = "",
    .summary = "The prompt: type instructions, see their values",
    OPTIONS(rows),
    .size = sizeof(struct args),
    .init = init,
    .max_args = 0,
    .run = run,
};
