/* The long form of encoding: members that a plugin may not know, plain ranges, pairs, several threads. */
#include "made_codec.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

enum { OLD = offsetof(tn_encode, plain) };

typedef struct {
    int32_t code;
    int32_t *ids;
    uint8_t *types;
    uint64_t count;
    tn_error error;
} result;

static result run(const tn_text_codec *codec, const tn_codec_text *text, int types) {
    result r = {.error = TN_ERROR_INIT};
    r.code = tn_codec_encode_text(codec, text, &r.ids, types ? &r.types : NULL, &r.count, &r.error);
    return r;
}

static void drop(result *r) {
    free(r->ids);
    free(r->types);
}

static void expect_refused(const tn_text_codec *codec, const tn_codec_text *text, int types, int32_t code,
                           const char *words) {
    result r = run(codec, text, types);
    cr_expect(eq(i32, r.code, code), "%s", r.error.text);
    cr_expect(strstr(r.error.text, words) != NULL, "\"%s\" is not in: %s", words, r.error.text);
    cr_expect(r.ids == NULL && r.types == NULL && r.count == 0);
}

Test(codec_encode, what_an_older_plugin_does_not_know_is_refused_and_not_left_out) {
    const uint64_t plain[] = {0, 2};
    tn_text_codec old = made_codec(&made_table_without_cut, OLD, 4);
    tn_codec_text text = {.text = "a b <c>", .size = 7, .flags = TN_ENCODE_SPECIAL | TN_ENCODE_ADD};
    result r = run(&old, &text, 0);
    cr_expect(eq(i32, r.code, TN_OK), "%s", r.error.text);
    cr_expect(eq(u64, r.count, 7)); /* BOS, four runs, <c>, EOS */
    drop(&r);
    expect_refused(&old, &text, 1, TN_E_PLUGIN_ABI, "segment numbers");
    text.plain = plain;
    expect_refused(&old, &(tn_codec_text){.text = "a", .size = 1, .plain = plain, .plain_count = 1}, 0,
                   TN_E_PLUGIN_ABI, "tokenizer.made");
    expect_refused(&old, &(tn_codec_text){.text = "a", .size = 1, .pair = "b", .pair_size = 1}, 0,
                   TN_E_PLUGIN_ABI, "pairs");
    expect_refused(&old, &(tn_codec_text){.text = "a", .size = 1, .flags = TN_ENCODE_MORE}, 0,
                   TN_E_PLUGIN_ABI, "parts");
    expect_refused(&old, &(tn_codec_text){.text = "a", .size = 1, .flags = TN_ENCODE_CONTINUES}, 0,
                   TN_E_PLUGIN_ABI, "parts");
    /* Known one by one: plain ranges, not yet pairs. */
    tn_text_codec middle = made_codec(&made_table, offsetof(tn_encode, pair), 1);
    r = run(&middle, &(tn_codec_text){.text = "aa", .size = 2, .plain = plain, .plain_count = 1}, 0);
    cr_expect(eq(i32, r.code, TN_OK), "%s", r.error.text);
    drop(&r);
    expect_refused(&middle, &(tn_codec_text){.text = "a", .size = 1, .pair = ""}, 0, TN_E_PLUGIN_ABI,
                   "pairs");
}

Test(codec_encode, plain_ranges_are_checked_and_passed_on) {
    tn_text_codec codec = made_codec(&made_table, sizeof(tn_encode), 4);
    const uint64_t first[] = {0, 3}, second[] = {2, 3}, between[] = {3, 3};
    const uint64_t *const ranges[] = {first, second, between};
    const uint64_t counts[] = {2, 2, 2};
    for (size_t i = 0; i < 3; i++) {
        tn_codec_text text = {
            .text = "<c><c>", .size = 6, .flags = TN_ENCODE_SPECIAL, .plain = ranges[i], .plain_count = 1};
        result r = run(&codec, &text, 0);
        cr_expect(eq(i32, r.code, TN_OK), "%s", r.error.text);
        cr_expect(eq(u64, r.count, counts[i]), "range %zu", i);
        cr_expect(eq(i32, r.ids[0] == 3, i == 2), "range %zu", i);
        cr_expect(eq(i32, r.ids[1], 3), "range %zu", i);
        drop(&r);
    }
    const uint64_t bad[][4] = {{0, 7, 7, 7}, {2, 1, 3, 4}, {0, 3, 2, 4}};
    for (size_t i = 0; i < 3; i++) {
        tn_codec_text text = {.text = "<c><c>", .size = 6, .plain = bad[i], .plain_count = 2};
        expect_refused(&codec, &text, 0, TN_E_INPUT, "plain range");
    }
}

