/*
 * token_vocabulary.c - what is asked of a loaded vocabulary, the same for every family.
 */
#include "token_vocabulary.h"

void tn_vocabulary_free(tn_vocabulary *v) {
    tn_words_free(&v->words);
    tn_words_free(&v->literals);
    tn_arena_free(&v->arena);
}

static int inside(const tn_vocabulary *v, int32_t id) {
    return id >= 0 && (uint32_t)id < v->facts.size;
}

void tn_vocabulary_facts(void *self, const void *tokenizer, tn_vocab *out) {
    (void)self;
    const tn_vocabulary *v = tokenizer;
    uint32_t size = out->struct_size;
    memcpy(out, &v->facts, size < sizeof *out ? size : sizeof *out);
    out->struct_size = size;
}

int64_t tn_vocabulary_read(void *self, const void *tokenizer, int32_t id, uint32_t flags, char *out,
                           uint64_t capacity) {
    (void)self;
    const tn_vocabulary *v = tokenizer;
    if (!inside(v, id)) { return -1; }
    tn_text piece = tn_vocabulary_piece(v, id, flags);
    uint64_t copied = piece.size < capacity ? piece.size : capacity;
    if (copied) { memcpy(out, piece.data, copied); }
    return (int64_t)piece.size;
}

int32_t tn_vocabulary_decode(void *self, const void *tokenizer, const int32_t *ids, uint64_t count,
                             uint32_t flags, char *out, uint64_t capacity, uint64_t *size, tn_error *err) {
    (void)self;
    const tn_vocabulary *v = tokenizer;
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!inside(v, ids[i])) {
            TN_FAIL(err, TN_E_INPUT, "id %d is outside the vocabulary of %u", ids[i], v->facts.size);
        }
        tn_text piece = tn_vocabulary_piece(v, ids[i], flags);
        uint64_t drop = i == 0 && v->space_prefix && piece.size && piece.data[0] == ' ';
        uint64_t length = piece.size - drop;
        if (length && total < capacity) {
            memcpy(out + total, piece.data + drop, length < capacity - total ? length : capacity - total);
        }
        total += length;
    }
    *size = total;
    if (total > capacity) {
        TN_FAIL(err, TN_E_RANGE, "the text has %llu bytes, there is room for %llu", (unsigned long long)total,
                (unsigned long long)capacity);
    }
    return TN_OK;
}

uint32_t tn_vocabulary_kind(void *self, const void *tokenizer, int32_t id) {
    (void)self;
    const tn_vocabulary *v = tokenizer;
    return inside(v, id) ? v->kinds[id] & TN_KIND_MASK : 0;
}

int32_t tn_vocabulary_find(void *self, const void *tokenizer, const char *text, uint64_t size) {
    (void)self;
    const tn_vocabulary *v = tokenizer;
    uint32_t id = tn_words_find(&v->literals, (const unsigned char *)text, size);
    if (id == TN_WORD_NONE) { id = tn_words_find(&v->words, (const unsigned char *)text, size); }
    return id < v->facts.size ? (int32_t)id : -1;
}

uint32_t tn_vocabulary_ends(void *self, const void *tokenizer, int32_t id) {
    (void)self;
    const tn_vocabulary *v = tokenizer;
    return inside(v, id) && (v->kinds[id] & TN_KIND_ENDS) != 0;
}

uint32_t tn_vocabulary_leading(void *self, const void *tokenizer, int32_t first_id) {
    (void)self;
    const tn_vocabulary *v = tokenizer;
    if (!v->space_prefix || !inside(v, first_id)) { return 0; }
    tn_text piece = tn_vocabulary_piece(v, first_id, 0);
    return piece.size && piece.data[0] == ' ';
}
