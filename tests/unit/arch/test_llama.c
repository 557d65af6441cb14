/*
 * test_llama.c - the llama family without a file: every hyperparameter's faults by key, all of them at once,
 * the tensors it claims in each of its forms, the graph as the builder takes it.
 */
#include "fake_file.h"
#include "graph_build.h"

#include <criterion/criterion.h>

static fake_file file;

static const tn_arch *llama(void) {
    return tenon_plugin.interface(TN_ARCH_1);
}

/* The plugin, opened once for all tests of a process. */
static void *plugin(void) {
    static void *opened;
    tn_error err = TN_ERROR_INIT;
    if (opened) { return opened; }
    cr_assert(tenon_plugin.open(&file.host, &opened, &err) == TN_OK, "%s", err.text);
    return opened;
}

/* A sound file: 2 layers, 4 heads on 2, 64 wide. */
static void sound_file(void) {
    fake_begin(&file);
    fake_u32(&file, "llama.block_count", 2);
    fake_u32(&file, "llama.context_length", 256);
    fake_u32(&file, "llama.embedding_length", 64);
    fake_u32(&file, "llama.feed_forward_length", 160);
    fake_u32(&file, "llama.attention.head_count", 4);
    fake_u32(&file, "llama.attention.head_count_kv", 2);
    fake_f32(&file, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    fake_tensor(&file, "token_embd.weight", 64, 455);
    fake_tensor(&file, "output_norm.weight", 64, 0);
    for (int i = 0; i < 2; i++) {
        static const struct {
            const char *stem;
            uint64_t cols, rows;
        } table[] = {{"attn_norm", 64, 0}, {"ffn_norm", 64, 0},   {"attn_q", 64, 64},
                     {"attn_k", 64, 32},   {"attn_v", 64, 32},    {"attn_output", 64, 64},
                     {"ffn_up", 64, 160},  {"ffn_gate", 64, 160}, {"ffn_down", 160, 64}};
        for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s.weight", i, table[k].stem);
            fake_tensor(&file, name, table[k].cols, table[k].rows);
        }
    }
}

static int32_t configure_as(const char *name, uint64_t vocab, tn_facts *facts, void **config) {
    tn_error err = TN_ERROR_INIT;
    memset(facts, 0, sizeof *facts);
    facts->struct_size = sizeof *facts;
    *config = NULL;
    int32_t code = llama()->configure(plugin(), name, &file.meta, vocab, &file.report, facts, config, &err);
    cr_assert((code == TN_OK) == (*config != NULL), "code %d, config %p", code, *config);
    cr_assert(code == err.code, "returned %d, its error says %d (%s)", code, err.code, err.text);
    cr_assert((code == TN_OK) == (file.reason_count == 0), "code %d with these reasons: %s", code,
              file.reasons);
    return code;
}

