/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by all procedures: raising errors, showing values in messages, and the procedure values of
 * this layer (rows of the tables, made procedures). */
#include "language/rows/protocol/sp.h"
#include "language/value/value_pack.h"
#include "language/rows/protocol/sp_options.h"

#include "base/mem.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- messages ----------------------------------------------------------------------------- */

enum { SHOW_MAX = 72 };

const char *sp_shown(value v, char text[SP_SHOWN]) {
    struct buf b = BUF_INIT;
    value_print_max(v, SHOW_MAX, &b);
    if (b.len > SHOW_MAX) {
        b.len = SHOW_MAX - 4;
        while (b.len && ((unsigned char)b.data[b.len] & 0xc0) == 0x80)
            b.len--; /* whole characters */
        while (b.len && (b.data[b.len - 1] == ' ' || b.data[b.len - 1] == ',')) b.len--;
        buf_printf(&b, " ... (%s)", value_type_name(v));
    }
    snprintf(text, SP_SHOWN, "%s", b.data);
    buf_release(&b);
    return text;
}

enum gpm_status sp_error(struct sp_call *c, enum diag_code code, const char *fmt, ...) {
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    diag_raise(c->diags, code, NO_SPAN, "%s", b.data);
    buf_release(&b);
    for (size_t i = 0; code == DIAG_TYPE && i < c->n; i++)
        if (strcmp(value_type_name(c->args[i]), "action") == 0)
            diag_set_help(c->diags, "run(a) performs an inference action and gives its value");
    return GPM_E_USER;
}

enum gpm_status sp_type_error(struct sp_call *c, value got, const char *fmt, ...) {
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    sp_error(c, DIAG_TYPE, "%s: %s, got %s", c->cls->name, b.data, SHOW(got));
    buf_release(&b);
    return GPM_E_USER;
}

double *sp_numbers(const struct sp_call *c, size_t i, size_t *n) {
    double *x;
    if (seq_numbers(c->args[i], &x, n)) return x;
    *n = 0;
    return NEW_ARRAY(double, 1);
}

bool sp_gives_objects(const struct sp_class *cls) {
    size_t n = strlen(cls->sig);
    return (cls->flags & SP_DISCRETE) && n > 3 && strcmp(cls->sig + n - 3, "any") == 0;
}

enum gpm_status sp_simulate(struct sp_call *c, value *out) {
    enum gpm_status st = c->cls->simulate(c, out);
    if (st != GPM_OK || !(c->cls->flags & SP_RANDOM)) return st;
    bool bad = out->tag == V_NUM ? !isfinite(out->u.num) : value_has_nan(*out);
    if (!bad || sp_gives_objects(c->cls)) return GPM_OK;
    value_set_take(out, NIL);
    return sp_error(c, DIAG_DOMAIN,
                    "%s: the parameters or the data are too extreme, the draw would not be finite",
                    c->cls->name);
}

enum { SIZE_LIMIT = 100000000 };

enum gpm_status sp_check_size(struct sp_call *c, double n, size_t size) {
    if (n <= 10000) return GPM_OK;
    if (n > SIZE_LIMIT)
        return sp_error(c, DIAG_LIMIT, "%s: %.15g elements are more than the limit of %d",
                        c->cls->name, n, SIZE_LIMIT);
    size_t most = c->host && c->host->options ? c->host->options->max_memory : 0;
    if (most && (double)mem_held(most) + n * (double)size > (double)most)
        return sp_error(c, DIAG_LIMIT,
                        "%s: %.15g elements do not fit the memory limit (--max-memory)",
                        c->cls->name, n);
    void *probe = mem_try_alloc(4 * (size_t)n, size); /* including intermediate copies */
    if (!probe)
        return sp_error(c, DIAG_LIMIT, "%s: there is no memory for %.15g elements", c->cls->name,
                        n);
    mem_free(probe);
    return GPM_OK;
}

/* ---- procedure values --------------------------------------------------------------------- */

struct sp_state *sp_state_new(const struct sp_state_class *cls, void *data) {
    struct sp_state *s = NEW(struct sp_state);
    s->refs = 1;
    s->cls = cls;
    s->data = data;
    return s;
}

