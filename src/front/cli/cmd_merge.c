/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem merge OUT RUN...: the chains of several runs of one program, made on several machines or by
 * the tasks of a job array, as one run. It is the folder that `gpmem run --chains N` would have
 * written: draws and diagnostics are the same bytes.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "front/cli/run_folder.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct { bool partial; } args;

/* One of the runs; texts are its own. */
struct part {
    const char *dir;
    uint64_t seed, first, chains;
    char *version, *state, *program;
    char hash[65]; /* of the program */
    json_t *data, *files, *failed, *moves, *sums;
};

static void part_release(struct part *p) {
    mem_free(p->version);
    mem_free(p->state);
    mem_free(p->program);
    json_decref(p->data);
    json_decref(p->files);
    json_decref(p->failed);
    json_decref(p->moves);
    json_decref(p->sums);
}

static bool read_file(struct run_path path, struct buf *out) {
    return file_read(path.text, FILE_OURS, SIZE_MAX / 4, out) == GPM_OK ||
           complain(false, "cannot read '%s': %s", path.text, file_why());
}

/* The operators' statistics of each chain; null for chains without. */
static json_t *moves_of(const char *dir, uint64_t chains) {
    struct buf text = BUF_INIT;
    struct run_path path = run_path(dir, "diagnostics.json");
    json_t *all = NULL, *moves = NULL;
    if (file_there(path.text) && read_file(path, &text))
        all = json_loadb(text.data, text.len, 0, NULL);
    moves = json_deep_copy(json_object_get(all, "transitions"));
    if (!json_is_array(moves)) moves = json_array();
    while (json_array_size(moves) < chains) json_array_append_new(moves, json_null());
    json_decref(all);
    buf_release(&text);
    return moves;
}

static int part_read(const char *dir, struct part *p) {
    struct run_facts f;
    struct buf text = BUF_INIT;
    int status = run_facts_read(dir, &f);
    if (status != EXIT_FINE) return status;
    if (!read_file(run_path(dir, "program.vnts"), &text)) status = EXIT_USAGE;
    *p = (struct part){.dir = dir,
                       .seed = (uint64_t)f.seed,
                       .first = (uint64_t)f.first,
                       .chains = (uint64_t)f.chains,
                       .version = mem_strdup(f.version),
                       .state = mem_strdup(f.state),
                       .program = mem_strdup(f.program),
                       .data = json_incref(f.data),
                       .files = json_incref(f.files),
                       .failed = json_incref(f.failed),
                       .sums = json_incref(f.sums),
                       .moves = moves_of(dir, (uint64_t)f.chains)};
    sha256_hex(text.data ? text.data : "", text.len, p->hash);
    buf_release(&text);
    return status;
}

static int by_first(const void *a, const void *b) {
    const struct part *p = a, *q = b;
    return (p->first > q->first) - (p->first < q->first);
}

/* Chains of one program with one seed, by one version, on the same data. */
static bool same_run(const struct part *p, const struct part *q) {
    if (strcmp(p->hash, q->hash) != 0)
        return complain(false, "'%s' and '%s' are runs of different programs", p->dir, q->dir);
    if (strcmp(p->version, q->version) != 0)
        return complain(false, "'%s' was made by gpmem %s, '%s' by %s", p->dir, p->version, q->dir,
                        q->version);
    if (p->seed != q->seed)
        return complain(false, "'%s' has seed %llu, '%s' has %llu", p->dir,
                        (unsigned long long)p->seed, q->dir, (unsigned long long)q->seed);
    json_t *a, *b;
    size_t i, k;
    json_array_foreach(p->files, i, a) json_array_foreach(q->files, k, b) {
        if (json_equal(json_object_get(a, "path"), json_object_get(b, "path")) && !json_equal(a, b))
            return complain(false, "'%s' and '%s' read different contents of '%s'", p->dir, q->dir,
                            json_string_value(json_object_get(a, "path")));
    }
    return true;
}

/* Sorted by chain: no chain twice, and unless --partial none missing and none unfinished. */
static bool complete(const struct part *p, size_t n) {
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t next = i ? p[i - 1].first + p[i - 1].chains : args.partial ? p[0].first : 0;
        if (i && !same_run(&p[0], &p[i])) return false;
        if (i && p[i].first < next)
            return complain(false, "chain %llu is in '%s' and in '%s'",
                            (unsigned long long)p[i].first, p[i - 1].dir, p[i].dir);
        if (args.partial) continue;
        for (uint64_t c = next; c < p[i].first && c < next + 20; c++)
            good = complain(false, "chain %llu is missing", (unsigned long long)c);
        if (strcmp(p[i].state, "finished") != 0 && strcmp(p[i].state, "failed") != 0)
            good =
                complain(false, "'%s' has not finished (state: %s); go on with `gpmem resume %s`",
                         p[i].dir, p[i].state, p[i].dir);
    }
    return good || complain(false, "nothing was merged; --partial takes what is there");
}

/* Writes the file, or only sees that no other one stands in its place. */
static bool put(struct run_path to, const struct buf *text, bool write) {
    if (write) return out_part(to.text, FILE_OURS, text->data, text->len);
    return file_is_free(to.text, text->data, text->len) ||
           complain(false, "'%s' would be written over; choose another folder", to.text);
}

