/* mxfp4_scalar.c - portable kernels of MXFP4. */
#include "mxfp4_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, MXFP4_SHAPE, mxfp4_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, MXFP4_SHAPE, mxfp4_open);
}

TN_GEMV_KERNEL(mxfp4_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "mxfp4 gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(mxfp4_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 32, 0, "mxfp4 unpack p8 portable",
                 unpack);
