/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem export DIR: the draws of a run for other programs: Stan CSV (R's posterior and cmdstanr
 * read it), JSON, or a Zarr folder (version 2, uncompressed) that xarray opens as chain x draw.
 */
#include "base/mem.h"
#include "front/cli/arviz.h"
#include "front/cli/chain_rows.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run_folder.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_STAN, FORMAT_JSON, FORMAT_ZARR, FORMAT_ARVIZ };
static struct {
    int format;
    const char *out, *prior;
} args;

/* PREFIX-1.csv, PREFIX-2.csv, ... */
static bool export_stan(const gpm_draws *d, const struct run_facts *facts, const char *prefix) {
    size_t columns = gpm_draws_columns(d);
    double *row = NEW_ARRAY(double, columns + 1);
    bool good = true;
    for (size_t c = 0; c < gpm_draws_chains(d) && good; c++) {
        char path[1200];
        struct buf b = BUF_INIT;
        snprintf(path, sizeof path, "%s-%zu.csv", prefix, c + 1);
        buf_printf(&b, "# gpmem %s, seed %llu, chain %zu\n", facts->version,
                   (unsigned long long)facts->seed, c + 1);
        for (size_t k = 0; k < columns; k++)
            buf_printf(&b, "%s%s", k ? "," : "", gpm_draws_name(d, k));
        buf_putc(&b, '\n');
        for (size_t r = 0; r < gpm_draws_rows(d); r++) {
            for (size_t k = 0; k < columns; k++) row[k] = gpm_draws_at(d, c, r, k);
            chain_row_text(row, columns, &b);
        }
        good = out_file(path, b.data, b.len);
        buf_release(&b);
    }
    mem_free(row);
    return good;
}

/* ---- Zarr: a folder per array; .zarray says the shape, the file 0.0 holds the numbers ---- */

static bool make_folder(const char *path, enum file_how how) {
    if (file_folder(path, how) == GPM_OK) return true;
    return complain(false, "cannot make the folder '%s': %s", path, file_why());
}

/* Writes ROOT/NAME, or with an array ROOT/ARRAY/NAME; the text is empty afterwards. */
static bool write_at(const char *root, const char *array, const char *name, struct buf *text) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s%s%s", root, array, *array ? "/" : "", name);
    bool good = out_part(path.data, FILE_OURS, text->data, text->len);
    if (good) explain("wrote '%s'", path.data);
    buf_release(&path);
    buf_reset(text);
    return good;
}

/* columns == 0: a vector, the index of a dimension. */
static bool write_array(const char *root, const char *name, size_t rows, size_t columns,
                        const double *at) {
    struct buf b = BUF_INIT;
    char shape[64];
    bool matrix = columns > 0;
    buf_printf(&b, "%s/%s", root, name);
    bool good = make_folder(b.data, FILE_OURS);
    buf_reset(&b);
    snprintf(shape, sizeof shape, matrix ? "[%zu, %zu]" : "[%zu]", rows, columns);
    buf_printf(
        &b,
        "{\"zarr_format\": 2, \"shape\": %s, \"chunks\": %s, \"dtype\": \"<f8\", \"compressor\": "
        "null, \"fill_value\": \"NaN\", \"order\": \"C\", \"filters\": null}\n",
        shape, shape);
    good = good && write_at(root, name, ".zarray", &b);
    buf_printf(&b, "{\"_ARRAY_DIMENSIONS\": [\"%s\"]}\n", matrix ? "chain\", \"draw" : name);
    good = good && write_at(root, name, ".zattrs", &b);
    for (size_t i = 0; i < rows * (matrix ? columns : 1); i++) {
        uint64_t bits;
        memcpy(&bits, &at[i], sizeof bits);
        bits = htole64(bits);
        buf_add(&b, &bits, sizeof bits);
    }
    good = good && write_at(root, name, matrix ? "0.0" : "0", &b);
    buf_release(&b);
    return good;
}

/* An array is a folder of its name. The names of a run are Stan's (run_folder.c), but a folder
 * comes from anywhere: nothing that leads elsewhere, and nothing that another file of the group
 * has. */
static bool good_name(const gpm_draws *d, size_t k) {
    const char *name = gpm_draws_name(d, k);
    bool good = *name && *name != '.' && strlen(name) < 200 && !strchr(name, '/') &&
                strcmp(name, "chain") != 0 && strcmp(name, "draw") != 0;
    for (size_t i = 0; i < k && good; i++) good = strcmp(name, gpm_draws_name(d, i)) != 0;
    for (const char *p = name; *p && good; p++) good = (unsigned char)*p >= 32 && *p != 127;
    return good || complain(false, "the quantity '%s' cannot name an array of a Zarr folder", name);
}

