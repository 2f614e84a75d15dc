/* SPDX-License-Identifier: Apache-2.0
 *
 * Public face of the optimiser (include/gpmem/optimize.h).
 */
#include "gpmem/optimize.h"
#include "front/api/call.h"
#include "front/api/voice.h"
#include "base/count.h"
#include "apps/optimize/bo_rules.h"
#include "apps/optimize/optimize.h"
#include <math.h>

struct gpm_optimizer {
    struct optimize *o;
    HANDLE;
};

static const struct gpm_optimize_options default_options = {.seed = 1, .mcmc = -1, .jobs = 1};

void gpm_optimize_options_init_sized(struct gpm_optimize_options *o, size_t size) {
    options_give(o, size, &default_options, sizeof default_options);
}

gpm_optimizer *gpm_optimizer_new(const struct gpm_optimize_options *given) {
    struct gpm_optimize_options full = default_options;
    options_take(&full, sizeof full, given);
    gpm_optimizer *o = HANDLE_NEW(gpm_optimizer);
    o->o = optimize_new(&full);
    return o;
}

void gpm_optimizer_free(gpm_optimizer *o) {
    if (!o || !call_enter(&o->busy)) return;
    optimize_free(o->o);
    HANDLE_FREE(o);
}

const char *gpm_optimizer_error(const gpm_optimizer *o) {
    CALL_SAYS((gpm_optimizer *)o);
    return voice_error((struct buf *)&o->err); /* the same text in the caller's words */
}

enum gpm_status gpm_optimizer_variable(gpm_optimizer *o, const char *text) {
    CALL_GIVES(o, bo_space_add(&o->o->space, text, &o->err));
}

enum gpm_status gpm_optimizer_command(gpm_optimizer *o, int argc, char *const *argv) {
    CALL_GIVES(o, optimize_command(o->o, argv, argc, &o->err));
}

void gpm_optimizer_function(gpm_optimizer *o, const char *identity, gpm_objective *f, void *user) {
    CALL_ALONE(o, );
    optimize_function(o->o, identity, f, user);
}

enum gpm_status gpm_optimizer_open(gpm_optimizer *o) {
    const struct gpm_optimize_options *opt = &o->o->opt;
    CALL_BEGIN(o, st);
    if (!st) st = count_check(COUNT_JOBS, "--jobs", opt->jobs, &o->err);
    if (!st) st = count_check(COUNT_INITIAL, "--initial", (uint64_t)opt->initial, &o->err);
    if (!st) st = count_check(COUNT_RETRIES, "--retries", (uint64_t)opt->retries, &o->err);
    if (!st && (opt->mcmc < -1 || opt->mcmc > 1 || (unsigned)opt->acquisition > GPM_ACQ_UCB))
        st = buf_fail(&o->err, GPM_E_ARG, "there is no such acquisition, or mcmc (-1, 0, 1)");
    return st ? st : optimize_open(o->o, &o->err);
}

enum gpm_status gpm_optimizer_run(gpm_optimizer *o) {
    CALL_GIVES(o, optimize_run(o->o, &o->err));
}

enum gpm_status gpm_optimizer_ask(gpm_optimizer *o, double *x, int64_t *id) {
    CALL_GIVES(o, optimize_ask(o->o, x, id, &o->err));
}

enum gpm_status gpm_optimizer_tell_all(gpm_optimizer *o, int64_t id, const double *y) {
    CALL_GIVES(o, optimize_tell(o->o, id, y, &o->err));
}

enum gpm_status gpm_optimizer_tell_all_at(gpm_optimizer *o, const double *x, const double *y) {
    CALL_GIVES(o, optimize_tell_at(o->o, x, y, &o->err));
}

/* One number where several are asked for tells a failure only. */
static enum gpm_status one_number(gpm_optimizer *o, double *y) {
    int n = goals_count(&o->o->goals);
    CALL_BEGIN(o, st);
    if (st || n == 1 || !isfinite(*y)) return st;
    return buf_fail(&o->err, GPM_E_ARG, "an evaluation gives %d numbers here, not one", n);
}

enum gpm_status gpm_optimizer_tell(gpm_optimizer *o, int64_t id, double y) {
    enum gpm_status st = one_number(o, &y);
    return st ? st : gpm_optimizer_tell_all(o, id, isfinite(y) ? &y : NULL);
}

