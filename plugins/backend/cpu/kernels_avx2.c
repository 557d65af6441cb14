/*
 * kernels_avx2.c - the table for AVX2 with FMA.
 *
 * Integer product: 8 weight rows in the lanes, four tokens, panel [columns / 4][8 rows][4 codes]. Pairs of
 * products must fit int16, so codes of any size go as magnitudes, their signs moved to the activation
 * (127 * 128 * 2 < 2^15). Where all codes of a chunk fit five bits they are offset to unsigned instead: then
 * no signs are moved and the products of 16 columns fit int16 (31 * 127 * 8 < 2^15), which is nearly twice as
 * fast. Either way the integer sums are exact, so the results are the same. Float product: two weight rows by
 * two tokens, sixteen lanes in two vectors, folded by a tree.
 */
#include "gemm_band.h"
#include "kernel_tables.h"
#include "row_ops.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* Without it gcc 12 rebuilds chains of integer sums as trees, and spills. */
#define KEEP(x) __asm__("" : "+x"(x))

enum { ROWS = 8, TILE = 4, CHUNK = 512, FIVE_BITS = 31 };

INLINE uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* All ones in those of eight lanes from `first` on that lie below n. */
INLINE __m256i lanes_there(uint64_t n, uint64_t first) {
    int count = (int)min_u64(n > first ? n - first : 0, 8);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* ---- panels */

/* 8 x 8 dwords. */
INLINE void transpose8(__m256i v[8]) {
    __m256i t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        v[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
        v[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
        v[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
        v[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        __m256i low = v[i], high = v[i + 4];
        v[i] = _mm256_permute2x128_si256(low, high, 0x20);
        v[i + 4] = _mm256_permute2x128_si256(low, high, 0x31);
    }
}

INLINE __m256i load_codes(const int8_t *p) {
    return _mm256_load_si256((const __m256i *)(const void *)p);
}

/* What must be added to all codes to make them 0 .. 31; GEMM_SIGNED if nothing does. */
static int32_t narrow_offset(const int8_t *codes, uint64_t code_stride, uint64_t cols) {
    __m256i low = _mm256_setzero_si256(), high = low;
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t c = 0; c < cols; c += 32) {
            __m256i v = load_codes(codes + r * code_stride + c);
            low = _mm256_min_epi8(low, v);
            high = _mm256_max_epi8(high, v);
        }
    int8_t lows[32], highs[32], least = 0, most = 0;
    _mm256_storeu_si256((__m256i *)(void *)lows, low);
    _mm256_storeu_si256((__m256i *)(void *)highs, high);
    for (int i = 0; i < 32; i++) {
        least = lows[i] < least ? lows[i] : least;
        most = highs[i] > most ? highs[i] : most;
    }
    int32_t offset = least < 0 ? 16 : 0;
    return least + offset >= 0 && most + offset <= FIVE_BITS ? offset : GEMM_SIGNED;
}

static int32_t interleave(const int8_t *codes, uint64_t code_stride, uint64_t cols, int p16, int8_t *panel) {
    int32_t offset = p16 ? P16_OFFSET : narrow_offset(codes, code_stride, cols);
    const __m256i add = _mm256_set1_epi8((char)(offset == GEMM_SIGNED ? 0 : offset));
    for (uint64_t c = 0; c < cols; c += 32) {
        __m256i v[8];
        for (int r = 0; r < 8; r++)
            v[r] = _mm256_add_epi8(load_codes(codes + (uint64_t)r * code_stride + c), add);
        transpose8(v);
        for (int k = 0; k < 8; k++) _mm256_store_si256((__m256i *)(void *)(panel + c * ROWS + k * 32), v[k]);
    }
    return offset;
}

static void spread(const float *in, uint64_t stride, uint64_t groups, uint64_t repeat, float *out) {
    for (uint64_t g = 0; g < groups; g += 8) {
        __m256i v[8];
        for (int r = 0; r < 8; r++)
            v[r] = _mm256_load_si256((const __m256i *)(const void *)(in + (uint64_t)r * stride + g));
        transpose8(v);
        uint64_t count = min_u64(groups - g, 8);
        for (uint64_t k = 0; k < count; k++)
            for (uint64_t i = 0; i < repeat; i++)
                _mm256_store_si256((__m256i *)(void *)(out + ((g + k) * repeat + i) * ROWS), v[k]);
    }
}

/* ---- the integer product */

INLINE __m256i broadcast4(const int8_t *p) {
    int32_t x;
    memcpy(&x, p, sizeof x);
    return _mm256_set1_epi32(x);
}

/* Sixteen columns of the panel times n tokens and `factors`, added to product: codes 0 .. 31. */
INLINE void add_narrow(const int8_t *panel, const int8_t *const act[], uint64_t column, const int n,
                       __m256i factors, __m256i product[]) {
    __m256i pairs[TILE];
    for (int k = 0; k < 4; k++) {
        __m256i w = load_codes(panel + k * 32);
        for (int j = 0; j < n; j++) {
            __m256i pair = _mm256_maddubs_epi16(w, broadcast4(act[j] + column + k * 4));
            pairs[j] = k == 0 ? pair : _mm256_add_epi16(pairs[j], pair);
            KEEP(pairs[j]);
        }
    }
    for (int j = 0; j < n; j++) {
        product[j] = _mm256_add_epi32(product[j], _mm256_madd_epi16(pairs[j], factors));
        KEEP(product[j]);
    }
}

/* The same for codes of any size. */
INLINE void add_signed(const int8_t *panel, const int8_t *const act[], uint64_t column, const int n,
                       __m256i product[]) {
    for (int k = 0; k < 4; k++) {
        __m256i w = load_codes(panel + k * 32), magnitude = _mm256_abs_epi8(w);
        for (int j = 0; j < n; j++) {
            __m256i x = _mm256_sign_epi8(broadcast4(act[j] + column + k * 4), w);
            __m256i pair = _mm256_maddubs_epi16(magnitude, x);
            product[j] = _mm256_add_epi32(product[j], _mm256_madd_epi16(pair, _mm256_set1_epi16(1)));
            KEEP(product[j]);
        }
    }
}

INLINE void store_rows(float *to, __m256 rows, uint32_t row_count) {
    if (row_count == ROWS)
        _mm256_storeu_ps(to, rows);
    else
        _mm256_maskstore_ps(to, lanes_there(row_count, 0), rows);
}

/* Tokens token .. token + n - 1 of one tile, all pieces. */
INLINE void multiply_tokens(const gemm_chunk *chunk, uint64_t token, const int n, const int narrow) {
    const int8_t *act[TILE], *panel = chunk->panel;
    __m256 acc[TILE];
    float *sums = chunk->sums + token * ROWS;
    for (int j = 0; j < n; j++) {
        act[j] = chunk->act + (token + (uint64_t)j) * chunk->act_stride;
        acc[j] = chunk->first ? _mm256_setzero_ps() : _mm256_load_ps(sums + j * ROWS);
    }
    const float *act_scales = chunk->act_scales + token / TILE * chunk->tile_stride + token % TILE;
    const float *act_sums = chunk->act_sums + token / TILE * chunk->tile_stride + token % TILE;
    const int32_t *act_offsets = chunk->act_offsets + token / TILE * chunk->tile_stride + token % TILE;
    const __m256i shifted = _mm256_set1_epi32(narrow && chunk->offset != 0 ? -1 : 0); /* by 16 = 128 >> 3 */
    uint64_t column = 0;
    for (uint64_t p = 0; p < chunk->pieces; p++, act_scales += TILE, act_sums += TILE, act_offsets += TILE) {
        gemm_fetch_ahead(chunk->ahead);
        __m256i product[TILE];
        for (int j = 0; j < n; j++)
            product[j] = _mm256_and_si256(_mm256_srai_epi32(_mm256_set1_epi32(act_offsets[j]), 3), shifted);
        for (uint32_t done = 0; done < chunk->piece; done += 16, panel += 16 * ROWS, column += 16) {
            if (narrow)
                add_narrow(panel, act, column, n, _mm256_set1_epi16(1), product);
            else
                add_signed(panel, act, column, n, product);
        }
        __m256 scale = _mm256_load_ps(chunk->scales + p * ROWS);
        for (int j = 0; j < n; j++)
            acc[j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(product[j]),
                                     _mm256_mul_ps(scale, _mm256_set1_ps(act_scales[j])), acc[j]);
        if (!chunk->minimums) continue;
        __m256 minimum = _mm256_load_ps(chunk->minimums + p * ROWS);
        for (int j = 0; j < n; j++)
            acc[j] = _mm256_fmadd_ps(_mm256_set1_ps(act_sums[j]),
                                     _mm256_mul_ps(minimum, _mm256_set1_ps(act_scales[j])), acc[j]);
    }
    float *out = chunk->out + token * chunk->out_stride;
    for (int j = 0; j < n; j++) {
        if (chunk->last)
            store_rows(out + (uint64_t)j * chunk->out_stride, acc[j], chunk->row_count);
        else
            _mm256_store_ps(sums + j * ROWS, acc[j]);
    }
}

INLINE void multiply_all(const gemm_chunk *chunk, const int narrow) {
    uint64_t token = 0;
    for (; token + TILE <= chunk->tokens; token += TILE) multiply_tokens(chunk, token, TILE, narrow);
    switch (chunk->tokens - token) {
    case 3: multiply_tokens(chunk, token, 3, narrow); break;
    case 2: multiply_tokens(chunk, token, 2, narrow); break;
    case 1: multiply_tokens(chunk, token, 1, narrow); break;
    }
}

static void multiply(const gemm_chunk *chunk) {
    if (chunk->offset == GEMM_SIGNED)
        multiply_all(chunk, 0);
    else
        multiply_all(chunk, 1);
}

/* ---- the integer product of p16 panels */

/* Block b of a chunk times n tokens: the sums of its pieces. */
INLINE void multiply_block_p16(const gemm_chunk *chunk, uint64_t b, const int8_t *const act[], const int n,
                               uint64_t tile_at, __m256 sums[]) {
    const __m256i first = _mm256_set1_epi32(0x01000100),
                  lanes = _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404, 0x08080808,
                                            0x0c0c0c0c);
    const __m256i low = _mm256_add_epi8(first, lanes), high = _mm256_add_epi8(low, _mm256_set1_epi8(2));
    for (int j = 0; j < n; j++) sums[j] = _mm256_setzero_ps();
    for (uint64_t p = b * P16_PIECES; p < (b + 1) * P16_PIECES; p++) {
        gemm_fetch_ahead(chunk->ahead);
        const int32_t *pairs = chunk->act_pairs + tile_at + p * TILE;
        const float *scales = chunk->act_scales + tile_at + p * TILE;
        const int8_t *panel = chunk->panel + p * P16_PIECE * ROWS;
        __m256i product[TILE],
            subs = _mm256_load_si256((const __m256i *)(const void *)(chunk->subs + p * ROWS));
        __m256i offsets = _mm256_mullo_epi16(subs, _mm256_set1_epi16(-P16_OFFSET));
        for (int j = 0; j < n; j++) product[j] = _mm256_madd_epi16(offsets, _mm256_set1_epi32(pairs[j]));
        add_narrow(panel, act, p * P16_PIECE, n, _mm256_shuffle_epi8(subs, low), product);
        add_narrow(panel + 16 * ROWS, act, p * P16_PIECE + 16, n, _mm256_shuffle_epi8(subs, high), product);
        for (int j = 0; j < n; j++)
            sums[j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(product[j]), _mm256_set1_ps(scales[j]), sums[j]);
    }
}

/* The same of its minimums. */
INLINE void multiply_minimums_p16(const gemm_chunk *chunk, uint64_t b, const int n, uint64_t tile_at,
                                  __m256 sums[]) {
    for (int j = 0; j < n; j++) sums[j] = _mm256_setzero_ps();
    for (uint64_t p = b * P16_PIECES; p < (b + 1) * P16_PIECES; p++) {
        const int32_t *pairs = chunk->act_pairs + tile_at + p * TILE;
        const float *scales = chunk->act_scales + tile_at + p * TILE;
        __m256i codes = _mm256_load_si256((const __m256i *)(const void *)(chunk->sub_minimums + p * ROWS));
        for (int j = 0; j < n; j++) {
            __m256i minimum = _mm256_madd_epi16(codes, _mm256_set1_epi32(pairs[j]));
            sums[j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(minimum), _mm256_set1_ps(scales[j]), sums[j]);
        }
    }
}

INLINE void multiply_tokens_p16(const gemm_chunk *chunk, uint64_t token, const int n) {
    const int8_t *act[TILE];
    __m256 acc[TILE], sums[TILE];
    float *kept = chunk->sums + token * ROWS;
    uint64_t tile_at = token / TILE * chunk->tile_stride; /* a tile is taken from its first token on */
    for (int j = 0; j < n; j++) {
        act[j] = chunk->act + (token + (uint64_t)j) * chunk->act_stride;
        acc[j] = chunk->first ? _mm256_setzero_ps() : _mm256_load_ps(kept + j * ROWS);
    }
    for (uint64_t b = 0; b < chunk->pieces / P16_PIECES; b++) {
        multiply_block_p16(chunk, b, act, n, tile_at, sums);
        __m256 scale = _mm256_load_ps(chunk->scales + b * ROWS);
        for (int j = 0; j < n; j++) acc[j] = _mm256_fmadd_ps(sums[j], scale, acc[j]);
        if (!chunk->minimums) continue;
        multiply_minimums_p16(chunk, b, n, tile_at, sums);
        __m256 minimum = _mm256_load_ps(chunk->minimums + b * ROWS);
        for (int j = 0; j < n; j++) acc[j] = _mm256_fmadd_ps(sums[j], minimum, acc[j]);
    }
    float *out = chunk->out + token * chunk->out_stride;
    for (int j = 0; j < n; j++) {
        if (chunk->last)
            store_rows(out + (uint64_t)j * chunk->out_stride, acc[j], chunk->row_count);
        else
            _mm256_store_ps(kept + j * ROWS, acc[j]);
    }
}

static void multiply_p16(const gemm_chunk *chunk) {
    uint64_t token = 0;
    for (; token + TILE <= chunk->tokens; token += TILE) multiply_tokens_p16(chunk, token, TILE);
    switch (chunk->tokens - token) {
    case 3: multiply_tokens_p16(chunk, token, 3); break;
    case 2: multiply_tokens_p16(chunk, token, 2); break;
    case 1: multiply_tokens_p16(chunk, token, 1); break;
    }
}

/* ---- the float product */

/* Folds 8, 4, 2, 1 for four times sixteen lanes; the results are v[0], v[2], v[1], v[3]. */
INLINE __m128 fold4(__m256 v[4][2]) {
    __m256 eight[4];
    for (int i = 0; i < 4; i++) eight[i] = _mm256_add_ps(v[i][0], v[i][1]);
    __m256 p = _mm256_add_ps(_mm256_permute2f128_ps(eight[0], eight[1], 0x20),
                             _mm256_permute2f128_ps(eight[0], eight[1], 0x31));
    __m256 q = _mm256_add_ps(_mm256_permute2f128_ps(eight[2], eight[3], 0x20),
                             _mm256_permute2f128_ps(eight[2], eight[3], 0x31));
    __m256 r = _mm256_add_ps(_mm256_shuffle_ps(p, q, 0x44), _mm256_shuffle_ps(p, q, 0xee));
    __m256 s = _mm256_add_ps(r, _mm256_shuffle_ps(r, r, 0xb1));
    return _mm_shuffle_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1), 0x88);
}

