/*
 * test_arch_refusals.c - each architecture name with files that it must refuse: impossible numbers, required keys and
 * tensors left out, keys and tensors that ask for something it does not compute. The files are copies of the fixtures
 * with one thing changed; each is refused with status 3 by the name of that thing. What an architecture reads beyond
 * the others, and what its files may leave out, stands in the table `fixtures`: anything else is refused.
 */
#include "fit_rig.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <ctype.h>
#include <stdlib.h>

enum {
    ROTATES = 1,
    PARTIAL = 2,   /* part of a head may rotate */
    EXPERTS = 4,   /* always has them */
    MAY_MIX = 8,   /* has them by key */
    WINDOW = 16,   /* cannot be without one */
    DEFAULTS = 32, /* the window has a default */
    LEARNED = 64   /* positions: their table is as long as the context */
};

struct fixture {
    char file[24];
    uint32_t flags;
    char reads[160]; /* keys of `variants` that it computes */
    char may[200];   /* words; a tensor whose name ends so may be left out */
};

#define FACTORS "embedding_scale residual_scale logit_scale "
#define LOCAL "attention.sliding_window attention.sliding_window_pattern "
#define MIXES "expert_count expert_used_count "
#define MIXTURE MIXES "expert_weights_scale "
static const struct fixture fixtures[] = {
    {"llama", ROTATES | MAY_MIX, "attention.sliding_window " MIXES, ""},
    {"alias-mistral", ROTATES | MAY_MIX, "attention.sliding_window " MIXES, ""},
    {"alias-azmx", ROTATES | MAY_MIX, "attention.sliding_window " MIXES, ""},
    {"llama-bias-linear", ROTATES | MAY_MIX, "attention.sliding_window " MIXES,
     "q.bias k.bias v.bias attn_output.bias ffn_gate.bias ffn_up.bias ffn_down.bias"},
    {"mixtral", ROTATES | MAY_MIX, "attention.sliding_window " MIXTURE, ""},
    {"arcee", ROTATES, "", ""},
    {"baichuan", ROTATES, "", "-"},
    {"ernie4_5", ROTATES, "", ""},
    {"hunyuan-dense", ROTATES, "rope.scaling.alpha", ""},
    {"internlm2", ROTATES, "", "-"},
    {"orion", ROTATES, "", "-"},
    {"seed_oss", ROTATES, "", "q.bias k.bias v.bias"},
    {"smollm3", ROTATES, "", ""},
    {"xverse", ROTATES, "", "-"},
    {"qwen", ROTATES, "attention.sliding_window", "-"},
    {"qwen2", ROTATES, "attention.sliding_window", ""},
    {"qwen3", ROTATES, "attention.sliding_window", ""},
    {"qwen2moe", ROTATES | EXPERTS, "attention.sliding_window expert_shared_feed_forward_length " MIXTURE,
     "-"},
    {"qwen3moe", ROTATES | EXPERTS, "attention.sliding_window " MIXTURE, ""},
    {"gemma", ROTATES, "", "-"},
    {"gemma2", ROTATES | WINDOW | DEFAULTS,
     LOCAL "rope.freq_base_swa attn_logit_softcapping final_logit_softcapping", "-"},
    {"gemma3", ROTATES, LOCAL "rope.freq_base_swa final_logit_softcapping", ""},
    {"phi3", ROTATES | PARTIAL, "attention.sliding_window", ""},
    {"phi2", ROTATES | PARTIAL, "", "-"},
    {"stablelm", ROTATES | PARTIAL, "use_parallel_residual", "- q.bias k.bias v.bias"},
    {"stablelm-parallel", ROTATES | PARTIAL, "use_parallel_residual", "-"},
    {"gpt2", LEARNED, "", ""},
    {"starcoder", LEARNED, "", ""},
    {"starcoder2", ROTATES, "", "q.bias k.bias v.bias"},
    {"codeshell", ROTATES, "", "- q.bias k.bias v.bias"},
    {"falcon-40b-style", ROTATES, "", ""},
    {"gptneox", ROTATES | PARTIAL, "use_parallel_residual", "-"},
    {"gpt-oss", ROTATES | EXPERTS | WINDOW, LOCAL "rope.freq_base_swa " MIXTURE, "-"},
    {"olmo", ROTATES, "attention.clamp_kqv", ""},
    {"olmo2", ROTATES, LOCAL, "-"},
    {"olmoe", ROTATES | EXPERTS, MIXTURE, "-"},
    {"granite", ROTATES | MAY_MIX, FACTORS "attention.scale " MIXES, ""},
    {"granitemoe-shared", ROTATES | MAY_MIX,
     FACTORS "attention.scale expert_shared_feed_forward_length " MIXTURE, ""},
    {"minicpm", ROTATES, FACTORS, ""},
    {"exaone", ROTATES, "", ""},
    {"exaone4", ROTATES, LOCAL, ""},
    {"command-r", ROTATES, "logit_scale", "-"},
    {"command-r-qknorm", ROTATES, "logit_scale", "-"},
    {"cohere2", ROTATES | WINDOW, LOCAL "logit_scale", "-"},
    {"glm4", ROTATES | PARTIAL, "", "q.bias k.bias v.bias"},
    {"nemotron", ROTATES | PARTIAL, "", "-"},
    {"bert-rerank", LEARNED, "", ""},
    {"nomic-bert", ROTATES, "", ""},
};
#define FIXTURES (sizeof fixtures / sizeof *fixtures)

