/* q1_0_scalar.c - portable kernels of Q1_0. */
#include "q1_0_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, Q1_0_SHAPE, q1_0_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, Q1_0_SHAPE, q1_0_open);
}

TN_GEMV_KERNEL(q1_0_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "q1_0 gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(q1_0_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 128, 0, "q1_0 unpack p8 portable",
                 unpack);
