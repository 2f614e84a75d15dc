/* SPDX-License-Identifier: Apache-2.0
 *
 * Directives in a trace: assume, observe, predict, sample, force, forget, freeze, report. A failing
 * directive leaves the trace unchanged.
 *
 * A record owns one reference to the family of its expression. Names of the model (trace->globals)
 * lead to nodes of those families. Later directives read them through out-edges, which tell forget
 * whether a reader remains. Every change of the set of nodes or choices increments t->structure,
 * which compiled forms compare. */
#include "runtime/trace/scaffold.h"

#include <math.h>
#include <string.h>

uint64_t trace_number(void) {
    static _Atomic uint64_t last;
    return ++last;
}

struct trace *trace_new(struct session_core *core, struct rng rng) {
    struct inner *in = NEW(struct inner);
    struct trace *t = &in->view;
    t->core = core;
    t->rng = rng;
    t->number = trace_number();
    in->next_seq = 1;
    in->kin = NEW(struct lineage);
    in->kin->refs = 1;
    return t;
}

static void record_free(struct trace *t, struct record *r) {
    pvec_release(pool_of(t), &r->names);
    pvec_release(pool_of(t), &r->parts);
    pool_free(pool_of(t), r, sizeof *r);
}

/* For families of directives: drops the directive's reference, and everything that has no other
 * requester. */
static void drop_family(struct trace *t, struct family *f) {
    family_drop(t, f, NULL);
    families_free_dead(t, &f, 1);
}

/* Frees all families without removing single links. Procedures with statistics may still be in use
 * outside the trace, so their data leave them and they forget their makers. */
static void free_families(struct trace *t) {
    if (!inner(t)->makers)
        families_free_all(t);
    else
        for (size_t i = t->records.n; i-- > 0;) /* readers go before what they read */
            drop_family(t, t->records.at[i]->family);
}

/* Frees one layer; returns the layer below if that must be freed, too. */
static struct trace *layer_free(struct trace *t) {
    struct inner *in = inner(t);
    struct trace *below = in->below;
    free_families(t);
    for (size_t i = 0; i < t->records.n; i++) record_free(t, t->records.at[i]);
    for (size_t i = 0; i < t->world.added.n; i++) {
        value_unref(t->world.added.at[i]->key);
        mem_free(t->world.added.at[i]);
    }
    vec_release(&t->world.added);
    pmap_unref(t->world.names);
    pmap_unref(t->world.entries);
    pmap_unref(in->names);
    pmap_unref(in->entries);
    vec_release(&t->records);
    map_release(&t->globals);
    map_release(&in->labels);
    lent_release(&in->lent);
    vec_release(&t->choices);
    scopes_release(t);
    if (in->flats) in->flat_hooks->free(t);
    scaffold_release(in->spare);
    if (!--in->kin->refs) {
        pool_release(&in->kin->pool);
        mem_free(in->kin);
    }
    mem_free(in);
    return below && !--inner(below)->above ? below : NULL;
}

void trace_free(struct trace *t) {
    while (t) t = layer_free(t);
}

void trace_settle(struct trace *t) {
    if (inner(t)->flats) inner(t)->flat_hooks->settle(t);
}

size_t trace_names(const struct trace *t, const char ***out) {
    VEC(const char *) names = {0};
    struct trace **layers;
    size_t n = trace_layers(t, &layers);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < layers[k]->records.n; i++) {
            const struct record *r = layers[k]->records.at[i];
            for (size_t j = 0; j < r->names.n; j++) vec_push(&names, r->names.at[j].name->text);
        }
    mem_free(layers);
    *out = names.at;
    return names.n;
}

static struct record *find_record(struct trace *t, struct sym *label) {
    struct record *r = map_get(&inner(t)->labels, MAP_PTR(label));
    return r ? r : layer_record(t, label);
}

/* A frozen directive gives way to a new one that assumes its name. It is freed once the new one no
 * longer reads it, so a state can be computed from the previous state indefinitely. */
static bool gives_way(const struct record *r) {
    return r->frozen && r->kind == REC_ASSUME;
}

