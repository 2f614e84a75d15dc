/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian process with its data, made to serve as the statistics of a stochastic procedure.
 *
 * Data. gp_add records pairs (x, y). Pairs at equal inputs form one entry, so the matrix is as
 * large as the number of distinct inputs. Without noise (noise = 0) a pair that repeats a known
 * input with the same y adds log density 0, with another y it makes the log density -inf (GPM_OK: a
 * legal answer). With noise > 0 every pair carries its own independent noise, and replicates enter
 * through their mean and spread, exactly: for m values at one input, prod_k N(y_k | f, s^2) =
 * N(ybar | f, s^2/m) * (2 pi s^2)^(-(m-1)/2) m^(-1/2) exp(-SS/(2 s^2)). White noise inside the
 * kernel (WN) is by value of x and part of the function; `noise` is not. A pair may also be added
 * as GP_LATENT: a value of the function itself, without noise; measurements at its input are then
 * independent of everything else, prod_k N(y_k | f, s^2).
 *
 * Factors. Two slots, current and proposed. gp_propose builds the factor for another kernel, mean
 * or noise beside the current one; gp_accept swaps, gp_reject costs nothing. A proposal holds until
 * accept, reject, or the data change (which rejects it). Adding and removing pairs costs O(n^2) on
 * the current factor. Term matrices of the kernel are cached within a memory budget, so a change of
 * one parameter fills again only the terms that hold it.
 *
 * Numerical trouble never aborts. Jitter as in numeric/la/chol.h; gp_report tells what was needed.
 * When no jitter helps the log marginal likelihood is -inf with GPM_E_NOT_PD; draws then use the
 * clipped spectrum. Predicted variances are never negative.
 *
 * Points in these calls are contiguous, one after another: x[i * dim + c].
 * One object belongs to one thread at a time. Random draws take standard normals from the caller,
 * so this layer holds no generator.
 */
#ifndef GP_GP_H
#define GP_GP_H
#include "gp/kernel/kernel.h"
#include "gp/process/mean.h"

struct gp;

/* mean may be NULL (zero). NULL and *why (caller frees) when the kernel does not fit the dimension
 * or the noise is negative. */
struct gp *gp_new(int dim, const struct kern *k, const struct mean *mean, double noise, char **why);
void gp_free(struct gp *g);
GPM_MUST_USE enum gpm_status gp_copy(const struct gp *g, struct gp **out); /* deep; no proposal */
/* The same with the kernel and the mean of `model`, which have the same values: procedures of a
 * copied trace. */
GPM_MUST_USE enum gpm_status gp_copy_under(const struct gp *g, const struct gp *model,
                                           struct gp **out);

/* ---- model ---- */
const struct kern *gp_kern(const struct gp *g); /* borrowed, as are the next ones */
const struct mean *gp_mean(const struct gp *g);
double gp_noise(const struct gp *g);
int gp_dim(const struct gp *g);
/* Replaces the model at once; the factor is built when next needed. */
GPM_MUST_USE enum gpm_status gp_set_model(struct gp *g, const struct kern *k,
                                          const struct mean *mean, double noise);
/* Drops what was computed for the current model: the next answer then has the same bits whatever
 * was asked before (value and gradient may go different ways to the same number). */
void gp_forget(struct gp *g);
/* Log marginal likelihood of the data under another model, kept in the proposed slot. *logml is
 * -inf when the matrix cannot be factored (status GPM_OK: a proposal may be impossible). */
GPM_MUST_USE enum gpm_status gp_propose(struct gp *g, const struct kern *k, const struct mean *mean,
                                        double noise, double *logml);
void gp_accept(struct gp *g); /* no-op without a proposal */
void gp_reject(struct gp *g);
/* Bytes for cached term matrices; default 128 MiB, 0 switches the cache off. */
void gp_set_budget(struct gp *g, size_t bytes);
/* Exact ways that may be taken (gp_way.h): with a factor of the n x n matrix, and without one; all
 * by default. */
enum gp_exact_way { GP_TOEPLITZ = 1, GP_FILTERS = 2, GP_FACTORS = 4, GP_EXACT_WAYS = 7 };
void gp_set_ways(struct gp *g, unsigned ways);

/* Where matrices are factored: here, on a GPU (what that cannot do fails with GPM_E_DEVICE, and
 * gp_device_error says why), or there where it can be done. gp_device_use says it for the processes
 * made from now on and tells whether there is a GPU: GPM_E_DEVICE without one, under GP_ON_GPU.
 * Processes of fewer inputs than a GPU is worth (GPMEM_DEVICE_FROM, 512) stay here. */
enum gp_device { GP_ON_CPU, GP_ON_GPU, GP_ON_ANY };
GPM_MUST_USE enum gpm_status gp_device_use(enum gp_device device);
enum gp_device gp_device(void);
const char *gp_device_error(void);
/* Whether what was asked for still serves: of a search, which takes what cannot be computed for
 * improbable, to be asked at its end. */
