/*
 * iq4_xs_avx2.c - kernels of IQ4_XS for AVX2. A row's eight sub-scales lie in six of the first eight bytes
 * of a block, so those of eight rows are two vectors of words, of which shifts take one sub-scale a group.
 */
#include "iq4_xs_kernels.h"
#include "table16_avx2.h"

/*
 * d times the sub-scales whose lower bits are the last four of `lower`, and upper ones the two before them
 * in `upper`.
 */
TN_INLINE __m256 scales_of_words(__m256 d, __m256i lower, __m256i upper) {
    __m256i sub = _mm256_or_si256(_mm256_and_si256(lower, _mm256_set1_epi32(15)),
                                  _mm256_and_si256(upper, _mm256_set1_epi32(48)));
    return _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_sub_epi32(sub, _mm256_set1_epi32(32))));
}

/* Eight rows from row r on. `acts` is a constant or call->act_rows. */
TN_INLINE void gemv_rows(const tn_gemv *call, uint64_t r, uint64_t acts) {
    const uint8_t *first = (const uint8_t *)call->blocks + r * call->row_stride;
    const uint8_t *next = tn_ahead(first, 8 * call->row_stride);
    tn_row_group rows = tn_group_rows(first, call->row_stride, call->rows - r, 2);
    __m256i table = tn_table_avx2(tn_iq4_values, 0);
    __m256 acc[TN_MAX_ROWS];
    for (uint64_t a = 0; a < acts; a++) { acc[a] = _mm256_setzero_ps(); }
    for (uint64_t b = 0; b < call->cols / 32; b += 8) {
        __m256i head = tn_words8(&rows, 0), lower = tn_words8(&rows, 4), upper = _mm256_srli_epi32(head, 12);
        __m256 d, unused;
        tn_split_halves(head, &d, &unused);
        for (uint32_t g = 0; g < 8; g++) {
            __m256i w[8];
            __m256 scale = scales_of_words(d, lower, upper);
            lower = _mm256_srli_epi32(lower, 4);
            upper = _mm256_srli_epi32(upper, 2);
            tn_open_table8(&rows, 8 + 16 * g, table, w);
            for (uint32_t o = 64 * g; o < 8 * 136; o += 512) {
                tn_prefetch_twice(next + o, 8 * call->row_stride);
            }
            for (uint64_t a = 0; a < acts; a++) {
                acc[a] = tn_step32_avx2(w, 0, tn_dot_table8, scale, scale, 0, call->act, call->act_from + a,
                                        b + g, acc[a]);
            }
        }
        tn_advance8(&rows, 136);
        next += 8 * 136;
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

/* The scales of the eight groups of one block. */
TN_INLINE __m256 scales_of_block(const uint8_t *block) {
    __m256i lower = _mm256_srlv_epi32(_mm256_set1_epi32(tn_load_i32(block + 4)),
                                      _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    __m256i upper = _mm256_srlv_epi32(_mm256_set1_epi32(tn_load_u16(block + 2) << 4),
                                      _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
    return scales_of_words(_mm256_set1_ps(_cvtsh_ss(tn_load_u16(block))), lower, upper);
}

static void unpack(const tn_unpack *call) {
    __m256i table = tn_table_avx2(tn_iq4_values, 0);
    for (uint64_t r = 0; r < call->rows; r++) {
        const uint8_t *block =
            (const uint8_t *)call->blocks + r * call->row_stride + call->col_from / 256 * 136;
        int8_t *codes = (int8_t *)call->codes + r * call->code_stride;
        float *scales = call->scales + r * call->scale_stride;
        for (uint64_t col = call->col_from; col < call->col_to;
             col += 256, block += 136, codes += 256, scales += 8) {
            for (uint32_t g = 0; g < 8; g++) {
                _mm256_storeu_si256((void *)(codes + 32 * g),
                                    _mm256_shuffle_epi8(table, tn_load_nibbles(block + 8 + 16 * g)));
            }
            _mm256_storeu_ps(scales, scales_of_block(block));
        }
    }
}

TN_GEMV_KERNEL(iq4_xs_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "iq4_xs gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(iq4_xs_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "iq4_xs unpack p8 avx2",
                 unpack);