enum gpm_status gpm_optimizer_tell_at(gpm_optimizer *o, const double *x, double y) {
    enum gpm_status st = one_number(o, &y);
    return st ? st : gpm_optimizer_tell_all_at(o, x, isfinite(y) ? &y : NULL);
}

enum gpm_status gpm_optimizer_start(gpm_optimizer *o, const char *text) {
    CALL_GIVES(o, optimize_start(o->o, text, &o->err));
}

enum gpm_status gpm_optimizer_objective(gpm_optimizer *o, const char *text) {
    CALL_GIVES(o, goals_objective(&o->o->goals, text, o->o->opt.maximize, &o->err));
}

enum gpm_status gpm_optimizer_constraint(gpm_optimizer *o, const char *text) {
    CALL_BEGIN(o, st);
    if (st) return st;
    if (bo_rule_is(&o->o->space, text)) return bo_rule_add(&o->o->space, text, &o->err);
    return goals_bound(&o->o->goals, text, &o->err);
}

enum gpm_status gpm_optimizer_collect(gpm_optimizer *o, const char *text) {
    CALL_GIVES(o, goals_collect(&o->o->goals, text, &o->err));
}

enum gpm_status gpm_optimizer_read_output(gpm_optimizer *o, const char *pattern) {
    CALL_GIVES(o, goals_pattern(&o->o->goals, pattern, &o->err));
}

size_t gpm_optimizer_outputs(const gpm_optimizer *o) {
    return (size_t)goals_count(&o->o->goals);
}

const char *gpm_optimizer_output(const gpm_optimizer *o, size_t k) {
    return k < gpm_optimizer_outputs(o) ? goals_name(&o->o->goals, (int)k) : "";
}

size_t gpm_optimizer_dim(const gpm_optimizer *o) {
    return (size_t)o->o->space.n;
}

const char *gpm_optimizer_name(const gpm_optimizer *o, size_t j) {
    return j < gpm_optimizer_dim(o) ? o->o->space.vars[j].name : "";
}

const char *gpm_optimizer_value(gpm_optimizer *o, size_t j, double x) {
    CALL_ALONE(o, "");
    buf_reset(&o->out);
    if (j < gpm_optimizer_dim(o)) bo_space_value(&o->o->space, (int)j, x, 0, &o->out);
    return o->out.data;
}

enum gpm_status gpm_optimizer_read(gpm_optimizer *o, size_t j, const char *text, double *x) {
    if (j >= gpm_optimizer_dim(o)) return GPM_E_ARG;
    CALL_GIVES(o, bo_space_read(&o->o->space, (int)j, text, x, &o->err));
}

size_t gpm_optimizer_count(const gpm_optimizer *o) {
    return o->o->trace.n;
}

bool gpm_optimizer_best_all(const gpm_optimizer *o, double *x, double *y, bool *feasible) {
    CALL_ALONE((gpm_optimizer *)o, false);
    bool any = optimize_best(o->o, x, y);
    *feasible = any && goals_met(&o->o->goals, y);
    return any;
}

bool gpm_optimizer_best(const gpm_optimizer *o, double *x, double *y) {
    CALL_ALONE((gpm_optimizer *)o, false);
    int first;
    double *all = NEW_ARRAY(double, gpm_optimizer_outputs(o));
    bool any = optimize_best(o->o, x, all);
    goals_objectives(&o->o->goals, &first);
    *y = all[first];
    mem_free(all);
    return any;
}

bool gpm_optimizer_recommend(gpm_optimizer *o, double *x, double *mean, double *sd) {
    CALL_ALONE(o, false);
    return bo_recommend(o->o->bo, x, mean, sd);
}

const char *gpm_optimizer_report(gpm_optimizer *o, enum gpm_optimize_format f) {
    CALL_ALONE(o, "");
    buf_reset(&o->out);
    if (f == GPM_OPTIMIZE_JSON)
        optimize_report_json(o->o, &o->out);
    else
        optimize_report(o->o, f == GPM_OPTIMIZE_HTML ? DOC_HTML : DOC_TEXT, &o->out);
    return voice_text(&o->out);
}
