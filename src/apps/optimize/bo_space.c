/* SPDX-License-Identifier: Apache-2.0
 * Search spaces; see bo_space.h. */
#include "apps/optimize/bo_space.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"

#include "apps/optimize/bo_rules.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static void var_release(struct bo_var *v) {
    for (int i = 0; i < v->n_levels; i++) mem_free(v->levels[i]);
    for (int i = 0; v->labels && i <= (int)v->hi; i++) mem_free(v->labels[i]);
    mem_free(v->labels);
    mem_free(v->levels);
    mem_free(v->when);
    mem_free(v->name);
}

void bo_space_release(struct bo_space *s) {
    for (int j = 0; j < s->n; j++) var_release(&s->vars[j]);
    bo_rules_release(s);
    mem_free(s->vars);
    mem_free(s->var_at);
    *s = (struct bo_space){0};
}

/* Numeric variables first in u, then categories. */
static void number_places(struct bo_space *s) {
    s->var_at = mem_realloc(s->var_at, sizeof(int) * (size_t)(s->n + 1));
    int k = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < s->n; j++) {
            if ((s->vars[j].n_levels > 0) != pass) continue;
            s->vars[j].at = k;
            s->var_at[k++] = j;
        }
        if (!pass) s->d = k;
    }
    s->n_cat = k - s->d;
}

static struct bo_var *new_var(struct bo_space *s, const char *name, size_t n) {
    s->vars = mem_realloc(s->vars, sizeof *s->vars * (size_t)(s->n + 1));
    s->vars[s->n] = (struct bo_var){
        .name = mem_strndup(name, n), .lo = -INFINITY, .hi = INFINITY, .parent = -1};
    return &s->vars[s->n++];
}

void bo_space_any(struct bo_space *s, const char *names, int n) {
    *s = (struct bo_space){0};
    for (; n > 0; n--) {
        size_t len = strcspn(names, ",");
        new_var(s, names, len);
        names += len + (names[len] != 0);
    }
    number_places(s);
}

static enum gpm_status bad(struct buf *err, const char *text, const char *why) {
    return buf_fail(err, GPM_E_ARG, "variable '%s': %s", text, why);
}

static bool valid_name(const char *s, size_t n) {
    if (n == 0 || n > 60 || ascii_digit(s[0])) return false;
    for (size_t i = 0; i < n; i++)
        if (!ascii_name(s[i])) return false;
    return true;
}

/* range := lo ':' hi (':' | ',') flags */
static enum gpm_status parse_range(struct bo_var *v, const char *text, const char *p,
                                   struct buf *err) {
    char *end;
    v->lo = number_read(p, &end);
    if (end == p || *end != ':') return bad(err, text, "expected lo:hi, for example x=-5:10");
    p = end + 1;
    v->hi = number_read(p, &end);
    if (end == p) return bad(err, text, "expected a number after ':'");
    for (p = end; *p == ':' || *p == ',';) {
        size_t n = strcspn(++p, ":,");
        if (n == 3 && strncmp(p, "log", n) == 0)
            v->log = true;
        else if (n == 3 && strncmp(p, "int", n) == 0)
            v->integer = true;
        else if (n == 8 && strncmp(p, "fidelity", n) == 0)
            v->fidelity = true;
        else
            return bad(err, text, "after the range only :log, :int and :fidelity may follow");
        p += n;
    }
    if (*p) return bad(err, text, "unexpected text after the range");
    if (!isfinite(v->lo) || !isfinite(v->hi)) return bad(err, text, "the bounds must be finite");
    if (v->integer) v->lo = ceil(v->lo), v->hi = floor(v->hi);
    if (v->hi < v->lo) return bad(err, text, "the range is empty; the lower bound comes first");
    if (v->hi == v->lo && !v->integer)
        return bad(err, text,
                   "the range has one value only, so there is nothing to search; leave the "
                   "variable out, and use that value");
    if (v->log && v->lo <= 0) return bad(err, text, "a log scale needs a lower bound above 0");
    if (v->hi - v->lo > 1e300) return bad(err, text, "the range is too wide");
    return GPM_OK;
}

