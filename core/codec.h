/* codec.h - what a tn_text_codec is made of: shared by codec.c, stream.c and model.c. */
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
};

/** The plugin it comes from. */
const tn_entry *tn_codec_entry(const tn_text_codec *codec);

#endif
