/* SPDX-License-Identifier: Apache-2.0
 * CSV files and shared objects. */
#include "support/check.h"
#include "support/tmp.h"

#include "table/table.h"
#include "io/host/foreign.h"
#include <math.h>

static struct csv parse(const char *text) {
    struct csv c;
    struct buf err = BUF_INIT;
    enum gpm_status s = csv_table(&c, "t.csv", text, strlen(text), &err);
    if (s) print_error("%s\n", err.data);
    assert_int_equal(s, GPM_OK);
    buf_release(&err);
    return c;
}

static void fields_quotes_and_separators(void **state) {
    struct csv c =
        parse("\xef\xbb\xbf# note, with comma\r\nx, \"the \"\"y\"\"\" ,z\r\n1,\"a,b\nc\", 2.5 \r\n"
              "\r\n3,,NA");
    table_head(&c, NULL);
    assert_int_equal(c.n_cols, 3);
    assert_int_equal(c.n_rows, 2);
    assert_string_equal(c.header[1], "the \"y\"");
    assert_string_equal(csv_text(&c, 0, 1), "a,b\nc");
    assert_int_equal(c.lines[0], 3);
    assert_int_equal(c.lines[1], 6);
    double x;
    struct buf err = BUF_INIT;
    struct table_column y, z;
    table_column_read(&y, &c, 1, &(struct column_wish){0});
    table_column_read(&z, &c, 2, &(struct column_wish){0});
    assert_int_equal(table_column_number(&z, 0, &x, &err), GPM_OK);
    assert_close(x, 2.5, 0);
    assert_true(csv_missing_as(&c, 1, 1, NULL) && csv_missing_as(&c, 1, 2, NULL));
    assert_int_equal(table_column_number(&z, 1, &x, &err), GPM_E_FORMAT);
    assert_string_equal(err.data, "t.csv:6: column 'z': the value is missing");
    buf_reset(&err);
    assert_int_equal(table_column_number(&y, 0, &x, &err), GPM_E_FORMAT);
    assert_string_equal(err.data, "t.csv:3: column 'the \"y\"': 'a,b\nc' is not a number");
    table_column_release(&y);
    table_column_release(&z);
    int j;
    buf_reset(&err);
    assert_int_equal(csv_find(&c, "q", &j, &err), GPM_E_NOT_FOUND);
    assert_string_equal(err.data, "t.csv: there is no column 'q'; columns are x, the \"y\", z");
    assert_int_equal(csv_find(&c, "3", &j, &err), GPM_OK);
    assert_int_equal(j, 2);
    csv_release(&c);
    buf_release(&err);
    c = parse("1;2\n3;4\n");
    table_head(&c, NULL);
    assert_null(c.header);
    assert_int_equal(c.n_rows, 2);
    csv_release(&c);
    c = parse("a\tb\n3\t4");
    csv_take_header(&c);
    assert_int_equal(c.n_rows, 1);
    assert_int_equal(csv_column(&c, "b"), 1);
    csv_release(&c);
    c = parse("a,b\n");
    assert_int_equal(c.n_rows, 1);
    csv_release(&c);
}

static void blanks_separate(void **state) {
    struct csv c = parse("  \"the time\"   y \n 1.5  2e3\n 2 \"a b\"  \n");
    table_head(&c, NULL);
    assert_int_equal(c.n_cols, 2);
    assert_string_equal(c.header[0], "the time");
    assert_string_equal(csv_text(&c, 0, 1), "2e3");
    assert_string_equal(csv_text(&c, 1, 1), "a b");
    csv_release(&c);
    c = parse("1 234\n12 345\n"); /* thousands */
    assert_int_equal(c.n_cols, 1);
    csv_release(&c);
    c = parse("a b,c\n1 2,3\n"); /* a comma is there */
    assert_int_equal(c.n_cols, 2);
    csv_release(&c);
}

