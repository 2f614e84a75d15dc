/* SPDX-License-Identifier: Apache-2.0
 *
 * Status codes: every function that can fail returns one. Enum and text come from the same rows.
 * GPM_OK is 0. GPM_E_USER means that a diagnostic was recorded in the error context at hand.
 */
#ifndef GPMEM_STATUS_H
#define GPMEM_STATUS_H

#define GPM_STATUS_LIST(X)                                                                         \
    X(GPM_OK, "ok")                                                                                \
    X(GPM_E_USER, "the program or its input is wrong; a diagnostic says how")                      \
    X(GPM_E_INCOMPLETE, "the input ends in the middle of a construct")                             \
    X(GPM_E_ARG, "an argument of the call is out of its range")                                    \
    X(GPM_E_NOMEM, "out of memory")                                                                \
    X(GPM_E_NOT_PD, "a matrix is not positive definite")                                           \
    X(GPM_E_NO_CONVERGENCE, "an iteration did not converge")                                       \
    X(GPM_E_IO, "a file could not be read or written")                                             \
    X(GPM_E_FORMAT, "a file or text does not have the expected form")                              \
    X(GPM_E_LIMIT, "a limit set by the user was reached")                                          \
    X(GPM_E_INTERRUPT, "interrupted")                                                              \
    X(GPM_E_DENIED, "not allowed without a permission flag")                                       \
    X(GPM_E_CONFLICT, "the stored state belongs to something else")                                \
    X(GPM_E_BUSY, "somebody else holds the resource")                                              \
    X(GPM_E_NOT_FOUND, "no such thing")                                                            \
    X(GPM_E_IMPOSSIBLE, "the state has probability zero")                                          \
    X(GPM_E_DEVICE, "the GPU cannot do it; the reason is told")

enum gpm_status {
#define X(name, text) name,
    GPM_STATUS_LIST(X)
#undef X
};

#if defined(__GNUC__)
#define GPM_MUST_USE __attribute__((warn_unused_result))
#define GPM_API      __attribute__((visibility("default")))
#else
#define GPM_MUST_USE
#define GPM_API
#endif

#if defined(__cplusplus)
extern "C" {
#endif
/* The text of a status code; never NULL. */
GPM_API const char *gpm_status_text(enum gpm_status st);
#if defined(__cplusplus)
}
#endif
#endif
