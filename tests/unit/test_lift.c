/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on objects that bring their own (kernels do), sums of adjoints, and printing.
 */
#include "support/call.h"

#include "language/rows/protocol/adjoint.h"

/* A box that adds: holds a number. */
struct thing {
    struct box box;
    double x;
};

static void thing_print(const struct box *b, struct buf *out) {
    buf_printf(out, "<thing %g>", ((const struct thing *)b)->x);
}
static enum gpm_status thing_arith(const char *op, value a, value b, value *out);
static enum gpm_status thing_grad(const char *op, value a, value b, value d, value *da, value *db) {
    *da = value_ref(d);
    *db = value_num(2 * d.u.num);
    return GPM_OK;
}
static const struct box_class thing_class = {
    .name = "thing", .print = thing_print, .arith = thing_arith, .arith_grad = thing_grad};

static value thing(double x) {
    struct thing *t = NEW(struct thing);
    box_init(&t->box, &thing_class);
    t->x = x;
    return value_box(V_BOX, &t->box);
}
static bool number_of(value v, double *x) {
    if (v.tag == V_BOX)
        *x = ((struct thing *)v.u.box)->x;
    else if (v.tag == V_NUM)
        *x = v.u.num;
    else
        return false;
    return true;
}
static enum gpm_status thing_arith(const char *op, value a, value b, value *out) {
    double x, y;
    if (strcmp(op, "add") != 0 || !number_of(a, &x) || !number_of(b, &y)) return GPM_E_NOT_FOUND;
    *out = thing(x + y);
    return GPM_OK;
}

static void boxes_bring_their_own_arithmetic(void **state) {
    struct call_env e;
    call_env_init(&e);
    value args[3] = {thing(1), value_num(2), thing(4)}, out;
    assert_int_equal(call_row(&e, sp_index_find("add"), args, 3, &out), GPM_OK);
    struct buf b = BUF_INIT;
    value_print(out, &b);
    assert_string_equal(b.data, "<thing 7>");
    value_unref(out);
    assert_int_equal(call_row(&e, sp_index_find("sub"), args, 2, &out), GPM_E_USER);
    assert_string_equal(vec_last(&e.diags.list)->message,
                        "sub: there is no such operation on <thing 1> and 2");
    assert_int_equal(call_row(&e, sp_index_find("exp"), args, 1, &out), GPM_E_USER);

    value dargs[2] = {NIL, NIL};
    struct sp_call c = {.cls = sp_index_find("add"), .args = args, .n = 2, .diags = &e.diags};
    assert_int_equal(c.cls->grad_simulate(&c, NIL, value_num(3), dargs), GPM_OK);
    assert_true(dargs[0].u.num == 3 && dargs[1].u.num == 6);
    buf_release(&b);
    value_unref(args[0]);
    value_unref(args[2]);
    call_env_release(&e);
}

static void adjoints_add_up(void **state) {
    static const char *const rows[][3] = {
        {"()", "3", "3"},
        {"1", "2", "3"},
        {"v[1, 2]", "v[3, 4]", "[4, 6]"},
        {"v[1, 2]", "[(), 4]", "[1, 6]"},
        {"[1, [2, ()]]", "[(), [(), 5]]", "[1, [2, 5]]"},
        {"m[[1, 2]]", "m[[3, 4]]", "m[[4, 6]]"},
        {"v[1, 2]", "()", "[1, 2]"},
    };
    struct call_env e;
    call_env_init(&e);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        value v[3];
        for (int k = 0; k < 3; k++) {
            const char *text = rows[i][k];
            v[k] = read_value(&e, &text);
        }
        value sum = adj_add(v[0], v[1]), back = adj_add(v[1], v[0]);
        assert_true(value_close(sum, v[2]) && value_close(back, v[2]));
        value_unref(sum);
        value_unref(back);
        for (int k = 0; k < 3; k++) value_unref(v[k]);
    }
    call_env_release(&e);
    assert_int_equal(value_live_count(), 0);
}

static void print_and_debug_write_lines(void **state) {
    struct call_env e;
    call_env_init(&e);
    mem_free(call_text(&e, "print", "\"x is\", 3, [\"s\"]"));
    mem_free(call_text(&e, "debug", "label, \"v\""));
    assert_string_equal(e.printed.data, "x is 3 [\"s\"]\nlabel: \"v\"\n");
    call_env_release(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_bring_their_own_arithmetic),
        cmocka_unit_test(adjoints_add_up),
        cmocka_unit_test(print_and_debug_write_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
