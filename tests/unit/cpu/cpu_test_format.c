/*
 * cpu_test_format.c - two formats in plain C, by the rule of summing of tenon/format.h: floats, and 32 int8
 * with a float scale.
 */
#include "cpu_test.h"

#include <math.h>
#include <string.h>

float test_uniform(test_random *random) {
    random->state = random->state * 6364136223846793005ull + 1442695040888963407ull;
    return (float)((int32_t)(random->state >> 33) - (1 << 30)) / (float)(1 << 30);
}

/* ---- floats ----------------------------------------------------------------------------------------- */

static void f32_decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    memcpy(out, blocks, count * sizeof *out);
}

static float fold(float acc[16]) {
    for (int n = 8; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) { acc[i] += acc[i + n]; }
    }
    return acc[0];
}

static void f32_gemv(const tn_gemv *call) {
    for (uint64_t a = 0; a < call->act_rows; a++) {
        const float *x =
            (const float *)((const char *)call->act->data + (call->act_from + a) * call->act->stride);
        for (uint64_t r = 0; r < call->rows; r++) {
            const char *row = (const char *)call->blocks + r * call->row_stride;
            float acc[16] = {0};
            for (uint64_t c = 0; c < call->cols; c++) {
                float w;
                memcpy(&w, row + c * sizeof w, sizeof w);
                acc[c % 16] = fmaf(w, x[c], acc[c % 16]);
            }
            call->out[a * call->out_stride + r] = fold(acc);
        }
    }
}

static void f32_unpack(const tn_unpack *call) {
    uint64_t bytes = (call->col_to - call->col_from) * sizeof(float);
    for (uint64_t r = 0; r < call->rows; r++) {
        memcpy((char *)call->codes + r * call->code_stride,
               (const char *)call->blocks + r * call->row_stride + call->col_from * sizeof(float), bytes);
    }
}

static void f32_store(const float *x, uint64_t cols, void *blocks) {
    memcpy(blocks, x, cols * sizeof *x);
}

static void f32_blend(const tn_blend *call) {
    for (uint64_t j = 0; j < call->rows; j++) {
        const char *row = (const char *)call->blocks + j * call->row_stride;
        for (uint64_t a = 0; a < call->act_rows; a++) {
            float *out = call->out + a * call->out_stride;
            for (uint64_t c = 0; c < call->cols; c++) {
                float v;
                memcpy(&v, row + c * sizeof v, sizeof v);
                out[c] = fmaf(call->weights[a * call->weight_stride + j], v, out[c]);
            }
        }
    }
}

static const tn_format_kernel f32_gemv_kernel = {.struct_size = sizeof(tn_format_kernel),
                                                 .kind = TN_KERNEL_GEMV,
                                                 .form = TN_FORM_F32,
                                                 .max_rows = 4,
                                                 .name = "f32 gemv",
                                                 .gemv = f32_gemv};
static const tn_format_kernel f32_unpack_kernel = {.struct_size = sizeof(tn_format_kernel),
                                                   .kind = TN_KERNEL_UNPACK,
                                                   .form = TN_PANEL_F32,
                                                   .group = 1,
                                                   .name = "f32 unpack",
                                                   .unpack = f32_unpack};
static const tn_format_kernel f32_store_kernel = {.struct_size = sizeof(tn_format_kernel),
                                                  .kind = TN_KERNEL_STORE,
                                                  .name = "f32 store",
                                                  .store = f32_store};
static const tn_format_kernel f32_blend_kernel = {.struct_size = sizeof(tn_format_kernel),
                                                  .kind = TN_KERNEL_BLEND,
                                                  .max_rows = 4,
                                                  .name = "f32 blend",
                                                  .blend = f32_blend};
static const tn_format_kernel *const f32_kernels[] = {&f32_gemv_kernel, &f32_unpack_kernel, &f32_store_kernel,
                                                      &f32_blend_kernel};

const tn_format test_f32 = {.struct_size = sizeof(tn_format),
                            .name = "F32",
                            .block = 1,
                            .block_bytes = 4,
                            .flags = TN_FORMAT_FLOAT,
                            .decode = f32_decode,
                            .kernel_count = 4,
                            .kernels = f32_kernels};
const tn_format test_f32_plain = {.struct_size = sizeof(tn_format),
                                  .name = "PLAIN",
                                  .block = 1,
                                  .block_bytes = 4,
                                  .flags = TN_FORMAT_FLOAT,
                                  .decode = f32_decode};

/* ---- int8 ------------------------------------------------------------------------------------------- */

enum { BLOCK = 32, BLOCK_BYTES = 36 };

static void q8_decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    for (uint64_t i = 0; i < count; i++) {
        const char *block = (const char *)blocks + i / BLOCK * BLOCK_BYTES;
        float scale;
        memcpy(&scale, block, sizeof scale);
        out[i] = scale * (float)(int8_t)block[4 + i % BLOCK];
    }
}

static void q8_gemv(const tn_gemv *call) {
    for (uint64_t a = 0; a < call->act_rows; a++) {
        uint64_t act = call->act_from + a;
        const int8_t *x = (const int8_t *)call->act->data + act * call->act->stride;
        const float *scales = call->act->scales + act * call->act->scale_stride;
        for (uint64_t r = 0; r < call->rows; r++) {
            const char *block = (const char *)call->blocks + r * call->row_stride;
            float acc = 0;
            for (uint64_t b = 0; b < call->cols / BLOCK; b++, block += BLOCK_BYTES) {
                int32_t sum = 0;
                float scale;
                memcpy(&scale, block, sizeof scale);
                for (int i = 0; i < BLOCK; i++) { sum += (int8_t)block[4 + i] * x[b * BLOCK + i]; }
                acc = fmaf((float)sum, scale * scales[b], acc);
            }
            call->out[a * call->out_stride + r] = acc;
        }
    }
}

static void q8_unpack(const tn_unpack *call) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const char *row = (const char *)call->blocks + r * call->row_stride;
        for (uint64_t c = call->col_from; c < call->col_to; c += BLOCK) {
            const char *block = row + c / BLOCK * BLOCK_BYTES;
            uint64_t at = c - call->col_from;
            memcpy(call->scales + r * call->scale_stride + at / BLOCK, block, sizeof(float));
            memcpy((char *)call->codes + r * call->code_stride + at, block + 4, BLOCK);
        }
    }
}

static const tn_format_kernel q8_gemv_kernel = {.struct_size = sizeof(tn_format_kernel),
                                                .kind = TN_KERNEL_GEMV,
                                                .form = TN_FORM_I8X32,
                                                .max_rows = 8,
                                                .name = "q8 gemv",
                                                .gemv = q8_gemv};
static const tn_format_kernel q8_unpack_kernel = {.struct_size = sizeof(tn_format_kernel),
                                                  .kind = TN_KERNEL_UNPACK,
                                                  .form = TN_PANEL_P8,
                                                  .group = BLOCK,
                                                  .name = "q8 unpack",
                                                  .unpack = q8_unpack};
static const tn_format_kernel *const q8_kernels[] = {&q8_gemv_kernel, &q8_unpack_kernel};

const tn_format test_q8 = {.struct_size = sizeof(tn_format),
                           .name = "Q8",
                           .block = BLOCK,
                           .block_bytes = BLOCK_BYTES,
                           .decode = q8_decode,
                           .kernel_count = 2,
                           .kernels = q8_kernels};
