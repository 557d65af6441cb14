/* What a plan decides, and refuses, for small models of an architecture that nobody knows. */
#include "quant_rig.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

TestSuite(quant_plan, .fini = rig_end, .timeout = 120);

static const rig_tensor some[] = {
    {"token_embd.weight", F32, 2, {256, 40}},     {"blk.0.attn_norm.weight", F32, 1, {256}},
    {"blk.0.attn_q.weight", F32, 2, {256, 64}},   {"blk.0.attn_v.weight", F16, 2, {256, 64}},
    {"blk.0.ffn_down.weight", F32, 2, {96, 256}}, {"blk.0.ffn_down.bias", F32, 2, {256, 1}},
    {"output.weight", F32, 2, {256, 40}}};
enum { SOME = sizeof some / sizeof *some };
static const rig_model some_model = {.tensors = some, .count = SOME};

static const tn_quantize_tensor *find(const tn_quantize_plan *plan, const char *name) {
    for (uint64_t i = 0; i < tn_quantize_count(plan); i++) {
        if (strcmp(tn_quantize_at(plan, i)->source->name, name) == 0) { return tn_quantize_at(plan, i); }
    }
    cr_fatal("no tensor %s", name);
    return NULL;
}

static void expect_type(const tn_quantize_plan *plan, const char *name, const char *type) {
    cr_expect(eq(str, (char *)find(plan, name)->to, (char *)type), "%s", name);
}

