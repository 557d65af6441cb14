/*
 * kernels_avx512vnni.c - the table for AVX-512 (F, BW, DQ, VL, CD) with VNNI.
 *
 * Integer product: 32 weight rows in the lanes of two vectors, six tokens, so 12 integer and 12 float
 * accumulators. The panel is [columns / 4][32 rows][4 codes], weights offset by 128 to unsigned; accumulators
 * start at -128 times the sum of the activation's codes, which takes the offset out again, exactly.
 * Float product: four weight rows by four tokens, one accumulator of sixteen lanes each, folded by a tree.
 */
#include "gemm_band.h"
#include "kernel_tables.h"
#include "row_ops.h"

#include <immintrin.h>
#include <string.h>

/* Keeps a value in a register of its own. gcc 12 else moves sums to and fro between loop turns, and makes one
 * masked vextractf32x4 of "low quarter, masked store", which faults on the lanes that are masked out. */
#define KEEP(x) __asm__("" : "+v"(x))
#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 32, TILE = 6, CHUNK = 512 };

INLINE uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Which of sixteen lanes from `first` on lie below n. */
INLINE __mmask16 lanes_there(uint64_t n, uint64_t first) {
    uint64_t count = n > first ? n - first : 0;
    return (__mmask16)(count >= 16 ? 0xffffu : (1u << count) - 1u);
}

/* ---- panels */

