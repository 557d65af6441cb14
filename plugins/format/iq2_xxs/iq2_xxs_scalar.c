/* iq2_xxs_scalar.c - portable kernels of IQ2_XXS. */
#include "iq2_xxs_kernels.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, IQ2_XXS_SHAPE, iq2_xxs_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, IQ2_XXS_SHAPE, iq2_xxs_open);
}

TN_GEMV_KERNEL(iq2_xxs_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "iq2_xxs gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(iq2_xxs_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 32, 0, "iq2_xxs unpack p8 portable",
                 unpack);
