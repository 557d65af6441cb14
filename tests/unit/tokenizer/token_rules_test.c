/*
 * token_rules_test.c - small vocabularies made up for one rule each: merging, special entries, what ends a
 * turn, what is added, what pieces are.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define KEY(name) "tokenizer.ggml." name

static void same(const test_tokenizer *t, const char *text, uint64_t size, uint32_t flags,
                 uint64_t wanted_count, const int32_t *wanted) {
    uint64_t count;
    int32_t *ids = test_encode(t, text, size, flags, &count);
    cr_expect_eq(count, wanted_count, "\"%s\": %llu ids, wanted %llu", text, (unsigned long long)count,
                 (unsigned long long)wanted_count);
    for (uint64_t i = 0; i < count && i < wanted_count; i++) {
        cr_expect_eq(ids[i], wanted[i], "\"%s\" id %llu: %d, wanted %d", text, (unsigned long long)i, ids[i],
                     wanted[i]);
    }
    free(ids);
}
#define SAME(t, text, flags, ...)                                                                            \
    same(t, text, sizeof(text) - 1, flags, sizeof((int32_t[]){__VA_ARGS__}) / 4,                             \
         (const int32_t[]){__VA_ARGS__})

/* Lowest rank first, leftmost on a tie; a text that merges make but the vocabulary lacks is written in bytes.
 */
Test(token_rules, bpe_merges) {
    static const char *const texts[] = {"ab", "abc", "bc", "cd"};
    static const int32_t types[] = {1, 1, 1, 1};
    static const char *const merges[] = {"c d", "a b", "ab c", "b c", "a b", "x y", "xy z", "q q"};
    test_meta m;
    test_tokenizer t;
    test_meta_bpe(&m, "gpt-2", 4, texts, types, 8, merges);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "abc", 0, 257);
    SAME(&t, "abcd", 0, 256, 259);
    SAME(&t, "bcbc", 0, 258, 258);
    SAME(&t, "xyz", 0, 'x', 'y', 'z');
    SAME(&t, "qqq", 0, 'q', 'q', 'q');
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* Under ignore_merges a word that is an entry is emitted as it is, even if no merge leads there. */
Test(token_rules, bpe_whole_words) {
    static const char *const texts[] = {"abc"};
    static const int32_t types[] = {1};
    test_meta m;
    test_tokenizer t;
    test_meta_bpe(&m, "llama-bpe", 1, texts, types, 0, NULL);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "abc", 0, 256);
    test_tokenizer_close(&t);
    test_meta_string(&m, KEY("pre"), "gpt-2");
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "abc", 0, 'a', 'b', 'c');
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* Plain text never becomes a control token, not by merging and not as a whole word. */
Test(token_rules, no_forged_control_tokens) {
    static const char *const texts[] = {"xx", "yy"};
    static const int32_t types[] = {TN_TOKEN_CONTROL, TN_TOKEN_UNKNOWN};
    static const char *const merges[] = {"x x", "y y"};
    test_meta m;
    test_tokenizer t;
    test_meta_bpe(&m, "llama-bpe", 2, texts, types, 2, merges);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "xx", 0, 'x', 'x');
    SAME(&t, "yy", 0, 'y', 'y');
    SAME(&t, "xxyy", TN_ENCODE_SPECIAL, 256, 257);
    test_tokenizer_close(&t);
    test_meta_free(&m);
    static const float scores[] = {1, 1};
    test_meta_spm(&m, 2, texts, types, scores);
    test_meta_bool(&m, KEY("add_space_prefix"), 0);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    SAME(&t, "xx", 0, 3 + 'x', 3 + 'x');
    SAME(&t, "<s>", 0, 3 + '<', 3 + 's', 3 + '>');
    SAME(&t, "<0x41>", 0, 3 + '<', 3 + '0', 3 + 'x', 3 + '4', 3 + '1', 3 + '>');
    SAME(&t, "xxyy", TN_ENCODE_SPECIAL, 259, 260);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* The leftmost, there the longest; user-defined ones always, the others when asked for. */
