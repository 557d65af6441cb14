/*
 * bpe_merges.c - makes the tables of merges when a text is first encoded: making them takes longer than all the
 * rest, and a file that is only looked at, or refused, never needs them.
 *
 * What takes the time is finding the symbols of texts, each a look-up in memory that is far. Files list merges in
 * the order of what they give: that is nearly always the entry of the merge before, or the next one, which one
 * comparison tells. The two parts of the others are looked up many at a time.
 */
#include "bpe_merges.h"

#include "bpe.h"
#include "bpe_alphabet.h"

enum { BATCH = 32 };

typedef struct loader {
    tn_bpe *bpe;
    tn_scratch scratch;
    tn_words absent; /* texts that merges name and the vocabulary does not have, to symbols */
    uint32_t symbols;
    uint32_t last, last_size;    /* what the merge before gives, and how many bytes */
    int by_characters;           /* ... each for a character of its text */
    uint32_t guess;              /* 1: no two entries have the same text */
    const unsigned char *end;    /* behind the memory of entries */
    tn_bpe_merge waiting[BATCH]; /* until the memory of their slots has come near */
} loader;

/* ---- symbols of texts -------------------------------------------------------------------------------------- */

/* The symbol of a text that is no entry; TN_WORD_NONE: no memory. */
static uint32_t other_symbol(loader *l, const unsigned char *text, uint32_t size) {
    if (size == 1) { return l->bpe->byte_symbols[text[0]]; }
    uint32_t symbol = tn_words_find(&l->absent, text, size);
    if (symbol != TN_WORD_NONE) { return symbol; }
    unsigned char *copy = tn_arena_get(&l->bpe->vocabulary.arena, size, 1);
    if (!copy) { return TN_WORD_NONE; }
    memcpy(copy, text, size);
    return tn_words_put(&l->absent, copy, size, l->symbols) == TN_OK ? l->symbols++ : TN_WORD_NONE;
}

static uint32_t symbol_of(loader *l, const tn_word_key *key) {
    uint32_t symbol = tn_words_find_key(&l->bpe->vocabulary.words, key);
    return symbol != TN_WORD_NONE ? symbol : other_symbol(l, key->text, (uint32_t)key->size);
}

/* A merge as bytes, its product's: left and right part one behind the other. */
typedef struct merge {
    const unsigned char *bytes;
    uint32_t left, right; /* sizes */
    uint32_t product;     /* TN_WORD_NONE: no memory */
    tn_word_key left_key, right_key;
} merge;

static uint32_t read_bytes(const tn_bpe *bpe, tn_text text, unsigned char *out) {
    if (!(bpe->rules->flags & TN_RULES_RAW)) {
        return (uint32_t)tn_alphabet_bytes(text.data, text.size, out);
    }
    memcpy(out, text.data, text.size);
    return (uint32_t)text.size;
}

static int is_entry(const tn_vocabulary *v, uint32_t id, tn_text left, tn_text right) {
    return id < v->facts.size && v->texts[id].size == left.size + right.size &&
           memcmp(v->texts[id].data, left.data, left.size) == 0 &&
           memcmp(v->texts[id].data + left.size, right.data, right.size) == 0 &&
           (v->kinds[id] & TN_KIND_MASK) == TN_TOKEN_NORMAL;
}

/* Characters of some bytes of a text. */
static uint32_t characters(tn_text text, uint64_t size) {
    uint32_t count = 0;
    for (uint64_t i = 0; i < size; i++) { count += ((unsigned char)text.data[i] & 0xc0) != 0x80; }
    return count;
}

/* Notes what a merge gives. An entry has as many bytes as its text has characters if each stands for a byte, or if all
 * are ASCII and the text stands for itself, which is the same. */
static void note_product(loader *l, uint32_t id) {
    const tn_vocabulary *v = &l->bpe->vocabulary;
    l->last = id;
    if (id >= v->facts.size) { return; }
    l->last_size = (uint32_t)(v->piece_at[id + 1] - v->piece_at[id]);
    l->by_characters = characters(v->texts[id], v->texts[id].size) == l->last_size;
}

/* How many bytes the first `size` bytes of the last product's text stand for. Nearly all texts have a single character
 * of two bytes at most, the space at their beginning. */
