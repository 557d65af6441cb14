/*
 * spm_load.c - reads a SentencePiece vocabulary: the shared part, scores, byte entries.
 */
#include "spm.h"

#include <math.h>

#define KEY_SCORES "tokenizer.ggml.scores"
#define KEY_NAME "general.name"

/* Never CONTROL or UNKNOWN: plain text must not become such an id. */
static const uint32_t merged_kinds = 1u << TN_TOKEN_NORMAL | 1u << TN_TOKEN_USER_DEFINED;

/* ---- white space beside special entries ---------------------------------------------------------------- */

/* In Phi-3, whose files have no key for it, special entries take the white space behind them, but for three.
 */
static uint32_t phi3_strips(tn_text text) {
    static const char *const keep[] = {"<unk>", "<s>", "<|endoftext|>"};
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) {
        if (text.size == strlen(keep[i]) && memcmp(text.data, keep[i], text.size) == 0) { return 0; }
    }
    return TN_SPECIAL_STRIP_RIGHT;
}

static int is_phi3(const tn_meta *meta) {
    tn_kv kv;
    if (!tn_key_find(meta, KEY_NAME, &kv) || kv.type != TN_KV_STRING) { return 0; }
    const char *name = kv.data;
    for (uint64_t i = 0; i + 4 <= kv.count; i++) {
        uint64_t dash = i + 5 <= kv.count && name[i + 3] == '-';
        if ((name[i] | 32) == 'p' && (name[i + 1] | 32) == 'h' && (name[i + 2] | 32) == 'i' &&
            name[i + 3 + dash] == '3') {
            return 1;
        }
    }
    return 0;
}

/* ---- scores -------------------------------------------------------------------------------------------- */

/* A number that falls as the float rises; equal floats give equal numbers. */
static uint32_t rank_of_float(float score) {
    uint32_t bits;
    score += 0.0f; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

/* The rank of entry i; TN_WORD_NONE if its score is none. Only "worst possible NaN" would have that rank. */
static uint32_t read_rank(const tn_kv *kv, uint32_t i) {
    double score;
    int64_t integer;
    if (tn_kv_float(kv, i, &score)) {
        float narrow = (float)score;
        return isnan(narrow) ? TN_WORD_NONE : rank_of_float(narrow);
    }
    if (!tn_kv_int(kv, i, &integer) || integer < INT32_MIN || integer > INT32_MAX) { return TN_WORD_NONE; }
    uint32_t rank = (uint32_t)(INT32_MAX - integer);
    return rank < TN_WORD_NONE ? rank : TN_WORD_NONE - 1;
}

static void read_scores(tn_spm *spm, const tn_meta *meta, tn_faults *faults) {
    tn_kv kv;
    uint32_t size = spm->vocabulary.facts.size;
    if (!tn_key_numbers(faults, meta, KEY_SCORES, 1, &kv)) {
        if (!tn_key_find(meta, KEY_SCORES, &kv)) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_SCORES, "an array of float32", "nothing");
        }
        return;
    }
    if (!size) { return; }
    if (kv.count != size) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_SCORES, "as many entries as tokenizer.ggml.tokens",
                 "%llu entries for %u tokens", (unsigned long long)kv.count, size);
        return;
    }
    spm->ranks = tn_arena_get(&spm->vocabulary.arena, size, sizeof *spm->ranks);
    if (!spm->ranks) {
        tn_fault_memory(faults);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        spm->ranks[i] = read_rank(&kv, i);
        if (spm->ranks[i] == TN_WORD_NONE) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_SCORES, "finite numbers", "another at entry %u", i);
            return;
        }
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void find_bytes(tn_spm *spm) {
    const tn_vocabulary *v = &spm->vocabulary;
    for (uint32_t b = 0; b < 256; b++) { spm->bytes[b] = -1; }
    for (uint32_t i = 0; i < v->facts.size; i++) {
        if ((v->kinds[i] & TN_KIND_MASK) == TN_TOKEN_BYTE) {
            spm->bytes[v->pieces[v->piece_at[i]]] = (int32_t)i;
        }
    }
}

