/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem devices: what Gaussian processes can be computed on. And the option by which other commands
 * choose. */
#include "front/cli/command.h"
#include "front/cli/out.h"
#include <stdlib.h>
#include <string.h>

static const char *device;
static const struct option_row rows[] = {
    {"device", 0, OPTION_TEXT, "cpu|gpu|auto",
     "where Gaussian processes are factored (default: GPMEM_DEVICE, else cpu)", &device},
};
struct option_group device_options = {rows, COUNT_OF(rows)};

static bool gpu;
bool device_is_gpu(void) {
    return gpu;
}

int device_choose(void) {
    const char *word = device ? device : getenv("GPMEM_DEVICE");
    if (!word || !*word) return EXIT_FINE;
    enum gpm_status st = gpm_device_use(word);
    if (st == GPM_E_ARG)
        return complain(EXIT_USAGE, "%s wants cpu, gpu or auto, not '%s'",
                        device ? "--device" : "GPMEM_DEVICE", word);
    if (st) return complain(EXIT_FAILED, "%s", gpm_device_error());
    gpu = strcmp(word, "cpu") != 0 && gpm_device_text();
    if (strcmp(word, "auto") == 0 && !gpu && !voice.quiet)
        complain(0, "--device auto: %s; the CPU is used", gpm_device_error());
    else if (strcmp(word, "cpu") != 0)
        explain("device: %s", gpm_device_text());
    return EXIT_FINE;
}

static int devices(int argc, char **argv) {
    const char *card = gpm_device_text(), *better = gpm_blas_better_core();
    out_printf("cpu   OpenBLAS for %s%s%s, exact to 8000 inputs\n", gpm_blas_core(),
               better ? ", this machine is a " : "", better ? better : "");
    if (card)
        out_printf("gpu   %s\n", card);
    else
        out_printf("gpu   %s\n", gpm_device_error());
    return EXIT_FINE;
}

COMMAND(devices, 165) = {
    .args = "",
    .summary = "what Gaussian processes can be computed on",
    .text = "One line for this machine's processor, with the kind of processor that its linear "
            "algebra was made "
            "for, and one for the GPU: its name, memory, how many inputs a Gaussian process may "
            "have there, the "
            "versions of the driver and of CUDA's libraries; or why there is none. Other commands "
            "take --device cpu, "
            "gpu (which never falls back: what cannot be done there ends with the reason) or auto.",
    .takes = {0, 0},
    .run = devices,
};
