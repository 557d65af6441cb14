/*
 * spm_cut.c - where a long text can be cut: between two characters that no merge joins. Nothing is put in front of
 * the rest (TN_ENCODE_CONTINUES), which would be wrong behind a special entry: none may end there, let alone reach
 * over it.
 */
#include "spm.h"
#include "token_reach.h"
#include "token_utf8.h"

/* True if a lead byte before `at` takes the byte at `at` for its continuation. */
static int is_swallowed(const unsigned char *text, uint64_t at) {
    for (uint64_t back = 1; back < 4 && back <= at; back++) {
        if (tn_spm_character_size(text + at - back, text + at + 1) > back) { return 1; }
    }
    return 0;
}

/* Bytes of the character that ends before `at`, ASCII or well-formed; 0 if there is none such. */
static uint32_t size_before(const unsigned char *text, uint64_t at) {
    for (uint32_t size = 1; size <= 4 && size <= at; size++) {
        if (tn_utf8_size(text + at - size, size) == size) { return size; }
    }
    return 0;
}

/* True if no merge reaches over `at`, whatever follows the text. */
static int is_border(const tn_spm *spm, const unsigned char *text, uint64_t size, uint64_t at) {
    unsigned char pair[8];
    uint32_t before = size_before(text, at), after = tn_utf8_size(text + at, size - at);
    if (!before || !after || is_swallowed(text, at) || is_swallowed(text, at - before)) { return 0; }
    const char *left = text[at - 1] == ' ' ? TN_SPACED : (const char *)text + at - before;
    const char *right = text[at] == ' ' ? TN_SPACED : (const char *)text + at;
    if (text[at - 1] == ' ') { before = TN_SPACED_SIZE; }
    if (text[at] == ' ') { after = TN_SPACED_SIZE; }
    memcpy(pair, left, before);
    memcpy(pair + before, right, after);
    return !tn_spm_joins(spm, pair, before, pair + before + after);
}

/* True if an entry can reach over `at`, or end there or at the white space before, which it may take along. */
static int is_reached(const tn_specials *specials, const unsigned char *text, uint64_t size, uint64_t at,
                      int special) {
    uint64_t dark = at;
    while (dark > 0 && (text[dark - 1] == ' ' || (text[dark - 1] >= '\t' && text[dark - 1] <= '\r'))) {
        dark--;
    }
    return tn_specials_reach(specials, text, size, at, special, 1) != at ||
           (dark < at && tn_specials_reach(specials, text, size, dark, special, 1) != dark);
}

uint64_t tn_spm_cut(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags) {
    (void)self;
    const tn_spm *spm = tokenizer;
    const unsigned char *bytes = (const unsigned char *)text;
    for (uint64_t at = size; at-- > 1;) {
        if (is_border(spm, bytes, size, at) &&
            !is_reached(&spm->vocabulary.specials, bytes, size, at, (flags & TN_ENCODE_SPECIAL) != 0)) {
            return at;
        }
    }
    return 0;
}
