/* SPDX-License-Identifier: Apache-2.0
 * Structures of an index whose transaction came to nothing are not known afterwards: their numbers
 * are given again, by whoever is next. */
#include "support/check.h"

#include "base/mem.h"
#include "io/store/catalog.h"
#include <stdio.h>
#include <unistd.h>

static uint32_t stored(struct catalog *c, const char *text, enum gpm_status outcome) {
    struct buf err = BUF_INIT;
    assert_int_equal(catalog_begin(c, &err), GPM_OK);
    uint32_t number = catalog_structure(c, text, &err);
    assert_int_equal(catalog_end(c, outcome, &err), outcome);
    buf_release(&err);
    return number;
}

static void rolled_back(void **state) {
    struct buf err = BUF_INIT;
    struct catalog *a, *b;
    char path[] = "/tmp/gpmem-catalog-XXXXXX", beside[64];
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(catalog_open(&a, path, CATALOG_CREATE, &err), GPM_OK);
    assert_int_equal(stored(a, "LIN", GPM_OK), 1);
    assert_int_equal(stored(a, "PER", GPM_E_IO), 2);
    assert_int_equal(catalog_structures(a), 1);
    assert_int_equal(catalog_open(&b, path, CATALOG_WRITE, &err), GPM_OK);
    assert_int_equal(stored(b, "SE", GPM_OK), 2); /* the number that the other gave in vain */
    assert_int_equal(stored(a, "PER", GPM_OK), 3);
    assert_int_equal(stored(b, "PER", GPM_OK), 3);
    static const char *const texts[] = {"LIN", "SE", "PER"};
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(catalog_structure_text(a, i + 1), texts[i]);
        assert_string_equal(catalog_structure_text(b, i + 1), texts[i]);
    }
    catalog_close(a);
    catalog_close(b);
    unlink(path);
    snprintf(beside, sizeof beside, "%s-wal", path), unlink(beside);
    snprintf(beside, sizeof beside, "%s-shm", path), unlink(beside);
    buf_release(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rolled_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