/* Configures, claims, builds; returns the builder that owns the graph. */
static tn_graph_builder *whole(const char *name, uint32_t purpose, const tn_graph **graph) {
    tn_facts facts;
    void *config;
    tn_error err = TN_ERROR_INIT;
    tn_graph_builder *builder;
    char unread[512];
    file.claimed_count = 0;
    cr_assert(configure_as(name, 455, &facts, &config) == TN_OK, "%s", file.reasons);
    cr_assert(llama()->tensors(plugin(), config, &file.claims, &err) == TN_OK, "%s", err.text);
    cr_assert(file.reason_count == 0, "%s", file.reasons);
    fake_unread(&file, unread, sizeof unread);
    cr_assert(!unread[0], "unread: %s", unread);
    int32_t code = tn_graph_builder_create(file.weight_list, file.flags, file.claimed_count, &builder, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    tn_build options = {.struct_size = sizeof options, .context = 256, .purpose = purpose};
    code = llama()->build(plugin(), config, &options, tn_graph_builder_table(builder), &err);
    code = tn_graph_builder_finish(builder, code, graph, &err);
    cr_assert(code == TN_OK, "%s", err.text);
    llama()->release(plugin(), config);
    cr_assert(file.live == 0, "%ld allocations were not given back", (long)file.live);
    return builder;
}

/* ---- sound files */

Test(llama, a_sound_file) {
    const tn_graph *graph;
    tn_facts facts;
    void *config;
    sound_file();
    cr_assert(configure_as("llama", 455, &facts, &config) == TN_OK);
    cr_assert(facts.kind == TN_ARCH_DECODER && facts.layers == 2 && facts.width == 64 && facts.heads == 4 &&
              facts.kv_heads == 2 && facts.key_dim == 16 && facts.value_dim == 16 &&
              facts.feed_forward == 160 && facts.context == 256 && facts.context_limit == 0 &&
              facts.rotated == 16 && facts.rope_base == 10000 && facts.experts == 0 &&
              facts.needs_tokenizer == 1);
    llama()->release(plugin(), config);
    tn_graph_builder_free(whole("llama", TN_PURPOSE_GENERATE, &graph));
}

Test(llama, its_graph) {
    const tn_graph *graph;
    sound_file();
    tn_graph_builder *builder = whole("llama", TN_PURPOSE_GENERATE, &graph);
    cr_assert(fake_count(graph, TN_OP_attend) == 2 && graph->slot_count == 2);
    cr_assert(fake_count(graph, TN_OP_linear) == 2 * 7 + 1);
    cr_assert(fake_count(graph, TN_OP_norm) == 2 * 2 + 1);
    cr_assert(fake_count(graph, TN_OP_mark) == 2);
    const tn_attend *attend = fake_first(graph, TN_OP_attend)->attributes;
    cr_assert(attend->causal && attend->cached && attend->window == 0 && attend->softcap == 0);
    cr_assert(attend->scale == 0.25, "scale %g, expected 1 / sqrt(16)", attend->scale);
    const tn_rope *rope = fake_first(graph, TN_OP_rope)->attributes;
    cr_assert(rope->pairing == TN_PAIR_ADJACENT && rope->rotated == 16 && rope->magnitude == 1);
    for (uint32_t p = 0; p < 8; p++) {
        double want = pow(10000, -2.0 * p / 16);
        cr_assert(fabs(rope->frequencies[p] - want) < 1e-15, "frequency %u: %g, expected %g", p,
                  rope->frequencies[p], want);
    }
    cr_assert_str_eq(fake_first(graph, TN_OP_linear)->name, "blk.0.attn_q");
    cr_assert(((const tn_output *)fake_first(graph, TN_OP_output)->attributes)->kind == TN_OUTPUT_LOGITS);
    tn_graph_builder_free(builder);
}

Test(llama, keys_carry_the_declared_name) {
    static const char *const names[] = {"mistral", "azmx"};
    for (int i = 0; i < 2; i++) {
        const tn_graph *graph;
        sound_file();
        for (uint32_t k = 0; k < file.key_count; k++) {
            char rest[96];
            snprintf(rest, sizeof rest, "%s", strchr(file.keys[k].name, '.'));
            snprintf(file.keys[k].name, sizeof file.keys[k].name, "%s%.80s", names[i], rest);
        }
        tn_graph_builder_free(whole(names[i], TN_PURPOSE_GENERATE, &graph));
    }
}

Test(llama, optional_tensors) {
    const tn_graph *graph;
    sound_file();
    fake_tensor(&file, "output.weight", 64, 455);
    fake_tensor(&file, "rope_freqs.weight", 8, 0);
    fake_tensor(&file, "blk.0.attn_q.bias", 64, 0);
    fake_tensor(&file, "blk.0.attn_k.bias", 32, 0);
    fake_tensor(&file, "blk.1.attn_v.bias", 32, 0);
    fake_tensor(&file, "blk.1.attn_output.bias", 64, 0);
    fake_tensor(&file, "blk.0.ffn_gate.bias", 160, 0);
    fake_tensor(&file, "blk.0.ffn_up.bias", 160, 0);
    fake_tensor(&file, "blk.1.ffn_down.bias", 64, 0);
    tn_graph_builder *builder = whole("llama", TN_PURPOSE_GENERATE, &graph);
    cr_assert(fake_first(graph, TN_OP_rope)->weights[0] != 0, "rope_freqs.weight is not used");
    cr_assert(fake_first(graph, TN_OP_linear)->weights[1] != 0, "blk.0.attn_q.bias is not used");
    tn_graph_builder_free(builder);
}

Test(llama, fused_projections) {
    const tn_graph *graph;
    sound_file();
    for (int i = 0; i < 2; i++) {
        char name[64];
        for (const char *part = "qkv"; *part; part++) {
            snprintf(name, sizeof name, "blk.%d.attn_%c.weight", i, *part);
            fake_drop(&file, name);
        }
        snprintf(name, sizeof name, "blk.%d.attn_qkv.weight", i);
        fake_tensor(&file, name, 64, 64 + 32 + 32);
        snprintf(name, sizeof name, "blk.%d.attn_qkv.bias", i);
        fake_tensor(&file, name, 128, 0);
    }
    tn_graph_builder *builder = whole("llama", TN_PURPOSE_GENERATE, &graph);
    const tn_split *split = fake_first(graph, TN_OP_split)->attributes;
    cr_assert(split->count == 3 && split->widths[0] == 64 && split->widths[1] == 32 &&
              split->widths[2] == 32);
    tn_graph_builder_free(builder);
}

Test(llama, heads_of_another_size) {
    const tn_graph *graph;
    sound_file();
    fake_u32(&file, "llama.attention.key_length", 24);
    fake_u32(&file, "llama.attention.value_length", 10);
    fake_u32(&file, "llama.rope.dimension_count", 24);
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.attn_q.weight", i);
        fake_tensor(&file, name, 64, 96);
        snprintf(name, sizeof name, "blk.%d.attn_k.weight", i);
        fake_tensor(&file, name, 64, 48);
        snprintf(name, sizeof name, "blk.%d.attn_v.weight", i);
        fake_tensor(&file, name, 64, 20);
        snprintf(name, sizeof name, "blk.%d.attn_output.weight", i);
        fake_tensor(&file, name, 40, 64);
    }
    tn_graph_builder_free(whole("llama", TN_PURPOSE_GENERATE, &graph));
}

