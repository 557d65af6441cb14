/*
 * iq_encode_book.h - for encoders of the IQ types: the codebook's best entries for a few neighbouring columns.
 *
 * With weights w, magnitudes x and a scale s the error is sum w (x - s e)^2 = sum w x^2 - 2 s (P - s/2 S), where
 * P = sum w x e ("product") and S = sum w e^2 ("square") of the entry e. So the best entry has the largest score
 * P - s/2 S, and neither P nor S depends on the scale: once an entry is known, its error is known for all scales.
 *
 * The score of an entry is that of its lower half plus that of its upper half, and there are few different
 * halves (81 of four columns with 3 levels, 64 of two with 8). Entries lie in order of their upper half: so of
 * each run of equal upper halves only the best lower half counts, which is a maximum over a table. Every entry
 * is looked at, and eight scales at once, as lanes of two vectors.
 *
 * Where signs must be even in number and are not, one column gets the wrong sign: of the entry's columns that
 * with the least w x e, at the price of twice that in P. It lies in the lower or in the upper half, so the best
 * entry for this is the better one of (lower half with a wrong sign, upper), (lower, upper with a wrong sign).
 */
#ifndef TENON_IQ_ENCODE_BOOK_H
#define TENON_IQ_ENCODE_BOOK_H

#include "iq_encode_quad.h"

enum { TN_IQ_HALVES = 81, TN_IQ_ENTRIES = 1024, TN_IQ_SCALES = 8, TN_IQ_LEVELS = 8 };

/** A type; a constant of its encoder. */
typedef struct tn_iq_shape {
    uint32_t columns;          /**< of an entry of the codebook: 8 or 4 */
    uint32_t levels;           /**< different magnitudes of a column */
    uint32_t halves;           /**< different halves: levels ^ (columns / 2) */
    uint32_t group;            /**< columns of one scale: 32 or 16 */
    uint32_t even;             /**< whether each 8 columns have an even number of minus signs */
    float level[TN_IQ_LEVELS]; /**< the magnitudes */
    float spacing;             /**< from one to the next, about */
    float step;                /**< the scale of a group is d * step * (2 * code + 1) */
} tn_iq_shape;

/** A codebook, taken apart. */
typedef struct tn_iq_book {
    /* The halves of each entry, as numbers whose digits are levels, the first column's lowest. */
    uint8_t lower[TN_IQ_ENTRIES], upper[TN_IQ_ENTRIES];
    uint16_t first[TN_IQ_HALVES + 1];  /* the entries with the upper half h: first[h] .. first[h + 1] - 1 */
    float magnitudes[TN_IQ_HALVES][4]; /* of a half */
} tn_iq_book;

/** An entry, and what its error is made of. */
typedef struct tn_iq_choice {
    float square, product;
    uint16_t entry;
} tn_iq_choice;

/* Of each half, or run of entries, a number for each of the eight scales. */
typedef struct tn_iq_scores {
    tn_quad of[TN_IQ_HALVES][2];
} tn_iq_scores;

/** Completes a book whose entries are set. */
TN_INLINE void tn_iq_book_finish(tn_iq_book *book, uint32_t entries, tn_iq_shape shape) {
    uint32_t h = 0;
    for (uint32_t e = 0; e < entries; e++) {
        while (h <= book->upper[e]) { book->first[h++] = (uint16_t)e; }
    }
    while (h <= shape.halves) { book->first[h++] = (uint16_t)entries; }
    for (h = 0; h < shape.halves; h++) {
        for (uint32_t j = 0, rest = h; j < shape.columns / 2; j++, rest /= shape.levels) {
            book->magnitudes[h][j] = shape.level[rest % shape.levels];
        }
    }
}

/** The magnitude of column j of an entry. */
TN_INLINE float tn_iq_magnitude(const tn_iq_book *book, uint32_t entry, uint32_t j, tn_iq_shape shape) {
    uint32_t half = shape.columns / 2;
    return book->magnitudes[j < half ? book->lower[entry] : book->upper[entry]][j % half];
}

