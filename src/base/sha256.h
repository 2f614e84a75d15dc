/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4) of a text: how a run remembers the files that it read; and HMAC (RFC 2104)
 * by it: how the messages of notebooks are signed.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H
#include <stddef.h>

/* 64 hexadecimal digits and a NUL. */
void sha256_hex(const void *data, size_t len, char out[65]);
void hmac_sha256_hex(const void *key, size_t key_len, const void *data, size_t len, char out[65]);
#endif
