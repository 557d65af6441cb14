/*
 * bpe_marks.c - see bpe_marks.h. A character's bytes are all of its class. Rare characters end the block: numbers and
 * white space beyond ASCII. What the last run of a block becomes may depend on what follows, so marks inside it are
 * left to the next block, which begins at the last mark.
 */
#include "bpe_marks.h"

#include "bpe_split.h"
#include "unicode_tables.h"

typedef struct masks {
    uint64_t letters, numbers, newlines, white,
        symbols;                         /* white: all but newlines; symbols: all that is no other */
    uint64_t spaces, apostrophes, inner; /* inner: bytes behind the first of a character */
    uint32_t size;                       /* of the block; no mask has a bit behind it */
} masks;

static inline uint64_t below(uint32_t bit) {
    return bit < 64 ? (1ull << bit) - 1 : UINT64_MAX;
}

/* ---- classes of 64 bytes ------------------------------------------------------------------------------- */

#ifdef __SSE2__
#include <emmintrin.h>

/* Bytes from `first` on, `count` of them, as all ones. */
static inline __m128i range(__m128i bytes, char first, int count) {
    __m128i moved = _mm_sub_epi8(bytes, _mm_set1_epi8((char)(first + 128)));
    return _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(count - 128)));
}

static inline __m128i equal(__m128i bytes, char c) {
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

static inline uint64_t bits(__m128i bytes, uint32_t at) {
    return (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << at;
}

/* The masks of ASCII; returns that of all other bytes. */
static inline uint64_t look_at_ascii(masks *m, const unsigned char *text) {
    uint64_t others = 0;
    for (uint32_t i = 0; i < TN_MARKS_BLOCK; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + i)), spaces = equal(bytes, ' ');
        __m128i newlines = _mm_or_si128(equal(bytes, '\n'), equal(bytes, '\r'));
        m->letters |= bits(range(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 26), i);
        m->numbers |= bits(range(bytes, '0', 10), i);
        m->newlines |= bits(newlines, i);
        m->white |= bits(_mm_or_si128(spaces, _mm_andnot_si128(newlines, range(bytes, '\t', 5))), i);
        m->spaces |= bits(spaces, i);
        m->apostrophes |= bits(equal(bytes, '\''), i);
        others |= bits(bytes, i);
    }
    return others;
}

#else

static inline uint64_t look_at_ascii(masks *m, const unsigned char *text) {
    uint64_t others = 0;
    for (uint32_t i = 0; i < TN_MARKS_BLOCK; i++) {
        uint64_t bit = 1ull << i;
        uint32_t class = 1u << tn_unicode_classes[text[i] & 0x7f];
        others |= text[i] >= 0x80 ? bit : 0;
        m->letters |= class & TN_LETTER ? bit : 0;
        m->numbers |= class & TN_NUMBER ? bit : 0;
        m->newlines |= class & TN_NEWLINE ? bit : 0;
        m->white |= class & TN_SPACE & ~TN_NEWLINE ? bit : 0;
        m->spaces |= text[i] == ' ' ? bit : 0;
        m->apostrophes |= text[i] == '\'' ? bit : 0;
    }
    m->letters &= ~others;
    m->numbers &= ~others;
    m->newlines &= ~others;
    m->white &= ~others;
    return others;
}

#endif

/* Numbers and white space beyond ASCII. */
static inline int is_rare(const unsigned char *text) {
    uint32_t size;
    return *text >= 0x80 && (tn_unicode_look(text, &size) & (TN_NUMBER | TN_SPACE));
}

/* Adds the characters that begin at bits of `others`, which are those beyond ASCII. */
static void look_at_others(masks *m, const unsigned char *text, uint64_t others) {
    while (others) {
        uint32_t size, at = (uint32_t)__builtin_ctzll(others), class = tn_unicode_look(text + at, &size);
        if (class & (TN_NUMBER | TN_SPACE)) {
            m->size = at;
            return;
        }
        uint64_t bytes = below(size) << at;
        m->letters |= class & TN_LETTER ? bytes : 0;
        m->inner |= bytes & ~(1ull << at);
        others &= ~bytes;
    }
}

