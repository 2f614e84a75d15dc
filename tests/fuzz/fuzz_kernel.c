/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of kernel text: any bytes give a kernel or a message; printing and parsing are
 * inverse; the simplified kernel is the same function and its structure can be read back.
 */
#include "base/mem.h"
#include "gp/kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct kern *a, const struct kern *b) {
    static const double x[] = {-0.7, 0, 0.4, 1.5};
    double u, v;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++) {
            if (kern_eval(a, &x[i], &x[j], 1, &u)) return; /* wants other columns */
            if (kern_eval(b, &x[i], &x[j], 1, &v)) abort();
            double scale = fmax(1, fabs(u));
            if (isfinite(u) && scale < 1e12 && fabs(u - v) > 1e-6 * scale) abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf one = BUF_INIT, two = BUF_INIT;
    struct kern *k = NULL, *back = NULL;
    char *why = NULL, *text = mem_strndup((const char *)data, size);
    if (kern_parse(text, &k, &why)) {
        if (!why || !*why) abort(); /* failure without a word */
        mem_free(why);
        mem_free(text);
        return 0;
    }
    kern_print(k, &one);
    if (kern_parse(one.data, &back, NULL) || !kern_equal(k, back)) abort();
    struct kern *simple = kern_simplify(k);
    if (simple) compare(k, simple);
    if (kern_struct(k, &two)) buf_puts(&two, "0"); /* too many terms */
    if (strcmp(two.data, "0") != 0 && kern_struct_canonical(two.data, &one, NULL)) abort();
    kern_unref(simple);
    kern_unref(back);
    kern_unref(k);
    buf_release(&one);
    buf_release(&two);
    mem_free(text);
    return 0;
}
