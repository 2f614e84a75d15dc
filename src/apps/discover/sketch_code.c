/* SPDX-License-Identifier: Apache-2.0
 *
 * Sketches as bytes. Numbers are little-endian. A level is written as its distance from the mean of
 * all draws at the knot, in 1/127 of the largest; sizes by their logarithm, in sixteenths of an
 * octave of the values' standard deviation.
 *
 *   u8 format, clock, structures, draws; f64 x0, span, mean, sd; u32 n
 *   structures: u32 number, u16 probability, u16 error (of 65535)
 *   knots: f32 mean, f32 largest distance of the level
 *   draws: u8 structure, u8 patterns + 4 * (noise varies) + 8 * events + 32 * (has a line)
 *          i8 level[knots]; u8 noise[1 or knots]; patterns: f32 period, u8 swing[knots];
 *          f32 line; events: u8 step, u16 date, f32 size; u8 share[kinds]
 *   u8 steps ahead; f32 time, lo, median, hi
 */
#include "apps/discover/sketch.h"
#include "base/mem.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

#define K      SKETCH_KNOTS
#define FORMAT 2    /* 1 had no forecast */
#define OCTAVE 16.0 /* steps of an octave */
#define MIDDLE 160  /* the step of 1 */

enum { HAS_NOISE = 4, HAS_EVENT = 8, HAS_LINE = 32 };

/* ---- writing ---- */
static void put_unit(struct buf *b, double v) {
    buf_put_bits(b, (uint64_t)floor(fmin(fmax(v, 0), 1) * 65535 + 0.5), 2);
}
/* 0: nothing at all. */
static unsigned size_code(double v) {
    if (!(v > 0)) return 0;
    return (unsigned)fmin(fmax(floor(OCTAVE * log2(v) + MIDDLE + 0.5), 1), 255);
}
static double size_of(unsigned code) {
    return code ? exp2(((double)code - MIDDLE) / OCTAVE) : 0;
}
/* Of every code. */
static struct {
    pthread_once_t once;
    float of[256];
} sizes = {.once = PTHREAD_ONCE_INIT};
static void prepare_sizes(void) {
    for (unsigned i = 0; i < 256; i++) sizes.of[i] = (float)size_of(i);
}
static void put_sizes(struct buf *b, const float *v, int n, double unit) {
    for (int k = 0; k < n; k++) buf_put_bits(b, size_code(v[k] / unit), 1);
}

static bool varies(const struct sketch_draw *d, double sd) {
    for (int k = 1; k < K; k++)
        if (size_code(d->noise[k] / sd) != size_code(d->noise[0] / sd)) return true;
    return false;
}

static void put_draw(const struct sketch *p, const struct sketch_draw *d, const float *mean,
                     const float *most, struct buf *b) {
    bool noise = varies(d, p->sd);
    buf_put_bits(b, (uint64_t)d->structure, 1);
    buf_put_bits(b,
                 (uint64_t)(d->n_patterns + noise * HAS_NOISE + d->n_events * HAS_EVENT +
                            (d->line != 0) * HAS_LINE),
                 1);
    for (int k = 0; k < K; k++) {
        double v = most[k] > 0 ? ((double)d->level[k] - mean[k]) / most[k] : 0;
        buf_put_bits(b, (uint8_t)(int8_t)floor(fmin(fmax(v, -1), 1) * 127 + 0.5), 1);
    }
    put_sizes(b, d->noise, noise ? K : 1, p->sd);
    for (int i = 0; i < d->n_patterns; i++) {
        buf_put_float(b, d->pattern[i].period);
        put_sizes(b, d->pattern[i].swing, K, p->sd);
    }
    if (d->line != 0) buf_put_float(b, d->line);
    for (int i = 0; i < d->n_events; i++) {
        buf_put_bits(b, d->event[i].step, 1);
        put_unit(b, d->event[i].date);
        buf_put_float(b, d->event[i].size);
    }
    put_sizes(b, d->share, SKETCH_KINDS, 1);
}

