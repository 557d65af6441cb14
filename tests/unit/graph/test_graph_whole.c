/*
 * A graph as a whole: outputs, slots, what is left unused; that the builder keeps nothing of the author's
 * memory; authors that are older or newer than the host; readers that are older.
 */
#include "abi_view.h"
#include "graph_arena.h"
#include "graph_build.h"

#include <criterion/criterion.h>
#include <string.h>

enum { EMBD = 1, Q, K, SPARE, WEIGHTS = SPARE };
static const tn_weight embd = {
    .struct_size = sizeof embd, .name = "embd", .cols = 16, .rows = 32, .count = 1};
static const tn_weight q = {.struct_size = sizeof q, .name = "q", .cols = 16, .rows = 16, .count = 1};
static const tn_weight k = {.struct_size = sizeof k, .name = "k", .cols = 16, .rows = 8, .count = 1};
static const tn_weight spare = {
    .struct_size = sizeof spare, .name = "spare", .cols = 16, .rows = 1, .count = 1};
static const tn_weight *const weights[WEIGHTS] = {&embd, &q, &k, &spare};
static const uint32_t spare_unused[WEIGHTS] = {0, 0, 0, TN_CLAIM_UNUSED};
static const uint32_t spare_needed[WEIGHTS];

static tn_graph_builder *builder;
static const tn_graph *graph;
static tn_error err;

static void start(const uint32_t *flags) {
    err = (tn_error)TN_ERROR_INIT;
    graph = NULL;
    cr_assert_eq(tn_graph_builder_create(weights, flags, WEIGHTS, &builder, &err), TN_OK, "%s", err.text);
}

static uint32_t add(const tn_node *node) {
    const tn_builder *table = tn_graph_builder_table(builder);
    return table->add(table, node);
}

static uint32_t node(const char *name, int32_t op, const uint32_t inputs[4], uint32_t weight,
                     const void *attributes) {
    tn_node n = {.struct_size = sizeof n, .op = op, .name = name, .layer = -1, .attributes = attributes};
    if (inputs) { memcpy(n.inputs, inputs, sizeof n.inputs); }
    n.weights[0] = weight;
    return add(&n);
}

#define IN(...) ((const uint32_t[4]){__VA_ARGS__})
#define A(type, ...) (&(const type){.struct_size = sizeof(type), __VA_ARGS__})
#define ATTEND(slot_, cached_)                                                                               \
    A(tn_attend, .slot = slot_, .heads = 2, .kv_heads = 1, .key_dim = 8, .value_dim = 8, .causal = 1,        \
      .cached = cached_, .scale = 1)

/* x after an attend, which reads slot `slot`. */
static uint32_t layer(const char *name, uint32_t x, uint32_t slot, uint32_t cached) {
    uint32_t heads = node("q", TN_OP_linear, IN(x), Q, A(tn_linear, .reserved = 0));
    uint32_t keys = node("k", TN_OP_linear, IN(x), K, A(tn_linear, .reserved = 0));
    return node(name, TN_OP_attend, IN(heads, keys, keys), 0, ATTEND(slot, cached));
}

static uint32_t embed(void) {
    return node("embd", TN_OP_embed, NULL, EMBD, A(tn_embed, .by = TN_EMBED_TOKEN, .scale = 1));
}

static void output(uint32_t x, uint32_t kind) {
    uint32_t rows = node("rows", TN_OP_rows, IN(x), 0, A(tn_scale, .factor = 0));
    node("end", TN_OP_output, IN(rows), 0, A(tn_output, .kind = kind));
}

static int32_t finish(void) {
    return tn_graph_builder_finish(builder, TN_OK, &graph, &err);
}

