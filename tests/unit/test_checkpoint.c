/* SPDX-License-Identifier: Apache-2.0
 *
 * State as bytes: fields and objects go out and come back; a session goes on from any of its
 * checkpoints to the draws it would have made; what was cut or changed is refused. */
#include "base/pack.h"
#include "gpmem/gpmem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- fields ---- */

struct things {
    uint64_t u;
    int i;
    double d;
    bool b;
    char *text;
    struct sym *name, *same;
};

static void pack_things(struct pack *p, struct things *t) {
    pack_u64(p, &t->u);
    pack_int(p, &t->i);
    pack_double(p, &t->d);
    pack_bool(p, &t->b);
    pack_text(p, &t->text);
    pack_sym(p, &t->name);
    pack_sym(p, &t->same);
}

static void test_fields(void **state) {
    static const uint64_t numbers[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    static const int ints[] = {0, -1, 1, -64, 64, INT32_MAX, INT32_MIN};
    struct sym_table syms = {.map = {0}};
    for (size_t k = 0; k < COUNT_OF(numbers); k++) {
        struct sym *s = sym_cstr(&syms, "sigma");
        struct things out = {numbers[k], ints[k], -0.0, k & 1, (char *)"a text", s, s}, in = {0};
        struct pack w, r;
        pack_begin_write(&w);
        pack_things(&w, &out);
        pack_begin_read(&r, w.out.data, w.out.len);
        r.syms = &syms;
        pack_things(&r, &in);
        assert_true(pack_ok(&r) && r.at == r.end);
        assert_int_equal(in.u, out.u);
        assert_int_equal(in.i, out.i);
        assert_memory_equal(&in.d, &out.d, sizeof in.d);
        assert_true(in.b == out.b && in.name == s && in.same == s);
        assert_string_equal(in.text, "a text");
        mem_free(in.text);
        for (size_t cut = 0; cut < w.out.len; cut++) { /* shorter: fails, and gives nothing */
            struct things none = {0};
            pack_release(&r);
            pack_begin_read(&r, w.out.data, cut);
            r.syms = &syms;
            pack_things(&r, &none);
            assert_false(pack_ok(&r));
            mem_free(none.text);
        }
        pack_release(&w);
        pack_release(&r);
    }
    sym_table_release(&syms);
}

/* ---- files ---- */

static bool opens(const struct buf *file, size_t len, const char *kind, bool anyones,
                  struct buf *why) {
    const char *body;
    size_t n;
    buf_reset(why);
    return pack_open(file->data, len, kind, anyones, &body, &n, why) == GPM_OK;
}

static void test_damage(void **state) {
    char folder[] = "/tmp/gpmem-seal-XXXXXX";
    struct pack p;
    struct buf file = BUF_INIT, why = BUF_INIT;
    double x[5] = {1, 2, 3, 4, 5};
    assert_non_null(mkdtemp(folder));
    setenv("XDG_STATE_HOME", folder, 1);
    pack_begin_write(&p);
    pack_doubles(&p, x, 5);
    assert_true(pack_seal(&p, "test", &file));
    const char *body;
    size_t n;
    assert_int_equal(pack_open(file.data, file.len, "test", false, &body, &n, &why), GPM_OK);
    assert_int_equal(n, sizeof x);
    assert_memory_equal(body, x, sizeof x);
    for (size_t i = 0; i < file.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            file.data[i] ^= (char)(1 << bit);
            assert_false(opens(&file, file.len, "test", false, &why));
            file.data[i] ^= (char)(1 << bit);
        }
    for (size_t i = 0; i < file.len; i++) assert_false(opens(&file, i, "test", true, &why));
    assert_false(opens(&file, file.len, "else", true, &why));
    file.data[16] ^= 1; /* its version */
    assert_false(opens(&file, file.len, "test", true, &why));
    assert_non_null(strstr(why.data, "another version ("));
    file.data[16] ^= 1;
    memcpy(file.data + 4, "else", 4); /* a state of one kind is none of another */
    assert_true(opens(&file, file.len, "else", true, &why));
    assert_false(opens(&file, file.len, "else", false, &why));
    assert_non_null(strstr(why.data, "another user or machine"));
    pack_release(&p);
    buf_release(&file);
    buf_release(&why);
}

/* ---- sessions ---- */

enum { KEPT = 12 };
struct run {
    struct buf draws; /* numbers, as bytes */
    size_t n;         /* checkpoints met */
    struct {
        struct buf state;
        size_t draws; /* bytes of draws before it */
    } at[KEPT];
};

static void keep_draw(void *user, const char *const *names, const double *row, size_t n) {
    buf_add(&((struct run *)user)->draws, row, n * sizeof *row);
}

/* Some of the first, then ever fewer, so that they are spread over the run. */
static bool keep_state(void *user, const void *data, size_t n) {
    struct run *r = user;
    size_t k = r->n++;
    if (k >= 4 && k % 5) return true;
    size_t slot = k < 4 ? k : 4 + (k / 5) % (KEPT - 4);
    buf_reset(&r->at[slot].state);
    buf_add(&r->at[slot].state, data, n);
    r->at[slot].draws = r->draws.len;
    return true;
}

static void run_init(struct run *r) {
    memset(r, 0, sizeof *r);
    buf_init(&r->draws);
    for (size_t i = 0; i < KEPT; i++) buf_init(&r->at[i].state);
}

static void run_release(struct run *r) {
    buf_release(&r->draws);
    for (size_t i = 0; i < KEPT; i++) buf_release(&r->at[i].state);
}

static gpm_session *session(struct run *r, bool checkpoints) {
    struct gpm_options o;
    gpm_options_init(&o);
    o.seed = 11;
    o.draw = keep_draw;
    o.draw_user = r;
    if (checkpoints) o.checkpoint = keep_state;
    o.checkpoint_user = r;
    o.checkpoint_seconds = -1;
    return gpm_session_new(&o);
}

static const char *const programs[] = {
    /* loops in loops, instructions of several kinds */
    "assume x = normal(0, 1); assume y = mem(proc(i) { normal(x, 1) #b:i });"
    "for (i = 0; i < 4; i = i + 1) { let k = 2 * i; observe normal(y($i), 1) = k;"
    "  for (j = 0; j < 15; j = j + 1) { infer mh(default, one, 20);"
    "    infer do(mh(quote(b), one, 2), collect(x, y($i))); } }",
    /* operators with a state of their own */
    "assume m = normal(0, 3); assume s = gamma(2, 1);"
    "for (i = 0; i < 5; i = i + 1) { observe normal(m, s) = i; }"
    "infer sample(warmup=60, draws=60);"
    "infer nuts(default, all, 40, 80);"
    "d = run(accumulate_dataset(60, do(nuts(default, all, 40, 1), collect(m, s))));"
    "infer slice(default, one, 1, 10, 100); infer collect(m, s);",
    /* particles that share layers, and a model besides the current one */
    "assume x = mem(proc(t) { if (t < 1) { normal(0, 1) } else { normal(x(t - 1), 1) } });"
    "infer resample(6);"
    "for (t = 0; t < 12; t = t + 1) { observe normal(x($t), 1) = t / 3; infer resample(6); "
    "  infer collect(x($t)); }"
    "define other = run(fork_model());"
    "infer repeat(10, do(in_model(other, mh(default, one, 3)), mh(default, one, 5),"
    "  collect(x(2))));",
    /* statistics, a process, code made at run time, dictionaries, tail calls */
    "assume crp = make_crp(1); assume z = mem(proc(i) { crp() #z:i });"
    "assume c = mem(proc(k) { make_beta_bernoulli(1, 1) });"
    "assume g = make_gp(make_const_func(0), make_squaredexp(1.5, 0.8));"
    "for (i = 0; i < 6; i = i + 1) { observe c(z($i))() = (i < 3); observe g($i * 0.9) = sin(i); }"
    "define table = dict([\"a\", 1], [\"b\", [2, 3]]);"
    "define e = [| z(1) + $(table[\"a\"]) |];"
    "define go = proc(n) { if (n < 1) { pass } else { do(gibbs(quote(z), one, 2),"
    "  mh(default, one, 2), collect(z(1), g(7)), sample $e, go(n - 1)) } };"
    "infer go(60);",
};

/* From each kept checkpoint a new session goes on. */
static void test_sessions(void **state) {
    for (size_t k = 0; k < COUNT_OF(programs); k++) {
        struct run whole, first;
        const char *text = programs[k];
        run_init(&whole);
        run_init(&first);
        gpm_session *s = session(&whole, false);
        enum gpm_status st = gpm_run_text(s, "<test>", text, strlen(text));
        if (st != GPM_OK) fail_msg("%zu: %s", k, gpm_last_error(s));
        gpm_session_free(s);
        assert_true(whole.draws.len > 0);
        s = session(&first, true);
        assert_int_equal(gpm_run_text(s, "<test>", text, strlen(text)), GPM_OK);
        gpm_session_free(s);
        assert_int_equal(first.draws.len, whole.draws.len); /* checkpoints change nothing */
        assert_memory_equal(first.draws.data, whole.draws.data, whole.draws.len);
        assert_true(first.n > 4);
        for (size_t i = 0; i < KEPT; i++) {
            struct run rest;
            if (!first.at[i].state.len) continue;
            run_init(&rest);
            s = session(&rest, i & 1);
            st = gpm_restore(s, first.at[i].state.data, first.at[i].state.len);
            if (st != GPM_OK) fail_msg("%zu: %s", k, gpm_last_error(s));
            st = gpm_run_text(s, "<test>", text, strlen(text));
            if (st != GPM_OK) fail_msg("%zu: %s", k, gpm_last_error(s));
            assert_int_equal(first.at[i].draws + rest.draws.len, whole.draws.len);
            assert_memory_equal(rest.draws.data, whole.draws.data + first.at[i].draws,
                                rest.draws.len);
            gpm_session_free(s);
            run_release(&rest);
        }
        run_release(&whole);
        run_release(&first);
    }
}

/* Nothing said of how often: not while a short program runs. */
static void test_seldom(void **state) {
    struct run r;
    struct gpm_options o = {.size = sizeof o, .seed = 11, .checkpoint = keep_state};
    run_init(&r);
    o.checkpoint_user = &r;
    gpm_session *s = gpm_session_new(&o);
    assert_int_equal(gpm_run_text(s, "<test>", programs[0], strlen(programs[0])), GPM_OK);
    assert_int_equal(r.n, 0);
    gpm_session_free(s);
    run_release(&r);
}

/* A state goes on in the program that it was written by, and not beside another one. */
static void test_other_program(void **state) {
    struct run r;
    run_init(&r);
    gpm_session *s = session(&r, true);
    const char *text = programs[0];
    assert_int_equal(gpm_run_text(s, "<test>", text, strlen(text)), GPM_OK);
    gpm_session_free(s);
    buf_reset(&r.draws);
    for (size_t i = 0; i < KEPT; i++) {
        char *changed = mem_strdup(text), *digit = strpbrk(changed, "0123456789");
        *digit = *digit == '9' ? '8' : (char)(*digit + 1);
        const char *others[] = {programs[1], "print(1);", "", changed};
        for (size_t k = 0; r.at[i].state.len && k < COUNT_OF(others); k++) {
            s = session(&r, false);
            assert_int_equal(gpm_restore(s, r.at[i].state.data, r.at[i].state.len), GPM_OK);
            assert_int_equal(gpm_run_text(s, "<test>", others[k], strlen(others[k])), GPM_E_USER);
            assert_non_null(strstr(gpm_last_error(s), "the checkpoint is of another program"));
            gpm_session_free(s);
        }
        mem_free(changed);
    }
    assert_int_equal(r.draws.len, 0); /* nothing was run */
    run_release(&r);
}

/* What is refused leaves a session that can be used. */
static void test_refused(void **state) {
    struct run r;
    run_init(&r);
    gpm_session *s = session(&r, true);
    assert_int_equal(gpm_run_text(s, "<test>", programs[0], strlen(programs[0])), GPM_OK);
    gpm_session_free(s);
    struct buf *good = &r.at[2].state;
    size_t draws = r.draws.len;
    for (size_t i = 0; i < good->len; i += 97) {
        s = session(&r, false);
        good->data[i] ^= 4;
        assert_int_not_equal(gpm_restore(s, good->data, good->len), GPM_OK);
        good->data[i] ^= 4;
        assert_non_null(strstr(gpm_last_error(s), "the checkpoint cannot be used: "));
        assert_int_not_equal(gpm_restore(s, good->data, i), GPM_OK);
        if (i == 0) {
            buf_reset(&r.draws);
            assert_int_equal(gpm_run_text(s, "<test>", programs[0], strlen(programs[0])), GPM_OK);
            assert_int_equal(r.draws.len, draws);
        }
        gpm_session_free(s);
    }
    run_release(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_sessions),      cmocka_unit_test(test_seldom),
        cmocka_unit_test(test_other_program), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
