/* mxfp4_avx2.c - kernels of MXFP4 for AVX2. */
#include "mxfp4_kernels.h"
#include "table16_avx2.h"

/* mxfp4_scale() of the lowest byte of each lane. */
TN_INLINE __m256 scales_of_words(__m256i words) {
    __m256i e = _mm256_and_si256(words, _mm256_set1_epi32(255)), one = _mm256_set1_epi32(1);
    __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23); /* of 0: negative, of 1: zero */
    __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), _mm256_min_epi32(e, one));
    return _mm256_castsi256_ps(_mm256_max_epi32(normal, subnormal));
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    __m256i table = tn_table_avx2(tn_e2m1_values, TN_E2M1_BIAS);
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t b = 0; b < call->cols / 32; b++, next += 8 * 17) {
        __m256i w[8];
        __m256 scale = scales_of_words(tn_words8(&rows, 0));
        tn_open_table8(&rows, 1, table, w);
        tn_prefetch(next, 8 * 17);
        for (uint64_t a = 0; a < acts; a++) {
            acc[a] = tn_step32_avx2(w, TN_E2M1_BIAS, tn_dot_nibbles8, scale, scale, 0, call->act,
                                    call->act_from + a, b, acc[a]);
        }
        tn_advance(&rows, 17, 2);
    }
    for (uint64_t a = 0; a < acts; a++) {
        tn_store8(call->out + a * call->out_stride + r, &rows, call->rows - r, acc[a]);
    }
}

static void gemv(const tn_gemv *call) {
    for (uint64_t r = 0; r < call->rows; r += 8) {
        if (call->act_rows == 1) {
            gemv_rows(call, r, 1);
        } else {
            gemv_rows(call, r, call->act_rows);
        }
    }
}

static void unpack(const tn_unpack *call) {
    __m256i table = tn_table_avx2(tn_e2m1_values, 0);
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 32 * 17;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to; col += 32, block += 17, codes += 32) {
            _mm256_storeu_si256((void *)codes, _mm256_shuffle_epi8(table, tn_load_nibbles(block + 1)));
            *scales++ = mxfp4_scale(block[0]);
        }
    }
}

TN_GEMV_KERNEL(mxfp4_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "mxfp4 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(mxfp4_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "mxfp4 unpack p8 avx2",
                 unpack);