/* Keys of GGUF that change what a graph computes; 7 asks for something in each. */
static const char *const variants[] = {"activation_sparsity_scale",
                                       "adapters.count",
                                       "attention.rope_pattern",
                                       "attention.recurrent_layers",
                                       "attn_res.block_size",
                                       "deepstack_mapping",
                                       "embedding_length_out",
                                       "expert_latent_length",
                                       "hyper_connection.count",
                                       "num_loops",
                                       "skip_loop_final_norm",
                                       "altup.num_inputs",
                                       "attention.causal",
                                       "attention.clamp_kqv",
                                       "attention.group_norm_groups",
                                       "attention.indexer.top_k",
                                       "attention.key_length_mla",
                                       "attention.key_length_swa",
                                       "attention.kv_lora_rank",
                                       "attention.max_alibi_bias",
                                       "attention.output_scale",
                                       "attention.q_lora_rank",
                                       "attention.relative_buckets_count",
                                       "attention.scale",
                                       "attention.shared_kv_layers",
                                       "attention.sliding_window",
                                       "attention.sliding_window_pattern",
                                       "attention.temperature_length",
                                       "attention.temperature_scale",
                                       "attention.value_length_mla",
                                       "attention.value_length_swa",
                                       "attention.value_scale",
                                       "attn_logit_softcapping",
                                       "decoder_block_count",
                                       "embedding_length_per_layer_input",
                                       "embedding_scale",
                                       "expert_chunk_feed_forward_length",
                                       "expert_count",
                                       "expert_gating_func",
                                       "expert_group_count",
                                       "expert_group_scale",
                                       "expert_group_used_count",
                                       "expert_shared_count",
                                       "expert_shared_feed_forward_length",
                                       "expert_used_count",
                                       "expert_weights_scale",
                                       "experts_per_group",
                                       "final_logit_softcapping",
                                       "full_attention_interval",
                                       "interleave_moe_layer_step",
                                       "leading_dense_block_count",
                                       "logit_scale",
                                       "moe_every_n_layers",
                                       "moe_latent_size",
                                       "n_deepstack_layers",
                                       "nextn_predict_layers",
                                       "residual_scale",
                                       "rope.dimension_count_swa",
                                       "rope.dimension_sections",
                                       "rope.freq_base_swa",
                                       "rope.scaling.alpha",
                                       "rope.scaling.yarn_attn_factor",
                                       "rope.scaling.yarn_beta_fast",
                                       "rope.scaling.yarn_beta_slow",
                                       "rope.scaling.yarn_ext_factor",
                                       "rope.scaling.yarn_log_multiplier",
                                       "router_logit_softcapping",
                                       "ssm.state_size",
                                       "swiglu_clamp_exp",
                                       "swiglu_clamp_shexp",
                                       "swin_norm",
                                       "use_parallel_residual"};