Test(quant_plan, a_pure_mix_the_output_and_names_that_are_named) {
    tn_gguf *file = rig_open(rig_write("a.gguf", &some_model));
    tn_quantize_options options = {.type = "q4_0"};
    tn_quantize_plan *plan = rig_plan(file, &options);
    expect_type(plan, "token_embd.weight", "Q4_0");
    expect_type(plan, "output.weight", "Q6_K");
    expect_type(plan, "blk.0.attn_norm.weight", "F32");
    expect_type(plan, "blk.0.ffn_down.bias", "F32");
    expect_type(plan, "blk.0.attn_v.weight", "Q4_0");
    cr_expect(eq(u32, tn_quantize_shards(plan), 1));
    cr_expect(eq(u64, tn_quantize_importance(plan), 0));
    tn_quantize_plan_free(plan);

    options.pure = 1;
    plan = rig_plan(file, &options);
    expect_type(plan, "output.weight", "Q4_0");
    tn_quantize_plan_free(plan);

    options.pure = 0;
    options.leave_output = 1;
    plan = rig_plan(file, &options);
    expect_type(plan, "output.weight", "F32");
    cr_expect(strstr(find(plan, "output.weight")->reason, "output") != NULL);
    tn_quantize_plan_free(plan);

    const tn_type_rule rules[] = {{"attn_[qk]", "q8_0"}, {"^blk\\.0\\.", "f16"}, {"(out|token)", "BF16"}};
    options = (tn_quantize_options){.type = "Q4_0",
                                    .pure = 1,
                                    .rules = rules,
                                    .rule_count = 2,
                                    .output_type = "q4_1",
                                    .embedding_type = "F16"};
    plan = rig_plan(file, &options);
    expect_type(plan, "blk.0.attn_q.weight", "Q8_0");
    expect_type(plan, "blk.0.ffn_down.weight", "F16");
    expect_type(plan, "blk.0.attn_v.weight", "F16"); /* as it is */
    cr_expect(eq(u32, find(plan, "blk.0.attn_v.weight")->what, TN_QUANTIZE_LEFT));
    expect_type(plan, "blk.0.attn_norm.weight", "F32"); /* no rule makes a kept one something else */
    expect_type(plan, "output.weight", "Q4_1");
    expect_type(plan, "token_embd.weight", "F16");
    tn_quantize_plan_free(plan);

    options.rule_count = 3; /* what names tensors comes before what names their kind */
    plan = rig_plan(file, &options);
    expect_type(plan, "output.weight", "BF16");
    expect_type(plan, "token_embd.weight", "BF16");
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

/* Without an output the embedding takes its rules and its type, unless it has one of its own. */
Test(quant_plan, an_embedding_that_is_the_output) {
    const rig_model model = {.tensors = some, .count = SOME - 1};
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    tn_quantize_options options = {.type = "Q4_0"};
    tn_quantize_plan *plan = rig_plan(file, &options);
    expect_type(plan, "token_embd.weight", "Q6_K");
    tn_quantize_plan_free(plan);
    options.output_type = "Q8_0";
    plan = rig_plan(file, &options);
    expect_type(plan, "token_embd.weight", "Q8_0");
    tn_quantize_plan_free(plan);
    options.embedding_type = "F16";
    plan = rig_plan(file, &options);
    expect_type(plan, "token_embd.weight", "F16");
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

static void expect_wanted(const tn_quantize_plan *plan, const char *name, const char *type, uint32_t block) {
    const tn_quantize_tensor *tensor = find(plan, name);
    cr_assert(tensor->wanted != NULL, "%s", name);
    cr_expect(eq(str, (char *)tensor->wanted, (char *)type));
    cr_expect(eq(u32, tensor->wanted_block, block));
}

Test(quant_plan, rows_that_do_not_fit) {
    static const rig_tensor odd[] = {{"blk.0.attn_q.weight", F32, 2, {96, 64}},
                                     {"blk.0.attn_k.weight", F32, 2, {100, 64}},
                                     {"blk.0.attn_v.weight", F32, 2, {256, 64}}};
    const rig_model model = {.tensors = odd, .count = 3};
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    tn_quantize_options options = {.type = "Q6_K"};
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_expect(eq(str, (char *)find(plan, "blk.0.attn_q.weight")->to, "Q8_0"));
    expect_wanted(plan, "blk.0.attn_q.weight", "Q6_K", 256);
    expect_type(plan, "blk.0.attn_k.weight", "F16");
    expect_type(plan, "blk.0.attn_v.weight", "Q6_K");
    cr_expect(find(plan, "blk.0.attn_v.weight")->wanted == NULL);
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

/* Also where what stands in is the type that the tensor has. */
Test(quant_plan, rows_that_do_not_fit_and_stay) {
    static const rig_tensor odd[] = {{"blk.0.attn_q.weight", Q8_0, 2, {96, 64}},
                                     {"blk.0.attn_k.weight", F16, 2, {100, 64}},
                                     {"blk.0.attn_v.weight", F32, 2, {256, 64}}};
    const rig_model model = {.tensors = odd, .count = 3};
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    tn_quantize_options options = {.type = "Q6_K"};
    tn_quantize_plan *plan = rig_plan(file, &options);
    for (int i = 0; i < 2; i++) {
        cr_expect(eq(u32, find(plan, odd[i].name)->what, TN_QUANTIZE_LEFT));
        expect_wanted(plan, odd[i].name, "Q6_K", 256);
    }
    cr_expect(find(plan, "blk.0.attn_v.weight")->wanted == NULL);
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

Test(quant_plan, rows_that_nothing_fits) {
    static const rig_tensor odd[] = {{"blk.0.attn_k.weight", F32, 2, {100, 64}}};
    const rig_model model = {.tensors = odd, .count = 1};
    const tn_quantize_options options = {.type = "Q1_0"};
    if (!rig_writes("Q1_0")) { cr_skip_test("this build does not write Q1_0"); }
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    rig_refused(file, &options, TN_E_FORMAT_REFUSED, "blk.0.attn_k.weight: its rows of 100");
    tn_gguf_close(file);
}

Test(quant_plan, names_that_nobody_knows) {
    tn_gguf *file = rig_open(rig_write("a.gguf", &some_model));
    tn_quantize_options options = {.type = "Q4_X"};
    rig_refused(file, &options, TN_E_INPUT, "no file type is called Q4_X; there are: COPY, F32, F16");
    options = (tn_quantize_options){.type = "Q4_0", .output_type = "Q4_X"};
    rig_refused(file, &options, TN_E_INPUT, "output: no tensor type is called Q4_X");
    options = (tn_quantize_options){.type = "Q4_0", .embedding_type = ""};
    rig_refused(file, &options, TN_E_INPUT, "embedding: no tensor type");
    tn_type_rule rule = {"attn", "nothing"};
    options = (tn_quantize_options){.type = "Q4_0", .rules = &rule, .rule_count = 1};
    rig_refused(file, &options, TN_E_INPUT, "\"attn\": no tensor type is called nothing");
    rule = (tn_type_rule){"at(tn", "Q8_0"};
    rig_refused(file, &options, TN_E_INPUT, "\"at(tn\" is no POSIX extended regular expression");
    options = (tn_quantize_options){.type = "IQ1_S"}; /* known, and no part of this version */
    rig_refused(file, &options, TN_E_FORMAT_UNKNOWN, "tensor type IQ1_S: below 2 bits");
    options = (tn_quantize_options){.type = "Q4_0", .output_type = "I32"};
    rig_refused(file, &options, TN_E_FORMAT_UNKNOWN, "I32");
    tn_gguf_close(file);
}

/* A format that is read only. */
Test(quant_plan, a_type_that_is_not_written) {
    tn_format_use use;
    if (tn_engine_format(rig_engine(3), 9, &use, NULL) != TN_OK || use.format->encode) {
        cr_skip_test("no plugin of this build reads type 9 and does not write it");
    }
    tn_gguf *file = rig_open(rig_write("a.gguf", &some_model));
    const tn_quantize_options options = {.type = "Q4_0", .output_type = "Q8_1"};
    rig_refused(file, &options, TN_E_FORMAT_REFUSED, "output.weight: format.q8_1 does not write Q8_1");
    tn_gguf_close(file);
}

Test(quant_plan, a_quantised_source_is_converted_on_demand_only) {
    static const rig_tensor tensors[] = {{"blk.0.attn_q.weight", Q8_0, 2, {256, 8}},
                                         {"blk.1.attn_q.weight", Q4_0, 2, {256, 8}}};
    const rig_model model = {.tensors = tensors, .count = 2};
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    tn_quantize_options options = {.type = "F16"};
    rig_refused(file, &options, TN_E_INPUT, "tensor blk.0.attn_q.weight is Q8_0 already");
    rig_refused(file, &options, TN_E_INPUT, "2 tensors");
    options.type = "Q8_0"; /* one of them needs nothing done */
    rig_refused(file, &options, TN_E_INPUT, "tensor blk.1.attn_q.weight is Q4_0 already");
    options.allow_requantize = 1;
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_expect(eq(u32, find(plan, "blk.0.attn_q.weight")->what, TN_QUANTIZE_LEFT));
    cr_expect(eq(u32, find(plan, "blk.1.attn_q.weight")->what, TN_QUANTIZE_CONVERTED));
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

/* Integers and types of the future: what is kept is copied, its size is what lies up to the next tensor. */
Test(quant_plan, types_that_nobody_reads) {
    static const rig_tensor tensors[] = {{"blk.0.attn_q.weight", F32, 2, {256, 8}},
                                         {"blk.0.ids", 26, 1, {77}},
                                         {"blk.1.attn_q.weight", 99, 2, {64, 2}}};
    rig_model model = {.tensors = tensors, .count = 3};
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    tn_quantize_options options = {.type = "Q8_0"};
    rig_refused(file, &options, TN_E_FORMAT_UNKNOWN,
                "tensor blk.1.attn_q.weight: no installed plugin is for tensor type 99");
    options.type = "COPY";
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_expect(eq(u64, find(plan, "blk.0.ids")->size, 96)); /* 77 and the padding behind */
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
    model.count = 2;
    file = rig_open(rig_write("b.gguf", &model));
    options.type = "Q8_0";
    plan = rig_plan(file, &options);
    cr_expect(eq(u32, find(plan, "blk.0.ids")->what, TN_QUANTIZE_LEFT));
    cr_expect(eq(str, (char *)find(plan, "blk.0.ids")->to, "I32"));
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

Test(quant_plan, copying_goes_with_nothing_that_converts) {
    tn_gguf *file = rig_open(rig_write("a.gguf", &some_model));
    const tn_type_rule rule = {"attn", "Q8_0"};
    const tn_quantize_options wrong[] = {{.type = "COPY", .importance = "x"},
                                         {.type = "copy", .output_type = "F16"},
                                         {.type = "COPY", .embedding_type = "F16"},
                                         {.type = "COPY", .rules = &rule, .rule_count = 1},
                                         {.type = "COPY", .pure = 1},
                                         {.type = "COPY", .leave_output = 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rig_refused(file, &wrong[i], TN_E_INPUT, "COPY leaves all tensors as they are");
    }
    const tn_quantize_options options = {.type = "COPY", .split_size = 1000, .keep_split = 1};
    rig_refused(file, &options, TN_E_INPUT, "cannot both be had");
    tn_gguf_close(file);
}

/* ---- importance ------------------------------------------------------------------------------------------ */

static const float ones[2048] = {[0 ... 2047] = 1};

static void expect_importance(const tn_quantize_plan *plan, const char *name, uint32_t used, uint32_t lacks) {
    cr_expect(eq(u32, find(plan, name)->importance, used), "%s", name);
    cr_expect(eq(u32, find(plan, name)->lacks, lacks), "%s", name);
}

Test(quant_plan, importance_of_another_model_and_none_where_it_is_needed) {
    tn_gguf *file = rig_open(rig_write("a.gguf", &some_model));
    const rig_entry wrong[] = {{"blk.0.attn_q.weight", 128, 1, ones, ones}};
    tn_quantize_options options = {.type = "Q4_0", .importance = rig_importance("i.gguf", wrong, 1)};
    rig_refused(file, &options, TN_E_TENSOR_SHAPE,
                "entry blk.0.attn_q.weight has 128 x 1 numbers, 256 columns");
    const rig_entry embedding[] = {{"token_embd.weight", 40, 1, ones, ones},
                                   {"blk.0.attn_q.weight", 256, 1, ones, ones}};
    options.importance = rig_importance("i.gguf", embedding, 2);
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_expect(eq(u64, tn_quantize_importance(plan), 2));
    expect_importance(plan, "blk.0.attn_q.weight", 1, 0);
    expect_importance(plan, "token_embd.weight", 0, 1);
    expect_importance(plan, "blk.0.ffn_down.weight", 0, 1);
    expect_importance(plan, "blk.0.attn_norm.weight", 0, 0);
    tn_quantize_plan_free(plan);
    options = (tn_quantize_options){.type = "Q8_0", .importance = rig_path("i.gguf")}; /* ignores it */
    plan = rig_plan(file, &options);
    expect_importance(plan, "blk.0.attn_q.weight", 0, 0);
    expect_importance(plan, "blk.0.ffn_down.weight", 0, 0);
    tn_quantize_plan_free(plan);
    options = (tn_quantize_options){.type = "Q8_0", .importance = rig_path("none.gguf")};
    rig_refused(file, &options, TN_E_IO, "none.gguf");
    tn_gguf_close(file);
}

Test(quant_plan, types_that_need_importance) {
    if (!rig_writes("IQ2_XXS") || !rig_writes("Q2_K") || !rig_writes("Q5_K")) {
        cr_skip_test("IQ2_XXS, Q2_K and Q5_K are not all written by this build");
    }
    static const rig_tensor tensors[] = {{"token_embd.weight", F32, 2, {256, 8}},
                                         {"blk.0.attn_q.weight", F32, 2, {256, 8}},
                                         {"blk.0.attn_k.weight", F32, 2, {256, 8}}};
    const rig_model model = {.tensors = tensors, .count = 3};
    tn_gguf *file = rig_open(rig_write("a.gguf", &model));
    tn_quantize_options options = {.type = "IQ2_XXS"};
    rig_refused(file, &options, TN_E_INPUT, "tensor blk.0.attn_q.weight would be IQ2_XXS");
    const rig_entry entries[] = {{"blk.0.attn_q.weight", 256, 1, ones, ones},
                                 {"blk.0.attn_k.weight", 256, 1, ones, ones}};
    options.importance = rig_importance("i.gguf", entries, 1);
    rig_refused(file, &options, TN_E_INPUT,
                "i.gguf has no entry blk.0.attn_k.weight, which would be IQ2_XXS");
    options.importance = rig_importance("i.gguf", entries, 2);
    tn_quantize_plan_free(rig_plan(file, &options));
    options.pure = 1; /* the embedding has none, and the format itself asks for it */
    rig_refused(file, &options, TN_E_INPUT, "i.gguf has no entry token_embd.weight");
    options = (tn_quantize_options){.type = "Q2_K_S"};
    rig_refused(file, &options, TN_E_INPUT, "would be Q2_K");
    options.type = "Q2_K";
    tn_quantize_plan_free(rig_plan(file, &options));
    tn_gguf_close(file);
}

/* ---- shards ---------------------------------------------------------------------------------------------- */

Test(quant_plan, shards_of_a_size) {
    tn_gguf *file = rig_open(rig_write("a.gguf", &some_model));
    for (uint64_t most = 20000; most < 200000; most += 7777) {
        const tn_quantize_options options = {.type = "F16", .split_size = most};
        tn_quantize_plan *plan = rig_plan(file, &options);
        uint32_t shards = tn_quantize_shards(plan), last = 0, alone[16] = {0};
        for (uint64_t i = 0; i < tn_quantize_count(plan); i++) {
            uint32_t shard = tn_quantize_at(plan, i)->shard;
            cr_expect(shard == last || shard == last + 1);
            cr_assert(shard < 16);
            alone[last = shard]++;
        }
        cr_expect(eq(u32, shards, last + 1));
        for (uint32_t i = 0; i < shards; i++) {
            cr_expect(tn_quantize_shard_size(plan, i) <= most || alone[i] == 1, "%llu > %llu",
                      (unsigned long long)tn_quantize_shard_size(plan, i), (unsigned long long)most);
        }
        tn_quantize_plan_free(plan);
    }
    const tn_quantize_options all = {.type = "F16", .split_size = UINT64_MAX};
    tn_quantize_plan *plan = rig_plan(file, &all);
    char *path = tn_quantize_path(plan, "x/b.gguf", 0);
    cr_expect(eq(u32, tn_quantize_shards(plan), 1));
    cr_expect(eq(str, path, "x/b.gguf"));
    free(path);
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}

Test(quant_plan, shards_are_named_after_the_new_file) {
    static const char *const names[][2] = {{"x/b.gguf", "x/b-00002-of-00007.gguf"},
                                           {"b", "b-00002-of-00007.gguf"},
                                           {"b-00001-of-00007.gguf", "b-00002-of-00007.gguf"}};
    tn_gguf *file = rig_open(rig_write("a.gguf", &some_model));
    const tn_quantize_options options = {.type = "COPY", .split_size = 1};
    tn_quantize_plan *plan = rig_plan(file, &options);
    cr_assert(eq(u32, tn_quantize_shards(plan), SOME));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = tn_quantize_path(plan, names[i][0], 1);
        cr_expect(eq(str, path, (char *)names[i][1]));
        free(path);
    }
    tn_quantize_plan_free(plan);
    tn_gguf_close(file);
}
