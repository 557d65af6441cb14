/*
 * test_bert.c - encoders without a file: hyperparameters' faults by key, the tensors they claim in each of their forms,
 * the graph for each purpose as the builder takes it.
 */
#include "fake_file.h"
#include "graph_build.h"

#include <criterion/criterion.h>

static fake_file file;

static const tn_arch *bert(void) {
    return tenon_plugin.interface(TN_ARCH_1);
}

static void *plugin(void) {
    void *opened;
    tn_error err = TN_ERROR_INIT;
    cr_assert(tenon_plugin.open(&file.host, &opened, &err) == TN_OK, "%s", err.text);
    return opened;
}

static void set_key(void (*set)(fake_file *, const char *, uint32_t), const char *name, const char *key,
                    uint32_t value) {
    char full[96];
    snprintf(full, sizeof full, "%s.%s", name, key);
    set(&file, full, value);
}

static void add(int layer, const char *stem, const char *suffix, uint64_t cols, uint64_t rows) {
    char name[96];
    tn_layer_name(layer, stem, suffix, name);
    fake_tensor(&file, name, cols, rows);
}

static void add_norm(int layer, const char *stem) {
    add(layer, stem, ".weight", 48, 0);
    add(layer, stem, ".bias", 48, 0);
}

static void add_linear(int layer, const char *stem, uint64_t cols, uint64_t rows, int bias) {
    add(layer, stem, ".weight", cols, rows);
    if (bias) { add(layer, stem, ".bias", rows, 0); }
}

/* A sound file: 2 layers, 3 heads, 48 wide. */
static void sound_file(const char *name) {
    char eps[96];
    int plain = strcmp(name, "bert") == 0;
    fake_begin(&file);
    set_key(fake_u32, name, "block_count", 2);
    set_key(fake_u32, name, "context_length", 64);
    set_key(fake_u32, name, "embedding_length", 48);
    set_key(fake_u32, name, "feed_forward_length", 80);
    set_key(fake_u32, name, "attention.head_count", 3);
    set_key(fake_u32, name, "pooling_type", 1);
    snprintf(eps, sizeof eps, "%s.attention.layer_norm_epsilon", name);
    fake_f32(&file, eps, 1e-5f);
    fake_u32(&file, "tokenizer.ggml.token_type_count", 2);
    fake_tensor(&file, "token_embd.weight", 48, 455);
    fake_tensor(&file, "token_types.weight", 48, 2);
    if (plain) { fake_tensor(&file, "position_embd.weight", 48, 64); }
    add_norm(TN_NO_LAYER, "token_embd_norm");
    for (int i = 0; i < 2; i++) {
        add_linear(i, "attn_q", 48, 48, plain);
        add_linear(i, "attn_k", 48, 48, plain);
        add_linear(i, "attn_v", 48, 48, plain);
        add_linear(i, "attn_output", 48, 48, plain);
        add_norm(i, "attn_output_norm");
        if (!plain) { add_linear(i, "ffn_gate", 48, 80, 0); }
        add_linear(i, "ffn_up", 48, 80, plain);
        add_linear(i, "ffn_down", 80, 48, plain);
        add_norm(i, "layer_output_norm");
    }
}

static int32_t configure(const char *name, tn_facts *facts, void **config) {
    tn_error err = TN_ERROR_INIT;
    memset(facts, 0, sizeof *facts);
    facts->struct_size = sizeof *facts;
    *config = NULL;
    file.reason_count = 0;
    file.reasons[0] = 0;
    int32_t code = bert()->configure(plugin(), name, &file.meta, 455, &file.report, facts, config, &err);
    cr_assert((code == TN_OK) == (*config != NULL) && code == err.code);
    cr_assert((code == TN_OK) == (file.reason_count == 0), "code %d with these reasons: %s", code,
              file.reasons);
    return code;
}

/* Configures, claims, builds; the code of the build, and the builder that owns the graph. */
static int32_t build(const char *name, uint32_t purpose, tn_graph_builder **builder, const tn_graph **graph,
                     tn_error *err) {
    tn_facts facts;
    void *config;
    char unread[512];
    file.claimed_count = 0;
    cr_assert(configure(name, &facts, &config) == TN_OK, "%s", file.reasons);
    cr_assert(bert()->tensors(plugin(), config, &file.claims, err) == TN_OK, "%s", err->text);
    cr_assert(file.reason_count == 0, "%s", file.reasons);
    fake_unread(&file, unread, sizeof unread);
    cr_assert(!unread[0], "unread: %s", unread);
    int32_t code = tn_graph_builder_create(file.weight_list, file.flags, file.claimed_count, builder, err);
    cr_assert(code == TN_OK, "%s", err->text);
    tn_build options = {.struct_size = sizeof options, .context = 64, .purpose = purpose};
    code = bert()->build(plugin(), config, &options, tn_graph_builder_table(*builder), err);
    code = tn_graph_builder_finish(*builder, code, graph, err);
    bert()->release(plugin(), config);
    cr_assert(file.live == 0, "%ld allocations were not given back", (long)file.live);
    return code;
}

