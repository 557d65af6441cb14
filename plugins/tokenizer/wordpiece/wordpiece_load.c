/*
 * wordpiece_load.c - reads a WordPiece vocabulary: the shared part, how text is normalised, and the tables
 * that pieces are looked up in.
 */
#include "token_spaced.h"
#include "token_utf8.h"
#include "wordpiece.h"

#define KEY(name) "tokenizer.ggml." name

/* Never CONTROL or UNKNOWN: plain text must not become such an id. */
static const uint32_t merged_kinds = 1u << TN_TOKEN_NORMAL;

static int64_t read_piece(uint32_t kind, tn_text text, unsigned char *out) {
    return kind == TN_TOKEN_BYTE ? -1 : tn_spaced_piece(text, out);
}

/* ---- tables ------------------------------------------------------------------------------------------- */

static void list_characters(tn_wordpiece *wp, tn_faults *faults) {
    tn_wordpiece_character *list =
        tn_arena_get(&wp->vocabulary.arena, TN_WORDPIECE_LISTED, sizeof *wp->characters);
    if (!list) {
        tn_fault_memory(faults);
        return;
    }
    for (uint32_t c = 0; c < TN_WORDPIECE_LISTED; c++) { list[c] = tn_wordpiece_character_of(&wp->rules, c); }
    wp->characters = list;
}

/* Entries that a text can have, as the trie takes them, those that begin a word without their U+2581; an ill-formed one is in no text. */
static uint32_t list_pieces(const tn_vocabulary *v, tn_trie_piece *pieces) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->facts.size; i++) {
        const unsigned char *text = (const unsigned char *)v->texts[i].data;
        uint64_t size = v->texts[i].size;
        uint32_t start = (uint32_t)tn_is_spaced(text, size) * TN_SPACED_SIZE;
        int counts = (v->kinds[i] & TN_KIND_MASK) == TN_TOKEN_NORMAL && size > start;
        if (!counts || tn_utf8_sound(text, size) != size) { continue; }
        pieces[count++] = (tn_trie_piece){text + start, (uint32_t)size - start,
                                          start ? TN_TRIE_START : TN_TRIE_INSIDE, (int32_t)i};
    }
    return count;
}

static int is_short_word(const tn_trie_piece *piece) {
    if (piece->root != TN_TRIE_START || piece->size > TN_SHORT_WORD) { return 0; }
    for (uint32_t i = 0; i < piece->size; i++) {
        unsigned char c = piece->text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) { return 0; }
    }
    return 1;
}

static int32_t make_table(tn_wordpiece *wp, const tn_trie_piece *pieces, uint32_t count) {
    uint32_t words = 0;
    for (uint32_t i = 0; i < count; i++) { words += (uint32_t)is_short_word(&pieces[i]); }
    TN_TRY(tn_table_create(&wp->table, &wp->vocabulary.arena, words));
    for (uint32_t i = 0; i < count; i++) {
        if (!is_short_word(&pieces[i])) { continue; }
        unsigned char padded[TN_SHORT_WORD] = {0};
        tn_short_word word;
        memcpy(padded, pieces[i].text, pieces[i].size);
        memcpy(&word.low, padded, 8);
        memcpy(&word.high, padded + 8, 4);
        tn_table_put(&wp->table, word, pieces[i].id);
    }
    return TN_OK;
}

static void list_ascii(tn_wordpiece *wp) {
    memset(wp->ascii, TN_CHARACTER_WORD, sizeof wp->ascii);
    for (unsigned char c = 0; c < 128; c++) {
        wp->ascii[c] = wp->characters[c].kind;
        const unsigned char *stop;
        int32_t id = tn_trie_longest(&wp->trie, TN_TRIE_START, &c, &c + 1, &stop);
        wp->alone[c] = id >= 0 ? id : wp->vocabulary.facts.unknown;
    }
}

static void make_tables(tn_wordpiece *wp, tn_faults *faults) {
    const tn_vocabulary *v = &wp->vocabulary;
    tn_scratch room = {.host = v->host};
    tn_trie_piece *pieces = tn_scratch_get(&room, v->facts.size, sizeof *pieces);
    uint32_t count = pieces ? list_pieces(v, pieces) : 0;
    if (!pieces || tn_trie_build(&wp->trie, &wp->vocabulary.arena, pieces, count) != TN_OK ||
        make_table(wp, pieces, count) != TN_OK) {
        tn_fault_memory(faults);
    } else {
        list_ascii(wp);
        wp->always = (uint32_t)tn_specials_always(&v->specials);
    }
    tn_scratch_free(&room);
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static void load(tn_wordpiece *wp, const tn_host *host, const tn_meta *meta, tn_faults *faults) {
    static const int32_t separator_padding_mask[] = {102, 0, 103};
    static const tn_family family = {
        .bos = 101,
        .eos = -1,
        .unknown = 100,
        .more = separator_padding_mask,
        .bos_key = KEY("cls_token_id"),
        .ids_if_special = 1,
        .add_bos = 1,
        .add_separator = 1,
        .merged = merged_kinds,
        .well_formed = 1,
        .piece = read_piece,
        .piece_wanted = "no entries for bytes",
    };
    tn_kv kv;
    tn_vocabulary *v = &wp->vocabulary;
    tn_vocabulary_load(v, host, meta, &family, faults);
    wp->rules.lowercase = tn_key_bool(faults, meta, KEY("normalizer.lowercase"), 1);
    wp->rules.strip_accents = tn_key_bool(faults, meta, KEY("normalizer.strip_accents"), wp->rules.lowercase);
    if (v->facts.size && v->facts.unknown < 0 && !tn_key_find(meta, KEY("unknown_token_id"), &kv)) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY("unknown_token_id"),
                 "the id of words that have no pieces", "nothing");
    }
    if (faults->code == TN_OK) { list_characters(wp, faults); }
    if (faults->code == TN_OK) { make_tables(wp, faults); }
    v->space_prefix = 1; /* of the shared decoding: the first piece's word start is no space */
}

int32_t tn_wordpiece_create(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                            tn_error *err) {
    const tn_host *host = self;
    tn_faults faults = {.host = host, .report = report, .err = err};
    tn_wordpiece *wp = host->alloc(host, sizeof *wp, 64);
    if (!wp) { TN_FAIL(err, TN_E_MEMORY, "no memory for the vocabulary"); }
    memset(wp, 0, sizeof *wp);
    load(wp, host, meta, &faults);
    if (faults.code != TN_OK) {
        tn_wordpiece_destroy(self, wp);
        return faults.code;
    }
    *tokenizer = wp;
    return TN_OK;
}

void tn_wordpiece_destroy(void *self, void *tokenizer) {
    const tn_host *host = self;
    tn_wordpiece *wp = tokenizer;
    if (!wp) { return; }
    wp->vocabulary.arena.host = host;
    tn_vocabulary_free(&wp->vocabulary);
    host->free(host, wp);
}