/* text[..n) without the blanks around it; owned. */
static char *trimmed(const char *text, size_t n) {
    while (n && ascii_space(*text)) text++, n--;
    while (n && ascii_space(text[n - 1])) n--;
    return mem_strndup(text, n);
}

/* A level and the place after it: all up to a comma, or a JSON string, which may hold anything.
 * NULL: it begins with a quote but is not a string. */
static char *read_level(const char **p) {
    const char *start = *p;
    if (*start != '"') {
        *p += strcspn(start, ",");
        return trimmed(start, (size_t)(*p - start));
    }
    json_error_t e; /* position: what was read */
    json_t *j = json_loadb(start, strlen(start), JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &e);
    char *level = j ? mem_strdup(json_string_value(j)) : NULL;
    if (j) *p += e.position;
    json_decref(j);
    return level;
}

/* (0,1) or [0,1]: a range as others write it. */
static bool is_interval(const char *p) {
    char *end;
    if (*p != '(' && *p != '[') return false;
    number_read(p + 1, &end);
    if (end == p + 1 || *end != ',') return false;
    const char *second = end + 1;
    number_read(second, &end);
    return end > second && (*end == ')' || *end == ']') && !end[1];
}

static enum gpm_status parse_levels(struct bo_var *v, const char *text, const char *p,
                                    struct buf *err) {
    if (is_interval(p)) return bad(err, text, "a range is written lo:hi, for example x=-5:10");
    for (;;) {
        char *level = read_level(&p);
        if (!level) return bad(err, text, "a quoted level is no string of JSON");
        v->levels = mem_realloc(v->levels, sizeof(char *) * (size_t)(v->n_levels + 1));
        v->levels[v->n_levels++] = level;
        if (!*level) return bad(err, text, "a level is empty");
        for (int i = 0; i + 1 < v->n_levels; i++)
            if (strcmp(v->levels[i], level) == 0) return bad(err, text, "a level is named twice");
        if (!*p) break;
        if (*p++ != ',') return bad(err, text, "after a quoted level a comma is expected");
    }
    return v->n_levels > 1 ? GPM_OK : bad(err, text, "expected a range lo:hi or levels a,b,..");
}

/* Levels in order: whole numbers with names. */
static enum gpm_status parse_ordered(struct bo_var *v, const char *text, const char *p,
                                     struct buf *err) {
    v->integer = true;
    v->lo = 0;
    v->hi = -1;
    for (;; p++) {
        size_t n = strcspn(p, "<");
        v->labels = mem_realloc(v->labels, sizeof(char *) * (size_t)(v->hi + 2));
        char *label = v->labels[(int)++v->hi] = trimmed(p, n);
        if (!*label) return bad(err, text, "a level is empty");
        for (int i = 0; i < (int)v->hi; i++)
            if (strcmp(v->labels[i], label) == 0) return bad(err, text, "a level is named twice");
        p += n;
        if (!*p) return GPM_OK;
    }
}

static int level_of(const struct bo_var *v, const char *name) {
    for (int i = 0; i < v->n_levels; i++)
        if (strcmp(v->levels[i], name) == 0) return i;
    return -1;
}

