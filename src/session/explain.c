/* SPDX-License-Identifier: Apache-2.0
 *
 * See explain.h.
 */
#include "session/explain.h"
#include "base/clock.h"
#include "infer/progress.h"
#include <string.h>

void explain_begin(const struct session *s, struct explanation *e) {
    *e = (struct explanation){0};
    if (!s->verbose) return;
    e->n = s->infer.n_stats;
    e->stats = NEW_ARRAY(struct scope_stats, e->n + 1);
    if (e->n) memcpy(e->stats, s->infer.stats, e->n * sizeof *e->stats);
    e->started = clock_seconds();
}

/* The instruction's first line, cut to 60 bytes at a whole character. */
static void quote_text(const struct session *s, struct span at, struct buf *out) {
    const struct source *u = s->sources.units.at[at.unit];
    const char *text = u->text + at.start;
    size_t len = strcspn(text, "\n"), most = at.end - at.start;
    bool cut = len < most;
    if (len > most) len = most;
    if (len > 60) {
        cut = true;
        for (len = 60; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;) len--;
    }
    buf_add(out, text, len);
    if (cut) buf_puts(out, " ...");
}

void explain_end(struct session *s, struct explanation *e, const struct ast *a,
                 enum gpm_status st) {
    struct infer_state *x = &s->infer;
    struct buf b = BUF_INIT, accepted = BUF_INIT;
    unsigned line = 0, column = 0;
    if (s->verbose && x->write && st == GPM_OK) {
        sources_locate(&s->sources, a->span, &line, &column);
        buf_printf(&b, "%s:%u: ", s->sources.units.at[a->span.unit]->name, line);
        quote_text(s, a->span, &b);
        buf_printf(&b, "\n    %.3f s", clock_seconds() - e->started);
        acceptance_text(x, e->stats, e->n, &accepted);
        if (accepted.len) buf_printf(&b, ", accepted: %s", accepted.data);
        const struct trace *t = x->model->p.at[0];
        buf_printf(&b, ", %llu nodes, %zu free choices", (unsigned long long)t->n_nodes,
                   t->choices.n);
        if (x->model->p.n > 1) buf_printf(&b, " in each of %zu particles", x->model->p.n);
        buf_putc(&b, '\n');
        x->write(x->user, 2, b.data, b.len);
    }
    buf_release(&b);
    buf_release(&accepted);
    mem_free(e->stats);
}
