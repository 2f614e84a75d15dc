/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of threads this process should use: the processors it may run on (taskset, Slurm's
 * affinity), limited by its cgroup (containers, Kubernetes), not the machine's total. */
#ifndef BASE_CORES_H
#define BASE_CORES_H

int cores_available(void); /* at least 1 */
/* The limit of a cgroup, from the text of cpu.max ("QUOTA PERIOD", version 2) or the two numbers of
 * version 1: whole processors, rounded up; 0: no limit. */
int cores_of_quota(const char *quota, const char *period);
#endif