static void expect_refused(const char *words) {
    int32_t code = finish();
    cr_expect_eq(code, TN_E_GRAPH, "code %d (%s), expected graph.invalid and \"%s\"", code, err.text, words);
    cr_expect(strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
    tn_graph_builder_free(builder);
}

Test(graph_whole, a_sound_graph) {
    start(spare_unused);
    output(layer("b", layer("a", embed(), 1, 1), 0, 1), TN_OUTPUT_LOGITS);
    cr_assert_eq(finish(), TN_OK, "%s", err.text);
    cr_expect_eq(graph->slot_count, 2);
    cr_expect_eq(graph->node_count, 9);
    cr_expect_eq(graph->value_count, 8);
    cr_expect_eq(graph->weight_count, 4);
    cr_expect_eq(graph->values[0]->uses, 2, "the embedding is read by q and k");
    cr_expect_str_eq(graph->nodes[3]->name, "a");
    tn_graph_builder_free(builder);
}

Test(graph_whole, no_output) {
    start(spare_unused);
    layer("a", embed(), 0, 1);
    expect_refused("no output");
}

Test(graph_whole, one_output_of_a_kind) {
    start(spare_unused);
    uint32_t x = layer("a", embed(), 0, 1);
    output(x, TN_OUTPUT_LOGITS);
    output(x, TN_OUTPUT_LOGITS);
    expect_refused("end (output): the same kind of output as end");
}

Test(graph_whole, two_kinds_of_output) {
    start(spare_unused);
    uint32_t x = layer("a", embed(), 0, 1);
    output(x, TN_OUTPUT_LOGITS);
    output(x, TN_OUTPUT_HIDDEN);
    cr_expect_eq(finish(), TN_OK, "%s", err.text);
    tn_graph_builder_free(builder);
}

Test(graph_whole, unused_value) {
    start(spare_unused);
    uint32_t x = layer("a", embed(), 0, 1);
    node("lost", TN_OP_scale, IN(x), 0, A(tn_scale, .factor = 2));
    output(x, TN_OUTPUT_LOGITS);
    expect_refused("lost (scale): result 0 is not used");
}

Test(graph_whole, unused_part_of_a_split) {
    start(spare_unused);
    uint32_t x =
        node("cut", TN_OP_split, IN(layer("a", embed(), 0, 1)), 0, A(tn_split, .count = 2, .widths = {8, 8}));
    output(x, TN_OUTPUT_LOGITS);
    expect_refused("cut (split): result 1 is not used");
}

Test(graph_whole, unused_weight) {
    start(spare_needed);
    output(layer("a", embed(), 0, 1), TN_OUTPUT_LOGITS);
    expect_refused("spare is claimed and not used");
}

Test(graph_whole, slot_twice) {
    start(spare_unused);
    output(layer("b", layer("a", embed(), 0, 1), 0, 1), TN_OUTPUT_LOGITS);
    expect_refused("b (attend): cache slot 0 belongs to a");
}

Test(graph_whole, slot_gap) {
    start(spare_unused);
    output(layer("b", layer("a", embed(), 0, 1), 2, 1), TN_OUTPUT_LOGITS);
    expect_refused("b (attend): cache slot 2, the graph has 2 from 0");
}

Test(graph_whole, uncached_needs_no_slot) {
    start(spare_unused);
    output(layer("b", layer("a", embed(), 0, 0), 0, 0), TN_OUTPUT_HIDDEN);
    cr_assert_eq(finish(), TN_OK, "%s", err.text);
    cr_expect_eq(graph->slot_count, 0);
    tn_graph_builder_free(builder);
}

Test(graph_whole, first_fault_stays) {
    start(spare_unused);
    uint32_t x = embed();
    cr_expect_eq(node("first", TN_OP_scale, IN(77), 0, A(tn_scale, .factor = 1)), 0);
    cr_expect_eq(node("second", TN_OP_scale, IN(x), 0, A(tn_scale, .factor = 1)), 0,
                 "nothing is added after a fault");
    expect_refused("first (scale)");
}

Test(graph_whole, a_failed_build_says_why) {
    start(spare_unused);
    embed();
    tn_fail(&err, TN_E_PARAM_INVALID, "the author's reason");
    cr_expect_eq(tn_graph_builder_finish(builder, TN_E_PARAM_INVALID, &graph, &err), TN_E_PARAM_INVALID);
    cr_expect_str_eq(err.text, "the author's reason");
    tn_graph_builder_free(builder);
}

Test(graph_whole, unnamed_and_bad_layer) {
    tn_node n = {.struct_size = sizeof n, .op = TN_OP_embed, .layer = -1, .weights = {EMBD}};
    tn_embed attributes = {sizeof attributes, TN_EMBED_TOKEN, 1};
    n.attributes = &attributes;
    start(spare_unused);
    cr_expect_eq(add(&n), 0);
    expect_refused("node 0 has no name");
    n.name = "embd";
    n.layer = -2;
    start(spare_unused);
    cr_expect_eq(add(&n), 0);
    expect_refused("embd (embed): layer -2");
}

/* ---- memory ----------------------------------------------------------------------------------------- */

Test(graph_whole, keeps_nothing_of_the_author) {
    double frequencies[4] = {1, 2, 3, 4};
    char id[] = "mine/1", params[] = "abc", name[] = "turn";
    tn_rope rope = {sizeof rope, 2, 8, 8, TN_PAIR_ADJACENT, 0, frequencies, 1};
    tn_custom custom = {sizeof custom, 16, id, params, sizeof params};
    start(spare_unused);
    uint32_t x = layer("a", embed(), 0, 1);
    uint32_t turned = node(name, TN_OP_rope, IN(x), 0, &rope);
    output(node("mine", TN_OP_custom, IN(turned), 0, &custom), TN_OUTPUT_LOGITS);
    memset(frequencies, 0xff, sizeof frequencies);
    memset(id, 'x', 6), memset(params, 'x', 3), memset(name, 'x', 4);
    memset(&rope, 0xff, sizeof rope), memset(&custom, 0xff, sizeof custom);
    cr_assert_eq(finish(), TN_OK, "%s", err.text);
    const tn_rope *kept = graph->nodes[4]->attributes;
    const tn_custom *mine = graph->nodes[5]->attributes;
    cr_expect_str_eq(graph->nodes[4]->name, "turn");
    cr_expect_eq(kept->frequencies[3], 4.0);
    cr_expect_str_eq(mine->id, "mine/1");
    cr_expect_str_eq(mine->params, "abc");
    tn_graph_builder_free(builder);
}

/* ---- versions --------------------------------------------------------------------------------------- */

/* Attributes of a later version: one more member. */
struct newer_mark {
    tn_mark old;
    uint32_t more;
};

static uint32_t add_newer(uint32_t x, uint32_t more) {
    struct newer_mark mark = {{sizeof mark, TN_MARK_LAYER_OUTPUT}, more};
    return node("newer", TN_OP_mark, IN(x), 0, &mark);
}

Test(graph_whole, a_newer_author) {
    start(spare_unused);
    uint32_t x = layer("a", embed(), 0, 1);
    output(add_newer(x, 0), TN_OUTPUT_LOGITS);
    cr_expect_eq(finish(), TN_OK, "zero means as before: %s", err.text);
    tn_graph_builder_free(builder);
    start(spare_unused);
    cr_expect_eq(add_newer(layer("a", embed(), 0, 1), 1), 0);
    expect_refused("newer (mark): sets attributes that this host does not know");
}

Test(graph_whole, a_newer_node) {
    struct {
        tn_node old;
        uint32_t more[2];
    } newer = {.old = {.struct_size = sizeof newer, .op = TN_OP_embed, .name = "newer", .weights = {EMBD}}};
    tn_embed attributes = {sizeof attributes, TN_EMBED_TOKEN, 1};
    newer.old.attributes = &attributes;
    start(spare_unused);
    cr_expect_eq(add(&newer.old), 1);
    newer.more[1] = 1;
    cr_expect_eq(add(&newer.old), 0);
    expect_refused("newer: sets members that this host does not know");
}

Test(graph_whole, a_short_struct) {
    tn_node n = {.struct_size = sizeof n - 8, .op = TN_OP_embed, .name = "short"};
    start(spare_unused);
    cr_expect_eq(add(&n), 0);
    expect_refused("struct_size is");
    start(spare_unused);
    cr_expect_eq(add(NULL), 0);
    expect_refused("struct_size is 0");
}

/* A reader that knows less of a struct than is set in it must not get it. */
Test(graph_whole, an_older_reader) {
    tn_abi_view view = {.plugin = "backend.old"};
    start(spare_unused);
    output(layer("a", embed(), 0, 1), TN_OUTPUT_LOGITS);
    cr_assert_eq(finish(), TN_OK, "%s", err.text);
    for (uint32_t i = 0; i < TN_STRUCT_COUNT; i++) { view.sizes[i] = 4096; }
    cr_expect_eq(tn_view_check_graph(&view, graph, &err), TN_OK, "%s", err.text);
    view.sizes[TN_STRUCT_tn_attend] = offsetof(tn_attend, softcap);
    cr_expect_eq(tn_view_check_graph(&view, graph, &err), TN_OK, "softcap is 0: %s", err.text);
    view.sizes[TN_STRUCT_tn_attend] = offsetof(tn_attend, scale);
    cr_expect_eq(tn_view_check_graph(&view, graph, &err), TN_E_PLUGIN_ABI);
    cr_expect(strstr(err.text, "backend.old") && strstr(err.text, "tn_attend"), "%s", err.text);
    tn_graph_builder_free(builder);
}

Test(graph_whole, a_stamped_struct) {
    tn_abi_view view = {.plugin = "backend.old"};
    tn_limits limits = {.rows = 1, .output_rows = 1, .sequences = 1, .pages_per_sequence = 0};
    err = (tn_error)TN_ERROR_INIT;
    view.sizes[TN_STRUCT_tn_limits] = offsetof(tn_limits, pages_per_sequence);
    cr_expect_eq(TN_VIEW(&view, &limits, tn_limits, &err), TN_OK);
    cr_expect_eq(limits.struct_size, offsetof(tn_limits, pages_per_sequence));
    limits.pages_per_sequence = 3;
    cr_expect_eq(TN_VIEW(&view, &limits, tn_limits, &err), TN_E_PLUGIN_ABI);
}

/* ---- arena ------------------------------------------------------------------------------------------ */

Test(graph_whole, arena_pieces_are_zeroed_aligned_and_apart) {
    tn_arena arena = {NULL};
    unsigned char *pieces[200];
    for (size_t i = 0; i < 200; i++) {
        size_t size = i * 37 % 9000;
        pieces[i] = tn_arena_take(&arena, size);
        cr_assert(pieces[i] && (uintptr_t)pieces[i] % 16 == 0);
        for (size_t at = 0; at < size; at++) { cr_assert_eq(pieces[i][at], 0); }
        memset(pieces[i], (int)i, size);
    }
    for (size_t i = 0; i < 200; i++) {
        for (size_t at = 0; at < i * 37 % 9000; at++) { cr_assert_eq(pieces[i][at], (unsigned char)i); }
    }
    cr_expect_null(tn_arena_take(&arena, SIZE_MAX - 8));
    cr_expect_null(tn_arena_array(&arena, SIZE_MAX / 2, 3));
    cr_expect_str_eq(tn_arena_format(&arena, "%s %d", "x", 7), "x 7");
    tn_arena_release(&arena);
}
