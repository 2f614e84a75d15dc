/* SPDX-License-Identifier: Apache-2.0
 *
 * See stack.h. The stack is address space that nobody reserves (a limit for recursion may lie far
 * above the machine's memory), and below it lies a page that nobody may touch.
 */
#include "api/stack.h"
#include "base/fibres.h"
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { GUARD = 65536 };

/* Above a guard; NULL: there is no address space for it. */
static char *stack_new(size_t size) {
    char *at = size > SIZE_MAX - GUARD
                   ? MAP_FAILED
                   : mmap(NULL, size + GUARD, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED) return NULL;
    if (mprotect(at, GUARD, PROT_NONE) == 0) return at + GUARD;
    munmap(at, size + GUARD);
    return NULL;
}

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
    munmap(stack - GUARD, size + GUARD);
    return ok;
}

bool run_on_fibre(size_t size, void *(*f)(void *), void *arg, const char **lowest) {
    char *stack = stack_new(size);
    if (!stack) return false;
    *lowest = stack;
    bool ok = fibres_run(stack, size, f, arg);
    munmap(stack - GUARD, size + GUARD);
    return ok;
}
