/*
 * iq4_xs.c - IQ4_XS: 256 codes of a table that is denser about zero, a 6-bit sub-scale for 32 columns and
 * one binary16 scale.
 */
#include "iq4_xs_kernels.h"
#include "table16_iq4.h"

static void decode(void *self, const void *blocks, uint64_t count, float *out) {
    (void)self;
    tn_decode_blocks(blocks, count, out, IQ4_XS_SHAPE, iq4_xs_open);
}

enum { GROUPS = 8, SUB_LOW = -32, SUB_HIGH = 31, KEPT = 2, REFITS = 2 };

/* What the search knows of a block: its groups, and of each what it counts for. */
typedef struct search {
    const tn_iq4_lookup *lookup;
    float largest, inverse;  /* of the block's numbers */
    float share[GROUPS];     /* of a group's error, in units of its largest, in that of the block */
    float wanted[GROUPS];    /* each group's own best scale */
    float stiffness[GROUPS]; /* how fast the block's error grows with the square of a group's way from it */
    tn_iq4_group group[GROUPS];
} search;

/* A scale with its sub-scales, and their error. */
typedef struct trial {
    float d, error;
    int32_t sub[GROUPS];
} trial;

static float most_of(const float *importance) {
    float most = importance ? 0 : 1;
    for (uint32_t i = 0; importance && i < TN_IQ4_GROUP; i++) { most = fmaxf(most, importance[i]); }
    return most;
}

static void search_begin(const tn_iq4_lookup *lookup, const float *x, const float *importance, search *s) {
    float most = 0;
    s->lookup = lookup;
    s->largest = tn_largest(x, 256);
    s->inverse = tn_inverse(s->largest);
    for (uint32_t g = 0; g < GROUPS; g++) {
        s->share[g] = most_of(importance ? importance + 32 * g : NULL);
        most = fmaxf(most, s->share[g]);
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        tn_iq4_group *group = &s->group[g];
        tn_iq4_group_begin(x + 32 * g, importance ? importance + 32 * g : NULL, group);
        tn_iq4_fit fit = tn_iq4_search(lookup, group);
        float size = group->largest * s->inverse, weight = most > 0 ? s->share[g] / most : 1;
        s->share[g] = weight * size * size;
        s->wanted[g] = fit.scale * group->largest;
        s->stiffness[g] = fit.scale != 0 ? weight * (fit.gain / (fit.scale * fit.scale)) : 0;
    }
}

static float nearest_sub(float wanted, float inverse) {
    return tn_nearest(wanted * inverse, SUB_LOW, SUB_HIGH);
}

/* The error that `d` adds to that of the wanted scales, about: as if all codes stayed. */
static float added_error(const search *s, float d) {
    float inverse = tn_inverse(d), sum = 0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        float miss = (d * nearest_sub(s->wanted[g], inverse) - s->wanted[g]) * s->inverse;
        sum += s->stiffness[g] * (miss * miss);
    }
    return sum;
}

/*
 * The scales that add least, of those that take the largest wanted scale to a sub-scale of at least half
 * size.
 */
static void choose_scales(const search *s, float *kept) {
    float errors[KEPT], most = 0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        if (s->share[g] > 0 && fabsf(s->wanted[g]) > fabsf(most)) { most = s->wanted[g]; }
    }
    for (uint32_t k = 0; k < KEPT; k++) { kept[k] = 0, errors[k] = INFINITY; }
    for (int32_t end = SUB_LOW; end <= SUB_HIGH; end = end == -16 ? 16 : end + 1) {
        float d = most / (float)end, error = added_error(s, d);
        for (uint32_t k = 0; k < KEPT; k++) { /* put it in its place; what it drives out goes on */
            if (error < errors[k]) {
                float other = kept[k], other_error = errors[k];
                kept[k] = d, errors[k] = error;
                d = other, error = other_error;
            }
        }
    }
}

/* The sub-scales that are best with d, each one of those within `reach` of the wanted; keeps the better trial. */
static void try_scale(const search *s, float d, int32_t reach, trial *best) {
    trial t = {.d = d, .error = isfinite(d) ? 0 : INFINITY};
    float inverse = tn_inverse(d);
    for (uint32_t g = 0; g < GROUPS; g++) {
        const tn_iq4_group *group = &s->group[g];
        int32_t middle = (int32_t)nearest_sub(s->wanted[g], inverse);
        float least = INFINITY;
        for (int32_t sub = middle - reach; sub <= middle + reach; sub++) {
            if (sub < SUB_LOW || sub > SUB_HIGH) { continue; }
            float error = tn_iq4_error(s->lookup, group, d * (float)sub * group->inverse);
            if (error < least) {
                least = error;
                t.sub[g] = sub;
            }
        }
        t.error += s->share[g] * least;
    }
    if (t.error < best->error) { *best = t; }
}

