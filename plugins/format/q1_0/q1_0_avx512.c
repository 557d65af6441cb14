/* q1_0_avx512.c - kernels of Q1_0 for AVX-512 VNNI, built like those for AVX2, which say how. */
#include "q1_0_kernels.h"
#include "wide_avx512.h"

static inline __m512 scales(const tn_row_group *rows) {
    return tn_lower_halves(tn_words16(rows, 0));
}

static inline void open(const tn_row_group *rows, uint32_t step, __m512i *w) {
    (void)step;
    for (uint32_t j = 0; j < 4; j++) { w[j] = tn_load_quarters(rows, j, 2); }
}

/* Codes n, n + 8, n + 16, ... of 128 in all quarters of by_bit[n]. */
static inline void sort_codes(const int8_t *codes, __m512i *by_bit) {
    __m512i pairs =
        _mm512_set4_epi32(0x0f070e06, 0x0d050c04, 0x0b030a02, 0x09010800); /* n and n + 8 to word n */
    __m512i a = _mm512_shuffle_epi8(_mm512_loadu_si512(codes), pairs);
    __m512i b = _mm512_shuffle_epi8(_mm512_loadu_si512(codes + 64), pairs);
    __m256i each =
        _mm256_setr_epi32(0x00080000, 0x00180010, 0x00280020, 0x00380030, 0x00090001, 0x00190011, 0x00290021,
                          0x00390031); /* words 0 of all eight sixteens, then words 1 */
    __m512i weave =
        _mm512_inserti64x4(_mm512_castsi256_si512(each), _mm256_add_epi16(each, _mm256_set1_epi16(2)), 1);
    for (uint32_t i = 0; i < 2; i++) {
        __m512i from = _mm512_add_epi16(weave, _mm512_set1_epi16((int16_t)(4 * i)));
        __m512i four = _mm512_permutex2var_epi16(a, from, b);
        by_bit[4 * i] = _mm512_shuffle_i32x4(four, four, 0x00);
        by_bit[4 * i + 1] = _mm512_shuffle_i32x4(four, four, 0x55);
        by_bit[4 * i + 2] = _mm512_shuffle_i32x4(four, four, 0xaa);
        by_bit[4 * i + 3] = _mm512_shuffle_i32x4(four, four, 0xff);
    }
}

/* With codes of 0 and 1 a lane is the sum of 32 columns of a row. */
static inline void dot(const __m512i *w, const int8_t *codes, __m512i *sums) {
    __m512i x[8], v[4];
    sort_codes(codes, x);
    for (uint32_t j = 0; j < 4; j++) {
        __m512i bits = w[j];
        v[j] = _mm512_setzero_si512();
        for (uint32_t n = 0; n < 8; n++) {
            v[j] = _mm512_dpbusd_epi32(v[j], _mm512_and_si512(bits, _mm512_set1_epi8(1)), x[n]);
            bits = _mm512_srli_epi16(bits, 1);
        }
        v[j] = _mm512_add_epi32(v[j], v[j]);
    }
    tn_turn16(v, sums);
}

static void gemv(const tn_gemv *call) {
    tn_wide_gemv(call, &(const tn_wide){Q1_0_SHAPE, 4, 1, scales, open, dot});
}

static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    *scale = _cvtsh_ss(tn_load_u16(block));
    for (uint32_t i = 0; i < 2; i++) {
        __mmask64 bits;
        memcpy(&bits, block + 2 + 8 * i, sizeof bits);
        _mm512_storeu_si512(codes + 64 * i, _mm512_mask_set1_epi8(_mm512_set1_epi8(-1), bits, 1));
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, Q1_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(q1_0_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q1_0 gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q1_0_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 128, 0,
                 "q1_0 unpack p8 avx512vnni", unpack);
