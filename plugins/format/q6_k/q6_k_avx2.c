/*
 * q6_k_avx2.c - kernels of Q6_K for AVX2. A vector holds 32 columns of one row, so each half of it is a group
 * of 16 with a sub-scale of its own: eight rows fold to one vector of eight rows for each of the two groups.
 */
#include "q6_k_kernels.h"
#include "simd_avx2.h"

/* Columns 32 * eighth .. + 31 of a block, as codes of 0 .. 63. */
TN_INLINE __m256i open_eighth(const uint8_t *block, uint32_t eighth) {
    uint32_t n = eighth / 4, c = eighth % 4;
    __m256i low = _mm256_loadu_si256((const void *)(block + 64 * n + 32 * (c % 2)));
    __m256i high = _mm256_loadu_si256((const void *)(block + 128 + 32 * n));
    if (c >= 2) { low = _mm256_srli_epi16(low, 4); }
    high = c < 2 ? _mm256_slli_epi16(high, (int)(4 - 2 * c)) : _mm256_srli_epi16(high, (int)(2 * c - 4));
    return _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi8(0x0f)),
                           _mm256_and_si256(high, _mm256_set1_epi8(0x30)));
}

/*

 * The 16 sub-scales of 8 rows: those of groups 4 q .. 4 q + 3 in the four bytes of subs[q], row r in lane r.
 */
TN_INLINE void transpose_subs(const tn_row_group *rows, __m256i *subs) {
    __m256i h[4];
    for (uint32_t j = 0; j < 4; j++) { h[j] = tn_load_both(rows, j, 192); }
    __m256i a = _mm256_unpacklo_epi32(h[0], h[1]), b = _mm256_unpackhi_epi32(h[0], h[1]);
    __m256i c = _mm256_unpacklo_epi32(h[2], h[3]), d = _mm256_unpackhi_epi32(h[2], h[3]);
    subs[0] = _mm256_unpacklo_epi64(a, c);
    subs[1] = _mm256_unpackhi_epi64(a, c);
    subs[2] = _mm256_unpacklo_epi64(b, d);
    subs[3] = _mm256_unpackhi_epi64(b, d);
}

/* The float steps of two groups of eight rows (codes in w), from column `col` on, with one activation row. */
TN_INLINE __m256 step_eighth(const __m256i *w, const __m256 *scales, const tn_act *act, uint64_t row,
                             uint64_t col, __m256 acc) {
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    __m256 x_scale = _mm256_set1_ps(act->scales[row * act->scale_stride + col / 32]);
    __m256i x = _mm256_loadu_si256((const void *)((const int8_t *)act->data + row * act->stride + col)), v[8];
    for (uint32_t i = 0; i < 8; i++) { v[i] = tn_dot_unsigned(w[i], x); }
    __m256i low = tn_sum_four(v), high = tn_sum_four(v + 4);
    __m256i first = _mm256_permute2x128_si256(low, high, 0x20),
            second = _mm256_permute2x128_si256(low, high, 0x31);
    first = _mm256_sub_epi32(first, _mm256_set1_epi32(32 * x_sums[0]));
    second = _mm256_sub_epi32(second, _mm256_set1_epi32(32 * x_sums[1]));
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(first), _mm256_mul_ps(scales[0], x_scale), acc);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(second), _mm256_mul_ps(scales[1], x_scale), acc);
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = first + 8 * call->row_stride;
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        __m256i subs[4];
        __m256 before, d; /* d is the last of the block */
        tn_split_halves(tn_words8(&rows, 206), &before, &d);
        transpose_subs(&rows, subs);
#pragma GCC unroll 8
        for (uint32_t eighth = 0; eighth < 8; eighth++, next += 210) {
            __m256i w[8];
            __m256 scales[2];
            for (uint32_t i = 0; i < 8; i++) {
                w[i] = open_eighth(tn_row(&rows, i), eighth);
                if (64 * i < 210) { tn_prefetch_twice(next + 64 * i, 8 * call->row_stride); }
            }
            for (uint32_t g = 0; g < 2; g++) { /* two bytes of each lane, with their signs */
                int shift = 24 - 16 * (int)(eighth % 2) - 8 * (int)g;
                __m256i sub = _mm256_srai_epi32(_mm256_slli_epi32(subs[eighth / 2], shift), 24);
                scales[g] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(sub));
            }
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = step_eighth(w, scales, call->act, call->act_from + a, col + 32 * eighth, acc[a]);
            }
        }
        tn_advance(&rows, 210, 2);
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
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * 210;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += 210, codes += 256, scales += 16) {
#pragma GCC unroll 8
            for (uint32_t eighth = 0; eighth < 8; eighth++) {
                __m256i q = _mm256_sub_epi8(open_eighth(block, eighth), _mm256_set1_epi8(32));
                _mm256_storeu_si256((void *)(codes + 32 * eighth), q);
            }
            __m256 d = _mm256_set1_ps(_cvtsh_ss(tn_load_u16(block + 208)));
            for (uint32_t half = 0; half < 2; half++) {
                __m256i sub = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(block + 192 + 8 * half)));
                _mm256_storeu_ps(scales + 8 * half, _mm256_mul_ps(d, _mm256_cvtepi32_ps(sub)));
            }
        }
    }
}

TN_GEMV_KERNEL(q6_k_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q6_k gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q6_k_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 16, 0, "q6_k unpack p8 avx2",
                 unpack);
