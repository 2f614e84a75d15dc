/* SPDX-License-Identifier: Apache-2.0
 *
 * See profile.h. Profiled actions are on a stack; the time between two changes of it belongs to its
 * top. */
#include "inference/run/profile.h"
#include "inference/run/progress.h"

#include "base/clock.h"
#include <stdlib.h>

struct profile {
    VEC(struct profile_entry *) entries; /* owned, in order of first use */
    struct map by_place;
    VEC(struct profile_entry *) stack;
    double since; /* time of the last change of the stack */
};

struct profile *profile_new(void) {
    struct profile *p = NEW(struct profile);
    p->since = clock_seconds();
    return p;
}

void profile_free(struct profile *p) {
    if (!p) return;
    for (size_t i = 0; i < p->entries.n; i++) {
        value_unref(p->entries.at[i]->scope);
        mem_free(p->entries.at[i]);
    }
    vec_release(&p->entries);
    vec_release(&p->stack);
    map_release(&p->by_place);
    mem_free(p);
}

static void spend(struct profile *p) {
    double now = clock_seconds();
    if (p->stack.n) vec_last(&p->stack)->seconds += now - p->since;
    p->since = now;
}

static struct profile_entry *entry_of(struct profile *p, struct span at, const char *what) {
    uint64_t key = ((uint64_t)at.unit << 44) ^ ((uint64_t)at.start << 22) ^ at.end;
    struct profile_entry *e = map_get(&p->by_place, key + 1);
    if (!e) {
        e = NEW(struct profile_entry);
        e->at = at;
        e->what = what;
        e->scope = NIL;
        vec_push(&p->entries, e);
        map_put(&p->by_place, key + 1, e);
    }
    return e;
}

struct profile_entry *profile_enter(struct profile *p, const struct action *a) {
    bool directive = a->kind == ACTION_DIRECTIVE && a->ast->u.dir.kind != DIR_INFER;
    if (a->kind != ACTION_OP && !directive) return NULL;
    struct profile_entry *e = entry_of(p, a->at, directive ? "directive" : a->op->name);
    spend(p);
    e->calls++;
    vec_push(&p->stack, e);
    return e;
}

void profile_leave(struct profile *p) {
    spend(p);
    if (p->stack.n) (void)vec_pop(&p->stack);
}

void profile_count(struct profile *p, value scope, bool accepted) {
    struct profile_entry *e = p->stack.n ? vec_last(&p->stack) : NULL;
    if (!e) return;
    if (!e->proposed)
        e->scope = value_ref(scope);
    else
        e->several |= !value_name_equal(e->scope, scope);
    e->proposed++;
    e->accepted += accepted;
}

static int slower(const void *a, const void *b) {
    double x = (*(struct profile_entry *const *)a)->seconds;
    double y = (*(struct profile_entry *const *)b)->seconds;
    return (x < y) - (x > y);
}

/* The first line of the source at `at`, shortened. */
static void quote(struct sources *s, struct span at, struct buf *out) {
    enum { WIDTH = 50 };
    if (at.unit == NO_SPAN_UNIT) return;
    unsigned line, column;
    sources_locate(s, at, &line, &column);
    const struct source *u = s->units.at[at.unit];
    const char *text = u->text + at.start;
    size_t n = strcspn(text, "\n"), all = at.end - at.start;
    size_t shown = n < all ? n : all;
    bool cut = shown > WIDTH || n < all;
    if (shown > WIDTH)
        for (shown = WIDTH; shown && ((unsigned char)text[shown] & 0xc0) == 0x80;) shown--;
    buf_printf(out, "%s:%u  %.*s%s", u->name, line, (int)shown, text, cut ? " ..." : "");
}

void profile_text(const struct profile *p, struct sources *sources, struct buf *out) {
    size_t n = p->entries.n;
    struct profile_entry **by_time = NEW_ARRAY(struct profile_entry *, n + 1);
    double total = 0;
    for (size_t i = 0; i < n; i++) total += (by_time[i] = p->entries.at[i])->seconds;
    qsort(by_time, n, sizeof(struct profile_entry *), slower);
    buf_puts(out, "   seconds  share       calls  accepted  where\n");
    for (size_t i = 0; i < n; i++) {
        const struct profile_entry *e = by_time[i];
        buf_printf(out, "%10.3f  %4.0f%%  %10llu  ", e->seconds,
                   total > 0 ? 100 * e->seconds / total : 0, (unsigned long long)e->calls);
        if (e->proposed)
            buf_printf(out, "%7.0f%%  ", 100 * (double)e->accepted / (double)e->proposed);
        else
            buf_puts(out, "          ");
        quote(sources, e->at, out);
        if (e->proposed) {
            buf_puts(out, e->several ? "  (several scopes)" : "  (scope ");
            if (!e->several) scope_name_text(e->scope, out);
            if (!e->several) buf_putc(out, ')');
        }
        buf_putc(out, '\n');
    }
    mem_free(by_time);
}
