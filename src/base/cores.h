/* SPDX-License-Identifier: Apache-2.0
 *
 * How many threads this process should use: the processors that it may run on (taskset, Slurm's
 * affinity), and no more than its cgroup pays for (containers, Kubernetes), not those of the
 * machine.
 */
#ifndef BASE_CORES_H
#define BASE_CORES_H

int cores_available(void); /* at least 1 */
/* What a cgroup allows, by the text of cpu.max ("QUOTA PERIOD", version 2) or by the two numbers of
 * version 1: whole processors, rounded up; 0: no limit. */
int cores_of_quota(const char *quota, const char *period);
#endif
