/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibres: many functions that each wait often for something best done for all of them at once
 * (chains that want a likelihood of the card each). They have stacks of their own and share a few
 * threads, one for each core: a fibre that waits costs no switch of threads, and what it works on
 * stays in its core's caches. Further threads serve what they wait for, while others run on.
 *
 * A fibre stays on its thread. While it waits, others run there: it must hold no lock then, and
 * thread-local variables are theirs (the guard of files is kept apart for each).
 */
#ifndef BASE_FIBRES_H
#define BASE_FIBRES_H
#include <stdbool.h>
#include <stddef.h>

struct fibre;
struct fibre_worker;
/* What a fibre waits for: the first member of what its server is to work on. */
struct parcel {
    struct fibre *of;
    struct fibre_worker *at;
};
/* Does what is asked in these parcels; two threads may be at it. */
typedef void parcel_server(struct parcel **all, size_t n);

/* A stack: address space that nobody reserves (a limit for recursion may lie far above the
 * machine's memory), with pages below it that nobody may touch. NULL: there is none. */
char *stack_new(size_t size);
void stack_free(char *stack, size_t size);

/* Runs f(arg) as a fibre on a stack of that size, whose lowest byte *lowest is before f begins, and
 * returns when it has ended; false: there is none, or no threads for it. */
bool fibres_run(size_t size, void *(*f)(void *), void *arg, const char **lowest);
bool fibre_here(void); /* is this one? */
/* Hands it over and waits until it is served, with those of others: as soon as a quarter of
 * all fibres wait, or some have waited for long. All of a process have one server. */
void fibre_wait_for(struct parcel *p, parcel_server *serve);
#endif
