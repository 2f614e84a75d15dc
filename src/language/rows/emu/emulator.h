/* SPDX-License-Identifier: Apache-2.0
 *
 * Emulators: anything that can simulate jointly, absorb, release and score data can be used by the
 * statistical memoizer (memoizer.c). Points are contiguous: x[i * dim + c]. So are several values
 * per point (several.c): y[i * q + j]. The procedures made by one maker call share one state
 * object. */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H
#include "language/rows/protocol/sp.h"

struct emulator_class {
    const char *name;
    /* Joint draw at n points: of the latent function, or of new measurements. */
    enum gpm_status (*sample)(void *e, const double *x, size_t n, bool measured, struct rng *rng,
                              double *out);
    /* Pairs hold values of the latent function, or measurements, which may have noise. log p(y |
     * data); it may be -inf. */
    enum gpm_status (*conditional)(void *e, bool measured, const double *x, const double *y,
                                   size_t n, double *logpdf);
    /* Its gradient in y; NULL: unavailable. GPM_E_LIMIT: not for these pairs. */
    enum gpm_status (*slope)(void *e, bool measured, const double *x, const double *y, size_t n,
                             double *dy);
    /* Mean and standard deviation at one point given the data, and their derivatives in the point.
     * NULL or GPM_E_LIMIT: the value there is not normal, or they are unknown. */
    enum gpm_status (*predict)(void *e, bool measured, const double *x, double at[2], double *dmean,
                               double *dsd);
    enum gpm_status (*add)(void *e, bool measured, const double *x, const double *y, size_t n);
    enum gpm_status (*remove)(void *e, bool measured, const double *x, const double *y);
    enum gpm_status (*log_joint)(void *e, double *out);
    /* The approximation's error in nats, and its name; NULL: exact. */
    double (*error)(void *e, const char **method);
    size_t (*n_pairs)(void *e);
    void (*pair)(void *e, size_t i, double *x, double *y);
    /* Proposes parameters from a maker call and gives the new joint density; accept keeps them,
     * reject restores. */
    enum gpm_status (*propose)(void *e, struct sp_call *c, double *log_joint);
    void (*accept)(void *e);
    void (*reject)(void *e);
    /* Adjoints of the maker's arguments; may be NULL. */
    enum gpm_status (*gradient)(void *e, struct sp_call *c, value *dargs);
    void (*free)(void *e);
    /* Makes an emulator for inputs of this dimension from the maker's arguments; NULL after
     * sp_error. */
    void *(*make)(struct sp_call *c, int dim);
    /* Checks the maker's arguments as far as possible without the dimension. */
    enum gpm_status (*check)(struct sp_call *c);
    /* Data and results computed from them (base/pack.h); reads into a new emulator, also to copy a
     * model. */
    void (*pack)(struct pack *p, void *e);
    /* Used instead if the maker has likelihood=; or NULL. */
    const struct emulator_class *with_likelihood;
};

/* Implements makers' rows with their emulator (sp_class.of): gives the emulator alone or, under
 * SPECIAL_GPMEM, (f_compute, f_emu) of args[0]. Reads the row's parameters dim= and store= if
 * present. */
enum gpm_status memoizer_make(struct sp_call *c, value *out) GPM_MUST_USE;
extern const struct sp_state_class memoizer_state;
extern const struct sp_aaa memoizer_aaa, memoizer_pair_aaa; /* of the emulator alone; of a pair */
extern const struct emulator_class gp_emulator;
extern const struct emulator_class tp_emulator;      /* Student-t process */
extern const struct emulator_class poly_emulator;    /* polynomial regression, unknown noise */
extern const struct emulator_class laplace_emulator; /* measurements that are not normal */
extern const struct emulator_class several_emulator; /* several values at a point */
/* Does the maker give vectors: with a list of kernels, or outputs=? One kernel in a list, and
 * outputs=1, give vectors of one number. several_outputs: the number of outputs. */
bool several_given(const struct sp_call *c);
enum gpm_status several_outputs(struct sp_call *c, size_t *q) GPM_MUST_USE;
size_t process_kernel_place(const struct sp_call *c); /* position of the kernel argument */
/* Kernel and mean among the arguments of a maker of processes; owned. */
struct kern;
struct mean;
enum gpm_status process_read(struct sp_call *c, struct kern **k, struct mean **m) GPM_MUST_USE;
/* Adjoints of kernel, mean and noise as maker's arguments. Procedures as kernels or means have no
 * adjoint: ABSENT. */
void process_give(const struct sp_call *c, value dk, value dm, double dnoise, value *dargs);
/* Position of a given parameter of the maker by name; -1: not given. */
int maker_parameter(const struct sp_call *c, const char *name);
#endif
