/*
 * hash.c - SHA-256 by mbedTLS. Version 2 has the name with _ret and a deprecated one without, version 3 only
 * the latter, which returns a status there.
 */
#include "hash.h"

#include <assert.h>
#include <mbedtls/sha256.h>
#include <mbedtls/version.h>
#include <stdint.h>

#if MBEDTLS_VERSION_MAJOR < 3
#define sha256_whole mbedtls_sha256_ret
#else
#define sha256_whole mbedtls_sha256
#endif

void tn_sha256(const void *data, size_t size, char hex[TN_SHA256_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    uint8_t sum[32];
    int failed = sha256_whole(data, size, sum, 0);
    assert(!failed); /* the software implementation has no way to fail */
    (void)failed;
    for (size_t i = 0; i < sizeof sum; i++) {
        hex[2 * i] = digits[sum[i] >> 4];
        hex[2 * i + 1] = digits[sum[i] & 15];
    }
    hex[2 * sizeof sum] = 0;
}
