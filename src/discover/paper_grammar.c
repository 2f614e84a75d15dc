/* SPDX-License-Identifier: Apache-2.0
 *
 * Enumeration of the paper's grammar: every subset, permutation and choice of operators, expanded
 * into sums of products, merged when equal; and their simplified structures.
 */
#include "base/mem.h"
#include "discover/paper.h"
#include <stdlib.h>
#include <string.h>

static const unsigned leaves[4] = {FACTOR_BIT(FACTOR_LIN), FACTOR_BIT(FACTOR_PER),
                                   FACTOR_BIT(FACTOR_SE), FACTOR_BIT(FACTOR_WN)};

static int compare_masks(const void *a, const void *b) {
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

/* Right-nested fold: k_1 op_1 (k_2 op_2 (...)); a product distributes over the sum behind it. */
static void expand(const int *perm, int n, unsigned ops, struct paper_kernel *k) {
    k->n = 1;
    k->product[0] = (uint16_t)leaves[perm[n - 1]];
    k->leaves = leaves[perm[n - 1]];
    for (int i = n - 2; i >= 0; i--) {
        k->leaves |= leaves[perm[i]];
        if (ops >> i & 1) {
            for (int q = 0; q < k->n; q++) k->product[q] |= (uint16_t)leaves[perm[i]];
        } else {
            k->product[k->n++] = (uint16_t)leaves[perm[i]];
        }
    }
    qsort(k->product, (size_t)k->n, sizeof k->product[0], compare_masks);
}

static void add_kernel(struct paper_grammar *g, const struct paper_kernel *k, double prior) {
    for (int i = 0; i < g->n_kernels; i++) {
        struct paper_kernel *o = &g->kernel[i];
        if (o->n == k->n && !memcmp(o->product, k->product, sizeof k->product[0] * (size_t)k->n)) {
            o->prior += prior;
            return;
        }
    }
    if (g->n_kernels >= PAPER_KERNELS) return;
    g->kernel[g->n_kernels] = *k;
    g->kernel[g->n_kernels++].prior = prior;
}

static void permutations(struct paper_grammar *g, int *perm, int at, int n, double prior) {
    if (at == n) {
        for (unsigned ops = 0; ops < 1u << (n - 1); ops++) {
            struct paper_kernel k;
            memset(&k, 0, sizeof k);
            expand(perm, n, ops, &k);
            add_kernel(g, &k, prior / (double)(1u << (n - 1)));
        }
        return;
    }
    for (int i = at; i < n; i++) {
        int x = perm[at];
        perm[at] = perm[i];
        perm[i] = x;
        permutations(g, perm, at + 1, n, prior);
        x = perm[at];
        perm[at] = perm[i];
        perm[i] = x;
    }
}

/* Simplify: stationary times WN is WN, equal noise terms merge. */
static void simplify(const struct paper_kernel *k, struct structure *s, bool *wn) {
    memset(s, 0, sizeof *s);
    *wn = false;
    bool linear_noise = false;
    for (int i = 0; i < k->n; i++) {
        unsigned m = k->product[i];
        if (!(m & FACTOR_BIT(FACTOR_WN))) {
            s->t[s->n++] = (struct term){(uint16_t)m, GATE_NONE};
        } else if (m & FACTOR_BIT(FACTOR_LIN)) {
            if (!linear_noise)
                s->t[s->n++] =
                    (struct term){FACTOR_BIT(FACTOR_LIN) | FACTOR_BIT(FACTOR_WN), GATE_NONE};
            linear_noise = true;
        } else {
            *wn = true;
        }
    }
    structure_canonical(s);
}

static int find_structure(struct paper_grammar *g, const struct paper_kernel *k) {
    struct structure s;
    bool wn;
    struct buf b = BUF_INIT;
    simplify(k, &s, &wn);
    for (int i = 0; i < s.n; i++) {
        if (i) buf_puts(&b, " + ");
        term_print(s.t[i], &b);
    }
    if (wn) buf_puts(&b, s.n ? " + WN" : "WN");
    for (int i = 0; i < g->n_structures; i++)
        if (!strcmp(g->structure[i].text, b.data)) {
            buf_release(&b);
            return i;
        }
    struct paper_structure *o = &g->structure[g->n_structures];
    memset(o, 0, sizeof *o);
    for (int i = 0; i < s.n; i++) o->term[o->n++] = s.t[i];
    if (wn) o->term[o->n++] = (struct term){FACTOR_BIT(FACTOR_WN), GATE_NONE};
    o->text = buf_take(&b);
    return g->n_structures++;
}

void paper_grammar_init(struct paper_grammar *g) {
    static const double factorial[] = {1, 1, 2, 6, 24};
    memset(g, 0, sizeof *g);
    for (unsigned subset = 1; subset < 16; subset++) {
        int perm[4], n = 0;
        for (int i = 0; i < 4; i++)
            if (subset >> i & 1) perm[n++] = i;
        permutations(g, perm, 0, n, 1 / 15.0 / factorial[n]);
    }
    for (int i = 0; i < g->n_kernels; i++) {
        g->kernel[i].structure = find_structure(g, &g->kernel[i]);
        g->structure[g->kernel[i].structure].prior += g->kernel[i].prior;
    }
}

void paper_grammar_release(struct paper_grammar *g) {
    for (int i = 0; i < g->n_structures; i++) mem_free(g->structure[i].text);
    memset(g, 0, sizeof *g);
}
