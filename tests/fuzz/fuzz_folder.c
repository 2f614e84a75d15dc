/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the folders that `gpmem discover` keeps: the input is the files of one, each after
 * a line "@@ name". It is opened, reported in every format, asked, continued. Nothing may crash,
 * and a refusal says why. What comes out has the form that it should, whatever the folder's texts
 * are: JSON that can be read, a page with the elements of a page, text without controls.
 * Run: fuzz_folder corpus/folder
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "fuzz/scratch.h"
#include "gpmem/discover.h"
#include "apps/discover/series.h"
#include <jansson.h>
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

/* ---- what comes out ---- */

static void expect(bool good, const char *what, const char *text) {
    if (good) return;
    fprintf(stderr, "%s:\n%.2000s\n", what, text);
    abort();
}

static void check_text(const char *text) {
    uint32_t code;
    expect(utf8_check(text, strlen(text)) == strlen(text), "no UTF-8", text);
    for (const char *p = text; *p; p += utf8_decode(p, strlen(p), &code)) {
        (void)utf8_decode(p, strlen(p), &code);
        expect(*p == '\n' || *p == '\t' || !utf8_steers(code), "a control", p);
    }
}

static void check_json(const char *text, size_t n) {
    json_error_t why;
    json_t *all = json_loadb(text, n, JSON_DECODE_INT_AS_REAL, &why);
    expect(all != NULL, why.text, text);
    json_decref(all);
}

/* An element of a page of ours: name and attributes, none of which runs anything. */
static void check_tag(const char *tag, size_t n) {
    static const char known[] =
        " !DOCTYPE html head meta title style body main p h1 h2 h3 strong em code pre table thead "
        "tbody tr th td div span figure figcaption section details summary a ol ul li br script "
        "svg g path rect circle ellipse line polyline polygon text tspan desc defs clipPath use ";
    char name[32];
    size_t len = strcspn(tag, " >/\n");
    snprintf(name, sizeof name, " %.*s ", (int)(len < 20 ? len : 20), tag);
    expect(len && strstr(known, name), "an element", tag);
    bool quoted = false;
    for (size_t i = len; i < n; i++) {
        quoted ^= tag[i] == '"';
        bool begins = !quoted && tag[i] == ' ';
        expect(!begins || strncmp(tag + i, " on", 3), "an attribute", tag);
        expect(!begins || strncmp(tag + i, " href=", 6) || !strncmp(tag + i, " href=\"#", 8),
               "a link", tag);
    }
}

static void check_page(const char *text) {
    static const char json[] = "script type=\"application/json\">";
    size_t scripts = 0;
    for (const char *p = text; (p = strchr(p, '<')); p++) {
        const char *tag = p + 1 + (p[1] == '/'), *end = strchr(tag, '>');
        expect(end != NULL, "an element without an end", p);
        check_tag(tag, (size_t)(end - tag));
        bool raw = p[1] != '/' && (!strncmp(tag, "script", 6) || !strncmp(tag, "style", 5));
        if (!raw) continue;
        const char *close = strstr(end, tag[1] == 'c' ? "</script>" : "</style>");
        expect(close != NULL, "a script without an end", p);
        if (!strncmp(tag, json, sizeof json - 1)) check_json(end + 1, (size_t)(close - end - 1));
        scripts += !strncmp(tag, "script>", 7);
        p = close - 1;
    }
    expect(scripts == 1, "scripts", text);
}

/* Every line has as many cells as the first. */
static void check_csv(const char *text) {
    size_t cells = 1, first = 0;
    bool quoted = false;
    for (const char *p = text; *p; p++) {
        quoted ^= *p == '"';
        cells += !quoted && *p == ',';
        if (quoted || *p != '\n') continue;
        if (!first) first = cells;
        expect(cells == first, "a row", p);
        cells = 1;
    }
    expect(!quoted, "a quote", text);
}

/* Links and elements are in code alone: lines that are set in, and between two fences. Code are the
 * formula, where there is one, and the program. */
static void check_markdown(const char *text) {
    int fences = 0;
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p != 0) {
        bool fence = !strncmp(p, "```", 3), code = fences % 2 || !strncmp(p, "    ", 4);
        fences += fence;
        for (const char *at = p; !fence && !code && *at && *at != '\n'; at++) {
            bool plain = at > p && at[-1] == '\\';
            expect(plain || strncmp(at, "](", 2), "a link", p);
            expect(plain || *at != '<' || at[1] == ' ', "an element", p);
        }
    }
    expect(fences == 2 || fences == 4, "fences", text);
}

static void check_report(enum gpm_discover_format f, const char *text) {
    if (!*text) return; /* it was refused */
    check_text(text);
    if (f == GPM_REPORT_JSON) check_json(text, strlen(text));
    if (f == GPM_REPORT_HTML) check_page(text);
    if (f == GPM_REPORT_MARKDOWN) check_markdown(text);
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
            check_report((enum gpm_discover_format)f,
                         gpm_discover_report(d, (enum gpm_discover_format)f));
        if (gpm_discover_query(d, "LIN + WN | recurring_pattern", &a) && !*gpm_discover_error(d))
            abort();
        enum gpm_status st = gpm_discover_forecast(d, 3, NULL, 0, 0.9, &csv);
        if (st && !*gpm_discover_error(d)) abort();
        if (!st) check_csv(csv);
    }
    gpm_discover_free(d);
    return 0;
}
