/* SPDX-License-Identifier: Apache-2.0
 *
 * See optimize_args.h.
 */
#include "cli/optimize_args.h"
#include <signal.h>
#include <string.h>

void optimize_args_init(struct optimize_args *a) {
    a->seed = 1;
}

void optimize_args_apply(const struct optimize_args *a, struct gpm_optimize_options *p) {
    gpm_optimize_options_init(p);
    p->seed = a->seed;
    p->maximize = a->maximize;
    p->noisy = a->noisy;
    p->acquisition = (enum gpm_acquisition)a->acquisition;
    p->initial = (int)a->initial;
    if (a->mcmc) p->mcmc = 1;
    p->no_local = a->no_local;
    p->store = a->store;
    p->warm = a->warm;
    p->version = a->version;
}

static volatile sig_atomic_t flag;

static void on_signal(int sig) {
    if (__atomic_exchange_n(&flag, 1, __ATOMIC_RELAXED)) { /* any thread may get the signal */
        signal(sig, SIG_DFL);
        raise(sig);
    }
}

void stop_on_signals(bool on) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on ? on_signal : SIG_DFL;
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

const volatile sig_atomic_t *stop_flag(void) {
    return &flag;
}
