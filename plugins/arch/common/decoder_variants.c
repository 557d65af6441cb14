/*
 * decoder_variants.c - keys that change what a decoder computes. A family that does not read one of them must not
 * run a file that has it: it would compute something else than the file asks for. So every family watches which of
 * these keys it asked for, and refuses the others by name unless they say what is computed anyway.
 *
 * The list has the keys of GGUF (gguf-py's constants) that reach into the graph of some decoder.
 */
#include "decoder.h"

/* `neutral`, and `also`: values that ask for nothing. Bools count as 0 and 1. */
static const struct variant {
    const char *key;
    double neutral, also;
} variants[] = {
    {"activation_sparsity_scale", 0, 0},
    {"adapters.count", 0, 0},
    {"altup.num_inputs", 0, 0},
    {"attention.causal", 1, 1},
    {"attention.clamp_kqv", 0, 0},
    {"attention.group_norm_groups", 0, 0},
    {"attention.indexer.top_k", 0, 0},
    {"attention.key_length_mla", 0, 0},
    {"attention.key_length_swa", 0, 0},
    {"attention.kv_lora_rank", 0, 0},
    {"attention.max_alibi_bias", 0, 0},
    {"attention.output_scale", 0, 1},
    {"attention.q_lora_rank", 0, 0},
    {"attention.recurrent_layers", 0, 0},
    {"attention.relative_buckets_count", 0, 0},
    {"attention.rope_pattern", 1, 1},
    {"attention.scale", 0, 0},
    {"attention.shared_kv_layers", 0, 0},
    {"attention.sliding_window", 0, 0},
    {"attention.sliding_window_pattern", 0, 1},
    {"attention.temperature_length", 0, 0},
    {"attention.temperature_scale", 0, 0},
    {"attention.value_length_mla", 0, 0},
    {"attention.value_length_swa", 0, 0},
    {"attention.value_scale", 0, 1},
    {"attn_logit_softcapping", 0, 0},
    {"attn_res.block_size", 0, 0},
    {"classifier.pooling_type", 0, 0},
    {"decoder_block_count", 0, 0},
    {"deepstack_mapping", -1, -1},
    {"embedding_length_out", 0, 0},
    {"embedding_length_per_layer_input", 0, 0},
    {"embedding_scale", 0, 1},
    {"expert_chunk_feed_forward_length", 0, 0},
    {"expert_count", 0, 0},
    {"expert_gating_func", 0, 0},
    {"expert_group_count", 0, 1},
    {"expert_group_scale", 0, 1},
    {"expert_group_used_count", 0, 1},
    {"expert_latent_length", 0, 0},
    {"expert_shared_count", 0, 0},
    {"expert_shared_feed_forward_length", 0, 0},
    {"expert_used_count", 0, 0},
    {"expert_weights_scale", 0, 1},
    {"experts_per_group", 0, 1},
    {"final_logit_softcapping", 0, 0},
    {"full_attention_interval", 0, 1},
    {"hidden_activation", 0, 0},
    {"hyper_connection.count", 0, 1},
    {"interleave_moe_layer_step", 0, 1},
    {"leading_dense_block_count", 0, 0},
    {"logit_scale", 0, 1},
    {"moe_every_n_layers", 0, 1},
    {"moe_latent_size", 0, 0},
    {"n_deepstack_layers", 0, 0},
    {"nextn_predict_layers", 0, 0},
    {"num_loops", 0, 1},
    {"residual_scale", 0, 1},
    {"rope.dimension_count_swa", 0, 0},
    {"rope.dimension_sections", 0, 0},
    {"rope.freq_base_swa", 0, 0},
    {"rope.scaling.alpha", 0, 1},
    {"rope.scaling.yarn_attn_factor", 1, 1},
    {"rope.scaling.yarn_beta_fast", 32, 32},
    {"rope.scaling.yarn_beta_slow", 1, 1},
    {"rope.scaling.yarn_ext_factor", 1, -1},
    {"rope.scaling.yarn_log_multiplier", 0, 0},
    {"router_logit_softcapping", 0, 0},
    {"skip_loop_final_norm", 0, 0},
    {"ssm.state_size", 0, 0},
    {"swiglu_clamp_exp", 0, 0},
    {"swiglu_clamp_shexp", 0, 0},
    {"swin_norm", 0, 0},
    {"use_parallel_residual", 0, 0},
};
enum { VARIANT_COUNT = sizeof variants / sizeof *variants };
_Static_assert(VARIANT_COUNT <= 128, "a bit for each");

static int32_t find_watched(const tn_meta *meta, const char *key, tn_kv *out) {
    variant_watch *watch = (variant_watch *)meta->context;
    size_t prefix = strlen(watch->prefix);
    int ours = strncmp(key, watch->prefix, prefix) == 0 && key[prefix] == '.';
    for (uint32_t i = 0; ours && i < VARIANT_COUNT; i++) {
        if (strcmp(key + prefix + 1, variants[i].key) == 0) { watch->read[i / 64] |= UINT64_C(1) << i % 64; }
    }
    return watch->inner->find(watch->inner, key, out);
}

void variant_watch_begin(variant_watch *watch, const tn_host *host, const tn_meta *inner,
                         const char *prefix) {
    memset(watch, 0, sizeof *watch);
    TN_STAMP(host, &watch->meta, tn_meta);
    watch->meta.context = watch;
    watch->meta.find = find_watched;
    watch->inner = inner;
    watch->prefix = prefix;
}

/* True and *out: element i as a number. */
static bool as_number(const tn_kv *kv, uint64_t i, double *out) {
    uint32_t type = kv->type == TN_KV_ARRAY ? kv->element_type : kv->type;
    int64_t n;
    if (type == TN_KV_BOOL) {
        *out = ((const unsigned char *)kv->data)[i] != 0;
        return true;
    }
    if (tn_kv_int(kv, i, &n)) {
        *out = (double)n;
        return true;
    }
    return tn_kv_float(kv, i, out);
}

/* The first element that asks for something, or count. */
static uint64_t first_asking(const struct variant *variant, const tn_kv *kv) {
    double number;
    for (uint64_t i = 0; i < kv->count; i++) {
        if (!as_number(kv, i, &number) || (number != variant->neutral && number != variant->also)) {
            return i;
        }
    }
    return kv->count;
}

static void check_variant(const variant_watch *watch, tn_params *params, const struct variant *variant) {
    char name[TN_NAME_MAX], found[96], wanted[96];
    tn_kv kv;
    memset(&kv, 0, sizeof kv);
    TN_STAMP(params->host, &kv, tn_kv);
    snprintf(name, sizeof name, "%s.%s", watch->prefix, variant->key);
    if (watch->inner->find(watch->inner, name, &kv) != TN_OK) { return; }
    uint64_t at = kv.type == TN_KV_STRING ? 0 : first_asking(variant, &kv);
    if (kv.type != TN_KV_STRING && at == kv.count) { return; }
    tn_kv_words(&kv, at, found, sizeof found);
    snprintf(wanted, sizeof wanted, "absent or %g: no plugin here computes it for this architecture",
             variant->neutral);
    tn_param_fault(params, TN_E_PARAM_UNSUPPORTED, variant->key, found, wanted);
}

void variant_watch_check(const variant_watch *watch, tn_params *params) {
    for (uint32_t i = 0; i < VARIANT_COUNT; i++) {
        if (!(watch->read[i / 64] >> i % 64 & 1)) { check_variant(watch, params, &variants[i]); }
    }
}
