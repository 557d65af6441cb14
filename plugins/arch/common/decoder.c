/*
 * decoder.c - the interface tenon.arch/1 for a family that is a table of names with their traits.
 */
#include "decoder.h"

static const decoder_traits *traits_of(const decoder_family *family, const char *name) {
    for (uint32_t i = 0; i < family->count; i++) {
        if (strcmp(family->names[i].name, name) == 0) { return &family->names[i]; }
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

static int32_t configure(void *self, const char *name, const tn_meta *meta, uint64_t vocab_size,
                         const tn_report *report, tn_facts *facts, void **config, tn_error *err) {
    const decoder_family *family = self;
    const tn_host *host = family->host;
    const decoder_traits *traits = traits_of(family, name);
    if (!traits) {
        TN_FAIL(err, TN_E_PLUGIN_MANIFEST, "%s: claimed by the manifest, unknown to the plugin", name);
    }
    variant_watch watch;
    variant_watch_begin(&watch, host, meta, name);
    tn_params params = tn_params_begin(host, &watch.meta, report, name);
    uint32_t layer_count = tn_param_u32(&params, "block_count", 1, TN_LAYERS_MAX);
    uint64_t size = sizeof(decoder) + layer_count * sizeof(decoder_layer);
    decoder *d = host->alloc(host, size, _Alignof(decoder));
    if (!d) { TN_FAIL(err, TN_E_MEMORY, "no memory for the hyperparameters of %u layers", layer_count); }
    memset(d, 0, size);
    d->host = host;
    d->traits = traits;
    d->layer_count = layer_count;
    decoder_read(&params, vocab_size, d);
    variant_watch_check(&watch, &params);
    int32_t code = tn_params_end(&params, err);
    if (code != TN_OK) {
        host->free(host, d);
        return code;
    }
    fill_facts(d, facts);
    *config = d;
    return TN_OK;
}

static void release(void *self, void *config) {
    const decoder_family *family = self;
    family->host->free(family->host, config);
}

static int32_t tensors(void *self, void *config, const tn_claims *claims, tn_error *err) {
    (void)self, (void)err;
    decoder_claim(claims, config);
    return TN_OK;
}

static int32_t build(void *self, const void *config, const tn_build *options, const tn_builder *builder,
                     tn_error *err) {
    (void)self;
    return decoder_write(config, options, builder, err);
}

const tn_arch decoder_arch = {
    .struct_size = sizeof(tn_arch),
    .configure = configure,
    .release = release,
    .tensors = tensors,
    .build = build,
};

int32_t decoder_open(const tn_host *host, const decoder_traits *names, uint32_t count, void **self,
                     tn_error *err) {
    decoder_family *family = host->alloc(host, sizeof *family, _Alignof(decoder_family));
    if (!family) { TN_FAIL(err, TN_E_MEMORY, "no memory for the plugin"); }
    *family = (decoder_family){host, names, count};
    *self = family;
    return TN_OK;
}

void decoder_close(void *self) {
    decoder_family *family = self;
    family->host->free(family->host, family);
}
