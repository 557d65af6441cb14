/*
 * decoder.c - the interface tenon.arch/1 for a family that is a table of names with their traits: the functions that
 * DECODER_PLUGIN puts into its table.
 */
#include "decoder.h"

static const decoder_traits *traits_of(const decoder_traits *names, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i].name, name) == 0) { return &names[i]; }
    }
    return NULL;
}

static void fill_facts(const decoder *d, tn_facts *facts) {
    facts->kind = TN_ARCH_DECODER;
    facts->layers = d->layer_count;
    facts->width = d->width;
    facts->heads = tn_layer_number(&d->heads, 0);
    facts->kv_heads = tn_layer_number(&d->kv_heads, 0);
    facts->key_dim = d->key_dim;
    facts->value_dim = d->value_dim;
    facts->feed_forward = decoder_ffn_width(d, 0);
    facts->experts = d->experts;
    facts->experts_used = d->experts_used;
    facts->context = d->context;
    facts->context_limit = d->traits->learned_positions ? d->context : 0;
    facts->rotated = d->rotation.rotated;
    facts->rope_base = d->rotation.base;
    facts->needs_tokenizer = 1;
}

int32_t decoder_configure(const decoder_traits *names, uint32_t count, const tn_host *host, const char *name,
                          const tn_meta *meta, uint64_t vocab_size, const tn_report *report, tn_facts *facts,
                          void **config, tn_error *err) {
    const decoder_traits *traits = traits_of(names, count, name);
    reading r;
    if (!traits) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: claimed by the manifest, unknown to the plugin", name);
    }
    TN_TRY(reading_begin(&r, host, name, meta, report, sizeof(decoder), sizeof(decoder_layer), err));
    decoder *d = r.config;
    d->host = host;
    d->traits = traits;
    d->layer_count = r.layer_count;
    decoder_read(&r.params, vocab_size, d);
    TN_TRY(reading_end(&r, config, err));
    fill_facts(d, facts);
    return TN_OK;
}

int32_t decoder_tensors(void *self, void *config, const tn_claims *claims, tn_error *err) {
    (void)self, (void)err;
    decoder_claim(claims, config);
    return TN_OK;
}

int32_t decoder_build(void *self, const void *config, const tn_build *options, const tn_builder *builder,
                      tn_error *err) {
    (void)self;
    return decoder_write(config, options, builder, err);
}
