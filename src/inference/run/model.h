/* SPDX-License-Identifier: Apache-2.0
 *
 * Models: particles that share directives, and draws of particles by weight (model.c; infer_lent
 * op_particles.c). */
#ifndef INFER_MODEL_H
#define INFER_MODEL_H
#include "runtime/trace/trace.h"

struct infer_state;
typedef VEC(struct trace *) particles;
void particles_free(particles *p); /* NULL entries are skipped */
/* A model: particles that share directives, at least one. A box value, so programs can hold
 * several. */
struct model {
    struct box box;
    particles p;
    bool begun;       /* moved (op_moves), forced or frozen: no longer a draw from the prior */
    bool looked_at;   /* since the last directive: seen to be possible, or reported impossible */
    uint64_t made_by; /* the run inside a model that made it (nest.h), or 0 */
};
extern const struct box_class model_class;
value model_new(struct session_core *core);
struct model *model_of(value v); /* NULL for other values */
/* A copy that shares layers with the model. From now on the model shares layers, too
 * (model_whole). */
enum gpm_status model_fork(struct infer_state *x, struct model *m, value *out) GPM_MUST_USE;
/* Adds a copy of a particle with its own random stream. Adds none if memory runs short. */
enum gpm_status model_add_copy(struct infer_state *x, struct trace **t, particles *to) GPM_MUST_USE;
/* Ends sharing of layers in the model's traces, before anything changes or walks over them
 * (trace_whole). */
enum gpm_status model_whole(struct infer_state *x) GPM_MUST_USE;
/* Call before the model's state is kept or shown. Warns if operators have run and the state still
 * has probability zero, and names the observation it contradicts. */
void model_tell_impossible(struct infer_state *x);
double model_log_weight(const struct model *m); /* log of the sum of the particles' weights */
/* Effective number of particles, (sum w)^2 / sum w^2; 0 if all weights are 0. */
double model_ess(const struct model *m);
/* Makes `want` draws by weight and adds to count[i] how often particle i is drawn; total =
 * model_log_weight. If every weight is 0 all are equally likely. systematic: one random number
 * serves all draws, so a particle with share s is drawn floor(s * want) times or once more. */
size_t infer_first_above(const double *upto, size_t n, double u); /* first above u, or n; sorted */
void infer_draw_particles(struct infer_state *x, double total, bool systematic, size_t want,
                          size_t *count);
/* Reduces the current model to particle i for a while. infer_take_back gets the old particles back,
 * with the status and result of what ran in between. That may replace the trace but must not make
 * several. */
/* While the model is reduced to one particle: it is particle `at` of n, with this total weight. */
struct lent {
    size_t n, at; /* n 0: not reduced */
    double log_weight;
};
struct lent *infer_lent(const struct infer_state *x);
particles infer_lend(struct infer_state *x, size_t i);
enum gpm_status infer_take_back(struct infer_state *x, size_t i, particles all, enum gpm_status st,
                                value *out) GPM_MUST_USE;
#endif
