/*
 * made_codec.h - a tokenizer of the tests' own: a run of blanks is a token, and so is a run of anything else; the ids
 * are made from their bytes. <c> is a control token. BOS is 1, EOS 2, <c> 3.
 */
#ifndef TENON_MADE_CODEC_H
#define TENON_MADE_CODEC_H

#include "codec.h"

extern const tn_tokenizer made_table, made_table_without_cut;
/** A codec over it; `encode_size` bytes of tn_encode are known to the "plugin". */
tn_text_codec made_codec(const tn_tokenizer *table, uint32_t encode_size, uint32_t threads);
/** Texts with a token of these bytes cannot be encoded. */
#define MADE_FAULT "fault"

#endif
