/* SPDX-License-Identifier: Apache-2.0
 * Starting one child: pipes, its own process group, default signals, death with its parent. */
#include "base/mem.h"
#include "io/host/proc_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The inputs as a file in memory: no writer to keep alive, no SIGPIPE when the child ignores it. */
static int input_fd(const char *input, size_t n) {
    if (n == 0) return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("gpmem-stdin", MFD_CLOEXEC);
    if (fd < 0) return -1;
    if (write(fd, input, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0) return fd;
    close(fd);
    return -1;
}

/* In the child, between fork and exec: async-signal-safe calls only. */
static _Noreturn void child_exec(char *const *argv, int in, int out, int err, int report, int watch,
                                 pid_t parent) {
    setpgid(0, 0);
    proc_watch_tell(watch, getpid()); /* from here: what it starts comes later */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    for (int s = 1; s < 32; s++)
        if (s != SIGKILL && s != SIGSTOP) signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0) execvp(argv[0], argv);
    int e = errno;
    ssize_t ignored = write(report, &e, sizeof e);
    (void)ignored;
    _exit(127);
}

/* The errno of a failed exec comes through `report`, which exec closes. */
static int exec_errno(int report) {
    int e = 0;
    ssize_t n;
    do n = read(report, &e, sizeof e);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof e ? e : 0;
}

int proc_spawn(struct proc_child *child, int watch, char *const *argv, const char *input,
               size_t n_input) {
    int out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1}, e;
    int in = input_fd(input, n_input);
    pid_t parent = getpid(), pid = -1;
    if (in >= 0 && !pipe2(out, O_CLOEXEC) && !pipe2(err, O_CLOEXEC) && !pipe2(report, O_CLOEXEC))
        pid = fork();
    if (pid == 0) child_exec(argv, in, out[1], err[1], report[1], watch, parent);
    e = errno ? errno : EIO;
    proc_close(&report[1]);
    if (pid > 0) {
        setpgid(pid, pid); /* also in the child: whichever is first, killing the group then works */
        e = exec_errno(report[0]);
    }
    if (pid > 0 && e) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
        proc_watch_tell(watch, -pid);
    }
    proc_close(&in);
    proc_close(&report[0]);
    proc_close(&out[1]);
    proc_close(&err[1]);
    if (e) {
        proc_close(&out[0]);
        proc_close(&err[0]);
        return e;
    }
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    *child = (struct proc_child){pid, out[0], err[0], (int)syscall(SYS_pidfd_open, pid, 0)};
    if (child->pidfd >= 0) fcntl(child->pidfd, F_SETFD, FD_CLOEXEC);
    return 0;
}
