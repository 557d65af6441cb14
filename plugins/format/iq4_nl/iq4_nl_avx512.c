/* iq4_nl_avx512.c - kernels of IQ4_NL for AVX-512 VNNI. */
#include "iq4_nl_kernels.h"
#include "table16_avx512.h"

static inline __m512i open_two(const uint8_t *a, const uint8_t *b) {
    return _mm512_shuffle_epi8(tn_table_avx512(tn_iq4_values, 0), tn_load_two_nibbles(a + 2, b + 2));
}

static inline void open_rows(const tn_row_group *rows, __m512i *w) {
    tn_open_table16(rows, 2, tn_table_avx512(tn_iq4_values, 128), w);
}

static void gemv(const tn_gemv *call) {
    tn_gemv32_avx512(call, IQ4_NL_SHAPE, 128, open_rows, tn_dot_nibbles16);
}

static void unpack(const tn_unpack *call) {
    tn_unpack32_avx512(call, IQ4_NL_SHAPE, 0, open_two);
}

TN_GEMV_KERNEL(iq4_nl_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq4_nl gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq4_nl_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "iq4_nl unpack p8 avx512vnni", unpack);
