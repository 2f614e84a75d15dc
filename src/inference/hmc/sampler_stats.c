/* SPDX-License-Identifier: Apache-2.0
 *
 * See sampler_stats.h.
 */
#include "inference/hmc/sampler_stats.h"
#include "inference/run/infer.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

const char *const sampler_names[SAMPLER_COLUMNS] = {"accept_stat__", "stepsize__",  "treedepth__",
                                                    "n_leapfrog__",  "divergent__", "energy__"};

/* E-BFMI (Betancourt 2016): mean squared change of the energy over its variance. New momenta change
 * the energy at each transition. If that change is small compared with the whole range, the chain
 * moves slowly through the levels of the posterior and may have missed some. Mean and spread by
 * Welford's rule. */
static void note_energy(struct sampler_totals *t, double e) {
    t->energies++;
    if (t->energies > 1) t->e_steps += (e - t->e_last) * (e - t->e_last);
    double d = e - t->e_mean;
    t->e_last = e;
    t->e_mean += d / t->energies;
    t->e_m2 += d * (e - t->e_mean);
}

void sampler_note(struct infer_state *x, struct sampler_totals *of, const struct sampler_end *end) {
    struct sampler_stats *all = sampler_stats_of(x);
    of->stepsize = end->row.stepsize;
    bool diverged = all->fresh && !all->warm && all->last.divergent > 0;
    all->last = end->row;
    if (diverged) all->last.divergent = 1;
    all->fresh = true;
    all->warm = end->warm;
    if (end->warm) {
        of->warmup++;
        of->warmup_leapfrogs += end->row.n_leapfrog;
        return;
    }
    of->transitions++;
    of->leapfrogs += end->row.n_leapfrog;
    of->moved += end->moved;
    of->divergences += end->row.divergent;
    of->deep += end->deep;
    of->accept_sum += end->row.accept_stat;
    of->depth_sum += end->row.treedepth;
    note_energy(of, end->row.energy);
}

bool sampler_take(struct infer_state *x, union sampler_draw *out) {
    struct sampler_stats *all = sampler_stats_of(x);
    bool fresh = all->fresh;
    *out = all->last;
    all->fresh = false;
    return fresh;
}

/* NaN, which fmin ignores, if there are too few transitions. */
static double ebfmi_of(const struct sampler_totals *t) {
    return t->energies >= SAMPLER_EBFMI_DRAWS && t->e_m2 > 0 ? t->e_steps / t->e_m2 : NAN;
}

struct sampler_summary sampler_summarise(const struct infer_state *x) {
    const struct sampler_stats *all = sampler_stats_of(x);
    struct sampler_summary s = {
        .ebfmi = NAN, .stepsize = all->last.stepsize, .restarts = all->redrawn};
    double accepted = 0, depths = 0;
    for (const struct sampler_totals *t = all->first; t; t = t->next) {
        s.warmup += t->warmup;
        s.warmup_leapfrogs += t->warmup_leapfrogs;
        s.transitions += t->transitions;
        s.leapfrogs += t->leapfrogs;
        s.moved += t->moved;
        s.divergences += t->divergences;
        s.deep += t->deep;
        s.restarts += t->restarts;
        s.rebuilt += t->rebuilt;
        accepted += t->accept_sum;
        depths += t->depth_sum;
        s.stuck |= t->transitions >= SAMPLER_STUCK && t->moved == 0;
        s.ebfmi = fmin(ebfmi_of(t), s.ebfmi);
    }
    s.accept_stat = accepted / s.transitions;
    s.treedepth = depths / s.transitions;
    return s;
}

void sampler_mark(struct infer_state *x) {
    for (struct sampler_totals *t = sampler_stats_of(x)->first; t; t = t->next) {
        t->marked_transitions = t->transitions;
        t->marked_moved = t->moved;
        t->marked_divergences = t->divergences;
        t->marked_deep = t->deep;
    }
}

/* The figures for warnings, over targets with transitions since the mark. */
struct sampler_summary sampler_since_mark(const struct infer_state *x) {
    struct sampler_summary s = {.ebfmi = NAN};
    for (const struct sampler_totals *t = sampler_stats_of(x)->first; t; t = t->next) {
        double made = t->transitions - t->marked_transitions;
        s.divergences += t->divergences - t->marked_divergences;
        s.deep += t->deep - t->marked_deep;
        s.stuck |= made >= SAMPLER_STUCK && t->moved == t->marked_moved;
        if (made > 0) s.ebfmi = fmin(ebfmi_of(t), s.ebfmi);
    }
    return s;
}

const char *sampler_fact(const struct sampler_summary *s, size_t i, double *out) {
#define FACT(name, field)                                                                          \
    { name, offsetof(struct sampler_summary, field) }
    static const struct {
        const char *name;
        size_t offset;
    } facts[] = {
        FACT("warmup", warmup),
        FACT("warmup_leapfrogs", warmup_leapfrogs),
        FACT("transitions", transitions),
        FACT("leapfrogs", leapfrogs),
        FACT("moved", moved),
        FACT("divergences", divergences),
        FACT("max_depth_hit", deep),
        FACT("restarts", restarts),
        FACT("accept_stat", accept_stat),
        FACT("treedepth", treedepth),
        FACT("stepsize", stepsize),
        FACT("ebfmi", ebfmi),
    };
#undef FACT
    if (i >= COUNT_OF(facts)) return NULL;
    memcpy(out, (const char *)s + facts[i].offset, sizeof *out);
    return facts[i].name;
}
