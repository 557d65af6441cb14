/*
 * token_plugin.h - what a family's plugin exports: its own create, destroy, encode and cut, and the questions that all
 * answer alike (token_vocabulary.h).
 */
#ifndef TENON_TOKEN_PLUGIN_H
#define TENON_TOKEN_PLUGIN_H

#include "tenon/plugin.h"
#include "token_vocabulary.h"

static inline int32_t tn_token_open(const tn_host *host, void **self, tn_error *err) {
    (void)err;
    *self = (void *)host;
    return TN_OK;
}

/** The plugin `id` of the functions tn_NAME_create and so on. */
#define TN_TOKENIZER_PLUGIN(id, name)                                                                        \
    static const tn_tokenizer table = {                                                                      \
        .struct_size = sizeof(tn_tokenizer),                                                                 \
        .create = tn_##name##_create,                                                                        \
        .destroy = tn_##name##_destroy,                                                                      \
        .vocab = tn_vocabulary_facts,                                                                        \
        .encode = tn_##name##_encode,                                                                        \
        .piece = tn_vocabulary_read,                                                                         \
        .decode = tn_vocabulary_decode,                                                                      \
        .kind = tn_vocabulary_kind,                                                                          \
        .find = tn_vocabulary_find,                                                                          \
        .ends = tn_vocabulary_ends,                                                                          \
        .leading = tn_vocabulary_leading,                                                                    \
        .cut = tn_##name##_cut,                                                                              \
    };                                                                                                       \
    static const void *interface(const char *wanted) {                                                       \
        return strcmp(wanted, TN_TOKENIZER_1) == 0 ? &table : NULL;                                          \
    }                                                                                                        \
    TN_PLUGIN(id, "0.1.0", "Apache-2.0", 0, tn_token_open, NULL, interface)

#endif
