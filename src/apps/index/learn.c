/* SPDX-License-Identifier: Apache-2.0
 *
 * What the series of an index have in common: priors of hyper-parameters (apps/discover/hyper.h),
 * learnt once from a sample of the first series that are added, and kept as a text beside them. The
 * sample is spread evenly over the list, so the same files give the same priors, whatever was
 * killed between.
 */
#include "base/mem.h"
#include "base/number.h"
#include "base/stop.h"
#include "apps/index/index.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE 24 /* series */
#define FEWEST 8  /* that there must be to learn anything */

struct learning {
    const struct index_options *o;
    const char *const *source;
    size_t n;
    struct hyper_gathering *of; /* of each of the sample */
};

static void learn_one(void *ctx, size_t i, int thread) {
    struct learning *l = ctx;
    struct buf ignored = BUF_INIT; /* what cannot be used is refused when it is added */
    struct series s;
    struct discovery d;
    const char *path = l->source[i];
    if (!discovery_is_kept(path) && index_read(&s, path, l->o, &ignored) == GPM_OK) {
        if (index_discover(&d, &s, l->o, &ignored) == GPM_OK) hyper_gather(&l->of[i], &d.post);
        discovery_release(&d);
    }
    buf_release(&ignored);
}

/* mask kind mean sd, for each. */
static void write_priors(const struct hyper_priors *h, struct buf *out) {
    for (size_t i = 0; i < h->n; i++) {
        buf_printf(out, "%u %u ", h->at[i].mask, h->at[i].kind);
        buf_number(out, h->at[i].mean);
        buf_putc(out, ' ');
        buf_number(out, h->at[i].sd);
        buf_putc(out, '\n');
    }
}

static bool read_priors(const char *text, struct hyper_priors *h) {
    h->n = 0;
    while (*text && h->n < HYPER_MAX) {
        double v[4];
        for (int k = 0; k < 4; k++) {
            size_t n = strcspn(text, " \n");
            if (!number_parse(text, n, &v[k])) return false;
            text += n + (text[n] != 0);
        }
        if (!(v[0] >= 0 && v[0] < 65536 && v[1] >= 0 && v[1] < 65536 && v[3] > 0)) return false;
        h->at[h->n++] = (struct hyper_prior){(uint16_t)v[0], (uint16_t)v[1], v[2], v[3]};
    }
    return true;
}

static void learn(const struct index_options *o, const char *const *sources, size_t n,
                  struct hyper_priors *out) {
    const char *sample[SAMPLE];
    size_t some = n < SAMPLE ? n : SAMPLE;
    struct learning l = {o, sample, some, mem_zalloc(SAMPLE * sizeof *l.of)};
    struct hyper_gathering *all = mem_zalloc(sizeof *all);
    for (size_t i = 0; i < some; i++) sample[i] = sources[i * n / some];
    index_parallel(o, some, learn_one, &l);
    for (size_t i = 0; i < some; i++) hyper_join(all, &l.of[i]); /* in order, for any threads */
    hyper_learn(all, out);
    mem_free(all);
    mem_free(l.of);
}

enum gpm_status index_priors(struct catalog *c, const struct index_options *o,
                             const char *const *sources, size_t n, struct hyper_priors *out,
                             char **text, struct buf *err) {
    struct buf made = BUF_INIT;
    out->n = 0;
    enum gpm_status st = catalog_text(c, "priors", text, err);
    if (st || *text || !o->learn || n < FEWEST) {
        if (!st && *text && !read_priors(*text, out))
            st = buf_fail(err, GPM_E_FORMAT, "the priors of the index are damaged");
        return st;
    }
    learn(o, sources, n, out);
    write_priors(out, &made);
    st = stop_asked(o->stop) ? buf_fail(err, GPM_E_INTERRUPT, "stopped") : catalog_begin(c, err);
    if (!st) st = catalog_set_text(c, "priors", made.data, err);
    if (!stop_asked(o->stop)) st = catalog_end(c, st, err);
    *text = buf_take(&made);
    return st;
}
