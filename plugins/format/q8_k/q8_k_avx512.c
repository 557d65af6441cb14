/* q8_k_avx512.c - kernels of Q8_K for AVX-512 VNNI. */
#include "q8_k_kernels.h"
#include "wide_avx512.h"

static inline __m512 scales(const tn_row_group *rows) {
    return _mm512_castsi512_ps(tn_words16(rows, 0));
}

static inline void open(const tn_row_group *rows, uint32_t step, __m512i *w) {
    tn_open_bytes16(rows, 4 + 32 * step, w);
}

static inline void dot(const __m512i *w, const int8_t *codes, __m512i *sums) {
    sums[0] = tn_dot_bytes16(w, codes);
}

static void gemv(const tn_gemv *call) {
    tn_wide_gemv(call, &(const tn_wide){Q8_K_SHAPE, 1, 128, scales, open, dot});
}

static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    *scale = tn_load_float(block);
    for (uint32_t i = 0; i < 256; i += 64) {
        _mm512_storeu_si512(codes + i, _mm512_loadu_si512(block + 4 + i));
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, Q8_K_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(q8_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q8_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q8_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 256, 0,
                 "q8_k unpack p8 avx512vnni", unpack);
