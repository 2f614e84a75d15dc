/* SPDX-License-Identifier: Apache-2.0
 *
 * A large stack for deep recursion (a web page has its own body of this: web/stack.c).
 */
#ifndef API_STACK_H
#define API_STACK_H
#include <stdbool.h>
#include <stddef.h>

/* Runs f(arg) on a thread with a stack of that size; *lowest is set to its lowest byte before f
 * begins. False if the stack cannot be made. */
bool run_on_stack(size_t size, void *(*f)(void *), void *arg, const char **lowest);
#endif
