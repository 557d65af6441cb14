/*
 * bpe_raw.c - see bpe_raw.h.
 */
#include "bpe_raw.h"

#include "token_utf8.h"
#include "unicode_tables.h"

/* ---- entries ------------------------------------------------------------------------------------------- */

int64_t tn_raw_piece(uint32_t kind, tn_text text, unsigned char *out) {
    if (kind == TN_TOKEN_BYTE) { return tn_byte_piece(text, out); }
    memcpy(out, text.data, text.size);
    return (int64_t)text.size;
}

void tn_raw_bytes(tn_bpe *bpe) {
    const tn_vocabulary *v = &bpe->vocabulary;
    for (uint32_t i = 0; i < v->facts.size; i++) {
        if ((v->kinds[i] & TN_KIND_MASK) != TN_TOKEN_BYTE) { continue; }
        uint32_t *symbol = &bpe->byte_symbols[v->pieces[v->piece_at[i]]];
        if (*symbol >= v->facts.size) { *symbol = i; }
    }
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Spaces as U+2581; with `prefix` one before each line that does not begin so. */
static uint64_t write_spaced(const unsigned char *text, uint64_t size, int prefix, unsigned char *out) {
    uint64_t count = 0;
    int begins = prefix;
    for (uint64_t i = 0; i < size; i++) {
        if (begins && text[i] != '\n') {
            int marked = text[i] == ' ' || tn_is_spaced(text + i, size - i);
            if (!marked) { count += tn_put_spaced(out + count); }
            begins = 0;
        }
        if (text[i] == '\n') { begins = prefix; }
        if (text[i] == ' ') {
            count += tn_put_spaced(out + count);
        } else {
            out[count++] = text[i];
        }
    }
    return count;
}

static uint32_t lower_of(uint32_t c) {
    uint32_t low = 0, high = tn_lower_pair_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (tn_lower_pairs[middle].upper < c) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < tn_lower_pair_count && tn_lower_pairs[low].upper == c ? tn_lower_pairs[low].lower : c;
}

/* In lower case, character by character; U+0130 is the only one that becomes two. */
static uint64_t write_lower(const unsigned char *text, uint64_t size, unsigned char *out) {
    uint64_t count = 0;
    uint32_t step;
    for (uint64_t at = 0; at < size; at += step) {
        uint32_t c = tn_utf8_read(text + at, &step);
        count += tn_utf8_write(out + count, c == 0x130 ? 'i' : lower_of(c));
        if (c == 0x130) { count += tn_utf8_write(out + count, 0x307); }
    }
    return count;
}

int32_t tn_raw_prepare(const tn_bpe *bpe, tn_scratch *room, const unsigned char **text, uint64_t *size) {
    uint32_t flags = bpe->rules->flags;
    if (!*size || !(flags & TN_RULES_SPACES || bpe->lower_case)) { return TN_OK; }
    /* A space becomes 3 bytes, with a prefix a line of one letter 4; lower case makes 3 of 2 at most. */
    unsigned char *out =
        tn_scratch_get(room, *size, flags & TN_RULES_PREFIX ? TN_SPACED_SIZE + 1 : TN_SPACED_SIZE);
    if (!out) { return TN_E_MEMORY; }
    *size = bpe->lower_case ? write_lower(*text, *size, out)
                            : write_spaced(*text, *size, (flags & TN_RULES_PREFIX) != 0, out);
    *text = out;
    return TN_OK;
}

/* The symbol of the character at the start of a text, and its bytes; no entry's if it has none. */
static uint32_t character(const tn_bpe *bpe, const unsigned char *text, uint32_t *size) {
    tn_utf8_read(text, size);
    return *size == 1 ? bpe->byte_symbols[*text] : tn_words_find(&bpe->vocabulary.words, text, *size);
}

uint32_t tn_raw_characters(const tn_bpe *bpe, const unsigned char *text, uint32_t size, uint32_t *symbol,
                           uint32_t *start) {
    uint32_t step, count = 0;
    for (uint32_t at = 0; at < size; at += step) {
        start[count] = at;
        symbol[count++] = character(bpe, text + at, &step);
    }
    start[count] = size;
    return count;
}
