/* mxfp4_avx512.c - kernels of MXFP4 for AVX-512 VNNI. */
#include "mxfp4_kernels.h"
#include "table16_avx512.h"

/* mxfp4_scale() of the lowest byte of each lane. */
TN_INLINE __m512 scales_of_words(__m512i words) {
    __m512i e = _mm512_and_si512(words, _mm512_set1_epi32(255)), one = _mm512_set1_epi32(1);
    __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23); /* of 0: negative, of 1: zero */
    __m512i subnormal = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), _mm512_min_epi32(e, one));
    return _mm512_castsi512_ps(_mm512_max_epi32(normal, subnormal));
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512i table = tn_table_avx512(tn_e2m1_values, TN_E2M1_BIAS);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t b = 0; b < call->cols / 32; b++, next += 16 * 17) {
        __m512i w[8];
        __m512 scale = scales_of_words(tn_words16(&rows, 0));
        tn_open_table16(&rows, 1, table, w);
        tn_prefetch(next, 16 * 17);
        for (uint64_t a = 0; a < acts; a++) {
            acc[a] = tn_step32_avx512(w, TN_E2M1_BIAS, tn_dot_nibbles16, scale, scale, 0, call->act,
                                      call->act_from + a, b, acc[a]);
        }
        tn_advance(&rows, 17, 4);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store16(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

static void gemv(const tn_gemv *call) {
    for (uint64_t r = 0; r < call->rows; r += 16) {
        if (call->act_rows == 1) {
            gemv_rows(call, r, 1);
        } else {
            gemv_rows(call, r, call->act_rows);
        }
    }
}

static void unpack(const tn_unpack *call) {
    __m512i table = tn_table_avx512(tn_e2m1_values, 0);
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 32 * 17;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 64, block += 2 * 17, codes += 64) {
            uint64_t count = call->col_to - col == 32 ? 1 : 2; /* at last a single block may stand for both */
            const uint8_t *second = block + 17 * (count - 1);
            __m512i q = _mm512_shuffle_epi8(table, tn_load_two_nibbles(block + 1, second + 1));
            _mm512_mask_storeu_epi64(codes, count == 2 ? 0xff : 0x0f, q);
            for (uint64_t i = 0; i < count; i++) { *scales++ = mxfp4_scale(block[17 * i]); }
        }
    }
}

TN_GEMV_KERNEL(mxfp4_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "mxfp4 gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(mxfp4_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "mxfp4 unpack p8 avx512vnni", unpack);