static enum gpm_status check_label(struct trace *t, struct sym *label, bool assumes,
                                   struct span at) {
    struct record *r = label ? find_record(t, label) : NULL;
    if (!r || (assumes && gives_way(r))) return GPM_OK;
    diag_raise(t->core->diags, DIAG_DUPLICATE_LABEL, at, "the label `%s` is in use", label->text);
    diag_add_label(t->core->diags, r->span, "by this directive");
    return diag_set_help(t->core->diags, "forget(quote(%s)) frees it", label->text);
}

static struct record *add_record(struct trace *t, enum record_kind kind, struct sym *label,
                                 struct family *f, struct span at) {
    struct record *r = pool_zalloc(pool_of(t), sizeof *r);
    r->kind = kind;
    r->label = label;
    r->family = f;
    r->span = at;
    vec_push(&t->records, r);
    t->n_directives++;
    if (label) map_put(&inner(t)->labels, MAP_PTR(label), r);
    return r;
}

enum gpm_status trace_name_taken(struct diags *d, const struct sym *name, struct span at,
                                 struct span first) {
    diag_raise(d, DIAG_DUPLICATE_NAME, at, "the name `%s` is assumed already", name->text);
    if (first.unit != NO_SPAN_UNIT) diag_add_label(d, first, "first assumed here");
    return diag_set_help(d, "choose another name, or forget(quote(%s)) or freeze it first",
                         name->text);
}

/* The directive that binds a name; NULL if none does. */
static struct record *find_assumed(const struct trace *t, const struct sym *name) {
    for (const struct trace *l = t; l; l = inner(l)->below)
        for (size_t j = 0; j < l->records.n; j++) {
            struct record *r = l->records.at[j];
            for (size_t k = 0; k < r->names.n; k++)
                if (r->names.at[k].name == name) return r;
        }
    return NULL;
}

/* *again: some of the names belong to directives that give way. */
static enum gpm_status check_names(struct trace *t, struct sym *const *names, size_t n,
                                   struct span at, bool *again) {
    for (size_t i = 0; i < n; i++) {
        if (!world_find(&t->world, names[i])) continue;
        const struct record *r = find_assumed(t, names[i]);
        if (!r || !gives_way(r))
            return trace_name_taken(t->core->diags, names[i], at, r ? r->span : NO_SPAN);
        *again = true;
    }
    return GPM_OK;
}

static void unbind(struct trace *t, const struct record *r) {
    if (r->label && find_record(t, r->label) == r) map_del(&inner(t)->labels, MAP_PTR(r->label));
    for (size_t i = 0; i < r->names.n; i++) map_del(&t->globals, MAP_PTR(r->names.at[i].name));
    t->world.stamp = 0;
}

/* Frees names and label. No other directive's node may still read the family. */
void record_undo(struct trace *t, struct record *r) {
    for (size_t i = 0; i < t->records.n; i++)
        if (t->records.at[i] == r) {
            memmove(&t->records.at[i], &t->records.at[i + 1], (t->records.n - i - 1) * sizeof r);
            t->records.n--;
            break;
        }
    unbind(t, r);
    drop_family(t, r->family);
    record_free(t, r);
}

/* Do other directives read what this family made? Tests it by switching the family off. */
static bool in_use(struct trace *t, struct family *f) {
    family_drop(t, f, NULL);
    bool used = false;
    for (size_t i = 0; i < f->nodes.n; i++)
        used |= f->nodes.at[i]->kind != NODE_CONST && f->nodes.at[i]->n_out > 0;
    family_take(t, f, NULL);
    return used;
}

static bool is_of(const struct record *r, const struct node *n) {
    return n->kind != NODE_CONST && n->family == r->family;
}

/* Does a name of another directive refer to a node of this one? */
static bool is_shared(struct trace *t, const struct record *r) {
    for (size_t i = 0; i < t->records.n; i++) {
        const struct record *q = t->records.at[i];
        if (q == r) continue;
        for (uint32_t k = 0; k < record_size(q); k++)
            if (is_of(r, recorded_root((struct recorded){q, k}))) return true;
        for (size_t k = 0; k < q->names.n; k++)
            if (is_of(r, q->names.at[k].node)) return true;
    }
    return false;
}