/* 16 x 16 dwords. */
INLINE void transpose16(__m512i v[16]) {
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

static int32_t interleave(const int8_t *codes, uint64_t code_stride, uint64_t cols, int p16, int8_t *panel) {
    const __m512i offset = _mm512_set1_epi8((char)(p16 ? P16_OFFSET : 0x80));
    for (uint64_t c = 0; c < cols; c += 64)
        for (int half = 0; half < 2; half++) {
            __m512i v[16];
            for (int r = 0; r < 16; r++)
                v[r] = _mm512_add_epi8(_mm512_load_si512(codes + (uint64_t)(half * 16 + r) * code_stride + c),
                                       offset);
            transpose16(v);
            for (int k = 0; k < 16; k++) _mm512_store_si512(panel + c * ROWS + k * 128 + half * 64, v[k]);
        }
    return p16 ? P16_OFFSET : 128;
}

static void spread(const float *in, uint64_t stride, uint64_t groups, uint64_t repeat, float *out) {
    for (uint64_t g = 0; g < groups; g += 16)
        for (int half = 0; half < 2; half++) {
            __m512i v[16];
            for (int r = 0; r < 16; r++)
                v[r] = _mm512_load_si512(in + (uint64_t)(half * 16 + r) * stride + g);
            transpose16(v);
            uint64_t count = min_u64(groups - g, 16);
            for (uint64_t k = 0; k < count; k++)
                for (uint64_t i = 0; i < repeat; i++)
                    _mm512_store_si512(out + ((g + k) * repeat + i) * ROWS + half * 16, v[k]);
        }
}

/* ---- the integer product */

INLINE int32_t load_dword(const int8_t *p) {
    int32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Tokens token .. token + n - 1 of one tile, all pieces. */
INLINE void multiply_tokens(const gemm_chunk *chunk, uint64_t token, const int n) {
    const int8_t *act[TILE], *panel = chunk->panel;
    __m512 acc[TILE][2];
    float *sums = chunk->sums + token * ROWS;
    for (int j = 0; j < n; j++) {
        act[j] = chunk->act + (token + (uint64_t)j) * chunk->act_stride;
        for (int h = 0; h < 2; h++)
            acc[j][h] = chunk->first ? _mm512_setzero_ps() : _mm512_load_ps(sums + j * ROWS + h * 16);
    }
    const float *act_scales = chunk->act_scales + token / TILE * chunk->tile_stride + token % TILE;
    const float *act_sums = chunk->act_sums + token / TILE * chunk->tile_stride + token % TILE;
    const int32_t *act_offsets = chunk->act_offsets + token / TILE * chunk->tile_stride + token % TILE;
    uint64_t column = 0;
    for (uint64_t p = 0; p < chunk->pieces; p++, act_scales += TILE, act_sums += TILE, act_offsets += TILE) {
        gemm_fetch_ahead(chunk->ahead);
        __m512i product[TILE][2];
        for (int j = 0; j < n; j++) product[j][0] = product[j][1] = _mm512_set1_epi32(act_offsets[j]);
        for (uint32_t done = 0; done < chunk->piece; done += 16)
            for (int k = 0; k < 4; k++, panel += 4 * ROWS, column += 4) {
                __m512i w0 = _mm512_load_si512(panel), w1 = _mm512_load_si512(panel + 64);
                for (int j = 0; j < n; j++) {
                    __m512i x = _mm512_set1_epi32(load_dword(act[j] + column));
                    product[j][0] = _mm512_dpbusd_epi32(product[j][0], w0, x);
                    product[j][1] = _mm512_dpbusd_epi32(product[j][1], w1, x);
                    KEEP(product[j][0]);
                    KEEP(product[j][1]);
                }
            }
        for (int h = 0; h < 2; h++) {
            __m512 scale = _mm512_load_ps(chunk->scales + p * ROWS + h * 16);
            for (int j = 0; j < n; j++)
                acc[j][h] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(product[j][h]),
                                            _mm512_mul_ps(scale, _mm512_set1_ps(act_scales[j])), acc[j][h]);
            if (!chunk->minimums) continue;
            __m512 minimum = _mm512_load_ps(chunk->minimums + p * ROWS + h * 16);
            for (int j = 0; j < n; j++)
                acc[j][h] = _mm512_fmadd_ps(_mm512_set1_ps(act_sums[j]),
                                            _mm512_mul_ps(minimum, _mm512_set1_ps(act_scales[j])), acc[j][h]);
        }
    }
    float *out = chunk->out + token * chunk->out_stride;
    __mmask16 low = lanes_there(chunk->row_count, 0), high = lanes_there(chunk->row_count, 16);
    for (int j = 0; j < n; j++) {
        if (chunk->last) {
            _mm512_mask_storeu_ps(out + (uint64_t)j * chunk->out_stride, low, acc[j][0]);
            _mm512_mask_storeu_ps(out + (uint64_t)j * chunk->out_stride + 16, high, acc[j][1]);
        } else {
            _mm512_store_ps(sums + j * ROWS, acc[j][0]);
            _mm512_store_ps(sums + j * ROWS + 16, acc[j][1]);
        }
    }
}

static void multiply(const gemm_chunk *chunk) {
    uint64_t token = 0;
    for (; token + TILE <= chunk->tokens; token += TILE) multiply_tokens(chunk, token, TILE);
    switch (chunk->tokens - token) {
    case 5: multiply_tokens(chunk, token, 5); break;
    case 4: multiply_tokens(chunk, token, 4); break;
    case 3: multiply_tokens(chunk, token, 3); break;
    case 2: multiply_tokens(chunk, token, 2); break;
    case 1: multiply_tokens(chunk, token, 1); break;
    }
}

/* ---- the integer product of p16 panels */

/* Sixteen columns of the panel, of sixteen rows, times n tokens and `subs`, added to product. Sums of products
 * begin at what takes out that codes are unsigned, so that they fit the 16 bits of which subs has a factor. */
INLINE void add_p16(const int8_t *panel, const int8_t *const act[], uint64_t column, const int32_t *offsets,
                    const int n, __m512i subs, __m512i product[]) {
    __m512i sums[TILE];
    for (int j = 0; j < n; j++) sums[j] = _mm512_set1_epi32(offsets[j]);
    for (int k = 0; k < 4; k++) {
        __m512i w = _mm512_load_si512(panel + k * 4 * ROWS);
        for (int j = 0; j < n; j++) {
            sums[j] = _mm512_dpbusd_epi32(sums[j], w, _mm512_set1_epi32(load_dword(act[j] + column + k * 4)));
            KEEP(sums[j]);
        }
    }
    for (int j = 0; j < n; j++) product[j] = _mm512_dpwssd_epi32(product[j], sums[j], subs);
}

/* Block b of a chunk, rows 16 h .. + 15, times n tokens: the sums of its pieces. */
INLINE void multiply_block_p16(const gemm_chunk *chunk, uint64_t b, uint64_t h, const int8_t *const act[],
                               const int n, uint64_t tile_at, __m512 sums[]) {
    for (int j = 0; j < n; j++) sums[j] = _mm512_setzero_ps();
    for (uint64_t p = b * P16_PIECES; p < (b + 1) * P16_PIECES; p++) {
        gemm_fetch_ahead(chunk->ahead);
        const int32_t *offsets = chunk->act_offsets + 2 * (tile_at + p * TILE);
        const float *scales = chunk->act_scales + tile_at + p * TILE;
        const int8_t *panel = chunk->panel + p * P16_PIECE * ROWS + 64 * h;
        __m512i product[TILE], subs = _mm512_load_si512(chunk->subs + p * ROWS + 16 * h);
        for (int j = 0; j < n; j++) product[j] = _mm512_setzero_si512();
        add_p16(panel, act, p * P16_PIECE, offsets, n, _mm512_and_si512(subs, _mm512_set1_epi32(0xffff)),
                product);
        add_p16(panel + 16 * ROWS, act, p * P16_PIECE + 16, offsets + TILE, n, _mm512_srli_epi32(subs, 16),
                product);
        for (int j = 0; j < n; j++)
            sums[j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(product[j]), _mm512_set1_ps(scales[j]), sums[j]);
    }
}

/* The same of its minimums. */
INLINE void multiply_minimums_p16(const gemm_chunk *chunk, uint64_t b, uint64_t h, const int n,
                                  uint64_t tile_at, __m512 sums[]) {
    for (int j = 0; j < n; j++) sums[j] = _mm512_setzero_ps();
    for (uint64_t p = b * P16_PIECES; p < (b + 1) * P16_PIECES; p++) {
        const int32_t *pairs = chunk->act_pairs + tile_at + p * TILE;
        const float *scales = chunk->act_scales + tile_at + p * TILE;
        __m512i codes = _mm512_load_si512(chunk->sub_minimums + p * ROWS + 16 * h);
        for (int j = 0; j < n; j++) {
            __m512i minimum = _mm512_madd_epi16(codes, _mm512_set1_epi32(pairs[j]));
            sums[j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(minimum), _mm512_set1_ps(scales[j]), sums[j]);
        }
    }
}

/* Tokens token .. token + n - 1 of one tile, rows 16 h .. + 15. */
INLINE void multiply_tokens_p16(const gemm_chunk *chunk, uint64_t token, uint64_t h, const int n) {
    const int8_t *act[TILE];
    __m512 acc[TILE], sums[TILE];
    float *kept = chunk->sums + token * ROWS + 16 * h, *out = chunk->out + token * chunk->out_stride + 16 * h;
    uint64_t tile_at = token / TILE * chunk->tile_stride; /* a tile is taken from its first token on */
    for (int j = 0; j < n; j++) {
        act[j] = chunk->act + (token + (uint64_t)j) * chunk->act_stride;
        acc[j] = chunk->first ? _mm512_setzero_ps() : _mm512_load_ps(kept + j * ROWS);
    }
    for (uint64_t b = 0; b < chunk->pieces / P16_PIECES; b++) {
        multiply_block_p16(chunk, b, h, act, n, tile_at, sums);
        __m512 scale = _mm512_load_ps(chunk->scales + b * ROWS + 16 * h);
        for (int j = 0; j < n; j++) acc[j] = _mm512_fmadd_ps(sums[j], scale, acc[j]);
        if (!chunk->minimums) continue;
        multiply_minimums_p16(chunk, b, h, n, tile_at, sums);
        __m512 minimum = _mm512_load_ps(chunk->minimums + b * ROWS + 16 * h);
        for (int j = 0; j < n; j++) acc[j] = _mm512_fmadd_ps(sums[j], minimum, acc[j]);
    }
    __mmask16 there = lanes_there(chunk->row_count, 16 * h);
    for (int j = 0; j < n; j++) {
        if (chunk->last)
            _mm512_mask_storeu_ps(out + (uint64_t)j * chunk->out_stride, there, acc[j]);
        else
            _mm512_store_ps(kept + j * ROWS, acc[j]);
    }
}

static void multiply_p16(const gemm_chunk *chunk) {
    for (uint64_t h = 0; h < ROWS / 16; h++) {
        uint64_t token = 0;
        for (; token + TILE <= chunk->tokens; token += TILE) multiply_tokens_p16(chunk, token, h, TILE);
        switch (chunk->tokens - token) {
        case 5: multiply_tokens_p16(chunk, token, h, 5); break;
        case 4: multiply_tokens_p16(chunk, token, h, 4); break;
        case 3: multiply_tokens_p16(chunk, token, h, 3); break;
        case 2: multiply_tokens_p16(chunk, token, h, 2); break;
        case 1: multiply_tokens_p16(chunk, token, h, 1); break;
        }
    }
}

/* ---- the float product */

/* Folds 8, 4, 2, 1 for four vectors at once: lane i of the result is the sum of v[i]. */
INLINE __m128 fold4(const __m512 v[4]) {
    __m512 p = _mm512_add_ps(_mm512_shuffle_f32x4(v[0], v[1], 0x44), _mm512_shuffle_f32x4(v[0], v[1], 0xee));
    __m512 q = _mm512_add_ps(_mm512_shuffle_f32x4(v[2], v[3], 0x44), _mm512_shuffle_f32x4(v[2], v[3], 0xee));
    /* p: eight of v[0], eight of v[1]; then four of each */
    __m512 r = _mm512_add_ps(_mm512_shuffle_f32x4(p, q, 0x88), _mm512_shuffle_f32x4(p, q, 0xdd));
    __m512 s = _mm512_add_ps(r, _mm512_shuffle_ps(r, r, 0x4e));
    __m512 t = _mm512_add_ps(s, _mm512_shuffle_ps(s, s, 0xb1));
    return _mm512_castps512_ps128(
        _mm512_permutexvar_ps(_mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0), t));
}

