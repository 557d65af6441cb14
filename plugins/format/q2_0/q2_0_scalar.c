/* q2_0_scalar.c - portable kernels of Q2_0. */
#include "q2_0_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, Q2_0_SHAPE, q2_0_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, Q2_0_SHAPE, q2_0_open);
}

TN_GEMV_KERNEL(q2_0_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "q2_0 gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(q2_0_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 64, 0, "q2_0 unpack p8 portable",
                 unpack);
