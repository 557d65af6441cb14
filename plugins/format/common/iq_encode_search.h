/*
 * iq_encode_search.h - encoding of a block of an IQ type: w = d * step * (2 * code + 1) * entry, with a binary16
 * d for the block, a code of 0 .. 15 for each group and an entry of the codebook for each few columns.
 *
 * Each group first: a guess of its best scale, as if every point of the grid of levels were in the codebook; then
 * the best entries at eight scales about the guess (iq_encode_book.h). Of these the best can be picked for any
 * scale at the cost of a few products, so now many d are tried, each with the codes that go best with it. Then
 * the d of least squares for what was picked, and again the codes and entries, while that helps. Groups whose
 * scale came to lie far from their guess get the best entries about that scale, and d is refined once more.
 *
 * All numbers are relative to the block's largest. "Gain" is what an error has less than that of zeros:
 * 2 s P - s^2 S, P and S as in iq_encode_book.h. Rounding to the grid and the search look at nothing but
 * magnitudes; signs are those of the numbers, except for the wrong one that an odd number of them needs.
 */
#ifndef TENON_IQ_ENCODE_SEARCH_H
#define TENON_IQ_ENCODE_SEARCH_H

#include "blocks.h"
#include "iq_encode_book.h"

enum { TN_IQ_OCTETS = 32, TN_IQ_GROUPS = 16, TN_IQ_UNITS = 64 };

/** What is stored of a block. */
typedef struct tn_iq_parts {
    uint16_t d; /* binary16 */
    uint8_t codes[TN_IQ_GROUPS], signs[TN_IQ_OCTETS];
    uint16_t entries[TN_IQ_UNITS];
} tn_iq_parts;

/* The choices at eight scales of one unit (the columns of an entry) of each octet (8 columns) of a group: a lane
 * is an octet; the two of a group of 16 columns are there twice. */
typedef struct tn_iq_side {
    float square[TN_IQ_SCALES][4], product[TN_IQ_SCALES][4];
    uint16_t entry[TN_IQ_SCALES][4];
} tn_iq_side;

/* A group: the octets' units 0 and, where an octet has two, 1. An odd octet of one unit has its wrong sign in it;
 * of two units [0] are the choices without a wrong sign, [1] those with one (in other octets they are the same). */
typedef struct tn_iq_group {
    tn_iq_side unit[2][2];
    float centre; /* of the eight scales */
    float wanted; /* the scale of the largest gain */
} tn_iq_group;

typedef struct tn_iq_block {
    const tn_iq_book *book;
    float x[TN_BLOCK_MAX], w[TN_BLOCK_MAX], wx[TN_BLOCK_MAX]; /* magnitudes, weights and their products */
    float largest;
    uint8_t signs[TN_IQ_OCTETS], odd[TN_IQ_OCTETS]; /* odd: needs a wrong sign */
    tn_iq_group groups[TN_IQ_GROUPS];
} tn_iq_block;

/* A d, its codes and the gain. */
typedef struct tn_iq_trial {
    uint16_t half;
    float d, gain;
    uint8_t codes[TN_IQ_GROUPS];
} tn_iq_trial;

/* Lanes are octets. */
typedef struct tn_iq_pick {
    tn_quad score, square, product;
} tn_iq_pick;

/* The eight scales, relative to their centre. */
static const float tn_iq_scales[TN_IQ_SCALES] = {1.6f, 1.38f, 1.2f, 1.08f, 0.97f, 0.86f, 0.75f, 0.62f};

/* The largest finite binary16. */
#define TN_HALF_MAX_BITS 0x7bff

/* Columns of (next to) no importance get so little of it that they only settle what else is equal: a thousandth of
 * the least that is in their group, or all the same. */
TN_INLINE void tn_iq_fill_weights(float *w, uint32_t count) {
    const float none = 0x1p-30f, share = 0x1p-10f;
    float least = INFINITY;
    for (uint32_t i = 0; i < count; i++) { least = w[i] > none && w[i] < least ? w[i] : least; }
    if (least == INFINITY) { least = none; }
    for (uint32_t i = 0; i < count; i++) { w[i] = w[i] > none ? w[i] : least * share; }
}