/* Scores of all halves of some columns; `trade` is s / 2 of the eight scales. The table grows by a column at a
 * time, in place. */
TN_INLINE void tn_iq_score_halves(const float *w, const float *wx, const tn_quad *trade, tn_iq_shape shape,
                                  tn_iq_scores *out) {
    out->of[0][0] = out->of[0][1] = tn_quad_all(0);
    for (uint32_t j = 0, size = 1; j < shape.columns / 2; j++, size *= shape.levels) {
        tn_quad more[TN_IQ_LEVELS][2];
        for (uint32_t v = 0; v < shape.levels; v++) {
            float level = shape.level[v];
            tn_quad product = tn_quad_all(wx[j] * level), square = tn_quad_all(w[j] * (level * level));
            more[v][0] = product - trade[0] * square;
            more[v][1] = product - trade[1] * square;
        }
        for (uint32_t i = 0; i < size; i++) {
            tn_quad wide = out->of[i][0], narrow = out->of[i][1];
            for (uint32_t v = 0; v < shape.levels; v++) {
                out->of[v * size + i][0] = wide + more[v][0];
                out->of[v * size + i][1] = narrow + more[v][1];
            }
        }
    }
}

/* The same with one wrong sign in each half. */
TN_INLINE void tn_iq_flip_halves(const float *wx, const tn_iq_scores *scores, tn_iq_shape shape,
                                 tn_iq_scores *out) {
    float least[TN_IQ_HALVES];
    for (uint32_t j = 0, size = 1; j < shape.columns / 2; j++, size *= shape.levels) {
        for (uint32_t v = shape.levels; v-- > 0;) {
            float product = wx[j] * shape.level[v];
            for (uint32_t i = 0; i < size; i++) {
                least[v * size + i] = j > 0 && least[i] < product ? least[i] : product;
            }
        }
    }
    for (uint32_t h = 0; h < shape.halves; h++) {
        tn_quad price = tn_quad_all(2 * least[h]);
        out->of[h][0] = scores->of[h][0] - price;
        out->of[h][1] = scores->of[h][1] - price;
    }
}

/* Of each run of entries with one upper half the best lower half. */
TN_INLINE void tn_iq_run_tops(const tn_iq_book *book, const tn_iq_scores *lower, tn_iq_shape shape,
                              tn_iq_scores *tops) {
    for (uint32_t h = 0; h < shape.halves; h++) {
        tn_quad wide = tn_quad_all(-INFINITY), narrow = wide;
        for (uint32_t e = book->first[h]; e < book->first[h + 1]; e++) {
            wide = tn_quad_max(wide, lower->of[book->lower[e]][0]);
            narrow = tn_quad_max(narrow, lower->of[book->lower[e]][1]);
        }
        tops->of[h][0] = wide;
        tops->of[h][1] = narrow;
    }
}

/* Replaces what was found where there is better: `best` are the scores of `found`. */
TN_INLINE void tn_iq_find_best(const tn_iq_book *book, const tn_iq_scores *lower, const tn_iq_scores *tops,
                               const tn_iq_scores *upper, tn_iq_shape shape, tn_quad *best, uint16_t *found) {
    tn_quad wide = best[0], narrow = best[1];
    for (uint32_t h = 0; h < shape.halves; h++) {
        wide = tn_quad_max(wide, tops->of[h][0] + upper->of[h][0]);
        narrow = tn_quad_max(narrow, tops->of[h][1] + upper->of[h][1]);
    }
    uint32_t open = tn_quad_bits(wide > best[0]) | tn_quad_bits(narrow > best[1]) << 4;
    best[0] = wide;
    best[1] = narrow;
    for (uint32_t h = 0; open; h++) {
        uint32_t here = tn_quad_bits(tops->of[h][0] + upper->of[h][0] == wide) |
                        tn_quad_bits(tops->of[h][1] + upper->of[h][1] == narrow) << 4;
        uint32_t e = book->first[h]; /* more often than not the next scale has the same entry */
        for (here &= open, open &= ~here; here; here &= here - 1) {
            uint32_t scale = (uint32_t)__builtin_ctz(here);
            const float *scores = (const float *)lower->of + scale;
            float top = ((const float *)tops->of[h])[scale];
            if (scores[TN_IQ_SCALES * book->lower[e]] != top) { e = book->first[h]; }
            while (scores[TN_IQ_SCALES * book->lower[e]] != top) { e++; }
            found[scale] = (uint16_t)e;
        }
    }
}

