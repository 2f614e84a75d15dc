/* SPDX-License-Identifier: Apache-2.0
 * Objectives and bounds by name; see goals.h. */
#include "apps/optimize/goals.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

void goals_release(struct goals *g) {
    proc_outputs_release(&g->names);
    for (size_t i = 0; i < g->bounds.n; i++) mem_free(g->bounds.at[i]);
    vec_release(&g->bounds);
    vec_release(&g->goal);
    *g = (struct goals){0};
}

/* A goal for each name that has none yet: nothing is asked of it. */
static void fill_goals(struct goals *g) {
    while (g->goal.n < (size_t)g->names.n) {
        struct bo_goal nothing = {0, -INFINITY, INFINITY, NAN};
        vec_push(&g->goal, nothing);
    }
    g->given = true;
}

/* The goal of a name, which is added when it is new; NULL: that is no name. */
static struct bo_goal *goal_of(struct goals *g, const char *name, size_t n) {
    if (n == 0 || n > 60 || ascii_digit(name[0])) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!ascii_name(name[i])) return NULL;
    proc_outputs_name(&g->names, name, n);
    fill_goals(g);
    for (int k = 0; k < g->names.n; k++)
        if (strlen(g->names.names[k]) == n && memcmp(g->names.names[k], name, n) == 0)
            return &g->goal.at[k];
    return NULL;
}

static enum gpm_status bad(struct buf *err, const char *what, const char *text, const char *why) {
    return buf_fail(err, GPM_E_ARG, "%s '%s': %s", what, text, why);
}

/* objective := name [':' ('min' | 'max')] ['@' number] */
static enum gpm_status one_objective(struct goals *g, const char *text, bool maximize,
                                     struct buf *err) {
    size_t n = strcspn(text, ":@");
    struct bo_goal *goal = goal_of(g, text, n);
    if (!goal) return bad(err, "objective", text, "names are letters, digits and _, at most 60");
    if (goal->direction) return bad(err, "objective", text, "it is an objective already");
    const char *p = text + n;
    goal->direction = maximize ? -1 : 1;
    if (*p == ':') {
        size_t len = strcspn(++p, "@");
        bool min = len == 3 && strncmp(p, "min", 3) == 0,
             max = len == 3 && strncmp(p, "max", 3) == 0;
        if (!min && !max)
            return bad(err, "objective", text, "after ':' only min or max may follow");
        goal->direction = max ? -1 : 1;
        p += len;
    }
    if (*p == '@' && !number_parse(p + 1, strlen(p + 1), &goal->reference))
        return bad(err, "objective", text, "after '@' the reference value is expected");
    return GPM_OK;
}

/* Calls `one` for each part between commas. */
static enum gpm_status each(struct goals *g, const char *text, bool maximize, struct buf *err,
                            enum gpm_status (*one)(struct goals *, const char *, bool,
                                                   struct buf *)) {
    enum gpm_status s = GPM_OK;
    for (const char *p = text; !s; p++) {
        size_t n = strcspn(p, ",");
        char *part = mem_strndup(p, n);
        s = one(g, part, maximize, err);
        mem_free(part);
        p += n;
        if (!*p) break;
    }
    return s;
}

enum gpm_status goals_objective(struct goals *g, const char *text, bool maximize, struct buf *err) {
    return each(g, text, maximize, err, one_objective);
}

static enum gpm_status one_kept(struct goals *g, const char *name, bool ignored, struct buf *err) {
    (void)ignored;
    if (goal_of(g, name, strlen(name))) return GPM_OK;
    return bad(err, "number to keep", name, "names are letters, digits and _, at most 60");
}

enum gpm_status goals_collect(struct goals *g, const char *text, struct buf *err) {
    return each(g, text, false, err, one_kept);
}

enum gpm_status goals_pattern(struct goals *g, const char *text, struct buf *err) {
    enum gpm_status s = proc_outputs_pattern(&g->names, text, err);
    fill_goals(g);
    return s;
}

/* ---- bounds ---- */

static void skip(const char **p) {
    while (ascii_space(**p)) ++*p;
}

/* "<=", ">=" (or "<", ">", as numbers from programs are never equal) or "=" at p: -1, 1, 0; 2: none
 * of them. */
