/* q5_0_avx2.c - kernels of Q5_0 for AVX2, and its encoder compiled for AVX2. */
#include "fifth_bits_avx2.h"
#include "q5_0_encode.h"

static inline __m256i open_one(const uint8_t *block) {
    return tn_load_fives(block, Q5_0_SHAPE);
}

static inline void open_rows(const tn_row_group *rows, __m256i *w) {
    tn_open_fives8(rows, Q5_0_SHAPE, w);
}

static void gemv(const tn_gemv *call) {
    if (call->act_rows == 1) {
        tn_fives_gemv_one(call, Q5_0_SHAPE);
    } else {
        tn_rows32_avx2(call, Q5_0_SHAPE, 16, open_rows, tn_dot_nibbles8, call->act_rows);
    }
}

static void unpack(const tn_unpack *call) {
    tn_unpack32_avx2(call, Q5_0_SHAPE, 16, open_one);
}

uint32_t q5_0_encode_avx2(const tn_run *run, uint8_t *blocks) {
    return q5_0_encode_run(run, blocks);
}

TN_GEMV_KERNEL(q5_0_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q5_0 gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q5_0_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 0, "q5_0 unpack p8 avx2",
                 unpack);