static uint32_t bytes_of_part(const loader *l, tn_text text, uint64_t size) {
    uint64_t more = text.size - l->last_size;
    int first = (unsigned char)text.data[0] >= 0x80;
    return more == 0 || (more == 1 && first) ? (uint32_t)(size - more) : characters(text, size);
}

/* A merge that gives the entry of the one before, or the next: 0 if it does not. Its bytes are the entry's. */
static int guess_merge(loader *l, tn_text left, tn_text right, merge *m) {
    const tn_vocabulary *v = &l->bpe->vocabulary;
    if (!l->guess) { return 0; }
    if (!is_entry(v, l->last, left, right)) {
        if (!is_entry(v, l->last + 1, left, right)) { return 0; }
        note_product(l, l->last + 1);
    }
    tn_text text = v->texts[l->last];
    *m = (merge){.bytes = (const unsigned char *)text.data,
                 .left = (uint32_t)left.size,
                 .right = (uint32_t)right.size,
                 .product = l->last};
    if (l->bpe->rules->flags & TN_RULES_RAW) { return 1; }
    if (((unsigned char)right.data[0] & 0xc0) == 0x80) { return 0; } /* cut inside a character */
    m->bytes = v->pieces + v->piece_at[l->last];
    m->left = bytes_of_part(l, text, left.size);
    m->right = l->last_size - m->left;
    return l->by_characters;
}

/* Reads a merge; `out` has room for its text. */
static void read_merge(loader *l, tn_text text, unsigned char *out, merge *m) {
    tn_text left, right;
    const unsigned char *end = l->end;
    tn_bpe_split_merge(text, &left, &right);
    if (!guess_merge(l, left, right, m)) {
        *m = (merge){.bytes = out, .left = read_bytes(l->bpe, left, out)};
        m->right = read_bytes(l->bpe, right, out + m->left);
        end = out + m->left + m->right;
        m->product = tn_words_find(&l->bpe->vocabulary.words, out, m->left + m->right);
        if (m->product == TN_WORD_NONE) { m->product = other_symbol(l, out, m->left + m->right); }
        note_product(l, m->product);
    }
    const tn_words *words = &l->bpe->vocabulary.words;
    m->left_key = tn_words_key(words, m->bytes, m->left, end);
    m->right_key = tn_words_key(words, m->bytes + m->left, m->right, end);
    tn_words_prefetch(words, &m->left_key);
    tn_words_prefetch(words, &m->right_key);
}

/* ---- what is known of two and three bytes -------------------------------------------------------------------- */

static void put_byte_pair(tn_bpe *bpe, const unsigned char *bytes, uint32_t rank, uint32_t product) {
    tn_bpe_byte_pair *pair = &bpe->byte_pairs[bytes[0] << 8 | bytes[1]];
    if (pair->rank != TN_RANK_NONE) { return; }
    pair->rank = rank;
    pair->product = product & INT32_MAX;
}

static int is_character(const unsigned char *bytes) {
    return (bytes[0] & 0xf0) == 0xe0 && (bytes[1] & 0xc0) == 0x80 && (bytes[2] & 0xc0) == 0x80;
}

/* Notes that a merge has these bytes for a part: if two or three bytes give them, they should have by now. */
static void use_part(tn_bpe *bpe, const unsigned char *bytes, uint32_t size) {
    if (size == 2) {
        tn_bpe_byte_pair *pair = &bpe->byte_pairs[bytes[0] << 8 | bytes[1]];
        if (pair->rank == TN_RANK_NONE) { pair->sure = 0; }
    } else if (size == 3 && is_character(bytes)) {
        tn_bpe_character *character = &bpe->characters[tn_bpe_character_number(bytes)];
        if (character->rank == TN_RANK_NONE) { character->sure = 0; }
    }
}

/* Notes that two bytes are taken along by what ends in `last`: characters that begin with them should be made by now. */
static void take_along(tn_bpe *bpe, unsigned char last, const unsigned char *bytes) {
    unsigned char first[3] = {bytes[0], bytes[1], 0x80};
    if (!is_character(first)) { return; }
    tn_bpe_character *characters = &bpe->characters[tn_bpe_character_number(first)];
    for (uint32_t i = 0; i < 64; i++) {
        if (characters[i].rank == TN_RANK_NONE) { characters[i].apart &= ~tn_bpe_apart(last); }
    }
}