Test(codec_encode, pairs_and_types_come_together) {
    tn_text_codec codec = made_codec(&made_table, sizeof(tn_encode), 4);
    tn_codec_text text = {.text = "a", .size = 1, .pair = "b\0c", .pair_size = 3};
    result r = run(&codec, &text, 1);
    cr_assert(eq(i32, r.code, TN_OK), "%s", r.error.text);
    cr_expect(r.count == 2 && r.types[0] == 0 && r.types[1] == 1);
    drop(&r);
    r = run(&codec, &(tn_codec_text){.text = ""}, 1);
    cr_expect(r.code == TN_OK && r.count == 0 && r.ids && r.types, "%s", r.error.text);
    drop(&r);
}

/* Words of random length with blanks between them, `longest` bytes at most. */
static char *make_text(uint64_t size, uint64_t longest) {
    char *text = malloc(size + 1);
    uint64_t state = 42, left = 0;
    for (uint64_t i = 0; i < size; i++, left--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (left == 0) { left = 1 + (state >> 33) % longest; }
        text[i] = left == 1 ? ' ' : (char)('a' + (state >> 40) % 26);
        if (left == 3 && (state >> 50) % 4 == 0 && i + 3 < size) {
            memcpy(text + i, "<c>", 3);
            i += 2;
            left = 1;
        }
    }
    text[size] = 0;
    return text;
}

static void expect_same(const tn_codec_text *text) {
    tn_text_codec whole = made_codec(&made_table_without_cut, sizeof(tn_encode), 4);
    tn_text_codec parts = made_codec(&made_table, sizeof(tn_encode), 4);
    result wanted = run(&whole, text, 1), got = run(&parts, text, 1);
    cr_assert(wanted.code == TN_OK && got.code == TN_OK, "%s", got.error.text);
    cr_assert(eq(u64, got.count, wanted.count));
    cr_expect(memcmp(got.ids, wanted.ids, got.count * sizeof *got.ids) == 0);
    cr_expect(memcmp(got.types, wanted.types, got.count) == 0);
    drop(&wanted);
    drop(&got);
}

Test(codec_encode, parts_give_the_ids_of_the_whole, .timeout = 60) {
    static const uint64_t longest[] = {10, 5000, 300000, 5000000};
    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) {
        for (uint32_t flags = 0; flags <= (TN_ENCODE_ADD | TN_ENCODE_SPECIAL); flags += 3) {
            uint64_t size = 1300000 + 17 * i;
            char *text = make_text(size, longest[i]);
            for (uint32_t threads = 0; threads < 9; threads += 8) {
                expect_same(&(tn_codec_text){.text = text, .size = size, .flags = flags, .threads = threads});
            }
            free(text);
        }
    }
}

Test(codec_encode, plain_ranges_of_a_long_text_hold) {
    uint64_t size = 1000000, plain[] = {0, 500000, 500001, 1000000};
    char *text = make_text(size, 8);
    expect_same(&(tn_codec_text){
        .text = text, .size = size, .flags = TN_ENCODE_SPECIAL, .plain = plain, .plain_count = 2});
    free(text);
}

/* Whichever thread meets which fault first, the first one in the text is told. */
Test(codec_encode, the_first_fault_of_a_long_text_is_reported) {
    tn_text_codec codec = made_codec(&made_table, sizeof(tn_encode), 4);
    uint64_t size = 2000000;
    char *text = make_text(size, 8);
    for (uint64_t at = 700000; at < size - 100; at += 1000) { memcpy(text + at, " " MADE_FAULT " ", 7); }
    char first[32] = "";
    for (int i = 0; i < 20; i++) {
        result r = run(&codec, &(tn_codec_text){.text = text, .size = size}, 0);
        cr_expect(eq(i32, r.code, TN_E_FAILED));
        cr_expect(strstr(r.error.text, MADE_FAULT) != NULL && r.ids == NULL, "%s", r.error.text);
        if (i == 0) { snprintf(first, sizeof first, "%.31s", r.error.text); }
        cr_expect(strncmp(first, r.error.text, 31) == 0, "%s, then %s", first, r.error.text);
    }
    free(text);
}
