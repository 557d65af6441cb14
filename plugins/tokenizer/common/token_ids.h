/*
 * token_ids.h - the ids of one call of encode: counted always, written while there is room.
 */
#ifndef TENON_TOKEN_IDS_H
#define TENON_TOKEN_IDS_H

#include "tenon/errors.h"
#include "tenon/tokenizer.h"

static inline void tn_ids_add(tn_encode *call, int32_t id) {
    if (call->count < call->capacity) { call->ids[call->count] = id; }
    call->count++;
}

/** In front of all others. */
static inline void tn_ids_begin(tn_encode *call, const tn_vocab *facts) {
    call->count = 0;
    if ((call->flags & TN_ENCODE_ADD) && facts->add_bos) { tn_ids_add(call, facts->bos); }
}

/** Behind all others. */
static inline int32_t tn_ids_end(tn_encode *call, const tn_vocab *facts, tn_error *err) {
    if (call->flags & TN_ENCODE_ADD) {
        if (facts->add_eos) {
            tn_ids_add(call, facts->eos);
        } else if (facts->add_separator) {
            tn_ids_add(call, facts->separator);
        }
    }
    if (call->count <= call->capacity) { return TN_OK; }
    TN_FAIL(err, TN_E_RANGE, "the text has %llu ids, there is room for %llu", (unsigned long long)call->count,
            (unsigned long long)call->capacity);
}

#endif
