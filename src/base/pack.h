/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing: the state of a session as bytes, and back. One function per struct serves both ways: it
 * names each field once, in one order, and the mode of the pack says whether that writes or reads.
 *
 * Objects that others point at get a number at their first occurrence, so sharing and cycles are
 * preserved. An object is registered (pack_made) before its contents are packed, so references back
 * to it are found.
 *
 * A failed pack stays failed: writing then gives nothing, reading gives zeros, and `why` has the
 * reason. A file carries a code that proves that this user wrote it (pack_seal, pack_open), so its
 * contents can be trusted. Lengths are still checked against the remaining bytes. */
#ifndef BASE_PACK_H
#define BASE_PACK_H
#include "base/buf.h"
#include "base/map.h"
#include "base/sym.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

/* Version of the format; another number is another format. */
enum { PACK_FORMAT = 3 };

/* A new field of a struct must be packed, or set by the reader; a changed size reports it. Sizes
 * are for 64-bit machines; they differ in a web page. */
#define PACK_SIZE(type, bytes, see)                                                                \
    _Static_assert(sizeof(void *) != 8 || sizeof(type) == (bytes), see)

struct pack {
    bool reading;
    bool copying;         /* in process: objects of both sides go as addresses */
    struct buf out;       /* writing */
    const char *at, *end; /* reading; borrowed */
    struct map numbers;   /* writing: object -> its number */
    VEC(void *) objects;  /* reading: by number - 1 */
    size_t n_objects;
    struct buf why;          /* the first failure; empty: none */
    const char *stack_limit; /* lowest address the C stack may reach, or NULL */
    struct sym_table *syms;
    const struct pack_links *links; /* see language/value/value_pack.h */
    void *core;                     /* of the session that reads or writes: struct session_core, */
    void *host;                     /* struct sp_host, */
    void *diags;                    /* struct diags */
    void *above;                    /* of runtime/core/core_pack.h */
};

void pack_begin_write(struct pack *p);
void pack_begin_read(struct pack *p, const char *data, size_t n);
void pack_turn(struct pack *p); /* reads the written data in the same process */
void pack_release(struct pack *p);
static inline bool pack_ok(const struct pack *p) {
    return p->why.len == 0;
}
/* Keeps the first reason. */
void pack_fail(struct pack *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Fields. */
void pack_u64(struct pack *p, uint64_t *x); /* 7 bits per byte: small numbers are short */
void pack_u32(struct pack *p, uint32_t *x);
void pack_u16(struct pack *p, uint16_t *x);
void pack_u8(struct pack *p, uint8_t *x);
void pack_size(struct pack *p, size_t *x);
void pack_int(struct pack *p, int *x);
void pack_bool(struct pack *p, bool *x);
void pack_double(struct pack *p, double *x);            /* its bits */
void pack_doubles(struct pack *p, double *x, size_t n); /* the array exists */
/* NULL stays NULL; reading makes at least `room` numbers. */
void pack_new_doubles(struct pack *p, double **x, size_t n, size_t room);
/* A VEC of doubles; reads into an empty one. */
#define pack_vec_doubles(p, v)                                                                     \
    do {                                                                                           \
        size_t n_packed = (v)->n;                                                                  \
        pack_count(p, &n_packed, sizeof(double));                                                  \
        vec_reserve(v, n_packed);                                                                  \
        (v)->n = n_packed;                                                                         \
        pack_doubles(p, (v)->at, n_packed);                                                        \
    } while (0)
void pack_raw(struct pack *p, void *x, size_t n);
void pack_text(struct pack *p, char **x);      /* owned; may be NULL */
void pack_sym(struct pack *p, struct sym **x); /* may be NULL */
/* The number of following items of at least `size` bytes; refused if the rest is too short. */
void pack_count(struct pack *p, size_t *n, size_t size);
/* A small number below `end`; otherwise the pack fails. */
uint32_t pack_choice(struct pack *p, uint32_t x, uint32_t end);

/* An object by its number. Returns 0 if it is NULL or known, and *x is set. Otherwise this is its
 * first occurrence and its contents follow: a reader makes it, registers it with pack_made, and
 * fills it. */
size_t pack_object(struct pack *p, void **x);
void pack_made(struct pack *p, size_t number, void *x);
/* An object that both sides have: it gets the next number, and nothing is written. NULL: the number
 * is unused. */
void pack_preset(struct pack *p, void *x);
/* Writing: the number of a known object, or 0. It is not written. */
size_t pack_known(const struct pack *p, const void *x);

/* A file: its kind (four letters), format, version, checksum and length before the bytes, and the
 * code of all that (base/own.h). False: there is no key to prove that this user wrote it. */
bool pack_seal(const struct pack *p, const char *kind, struct buf *out);
/* The contents of such a file, borrowed. GPM_E_ARG with the reason: the file is not of this kind,
 * was cut or changed, has another format or version, or (unless `anyones`) was written by another
 * user. A forged pack could access any memory. */
GPM_MUST_USE enum gpm_status pack_open(const char *data, size_t n, const char *kind, bool anyones,
                                       const char **body, size_t *len, struct buf *why);
#endif