Test(llama, numbers_that_differ_by_layer) {
    const uint32_t heads[] = {4, 2}, kv_heads[] = {2, 1}, feed_forward[] = {160, 96};
    const tn_graph *graph;
    sound_file();
    fake_list(&file, "llama.attention.head_count", heads, 2);
    fake_list(&file, "llama.attention.head_count_kv", kv_heads, 2);
    fake_list(&file, "llama.feed_forward_length", feed_forward, 2);
    fake_tensor(&file, "blk.1.attn_q.weight", 64, 32);
    fake_tensor(&file, "blk.1.attn_k.weight", 64, 16);
    fake_tensor(&file, "blk.1.attn_v.weight", 64, 16);
    fake_tensor(&file, "blk.1.attn_output.weight", 32, 64);
    fake_tensor(&file, "blk.1.ffn_gate.weight", 64, 96);
    fake_tensor(&file, "blk.1.ffn_up.weight", 64, 96);
    fake_tensor(&file, "blk.1.ffn_down.weight", 96, 64);
    tn_graph_builder_free(whole("llama", TN_PURPOSE_GENERATE, &graph));
}

Test(llama, embedding_purpose_returns_hidden_states) {
    const tn_graph *graph;
    sound_file();
    fake_tensor(&file, "output.weight", 64, 455);
    tn_graph_builder *builder = whole("llama", TN_PURPOSE_EMBED, &graph);
    cr_assert(((const tn_output *)fake_first(graph, TN_OP_output)->attributes)->kind == TN_OUTPUT_HIDDEN);
    tn_graph_builder_free(builder);
}

/* ---- rotation */

static const tn_rope *rope_of(tn_graph_builder **builder) {
    const tn_graph *graph;
    *builder = whole("llama", TN_PURPOSE_GENERATE, &graph);
    return fake_first(graph, TN_OP_rope)->attributes;
}

static void expect_rope(double first, double last, double magnitude) {
    tn_graph_builder *builder;
    const tn_rope *rope = rope_of(&builder);
    cr_assert(fabs(rope->frequencies[0] / first - 1) < 1e-12, "%.17g, expected %.17g", rope->frequencies[0],
              first);
    cr_assert(fabs(rope->frequencies[7] / last - 1) < 1e-12, "%.17g, expected %.17g", rope->frequencies[7],
              last);
    cr_assert(fabs(rope->magnitude - magnitude) < 1e-12, "%.17g, expected %.17g", rope->magnitude, magnitude);
    tn_graph_builder_free(builder);
}