Test(token_rules, special_partition) {
    static const char *const texts[] = {"<a>", "<a><b>", "<b", "bc", "<", "x<a", "<a>"};
    static const int32_t types[] = {TN_TOKEN_CONTROL, TN_TOKEN_USER_DEFINED, TN_TOKEN_USER_DEFINED,
                                    TN_TOKEN_CONTROL, TN_TOKEN_UNUSED,       TN_TOKEN_CONTROL,
                                    TN_TOKEN_CONTROL};
    test_meta m;
    test_tokenizer t;
    test_meta_bpe(&m, "gpt-2", 7, texts, types, 0, NULL);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "<a><b>", TN_ENCODE_SPECIAL, 257);
    SAME(&t, "<a><b", TN_ENCODE_SPECIAL, 262, 258); /* of equal texts the last */
    SAME(&t, "<a><b", 0, '<', 'a', '>', 258);
    SAME(&t, "<a><b>", 0, 257);
    SAME(&t, "<bc", TN_ENCODE_SPECIAL, 258, 'c');
    SAME(&t, "x<a>", TN_ENCODE_SPECIAL, 261, '>');
    SAME(&t, "x<a>", 0, 'x', '<', 'a', '>');
    SAME(&t, "<", TN_ENCODE_SPECIAL, '<');
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* User-defined entries are literal: not through the byte alphabet, and an ill-formed one never matches. */
Test(token_rules, literal_entries) {
    static const char *const texts[] = {"   ", "\xc3\xb5", "\xc4\xa0", "\xc3"};
    static const int32_t types[] = {4, 4, 4, 4};
    test_meta m;
    test_tokenizer t;
    uint64_t size;
    test_meta_bpe(&m, "gpt-2", 4, texts, types, 0, NULL);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "a    b", 0, 'a', 256, ' ', 'b');
    SAME(&t, "\xc3\xb5", 0, 257);
    SAME(&t, "\xc4\xa0 ", 0, 258, ' ');
    SAME(&t, "\xc3\xa9", 0, 0xc3, 0xa9);
    char *text = test_decode(&t, (const int32_t[]){256, 257, 258, 0xe9}, 4, 0, &size);
    cr_expect_str_eq(text, "   \xc3\xb5\xc4\xa0\xe9", "got \"%s\"", text);
    free(text);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

Test(token_rules, added_ids) {
    static const char *const texts[] = {"<s>", "</s>", "<sep>"};
    static const int32_t types[] = {3, 3, 3};
    test_meta m;
    test_tokenizer t;
    tn_vocab facts = {.struct_size = sizeof facts};
    test_meta_bpe(&m, "roberta-bpe", 3, texts, types, 0, NULL);
    test_meta_u32(&m, KEY("bos_token_id"), 256);
    test_meta_u32(&m, KEY("eos_token_id"), 257);
    test_meta_u32(&m, KEY("seperator_token_id"), 258);
    test_meta_bool(&m, KEY("add_bos_token"), 1);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "a", TN_ENCODE_ADD, 256, 'a', 258);
    SAME(&t, "a", 0, 'a');
    same(&t, "", 0, TN_ENCODE_ADD, 2, (const int32_t[]){256, 258});
    test_tokenizer_close(&t);
    test_meta_bool(&m, KEY("add_eos_token"), 1);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    SAME(&t, "a", TN_ENCODE_ADD, 256, 'a', 257);
    t.table->vocab(&t.host.host, t.tokenizer, &facts);
    cr_expect(facts.size == 259 && facts.bos == 256 && facts.eos == 257 && facts.separator == 258 &&
              facts.eot == -1);
    cr_expect(facts.add_bos == 1 && facts.add_eos == 1 && facts.add_separator == 1 && facts.exact == 1);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* Without keys: llama's ids are fixed, gpt2's 11 counts only where the file does not call it an ordinary
 * entry. */
