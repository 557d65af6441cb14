/* tq2_0_avx512.c - kernels of TQ2_0 for AVX-512 VNNI. */
#include "ternary_avx512.h"
#include "tq2_0_kernels.h"

static inline __m512 scales(const tn_row_group *rows) {
    return tn_upper_halves(tn_words16(rows, 62));
}

/* Two bits of each byte a piece, where they are: piece n of four is shifted up by 2 n, which the sums end. */
static inline __m256i start(__m256i sums) {
    __m256i shifts = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    return _mm256_sllv_epi32(_mm256_sub_epi32(_mm256_setzero_si256(), sums), shifts);
}

static inline void open(const tn_row_group *rows, uint32_t piece, __m512i *kept, __m512i *w) {
    for (uint32_t i = 0; piece % 4 == 0 && i < 8; i += 4) {
        tn_transpose16(rows, piece / 4 * 32 + i * 4, kept + i);
    }
    for (uint32_t i = 0; i < 8; i++) {
        w[i] = _mm512_and_si512(kept[i], _mm512_set1_epi8((char)(3 << piece % 4 * 2)));
    }
}

static inline __m512i dot(const __m512i *w, uint32_t piece, const int8_t *codes, int32_t start_sum) {
    return _mm512_srai_epi32(tn_ternary_add(_mm512_set1_epi32(start_sum), w, codes), piece % 4 * 2);
}

static void gemv(const tn_gemv *call) {
    tn_ternary_gemv(call, &(const tn_ternary){66, scales, start, open, dot});
}

/* Both halves of a block at once: columns 32 n and 128 + 32 n on. */
static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    __m512i bits = _mm512_loadu_si512(block);
    *scale = _cvtsh_ss(tn_load_u16(block + 64));
    for (uint32_t n = 0; n < 4; n++) {
        __m512i code = _mm512_sub_epi8(_mm512_and_si512(bits, _mm512_set1_epi8(3)), _mm512_set1_epi8(1));
        _mm256_storeu_si256((void *)(codes + 32 * n), _mm512_castsi512_si256(code));
        _mm256_storeu_si256((void *)(codes + 128 + 32 * n), _mm512_extracti64x4_epi64(code, 1));
        bits = _mm512_srli_epi16(bits, 2);
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, TQ2_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(tq2_0_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "tq2_0 gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(tq2_0_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 256, 0,
                 "tq2_0 unpack p8 avx512vnni", unpack);