static inline void look(masks *m, const unsigned char *text, uint32_t size) {
    *m = (masks){.size = size};
    uint64_t others = look_at_ascii(m, text) & below(size);
    if (others) { look_at_others(m, text, others); }
    uint64_t all = below(m->size);
    m->letters &= all;
    m->numbers &= all;
    m->newlines &= all;
    m->white &= all;
    m->spaces &= all;
    m->inner &= all;
    m->symbols = all & ~(m->letters | m->numbers | m->newlines | m->white);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static inline uint64_t starts(uint64_t runs) {
    return runs & ~(runs << 1);
}

/* The bits behind runs of which `first` has the first bits. */
static inline uint64_t behind(uint64_t runs, uint64_t first) {
    return (runs + first) & ~runs;
}

/* \p{N}{1,most} */
static inline uint64_t number_marks(uint64_t numbers, uint32_t most) {
    if (most == 1) { return numbers; }
    uint64_t marks = starts(numbers), whole = numbers;
    if (most >= TN_MARKS_BLOCK) { return marks; }
    for (uint32_t i = 1; i < most; i++) { whole &= numbers << i; }
    for (uint64_t next = marks; (next = next << most & whole << 1 & numbers);) { marks |= next; }
    return marks;
}

/* Of white space but for `taken` newlines: \s*[\r\n]+ goes to the last newline, \s+(?!\S) to the last but one. */
static inline uint64_t white_marks(const masks *m, uint64_t taken) {
    uint64_t newlines = m->newlines & ~taken, visible = ~(m->white | m->newlines);
    uint64_t indents = starts(m->white) & (newlines << 1);
    for (uint64_t more = behind(m->white, indents) & newlines; more; more &= more - 1) {
        uint64_t before = indents & below((uint32_t)__builtin_ctzll(more)); /* its last is no indent */
        indents &= ~(1ull << (63 - __builtin_clzll(before)));
    }
    return starts(m->white | newlines) | indents | (m->white & (visible >> 1));
}

/* Letters take along white space, or a single symbol of `free`: that begins a piece by itself. */
static inline uint64_t letter_marks(const masks *m, uint64_t free) {
    uint64_t next = free << 1, inner = m->symbols & m->inner;
    uint64_t behind_one = behind(inner, next & inner) | (next & ~inner);
    return starts(m->letters) & ~(m->white << 1) & ~behind_one;
}

/* The end of each contraction that begins at one of `apostrophes`. */
static uint64_t contraction_marks(const unsigned char *at, const unsigned char *end, uint64_t apostrophes) {
    uint64_t marks = 0;
    for (; apostrophes; apostrophes &= apostrophes - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(apostrophes), size = tn_split_contraction(at + i, end, 1);
        if (size && i + size < TN_MARKS_BLOCK) { marks |= 1ull << (i + size); }
    }
    return marks;
}

/* The bits up to the start of the last run, or, since numbers depend on nothing behind them, all of a last run of
 * those. */
static inline uint64_t certain(const masks *m) {
    uint64_t last = 1ull << (m->size - 1), all = below(m->size);
    uint64_t run = m->letters & last ? m->letters : m->symbols & last ? m->symbols : m->white | m->newlines;
    uint64_t others = all & ~run;
    if (m->numbers & last) { return all; }
    return others ? below(65 - (uint32_t)__builtin_clzll(others)) : 1;
}

uint64_t tn_marks_words(const tn_stage *stage, const unsigned char *at, const unsigned char *end) {
    unsigned char copy[TN_MARKS_BLOCK] = {0};
    const unsigned char *text = at;
    uint64_t size = (uint64_t)(end - at);
    masks m;
    if (is_rare(at)) { return 0; }
    if (size < TN_MARKS_BLOCK) {
        memcpy(copy, at, size);
        text = copy;
    }
    look(&m, text, size < TN_MARKS_BLOCK ? (uint32_t)size : TN_MARKS_BLOCK);
    if (!m.size) { return 0; }
    uint64_t behind_symbols = m.newlines & (m.symbols << 1);
    uint64_t taken = *stage->after ? m.newlines & ~(m.newlines + behind_symbols) : 0;
    uint64_t free = starts(m.symbols) & ~(m.spaces << 1); /* a space before symbols is of their piece */
    uint64_t marks =
        letter_marks(&m, free) | number_marks(m.numbers, stage->most) | white_marks(&m, taken) | free;
    uint64_t apostrophes = m.apostrophes & free & (m.letters >> 1);
    if (apostrophes) { marks |= contraction_marks(at, end, apostrophes); }
    return marks & certain(&m) & ~1ull;
}
