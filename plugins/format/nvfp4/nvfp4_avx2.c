/*
 * nvfp4_avx2.c - kernels of NVFP4 for AVX2. 16 bytes hold two groups of 16 columns: the low nibbles are the
 * first eight columns of either group, the high ones the last eight. With the activation's codes in the same
 * order the dot products of eight rows leave two lanes a row and group, and even and odd lanes lead to a
 * vector of eight rows for each group.
 */
#include "nvfp4_kernels.h"
#include "table16_avx2.h"

/* nvfp4_scale() of the four bytes of each lane. */
TN_INLINE void scales_of_words(__m256i words, __m256 *scales) {
    __m256i none = _mm256_cmpeq_epi8(words, _mm256_set1_epi8(0x7f));
    words = _mm256_and_si256(_mm256_andnot_si256(none, words), _mm256_set1_epi8(0x7f));
    for (uint32_t i = 0; i < 2; i++) { /* as binary16: bytes i and i + 2 */
        __m256i halves = i ? _mm256_srli_epi16(words, 8) : _mm256_and_si256(words, _mm256_set1_epi16(0xff));
        __m256 lower, upper;
        tn_split_halves(_mm256_slli_epi16(halves, 7), &lower, &upper);
        scales[i] = _mm256_mul_ps(lower, _mm256_set1_ps(0x1p7f));
        scales[i + 2] = _mm256_mul_ps(upper, _mm256_set1_ps(0x1p7f));
    }
}

/* Even lanes of a, then of b, and their odd lanes, in each half. */
TN_INLINE __m256i even_lanes(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}
TN_INLINE __m256i odd_lanes(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}

/* Offset numbers (as tn_open_table8 leaves them) of two groups times 32 activation codes; row r in lane r. */
TN_INLINE void sum_groups(const __m256i *w, const int8_t *codes, __m256i *sums) {
    __m128i x0 = _mm_loadu_si128((const void *)codes), x1 = _mm_loadu_si128((const void *)(codes + 16));
    __m256i low = _mm256_broadcastsi128_si256(_mm_unpacklo_epi64(x0, x1)), v[4];
    __m256i high = _mm256_broadcastsi128_si256(_mm_unpackhi_epi64(x0, x1));
    for (uint32_t j = 0; j < 4; j++) {
        __m256i pairs =
            _mm256_add_epi16(_mm256_maddubs_epi16(w[j], low), _mm256_maddubs_epi16(w[4 + j], high));
        v[j] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
    __m256i a = _mm256_add_epi32(even_lanes(v[0], v[1]), odd_lanes(v[0], v[1]));
    __m256i b = _mm256_add_epi32(even_lanes(v[2], v[3]), odd_lanes(v[2], v[3]));
    sums[0] = even_lanes(a, b);
    sums[1] = odd_lanes(a, b);
}

/* The float steps of two groups of eight rows, from column `col` on, with one activation row. */
TN_INLINE __m256 step_two(const __m256i *w, const __m256 *scales, const tn_act *act, uint64_t row,
                          uint64_t col, __m256 acc) {
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    __m256 x_scale = _mm256_set1_ps(act->scales[row * act->scale_stride + col / 32]);
    __m256i sums[2];
    sum_groups(w, (const int8_t *)act->data + row * act->stride + col, sums);
    for (uint32_t g = 0; g < 2; g++) {
        __m256i sum = _mm256_sub_epi32(sums[g], _mm256_set1_epi32(TN_E2M1_BIAS * x_sums[g]));
        acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(scales[g], x_scale), acc);
    }
    return acc;
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    __m256i table = tn_table_avx2(tn_e2m1_values, TN_E2M1_BIAS);
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 64) {
        __m256 scales[4];
        scales_of_words(tn_words8(&rows, 0), scales);
        for (uint32_t half = 0; half < 2; half++, next += 8 * 18) {
            __m256i w[8];
            tn_open_table8(&rows, 4 + 16 * half, table, w);
            tn_prefetch(next, 8 * 18);
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] =
                    step_two(w, scales + 2 * half, call->act, call->act_from + a, col + 32 * half, acc[a]);
            }
        }
        tn_advance(&rows, 36, 2);
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

/* The numbers of two groups, whose 16 bytes begin at `at`, in order. */
TN_INLINE __m256i open_two(__m256i table, const uint8_t *at) {
    __m256i x = _mm256_castsi128_si256(_mm_loadu_si128((const void *)at));
    x = _mm256_srlv_epi64(_mm256_permute4x64_epi64(x, 0x50), _mm256_setr_epi64x(0, 4, 0, 4));
    return _mm256_shuffle_epi8(table, _mm256_and_si256(x, _mm256_set1_epi8(15)));
}

static void unpack(const tn_unpack *call) {
    __m256i table = tn_table_avx2(tn_e2m1_values, 0);
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 64 * 36;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 64, block += 36, codes += 64, scales += 4) {
            _mm_storeu_ps(scales, nvfp4_scales(block));
            _mm256_storeu_si256((void *)codes, open_two(table, block + 4));
            _mm256_storeu_si256((void *)(codes + 32), open_two(table, block + 20));
        }
    }
}

TN_GEMV_KERNEL(nvfp4_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "nvfp4 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(nvfp4_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 16, 0, "nvfp4 unpack p8 avx2",
                 unpack);