/* category '=' level (',' level)*, of the last variable */
static enum gpm_status parse_when(struct bo_space *s, const char *text, const char *p,
                                  struct buf *err) {
    struct bo_var *v = &s->vars[s->n - 1];
    const char *eq = strchr(p, '=');
    size_t len = eq ? (size_t)(eq - p) : 0;
    for (int j = 0; j + 1 < s->n; j++)
        if (strlen(s->vars[j].name) == len && memcmp(s->vars[j].name, p, len) == 0) v->parent = j;
    if (!eq || v->parent < 0 || !s->vars[v->parent].n_levels)
        return bad(err, text,
                   "after 'when' a category given before is expected, as in when kind=a,b");
    const struct bo_var *parent = &s->vars[v->parent];
    v->when = mem_zalloc(sizeof(bool) * (size_t)parent->n_levels);
    for (p = eq; *p;) {
        p++;
        char *name = read_level(&p);
        int level = name ? level_of(parent, name) : -1;
        mem_free(name);
        if (level < 0)
            return bad(err, text, "after 'when' there is a level that the category has not");
        v->when[level] = true;
        if (*p && *p != ',') return bad(err, text, "unexpected text after 'when'");
    }
    return GPM_OK;
}

static bool is_named(const struct bo_space *s, const char *name, size_t n) {
    for (int j = 0; j < s->n; j++)
        if (strlen(s->vars[j].name) == n && memcmp(s->vars[j].name, name, n) == 0) return true;
    return false;
}

/* names '=' ('shares' | 'order'): variables that belong together. */
static enum gpm_status add_group(struct bo_space *s, const char *text, const char *eq,
                                 struct buf *err) {
    int before = s->n, count = 1;
    enum gpm_status st = GPM_OK;
    for (const char *p = text; p < eq; p++) count += *p == ',';
    for (const char *p = text; p < eq && !st;) {
        size_t n = strcspn(p, ",=");
        if (!valid_name(p, n))
            st = bad(err, text, "names are letters, digits and _, at most 60");
        else if (is_named(s, p, n))
            st = bad(err, text, "there is a variable of this name already");
        if (st) break;
        struct bo_var *v = new_var(s, p, n);
        v->group = s->n_groups + 1;
        v->shares = strcmp(eq, "=shares") == 0;
        v->integer = !v->shares;
        v->lo = v->shares ? 0 : 1;
        v->hi = v->shares ? 1 : count;
        p += n + 1;
    }
    if (!st && count < 2) st = bad(err, text, "at least two names are expected");
    if (!st) s->n_groups++;
    while (st && s->n > before) var_release(&s->vars[--s->n]);
    number_places(s);
    return st;
}

/* One variable, its condition (or NULL) apart. */
static enum gpm_status add(struct bo_space *s, const char *text, const char *when,
                           struct buf *err) {
    const char *eq = strchr(text, '=');
    size_t len = eq ? (size_t)(eq - text) : 0;
    if (!eq || !valid_name(text, len))
        return bad(
            err, text,
            "expected name=lo:hi or name=a,b,c; names are letters, digits and _, at most 60");
    if (is_named(s, text, len)) return bad(err, text, "there is a variable of this name already");
    struct bo_var *v = new_var(s, text, len);
    const char *mark = strpbrk(eq, ":\""); /* a colon in quotes makes no range */
    bool range = mark && *mark == ':', ordered = !mark && strchr(eq, '<') && !strchr(eq, ',');
    enum gpm_status st = range     ? parse_range(v, text, eq + 1, err)
                         : ordered ? parse_ordered(v, text, eq + 1, err)
                                   : parse_levels(v, text, eq + 1, err);
    if (!st && v->fidelity && !(v->lo > 0)) st = bad(err, text, "a fidelity is above 0");
    if (!st && v->fidelity && when) st = bad(err, text, "a fidelity always matters");
    for (int j = 0; !st && v->fidelity && j + 1 < s->n; j++)
        if (s->vars[j].fidelity) st = bad(err, text, "there is a fidelity already");
    if (!st && when) st = parse_when(s, text, when, err);
    if (st) var_release(&s->vars[--s->n]);
    number_places(s);
    return st;
}

/* Where the word stands outside of quotes. */
static const char *find_word(const char *text, const char *word) {
    bool quoted = false;
    for (const char *p = text; *p; p++) {
        if (!quoted && strncmp(p, word, strlen(word)) == 0) return p;
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
    }
    return NULL;
}

