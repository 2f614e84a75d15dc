/* SPDX-License-Identifier: Apache-2.0
 * The words for devices. */
#ifndef API_DEVICE_H
#define API_DEVICE_H
#include "gp/process/gp.h"

bool device_named(const char *name, enum gp_device *out);
#endif
