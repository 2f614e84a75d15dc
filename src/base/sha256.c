/* SPDX-License-Identifier: Apache-2.0
 *
 * See sha256.h. Names follow the standard.
 */
#include "base/sha256.h"
#include "base/mem.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void block(uint32_t h[8], const unsigned char *m) {
    uint32_t w[64], v[8];
    for (int t = 0; t < 16; t++) {
        w[t] = (uint32_t)m[4 * t] << 24 | (uint32_t)m[4 * t + 1] << 16 |
               (uint32_t)m[4 * t + 2] << 8 | m[4 * t + 3];
    }
    for (int t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + w[t - 7] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) +
               (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t a = v[0], e = v[4];
        uint32_t t1 = v[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
                      k[t] + w[t];
        uint32_t t2 =
            (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

static void digest(const void *data, size_t len, unsigned char out[32]) {
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *p = data;
    size_t whole = len / 64 * 64, rest = len - whole;
    for (size_t i = 0; i < whole; i += 64) block(h, p + i);
    unsigned char tail[128] = {0}; /* the rest, a one bit, zeros, the length in bits */
    size_t size = rest < 56 ? 64 : 128;
    if (rest) memcpy(tail, p + whole, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[size - 1 - (size_t)i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    for (size_t i = 0; i < size; i += 64) block(h, tail + i);
    for (int i = 0; i < 32; i++) out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void hex(const unsigned char bytes[32], char out[65]) {
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

void sha256_hex(const void *data, size_t len, char out[65]) {
    unsigned char d[32];
    digest(data, len, d);
    hex(d, out);
}

/* H((K ^ opad) H((K ^ ipad) text)), K padded with zeros to a block of 64 bytes. */
void hmac_sha256_hex(const void *key, size_t key_len, const void *data, size_t len, char out[65]) {
    unsigned char k64[64] = {0}, outer[96], d[32];
    unsigned char *inner = mem_alloc(64 + len);
    if (key_len > sizeof k64)
        digest(key, key_len, k64);
    else if (key_len)
        memcpy(k64, key, key_len);
    for (int i = 0; i < 64; i++) {
        inner[i] = k64[i] ^ 0x36;
        outer[i] = k64[i] ^ 0x5c;
    }
    if (len) memcpy(inner + 64, data, len);
    digest(inner, 64 + len, outer + 64);
    digest(outer, sizeof outer, d);
    hex(d, out);
    mem_free(inner);
}