TN_INLINE tn_iq_choice tn_iq_measure(const tn_iq_book *book, const float *w, const float *wx, int flipped,
                                     uint16_t entry, tn_iq_shape shape) {
    tn_iq_choice c = {.entry = entry};
    float least = INFINITY;
    for (uint32_t j = 0; j < shape.columns; j++) {
        float e = tn_iq_magnitude(book, entry, j, shape);
        c.square += w[j] * (e * e);
        c.product += wx[j] * e;
        least = wx[j] * e < least ? wx[j] * e : least;
    }
    if (flipped) { c.product -= 2 * least; }
    return c;
}

/* The best entries at eight scales: found[0] as they are, found[1] with one wrong sign; where wanted. */
TN_INLINE void tn_iq_find_entries(const tn_iq_book *book, const float *w, const float *wx,
                                  const tn_quad *trade, tn_iq_shape shape, const int *wanted,
                                  uint16_t found[2][TN_IQ_SCALES]) {
    tn_iq_scores lower, upper, wrong, tops, wrong_tops;
    const tn_quad none = tn_quad_all(-INFINITY);
    const float *upper_wx = wx + shape.columns / 2;
    tn_iq_score_halves(w, wx, trade, shape, &lower);
    tn_iq_score_halves(w + shape.columns / 2, upper_wx, trade, shape, &upper);
    tn_iq_run_tops(book, &lower, shape, &tops);
    if (wanted[0]) {
        tn_quad best[2] = {none, none};
        tn_iq_find_best(book, &lower, &tops, &upper, shape, best, found[0]);
    }
    if (wanted[1]) {
        tn_quad best[2] = {none, none};
        tn_iq_flip_halves(wx, &lower, shape, &wrong);
        tn_iq_run_tops(book, &wrong, shape, &wrong_tops);
        tn_iq_find_best(book, &wrong, &wrong_tops, &upper, shape, best, found[1]);
        tn_iq_flip_halves(upper_wx, &upper, shape, &wrong);
        tn_iq_find_best(book, &lower, &tops, &wrong, shape, best, found[1]);
    }
}

/**
 * The best choices for `shape.columns` columns at eight scales: choices[0] with all signs right, choices[1] with
 * one wrong sign; each if it is wanted.
 */
TN_INLINE void tn_iq_survey(const tn_iq_book *book, const float *w, const float *wx, const tn_quad *trade,
                            tn_iq_shape shape, const int *wanted, tn_iq_choice choices[2][TN_IQ_SCALES]) {
    uint16_t found[2][TN_IQ_SCALES] = {
        {0}}; /* for zeros the best is entry 0, which has nothing but lowest levels */
    float any = 0;
    for (uint32_t j = 0; j < shape.columns; j++) { any += wx[j]; }
    if (any > 0) { tn_iq_find_entries(book, w, wx, trade, shape, wanted, found); }
    for (int flip = 0; flip < 2; flip++) {
        tn_iq_choice *out = choices[flip];
        for (uint32_t s = 0; wanted[flip] && s < TN_IQ_SCALES; s++) {
            int same = s > 0 && found[flip][s] == found[flip][s - 1];
            out[s] = same ? out[s - 1] : tn_iq_measure(book, w, wx, flip, found[flip][s], shape);
        }
    }
}

#endif
