/*
 * bpe_load.c - reads a byte-level BPE vocabulary: the rule set, the shared part, the merges.
 */
#include "bpe.h"
#include "bpe_alphabet.h"
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

/* Splits "left right" at the first space behind the first byte; 0: it is no merge. */
static int split_merge(tn_text text, tn_text *left, tn_text *right) {
    const char *space = text.size > 1 ? memchr(text.data + 1, ' ', text.size - 1) : NULL;
    uint64_t size = space ? (uint64_t)(space - text.data) : text.size;
    *left = (tn_text){text.data, size};
    *right = space ? (tn_text){space + 1, text.size - size - 1} : (tn_text){0};
    return right->size > 0 && text.size < UINT32_MAX;
}

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

/* Checks the merges; their table is made when a text is first encoded: making it takes longer than all the rest,
 * and a file that is only looked at, or refused, never needs it. */
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
        if (!split_merge(text, &left, &right)) {
            tn_fault(faults, TN_E_TOKENIZER_INVALID, KEY_MERGES, "two texts with a space between them",
                     "\"%.*s\" at entry %u", (int)(text.size < 40 ? text.size : 40), text.data, i);
            return;
        }
        if (begins_with_space(right) && !ends_with_space(left)) {
            bpe->joins[(unsigned char)left.data[left.size - 1]] = 1;
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
    tn_bpe_merge waiting[WAITING];
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

static void put_merge(tn_bpe *bpe, const tn_bpe_merge *merge) {
    uint64_t hash = tn_bpe_merge_hash(bpe, merge->left, merge->right), bit = tn_bpe_filter_bit(bpe, hash);
    uint64_t key = tn_bpe_merge_key(merge->left, merge->right);
    for (uint32_t i = 0;; i++) {
        tn_bpe_merge_line *line = &bpe->merges[(hash + i / 4) & bpe->merge_mask];
        if (line->key[i % 4] == key) { return; } /* of equal ones the first counts */
        if (line->key[i % 4]) { continue; }
        line->key[i % 4] = key;
        line->gives[i % 4] = merge->gives;
        bpe->merge_filter[bit / 64] |= 1ull << bit % 64;
        return;
    }
}

static void put_byte_pair(tn_bpe *bpe, const unsigned char *bytes, uint32_t rank, uint32_t product) {
    tn_bpe_byte_pair *pair = &bpe->byte_pairs[bytes[0] << 8 | bytes[1]];
    if (pair->rank != TN_RANK_NONE) { return; }
    pair->rank = rank;
    pair->product = product & INT32_MAX;
}

/* Notes that a merge has these bytes for a part: if two bytes give them, they should have by now. */
static void use_part(tn_bpe *bpe, const unsigned char *bytes, uint32_t size) {
    tn_bpe_byte_pair *pair = &bpe->byte_pairs[bytes[0] << 8 | bytes[size - 1]];
    if (size == 2 && pair->rank == TN_RANK_NONE) { pair->sure = 0; }
}

static void note_rank(uint32_t *lowest, uint32_t rank) {
    if (rank < *lowest) { *lowest = rank; }
}

/* One merge as bytes, its product's: left and right part one behind the other. */
typedef struct pair {
    const unsigned char *bytes;
    uint32_t left, right; /* sizes */
} pair;

static uint32_t read_bytes(const tn_bpe *bpe, tn_text text, unsigned char *out) {
    if (!(bpe->rules->flags & TN_RULES_RAW)) {
        return (uint32_t)tn_alphabet_bytes(text.data, text.size, out);
    }
    memcpy(out, text.data, text.size);
    return (uint32_t)text.size;
}

/* Writes a merge's bytes to `out`, which has room for the text. */
static pair read_pair(loader *l, tn_text text, unsigned char *out) {
    tn_text left, right;
    split_merge(text, &left, &right);
    pair made = {.bytes = out, .left = read_bytes(l->bpe, left, out)};
    made.right = read_bytes(l->bpe, right, out + made.left);
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
    tn_bpe *bpe = l->bpe;
    tn_bpe_merge *waiting = &l->waiting[rank % WAITING];
    if (rank >= WAITING) { put_merge(bpe, waiting); }
    *waiting = (tn_bpe_merge){a, b, {rank, product}};
    const unsigned char *joint = p->bytes + p->left; /* the first byte of the right part */
    use_part(bpe, p->bytes, p->left);
    use_part(bpe, joint, p->right);
    if (p->right == 1) { note_rank(&bpe->byte_pairs[joint[-1] << 8 | joint[0]].before, rank); }
    if (p->left == 1) { note_rank(&bpe->byte_pairs[p->bytes[0] << 8 | joint[0]].behind, rank); }
    if (p->left == 1 && p->right == 1) { put_byte_pair(bpe, p->bytes, rank, product); }
    __builtin_prefetch(&bpe->merges[tn_bpe_merge_hash(bpe, a, b) & bpe->merge_mask], 1);
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

/* The merges that entries stand for: each with each of its cuts whose two sides are entries. Returns how many
 * there are; puts them into the table if there is one. */
static uint32_t merges_of_entries(tn_bpe *bpe) {
    const tn_vocabulary *v = &bpe->vocabulary;
    uint32_t count = 0;
    for (uint32_t id = 0; id < v->facts.size; id++) {
        const unsigned char *bytes = v->pieces + v->piece_at[id];
        uint64_t size = v->piece_at[id + 1] - v->piece_at[id];
        if (tn_words_find(&v->words, bytes, size) != id) { continue; }
        for (uint64_t cut = 1; cut < size; cut++) {
            uint32_t left = tn_words_find(&v->words, bytes, cut);
            uint32_t right =
                left == TN_WORD_NONE ? TN_WORD_NONE : tn_words_find(&v->words, bytes + cut, size - cut);
            if (right == TN_WORD_NONE) { continue; }
            count++;
            if (!bpe->merges) { continue; }
            put_merge(bpe, &(tn_bpe_merge){left, right, {id, id}});
            if (size == 2) {
                use_part(bpe, bytes, size); /* it is not known whether it is sure */
                put_byte_pair(bpe, bytes, id, id);
            }
        }
    }
    return count;
}

static int32_t read_merges(loader *l) {
    tn_bpe *bpe = l->bpe;
    uint64_t lines = 4;
    if (bpe->by_id) { bpe->merge_count = merges_of_entries(bpe); }
    while (4 * lines / 3 * 2 <= bpe->merge_count) { lines *= 2; }
    bpe->merges = tn_arena_get(&bpe->vocabulary.arena, lines, sizeof *bpe->merges);
    bpe->byte_pairs = tn_arena_get(&bpe->vocabulary.arena, 65536, sizeof *bpe->byte_pairs);
    bpe->merge_filter = tn_arena_get(&bpe->vocabulary.arena, 16 * lines / 64, sizeof(uint64_t));
    bpe->filter_mask = 16 * lines - 1;
    if (!bpe->merges || !bpe->merge_filter || !bpe->byte_pairs ||
        tn_words_create(&l->absent, bpe->vocabulary.host, 0) != TN_OK) {
        return TN_E_MEMORY;
    }
    memset(bpe->byte_pairs, 0xff, 65536 * sizeof *bpe->byte_pairs); /* TN_RANK_NONE; sure till used */
    bpe->merge_mask = lines - 1;
    bpe->merge_seed = bpe->vocabulary.words.seed;
    if (bpe->by_id) { return merges_of_entries(bpe), TN_OK; }
    const unsigned char *at = bpe->merge_texts;
    for (uint32_t i = 0; i < bpe->merge_count; i += WAITING) {
        uint32_t left = bpe->merge_count - i;
        if (read_batch(l, &at, i, left < WAITING ? left : WAITING) != TN_OK) { return TN_E_MEMORY; }
    }
    for (uint32_t i = bpe->merge_count < WAITING ? 0 : bpe->merge_count - WAITING; i < bpe->merge_count;
         i++) {
        put_merge(bpe, &l->waiting[i % WAITING]);
    }
    return TN_OK;
}

int32_t tn_bpe_make_merges(tn_bpe *bpe, tn_error *err) {
    if (atomic_load_explicit(&bpe->merges_made, memory_order_acquire)) { return TN_OK; }
    int32_t code = TN_OK;
    pthread_mutex_lock(&bpe->making);
    if (!atomic_load_explicit(&bpe->merges_made, memory_order_relaxed)) {
        loader l = {
            .bpe = bpe, .scratch.host = bpe->vocabulary.host, .symbols = bpe->vocabulary.facts.size + 256};
        code = tn_cache_create(&bpe->cache, l.bpe->vocabulary.host, bpe->vocabulary.facts.size);
        if (code == TN_OK) { code = read_merges(&l); }
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
        .piece = flags & TN_RULES_SPACES ? tn_raw_piece_spaced
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
