/*
 * bpe_marks.h - where words begin, for 64 bytes at once: classes of bytes are masks of 64 bits, and what an
 * expression says of neighbours is shifts and carries. No branch depends on where a word ends.
 */
#ifndef TENON_BPE_MARKS_H
#define TENON_BPE_MARKS_H

#include "bpe_rules.h"

enum { TN_MARKS_BLOCK = 64 };

/** The pieces of tn_split_words (stage->after empty or "\r\n"): see tn_marks_fn. */
uint64_t tn_marks_words(const tn_stage *stage, const unsigned char *at, const unsigned char *end);

#endif
