/*
 * fake_panel.c - see fake_panel.h. fake_rule is written from the words of tenon/format.h, one number at a
 * time.
 */
#include "fake_panel.h"

#include <math.h>
#include <string.h>

enum { HEAD = 2 * sizeof(float) };

static inline __attribute__((always_inline)) void unpack_group(const tn_unpack *call, const uint64_t group) {
    for (uint64_t r = 0; r < call->rows; r++) {
        const char *row = (const char *)call->blocks + r * call->row_stride;
        for (uint64_t c = call->col_from; c < call->col_to; c += group) {
            const char *block = row + c / group * (HEAD + group);
            uint64_t at = c - call->col_from;
            memcpy((char *)call->codes + r * call->code_stride + at, block + HEAD, group);
            memcpy(call->scales + r * call->scale_stride + at / group, block, sizeof(float));
            if (call->minimums)
                memcpy(call->minimums + r * call->scale_stride + at / group, block + sizeof(float),
                       sizeof(float));
        }
    }
}

static void unpack_16(const tn_unpack *call) {
    unpack_group(call, 16);
}
static void unpack_32(const tn_unpack *call) {
    unpack_group(call, 32);
}
static void unpack_64(const tn_unpack *call) {
    unpack_group(call, 64);
}
static void unpack_128(const tn_unpack *call) {
    unpack_group(call, 128);
}
static void unpack_256(const tn_unpack *call) {
    unpack_group(call, 256);
}

static inline __attribute__((always_inline)) void unpack_p16(const tn_unpack *call,
                                                             const uint64_t sub_group) {
    uint64_t subs = 256 / sub_group;
    for (uint64_t r = 0; r < call->rows; r++)
        for (uint64_t c = call->col_from, b = 0; c < call->col_to; c += 256, b++) {
            const char *block =
                (const char *)call->blocks + r * call->row_stride + c / 256 * (HEAD + 2 * subs + 256);
            memcpy(call->scales + r * call->scale_stride + b, block, sizeof(float));
            memcpy(call->sub_scales + r * call->sub_stride + b * subs, block + HEAD, subs);
            memcpy((char *)call->codes + r * call->code_stride + b * 256, block + HEAD + 2 * subs, 256);
            if (!call->minimums) continue;
            memcpy(call->minimums + r * call->scale_stride + b, block + sizeof(float), sizeof(float));
            memcpy(call->sub_minimums + r * call->sub_stride + b * subs, block + HEAD + subs, subs);
        }
}

static void unpack_p16_16(const tn_unpack *call) {
    unpack_p16(call, 16);
}
static void unpack_p16_32(const tn_unpack *call) {
    unpack_p16(call, 32);
}

static void unpack_floats(const tn_unpack *call) {
    for (uint64_t r = 0; r < call->rows; r++)
        memcpy((char *)call->codes + r * call->code_stride,
               (const char *)call->blocks + r * call->row_stride + call->col_from * sizeof(float),
               (call->col_to - call->col_from) * sizeof(float));
}

#define P8(columns, with_minimum)                                                                            \
    {                                                                                                        \
        .group = columns, .has_minimum = with_minimum, .unpack = {                                           \
            .struct_size = sizeof(tn_format_kernel),                                                         \
            .kind = TN_KERNEL_UNPACK,                                                                        \
            .form = TN_PANEL_P8,                                                                             \
            .group = columns,                                                                                \
            .name = "fake p8 " #columns,                                                                     \
            .unpack = unpack_##columns                                                                       \
        }                                                                                                    \
    }

#define P16(columns, with_minimum)                                                                           \
    {                                                                                                        \
        .group = 256, .sub_group = columns, .has_minimum = with_minimum, .unpack = {                         \
            .struct_size = sizeof(tn_format_kernel),                                                         \
            .kind = TN_KERNEL_UNPACK,                                                                        \
            .form = TN_PANEL_P16,                                                                            \
            .group = columns,                                                                                \
            .name = "fake p16 " #columns,                                                                    \
            .unpack = unpack_p16_##columns                                                                   \
        }                                                                                                    \
    }

const fake_format fake_formats[] = {
    P8(16, 0),
    P8(32, 0),
    P8(64, 0),
    P8(128, 0),
    P8(256, 0),
    P8(16, 1),
    P8(32, 1),
    P8(64, 1),
    P8(128, 1),
    P8(256, 1),
    P16(16, 0),
    P16(32, 0),
    P16(16, 1),
    P16(32, 1),
    {.unpack = {.struct_size = sizeof(tn_format_kernel),
                .kind = TN_KERNEL_UNPACK,
                .form = TN_PANEL_F32,
                .name = "fake f32",
                .unpack = unpack_floats}},
};
const uint32_t fake_format_count = sizeof fake_formats / sizeof fake_formats[0];

