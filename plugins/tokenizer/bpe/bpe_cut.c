/*
 * bpe_cut.c - where a long text can be cut. Two kinds of places, where the words on either side are the same whatever
 * is on the other:
 *
 * - before a single space between ASCII letters. Some stage of the rules begins a word there: a run of letters ends
 *   at the space, which nothing behind letters takes along. The stages before it look no farther than a run of
 *   digits, symbols or newlines, and none of these is here.
 * - behind a newline between something visible and a letter. The newline ends what it is part of, since no letter
 *   takes it along, and a run of one newline is the same at the end of a text as before a letter.
 *
 * Composing (NFC) changes nothing: no character combines with a newline or space before it, and what is behind the
 * cut in the first case is a space. Rules of phrases have only the second kind, those that cut at digits alone none.
 */
#include "bpe.h"
#include "bpe_split.h"
#include "token_reach.h"
#include "unicode_tables.h"

/* True if a stage ends a word behind `letter` and before a space. */
static int ends_at_space(const tn_rules *rules, unsigned char letter) {
    for (uint32_t i = 0; i < rules->stage_count; i++) {
        const tn_stage *stage = &rules->stages[i];
        tn_stage_fn next = stage->next;
        if (next == tn_split_gpt2 || next == tn_split_words || next == tn_split_cased ||
            next == tn_split_cased_only || next == tn_split_han || next == tn_split_marked ||
            (next == tn_split_shaped && !(stage->shape->flags & TN_SHAPE_PHRASES)) ||
            (next == tn_split_runs && stage->lead) || (next == tn_split_joined && !stage->joins[letter])) {
            return 1;
        }
    }
    return 0;
}

/* True if a stage ends a word behind a newline and before a letter. */
static int ends_at_newline(const tn_rules *rules) {
    for (uint32_t i = 0; i < rules->stage_count; i++) {
        tn_stage_fn next = rules->stages[i].next;
        if (next == tn_split_lines || next == tn_split_shaped) { return 1; }
    }
    return ends_at_space(rules, 'a');
}

static int is_letter(unsigned char c) {
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

static int is_space_border(const tn_rules *rules, const unsigned char *text, uint64_t size, uint64_t at) {
    return text[at] == ' ' && size - at > 1 && is_letter(text[at - 1]) && is_letter(text[at + 1]) &&
           ends_at_space(rules, text[at - 1]);
}

/* True if a character that is no white space ends before `at`. */
static int is_visible_before(const unsigned char *text, uint64_t at) {
    uint32_t length;
    for (uint32_t size = 1; size <= 4 && size <= at; size++) {
        if (tn_utf8_size(text + at - size, size) == size) {
            uint32_t class = tn_unicode_look(text + at - size, &length);
            return !(class & (TN_SPACE | 1u << TN_CLASS_CC));
        }
    }
    return 0;
}

static int is_line_border(const tn_bpe *bpe, const unsigned char *text, uint64_t size, uint64_t at,
                          int special) {
    uint32_t length;
    if (text[at - 1] != '\n' || !tn_utf8_size(text + at, size - at) || !is_visible_before(text, at - 1) ||
        !(tn_unicode_look(text + at, &length) & TN_LETTER) || !ends_at_newline(bpe->rules)) {
        return 0;
    }
    /* An entry that takes white space before it may begin here. */
    return !(bpe->rules->flags & TN_RULES_MASK_STRIPS) ||
           !tn_reach_from(&bpe->vocabulary.specials, text + at, size - at, 0, special);
}

uint64_t tn_bpe_cut(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags) {
    (void)self;
    const tn_bpe *bpe = tokenizer;
    const unsigned char *bytes = (const unsigned char *)text;
    int special = (flags & TN_ENCODE_SPECIAL) != 0;
    for (uint64_t at = size; at-- > 1;) {
        if ((is_space_border(bpe->rules, bytes, size, at) || is_line_border(bpe, bytes, size, at, special)) &&
            tn_specials_reach(&bpe->vocabulary.specials, bytes, size, at, special, 0) == at) {
            return at;
        }
    }
    return 0;
}