/* Two weight rows by two tokens (pointers may repeat): lanes w0 x0, w1 x0, w0 x1, w1 x1 after fold4's order.
 */
INLINE __m128 dot_tile(const float *const w[2], const float *const x[2], uint64_t cols) {
    __m256 acc[4][2];
    for (int i = 0; i < 4; i++) acc[i][0] = acc[i][1] = _mm256_setzero_ps();
    uint64_t c = 0;
    for (; c + 16 <= cols; c += 16)
        for (int h = 0; h < 2; h++) {
            __m256 row[2] = {_mm256_loadu_ps(w[0] + c + h * 8), _mm256_loadu_ps(w[1] + c + h * 8)};
            __m256 token[2] = {_mm256_loadu_ps(x[0] + c + h * 8), _mm256_loadu_ps(x[1] + c + h * 8)};
            for (int i = 0; i < 4; i++) acc[i][h] = _mm256_fmadd_ps(row[i / 2], token[i % 2], acc[i][h]);
        }
    for (int h = 0; h < 2 && c < cols; h++) {
        __m256i there = lanes_there(cols, c + (uint64_t)h * 8);
        __m256 row[2], token[2];
        for (int i = 0; i < 2; i++) {
            row[i] = _mm256_maskload_ps(w[i] + c + h * 8, there);
            token[i] = _mm256_maskload_ps(x[i] + c + h * 8, there);
        }
        for (int i = 0; i < 4; i++)
            acc[i][h] = _mm256_blendv_ps(acc[i][h], _mm256_fmadd_ps(row[i / 2], token[i % 2], acc[i][h]),
                                         _mm256_castsi256_ps(there));
    }
    return fold4(acc);
}

