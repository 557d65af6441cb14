/* tq1_0_avx512.c - kernels of TQ1_0 for AVX-512 VNNI. */
#include "ternary_avx512.h"
#include "tq1_0_kernels.h"

static inline __m512i triple(__m512i x) {
    return _mm512_add_epi8(x, _mm512_add_epi8(x, x));
}

/* The first digit of fractions: 1 from 86 / 256 on, 2 from 171 / 256 on. */
static inline __m512i first_digit(__m512i x) {
    __m512i ones = _mm512_maskz_set1_epi8(_mm512_cmpgt_epu8_mask(x, _mm512_set1_epi8(85)), 1);
    return _mm512_mask_set1_epi8(ones, _mm512_cmpgt_epu8_mask(x, _mm512_set1_epi8((char)170)), 2);
}

/* The four fractions of each quarter, as they are, times 3, 9 and 27. */
static inline __m512i four_digits(__m512i x) {
    x = _mm512_mask_mov_epi32(x, 0xeeee, triple(x));
    x = _mm512_mask_mov_epi32(x, 0xcccc, triple(x));
    return _mm512_mask_mov_epi32(x, 0x8888, triple(x));
}

static inline __m512 scales(const tn_row_group *rows) {
    return tn_upper_halves(tn_words16(rows, 50));
}

/*
 * Fractions stand for their first digits: 256 times that is three times a fraction less the next one, and so
 * it is for sums of their products. A digit of 32 bytes is a piece; then two digits of 16 bytes are one, three
 * times, and the last of these comes with all digits of the last four bytes.
 */
static inline void open(const tn_row_group *rows, uint32_t piece, __m512i *kept, __m512i *w) {
    if (piece == 0 || piece == 5) { tn_transpose16(rows, piece ? 32 : 0, kept); }
    if (piece == 0) { tn_transpose16(rows, 16, kept + 4); }
    for (uint32_t i = 0; i < 8; i++) {
        if (piece < 5 || i < 4) {
            w[i] = kept[i];
        } else if (piece < 7) {
            w[i] = w[8 + i - 4];
        } else {
            w[i] = i == 4 ? tn_words16(rows, 48) : w[8 + i - 1];
        }
        w[8 + i] = triple(w[i]);
    }
    for (uint32_t i = 0; i < 8; i++) { kept[i] = w[8 + (piece < 5 ? i : 4 + i % 4)]; }
}

static inline __m256i start(__m256i sums) {
    return _mm256_slli_epi32(sums, 8);
}

static inline __m512i dot(const __m512i *w, uint32_t piece, const int8_t *codes, int32_t start_sum) {
    (void)piece;
    __m512i these = tn_ternary_add(_mm512_setzero_si512(), w, codes);
    __m512i next = tn_ternary_add(_mm512_set1_epi32(start_sum), w + 8, codes);
    return _mm512_srai_epi32(_mm512_sub_epi32(_mm512_add_epi32(these, _mm512_slli_epi32(these, 1)), next), 8);
}

static void gemv(const tn_gemv *call) {
    tn_ternary_gemv(call, &(const tn_ternary){54, scales, start, open, dot});
}

static inline void store_codes(int8_t *codes, __m512i x) {
    _mm512_storeu_si512(codes, _mm512_sub_epi8(first_digit(x), _mm512_set1_epi8(1)));
}

/* Sixty-four columns at a time: two digits of 32 bytes; the fifth, and two of the next 16; three of these and
 * all of the last four bytes. */
static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    __m512i wide = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)block));
    __m512i quarters = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(block + 32)));
    *scale = _cvtsh_ss(tn_load_u16(block + 52));
    wide = _mm512_mask_mov_epi32(wide, 0xff00, triple(wide));
    for (uint32_t n = 0; n < 2; n++) {
        store_codes(codes + 64 * n, wide);
        wide = triple(triple(wide));
    }
    __m512i third =
        _mm512_mask_mov_epi32(wide, 0xff00, quarters); /* digit 4 of 32 bytes, digits 0 and 1 of 16 */
    third = _mm512_mask_mov_epi32(third, 0xf000, triple(third));
    store_codes(codes + 128, third);
    quarters = triple(triple(quarters));
    quarters = _mm512_mask_mov_epi32(quarters, 0x0ff0, triple(quarters));
    quarters = _mm512_mask_mov_epi32(quarters, 0x0f00, triple(quarters));
    __m512i last = four_digits(_mm512_set1_epi32(tn_load_i32(block + 48)));
    store_codes(codes + 192, _mm512_mask_mov_epi32(quarters, 0xf000, last));
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, TQ1_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(tq1_0_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "tq1_0 gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(tq1_0_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 256, 0,
                 "tq1_0 unpack p8 avx512vnni", unpack);
