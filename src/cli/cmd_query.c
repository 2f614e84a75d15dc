/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem query RUN 'LIN & (WN | LIN*WN)': probabilities over the structures of a kept run.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/discover.h"

struct args {
    int format;
};

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    gpm_discovery *d = gpm_discover_new();
    int status = EXIT_FINE;
    if (gpm_discover_open(d, argv[0]) != GPM_OK)
        status = complain(EXIT_USAGE, "%s", gpm_discover_error(d));
    if (status == EXIT_FINE && a->format == 1) out_text("[");
    for (int i = 1; i < argc && status == EXIT_FINE; i++) {
        struct gpm_answer r;
        if (gpm_discover_query(d, argv[i], &r) != GPM_OK) {
            status = complain(EXIT_USAGE, "%s", gpm_discover_error(d));
            break;
        }
        if (a->format == 1) {
            out_text(i > 1 ? ",\n {\"query\": " : "{\"query\": ");
            out_json_string(argv[i]);
            out_printf(", \"probability\": %.6f, \"error\": %.6f, \"ess\": %.1f}", r.probability,
                       r.error, r.ess);
        } else {
            out_printf("%.4f  error %.4f  ess %.0f  %s\n", r.probability, r.error, r.ess, argv[i]);
        }
    }
    if (a->format == 1 && status == EXIT_FINE) out_text("]\n");
    gpm_discover_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how answers are printed (default text)",
     offsetof(struct args, format)},
};

COMMAND(query) = {
    .place = 90,
    .name = "query",
    .args = "RUN QUERY...",
    .summary = "Answers questions about the structures of a run of discover",
    .text = "A query is made of components (LIN, SE*PER), of motifs (trend, recurring_pattern, "
            "smooth, random_walk, noise, white_noise, heteroskedastic_noise, changing_amplitude, "
            "changing_pattern, change) and of AND (&), OR (|), NOT (!) and parentheses. A sum asks "
            "for all of its "
            "terms. The error is the half-width of a 99% interval, ess the effective number of "
            "draws of the exact sampler.",
    OPTIONS(rows, struct args),
    .takes = {2, -1},
    .run = run,
};
