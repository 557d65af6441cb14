/* nvfp4_scalar.c - portable kernels of NVFP4. */
#include "nvfp4_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, NVFP4_SHAPE, nvfp4_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, NVFP4_SHAPE, nvfp4_open);
}

TN_GEMV_KERNEL(nvfp4_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "nvfp4 gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(nvfp4_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 16, 0, "nvfp4 unpack p8 portable",
                 unpack);
