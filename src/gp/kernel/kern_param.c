/* SPDX-License-Identifier: Apache-2.0
 * The flat parameter vector of a kernel: values, names, transforms, default priors. */
#include "gp/kernel/kern_tree.h"

#include "base/mem.h"
#include "numeric/special/special.h"

#include <math.h>
#include <string.h>

size_t kern_nparam(const struct kern *k) {
    return k->total;
}

void kern_params(const struct kern *k, double *theta) {
    for (size_t i = 0; i < k->npar; i++) theta[i] = k->par[i];
    theta += k->npar;
    for (size_t i = 0; i < k->nkids; i++) {
        kern_params(k->kid[i], theta);
        theta += k->kid[i]->total;
    }
}

/* The node with parameter *i; *i becomes the index in that node. */
static const struct kern *owner(const struct kern *k, size_t *i) {
    while (*i >= k->npar) {
        *i -= k->npar;
        const struct kern *next = NULL;
        for (size_t q = 0; q < k->nkids && !next; q++) {
            if (*i < k->kid[q]->total)
                next = k->kid[q];
            else
                *i -= k->kid[q]->total;
        }
        k = next;
    }
    return k;
}

const struct kern_param *kern_param_at(const struct kern *k, size_t i) {
    int c;
    if (i >= k->total) return NULL;
    static const struct kern_param of_callback = {.name = "parameter"};
    const struct kern *o = owner(k, &i);
    if (!o->cls) return &of_callback;
    return &o->cls->par[kern_par_of(o, i, &c)];
}

/* Number of nodes with this symbol whose parameters come before place `target`; *total: all such
 * nodes. */
static int count_before(const struct kern *k, const char *symbol, size_t at, size_t target,
                        int *total) {
    int before = 0;
    if (k->cls && strcmp(k->cls->symbol, symbol) == 0) {
        ++*total;
        if (at < target) before++;
    }
    at += k->npar;
    for (size_t i = 0; i < k->nkids; i++) {
        before += count_before(k->kid[i], symbol, at, target, total);
        at += k->kid[i]->total;
    }
    return before;
}

void kern_param_name(const struct kern *k, size_t i, struct buf *out) {
    size_t at = i;
    int c, total = 0;
    if (i >= k->total) return;
    const struct kern *o = owner(k, &at);
    if (!o->cls) {
        buf_printf(out, "%s.%zu", o->label, at);
        return;
    }
    int before = count_before(k, o->cls->symbol, 0, i - at, &total);
    size_t p = kern_par_of(o, at, &c);
    buf_puts(out, o->cls->symbol);
    if (total > 1) buf_printf(out, "#%d", before + 1);
    buf_printf(out, ".%s", o->cls->par[p].name);
    if (c >= 0) buf_printf(out, "[%d]", c);
}

struct kern *kern_with_params(const struct kern *k, const double *theta, char **why) {
    struct kern *kids[2] = {NULL, NULL}, **all = kids, *out = NULL;
    bool same = k->npar == 0 || memcmp(k->par, theta, k->npar * sizeof *theta) == 0;
    if (k->op == KERN_LEAF)
        return same ? kern_ref(k) : kern_leaf_on(k->cls, theta, k->ard, k->col, k->ncol, why);
    if (k->op == KERN_CALLBACK) { /* `user` holds its parameters */
        if (!same && why) *why = mem_strdup("the parameters of a procedure cannot be set here");
        return same ? kern_ref(k) : NULL;
    }
    const double *rest = theta + k->npar;
    if (k->nkids > 2) all = NEW_ARRAY(struct kern *, k->nkids);
    size_t n = 0;
    for (; n < k->nkids && (all[n] = kern_with_params(k->kid[n], rest, why)); n++) {
        rest += k->kid[n]->total;
        same = same && all[n] == k->kid[n];
    }
    if (n == k->nkids && same)
        out = kern_ref(k); /* unchanged subtrees stay shared */
    else if (n == k->nkids)
        out = k->op == KERN_CHANGE ? kern_change(k->cls, theta, k->col[0], all[0], all[1], why)
                                   : kern_nary(k->op, all, n);
    while (n > 0) kern_unref(all[--n]);
    if (all != kids) mem_free(all);
    return out;
}

/* The log of an amplitude, which may be 0, bounded away from -inf. */
static double safe_log(double v) {
    return log(v > 1e-150 ? v : 1e-150);
}

void kern_unconstrain(const struct kern *k, const double *theta, double *z) {
    for (size_t i = 0; i < k->total; i++) {
        switch (kern_param_at(k, i)->transform) {
        case KERN_T_LOG: z[i] = safe_log(theta[i]); break;
        case KERN_T_LOGIT2: z[i] = safe_log(theta[i]) - safe_log(2 - theta[i]); break;
        default: z[i] = theta[i];
        }
    }
}

void kern_constrain(const struct kern *k, const double *z, double *theta, double *dtheta) {
    for (size_t i = 0; i < k->total; i++) {
        double t = z[i], d = 1;
        switch (kern_param_at(k, i)->transform) {
        case KERN_T_LOG: d = t = exp(fmin(fmax(z[i], -345), 345)); break;
        case KERN_T_LOGIT2:
            t = 2 / (1 + exp(-fmin(fmax(z[i], -345), 345)));
            d = t * (1 - t / 2);
            break;
        case KERN_T_FIXED: d = 0; break;
        default: break;
        }
        theta[i] = t;
        if (dtheta) dtheta[i] = d;
    }
}

static double normal(double z, double mean, double sd, double *slope) {
    double r = (z - mean) / sd;
    *slope = -r / sd;
    return -0.5 * r * r - log(sd) - LOG_SQRT_2PI;
}

double kern_log_scale_prior(const struct kern_param *p, double z, double mean, double *slope) {
    double first = normal(z, mean, p->prior_b, slope), other, share = p->second.share;
    if (share <= 0) return first;
    double second = normal(z, p->second.a, p->second.b, &other) + log(share);
    first += log1p(-share);
    double top = fmax(first, second), a = exp(first - top), b = exp(second - top);
    *slope = (a * *slope + b * other) / (a + b);
    return top + log(a + b);
}