/* Tensors that some architecture has, and that no file here may just bring along. */
static const char *const strangers[] = {"extra.0",
                                        "rope_freqs.weight",
                                        "rope_factors_long.weight",
                                        "position_embd.weight",
                                        "token_types.weight",
                                        "output.bias",
                                        "output_norm.bias",
                                        "cls.weight",
                                        "blk.0.attn_sinks.weight",
                                        "blk.0.attn_q_norm.weight",
                                        "blk.0.attn_k_norm.weight",
                                        "blk.0.attn_norm.bias",
                                        "blk.0.attn_norm_2.weight",
                                        "blk.0.ffn_norm.weight",
                                        "blk.0.post_attention_norm.weight",
                                        "blk.0.post_ffw_norm.weight",
                                        "blk.0.attn_q.bias",
                                        "blk.0.attn_output.bias",
                                        "blk.0.ffn_gate.weight",
                                        "blk.0.ffn_down.bias",
                                        "blk.0.ffn_gate_inp.weight",
                                        "blk.0.ffn_gate_inp.bias",
                                        "blk.0.ffn_up_exps.weight",
                                        "blk.0.ffn_up_exps.bias",
                                        "blk.0.ffn_up_shexp.weight",
                                        "blk.0.exp_probs_b.bias",
                                        "blk.99.attn_q.weight"};

/* ---- one fixture ------------------------------------------------------------------------------------- */

static struct {
    const struct fixture *f;
    char source[64], arch[64];
    tn_gguf *file;
} now;

static void open_fixture(const struct fixture *f) {
    tn_error err = TN_ERROR_INIT;
    tn_kv kv = {.struct_size = sizeof kv};
    now.f = f;
    snprintf(now.source, sizeof now.source, "models/%s.gguf", f->file);
    cr_assert_eq(tn_gguf_open(rig_data(now.source), tn_engine_types(rig_engine()), &now.file, &err), TN_OK,
                 "%s", err.text);
    const tn_meta *meta = tn_gguf_meta(now.file);
    cr_assert_eq(meta->find(meta, "general.architecture", &kv), TN_OK);
    snprintf(now.arch, sizeof now.arch, "%.*s", (int)kv.size, (const char *)kv.data);
}

static const char *full(const char *key) {
    static char keys[4][160];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(keys[turn], sizeof keys[turn], "%s.%s", now.arch, key);
    return keys[turn];
}

static int has_key(const char *key) {
    tn_kv kv = {.struct_size = sizeof kv};
    const tn_meta *meta = tn_gguf_meta(now.file);
    return meta->find(meta, full(key), &kv) == TN_OK;
}

/* True if `words` has `name`, or, with `tails`, a word that `name` ends with. */
static int among(const char *words, const char *name, int tails) {
    char copy[256], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", words);
    while ((word = strtok_r(rest, " ", &rest))) {
        size_t skip = tails && strlen(word) <= strlen(name) ? strlen(name) - strlen(word) : 0;
        if (strcmp(name + skip, word) == 0) { return 1; }
    }
    return 0;
}

static const tn_model_options options = {.backend = "reference"};

/* True if `text` has `name`, and not only as a part of a longer one. */
static int names(const char *text, const char *name) {
    size_t size = strlen(name);
    for (; (text = strstr(text, name)); text += size) {
        if (!isalnum((unsigned char)text[size]) && text[size] != '_' && text[size] != '.') { return 1; }
    }
    return 0;
}

/* The copy is refused, and a reason names the thing. */
static void refused(const rig_edit *edit, const char *word, const char *what) {
    rig_result result;
    rig_fit(rig_make(edit), &options, &result);
    int32_t code = tn_fit_code(result.fit);
    cr_expect(code != TN_OK && tn_code_status(code) == 3 && names(result.text, word),
              "%s, %s: no '%s' in: %s (%s)", now.f->file, what, word, result.text, tn_code_text(code));
    rig_end(&result);
}

static void accepted(const rig_edit *edit, const char *what) {
    rig_result result;
    rig_fit(rig_make(edit), &options, &result);
    cr_expect_eq(tn_fit_code(result.fit), TN_OK, "%s, %s: %s", now.f->file, what, result.text);
    rig_end(&result);
}

/* Hyperparameters are judged before tensors, so files with next to none do. */
static void refused_number(const char *key, uint32_t number) {
    char what[128];
    rig_edit edit = {
        .source = now.source, .no_tensors = 1, .extra = 1, .number_key = full(key), .number = number};
    snprintf(what, sizeof what, "%s = %u", key, number);
    refused(&edit, full(key), what);
}

