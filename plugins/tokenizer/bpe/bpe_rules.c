/*
 * bpe_rules.c - the table of rule sets: a name of tokenizer.ggml.pre is one line, an expression one function
 * of bpe_split.c. The manifest claims the same names; a test looks each of its claims up here.
 *
 * Names whose text is composed first by an unverified account (mpt, olmo, command-r, modern-bert) are not
 * here: a wrong guess would be silent, an unknown name is refused.
 */
#include "bpe_rules.h"

#include "bpe_split.h"

#include <string.h>

static const tn_stage gpt2[] = {{tn_split_gpt2, 0, ""}};
static const tn_stage llama3[] = {{tn_split_words, 3, "\r\n"}};
static const tn_stage qwen2[] = {{tn_split_words, 1, "\r\n"}};
static const tn_stage o200k[] = {{tn_split_cased, 3, "\r\n/"}};
static const tn_stage starcoder[] = {{tn_split_digits, 1, ""}, {tn_split_gpt2, 0, ""}};
static const tn_stage falcon[] = {
    {tn_split_punctuation, 0, ""}, {tn_split_gpt2, 0, ""}, {tn_split_triples, 0, ""}};

#define STAGES(set) set, sizeof(set) / sizeof *(set)

enum {
    WHOLE = TN_RULES_WHOLE,
    BOS = TN_RULES_BOS,
    SEPARATOR = TN_RULES_SEPARATOR,
    NFC = TN_RULES_NFC,
    MASK = TN_RULES_MASK_STRIPS
};

static const tn_rules rule_sets[] = {
    {"gpt-2", STAGES(gpt2), 0},
    {"phi-2", STAGES(gpt2), 0},
    {"jina-es", STAGES(gpt2), 0},
    {"jina-de", STAGES(gpt2), 0},
    {"jina-v2-es", STAGES(gpt2), MASK},
    {"jina-v2-de", STAGES(gpt2), MASK},
    {"jina-v1-en", STAGES(gpt2), SEPARATOR},
    {"jina-v2-code", STAGES(gpt2), SEPARATOR | MASK},
    {"roberta-bpe", STAGES(gpt2), SEPARATOR},
    {"gigachat", STAGES(gpt2), 0},
    {"a.x-4.0", STAGES(gpt2), 0},
    {"mellum", STAGES(gpt2), 0},
    {"exaone4", STAGES(gpt2), 0},
    {"jais", STAGES(gpt2), 0},
    {"trillion", STAGES(gpt2), 0},
    {"granite-docling", STAGES(gpt2), 0},

    {"llama3", STAGES(llama3), WHOLE | BOS},
    {"llama-v3", STAGES(llama3), WHOLE | BOS},
    {"llama-bpe", STAGES(llama3), WHOLE | BOS},
    {"falcon3", STAGES(llama3), WHOLE | BOS},
    {"falcon-h1", STAGES(llama3), WHOLE | BOS},
    {"pixtral", STAGES(llama3), WHOLE | BOS},
    {"midm-2.0", STAGES(llama3), WHOLE | BOS},
    {"lfm2", STAGES(llama3), WHOLE | BOS},
    {"jina-v5-nano", STAGES(llama3), WHOLE | BOS},
    {"dbrx", STAGES(llama3), 0},
    {"smaug-bpe", STAGES(llama3), 0},
    {"chatglm-bpe", STAGES(llama3), 0},
    {"glm4", STAGES(llama3), WHOLE},
    {"glm5", STAGES(llama3), WHOLE},

    {"qwen2", STAGES(qwen2), NFC},
    {"deepseek-r1-qwen", STAGES(qwen2), NFC},
    {"kormo", STAGES(qwen2), 0},
    {"f2llmv2", STAGES(qwen2), NFC},
    {"megrez", STAGES(qwen2), 0},
    {"stablelm2", STAGES(qwen2), 0},
    {"hunyuan", STAGES(qwen2), 0},
    {"solar-open", STAGES(qwen2), 0},
    {"grok-2", STAGES(qwen2), 0},

    {"gpt-4o", STAGES(o200k), 0},
    {"llama4", STAGES(o200k), 0},
    {"kanana2", STAGES(o200k), 0},
    {"talkie", STAGES(o200k), 0},
    {"minimax-m2", STAGES(o200k), 0},
    {"granite-embed-multi-97m", STAGES(o200k), WHOLE},

    {"starcoder", STAGES(starcoder), 0},
    {"refact", STAGES(starcoder), 0},
    {"smollm", STAGES(starcoder), 0},
    {"codeshell", STAGES(starcoder), 0},
    {"exaone", STAGES(starcoder), 0},
    {"minerva-7b", STAGES(starcoder), 0},
    {"mellum2", STAGES(starcoder), 0},

    {"falcon", STAGES(falcon), 0},
};

const tn_rules *tn_rules_find(const char *name, uint64_t size) {
    for (uint32_t i = 0; i < sizeof rule_sets / sizeof *rule_sets; i++) {
        const char *known = rule_sets[i].name;
        if (strlen(known) == size && memcmp(known, name, size) == 0) { return &rule_sets[i]; }
    }
    return NULL;
}