/* Every column knows what it holds; names and units stand above it. */
static void columns_know_what_they_hold(void **state) {
    static const char text[] = "Sales of 2001,,,,\n"
                               "when,zip,paid,late,who\n"
                               ",,EUR,,\n"
                               "2001-01-31,01067,\"1.200,5\",yes,Ann\n"
                               "2001-02-28,53111,\"7,25\",no,None\n"
                               "2001-03-31,80331,NA,yes,Bob\n";
    static const struct {
        enum column_kind kind;
        size_t cells, numbers;
        double x[3];
    } is[] = {{COLUMN_TIMES, 3, 0, {11353, 11381, 11412}},
              {COLUMN_WORDS, 3, 3, {1067, 53111, 80331}},
              {COLUMN_NUMBERS, 2, 2, {1200.5, 7.25, NAN}},
              {COLUMN_NUMBERS, 3, 3, {1, 0, 1}},
              {COLUMN_WORDS, 3, 0, {NAN, NAN, NAN}}};
    struct csv c = parse(text);
    table_head(&c, NULL);
    assert_int_equal(c.n_rows, 3);
    assert_string_equal(c.header[1], "zip");
    for (int j = 0; j < c.n_cols; j++) {
        struct table_column k;
        table_column_read(&k, &c, j, &(struct column_wish){.truths = true, .times = true});
        assert_int_equal(k.kind, is[j].kind);
        assert_int_equal(k.cells, is[j].cells);
        assert_int_equal(k.numbers, is[j].numbers);
        for (size_t i = 0; i < 3; i++)
            assert_true(isnan(is[j].x[i]) ? isnan(k.x[i]) : k.x[i] == is[j].x[i]);
        table_column_release(&k);
        table_column_read(&k, &c, j, &(struct column_wish){0});
        assert_true(k.kind != COLUMN_TIMES || isnan(k.x[0])); /* no days where numbers are wanted */
        table_column_release(&k);
    }
    csv_release(&c);
    c = parse("1x,5\n2,6\n3,7\n"); /* a broken number is no name */
    table_head(&c, NULL);
    assert_null(c.header);
    csv_release(&c);
}

