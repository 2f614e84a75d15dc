/* SPDX-License-Identifier: Apache-2.0 */
#include "gpmem.h"
#include <R_ext/Rdynload.h>

#define ROUTINE(name, n)                                                                           \
    { #name, (DL_FUNC)&name, n }
static const R_CallMethodDef routines[] = {ROUTINE(gp_new, 6),
                                           ROUTINE(gp_fit, 4),
                                           ROUTINE(gp_facts, 1),
                                           ROUTINE(gp_predict, 4),
                                           ROUTINE(gp_simulate, 4),
                                           ROUTINE(gp_alive, 1),
                                           ROUTINE(kernel_rows, 0),
                                           ROUTINE(discover_run, 3),
                                           ROUTINE(discover_report, 2),
                                           ROUTINE(discover_query, 2),
                                           ROUTINE(discover_forecast, 7),
                                           ROUTINE(panel_run, 4),
                                           ROUTINE(discover_save, 2),
                                           ROUTINE(discover_open, 1),
                                           ROUTINE(regress_run, 3),
                                           ROUTINE(regress_report, 2),
                                           ROUTINE(regress_predict, 2),
                                           ROUTINE(optimizer_new, 1),
                                           ROUTINE(optimizer_names, 1),
                                           ROUTINE(optimizer_ask, 1),
                                           ROUTINE(optimizer_tell, 3),
                                           ROUTINE(optimizer_best, 1),
                                           ROUTINE(optimizer_report, 2),
                                           ROUTINE(program_run, 4),
                                           ROUTINE(draws_summary, 2),
                                           ROUTINE(library_version, 0),
                                           {NULL, NULL, 0}};

void R_init_gpmem(DllInfo *dll) {
    R_registerRoutines(dll, NULL, routines, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_forceSymbols(dll, TRUE);
    gpm_voice(GPM_VOICE_R);
}

SEXP library_version(void) {
    return mkString(gpm_version());
}