static void put_character(tn_bpe *bpe, const merge *m, uint32_t rank) {
    if (m->left != 2 || m->right != 1 || !is_character(m->bytes)) { return; }
    tn_bpe_character *character = &bpe->characters[tn_bpe_character_number(m->bytes)];
    if (character->rank != TN_RANK_NONE || m->product >= TN_BPE_CHARACTER_SYMBOLS) { return; }
    character->rank = rank;
    character->product = m->product & (TN_BPE_CHARACTER_SYMBOLS - 1);
}

static void note_rank(uint32_t *lowest, uint32_t rank) {
    if (rank < *lowest) { *lowest = rank; }
}

static void note_bytes(tn_bpe *bpe, const merge *m, uint32_t rank) {
    const unsigned char *border = m->bytes + m->left; /* the first byte of the right part */
    use_part(bpe, m->bytes, m->left);
    use_part(bpe, border, m->right);
    if (m->right == 1) { note_rank(&bpe->byte_pairs[border[-1] << 8 | border[0]].before, rank); }
    if (m->left == 1) { note_rank(&bpe->byte_pairs[m->bytes[0] << 8 | border[0]].behind, rank); }
    if (m->left == 1 && m->right == 1) { put_byte_pair(bpe, m->bytes, rank, m->product); }
    if (m->right == 2) { take_along(bpe, border[-1], border); }
    put_character(bpe, m, rank);
}

/* ---- the table --------------------------------------------------------------------------------------------- */

static void put_merge(tn_bpe *bpe, const tn_bpe_merge *m) {
    uint64_t hash = tn_bpe_merge_hash(bpe, m->left, m->right), bit = tn_bpe_filter_bit(bpe, hash);
    uint64_t key = tn_bpe_merge_key(m->left, m->right);
    for (uint32_t i = 0;; i++) {
        tn_bpe_merge_line *line = &bpe->merges[(hash + i / 4) & bpe->merge_mask];
        if (line->key[i % 4] == key) { return; } /* of equal ones the first counts */
        if (line->key[i % 4]) { continue; }
        line->key[i % 4] = key;
        line->gives[i % 4] = m->gives;
        bpe->merge_filter[bit / 64] |= 1ull << bit % 64;
        return;
    }
}

/* Room for `count` merges. */
static int32_t make_table(tn_bpe *bpe, uint32_t count) {
    uint64_t lines = 4;
    while (4 * lines / 3 * 2 <= count) { lines *= 2; }
    bpe->merges = tn_arena_get(&bpe->vocabulary.arena, lines + 1, sizeof *bpe->merges);
    bpe->merge_filter = tn_arena_get(&bpe->vocabulary.arena, 16 * lines / 64, sizeof(uint64_t));
    bpe->filter_mask = 16 * lines - 1;
    bpe->merge_mask = lines - 1;
    bpe->merge_seed = bpe->vocabulary.words.seed;
    return bpe->merges && bpe->merge_filter ? TN_OK : TN_E_MEMORY;
}

/* ---- the merges of a file ---------------------------------------------------------------------------------- */

static int32_t take_merge(loader *l, merge *m, uint32_t rank, tn_bpe_merge *out) {
    uint32_t left = symbol_of(l, &m->left_key), right = symbol_of(l, &m->right_key);
    if (left == TN_WORD_NONE || right == TN_WORD_NONE || m->product == TN_WORD_NONE) { return TN_E_MEMORY; }
    *out = (tn_bpe_merge){left, right, {rank, m->product}};
    note_bytes(l->bpe, m, rank);
    __builtin_prefetch(&l->bpe->merges[tn_bpe_merge_hash(l->bpe, left, right) & l->bpe->merge_mask], 1);
    return TN_OK;
}

/* The next `count` merges, at most BATCH: all of them as bytes, whose look-ups then wait for memory together. They go
 * into the table with the next batch. */
static int32_t read_batch(loader *l, const unsigned char **at, uint32_t rank, uint32_t count) {
    merge merges[BATCH];
    tn_text texts[BATCH];
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        texts[i] = tn_string_next(at);
        total += texts[i].size;
    }
    unsigned char *bytes = tn_scratch_get(&l->scratch, total, 1);
    if (!bytes) { return TN_E_MEMORY; }
    for (uint32_t i = 0; i < count; bytes += texts[i++].size) { read_merge(l, texts[i], bytes, &merges[i]); }
    for (uint32_t i = 0; i < count; i++) {
        if (rank) { put_merge(l->bpe, &l->waiting[i]); }
        if (take_merge(l, &merges[i], rank + i, &l->waiting[i]) != TN_OK) { return TN_E_MEMORY; }
    }
    return TN_OK;
}