static tn_graph_builder *whole(const char *name, uint32_t purpose, const tn_graph **graph) {
    tn_error err = TN_ERROR_INIT;
    tn_graph_builder *builder;
    cr_assert(build(name, purpose, &builder, graph, &err) == TN_OK, "%s", err.text);
    return builder;
}

/* ---- sound files */

Test(bert, a_sound_file) {
    tn_facts facts;
    void *config;
    sound_file("bert");
    cr_assert(configure("bert", &facts, &config) == TN_OK);
    cr_assert(facts.kind == TN_ARCH_ENCODER && facts.layers == 2 && facts.width == 48 && facts.heads == 3 &&
              facts.kv_heads == 3 && facts.key_dim == 16 && facts.value_dim == 16 &&
              facts.feed_forward == 80 && facts.context == 64 && facts.context_limit == 64 &&
              facts.rotated == 0 && facts.needs_tokenizer == 1);
    bert()->release(plugin(), config);
    sound_file("nomic-bert");
    cr_assert(configure("nomic-bert", &facts, &config) == TN_OK);
    cr_assert(facts.context_limit == 0 && facts.rotated == 16 && facts.rope_base == 10000);
    bert()->release(plugin(), config);
}

Test(bert, its_graph) {
    const tn_graph *graph;
    sound_file("bert");
    tn_graph_builder *builder = whole("bert", TN_PURPOSE_EMBED, &graph);
    cr_assert(fake_count(graph, TN_OP_embed) == 3 && fake_count(graph, TN_OP_norm) == 1 + 2 * 2);
    cr_assert(fake_count(graph, TN_OP_linear) == 2 * 6 && graph->slot_count == 0);
    const tn_attend *attend = fake_first(graph, TN_OP_attend)->attributes;
    cr_assert(!attend->causal && !attend->cached && attend->scale == 0.25 && attend->window == 0);
    cr_assert(((const tn_act_op *)fake_first(graph, TN_OP_act)->attributes)->act == TN_ACT_GELU_ERF);
    cr_assert(((const tn_output *)fake_first(graph, TN_OP_output)->attributes)->kind == TN_OUTPUT_HIDDEN);
    tn_graph_builder_free(builder);
    fake_drop(&file, "token_types.weight");
    builder = whole("bert", TN_PURPOSE_EMBED, &graph);
    cr_assert(fake_count(graph, TN_OP_embed) == 2);
    tn_graph_builder_free(builder);
}

Test(bert, the_graph_of_nomic_bert) {
    const tn_graph *graph;
    sound_file("nomic-bert");
    fake_f32(&file, "nomic-bert.rope.freq_base", 1000);
    add(0, "attn_q", ".bias", 48, 0); /* may be there */
    add(1, "attn_output", ".bias", 48, 0);
    tn_graph_builder *builder = whole("nomic-bert", TN_PURPOSE_EMBED, &graph);
    cr_assert(fake_count(graph, TN_OP_embed) == 2 && fake_count(graph, TN_OP_rope) == 4);
    const tn_rope *rope = fake_first(graph, TN_OP_rope)->attributes;
    cr_assert(rope->pairing == TN_PAIR_HALVES && rope->rotated == 16 && rope->heads == 3 &&
              rope->magnitude == 1);
    cr_assert(fabs(rope->frequencies[4] - pow(1000, -0.5)) < 1e-15);
    cr_assert(((const tn_glu *)fake_first(graph, TN_OP_glu)->attributes)->act == TN_ACT_SILU);
    tn_graph_builder_free(builder);
}

Test(bert, fused_projections) {
    static const char *const names[] = {"bert", "nomic-bert"};
    for (int n = 0; n < 2; n++) {
        const tn_graph *graph;
        sound_file(names[n]);
        for (int i = 0; i < 2; i++) {
            for (const char *part = "qkv"; *part; part++) {
                char name[64];
                snprintf(name, sizeof name, "blk.%d.attn_%c.weight", i, *part);
                fake_drop(&file, name);
                snprintf(name, sizeof name, "blk.%d.attn_%c.bias", i, *part);
                if (n == 0) { fake_drop(&file, name); }
            }
            add_linear(i, "attn_qkv", 48, 144, n == 0);
        }
        tn_graph_builder *builder = whole(names[n], TN_PURPOSE_EMBED, &graph);
        const tn_split *split = fake_first(graph, TN_OP_split)->attributes;
        cr_assert(split->count == 3 && split->widths[0] == 48 && split->widths[2] == 48);
        tn_graph_builder_free(builder);
    }
}

