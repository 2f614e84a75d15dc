/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_moves.h.
 */
#include "cli/run_moves.h"
#include <string.h>

static void keep_scope(void *user, const char *scope, uint64_t proposed, uint64_t accepted) {
    json_object_set_new(user, scope,
                        json_pack("{s:I, s:I}", "proposed", (json_int_t)proposed, "accepted",
                                  (json_int_t)accepted));
}

json_t *run_moves_of(gpm_session *s) {
    json_t *scopes = json_object();
    uint64_t divergences = gpm_acceptance(s, keep_scope, scopes);
    return json_pack("{s:o, s:I, s:s}", "scopes", scopes, "divergences", (json_int_t)divergences,
                     "complaints", gpm_trajectory_complaints(s));
}

/* Over all chains. */
static double count(const json_t *chains, const char *scope, const char *what) {
    double sum = 0;
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_int_t n = 0;
        json_unpack(json_array_get(chains, i), "{s:{s:{s:I}}}", "scopes", scope, what, &n);
        sum += (double)n;
    }
    return sum;
}

static void add_lines(struct buf *b, size_t chain, const char *lines) {
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        if (n) buf_printf(b, "chain %zu: %.*s\n", chain + 1, (int)n, lines);
    }
}

void run_moves_text(const json_t *chains, struct buf *accepted, struct buf *wrong) {
    /* chains run the same program, but one may have come to a scope that another has not */
    json_t *scopes = json_object(), *unused;
    const char *scope;
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_t *chain = json_array_get(chains, i);
        const char *said = "";
        json_object_update_missing(scopes, json_object_get(chain, "scopes"));
        json_unpack(chain, "{s:s}", "complaints", &said);
        add_lines(wrong, i, said);
    }
    json_object_foreach(scopes, scope, unused) {
        double proposed = count(chains, scope, "proposed");
        double share = count(chains, scope, "accepted") / proposed;
        if (proposed <= 0) continue;
        buf_printf(accepted, "%s%s %.0f%%", accepted->len ? ", " : "proposals accepted: ", scope,
                   100 * share);
        if (proposed < 100 || share >= 0.05) continue;
        /* chains that hardly move need other operators rather than more draws */
        buf_printf(wrong,
                   "%s: %.2g%% of the proposals were accepted; try another operator: slice, "
                   "nuts or laplace_mh on continuous choices, gibbs on discrete ones, "
                   "particle Gibbs (pgibbs) on a series, or one choice at a time (one instead "
                   "of all)\n",
                   scope, 100 * share);
    }
    if (accepted->len) buf_putc(accepted, '\n');
    json_decref(scopes);
}
