/*
 * kernel_rig.h - what the tests of the kernel tables share: memory with a wall behind it, numbers of every
 * kind, and tests made once for each table.
 */
#ifndef TENON_TEST_KERNEL_RIG_H
#define TENON_TEST_KERNEL_RIG_H

#include "kernels.h"

#include <criterion/criterion.h>
#include <stddef.h>

/* The table of that name if it was compiled in and this machine runs it, else the test is skipped by name. */
const cpu_kernels *rig_table(const char *name);
const cpu_kernels *rig_portable(void);

/* TABLE_TEST(suite, name) { ... kernels ... }: one Criterion test for each instruction set. */
#define TABLE_TEST_ONE(suite, name, table)                                                                   \
    Test(suite, name##_##table) {                                                                            \
        name##_of(rig_table(#table));                                                                        \
    }
#define TABLE_TEST(suite, name)                                                                              \
    static void name##_of(const cpu_kernels *kernels);                                                       \
    TABLE_TEST_ONE(suite, name, portable)                                                                    \
    TABLE_TEST_ONE(suite, name, avx2)                                                                        \
    TABLE_TEST_ONE(suite, name, avx512vnni)                                                                  \
    static void name##_of(const cpu_kernels *kernels)

/* `bytes` bytes that end where an inaccessible page begins. They live until rig_release(). */
void *rig_memory(size_t bytes);
float *rig_floats(size_t count);
/* The same, but the start is at a multiple of 64 and so the end up to 63 bytes before the wall. */
void *rig_aligned(size_t bytes);
/* Frees all of the above. */
void rig_release(void);

/* The next pseudo-random number of a fixed sequence. */
uint32_t rig_random(void);
/* In -1 .. 1. */
float rig_uniform(void);

/* Kinds of rows: ordinary numbers; of all magnitudes, zeros and subnormals; with NaN and Inf among them. */
enum { RIG_ORDINARY, RIG_WIDE, RIG_SPECIAL, RIG_KINDS };
void rig_fill(float *x, size_t count, int kind);

/* The same bits, or both NaN (whose payload nobody promises). */
int rig_same(float a, float b);
/* Fails the test, naming the place and both numbers, unless all are the same. */
void rig_expect_same(const float *got, const float *want, size_t count, const char *what, size_t size);

#endif