static int relation(const char **p) {
    skip(p);
    int r = **p == '<' ? -1 : **p == '>' ? 1 : **p == '=' ? 0 : 2;
    if (r == 2) return r;
    ++*p;
    if (**p == '=') ++*p;
    skip(p);
    return r;
}

static bool number(const char **p, double *v) {
    char *end;
    *v = number_read(*p, &end);
    bool read = end != *p;
    *p = end;
    skip(p);
    return read && isfinite(*v);
}

/* What to write instead of what is no bound. */
static const char *bound_form(const char *text) {
    if (strchr(text, '^')) return "a power is written x ** 2";
    if (strchr(text, '=') && !strpbrk(text, "<>!") && (!strstr(text, "+-") || strstr(text, "==")))
        return "an equality is written with a tolerance, as in x + y = 1 +- 0.001";
    return "expected name<=number, name>=number, number<=name<=number or name=number+-tolerance, "
           "or a comparison of expressions in the variables (each given by --var), as in "
           "x + 2*y <= 10";
}

/* bound := [number rel] name rel number ['+-' number] */
enum gpm_status goals_bound(struct goals *g, const char *text, struct buf *err) {
    const char *form = bound_form(text);
    const char *p = text;
    double v, tolerance = 0, left = 0;
    int before = 2;
    skip(&p);
    if (!ascii_name(*p) || ascii_digit(*p)) {
        if (!number(&p, &left) || (before = relation(&p)) == 2 || before == 0)
            return bad(err, "constraint", text, form);
    }
    size_t n = 0;
    while (ascii_name(p[n])) n++;
    const char *name = p;
    p += n;
    int after = relation(&p);
    if (after == 2 && before == 2) return bad(err, "constraint", text, form);
    struct bo_goal *goal = goal_of(g, name, n);
    if (!goal) return bad(err, "constraint", text, form);
    if (before != 2) *(before < 0 ? &goal->lo : &goal->hi) = left;
    if (after != 2) {
        if (!number(&p, &v)) return bad(err, "constraint", text, form);
        if (after == 0) {
            bool given = strncmp(p, "+-", 2) == 0 && (p += 2, number(&p, &tolerance));
            if (!given || tolerance <= 0)
                return bad(err, "constraint", text,
                           "an equality needs a tolerance, for example mass=3+-0.01");
        }
        if (after <= 0) goal->hi = v + tolerance;
        if (after >= 0) goal->lo = v - tolerance;
    }
    if (*p) return bad(err, "constraint", text, form);
    if (!(goal->lo <= goal->hi)) return bad(err, "constraint", text, "nothing can meet the bounds");
    vec_push(&g->bounds, mem_strdup(text));
    return GPM_OK;
}

/* ---- questions ---- */

enum gpm_status goals_settle(struct goals *g, bool maximize, struct buf *err) {
    int first;
    if (!g->given) return GPM_OK;
    if (!g->names.n) proc_outputs_name(&g->names, "value", 5); /* of a pattern with {} */
    fill_goals(g);
    int n = goals_objectives(g, &first), patterns = g->names.n_patterns;
    if (n == 0 && (patterns || g->names.n == 1) && !isfinite(g->goal.at[0].lo) &&
        !isfinite(g->goal.at[0].hi)) {
        g->goal.at[0].direction = maximize ? -1 : 1;
        n = 1;
    }
    if (n == 0)
        return buf_fail(err, GPM_E_ARG,
                        "there are bounds or numbers to keep but no objective; name it with "
                        "--objective");
    if (n > 6)
        return buf_fail(err, GPM_E_ARG, "there are %d objectives; at most 6 are possible", n);
    return GPM_OK;
}

int goals_count(const struct goals *g) {
    return g->names.n ? g->names.n : 1;
}

const char *goals_name(const struct goals *g, int k) {
    return g->names.n ? g->names.names[k] : "value";
}

int goals_objectives(const struct goals *g, int *first) {
    int n = 0;
    *first = 0;
    for (int k = (int)g->goal.n - 1; k >= 0; k--)
        if (g->goal.at[k].direction) n++, *first = k;
    return g->names.n ? n : 1;
}

static bool has_bound(const struct bo_goal *g) {
    return isfinite(g->lo) || isfinite(g->hi);
}

bool goals_bounded(const struct goals *g) {
    for (size_t k = 0; k < g->goal.n; k++)
        if (has_bound(&g->goal.at[k])) return true;
    return false;
}

