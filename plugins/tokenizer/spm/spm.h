/*
 * spm.h - a SentencePiece (BPE with scores) tokenizer once it is loaded.
 */
#ifndef TENON_SPM_H
#define TENON_SPM_H

#include "token_vocabulary.h"

/* U+2581, which stands for the space in such vocabularies. */
#define TN_SPM_SPACE "\xe2\x96\x81"
enum { TN_SPM_SPACE_SIZE = 3 };

typedef struct tn_spm {
    tn_vocabulary vocabulary; /**< first: shared functions see only this */
    uint32_t *ranks;          /**< [size] 0 is best; falls as the score rises */
    int32_t bytes[256];       /**< id of each byte, -1 if there is none */
    uint32_t spaces_lead;     /**< 1: no merge can reach over a place where a space follows something else */
} tn_spm;

int32_t tn_spm_create(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                      tn_error *err);
void tn_spm_destroy(void *self, void *tokenizer);
int32_t tn_spm_encode(void *self, const void *tokenizer, tn_encode *call, tn_error *err);

#endif
