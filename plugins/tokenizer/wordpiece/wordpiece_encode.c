/*
 * wordpiece_encode.c - text to ids: cut at special entries; in each stretch characters are normalised and
 * gathered to words, and each word becomes the longest pieces from its start on. Nothing is allocated.
 */
#include "token_ids.h"
#include "token_plain.h"
#include "token_utf8.h"
#include "unicode_tables.h"
#include "wordpiece.h"
#include "wordpiece_ascii.h"

enum { ORDER_SHIFT = 21 };

/* One call of encode, and the word that is being gathered. */
typedef struct encoder {
    const tn_wordpiece *wp;
    tn_encode *call;
    uint32_t size;                       /* bytes of the word */
    uint32_t count;                      /* its characters; one more than LONGEST stands for any more */
    uint32_t marks;                      /* behind them: marks that stay and are not in order yet */
    uint32_t mark[TN_WORDPIECE_LONGEST]; /* combining class, character */
    unsigned char word[4 * TN_WORDPIECE_LONGEST + TN_ASCII_BLOCK];
} encoder;

/* ---- a word's ids ------------------------------------------------------------------------------------- */

/* The longest pieces one after another; a word that has a place without any is unknown as a whole. */
static void add_pieces(const encoder *e, const unsigned char *text, const unsigned char *end) {
    uint64_t before = e->call->count;
    uint32_t root = TN_TRIE_START;
    while (text < end) {
        const unsigned char *stop = text;
        int32_t id = tn_trie_longest(&e->wp->trie, root, text, end, &stop);
        if (id < 0) {
            e->call->count = before;
            tn_ids_add(e->call, e->wp->vocabulary.facts.unknown);
            return;
        }
        tn_ids_add(e->call, id);
        text = stop;
        root = TN_TRIE_INSIDE;
    }
}

/* ---- gathering a word --------------------------------------------------------------------------------- */

static void append(encoder *e, const unsigned char bytes[4], uint32_t size) {
    if (e->count >= TN_WORDPIECE_LONGEST) {
        e->count = TN_WORDPIECE_LONGEST + 1;
        return;
    }
    memcpy(e->word + e->size, bytes, 4);
    e->size += size;
    e->count++;
}

static void append_marks(encoder *e) {
    for (uint32_t i = 0; i < e->marks; i++) {
        unsigned char bytes[4] = {0};
        uint32_t size = tn_utf8_write(bytes, e->mark[i] & ((1u << ORDER_SHIFT) - 1));
        append(e, bytes, size);
    }
    e->marks = 0;
}

/* Stable, by combining class: what NFD does with marks behind a character. */
static void add_mark(encoder *e, const tn_wordpiece_part *part) {
    if (e->marks + e->count >= TN_WORDPIECE_LONGEST) {
        e->count = TN_WORDPIECE_LONGEST + 1;
        return;
    }
    uint32_t at = e->marks++;
    for (; at > 0 && e->mark[at - 1] >> ORDER_SHIFT > part->order; at--) { e->mark[at] = e->mark[at - 1]; }
    e->mark[at] = (uint32_t)part->order << ORDER_SHIFT | part->point;
}

static void finish_word(encoder *e) {
    append_marks(e);
    if (e->count > TN_WORDPIECE_LONGEST) {
        tn_ids_add(e->call, e->wp->vocabulary.facts.unknown);
    } else {
        add_pieces(e, e->word, e->word + e->size);
    }
    e->size = e->count = 0;
}

static void add_part(encoder *e, const tn_wordpiece_part *part) {
    unsigned char bytes[4] = {0};
    uint32_t size = tn_utf8_write(bytes, part->point);
    if (part->kind == TN_CHARACTER_DROP) { return; }
    if (part->kind == TN_CHARACTER_WORD && part->order) {
        add_mark(e, part);
    } else if (part->kind == TN_CHARACTER_ALONE) {
        finish_word(e);
        add_pieces(e, bytes, bytes + size);
    } else {
        append_marks(e);
        if (part->kind == TN_CHARACTER_WORD) { append(e, bytes, size); }
    }
}

