/*
 * token_merge_test.c - merging as it is done (several words side by side, sure pairs at once, heaps for long words,
 * words remembered) against merging as it is defined, with random merges: in any order, of texts that no merge
 * makes, of texts that are no entries.
 */
#include "token_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MERGES = 60, LONGEST = 24, WORD = 220 };

typedef struct rule {
    char left[LONGEST], right[LONGEST], text[2 * LONGEST + 2];
} rule;

static void random_word(uint64_t *state, char *out, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) { out[i] = (char)('a' + test_random(state) % 3); }
    out[length] = 0;
}

static void join(const char *left, const char *between, const char *right, char *out) {
    const char *all[] = {left, between, right};
    for (int i = 0; i < 3; i++) {
        for (const char *c = all[i]; *c; c++) { *out++ = *c; }
    }
    *out = 0;
}

/* A part: a letter, what an earlier merge makes, or anything. */
static void random_part(uint64_t *state, const rule *rules, uint64_t count, char *out) {
    uint64_t kind = test_random(state) % 8, pick = count ? test_random(state) % count : 0;
    if (kind < 4 && count && strlen(rules[pick].left) + strlen(rules[pick].right) < LONGEST) {
        join(rules[pick].left, "", rules[pick].right, out);
    } else {
        random_word(state, out, kind == 7 ? 2 + test_random(state) % 2 : 1);
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

static void check_words(const test_tokenizer *t, uint64_t *state, const rule *rules, uint64_t count,
                        const char *const *products, uint64_t product_count) {
    char text[8 * (WORD + 1)];
    int32_t wanted[8 * WORD];
    for (int round = 0; round < 12; round++) {
        uint64_t size = 0, ids = 0, got;
        for (int w = 0; w < 8; w++) {
            char word[WORD + 1];
            random_word(state, word, 1 + test_random(state) % (round % 6 ? 30 : WORD - 1));
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

Test(token_merge, as_defined) {
    uint64_t state = 0x243f6a8885a308d3u;
    for (int vocabulary = 0; vocabulary < 60; vocabulary++) {
        static rule rules[MERGES];
        const char *merges[MERGES], *products[MERGES];
        int32_t types[MERGES];
        uint64_t count = 1 + test_random(&state) % MERGES, product_count = 0;
        static char names[MERGES][2 * LONGEST];
        for (uint64_t i = 0; i < count; i++) {
            random_part(&state, rules, i, rules[i].left);
            random_part(&state, rules, i, rules[i].right);
        }
        for (uint64_t i = 0; i < count && vocabulary % 2; i++) { /* in any order */
            uint64_t other = test_random(&state) % count;
            rule moved = rules[i];
            rules[i] = rules[other];
            rules[other] = moved;
        }
        for (uint64_t i = 0; i < count; i++) {
            join(rules[i].left, " ", rules[i].right, rules[i].text);
            merges[i] = rules[i].text;
            join(rules[i].left, "", rules[i].right, names[product_count]);
            int known = test_random(&state) % 8 == 0; /* or no entry */
            for (uint64_t k = 0; k < product_count; k++) {
                known |= strcmp(products[k], names[product_count]) == 0;
            }
            if (known) { continue; }
            types[product_count] = TN_TOKEN_NORMAL;
            products[product_count] = names[product_count];
            product_count++;
        }
        test_meta m;
        test_tokenizer t;
        test_meta_bpe(&m, "gpt-2", product_count, products, types, count, merges);
        test_tokenizer_make(&t, "tokenizer.bpe", &m.meta);
        check_words(&t, &state, rules, count, products, product_count);
        test_tokenizer_close(&t);
        test_meta_free(&m);
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
