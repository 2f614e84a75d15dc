/* SPDX-License-Identifier: Apache-2.0
 *
 * One user of a memo table, told what to do by lines on standard input: tests/cluster/run_cases.py
 * compares what many of them do with a model. Arguments: the store, seconds that a claim lasts.
 * A line is words with blanks between; texts are in hex. Each has one line as its answer, that of a
 * failure is "error STATUS".
 */
#include "base/mem.h"
#include "io/store/memo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct memo *m;
static struct buf out = BUF_INIT, err = BUF_INIT;

static char *from_hex(const char *hex) {
    size_t n = strlen(hex) / 2;
    char *text = mem_zalloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        text[i] = (char)strtoul(two, NULL, 16);
    }
    return text;
}

static void put_hex(const char *text) {
    buf_putc(&out, '-'); /* never an empty word */
    for (; *text; text++) buf_printf(&out, "%02x", (unsigned char)*text);
}

static bool put_row(const struct memo_row *r, void *user) {
    buf_printf(&out, " %lld:%.17g:%d:%s:%.17g:%lld:%d:", (long long)r->id, r->x[0], r->rep,
               memo_status_name(r->status), isnan(r->y) ? 0 : r->y, (long long)r->seq, r->attempts);
    put_hex(r->error);
    return true;
}

static enum gpm_status claim(const char *word) {
    static const char *const names[] = {"ours", "known", "failed", "busy"};
    struct memo_claim c;
    double x = strtod(word, NULL);
    enum gpm_status s = memo_claim(m, &x, &c, &err);
    if (s) return s;
    buf_puts(&out, names[c.state]);
    if (c.state == MEMO_OURS) buf_printf(&out, " %lld", (long long)c.id);
    if (c.state == MEMO_KNOWN) buf_printf(&out, " %.17g", c.y);
    buf_reset(&err); /* the text of a failure, which `list` shows */
    return s;
}

static enum gpm_status reclaim(void) {
    bool found;
    int64_t id;
    double x;
    enum gpm_status s = memo_reclaim(m, &found, &id, &x, &err);
    if (!s && found) buf_printf(&out, "%lld %.17g", (long long)id, x);
    if (!s && !found) buf_puts(&out, "none");
    return s;
}

static enum gpm_status add(const char *word, const char *y, const char *text, bool replicate) {
    bool added = false;
    double x = strtod(word, NULL);
    enum gpm_status s =
        memo_add(m, &x, strtod(y, NULL), NULL, *text ? text : NULL, 0.5, replicate, &added, &err);
    if (!s) buf_printf(&out, "%d", added);
    return s;
}

static enum gpm_status get(const char *key) {
    char *value = NULL;
    enum gpm_status s = memo_get(m, key, &value, &err);
    if (!s) put_hex(value);
    mem_free(value);
    if (s == GPM_E_NOT_FOUND) buf_puts(&out, "none");
    return s == GPM_E_NOT_FOUND ? GPM_OK : s;
}

/* Two texts as one step, which is taken back when `keep` is 0. */
static enum gpm_status both(const char *key, const char *value, bool keep) {
    enum gpm_status s = memo_begin(m, &err);
    if (!s) s = memo_set(m, key, value, &err);
    if (!s) s = memo_set(m, "other", value, &err);
    if (!s && !keep) s = GPM_E_ARG;
    s = memo_end(m, s, &err);
    return !keep && s == GPM_E_ARG ? GPM_OK : s;
}

static enum gpm_status obey(char **w, const char *text) {
    int64_t id = strtoll(w[1], NULL, 10);
    double y = strtod(w[2], NULL), x = strtod(w[1], NULL);
    size_t rows = 0;
    enum gpm_status s;
    if (!strcmp(w[0], "claim")) return claim(w[1]);
    if (!strcmp(w[0], "reclaim")) return reclaim();
    if (!strcmp(w[0], "add")) return add(w[1], w[2], text, *w[4] == '1');
    if (!strcmp(w[0], "finish")) {
        s = memo_finish(m, id, y, NULL, *text ? text : NULL, 0.25, &y, &err);
        if (!s) buf_printf(&out, "%.17g", isnan(y) ? 0 : y);
        return s;
    }
    if (!strcmp(w[0], "renew")) return memo_renew(m, id, &err);
    if (!strcmp(w[0], "unclaim")) return memo_unclaim(m, id, &err);
    if (!strcmp(w[0], "abandon")) return memo_abandon(m, id, &err);
    if (!strcmp(w[0], "delete")) return memo_delete(m, id, &err);
    if (!strcmp(w[0], "new")) {
        s = memo_new_row(m, &x, *w[2] == '1', &id, &err);
        if (!s) buf_printf(&out, "%lld", (long long)id);
        return s;
    }
    if (!strcmp(w[0], "get")) return get(w[1]);
    if (!strcmp(w[0], "set")) return memo_set(m, w[1], text, &err);
    if (!strcmp(w[0], "both")) return both(w[1], text, *w[4] == '1');
    if (!strcmp(w[0], "list")) return memo_each(m, -1, put_row, NULL, &err);
    if (!strcmp(w[0], "since")) return memo_each(m, id, put_row, NULL, &err);
    if (!strcmp(w[0], "copy")) {
        s = memo_copy(m, text, &rows, &err);
        if (!s) buf_printf(&out, "%zu", rows);
        return s;
    }
    abort();
}

int main(int argc, char **argv) {
    static char line[1 << 16];
    struct memo_options opt;
    memset(&opt, 0, sizeof opt);
    opt.function = "f", opt.dim = 1, opt.claim_seconds = argc == 3 ? strtod(argv[2], NULL) : 0;
    if (argc != 3 || memo_open(&m, argv[1], &opt, &err)) {
        fprintf(stderr, "%s\n", err.data);
        return 1;
    }
    puts("ready");
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin)) {
        char *word[5] = {line, line + strlen(line), line + strlen(line), line + strlen(line),
                         line + strlen(line)};
        int n = 0;
        for (char *w = strtok(line, " \n"); w && n < 5; w = strtok(NULL, " \n")) word[n++] = w;
        char *text = from_hex(word[3]);
        enum gpm_status s = obey(word, text);
        mem_free(text);
        if (s) {
            fprintf(stderr, "%s: %s\n", word[0], err.data);
            printf("error %s\n", gpm_status_text(s));
        } else
            printf("ok %s\n", out.data);
        buf_reset(&out);
        buf_reset(&err);
    }
    memo_close(m);
    buf_release(&out);
    buf_release(&err);
    return 0;
}