/* Notes which characters follow each other in an entry. */
static void note_joins(tn_spm *spm, tn_text text) {
    const unsigned char *at = (const unsigned char *)text.data, *end = at + text.size;
    while (at < end) {
        uint64_t size = tn_spm_character_size(at, end);
        const unsigned char *next = at + size;
        if (next == end) { return; }
        if (*at < 0x80 && *next < 0x80) { spm->ascii_joins[*at][*next / 64] |= 1ull << *next % 64; }
        uint64_t bit = tn_spm_join(spm, at, size, tn_spm_character_size(next, end));
        spm->joins[bit / 64] |= 1ull << bit % 64;
        at = next;
    }
}

static void find_joins(tn_spm *spm, tn_faults *faults) {
    const tn_vocabulary *v = &spm->vocabulary;
    uint64_t bits = 4096;
    while (bits < 16ull * v->facts.size) { bits *= 2; }
    spm->joins = tn_arena_get(&spm->vocabulary.arena, bits / 64, sizeof *spm->joins);
    spm->joins_mask = bits - 1;
    if (!spm->joins) {
        tn_fault_memory(faults);
        return;
    }
    for (uint32_t i = 0; i < v->facts.size; i++) {
        if (merged_kinds >> (v->kinds[i] & TN_KIND_MASK) & 1) { note_joins(spm, v->texts[i]); }
    }
}

/* Well-formed UTF-8 comes back if each byte has an entry, nothing but the first word's space is added, and no
 * entry that merging can give keeps its U+2581. Ill-formed text does not always: a lead byte takes a space
 * behind it for its continuation. */
static uint32_t is_exact(const tn_spm *spm) {
    const tn_vocabulary *v = &spm->vocabulary;
    for (uint32_t b = 0; b < 256; b++) {
        if (spm->bytes[b] < 0) { return 0; }
    }
    for (uint32_t i = 0; i < v->facts.size; i++) {
        tn_text text = v->texts[i];
        if ((v->kinds[i] & TN_KIND_MASK) == TN_TOKEN_USER_DEFINED &&
            memmem(text.data, text.size, TN_SPACED, TN_SPACED_SIZE)) {
            return 0;
        }
    }
    return !tn_specials_strip(&v->specials) && !(v->space_prefix && tn_specials_always(&v->specials));
}

static void load(tn_spm *spm, const tn_host *host, const tn_meta *meta, tn_faults *faults) {
    tn_family family = {
        .bos = 1,
        .eos = 2,
        .unknown = 0,
        .add_bos = 1,
        .space_prefix = 1,
        .merged = merged_kinds,
        .piece = tn_spaced_entry,
        .piece_wanted = "<0x00> to <0xFF> for a byte",
        .strip = is_phi3(meta) ? phi3_strips : NULL,
    };
    tn_vocabulary_load(&spm->vocabulary, host, meta, &family, faults);
    read_scores(spm, meta, faults);
    if (faults->code != TN_OK) { return; }
    if (tn_cache_create(&spm->cache, host, spm->vocabulary.facts.size) != TN_OK) {
        tn_fault_memory(faults);
        return;
    }
    find_bytes(spm);
    find_joins(spm, faults);
    spm->vocabulary.facts.exact = is_exact(spm);
    spm->vocabulary.facts.exact_except = "U+2581";
}

int32_t tn_spm_create(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                      tn_error *err) {
    const tn_host *host = self;
    tn_faults faults = {.host = host, .report = report, .err = err};
    tn_spm *spm = host->alloc(host, sizeof *spm, 64);
    if (!spm) { TN_FAIL(err, TN_E_MEMORY, "no memory for the vocabulary"); }
    memset(spm, 0, sizeof *spm);
    load(spm, host, meta, &faults);
    if (faults.code != TN_OK) {
        tn_spm_destroy(self, spm);
        return faults.code;
    }
    *tokenizer = spm;
    return TN_OK;
}

void tn_spm_destroy(void *self, void *tokenizer) {
    const tn_host *host = self;
    tn_spm *spm = tokenizer;
    if (!spm) { return; }
    spm->vocabulary.arena.host = host;
    tn_cache_free(&spm->cache);
    tn_vocabulary_free(&spm->vocabulary);
    host->free(host, spm);
}