/* Four weight rows (pointers may repeat) by n tokens: out[j * out_stride + i] for i < row_count. */
INLINE void dot_tile(const float *const w[4], const float *x, uint64_t x_stride, uint64_t cols, const int n,
                     float *out, uint64_t out_stride, uint64_t row_count) {
    __m512 acc[4][4];
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 4; i++) acc[j][i] = _mm512_setzero_ps();
    uint64_t c = 0;
    for (; c + 16 <= cols; c += 16)
        for (int i = 0; i < 4; i++) {
            __m512 row = _mm512_loadu_ps(w[i] + c);
            for (int j = 0; j < n; j++)
                acc[j][i] = _mm512_fmadd_ps(row, _mm512_loadu_ps(x + (uint64_t)j * x_stride + c), acc[j][i]);
        }
    if (c < cols) {
        __mmask16 rest = lanes_there(cols, c);
        for (int i = 0; i < 4; i++) {
            __m512 row = _mm512_maskz_loadu_ps(rest, w[i] + c);
            for (int j = 0; j < n; j++) {
                __m512 token = _mm512_maskz_loadu_ps(rest, x + (uint64_t)j * x_stride + c);
                acc[j][i] = _mm512_mask3_fmadd_ps(row, token, acc[j][i], rest);
            }
        }
    }
    for (int j = 0; j < n; j++) {
        __m128 results = fold4(acc[j]);
        KEEP(results);
        _mm_mask_storeu_ps(out + (uint64_t)j * out_stride, (__mmask8)lanes_there(row_count, 0), results);
    }
}

