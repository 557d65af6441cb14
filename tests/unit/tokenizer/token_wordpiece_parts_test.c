/*
 * token_wordpiece_parts_test.c - the parts of the wordpiece plugin by themselves: the trie and the table against
 * plain searches, sixteen bytes at once against one by one, with and without vector instructions.
 */
#include "token_made.h"
#include "wordpiece_ascii.h"
#include "wordpiece_table.h"
#include "wordpiece_trie.h"

#include <criterion/criterion.h>
#include <stdlib.h>

uint32_t scalar_word(const unsigned char *text, uint32_t lowercase, unsigned char *out);
uint32_t scalar_spaces(const unsigned char *text);

enum { PIECES = 3000, LONGEST = 6 };

static unsigned char texts[PIECES][LONGEST];

/* The id of the longest piece, by looking at all. */
static int32_t search(const tn_trie_piece *pieces, uint32_t root, const unsigned char *text, uint32_t size,
                      uint32_t *longest) {
    int32_t id = -1;
    *longest = 0;
    for (uint32_t i = 0; i < PIECES; i++) {
        const tn_trie_piece *p = &pieces[i];
        if (p->root == root && p->size <= size && p->size >= *longest &&
            memcmp(p->text, text, p->size) == 0) {
            *longest = p->size;
            id = p->id;
        }
    }
    return id;
}

/* Bytes from few letters (deep), from all (wide), and of one letter (a chain); equal pieces among them. */
Test(token_wordpiece_parts, trie) {
    static const uint32_t letters[] = {1, 3, 17, 256};
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++) {
        test_host host;
        tn_trie trie;
        tn_trie_piece pieces[PIECES];
        uint64_t state = 1234567 + k, found = 0;
        test_host_init(&host);
        tn_arena arena = {.host = &host.host};
        for (uint32_t i = 0; i < PIECES; i++) {
            uint32_t size = 1 + (uint32_t)(test_random(&state) % (k == 3 ? 2 : LONGEST));
            for (uint32_t b = 0; b < size; b++) {
                texts[i][b] = (unsigned char)(test_random(&state) % letters[k]);
            }
            pieces[i] = (tn_trie_piece){texts[i], size, (uint32_t)(test_random(&state) % 2), (int32_t)i};
        }
        cr_assert_eq(tn_trie_build(&trie, &arena, pieces, PIECES), TN_OK);
        for (uint32_t round = 0; round < 3000; round++) {
            unsigned char text[10];
            uint32_t size = (uint32_t)(test_random(&state) % 11), root = round % 2, wanted_size;
            for (uint32_t b = 0; b < size; b++) {
                text[b] = (unsigned char)(test_random(&state) % letters[k]);
            }
            const unsigned char *stop = text;
            int32_t got = tn_trie_longest(&trie, root, text, text + size, &stop);
            int32_t wanted = search(pieces, root, text, size, &wanted_size);
            cr_assert_eq(got, wanted, "%d, wanted %d", got, wanted);
            cr_assert_eq((uint64_t)(stop - text), wanted_size);
            found += got >= 0;
        }
        cr_expect(found > 1000, "%llu found", (unsigned long long)found);
        cr_expect(trie.count < 40 * PIECES, "%u cells", trie.count);
        tn_arena_free(&arena);
        cr_expect_eq(host.out, 0);
    }
}

Test(token_wordpiece_parts, trie_of_nothing) {
    test_host host;
    tn_trie trie;
    const unsigned char *stop, text[] = {0, 255};
    test_host_init(&host);
    tn_arena arena = {.host = &host.host};
    cr_assert_eq(tn_trie_build(&trie, &arena, NULL, 0), TN_OK);
    cr_expect_eq(tn_trie_longest(&trie, TN_TRIE_START, text, text + 2, &stop), -1);
    cr_expect_eq(tn_trie_longest(&trie, TN_TRIE_INSIDE, text + 1, text + 2, &stop), -1);
    tn_arena_free(&arena);
}

static int32_t find(const tn_wordpiece_table *table, tn_short_word word) {
    return tn_table_find(table, tn_table_place(table, word), word);
}

/* What is there has the id that was put last, nothing else is there, nearly all are there. */
Test(token_wordpiece_parts, table) {
    enum { WORDS = 20000 };
    test_host host;
    tn_wordpiece_table table;
    uint32_t there = 0;
    test_host_init(&host);
    tn_arena arena = {.host = &host.host};
    cr_assert_eq(tn_table_create(&table, &arena, WORDS), TN_OK);
    for (int32_t round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= WORDS; i++) {
            tn_table_put(&table, (tn_short_word){i * 0x10001ull, i % 7}, (int32_t)i + round);
        }
    }
    for (uint32_t i = 1; i <= WORDS; i++) {
        int32_t id = find(&table, (tn_short_word){i * 0x10001ull, i % 7});
        cr_assert(id == -1 || id == (int32_t)i + 1, "%d for %u", id, i);
        there += id >= 0;
        cr_assert_eq(find(&table, (tn_short_word){i * 0x10001ull, 7 + i % 7}), -1);
    }
    cr_expect(there > WORDS * 97 / 100, "%u of %u", there, WORDS);
    tn_arena_free(&arena);
}

static int is_word(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
static int is_white(unsigned char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void check_block(const unsigned char *text) {
    for (uint32_t lowercase = 0; lowercase <= 0x20; lowercase += 0x20) {
        unsigned char got[TN_ASCII_BLOCK], plain[TN_ASCII_BLOCK];
        uint32_t n = 0, wanted = 0, spaces = 0;
        n = tn_ascii_word(text, lowercase, got);
        while (wanted < TN_ASCII_BLOCK && is_word(text[wanted])) { wanted++; }
        while (spaces < TN_ASCII_BLOCK && is_white(text[spaces])) { spaces++; }
        cr_assert_eq(n, wanted, "%u, wanted %u", n, wanted);
        cr_assert_eq(scalar_word(text, lowercase, plain), wanted);
        cr_assert_eq(tn_ascii_spaces(text), spaces);
        cr_assert_eq(scalar_spaces(text), spaces);
        for (uint32_t i = 0; i < n; i++) {
            unsigned char c =
                text[i] >= 'A' && text[i] <= 'Z' ? (unsigned char)(text[i] | lowercase) : text[i];
            cr_assert(got[i] == c && plain[i] == c, "%c became %c and %c", text[i], got[i], plain[i]);
        }
    }
}

Test(token_wordpiece_parts, sixteen_bytes) {
    uint64_t state = 99;
    unsigned char text[TN_ASCII_BLOCK];
    for (uint32_t c = 0; c < 256; c++) {
        for (uint32_t at = 0; at < TN_ASCII_BLOCK; at++) {
            memset(text, 'k', sizeof text);
            text[at] = (unsigned char)c;
            check_block(text);
            memset(text, ' ', sizeof text);
            text[at] = (unsigned char)c;
            check_block(text);
        }
    }
    for (int round = 0; round < 20000; round++) {
        for (uint32_t i = 0; i < TN_ASCII_BLOCK; i++) {
            text[i] = (unsigned char)(test_random(&state) % 128);
        }
        check_block(text);
    }
}
