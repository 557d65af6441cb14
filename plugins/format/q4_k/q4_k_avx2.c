/* q4_k_avx2.c - kernels of Q4_K for AVX2, and its encoder compiled for AVX2. */
#include "k_gemv_avx2.h"
#include "q4_k_encode.h"

static void gemv(const tn_gemv *call) {
    tn_k_gemv_avx2(call, 0);
}

static void unpack(const tn_unpack *call) {
    tn_k_unpack_avx2(call, 0);
}

int q4_k_encode_avx2(const float *x, const float *importance, uint8_t *block) {
    return q4_k_encode_block(x, importance, block);
}

TN_GEMV_KERNEL(q4_k_gemv_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_FORM_I8X32, "q4_k gemv i8x32 avx2", gemv);
TN_UNPACK_KERNEL(q4_k_unpack_avx2, TN_ISA_AVX2, TN_RANK_AVX2, TN_PANEL_P8, 32, 1, "q4_k unpack p8 avx2",
                 unpack);
