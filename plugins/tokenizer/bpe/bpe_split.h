/*
 * bpe_split.h - the splitters: published regular expressions, written out by hand. All run in time linear in
 * the text and without memory. Abbreviations are those of ../shared/tokenizer/PRETOKENIZERS.md.
 */
#ifndef TENON_BPE_SPLIT_H
#define TENON_BPE_SPLIT_H

#include "bpe_rules.h"

#define TN_SPLITTER(name)                                                                                    \
    const unsigned char *name(const tn_stage *stage, const unsigned char *at, const unsigned char *end)

/** GPT2: CS| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|WS */
TN_SPLITTER(tn_split_gpt2);
/** LLAMA3, QWEN2: CI|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
 * ?[^\s\p{L}\p{N}]+[after_symbols]*|\s*[\r\n]+|WS */
TN_SPLITTER(tn_split_words);
/** O200K: the same, with words cut at capitals, marks inside words, contractions at the end of words:
 * [^\r\n\p{L}\p{N}]?UP*LOW+CI?|[^\r\n\p{L}\p{N}]?UP+LOW*CI? */
TN_SPLITTER(tn_split_cased);
/** \p{N}{1,digits} */
TN_SPLITTER(tn_split_digits);
/** Falcon's [\p{P}$+<=>^~|`]+ */
TN_SPLITTER(tn_split_punctuation);
/** [0-9][0-9][0-9] */
TN_SPLITTER(tn_split_triples);

#endif
