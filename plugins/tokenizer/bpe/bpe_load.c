/*
 * bpe_load.c - reads a byte-level BPE vocabulary: the rule set, the shared part, the merges.
 */
#include "bpe.h"
#include "bpe_alphabet.h"

#define KEY_PRE "tokenizer.ggml.pre"
#define KEY_MERGES "tokenizer.ggml.merges"

static int64_t read_piece(uint32_t kind, tn_text text, unsigned char *out) {
    (void)kind;
    return (int64_t)tn_alphabet_bytes(text.data, text.size, out);
}

static uint32_t mask_strips(tn_text text) {
    return text.size == 6 && memcmp(text.data, "<mask>", 6) == 0 ? TN_SPECIAL_STRIP_LEFT : 0;
}

static const tn_rules *read_rules(const tn_meta *meta, tn_faults *faults) {
    static const char wanted[] =
        "a known rule set: gpt-2, llama-bpe, qwen2, gpt-4o, starcoder, smollm, falcon, ...";
    tn_kv kv;
    if (!tn_key_find(meta, KEY_PRE, &kv)) {
        tn_fault(faults, TN_E_TOKENIZER_PRE, KEY_PRE, wanted, "nothing");
        return NULL;
    }
    if (kv.type != TN_KV_STRING) {
        tn_fault_type(faults, KEY_PRE, &kv, "a string");
        return NULL;
    }
    const tn_rules *rules = tn_rules_find(kv.data, kv.count);
    if (!rules) {
        tn_fault(faults, TN_E_TOKENIZER_PRE, KEY_PRE, wanted, "\"%.*s\"",
                 (int)(kv.count < 80 ? kv.count : 80), (const char *)kv.data);
    }
    return rules;
}

/* ---- merges ------------------------------------------------------------------------------------------ */

/* Splits "left right" at the first space behind the first byte; 0: it is no merge. */
static int split_merge(tn_text text, tn_text *left, tn_text *right) {
    const char *space = text.size > 1 ? memchr(text.data + 1, ' ', text.size - 1) : NULL;
    uint64_t size = space ? (uint64_t)(space - text.data) : text.size;
    *left = (tn_text){text.data, size};
    *right = space ? (tn_text){space + 1, text.size - size - 1} : (tn_text){0};
    return right->size > 0 && text.size < UINT32_MAX;
}

/* Checks the merges; their table is made when a text is first encoded: making it takes longer than all the rest,
 * and a file that is only looked at, or refused, never needs it. */
static void check_merges(tn_bpe *bpe, const tn_meta *meta, tn_faults *faults) {
    tn_kv kv;
    if (!tn_key_strings(faults, meta, KEY_MERGES, &kv)) {
        if (!tn_key_find(meta, KEY_MERGES, &kv)) {
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
        if (!split_merge(text, &left, &right)) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_MERGES, "two texts with a space between them",
                     "\"%.*s\" at entry %u", (int)(text.size < 40 ? text.size : 40), text.data, i);
            return;
        }
    }
}

/* Merges wait here until the memory of their slot has come near. */
enum { WAITING = 16 };

typedef struct loader {
    tn_bpe *bpe;
    tn_scratch scratch;
    tn_words absent; /* texts that merges name and the vocabulary does not have, to symbols */
    uint32_t symbols;
    tn_merge_slot waiting[WAITING]; /* free ones have left_1 = 0 */
} loader;

/* The symbol of some bytes; TN_WORD_NONE: no memory. */
static uint32_t symbol_of(loader *l, const unsigned char *text, uint32_t size) {
    uint32_t symbol = tn_words_find(&l->bpe->vocabulary.words, text, size);
    if (symbol != TN_WORD_NONE) { return symbol; }
    if (size == 1) { return l->bpe->byte_symbols[text[0]]; }
    symbol = tn_words_find(&l->absent, text, size);
    if (symbol != TN_WORD_NONE) { return symbol; }
    unsigned char *copy = tn_arena_get(&l->bpe->vocabulary.arena, size, 1);
    if (!copy) { return TN_WORD_NONE; }
    memcpy(copy, text, size);
    return tn_words_put(&l->absent, copy, size, l->symbols) == TN_OK ? l->symbols++ : TN_WORD_NONE;
}

static void put_merge(tn_bpe *bpe, const tn_merge_slot *merge) {
    if (!merge->left_1) { return; }
    tn_merge_slot *slot = tn_bpe_merge_slot(bpe, merge->left_1 - 1, merge->right);
    if (!slot->left_1) { *slot = *merge; } /* of equal ones the first counts */
}

/* One merge as bytes, its product's: left and right part one behind the other. */
typedef struct pair {
    const unsigned char *bytes;
    uint32_t left, right; /* sizes */
} pair;

/* Writes a merge's bytes to `out`, which has room for the text. */
static pair read_pair(loader *l, tn_text text, unsigned char *out) {
    tn_text left, right;
    split_merge(text, &left, &right);
    pair made = {.bytes = out, .left = (uint32_t)tn_alphabet_bytes(left.data, left.size, out)};
    made.right = (uint32_t)tn_alphabet_bytes(right.data, right.size, out + made.left);
    const tn_words *words = &l->bpe->vocabulary.words;
    tn_words_prefetch(words, made.bytes, made.left);
    tn_words_prefetch(words, made.bytes + made.left, made.right);
    tn_words_prefetch(words, made.bytes, made.left + made.right);
    return made;
}