GPM_MUST_USE enum gpm_status gp_device_serves(void);
size_t gp_device_most(void); /* inputs that an open GPU has memory for */
/* gpm_status_text, of GPM_E_DEVICE the reason. */
const char *gp_status_text(enum gpm_status st);
void gp_set_device(struct gp *g, enum gp_device device);

/* Before data are added: every pair becomes an input of its own, also where inputs are equal, and
 * white noise inside the kernel is by pair. Needs noise; such pairs cannot be removed. */
void gp_set_apart(struct gp *g);

/* Noise that differs by place: at x its variance is noise^2 times loud(ctx, x), for the data there
 * are and those to come; NULL: it is the same everywhere. Of predicted measurements it is noise^2.
 */
typedef double (*gp_loud_fn)(const void *ctx, const double *x);
void gp_set_loud(struct gp *g, gp_loud_fn loud, const void *ctx);

/* Its kernel takes many shapes, as in a search of structures: small ones are computed on a GPU by a
 * program for any shape instead of one for each. */
void gp_set_roaming(struct gp *g);

/* Approximation: automatic (exact up to GP_EXACT_MAX distinct inputs; on a GPU up to its memory,
 * then low rank or a refusal), none, or by choice. size: number of inducing points, of neighbours
 * or the most pivots, 0 for the default (512, 256, 4096). Low rank is as good as exact, or refused
 * (gp_low_rank.h). gp_method names what was used. */
enum gp_approx { GP_AUTO, GP_EXACT, GP_INDUCING, GP_VECCHIA, GP_LOW_RANK };
#define GP_EXACT_MAX 8000
void gp_set_approx(struct gp *g, enum gp_approx kind, size_t size);
/* Above so many inputs (on a GPU: where its memory ends, if that is more) no factor and no
 * approximation but SE's form: what no filter serves in a fraction of a second is GPM_E_LIMIT.
 * Whatever has a likelihood then has parts and draws, too, and all of it in O(n). */
void gp_set_filtered(struct gp *g, size_t above);
/* By how much the current or proposed log likelihood may be off, in nats: a bound on the average
 * for inducing points, an estimate for neighbours, 0 where it is exact or was not computed. */
double gp_approx_error(const struct gp *g);
#define GP_ERROR_SMALL 1.0 /* below, it changes no conclusion */

/* Integrated out instead of given (both are off at first): a constant on top of the mean, under a
 * flat prior, and the scale s2 of the whole, kernel and noise alike, under 1/s2. The likelihood is
 * then that of the data up to shifts and factors, predictions include both, and `noise` is relative
 * to the scale. With L L' = K + noise, u = L^-1 1, q = u'u, dof = pairs - 1:
 *   mu = u'L^-1 r / q,  S = |L^-1 (r - mu)|^2 + spread of replicates / noise^2,  s2 = S / dof
 *   log p(y) = log Gamma(dof/2) - dof/2 log(pi S) - sum log L_ii - 1/2 log q + replicates
 *   f(x) ~ t_dof: mean m(x) + mu + k'K^-1 (r - mu), variance s2 (k0 - k'K^-1 k + (1 - k'K^-1
 * 1)^2/q) Not under an approximation; draws and densities of new pairs take s2 for known. */
enum gp_integrated { GP_MEAN = 1, GP_SCALE = 2 };
void gp_set_integrated(struct gp *g, unsigned which);
double gp_dof(const struct gp *g);                                /* of the t distribution */
GPM_MUST_USE enum gpm_status gp_scale2(struct gp *g, double *s2); /* 1 when it is not integrated */

/* ---- data ---- */
enum gp_target { GP_LATENT, GP_MEASURED }; /* the function, or a noisy measurement */
GPM_MUST_USE enum gpm_status gp_add(struct gp *g, enum gp_target target, const double *x,
                                    const double *y, size_t n);
/* Pairs apart (gp_set_apart; else GPM_E_ARG), pair i with noise of variance noise^2 loud[i]. */
GPM_MUST_USE enum gpm_status gp_add_loud(struct gp *g, const double *x, const double *y,
                                         const double *loud, size_t n);
/* Takes one pair out again; GPM_E_NOT_FOUND when it is not there, GPM_E_ARG with pairs apart. */
GPM_MUST_USE enum gpm_status gp_remove(struct gp *g, enum gp_target target, const double *x,
                                       double y);
void gp_clear(struct gp *g);
size_t gp_n(const struct gp *g);      /* distinct inputs */
size_t gp_npairs(const struct gp *g); /* recorded pairs */
/* Pair i in the order recorded (removals close the gap); x receives dim coordinates. */
void gp_pair(const struct gp *g, size_t i, double *x, double *y);
/* Pairs that carry density under this noise: repeats of an exactly known value do not. */
size_t gp_ndensity(const struct gp *g, double noise);