Test(token_rules, default_ids) {
    test_meta m;
    test_tokenizer t;
    tn_vocab facts = {.struct_size = sizeof facts};
    test_meta_spm(&m, 0, NULL, NULL, NULL);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    t.table->vocab(&t.host.host, t.tokenizer, &facts);
    cr_expect(facts.bos == 1 && facts.eos == 2 && facts.unknown == 0 && facts.add_bos == 1 &&
              facts.add_eos == 0);
    test_tokenizer_close(&t);
    test_meta_free(&m);
    test_meta_bpe(&m, "llama-bpe", 0, NULL, NULL, 0, NULL);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    t.table->vocab(&t.host.host, t.tokenizer, &facts);
    cr_expect(facts.bos == -1 && facts.eos == -1 && facts.add_bos == 0, "%d %d %u", facts.bos, facts.eos,
              facts.add_bos);
    cr_expect_eq(t.table->ends(&t.host.host, t.tokenizer, 11), 0);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

Test(token_rules, ends_of_turns) {
    static const char *const texts[] = {"<|end|>", "<|im_end|>", "</s>", "<|return|>", "x", "y", "<|call|>"};
    int32_t types[] = {3, 4, 1, 3, 3, 3, 1};
    for (int harmony = 0; harmony < 2; harmony++) {
        test_meta m;
        test_tokenizer t;
        types[6] = harmony ? 3 : 1;
        test_meta_bpe(&m, "gpt-4o", 7, texts, types, 0, NULL);
        test_meta_u32(&m, KEY("eot_token_id"), 260);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        const uint32_t wanted[] = {!harmony, 1, 0, 1, 1, 0, (uint32_t)harmony};
        for (int32_t i = 0; i < 7; i++) {
            uint32_t got = t.table->ends(&t.host.host, t.tokenizer, 256 + i);
            cr_expect_eq(got, wanted[i], "%s: %u, wanted %u", texts[i], got, wanted[i]);
        }
        cr_expect_eq(t.table->ends(&t.host.host, t.tokenizer, -1), 0);
        cr_expect_eq(t.table->ends(&t.host.host, t.tokenizer, 263), 0);
        test_tokenizer_close(&t);
        test_meta_free(&m);
    }
}

Test(token_rules, questions) {
    static const char *const texts[] = {"<c>", "<u>", "<n>", "\xc4\xa0word", "\xe4\xb8\xad"};
    static const int32_t types[] = {3, 2, 5, 1, 1};
    test_meta m;
    test_tokenizer t;
    char out[8] = "-------";
    test_meta_bpe(&m, "gpt-2", 5, texts, types, 0, NULL);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    void *self = &t.host.host;
    cr_expect_eq(t.table->kind(self, t.tokenizer, 256), TN_TOKEN_CONTROL);
    cr_expect_eq(t.table->kind(self, t.tokenizer, 258), TN_TOKEN_UNUSED);
    cr_expect_eq(t.table->kind(self, t.tokenizer, 261), 0);
    cr_expect_eq(t.table->kind(self, t.tokenizer, -1), 0);
    cr_expect_eq(t.table->find(self, t.tokenizer, "<c>", 3), 256);
    cr_expect_eq(t.table->find(self, t.tokenizer, "<c", 2), -1);
    cr_expect_eq(t.table->find(self, t.tokenizer, "", 0), -1);
    cr_expect_eq(t.table->piece(self, t.tokenizer, 256, 0, out, sizeof out), 3);
    cr_expect_eq(t.table->piece(self, t.tokenizer, 256, TN_DECODE_SKIP_SPECIAL, out, sizeof out), 0);
    cr_expect_eq(t.table->piece(self, t.tokenizer, 257, TN_DECODE_SKIP_SPECIAL, out, sizeof out), 0);
    cr_expect_eq(t.table->piece(self, t.tokenizer, 258, 0, out, sizeof out), 0);
    cr_expect_eq(t.table->piece(self, t.tokenizer, 259, 0, out, 2), 5);
    cr_expect(memcmp(out, " w>", 3) == 0, "writes what fits: \"%.3s\"", out);
    cr_expect_eq(t.table->piece(self, t.tokenizer, 260, 0, out, sizeof out),
                 3); /* not of the alphabet: as it is */
    cr_expect_eq(t.table->piece(self, t.tokenizer, 261, 0, out, sizeof out), -1);
    uint64_t size;
    tn_error err = TN_ERROR_INIT;
    cr_expect_eq(t.table->decode(self, t.tokenizer, (const int32_t[]){261}, 1, 0, out, 8, &size, &err),
                 TN_E_INPUT);
    cr_expect_eq(t.table->decode(self, t.tokenizer, (const int32_t[]){259}, 1, 0, out, 3, &size, &err),
                 TN_E_RANGE);
    cr_expect_eq(size, 5);
    /* A host with a shorter tn_vocab gets no more than that. */
    tn_vocab facts = {.struct_size = 8, .bos = 77};
    t.table->vocab(self, t.tokenizer, &facts);
    cr_expect(facts.size == 261 && facts.bos == 77 && facts.struct_size == 8);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

Test(token_rules, ids_that_do_not_fit) {
    test_meta m;
    test_tokenizer t;
    tn_error err = TN_ERROR_INIT;
    int32_t ids[3] = {-7, -7, -7};
    test_meta_bpe(&m, "gpt-2", 0, NULL, NULL, 0, NULL);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    tn_encode call = {.struct_size = sizeof call, .text = "abcd", .text_size = 4, .ids = ids, .capacity = 2};
    cr_expect_eq(t.table->encode(&t.host.host, t.tokenizer, &call, &err), TN_E_RANGE);
    cr_expect(call.count == 4 && ids[0] == 'a' && ids[1] == 'b' && ids[2] == -7);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* Highest score first, leftmost on a tie; characters without an entry become bytes, or unknown without these.
 */
Test(token_rules, spm_merges) {
    static const char *const texts[] = {"a", "b", "ab", "ba", "aba", "\xe2\x96\x81", "\342\226\201a",
                                        "c", "cc"};
    static const int32_t types[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const float scores[] = {0, 0, -1, -1, -2, -5, -3, 0, 0};
    test_meta m;
    test_tokenizer t;
    test_meta_spm(&m, 9, texts, types, scores);
    test_meta_bool(&m, KEY("add_bos_token"), 0);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    SAME(&t, "ab", 0, 264, 261);
    SAME(&t, "aa", 0, 265, 259);
    SAME(&t, "a  a", 0, 265, 264, 265);
    SAME(&t, "b", 0, 264, 260);
    SAME(&t, "ccc", 0, 264, 267, 266);
    SAME(&t, "\xe2\x82\xac", 0, 264, 3 + 0xe2, 3 + 0x82, 3 + 0xac);
    SAME(&t, "a\xff", 0, 265, 3 + 0xff);
    same(&t, "", 0, TN_ENCODE_ADD, 0, NULL);
    test_tokenizer_close(&t);
    test_meta_bool(&m, KEY("add_space_prefix"), 0);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    SAME(&t, "aba", 0, 263);
    SAME(&t, "abab", 0, 261, 261);
    test_tokenizer_close(&t);
    int32_t plain[268];
    for (int i = 0; i < 268; i++) { plain[i] = i < 259 && i != 0 ? TN_TOKEN_CONTROL : TN_TOKEN_NORMAL; }
    test_meta_i32s(&m, KEY("token_type"), 268, plain);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    SAME(&t, "az", 0, 259, 0);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* Entries with a space inside forbid cutting the text into words before merging. */
Test(token_rules, spm_entries_over_spaces) {
    static const char *const texts[] = {"a", "\xe2\x96\x81", "a\xe2\x96\x81", "a\342\226\201a"};
    static const int32_t types[] = {1, 1, 1, 1};
    static const float scores[] = {0, 0, -1, -2};
    test_meta m;
    test_tokenizer t;
    test_meta_spm(&m, 4, texts, types, scores);
    test_meta_bool(&m, KEY("add_space_prefix"), 0);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    SAME(&t, "a a", 0, 262);
    SAME(&t, "aa ", 0, 259, 261);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

Test(token_rules, spm_space_at_the_start) {
    static const char *const texts[] = {"\xe2\x96\x81", "\342\226\201a", "<u>"};
    static const int32_t types[] = {1, 1, 4};
    static const float scores[] = {0, 0, 0};
    test_meta m;
    test_tokenizer t;
    uint64_t size;
    test_meta_spm(&m, 3, texts, types, scores);
    test_tokenizer_make(&t, "tokenizer.spm", &m.meta);
    char *text = test_decode(&t, (const int32_t[]){260, 260}, 2, 0, &size);
    cr_expect_str_eq(text, "a a");
    free(text);
    text = test_decode(&t, (const int32_t[]){1, 260}, 2, 0, &size);
    cr_expect_str_eq(text, "<s> a");
    free(text);
    cr_expect_eq(t.table->leading(&t.host.host, t.tokenizer, 260), 1);
    cr_expect_eq(t.table->leading(&t.host.host, t.tokenizer, 1), 0);
    cr_expect_eq(t.table->leading(&t.host.host, t.tokenizer, 9999), 0);
    tn_vocab facts = {.struct_size = sizeof facts};
    t.table->vocab(&t.host.host, t.tokenizer, &facts);
    cr_expect_eq(facts.exact, 0, "a space comes in behind a user-defined entry");
    test_tokenizer_close(&t);
    test_meta_free(&m);
}