static void refused_without(const char *key) {
    char what[128];
    const char *const drop[] = {full(key), NULL};
    rig_edit edit = {.source = now.source, .no_tensors = 1, .extra = 1, .drop_keys = drop};
    snprintf(what, sizeof what, "without %s", key);
    refused(&edit, full(key), what);
}

/* ---- hyperparameters --------------------------------------------------------------------------------- */

static void sizes(void) {
    static const char *const at_least_one[] = {"embedding_length", "block_count", "attention.head_count",
                                               "feed_forward_length"};
    for (size_t i = 0; i < sizeof at_least_one / sizeof *at_least_one; i++) {
        refused_number(at_least_one[i], 0);
        refused_number(at_least_one[i], UINT32_C(1) << 31);
        refused_without(at_least_one[i]);
    }
    refused_without("context_length");
    refused_number("attention.head_count_kv", 0);
    refused_number("attention.head_count_kv", 3);
    for (size_t i = 0; i < 2; i++) {
        refused_number("attention.key_length", i ? UINT32_C(1) << 31 : 0);
        refused_number("attention.value_length", i ? UINT32_C(1) << 31 : 0);
    }
    refused_without(has_key("attention.layer_norm_rms_epsilon") ? "attention.layer_norm_rms_epsilon"
                                                                : "attention.layer_norm_epsilon");
    refused_number(has_key("attention.layer_norm_rms_epsilon") ? "attention.layer_norm_rms_epsilon"
                                                               : "attention.layer_norm_epsilon",
                   0);
}

/* A number that no context can have: the refusal names it and says what to do, and that helps. */
static void contexts(void) {
    const uint32_t numbers[] = {0, UINT32_C(1) << 31, UINT32_MAX};
    const tn_model_options chosen = {.backend = "reference", .context = 64};
    int helps = !(now.f->flags & LEARNED);
    rig_edit edit = {.source = now.source, .number_key = full("context_length")};
    rig_result result;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char value[16];
        edit.number = numbers[i];
        snprintf(value, sizeof value, "%u", numbers[i]);
        refused_number("context_length", numbers[i]);
        rig_fit(rig_make(&edit), &options, &result);
        cr_expect(names(result.text, full("context_length")) && names(result.text, value) &&
                      !helps == !strstr(result.text, "-c N"),
                  "%s: %s", now.f->file, result.text);
        rig_end(&result);
    }
    rig_fit(rig_make(&edit), &chosen, &result);
    cr_expect_eq(tn_fit_code(result.fit) == TN_OK, helps, "%s with a context of 64: %s", now.f->file,
                 result.text);
    rig_end(&result);
}

static void rotation(void) {
    if (!(now.f->flags & ROTATES)) { return; }
    refused_number("rope.dimension_count", 0);
    refused_number("rope.dimension_count", 3);
    refused_number("rope.dimension_count", 4096);
    if (!(now.f->flags & PARTIAL)) { refused_number("rope.dimension_count", 2); }
    refused_number("rope.freq_base", 0);
    refused_number("rope.scaling.original_context_length", 0);
    rig_edit edit = {.source = now.source,
                     .no_tensors = 1,
                     .extra = 1,
                     .key = full("rope.scaling.type"),
                     .text = "dynamic"};
    refused(&edit, full("rope.scaling.type"), "another law");
    edit.text = "yarn";
    edit.number_key = full("rope.freq_base");
    edit.number = 1;
    refused(&edit, full("rope.freq_base"), "yarn with base 1");
}

static void experts(void) {
    if (!(now.f->flags & (EXPERTS | MAY_MIX))) { return; }
    rig_edit edit = {.source = now.source,
                     .no_tensors = 1,
                     .extra = 1,
                     .numbers = {{full("expert_count"), 4}, {full("expert_used_count"), 5}}};
    refused(&edit, full("expert_used_count"), "5 of 4 experts");
    edit.numbers[1].number = 0;
    refused(&edit, full("expert_used_count"), "0 of 4 experts");
    if (!has_key("expert_count")) { refused_number("expert_used_count", 1); }
    if (!(now.f->flags & EXPERTS)) { return; }
    refused_number("expert_count", 0);
    refused_number("expert_count", UINT32_C(1) << 31);
    refused_number("expert_gating_func", 7);
    refused_without("expert_count");
    refused_without("expert_used_count");
}

