/* SPDX-License-Identifier: Apache-2.0
 * Devices: contracts in gpmem/gpmem.h. */
#include "gp/process/gp.h"
#include "gpmem/gp.h"
#include "io/gpu/gpu.h"
#include "numeric/la/blas.h"

#include "front/api/device.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

bool device_named(const char *name, enum gp_device *out) {
    static const char *const words[] = {"cpu", "gpu", "auto"};
    for (size_t i = 0; i < COUNT_OF(words) && name; i++)
        if (strcmp(words[i], name) == 0) {
            *out = (enum gp_device)i;
            return true;
        }
    return false;
}

enum gpm_status gpm_device_use(const char *device) {
    enum gp_device d;
    return device_named(device, &d) ? gp_device_use(d) : GPM_E_ARG;
}

const char *gpm_device_error(void) {
    return gp_device_error();
}

static char text[320];
static void describe(void) {
    const struct gpu_info *i = gpu_info();
    snprintf(text, sizeof text,
             "%s, compute capability %d.%d, %zu GB (%zu GB free), exact to about %zu000 inputs, "
             "driver for "
             "CUDA %d.%d, NVRTC %d.%d, cuBLAS %d.%d",
             i->name, i->major, i->minor, i->memory / 1000000000, i->free / 1000000000,
             gp_device_most() / 1000, i->driver / 1000, i->driver % 1000 / 10, i->nvrtc / 1000,
             i->nvrtc % 1000 / 10, i->cublas / 10000, i->cublas / 100 % 100);
}

const char *gpm_device_text(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (gpu_open()) return NULL;
    pthread_once(&once, describe);
    return text;
}

const char *gpm_blas_core(void) {
    return la_blas_core();
}
const char *gpm_blas_better_core(void) {
    return la_blas_better_core();
}

static char advice[240];
static void advise(void) {
    const char *better = la_blas_better_core();
    if (!better) return;
    snprintf(advice, sizeof advice,
             "OpenBLAS runs the code of an older processor here, slower and with other last digits "
             "than with OPENBLAS_CORETYPE=%s, which has to be set before the process starts",
             better);
}

const char *gpm_blas_advice(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, advise);
    return *advice ? advice : NULL;
}
