/*
 * token_hash.h - what the hash tables of the families mix their keys with.
 */
#ifndef TENON_TOKEN_HASH_H
#define TENON_TOKEN_HASH_H

#include <stdint.h>
#include <string.h>

/** Both halves of a product. */
static inline uint64_t tn_hash_fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/** Eight bytes, at any address. */
static inline uint64_t tn_hash_load(const unsigned char *p) {
    uint64_t bytes;
    return memcpy(&bytes, p, 8), bytes;
}

#endif
