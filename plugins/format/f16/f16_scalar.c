/* f16_scalar.c - portable kernels of F16. */
#include "f16_kernels.h"
#include "scalar_kernels.h"

static float load(const uint8_t *at) {
    return tn_load_half(at);
}

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_f32(call, 2, load);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_f32(call, 2, load);
}

static void store(const float *x, uint64_t cols, void *blocks) {
    for (uint64_t c = 0; c < cols; c++) { tn_store_half((uint8_t *)blocks + 2 * c, x[c]); }
}

static void blend(const tn_blend *call) {
    tn_scalar_blend(call, 2, load);
}

TN_GEMV_KERNEL(f16_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_F32, "f16 gemv f32 portable", gemv);
TN_UNPACK_KERNEL(f16_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_F32, 1, 0, "f16 unpack f32 portable", unpack);
TN_STORE_KERNEL(f16_store_scalar, 0, TN_RANK_SCALAR, "f16 store portable", store);
TN_BLEND_KERNEL(f16_blend_scalar, 0, TN_RANK_SCALAR, "f16 blend portable", blend);
