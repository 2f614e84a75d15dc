/* SPDX-License-Identifier: Apache-2.0
 *
 * The watcher: a process that outlives this one for a moment. A program may start other programs (a
 * shell script does). When this process ends without warning, by SIGKILL or an uncaught signal,
 * those would continue. The watcher holds one end of a socket; this process, and each child until
 * its exec, holds the other. The watcher is notified of every process group that begins and ends.
 * When the socket closes, because its other end is closed everywhere, it kills the remaining
 * groups. Programs that leave their group (setsid, daemons) are out of its reach. */
#include "base/mem.h"
#include "io/host/proc_priv.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_GROUPS = 16384, SOME_FDS = 65536 };

/* Nothing of this process may stay open in the watcher: a pipe would never end. */
static void keep_only(int fd) {
    dup2(fd, 0);
    if (close_range(1, ~0U, 0) == 0) return;
    for (int i = 1; i < SOME_FDS; i++) close(i);
}

/* After a fork of a process with threads: async-signal-safe calls only. */
static _Noreturn void watch(int fd) {
    static pid_t groups[MAX_GROUPS];
    int n = 0;
    pid_t told;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid(); /* neither Ctrl-C nor a kill of our group ends it */
    keep_only(fd);
    for (;;) {
        ssize_t got = recv(0, &told, sizeof told, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got != (ssize_t)sizeof told) break;
        if (told > 0 && n < MAX_GROUPS) groups[n++] = told;
        for (int i = 0; told < 0 && i < n; i++)
            if (groups[i] == -told) groups[i] = groups[--n];
    }
    for (int i = 0; i < n; i++) kill(-groups[i], SIGKILL);
    _exit(0);
}

int proc_watch_start(struct proc_watch *w) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return errno;
    pid_t pid = fork();
    if (pid == 0) watch(ends[1]);
    int e = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return e;
    }
    *w = (struct proc_watch){pid, ends[0]};
    return 0;
}

void proc_watch_tell(int fd, pid_t group) {
    ssize_t ignored = send(fd, &group, sizeof group, MSG_NOSIGNAL); /* it was killed: go on */
    (void)ignored;
}

void proc_watch_end(struct proc_watch *w) {
    if (w->pid <= 0) return;
    close(w->fd);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) continue;
    *w = (struct proc_watch){0, -1};
}
