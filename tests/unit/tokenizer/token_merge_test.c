/*
 * token_merge_test.c - merging as it is done (several words side by side, sure pairs at once, heaps for long words,
 * words remembered) against merging as it is defined, with random merges: in any order, of texts that no merge
 * makes, of texts that are no entries, of parts of characters.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MERGES = 60, LONGEST = 24, WORD = 220, WORDS = 12 };

typedef struct rule {
    char left[LONGEST], right[LONGEST], text[4 * LONGEST + 2];
} rule;

/* What words consist of, letters each; what parts of merges begin with; and some merges that are frequent. */
typedef struct script {
    const char *characters[4], *parts[8], *merges[6][2];
} script;

static const script scripts[] = {
    {{"a", "b", "c", "a"},
     {"a", "b", "c", "a", "b", "c", "ab", "bca"},
     {{"a", "b"}, {"ab", "c"}, {"b", "c"}, {"c", "a"}, {"a", "a"}, {"ab", "ab"}}},
    {{"\xe3\x81\x82", "\xe3\x81\x84", "\xe3\x85\x82", "a"},
     {"\xe3", "\x81", "\x82", "\xe3\x81", "\xe3\x81\x82", " ", "a", "\x84"},
     {{"\xe3", "\x81"},
      {"\xe3\x81", "\x82"},
      {" ", "\xe3\x81"},
      {"\x82", "\xe3"},
      {"\xe3\x81\x82", "a"},
      {"a", "a"}}},
    {{"\xe3\x81\x82", "\xe3\x81\x85", "\xe0\xa4\x85", "\xe3\x81\x82"},
     {"\xe3", "\x81", "\x82", "\xe3\x81", "\xe3\x81", "\xe3\x81\x82", " ", "\x85"},
     {{"\xe3", "\x81"},
      {"\xe3\x81", "\x82"},
      {"\x85", "\xe3\x81"},
      {"\xe3\x81\x82", "\xe3\x81\x82"},
      {"\xe3\x81\x82", "\xe3"},
      {"\x82", "\xe0"}}}};
enum { SCRIPTS = sizeof scripts / sizeof *scripts };

/* At least one character, with a space before them or not. */
static void random_word(uint64_t *state, const script *of, char *out, uint64_t length) {
    uint64_t size = 0;
    if (of != scripts && test_random(state) % 2) { out[size++] = ' '; }
    do {
        for (const char *c = of->characters[test_random(state) % 4]; *c; c++) { out[size++] = *c; }
    } while (size + 3 < length);
    out[size] = 0;
}

/* Bytes as files write them: each as a character. */
static char *in_alphabet(const char *bytes, char *out) {
    for (; *bytes; bytes++) {
        uint32_t c = (unsigned char)*bytes;
        if (c == ' ') { c = 0x120; }
        if (c >= 0x7f && c < 0xa1) { c += 0x121 - 0x7f; }
        if (c >= 0x80) {
            *out++ = (char)(0xc0 | c >> 6);
            c = 0x80 | (c & 0x3f);
        }
        *out++ = (char)c;
    }
    *out = 0;
    return out;
}

static void join(const char *left, const char *between, const char *right, char *out) {
    const char *all[] = {left, between, right};
    for (int i = 0; i < 3; i++) {
        for (const char *c = all[i]; *c; c++) { *out++ = *c; }
    }
    *out = 0;
}

/* A part: what an earlier merge makes, or something else. */
static void random_part(uint64_t *state, const script *of, const rule *rules, uint64_t count, char *out) {
    uint64_t kind = test_random(state) % 2, pick = count ? test_random(state) % count : 0;
    if (kind && count && strlen(rules[pick].left) + strlen(rules[pick].right) < LONGEST) {
        join(rules[pick].left, "", rules[pick].right, out);
    } else {
        join(of->parts[test_random(state) % 8], "", "", out);
    }
}

/* Ids of the 256 bytes, then of products[]; by definition. */
static uint64_t merge_by_definition(const rule *rules, uint64_t count, const char *const *products,
                                    uint64_t product_count, const char *word, int32_t *ids) {
    char symbols[WORD][WORD + 1];
    uint64_t n = strlen(word), out = 0;
    for (uint64_t i = 0; i < n; i++) {
        symbols[i][0] = word[i];
        symbols[i][1] = 0;
    }
    for (;;) {
        uint64_t best = count, at = 0;
        for (uint64_t i = 0; i + 1 < n; i++) {
            for (uint64_t r = 0; r < best; r++) {
                if (strcmp(rules[r].left, symbols[i]) == 0 && strcmp(rules[r].right, symbols[i + 1]) == 0) {
                    best = r;
                    at = i;
                }
            }
        }
        if (best == count) { break; }
        memmove(symbols[at] + strlen(symbols[at]), symbols[at + 1], strlen(symbols[at + 1]) + 1);
        memmove(symbols + at + 1, symbols + at + 2, (n - at - 2) * sizeof *symbols);
        n--;
    }
    for (uint64_t i = 0; i < n; i++) {
        int32_t id = symbols[i][1] ? -1 : (int32_t)(unsigned char)symbols[i][0];
        for (uint64_t k = 0; k < product_count; k++) {
            if (strcmp(products[k], symbols[i]) == 0) { id = (int32_t)(256 + k); }
        }
        for (const char *c = symbols[i]; id < 0 && *c; c++) { ids[out++] = (unsigned char)*c; }
        if (id >= 0) { ids[out++] = id; }
    }
    return out;
}

