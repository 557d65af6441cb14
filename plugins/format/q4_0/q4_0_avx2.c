/* q4_0_avx2.c - kernels of Q4_0 for AVX2, and its encoder compiled for AVX2. */
#include "q4_0_encode.h"
#include "simd_avx2.h"

static inline __m256i open_one(const uint8_t *block) {
    return tn_load_nibbles(block + 2);
}

static inline void open_rows(const tn_row_group *rows, __m256i *w) {
    tn_open_nibbles8(rows, 2, w);
}

static void gemv(const tn_gemv *call) {
    tn_gemv32_avx2(call, Q4_0_SHAPE, 8, open_rows, tn_dot_nibbles8);
}

static void unpack(const tn_unpack *call) {
    tn_unpack32_avx2(call, Q4_0_SHAPE, 8, open_one);
}

uint32_t q4_0_encode_avx2(const tn_run *run, uint8_t *blocks) {
    return q4_0_encode_run(run, blocks);
}

TN_GEMV_KERNEL(q4_0_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q4_0 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q4_0_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "q4_0 unpack p8 avx2",
                 unpack);
