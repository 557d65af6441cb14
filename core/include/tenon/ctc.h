/*
 * tenon/ctc.h - from frames to text: the alphabet of a model with a ctc output, and the decoding of its rows.
 *
 * Part of libtenon's public interface. A row has a number for each symbol of the alphabet; one symbol, the blank, stands
 * for nothing. A path takes a symbol a row; its text is what is left when repetitions in a row count once and then
 * blanks are dropped. The probability of a text is the sum over its paths.
 */
#ifndef TENON_CTC_H
#define TENON_CTC_H

#include "tenon/model.h"

TN_BEGIN_C

/**
 * The keys "<architecture>.ctc.*" of a file:
 *
 *     alphabet         array of strings: what each symbol is written as. That of the blank is empty, no other is; no two
 *                      are the same; UTF-8 without control characters
 *     blank_index      the number of the blank
 *     bigram_weight    above 0: what log probabilities of the bigrams are multiplied with. Just where there are bigrams
 */
typedef struct tn_alphabet {
    uint32_t size, blank;
    const tn_text *entries; /**< `size` of them, in the mapped file */
    double bigram_weight;   /**< 0: there are no bigrams */
} tn_alphabet;

/** NULL: the model has no ctc output, or its alphabet is refused. Lives as long as fit or model. [any] */
const tn_alphabet *tn_fit_alphabet(const tn_fit *fit);
const tn_alphabet *tn_model_alphabet(const tn_model *model);

/** A decoder: rows in, in pieces of any size; a text out. One thread at a time. */
typedef struct tn_ctc tn_ctc;

typedef struct tn_ctc_options {
    uint32_t size, blank; /**< of the alphabet */
    /** Prefixes of a text that are kept, the most probable ones, up to TN_CTC_BEAM_MOST; 0: only the most probable path
     * is followed. */
    uint32_t beam;
    /** Once the best prefix is twice as long, its characters but so many last ones are settled: prefixes that begin in
     * another way are dropped, and their rows are those of the path that is the best then. It bounds the memory. 0: 1024. */
    uint32_t lag;
    const float *bigrams; /**< `size` rows of `size`; they must outlive the decoder. NULL: none */
    double bigram_weight;
} tn_ctc_options;
#define TN_CTC_BEAM_MOST 1024u

/** TN_E_RANGE: an option. TN_E_INPUT: a bigram that is no finite number. */
int32_t tn_ctc_create(const tn_ctc_options *options, tn_ctc **out, tn_error *err);
/** For the rows of a model; with a beam by its bigrams, where it has any. TN_E_INPUT: it has no ctc output. */
int32_t tn_ctc_open(const tn_model *model, uint32_t beam, tn_ctc **out, tn_error *err);
void tn_ctc_free(tn_ctc *ctc); /**< NULL is fine */
/** The next `count` rows. TN_E_FAILED: a number that is not finite. After a failure a decoder can only be freed. */
int32_t tn_ctc_push(tn_ctc *ctc, const float *rows, uint64_t count, tn_error *err);

/** A character of the text. */
typedef struct tn_ctc_symbol {
    uint32_t symbol;
    uint64_t first, last; /**< its rows in the text's most probable path, from 0 */
    double confidence;    /**< the highest of its probabilities in these rows */
} tn_ctc_symbol;
typedef struct tn_ctc_text {
    const tn_ctc_symbol *symbols; /**< until the next call */
    uint64_t count;
    /** Natural logarithm of the probability: of the text, by the paths that were followed; without a beam of its path. */
    double log_probability;
} tn_ctc_text;

/**
 * The text of all rows. With a beam that whose log probability, with the weighted ones of its bigrams added, is highest;
 * bigrams of the blank are those of the beginning (row) and of the end (column). Of equal ones that wins which was ahead a
 * row earlier, itself before it is made longer, by the lower symbol. The decoder can only be freed then.
 */
int32_t tn_ctc_finish(tn_ctc *ctc, tn_ctc_text *out, tn_error *err);

TN_END_C
#endif
