/* SPDX-License-Identifier: Apache-2.0
 *
 * Every row of the tables of procedures: name, signature, documentation and example are there and
 * in order, and names are unique.
 */
#include "support/check.h"

#include "language/rows/protocol/sp.h"
#include <ctype.h>

static bool is_name(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    while (*s && (isalnum((unsigned char)*s) || *s == '_')) s++;
    return *s == 0;
}

static void names_are_unique_names(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *a = sp_index_at(i);
        assert_true(is_name(a->name));
        assert_ptr_equal(sp_index_find(a->name), a); /* fails for one of two rows of one name */
        assert_int_equal(sp_index_number(a->name), (long)i);
    }
    assert_null(sp_index_find("no_such_procedure"));
}

static void documentation_is_there(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        if (!c->doc || strlen(c->doc) < 6) fail_msg("%s: doc is missing", c->name);
        if (strchr(c->doc, '\n')) fail_msg("%s: doc must be one line", c->name);
    }
}

static void examples_have_an_arrow_and_balanced_brackets(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        if (!c->example) continue;
        int depth = 0;
        const char *arrow = strstr(c->example, " => ");
        if (!arrow || strchr(c->example, '\n')) fail_msg("%s: example lacks =>", c->name);
        for (const char *s = c->example; *s; s++)
            depth += (strchr("([{", *s) != 0) - (strchr(")]}", *s) != 0);
        if (depth != 0) fail_msg("%s: unbalanced example", c->name);
    }
}

/* Every procedure shows what it does, but for the random ones, those that only print or fail and
 * those that need a permission or a file of the user. */
static void deterministic_rows_have_examples(void **state) {
    static const char *const none[] = {"print",   "debug",      "value_error", "command",
                                       "foreign", "csv_lookup", "read_json",   "plugin"};
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        bool excused = c->example || (c->flags & (SP_RANDOM | SP_MAKER | SP_INFERENCE_ONLY));
        for (size_t k = 0; k < COUNT_OF(none); k++) excused |= strcmp(none[k], c->name) == 0;
        if (!excused) fail_msg("%s has no example", c->name);
    }
}

static void signatures_have_distinct_parameters(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        const struct sp_sig *sig = sp_index_sig(i);
        for (size_t k = 0; k < sig->n_params; k++)
            if (sp_sig_param(sig, sig->params[k].name) != (int)k)
                fail_msg("%s: parameter %s twice", c->name, sig->params[k].name);
        const char *result = strstr(c->sig, "-> ");
        assert_true(result && result[3]);
    }
}

extern const struct sp_class sp_special_rows[];
extern const size_t sp_special_count;

static void functions_come_in_pairs(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        if ((c->request == NULL) != (c->output == NULL))
            fail_msg("%s: request and output", c->name);
        if ((c->incorporate == NULL) != (c->unincorporate == NULL))
            fail_msg("%s: incorporate and unincorporate", c->name);
        if ((c->flags & SP_RANDOM) && !c->log_density && !(c->flags & SP_MAKER))
            fail_msg("%s: random but without a density", c->name);
        bool elsewhere = /* run by the evaluators */
            (c >= sp_special_rows && c < sp_special_rows + sp_special_count) ||
            (c->flags & SP_INFERENCE_ONLY);
        if (!c->simulate && !c->request && !elsewhere) fail_msg("%s: does nothing", c->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_names),
        cmocka_unit_test(documentation_is_there),
        cmocka_unit_test(examples_have_an_arrow_and_balanced_brackets),
        cmocka_unit_test(deterministic_rows_have_examples),
        cmocka_unit_test(signatures_have_distinct_parameters),
        cmocka_unit_test(functions_come_in_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