static void window(void) {
    if (!(now.f->flags & WINDOW)) { return; }
    refused_number("attention.sliding_window", 0);
    refused_number("attention.sliding_window_pattern", 0);
    refused_number("attention.sliding_window", UINT32_C(1) << 31);
    if (!(now.f->flags & DEFAULTS)) { refused_without("attention.sliding_window"); }
}

static void variant_keys(void) {
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (!among(now.f->reads, variants[i], 0)) { refused_number(variants[i], 7); }
    }
    if (strcmp(now.arch, "gptneox") == 0) { refused_without("use_parallel_residual"); }
    if (strcmp(now.arch, "granite") == 0) { refused_without("logit_scale"); }
    if (strcmp(now.arch, "cohere2") == 0) { refused_without("logit_scale"); }
    if (strcmp(now.arch, "qwen") == 0) { refused_number("feed_forward_length", 127); }
    if (strcmp(now.arch, "baichuan") == 0) { refused_number("block_count", 40); }
}

/* ---- tensors ----------------------------------------------------------------------------------------- */

static int in_first_layer(const char *name) {
    return strncmp(name, "blk.", 4) != 0 || strncmp(name, "blk.0.", 6) == 0;
}

/* Where "-" is not among the words, output.weight may be left out. */
static int may_lack(const char *name) {
    if (strcmp(name, "output.weight") == 0) { return !among(now.f->may, "-", 0); }
    return among(now.f->may, name, 1) || strcmp(name, "token_types.weight") == 0;
}

/* What is missed without a tensor: attn_qkv stands for three, and where a weight decides about a form its bias is left. */
static const char *missed(const char *name) {
    if (strstr(name, "attn_qkv.weight")) { return "attn_q.weight"; }
    if (strstr(name, "attn_norm_2.weight")) { return "attn_norm_2.bias"; }
    if (strstr(name, "cls.output.weight")) { return "cls.output.bias"; }
    if (strcmp(name, "cls.weight") == 0) { return "cls.bias"; }
    return strcmp(now.arch, "stablelm") == 0 && strstr(name, "ffn_norm.weight") ? "ffn_norm.bias" : name;
}

static void left_out(const tn_gguf_tensor *t) {
    const char *const drop[] = {t->name, NULL};
    char what[128];
    rig_edit edit = {.source = now.source, .drop_tensors = drop};
    snprintf(what, sizeof what, "without %s", t->name);
    if (may_lack(t->name)) {
        accepted(&edit, what);
    } else {
        refused(&edit, missed(t->name), what);
    }
}

static void turned(const tn_gguf_tensor *t) {
    char what[128];
    rig_edit edit = {.source = now.source,
                     .reshape = t->name,
                     .dims = {t->dims[1], t->dims[0], t->dims[2], t->dims[3]},
                     .dim_count = t->dim_count};
    if (t->dims[0] == t->dims[1] || t->type != 0) { return; }
    snprintf(what, sizeof what, "%s with other dims", t->name);
    refused(&edit, t->name, what);
}

static void tensors(void) {
    for (uint64_t i = 0; i < tn_gguf_tensor_count(now.file); i++) {
        const tn_gguf_tensor *t = tn_gguf_tensor_at(now.file, i);
        if (!in_first_layer(t->name)) { continue; }
        left_out(t);
        if (t->dim_count > 1) { turned(t); }
    }
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        rig_edit edit = {.source = now.source, .extra_name = strangers[i]};
        if (tn_gguf_tensor_find(now.file, strangers[i])) { continue; }
        refused(&edit, strangers[i], "a tensor too many");
    }
}

ParameterizedTestParameters(refusals, fixture) {
    static struct fixture all[FIXTURES];
    memcpy(all, fixtures, sizeof all);
    return cr_make_param_array(struct fixture, all, FIXTURES);
}

ParameterizedTest(struct fixture *f, refusals, fixture) {
    open_fixture(f);
    accepted(&(rig_edit){.source = now.source}, "not changed");
    sizes();
    contexts();
    rotation();
    experts();
    window();
    variant_keys();
    tensors();
    tn_gguf_close(now.file);
}
