/* q2_0_avx512.c - kernels of Q2_0 for AVX-512 VNNI, built like those for AVX2, which say how. */
#include "q2_0_kernels.h"
#include "wide_avx512.h"

static inline __m512 scales(const tn_row_group *rows) {
    return tn_lower_halves(tn_words16(rows, 0));
}

static inline void open(const tn_row_group *rows, uint32_t step, __m512i *w) {
    (void)step;
    for (uint32_t j = 0; j < 4; j++) { w[j] = tn_load_quarters(rows, j, 2); }
}

/* Codes n, n + 4, n + 8, ... of 64 in all quarters of by_place[n]. */
static inline void sort_codes(const int8_t *codes, __m512i *by_place) {
    __m512i quads = _mm512_set4_epi32(0x0f0b0703, 0x0e0a0602, 0x0d090501, 0x0c080400);
    __m512i weave = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i x = _mm512_permutexvar_epi32(weave, _mm512_shuffle_epi8(_mm512_loadu_si512(codes), quads));
    by_place[0] = _mm512_shuffle_i32x4(x, x, 0x00);
    by_place[1] = _mm512_shuffle_i32x4(x, x, 0x55);
    by_place[2] = _mm512_shuffle_i32x4(x, x, 0xaa);
    by_place[3] = _mm512_shuffle_i32x4(x, x, 0xff);
}

/* Of a row, the sum of columns 0 .. 31 lies in two lanes, that of the others in the next two. */
static inline void dot(const __m512i *w, const int8_t *codes, __m512i *sums) {
    __m512i x[4], v[4];
    sort_codes(codes, x);
    for (uint32_t j = 0; j < 4; j++) {
        __m512i bits = w[j];
        v[j] = _mm512_setzero_si512();
        for (uint32_t n = 0; n < 4; n++) {
            v[j] = _mm512_dpbusd_epi32(v[j], _mm512_and_si512(bits, _mm512_set1_epi8(3)), x[n]);
            bits = _mm512_srli_epi16(bits, 2);
        }
    }
    for (uint32_t p = 0; p < 2; p++) {
        __m512i a = p ? _mm512_unpackhi_epi64(v[0], v[1]) : _mm512_unpacklo_epi64(v[0], v[1]);
        __m512i b = p ? _mm512_unpackhi_epi64(v[2], v[3]) : _mm512_unpacklo_epi64(v[2], v[3]);
        __m512 even = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88);
        __m512 odd = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd);
        sums[p] = _mm512_add_epi32(_mm512_castps_si512(even), _mm512_castps_si512(odd));
    }
}

static void gemv(const tn_gemv *call) {
    tn_wide_gemv(call, &(const tn_wide){Q2_0_SHAPE, 2, 1, scales, open, dot});
}

/* Bits 2 n, 2 n + 1 of a byte to byte n of a word. */
static inline void unpack_block(const uint8_t *block, int8_t *codes, float *scale) {
    __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(block + 2)));
    *scale = _cvtsh_ss(tn_load_u16(block));
    x = _mm512_or_si512(x, _mm512_slli_epi32(x, 12));
    x = _mm512_and_si512(_mm512_or_si512(x, _mm512_slli_epi32(x, 6)), _mm512_set1_epi8(3));
    _mm512_storeu_si512(codes, _mm512_sub_epi8(x, _mm512_set1_epi8(1)));
}

static void unpack(const tn_unpack *call) {
    tn_unpack_wide(call, Q2_0_SHAPE, unpack_block);
}

TN_GEMV_KERNEL(q2_0_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q2_0 gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q2_0_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 64, 0,
                 "q2_0 unpack p8 avx512vnni", unpack);