static void add_parts(encoder *e, uint32_t c) {
    tn_wordpiece_part parts[TN_WORDPIECE_PARTS];
    uint32_t count = tn_wordpiece_parts_of(&e->wp->rules, c, parts);
    for (uint32_t i = 0; i < count; i++) { add_part(e, &parts[i]); }
}

/* What a character of the text becomes. Most of those that are not listed are ideographs, which stay, or Hangul
 * syllables, which have parts. */
static inline tn_wordpiece_character look_up(const tn_wordpiece *wp, uint32_t c, const unsigned char *text) {
    if (c < TN_WORDPIECE_LISTED) { return wp->characters[c]; }
    if (c >= 0xac00 && c < 0xd7a4) { return (tn_wordpiece_character){.kind = TN_CHARACTER_PARTS}; }
    if (c < 0x4e00 || c > 0x9fff) { return tn_wordpiece_character_of(&wp->rules, c); }
    return (tn_wordpiece_character){{text[0], text[1], text[2]}, 3, TN_CHARACTER_ALONE, {0}};
}

/* One character of the text; returns the place behind it. A byte that is part of none counts as U+FFFD, which
 * is dropped. */
static const unsigned char *add_character(encoder *e, const unsigned char *at, const unsigned char *end) {
    uint32_t step = tn_utf8_size(at, (uint64_t)(end - at));
    if (!step) { return at + 1; }
    uint32_t c = tn_utf8_read(at, &step);
    tn_wordpiece_character character = look_up(e->wp, c, at);
    switch (character.kind) {
    case TN_CHARACTER_WORD:
        if (e->marks) { append_marks(e); }
        append(e, character.bytes, character.size);
        break;
    case TN_CHARACTER_ALONE:
        finish_word(e);
        add_pieces(e, character.bytes, character.bytes + character.size);
        break;
    case TN_CHARACTER_SPACE: finish_word(e); break;
    case TN_CHARACTER_BREAK: append_marks(e); break;
    case TN_CHARACTER_PARTS: add_parts(e, c); break;
    default: break;
    }
    return at + step;
}

/* ---- ASCII -------------------------------------------------------------------------------------------- */

enum { GATHERED = 32 };

/* An ASCII word, or an id that is known already. */
typedef struct gathered {
    unsigned char word[TN_ASCII_BLOCK];
    uint32_t size;  /* 0: an id */
    uint32_t place; /* of the word in the table if it is short; the id */
} gathered;

/* Words are gathered before the first is looked up, so that their slots are on the way from memory. */
static inline void gather_word(const tn_wordpiece *wp, gathered *g, uint32_t size) {
    static const unsigned char ones[2 * TN_ASCII_BLOCK] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                           255, 255, 255, 255, 255, 255, 255, 255};
    g->size = size;
    if (size > TN_SHORT_WORD) { return; }
    tn_short_word key, mask;
    memcpy(&key.low, g->word, 8);
    memcpy(&key.high, g->word + 8, 4);
    memcpy(&mask.low, ones + TN_ASCII_BLOCK - size, 8);
    memcpy(&mask.high, ones + TN_ASCII_BLOCK - size + 8, 4);
    key.low &= mask.low;
    key.high &= mask.high;
    memcpy(g->word, &key.low, 8);
    memcpy(g->word + 8, &key.high, 4);
    g->place = tn_table_place(&wp->table, key);
    __builtin_prefetch(&wp->table.slots[g->place]);
}

static void add_gathered(const encoder *e, const gathered *all, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const gathered *g = &all[i];
        if (!g->size) {
            tn_ids_add(e->call, (int32_t)g->place);
            continue;
        }
        int32_t id = -1;
        if (g->size <= TN_SHORT_WORD) {
            tn_short_word key;
            memcpy(&key.low, g->word, 8);
            memcpy(&key.high, g->word + 8, 4);
            id = tn_table_find(&e->wp->table, g->place, key);
        }
        if (id >= 0) {
            tn_ids_add(e->call, id);
        } else {
            add_pieces(e, g->word, g->word + g->size);
        }
    }
}

/* Gathers words, white space and punctuation in ASCII, as far as there are 16 bytes and room; stops at anything
 * else. Returns the place behind them. */