/* 0 if nothing but zeros is left of the block. */
TN_INLINE int tn_iq_block_open(const float *x, const float *importance, tn_iq_shape shape, tn_iq_block *b) {
    b->largest = fabsf(tn_largest(x, TN_BLOCK_MAX));
    float unit = tn_inverse(b->largest);
    tn_block_weights(importance, TN_BLOCK_MAX, b->w);
    for (uint32_t i = 0; importance && i < TN_BLOCK_MAX; i += shape.group) {
        tn_iq_fill_weights(b->w + i, shape.group);
    }
    for (uint32_t i = 0; i < TN_BLOCK_MAX; i++) {
        b->x[i] = fabsf(x[i]) * unit;
        b->wx[i] = b->w[i] * b->x[i];
    }
    for (uint32_t o = 0; o < TN_IQ_OCTETS; o++) {
        b->signs[o] = 0;
        for (uint32_t j = 0; j < 8; j++) { b->signs[o] |= (uint8_t)((x[8 * o + j] < 0) << j); }
        b->odd[o] = (uint8_t)(shape.even && __builtin_parity(b->signs[o]));
    }
    return unit > 0;
}

/* The best scale of a group if all points of the grid could be had; 0 if it is all zero. */
TN_INLINE float tn_iq_guess_scale(const float *x, const float *w, tn_iq_shape shape) {
    enum { STEPS = 13 }; /* from 0.6 to 7.9 of the scale at which the largest number has the last level */
    float last = (float)(shape.levels - 1), low = shape.level[0] / shape.spacing;
    float scale = 0.6f / shape.level[shape.levels - 1] * fabsf(tn_largest(x, shape.group)), best = 0,
          found = 0;
    for (uint32_t step = 0; scale > 0 && step < STEPS; step++, scale *= 1.24f) {
        tn_quad product = {0}, square = {0}, inverse = tn_quad_all(tn_inverse(scale * shape.spacing));
        for (uint32_t i = 0; i < shape.group; i += 4) {
            tn_quad number = tn_quad_load(x + i), weight = tn_quad_load(w + i);
            tn_quad cut = tn_quad_min(tn_quad_max(number * inverse - low, tn_quad_all(0)), tn_quad_all(last));
            tn_quad level =
                (cut + 0x1.8p23f - 0x1.8p23f + low) * shape.spacing; /* cut: rounded as in tn_nearest */
            product += weight * level * number;
            square += weight * level * level;
        }
        float p = tn_quad_sum(product), s = tn_quad_sum(square);
        if (p * p > best * s * 0.99999f) { /* of equals the widest: small numbers are in more entries */
            best = p * p / s;
            found = p / s;
        }
    }
    return found;
}

/* Fills the sides of a group with the best entries at scales about `centre`. */
TN_INLINE void tn_iq_survey_group(tn_iq_block *b, uint32_t g, float centre, tn_iq_shape shape) {
    tn_iq_group *group = &b->groups[g];
    tn_quad trade[2];
    group->centre = centre;
    for (uint32_t s = 0; s < TN_IQ_SCALES; s++) { trade[s / 4][s % 4] = tn_iq_scales[s] * centre / 2; }
    for (uint32_t u = 0; u < shape.group / shape.columns; u++) {
        uint32_t o = u * shape.columns / 8, part = u * shape.columns % 8 / 4,
                 at = g * shape.group + u * shape.columns;
        int odd = shape.even && b->odd[g * shape.group / 8 + o],
            wanted[2] = {!odd || shape.columns == 4, odd};
        tn_iq_choice choices[2][TN_IQ_SCALES];
        tn_iq_survey(b->book, b->w + at, b->wx + at, trade, shape, wanted, choices);
        for (uint32_t wrong = 0; wrong < (shape.even && shape.columns == 4 ? 2 : 1); wrong++) {
            tn_iq_side *side = &group->unit[part][wrong];
            const tn_iq_choice *from = choices[odd && (wrong || shape.columns == 8)];
            for (uint32_t s = 0; s < TN_IQ_SCALES; s++) {
                for (uint32_t lane = o; lane < 4; lane += shape.group / 8) {
                    side->square[s][lane] = from[s].square;
                    side->product[s][lane] = from[s].product;
                }
                side->entry[s][o] = from[s].entry;
            }
        }
    }
}

