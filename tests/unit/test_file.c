/* SPDX-License-Identifier: Apache-2.0
 * The opener of files, and text on its way out. */
#include "support/check.h"
#include "support/tmp.h"

#include "base/work.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static enum gpm_status read_back(const char *name, enum file_how how, size_t max) {
    struct buf text = BUF_INIT;
    enum gpm_status st = file_read(tmp_path(name), how, max, &text);
    buf_release(&text);
    return st;
}

static void a_file_is_replaced_whole(void **state) {
    struct buf text = BUF_INIT;
    struct stat sb;
    assert_int_equal(file_write(tmp_path("f"), FILE_OURS, "one", 3), GPM_OK);
    assert_int_equal(link(tmp_path("f"), tmp_path("hard")), 0);
    assert_int_equal(symlink(tmp_path("f"), tmp_path("soft")), 0);
    assert_int_equal(chmod(tmp_path("f"), 0640), 0);
    /* a hard link keeps the old text, a symbolic one is replaced or followed */
    assert_int_equal(file_write(tmp_path("hard"), FILE_OURS, "two", 3), GPM_OK);
    assert_int_equal(file_read(tmp_path("f"), FILE_OURS, 10, &text), GPM_OK);
    assert_string_equal(text.data, "one");
    assert_int_equal(stat(tmp_path("hard"), &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0640);
    assert_int_equal(read_back("soft", FILE_OURS, 10), GPM_E_IO);
    assert_non_null(strstr(file_why(), "symbolic link"));
    assert_int_equal(read_back("soft", FILE_GIVEN, 10), GPM_OK);
    assert_int_equal(file_write(tmp_path("soft"), FILE_GIVEN, "three", 5), GPM_OK);
    assert_true(lstat(tmp_path("soft"), &sb) == 0 && S_ISLNK(sb.st_mode));
    assert_int_equal(file_write(tmp_path("soft"), FILE_OURS, "four", 4), GPM_OK);
    assert_true(lstat(tmp_path("soft"), &sb) == 0 && S_ISREG(sb.st_mode));
    buf_reset(&text);
    assert_int_equal(file_read(tmp_path("f"), FILE_OURS, 10, &text), GPM_OK);
    assert_string_equal(text.data, "three");
    buf_release(&text);
}

static void limits_end_a_read(void **state) {
    volatile sig_atomic_t stop = 1;
    struct work_limits g = {.stop = &stop};
    tmp_write("f", "12345");
    assert_int_equal(read_back("f", FILE_GIVEN, 5), GPM_OK);
    assert_int_equal(read_back("f", FILE_GIVEN, 4), GPM_E_LIMIT);
    assert_int_equal(mkfifo(tmp_path("pipe"), 0600), 0);
    assert_null(work_set_limits(&g));
    assert_int_equal(read_back("pipe", FILE_GIVEN, 5), GPM_E_INTERRUPT);
    assert_int_equal(file_write(tmp_path("pipe"), FILE_GIVEN, "x", 1), GPM_E_INTERRUPT);
    stop = 0;
    g.deadline = clock_seconds() + 0.05;
    assert_int_equal(read_back("pipe", FILE_GIVEN, 5), GPM_E_LIMIT);
    assert_ptr_equal(work_set_limits(NULL), &g);
    assert_int_equal(read_back("pipe", FILE_OURS, 5), GPM_E_IO);
    struct buf zeros = BUF_INIT;
    assert_int_equal(file_read("/dev/zero", FILE_GIVEN, 100000, &zeros), GPM_E_LIMIT);
    buf_release(&zeros);
}

static void private_files_are_nobody_elses(void **state) {
    struct stat sb;
    assert_int_equal(file_write(tmp_path("p"), FILE_PRIVATE, "x", 1), GPM_OK);
    assert_int_equal(stat(tmp_path("p"), &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0600);
    assert_int_equal(read_back("p", FILE_PRIVATE, 5), GPM_OK);
    static const mode_t open_modes[] = {0602, 0604, 0620, 0640, 0644};
    for (size_t i = 0; i < COUNT_OF(open_modes); i++) {
        assert_int_equal(chmod(tmp_path("p"), open_modes[i]), 0);
        assert_int_equal(read_back("p", FILE_PRIVATE, 5), GPM_E_DENIED);
    }
}

static void one_lock(void **state) {
    int a, b;
    assert_int_equal(file_lock(tmp_dir, &a), GPM_OK);
    assert_int_equal(file_lock(tmp_dir, &b), GPM_E_BUSY);
    file_unlock(tmp_dir, a);
    assert_int_equal(file_lock(tmp_dir, &b), GPM_OK);
    file_unlock(tmp_dir, b);
    assert_false(file_there(tmp_path("lock")));
}

static void put(const char *name) {
    assert_int_equal(file_write(tmp_path(name), FILE_GIVEN, "x", 1), GPM_OK);
}

/* Who takes the folder removes what killed processes left half written: names of that kind which
 * nobody writes at the moment. */
static void remains_of_the_killed_go(void **state) {
    static const char *const goes[] = {"data.csv.77-3.tmp", ".1-0.tmp"},
                             *const stays[] = {"data.csv.tmp", "data.csv.77.tmp", "7-3.tmp",
                                               "a.x7-3.tmp",   "a.7-.tmp",        "a.7-3x.tmp",
                                               "a.7-3.tmp.b",  "busy.5-1.tmp",    "link.5-2.tmp"};
    int folder, busy;
    for (size_t i = 0; i < COUNT_OF(goes); i++) put(goes[i]);
    for (size_t i = 0; i + 1 < COUNT_OF(stays); i++) put(stays[i]);
    assert_int_equal(symlink("data.csv.tmp", tmp_path("link.5-2.tmp")), 0);
    busy = open(tmp_path("busy.5-1.tmp"), O_WRONLY);
    assert_int_equal(flock(busy, LOCK_EX), 0);
    assert_int_equal(file_lock(tmp_dir, &folder), GPM_OK);
    for (size_t i = 0; i < COUNT_OF(goes); i++) assert_false(file_there(tmp_path(goes[i])));
    for (size_t i = 0; i < COUNT_OF(stays); i++) assert_true(file_there(tmp_path(stays[i])));
    file_unlock(tmp_dir, folder);
    close(busy);
}

/* What a function of escape.c makes of a text. */
#define ESCAPED(call, expected)                                                                    \
    do {                                                                                           \
        struct buf b = BUF_INIT;                                                                   \
        call;                                                                                      \
        assert_string_equal(b.data, expected);                                                     \
        assert_int_equal(utf8_check(b.data, b.len), b.len);                                        \
        buf_release(&b);                                                                           \
    } while (0)
/* What is gone on with is a regular file of one name; a link on the way counts where nobody else
 * can make one. */
static void files_are_gone_on_with(void **state) {
    int fd;
    struct stat sb;
    char last[3];
    assert_int_equal(file_write(tmp_path("on"), FILE_OURS, "one two", 7), GPM_OK);
    assert_int_equal(symlink("on", tmp_path("onlink")), 0);
    assert_int_equal(mkfifo(tmp_path("onpipe"), 0600), 0);
    assert_int_equal(file_go_on(tmp_path("onlink"), &fd), GPM_E_IO);
    assert_int_equal(file_go_on(tmp_path("onpipe"), &fd), GPM_E_IO);
    assert_int_equal(file_go_on(tmp_path("onne"), &fd), GPM_E_IO);
    assert_int_equal(file_go_on(tmp_path("on"), &fd), GPM_OK);
    assert_true(file_before(fd, 3, last, 3) && !memcmp(last, "one", 3));
    assert_false(file_before(fd, 9, last, 3));
    assert_int_equal(file_cut(fd, 8), GPM_E_IO);
    assert_int_equal(file_cut(fd, 4), GPM_OK);
    assert_int_equal(file_put(fd, "2", 1), GPM_OK);
    assert_int_equal(file_close(fd), GPM_OK);
    assert_true(stat(tmp_path("on"), &sb) == 0 && sb.st_size == 5);
    assert_int_equal(link(tmp_path("on"), tmp_path("ontwice")), 0);
    assert_int_equal(file_go_on(tmp_path("on"), &fd), GPM_E_IO);
    assert_int_equal(file_folder(tmp_path("shared"), FILE_OURS), GPM_OK);
    assert_int_equal(file_folder(tmp_path("aside"), FILE_OURS), GPM_OK);
    assert_int_equal(symlink("../aside", tmp_path("shared/way")), 0);
    for (int open = 0; open < 2; open++) {
        enum gpm_status st = open ? GPM_E_DENIED : GPM_OK;
        assert_int_equal(chmod(tmp_path("shared"), open ? 0777 : 0755), 0);
        assert_int_equal(file_write(tmp_path("shared/way/f"), FILE_OURS, "x", 1), st);
        assert_int_equal(read_back("shared/way/f", FILE_OURS, 10), st);
        assert_int_equal(file_lock(tmp_path("shared/way"), &fd), st);
        if (!open) file_unlock(tmp_path("shared/way"), fd);
        assert_int_equal(read_back("shared/way/f", FILE_GIVEN, 10), GPM_OK);
        assert_int_equal(read_back("shared/../aside//./f", FILE_OURS, 10), GPM_OK);
    }
    file_remove(tmp_path("aside/f"));
    file_remove(tmp_path("shared/way"));
    assert_int_equal(rmdir(tmp_path("aside")) | rmdir(tmp_path("shared")), 0);
}

#define EVIL "a\x1b[1m\xc2\x9b\xe2\x80\xae\x9b\n\xc3\xa9\xe2\x82"

static void foreign_text(void **state) {
    ESCAPED(buf_visible(&b, EVIL, strlen(EVIL)),
            "a\\u{1b}[1m\\u{9b}\\u{202e}\\x9b\n\xc3\xa9\\xe2\\x82");
    ESCAPED(buf_visible(&b, "\0x", 2), "\\u{0}x");
    ESCAPED(buf_drawn(&b, "a\033[1;31mb\033[0m\033[2Jc\033[1", 21),
            "a\033[1;31mb\033[0m\\u{1b}[2Jc\\u{1b}[1");
    ESCAPED(buf_json_string(&b, EVIL, strlen(EVIL)),
            "\"a\\u001b[1m\\u009b\\u202e\xEF\xBF\xBD\\n\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\"");
    ESCAPED(buf_markup(&b, "<a b=\"c\">&'\x1b\xc2\x9b\xff\xef\xbf\xbf"),
            "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    ESCAPED(buf_markdown(&b, "[a](b)\n# <c> | `d`\x1b"),
            "\\[a\\](b) \\# \\<c\\> \\| \\`d\\`\\\\u\\{1b\\}");
    ESCAPED(buf_markdown(&b, "say --min 0: 2001-02-03 09:30, http://x, ==a=="),
            "say --min 0: 2001-02-03 09:30, http\\://x, =\\=a=\\=");
    ESCAPED(buf_shown(&b, "a\\b\nc\xe2\x80\x8b"), "a\\\\b\\u{a}c\\u{200b}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_replaced_whole, tmp_setup, tmp_teardown),
        cmocka_unit_test_setup_teardown(limits_end_a_read, tmp_setup, tmp_teardown),
        cmocka_unit_test_setup_teardown(private_files_are_nobody_elses, tmp_setup, tmp_teardown),
        cmocka_unit_test_setup_teardown(one_lock, tmp_setup, tmp_teardown),
        cmocka_unit_test_setup_teardown(remains_of_the_killed_go, tmp_setup, tmp_teardown),
        cmocka_unit_test_setup_teardown(files_are_gone_on_with, tmp_setup, tmp_teardown),
        cmocka_unit_test(foreign_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