static bool copy_program(const char *from, const char *to, bool write) {
    struct buf text = BUF_INIT;
    bool good = read_file(run_path(from, "program.vnts"), &text) &&
                put(run_path(to, "program.vnts"), &text, write);
    buf_release(&text);
    return good;
}

static bool copy_chain(const struct part *p, size_t i, struct run_path to, bool write) {
    struct buf text = BUF_INIT;
    bool good = read_file(run_chain_path(p->dir, i), &text) &&
                run_chain_sound(p->dir, p->sums, i, &text) && put(to, &text, write);
    buf_release(&text);
    return good;
}

/* First all files are looked at, then all are written. */
static bool copy_all(const char *out, const struct part *p, size_t n) {
    for (int write = 0; write < 2; write++) {
        if (!copy_program(p->dir, out, write)) return false;
        for (uint64_t k = 0, at = 0; k < n; at += p[k++].chains)
            for (uint64_t i = 0; i < p[k].chains; i++)
                if (!copy_chain(&p[k], i, run_chain_path(out, at + i), write)) return false;
    }
    return true;
}

/* The chains of a part come after `before` others. */
static void add_part(const struct part *p, uint64_t before, struct run_facts *facts,
                     json_t *moves) {
    for (uint64_t i = 0; i < p->chains; i++) {
        json_t *sum = json_array_get(p->sums, i);
        json_array_append_new(facts->sums, sum ? json_incref(sum) : json_null());
    }
    size_t i;
    json_t *row;
    json_array_foreach(p->failed, i, row) {
        json_t *copy = json_deep_copy(row);
        json_int_t chain = json_integer_value(json_object_get(row, "chain"));
        json_object_set_new(copy, "chain", json_integer(chain + (json_int_t)before));
        json_array_append_new(facts->failed, copy);
    }
    json_array_foreach(p->files, i, row) {
        bool known = false;
        for (size_t k = 0; k < json_array_size(facts->files); k++)
            known |= json_equal(row, json_array_get(facts->files, k));
        if (!known) json_array_append(facts->files, row);
    }
    json_array_extend(moves, p->moves);
}

static int write_all(const char *out, const struct part *p, size_t n) {
    struct run_facts facts = {.seed = (json_int_t)p->seed,
                              .first = (json_int_t)p->first,
                              .program = p->program,
                              .folder = "",
                              .version = p->version,
                              .state = "finished",
                              .data = p->data,
                              .files = json_array(),
                              .failed = json_array(),
                              .sums = json_array()};
    json_t *moves = json_array();
    uint64_t chains = 0;
    int only;
    if (file_folder(out, FILE_GIVEN) != GPM_OK || file_lock(out, &only) != GPM_OK)
        return complain(EXIT_FAILED, "cannot write to the folder '%s': %s", out, file_why());
    bool good = copy_all(out, p, n);
    for (size_t i = 0; i < n && good; i++) {
        add_part(&p[i], chains, &facts, moves);
        chains += p[i].chains;
        if (strcmp(p[i].state, "finished") != 0 && facts.state[0] == 'f') facts.state = p[i].state;
    }
    char *folder = realpath(out, NULL);
    if (folder) facts.folder = folder;
    facts.chains = (json_int_t)chains;
    good = good && run_write_end(out, &facts, true, moves);
    file_unlock(out, only);
    free(folder);
    json_decref(facts.files);
    json_decref(facts.failed);
    json_decref(facts.sums);
    json_decref(moves);
    if (!good) return EXIT_FAILED;
    if (!voice.quiet)
        err_printf("%llu chains of %zu runs are in %s\n", (unsigned long long)chains, n, out);
    return EXIT_FINE;
}

static int merge(int argc, char **argv) {
    const char *out = argv[0];
    size_t n = (size_t)argc - 1;
    struct part *parts = mem_zalloc(n * sizeof *parts);
    int status = EXIT_FINE;
    if (file_there(run_path(out, "manifest.json").text))
        status = complain(EXIT_USAGE, "'%s' holds a run already; choose another folder", out);
    for (size_t i = 0; i < n && status == EXIT_FINE; i++)
        status = part_read(argv[i + 1], &parts[i]);
    if (status == EXIT_FINE) {
        qsort(parts, n, sizeof *parts, by_first);
        status = complete(parts, n) ? write_all(out, parts, n) : EXIT_FAILED;
    }
    for (size_t i = 0; i < n; i++) part_release(&parts[i]);
    mem_free(parts);
    return status;
}

static const struct option_row rows[] = {
    {"partial", 0, OPTION_FLAG, NULL, "take what is there: chains may be missing or unfinished",
     &args.partial},
};

COMMAND(merge, 32) = {
    .args = "OUT RUN...",
    .summary = "Makes one run of the chains of several",
    .text =
        "The runs are folders of `gpmem run --out` of one program with one seed and different "
        "chains, as the tasks of a job array write them. OUT is what `gpmem run --chains N --out "
        "OUT` would have written, byte for byte but for the manifest.\n\nExit status: 0 fine, 1 "
        "they do not belong together, chains are missing, have not finished or come twice (each is "
        "named), 2 no such run.",
    OPTIONS(rows),
    .takes = {2, -1},
    .run = merge,
};