static const unsigned char *gather(const tn_wordpiece *wp, const unsigned char *at, const unsigned char *end,
                                   gathered *all, uint32_t *count) {
    uint32_t lowercase = wp->rules.lowercase ? 0x20 : 0, n = 0;
    while (end - at >= TN_ASCII_BLOCK && n < GATHERED) {
        uint32_t size = tn_ascii_word(at, lowercase, all[n].word);
        uint8_t behind = size < TN_ASCII_BLOCK ? wp->ascii[at[size]] : TN_CHARACTER_WORD;
        if (behind != TN_CHARACTER_SPACE && behind != TN_CHARACTER_ALONE) { break; }
        if (size) { gather_word(wp, &all[n++], size); }
        at += size;
        if (behind == TN_CHARACTER_SPACE) {
            at++;
        } else if (n < GATHERED) {
            all[n].size = 0;
            all[n++].place = (uint32_t)wp->alone[*at++];
        }
        if (end - at >= TN_ASCII_BLOCK && wp->ascii[*at] == TN_CHARACTER_SPACE) { at += tn_ascii_spaces(at); }
    }
    *count = n;
    return at;
}

/* As much as is ASCII, if no word is begun; stops short of the last 15 bytes. */
static const unsigned char *add_ascii(const encoder *e, const unsigned char *at, const unsigned char *end) {
    gathered all[GATHERED];
    const unsigned char *from;
    do {
        uint32_t count;
        from = at;
        at = gather(e->wp, at, end, all, &count);
        add_gathered(e, all, count);
    } while (at > from);
    return at;
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static void add_stretch(encoder *e, const unsigned char *at, const unsigned char *end) {
    while (at < end) {
        if (!e->count && !e->marks) {
            at = add_ascii(e, at, end);
            if (at == end) { break; }
        }
        at = add_character(e, at, end);
    }
    finish_word(e);
}

static void add_text(encoder *e, tn_partition *parts) {
    if (!parts->special && !e->wp->always) {
        add_stretch(e, parts->text, parts->text + parts->size);
        return;
    }
    while (parts->at < parts->size) {
        tn_stretch stretch = tn_partition_next(parts);
        add_stretch(e, parts->text + stretch.begin, parts->text + stretch.end);
        if (stretch.id >= 0) { tn_ids_add(e->call, stretch.id); }
    }
}

/* Behind each text: what the file asks for. */
static void add_closing(tn_encode *call, const tn_vocab *facts) {
    if (facts->add_eos) {
        tn_ids_add(call, facts->eos);
    } else if (facts->add_separator) {
        tn_ids_add(call, facts->separator);
    }
}

/* Segment numbers: 1 from `second` on. */
static void fill_types(const tn_encode *call, uint64_t second) {
    uint64_t count = call->count < call->capacity ? call->count : call->capacity;
    if (second > count) { second = count; }
    if (count) {
        memset(call->types, 0, second);
        memset(call->types + second, 1, count - second);
    }
}

int32_t tn_wordpiece_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err) {
    (void)self;
    const tn_wordpiece *wp = tokenizer;
    const tn_vocab *facts = &wp->vocabulary.facts;
    encoder e;
    e.wp = wp;
    e.call = call;
    e.size = e.count = e.marks = 0;
    tn_partition parts = tn_partition_of(&wp->vocabulary.specials, call);
    int adds = (call->flags & TN_ENCODE_ADD) != 0;
    call->count = 0;
    if (adds && !(call->flags & TN_ENCODE_CONTINUES) && facts->add_bos) { tn_ids_add(call, facts->bos); }
    add_text(&e, &parts);
    uint64_t second = UINT64_MAX;
    if (TN_HAS(call, pair_size) && call->pair) {
        if (adds) { add_closing(call, facts); }
        second = call->count;
        tn_partition pair = {.specials = parts.specials,
                             .text = (const unsigned char *)call->pair,
                             .size = call->pair_size,
                             .special = parts.special};
        add_text(&e, &pair);
    }
    if (adds && !(call->flags & TN_ENCODE_MORE)) { add_closing(call, facts); }
    if (TN_HAS(call, types) && call->types) { fill_types(call, second); }
    if (call->count <= call->capacity) { return TN_OK; }
    TN_FAIL(err, TN_E_RANGE, "the text has %llu ids, there is room for %llu", (unsigned long long)call->count,
            (unsigned long long)call->capacity);
}
