/* codec.h - what a tn_text_codec is made of, for those who use its plugin directly. */
#ifndef TENON_CODEC_H
#define TENON_CODEC_H

#include "registry.h"
#include "tenon/model.h"

/** A tokenizer of a file and the plugin it comes from. Immutable. */
struct tn_text_codec {
    const tn_tokenizer *table;
    void *self;
    void *tokenizer;
    tn_vocab vocab;
    const tn_entry *entry;
    uint32_t encode_size; /**< of tn_encode, as this host and the plugin agree on it */
    uint32_t threads;     /**< the engine's */
};

/** The plugin it comes from. */
const tn_entry *tn_codec_entry(const tn_text_codec *codec);
/** tn_tokenizer.cut(), checked; *at is 0 where the family cannot tell. */
int32_t tn_codec_cut(const tn_text_codec *codec, const char *text, uint64_t size, uint32_t flags,
                     uint64_t *at, tn_error *err);

#endif
