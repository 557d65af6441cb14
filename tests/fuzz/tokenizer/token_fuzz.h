/*
 * token_fuzz.h - using a tokenizer in every way, for the fuzz targets: what must hold for any vocabulary and
 * any text.
 */
#ifndef TENON_TOKEN_FUZZ_H
#define TENON_TOKEN_FUZZ_H

#include "token_made.h"

/** A family's functions, linked in and not loaded. */
typedef struct fuzz_family {
    int32_t (*create)(void *self, const tn_meta *meta, const tn_report *report, void **tokenizer,
                      tn_error *err);
    void (*destroy)(void *self, void *tokenizer);
    int32_t (*encode)(void *self, const void *tokenizer, tn_encode *call, tn_error *err);
    uint64_t (*cut)(void *self, const void *tokenizer, const char *text, uint64_t size, uint32_t flags);
} fuzz_family;
extern const fuzz_family fuzz_families[3]; /* bpe, spm, wordpiece */

/** Encodes and decodes a text with some flags; ends the process if a promise is broken. */
void fuzz_use(const fuzz_family *family, test_host *host, const void *tokenizer, const char *text,
              uint64_t size, uint32_t flags);

#endif
