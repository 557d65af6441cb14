/*
 * bpe_load.c - reads a byte-level BPE vocabulary: the rule set, the shared part, the merges.
 */
#include "bpe.h"
#include "bpe_alphabet.h"
#include "bpe_merges.h"
#include "bpe_raw.h"
#include "bpe_split.h"

#define KEY_MERGES "tokenizer.ggml.merges"

static int64_t read_piece(uint32_t kind, tn_text text, unsigned char *out) {
    (void)kind;
    return (int64_t)tn_alphabet_bytes(text.data, text.size, out);
}

static uint32_t mask_strips(tn_text text) {
    int mask = text.size == 6 && (memcmp(text.data, "<mask>", 6) == 0 || memcmp(text.data, "[MASK]", 6) == 0);
    return mask ? TN_SPECIAL_STRIP_LEFT : 0;
}

/* ---- merges ------------------------------------------------------------------------------------------ */

/* Entries longer than this would be cut in too many ways to try them all. */
enum { BY_ID_LONGEST = 256 };

static void check_entries(tn_bpe *bpe, tn_faults *faults) {
    const tn_vocabulary *v = &bpe->vocabulary;
    bpe->by_id = 1;
    for (uint32_t i = 0; faults->code == TN_OK && i < v->facts.size; i++) {
        uint64_t size = v->piece_at[i + 1] - v->piece_at[i];
        if (size > BY_ID_LONGEST) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, "tokenizer.ggml.tokens",
                     "entries of at most 256 bytes where there are no merges", "%llu bytes at entry %u",
                     (unsigned long long)size, i);
        }
    }
}

static int begins_with_space(tn_text text) {
    return tn_is_spaced(text.data, text.size);
}

static int ends_with_space(tn_text text) {
    return text.size >= TN_SPACED_SIZE &&
           tn_is_spaced(text.data + text.size - TN_SPACED_SIZE, TN_SPACED_SIZE);
}

/* Checks the merges; their tables come later (bpe_merges.c). */
static void check_merges(tn_bpe *bpe, const tn_meta *meta, tn_faults *faults) {
    tn_kv kv;
    if (!tn_key_strings(faults, meta, KEY_MERGES, &kv)) {
        int absent = !tn_key_find(meta, KEY_MERGES, &kv);
        if (absent && bpe->rules && (bpe->rules->flags & TN_RULES_BY_ID)) {
            check_entries(bpe, faults);
        } else if (absent) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_MERGES, "an array of strings", "nothing");
        }
        return;
    }
    /* Each merge names at most three new symbols, and their numbers are 31 bits. */
    if (kv.count > (INT32_MAX - 256ull - bpe->vocabulary.facts.size) / 3) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_MERGES, "less than 700 million merges", "%llu",
                 (unsigned long long)kv.count);
        return;
    }
    bpe->merge_texts = kv.data;
    bpe->merge_count = (uint32_t)kv.count;
    const unsigned char *at = kv.data;
    for (uint32_t i = 0; i < bpe->merge_count; i++) {
        tn_text text = tn_string_next(&at), left, right;
        if (!tn_bpe_split_merge(text, &left, &right)) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_MERGES, "two texts with a space between them",
                     "\"%.*s\" at entry %u", (int)(text.size < 40 ? text.size : 40), text.data, i);
            return;
        }
        if (begins_with_space(right) && !ends_with_space(left)) {
            bpe->joins[(unsigned char)left.data[left.size - 1]] = 1;
        }
    }
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static void find_byte_symbols(tn_bpe *bpe) {
    for (uint32_t b = 0; b < 256; b++) {
        unsigned char byte = (unsigned char)b;
        uint32_t id = tn_words_find(&bpe->vocabulary.words, &byte, 1);
        bpe->byte_symbols[b] = id != TN_WORD_NONE ? id : bpe->vocabulary.facts.size + b;
    }
    if (bpe->rules->flags & TN_RULES_RAW) { tn_raw_bytes(bpe); }
}

/* Lines are long words. Where no merge reaches over the space behind a byte, they can be cut there. */
static void cut_lines(tn_bpe *bpe) {
    if (bpe->rules->stage_count > 1 || !(bpe->rules->flags & TN_RULES_SPACES)) { return; }
    bpe->own_rules = *bpe->rules;
    bpe->own_rules.stages = bpe->own_stages;
    bpe->own_rules.stage_count = 2;
    bpe->own_stages[0] = bpe->rules->stages[0];
    bpe->own_stages[1] = (tn_stage){.next = tn_split_joined, .joins = bpe->joins};
    bpe->rules = &bpe->own_rules;
}

