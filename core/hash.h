/*
 * hash.h - SHA-256. The one place that knows mbedTLS's names.
 */
#ifndef TENON_HASH_H
#define TENON_HASH_H

#include <stddef.h>

/** Bytes of a hash in lower-case hex, with its NUL. */
#define TN_SHA256_TEXT 65

void tn_sha256(const void *data, size_t size, char hex[TN_SHA256_TEXT]);

#endif
