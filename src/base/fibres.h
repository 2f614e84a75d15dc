/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibres: many functions that often wait for work best done for all of them together (chains that
 * each want a likelihood from the card). They have separate stacks and share a few threads, one per
 * core. A waiting fibre costs no thread switch, and its data stay in its core's caches. A further
 * thread serves the waiting fibres while others run.
 *
 * The fibres furthest behind run first, by the points of their programs they have passed. So all
 * end at about the same time, even if some have much more work between two points.
 *
 * A fibre stays on its thread. While it waits, others run there. So it must hold no lock then, and
 * thread-local variables are shared with them (each fibre has its own guard of files). */
#ifndef BASE_FIBRES_H
#define BASE_FIBRES_H
#include <stdbool.h>
#include <stddef.h>

struct fibre;
struct fibre_worker;
/* What a fibre waits for: the first member of the service's request. */
struct parcel {
    struct fibre *of;
    struct fibre_worker *at;
    size_t passed; /* points passed at that time */
};
/* Serves the requests in parcels. begin: accepts these parcels and returns at once with a ticket.
 * If wait is false there are other tickets, and NULL means that the oldest must end first. The list
 * must persist until the end. end: waits for completion. One thread calls these. */
struct parcel_service {
    void *(*begin)(struct parcel **all, size_t n, bool wait);
    bool (*ended)(void *ticket); /* would `end` return at once? */
    void (*end)(void *ticket);
};

/* A stack: address space without reserved memory (a limit for recursion may be far above the
 * machine's memory), with inaccessible pages below it. NULL if it cannot be made. */
char *stack_new(size_t size);
void stack_free(char *stack, size_t size);

/* Runs f(arg) as a fibre on a stack of that size and returns when it has ended. *lowest is set to
 * the stack's lowest byte before f begins. False: no stack, or no threads for it. */
bool fibres_run(size_t size, void *(*f)(void *), void *arg, const char **lowest);
bool fibre_here(void); /* is the caller a fibre? */
/* If the caller is a fibre, it has passed a point, such as a transition. */
void fibre_passed(void);
/* Submits the parcel and waits until it is served together with others: as soon as a sixteenth of
 * all fibres wait, or some have waited long. A process has one service. */
void fibre_wait_for(struct parcel *p, const struct parcel_service *service);
#endif
