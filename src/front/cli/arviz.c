/* SPDX-License-Identifier: Apache-2.0
 *
 * See arviz.h. Columns a.1, a.2, ... of a run are one variable a, and m.1.1, m.2.1, ... a matrix:
 * the indices of the last element are its shape.
 */
#include "front/cli/arviz.h"
#include "base/mem.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = 2 };

/* A column: element `index` (from 1) of the variable called by the first `base` bytes of its name.
 */
struct element {
    size_t base, dims;
    size_t index[MAX_DIMS];
};

static struct element element_of(const char *name) {
    struct element e = {.base = strlen(name)};
    size_t from = strcspn(name, ".");
    const char *p = name + from;
    struct element found = {.base = from};
    while (*p == '.' && isdigit((unsigned char)p[1]) && found.dims < MAX_DIMS) {
        char *end;
        found.index[found.dims++] = (size_t)strtoull(p + 1, &end, 10);
        p = end;
    }
    return from && !*p && found.dims ? found : e;
}

/* A variable: columns first .. first + n - 1. */
struct variable {
    size_t first, n;
    size_t dims, shape[MAX_DIMS];
};

static struct variable variable_at(const gpm_draws *d, size_t first) {
    const char *name = gpm_draws_name(d, first);
    struct element e = element_of(name);
    struct variable v = {first, 1, e.dims, {0}};
    for (size_t k = 0; k < e.dims; k++) v.shape[k] = e.index[k];
    for (size_t j = first + 1; e.dims && j < gpm_draws_columns(d); j++, v.n++) {
        const char *other = gpm_draws_name(d, j);
        struct element o = element_of(other);
        if (o.dims != e.dims || o.base != e.base || memcmp(other, name, e.base) != 0) break;
        for (size_t k = 0; k < e.dims; k++)
            if (o.index[k] > v.shape[k]) v.shape[k] = o.index[k];
    }
    size_t all = 1;
    for (size_t k = 0; k < v.dims; k++) all *= v.shape[k];
    if (v.dims && all != v.n) v = (struct variable){first, 1, 0, {0}}; /* not a whole array */
    return v;
}

static json_t *number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

/* One draw of a variable; the files keep matrices column by column, an array has rows of rows. */
static json_t *draw_of(const gpm_draws *d, size_t chain, size_t row, const struct variable *v) {
    if (!v->dims) return number(gpm_draws_at(d, chain, row, v->first));
    json_t *all = json_array();
    for (size_t i = 0; i < v->shape[0]; i++) {
        if (v->dims == 1) {
            json_array_append_new(all, number(gpm_draws_at(d, chain, row, v->first + i)));
            continue;
        }
        json_t *line = json_array();
        for (size_t j = 0; j < v->shape[1]; j++)
            json_array_append_new(
                line, number(gpm_draws_at(d, chain, row, v->first + j * v->shape[0] + i)));
        json_array_append_new(all, line);
    }
    return all;
}

static json_t *all_draws(const gpm_draws *d, const struct variable *v) {
    json_t *chains = json_array();
    for (size_t c = 0; c < gpm_draws_chains(d); c++) {
        json_t *draws = json_array();
        for (size_t r = 0; r < gpm_draws_rows(d); r++)
            json_array_append_new(draws, draw_of(d, c, r, v));
        json_array_append_new(chains, draws);
    }
    return chains;
}

/* What ArviZ calls the columns of samplers, whose names here are Stan's. */
static const char *const sampler_names[][2] = {
    {"lp__", "lp"},
    {"accept_stat__", "acceptance_rate"},
    {"stepsize__", "step_size"},
    {"treedepth__", "tree_depth"},
    {"n_leapfrog__", "n_steps"},
    {"divergent__", "diverging"},
    {"energy__", "energy"},
    {"log_weight__", "log_weight"},
};

static const char *stat_name(const char *name) {
    for (size_t i = 0; i < COUNT_OF(sampler_names); i++)
        if (!strcmp(name, sampler_names[i][0])) return sampler_names[i][1];
    return name;
}

static const char *const group_names[] = {
    [GPM_DRAWS_POSTERIOR] = "posterior",    [GPM_DRAWS_SAMPLER] = "sample_stats",
    [GPM_DRAWS_LOG_LIK] = "log_likelihood", [GPM_DRAWS_REPLICATE] = "posterior_predictive",
    [GPM_DRAWS_OBSERVED] = "observed_data",
};

static void add_variable(json_t *groups, const char *group, const char *name, json_t *value) {
    json_t *g = json_object_get(groups, group);
    if (!g) {
        g = json_object();
        json_object_set_new(groups, group, g);
    }
    json_object_set_new(g, name, value);
}

static json_t *as_booleans(json_t *chains) {
    json_t *draws;
    for (size_t c = 0; c < json_array_size(chains); c++) {
        draws = json_array_get(chains, c);
        for (size_t r = 0; r < json_array_size(draws); r++)
            json_array_set_new(draws, r, json_boolean(json_real_value(json_array_get(draws, r))));
    }
    return chains;
}

static void add_groups(json_t *groups, const gpm_draws *d, bool prior) {
    struct variable v;
    for (size_t j = 0; j < gpm_draws_columns(d); j += v.n) {
        const char *column = gpm_draws_name(d, j);
        enum gpm_draws_group g = gpm_draws_group_of(column);
        v = variable_at(d, j);
        char *name = mem_strndup(column, v.dims ? strcspn(column, ".") : strlen(column));
        const char *group = !prior                     ? group_names[g]
                            : g == GPM_DRAWS_POSTERIOR ? "prior"
                            : g == GPM_DRAWS_REPLICATE ? "prior_predictive"
                                                       : NULL;
        if (group && g == GPM_DRAWS_OBSERVED)
            add_variable(groups, group, "y", draw_of(d, 0, 0, &v));
        else if (group && g == GPM_DRAWS_SAMPLER) {
            json_t *x = all_draws(d, &v);
            bool truth = !strcmp(name, "divergent__");
            add_variable(groups, group, stat_name(name), truth ? as_booleans(x) : x);
        } else if (group)
            add_variable(groups, group, g == GPM_DRAWS_POSTERIOR ? name : "y", all_draws(d, &v));
        mem_free(name);
    }
}

json_t *arviz_groups(const gpm_draws *d, const gpm_draws *prior, const struct run_facts *facts) {
    json_t *groups = json_object();
    if (gpm_draws_rows(d)) add_groups(groups, d, false);
    if (prior && gpm_draws_rows(prior)) add_groups(groups, prior, true);
    json_object_set_new(groups, "attrs",
                        json_pack("{s:s, s:s, s:I}", "inference_library", "gpmem",
                                  "inference_library_version", facts->version, "seed",
                                  facts->seed));
    return groups;
}