/* ---- likelihood ---- */
/* Cached. -inf with GPM_OK for contradicting data; -inf with GPM_E_NOT_PD when not factorable. */
GPM_MUST_USE enum gpm_status gp_logml(struct gp *g, double *out);
/* Gradient in the kernel's parameters (kern_nparam of them) and the noise (may be NULL), of the
 * proposed model while there is one. Under an approximation, that of the approximate one. */
GPM_MUST_USE enum gpm_status gp_logml_grad(struct gp *g, double *logml, double *dkern,
                                           double *dnoise);
/* Is there a factor of the current model? A gradient then takes no other. */
bool gp_factored(const struct gp *g);
/* The same with the quadratic form's part counted `weight` times (mixtures over the scale), and the
 * derivatives in the mean's parameters (mean_nparam of them). dmean, dnoise may be NULL;
 * GPM_E_LIMIT for another weight than 1 under an approximation. */
GPM_MUST_USE enum gpm_status gp_grad_weighted(struct gp *g, double weight, double *logml,
                                              double *dkern, double *dmean, double *dnoise);
/* The quadratic form of all pairs, (y - m)' (K + noise^2 I)^-1 (y - m), of the current or the
 * proposed model, exactly; mixtures over the scale (Student-t processes) are made from it. */
GPM_MUST_USE enum gpm_status gp_quadratic(struct gp *g, bool proposed, double *out);
/* log p(y* | data) of a batch of new pairs. Of the function or without noise, values at known (or
 * repeated) inputs contribute 0 when equal and -inf when not. */
GPM_MUST_USE enum gpm_status gp_conditional(struct gp *g, enum gp_target target, const double *x,
                                            const double *y, size_t n, double *logpdf);

/* Its gradient in y* (n values), -C^-1 (y* - mean), and the quadratic form (y* - mean)' C^-1 (y* -
 * mean) of the new pairs. GPM_E_NOT_PD where values are known already. */
GPM_MUST_USE enum gpm_status gp_conditional_slope(struct gp *g, enum gp_target target,
                                                  const double *x, const double *y, size_t n,
                                                  double *dy, double *quadratic);

/* ---- prediction ---- */
/* mean, var: n values, either may be NULL. */
GPM_MUST_USE enum gpm_status gp_predict(struct gp *g, const double *x, size_t n,
                                        enum gp_target target, double *mean, double *var);
/* mean (may be NULL) and the full n x n symmetric covariance. */
GPM_MUST_USE enum gpm_status gp_predict_cov(struct gp *g, const double *x, size_t n,
                                            enum gp_target target, double *mean, double *cov,
                                            size_t ld);
/* Joint draw at n points from n standard normals. Equal inputs get equal latent values, inputs
 * whose value is known get that. */
GPM_MUST_USE enum gpm_status gp_sample(struct gp *g, const double *x, size_t n,
                                       enum gp_target target, const double *z, double *out);
/* Posterior of an additive part of the function, `part` being the kernel of that part: mean and
 * variance (either may be NULL) at n points. The prior mean belongs to no part. */
GPM_MUST_USE enum gpm_status gp_component(struct gp *g, const struct kern *part, const double *x,
                                          size_t n, double *mean, double *var);
/* The same with the full n x n symmetric covariance, for a few points: of differences and slopes.
 */
GPM_MUST_USE enum gpm_status gp_component_cov(struct gp *g, const struct kern *part,
                                              const double *x, size_t n, double *mean, double *cov,
                                              size_t ld);
/* L^-1 (y - m), one number for each distinct input in the order recorded: independent standard
 * normal when the model holds. */
GPM_MUST_USE enum gpm_status gp_innovations(struct gp *g, double *out);
/* Leave-one-out prediction of every pair (npairs values each, either may be NULL) and the sum of
 * their log densities (may be NULL). GPM_E_LIMIT under an approximation, and with exact values
 * beside noisy ones. */
GPM_MUST_USE enum gpm_status gp_loo(struct gp *g, double *mean, double *var, double *logpdf);
/* The function at one point: mean and variance (may be NULL), or the mean with its derivatives in
 * x. Made for many calls, one after the other. */
GPM_MUST_USE enum gpm_status gp_point(struct gp *g, const double *x, double *mean, double *var);
GPM_MUST_USE enum gpm_status gp_mean_slope(struct gp *g, const double *x, double *mean,
                                           double *grad);
/* d(a mean + b var)/dx at the point of the last gp_point with a variance: whatever is made of the
 * two has its gradient at once. */
GPM_MUST_USE enum gpm_status gp_point_slope(struct gp *g, double a, double b, double *grad);

/* ---- what happened ---- */
/* After GPM_E_LIMIT: each way to compute what was asked, and why it did not serve. */
void gp_refusal(const struct gp *g, struct buf *out);
/* How the current likelihood was computed: "Cholesky", "Toeplitz", ...; "none" before it was. */
const char *gp_method(const struct gp *g);
/* Writes a sentence or two for the user: jitter, condition estimate, nearest pair of distinct
 * inputs and hyper-parameters. O(n^2). */
GPM_MUST_USE enum gpm_status gp_report(struct gp *g, struct buf *text);
#endif
