/* q8_1_scalar.c - portable kernels of Q8_1. */
#include "q8_1_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, Q8_1_SHAPE, q8_1_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, Q8_1_SHAPE, q8_1_open);
}

TN_GEMV_KERNEL(q8_1_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "q8_1 gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(q8_1_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 32, 0, "q8_1 unpack p8 portable",
                 unpack);
