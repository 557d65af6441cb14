/*
 * bpe_raw.h - BPE over UTF-8 as it stands (Gemma 4 and its kin): entries are texts with U+2581 for the space,
 * merging begins with characters, and a character without an entry becomes byte entries, <0x00> to <0xFF>.
 */
#ifndef TENON_BPE_RAW_H
#define TENON_BPE_RAW_H

#include "bpe.h"
#include "token_spaced.h"

/** What an entry stands for (tn_family.piece), where spaces are not U+2581. */
int64_t tn_raw_piece(uint32_t kind, tn_text text, unsigned char *out);
/** Replaces symbols of bytes: those above ASCII, and those whose character has no entry, are the byte entries'. */
void tn_raw_bytes(tn_bpe *bpe);
/** Writes a text as its rules want it to `room` and points *text there. TN_OK or TN_E_MEMORY. */
int32_t tn_raw_prepare(const tn_bpe *bpe, tn_scratch *room, const unsigned char **text, uint64_t *size);
/** Symbols of a text's characters, no entry's for those that have none, and where they begin, the end behind the
 * last; at most as many as bytes. Returns how many. */
uint32_t tn_raw_characters(const tn_bpe *bpe, const unsigned char *text, uint32_t size, uint32_t *symbol,
                           uint32_t *start);

#endif
