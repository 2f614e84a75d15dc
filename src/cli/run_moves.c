/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_moves.h.
 */
#include "cli/run_moves.h"
#include "base/number.h"
#include "cli/command.h"
#include <stdlib.h>
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

static double count(const json_t *chains, const char *scope, const char *what) {
    double sum = 0;
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_t *of = json_object_get(json_array_get(chains, i), "scopes");
        sum += (double)json_integer_value(json_object_get(json_object_get(of, scope), what));
    }
    return sum;
}

/* Chains run the same program, but one may have come to a scope that another has not. */
static json_t *all_scopes(const json_t *chains) {
    json_t *all = json_object();
    for (size_t i = 0; i < json_array_size(chains); i++)
        json_object_update_missing(all, json_object_get(json_array_get(chains, i), "scopes"));
    return all;
}

char *run_moves_text(const json_t *chains) {
    char *text = NULL;
    size_t len = 0, n = 0;
    FILE *to = open_memstream(&text, &len);
    json_t *scopes = all_scopes(chains), *unused;
    const char *scope;
    json_object_foreach(scopes, scope, unused) {
        double proposed = count(chains, scope, "proposed");
        if (proposed <= 0) continue;
        number_fprintf(to, "%s%s %.0f%%", n++ ? ", " : "proposals accepted: ", scope,
                       100 * count(chains, scope, "accepted") / proposed);
    }
    if (n) fputc('\n', to);
    fclose(to);
    json_decref(scopes);
    return text;
}

/* Chains that hardly move need other operators rather than more draws. */
static void complain_of_acceptance(FILE *to, const json_t *chains) {
    json_t *scopes = all_scopes(chains), *unused;
    const char *scope;
    json_object_foreach(scopes, scope, unused) {
        double proposed = count(chains, scope, "proposed");
        double share = count(chains, scope, "accepted") / proposed;
        if (proposed < 100 || share >= 0.05) continue;
        number_fprintf(to,
                       "%s: %.2g%% of the proposals were accepted; try another operator: slice, "
                       "nuts or laplace_mh on continuous choices, gibbs on discrete ones, "
                       "particle Gibbs (pgibbs) on a series, or one choice at a time (one instead "
                       "of all)\n",
                       scope, 100 * share);
    }
    json_decref(scopes);
}

char *run_moves_complaints(const json_t *chains) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_t *said = json_object_get(json_array_get(chains, i), "complaints");
        char *lines = json_is_string(said) ? strdup(json_string_value(said)) : NULL, *rest = lines;
        for (char *line; rest && (line = strsep(&rest, "\n"));)
            if (*line) fprintf(to, "chain %zu: %s\n", i + 1, line);
        free(lines);
    }
    complain_of_acceptance(to, chains);
    fclose(to);
    return text;
}