/* The scale of least squares for the sub-scales and codes of a trial. */
static float refit(const search *s, const trial *t) {
    float top = 0, bottom = 0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        const tn_iq4_group *group = &s->group[g];
        float sub = (float)t->sub[g] * group->inverse, xq,
              qq; /* in units of the group's largest, for d = 1 */
        tn_iq4_sums(s->lookup, group, tn_inverse(t->d * sub), &xq, &qq);
        if (s->share[g] > 0) {
            top += s->share[g] * (sub * s->largest) * xq;
            bottom += s->share[g] * (sub * s->largest) * (sub * s->largest) * qq;
        }
    }
    return bottom > 0 ? top / bottom * s->largest : t->d;
}

static void pack(const search *s, const float *x, const trial *t, uint8_t *block) {
    uint16_t upper = 0;
    uint32_t lower = 0;
    tn_store_half(block, t->d);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t sub = (uint32_t)(t->sub[g] - SUB_LOW);
        lower |= (sub & 15) << 4 * g;
        upper = (uint16_t)(upper | sub >> 4 << 2 * g);
        tn_iq4_pack(s->lookup, x + 32 * g, t->d * (float)t->sub[g], block + 8 + 16 * g);
    }
    memcpy(block + 2, &upper, sizeof upper);
    memcpy(block + 4, &lower, sizeof lower);
}

/*
 * Each group's own best scale first, then the block scales that suit these best, each with its best sub-
 * scales (of the smallest block scale all of them); then in turn the scale of least squares and its sub-scales, as long as that helps. 0: all are
 * beyond binary16.
 */
static int encode_block(const tn_iq4_lookup *lookup, const float *x, const float *importance,
                        uint8_t *block) {
    search s;
    float kept[KEPT], before;
    trial best = {.error = INFINITY};
    search_begin(lookup, x, importance, &s);
    choose_scales(&s, kept);
    for (uint32_t k = 0; k < KEPT; k++) {
        float d[3];
        tn_half_neighbours(kept[k], d);
        for (uint32_t i = 0; i < (fabsf(d[0]) < 0x1p-14f ? 3 : 1); i++) { try_scale(&s, d[i], 1, &best); }
    }
    if (s.largest != 0 && fabsf(kept[0]) < 2 * TN_IQ4_LEAST) { /* all products that there are */
        try_scale(&s, TN_IQ4_LEAST, SUB_HIGH - SUB_LOW, &best);
    }
    for (uint32_t i = 0; i < REFITS && best.error < INFINITY; i++) {
        before = best.error;
        try_scale(&s, tn_float_of_half(tn_half_of_float(refit(&s, &best))), 1, &best);
        if (best.error == before) { break; }
    }
    pack(&s, x, &best, block);
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
        for (uint64_t c = 0; c < cols; c += 256, x += 256, block += 136) {
            if (!encode_block(&lookup, x, importance ? importance + c : NULL, block)) {
                return tn_encode_overflow(r, c, tn_largest(x, 256), err);
            }
        }
    }
    return TN_OK;
}

static int32_t check(void *self, const void *blocks, uint64_t block_count, uint64_t *bad) {
    (void)self;
    return tn_check_result(tn_find_bad_half(blocks, block_count, 136, 0), block_count, bad);
}

static const tn_format_kernel *const kernels[] = {
    &iq4_xs_gemv_scalar, &iq4_xs_unpack_scalar,
#if defined(__x86_64__)
    &iq4_xs_gemv_avx2,   &iq4_xs_unpack_avx2,   &iq4_xs_gemv_avx512, &iq4_xs_unpack_avx512,
#endif
};

static const tn_format format = {.struct_size = sizeof(tn_format),
                                 .type = 23,
                                 .name = "IQ4_XS",
                                 .block = 256,
                                 .block_bytes = 136,
                                 .importance = TN_IMPORTANCE_USED,
                                 .decode = decode,
                                 .encode = encode,
                                 .check = check,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};

TN_FORMAT_PLUGIN("format.iq4_xs", format);
