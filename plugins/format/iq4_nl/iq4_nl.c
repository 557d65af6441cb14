/* iq4_nl.c - IQ4_NL: 32 codes of a table that is denser about zero, and one binary16 scale. */
#include "iq4_nl_kernels.h"
#include "table16_iq4.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, IQ4_NL_SHAPE, iq4_nl_open);
}

/* Scales of up to so many times the smallest are all tried: the searched one says little where it has to be rounded so
 * coarsely. */
enum { SMALL = 16 };

typedef struct trial {
    float scale, error;
} trial;

static void try_scale(const tn_iq4_lookup *lookup, const tn_iq4_group *group, float scale, trial *best) {
    float error = tn_iq4_error(lookup, group, scale * group->inverse);
    if (error < best->error && isfinite(scale)) { *best = (trial){scale, error}; }
}

/* The best of the binary16 scales about the searched one; 0: they are beyond binary16. */
static int encode_block(const tn_iq4_lookup *lookup, const float *x, const float *importance,
                        uint8_t *block) {
    tn_iq4_group group;
    trial best = {.error = INFINITY};
    float d[3];
    tn_iq4_group_begin(x, importance, &group);
    tn_half_neighbours(tn_iq4_search(lookup, &group).scale * group.largest, d);
    for (uint32_t i = 0; i < 3; i++) { try_scale(lookup, &group, d[i], &best); }
    if (group.largest != 0 && fabsf(d[0]) < SMALL * TN_IQ4_LEAST) {
        for (int32_t k = -SMALL; k <= SMALL; k++) {
            try_scale(lookup, &group, (float)k * TN_IQ4_LEAST, &best);
        }
    }
    tn_store_half(block, best.scale);
    tn_iq4_pack(lookup, x, best.scale, block + 2);
    return best.error < INFINITY;
}

static int32_t encode(void *self, const float *x, uint64_t rows, uint64_t cols, const float *importance,
                      void *blocks, tn_error *err) {
    uint8_t *block = blocks;
    tn_iq4_lookup lookup;
    (void)self;
    TN_TRY(tn_encode_check(x, rows, cols, importance, err));
    tn_iq4_prepare(&lookup);
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < cols; c += 32, x += 32, block += 18) {
            if (!encode_block(&lookup, x, importance ? importance + c : NULL, block)) {
                return tn_encode_overflow(r, c, tn_largest(x, 32), err);
            }
        }
    }
    return TN_OK;
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 18, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &iq4_nl_gemv_scalar, &iq4_nl_unpack_scalar,
#if defined(__x86_64__)
    &iq4_nl_gemv_avx2,   &iq4_nl_unpack_avx2,   &iq4_nl_gemv_avx512, &iq4_nl_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 20,
                                 .name = "IQ4_NL",
                                 .block = 32,
                                 .block_bytes = 18,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.iq4_nl", format);
