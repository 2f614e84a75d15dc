/* SPDX-License-Identifier: Apache-2.0
 *
 * Time that only goes forward.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds since some moment in the past; for differences. */
double clock_seconds(void);
#endif
