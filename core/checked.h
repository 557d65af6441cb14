/*
 * checked.h - sums and products of sizes that come from a file. Each returns 1 and sets *out, or 0 if the
 * result does not fit; then *out is not to be used.
 */
#ifndef TENON_CHECKED_H
#define TENON_CHECKED_H

#include <stdint.h>

static inline int tn_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

static inline int tn_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

/** The smallest multiple of `align`, a power of two, that is not below `value`. */
static inline int tn_align_u64(uint64_t value, uint64_t align, uint64_t *out) {
    if (!tn_add_u64(value, align - 1, out)) { return 0; }
    *out &= ~(align - 1);
    return 1;
}

#endif