static void dot(const float *w, uint64_t w_stride, uint64_t rows, uint64_t cols, const float *x,
                uint64_t x_stride, uint64_t act_rows, float *out, uint64_t out_stride) {
    for (uint64_t a = 0; a < act_rows; a += 4)
        for (uint64_t r = 0; r < rows; r += 4) {
            const float *row[4], *token = x + a * x_stride;
            for (uint64_t i = 0; i < 4; i++) row[i] = w + min_u64(r + i, rows - 1) * w_stride;
            float *to = out + a * out_stride + r;
            uint64_t count = min_u64(rows - r, 4);
            switch (min_u64(act_rows - a, 4)) {
            case 4: dot_tile(row, token, x_stride, cols, 4, to, out_stride, count); break;
            case 3: dot_tile(row, token, x_stride, cols, 3, to, out_stride, count); break;
            case 2: dot_tile(row, token, x_stride, cols, 2, to, out_stride, count); break;
            case 1: dot_tile(row, token, x_stride, cols, 1, to, out_stride, count); break;
            }
        }
}

/* ---- weighted sums of rows */

/* n tokens by up to 64 columns; `count` of them are there. */
INLINE void blend_tile(const float *v, uint64_t v_stride, uint64_t rows, uint64_t count, const float *weights,
                       uint64_t weight_stride, const int n, float *out, uint64_t out_stride) {
    __mmask16 there[4];
    __m512 acc[4][4];
    for (int i = 0; i < 4; i++) there[i] = lanes_there(count, (uint64_t)i * 16);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 4; i++)
            acc[j][i] = _mm512_maskz_loadu_ps(there[i], out + (uint64_t)j * out_stride + i * 16);
    for (uint64_t r = 0; r < rows; r++) {
        __m512 weight[4];
        for (int j = 0; j < n; j++) weight[j] = _mm512_set1_ps(weights[(uint64_t)j * weight_stride + r]);
        for (int i = 0; i < 4; i++) {
            __m512 x = _mm512_maskz_loadu_ps(there[i], v + r * v_stride + i * 16);
            for (int j = 0; j < n; j++) acc[j][i] = _mm512_fmadd_ps(weight[j], x, acc[j][i]);
        }
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 4; i++)
            _mm512_mask_storeu_ps(out + (uint64_t)j * out_stride + i * 16, there[i], acc[j][i]);
}

