/*
 * nvfp4_avx512.c - kernels of NVFP4 for AVX-512 VNNI, built like nvfp4_avx2.c, which says how the columns
 * lie: two lanes a row and group, of which even and odd lanes lead to a vector of sixteen rows for each
 * group.
 */
#include "nvfp4_kernels.h"
#include "table16_avx512.h"

/* nvfp4_scale() of the four bytes of each lane. */
TN_INLINE void scales_of_words(__m512i words, __m512 *scales) {
    __mmask64 number = _mm512_cmpneq_epi8_mask(words, _mm512_set1_epi8(0x7f));
    words = _mm512_and_si512(_mm512_maskz_mov_epi8(number, words), _mm512_set1_epi8(0x7f));
    for (uint32_t i = 0; i < 2; i++) { /* as binary16: bytes i and i + 2 */
        __m512i halves = i ? _mm512_srli_epi16(words, 8) : _mm512_and_si512(words, _mm512_set1_epi16(0xff));
        halves = _mm512_slli_epi16(halves, 7);
        scales[i] = _mm512_mul_ps(tn_lower_halves(halves), _mm512_set1_ps(0x1p7f));
        scales[i + 2] = _mm512_mul_ps(tn_upper_halves(halves), _mm512_set1_ps(0x1p7f));
    }
}

/* Even lanes of a, then of b, and their odd lanes, in each quarter. */
TN_INLINE __m512i even_lanes(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88));
}
TN_INLINE __m512i odd_lanes(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd));
}

/*
 * Offset numbers (as tn_open_table16 leaves them) of two groups times 32 activation codes; row r in lane r.
 */
TN_INLINE void sum_groups(const __m512i *w, const int8_t *codes, __m512i *sums) {
    __m128i x0 = _mm_loadu_si128((const void *)codes), x1 = _mm_loadu_si128((const void *)(codes + 16));
    __m512i low = _mm512_broadcast_i32x4(_mm_unpacklo_epi64(x0, x1)), v[4];
    __m512i high = _mm512_broadcast_i32x4(_mm_unpackhi_epi64(x0, x1));
    for (uint32_t j = 0; j < 4; j++) {
        v[j] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), w[j], low), w[4 + j], high);
    }
    __m512i a = _mm512_add_epi32(even_lanes(v[0], v[1]), odd_lanes(v[0], v[1]));
    __m512i b = _mm512_add_epi32(even_lanes(v[2], v[3]), odd_lanes(v[2], v[3]));
    sums[0] = even_lanes(a, b);
    sums[1] = odd_lanes(a, b);
}

/* The float steps of two groups of sixteen rows, from column `col` on, with one activation row. */
TN_INLINE __m512 step_two(const __m512i *w, const __m512 *scales, const tn_act *act, uint64_t row,
                          uint64_t col, __m512 acc) {
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    __m512 x_scale = _mm512_set1_ps(act->scales[row * act->scale_stride + col / 32]);
    __m512i sums[2];
    sum_groups(w, (const int8_t *)act->data + row * act->stride + col, sums);
    for (uint32_t g = 0; g < 2; g++) {
        __m512i sum = _mm512_sub_epi32(sums[g], _mm512_set1_epi32(TN_E2M1_BIAS * x_sums[g]));
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scales[g], x_scale), acc);
    }
    return acc;
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512i table = tn_table_avx512(tn_e2m1_values, TN_E2M1_BIAS);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 64) {
        __m512 scales[4];
        scales_of_words(tn_words16(&rows, 0), scales);
        for (uint32_t half = 0; half < 2; half++, next += 16 * 18) {
            __m512i w[8];
            tn_open_table16(&rows, 4 + 16 * half, table, w);
            tn_prefetch(next, 16 * 18);
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] =
                    step_two(w, scales + 2 * half, call->act, call->act_from + a, col + 32 * half, acc[a]);
            }
        }
        tn_advance(&rows, 36, 4);
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

/* The 64 numbers of a block, in order. */
TN_INLINE __m512i open_block(__m512i table, const uint8_t *block) {
    __m512i x = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(block + 4)));
    x = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), x);
    x = _mm512_srlv_epi64(x, _mm512_setr_epi64(0, 4, 0, 4, 0, 4, 0, 4));
    return _mm512_shuffle_epi8(table, _mm512_and_si512(x, _mm512_set1_epi8(15)));
}

static void unpack(const tn_unpack *call) {
    __m512i table = tn_table_avx512(tn_e2m1_values, 0);
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 64 * 36;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 64, block += 36, codes += 64, scales += 4) {
            _mm_storeu_ps(scales, nvfp4_scales(block));
            _mm512_storeu_si512(codes, open_block(table, block));
        }
    }
}

TN_GEMV_KERNEL(nvfp4_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "nvfp4 gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(nvfp4_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 0,
                 "nvfp4 unpack p8 avx512vnni", unpack);