static bool export_zarr(const gpm_draws *d, const struct run_facts *facts, const char *root) {
    struct buf b = BUF_INIT;
    size_t chains = gpm_draws_chains(d), rows = gpm_draws_rows(d);
    size_t longest = rows > chains ? rows : chains;
    double *index = NEW_ARRAY(double, longest + 1), *at = NEW_ARRAY(double, chains *rows + 1);
    bool good = true;
    for (size_t k = 0; k < gpm_draws_columns(d) && good; k++) good = good_name(d, k);
    for (size_t i = 0; i < longest; i++) index[i] = (double)i;
    good = good && make_folder(root, FILE_GIVEN);
    buf_puts(&b, "{\"zarr_format\": 2}\n");
    good = good && write_at(root, "", ".zgroup", &b);
    buf_puts(&b, "{\"inference_library\": \"gpmem\", \"inference_library_version\": ");
    buf_json_string(&b, facts->version, strlen(facts->version));
    buf_printf(&b, ", \"seed\": %llu}\n", (unsigned long long)facts->seed);
    good = good && write_at(root, "", ".zattrs", &b) &&
           write_array(root, "chain", chains, 0, index) &&
           write_array(root, "draw", rows, 0, index);
    for (size_t k = 0; k < gpm_draws_columns(d) && good; k++) {
        for (size_t i = 0; i < chains * rows; i++) at[i] = gpm_draws_at(d, i / rows, i % rows, k);
        good = write_array(root, gpm_draws_name(d, k), chains, rows, at);
    }
    buf_release(&b);
    mem_free(index);
    mem_free(at);
    return good;
}

static bool export_arviz(const gpm_draws *d, const struct run_facts *facts, const char *path) {
    struct run_facts prior_facts, own = *facts;
    gpm_draws *prior = NULL;
    char version[64];
    snprintf(version, sizeof version, "%s", facts->version); /* the next manifest takes its place */
    own.version = version;
    if (args.prior && run_folder_open(args.prior, &prior_facts, &prior) != EXIT_FINE) return false;
    json_t *groups = arviz_groups(d, prior, &own);
    char *text = json_dumps(groups, 0);
    bool good = text && out_file(path, text, strlen(text));
    free(text);
    json_decref(groups);
    gpm_draws_free(prior);
    return good;
}

static int export_run(int argc, char **argv) {
    struct run_facts facts;
    gpm_draws *d;
    if (!args.out && args.format != FORMAT_JSON && args.format != FORMAT_ARVIZ) {
        return complain(EXIT_USAGE, "--out is missing: the %s to write",
                        args.format == FORMAT_ZARR ? "folder" : "beginning of the file names");
    }
    int status = run_folder_open(argv[0], &facts, &d);
    if (status != EXIT_FINE) return status;
    const char *json = args.format == FORMAT_JSON ? gpm_draws_json(d) : NULL;
    bool good = json                          ? out_file(args.out, json, strlen(json))
                : args.format == FORMAT_STAN  ? export_stan(d, &facts, args.out)
                : args.format == FORMAT_ARVIZ ? export_arviz(d, &facts, args.out)
                                              : export_zarr(d, &facts, args.out);
    gpm_draws_free(d);
    return good ? EXIT_FINE : EXIT_FAILED;
}

static const struct option_row rows[] = {
    {"format", 'f', OPTION_CHOICE, "stan|json|zarr|arviz", "what to write (default stan)",
     &args.format},
    {"out", 'o', OPTION_TEXT, "FILE",
     "stan: beginning of the file names; zarr: folder; json, arviz: file (default: standard "
     "output)",
     &args.out},
    {"prior", 0, OPTION_TEXT, "DIR", "arviz: a run of draws from the prior, for its groups",
     &args.prior},
};

COMMAND(export, 70) = {
    .args = "DIR",
    .summary = "Writes the draws of a run as Stan CSV, JSON, a Zarr folder or for ArviZ",
    .text = "Stan CSV: one file per chain, OUT-1.csv, OUT-2.csv, ... A Zarr folder opens in xarray "
            "with dimensions chain and draw. arviz: JSON with the groups of an InferenceData "
            "(posterior, sample_stats, log_likelihood, posterior_predictive, observed_data, prior, "
            "prior_predictive), the arguments of arviz.from_dict.",
    OPTIONS(rows),
    .takes = {1, 1},
    .run = export_run,
};
