/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the language server: the input is what a client sends, each line one message (its
 * header is added here, so that the fuzzer need not count). Run: fuzz_lsp corpus/lsp
 */
#include "front/cli/command.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *nowhere;
    if (size > 16384) return 0;
    char *wire = NULL;
    size_t n = 0;
    FILE *w = open_memstream(&wire, &n);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t len = end ? (size_t)(end - data) - at : size - at;
        fprintf(w, "Content-Length: %zu\r\n\r\n", len);
        fwrite(data + at, 1, len, w);
        at += len + 1;
    }
    fclose(w);
    FILE *in = stdin, *out = stdout;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    stdin = n ? fmemopen(wire, n, "r") : fopen("/dev/null", "r");
    stdout = nowhere;
    command_find("lsp")->row->run(0, NULL);
    fclose(stdin);
    stdin = in;
    stdout = out;
    free(wire);
    return 0;
}
