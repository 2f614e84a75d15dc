/* SPDX-License-Identifier: Apache-2.0
 *
 * See pack.h.
 */
#include "base/pack.h"
#include "base/own.h"
#include "base/sum.h"
#include "base/version.h"
#include <stdarg.h>
#include <string.h>

void pack_begin_write(struct pack *p) {
    *p = (struct pack){.out = BUF_INIT, .why = BUF_INIT};
}

void pack_begin_read(struct pack *p, const char *data, size_t n) {
    *p = (struct pack){
        .reading = true, .at = data, .end = data + n, .out = BUF_INIT, .why = BUF_INIT};
}

void pack_turn(struct pack *p) {
    p->reading = true;
    p->at = p->out.data;
    p->end = p->out.data + p->out.len;
    p->n_objects = 0;
}

void pack_release(struct pack *p) {
    buf_release(&p->out);
    buf_release(&p->why);
    map_release(&p->numbers);
    vec_release(&p->objects);
}

void pack_fail(struct pack *p, const char *fmt, ...) {
    if (!pack_ok(p)) return;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&p->why, fmt, ap);
    va_end(ap);
    if (!p->why.len) buf_puts(&p->why, "it cannot be packed");
    p->at = p->end; /* nothing more is read */
}

/* ---- bytes ---- */

void pack_raw(struct pack *p, void *x, size_t n) {
    if (!p->reading) {
        if (pack_ok(p)) buf_add(&p->out, x, n);
        return;
    }
    if ((size_t)(p->end - p->at) < n) {
        pack_fail(p, "it ends too early");
        memset(x, 0, n);
        return;
    }
    if (n) memcpy(x, p->at, n);
    p->at += n;
}

void pack_u64(struct pack *p, uint64_t *x) {
    uint64_t left = *x, got = 0;
    unsigned char byte;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        byte = (unsigned char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        pack_raw(p, &byte, 1);
        got |= (uint64_t)(byte & 0x7f) << shift;
        left >>= 7;
        if (!(byte & 0x80)) break;
    }
    if (p->reading) *x = got;
}

/* A field of fewer bits. */
static uint64_t narrow(struct pack *p, uint64_t x, uint64_t most) {
    pack_u64(p, &x);
    if (x <= most) return x;
    pack_fail(p, "a number in it is too large");
    return 0;
}

void pack_u32(struct pack *p, uint32_t *x) {
    *x = (uint32_t)narrow(p, *x, UINT32_MAX);
}

void pack_u16(struct pack *p, uint16_t *x) {
    *x = (uint16_t)narrow(p, *x, UINT16_MAX);
}

void pack_u8(struct pack *p, uint8_t *x) {
    *x = (uint8_t)narrow(p, *x, UINT8_MAX);
}

void pack_size(struct pack *p, size_t *x) {
    *x = (size_t)narrow(p, *x, SIZE_MAX);
}

/* 0, -1, 1, -2, ...: small ones are short. */
void pack_int(struct pack *p, int *x) {
    uint32_t u = *x < 0 ? 2 * (uint32_t) - (*x + 1) + 1 : 2 * (uint32_t)*x;
    pack_u32(p, &u);
    *x = u & 1 ? -(int)(u / 2) - 1 : (int)(u / 2);
}

void pack_bool(struct pack *p, bool *x) {
    *x = narrow(p, !p->reading && *x, 1) != 0; /* what is read into may hold no truth yet */
}

void pack_double(struct pack *p, double *x) {
    pack_raw(p, x, sizeof *x);
}

void pack_doubles(struct pack *p, double *x, size_t n) {
    pack_raw(p, x, n * sizeof *x);
}

void pack_new_doubles(struct pack *p, double **x, size_t n, size_t room) {
    bool there = *x != NULL;
    pack_bool(p, &there);
    if (p->reading) {
        *x = NULL;
        if (there && n > (size_t)(p->end - p->at) / sizeof **x) pack_fail(p, "it ends too early");
        if (there && pack_ok(p)) *x = mem_zalloc((room > n ? room : n) * sizeof **x + sizeof **x);
    }
    if (there && *x) pack_doubles(p, *x, n);
}

void pack_count(struct pack *p, size_t *n, size_t size) {
    pack_size(p, n);
    if (p->reading && size && *n > (size_t)(p->end - p->at) / size) {
        pack_fail(p, "it ends too early");
        *n = 0;
    }
}

uint32_t pack_choice(struct pack *p, uint32_t x, uint32_t end) {
    pack_u32(p, &x);
    if (x < end) return x;
    pack_fail(p, "something in it is unknown");
    return 0;
}

void pack_text(struct pack *p, char **x) {
    size_t n = p->reading || !*x ? 0 : strlen(*x) + 1; /* with its end; 0: NULL */
    pack_count(p, &n, 1);
    if (p->reading) *x = n ? mem_zalloc(n) : NULL;
    if (n) pack_raw(p, *x, n);
    if (!p->reading || !n || !(*x)[n - 1]) return;
    pack_fail(p, "a text in it has no end");
    (*x)[n - 1] = 0;
}

void pack_sym(struct pack *p, struct sym **x) {
    size_t number = pack_object(p, (void **)x);
    if (!number) return;
    size_t n = p->reading ? 0 : (*x)->len;
    pack_count(p, &n, 1);
    if (p->reading) {
        *x = sym_intern(p->syms, p->at, n);
        p->at += n;
        pack_made(p, number, *x);
    } else
        pack_raw(p, (*x)->text, n);
}

