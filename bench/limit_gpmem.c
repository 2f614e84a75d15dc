/* SPDX-License-Identifier: Apache-2.0
 *
 * The yardstick of bench_gpmem.c is that of bench_gp.c. */
#include "limit_gp.c"
