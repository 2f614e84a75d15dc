/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the folders that `gpmem discover` keeps: the input is the files of one, each after
 * a line "@@ name". It is opened, reported in every format, asked, continued. Nothing may crash,
 * and a refusal says why. Run: fuzz_folder corpus/folder
 */
#include "base/mem.h"
#include "fuzz/scratch.h"
#include "gpmem/discover.h"
#include "discover/series.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"manifest.json", "structures.json", "data.csv", "chains.csv"};
enum { NAMES = sizeof names / sizeof names[0] };

/* The file of that name: from the line after its mark to the next one. */
static const char *part(const char *text, size_t size, const char *name, size_t *len) {
    char mark[40];
    int n = snprintf(mark, sizeof mark, "@@ %s\n", name);
    const char *at = memmem(text, size, mark, (size_t)n);
    at = at ? at + n : text + size;
    const char *end = memmem(at, (size_t)(text + size - at), "@@ ", 3);
    *len = (size_t)((end ? end : text + size) - at);
    return at;
}

/* The manifest tells the hash of the data: it is put right, so that other data get further. */
static void put_hash(char *text, size_t size) {
    static const char key[] = "\"data_hash\": \"";
    enum { DIGITS = 16 };
    size_t len;
    const char *csv = part(text, size, "data.csv", &len);
    char *at = memmem(text, size, key, sizeof key - 1), digits[DIGITS + 1];
    struct series s;
    struct series_options o = {0};
    struct buf err = BUF_INIT;
    if (at && (size_t)(text + size - at) > sizeof key + DIGITS &&
        series_read(&s, "data.csv", csv, len, &o, &err) == GPM_OK) {
        snprintf(digits, sizeof digits, "%016llx", (unsigned long long)s.hash);
        memcpy(at + sizeof key - 1, digits, DIGITS);
        series_release(&s);
    }
    buf_release(&err);
}

static void unpack(const char *text, size_t size) {
    for (size_t i = 0; i < NAMES; i++) {
        size_t len;
        const char *at = part(text, size, names[i], &len);
        scratch_write(names[i], at, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 65536) return 0;
    scratch("");
    char *text = mem_strndup((const char *)data, size);
    put_hash(text, size);
    unpack(text, size);
    mem_free(text);
    gpm_discovery *d = gpm_discover_new();
    struct gpm_answer a;
    const char *csv;
    if (gpm_discover_open(d, scratch_dir) != GPM_OK) {
        if (!*gpm_discover_error(d)) abort();
    } else {
        for (int f = GPM_REPORT_TEXT; f <= GPM_REPORT_PROGRAM; f++)
            gpm_discover_report(d, (enum gpm_discover_format)f);
        if (gpm_discover_query(d, "LIN + WN | recurring_pattern", &a) && !*gpm_discover_error(d))
            abort();
        if (gpm_discover_forecast(d, 3, NULL, 0, 0.9, &csv) && !*gpm_discover_error(d)) abort();
    }
    gpm_discover_free(d);
    return 0;
}