/* Frees frozen directives whose names were assumed again once they have no reader. */
static void drop_unread(struct trace *t) {
    for (size_t i = t->records.n; i-- > 0;) {
        struct record *r = t->records.at[i];
        bool left = r->frozen && r->kind == REC_PREDICT && !r->label && !r->names.n;
        if (left && !record_keeps_counts(r) && !record_is_read(t, r)) record_undo(t, r);
    }
}

/* Only its readers keep the directive from now on; it is freed with the last one (drop_unread). */
static void leave_unnamed(struct record *r) {
    r->names.n = 0;
    r->label = NULL;
    r->kind = REC_PREDICT;
    r->frozen = true;
}

/* Removes these names from the directives that bind them. A directive that loses its last name
 * loses its label. */
static void give_way(struct trace *t, struct sym *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct record *r = find_assumed(t, names[i]);
        if (!r) continue;
        size_t k = 0;
        while (r->names.at[k].name != names[i]) k++;
        r->names.at[k] = r->names.at[--r->names.n];
        map_del(&t->globals, MAP_PTR(names[i]));
        if (r->names.n) continue;
        unbind(t, r);
        leave_unnamed(r);
    }
}

/* Binds names to components of f's value. assume (a, b) = e evaluates e once, and each name is a
 * node for its component. */
static enum gpm_status find_parts(struct trace *t, struct family *f, const struct ast *ast,
                                  size_t n, struct node **parts) {
    if (n > 1) return eval_components(t, f, ast, f->root, n, parts);
    enum gpm_status st = eval_alias(t, f, ast, f->root, &parts[0]);
    f->root = parts[0];
    return st;
}

enum gpm_status trace_assume(struct trace *t, struct sym *const *names, size_t n, struct sym *label,
                             const struct ast *ast, struct frame *frame, value *out) {
    bool again = false;
    if (!label && n == 1) label = names[0];
    enum gpm_status st = check_names(t, names, n, ast->span, &again);
    if (st == GPM_OK) st = check_label(t, label, again, ast->span);
    if (st != GPM_OK) return st;
    if (again) trace_whole(t);
    for (size_t i = 0; i < n && st == GPM_OK; i++)
        st = trace_change_name(t, names[i], false, ast->span);
    if (st != GPM_OK) return st;
    struct family *f;
    frame = bindings_make(t, ast, frame, names, n);
    st = eval_family(t, ast, frame, NULL, &f);
    frame_unref(frame);
    if (st != GPM_OK) return st;
    struct node **parts = NEW_ARRAY(struct node *, n);
    st = find_parts(t, f, ast, n, parts);
    if (st == GPM_OK) {
        if (again) give_way(t, names, n);
        struct record *r = add_record(t, REC_ASSUME, label, f, ast->span);
        for (size_t i = 0; i < n; i++) {
            pvec_push(pool_of(t), &r->names, ((struct binding){names[i], parts[i]}));
            map_put(&t->globals, MAP_PTR(names[i]), parts[i]);
        }
        if (again) drop_unread(t);
        *out = value_ref(f->root->val);
    } else
        drop_family(t, f);
    t->world.stamp = 0;
    mem_free(parts);
    return st;
}

/* The present value leaves the trace. The record keeps the expression up to date for report. */
enum gpm_status trace_predict(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value *out) {
    enum gpm_status st = check_label(t, label, false, ast->span);
    struct family *f;
    if (st != GPM_OK) return st;
    frame = bindings_make(t, ast, frame, NULL, 0);
    st = eval_family(t, ast, frame, NULL, &f);
    frame_unref(frame);
    if (st != GPM_OK) return st;
    add_record(t, REC_PREDICT, label, f, ast->span);
    *out = trace_export(t, f->root->val);
    return GPM_OK;
}

/* Drops a temporary expression; flats made before stay valid. */
static void drop_passing(struct trace *t, struct family *f, uint64_t structure) {
    drop_family(t, f);
    t->structure = structure;
}

