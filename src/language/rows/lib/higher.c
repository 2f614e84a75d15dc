/* SPDX-License-Identifier: Apache-2.0
 *
 * Procedures that apply their arguments. They do not call anything themselves: `request` says what
 * to evaluate, `output` makes the result of what came back, so that a trace can record each
 * application and re-use it.
 */
#include "language/rows/lib/args.h"

#include "base/mem.h"
#include "language/rows/protocol/adjoint.h"

/* ---- apply --------------------------------------------------------------------------------------
 */

static enum gpm_status request_apply(struct sp_call *c, sp_emit_fn *emit, void *ctx) {
    value *items;
    size_t n;
    enum gpm_status st = seq_arg(c, 1, "args", &items, &n);
    if (st) return st;
    emit(ctx, c->args[0], items, n);
    values_free(items, n);
    return GPM_OK;
}

static enum gpm_status output_only(struct sp_call *c, const value *results, size_t n, value *out) {
    *out = value_ref(n ? results[0] : c->args[0]);
    return GPM_OK;
}

static enum gpm_status grad_only(struct sp_call *c, size_t n, value dr, value *dresults) {
    if (n) dresults[0] = value_ref(dr);
    return GPM_OK;
}

/* With one argument it is the identity: the paper writes both apply_function(make_k, a, b) and
 * apply_function(make_k(a, b)). */
static enum gpm_status request_apply_function(struct sp_call *c, sp_emit_fn *emit, void *ctx) {
    if (c->n == 1) return GPM_OK;
    if (c->args[0].tag != V_PROC) return sp_type_error(c, c->args[0], "f must be a procedure");
    emit(ctx, c->args[0], c->args + 1, c->n - 1);
    return GPM_OK;
}

/* ---- maps ---------------------------------------------------------------------------------------
 */

/* What f is applied to: x; its index and x; x and the element of a second sequence. */
enum { EACH, WITH_INDEX, PAIRED };

static enum gpm_status request_map(struct sp_call *c, sp_emit_fn *emit, void *ctx) {
    value *a, *b = NULL;
    size_t m = 0, n;
    int kind = c->cls->variant;
    enum gpm_status st = seq_arg(c, 1, "xs", &a, &n);
    if (st) return st;
    if (kind == PAIRED) st = seq_arg(c, 2, "ys", &b, &m);
    if (b && m != n)
        st = sp_error(c, DIAG_SHAPE, "mapv2: the sequences have different lengths: %zu and %zu", n,
                      m);
    for (size_t i = 0; i < n && !st; i++) {
        value first = kind == WITH_INDEX ? value_num((double)i) : a[i];
        value args[] = {first, b ? b[i] : a[i]};
        emit(ctx, c->args[0], args, kind == EACH ? 1 : 2);
    }
    values_free(b, m);
    values_free(a, n);
    return st;
}

static enum gpm_status output_array(struct sp_call *c, const value *results, size_t n, value *out) {
    *out = value_array(results, n);
    return GPM_OK;
}

static enum gpm_status output_like(struct sp_call *c, const value *results, size_t n, value *out) {
    bool list = c->args[1].tag == V_NIL || c->args[1].tag == V_PAIR;
    *out = list ? value_list(results, n) : value_array(results, n);
    return GPM_OK;
}

static enum gpm_status grad_each(struct sp_call *c, size_t n, value dr, value *dresults) {
    for (size_t i = 0; i < n; i++) dresults[i] = adj_item(dr, i);
    return GPM_OK;
}

/* ---- where the arguments of a request come from -------------------------------------------------
 */

static struct sp_origin origin_apply(size_t request, size_t arg) {
    return (struct sp_origin){1, (long)arg};
}

static struct sp_origin origin_apply_function(size_t request, size_t arg) {
    return (struct sp_origin){(int)arg + 1, -1};
}

static struct sp_origin origin_map(size_t request, size_t arg) {
    return (struct sp_origin){arg == 0 ? 1 : -1, (long)request};
}

static struct sp_origin origin_imapv(size_t request, size_t arg) {
    return (struct sp_origin){arg == 1 ? 1 : -1, (long)request};
}

static struct sp_origin origin_mapv2(size_t request, size_t arg) {
    return (struct sp_origin){(int)arg + 1, (long)request};
}

#define MAPS(shape, from)                                                                          \
    .variant = shape, .flags = SP_ARRANGES, .request = request_map, .origin = from,                \
    .grad_output = grad_each

const struct sp_class sp_higher_rows[] = {
    {.name = "apply",
     .sig = "(f: proc, args: any) -> any",
     .doc = "f applied to the elements of a sequence.",
     .example = "apply(add, [1, 2, 3]) => 6",
     .flags = SP_PASSES,
     .request = request_apply,
     .origin = origin_apply,
     .output = output_only,
     .grad_output = grad_only},
    {.name = "apply_function",
     .special = SPECIAL_APPLY_FUNCTION,
     .sig = "(f: any, ...args: any) -> any",
     .doc = "f applied to the further arguments; with no further ones, f itself.",
     .example = "apply_function(add, 1, 2) => 3",
     .request = request_apply_function,
     .origin = origin_apply_function,
     .output = output_only,
     .grad_output = grad_only},
    {.name = "mapv",
     .sig = "(f: proc, xs: any) -> array",
     .doc = "The array of f(x) for each element x.",
     .example = "mapv(x -> x * x, [1, 2, 3]) => [1, 4, 9]",
     MAPS(EACH, origin_map),
     .output = output_array},
    {.name = "mapv2",
     .sig = "(f: proc, xs: any, ys: any) -> array",
     .doc = "The array of f(x, y) for the elements of two sequences of one length.",
     .example = "mapv2(sub, [5, 7], [1, 2]) => [4, 5]",
     MAPS(PAIRED, origin_mapv2),
     .output = output_array},
    {.name = "imapv",
     .sig = "(f: proc, xs: any) -> array",
     .doc = "The array of f(i, x) for each element x and its index i.",
     .example = "imapv((i, x) -> i * 10 + x, [5, 6]) => [5, 16]",
     MAPS(WITH_INDEX, origin_imapv),
     .output = output_array},
    {.name = "map",
     .special = SPECIAL_MAP,
     .sig = "(f: proc, xs: any) -> any",
     .doc = "f(x) for each element x, as a list for a list, else as an array.",
     .example = "map(x -> x + 1, list(1, 2)) => (2, 3)",
     MAPS(EACH, origin_map),
     .output = output_like},
};
const size_t sp_higher_count = COUNT_OF(sp_higher_rows);
