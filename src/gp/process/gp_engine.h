/* SPDX-License-Identifier: Apache-2.0
 *
 * What computes with the factor of a covariance matrix, K + noise = L L'. "cpu" (gp_dense.c), "gpu"
 * (gp_device.c) and a program's own (mpi/exact.c) do the same to a model slot; gp_factor.c,
 * the way that uses them, knows no other difference. Vectors have an element for each distinct
 * input and live on the host.
 */
#ifndef GP_GP_ENGINE_H
#define GP_GP_ENGINE_H
#include "base/fibres.h"
#include "gp/process/gp_int.h"
#include "gp/way/kern_device.h"

struct gp_engine {
    const char *method; /* as gp_method says it */
    /* The factor of the slot's model; GPM_E_NOT_PD when no jitter helps. */
    enum gpm_status (*factor)(struct gp *g, struct gp_slot *s);
    /* b = L^-1 b, or L^-T b. */
    enum gpm_status (*solve)(struct gp *g, struct gp_slot *s, bool trans, double *b);
    enum gpm_status (*times)(struct gp *g, struct gp_slot *s, double *b); /* b = L b */
    double (*logdet)(const struct gp_slot *s);                            /* log |LL'| */
    /* After gp_slot_solve: d logml in the kernel's parameters and the noise (NULL: not wanted), the
     * quadratic form counted *weight times; *weight gets the factor of an integrated scale, too.
     * *alpha: sqrt(weight) K^-1 r, in the process's scratch memory. */
    enum gpm_status (*gradient)(struct gp *g, struct gp_slot *s, double *weight, double *dkern,
                                double *dnoise, double **alpha);
    enum gpm_status (*inverse)(struct gp *g, struct gp_slot *s, double *a,
                               size_t ld); /* lower triangle */
    /* The posterior at points, of a part of the function or (NULL) of all of it, added to the mean
     * (may be NULL, as the others); cov: lower triangle; along: less V'u, V = L^-1 K(X, X*), u that
     * of an integrated mean. */
    enum gpm_status (*posterior)(struct gp *g, struct gp_slot *s, const struct kern *part,
                                 struct kern_pts xs, double *mean, double *var, double *cov,
                                 size_t ld, double *along);
    /* The last inputs, from `first` on, are new. Fails where the factor must be rebuilt. */
    enum gpm_status (*append)(struct gp *g, struct gp_slot *s, size_t first);
    void (*release)(struct gp_slot *s); /* its memory */
    size_t chunk;                       /* points that a posterior is asked for at once */
};
extern const struct gp_engine gp_engine_cpu, gp_engine_gpu;
/* A program may bring an engine of its own for factors of `from` inputs and more that no device
 * serves (gpmem-mpi: one over many processes). Set once, before anything is computed. */
void gp_engine_set_spread(const struct gp_engine *engine, size_t from);
const struct gp_engine *gp_engine_host(size_t n); /* it, or "cpu" */
void gp_engines_release(struct gp_slot *s);       /* of all engines: the slot's memory */

/* The engine for what the process is now; GPM_E_DEVICE (gp_device_error) where it asks for a GPU
 * that cannot serve. */
GPM_MUST_USE enum gpm_status gp_engine_choose(const struct gp *g, const struct gp_slot *s,
                                              const struct gp_engine **out);
/* ---- programs for the card by the shape of a kernel (gp_programs.c) ---- */
struct gpu_program;
struct gp_variant {
    unsigned key;
    struct gpu_program *program;
};
struct gp_program {
    struct kern *k; /* one of the shape; NULL: that for any shape */
    struct kern_program layout;
    char *text;                      /* the kernel's */
    VEC(struct gp_variant) variants; /* compiled, under the card's lock */
};
/* Of that shape; *out may be NULL, or one that was found before and is perhaps it. It stays for
 * the process. From any thread, without the card's lock. */
GPM_MUST_USE enum gpm_status gp_program_of(const struct kern *k, int dim, struct gp_program **out);
/* That for any shape of one column (kern_any_program). */
struct gp_program *gp_program_any(void);
/* Compiled with the text `rest` behind the kernel's; `key` stands for that and the options. Under
 * the card's lock. */
GPM_MUST_USE enum gpm_status gp_program_compiled(struct gp_program *p, unsigned key,
                                                 const char *rest, const char *const *options,
                                                 struct gpu_program **out);
enum { GP_FOR_LARGE = 1, GP_FOR_BATCH }; /* keys: GP_FOR_BATCH + anything */

/* ---- small processes by many at once (gp_batch.c, gp_meet.c) ---- */
/* The likelihood of a slot, with its gradient where that is wanted. The thread that asks begins and
 * ends the job; the card runs it together with others. */
struct gp_job {
    struct parcel parcel; /* of gp_meet */
    struct gp *g;
    struct gp_slot *s;
    bool slopes;            /* the gradient, too: it stays in the slot */
    bool done;              /* out: the slot has its likelihood; else it is to be computed alone */
    enum gpm_status status; /* out */
    char *why;              /* of GPM_E_DEVICE, in words; NULL: none */
    /* between begin and end */
    struct gp_program *program;
    size_t n;            /* inputs */
    int features;        /* of each */
    unsigned layout;     /* how a block of threads computes it */
    struct gp_placed at; /* its data on the card */
    double *theta, *out; /* numbers that the card wants and gives */
    double few[48];      /* where they stand, if there are no more */
};
#define GP_BATCH_MAX 512 /* inputs of a process that goes this way */
bool gp_job_fits(const struct gp_job *t);
void gp_job_begin(struct gp_job *t);
void gp_job_end(struct gp_job *t);
/* Runs begun ones that fit. A thread that has some under way says wait = false and gets NULL where
 * they hold what these need; ended: end will not have to wait. */
struct gp_jobs *gp_jobs_begin(struct gp_job **jobs, size_t n, bool wait);
bool gp_jobs_ended(const struct gp_jobs *all);
void gp_jobs_end(struct gp_jobs *all);
void gp_jobs_run(struct gp_job **jobs, size_t n); /* both */
/* Seconds that the card took for all jobs since the last call, transfers included. */
double gp_jobs_seconds(void);
/* Begins, runs and ends one job, together with the jobs of other fibres; outside of a fibre, at
 * once and alone. */
GPM_MUST_USE enum gpm_status gp_meet(struct gp_job *t);
bool gp_meeting(void); /* this is a fibre */
/* The gradient that a job has left in the slot. */
void gp_slot_slopes(struct gp *g, struct gp_slot *s, double *dkern, double *dnoise);

/* Distinct inputs up to which matrices are factored, if nothing was said about it. */
size_t gp_exact_max(const struct gp *g);
/* r = ybar - mean at the inputs from `first` on. */
GPM_MUST_USE enum gpm_status gp_residual_from(struct gp *g, struct gp_slot *s, size_t first);
#endif
