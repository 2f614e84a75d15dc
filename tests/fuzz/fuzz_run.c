/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the whole runtime: any text runs within small limits of time, depth and memory, or
 * fails with a diagnostic, and the session answers afterwards. In test builds the trace checker
 * runs too. Run: fuzz_run -dict=run.dict -timeout=20 corpus/run
 */
#include "gpmem/gpmem.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct out {
    char text[64];
    size_t len;
};

static void collect(void *user, int stream, const char *text, size_t len) {
    struct out *o = user;
    if (stream != 1) return;
    size_t room = sizeof o->text - 1 - o->len, n = len < room ? len : room;
    memcpy(o->text + o->len, text, n);
    o->len += n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct gpm_options o;
    struct out out = {{0}, 0};
    if (memmem(data, size, "load", 4)) return 0; /* no files */
    gpm_options_init(&o);
    o.max_seconds = 1;
    o.max_depth = 200;
    o.max_memory = (size_t)256 << 20;
    o.write = collect;
    o.user = &out;
    gpm_session *s = gpm_session_new(&o);
    enum gpm_status st = gpm_run_text(s, "fuzz", (const char *)data, size);
    if (st == GPM_E_USER && gpm_last_error(s)[0] == '\0') abort(); /* failure without a word */
    memset(&out, 0, sizeof out);
    st = gpm_run_text(s, "after", "[20 + 3, \"alive\"]", 17);
    if (st == GPM_OK && !strstr(out.text, "alive")) abort();
    gpm_session_free(s);
    return 0;
}
