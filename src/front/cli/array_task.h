/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of many like processes this one is: the number that a scheduler of job arrays or a launcher
 * of parallel programs gives it in the environment.
 */
#ifndef CLI_ARRAY_TASK_H
#define CLI_ARRAY_TASK_H
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* The number, from 0 on where the scheduler begins with 1 (SGE, LSF), and "NAME=VALUE" of what gave
 * it, appended to `from`; false: nothing did. An array comes before a rank: the tasks of an array
 * may be parallel programs themselves. */
bool array_task(uint64_t *number, struct buf *from);
/* The names that are looked at, in this order, ended by NULL. */
extern const char *const array_task_names[];
#endif