static int has_space(const tn_bpe *bpe) {
    return tn_words_find(&bpe->vocabulary.words, (const unsigned char *)TN_SPACED, TN_SPACED_SIZE) !=
           TN_WORD_NONE;
}

/* 1 if every byte of well-formed UTF-8 has an entry, and U+2581 where it is the space, and nothing changes the
 * text on its way. */
static uint32_t is_exact(const tn_bpe *bpe) {
    if ((bpe->rules->flags & TN_RULES_SPACES) && !has_space(bpe)) { return 0; }
    for (uint32_t b = 0; b < 0xf5; b++) {
        if (b != 0xc0 && b != 0xc1 && bpe->byte_symbols[b] >= bpe->vocabulary.facts.size) { return 0; }
    }
    return !(bpe->rules->flags & (TN_RULES_NFC | TN_RULES_PREFIX | TN_RULES_NO_WHITE)) &&
           !tn_specials_strip(&bpe->vocabulary.specials);
}

static tn_family family_of(const tn_meta *meta, uint32_t flags) {
    tn_kv kv;
    int raw = (flags & TN_RULES_RAW) != 0;
    int keyed =
        raw && !tn_key_find(meta, "tokenizer.ggml.pre", &kv); /* gemma4 has no ids but those that keys give */
    return (tn_family){
        .bos = keyed || (flags & TN_RULES_NO_BOS_ID) ? -1 : 11,
        .eos = keyed ? -1 : 11,
        .unknown = -1,
        .ids_if_special = 1, /* 11 ends a text in Falcon; elsewhere it is a comma */
        .add_bos = (flags & TN_RULES_BOS) != 0,
        .add_separator = (flags & TN_RULES_SEPARATOR) != 0,
        .merged = 1u << TN_TOKEN_NORMAL,
        .pieces_are_words = !raw,
        .well_formed = 1,
        .piece = flags & TN_RULES_SPACES ? tn_spaced_entry
                 : raw                   ? tn_raw_piece
                                         : read_piece,
        .piece_wanted = "<0x00> to <0xFF> for a byte",
        .strip = flags & TN_RULES_MASK_STRIPS ? mask_strips : NULL,
    };
}

static void load(tn_bpe *bpe, const tn_host *host, const tn_meta *meta, tn_faults *faults) {
    bpe->rules = tn_bpe_rules(meta, faults);
    uint32_t flags = bpe->rules ? bpe->rules->flags : 0;
    tn_family family = family_of(meta, flags);
    tn_vocabulary_load(&bpe->vocabulary, host, meta, &family, faults);
    tn_vocab *facts = &bpe->vocabulary.facts;
    if (bpe->vocabulary.space_prefix) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, "tokenizer.ggml.add_space_prefix",
                 "false: byte-level BPE puts no space in front", "true");
    }
    if ((flags & TN_RULES_PREFIX) && faults->code == TN_OK && !has_space(bpe)) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, "tokenizer.ggml.tokens", "an entry U+2581", "none");
    }
    if (flags & TN_RULES_NO_WHITE) {
        bpe->lower_case = tn_key_bool(faults, meta, "tokenizer.ggml.normalizer.lowercase", 0);
    }
    if (faults->code == TN_OK) { find_byte_symbols(bpe); }
    check_merges(bpe, meta, faults);
    if (faults->code != TN_OK) { return; }
    cut_lines(bpe);
    if (flags & TN_RULES_ALWAYS_BOS) { facts->add_bos = facts->bos >= 0; }
    facts->exact = is_exact(bpe);
    if (flags & TN_RULES_SPACES) { facts->exact_except = "U+2581"; }
}

int32_t tn_bpe_create(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                      tn_error *err) {
    const tn_host *host = self;
    tn_faults faults = {.host = host, .report = report, .err = err};
    tn_bpe *bpe = host->alloc(host, sizeof *bpe, 64);
    if (!bpe) { TN_FAIL(err, TN_E_MEMORY, "no memory for the vocabulary"); }
    memset(bpe, 0, sizeof *bpe);
    pthread_mutex_init(&bpe->making, NULL);
    load(bpe, host, meta, &faults);
    if (faults.code != TN_OK) {
        tn_bpe_destroy(self, bpe);
        return faults.code;
    }
    *tokenizer = bpe;
    return TN_OK;
}

void tn_bpe_destroy(void *self, void *tokenizer) {
    const tn_host *host = self;
    tn_bpe *bpe = tokenizer;
    if (!bpe) { return; }
    bpe->vocabulary.arena.host = host;
    tn_cache_free(&bpe->cache);
    tn_vocabulary_free(&bpe->vocabulary);
    pthread_mutex_destroy(&bpe->making);
    host->free(host, bpe);
}
