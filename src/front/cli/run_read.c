/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a run (run_folder.h): its manifest, the draws of its chains, what its operators did. A
 * chain that left no draws, or that failed before the others ended, is left out and named.
 */
#include "base/mem.h"
#include "base/sum.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "front/cli/run_folder.h"
#include <stdlib.h>
#include <string.h>

struct run_path run_path(const char *dir, const char *name) {
    struct run_path p;
    snprintf(p.text, sizeof p.text, "%s/%s", dir, name);
    return p;
}

struct run_path run_chain_path(const char *dir, size_t i) {
    char name[64];
    snprintf(name, sizeof name, "chain-%zu.csv", i + 1);
    return run_path(dir, name);
}

/* NULL: `why` says why. */
static json_t *get_json(struct run_path path, json_error_t *why) {
    struct buf text = BUF_INIT;
    json_t *all = NULL;
    if (file_read(path.text, FILE_OURS, SIZE_MAX / 4, &text) == GPM_OK)
        all = json_loadb(text.data, text.len, 0, why);
    else
        snprintf(why->text, sizeof why->text, "%s", file_why());
    buf_release(&text);
    return all;
}

bool run_has_failed(const char *dir) {
    json_error_t why;
    json_t *m = get_json(run_path(dir, "manifest.json"), &why);
    const char *state = "";
    bool failed = m && !json_unpack(m, "{s:s}", "state", &state) && !strcmp(state, "failed");
    json_decref(m);
    return failed;
}

int run_facts_read(const char *dir, struct run_facts *facts) {
    static json_t *m;
    json_error_t why;
    json_decref(m);
    m = get_json(run_path(dir, "manifest.json"), &why);
    if (!m)
        return complain(
            EXIT_USAGE,
            "'%s' holds no run that can be read: %s; `gpmem run --out DIR FILE` makes one", dir,
            why.text);
    *facts =
        (struct run_facts){.program = "", .folder = "", .state = "", .version = "", .lost = ""};
    if (json_unpack(m, "{s?I, s?I, s:I, s?s, s?s, s?s, s?s, s?s, s?o, s?o, s?o, s?o}", "seed",
                    &facts->seed, "chains", &facts->chains, "first_chain", &facts->first, "program",
                    &facts->program, "folder", &facts->folder, "chain_from", &facts->counted,
                    "state", &facts->state, "gpmem", &facts->version, "files", &facts->files,
                    "data", &facts->data, "failed", &facts->failed, "checksums", &facts->sums))
        return complain(EXIT_USAGE,
                        "'%s' is no run of `gpmem run --out`; for a run of `gpmem discover` there "
                        "are query, forecast and report",
                        dir);
    if (facts->sums && json_array_size(facts->sums) != (size_t)facts->chains)
        return complain(EXIT_USAGE, "the manifest of '%s' is damaged: %zu checksums of %lld chains",
                        dir, json_array_size(facts->sums), (long long)facts->chains);
    if (facts->chains >= 1 && facts->chains <= INTERRUPT_MAX) return EXIT_FINE;
    return complain(EXIT_USAGE, "the manifest of '%s' names no number of chains", dir);
}

/* ---- what the operators of a run did, for each chain ---- */

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

/* A line per chain of what hmc and nuts say of themselves, where they were used. */
static void tell_samplers(const json_t *chains, struct buf *out) {
    static const struct {
        const char *title, *key, *format;
    } columns[] = {
        {"accept", "accept_stat", " %9.2f"},   {"stepsize", "stepsize", " %9.2g"},
        {"depth", "treedepth", " %9.1f"},      {"at limit", "max_depth_hit", " %9.0f"},
        {"diverged", "divergences", " %9.0f"}, {"E-BFMI", "ebfmi", " %9.2f"},
    };
    bool any = false;
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_t *s = json_object_get(json_array_get(chains, i), "sampler");
        if (!json_object_size(s)) continue;
        if (!any) buf_puts(out, "sampler ");
        for (size_t k = 0; k < COUNT_OF(columns) && !any; k++)
            buf_printf(out, " %9s", columns[k].title);
        if (!any) buf_putc(out, '\n');
        any = true;
        buf_printf(out, "chain %-2zu", i + 1);
        for (size_t k = 0; k < COUNT_OF(columns); k++) {
            const json_t *v = json_object_get(s, columns[k].key);
            if (json_is_number(v))
                buf_printf(out, columns[k].format, json_number_value(v));
            else
                buf_printf(out, " %9s", "-");
        }
        buf_putc(out, '\n');
    }
}

