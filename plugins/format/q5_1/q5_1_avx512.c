/* q5_1_avx512.c - kernels of Q5_1 for AVX-512 VNNI. */
#include "fifth_bits_avx512.h"
#include "q5_1_kernels.h"

static inline __m512i open_two(const uint8_t *a, const uint8_t *b) {
    return tn_load_two_fives(a + 4, a + 8, b + 4, b + 8);
}

static inline void open_rows(const tn_row_group *rows, __m512i *w) {
    tn_open_fives16(rows, 4, 8, w);
}

static void gemv(const tn_gemv *call) {
    tn_gemv32_heads_avx512(call, Q5_1_SHAPE, 0, tn_fives_heads16, open_rows, tn_dot_nibbles16);
}

static void unpack(const tn_unpack *call) {
    tn_unpack32_avx512(call, Q5_1_SHAPE, 0, open_two);
}

TN_GEMV_KERNEL(q5_1_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q5_1 gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q5_1_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 1,
                 "q5_1 unpack p8 avx512vnni", unpack);
