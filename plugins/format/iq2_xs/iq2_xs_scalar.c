/* iq2_xs_scalar.c - portable kernels of IQ2_XS. */
#include "iq2_xs_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, IQ2_XS_SHAPE, iq2_xs_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, IQ2_XS_SHAPE, iq2_xs_open);
}

TN_GEMV_KERNEL(iq2_xs_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "iq2_xs gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(iq2_xs_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 16, 0, "iq2_xs unpack p8 portable",
                 unpack);