void run_tell_moves(const json_t *chains, struct buf *accepted, struct buf *wrong) {
    /* chains run the same program, but one may have come to a scope that another has not */
    json_t *scopes = json_object(), *any;
    const char *scope;
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_t *chain = json_array_get(chains, i);
        const char *said = "";
        json_object_update_missing(scopes, json_object_get(chain, "scopes"));
        json_unpack(chain, "{s:s}", "complaints", &said);
        add_lines(wrong, i, said);
    }
    json_object_foreach(scopes, scope, any) {
        double proposed = count(chains, scope, "proposed");
        double share = count(chains, scope, "accepted") / proposed;
        if (proposed <= 0) continue;
        buf_printf(accepted, "%s%s %.0f%%", accepted->len ? ", " : "proposals accepted: ", scope,
                   100 * share);
        char text[400];
        const char *advice = "try another operator";
        json_unpack(any, "{s:s}", "advice", &advice);
        if (gpm_acceptance_complaint(scope, proposed, share * proposed, advice, text, sizeof text))
            buf_puts(wrong, text);
    }
    if (accepted->len) buf_putc(accepted, '\n');
    tell_samplers(chains, accepted);
    json_decref(scopes);
}

void run_folder_moves(const char *dir, struct buf *accepted, struct buf *wrong) {
    json_error_t why;
    json_t *all = get_json(run_path(dir, "diagnostics.json"), &why);
    run_tell_moves(json_object_get(all, "transitions"), accepted, wrong);
    json_decref(all);
}

/* ---- draws ---- */

/* A chain as it is read. */
struct run_chain {
    struct buf text;
    size_t rows;     /* complete ones */
    const char *why; /* it failed; NULL: it did not. Borrowed from the manifest */
};

/* Lines that end, but for comments and the header. */
static size_t count_rows(const struct buf *b) {
    size_t n = 0;
    for (const char *p = b->data, *end = b->data + b->len, *nl;
         p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1)
        n += *p != '#' && nl > p;
    return n ? n - 1 : 0;
}

/* Why chain i failed, as the manifest tells; NULL: it does not. */
static const char *why_failed(const struct run_facts *facts, size_t i) {
    size_t k;
    json_t *row;
    json_array_foreach(facts->failed, k, row) {
        if (json_integer_value(json_object_get(row, "chain")) != (json_int_t)i + 1) continue;
        const char *why = json_string_value(json_object_get(row, "why"));
        return why ? why : "";
    }
    return NULL;
}

static int read_text_of(struct run_path path, struct buf *text) {
    if (file_read(path.text, FILE_OURS, SIZE_MAX / 4, text) == GPM_OK) return EXIT_FINE;
    return complain(EXIT_USAGE, "cannot read '%s': %s", path.text, file_why());
}

bool run_chain_sound(const char *dir, const json_t *sums, size_t i, const struct buf *text) {
    char now[24];
    const char *was = json_string_value(json_array_get(sums, i));
    snprintf(now, sizeof now, RUN_SUM_FORMAT,
             (unsigned long long)sum_bytes(0, text->data, text->len));
    if (!was || !strcmp(was, now)) return true;
    return complain(false,
                    "'%s' is damaged, it is not what the run wrote; put a copy of it back, or run "
                    "the program again into a new folder",
                    run_chain_path(dir, i).text);
}

/* Is chain c not to be counted with the others, the longest of which has `most` rows? Says so. A
 * chain that failed as late as all others is as good as they. */
static bool is_lost(const struct run_chain *c, size_t i, size_t most, struct buf *lost) {
    bool cut = c->why && c->rows < most;
    if (c->rows > 0 && !cut) return false;
    buf_printf(lost, "chain %zu ", i + 1);
    if (c->why && c->rows)
        buf_printf(lost, "failed after %zu of %zu draws", c->rows, most);
    else
        buf_printf(lost, c->why ? "failed before its first draw" : "has no draws");
    if (c->why && *c->why) buf_printf(lost, " (%s)", c->why);
    buf_puts(lost, "; it is left out\n");
    return true;
}

