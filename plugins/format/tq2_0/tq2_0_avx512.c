/* tq2_0_avx512.c - kernels of TQ2_0 for AVX-512 VNNI. */
#include "tq2_0_kernels.h"
#include "wide_avx512.h"

static inline __m512 scales(const tn_row_group *rows) {
    return tn_upper_halves(tn_words16(rows, 62));
}

/* Two bits of each byte a step: columns 0 .. 15 of it in w[0 .. 3], as tn_dot_nibbles16 wants them. */
static inline void open(const tn_row_group *rows, uint32_t step, __m512i *kept, __m512i *w) {
    for (uint32_t i = 0; i < 8; i++) {
        kept[i] = step % 4 ? _mm512_srli_epi16(kept[i], 2)
                           : tn_load_quarters(rows, i % 4, step / 4 * 32 + i / 4 * 16);
        w[i] = _mm512_and_si512(kept[i], _mm512_set1_epi8(3));
    }
}

static inline void dot(const __m512i *w, const int8_t *codes, __m512i *sums) {
    sums[0] = tn_dot_nibbles16(w, codes);
}

static void gemv(const tn_gemv *call) {
    tn_wide_gemv(call, &(const tn_wide){TQ2_0_SHAPE, 1, 1, scales, open, dot});
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