Test(llama, rope_scaling) {
    const double slow = pow(10000, -14.0 / 16);
    sound_file();
    fake_f32(&file, "llama.rope.scaling.factor", 4); /* linear where no type is said */
    expect_rope(0.25, slow / 4, 1);
    sound_file();
    fake_text(&file, "llama.rope.scaling.type", "linear");
    fake_f32(&file, "llama.rope.scale_linear", 2); /* the old name */
    expect_rope(0.5, slow / 2, 1);
    fake_f32(&file, "llama.rope.scaling.factor", 8); /* the new name wins */
    expect_rope(0.125, slow / 8, 1);
    sound_file();
    fake_f32(&file, "llama.rope.scaling.factor", 0); /* 0 means 1 */
    expect_rope(1, slow, 1);
    sound_file();
    fake_text(&file, "llama.rope.scaling.type", "none");
    fake_f32(&file, "llama.rope.scaling.factor", 4);
    fake_f32(&file, "llama.rope.scaling.attn_factor", 1.5f);
    expect_rope(1, slow, 1.5);
    sound_file();
    fake_f32(&file, "llama.rope.freq_base", 500000);
    expect_rope(1, pow(500000, -14.0 / 16), 1);
}

/* The ends are right in the golden test of llama-yarn; here: the ramp leaves the first pair and divides the
 * last. */
Test(llama, yarn) {
    sound_file();
    fake_text(&file, "llama.rope.scaling.type", "yarn");
    fake_f32(&file, "llama.rope.scaling.factor", 4);
    fake_u32(&file, "llama.rope.scaling.original_context_length", 64);
    fake_f32(&file, "llama.rope.scaling.attn_factor", 2);
    /* dim(32) = 16 ln(64 / (64 pi)) / (2 ln 10000) < 0, so lo = 0; dim(1) = 2.016, so hi = 3: pair 7 is
     * beyond. */
    expect_rope(1, pow(10000, -14.0 / 16) / 4, 2 * (1 + 0.1 * log(4)));
}

/* Converters copy the magnitude that a configuration states: welcome where it is the one that yarn gives. */
Test(llama, a_stated_yarn_magnitude) {
    sound_file();
    fake_text(&file, "llama.rope.scaling.type", "yarn");
    fake_f32(&file, "llama.rope.scaling.factor", 8);
    fake_f32(&file, "llama.rope.scaling.yarn_attn_factor", 1.2079441541679836f);
    tn_graph_builder *builder;
    cr_assert(fabs(rope_of(&builder)->magnitude - (1 + 0.1 * log(8))) < 1e-12);
    tn_graph_builder_free(builder);
}

/* ---- faults: each by its key */

static void expect_fault(int32_t code, const char *words) {
    tn_facts facts;
    void *config;
    int32_t got = configure_as("llama", 455, &facts, &config);
    cr_assert(got == code, "%s: %s, expected %s (%s)", words, tn_code_text(got), tn_code_text(code),
              file.reasons);
    cr_assert(strstr(file.reasons, words), "no '%s' in: %s", words, file.reasons);
    cr_assert(file.live == 0, "%ld allocations were not given back", (long)file.live);
}

Test(llama, missing_keys) {
    static const char *const keys[] = {
        "llama.block_count",         "llama.context_length",       "llama.embedding_length",
        "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        sound_file();
        fake_remove(&file, keys[i]);
        expect_fault(TN_E_PARAM_MISSING, keys[i]);
        cr_assert(file.reason_count == 1, "one key is missing, reported: %s", file.reasons);
    }
}

