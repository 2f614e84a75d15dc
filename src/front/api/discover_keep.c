/* SPDX-License-Identifier: Apache-2.0
 *
 * See discover_keep.h.
 */
#include "front/api/discover_keep.h"
#include "base/file.h"
#include "base/mem.h"
#include <string.h>

/* A new field must be written, or set by the reader. */
PACK_SIZE(struct gpm_discover_options, 248, "see pack_options");

static void pack_name(struct pack *p, const char **x) {
    char *text = (char *)(uintptr_t)*x;
    pack_text(p, &text);
    *x = text;
}

/* All that the result depends on: not the threads, nor how long it may take. */
static void pack_options(struct pack *p, struct gpm_discover_options *o) {
    pack_u64(p, &o->seed);
    pack_name(p, &o->time_column);
    pack_name(p, &o->value_column);
    pack_bool(p, &o->skip_bad);
    pack_size(p, &o->max_points);
    pack_name(p, &o->kernels);
    pack_bool(p, &o->changepoints);
    o->log = (enum gpm_discover_log)pack_choice(p, o->log, GPM_LOG_ALWAYS + 1);
    pack_double(p, &o->holdout);
    pack_size(p, &o->horizon);
    pack_double(p, &o->level);
    pack_name(p, &o->date_format);
    pack_name(p, &o->missing);
    o->decimal = (enum gpm_discover_decimal)pack_choice(p, o->decimal, GPM_DECIMAL_COMMA + 1);
    pack_size(p, &o->backtest);
    pack_name(p, &o->every);
    pack_name(p, &o->with_columns);
    pack_name(p, &o->smooth_columns);
    pack_name(p, &o->least);
    pack_name(p, &o->most);
    pack_bool(p, &o->per_day);
    pack_name(p, &o->holidays);
    o->take = (enum gpm_discover_take)pack_choice(p, o->take, GPM_TAKE_MAX + 1);
    o->precision =
        (enum gpm_discover_precision)pack_choice(p, o->precision, GPM_PRECISION_HIGH + 1);
}

static void free_options(const struct gpm_discover_options *o) {
    const char *const texts[] = {
        o->time_column,  o->value_column,   o->kernels, o->date_format, o->missing, o->every,
        o->with_columns, o->smooth_columns, o->least,   o->most,        o->holidays};
    for (size_t i = 0; i < COUNT_OF(texts); i++) mem_free((char *)(uintptr_t)texts[i]);
}

static void pack_head(struct pack *p, struct kept_search *k) {
    k->kind = (enum gpm_discover_kept)pack_choice(p, k->kind, GPM_KEPT_MORE + 1);
    pack_name(p, &k->name);
    pack_count(p, &k->len, 1);
    if (p->reading) {
        buf_add(&k->file, p->at, k->len);
        k->text = k->file.data;
        p->at += k->len;
    } else {
        pack_raw(p, (char *)(uintptr_t)k->text, k->len);
    }
    pack_options(p, &k->o);
    pack_name(p, &k->how.by);
    pack_bool(p, &k->how.independent);
}

/* From the head of a journal; what the caller says of threads, time and signals stays. */
static enum gpm_status take_head(struct kept_search *k, const struct buf *head, struct buf *err) {
    struct pack p;
    struct kept_search got = {.o = k->o, .how = k->how, .file = BUF_INIT};
    pack_begin_read(&p, head->data, head->len);
    pack_head(&p, &got);
    got.read = true;
    enum gpm_status st = pack_ok(&p) ? GPM_OK : buf_fail(err, GPM_E_FORMAT, "%s", p.why.data);
    if (st == GPM_OK && got.kind != k->kind)
        st = buf_fail(err, GPM_E_ARG, "'%s' keeps another kind of search", k->o.keep);
    pack_release(&p);
    *k = got;
    return st;
}

static enum gpm_status open_journal(struct kept_search *k, const struct pack *head,
                                    struct buf *err) {
    return journal_open(&k->journal, k->o.keep, &head->out, k->o.finish, err);
}

/* The search that the folder keeps. */
static enum gpm_status find_head(struct kept_search *k, struct buf *err) {
    struct buf head = BUF_INIT, why = BUF_INIT;
    enum gpm_status st = GPM_OK;
    if (!journal_head(k->o.keep, &head, &why))
        st = buf_fail(err, GPM_E_FORMAT, "'%s' keeps no search that could go on%s%s", k->o.keep,
                      why.len ? ": " : "", why.data);
    if (st == GPM_OK) st = take_head(k, &head, err);
    buf_release(&head);
    buf_release(&why);
    return st;
}

static enum gpm_status read_file(struct kept_search *k, struct buf *err) {
    enum gpm_status st = file_read(k->name, FILE_GIVEN, FILE_TEXT_MAX, &k->file);
    if (st != GPM_OK) return buf_fail(err, st, "%s: %s", k->name, file_why());
    k->text = k->file.data;
    k->len = k->file.len;
    return GPM_OK;
}

enum gpm_status kept_begin(struct kept_search *k, struct buf *err) {
    buf_init(&k->file);
    if (!k->o.keep) return k->name ? GPM_OK : buf_fail(err, GPM_E_ARG, "there is no series");
    return !k->name ? find_head(k, err) : k->text ? GPM_OK : read_file(k, err);
}

enum gpm_status kept_open(struct kept_search *k, struct buf *err) {
    struct pack p;
    if (!k->o.keep) return GPM_OK;
    pack_begin_write(&p);
    pack_head(&p, k);
    enum gpm_status st = open_journal(k, &p, err);
    pack_release(&p);
    return st;
}

/* A run is known by what is known of its structures. */
enum gpm_status kept_open_more(struct kept_search *k, const struct discovery *d, struct buf *err) {
    struct pack p, head;
    buf_init(&k->file);
    if (!k->o.keep) return GPM_OK;
    pack_begin_write(&p);
    for (size_t i = 0; i < d->search.n; i++) {
        uint64_t hash = d->search.at[i]->hash;
        pack_u64(&p, &hash);
        evidence_pack(&p, d->search.at[i]);
    }
    uint64_t known = hash_bytes(p.out.data, p.out.len, d->series.hash);
    pack_begin_write(&head);
    pack_choice(&head, GPM_KEPT_MORE, GPM_KEPT_MORE + 1);
    pack_u64(&head, &known);
    enum gpm_status st = open_journal(k, &head, err);
    pack_release(&p);
    pack_release(&head);
    return st;
}

void kept_end(struct kept_search *k, enum gpm_status st) {
    bool again = st == GPM_OK || st == GPM_E_INTERRUPT || st == GPM_E_NOMEM;
    if (k->journal && !again) journal_remove(k->o.keep); /* it would fail again */
    journal_close(k->journal);
    if (k->read) {
        free_options(&k->o);
        mem_free((char *)(uintptr_t)k->name);
        mem_free((char *)(uintptr_t)k->how.by);
    }
    buf_release(&k->file);
}

enum gpm_discover_kept gpm_discover_unfinished(const char *dir) {
    struct buf head = BUF_INIT, why = BUF_INIT;
    uint32_t kind = GPM_KEPT_NOTHING;
    if (journal_head(dir, &head, &why)) {
        struct pack p;
        pack_begin_read(&p, head.data, head.len);
        kind = pack_choice(&p, 0, GPM_KEPT_MORE + 1);
        pack_release(&p);
    }
    buf_release(&head);
    buf_release(&why);
    return (enum gpm_discover_kept)kind;
}

void gpm_discover_unkeep(const char *dir) {
    journal_remove(dir);
}
