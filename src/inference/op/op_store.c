/* SPDX-License-Identifier: Apache-2.0
 *
 * save_model, load_model: the current model in a file. It holds the particles with their
 * directives, choices, weights and generators. A loaded model continues with the same draws. */
#include "base/file.h"
#include "inference/run/infer_pack.h"
#include "inference/op/show.h"
#include "language/rows/protocol/sp_options.h"

#include <string.h>

#define KIND "mode"

static enum gpm_status op_save(struct infer_state *x, const struct action *a, value *out) {
    const char *path = value_text(a->args[0]);
    enum gpm_status st = infer_may(x, "write", path);
    if (st != GPM_OK) return st;
    struct pack p;
    struct buf file = BUF_INIT;
    pack_begin_write(&p);
    infer_pack_begin(&p, x->core);
    pack_model(&p, &x->model);
    if (!pack_ok(&p))
        st = infer_error(x, DIAG_FILE, "the model cannot be saved: %s", p.why.data);
    else {
        (void)pack_seal(&p, KIND, &file);
        st = file_write(path, FILE_GIVEN, file.data, file.len);
        if (st != GPM_OK) st = infer_error(x, DIAG_FILE, "cannot write '%s': %s", path, file_why());
    }
    buf_release(&file);
    core_pack_end(&p);
    return st;
}

/* Moves the particles of the loaded model into the current one. */
static enum gpm_status store_take(struct infer_state *x, const char *path, struct model *m) {
    particles was = x->model->p;
    if (x->core->nest)
        return infer_error(x, DIAG_ACTION_IN_MODEL, "'%s' cannot be loaded inside a model", path);
    x->model->p = m->p;
    x->model->begun = m->begun;
    m->p = was;
    return GPM_OK;
}

static enum gpm_status op_load(struct infer_state *x, const struct action *a, value *out) {
    const char *path = value_text(a->args[0]), *body;
    struct buf file = BUF_INIT, why = BUF_INIT;
    struct sp_options *o = x->core->host.options;
    size_t len;
    if (o && o->file) o->file(o->file_user, path);
    enum gpm_status st = file_read(path, FILE_GIVEN, SIZE_MAX / 2, &file);
    if (st != GPM_OK)
        st = infer_error(x, DIAG_FILE, "cannot read '%s': %s", path, file_why());
    else if (infer_open(x->core, file.data, file.len, KIND, &body, &len, &why) != GPM_OK)
        st =
            infer_error(x, DIAG_FILE, "'%s' holds no model that can be loaded: %s", path, why.data);
    if (st == GPM_OK) {
        struct pack p;
        struct model *m = NULL;
        pack_begin_read(&p, body, len);
        infer_pack_begin(&p, x->core);
        pack_model(&p, &m);
        st = pack_ok(&p) ? store_take(x, path, m)
                         : infer_error(x, DIAG_FILE, "'%s' cannot be loaded: %s", path, p.why.data);
        if (pack_ok(&p)) value_unref(value_box(V_BOX, &m->box)); /* else it may be incomplete */
        core_pack_end(&p);
    }
    buf_release(&file);
    buf_release(&why);
    return st;
}

const struct infer_op infer_store_rows[] = {
    {"save_model", "(file: name) -> action",
     "writes the current model into a file: directives, choices, particles, weights, generators; "
     "needs --allow-write",
     .flags = OP_EXACT | OP_SHARED | OP_ATOMIC, .run = op_save, .touches = SP_WRITES},
    {"load_model", "(file: name) -> action",
     "puts the model that save_model wrote in the place of the current one; it goes on as it would "
     "have gone on there; what another user wrote needs --allow-run",
     .flags = OP_SHARED | OP_ATOMIC, .run = op_load, .touches = SP_READS},
    {0},
};
