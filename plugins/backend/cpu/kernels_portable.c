/*
 * kernels_portable.c - the table in plain C: it runs everywhere, and it is the definition of the others.
 */
#include "gemm_band.h"
#include "kernel_tables.h"
#include "row_ops.h"

#include <string.h>

static void portable_blend(const float *v, uint64_t v_stride, uint64_t rows, uint64_t cols,
                           const float *weights, uint64_t weight_stride, uint64_t act_rows, float *out,
                           uint64_t out_stride) {
    for (uint64_t a = 0; a < act_rows; a++)
        for (uint64_t j = 0; j < rows; j++)
            for (uint64_t c = 0; c < cols; c++)
                out[a * out_stride + c] =
                    fma_f(weights[a * weight_stride + j], v[j * v_stride + c], out[a * out_stride + c]);
}

static float dot_one(const float *w, const float *x, uint64_t cols) {
    float lanes[LANES] = {0};
    uint64_t c = 0;
    for (; c + LANES <= cols; c += LANES)
        for (int l = 0; l < LANES; l++) lanes[l] = fma_f(w[c + l], x[c + l], lanes[l]);
    for (int l = 0; c < cols; c++, l++) lanes[l] = fma_f(w[c], x[c], lanes[l]);
    return fold(lanes);
}

static void portable_dot(const float *w, uint64_t w_stride, uint64_t rows, uint64_t cols, const float *x,
                         uint64_t x_stride, uint64_t act_rows, float *out, uint64_t out_stride) {
    for (uint64_t a = 0; a < act_rows; a++)
        for (uint64_t r = 0; r < rows; r++)
            out[a * out_stride + r] = dot_one(w + r * w_stride, x + a * x_stride, cols);
}

enum { ROWS = 8, TILE = 1, CHUNK = 512 };

static int32_t interleave_none(const int8_t *codes, uint64_t code_stride, uint64_t cols, int p16,
                               int8_t *panel) {
    (void)p16;
    for (uint64_t r = 0; r < ROWS; r++) memcpy(panel + r * CHUNK, codes + r * code_stride, cols);
    return GEMM_SIGNED;
}

static void spread_plain(const float *in, uint64_t stride, uint64_t groups, uint64_t repeat, float *out) {
    for (uint64_t g = 0; g < groups; g++)
        for (uint64_t i = 0; i < repeat; i++, out += ROWS)
            for (uint64_t r = 0; r < ROWS; r++) out[r] = in[r * stride + g];
}

static int32_t dot_codes(const int8_t *w, const int8_t *x, uint32_t cols) {
    int32_t sum = 0;
    for (uint32_t c = 0; c < cols; c++) sum += w[c] * x[c];
    return sum;
}

/* One row and one token through the chunk's pieces: the rule of format.h as it stands there. */
static float add_pieces(const gemm_chunk *chunk, uint64_t row, uint64_t token, float sum) {
    const int8_t *w = chunk->panel + row * CHUNK, *x = chunk->act + token * chunk->act_stride;
    const float *act_scales = chunk->act_scales + token * chunk->tile_stride;
    const float *act_sums = chunk->act_sums + token * chunk->tile_stride;
    for (uint64_t p = 0; p < chunk->pieces; p++, w += chunk->piece, x += chunk->piece) {
        float product = (float)dot_codes(w, x, chunk->piece);
        sum = fma_f(product, chunk->scales[p * ROWS + row] * act_scales[p], sum);
        if (chunk->minimums) sum = fma_f(act_sums[p], chunk->minimums[p * ROWS + row] * act_scales[p], sum);
    }
    return sum;
}

/* The same with sub-scales. */
static float add_blocks_p16(const gemm_chunk *chunk, uint64_t row, uint64_t token, float sum) {
    const int8_t *w = chunk->panel + row * CHUNK, *x = chunk->act + token * chunk->act_stride;
    const float *act_scales = chunk->act_scales + token * chunk->tile_stride;
    const int32_t *act_pairs = chunk->act_pairs + token * chunk->tile_stride;
    for (uint64_t b = 0; b < chunk->pieces / P16_PIECES; b++) {
        float t = 0, u = 0;
        for (uint64_t p = b * P16_PIECES; p < (b + 1) * P16_PIECES; p++, w += P16_PIECE, x += P16_PIECE) {
            int32_t sub = chunk->subs[p * ROWS + row];
            int32_t product =
                (int16_t)sub * dot_codes(w, x, 16) + (sub >> 16) * dot_codes(w + 16, x + 16, 16);
            t = fma_f((float)product, act_scales[p], t);
            if (!chunk->minimums) continue;
            int32_t codes = chunk->sub_minimums[p * ROWS + row];
            int32_t minimum = (int16_t)codes * (int16_t)act_pairs[p] + (codes >> 16) * (act_pairs[p] >> 16);
            u = fma_f((float)minimum, act_scales[p], u);
        }
        sum = fma_f(t, chunk->scales[b * ROWS + row], sum);
        if (chunk->minimums) sum = fma_f(u, chunk->minimums[b * ROWS + row], sum);
    }
    return sum;
}

typedef float add_chunk(const gemm_chunk *chunk, uint64_t row, uint64_t token, float sum);
static void multiply_with(const gemm_chunk *chunk, add_chunk *add) {
    for (uint64_t t = 0; t < chunk->tokens; t++)
        for (uint64_t r = 0; r < chunk->row_count; r++) {
            float *sum = chunk->sums + t * ROWS + r;
            *sum = add(chunk, r, t, chunk->first ? 0.0f : *sum);
            if (chunk->last) chunk->out[t * chunk->out_stride + r] = *sum;
        }
}
static void multiply_plain(const gemm_chunk *chunk) {
    multiply_with(chunk, add_pieces);
}
static void multiply_plain_p16(const gemm_chunk *chunk) {
    multiply_with(chunk, add_blocks_p16);
}

static const gemm_kind portable_kind = {
    .rows = ROWS,
    .tile = TILE,
    .chunk = CHUNK,
    .float_rows = 8,
    .interleave = interleave_none,
    .spread = spread_plain,
    .multiply = multiply_plain,
    .multiply_p16 = multiply_plain_p16,
    .dot = portable_dot,
};

static void portable_gemm(const cpu_gemm *call) {
    gemm_run(&portable_kind, call);
}
static uint64_t portable_gemm_scratch(uint64_t cols, uint64_t act_rows) {
    return gemm_scratch_bytes(&portable_kind, cols, act_rows);
}

const cpu_kernels cpu_kernels_portable = {
    .name = "portable",
    .isa = 0,
    ROW_OPS,
    .blend = portable_blend,
    .dot = portable_dot,
    .gemm = portable_gemm,
    .gemm_scratch = portable_gemm_scratch,
    .gemm_from = 4,
    .gemm_rows = ROWS,
};