static int add_chains(const char *dir, const struct run_chain *all, size_t n, gpm_draws *d,
                      struct buf *lost) {
    size_t most = 0;
    char err[200] = "";
    for (size_t i = 0; i < n; i++)
        if (all[i].rows > most) most = all[i].rows;
    for (size_t i = 0; i < n; i++) {
        if (is_lost(&all[i], i, most, lost))
            gpm_draws_skip(d);
        else if (gpm_draws_add_csv(d, all[i].text.data, all[i].text.len, err, sizeof err) != GPM_OK)
            return complain(EXIT_USAGE, "%s: %s", run_chain_path(dir, i).text, err);
    }
    if (gpm_draws_chains(d)) return EXIT_FINE;
    return complain(EXIT_FAILED, "'%s' holds no draws: the program ran no collect(...) yet%s%s",
                    dir, all[0].why ? "; it failed: " : "", all[0].why ? all[0].why : "");
}

/* The chains of a run, facts->chains of them, as one table. */
static int run_table(const char *dir, struct run_facts *facts, struct run_chain *all,
                     gpm_draws **out) {
    static struct buf lost = BUF_INIT;
    size_t n = (size_t)facts->chains;
    gpm_draws *d = *out = gpm_draws_new();
    buf_reset(&lost);
    for (size_t i = 0; i < n; i++) all[i].why = why_failed(facts, i);
    int status = add_chains(dir, all, n, d, &lost);
    facts->lost = lost.data;
    if (status == EXIT_FINE)
        explain("'%s' (%s, seed %llu): %zu chains of %zu draws, %zu quantities", dir, facts->state,
                (unsigned long long)facts->seed, gpm_draws_chains(d), gpm_draws_rows(d),
                gpm_draws_columns(d));
    else
        gpm_draws_free(d);
    return status;
}

int run_draws_read(const char *dir, struct run_facts *facts, gpm_draws **out) {
    int status = EXIT_FINE;
    size_t n = (size_t)facts->chains;
    struct run_chain *all = mem_zalloc(n * sizeof *all);
    for (size_t i = 0; i < n; i++) buf_init(&all[i].text);
    for (size_t i = 0; i < n && status == EXIT_FINE; i++) {
        status = read_text_of(run_chain_path(dir, i), &all[i].text);
        if (status == EXIT_FINE && !run_chain_sound(dir, facts->sums, i, &all[i].text))
            status = EXIT_FAILED;
        all[i].rows = count_rows(&all[i].text);
    }
    if (status == EXIT_FINE) status = run_table(dir, facts, all, out);
    for (size_t i = 0; i < n; i++) buf_release(&all[i].text);
    mem_free(all);
    return status;
}

int run_folder_read(const char *dir, struct run_facts *facts, gpm_draws **out) {
    int status = run_facts_read(dir, facts);
    return status == EXIT_FINE ? run_draws_read(dir, facts, out) : status;
}

bool run_is_whole(const char *dir, const struct run_facts *facts) {
    struct buf draws = BUF_INIT;
    bool none = file_read(run_chain_path(dir, 0).text, FILE_OURS, SIZE_MAX / 4, &draws) == GPM_OK &&
                !draws.len;
    buf_release(&draws);
    return !strcmp(facts->state, "finished") &&
           (none || file_there(run_path(dir, "diagnostics.json").text));
}

void run_say_state(const struct run_facts *facts) {
    if (strcmp(facts->state, "finished") != 0 && !*facts->lost && !voice.quiet)
        complain(0, "the run has not finished (state: %s); these are its draws so far",
                 facts->state);
    if (!facts->sums && strcmp(facts->state, "running") != 0 && !voice.quiet)
        complain(0, "its draws have no checksums (gpmem %s wrote them)", facts->version);
}

int run_folder_open(const char *dir, struct run_facts *facts, gpm_draws **out) {
    int status = run_folder_read(dir, facts, out);
    if (status != EXIT_FINE || voice.quiet) return status;
    for (const char *p = facts->lost; *p; p += strcspn(p, "\n") + 1)
        complain(0, "%.*s", (int)strcspn(p, "\n"), p);
    run_say_state(facts);
    return status;
}