/* Of the choices from .. to - 1 the best for the scale 2 * trade. */
TN_INLINE tn_iq_pick tn_iq_pick_side(const tn_iq_side *side, tn_quad trade, uint32_t from, uint32_t to) {
    tn_iq_pick best = {.score = tn_quad_all(-INFINITY)};
    for (uint32_t s = from; s < to; s++) {
        tn_quad square = tn_quad_load(side->square[s]), product = tn_quad_load(side->product[s]);
        tn_quad score = product - trade * square;
        tn_quad_mask better = score > best.score;
        best.score = tn_quad_max(score, best.score);
        best.square = tn_quad_select(better, square, best.square);
        best.product = tn_quad_select(better, product, best.product);
    }
    return best;
}

TN_INLINE tn_iq_pick tn_iq_pick_add(tn_iq_pick a, tn_iq_pick b) {
    return (tn_iq_pick){a.score + b.score, a.square + b.square, a.product + b.product};
}

/* The best choices of a group for a scale: an octet's wrong sign, if it needs one, is in either of its units. */
TN_INLINE tn_iq_pick tn_iq_pick_group(const tn_iq_group *group, tn_quad trade, uint32_t from, uint32_t to,
                                      tn_iq_shape shape) {
    tn_iq_pick first = tn_iq_pick_side(&group->unit[0][0], trade, from, to);
    if (shape.columns == 8) { return first; }
    tn_iq_pick second = tn_iq_pick_side(&group->unit[1][0], trade, from, to);
    if (!shape.even) { return tn_iq_pick_add(first, second); }
    tn_iq_pick one = tn_iq_pick_add(tn_iq_pick_side(&group->unit[0][1], trade, from, to), second);
    tn_iq_pick other = tn_iq_pick_add(first, tn_iq_pick_side(&group->unit[1][1], trade, from, to));
    tn_quad_mask better = one.score > other.score;
    return (tn_iq_pick){tn_quad_max(one.score, other.score), tn_quad_select(better, one.square, other.square),
                        tn_quad_select(better, one.product, other.product)};
}

/* The gains of a group for two scales. */
TN_INLINE void tn_iq_gains(const tn_iq_group *group, const float *scales, tn_iq_shape shape, float *gains) {
    float a = scales[0] / 2, b = scales[1] / 2;
    if (shape.group == 16) { /* both at once, as the octets are there twice */
        tn_quad score = tn_iq_pick_group(group, (tn_quad){a, a, b, b}, 0, TN_IQ_SCALES, shape).score;
        gains[0] = 4 * a * (score[0] + score[1]);
        gains[1] = 4 * b * (score[2] + score[3]);
        return;
    }
    gains[0] = 4 * a * tn_quad_sum(tn_iq_pick_group(group, tn_quad_all(a), 0, TN_IQ_SCALES, shape).score);
    gains[1] = 4 * b * tn_quad_sum(tn_iq_pick_group(group, tn_quad_all(b), 0, TN_IQ_SCALES, shape).score);
}

/* The scale of the largest gain: that of least squares for the best of the eight surveyed sets of entries. */
TN_INLINE void tn_iq_set_wanted(tn_iq_group *group, tn_iq_shape shape) {
    float best = 0;
    group->wanted = 0;
    for (uint32_t s = 0; s < TN_IQ_SCALES; s++) {
        tn_iq_pick pick =
            tn_iq_pick_group(group, tn_quad_all(group->centre * tn_iq_scales[s] / 2), s, s + 1, shape);
        float product = tn_quad_sum(pick.product), square = tn_quad_sum(pick.square);
        if (product > 0 && product * product > best * square) {
            best = product * product / square;
            group->wanted = product / square;
        }
    }
}

