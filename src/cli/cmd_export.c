/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem export DIR: the draws of a run for other programs: Stan CSV (R's posterior and cmdstanr
 * read it), JSON, or a Zarr folder (version 2, uncompressed) that xarray opens as chain x draw.
 */
#include "base/file.h"
#include "cli/command.h"
#include "cli/out.h"
#include "cli/run_folder.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_STAN, FORMAT_JSON, FORMAT_ZARR };
struct args {
    int format;
    const char *out;
};

/* A file of ours, in a folder that we make, or one that the user named. */
static int write_part(const char *path, enum file_how how, const struct buf *b) {
    struct buf why = BUF_INIT;
    int status = EXIT_FINE;
    if (file_write(path, how, b->data, b->len, &why) == GPM_OK)
        explain("wrote '%s'", path);
    else
        status = complain(EXIT_FAILED, "cannot write '%s': %s", path, why.data);
    buf_release(&why);
    return status;
}

/* PREFIX-1.csv, PREFIX-2.csv, ... */
static int export_stan(const gpm_draws *d, const struct run_facts *facts, const char *prefix) {
    for (size_t c = 0; c < gpm_draws_chains(d); c++) {
        char path[1200];
        struct buf b = BUF_INIT;
        snprintf(path, sizeof path, "%s-%zu.csv", prefix, c + 1);
        buf_printf(&b, "# gpmem %s, seed %llu, chain %zu\n", facts->version,
                   (unsigned long long)facts->seed, c + 1);
        for (size_t k = 0; k < gpm_draws_columns(d); k++) {
            buf_printf(&b, "%s%s", k ? "," : "", gpm_draws_name(d, k));
        }
        buf_putc(&b, '\n');
        for (size_t r = 0; r < gpm_draws_rows(d); r++) {
            for (size_t k = 0; k < gpm_draws_columns(d); k++) {
                buf_printf(&b, "%s%.17g", k ? "," : "", gpm_draws_at(d, c, r, k));
            }
            buf_putc(&b, '\n');
        }
        int status = write_part(path, FILE_GIVEN, &b);
        buf_release(&b);
        if (status != EXIT_FINE) return status;
    }
    return EXIT_FINE;
}

/* ---- Zarr: a folder per array; .zarray says the shape, the file 0.0 holds the numbers ---- */

static int make_folder(const char *path, enum file_how how) {
    struct buf why = BUF_INIT;
    int status = EXIT_FINE;
    if (file_folder(path, how, &why) != GPM_OK)
        status = complain(EXIT_FAILED, "cannot make the folder '%s': %s", path, why.data);
    buf_release(&why);
    return status;
}

/* Writes ROOT/NAME/PART, or ROOT/PART. */
static int write_at(const char *root, const char *name, const char *part, const struct buf *b) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s%s%s", root, name, *name ? "/" : "", part);
    int status = write_part(path.data, FILE_OURS, b);
    buf_release(&path);
    return status;
}

static void put_numbers(struct buf *b, const double *at, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &at[i], sizeof bits);
        bits = htole64(bits);
        buf_add(b, &bits, sizeof bits);
    }
}

/* columns == 0: a vector, the index of a dimension. */
static int write_array(const char *root, const char *name, size_t rows, size_t columns,
                       const double *at) {
    struct buf b = BUF_INIT, shape = BUF_INIT;
    buf_printf(&b, "%s/%s", root, name);
    int status = make_folder(b.data, FILE_OURS);
    buf_reset(&b);
    bool matrix = columns > 0;
    buf_printf(&shape, matrix ? "[%zu, %zu]" : "[%zu]", rows, columns);
    buf_printf(
        &b,
        "{\"zarr_format\": 2, \"shape\": %s, \"chunks\": %s, \"dtype\": \"<f8\", \"compressor\": "
        "null, \"fill_value\": \"NaN\", \"order\": \"C\", \"filters\": null}\n",
        shape.data, shape.data);
    if (status == EXIT_FINE) status = write_at(root, name, ".zarray", &b);
    buf_reset(&b);
    buf_puts(&b, "{\"_ARRAY_DIMENSIONS\": [");
    if (matrix)
        buf_puts(&b, "\"chain\", \"draw\"");
    else
        buf_json_string(&b, name, strlen(name));
    buf_puts(&b, "]}\n");
    if (status == EXIT_FINE) status = write_at(root, name, ".zattrs", &b);
    buf_reset(&b);
    put_numbers(&b, at, rows * (matrix ? columns : 1));
    if (status == EXIT_FINE) status = write_at(root, name, matrix ? "0.0" : "0", &b);
    buf_release(&b);
    buf_release(&shape);
    return status;
}

static int write_index(const char *root, const char *name, size_t n) {
    double *at = calloc(n ? n : 1, sizeof *at);
    if (!at) return complain(EXIT_FAILED, "out of memory");
    for (size_t i = 0; i < n; i++) at[i] = (double)i;
    int status = write_array(root, name, n, 0, at);
    free(at);
    return status;
}

/* An array is a folder of its name. The names of a run are Stan's (run_folder.c), but a folder
 * comes from anywhere: nothing that leads elsewhere, and nothing that another file of the group
 * has. */
static int check_name(const gpm_draws *d, size_t k) {
    const char *name = gpm_draws_name(d, k);
    bool good = *name && *name != '.' && strlen(name) < 200 && !strchr(name, '/') &&
                strcmp(name, "chain") != 0 && strcmp(name, "draw") != 0;
    for (size_t i = 0; i < k && good; i++) good = strcmp(name, gpm_draws_name(d, i)) != 0;
    for (const char *p = name; *p && good; p++) good = (unsigned char)*p >= 32 && *p != 127;
    return good ? EXIT_FINE
                : complain(EXIT_FAILED, "the quantity '%s' cannot name an array of a Zarr folder",
                           name);
}

static int export_zarr(const gpm_draws *d, const struct run_facts *facts, const char *root) {
    struct buf b = BUF_INIT;
    size_t chains = gpm_draws_chains(d), rows = gpm_draws_rows(d);
    int status = EXIT_FINE;
    for (size_t k = 0; k < gpm_draws_columns(d) && status == EXIT_FINE; k++)
        status = check_name(d, k);
    if (status == EXIT_FINE) status = make_folder(root, FILE_GIVEN);
    buf_puts(&b, "{\"zarr_format\": 2}\n");
    if (status == EXIT_FINE) status = write_at(root, "", ".zgroup", &b);
    buf_reset(&b);
    buf_puts(&b, "{\"inference_library\": \"gpmem\", \"inference_library_version\": ");
    buf_json_string(&b, facts->version, strlen(facts->version));
    buf_printf(&b, ", \"seed\": %llu}\n", (unsigned long long)facts->seed);
    if (status == EXIT_FINE) status = write_at(root, "", ".zattrs", &b);
    buf_release(&b);
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
    const char *json = a->format == FORMAT_JSON ? gpm_draws_json(d) : NULL;
    if (json && !out_file(a->out, json, strlen(json))) status = EXIT_FAILED;
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

COMMAND(export) = {
    .place = 70,
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