Test(bert, the_classification_head) {
    const tn_graph *graph;
    sound_file("bert");
    add_linear(TN_NO_LAYER, "cls", 48, 48, 1);
    add_linear(TN_NO_LAYER, "cls.output", 48, 1, 1);
    tn_graph_builder *builder = whole("bert", TN_PURPOSE_RANK, &graph);
    cr_assert(((const tn_pool *)fake_first(graph, TN_OP_pool)->attributes)->kind == TN_POOL_FIRST);
    const tn_node *output = fake_first(graph, TN_OP_output);
    cr_assert(((const tn_output *)output->attributes)->kind == TN_OUTPUT_SCORE);
    cr_assert(graph->values[output->inputs[0] - 1]->width == 1 &&
              graph->values[output->inputs[0] - 1]->rows == TN_ROWS_S);
    cr_assert(fake_count(graph, TN_OP_linear) == 2 * 6 + 2);
    tn_graph_builder_free(builder);
    tn_graph_builder_free(whole("bert", TN_PURPOSE_EMBED, &graph)); /* the head may stay unread */
    fake_drop(&file, "cls.weight");
    fake_drop(&file, "cls.bias");
    fake_drop(&file, "cls.output.bias");
    add(TN_NO_LAYER, "cls.output", ".bias", 1, 0);
    builder = whole("bert", TN_PURPOSE_RANK, &graph);
    cr_assert(fake_count(graph, TN_OP_linear) == 2 * 6 + 1);
    tn_graph_builder_free(builder);
    fake_u32(&file, "bert.classifier.pooling_type", 1);
    builder = whole("bert", TN_PURPOSE_RANK, &graph);
    cr_assert(((const tn_pool *)fake_first(graph, TN_OP_pool)->attributes)->kind == TN_POOL_MEAN);
    tn_graph_builder_free(builder);
}

/* ---- faults */

