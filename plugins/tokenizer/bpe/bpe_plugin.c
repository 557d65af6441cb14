/*
 * bpe_plugin.c - tokenizer.bpe: what the plugin exports.
 */
#include "bpe.h"

#include "tenon/plugin.h"

static const tn_tokenizer table = {
    .struct_size = sizeof(tn_tokenizer),
    .create = tn_bpe_create,
    .destroy = tn_bpe_destroy,
    .vocab = tn_vocabulary_facts,
    .encode = tn_bpe_encode,
    .piece = tn_vocabulary_read,
    .decode = tn_vocabulary_decode,
    .kind = tn_vocabulary_kind,
    .find = tn_vocabulary_find,
    .ends = tn_vocabulary_ends,
    .leading = tn_vocabulary_leading,
    .cut = tn_bpe_cut,
};

static int32_t open(const tn_host *host, void **self, tn_error *err) {
    (void)err;
    *self = (void *)host;
    return TN_OK;
}

static const void *interface(const char *name) {
    return strcmp(name, TN_TOKENIZER_1) == 0 ? &table : NULL;
}

TN_PLUGIN("tokenizer.bpe", "0.1.0", "Apache-2.0", 0, open, NULL, interface);
