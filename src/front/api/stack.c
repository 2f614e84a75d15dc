/* SPDX-License-Identifier: Apache-2.0
 * See stack.h. */
#include "front/api/stack.h"
#include "base/fibres.h"
#include <pthread.h>

bool run_on_stack(size_t size, void *(*f)(void *), void *arg, const char **lowest) {
    pthread_attr_t attr;
    pthread_t thread;
    char *stack = stack_new(size);
    if (!stack) return false;
    *lowest = stack;
    pthread_attr_init(&attr);
    bool ok = pthread_attr_setstack(&attr, stack, size) == 0 &&
              pthread_create(&thread, &attr, f, arg) == 0;
    if (ok) pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    stack_free(stack, size);
    return ok;
}