/* Each group's best code for a d, of the two about the wanted scale; kept if the gain of the block is larger. */
TN_INLINE void tn_iq_try(const tn_iq_block *b, uint16_t half, tn_iq_shape shape, tn_iq_trial *best) {
    tn_iq_trial trial = {.half = half, .d = tn_float_of_half(half) / b->largest};
    for (uint32_t g = 0; g < TN_BLOCK_MAX / shape.group; g++) {
        float unit = trial.d * shape.step, code = (b->groups[g].wanted / unit - 1) / 2;
        uint32_t below = code > 0 ? code < 14 ? (uint32_t)code : 14 : 0;
        float scales[2] = {unit * (float)(2 * below + 1), unit * (float)(2 * below + 3)}, gains[2];
        tn_iq_gains(&b->groups[g], scales, shape, gains);
        trial.codes[g] = (uint8_t)(below + (gains[1] > gains[0]));
        trial.gain += gains[1] > gains[0] ? gains[1] : gains[0];
    }
    if (trial.gain > best->gain) { *best = trial; }
}

/* Tries d with which the widest group gets codes of 15 down to about 5. 0: all of them are beyond binary16. */
TN_INLINE int tn_iq_sweep(const tn_iq_block *b, tn_iq_shape shape, tn_iq_trial *best) {
    enum { STEPS = 24 };
    float widest = 0;
    uint16_t last = 0;
    for (uint32_t g = 0; g < TN_BLOCK_MAX / shape.group; g++) { widest = fmaxf(widest, b->groups[g].wanted); }
    float d = 0.8f * widest / (31 * shape.step) * b->largest;
    if (tn_half_not_short(d) > TN_HALF_MAX_BITS) { return 0; }
    for (uint32_t step = 0; step < STEPS; step++, d *= 1.045f) {
        uint16_t half = tn_half_not_short(d);
        if (half != last && half <= TN_HALF_MAX_BITS) { tn_iq_try(b, half, shape, best); }
        last = half;
    }
    return 1;
}

/* The d of least squares for the choices of the best trial, tried in turn, while that helps. */
TN_INLINE void tn_iq_refine(const tn_iq_block *b, tn_iq_shape shape, tn_iq_trial *best) {
    enum { ROUNDS = 4 };
    float before = -1;
    for (uint32_t round = 0; round < ROUNDS && best->gain > 0 && best->gain > before; round++) {
        float product = 0, square = 0;
        before = best->gain;
        for (uint32_t g = 0; g < TN_BLOCK_MAX / shape.group; g++) {
            float times = shape.step * (float)(2 * best->codes[g] + 1);
            tn_iq_pick pick =
                tn_iq_pick_group(&b->groups[g], tn_quad_all(best->d * times / 2), 0, TN_IQ_SCALES, shape);
            product += times * tn_quad_sum(pick.product);
            square += times * times * tn_quad_sum(pick.square);
        }
        uint16_t half = tn_half_not_short(product / square * b->largest);
        if (half <= TN_HALF_MAX_BITS) { tn_iq_try(b, half, shape, best); }
        if (half > 1 && half < 0x400) {
            tn_iq_try(b, (uint16_t)(half - 1), shape, best);
        } /* coarse: both sides */
    }
}

/* Surveys anew the groups whose scale lies where they were not surveyed. */
TN_INLINE void tn_iq_survey_far(tn_iq_block *b, tn_iq_shape shape, const tn_iq_trial *trial) {
    for (uint32_t g = 0; g < TN_BLOCK_MAX / shape.group; g++) {
        float scale = trial->d * shape.step * (float)(2 * trial->codes[g] + 1), centre = b->groups[g].centre;
        if (scale > 1.7f * centre || scale < 0.58f * centre) { tn_iq_survey_group(b, g, scale, shape); }
    }
}

