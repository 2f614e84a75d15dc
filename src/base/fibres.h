/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibres: many functions that each wait often for something best done for all of them at once
 * (chains that want a likelihood of the card each). They have stacks of their own and share a few
 * threads, one for each core: a fibre that waits costs no switch of threads, and what it works on
 * stays in its core's caches. A further thread sees to what they wait for, while others run on.
 *
 * Those that are furthest behind run first, by the points of their programs that they have passed:
 * all end at about the same time, also where some have much more to do between two points.
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
/* What a fibre waits for: the first member of what its service is to work on. */
struct parcel {
    struct fibre *of;
    struct fibre_worker *at;
    size_t passed; /* points, by then */
};
/* Does what is asked in parcels. begin: takes these on and returns at once, with a ticket; where
 * wait is false there are other tickets, and NULL says that the oldest must end before. The list
 * stays until then. end: waits until it is done. One thread calls them. */
struct parcel_service {
    void *(*begin)(struct parcel **all, size_t n, bool wait);
    bool (*ended)(void *ticket); /* would not have to wait */
    void (*end)(void *ticket);
};

/* A stack: address space without reserved memory (a limit for recursion may be far above the
 * machine's memory), with inaccessible pages below it. NULL if it cannot be made. */
char *stack_new(size_t size);
void stack_free(char *stack, size_t size);

/* Runs f(arg) as a fibre on a stack of that size and returns when it has ended. *lowest is set to
 * the stack's lowest byte before f begins. False: no stack, or no threads for it. */
bool fibres_run(size_t size, void *(*f)(void *), void *arg, const char **lowest);
bool fibre_here(void); /* is this one? */
/* This one, if it is one, has passed a point: a transition, say. */
void fibre_passed(void);
/* Hands it over and waits until it is served, with those of others: as soon as a sixteenth of all
 * fibres wait, or some have waited for long. All of a process have one service. */
void fibre_wait_for(struct parcel *p, const struct parcel_service *service);
#endif