bool goals_met(const struct goals *g, const double *y) {
    for (size_t k = 0; k < g->goal.n; k++)
        if (has_bound(&g->goal.at[k]) && !(y[k] >= g->goal.at[k].lo && y[k] <= g->goal.at[k].hi))
            return false;
    return true;
}

int goals_place(const struct goals *g, int k) {
    int at = 0;
    if (!g->names.n) return 0;
    for (int i = 0; i <= k; i++) {
        bool modelled = g->goal.at[i].direction || has_bound(&g->goal.at[i]);
        if (i == k) return modelled ? at : -1;
        at += modelled;
    }
    return -1;
}

struct bo *goals_optimiser(const struct goals *g, const struct bo_space *space,
                           const struct gpm_optimize_options *opt) {
    if (!g->names.n) return bo_new(space, opt, opt->seed);
    struct bo_goal *goals = NEW_ARRAY(struct bo_goal, g->goal.n);
    int n = 0;
    for (int k = 0; k < g->names.n; k++)
        if (goals_place(g, k) >= 0) goals[n++] = g->goal.at[k];
    struct bo *b = bo_new_goals(space, opt, goals, n, opt->seed);
    mem_free(goals);
    return b;
}

void goals_tell(const struct goals *g, struct bo *b, const double *x, const double *y) {
    int n = goals_count(g);
    double *told = NEW_ARRAY(double, (size_t)n);
    for (int k = 0; k < n; k++)
        if (goals_place(g, k) >= 0) told[goals_place(g, k)] = y ? y[k] : NAN;
    bo_tell_all(b, x, told);
    mem_free(told);
}

/* ---- as text ---- */

void goals_text(const struct goals *g, struct buf *out) {
    for (int k = 0; k < g->names.n; k++) {
        const struct bo_goal *goal = &g->goal.at[k];
        buf_printf(out, "%s %d ", g->names.names[k], goal->direction);
        buf_number(out, goal->lo);
        buf_putc(out, ' ');
        buf_number(out, goal->hi);
        buf_putc(out, ' ');
        buf_number(out, goal->reference);
        buf_putc(out, '\n');
    }
    for (size_t i = 0; i < g->bounds.n; i++) buf_printf(out, "bound %s\n", g->bounds.at[i]);
    for (int i = 0; i < g->names.n_patterns; i++)
        buf_printf(out, "read %s\n", g->names.patterns[i]);
}

static bool parse_line(struct goals *g, char *line, struct buf *err) {
    if (strncmp(line, "bound ", 6) == 0) {
        vec_push(&g->bounds, mem_strdup(line + 6));
        return true;
    }
    if (strncmp(line, "read ", 5) == 0) return goals_pattern(g, line + 5, err) == GPM_OK;
    double v[4];
    size_t n = strcspn(line, " ");
    const char *p = line + n;
    for (int i = 0; i < 4; i++) {
        char *end;
        v[i] = number_read(p, &end);
        if (end == p) return false;
        p = end;
    }
    struct bo_goal *goal = goal_of(g, line, n);
    if (!goal || *p || fabs(v[0]) > 1) return false;
    *goal = (struct bo_goal){(int)v[0], v[1], v[2], v[3]};
    return true;
}

enum gpm_status goals_parse(struct goals *g, const char *text, struct buf *err) {
    bool good = true;
    while (*text && good) {
        size_t n = strcspn(text, "\n");
        char *line = mem_strndup(text, n);
        good = parse_line(g, line, err);
        mem_free(line);
        text += n + (text[n] != 0);
    }
    if (good) return goals_settle(g, false, err);
    return buf_fail(err, GPM_E_FORMAT, "its goals are not those of a search; the file is damaged");
}

bool goals_read(const struct goals *g, double y, const char *outputs, double *values) {
    struct proc_outputs plain = g->names;
    struct buf why = BUF_INIT;
    values[0] = y;
    if (!g->names.n) return isfinite(y);
    plain.n_patterns = 0; /* it is JSON by now */
    bool read = proc_read_outputs(&plain, outputs, values, &why) == PROC_OK;
    if (!read && !*outputs && g->names.n == 1) values[0] = y, read = isfinite(y);
    buf_release(&why);
    return read;
}
