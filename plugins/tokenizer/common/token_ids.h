/*
 * token_ids.h - the ids of one call of encode: counted always, written while there is room.
 */
#ifndef TENON_TOKEN_IDS_H
#define TENON_TOKEN_IDS_H

#include "tenon/errors.h"
#include "tenon/tokenizer.h"

#include <string.h>

static inline void tn_ids_add(tn_encode *call, int32_t id) {
    if (call->count < call->capacity) { call->ids[call->count] = id; }
    call->count++;
}

static inline void tn_ids_add_all(tn_encode *call, const int32_t *ids, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) { tn_ids_add(call, ids[i]); }
}

/** In front of all others. TN_E_INPUT for a second text: this is for families that take one. */
static inline int32_t tn_ids_begin(tn_encode *call, const tn_vocab *facts, tn_error *err) {
    call->count = 0;
    if (TN_HAS(call, pair_size) && call->pair) {
        TN_FAIL(err, TN_E_INPUT, "this tokenizer takes one text, not two");
    }
    int front = (call->flags & TN_ENCODE_ADD) && !(call->flags & TN_ENCODE_CONTINUES);
    if (front && facts->add_bos) { tn_ids_add(call, facts->bos); }
    return TN_OK;
}

/** Behind all others. */
static inline int32_t tn_ids_end(tn_encode *call, const tn_vocab *facts, tn_error *err) {
    if ((call->flags & TN_ENCODE_ADD) && !(call->flags & TN_ENCODE_MORE)) {
        if (facts->add_eos) {
            tn_ids_add(call, facts->eos);
        } else if (facts->add_separator) {
            tn_ids_add(call, facts->separator);
        }
    }
    if (TN_HAS(call, types) && call->types) {
        memset(call->types, 0, call->count < call->capacity ? call->count : call->capacity);
    }
    if (call->count <= call->capacity) { return TN_OK; }
    TN_FAIL(err, TN_E_RANGE, "the text has %llu ids, there is room for %llu", (unsigned long long)call->count,
            (unsigned long long)call->capacity);
}

#endif