/* The letters of each length in UTF-8, and half of a pair, in both byte orders. */
static void utf16_is_read(void **state) {
    static const uint16_t units[] = {0xFEFF, 'x',  0xE9, 0x20AC, 0xD83D, 0xDE00, ',',
                                     'y',    '\n', '1',  ',',    0xD800, '\r',   '\n'};
    for (int swapped = 0; swapped < 2; swapped++) {
        char bytes[sizeof units];
        struct csv c;
        struct buf err = BUF_INIT;
        for (size_t i = 0; i < COUNT_OF(units); i++) {
            bytes[2 * i + (size_t)swapped] = (char)(units[i] & 0xFF);
            bytes[2 * i + 1 - (size_t)swapped] = (char)(units[i] >> 8);
        }
        assert_int_equal(csv_table(&c, "t.csv", bytes, sizeof bytes, &err), GPM_OK);
        assert_int_equal(c.n_cols, 2);
        assert_int_equal(c.n_rows, 2);
        assert_string_equal(csv_text(&c, 0, 0), "x\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
        assert_string_equal(csv_text(&c, 1, 1), "\xEF\xBF\xBD");
        csv_release(&c);
        buf_release(&err);
    }
}

static void missing_as_it_is_written(void **state) {
    struct csv c = parse("a\n\"\"\nNA\n#N/A\n-\n..\n.\n<NA>\nNone\nnull\nNaT\n-1\n.5\n");
    for (size_t i = 1; i < c.n_rows; i++)
        assert_int_equal(csv_missing_as(&c, i, 0, NULL), i < c.n_rows - 2);
    csv_release(&c);
}

static void errors_name_the_line(void **state) {
    const struct {
        const char *text, *message;
        size_t n;
    } cases[] = {
        {"a,b\n1,2\n3\n", "t.csv:3: 1 field where the first row has 2", 0},
        {"a,b\n1,\"2\n3\n", "t.csv:2: the quote opened here is never closed", 0},
        {"a,b\n1,\"2\"x\n",
         "t.csv:2: text after a closing quote; double the quotes inside a quoted field", 0},
        {"\n\n", "t.csv:1: the file has no rows", 0},
        {"\x1f\x8b\x08", "t.csv: this is compressed by gzip; unpack it first (gunzip)", 0},
        {"PK\x03\x04", "t.csv: this is a zip archive, as spreadsheets (.xlsx) are; save it as CSV",
         0},
        {"a,b\n1,\0\n", "t.csv:2: a NUL byte; this is not a text file", 8},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct csv c;
        struct buf err = BUF_INIT;
        size_t n = cases[i].n ? cases[i].n : strlen(cases[i].text);
        assert_int_equal(csv_table(&c, "t.csv", cases[i].text, n, &err), GPM_E_FORMAT);
        assert_string_equal(err.data, cases[i].message);
        buf_release(&err);
    }
    struct csv c;
    struct buf err = BUF_INIT;
    assert_int_equal(csv_table(&c, "/nowhere.csv", NULL, 0, &err), GPM_E_IO);
    assert_int_equal(csv_table(&c, "/tmp", NULL, 0, &err), GPM_E_IO);
    tmp_write("small.csv", "1,2\n3,4\n5,6\n");
    assert_int_equal(csv_table(&c, tmp_path("small.csv"), NULL, 0, &err), GPM_OK);
    assert_int_equal(c.n_rows, 3);
    csv_release(&c);
    buf_release(&err);
}

static void written_fields_read_back(void **state) {
    const char *const fields[] = {"plain", "with,comma", "quote\"d", "line\nbreak",
                                  " lead", "",           "#x"};
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (i) buf_putc(&b, ',');
        csv_put(&b, fields[i]);
    }
    struct csv c = parse(b.data);
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        assert_string_equal(csv_text(&c, 0, (int)i), fields[i]);
    csv_release(&c);
    buf_release(&b);
}

static void shared_objects(void **state) {
    struct buf err = BUF_INIT, cmd = BUF_INIT;
    struct foreign f;
    assert_int_equal(foreign_open(&f, "libno_such_thing.so", "f", FOREIGN_SCALAR, &err), GPM_E_IO);
    tmp_write(
        "sim.c",
        "double sq(double x){return x*x;}\n"
        "double sum(const double *x,int n){double s=0;for(int i=0;i<n;i++)s+=x[i];return s;}\n");
    buf_printf(&cmd, "cc -shared -fPIC -o %s %s", tmp_path("sim.so"), tmp_path("sim.c"));
    assert_int_equal(system(cmd.data), 0);
    assert_int_equal(foreign_open(&f, tmp_path("sim.so"), "nope", FOREIGN_SCALAR, &err),
                     GPM_E_NOT_FOUND);
    assert_int_equal(foreign_open(&f, tmp_path("sim.so"), "sq", FOREIGN_SCALAR, &err), GPM_OK);
    const double x[] = {3, 4, 5};
    assert_close(foreign_call(&f, x, 1), 9, 0);
    foreign_close(&f);
    assert_int_equal(foreign_open(&f, tmp_path("sim.so"), "sum", FOREIGN_VECTOR, &err), GPM_OK);
    assert_close(foreign_call(&f, x, 3), 12, 0);
    foreign_close(&f);
    buf_release(&err);
    buf_release(&cmd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_quotes_and_separators), cmocka_unit_test(blanks_separate),
        cmocka_unit_test(columns_know_what_they_hold),  cmocka_unit_test(utf16_is_read),
        cmocka_unit_test(missing_as_it_is_written),     cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(written_fields_read_back),     cmocka_unit_test(shared_objects),
    };
    return cmocka_run_group_tests(tests, tmp_setup, tmp_teardown);
}