static int32_t take_pair(loader *l, const pair *p, uint32_t rank) {
    uint32_t a = symbol_of(l, p->bytes, p->left), b = symbol_of(l, p->bytes + p->left, p->right);
    uint32_t product = symbol_of(l, p->bytes, p->left + p->right);
    if (a == TN_WORD_NONE || b == TN_WORD_NONE || product == TN_WORD_NONE) { return TN_E_MEMORY; }
    tn_merge_slot *waiting = &l->waiting[rank % WAITING];
    put_merge(l->bpe, waiting);
    *waiting = (tn_merge_slot){a + 1, b, rank, product};
    __builtin_prefetch(&l->bpe->merges[tn_bpe_merge_place(l->bpe, a, b)], 1);
    return TN_OK;
}

/* The next `count` merges, at most WAITING: all of them as bytes, whose look-ups then wait for memory together. */
static int32_t read_batch(loader *l, const unsigned char **at, uint32_t rank, uint32_t count) {
    pair pairs[WAITING];
    tn_text texts[WAITING];
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        texts[i] = tn_string_next(at);
        total += texts[i].size;
    }
    unsigned char *bytes = tn_scratch_get(&l->scratch, total, 1);
    if (!bytes) { return TN_E_MEMORY; }
    for (uint32_t i = 0; i < count; bytes += texts[i++].size) { pairs[i] = read_pair(l, texts[i], bytes); }
    for (uint32_t i = 0; i < count; i++) {
        if (take_pair(l, &pairs[i], rank + i) != TN_OK) { return TN_E_MEMORY; }
    }
    return TN_OK;
}

static int32_t read_merges(loader *l) {
    tn_bpe *bpe = l->bpe;
    uint64_t slots = 16;
    while (slots / 3 * 2 <= bpe->merge_count) { slots *= 2; }
    bpe->merges = tn_arena_get(&bpe->vocabulary.arena, slots, sizeof *bpe->merges);
    if (!bpe->merges || tn_words_create(&l->absent, bpe->vocabulary.host, 0) != TN_OK) { return TN_E_MEMORY; }
    bpe->merge_mask = slots - 1;
    bpe->merge_seed = bpe->vocabulary.words.seed;
    const unsigned char *at = bpe->merge_texts;
    for (uint32_t i = 0; i < bpe->merge_count; i += WAITING) {
        uint32_t left = bpe->merge_count - i;
        if (read_batch(l, &at, i, left < WAITING ? left : WAITING) != TN_OK) { return TN_E_MEMORY; }
    }
    for (uint32_t i = 0; i < WAITING; i++) { put_merge(bpe, &l->waiting[(bpe->merge_count + i) % WAITING]); }
    return TN_OK;
}

int32_t tn_bpe_make_merges(tn_bpe *bpe, tn_error *err) {
    if (atomic_load_explicit(&bpe->merges_made, memory_order_acquire)) { return TN_OK; }
    int32_t code = TN_OK;
    pthread_mutex_lock(&bpe->making);
    if (!atomic_load_explicit(&bpe->merges_made, memory_order_relaxed)) {
        loader l = {
            .bpe = bpe, .scratch.host = bpe->vocabulary.host, .symbols = bpe->vocabulary.facts.size + 256};
        code = read_merges(&l);
        tn_words_free(&l.absent);
        tn_scratch_free(&l.scratch);
        atomic_store_explicit(&bpe->merges_made, code == TN_OK, memory_order_release);
    }
    pthread_mutex_unlock(&bpe->making);
    if (code != TN_OK) { TN_FAIL(err, code, "no memory for %u merges", bpe->merge_count); }
    return TN_OK;
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static void find_byte_symbols(tn_bpe *bpe) {
    for (uint32_t b = 0; b < 256; b++) {
        unsigned char byte = (unsigned char)b;
        uint32_t id = tn_words_find(&bpe->vocabulary.words, &byte, 1);
        bpe->byte_symbols[b] = id != TN_WORD_NONE ? id : bpe->vocabulary.facts.size + b;
    }
}

/* 1 if every byte of well-formed UTF-8 has an entry and nothing changes the text on its way. */
static uint32_t is_exact(const tn_bpe *bpe) {
    for (uint32_t b = 0; b < 0xf5; b++) {
        if (b != 0xc0 && b != 0xc1 && bpe->byte_symbols[b] >= bpe->vocabulary.facts.size) { return 0; }
    }
    return !(bpe->rules->flags & TN_RULES_NFC) && !tn_specials_strip(&bpe->vocabulary.specials);
}

static void load(tn_bpe *bpe, const tn_host *host, const tn_meta *meta, tn_faults *faults) {
    bpe->rules = read_rules(meta, faults);
    uint32_t flags = bpe->rules ? bpe->rules->flags : 0;
    tn_family family = {
        .bos = 11,
        .eos = 11,
        .unknown = -1,
        .ids_if_special = 1, /* 11 ends a text in Falcon; elsewhere it is a comma */
        .add_bos = (flags & TN_RULES_BOS) != 0,
        .add_separator = (flags & TN_RULES_SEPARATOR) != 0,
        .merged = 1u << TN_TOKEN_NORMAL,
        .pieces_are_words = 1,
        .well_formed = 1,
        .piece = read_piece,
        .strip = flags & TN_RULES_MASK_STRIPS ? mask_strips : NULL,
    };
    tn_vocabulary_load(&bpe->vocabulary, host, meta, &family, faults);
    if (bpe->vocabulary.space_prefix) {
        tn_fault(faults, TN_E_TOKENIZER_INVALID, "tokenizer.ggml.add_space_prefix",
                 "false: byte-level BPE puts no space in front", "true");
    }
    if (faults->code == TN_OK) { find_byte_symbols(bpe); }
    check_merges(bpe, meta, faults);
    if (faults->code == TN_OK) { bpe->vocabulary.facts.exact = is_exact(bpe); }
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
    tn_vocabulary_free(&bpe->vocabulary);
    pthread_mutex_destroy(&bpe->making);
    host->free(host, bpe);
}