static void level_range(const struct sketch *p, float *mean, float *most) {
    for (int k = 0; k < K; k++) {
        double sum = 0;
        for (size_t i = 0; i < p->n_draws; i++) sum += p->draw[i].level[k];
        mean[k] = (float)(sum / (double)p->n_draws);
        most[k] = 0;
        for (size_t i = 0; i < p->n_draws; i++)
            most[k] = fmaxf(most[k], fabsf(p->draw[i].level[k] - mean[k]));
    }
}

void sketch_write(const struct sketch *p, const struct sketch_names *names, struct buf *b) {
    float mean[K], most[K];
    buf_put_bits(b, FORMAT, 1);
    buf_put_bits(b, p->clock, 1);
    buf_put_bits(b, p->n_structures, 1);
    buf_put_bits(b, p->n_draws, 1);
    buf_put_double(b, p->x0);
    buf_put_double(b, p->span);
    buf_put_double(b, p->mean);
    buf_put_double(b, p->sd);
    buf_put_bits(b, p->n, 4);
    for (size_t i = 0; i < p->n_structures; i++) {
        buf_put_bits(b, names->number(names->ctx, p->structure[i].text), 4);
        put_unit(b, p->structure[i].p);
        put_unit(b, p->structure[i].error);
    }
    level_range(p, mean, most);
    for (int k = 0; k < K; k++) {
        buf_put_float(b, mean[k]);
        buf_put_float(b, most[k]);
    }
    for (size_t i = 0; i < p->n_draws; i++) put_draw(p, &p->draw[i], mean, most, b);
    buf_put_bits(b, p->n_ahead, 1);
    for (size_t i = 0; i < p->n_ahead; i++) {
        buf_put_float(b, p->ahead[i].t);
        buf_put_float(b, p->ahead[i].lo);
        buf_put_float(b, p->ahead[i].median);
        buf_put_float(b, p->ahead[i].hi);
    }
}