static uint64_t sub_count(const fake_format *format) {
    return format->sub_group ? format->group / format->sub_group : 0;
}

static uint64_t block_bytes(const fake_format *format) {
    return HEAD + 2 * sub_count(format) + format->group;
}

uint64_t fake_row_bytes(const fake_format *format, uint64_t cols) {
    return format->group ? cols / format->group * block_bytes(format) : cols * sizeof(float);
}

void fake_put(const fake_format *format, void *row, uint64_t index, float scale, float minimum,
              const int8_t *codes) {
    char *block = (char *)row + index * block_bytes(format);
    uint64_t subs = sub_count(format);
    memcpy(block, &scale, sizeof scale);
    memcpy(block + sizeof scale, &minimum, sizeof minimum);
    for (uint64_t i = 0; i < subs; i++) {
        int32_t any = codes[i] * 37 + (int32_t)i * 23;
        block[HEAD + i] = (char)(i == 3 ? -128 : any);
        block[HEAD + subs + i] = (char)(i == 2 ? 255 : any * 3);
    }
    memcpy(block + HEAD + 2 * subs, codes, format->group);
}

static float rule_floats(const float *w, const float *x, uint64_t cols) {
    float a[16] = {0};
    for (uint64_t c = 0; c < cols; c++) {
        float weight;
        memcpy(&weight, w + c, sizeof weight);
        a[c % 16] = fmaf(weight, x[c], a[c % 16]);
    }
    for (int i = 0; i < 8; i++) a[i] += a[i + 8];
    for (int i = 0; i < 4; i++) a[i] += a[i + 4];
    for (int i = 0; i < 2; i++) a[i] += a[i + 2];
    return a[0] + a[1];
}

/* Of p16 panels. */
static float rule_p16(const fake_format *format, const char *row, uint64_t cols, const tn_act *act,
                      uint64_t act_row) {
    const int8_t *x = (const int8_t *)act->data + act_row * act->stride;
    const float *scales = act->scales + act_row * act->scale_stride;
    float acc = 0.0f;
    for (uint64_t c = 0; c < cols; row += block_bytes(format)) {
        const int8_t *subs = (const int8_t *)row + HEAD, *codes = subs + 2 * sub_count(format);
        const uint8_t *minimums = (const uint8_t *)subs + sub_count(format);
        float scale, minimum, t = 0.0f, u = 0.0f;
        memcpy(&scale, row, sizeof scale);
        memcpy(&minimum, row + sizeof scale, sizeof minimum);
        for (uint64_t i = 0; i < 256; i += 32) {
            int32_t sum = 0, minimum_sum = 0;
            for (uint64_t k = i; k < i + 32; k++, c++) {
                sum += subs[k / format->sub_group] * codes[k] * x[c];
                minimum_sum += minimums[k / format->sub_group] * x[c];
            }
            t = fmaf((float)sum, scales[(c - 1) / 32], t);
            u = fmaf((float)minimum_sum, scales[(c - 1) / 32], u);
        }
        acc = fmaf(t, scale, acc);
        if (format->has_minimum) acc = fmaf(u, minimum, acc);
    }
    return acc;
}

float fake_rule(const fake_format *format, const void *row, uint64_t cols, const tn_act *act,
                uint64_t act_row) {
    const char *codes_x = (const char *)act->data + act_row * act->stride;
    if (!format->group) return rule_floats(row, (const float *)(const void *)codes_x, cols);
    if (format->sub_group) return rule_p16(format, row, cols, act, act_row);
    const float *scales = act->scales + act_row * act->scale_stride;
    uint64_t group = format->group, act_group = act->form == TN_FORM_I8X32 ? 32 : 256;
    float acc = 0.0f;
    for (uint64_t from = 0, to; from < cols; from = to) {
        int32_t sum = 0, codes = 0;
        const char *block = (const char *)row + from / group * (HEAD + group);
        for (to = from; to == from || (to % group != 0 && to % act_group != 0); to++) {
            int8_t w, x;
            memcpy(&w, block + HEAD + to % group, 1);
            memcpy(&x, codes_x + to, 1);
            sum += w * x;
            codes += x;
        }
        float scale, minimum, scale_a = scales[from / act_group];
        memcpy(&scale, block, sizeof scale);
        memcpy(&minimum, block + sizeof scale, sizeof minimum);
        acc = fmaf((float)sum, scale * scale_a, acc);
        if (format->has_minimum) acc = fmaf((float)codes, minimum * scale_a, acc);
    }
    return acc;
}
