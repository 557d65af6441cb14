/* iq4_nl_avx2.c - kernels of IQ4_NL for AVX2. */
#include "iq4_nl_kernels.h"
#include "table16_avx2.h"

static inline __m256i open_one(const uint8_t *block) {
    return _mm256_shuffle_epi8(tn_table_avx2(tn_iq4_values, 0), tn_load_nibbles(block + 2));
}

static inline void open_rows(const tn_row_group *rows, __m256i *w) {
    tn_open_table8(rows, 2, tn_table_avx2(tn_iq4_values, 0), w);
}

static void gemv(const tn_gemv *call) {
    tn_gemv32_avx2(call, IQ4_NL_SHAPE, 0, open_rows, tn_dot_table8);
}

static void unpack(const tn_unpack *call) {
    tn_unpack32_avx2(call, IQ4_NL_SHAPE, 0, open_one);
}

TN_GEMV_KERNEL(iq4_nl_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq4_nl gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq4_nl_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq4_nl unpack p8 avx2",
                 unpack);