static void blend(const float *v, uint64_t v_stride, uint64_t rows, uint64_t cols, const float *weights,
                  uint64_t weight_stride, uint64_t act_rows, float *out, uint64_t out_stride) {
    for (uint64_t c = 0; c < cols; c += 64)
        for (uint64_t a = 0; a < act_rows; a += 4) {
            const float *from = v + c, *weight = weights + a * weight_stride;
            float *to = out + a * out_stride + c;
            uint64_t count = min_u64(cols - c, 64);
            switch (min_u64(act_rows - a, 4)) {
            case 4: blend_tile(from, v_stride, rows, count, weight, weight_stride, 4, to, out_stride); break;
            case 3: blend_tile(from, v_stride, rows, count, weight, weight_stride, 3, to, out_stride); break;
            case 2: blend_tile(from, v_stride, rows, count, weight, weight_stride, 2, to, out_stride); break;
            case 1: blend_tile(from, v_stride, rows, count, weight, weight_stride, 1, to, out_stride); break;
            }
        }
}

/* ---- the table */

static const gemm_kind kind = {
    .rows = ROWS,
    .tile = TILE,
    .chunk = CHUNK,
    .float_rows = 8,
    .interleave = interleave,
    .spread = spread,
    .multiply = multiply,
    .multiply_p16 = multiply_p16,
    .dot = dot,
};

static void gemm(const cpu_gemm *call) {
    gemm_run(&kind, call);
}
static uint64_t gemm_scratch(uint64_t cols, uint64_t act_rows) {
    return gemm_scratch_bytes(&kind, cols, act_rows);
}

const cpu_kernels cpu_kernels_avx512vnni = {
    .name = "avx512vnni",
    .isa = TN_ISA_AVX2 | TN_ISA_AVX512 | TN_ISA_AVX512_VNNI,
    ROW_OPS,
    .blend = blend,
    .dot = dot,
    .gemm = gemm,
    .gemm_scratch = gemm_scratch,
    .gemm_from = 6,
    .gemm_rows = ROWS,
};
