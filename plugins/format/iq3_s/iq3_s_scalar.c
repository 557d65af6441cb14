/* iq3_s_scalar.c - portable kernels of IQ3_S. */
#include "iq3_s_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, IQ3_S_SHAPE, iq3_s_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, IQ3_S_SHAPE, iq3_s_open);
}

TN_GEMV_KERNEL(iq3_s_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "iq3_s gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(iq3_s_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 32, 0, "iq3_s unpack p8 portable",
                 unpack);
