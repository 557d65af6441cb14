/*
 * bpe_split.h - the splitters: published regular expressions, written out by hand. All run in time linear in
 * the text, with a constant stack and without memory. Where one step of an expression would have to count to
 * the end of a run again and again, it is two stages here.
 */
#ifndef TENON_BPE_SPLIT_H
#define TENON_BPE_SPLIT_H

#include "bpe_rules.h"

#define TN_SPLITTER(name)                                                                                    \
    const unsigned char *name(const tn_stage *stage, const unsigned char *at, const unsigned char *end)

/* CS is 's|'t|'re|'ve|'m|'ll|'d, CI the same without regard to case, WS \s+(?!\S)|\s+. */

/** Bytes of an apostrophe and s, t, m, d, re, ve or ll; 0 if that is not here. Without regard to case, U+017F
 * (long s) is an s too. */
uint32_t tn_split_contraction(const unsigned char *at, const unsigned char *end, int any_case);

/** CS| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|WS */
TN_SPLITTER(tn_split_gpt2);
/** CI|[^no_prefix]?[letters]+|\p{N}{1,most}| ?[symbols]+[after]*|\s*[\r\n]+|WS, where letters are \p{L},
 * no_prefix is \r\n\p{L}\p{N} and symbols are what is none of \s\p{L}\p{N}. */
TN_SPLITTER(tn_split_words);
/** The same by stage->shape. */
TN_SPLITTER(tn_split_shaped);
/** Words cut at capitals, with marks inside and contractions at their end: instead of CI and the words
 * [^\r\n\p{L}\p{N}]?UP*LOW+CI?|[^\r\n\p{L}\p{N}]?UP+LOW*CI?, where UP is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], LOW
 * [\p{Ll}\p{Lm}\p{Lo}\p{M}]. */
TN_SPLITTER(tn_split_cased);
/** The same without CI? */
TN_SPLITTER(tn_split_cased_only);
/** \p{Han}+| and then as tn_split_cased with \p{Han} neither in UP nor in LOW. */
TN_SPLITTER(tn_split_han);

/** [classes]{1,most} */
TN_SPLITTER(tn_split_class);
/** lead?[set]{1,most} for each of stage->sets. */
TN_SPLITTER(tn_split_runs);
/** [^\n]+|\n+ */
TN_SPLITTER(tn_split_lines);
/** Before each U+2581. */
TN_SPLITTER(tn_split_marked);
/** Before each U+2581 that is not behind another, and not behind a byte b with stage->joins[b]. */
TN_SPLITTER(tn_split_joined);
/** [0-9][0-9][0-9] */
TN_SPLITTER(tn_split_triples);
/** \s+$ */
TN_SPLITTER(tn_split_trailing);
/** Of white space without newlines: \s{512}(?!\S)|\s{256}(?!\S)|...|\s{4}(?!\S)|\s{1,2}(?!\S)|\s */
TN_SPLITTER(tn_split_spaces);

/** D{1,3}(?=(?:D{3})*(?!W)), digits D, stage->classes, by threes from the right, but for those before a
 * character of W, stage->sets: this stage cuts off what is more than a multiple of three, */
TN_SPLITTER(tn_split_heads);
/** and this one cuts pieces that end in a D by threes from the left. */
TN_SPLITTER(tn_split_threes);
/** (?=(\d{3})+(?!\d)), cuts of no width: the first of each run of digits, */
TN_SPLITTER(tn_split_first_cut);
/** and the others. */
TN_SPLITTER(tn_split_more_cuts);

/** <sentinel:[0-9]+> */
TN_SPLITTER(tn_split_sentinel);
/** (IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z */
TN_SPLITTER(tn_split_image);
/** ([\t\n]|    |  ) */
TN_SPLITTER(tn_split_indent);

#endif