enum gpm_status bo_space_add(struct bo_space *s, const char *text, struct buf *err) {
    static const char word[] = " when ", rule[] = "rule ";
    const char *when = find_word(text, word), *eq = strchr(text, '=');
    if (strncmp(text, rule, strlen(rule)) == 0) return bo_rule_add(s, text + strlen(rule), err);
    if (eq && (strcmp(eq, "=shares") == 0 || strcmp(eq, "=order") == 0))
        return add_group(s, text, eq, err);
    if (!when) return add(s, text, NULL, err);
    char *first = mem_strndup(text, (size_t)(when - text));
    enum gpm_status st = add(s, first, when + strlen(word), err);
    mem_free(first);
    return st;
}

static void put_range(const struct bo_var *v, struct buf *out) {
    buf_number(out, v->lo);
    buf_putc(out, ':');
    buf_number(out, v->hi);
}

/* The levels (those chosen, NULL: all), in quotes where one needs them: the first then says that
 * these are levels. */
static void put_levels(const struct bo_var *v, const bool *chosen, struct buf *out) {
    bool quote = false;
    const char *sep = "";
    for (int i = 0; i < v->n_levels; i++) quote |= strpbrk(v->levels[i], ",:\"\n\r ") != NULL;
    for (int i = 0; i < v->n_levels; i++) {
        if (chosen && !chosen[i]) continue;
        buf_puts(out, sep);
        sep = ",";
        if (quote)
            buf_json_string(out, v->levels[i], strlen(v->levels[i]));
        else
            buf_puts(out, v->levels[i]);
    }
}

void bo_space_text(const struct bo_space *s, struct buf *out) {
    for (int j = 0; j < s->n; j++) {
        const struct bo_var *v = &s->vars[j];
        buf_puts(out, v->name);
        if (v->group && j + 1 < s->n && s->vars[j + 1].group == v->group) {
            buf_putc(out, ',');
            continue;
        }
        buf_puts(out, v->shares ? "=shares" : v->group ? "=order" : "=");
        put_levels(v, NULL, out);
        for (int i = 0; v->labels && i <= (int)v->hi; i++)
            buf_printf(out, "%s%s", i ? "<" : "", v->labels[i]);
        if (!v->n_levels && !v->labels && !v->group) {
            put_range(v, out);
            buf_printf(out, "%s%s%s", v->log ? ":log" : "", v->integer ? ":int" : "",
                       v->fidelity ? ":fidelity" : "");
        }
        if (v->parent >= 0) {
            buf_printf(out, " when %s=", s->vars[v->parent].name);
            put_levels(&s->vars[v->parent], v->when, out);
        }
        buf_putc(out, '\n');
    }
    for (int i = 0; i < s->n_rules; i++) buf_printf(out, "rule %s\n", bo_rule_text(s, i));
}

enum gpm_status bo_space_parse(struct bo_space *s, const char *text, struct buf *err) {
    *s = (struct bo_space){0};
    enum gpm_status st = GPM_OK;
    while (*text && !st) {
        size_t n = strcspn(text, "\n");
        char *line = mem_strndup(text, n);
        if (n) st = bo_space_add(s, line, err);
        mem_free(line);
        text += n + (text[n] != 0);
    }
    if (st) bo_space_release(s);
    return st;
}

static double clamp01(double t) {
    return t > 0 ? (t < 1 ? t : 1) : 0;
}

static double var_to_unit(const struct bo_var *v, double x) {
    if (v->hi == v->lo) return 0;
    if (v->log) return clamp01(log(x / v->lo) / log(v->hi / v->lo));
    return clamp01((x - v->lo) / (v->hi - v->lo));
}

static double var_from_unit(const struct bo_var *v, double u) {
    double x = v->log ? v->lo * pow(v->hi / v->lo, u) : v->lo + u * (v->hi - v->lo);
    if (v->integer) x = rint(x);
    return fmin(v->hi, fmax(v->lo, x));
}

