/*
 * iq4_xs_avx512.c - kernels of IQ4_XS for AVX-512 VNNI. A row's eight sub-scales lie in six of the first
 * eight bytes of a block, so those of sixteen rows are two vectors of words, of which shifts take one sub-
 * scale a group.
 */
#include "iq4_xs_kernels.h"
#include "table16_avx512.h"

/*
 * d times the sub-scales whose lower bits are the last four of `lower`, and upper ones the two before them
 * in `upper`.
 */
TN_INLINE __m512 scales_of_words(__m512 d, __m512i lower, __m512i upper) {
    __m512i sub =
        _mm512_ternarylogic_epi32(_mm512_set1_epi32(15), lower, upper, 0xca); /* bit by bit: 15 ? : */
    sub = _mm512_sub_epi32(_mm512_and_si512(sub, _mm512_set1_epi32(63)), _mm512_set1_epi32(32));
    return _mm512_mul_ps(d, _mm512_cvtepi32_ps(sub));
}

/* Sixteen rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 16 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 4);
    __m512i table = tn_table_avx512(tn_iq4_values, 128);
    __m512 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm512_setzero_ps(); }
    for (uint64_t b = 0; b < call->cols / 32; b += 8) {
        __m512i head = tn_words16(&rows, 0), lower = tn_words16(&rows, 4);
        __m512i upper = _mm512_srli_epi32(head, 12);
        __m512 d = tn_lower_halves(head);
        for (uint32_t g = 0; g < 8; g++) {
            __m512i w[8];
            __m512 scale = scales_of_words(d, lower, upper);
            lower = _mm512_srli_epi32(lower, 4);
            upper = _mm512_srli_epi32(upper, 2);
            tn_open_table16(&rows, 8 + 16 * g, table, w);
            for (uint32_t o = 64 * g; o < 16 * 136; o += 512) {
                tn_prefetch_twice(next + o, 16 * call->row_stride);
            }
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_step32_avx512(w, 128, tn_dot_nibbles16, scale, scale, 0, call->act,
                                          call->act_from + a, b + g, acc[a]);
            }
        }
        tn_advance(&rows, 136, 4);
        next += 16 * 136;
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

/* The scales of the eight groups of one block, in the lower half. */
TN_INLINE __m512 scales_of_block(const uint8_t *block) {
    __m512i group = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
    __m512i lower = _mm512_srlv_epi32(_mm512_set1_epi32(tn_load_i32(block + 4)), _mm512_slli_epi32(group, 2));
    __m512i upper =
        _mm512_srlv_epi32(_mm512_set1_epi32(tn_load_u16(block + 2) << 4), _mm512_slli_epi32(group, 1));
    return scales_of_words(_mm512_set1_ps(_cvtsh_ss(tn_load_u16(block))), lower, upper);
}

static void unpack(const tn_unpack *call) {
    __m512i table = tn_table_avx512(tn_iq4_values, 0);
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * 136;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += 136, codes += 256, scales += 8) {
            for (uint32_t g = 0; g < 8; g += 2) {
                const uint8_t *at = block + 8 + 16 * g;
                _mm512_storeu_si512(codes + 32 * g,
                                    _mm512_shuffle_epi8(table, tn_load_two_nibbles(at, at + 16)));
            }
            _mm256_storeu_ps(scales, _mm512_castps512_ps256(scales_of_block(block)));
        }
    }
}

TN_GEMV_KERNEL(iq4_xs_gemv_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_FORM_I8X32,
               "iq4_xs gemv i8x32 avx512vnni", gemv);
TN_UNPACK_KERNEL(iq4_xs_unpack_avx512, TN_ISA_VNNI512, TN_RANK_AVX512, TN_PANEL_P8, 32, 0,
                 "iq4_xs unpack p8 avx512vnni", unpack);
