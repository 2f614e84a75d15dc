/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures: parsing, and the messages of the argument check, for every type word.
 */
#include "support/call.h"

static void parses_names_types_and_counts(void **state) {
    struct sp_sig s, same;
    sp_sig_parse("(mean: real, sd?: positive) -> real", &s);
    sp_sig_parse("(a: positive, b: real) -> any", &same);
    assert_int_equal(s.n_min, 1);
    assert_int_equal(s.n_max, 2);
    assert_string_equal(s.params[1].name, "sd");
    assert_int_equal(s.params[0].type, same.params[1].type);
    assert_int_equal(s.params[1].type, same.params[0].type);
    assert_true(s.params[1].optional);
    assert_int_equal(sp_sig_param(&s, "sd"), 1);
    assert_int_equal(sp_sig_param(&s, "sdd"), -1);
    sp_sig_parse("() -> any", &s);
    assert_true(s.n_min == 0 && s.n_max == 0 && s.n_params == 0);
    sp_sig_parse("(f: proc, mean: mean|null, ...xs: number) -> list", &s);
    assert_int_equal(s.n_min, 2);
    assert_true(s.n_max == SIZE_MAX && s.n_params == 3);
    assert_true(s.params[1].null_ok && s.params[2].variadic);
}

/* What a parameter "x" of that type says of some arguments; "" for none. */
static const struct {
    const char *type, *args, *message;
} type_rows[] = {
    {"any", "\"a\"", ""},
    {"number", "1.5", ""},
    {"number", "true", "E0205 f: x must be a number, got true"},
    {"number", "nan", ""},
    {"number", "\"half\"", "E0205 f: x must be a number, got \"half\""},
    {"number", "atom<1>", "E0205 f: x must be a number, got atom<1>"},
    {"number|null", "()", ""},
    {"number|null", "a", "E0205 f: x must be a number or (), got a"},
    {"real", "inf", ""},
    {"real", "nan", "E0206 f: x must be a number other than nan, got nan"},
    {"integer", "-3", ""},
    {"integer", "1.5", "E0206 f: x must be an integer, got 1.5"},
    {"integer", "inf", "E0206 f: x must be an integer, got inf"},
    {"count", "0", ""},
    {"count", "-1", "E0206 f: x must be a count (an integer from 0 up), got -1"},
    {"count", "\"1\"", "E0205 f: x must be a count (an integer from 0 up), got \"1\""},
    {"positive", "0.1", ""},
    {"positive", "0", "E0206 f: x must be a positive number, got 0"},
    {"positive", "nan", "E0206 f: x must be a positive number, got nan"},
    {"nonneg", "0", ""},
    {"nonneg", "-1", "E0206 f: x must be a number from 0 up, got -1"},
    {"probability", "1", ""},
    {"probability", "1.5", "E0206 f: x must be a probability (a number from 0 to 1), got 1.5"},
    {"probability", "\"half\"",
     "E0205 f: x must be a probability (a number from 0 to 1), got \"half\""},
    {"bool", "true", ""},
    {"bool", "1", ""},
    {"bool", "a", "E0205 f: x must be a boolean, got a"},
    {"string", "\"a\"", ""},
    {"string", "a", "E0205 f: x must be a string, got a"},
    {"symbol", "a", ""},
    {"symbol", "\"a\"", "E0205 f: x must be a symbol, got \"a\""},
    {"name", "a", ""},
    {"name", "\"a\"", ""},
    {"name", "1", "E0205 f: x must be a name (a string or symbol), got 1"},
    {"list", "()", ""},
    {"list", "(1, 2)", ""},
    {"list", "(1 . 2)", "E0205 f: x must be a list, got (1 . 2)"},
    {"array", "[1]", ""},
    {"array", "v[1]", ""},
    {"array", "(1)", "E0205 f: x must be an array, got (1)"},
    {"seq", "()", ""},
    {"seq", "v[1]", ""},
    {"seq", "1", "E0205 f: x must be a sequence (a list, array or vector), got 1"},
    {"numbers", "[1, true]", "E0205 f: x must be a sequence of numbers, got [1, true]"},
    {"numbers", "(1, 2)", ""},
    {"numbers", "[a]", "E0205 f: x must be a sequence of numbers, got [a]"},
    {"numbers", "(1 . 2)", "E0205 f: x must be a sequence of numbers, got (1 . 2)"},
    {"vector", "v[1]", ""},
    {"vector", "[1]", "E0205 f: x must be a vector, got [1]"},
    {"matrix", "m[[1]]", ""},
    {"matrix", "[[1]]", "E0205 f: x must be a matrix, got [[1]]"},
    {"dict", "{}", ""},
    {"dict", "[]", "E0205 f: x must be a dictionary, got []"},
    {"proc", "_add", ""},
    {"proc", "1", "E0205 f: x must be a procedure, got 1"},
    {"kernel", "1", "E0205 f: x must be a kernel, got 1"},
    {"mean", "1", "E0205 f: x must be a mean function, got 1"},
    {"ref", "1", "E0205 f: x must be a reference, got 1"},
    {"env", "1", "E0205 f: x must be an environment, got 1"},
    {"action", "1", "E0407 f: x must be an inference action, got 1"},
    {"structures", "a", "E0205 f: x must be what structure_model or structure_search gives, got a"},
    {"grammar", "a", ""},
    {"grammar", "1",
     "E0205 f: x must be what structure_model gives, or the scope of a grammar, got 1"},
    {"number", "", "E0203 f takes 1 argument, got 0"},
    {"number", "1, 2", "E0203 f takes 1 argument, got 2"},
    {"number",
     "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]",
     "E0205 f: x must be a number, got [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "
     "18, 19 ... (array)"},
    {"number", "(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22)",
     "E0205 f: x must be a number, got (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "
     "18, 19 ... (list)"},
};

