/* tq2_0_avx2.c - kernels of TQ2_0 for AVX2. */
#include "ternary_avx2.h"
#include "tq2_0_kernels.h"

static inline __m256 scales(const tn_row_group *rows) {
    return tn_halves8(rows, 64);
}

/* Two bits of each byte a piece; every second pair of them where it is. */
static inline void open(const tn_row_group *rows, uint32_t piece, __m256i *kept, __m256i *w) {
    for (uint32_t i = 0; piece % 4 == 0 && i < 8; i += 4) {
        tn_load_pieces8(rows, piece / 4 * 32 + i * 4, kept + i);
    }
    for (uint32_t i = 0; i < 8; i++) {
        if (piece % 4 == 2) { kept[i] = _mm256_srli_epi16(kept[i], 4); }
        w[i] = _mm256_and_si256(kept[i], _mm256_set1_epi8(piece % 2 ? 12 : 3));
    }
}

static void gemv(const tn_gemv *call) {
    tn_ternary_gemv(call, &(const tn_ternary){66, 2, 1, scales, open});
}

static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    *scale = _cvtsh_ss(tn_load_u16(block + 64));
    for (uint32_t half = 0; half < 2; half++) {
        __m256i bits = _mm256_loadu_si256((const void *)(block + 32 * half));
        for (uint32_t n = 0; n < 4; n++, codes += 32) {
            __m256i code = _mm256_and_si256(bits, _mm256_set1_epi8(3));
            _mm256_storeu_si256((void *)codes, _mm256_sub_epi8(code, _mm256_set1_epi8(1)));
            bits = _mm256_srli_epi16(bits, 2);
        }
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, TQ2_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(tq2_0_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "tq2_0 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(tq2_0_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 256, 0, "tq2_0 unpack p8 avx2",
                 unpack);
