/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem summary DIR and gpmem diagnose DIR: the draws of a run in numbers, and what is wrong with
 * them in words.
 */
#include "front/cli/command.h"
#include "front/cli/run_folder.h"
#include "front/cli/out.h"

/* What diagnostics.json keeps of the operators; returns whether something is wrong with it. */
static bool say_moves(const char *dir, bool all) {
    struct buf accepted = BUF_INIT, wrong = BUF_INIT;
    run_folder_moves(dir, &accepted, &wrong);
    bool bad = wrong.len > 0;
    if (all) out_text(accepted.data);
    out_text(wrong.data);
    buf_release(&accepted);
    buf_release(&wrong);
    return bad;
}

static enum gpm_format format;

static int run_summary(int argc, char **argv) {
    gpm_draws *d;
    struct run_facts facts;
    int status = run_folder_open(argv[0], &facts, &d);
    if (status != EXIT_FINE) return status;
    out_text(gpm_draws_summary(d, format));
    gpm_draws_free(d);
    if (format == GPM_FORMAT_TEXT) say_moves(argv[0], true);
    return EXIT_FINE;
}

static size_t quantities_of(const gpm_draws *d) {
    size_t n = 0;
    for (size_t k = 0; k < gpm_draws_columns(d); k++)
        n += gpm_draws_group_of(gpm_draws_name(d, k)) == GPM_DRAWS_POSTERIOR;
    return n;
}

static int run_diagnose(int argc, char **argv) {
    gpm_draws *d;
    struct run_facts facts;
    int status = run_folder_read(argv[0], &facts, &d);
    if (status != EXIT_FINE) return status;
    const char *text = gpm_draws_complaints(d);
    out_text(facts.lost);
    out_text(text);
    run_say_state(&facts);
    if (say_moves(argv[0], false) || *text || *facts.lost)
        status = EXIT_FAILED;
    else
        out_printf("%zu chains of %zu draws, %zu quantities: nothing to complain about\n",
                   gpm_draws_chains(d), gpm_draws_rows(d), quantities_of(d));
    gpm_draws_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how the table is printed (default text)", &format},
};

COMMAND(summary, 40) = {
    .args = "DIR",
    .summary = "Summarises the draws of a run: means, errors, quantiles, R-hat",
    OPTIONS(rows),
    .takes = {1, 1},
    .run = run_summary,
};

COMMAND(diagnose, 50) = {
    .args = "DIR",
    .summary = "Says in words what is wrong with the draws of a run",
    .text = "Exit status: 0 nothing is wrong, 1 something is, 2 no such run.",
    .takes = {1, 1},
    .run = run_diagnose,
};