static void messages_name_procedure_parameter_type_and_value(void **state) {
    struct call_env e;
    call_env_init(&e);
    for (size_t i = 0; i < COUNT_OF(type_rows); i++) {
        char text[64];
        snprintf(text, sizeof text, "(x: %s) -> any", type_rows[i].type);
        struct sp_class cls = {.name = "f", .sig = text};
        struct sp_sig sig;
        sp_sig_parse(text, &sig);
        value args[8];
        size_t n = read_values(&e, type_rows[i].args, args, COUNT_OF(args));
        struct sp_call c = {.cls = &cls, .args = args, .n = n, .diags = &e.diags};
        struct buf got = BUF_INIT;
        if (sp_check_args(&c, &sig)) {
            const struct diag *d = vec_last(&e.diags.list);
            buf_printf(&got, "%s %s", diag_code_text(d->code), d->message);
        }
        assert_string_equal(got.data, type_rows[i].message);
        diags_rewind(&e.diags, 0);
        buf_release(&got);
        for (size_t k = 0; k < n; k++) value_unref(args[k]);
    }
    call_env_release(&e);
    assert_int_equal(value_live_count(), 0);
}

static void arity_words(void **state) {
    static const struct {
        const char *sig;
        size_t n;
        const char *message;
    } rows[] = {
        {"() -> any", 1, "f takes no arguments, got 1"},
        {"(x: any, y?: any) -> any", 0, "f takes 1 to 2 arguments, got 0"},
        {"(x: any, y: any) -> any", 3, "f takes 2 arguments, got 3"},
        {"(x: any, ...y: any) -> any", 0, "f takes at least 1 argument, got 0"},
        {"(x: any, y: any, ...z: any) -> any", 1, "f takes at least 2 arguments, got 1"},
    };
    struct call_env e;
    call_env_init(&e);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sp_class cls = {.name = "f", .sig = rows[i].sig};
        struct sp_sig sig;
        value args[3] = {NIL, NIL, NIL};
        struct sp_call c = {.cls = &cls, .args = args, .n = rows[i].n, .diags = &e.diags};
        sp_sig_parse(rows[i].sig, &sig);
        assert_int_equal(sp_check_args(&c, &sig), GPM_E_USER);
        assert_string_equal(vec_last(&e.diags.list)->message, rows[i].message);
        assert_non_null(strstr(vec_last(&e.diags.list)->parts[DIAG_HELP].at[0].text, rows[i].sig));
        diags_rewind(&e.diags, 0);
    }
    call_env_release(&e);
}

static int frees;
static void data_free(void *data) {
    frees++;
}

static void made_procedures_share_their_state(void **state) {
    static const struct sp_state_class states = {.free = data_free};
    static const struct sp_class one = {.name = "one", .sig = "() -> any"},
                                 two = {.name = "two", .sig = "() -> any"};
    static int data[2];
    struct sp_state *s = sp_state_new(&states, &data[0]), *t = sp_state_new(&states, &data[1]);
    value a = sp_made_value(&one, s), b = sp_made_value(&two, s), c = sp_made_value(&one, s),
          d = sp_made_value(&one, t);
    sp_state_unref(s);
    sp_state_unref(t);
    assert_true(value_equal(a, c) && value_hash(a) == value_hash(c));
    assert_false(value_equal(a, b));
    assert_false(value_equal(a, d));
    assert_ptr_equal(sp_made_of(a)->state, s);
    assert_null(sp_made_of(value_num(1)));
    value_unref(a);
    value_unref(b);
    assert_int_equal(frees, 0);
    value_unref(c);
    assert_int_equal(frees, 1);
    value_unref(d);
    assert_int_equal(frees, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_names_types_and_counts),
        cmocka_unit_test(messages_name_procedure_parameter_type_and_value),
        cmocka_unit_test(arity_words),
        cmocka_unit_test(made_procedures_share_their_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
