/* q8_k_scalar.c - portable kernels of Q8_K. */
#include "q8_k_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, Q8_K_SHAPE, q8_k_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, Q8_K_SHAPE, q8_k_open);
}

TN_GEMV_KERNEL(q8_k_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "q8_k gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(q8_k_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 256, 0, "q8_k unpack p8 portable",
                 unpack);
