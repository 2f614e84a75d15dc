/* SPDX-License-Identifier: Apache-2.0
 *
 * See cores.h.
 */
#include "base/cores.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/number.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cores_of_quota(const char *quota, const char *period) {
    double q, p; /* "max" is no number: no limit */
    if (!number_parse(quota, strlen(quota), &q) || !number_parse(period, strlen(period), &p))
        return 0;
    return q > 0 && p > 0 ? (int)fmin(ceil(q / p), 1e6) : 0;
}

/* The words of a small file of the kernel's, up to two; "" for those that are not there. */
static void two_words(const char *folder, const char *name, char words[2][32]) {
    char path[4400];
    struct buf text = BUF_INIT;
    words[0][0] = words[1][0] = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (file_there(path) && file_read(path, FILE_GIVEN, 4096, &text) == GPM_OK)
        sscanf(text.data, "%31s %31s", words[0], words[1]);
    buf_release(&text);
}

static int quota_at(const char *folder) {
    char v2[2][32], quota[2][32], period[2][32];
    two_words(folder, "cpu.max", v2);
    int n = cores_of_quota(v2[0], v2[1]);
    if (n) return n;
    two_words(folder, "cpu.cfs_quota_us", quota);
    two_words(folder, "cpu.cfs_period_us", period);
    return cores_of_quota(quota[0], period[0]);
}

/* The tightest limit of the process's own group and those around it. /proc/self/cgroup has lines
 * "0::/a/b" (version 2) and "4:cpu,cpuacct:/a/b" (version 1); inside a container the path may be of
 * another name space, and the limit stands at the root. */
static int quota_here(void) {
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"};
    struct buf text = BUF_INIT;
    int least = 0;
    if (!file_there("/proc/self/cgroup") ||
        file_read("/proc/self/cgroup", FILE_GIVEN, 1 << 16, &text) != GPM_OK)
        buf_puts(&text, "0::/\n");
    for (const char *line = text.data; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *group = memchr(line, '/', strcspn(line, "\n"));
        if (!group) continue;
        for (int n = (int)strcspn(group, "\n");; n--) {
            if (n > 0 && group[n] != '/' && group[n] != '\n' && group[n]) continue;
            for (size_t r = 0; r < sizeof roots / sizeof *roots; r++) {
                char folder[4200];
                snprintf(folder, sizeof folder, "%s%.*s", roots[r], n, group);
                int q = quota_at(folder);
                if (q && (!least || q < least)) least = q;
            }
            if (n <= 0) break;
        }
    }
    buf_release(&text);
    return least;
}

int cores_available(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) n = CPU_COUNT(&mine);
#endif
    int quota = quota_here();
    if (quota && quota < n) n = quota;
    return n < 1 ? 1 : (int)n;
}
