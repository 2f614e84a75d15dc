/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/stack.h in a web page. There are two stacks: that of the engine, about 1 MB, which nobody can
 * measure and whose end kills the program, and that of C's locals in memory, whose size is ours. A
 * level of recursion takes from both, so the limit of the second is set where the first still holds
 * (tests/web measures it): then a deep recursion is an error with its place, as elsewhere.
 */
#include "front/api/stack.h"
#include <stdint.h>

enum { MARGIN = 256 * 1024 /* that of front/api/runtime.c */, LOCALS = 1024 * 1024 };

bool run_on_stack(size_t size, void *(*f)(void *), void *arg, const char **lowest) {
    char here;
    *lowest = (const char *)((uintptr_t)&here - LOCALS - MARGIN);
    f(arg);
    return true;
}