/* ---- reading ---- */
struct bytes {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t get_bits(struct bytes *s, int bytes) {
    uint64_t v = 0;
    if (s->end - s->at < bytes) {
        s->bad = true;
        s->at = s->end;
        return 0;
    }
    for (int i = 0; i < bytes; i++) v |= (uint64_t)s->at[i] << (8 * i);
    s->at += bytes;
    return v;
}
static double get_double(struct bytes *s) {
    uint64_t u = get_bits(s, 8);
    double v;
    memcpy(&v, &u, sizeof v);
    if (!isfinite(v)) s->bad = true;
    return v;
}
static float get_float(struct bytes *s) {
    uint32_t u = (uint32_t)get_bits(s, 4);
    float v;
    memcpy(&v, &u, sizeof v);
    if (!isfinite(v)) s->bad = true;
    return v;
}
static double get_unit(struct bytes *s) {
    return (double)get_bits(s, 2) / 65535;
}
static void get_sizes(struct bytes *s, float *v, int n, const float *size) {
    if (s->end - s->at < n) {
        s->bad = true;
        return;
    }
    for (int k = 0; k < n; k++) v[k] = size[s->at[k]];
    s->at += n;
}

static void get_draw(struct bytes *s, const struct sketch *p, const float *mean, const float *most,
                     const float *size, struct sketch_draw *d) {
    d->structure = (int)get_bits(s, 1);
    unsigned has = (unsigned)get_bits(s, 1);
    d->n_patterns = has & 3;
    d->n_events = has / HAS_EVENT & 3;
    if ((size_t)d->structure >= p->n_structures || d->n_patterns > SKETCH_PATTERNS) {
        s->bad = true;
        return;
    }
    if (s->end - s->at < K) {
        s->bad = true;
        return;
    }
    for (int k = 0; k < K; k++) d->level[k] = mean[k] + most[k] * (float)(int8_t)s->at[k] / 127;
    s->at += K;
    get_sizes(s, d->noise, has & HAS_NOISE ? K : 1, size);
    for (int k = 1; k < K && !(has & HAS_NOISE); k++) d->noise[k] = d->noise[0];
    for (int i = 0; i < d->n_patterns; i++) {
        d->pattern[i].period = get_float(s);
        get_sizes(s, d->pattern[i].swing, K, size);
    }
    d->line = has & HAS_LINE ? get_float(s) : 0;
    for (int i = 0; i < d->n_events; i++) {
        d->event[i].step = get_bits(s, 1) != 0;
        d->event[i].date = (float)get_unit(s);
        d->event[i].size = get_float(s);
    }
    get_sizes(s, d->share, SKETCH_KINDS, sizes.of);
}

static void get_ahead(struct bytes *s, struct sketch *p) {
    size_t n = get_bits(s, 1);
    s->bad |= n > SKETCH_AHEAD;
    for (; p->n_ahead < n && !s->bad; p->n_ahead++) {
        struct sketch_ahead *a = &p->ahead[p->n_ahead];
        a->t = get_float(s);
        a->lo = get_float(s);
        a->median = get_float(s);
        a->hi = get_float(s);
    }
}

static void get_head(struct bytes *s, struct sketch *p, const struct sketch_names *names) {
    p->x0 = get_double(s);
    p->span = get_double(s);
    p->mean = get_double(s);
    p->sd = get_double(s);
    p->n = get_bits(s, 4);
    s->bad |= !(p->span > 0 && p->sd > 0);
    size_t n = p->n_structures;
    p->n_structures = 0;
    p->structure = mem_zalloc((n + 1) * sizeof *p->structure);
    for (size_t i = 0; i < n && !s->bad; i++) {
        const char *text = names->text(names->ctx, (uint32_t)get_bits(s, 4));
        if (!text) s->bad = true;
        struct sketch_structure *to = &p->structure[p->n_structures++];
        to->text = mem_strdup(text ? text : "");
        to->p = (float)get_unit(s);
        to->error = (float)get_unit(s);
    }
}

enum gpm_status sketch_read(struct sketch *p, const struct sketch_names *names, const void *data,
                            size_t n) {
    struct bytes s = {data, (const uint8_t *)data + n, false};
    float mean[K], most[K], size[256];
    memset(p, 0, sizeof *p);
    unsigned format = (unsigned)get_bits(&s, 1);
    if (format < 1 || format > FORMAT) return GPM_E_FORMAT;
    p->clock = (enum sketch_clock)get_bits(&s, 1);
    p->n_structures = get_bits(&s, 1);
    size_t draws = get_bits(&s, 1);
    s.bad |= p->clock > CLOCK_DAYS || !draws || !p->n_structures;
    if (s.bad) {
        p->n_structures = 0;
        return GPM_E_FORMAT;
    }
    get_head(&s, p, names);
    for (int k = 0; k < K; k++) {
        mean[k] = get_float(&s);
        most[k] = get_float(&s);
    }
    pthread_once(&sizes.once, prepare_sizes);
    for (unsigned i = 0; i < 256; i++) size[i] = (float)p->sd * sizes.of[i];
    p->draw = mem_zalloc(draws * sizeof *p->draw);
    for (size_t i = 0; i < draws && !s.bad; i++, p->n_draws++)
        get_draw(&s, p, mean, most, size, &p->draw[i]);
    if (format > 1) get_ahead(&s, p);
    if (!s.bad && s.at == s.end) return GPM_OK;
    sketch_release(p);
    return GPM_E_FORMAT;
}

/* Everything but the numbers is copied: a level that is read and written again is rounded twice. */
enum gpm_status sketch_renumber(const void *bytes, size_t n, const struct sketch_names *from,
                                const struct sketch_names *to, struct buf *out) {
    const uint8_t *p = bytes;
    enum { HEAD = 4 + 4 * 8 + 4, ENTRY = 8 };
    if (n < HEAD || n < HEAD + (size_t)ENTRY * p[2]) return GPM_E_FORMAT;
    buf_add(out, p, HEAD);
    for (unsigned i = 0; i < p[2]; i++) {
        struct bytes s = {p + HEAD + ENTRY * i, p + n, false};
        const char *text = from->text(from->ctx, (uint32_t)get_bits(&s, 4));
        if (!text) return GPM_E_FORMAT;
        buf_put_bits(out, to->number(to->ctx, text), 4);
        buf_add(out, s.at, ENTRY - 4);
    }
    buf_add(out, p + HEAD + ENTRY * p[2], n - HEAD - ENTRY * p[2]);
    return GPM_OK;
}
