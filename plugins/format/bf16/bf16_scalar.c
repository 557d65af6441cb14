/* bf16_scalar.c - portable kernels of BF16. */
#include "bf16_kernels.h"
#include "scalar_kernels.h"

static float load(const uint8_t *at) {
    return tn_float_of_bfloat(tn_load_u16(at));
}

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_f32(call, 2, load);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_f32(call, 2, load);
}

TN_GEMV_KERNEL(bf16_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_F32, "bf16 gemv f32 portable", gemv);
TN_UNPACK_KERNEL(bf16_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_F32, 1, 0, "bf16 unpack f32 portable",
                 unpack);
