/*
 * q2_0_avx2.c - kernels of Q2_0 for AVX2. Byte i of a block has the codes of columns 4 i .. 4 i + 3; rather
 * than weights, activations are brought into another order: every fourth column for each place in a byte.
 */
#include "q2_0_kernels.h"
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

/* Codes n, n + 4, n + 8, ... of 64 in both halves of by_place[n]. */
static inline void sort_codes(const int8_t *codes, __m256i *by_place) {
    __m256i quads = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5,
                                     9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m256i weave = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i a = _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)codes), quads);
    __m256i b = _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)(codes + 32)), quads);
    __m256i first = _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi32(a, b), weave);
    __m256i second = _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi32(a, b), weave);
    by_place[0] = _mm256_permute4x64_epi64(first, 0x44);
    by_place[1] = _mm256_permute4x64_epi64(first, 0xee);
    by_place[2] = _mm256_permute4x64_epi64(second, 0x44);
    by_place[3] = _mm256_permute4x64_epi64(second, 0xee);
}

/* Of a row, the sum of columns 0 .. 31 lies in two lanes, that of the others in the next two. */
static inline void dot(const __m256i *w, const int8_t *codes, __m256i *sums) {
    __m256i x[4], v[4];
    sort_codes(codes, x);
    for (uint32_t j = 0; j < 4; j++) {
        __m256i pairs = _mm256_setzero_si256(), bits = w[j];
        for (uint32_t n = 0; n < 4; n++) {
            pairs = _mm256_add_epi16(pairs,
                                     _mm256_maddubs_epi16(_mm256_and_si256(bits, _mm256_set1_epi8(3)), x[n]));
            bits = _mm256_srli_epi16(bits, 2);
        }
        v[j] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
    for (uint32_t p = 0; p < 2; p++) {
        __m256i a = p ? _mm256_unpackhi_epi64(v[0], v[1]) : _mm256_unpacklo_epi64(v[0], v[1]);
        __m256i b = p ? _mm256_unpackhi_epi64(v[2], v[3]) : _mm256_unpacklo_epi64(v[2], v[3]);
        sums[p] = _mm256_hadd_epi32(a, b);
    }
}

static void gemv(const tn_gemv *call) {
    tn_wide_gemv(call, &(const tn_wide){Q2_0_SHAPE, 2, 1, scales, open, dot});
}

/* Bits 2 n, 2 n + 1 of a byte to byte n of a word. */
static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    *scale = _cvtsh_ss(tn_load_u16(block));
    for (uint32_t i = 0; i < 2; i++) {
        __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(block + 2 + 8 * i)));
        x = _mm256_or_si256(x, _mm256_slli_epi32(x, 12));
        x = _mm256_and_si256(_mm256_or_si256(x, _mm256_slli_epi32(x, 6)), _mm256_set1_epi8(3));
        _mm256_storeu_si256((void *)(codes + 32 * i), _mm256_sub_epi8(x, _mm256_set1_epi8(1)));
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, Q2_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(q2_0_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q2_0 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q2_0_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 64, 0, "q2_0 unpack p8 avx2",
                 unpack);
