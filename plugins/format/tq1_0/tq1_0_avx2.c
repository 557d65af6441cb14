/*
 * tq1_0_avx2.c - kernels of TQ1_0 for AVX2. Fractions are kept less 128, so that signed comparisons tell their
 * first digit; three times such a fraction, cut to a byte, is again one less 128.
 */
#include "ternary_avx2.h"
#include "tq1_0_kernels.h"

static inline __m256i less_128(__m256i fraction) {
    return _mm256_xor_si256(fraction, _mm256_set1_epi8((char)0x80));
}

static inline __m256i triple(__m256i x) {
    return _mm256_add_epi8(x, _mm256_add_epi8(x, x));
}

/* The first digit: 1 from 86 / 256 on, 2 from 171 / 256 on. */
static inline __m256i first_digit(__m256i x) {
    return _mm256_abs_epi8(_mm256_add_epi8(_mm256_cmpgt_epi8(x, _mm256_set1_epi8(85 - 128)),
                                           _mm256_cmpgt_epi8(x, _mm256_set1_epi8(170 - 128))));
}

/* The four fractions of each quarter, as they are, times 3, 9 and 27. */
static inline __m256i four_digits(__m256i x) {
    __m256i once = less_128(x), twice = triple(once), thrice = triple(twice), four = triple(thrice);
    return _mm256_blend_epi32(_mm256_blend_epi32(once, twice, 0x22), _mm256_blend_epi32(thrice, four, 0x88),
                              0xcc);
}

static inline __m256 scales(const tn_row_group *rows) {
    return tn_halves8(rows, 52);
}

/* The last four bytes of codes: their digits 0 and 1 in x[0] and x[1], laid out like eight bytes. */
static inline void open_last(const tn_row_group *rows, __m256i *x) {
    __m256i bytes[4];
    tn_load_pieces8(rows, 36, bytes);
    for (uint32_t i = 0; i < 2; i++) {
        x[i] = less_128(_mm256_shuffle_epi32(bytes[2 + i], 0xf5));
        x[i] = _mm256_blend_epi32(x[i], triple(x[i]), 0xaa);
    }
}

/*
 * A digit of 32 bytes is a piece; then two digits of 16 bytes are one, three times, and the last of these
 * comes with all digits of the last four bytes.
 */
static inline void open(const tn_row_group *rows, uint32_t piece, __m256i *kept, __m256i *w) {
    uint32_t fresh = piece == 0 ? 8 : piece == 5 ? 4 : 0;
    for (uint32_t i = 0; i < fresh; i += 4) { tn_load_pieces8(rows, (piece ? 32 : 0) + 4 * i, kept + i); }
    for (uint32_t i = 0; i < fresh; i++) { kept[i] = less_128(kept[i]); }
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t from = piece < 5 ? i : i % 4; /* of 16 bytes first one digit, then the next */
        if (piece == 7 && i == 4) { open_last(rows, kept); }
        if (piece == 7 && i > 5) { kept[from] = triple(triple(kept[from - 2])); }
        w[i] = first_digit(kept[from]);
        kept[from] = piece == 7 && i > 3 ? kept[from] : triple(kept[from]);
    }
}

static void gemv(const tn_gemv *call) {
    tn_ternary_gemv(call, &(const tn_ternary){54, 0, 0, scales, open});
}

static inline __m256i code_of(__m256i x) {
    return _mm256_sub_epi8(first_digit(x), _mm256_set1_epi8(1));
}

static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    __m256i wide = less_128(_mm256_loadu_si256((const void *)block));
    __m256i both = less_128(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(block + 32))));
    *scale = _cvtsh_ss(tn_load_u16(block + 52));
    for (uint32_t n = 0; n < 5; n++, codes += 32) {
        _mm256_storeu_si256((void *)codes, code_of(wide));
        wide = triple(wide);
    }
    both = _mm256_blend_epi32(both, triple(both), 0xf0);
    for (uint32_t n = 0; n < 2; n++, codes += 32) {
        _mm256_storeu_si256((void *)codes, code_of(both));
        both = triple(triple(both));
    }
    __m256i last = four_digits(_mm256_set1_epi32(tn_load_i32(block + 48)));
    _mm256_storeu_si256((void *)codes, code_of(_mm256_blend_epi32(both, last, 0xf0)));
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, TQ1_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(tq1_0_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "tq1_0 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(tq1_0_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 256, 0, "tq1_0 unpack p8 avx2",
                 unpack);
