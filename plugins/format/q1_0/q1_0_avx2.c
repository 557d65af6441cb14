/*
 * q1_0_avx2.c - kernels of Q1_0 for AVX2. Byte i of a block has the codes of columns 8 i .. 8 i + 7; rather
 * than weights, activations are brought into another order: every eighth column for each bit of a byte.
 */
#include "q1_0_kernels.h"
#include "wide_avx2.h"

static inline __m256 scales(const tn_row_group *rows) {
    __m256 lower, upper;
    tn_split_halves(tn_words8(rows, 0), &lower, &upper);
    return lower;
}

static inline void open(const tn_row_group *rows, uint32_t step, __m256i *w) {
    (void)step;
    for (uint32_t j = 0; j < 4; j++) { w[j] = tn_load_both(rows, j, 2); }
}

/* Codes n, n + 8, n + 16, ... of 128 in both halves of by_bit[n]. */
static inline void sort_codes(const int8_t *codes, __m256i *by_bit) {
    __m256i pairs = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)); /* n and n + 8 to word n */
    __m256i z[4], words[4], quads[4];
    for (uint32_t i = 0; i < 4; i++) { /* sixteens i and i + 4 */
        __m128i low = _mm_loadu_si128((const void *)(codes + 16 * i));
        z[i] = _mm256_set_m128i(_mm_loadu_si128((const void *)(codes + 64 + 16 * i)), low);
        z[i] = _mm256_shuffle_epi8(z[i], pairs);
    }
    for (uint32_t i = 0; i < 2; i++) { /* n of 0 .. 3, of 4 .. 7; sixteens 0, 1 and 2, 3 */
        words[i] = _mm256_unpacklo_epi16(z[2 * i], z[2 * i + 1]);
        words[2 + i] = _mm256_unpackhi_epi16(z[2 * i], z[2 * i + 1]);
    }
    for (uint32_t i = 0; i < 2; i++) { /* quads[i]: n of 2 i and 2 i + 1 in the halves of each half */
        quads[2 * i] = _mm256_unpacklo_epi32(words[2 * i], words[2 * i + 1]);
        quads[2 * i + 1] = _mm256_unpackhi_epi32(words[2 * i], words[2 * i + 1]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        by_bit[2 * i] = _mm256_permute4x64_epi64(quads[i], 0x88);
        by_bit[2 * i + 1] = _mm256_permute4x64_epi64(quads[i], 0xdd);
    }
}

/* With codes of 0 and 1 a lane is the sum of 32 columns of a row. */
static inline void dot(const __m256i *w, const int8_t *codes, __m256i *sums) {
    __m256i x[8], v[4];
    sort_codes(codes, x);
    for (uint32_t j = 0; j < 4; j++) {
        __m256i pairs = _mm256_setzero_si256(), bits = w[j];
        for (uint32_t n = 0; n < 8; n++) {
            pairs = _mm256_add_epi16(pairs,
                                     _mm256_maddubs_epi16(_mm256_and_si256(bits, _mm256_set1_epi8(1)), x[n]));
            bits = _mm256_srli_epi16(bits, 1);
        }
        v[j] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(2));
    }
    tn_turn8(v, sums);
}

static void gemv(const tn_gemv *call) {
    tn_wide_gemv(call, &(const tn_wide){Q1_0_SHAPE, 4, 1, scales, open, dot});
}

static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    __m256i each = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201u);
    *scale = _cvtsh_ss(tn_load_u16(block));
    for (uint32_t i = 0; i < 4; i++) {
        __m256i x = _mm256_shuffle_epi8(_mm256_set1_epi32(tn_load_i32(block + 2 + 4 * i)), each);
        __m256i clear = _mm256_cmpeq_epi8(_mm256_and_si256(x, bit), _mm256_setzero_si256());
        _mm256_storeu_si256((void *)(codes + 32 * i), _mm256_or_si256(clear, _mm256_set1_epi8(1)));
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, Q1_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(q1_0_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q1_0 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q1_0_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 128, 0, "q1_0 unpack p8 avx2",
                 unpack);
