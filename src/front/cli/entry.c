/* SPDX-License-Identifier: Apache-2.0
 *
 * The program `gpmem`. mpi/main.c has another one around the same tool. Stacks are as large as the
 * process may have them: where that is too little for the numerical libraries, the tool and all its
 * threads have stacks of their own.
 */
#include "front/cli/command.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

struct arguments {
    int argc, status;
    char **argv;
};

static void *run_tool(void *arg) {
    struct arguments *a = arg;
    a->status = tool_main(a->argc, a->argv);
    return NULL;
}

#if defined(__GLIBC__)
enum { STACK_LEAST = 1 << 20, STACK_OWN = 8 << 20 };

/* False: the limit is enough, or there is no thread. */
static bool run_on_own(struct arguments *a) {
    struct rlimit limit;
    pthread_attr_t attr;
    pthread_t thread;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_LEAST) return false;
    pthread_attr_init(&attr);
    bool ok = !pthread_attr_setstacksize(&attr, STACK_OWN) && !pthread_setattr_default_np(&attr) &&
              !pthread_create(&thread, &attr, run_tool, a);
    pthread_attr_destroy(&attr);
    sigset_t all;
    sigfillset(&all);
    if (ok) pthread_sigmask(SIG_BLOCK, &all, NULL); /* the tool hears them */
    if (ok) pthread_join(thread, NULL);
    return ok;
}
#else
static bool run_on_own(struct arguments *a) {
    return false;
}
#endif

int main(int argc, char **argv) {
    struct arguments a = {argc, 0, argv};
    if (!run_on_own(&a)) run_tool(&a);
    return a.status;
}
