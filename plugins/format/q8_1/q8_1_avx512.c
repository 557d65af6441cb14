/* q8_1_avx512.c - kernels of Q8_1 for AVX-512 VNNI. */
#include "q8_1_kernels.h"
#include "simd_avx512.h"

static inline __m512i open_two(const uint8_t *a, const uint8_t *b) {
    return _mm512_xor_si512(tn_load_two(a + 4, b + 4), _mm512_set1_epi8((char)0x80));
}

static inline void open_rows(const tn_row_group *rows, __m512i *w) {
    tn_open_bytes16(rows, 4, w);
}

static void gemv(const tn_gemv *call) {
    tn_gemv32_avx512(call, Q8_1_SHAPE, 128, open_rows, tn_dot_bytes16);
}

static void unpack(const tn_unpack *call) {
    tn_unpack32_avx512(call, Q8_1_SHAPE, 128, open_two);
}

TN_GEMV_KERNEL(q8_1_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q8_1 gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q8_1_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "q8_1 unpack p8 avx512vnni", unpack);