void bo_space_to_unit(const struct bo_space *s, const double *x, double *u) {
    for (int j = 0; j < s->n; j++) {
        const struct bo_var *v = &s->vars[j];
        u[v->at] = v->n_levels ? x[j] : var_to_unit(v, x[j]);
    }
    for (int j = 0; j < s->n; j++) { /* whatever was told for what means nothing */
        const struct bo_var *v = &s->vars[j];
        if (v->parent >= 0 && !bo_space_active(s, u, v->at)) u[v->at] = v->n_levels ? 0 : 0.5;
    }
}

void bo_space_from_unit(const struct bo_space *s, const double *u, double *x) {
    for (int j = 0; j < s->n; j++) {
        const struct bo_var *v = &s->vars[j];
        x[j] = v->n_levels ? u[v->at] : var_from_unit(v, u[v->at]);
    }
}

bool bo_space_active(const struct bo_space *s, const double *u, int k) {
    for (int j = s->var_at[k]; s->vars[j].parent >= 0; j = s->vars[j].parent) {
        const struct bo_var *parent = &s->vars[s->vars[j].parent];
        double level = u[parent->at];
        if (!(level >= 0 && level < parent->n_levels) || !s->vars[j].when[(int)level]) return false;
    }
    return true;
}

double bo_space_relaxed(const struct bo_space *s, int k, double u) {
    const struct bo_var *v = &s->vars[s->var_at[k]];
    return v->log ? v->lo * pow(v->hi / v->lo, u) : v->lo + u * (v->hi - v->lo);
}

int bo_space_partner(const struct bo_space *s, int k, int from) {
    const struct bo_var *v = &s->vars[s->var_at[k]];
    for (int i = from; v->group && !v->shares && i < s->d; i++)
        if (i != k && s->vars[s->var_at[i]].group == v->group) return i;
    return -1;
}

/* Shares are divided by their sum; the places of an order follow its numbers, ties in the order of
 * the variables. */
static void snap_group(const struct bo_space *s, int group, double *u) {
    double sum = 0;
    int n = 0;
    for (int k = 0; k < s->d; k++)
        if (s->vars[s->var_at[k]].group == group) sum += u[k], n++;
    for (int k = 0; k < s->d; k++) {
        const struct bo_var *v = &s->vars[s->var_at[k]];
        if (v->group == group && v->shares) u[k] = sum > 0 ? u[k] / sum : 1.0 / n;
    }
    for (int place = 0; place < n; place++) { /* numbers that have their place are above 1 */
        int least = -1;
        for (int k = 0; k < s->d; k++) {
            const struct bo_var *v = &s->vars[s->var_at[k]];
            if (v->group != group || v->shares || u[k] >= 2) continue;
            if (least < 0 || u[k] < u[least]) least = k;
        }
        if (least >= 0) u[least] = 2 + (double)place / (n - 1);
    }
    for (int k = 0; k < s->d; k++)
        if (s->vars[s->var_at[k]].group == group && u[k] >= 2) u[k] -= 2;
}

void bo_space_snap(const struct bo_space *s, double *u) {
    for (int k = 0; k < s->n; k++) {
        const struct bo_var *v = &s->vars[s->var_at[k]];
        if (v->parent >= 0 && !bo_space_active(s, u, k)) u[k] = k < s->d ? 0.5 : 0;
        if (k >= s->d) continue;
        u[k] = clamp01(u[k]);
        if (v->integer && !v->group) u[k] = var_to_unit(v, var_from_unit(v, u[k]));
    }
    for (int g = 1; g <= s->n_groups; g++) snap_group(s, g, u);
}

int bo_space_fidelity(const struct bo_space *s) {
    for (int k = 0; k < s->d; k++)
        if (s->vars[s->var_at[k]].fidelity) return k;
    return -1;
}

bool bo_space_is_integer(const struct bo_space *s, int k) {
    return s->vars[s->var_at[k]].integer;
}

int bo_space_levels(const struct bo_space *s, int k) {
    return s->vars[s->var_at[k]].n_levels;
}

