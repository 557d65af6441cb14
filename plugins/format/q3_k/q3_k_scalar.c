/* q3_k_scalar.c - portable kernels of Q3_K, and its portable encoder. */
#include "planes_scalar.h"
#include "q3_k_encode.h"

static void gemv(const tn_gemv *call) {
    tn_planes_gemv_scalar(call, Q3_K_PLANES, q3_k_open_head);
}

static void unpack(const tn_unpack *call) {
    tn_planes_unpack_scalar(call, Q3_K_PLANES, q3_k_open_head);
}

int q3_k_encode_scalar(const float *x, const float *importance, uint8_t *block) {
    return q3_k_encode_block(x, importance, block);
}

TN_GEMV_KERNEL(q3_k_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "q3_k gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(q3_k_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P16, 16, 0, "q3_k unpack p16 portable",
                 unpack);
