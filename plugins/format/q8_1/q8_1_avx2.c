/* q8_1_avx2.c - kernels of Q8_1 for AVX2. */
#include "q8_1_kernels.h"
#include "simd_avx2.h"

static inline __m256i open_one(const uint8_t *block) {
    return _mm256_loadu_si256((const void *)(block + 4));
}

static inline void open_rows(const tn_row_group *rows, __m256i *w) {
    tn_open_bytes8(rows, 4, w);
}

static void gemv(const tn_gemv *call) {
    tn_gemv32_avx2(call, Q8_1_SHAPE, 0, open_rows, tn_dot_bytes8);
}

static void unpack(const tn_unpack *call) {
    tn_unpack32_avx2(call, Q8_1_SHAPE, 0, open_one);
}

TN_GEMV_KERNEL(q8_1_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q8_1 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q8_1_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "q8_1 unpack p8 avx2",
                 unpack);
