/* SPDX-License-Identifier: Apache-2.0
 * label: slow
 *
 * Draws written as Stan CSV, read by R and summarised by its package posterior; the figures must be
 * ours. Skipped, saying so, where Rscript or the package is missing. */
#include "support/check.h"
#include "support/series.h"

#include "numeric/posterior/draws.h"
#include <unistd.h>

static const char script[] =
    "options(warn = -1); suppressMessages(library(posterior))\n"
    "files <- commandArgs(TRUE)\n"
    "chains <- lapply(files, read.csv, comment.char = '#')\n"
    "for (v in names(chains[[1]])) {\n"
    "  x <- sapply(chains, function(d) d[[v]])\n"
    "  cat(v, sprintf('%.15g', c(mean(x), rhat(x), ess_bulk(x), ess_tail(x), mcse_mean(x))),\n"
    "      '\\n')\n"
    "}\n";

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* All that R writes, and on failure how it ended. */
static void read_output(const char *command, struct buf *out) {
    FILE *r = popen(command, "r");
    char piece[512];
    assert_non_null(r);
    while (fgets(piece, sizeof piece, r)) buf_puts(out, piece);
    int status = pclose(r);
    if (status != 0) fail_msg("R ended with status %d after writing '%s'", status, out->data);
}

static void compare(const char *text, const struct draw_table *d) {
    int used;
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        char name[64];
        double want[5], *x = draw_table_column(d, j);
        assert_int_equal(sscanf(text, "%63s%n", name, &used), 1);
        text += used;
        for (int k = 0; k < 5; k++) {
            assert_int_equal(sscanf(text, "%lf%n", &want[k], &used), 1);
            text += used;
        }
        assert_string_equal(name, draw_table_name(d, j));
        size_t n = draw_table_rows(d), c = d->chain.n;
        struct draws_summary s;
        struct draws_tables *t = draws_tables_new();
        draws_summarise(t, x, NULL, c, n, &s);
        draws_tables_free(t);
        assert_close(s.mean, want[0], 1e-9);
        assert_close(s.rhat, want[1], 1e-9);
        assert_close(s.ess_bulk, want[2], 1e-8);
        assert_close(s.ess_tail, want[3], 1e-8);
        assert_close(s.mcse_mean, want[4], 1e-9);
        mem_free(x);
    }
}

static void posterior_reads_our_draws(void **state) {
    if (system("Rscript -e 'library(posterior)' > /dev/null 2>&1") != 0) {
        print_message("skipped: no Rscript with the package posterior (r-cran-posterior)\n");
        skip();
    }
    enum { CHAINS = 4, ROWS = 801, COLS = 3 };
    static const char *const names[] = {"mu", "sigma", "count"};
    struct draw_table d;
    draw_table_init(&d, CHAINS);
    double *x[COLS] = {series(0, 0.7, CHAINS, ROWS, 0, 11), series(2, 0.95, CHAINS, ROWS, 1, 12),
                       series(1, -0.3, CHAINS, ROWS, 0, 13)};
    for (size_t c = 0; c < CHAINS; c++)
        for (size_t i = 0; i < ROWS; i++) {
            double row[COLS];
            for (int j = 0; j < COLS; j++) row[j] = x[j][c * ROWS + i];
            draw_table_push(&d, c, names, row, COLS);
        }
    char dir[] = "/tmp/gpmem-draws-XXXXXX", path[64], command[400];
    assert_non_null(mkdtemp(dir));
    int at = snprintf(command, sizeof command, "Rscript %s/s.R", dir);
    for (size_t c = 0; c < CHAINS; c++) {
        struct buf b = BUF_INIT;
        buf_puts(&b, "# written by a test\nmu,sigma,count\n");
        for (size_t i = 0; i < ROWS * COLS; i++)
            buf_printf(&b, "%.17g%c", d.chain.at[c].columns.at[i % COLS].x.at[i / COLS],
                       (i + 1) % COLS ? ',' : '\n');
        snprintf(path, sizeof path, "%s/c%zu.csv", dir, c);
        write_file(path, b.data);
        buf_release(&b);
        at += snprintf(command + at, sizeof command - (size_t)at, " %s", path);
    }
    snprintf(path, sizeof path, "%s/s.R", dir);
    write_file(path, script);
    struct buf said = BUF_INIT;
    read_output(command, &said);
    compare(said.data, &d);
    buf_release(&said);
    for (size_t c = 0; c < CHAINS; c++) {
        snprintf(path, sizeof path, "%s/c%zu.csv", dir, c);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/s.R", dir);
    unlink(path);
    rmdir(dir);
    for (int j = 0; j < COLS; j++) mem_free(x[j]);
    draw_table_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(posterior_reads_our_draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
