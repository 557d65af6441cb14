/* iq4_xs_scalar.c - portable kernels of IQ4_XS. */
#include "iq4_xs_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, IQ4_XS_SHAPE, iq4_xs_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, IQ4_XS_SHAPE, iq4_xs_open);
}

TN_GEMV_KERNEL(iq4_xs_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "iq4_xs gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(iq4_xs_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 32, 0, "iq4_xs unpack p8 portable",
                 unpack);
