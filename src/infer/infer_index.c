/* SPDX-License-Identifier: Apache-2.0
 *
 * The index of inference operators. A family file ends with `const struct infer_op
 * infer_NAME_rows[]` and `const size_t infer_NAME_count`; adding one is one line of FAMILIES. One
 * family (discover) stands in a higher layer, above what its operators work on. */
#include "infer/infer.h"

#include <pthread.h>
#include <string.h>

#define FAMILIES(X)                                                                                \
    X(control)                                                                                     \
    X(discover)                                                                                    \
    X(dataset)                                                                                     \
    X(plot)                                                                                        \
    X(check)                                                                                       \
    X(custom)                                                                                      \
    X(gibbs)                                                                                       \
    X(ascent)                                                                                      \
    X(hmc)                                                                                         \
    X(laplace)                                                                                     \
    X(meanfield)                                                                                   \
    X(mh)                                                                                          \
    X(model)                                                                                       \
    X(particles)                                                                                   \
    X(pgibbs)                                                                                      \
    X(query)                                                                                       \
    X(rejection)                                                                                   \
    X(slice)                                                                                       \
    X(structure)                                                                                   \
    X(select)

#define X(name)                                                                                    \
    extern const struct infer_op infer_##name##_rows[];                                            \
    extern const size_t infer_##name##_count;
FAMILIES(X)
#undef X

static const struct {
    const struct infer_op *rows;
    const size_t *count;
} families[] = {
#define X(name) {infer_##name##_rows, &infer_##name##_count},
    FAMILIES(X)
#undef X
};

static struct {
    size_t n;
    const struct infer_op **rows;
    struct sp_class *classes;
} all;
static pthread_once_t all_once = PTHREAD_ONCE_INIT;

static void build(void) {
    for (size_t f = 0; f < COUNT_OF(families); f++) all.n += *families[f].count;
    all.rows = NEW_ARRAY(const struct infer_op *, all.n);
    all.classes = mem_zalloc(all.n * sizeof *all.classes);
    size_t k = 0;
    for (size_t f = 0; f < COUNT_OF(families); f++)
        for (size_t i = 0; i < *families[f].count; i++, k++) {
            const struct infer_op *op = all.rows[k] = &families[f].rows[i];
            all.classes[k] = (struct sp_class){.name = op->name,
                                               .sig = op->sig,
                                               .doc = op->doc,
                                               .example = op->example,
                                               .flags = SP_INFERENCE_ONLY};
        }
}

size_t infer_index_count(void) {
    pthread_once(&all_once, build);
    return all.n;
}

const struct infer_op *infer_index_at(size_t i) {
    pthread_once(&all_once, build);
    return all.rows[i];
}

const struct sp_class *infer_index_class(size_t i) {
    pthread_once(&all_once, build);
    return &all.classes[i];
}

const struct infer_op *infer_index_find(const char *name) {
    for (size_t i = 0; i < infer_index_count(); i++)
        if (!strcmp(all.rows[i]->name, name)) return all.rows[i];
    return NULL;
}

const struct infer_op *infer_op_of_class(const struct sp_class *cls) {
    size_t n = infer_index_count();
    return cls >= all.classes && cls < all.classes + n ? all.rows[cls - all.classes] : NULL;
}