/* ---- objects ---- */

/* What objects hold is packed inside them, so all that is nested deeply passes here. */
static bool too_deep(struct pack *p) {
    char here;
    if (p->stack_limit && &here < p->stack_limit) pack_fail(p, "it is nested too deeply");
    return !pack_ok(p);
}

size_t pack_object(struct pack *p, void **x) {
    if (too_deep(p)) {
        if (p->reading) *x = NULL;
        return 0;
    }
    size_t number = p->reading || !*x ? 0 : pack_known(p, *x);
    bool fresh = !p->reading && *x && !number;
    if (fresh) {
        number = ++p->n_objects;
        map_put(&p->numbers, MAP_PTR(*x), (void *)(uintptr_t)number);
    }
    pack_size(p, &number);
    if (!p->reading) return fresh ? number : 0;
    *x = NULL;
    if (number > p->n_objects + 1) pack_fail(p, "an object in it is unknown");
    if (!number || !pack_ok(p)) return 0;
    if (number <= p->n_objects) {
        *x = p->objects.at[number - 1];
        if (!*x) pack_fail(p, "an object in it is not there yet");
        return 0;
    }
    p->n_objects++;
    vec_push(&p->objects, NULL);
    return number;
}

void pack_made(struct pack *p, size_t number, void *x) {
    if (p->reading) p->objects.at[number - 1] = x;
}

void pack_preset(struct pack *p, void *x) {
    p->n_objects++;
    if (p->reading)
        vec_push(&p->objects, x);
    else if (x && !pack_known(p, x))
        map_put(&p->numbers, MAP_PTR(x), (void *)(uintptr_t)p->n_objects);
}

size_t pack_known(const struct pack *p, const void *x) {
    return (size_t)(uintptr_t)map_get(&p->numbers, MAP_PTR(x));
}

/* ---- files ---- */

/* gpmem, the kind, a line end that text transfer would spoil; then the format. */
enum { MAGIC = 12 };

static void magic_of(const char *kind, char out[MAGIC]) {
    memcpy(out, "\x89gpm", 4);
    memcpy(out + 4, kind, 4);
    memcpy(out + 8, "\r\n\x1a\n", 4);
}

/* The code of what stands before and after it in a file. */
static bool code_of(const char *head, size_t n, const char *body, size_t len, char code[OWN_CODE]) {
    struct buf all = BUF_INIT;
    buf_add(&all, head, n);
    buf_add(&all, body, len);
    bool own = own_code(all.data, all.len, code);
    buf_release(&all);
    return own;
}

bool pack_seal(const struct pack *p, const char *kind, struct buf *out) {
    char magic[MAGIC], code[OWN_CODE] = "";
    struct pack head;
    uint32_t format = PACK_FORMAT;
    uint64_t n = p->out.len, sum = sum_bytes(0, p->out.data, n);
    char *by = (char *)(uintptr_t)version_text();
    magic_of(kind, magic);
    pack_begin_write(&head);
    pack_raw(&head, magic, MAGIC);
    pack_u32(&head, &format);
    pack_text(&head, &by);
    pack_raw(&head, &sum, sizeof sum);
    pack_u64(&head, &n);
    bool own = code_of(head.out.data, head.out.len, p->out.data, n, code);
    buf_add(out, head.out.data, head.out.len);
    buf_add(out, code, sizeof code);
    buf_add(out, p->out.data, n);
    pack_release(&head);
    return own;
}

enum gpm_status pack_open(const char *data, size_t n, const char *kind, bool anyones,
                          const char **body, size_t *len, struct buf *why) {
    char magic[MAGIC], want[MAGIC], said[OWN_CODE], code[OWN_CODE], *by = NULL;
    struct pack head;
    uint32_t format = 0;
    uint64_t sum = 0, size = 0;
    enum gpm_status st = GPM_OK;
    magic_of(kind, want);
    pack_begin_read(&head, data, n);
    pack_raw(&head, magic, MAGIC);
    if (!pack_ok(&head) || memcmp(magic, want, MAGIC) != 0) {
        pack_release(&head);
        return buf_fail(why, GPM_E_ARG, "it is no such file, or was cut");
    }
    pack_u32(&head, &format);
    if (format == PACK_FORMAT) pack_text(&head, &by);
    pack_raw(&head, &sum, sizeof sum);
    pack_u64(&head, &size);
    size_t before = (size_t)(head.at - data);
    pack_raw(&head, said, sizeof said);
    if (format != PACK_FORMAT || (by && strcmp(by, version_text()) != 0))
        st = buf_fail(why, GPM_E_ARG, "it was written by another version (%s, format %u)",
                      by ? by : "unknown", (unsigned)format);
    else if (!pack_ok(&head) || size != (uint64_t)(head.end - head.at))
        st = buf_fail(why, GPM_E_ARG, "it was cut");
    else if (sum_bytes(0, head.at, size) != sum)
        st = buf_fail(why, GPM_E_ARG, "it is damaged");
    else if (!anyones && !code_of(data, before, head.at, size, code))
        st = buf_fail(why, GPM_E_ARG, "%s; with --allow-run it is taken all the same", own_why());
    else if (!anyones && memcmp(code, said, sizeof code) != 0)
        st =
            buf_fail(why, GPM_E_ARG,
                     "another user or machine wrote it; with --allow-run it is taken all the same");
    *body = head.at;
    *len = (size_t)size;
    mem_free(by);
    pack_release(&head);
    return st;
}
