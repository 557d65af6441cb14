/* q8_k_avx2.c - kernels of Q8_K for AVX2. */
#include "q8_k_kernels.h"
#include "wide_avx2.h"

static inline __m256 scales(const tn_row_group *rows) {
    return _mm256_castsi256_ps(tn_words8(rows, 0));
}

static inline void open(const tn_row_group *rows, uint32_t step, __m256i *w) {
    tn_open_bytes8(rows, 4 + 32 * step, w);
}

static inline void dot(const __m256i *w, const int8_t *codes, __m256i *sums) {
    sums[0] = tn_dot_bytes8(w, codes);
}

static void gemv(const tn_gemv *call) {
    tn_wide_gemv(call, &(const tn_wide){Q8_K_SHAPE, 1, 0, scales, open, dot});
}

static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    *scale = tn_load_float(block);
    for (uint32_t i = 0; i < 256; i += 32) {
        _mm256_storeu_si256((void *)(codes + i), _mm256_loadu_si256((const void *)(block + 4 + i)));
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, Q8_K_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(q8_k_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q8_k gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q8_k_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 256, 0, "q8_k unpack p8 avx2",
                 unpack);