static void check_words(const test_tokenizer *t, uint64_t *state, const script *of, const rule *rules,
                        uint64_t count, const char *const *products, uint64_t product_count) {
    char text[WORDS * (WORD + 1)];
    int32_t wanted[WORDS * WORD];
    for (int round = 0; round < 12; round++) {
        uint64_t size = 0, ids = 0, got, length = 1 + test_random(state) % (round % 6 ? 30 : WORD - 1);
        char words[4][WORD + 1];
        for (int w = 0; w < 4; w++) { random_word(state, of, words[w], length); }
        for (int w = 0; w < WORDS; w++) { /* some of them more than once */
            const char *word = words[test_random(state) % 4];
            size += (uint64_t)snprintf(text + size, sizeof text - size, "%s\n", word);
            ids += merge_by_definition(rules, count, products, product_count, word, wanted + ids);
            wanted[ids++] = '\n';
        }
        int32_t *all = test_encode(t, text, size, 0, &got);
        cr_assert(got == ids && memcmp(all, wanted, ids * sizeof *all) == 0, "%s: %llu ids, wanted %llu",
                  text, (unsigned long long)got, (unsigned long long)ids);
        free(all);
    }
}

static void random_rules(uint64_t *state, const script *of, rule *rules, uint64_t count, int in_order) {
    for (uint64_t i = 0; i < count; i++) {
        const char *const *frequent = of->merges[test_random(state) % 6];
        if (test_random(state) % 3 == 0) {
            join(frequent[0], "", "", rules[i].left);
            join(frequent[1], "", "", rules[i].right);
            continue;
        }
        random_part(state, of, rules, i, rules[i].left);
        random_part(state, of, rules, i, rules[i].right);
    }
    for (uint64_t i = 0; i < count && !in_order; i++) {
        uint64_t other = test_random(state) % count;
        rule moved = rules[i];
        rules[i] = rules[other];
        rules[other] = moved;
    }
    for (uint64_t i = 0; i < count; i++) {
        char *end = in_alphabet(rules[i].left, rules[i].text);
        *end = ' ';
        in_alphabet(rules[i].right, end + 1);
    }
}

static void check_vocabulary(uint64_t *state, const script *of, int in_order) {
    static rule rules[MERGES];
    static char names[MERGES][2 * LONGEST], texts[MERGES][4 * LONGEST];
    const char *merges[MERGES], *products[MERGES], *entries[MERGES];
    int32_t types[MERGES];
    uint64_t count = 1 + test_random(state) % MERGES, product_count = 0;
    random_rules(state, of, rules, count, in_order);
    for (uint64_t i = 0; i < count; i++) {
        merges[i] = rules[i].text;
        join(rules[i].left, "", rules[i].right, names[product_count]);
        int known = test_random(state) % 8 == 0; /* or no entry */
        for (uint64_t k = 0; k < product_count; k++) {
            known |= strcmp(products[k], names[product_count]) == 0;
        }
        if (known) { continue; }
        types[product_count] = TN_TOKEN_NORMAL;
        products[product_count] = names[product_count];
        in_alphabet(names[product_count], texts[product_count]);
        entries[product_count] = texts[product_count];
        product_count++;
    }
    test_meta m;
    test_tokenizer t;
    test_meta_bpe(&m, "gpt-2", product_count, entries, types, count, merges);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    check_words(&t, state, of, rules, count, products, product_count);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

Test(token_merge, as_defined) {
    const char *rounds_text = getenv("TENON_ORACLE_ROUNDS");
    unsigned long rounds = rounds_text ? strtoul(rounds_text, NULL, 10) : 60;
    uint64_t state = 0x243f6a8885a308d3u;
    for (unsigned long i = 0; i < rounds; i++) {
        for (uint32_t s = 0; s < SCRIPTS; s++) { check_vocabulary(&state, &scripts[s], i % 2 == 0); }
    }
}

/* A merge's parts are read each by itself: half a character is no part of the entry that both together spell. */
Test(token_merge, cut_inside_a_character) {
    static const char *const texts[] = {"\303\203\302\251",
                                        "\303\203\302\251a"}; /* e with acute; the same and a */
    static const char *const merges[] = {"\303\203 \302\251", "\303\203\302 \251a"};
    static const int32_t types[] = {TN_TOKEN_NORMAL, TN_TOKEN_NORMAL};
    test_meta m;
    test_tokenizer t;
    uint64_t count;
    test_meta_bpe(&m, "gpt-2", 2, texts, types, 2, merges);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    int32_t *ids = test_encode(&t, "\303\251a", 3, 0, &count);
    cr_assert_eq(count, 2, "%llu ids", (unsigned long long)count);
    cr_assert(ids[0] == 256 && ids[1] == 'a', "%d %d", ids[0], ids[1]);
    free(ids);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}

/* A merge of a character that comes before the character's own does not come sooner than that. */
Test(token_merge, a_part_that_comes_later) {
    static const char *const texts[] = {"\303\243\304\243", "\303\243\304\243\304\244a", "aa",
                                        "\303\243\304\243\304\244"};
    static const char *const merges[] = {"\303\243 \304\243", "\303\243\304\243\304\244 a", "a a",
                                         "\303\243\304\243 \304\244"};
    static const int32_t types[] = {TN_TOKEN_NORMAL, TN_TOKEN_NORMAL, TN_TOKEN_NORMAL, TN_TOKEN_NORMAL};
    test_meta m;
    test_tokenizer t;
    uint64_t count;
    test_meta_bpe(&m, "gpt-2", 4, texts, types, 4, merges);
    test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
    int32_t *ids = test_encode(&t,
                               "\xe3\x81\x82"
                               "aa",
                               5, 0, &count);
    cr_assert_eq(count, 2, "%llu ids", (unsigned long long)count);
    cr_assert(ids[0] == 259 && ids[1] == 258, "%d %d", ids[0], ids[1]);
    free(ids);
    test_tokenizer_close(&t);
    test_meta_free(&m);
}
