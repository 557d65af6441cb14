/* See made_codec.h. */
#include "made_codec.h"

#include "engine_state.h"

#include <string.h>

static int is_blank(const char *text, uint64_t at) {
    return text[at] == ' ' || text[at] == '\n';
}

static int is_control(const tn_encode *call, uint64_t at) {
    if (!(call->flags & TN_ENCODE_SPECIAL) || call->text_size - at < 3) { return 0; }
    for (uint64_t i = 0; TN_HAS(call, plain_count) && i < call->plain_count; i++) {
        if (call->plain[2 * i] < at + 3 && call->plain[2 * i + 1] > at) { return 0; }
    }
    return memcmp(call->text + at, "<c>", 3) == 0;
}

static void add(tn_encode *call, int32_t id, uint8_t type) {
    if (call->count < call->capacity) {
        call->ids[call->count] = id;
        if (TN_HAS(call, types) && call->types) { call->types[call->count] = type; }
    }
    call->count++;
}

static int32_t id_of(const char *text, uint64_t size) {
    uint32_t hash = 2166136261u;
    for (uint64_t i = 0; i < size; i++) { hash = (hash ^ (uint8_t)text[i]) * 16777619u; }
    return (int32_t)((hash >> 1) | 4);
}

static int32_t add_text(tn_encode *call, tn_error *err) {
    for (uint64_t at = 0, end; at < call->text_size; at = end) {
        end = at + 1;
        if (is_control(call, at)) {
            end = at + 3;
            add(call, 3, 0);
            continue;
        }
        while (end < call->text_size && is_blank(call->text, end) == is_blank(call->text, at) &&
               !is_control(call, end)) {
            end++;
        }
        if (end - at == strlen(MADE_FAULT) && memcmp(call->text + at, MADE_FAULT, end - at) == 0) {
            TN_FAIL(err, TN_E_FAILED, "%.5s at %llu of %llu", call->text + at, (unsigned long long)at,
                    (unsigned long long)call->text_size);
        }
        add(call, id_of(call->text + at, end - at), 0);
    }
    return TN_OK;
}

static int32_t encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err) {
    (void)self, (void)tokenizer;
    call->count = 0;
    if ((call->flags & (TN_ENCODE_ADD | TN_ENCODE_CONTINUES)) == TN_ENCODE_ADD) { add(call, 1, 0); }
    TN_TRY(add_text(call, err));
    if (TN_HAS(call, pair_size) && call->pair) { add(call, id_of(call->pair, call->pair_size), 1); }
    if ((call->flags & (TN_ENCODE_ADD | TN_ENCODE_MORE)) == TN_ENCODE_ADD) { add(call, 2, 0); }
    return call->count > call->capacity ? TN_E_RANGE : TN_OK;
}

/* Where the last run begins that is not begun by what may still become a control token. */
static uint64_t cut(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags) {
    (void)self, (void)tokenizer, (void)flags;
    for (uint64_t at = size; at-- > 1;) {
        if (is_blank(text, at) && !is_blank(text, at - 1)) { return at; }
    }
    return 0;
}

const tn_tokenizer made_table = {.struct_size = sizeof made_table, .encode = encode, .cut = cut};
const tn_tokenizer made_table_without_cut = {.struct_size = offsetof(tn_tokenizer, cut), .encode = encode};

tn_text_codec made_codec(const tn_tokenizer *table, uint32_t encode_size, uint32_t threads) {
    static tn_entry entry = {.info = {.id = "tokenizer.made"}};
    return (tn_text_codec){.table = table, .entry = &entry, .encode_size = encode_size, .threads = threads};
}