struct sp_state *sp_state_ref(struct sp_state *s) {
    s->refs++;
    return s;
}

void sp_state_unref(struct sp_state *s) {
    if (!s || --s->refs) return;
    if (s->cls->free && s->data) s->cls->free(s->data);
    mem_free(s);
}

static void proc_release(struct box *b) {
    sp_state_unref(((struct sp_proc *)b)->state);
}

static void proc_print(const struct box *b, struct buf *out) {
    buf_printf(out, "<procedure %s>", ((const struct sp_proc *)b)->cls->name);
}

/* Procedures are equal if they apply the same row to the same statistics. */
static bool proc_equal(const struct box *a, const struct box *b) {
    const struct sp_proc *x = (const struct sp_proc *)a, *y = (const struct sp_proc *)b;
    return x->cls == y->cls && x->state == y->state;
}

static uint64_t proc_hash(const struct box *b) {
    const struct sp_proc *p = (const struct sp_proc *)b;
    return hash_mix(MAP_PTR(p->cls) ^ hash_mix(MAP_PTR(p->state)));
}

/* The state that procedures share. */
static void pack_state(struct pack *p, struct sp_state **s) {
    size_t number = pack_object(p, (void **)s);
    if (!number) {
        if (p->reading && *s) sp_state_ref(*s);
        return;
    }
    uint32_t i = 0, n = (uint32_t)p->links->n_states;
    while (!p->reading && i < n && p->links->states[i] != (*s)->cls) i++;
    if (i == n || (!p->reading && !(*s)->cls->pack)) {
        pack_fail(p, "a procedure that was made outside the language cannot be saved");
        return;
    }
    i = pack_choice(p, i, n);
    if (p->reading) {
        *s = sp_state_new(p->links->states[i], NULL);
        pack_made(p, number, *s);
    }
    void *data = p->links->states[i]->pack(p, p->reading ? NULL : (*s)->data);
    if (p->reading) (*s)->data = data;
}

static const struct sp_class *pack_row(struct pack *p, const struct sp_proc *m,
                                       const struct sp_state *state) {
    uint32_t number = 0;
    if (state) { /* a made procedure's state determines the row */
        bool second = !p->reading && m->cls != state->cls->row(state->data, false);
        pack_bool(p, &second);
        return pack_ok(p) && state->data ? state->cls->row(state->data, second) : NULL;
    }
    if (!p->reading) number = (uint32_t)sp_index_number(m->cls->name);
    if (!p->reading && sp_index_at(number) != m->cls)
        pack_fail(p, "the procedure %s cannot be saved", m->cls->name);
    return sp_index_at(pack_choice(p, number, (uint32_t)sp_index_count()));
}

static void proc_pack(struct pack *p, struct box *b) {
    struct sp_proc *m = (struct sp_proc *)b;
    pack_state(p, &m->state);
    const struct sp_class *cls = pack_row(p, m, m->state);
    if (p->reading && !cls) pack_fail(p, "a procedure in it is unknown");
    if (p->reading) m->cls = cls ? cls : sp_index_at(0);
    if (p->reading && !m->state) m->sig = sp_index_sig((size_t)sp_index_number(m->cls->name));
    p->links->maker(p, &m->maker);
}

const struct box_class sp_proc_class = {
    .name = "procedure",
    .size = sizeof(struct sp_proc),
    .release = proc_release,
    .print = proc_print,
    .equal = proc_equal,
    .hash = proc_hash,
    .pack = proc_pack,
};

static value proc_value(const struct sp_class *cls, const struct sp_sig *sig,
                        struct sp_state *state) {
    struct sp_proc *p = box_new(&sp_proc_class);
    p->cls = cls;
    p->sig = sig;
    p->state = state;
    return value_box(V_PROC, &p->box);
}

value sp_builtin_value(size_t i) {
    return proc_value(sp_index_at(i), sp_index_sig(i), NULL);
}

value sp_made_value(const struct sp_class *cls, struct sp_state *state) {
    return proc_value(cls, NULL, sp_state_ref(state));
}
