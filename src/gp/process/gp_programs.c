/* SPDX-License-Identifier: Apache-2.0
 * Programs for the card by the shape of a kernel; gp_device.c and gp_batch.c run them. Contract in
 * gp_engine.h. */
#include "gp/process/gp_engine.h"

#include "base/mem.h"
#include "io/gpu/gpu.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table; rows stay */
static VEC(struct gp_program *) programs;

static struct gp_program any;

static void make_any(void) {
    struct buf text = BUF_INIT;
    kern_any_program(&any.layout, &text);
    any.text = buf_take(&text);
}

struct gp_program *gp_program_any(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_any);
    return &any;
}

static bool is_of(const struct gp_program *p, const struct kern *k, int dim) {
    return p->layout.dim == dim && kern_same_shape(p->k, k);
}

static enum gpm_status make(const struct kern *k, int dim, struct gp_program **out) {
    struct gp_program *p = NEW(struct gp_program);
    struct buf text = BUF_INIT;
    char *why = NULL;
    enum gpm_status st = kern_program(k, dim, &p->layout, &text, &why);
    if (st) {
        st = gpu_fail("%s", why ? why : "the kernel has no program");
        mem_free(p);
    } else {
        p->k = kern_ref(k);
        p->text = buf_take(&text);
        vec_push(&programs, p);
        *out = p;
    }
    mem_free(why);
    buf_release(&text);
    return st;
}

enum gpm_status gp_program_of(const struct kern *k, int dim, struct gp_program **out) {
    if (*out && is_of(*out, k, dim)) return GPM_OK;
    *out = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < programs.n && !*out; i++)
        if (is_of(programs.at[i], k, dim)) *out = programs.at[i];
    enum gpm_status st = *out ? GPM_OK : make(k, dim, out);
    pthread_mutex_unlock(&lock);
    return st;
}

enum gpm_status gp_program_compiled(struct gp_program *p, unsigned key, const char *rest,
                                    const char *const *options, struct gpu_program **out) {
    for (size_t i = 0; i < p->variants.n; i++)
        if (p->variants.at[i].key == key) {
            *out = p->variants.at[i].program;
            return GPM_OK;
        }
    struct buf text = BUF_INIT;
    buf_puts(&text, p->text);
    buf_puts(&text, rest);
    enum gpm_status st = gpu_program(text.data, options, out);
    buf_release(&text);
    if (st) return st;
    struct gp_variant made = {key, *out};
    vec_push(&p->variants, made);
    return GPM_OK;
}
