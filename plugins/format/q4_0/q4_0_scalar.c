/* q4_0_scalar.c - portable kernels of Q4_0, and its portable encoder. */
#include "q4_0_encode.h"
#include "scalar_kernels.h"

static void gemv(const tn_gemv *call) {
    tn_scalar_gemv_i8x32(call, Q4_0_SHAPE, q4_0_open);
}

static void unpack(const tn_unpack *call) {
    tn_scalar_unpack_p8(call, Q4_0_SHAPE, q4_0_open);
}

uint32_t q4_0_encode_scalar(const tn_run *run, uint8_t *blocks) {
    return q4_0_encode_run(run, blocks);
}

TN_GEMV_KERNEL(q4_0_gemv_scalar, 0, TN_RANK_SCALAR, TN_FORM_I8X32, "q4_0 gemv i8x32 portable", gemv);
TN_UNPACK_KERNEL(q4_0_unpack_scalar, 0, TN_RANK_SCALAR, TN_PANEL_P8, 32, 0, "q4_0 unpack p8 portable",
                 unpack);
