/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that run programs. */
#ifndef HOST_PROC_PRIV_H
#define HOST_PROC_PRIV_H
#include "io/host/process.h"
#include <sys/types.h>
#include <unistd.h>

char **proc_fill_argv(const struct proc_command *c, const char *const *values); /* caller frees */
void proc_fill_json(const struct proc_command *c, const char *const *values, struct buf *out);

static inline void proc_close(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* A started child: descriptors are non-blocking and close-on-exec. */
struct proc_child {
    pid_t pid;
    int out, err, pidfd; /* -1: closed; pidfd -1: not supported here, poll with waitpid */
};
/* Kills the remaining process groups when this process is gone (proc_watch.c). */
struct proc_watch {
    pid_t pid; /* 0: not running */
    int fd;
};
int proc_watch_start(struct proc_watch *w); /* 0 or an errno */
void proc_watch_end(struct proc_watch *w);
void proc_watch_tell(int fd, pid_t group); /* group: began; -group: ended */

/* Starts argv with `input` on stdin and registers it with the watcher; 0 or an errno. */
int proc_spawn(struct proc_child *child, int watch, char *const *argv, const char *input,
               size_t n_input);
#endif
