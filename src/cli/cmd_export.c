/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem export DIR: the draws of a run for other programs: Stan CSV (R's posterior and cmdstanr
 * read it), JSON, or a Zarr folder (version 2, uncompressed) that xarray opens as chain x draw.
 */
#include "cli/command.h"
#include "base/number.h"
#include "cli/run_folder.h"
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FORMAT_STAN, FORMAT_JSON, FORMAT_ZARR };
struct args {
    int format;
    const char *out;
};

static FILE *open_out(const char *path) {
    FILE *f = fopen(path, "wb");
    if (!f) complain(0, "cannot write '%s': %s", path, strerror(errno));
    return f;
}

static int close_out(FILE *f, const char *path) {
    bool bad = ferror(f);
    if (fclose(f) != 0 || bad)
        return complain(EXIT_FAILED, "cannot write '%s': %s", path, strerror(errno));
    explain("wrote '%s'", path);
    return EXIT_FINE;
}

static int write_text(const char *path, const char *text) {
    FILE *f = open_out(path);
    if (!f) return EXIT_FAILED;
    fputs(text, f);
    return close_out(f, path);
}

/* PREFIX-1.csv, PREFIX-2.csv, ... */
static int export_stan(const gpm_draws *d, const struct run_facts *facts, const char *prefix) {
    for (size_t c = 0; c < gpm_draws_chains(d); c++) {
        char path[1200];
        snprintf(path, sizeof path, "%s-%zu.csv", prefix, c + 1);
        FILE *f = open_out(path);
        if (!f) return EXIT_FAILED;
        fprintf(f, "# gpmem %s, seed %llu, chain %zu\n", facts->version,
                (unsigned long long)facts->seed, c + 1);
        for (size_t k = 0; k < gpm_draws_columns(d); k++) {
            fprintf(f, "%s%s", k ? "," : "", gpm_draws_name(d, k));
        }
        fputc('\n', f);
        for (size_t r = 0; r < gpm_draws_rows(d); r++) {
            for (size_t k = 0; k < gpm_draws_columns(d); k++) {
                number_fprintf(f, "%s%.17g", k ? "," : "", gpm_draws_at(d, c, r, k));
            }
            fputc('\n', f);
        }
        int status = close_out(f, path);
        if (status != EXIT_FINE) return status;
    }
    return EXIT_FINE;
}

/* ---- Zarr: a folder per array; .zarray says the shape, the file 0.0 holds the numbers ---- */

static int make_folder(const char *path) {
    if (mkdir(path, 0755) == 0 || errno == EEXIST) return EXIT_FINE;
    return complain(EXIT_FAILED, "cannot make the folder '%s': %s", path, strerror(errno));
}

static int write_array(const char *root, const char *name, size_t rows, size_t columns,
                       const double *at) {
    char folder[1200], path[1300], text[512];
    snprintf(folder, sizeof folder, "%s/%s", root, name);
    int status = make_folder(folder);
    if (status != EXIT_FINE) return status;
    bool matrix = columns > 0;
    size_t n = rows * (matrix ? columns : 1);
    char shape[64];
    if (matrix) {
        snprintf(shape, sizeof shape, "[%zu, %zu]", rows, columns);
    } else {
        snprintf(shape, sizeof shape, "[%zu]", rows);
    }
    snprintf(
        text, sizeof text,
        "{\"zarr_format\": 2, \"shape\": %s, \"chunks\": %s, \"dtype\": \"<f8\", \"compressor\": "
        "null, \"fill_value\": \"NaN\", \"order\": \"C\", \"filters\": null}\n",
        shape, shape);
    snprintf(path, sizeof path, "%s/.zarray", folder);
    status = write_text(path, text);
    snprintf(path, sizeof path, "%s/.zattrs", folder);
    snprintf(text, sizeof text, "{\"_ARRAY_DIMENSIONS\": [%s]}\n",
             matrix                       ? "\"chain\", \"draw\""
             : strcmp(name, "chain") == 0 ? "\"chain\""
                                          : "\"draw\"");
    if (status == EXIT_FINE) status = write_text(path, text);
    snprintf(path, sizeof path, "%s/%s", folder, matrix ? "0.0" : "0");
    FILE *f = status == EXIT_FINE ? open_out(path) : NULL;
    if (!f) return EXIT_FAILED;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &at[i], sizeof bits);
        bits = htole64(bits);
        fwrite(&bits, sizeof bits, 1, f);
    }
    return close_out(f, path);
}