/* Where entries' memory ends, and whether all of them differ. */
static void look_at_entries(loader *l) {
    const tn_vocabulary *v = &l->bpe->vocabulary;
    uint64_t words = 0;
    for (uint32_t id = 0; id < v->facts.size; id++) {
        int is_word = (v->kinds[id] & TN_KIND_MASK) == TN_TOKEN_NORMAL;
        words += (uint64_t)(is_word && v->piece_at[id + 1] > v->piece_at[id]);
    }
    tn_text last = v->texts[v->facts.size - 1];
    l->guess = words == v->words.used;
    l->end = l->bpe->rules->flags & TN_RULES_RAW ? (const unsigned char *)last.data + last.size
                                                 : v->pieces + v->piece_at[v->facts.size];
}

static int32_t make_of_file(loader *l) {
    tn_bpe *bpe = l->bpe;
    const unsigned char *at = bpe->merge_texts;
    uint32_t count = bpe->merge_count, rank = 0;
    if (make_table(bpe, count) != TN_OK || tn_words_create(&l->absent, bpe->vocabulary.host, 0) != TN_OK) {
        return TN_E_MEMORY;
    }
    look_at_entries(l);
    for (; rank < count; rank += BATCH) {
        if (read_batch(l, &at, rank, count - rank < BATCH ? count - rank : BATCH) != TN_OK) {
            return TN_E_MEMORY;
        }
    }
    for (rank = count < BATCH ? 0 : count - BATCH; rank < count; rank++) {
        put_merge(bpe, &l->waiting[rank % BATCH]);
    }
    return TN_OK;
}

/* ---- merges that entries stand for ------------------------------------------------------------------------- */

/* Each entry with each of its cuts whose two sides are entries. Returns how many there are; puts them into the table
 * if there is one. */
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

static int32_t make_of_entries(tn_bpe *bpe) {
    bpe->merges = NULL;
    bpe->merge_count = merges_of_entries(bpe);
    if (make_table(bpe, bpe->merge_count) != TN_OK) { return TN_E_MEMORY; }
    merges_of_entries(bpe);
    return TN_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static int32_t make(tn_bpe *bpe) {
    const tn_host *host = bpe->vocabulary.host;
    uint32_t size = bpe->vocabulary.facts.size;
    loader l = {.bpe = bpe, .scratch.host = host, .symbols = size + 256, .last = size};
    int32_t code = tn_cache_create(&bpe->cache, host, size);
    bpe->byte_pairs = tn_arena_get(&bpe->vocabulary.arena, 65536, sizeof *bpe->byte_pairs);
    bpe->characters = tn_arena_get(&bpe->vocabulary.arena, TN_BPE_CHARACTERS, sizeof *bpe->characters);
    if (!bpe->byte_pairs || !bpe->characters) { code = TN_E_MEMORY; }
    if (code == TN_OK) {
        memset(bpe->characters, 0xff, TN_BPE_CHARACTERS * sizeof *bpe->characters);
        memset(bpe->byte_pairs, 0xff, 65536 * sizeof *bpe->byte_pairs); /* TN_RANK_NONE; sure till used */
        code = bpe->by_id ? make_of_entries(bpe) : make_of_file(&l);
    }
    tn_words_free(&l.absent);
    tn_scratch_free(&l.scratch);
    return code;
}

int32_t tn_bpe_make_merges(tn_bpe *bpe, tn_error *err) {
    if (atomic_load_explicit(&bpe->merges_made, memory_order_acquire)) { return TN_OK; }
    int32_t code = TN_OK;
    pthread_mutex_lock(&bpe->making);
    if (!atomic_load_explicit(&bpe->merges_made, memory_order_relaxed)) {
        code = make(bpe);
        atomic_store_explicit(&bpe->merges_made, code == TN_OK, memory_order_release);
    }
    pthread_mutex_unlock(&bpe->making);
    if (code != TN_OK) { TN_FAIL(err, code, "no memory for %u merges", bpe->merge_count); }
    return TN_OK;
}
