/* SPDX-License-Identifier: Apache-2.0
 * A table of several groups of rows, with lists of which some are empty, as bytes; the file
 * table.parquet beside the test is read by tests/packages/run_parquet.py as others do. */
#include "support/check.h"

#include "base/file.h"
#include "base/mem.h"
#include "table/parquet.h"
#include <stdio.h>
#include <string.h>

#define ROWS 70000

static void test_table(void **state) {
    static const struct parquet_column columns[] = {{"name", PARQUET_TEXT, false},
                                                    {"i", PARQUET_INT, false},
                                                    {"half", PARQUET_NUMBER, false},
                                                    {"below", PARQUET_INT, true}};
    struct parquet *p = parquet_new(columns, COUNT_OF(columns));
    for (int i = 0; i < ROWS; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        parquet_text(p, 0, name);
        parquet_int(p, 1, i - 5);
        parquet_number(p, 2, i / 2.0);
        for (int k = 0; k < i % 3; k++) parquet_int(p, 3, k);
        parquet_row(p);
    }
    struct buf out = BUF_INIT;
    parquet_finish(p, &out);
    assert_memory_equal(out.data, "PAR1", 4);
    assert_memory_equal(out.data + out.len - 4, "PAR1", 4);
    const unsigned char *tail = (const unsigned char *)out.data + out.len - 8;
    size_t described = tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16;
    assert_true(described > 200 && described < 1000);
    /* the values themselves: text 4 + its length, 8 for the others */
    size_t least = 0;
    for (int i = 0; i < ROWS; i++)
        least += 4 + (size_t)snprintf(NULL, 0, "r%d", i) + 16 + 8 * (size_t)(i % 3);
    assert_true(out.len > least && out.len < least + ROWS + 2000);
    assert_int_equal(file_write(BUILD_DIR "/tests/table.parquet", FILE_GIVEN, out.data, out.len),
                     GPM_OK);
    buf_release(&out);
}

/* Bytes that describe 40 rows of one text. */
static size_t described_by(const char *text) {
    static const struct parquet_column one = {"x", PARQUET_TEXT, false};
    struct parquet *p = parquet_new(&one, 1);
    struct buf out = BUF_INIT;
    for (int i = 0; i < 40; i++) {
        parquet_text(p, 0, text);
        parquet_row(p);
    }
    parquet_finish(p, &out);
    const unsigned char *tail = (const unsigned char *)out.data + out.len - 8;
    size_t described = tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16;
    buf_release(&out);
    return described;
}

/* Groups of rows are small enough for a page's size, however long the rows are. */
static void test_long_rows(void **state) {
    size_t n = (size_t)1 << 20;
    char *text = mem_zalloc(n + 1);
    memset(text, 'x', n);
    assert_true(described_by(text) > described_by("x") + 20);
    mem_free(text);
}

/* Whatever the bytes of a text are, the file has valid ones in their place. */
static void test_texts(void **state) {
    static const struct parquet_column one = {"x", PARQUET_TEXT, false};
    static const struct {
        const char *of, *as;
    } texts[] = {{"plain", "plain"},
                 {"caf\xc3\xa9", "caf\xc3\xa9"},
                 {"caf\xe9", "caf\xEF\xBF\xBD"},
                 {"\xff\xfe!", "\xEF\xBF\xBD\xEF\xBF\xBD!"},
                 {"\xc3", "\xEF\xBF\xBD"},
                 {"", ""}};
    struct parquet *p = parquet_new(&one, 1);
    struct buf out = BUF_INIT, want = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        parquet_text(p, 0, texts[i].of);
        parquet_row(p);
        buf_put_bits(&want, strlen(texts[i].as), 4);
        buf_puts(&want, texts[i].as);
    }
    parquet_finish(p, &out);
    assert_non_null(memmem(out.data, out.len, want.data, want.len));
    buf_release(&out);
    buf_release(&want);
}

static void test_nothing(void **state) {
    static const struct parquet_column one = {"x", PARQUET_NUMBER, false};
    struct buf out = BUF_INIT;
    parquet_finish(parquet_new(&one, 1), &out);
    assert_true(out.len > 12 && !memcmp(out.data + out.len - 4, "PAR1", 4));
    buf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_texts), cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