Test(llama, integers_out_of_range) {
    static const struct {
        const char *key;
        uint64_t value;
    } table[] = {{"llama.block_count", 0},
                 {"llama.block_count", 65536},
                 {"llama.block_count", 2147483648u},
                 {"llama.embedding_length", 0},
                 {"llama.embedding_length", UINT64_MAX},
                 {"llama.embedding_length", 1u << 25},
                 {"llama.feed_forward_length", 0},
                 {"llama.attention.head_count", 0},
                 {"llama.attention.head_count", 65536},
                 {"llama.attention.head_count_kv", 0},
                 {"llama.attention.head_count_kv", 3},
                 {"llama.attention.head_count_kv", 8},
                 {"llama.attention.head_count", 6},
                 {"llama.attention.key_length", 0},
                 {"llama.attention.value_length", 0},
                 {"llama.rope.dimension_count", 0},
                 {"llama.rope.dimension_count", 8},
                 {"llama.rope.dimension_count", 32},
                 {"llama.rope.scaling.original_context_length", 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        sound_file();
        fake_u64(&file, table[i].key, table[i].value);
        expect_fault(TN_E_PARAM_INVALID, table[i].key);
    }
}

/* Such a file runs where the user says how long a context may get; core asks for it (refusals). What yarn is computed
 * from must then be there itself. */
Test(llama, context_lengths_that_are_none) {
    const uint64_t lengths[] = {0, 2147483648u, UINT32_MAX, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        tn_facts facts;
        void *config;
        sound_file();
        fake_u64(&file, "llama.context_length", lengths[i]);
        cr_assert(configure_as("llama", 455, &facts, &config) == TN_OK, "%s", file.reasons);
        cr_assert(facts.context == 0, "%u", facts.context);
        llama()->release(plugin(), config);
        fake_text(&file, "llama.rope.scaling.type", "yarn");
        fake_f32(&file, "llama.rope.scaling.factor", 4);
        expect_fault(TN_E_PARAM_MISSING, "llama.rope.scaling.original_context_length");
        sound_file();
        fake_u64(&file, "llama.context_length", lengths[i]);
        fake_text(&file, "llama.rope.scaling.type", "yarn");
        fake_u32(&file, "llama.rope.scaling.original_context_length", 64);
        cr_assert(configure_as("llama", 455, &facts, &config) == TN_OK, "%s", file.reasons);
        llama()->release(plugin(), config);
    }
    sound_file();
    fake_f32(&file, "llama.context_length", 256);
    expect_fault(TN_E_PARAM_TYPE, "llama.context_length");
}

Test(llama, floats_out_of_range) {
    static const char *const keys[] = {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base",
                                       "llama.rope.scaling.factor", "llama.rope.scale_linear",
                                       "llama.rope.scaling.attn_factor"};
    const float values[] = {NAN, INFINITY, -INFINITY, -1, 0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            int zero_means_one = (i == 2 || i == 3) && values[k] == 0;
            if (zero_means_one) { continue; }
            sound_file();
            fake_f32(&file, keys[i], values[k]);
            expect_fault(TN_E_PARAM_INVALID, keys[i]);
        }
    }
}

Test(llama, values_of_the_wrong_type) {
    static const char *const integers[] = {"llama.block_count",          "llama.context_length",
                                           "llama.embedding_length",     "llama.feed_forward_length",
                                           "llama.attention.head_count", "llama.attention.head_count_kv",
                                           "llama.attention.key_length", "llama.rope.dimension_count",
                                           "llama.expert_count",         "llama.attention.value_length"};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        sound_file();
        fake_text(&file, integers[i], "4");
        expect_fault(TN_E_PARAM_TYPE, integers[i]);
        sound_file();
        fake_f32(&file, integers[i], 4);
        expect_fault(TN_E_PARAM_TYPE, integers[i]);
        sound_file();
        fake_bool(&file, integers[i], 1);
        expect_fault(TN_E_PARAM_TYPE, integers[i]);
    }
    sound_file();
    fake_u32(&file, "llama.rope.freq_base", 10000);
    expect_fault(TN_E_PARAM_TYPE, "llama.rope.freq_base");
    sound_file();
    fake_u32(&file, "llama.rope.scaling.type", 1);
    expect_fault(TN_E_PARAM_TYPE, "llama.rope.scaling.type");
    const uint32_t two[] = {2, 2};
    sound_file();
    fake_list(&file, "llama.block_count", two, 2);
    expect_fault(TN_E_PARAM_TYPE, "llama.block_count");
}

Test(llama, lists_of_the_wrong_length_or_with_wrong_numbers) {
    const uint32_t three[] = {4, 4, 4}, zero[] = {4, 0}, odd[] = {4, 3};
    sound_file();
    fake_list(&file, "llama.attention.head_count", three, 3);
    expect_fault(TN_E_PARAM_INVALID, "llama.attention.head_count: found an array of 3");
    sound_file();
    fake_list(&file, "llama.feed_forward_length", zero, 2);
    expect_fault(TN_E_PARAM_INVALID, "llama.feed_forward_length: found 0 at 1");
    sound_file();
    fake_list(&file, "llama.attention.head_count", odd, 2);
    expect_fault(TN_E_PARAM_INVALID,
                 "llama.attention.head_count_kv: found 2 for a head_count of 3 in layer 1");
}

Test(llama, heads_that_are_odd_or_too_wide) {
    sound_file();
    fake_u32(&file, "llama.attention.key_length", 15);
    expect_fault(TN_E_PARAM_INVALID, "llama.rope.dimension_count: found 15");
    sound_file();
    fake_u32(&file, "llama.attention.head_count", 65534);
    fake_u32(&file, "llama.attention.key_length", 1u << 20);
    fake_u32(&file, "llama.attention.value_length", 1u << 20);
    expect_fault(TN_E_PARAM_INVALID, "llama.attention.head_count: found 65534 heads of 1048576");
}