bool bo_space_step(const struct bo_space *s, double *u, int k, int dir) {
    const struct bo_var *v = &s->vars[s->var_at[k]];
    double x = var_from_unit(v, u[k]) + dir;
    if (x < v->lo || x > v->hi) return false;
    u[k] = var_to_unit(v, x);
    return true;
}

bool bo_space_inside(const struct bo_space *s, const double *x) {
    for (int j = 0; j < s->n; j++) {
        const struct bo_var *v = &s->vars[j];
        if (v->n_levels ? !(x[j] >= 0 && x[j] < v->n_levels && x[j] == floor(x[j]))
                        : !(x[j] >= v->lo && x[j] <= v->hi))
            return false;
        if (v->integer && x[j] != rint(x[j])) return false;
    }
    for (int g = 1; g <= s->n_groups; g++) {
        double sum = 0, square = 0, n = 0;
        bool shares = false;
        for (int j = 0; j < s->n; j++) {
            if (s->vars[j].group != g) continue;
            shares = s->vars[j].shares;
            sum += x[j], square += x[j] * x[j], n++;
        }
        if (shares ? fabs(sum - 1) > 1e-9
                   : sum != n * (n + 1) / 2 || square != n * (n + 1) * (2 * n + 1) / 6)
            return false;
    }
    return true;
}

double bo_space_size(const struct bo_space *s) {
    double size = 1;
    for (int j = 0; j < s->n; j++) {
        const struct bo_var *v = &s->vars[j];
        size *= v->n_levels ? v->n_levels : v->integer ? v->hi - v->lo + 1 : INFINITY;
    }
    return size;
}

void bo_space_value(const struct bo_space *s, int j, double x, int digits, struct buf *out) {
    const struct bo_var *v = &s->vars[j];
    if (x >= 0 && x < v->n_levels)
        buf_puts(out, v->levels[(int)x]);
    else if (v->labels && x >= 0 && x <= v->hi && x == floor(x))
        buf_puts(out, v->labels[(int)x]);
    else if (v->integer && x == rint(x) &&
             fabs(x) < 1e18) /* 3e+15 is no whole number for most programs */
        buf_printf(out, "%.0f", x);
    else if (digits && !v->n_levels)
        buf_printf(out, "%.*g", digits, x);
    else
        buf_number(out, x);
}

enum gpm_status bo_space_read(const struct bo_space *s, int j, const char *text, double *x,
                              struct buf *err) {
    const struct bo_var *v = &s->vars[j];
    int level = level_of(v, text);
    if (level >= 0) {
        *x = level;
        return GPM_OK;
    }
    for (int i = 0; v->labels && i <= (int)v->hi; i++)
        if (strcmp(v->labels[i], text) == 0) {
            *x = i;
            return GPM_OK;
        }
    double value;
    if (v->n_levels || v->labels)
        return buf_fail(err, GPM_E_ARG, "variable '%s': '%s' is not one of its levels", v->name,
                        text);
    if (!number_parse(text, strlen(text), &value) || !isfinite(value))
        return buf_fail(err, GPM_E_ARG, "variable '%s': '%s' is not a number", v->name, text);
    if (value < v->lo || value > v->hi) {
        buf_printf(err, "variable '%s': %s is outside its range ", v->name, text);
        put_range(v, err);
        return GPM_E_ARG;
    }
    if (v->integer && value != rint(value))
        return buf_fail(err, GPM_E_ARG, "variable '%s': %s is not a whole number", v->name, text);
    *x = value;
    return GPM_OK;
}

enum gpm_status bo_space_read_quoted(const struct bo_space *s, int j, const char *text, double *x,
                                     struct buf *err) {
    const char *end = text;
    char *level = *text == '"' ? read_level(&end) : NULL;
    enum gpm_status st = bo_space_read(s, j, level && !*end ? level : text, x, err);
    mem_free(level);
    return st;
}