/* Which of the eight choices of one octet is best for a scale, and its score. */
TN_INLINE uint32_t tn_iq_best_choice(const tn_iq_side *side, uint32_t octet, float scale, float *score) {
    uint32_t best = 0;
    *score = -INFINITY;
    for (uint32_t s = 0; s < TN_IQ_SCALES; s++) {
        float trial = side->product[s][octet] - scale / 2 * side->square[s][octet];
        if (trial > *score) {
            *score = trial;
            best = s;
        }
    }
    return side->entry[best][octet];
}

/* Gives the wrong sign to the column of a unit to which it does the least harm. */
TN_INLINE void tn_iq_flip(const tn_iq_block *b, uint32_t at, uint32_t entry, tn_iq_shape shape,
                          uint8_t *signs) {
    uint32_t column = 0;
    float least = INFINITY;
    for (uint32_t j = 0; j < shape.columns; j++) {
        float product = b->wx[at + j] * tn_iq_magnitude(b->book, entry, j, shape);
        if (product < least) {
            least = product;
            column = j;
        }
    }
    signs[at / 8] ^= (uint8_t)(1u << (at % 8 + column));
}

/* Entries and signs of octet o. */
TN_INLINE void tn_iq_place(const tn_iq_block *b, uint32_t o, float scale, tn_iq_shape shape,
                           tn_iq_parts *parts) {
    const tn_iq_group *group = &b->groups[8 * o / shape.group];
    uint32_t lane = o % (shape.group / 8), units = 8 / shape.columns, wrong = 0;
    uint16_t *entries = parts->entries + units * o;
    float score[2], wrong_score[2];
    for (uint32_t u = 0; u < units; u++) {
        entries[u] = (uint16_t)tn_iq_best_choice(&group->unit[u][0], lane, scale, &score[u]);
    }
    parts->signs[o] = b->signs[o];
    if (!b->odd[o]) { return; }
    if (units == 2) {
        uint16_t other[2];
        for (uint32_t u = 0; u < 2; u++) {
            other[u] = (uint16_t)tn_iq_best_choice(&group->unit[u][1], lane, scale, &wrong_score[u]);
        }
        wrong = score[0] + wrong_score[1] > wrong_score[0] + score[1];
        entries[wrong] = other[wrong];
    }
    tn_iq_flip(b, 8 * o + wrong * shape.columns, entries[wrong], shape, parts->signs);
}

/** Searches a block; 0: it needs a scale beyond binary16. */
TN_INLINE int tn_iq_search(const float *x, const float *importance, const tn_iq_book *book, tn_iq_shape shape,
                           tn_iq_parts *parts) {
    tn_iq_block b;
    tn_iq_trial best = {.gain = 0};
    memset(parts, 0, sizeof *parts);
    b.book = book;
    if (!tn_iq_block_open(x, importance, shape, &b)) { return 1; }
    float least = 0x1p-24f * shape.step / b.largest; /* the smallest scale there is */
    for (uint32_t g = 0; g < TN_BLOCK_MAX / shape.group; g++) {
        float guess = tn_iq_guess_scale(b.x + g * shape.group, b.w + g * shape.group, shape);
        tn_iq_survey_group(&b, g, fmaxf(guess, least), shape);
        tn_iq_set_wanted(&b.groups[g], shape);
    }
    if (!tn_iq_sweep(&b, shape, &best)) { return 0; }
    tn_iq_refine(&b, shape, &best);
    if (best.gain > 0) {
        tn_iq_survey_far(&b, shape, &best);
        tn_iq_refine(&b, shape, &best);
        parts->d = best.half;
        memcpy(parts->codes, best.codes, sizeof best.codes);
        for (uint32_t o = 0; o < TN_IQ_OCTETS; o++) {
            float times = shape.step * (float)(2 * best.codes[8 * o / shape.group] + 1);
            tn_iq_place(&b, o, best.d * times, shape, parts);
        }
    }
    return 1;
}

#endif