Test(bert, purposes_that_it_does_not_serve) {
    static const struct {
        const char *name;
        uint32_t purpose;
        int32_t code;
    } cases[] = {{"bert", TN_PURPOSE_RANK, TN_E_TENSOR_MISSING},
                 {"nomic-bert", TN_PURPOSE_RANK, TN_E_TENSOR_MISSING},
                 {"bert", TN_PURPOSE_GENERATE, TN_E_PARAM_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tn_graph *graph;
        tn_graph_builder *builder;
        tn_error err = TN_ERROR_INIT;
        sound_file(cases[i].name);
        int32_t code = build(cases[i].name, cases[i].purpose, &builder, &graph, &err);
        cr_assert(code == cases[i].code, "%s: code %d: %s", cases[i].name, code, err.text);
        tn_graph_builder_free(builder);
    }
}

static void expect_fault(const char *name, const char *key, int32_t code) {
    tn_facts facts;
    void *config;
    char full[96];
    snprintf(full, sizeof full, strncmp(key, "tokenizer", 9) == 0 ? "%.0s%s" : "%s.%s", name, key);
    int32_t found = configure(name, &facts, &config);
    cr_assert(found == code, "%s: code %d, expected %d", full, found, code);
    cr_assert(strstr(file.reasons, full), "the reasons do not name %s: %s", full, file.reasons);
}

Test(bert, numbers_that_cannot_be) {
    static const struct {
        const char *key;
        uint32_t value;
        int32_t code;
    } cases[] = {{"block_count", 0, TN_E_PARAM_INVALID},
                 {"context_length", 0, TN_E_PARAM_INVALID},
                 {"context_length", 2147483648u, TN_E_PARAM_INVALID},
                 {"embedding_length", 50, TN_E_PARAM_INVALID},
                 {"attention.head_count", 0, TN_E_PARAM_INVALID},
                 {"attention.head_count", 5, TN_E_PARAM_INVALID},
                 {"attention.head_count_kv", 1, TN_E_PARAM_INVALID},
                 {"attention.key_length", 24, TN_E_PARAM_INVALID},
                 {"attention.value_length", 8, TN_E_PARAM_INVALID},
                 {"feed_forward_length", 0, TN_E_PARAM_INVALID},
                 {"pooling_type", 5, TN_E_PARAM_INVALID},
                 {"attention.layer_norm_epsilon", 1, TN_E_PARAM_TYPE},
                 {"classifier.output_labels", 3, TN_E_PARAM_TYPE},
                 {"attention.sliding_window", 16, TN_E_PARAM_UNSUPPORTED},
                 {"attention.max_alibi_bias", 8, TN_E_PARAM_UNSUPPORTED},
                 {"attention.relative_buckets_count", 32, TN_E_PARAM_UNSUPPORTED},
                 {"attention.group_norm_groups", 4, TN_E_PARAM_UNSUPPORTED},
                 {"expert_count", 8, TN_E_PARAM_UNSUPPORTED},
                 {"moe_every_n_layers", 2, TN_E_PARAM_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sound_file("bert");
        set_key(fake_u32, "bert", cases[i].key, cases[i].value);
        /* a width of 50 shows at the heads that it has to hold */
        expect_fault("bert",
                     strcmp(cases[i].key, "embedding_length") == 0 ? "attention.head_count" : cases[i].key,
                     cases[i].code);
    }
}

Test(bert, causal_attention_is_refused) {
    tn_facts facts;
    void *config;
    sound_file("bert");
    fake_bool(&file, "bert.attention.causal", 0);
    cr_assert(configure("bert", &facts, &config) == TN_OK);
    bert()->release(plugin(), config);
    fake_bool(&file, "bert.attention.causal", 1);
    expect_fault("bert", "attention.causal", TN_E_PARAM_UNSUPPORTED);
}

Test(bert, keys_that_must_be_there) {
    static const char *const keys[] = {"block_count",          "context_length",
                                       "embedding_length",     "feed_forward_length",
                                       "attention.head_count", "attention.layer_norm_epsilon"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char full[96];
        sound_file("bert");
        snprintf(full, sizeof full, "bert.%s", keys[i]);
        fake_remove(&file, full);
        expect_fault("bert", keys[i], TN_E_PARAM_MISSING);
    }
    sound_file("bert");
    fake_remove(&file, "tokenizer.ggml.token_type_count");
    expect_fault("bert", "tokenizer.ggml.token_type_count", TN_E_PARAM_MISSING);
    sound_file("bert");
    fake_u32(&file, "tokenizer.ggml.token_type_count", 0);
    expect_fault("bert", "tokenizer.ggml.token_type_count", TN_E_PARAM_INVALID);
}

Test(bert, what_nomic_bert_cannot_be) {
    static const struct {
        const char *key;
        uint32_t value;
        int32_t code;
    } cases[] = {{"attention.head_count", 16, TN_E_PARAM_INVALID}, /* heads of 3 cannot be rotated */
                 {"rope.dimension_count", 8, TN_E_PARAM_INVALID},
                 {"pooling_type", 4, TN_E_PARAM_INVALID},
                 {"moe_every_n_layers", 2, TN_E_PARAM_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sound_file("nomic-bert");
        set_key(fake_u32, "nomic-bert", cases[i].key, cases[i].value);
        expect_fault("nomic-bert", cases[i].key, cases[i].code);
    }
}

/* A tensor that is missing or of another shape is a reason by name. */
Test(bert, tensors_that_are_wrong) {
    static const char *const names[] = {"token_embd.weight",
                                        "position_embd.weight",
                                        "token_embd_norm.bias",
                                        "blk.0.attn_q.bias",
                                        "blk.1.attn_output.weight",
                                        "blk.1.ffn_up.bias",
                                        "blk.0.ffn_down.weight",
                                        "blk.1.layer_output_norm.bias",
                                        "blk.0.attn_output_norm.weight",
                                        "cls.output.bias",
                                        "cls.bias"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int drop = 0; drop < 2; drop++) {
            tn_facts facts;
            void *config;
            tn_error err = TN_ERROR_INIT;
            sound_file("bert");
            add_linear(TN_NO_LAYER, "cls", 48, 48, 1);
            add_linear(TN_NO_LAYER, "cls.output", 48, 1, 1);
            if (drop) {
                fake_drop(&file, names[i]);
            } else {
                fake_tensor(&file, names[i], 47, 0);
            }
            file.claimed_count = 0;
            cr_assert(configure("bert", &facts, &config) == TN_OK, "%s", file.reasons);
            bert()->tensors(plugin(), config, &file.claims, &err);
            cr_assert(strstr(file.reasons, names[i]), "the reasons do not name %s: %s", names[i],
                      file.reasons);
            bert()->release(plugin(), config);
        }
    }
}
