/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash trie (Bagwell 2001): five bits of the mixed key choose one of 32 places at each level, and
 * a level holds only the places in use, in order. Mixing is one to one, so that two keys part at
 * some level, and the mixed key stands for the key. */
#include "base/pmap.h"
#include "base/map.h"
#include "base/mem.h"

#include <string.h>

struct place {
    uint64_t key; /* mixed; of an entry */
    void *at;     /* its value, or the next level */
};

struct pmap {
    uint32_t refs;
    uint32_t used, levels; /* places in use; those of them that lead to a further level */
    struct place place[];
};

enum { BITS = 5, MASK = 31 };

static unsigned count_bits(uint32_t x) {
    return (unsigned)__builtin_popcount(x);
}

static size_t size_of(unsigned n) {
    return sizeof(struct pmap) + n * sizeof(struct place);
}

struct pmap *pmap_ref(struct pmap *m) {
    if (m) m->refs++;
    return m;
}

void pmap_unref(struct pmap *m) {
    if (!m || --m->refs) return;
    unsigned i = 0;
    for (uint32_t left = m->used; left; left &= left - 1, i++)
        if (m->levels & left & -left) pmap_unref(m->place[i].at);
    mem_free(m);
}

void *pmap_get(const struct pmap *m, uint64_t key) {
    uint64_t h = hash_mix(key);
    for (unsigned shift = 0; m; shift += BITS) {
        uint32_t bit = UINT32_C(1) << (h >> shift & MASK);
        if (!(m->used & bit)) return NULL;
        const struct place *p = &m->place[count_bits(m->used & (bit - 1))];
        if (!(m->levels & bit)) return p->key == h ? p->at : NULL;
        m = p->at;
    }
    return NULL;
}

/* A level of one's own with room for `more` places at `at`; takes the reference to m. */
static struct pmap *own(struct pmap *m, unsigned at, unsigned more) {
    unsigned n = m ? count_bits(m->used) : 0;
    if (m && m->refs == 1 && !more) return m;
    struct pmap *c = mem_alloc(size_of(n + more));
    *c = (struct pmap){.refs = 1, .used = m ? m->used : 0, .levels = m ? m->levels : 0};
    if (!m) return c;
    memcpy(c->place, m->place, at * sizeof *c->place);
    memcpy(c->place + at + more, m->place + at, (n - at) * sizeof *c->place);
    if (m->refs == 1) { /* what it leads to goes over to the copy */
        mem_free(m);
        return c;
    }
    unsigned i = 0;
    for (uint32_t left = m->used; left; left &= left - 1, i++)
        if (m->levels & left & -left) pmap_ref(m->place[i].at);
    m->refs--;
    return c;
}

static struct pmap *put(struct pmap *m, unsigned shift, uint64_t h, void *val) {
    uint32_t bit = UINT32_C(1) << (h >> shift & MASK);
    unsigned at = m ? count_bits(m->used & (bit - 1)) : 0;
    bool used = m && (m->used & bit);
    m = own(m, at, !used);
    struct place *p = &m->place[at];
    if (m->levels & bit)
        p->at = put(p->at, shift + BITS, h, val);
    else if (!used || p->key == h) {
        m->used |= bit;
        *p = (struct place){h, val};
    } else {
        struct pmap *next = put(NULL, shift + BITS, p->key, p->at);
        m->levels |= bit;
        *p = (struct place){0, put(next, shift + BITS, h, val)};
    }
    return m;
}

struct pmap *pmap_put(struct pmap *m, uint64_t key, void *val) {
    return put(m, 0, hash_mix(key), val);
}
