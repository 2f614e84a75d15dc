/* SPDX-License-Identifier: Apache-2.0
 * Texts of the status codes, from the same rows as the enum. */
#include "gpmem/status.h"

const char *gpm_status_text(enum gpm_status st) {
    switch (st) {
#define X(name, text)                                                                              \
    case name: return text;
        GPM_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}
