/* q6_k.c - Q6_K: 256 codes of -32 .. 31, a signed 8-bit sub-scale for 16 columns and one binary16 scale. */
#include "q6_k_kernels.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, Q6_K_SHAPE, q6_k_open);
}

/* A block taken apart. */
typedef struct parts {
    float d, error;
    int8_t sub[16], codes[256];
} parts;

/* The best sub-scale of a group among the three about the wanted scale; its codes; the error is returned. */
static float fit_group(const float *x, const float *weights, float d, float wanted, float unit, int8_t *sub,
                       int8_t *codes) {
    int32_t middle = (int32_t)tn_nearest(wanted * tn_inverse(d), -128, 127);
    float best = INFINITY;
    for (int32_t s = middle - 1; s <= middle + 1; s++) {
        int8_t trial[16];
        if (s < -128 || s > 127) { continue; }
        float error = tn_codes_for_scale(x, weights, 16, -32, 31, d * (float)s, unit, trial);
        if (error < best) {
            best = error;
            *sub = (int8_t)s;
            memcpy(codes, trial, sizeof trial);
        }
    }
    return best;
}

static void try_scale(const float *x, const float *weights, float d, const float *wanted, float unit,
                      parts *p) {
    p->d = d;
    p->error = 0;
    for (uint32_t g = 0; g < 16; g++) {
        p->error +=
            fit_group(x + 16 * g, weights + 16 * g, d, wanted[g], unit, &p->sub[g], &p->codes[16 * g]);
    }
}

static void pack_parts(const parts *p, uint8_t *block) {
    for (uint32_t n = 0; n < 2; n++) {
        for (uint32_t l = 0; l < 32; l++) {
            uint8_t q[4];
            for (uint32_t c = 0; c < 4; c++) { q[c] = (uint8_t)(p->codes[128 * n + 32 * c + l] + 32); }
            block[64 * n + l] = (uint8_t)((q[0] & 15) | q[2] << 4);
            block[64 * n + 32 + l] = (uint8_t)((q[1] & 15) | q[3] << 4);
            block[128 + 32 * n + l] = (uint8_t)(q[0] >> 4 | q[1] >> 4 << 2 | q[2] >> 4 << 4 | q[3] >> 4 << 6);
        }
    }
    memcpy(block + 192, p->sub, sizeof p->sub);
    tn_store_half(block + 208, p->d);
}

/*
 * Each group's own best scale first; then block scales that take the largest of them to one of the last
 * sub-scales at either end, each with the sub-scales and codes that fit it best. 0: all of them are beyond
 * binary16.
 */
static int encode_block(const float *x, const float *importance, uint8_t *block) {
    float weights[256], wanted[16], unit = tn_inverse(tn_largest(x, 256));
    parts best = {.error = INFINITY}, trial;
    for (uint32_t g = 0; g < 16; g++) {
        tn_block_weights(importance ? importance + 16 * g : NULL, 16, weights + 16 * g);
        wanted[g] = tn_search_scale(x + 16 * g, weights + 16 * g, 16, -32, 31);
    }
    tn_block_weights(importance, 256, weights);
    float largest = tn_largest(wanted, 16);
    for (int32_t end = -128; end <= 127; end = end == -119 ? 119 : end + 1) {
        float d[3];
        tn_half_neighbours(largest / (float)end, d);
        for (uint32_t i = 0; i < (fabsf(d[0]) < 0x1p-14f ? 3 : 1);
             i++) { /* near neighbours where they are far */
            try_scale(x, weights, d[i], wanted, unit, &trial);
            if (trial.error < best.error) { best = trial; }
        }
    }
    pack_parts(&best, block);
    return best.error < INFINITY;
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    (void)self;
    return tn_encode_blocks(x, rows, cols, importance, blocks, err, Q6_K_SHAPE, encode_block);
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 210, 208), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &q6_k_gemv_scalar, &q6_k_unpack_scalar,
#if defined(__x86_64__)
    &q6_k_gemv_avx2,   &q6_k_unpack_avx2,   &q6_k_gemv_avx512, &q6_k_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 14,
                                 .name = "Q6_K",
                                 .block = 256,
                                 .block_bytes = 210,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.q6_k", format);
