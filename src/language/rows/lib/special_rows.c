/* SPDX-License-Identifier: Apache-2.0
 *
 * Procedures that only the evaluator can carry out: they need environments, the trace or the
 * unevaluated expression. The rows are here for arity, help, completion and the reference page;
 * simulate is NULL on purpose: the evaluator knows them by `special`.
 */
#include "language/rows/protocol/sp.h"

#include "base/mem.h"

const struct sp_class sp_special_rows[] = {
    {.name = "mem",
     .special = SPECIAL_MEM,
     .sig = "(f: proc) -> proc",
     .doc = "f with memory: the same arguments give the same value, random or not.",
     .example = "{ f = mem(x -> flip()); f(1) == f(1) } => true"},
    {.name = "ref",
     .special = SPECIAL_REF,
     .sig = "(x: any) -> ref",
     .doc = "A reference to x; `(a, b)` makes a list of them.",
     .example = "deref(ref(3)) => 3"},
    {.name = "deref",
     .special = SPECIAL_DEREF,
     .sig = "(r: any) -> any",
     .doc = "What a reference refers to; any other value is itself.",
     .example = "deref(first((1, 2))) => 1"},
    {.name = "eval",
     .special = SPECIAL_EVAL,
     .sig = "(e: any, env: env) -> any",
     .doc = "The value of a quoted expression in an environment.",
     .example = "eval(quote(1 + 2), get_current_environment()) => 3"},
    {.name = "get_current_environment",
     .special = SPECIAL_ENV,
     .sig = "() -> env",
     .doc = "The environment at this place of the program.",
     .example = "is_environment(get_current_environment()) => true"},
    {.name = "get_empty_environment",
     .special = SPECIAL_EMPTY_ENV,
     .sig = "() -> env",
     .doc = "An environment of the builtin names alone.",
     .example = "eval(quote(2 * 3), get_empty_environment()) => 6"},
    {.name = "extend_environment",
     .special = SPECIAL_EXTEND_ENV,
     .sig = "(env: env, name: name, x: any) -> env",
     .doc = "The environment with one more binding.",
     .example = "eval(quote(y), extend_environment(get_current_environment(), quote(y), 5)) => 5"},
    {.name = "tag",
     .sig = "(scope: any, block: any, e: any) -> any",
     .doc = "e itself; its random choices belong to a block of a scope. Also `e #scope:block`.",
     .example = "tag(\"hyper\", 1, 2 + 3) => 5"},
    {.name = "tag_exclude",
     .sig = "(scope: any, e: any) -> any",
     .doc = "e itself; its random choices belong to no block of the scope.",
     .example = "tag_exclude(\"hyper\", 5) => 5"},
    {.name = "run",
     .special = SPECIAL_RUN,
     .sig = "(a: any) -> any",
     .doc = "Performs an inference action and gives its result, inside ordinary code.",
     .example = "run(return(3)) => 3",
     .flags = SP_INFERENCE_ONLY},
    {.name = "action",
     .special = SPECIAL_ACTION,
     .sig = "(e: any) -> action",
     .doc = "The action that evaluates e each time it runs, and gives its value.",
     .example = "run(action(1 + 2)) => 3",
     .flags = SP_INFERENCE_ONLY},
};
const size_t sp_special_count = COUNT_OF(sp_special_rows);
