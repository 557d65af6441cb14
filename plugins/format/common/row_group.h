/*
 * row_group.h - the addresses of a group of weight rows that a kernel works on at once: fours of rows, the
 * second to fourth at the same distances from the first, so that two bases (AVX2) or four (AVX-512) and three
 * distances address the group without a register for each row. Also prefetching.
 *
 * A last, smaller group works on rows twice rather than on rows that do not exist: its fours overlap, and of
 * less than four rows the last is repeated.
 */
#ifndef TENON_ROW_GROUP_H
#define TENON_ROW_GROUP_H

#include "format_plugin.h"

#include <immintrin.h>

typedef struct tn_row_group {
    const uint8_t *four[4]; /* the first row of each four; of AVX2 two are used */
    uint64_t apart[4];      /* bytes from the first row of a four to each of it */
    uint64_t start[4];      /* the first row of each four, counted in the group */
    uint64_t each;          /* rows of a four that exist */
} tn_row_group;

/** `fours` fours of rows from `first` on, of which `count` (at least 1) exist. */
TN_INLINE tn_row_group tn_group_rows(const uint8_t *first, uint64_t stride, uint64_t count, uint64_t fours) {
    tn_row_group group = {.each = count < 4 ? count : 4};
    for (uint64_t i = 0; i < 4; i++) { group.apart[i] = (i < group.each ? i : group.each - 1) * stride; }
    for (uint64_t i = 0; i < fours; i++) {
        uint64_t last = count - group.each;
        group.start[i] = 4 * i < last ? 4 * i : last;
        group.four[i] = first + group.start[i] * stride;
    }
    return group;
}

/** Row i of the group. */
TN_INLINE const uint8_t *tn_row(const tn_row_group *group, uint32_t i) {
    return group->four[i / 4] + (i % 4 ? group->apart[i % 4] : 0);
}

/** All rows `bytes` further. The compiler shall not make sixteen running pointers of it: they do not fit. */
TN_INLINE void tn_advance(tn_row_group *group, uint64_t bytes, uint64_t fours) {
    for (uint64_t i = 0; i < fours; i++) {
        group->four[i] += bytes;
        __asm__("" : "+r"(group->four[i]));
    }
}

/** Stores one result for each row of a group that is not full; results[4 * i + k] is row k of four i. */
TN_INLINE void tn_store_group(float *out, const tn_row_group *group, const float *results, uint64_t fours) {
    for (uint64_t i = 0; i < fours; i++) {
        for (uint64_t k = 0; k < group->each; k++) { out[group->start[i] + k] = results[4 * i + k]; }
    }
}

/**
 * Where to prefetch from while a group of rows whose bytes begin at `first` is worked on: the next group, or
 * further where groups are small: memory needs some 16 KiB of notice (measured: less costs a third, more
 * gains nothing).
 */
TN_INLINE const uint8_t *tn_ahead(const uint8_t *first, uint64_t group_bytes) {
    return first + (group_bytes < 16384 ? 16384 : group_bytes);
}

/**
 * `bytes` from `at` on into the second-level cache. A prefetch never faults, and reads nothing it may not.
 */
TN_INLINE void tn_prefetch(const uint8_t *at, uint32_t bytes) {
    for (uint32_t o = 0; o < bytes; o += 64) { _mm_prefetch((const char *)at + o, _MM_HINT_T1); }
}

/**
 * For kernels that work longer on a line: the line at `at` into the first-level cache, and the one a group
 * further into the second (measured on Zen 4: up to 1.7 times the speed of one prefetch alone).
 */
TN_INLINE void tn_prefetch_twice(const uint8_t *at, uint64_t group_bytes) {
    _mm_prefetch((const char *)at, _MM_HINT_T0);
    _mm_prefetch((const char *)at + group_bytes, _MM_HINT_T1);
}

/**
 * For kernels that open rows one by one: prefetching in `parts` steps, one before each row. Part `part` of the
 * next group's `bytes` at `next` goes into the second-level cache; they are fetched evenly and stay where they
 * are written, for many at once wait for each other (measured with Q6_K on Zen 4: 1.4 times the speed).
 */
TN_INLINE void tn_prefetch_part(const uint8_t *next, uint32_t bytes, uint32_t part, uint32_t parts) {
    uint32_t from = (part * bytes / parts + 63) / 64 * 64, to = (part + 1) * bytes / parts;
#pragma GCC unroll 8
    for (uint32_t o = from; o < to; o += 64) { _mm_prefetch((const char *)next + o, _MM_HINT_T1); }
    __asm__ volatile("" ::: "memory");
}

/** `lines` lines from `at` on, soon to be read, from there into the first-level cache. */
TN_INLINE void tn_prefetch_soon(const uint8_t *at, uint32_t lines) {
    for (uint32_t i = 0; i < lines; i++) { _mm_prefetch((const char *)at + 64 * i, _MM_HINT_T0); }
}

#endif
