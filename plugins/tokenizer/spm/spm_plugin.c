/*
 * spm_plugin.c - tokenizer.spm: what the plugin exports.
 */
#include "spm.h"

#include "tenon/plugin.h"

static const tn_tokenizer table = {
    .struct_size = sizeof(tn_tokenizer),
    .create = tn_spm_create,
    .destroy = tn_spm_destroy,
    .vocab = tn_vocabulary_facts,
    .encode = tn_spm_encode,
    .piece = tn_vocabulary_read,
    .decode = tn_vocabulary_decode,
    .kind = tn_vocabulary_kind,
    .find = tn_vocabulary_find,
    .ends = tn_vocabulary_ends,
    .leading = tn_vocabulary_leading,
    .cut = tn_spm_cut,
};

static int32_t open(const tn_host *host, void **self, tn_error *err) {
    (void)err;
    *self = (void *)host;
    return TN_OK;
}

static const void *interface(const char *name) {
    return strcmp(name, TN_TOKENIZER_1) == 0 ? &table : NULL;
}

TN_PLUGIN("tokenizer.spm", "0.1.0", "Apache-2.0", 0, open, NULL, interface);