/* All expressions exist at once, so a memoized value made by one is the same in the others. */
enum gpm_status trace_sample(struct trace *t, const struct ast *const *ast,
                             struct frame *const *frame, size_t n, value *out) {
    struct family **f = NEW_ARRAY(struct family *, n + 1);
    uint64_t structure = t->structure;
    size_t have = 0;
    enum gpm_status st = GPM_OK;
    for (; have < n && st == GPM_OK; have += st == GPM_OK)
        st = eval_family(t, ast[have], frame[have], NULL, &f[have]);
    for (size_t i = 0; i < have && st == GPM_OK; i++) out[i] = trace_export(t, f[i]->root->val);
    while (have > 0) drop_passing(t, f[--have], structure);
    mem_free(f);
    return st;
}

/* Taken before the expression is dropped, as it may apply what it made. */
enum gpm_status trace_stats(struct trace *t, const struct ast *ast, struct frame *frame,
                            struct span at, value *out) {
    struct family *f;
    trace_whole(t);
    uint64_t structure = t->structure;
    enum gpm_status st = eval_family(t, ast, frame, NULL, &f);
    if (st != GPM_OK) return st;
    struct sp_proc *m = sp_made_of(f->root->val);
    if (m && m->state->cls->stats)
        *out = m->state->cls->stats(m->state->data);
    else
        st = diag_raise(t->core->diags, DIAG_NO_STATS, at, "a %s keeps no statistics",
                        value_type_name(f->root->val));
    drop_passing(t, f, structure);
    return st;
}

/* Gives a random node the value v, as an observation or not.
 *
 *     *weight = log p(v | its arguments) + log p(absorbing | v) - log p(absorbing | old value)
 *
 * detach leaves out the node's own density (SCAFFOLD_PRIOR), regen counts it (SCAFFOLD_FIXED):
 * evaluation drew the old value from its prior, so this is the importance weight of the
 * observation. strict: values from the user must not fail softly. */
static enum gpm_status set_value(struct trace *t, struct node *end, value v, bool observe,
                                 double *weight) {
    struct scaffold *s;
    double w_old, w_new;
    enum gpm_status st = scaffold_open(t, &end, 1, SCAFFOLD_PRIOR, &w_old, &s);
    if (st != GPM_OK) return st;
    s->strict = true;
    if (observe) end->flags |= NODE_OBSERVED;
    st = scaffold_regen(s, SCAFFOLD_FIXED, &v, &w_new);
    if (st == GPM_OK)
        *weight = isinf(w_old) && isinf(w_new) ? 0 : w_new - w_old;
    else
        end->flags &= (uint16_t)~NODE_OBSERVED;
    scaffold_close(s, st == GPM_OK);
    return st;
}

/* Allowed, since inference may leave this state, but usually a slip in the data. */
void trace_impossible(struct diags *d, const struct sp_class *cls, value v, struct span at) {
    diag_warn(d, DIAG_IMPOSSIBLE, at,
              "this observation has probability zero: %s cannot give %s here", cls->name, SHOW(v));
    diag_set_help(d, "check the value; inference must first find a state in which it is possible");
}

static enum gpm_status constrain_root(struct trace *t, struct node *root, value v, struct span at,
                                      double *weight) {
    struct node *end;
    enum gpm_status st = observation_end(t, root, at, &end);
    if (st == GPM_OK) st = set_value(t, end, v, true, weight);
    if (st != GPM_OK) return st;
    end = chase(root);
    if (*weight == -INFINITY) trace_impossible(t->core->diags, node_class(end), end->val, at);
    end->flags |= NODE_OBSERVED;
    choice_remove(t, end);
    t->structure++;
    return GPM_OK;
}

/* Number of NaN items of v, and number of items; 0 and 1 if v is not a sequence. */
static void count_missing(value v, size_t *missing, size_t *n) {
    struct seq_walk w = {v, 0};
    *missing = 0;
    *n = 1;
    if (!seq_length(v, n)) return;
    for (value item; seq_next(&w, &item);) *missing += item.tag == V_NUM && isnan(item.u.num);
}

