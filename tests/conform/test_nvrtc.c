/* SPDX-License-Identifier: Apache-2.0
 * All device text through NVIDIA's own compiler, where its library can be opened: every row of
 * kernels in some sum, with the functions for one large process; those for many small ones. Nothing
 * runs, so no card is needed; that the text computes the right numbers is test_device_text's. */
#include "support/check.h"
#include "support/random_kernel.h"

#include "base/mem.h"
#include "gp/way/kern_device.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char embed_device_large_cu[], embed_device_batch_cu[];
enum { ROWS_AT_ONCE = 6 };

static struct {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int (*size)(void *, size_t *);
    int (*destroy)(void **);
} nvrtc;

static void *library(void) {
    static const char *const places[] = {"/usr/local/cuda*/lib64/libnvrtc.so.1[2-9]",
                                         "/usr/local/cuda*/lib/libnvrtc.so.1[2-9]",
                                         "/usr/lib/*/libnvrtc.so.1[2-9]"};
    void *h = NULL;
    for (size_t i = 0; i < COUNT_OF(places) && !h; i++) {
        glob_t found;
        if (glob(places[i], 0, NULL, &found)) continue;
        for (size_t k = 0; k < found.gl_pathc && !h; k++) h = dlopen(found.gl_pathv[k], RTLD_NOW);
        globfree(&found);
    }
    return h;
}

static bool open_compiler(void) {
    void *h = library();
    const struct {
        const char *name;
        void *at;
    } symbols[] = {
        {"nvrtcCreateProgram", &nvrtc.create},       {"nvrtcCompileProgram", &nvrtc.compile},
        {"nvrtcGetProgramLogSize", &nvrtc.log_size}, {"nvrtcGetProgramLog", &nvrtc.log},
        {"nvrtcGetCUBINSize", &nvrtc.size},          {"nvrtcDestroyProgram", &nvrtc.destroy}};
    for (size_t i = 0; h && i < COUNT_OF(symbols); i++) {
        void *f = dlsym(h, symbols[i].name);
        assert_non_null(f);
        memcpy(symbols[i].at, &f, sizeof f);
    }
    return h != NULL;
}

/* k NULL: the program for any shape. */
static void compiles(const struct kern *k, int dim, const char *rest, const char *const *options,
                     int n) {
    struct buf text = BUF_INIT, shown = BUF_INIT;
    struct kern_program p;
    char *why = NULL;
    if (!k)
        kern_any_program(&p, &text);
    else if (kern_program(k, dim, &p, &text, &why))
        fail_msg("%s", why);
    buf_puts(&text, rest);
    if (k) kern_print(k, &shown);
    void *program;
    size_t size = 0;
    assert_int_equal(nvrtc.create(&program, text.data, "gpmem.cu", 0, NULL, NULL), 0);
    if (nvrtc.compile(program, n, options)) {
        assert_int_equal(nvrtc.log_size(program, &size), 0);
        char *log = mem_zalloc(size + 1);
        nvrtc.log(program, log);
        fail_msg("%s: %.2000s", shown.data, log);
    }
    assert_int_equal(nvrtc.size(program, &size), 0);
    assert_true(size > 1000); /* code for that card, not just a promise of it */
    nvrtc.destroy(&program);
    buf_release(&text);
    buf_release(&shown);
}

static const char *const large[] = {"--gpu-architecture=sm_90", "--std=c++17"},
                         *const small[] = {"--gpu-architecture=sm_90",
                                           "--std=c++17",
                                           "-DW=8",
                                           "-DRB=2",
                                           "-DMINB=2",
                                           "-DTMAX=24",
                                           "-DGRAD=1"};

static void test_rows(void **state) {
    if (!open_compiler()) {
        printf("NVRTC is not there: not compiled\n");
        skip();
    }
    struct rng r;
    rng_init(&r, 6, 0, 0);
    const struct kern_class *cls;
    struct kern *sum = NULL;
    size_t rows = 0;
    for (size_t i = 0; (cls = kern_class_at(i)); i++) {
        if (cls->op == KERN_CHANGE) continue;
        struct kern *leaf = random_leaf(cls, 2, &r), *more = sum ? kern_sum(sum, leaf) : NULL;
        if (sum) kern_unref(sum), kern_unref(leaf);
        sum = more ? more : leaf;
        if (++rows % ROWS_AT_ONCE) continue;
        compiles(sum, 2, embed_device_large_cu, large, COUNT_OF(large));
        kern_unref(sum);
        sum = NULL;
    }
    if (sum) compiles(sum, 2, embed_device_large_cu, large, COUNT_OF(large));
    kern_unref(sum);
    struct kern *change;
    assert_int_equal(kern_parse("CP(SE(sf=1, l=1), LIN(sf=1)*PER(sf=1, p=1, l=1), tau=0.5, s=0.1)",
                                &change, NULL),
                     GPM_OK);
    compiles(change, 1, embed_device_large_cu, large, COUNT_OF(large));
    compiles(change, 1, embed_device_batch_cu, small, COUNT_OF(small));
    compiles(NULL, 1, embed_device_batch_cu, small, COUNT_OF(small));
    kern_unref(change);
    printf("%zu rows compiled\n", rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