Test(llama, what_it_does_not_do) {
    sound_file();
    fake_u32(&file, "llama.expert_count", 4);
    fake_u32(&file, "llama.expert_used_count", 5);
    expect_fault(TN_E_PARAM_INVALID, "llama.expert_used_count: found 5 of 4 experts");
    sound_file();
    fake_f32(&file, "llama.logit_scale", 0.5f);
    expect_fault(TN_E_PARAM_UNSUPPORTED, "llama.logit_scale: found 0.5");
    sound_file();
    fake_f32(&file, "llama.rope.scaling.yarn_attn_factor", 1.25f);
    expect_fault(TN_E_PARAM_UNSUPPORTED, "llama.rope.scaling.yarn_attn_factor: found 1.25");
    sound_file();
    fake_bool(&file, "llama.attention.causal", 0);
    expect_fault(TN_E_PARAM_UNSUPPORTED, "llama.attention.causal");
    sound_file();
    fake_text(&file, "llama.rope.scaling.type", "fractal");
    expect_fault(TN_E_PARAM_UNSUPPORTED, "llama.rope.scaling.type: found 'fractal'");
    sound_file();
    fake_text(&file, "llama.rope.scaling.type", "yarn");
    fake_f32(&file, "llama.rope.freq_base", 1);
    expect_fault(TN_E_PARAM_INVALID, "llama.rope.freq_base: found 1 with yarn");
    sound_file();
    fake_text(&file, "llama.rope.scaling.type", "yarn");
    fake_f32(&file, "llama.rope.scaling.factor", 0.5f);
    expect_fault(TN_E_PARAM_INVALID, "llama.rope.scaling.factor: found 0.5 with yarn");
}

Test(llama, all_faults_at_once) {
    static const char *const keys[] = {"llama.block_count", "llama.context_length", "llama.rope.freq_base",
                                       "llama.logit_scale", "llama.attention.layer_norm_rms_epsilon"};
    tn_facts facts;
    void *config;
    sound_file();
    fake_u32(&file, keys[0], 0);
    fake_text(&file, keys[1], "long");
    fake_f32(&file, keys[2], NAN);
    fake_f32(&file, keys[3], 8);
    fake_remove(&file, keys[4]);
    configure_as("llama", 455, &facts, &config);
    cr_assert(file.reason_count == 5, "%u reasons, expected 5: %s", file.reason_count, file.reasons);
    for (int i = 0; i < 5; i++) {
        cr_assert(strstr(file.reasons, keys[i]), "no %s in: %s", keys[i], file.reasons);
    }
}

Test(llama, vocabulary_without_a_token_list) {
    tn_facts facts;
    void *config;
    sound_file();
    cr_assert(configure_as("llama", 0, &facts, &config) == TN_E_PARAM_MISSING);
    cr_assert(strstr(file.reasons, "llama.vocab_size"), "%s", file.reasons);
    sound_file();
    fake_u32(&file, "llama.vocab_size", 455);
    cr_assert(configure_as("llama", 0, &facts, &config) == TN_OK, "%s", file.reasons);
    llama()->release(plugin(), config);
    sound_file();
    cr_assert(configure_as("llama", 1ull << 40, &facts, &config) == TN_E_PARAM_INVALID);
}

/* ---- tensors */

Test(llama, wrong_and_missing_tensors_are_all_reported) {
    tn_facts facts;
    void *config;
    tn_error err = TN_ERROR_INIT;
    char unread[256];
    sound_file();
    fake_tensor(&file, "blk.0.attn_k.weight", 64, 64);
    fake_tensor(&file, "blk.1.ffn_up.weight", 160, 64);
    fake_tensor(&file, "blk.0.mystery.weight", 8, 8);
    fake_drop(&file, "blk.1.ffn_down.weight");
    cr_assert(configure_as("llama", 455, &facts, &config) == TN_OK);
    llama()->tensors(plugin(), config, &file.claims, &err);
    cr_assert(file.reason_count == 3, "%s", file.reasons);
    cr_assert(strstr(file.reasons, "tensor.shape blk.0.attn_k.weight"), "%s", file.reasons);
    cr_assert(strstr(file.reasons, "tensor.shape blk.1.ffn_up.weight"), "%s", file.reasons);
    cr_assert(strstr(file.reasons, "tensor.missing blk.1.ffn_down.weight"), "%s", file.reasons);
    fake_unread(&file, unread, sizeof unread);
    cr_assert_str_eq(unread, "blk.0.mystery.weight ");
    llama()->release(plugin(), config);
}
