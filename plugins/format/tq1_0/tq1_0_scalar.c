/* tq1_0_scalar.c - portable kernels of TQ1_0. */
#include "scalar_kernels.h"
#include "tq1_0_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, TQ1_0_SHAPE, tq1_0_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, TQ1_0_SHAPE, tq1_0_open);
}

TN_GEMV_KERNEL(tq1_0_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "tq1_0 gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(tq1_0_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 256, 0, "tq1_0 unpack p8 portable",
                 unpack);