static enum gpm_status refuse_nan(struct trace *t, struct span at, value v) {
    if (!value_has_nan(v)) return GPM_OK;
    diag_raise(t->core->diags, DIAG_NAN, at, "the value observed here is or holds NaN");
    return diag_set_help(t->core->diags,
                         "observe only what was measured: e[p] = y[p] with p = "
                         "present(y)%s",
                         seq_is(v) ? "; of multivariate_normal(m, S) that is (m[p], S[p, p])" : "");
}

/* No distribution has a density at NaN, the mark of missing data. If the expression applies a
 * procedure element by element, missing elements stay unobserved and a message says so. A named
 * choice would keep them, so it is refused. */
static enum gpm_status check_observed(struct trace *t, const struct ast *e, struct node *root,
                                      value v) {
    const struct sp_class *cls = node_class(root);
    size_t missing, n;
    count_missing(v, &missing, &n);
    bool own = e->kind == AST_CALL && chase(root) == root;
    bool apart = own && cls && (cls->flags & SP_LIFTS) && (cls->flags & SP_RANDOM);
    if (!missing || missing == n || !apart) return refuse_nan(t, e->span, v);
    diag_warn(t->core->diags, DIAG_NAN, e->span,
              "%zu of the %zu elements observed here are missing (nan), and left unobserved",
              missing, n);
    return GPM_OK;
}

/* Evaluates an expression whose choice gets a value. If that choice is in a lower layer, the trace
 * is made whole first. stays: the directive keeps the present meaning of names. */
static enum gpm_status eval_target(struct trace *t, const struct ast *ast, struct frame *frame,
                                   bool stays, struct family **f) {
    for (bool again = false;; again = true) {
        struct rng before = t->rng;
        struct frame *g = stays ? bindings_make(t, ast, frame, NULL, 0) : frame_ref(frame);
        enum gpm_status st = eval_family(t, ast, g, NULL, f);
        frame_unref(g);
        if (st != GPM_OK || again || !node_below(t, chase((*f)->root))) return st;
        drop_family(t, *f);
        trace_whole(t);
        t->rng = before;
    }
}

/* Evaluates the expression, which draws a value, and replaces it by the observed one. The
 * observation is stored with the root of the expression, since any proposal may move its end. */
enum gpm_status trace_observe(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value v, double *weight) {
    enum gpm_status st = check_label(t, label, false, ast->span);
    struct family *f;
    if (st != GPM_OK) return st;
    inner(t)->replaced = ast;
    st = eval_target(t, ast, frame, true, &f);
    inner(t)->replaced = NULL;
    if (st != GPM_OK) return st;
    st = check_observed(t, ast, f->root, v);
    if (st == GPM_OK) st = constrain_root(t, f->root, v, ast->span, weight);
    if (st != GPM_OK) {
        drop_family(t, f);
        return st;
    }
    while (f->root->kind == NODE_TAG && f->root->n_in == 1) f->root = copy_source(f->root);
    struct record *r = add_record(t, REC_OBSERVE, label, f, ast->span);
    r->weight = *weight;
    f->root->flags |= NODE_OBS_ROOT;
    observations_join(t);
    return GPM_OK;
}

/* Like observe, but the choice stays free and no record is made. */
enum gpm_status trace_force(struct trace *t, const struct ast *ast, struct frame *frame, value v,
                            double *weight) {
    struct family *f;
    struct node *end;
    enum gpm_status st = refuse_nan(t, ast->span, v);
    if (st == GPM_OK) st = eval_target(t, ast, frame, false, &f);
    if (st != GPM_OK) return st;
    st = observation_end(t, f->root, ast->span, &end);
    if (st == GPM_OK) st = set_value(t, end, v, false, weight);
    drop_family(t, f);
    return st;
}

/* Frees the observed choice; *weight is its log density until now. */
static enum gpm_status unobserve(struct trace *t, struct record *r, double *weight) {
    struct node *root = r->family->root, *end = chase(root);
    enum gpm_status st = node_unincorporate(t, end);
    if (st == GPM_OK) st = node_logp(t, end, weight);
    if (st != GPM_OK) return st;
    end->flags &= (uint16_t)~NODE_OBSERVED;
    st = node_incorporate(t, end);
    if (st != GPM_OK) return st;
    choice_add(t, end);
    root->flags &= (uint16_t)~NODE_OBS_ROOT;
    return GPM_OK;
}