static void dot(const float *w, uint64_t w_stride, uint64_t rows, uint64_t cols, const float *x,
                uint64_t x_stride, uint64_t act_rows, float *out, uint64_t out_stride) {
    for (uint64_t a = 0; a < act_rows; a += 2)
        for (uint64_t r = 0; r < rows; r += 2) {
            uint64_t next_row = min_u64(r + 1, rows - 1), next = min_u64(a + 1, act_rows - 1);
            const float *const row[2] = {w + r * w_stride, w + next_row * w_stride};
            const float *const token[2] = {x + a * x_stride, x + next * x_stride};
            float results[4];
            _mm_storeu_ps(results, dot_tile(row, token, cols));
            out[a * out_stride + r] = results[0];
            out[a * out_stride + next_row] = results[next_row == r ? 0 : 1];
            out[next * out_stride + r] = results[next == a ? 0 : 2];
            out[next * out_stride + next_row] = results[(next == a ? 0 : 2) + (next_row == r ? 0 : 1)];
        }
}

/* ---- weighted sums of rows */

/* n tokens by up to 16 columns; `count` of them are there. */
INLINE void blend_tile(const float *v, uint64_t v_stride, uint64_t rows, uint64_t count, const float *weights,
                       uint64_t weight_stride, const int n, float *out, uint64_t out_stride) {
    __m256i there[2] = {lanes_there(count, 0), lanes_there(count, 8)};
    __m256 acc[TILE][2];
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 2; i++)
            acc[j][i] = _mm256_maskload_ps(out + (uint64_t)j * out_stride + i * 8, there[i]);
    for (uint64_t r = 0; r < rows; r++) {
        __m256 x[2];
        for (int i = 0; i < 2; i++) x[i] = _mm256_maskload_ps(v + r * v_stride + i * 8, there[i]);
        for (int j = 0; j < n; j++) {
            __m256 weight = _mm256_set1_ps(weights[(uint64_t)j * weight_stride + r]);
            for (int i = 0; i < 2; i++) acc[j][i] = _mm256_fmadd_ps(weight, x[i], acc[j][i]);
        }
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 2; i++)
            _mm256_maskstore_ps(out + (uint64_t)j * out_stride + i * 8, there[i], acc[j][i]);
}

static void blend(const float *v, uint64_t v_stride, uint64_t rows, uint64_t cols, const float *weights,
                  uint64_t weight_stride, uint64_t act_rows, float *out, uint64_t out_stride) {
    for (uint64_t c = 0; c < cols; c += 16)
        for (uint64_t a = 0; a < act_rows; a += TILE) {
            const float *from = v + c, *weight = weights + a * weight_stride;
            float *to = out + a * out_stride + c;
            uint64_t count = min_u64(cols - c, 16);
            switch (min_u64(act_rows - a, TILE)) {
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

const cpu_kernels cpu_kernels_avx2 = {
    .name = "avx2",
    .isa = TN_ISA_AVX2,
    ROW_OPS,
    .blend = blend,
    .dot = dot,
    .gemm = gemm,
    .gemm_scratch = gemm_scratch,
    .gemm_from = 8,
    .gemm_rows = ROWS,
};
