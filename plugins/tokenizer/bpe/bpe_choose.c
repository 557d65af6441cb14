/*
 * bpe_choose.c - which rule set a file asks for.
 */
#include "bpe.h"

#define KEY_PRE "tokenizer.ggml.pre"

static const char wanted[] =
    "a known rule set: gpt-2, llama-bpe, qwen2, gpt-4o, starcoder, smollm, falcon, ...";

static int is_string(const tn_meta *meta, const char *key, tn_kv *kv) {
    return tn_key_find(meta, key, kv) && kv->type == TN_KV_STRING;
}

const tn_rules *tn_bpe_rules(const tn_meta *meta, tn_faults *faults) {
    tn_kv kv;
    if (is_string(meta, "tokenizer.ggml.model", &kv) && kv.count == 6 && memcmp(kv.data, "gemma4", 6) == 0) {
        return tn_rules_find("gemma4", 6); /* the name of the model is that of the rules */
    }
    if (!tn_key_find(meta, KEY_PRE, &kv)) {
        const tn_rules *rules =
            is_string(meta, "general.architecture", &kv) ? tn_rules_of_architecture(kv.data, kv.count) : NULL;
        if (!rules) { tn_fault(faults, TN_E_TOKENIZER_PRE, KEY_PRE, wanted, "nothing"); }
        return rules;
    }
    if (kv.type != TN_KV_STRING) {
        tn_fault_type(faults, KEY_PRE, &kv, "a string");
        return NULL;
    }
    const tn_rules *rules = tn_rules_find(kv.data, kv.count);
    if (!rules) {
        tn_fault(faults, TN_E_TOKENIZER_PRE, KEY_PRE, wanted, "\"%.*s\"",
                 (int)(kv.count < 80 ? kv.count : 80), (const char *)kv.data);
    }
    return rules;
}