static int write_index(const char *root, const char *name, size_t n) {
    double *at = calloc(n ? n : 1, sizeof *at);
    if (!at) return complain(EXIT_FAILED, "out of memory");
    for (size_t i = 0; i < n; i++) at[i] = (double)i;
    int status = write_array(root, name, n, 0, at);
    free(at);
    return status;
}

static int export_zarr(const gpm_draws *d, const struct run_facts *facts, const char *root) {
    char path[1300], text[256];
    size_t chains = gpm_draws_chains(d), rows = gpm_draws_rows(d);
    int status = make_folder(root);
    snprintf(path, sizeof path, "%s/.zgroup", root);
    if (status == EXIT_FINE) status = write_text(path, "{\"zarr_format\": 2}\n");
    snprintf(path, sizeof path, "%s/.zattrs", root);
    snprintf(text, sizeof text,
             "{\"inference_library\": \"gpmem\", \"inference_library_version\": "
             "\"%s\", \"seed\": %llu}\n",
             facts->version, (unsigned long long)facts->seed);
    if (status == EXIT_FINE) status = write_text(path, text);
    if (status == EXIT_FINE) status = write_index(root, "chain", chains);
    if (status == EXIT_FINE) status = write_index(root, "draw", rows);
    double *at = calloc(chains * rows + 1, sizeof *at);
    if (!at) return complain(EXIT_FAILED, "out of memory");
    for (size_t k = 0; k < gpm_draws_columns(d) && status == EXIT_FINE; k++) {
        for (size_t c = 0; c < chains; c++) {
            for (size_t r = 0; r < rows; r++) at[c * rows + r] = gpm_draws_at(d, c, r, k);
        }
        status = write_array(root, gpm_draws_name(d, k), chains, rows, at);
    }
    free(at);
    return status;
}

static int run(const void *opts, int argc, char **argv) {
    (void)argc;
    const struct args *a = opts;
    struct run_facts facts;
    gpm_draws *d;
    if (!a->out && a->format != FORMAT_JSON) {
        return complain(EXIT_USAGE, "--out is missing: the %s to write",
                        a->format == FORMAT_ZARR ? "folder" : "beginning of the file names");
    }
    int status = run_folder_read(argv[0], &facts, &d);
    if (status != EXIT_FINE) return status;
    if (a->format == FORMAT_STAN) status = export_stan(d, &facts, a->out);
    if (a->format == FORMAT_ZARR) status = export_zarr(d, &facts, a->out);
    if (a->format == FORMAT_JSON && a->out) status = write_text(a->out, gpm_draws_json(d));
    if (a->format == FORMAT_JSON && !a->out) fputs(gpm_draws_json(d), stdout);
    gpm_draws_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"format", 'f', OPTION_CHOICE, "stan|json|zarr", "what to write (default stan)",
     offsetof(struct args, format)},
    {"out", 'o', OPTION_TEXT, "FILE",
     "stan: beginning of the file names; zarr: folder; json: file (default: standard output)",
     offsetof(struct args, out)},
};

const struct command command_export = {
    .name = "export",
    .args = "DIR",
    .summary = "Writes the draws of a run as Stan CSV, JSON or a Zarr folder",
    .text = "Stan CSV: one file per chain, OUT-1.csv, OUT-2.csv, ... A Zarr folder opens in xarray "
            "with dimensions chain and draw.",
    OPTIONS(rows),
    .size = sizeof(struct args),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
