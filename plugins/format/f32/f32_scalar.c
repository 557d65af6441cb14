/* f32_scalar.c - portable kernels of F32. */
#include "f32_kernels.h"
#include "scalar_kernels.h"

static float load(const uint8_t *at) {
    return tn_load_float(at);
}

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_f32(call, 4, load);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_f32(call, 4, load);
}

static void store(const float *x, uint64_t cols, void *blocks) {
    memcpy(blocks, x, cols * sizeof *x);
}

static void blend(const tn_blend *call) {
    tn_scalar_blend(call, 4, load);
}

TN_GEMV_KERNEL(f32_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_F32, "f32 gemv f32 portable", gemv);
TN_UNPACK_KERNEL(f32_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_F32, 1, 0, "f32 unpack f32 portable", unpack);
TN_STORE_KERNEL(f32_store_scalar, 0, TN_RANK_SCALAR, "f32 store portable", store);
TN_BLEND_KERNEL(f32_blend_scalar, 0, TN_RANK_SCALAR, "f32 blend portable", blend);
