/* SPDX-License-Identifier: Apache-2.0
 *
 * See stack.h. The stack is address space that nobody reserves (a limit for recursion may lie far
 * above the machine's memory), and below it lies a page that nobody may touch.
 */
#include "api/stack.h"
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

bool run_on_stack(size_t size, void *(*f)(void *), void *arg, const char **lowest) {
    const size_t guard = 65536;
    pthread_attr_t attr;
    pthread_t thread;
    char *stack = size > SIZE_MAX - guard
                      ? MAP_FAILED
                      : mmap(NULL, size + guard, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return false;
    *lowest = stack + guard;
    pthread_attr_init(&attr);
    bool ok = mprotect(stack, guard, PROT_NONE) == 0 &&
              pthread_attr_setstack(&attr, stack + guard, size) == 0 &&
              pthread_create(&thread, &attr, f, arg) == 0;
    if (ok) pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    munmap(stack, size + guard);
    return ok;
}
