/*
 * q6_k_avx512.c - kernels of Q6_K for AVX-512 VNNI. A vector holds 64 columns of one row, so each of its
 * quarters is a group of 16 with a sub-scale of its own: four rows fold to a vector of four groups, and a
 * transpose of quarters gives a vector of sixteen rows for each group.
 */
#include "q6_k_kernels.h"
#include "simd_avx512.h"

/*

 * Columns 64 * quarter .. + 63 of a block, as codes of 0 .. 63: even quarters are low nibbles, odd ones high.
 */
TN_INLINE __m512i open_quarter(const uint8_t *block, uint32_t quarter) {
    uint32_t n = quarter / 2;
    __m512i low = _mm512_loadu_si512(block + 64 * n);
    __m512i high = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)(block + 128 + 32 * n)));
    if (quarter % 2 == 0) {
        high = _mm512_sllv_epi64(high, _mm512_setr_epi64(4, 4, 4, 4, 2, 2, 2, 2));
    } else {
        low = _mm512_srli_epi16(low, 4);
        high = _mm512_srlv_epi64(high, _mm512_setr_epi64(0, 0, 0, 0, 2, 2, 2, 2));
    }
    return _mm512_or_si512(_mm512_and_si512(low, _mm512_set1_epi8(0x0f)),
                           _mm512_and_si512(high, _mm512_set1_epi8(0x30)));
}

/* The 16 sub-scales of 16 rows: those of quarter q in the four bytes of subs[q], row r in lane r. */
TN_INLINE void transpose_subs(const tn_row_group *rows, __m512i *subs) {
    __m512i h[4];
    for (uint32_t j = 0; j < 4; j++) { h[j] = tn_load_quarters(rows, j, 192); }
    __m512i a = _mm512_unpacklo_epi32(h[0], h[1]), b = _mm512_unpackhi_epi32(h[0], h[1]);
    __m512i c = _mm512_unpacklo_epi32(h[2], h[3]), d = _mm512_unpackhi_epi32(h[2], h[3]);
    subs[0] = _mm512_unpacklo_epi64(a, c);
    subs[1] = _mm512_unpackhi_epi64(a, c);
    subs[2] = _mm512_unpacklo_epi64(b, d);
    subs[3] = _mm512_unpackhi_epi64(b, d);
}

/* Products of sixteen rows (codes in w) with 64 activation codes: the sums of group g in sums[g], row r in
 * lane r. */
TN_INLINE void sum_groups(const __m512i *w, __m512i x, __m512i *sums) {
    __m512i u[4];
    for (uint32_t k = 0; k < 4; k++) {
        __m512i v[4];
        for (uint32_t j = 0; j < 4; j++) {
            v[j] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w[4 * k + j], x);
        }
        u[k] = tn_sum_quarters(v);
    }
    __m512i a = _mm512_shuffle_i64x2(u[0], u[1], 0x44), b = _mm512_shuffle_i64x2(u[0], u[1], 0xee);
    __m512i c = _mm512_shuffle_i64x2(u[2], u[3], 0x44), d = _mm512_shuffle_i64x2(u[2], u[3], 0xee);
    sums[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    sums[1] = _mm512_shuffle_i64x2(a, c, 0xdd);
    sums[2] = _mm512_shuffle_i64x2(b, d, 0x88);
    sums[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

/* The float steps of four groups, from column `col` on, with one activation row. */
TN_INLINE __m512 step_quarter(const __m512i *w, const __m512 *scales, const tn_act *act, uint64_t row,
                              uint64_t col, __m512 acc) {
    const int16_t *x_sums = act->sums + row * act->sum_stride + col / 16;
    const float *x_scales = act->scales + row * act->scale_stride + col / 32;
    __m512i sums[4];
    sum_groups(w, _mm512_loadu_si512((const int8_t *)act->data + row * act->stride + col), sums);
    for (uint32_t g = 0; g < 4; g++) {
        __m512i sum = _mm512_sub_epi32(sums[g], _mm512_set1_epi32(32 * x_sums[g]));
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                              _mm512_mul_ps(scales[g], _mm512_set1_ps(x_scales[g / 2])), acc);
    }
    return acc;
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = first + 16 * call->row_stride;
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t col = 0; col < call->cols; col += 256) {
        __m512i subs[4];
        __m512 d = tn_upper_halves(tn_words16(&rows, 206));
        transpose_subs(&rows, subs);
        for (uint32_t quarter = 0; quarter < 4; quarter++, next += 840) {
            __m512i w[16];
            __m512 scales[4];
            for (uint32_t i = 0; i < 16; i++) {
                w[i] = open_quarter(tn_row(&rows, i), quarter);
                if (64 * i < 840) { tn_prefetch_twice(next + 64 * i, 16 * call->row_stride); }
            }
            for (uint32_t g = 0; g < 4; g++) { /* byte g of each lane, with its sign */
                __m512i sub = _mm512_srai_epi32(
                    _mm512_sllv_epi32(subs[quarter], _mm512_set1_epi32(24 - 8 * (int)g)), 24);
                scales[g] = _mm512_mul_ps(d, _mm512_cvtepi32_ps(sub));
            }
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = step_quarter(w, scales, call->act, call->act_from + a, col + 64 * quarter, acc[a]);
            }
        }
        tn_advance(&rows, 210, 4);
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
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * 210;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += 210, codes += 256, scales += 16) {
            for (uint32_t quarter = 0; quarter < 4; quarter++) {
                __m512i q = _mm512_sub_epi8(open_quarter(block, quarter), _mm512_set1_epi8(32));
                _mm512_storeu_si512(codes + 64 * quarter, q);
            }
            __m512i sub = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(block + 192)));
            __m512 d = _mm512_set1_ps(_cvtsh_ss(tn_load_u16(block + 208)));
            _mm512_storeu_ps(scales, _mm512_mul_ps(d, _mm512_cvtepi32_ps(sub)));
        }
    }
}

TN_GEMV_KERNEL(q6_k_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32, "q6_k gemv i8x32 avx512vnni",
               gemv);
TN_UNPACK_KERNEL(q6_k_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 16, 0,
                 "q6_k unpack p8 avx512vnni", unpack);
