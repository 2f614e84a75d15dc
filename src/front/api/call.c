/* SPDX-License-Identifier: Apache-2.0
 * See call.h. */
#include "front/api/call.h"

const char call_is_busy[] = "this object is at work for another thread, or calls this callback: it "
                            "serves one call at a time; give each thread one of its own";

static _Thread_local const atomic_bool *refused; /* what this thread asked last, in vain */

atomic_bool *call_enter(atomic_bool *busy) {
    bool taken = atomic_exchange(busy, true);
    if (taken || refused == busy) refused = taken ? busy : NULL;
    return taken ? NULL : busy;
}

void call_leave(atomic_bool *const *entered) {
    if (*entered) atomic_store(*entered, false);
}

bool call_refused(const atomic_bool *busy) {
    return refused == busy;
}