enum gpm_status trace_no_label(struct diags *d, const struct sym *label, struct span at,
                               const char *const *names, size_t n) {
    const char *near = suggest_nearest(label->text, names, n);
    diag_raise(d, DIAG_UNKNOWN_LABEL, at, "no directive has the label `%s`", label->text);
    if (near) diag_set_help(d, "did you mean `%s`?", near);
    return GPM_E_USER;
}

static enum gpm_status unknown_label(struct trace *t, struct sym *label, struct span at) {
    VEC(const char *) names = {0};
    for (const struct trace *l = t; l; l = inner(l)->below)
        for (size_t i = 0; i < l->records.n; i++)
            if (l->records.at[i]->label) vec_push(&names, l->records.at[i]->label->text);
    enum gpm_status st = trace_no_label(t->core->diags, label, at, names.at, names.n);
    vec_release(&names);
    return st;
}

/* Only constants, including procedures: their readers do not need the name. */
static bool is_constant(const struct record *r) {
    for (size_t i = 0; i < r->family->nodes.n; i++)
        if (r->family->nodes.at[i]->kind != NODE_CONST) return false;
    return true;
}

/* An observed choice becomes free with its present value. A directive with readers cannot be
 * forgotten, except one of constants: it loses its name and is freed with its last reader. */
enum gpm_status trace_forget(struct trace *t, struct sym *label, struct span at, double *weight) {
    trace_whole(t);
    struct record *r = find_record(t, label);
    if (!r) return unknown_label(t, label, at);
    *weight = 0;
    enum gpm_status st = GPM_OK;
    bool read = false, observes = r->kind == REC_OBSERVE, constant = r->names.n && is_constant(r);
    if (observes) st = unobserve(t, r, weight);
    if (!observes)
        read = r->names.n ? record_is_read(t, r) : in_use(t, r->family) || is_shared(t, r);
    if (read && (!constant || bindings_read(t, r, false))) {
        diag_raise(t->core->diags, DIAG_FORGET_IN_USE, at,
                   "`%s` cannot be forgotten: other directives use it", label->text);
        return diag_set_help(t->core->diags, "forget those first");
    }
    for (size_t i = 0; st == GPM_OK && i < r->names.n; i++)
        st = trace_change_name(t, r->names.at[i].name, false, at);
    if (st != GPM_OK) return st;
    if (read) {
        unbind(t, r);
        leave_unnamed(r);
    } else
        record_undo(t, r);
    drop_unread(t);
    t->structure++;
    return GPM_OK;
}

enum gpm_status trace_report(struct trace *t, struct sym *label, struct span at, value *out) {
    struct record *r = find_record(t, label);
    if (!r) return unknown_label(t, label, at);
    *out = trace_export(t, r->family->root->val);
    return GPM_OK;
}

enum gpm_status trace_freeze(struct trace *t, struct sym *label, struct span at) {
    trace_whole(t);
    struct record *r = find_record(t, label);
    if (!r) return unknown_label(t, label, at);
    if (r->frozen) return GPM_OK;
    enum gpm_status st = GPM_OK;
    double weight;
    if (r->kind == REC_OBSERVE) st = unobserve(t, r, &weight);
    if (st != GPM_OK) return st;
    if (r->kind == REC_OBSERVE) r->kind = REC_PREDICT;
    st = record_freeze(t, r, at);
    if (st == GPM_OK) drop_unread(t);
    return st;
}

/* For a directive that failed on another particle; removes its weight from this particle, too. */
void trace_undo_last(struct trace *t) {
    struct record *r = vec_last(&t->records);
    double weight;
    if (r->kind == REC_OBSERVE && unobserve(t, r, &weight) == GPM_OK) t->log_weight -= r->weight;
    record_undo(t, r);
    t->n_directives--;
}
